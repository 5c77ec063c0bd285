# shellcheck shell=bash
# Reading what a step did. Each counter takes the step's exit code and log and prints "passed failed skipped". A step
# that failed never counts as zero failures, whatever its log says: it may have died before its summary.

# A check is one test.
count_check() {
  if [ "$1" -eq 0 ]; then echo 1 0 0; else echo 0 1 0; fi
}

# at_least_one_failure CODE PASSED FAILED SKIPPED
at_least_one_failure() {
  local failed=$3
  if [ "$1" -ne 0 ] && [ "$failed" -eq 0 ]; then failed=1; fi
  echo "$2" "$failed" "$4"
}

# number_before WORD TEXT: the number right before the word, or 0.
number_before() {
  local found
  found=$(grep -oE "[0-9]+ $1" <<<"$2" | head -n 1) || true
  echo "${found%% *}" | grep -E '^[0-9]+$' || echo 0
}

# "Summary [ 1.2s] 10 tests run: 8 passed (1 slow), 1 failed, 1 timed out, 3 skipped": what ran and did not pass failed.
# Tests that the filter left out are not counted here: the step that left them out names and counts them.
count_nextest() {
  local line run passed
  line=$(plain "$2" | grep -E 'Summary \[.* tests? run:' | tail -n 1) || true
  run=$(grep -oE '[0-9]+(/[0-9]+)? tests? run' <<<"$line" | grep -oE '^[0-9]+') || run=0
  passed=$(number_before passed "$line")
  at_least_one_failure "$1" "$passed" $((run - passed)) 0
}

# "test result: ok. 3 passed; 0 failed; 1 ignored; ..." once for each crate.
count_doc_tests() {
  local line passed=0 failed=0 ignored=0
  while IFS= read -r line; do
    passed=$((passed + $(number_before passed "$line")))
    failed=$((failed + $(number_before failed "$line")))
    ignored=$((ignored + $(number_before ignored "$line")))
  done < <(plain "$2" | grep -E '^test result:')
  at_least_one_failure "$1" "$passed" "$failed" "$ignored"
}

# "Ran 4 test suites in 1s (1s CPU time): 28 tests passed, 0 failed, 0 skipped (28 total tests)"
count_forge() {
  local line
  line=$(plain "$2" | grep -E '^Ran [0-9]+ test suites?' | tail -n 1) || true
  at_least_one_failure "$1" "$(number_before 'tests passed' "$line")" "$(number_before failed "$line")" \
    "$(number_before skipped "$line")"
}

# The log without colours.
plain() { sed $'s/\x1b\\[[0-9;]*m//g' "$1"; }
