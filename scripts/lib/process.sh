# shellcheck shell=bash
# Processes that we start in the background. Each gets a process group of its own, so that Ctrl-C reaches only us and we
# decide the order of the end, and so that stopping one takes its children along. Only ids that we started are signalled.

STOP_GRACE_TENTHS=100

# spawn LOG COMMAND...: starts the command with its output in LOG and leaves its process id in SPAWNED_PID.
spawn() {
  local log=$1
  shift
  set -m
  "$@" >>"$log" 2>&1 </dev/null &
  # shellcheck disable=SC2034 # read by the caller
  SPAWNED_PID=$!
  set +m
}

is_alive() { kill -0 "$1" 2>/dev/null; }

# stop_group PID: asks the group to end, waits, and insists.
stop_group() {
  local pid=$1 tenth
  kill -TERM -- "-$pid" 2>/dev/null || return 0
  for ((tenth = 0; tenth < STOP_GRACE_TENTHS; tenth++)); do
    is_alive "$pid" || break
    sleep 0.1
  done
  kill -KILL -- "-$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
}

# wait_until TENTHS PID COMMAND...: polls COMMAND until it succeeds; fails when PID ends or the time is up.
wait_until() {
  local tenths=$1 pid=$2 tenth
  shift 2
  for ((tenth = 0; tenth < tenths; tenth++)); do
    if "$@"; then return 0; fi
    is_alive "$pid" || return 1
    sleep 0.1
  done
  return 1
}
