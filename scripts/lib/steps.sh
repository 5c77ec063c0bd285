# shellcheck shell=bash
# Steps: each runs in the background with its output in a log, so that a signal to us is answered at once; each prints a
# headline with its duration; all of them run, whatever fails; their counts add up to the closing line.

STEP_TAIL_LINES=80
PASSED=0
FAILED=0
SKIPPED=0
FAILED_STEPS=''
SKIPPED_PARTS=''
STEP_PID=''

# run_step NAME COUNTER COMMAND...
run_step() {
  local name=$1 counter=$2 code=0 begun=$SECONDS passed failed skipped
  shift 2
  STEP_LOG=$STEPS_DIR/${name// /-}.log
  : >"$STEP_LOG"
  [ ! -t 1 ] || printf '%-7s         %s\r' ... "$name"
  spawn "$STEP_LOG" "$@"
  STEP_PID=$SPAWNED_PID
  [ "$VERBOSE" -eq 0 ] || follow_step
  wait "$STEP_PID" || code=$?
  STEP_PID=''
  read -r passed failed skipped < <("$counter" "$code" "$STEP_LOG")
  PASSED=$((PASSED + passed)) FAILED=$((FAILED + failed)) SKIPPED=$((SKIPPED + skipped))
  headline "$name" "$failed" "$((SECONDS - begun))" "$passed" "$skipped"
  if [ "$failed" -gt 0 ]; then show_failure "$name"; fi
}

# headline NAME FAILED SECONDS PASSED SKIPPED
headline() {
  local verdict=ok detail=''
  if [ "$2" -gt 0 ]; then verdict=FAILED; fi
  if [ $(($2 + $4 + $5)) -ne 1 ]; then detail="$4 of $(($2 + $4)) tests"; fi
  printf '%-7s %4d s  %-18s %s\n' "$verdict" "$3" "$1" "$detail"
}

show_failure() {
  FAILED_STEPS="$FAILED_STEPS${FAILED_STEPS:+, }$1"
  say "--- the last $STEP_TAIL_LINES lines of $1 ---"
  tail -n "$STEP_TAIL_LINES" "$STEP_LOG"
  say "--- end of $1; all of it: ${STEP_LOG#"$ROOT/"} ---"
}

# Copies the step's output to ours while it runs.
follow_step() {
  local shown=0 now
  while is_alive "$STEP_PID"; do
    now=$(wc -c <"$STEP_LOG")
    if [ "$now" -gt "$shown" ]; then tail -c "+$((shown + 1))" "$STEP_LOG" | head -c $((now - shown)); fi
    shown=$now
    sleep 0.5
  done
  tail -c "+$((shown + 1))" "$STEP_LOG"
}

# skip_part COUNT NAME WHY: counted and named at the end.
skip_part() {
  SKIPPED=$((SKIPPED + $1))
  SKIPPED_PARTS="$SKIPPED_PARTS  $2: $3"$'\n'
}

# The end: what was skipped and what failed, then one line of counts, alone.
close_report() {
  if [ -n "$SKIPPED_PARTS" ]; then printf 'skipped:\n%s' "$SKIPPED_PARTS"; fi
  if [ -n "$FAILED_STEPS" ]; then say "failed: $FAILED_STEPS"; fi
  if [ "$STRICT" -ne 0 ] && [ "$SKIPPED" -gt 0 ]; then say "failed: --strict allows no skipped tests"; fi
  say "$PASSED passed, $FAILED failed, $SKIPPED skipped"
}

all_well() { [ "$FAILED" -eq 0 ] && [ "$PASSED" -gt 0 ] && { [ "$STRICT" -eq 0 ] || [ "$SKIPPED" -eq 0 ]; }; }
