# shellcheck shell=bash
# A private RabbitMQ in $SERVICES_DIR/rabbitmq, with a port mapper (epmd) of its own: the shared one would outlive us.
# The server script in the package's library folder is used; the one on PATH insists on the service's own user.

RABBITMQ_START_TENTHS_MAX=600
EPMD_START_TENTHS_MAX=100

# Prints the server script's path.
rabbitmq_script() {
  local candidate
  for candidate in /usr/lib/rabbitmq/bin/rabbitmq-server /usr/local/opt/rabbitmq/sbin/rabbitmq-server \
    /opt/homebrew/opt/rabbitmq/sbin/rabbitmq-server; do
    if [ -x "$candidate" ]; then
      printf '%s\n' "$candidate"
      return 0
    fi
  done
  return 1
}

# A server that is ready answers the protocol's greeting with a method frame, whose first byte is 1.
amqp_answers() {
  (
    exec 3<>"/dev/tcp/127.0.0.1/$1" || exit 1
    printf 'AMQP\0\0\11\1' >&3
    IFS= read -r -n 1 -t 2 first <&3
    [ "$first" = $'\1' ]
  ) 2>/dev/null
}

start_epmd() {
  local port=$1
  spawn "$SERVICES_DIR/rabbitmq/epmd.log" epmd -port "$port" -address 127.0.0.1
  EPMD_PID=$SPAWNED_PID
  wait_until "$EPMD_START_TENTHS_MAX" "$EPMD_PID" port_answers "$port"
}

start_rabbitmq() {
  local dir=$SERVICES_DIR/rabbitmq port dist_port epmd_port
  port=$(free_port) || return 1
  dist_port=$(free_port) || return 1
  epmd_port=$(free_port) || return 1
  mkdir -p "$dir/home"
  : >"$dir/rabbitmq.conf"
  printf '[].\n' >"$dir/enabled_plugins"
  start_epmd "$epmd_port" || return 1
  spawn "$dir/log" env HOME="$dir/home" ERL_EPMD_PORT="$epmd_port" ERL_EPMD_ADDRESS=127.0.0.1 \
    RABBITMQ_NODENAME="windlass-$$@localhost" RABBITMQ_NODE_IP_ADDRESS=127.0.0.1 RABBITMQ_NODE_PORT="$port" \
    RABBITMQ_DIST_PORT="$dist_port" RABBITMQ_MNESIA_BASE="$dir/mnesia" RABBITMQ_LOG_BASE="$dir" \
    RABBITMQ_PID_FILE="$dir/pid" RABBITMQ_CONF_ENV_FILE=/dev/null RABBITMQ_CONFIG_FILE="$dir/rabbitmq.conf" \
    RABBITMQ_ENABLED_PLUGINS_FILE="$dir/enabled_plugins" \
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="-kernel inet_dist_use_interface {127,0,0,1}" \
    "$(rabbitmq_script)"
  RABBITMQ_PID=$SPAWNED_PID
  wait_until "$RABBITMQ_START_TENTHS_MAX" "$RABBITMQ_PID" amqp_answers "$port" || return 1
  export WINDLASS_TEST_AMQP_URL="amqp://guest:guest@127.0.0.1:$port/%2f"
}

stop_rabbitmq() {
  [ -z "${RABBITMQ_PID:-}" ] || stop_group "$RABBITMQ_PID"
  [ -z "${EPMD_PID:-}" ] || stop_group "$EPMD_PID"
  RABBITMQ_PID='' EPMD_PID=''
}
