# shellcheck shell=bash
# The three servers behind one door. A server whose URL is already in the environment is used as it is; the others are
# started in a temporary folder, which goes away with them.

# Debian keeps servers in folders that only root has on its path.
PATH=$PATH:/usr/sbin:/sbin

# shellcheck disable=SC2034 # read by those who start them
SERVICES_ALL='postgres rabbitmq nats'

# service_variable NAME: the variable through which tests get the server's URL.
service_variable() {
  case $1 in
    postgres) echo WINDLASS_TEST_POSTGRES_URL ;;
    rabbitmq) echo WINDLASS_TEST_AMQP_URL ;;
    nats) echo WINDLASS_TEST_NATS_URL ;;
  esac
}

# service_package NAME: what installs it on Debian.
service_package() {
  case $1 in
    postgres) echo postgresql ;;
    rabbitmq) echo rabbitmq-server ;;
    nats) echo nats-server ;;
  esac
}

service_given() {
  local variable
  variable=$(service_variable "$1")
  [ -n "${!variable:-}" ]
}

service_installed() {
  case $1 in
    postgres) [ -n "$(postgres_bin)" ] ;;
    rabbitmq) rabbitmq_script >/dev/null && have epmd ;;
    nats) have nats-server ;;
  esac
}

# Prints the names among the arguments that are neither given by URL nor installed.
services_missing() {
  local name
  for name in "$@"; do
    service_given "$name" || service_installed "$name" || printf '%s\n' "$name"
  done
}

# Other users than ours run servers in here: they may pass through the folder, not list it.
services_dir_make() {
  SERVICES_DIR=$(mktemp -d "${TMPDIR:-/tmp}/windlass-services.XXXXXX")
  chmod 711 "$SERVICES_DIR"
}

# services_start NAME...: starts what is not given. On failure shows the server's own words and returns 1.
services_start() {
  local name
  [ -n "${SERVICES_DIR:-}" ] || services_dir_make
  for name in "$@"; do
    if service_given "$name"; then continue; fi
    if ! "start_$name"; then
      warn "$name did not start; the end of its log:"
      tail -n 20 "$SERVICES_DIR/$name/log" >&2 || true
      return 1
    fi
  done
}

# From here on an impatient second Ctrl-C must not leave a server behind.
services_stop() {
  trap '' INT TERM HUP
  [ -n "${SERVICES_DIR:-}" ] || return 0
  stop_nats
  stop_rabbitmq
  stop_postgres
  rm -rf "$SERVICES_DIR"
  SERVICES_DIR=
}
