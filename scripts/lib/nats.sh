# shellcheck shell=bash
# A private nats-server with JetStream, its data in $SERVICES_DIR/nats.

NATS_START_TENTHS_MAX=200

# A server that is ready speaks first, with a line that begins with INFO.
nats_answers() {
  (
    exec 3<>"/dev/tcp/127.0.0.1/$1" || exit 1
    IFS= read -r -n 4 -t 2 greeting <&3
    [ "$greeting" = INFO ]
  ) 2>/dev/null
}

start_nats() {
  local dir=$SERVICES_DIR/nats port
  port=$(free_port) || return 1
  mkdir -p "$dir"
  spawn "$dir/log" nats-server --addr 127.0.0.1 --port "$port" --jetstream --store_dir "$dir/data"
  NATS_PID=$SPAWNED_PID
  wait_until "$NATS_START_TENTHS_MAX" "$NATS_PID" nats_answers "$port" || return 1
  export WINDLASS_TEST_NATS_URL="nats://127.0.0.1:$port"
}

stop_nats() {
  [ -z "${NATS_PID:-}" ] || stop_group "$NATS_PID"
  NATS_PID=''
}
