# shellcheck shell=bash
# Loopback ports. They are taken from below the range that the system hands out by itself, so that no outgoing
# connection and no test that binds port 0 can take one between our look and the server's start.

PORT_MIN=12000
PORT_MAX=32000
PORT_TRIES_MAX=100

port_answers() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# Prints a port on which nothing listens.
free_port() {
  local try port
  for ((try = 0; try < PORT_TRIES_MAX; try++)); do
    port=$((PORT_MIN + RANDOM % (PORT_MAX - PORT_MIN)))
    if ! port_answers "$port"; then
      printf '%s\n' "$port"
      return 0
    fi
  done
  return 1
}
