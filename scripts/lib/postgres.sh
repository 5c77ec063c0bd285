# shellcheck shell=bash
# A private PostgreSQL: a fresh cluster in $SERVICES_DIR/postgres, password authentication over TCP on loopback,
# durability as in production (fsync stays on). It refuses to run as root, so root hands it to another user.

POSTGRES_START_SECONDS_MAX=60
POSTGRES_USER_NAME=windlass
POSTGRES_PASSWORD=windlass
POSTGRES_MAX_CONNECTIONS=200

# Prints the folder of initdb and pg_ctl: the one on PATH, or the newest that Debian keeps off it.
postgres_bin() {
  if have initdb && have pg_ctl; then
    dirname "$(command -v initdb)"
    return
  fi
  local found
  found=$(printf '%s\n' /usr/lib/postgresql/*/bin/initdb | sort -V | tail -n 1)
  [ -x "$found" ] && dirname "$found"
}

postgres_os_user() { if id postgres >/dev/null 2>&1; then echo postgres; else echo nobody; fi; }

# Runs a command as the server's user, in a folder that this user may enter.
as_postgres() {
  if [ "$(id -u)" -eq 0 ]; then
    (cd / && exec runuser -u "$(postgres_os_user)" -- "$@")
  else
    "$@"
  fi
}

start_postgres() {
  local dir=$SERVICES_DIR/postgres bin port
  bin=$(postgres_bin) || return 1
  port=$(free_port) || return 1
  mkdir -p "$dir"
  printf '%s\n' "$POSTGRES_PASSWORD" >"$dir/password"
  : >"$dir/log"
  [ "$(id -u)" -ne 0 ] || chown -R "$(postgres_os_user)" "$dir"
  as_postgres "$bin/initdb" --pgdata="$dir/data" --username="$POSTGRES_USER_NAME" --pwfile="$dir/password" \
    --auth-host=scram-sha-256 --auth-local=trust --encoding=UTF8 --no-locale --no-sync >"$dir/log" 2>&1 || return 1
  as_postgres tee -a "$dir/data/postgresql.conf" >/dev/null <<CONF
listen_addresses = '127.0.0.1'
port = $port
unix_socket_directories = '$dir'
max_connections = $POSTGRES_MAX_CONNECTIONS
CONF
  POSTGRES_RUNNING=$bin
  as_postgres "$bin/pg_ctl" start --pgdata="$dir/data" --log="$dir/log" --wait --silent \
    --timeout="$POSTGRES_START_SECONDS_MAX" >>"$dir/log" 2>&1 || return 1
  export WINDLASS_TEST_POSTGRES_URL="postgres://$POSTGRES_USER_NAME:$POSTGRES_PASSWORD@127.0.0.1:$port/postgres"
}

# The cluster is thrown away, so it need not write a last checkpoint. pg_ctl signals the process id in its lock file.
stop_postgres() {
  [ -n "${POSTGRES_RUNNING:-}" ] || return 0
  as_postgres "$POSTGRES_RUNNING/pg_ctl" stop --pgdata="$SERVICES_DIR/postgres/data" --mode=immediate --silent \
    >/dev/null 2>&1 || true
  POSTGRES_RUNNING=
}
