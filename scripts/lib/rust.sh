# shellcheck shell=bash
# The steps on the Rust code, all in cargo's dev profile, so that nothing is built twice for different settings.
# A test that needs a server or a program has its name in its path (`postgres_`, `rabbitmq_`, `nats_`, `anvil_`): what is
# not there is filtered out by that name, and named and counted as skipped.

# Prints the cargo arguments that select packages, one a line.
package_arguments() {
  local package
  if [ -z "$PACKAGES" ]; then
    echo --workspace
    return
  fi
  for package in $PACKAGES; do printf '%s\n' -p "$package"; done
}

# Prints the cargo arguments for what is off by default and tested all the same, one a line. Every step has the same, so
# that nothing is built twice.
feature_arguments() {
  case " $PACKAGES " in
    '  ' | *' windlass '*) printf '%s\n' --features windlass/full ;;
    *' windlass-chain '*) printf '%s\n' --features windlass-chain/aws-kms ;;
  esac
}

# In CI, a lock file that is not current is a failure.
locked_argument() { [ -z "${CI:-}" ] || echo --locked; }

# cargo_on VERB ARGUMENT...: cargo on the selected packages.
cargo_on() {
  local verb=$1
  shift
  # shellcheck disable=SC2046,SC2086 # words without spaces
  cargo $verb $(locked_argument) $(package_arguments) $(feature_arguments) "$@"
}

step_fmt() {
  local arguments=--all
  [ -z "$PACKAGES" ] || arguments=$(package_arguments)
  # shellcheck disable=SC2086
  run_step 'cargo fmt' count_check cargo fmt $arguments --check
}

step_clippy() { run_step clippy count_check cargo_on clippy --all-targets -- -D warnings; }

step_deny() {
  local checks='bans licenses sources'
  [ "$ADVISORIES" -eq 0 ] || checks="$checks advisories"
  if ! have cargo-deny; then
    skip_part 1 cargo-deny "not installed; run: cargo install --locked cargo-deny"
    return
  fi
  # shellcheck disable=SC2086 # a list of words
  run_step cargo-deny count_check cargo deny --workspace check --hide-inclusion-graph $checks
}

# filter_without PREFIX...: the nextest expression that leaves those tests out.
filter_without() {
  local expression='all()' prefix
  for prefix in "$@"; do expression="$expression and not test(/${prefix}_/)"; done
  printf '%s\n' "$expression"
}

# skip_tests WHY PREFIX COUNTED...: names and counts the tests that need PREFIX, but not those that also need a prefix
# whose tests were counted before.
skip_tests() {
  local why=$1 prefix=$2 names
  shift 2
  if ! names=$(cargo_nextest list --message-format oneline -E "test(/${prefix}_/) and $(filter_without "$@")" 2>/dev/null)
  then
    skip_part 1 "${prefix}_ tests, which could not be listed" "$why"
  elif [ -n "$names" ]; then
    skip_part "$(wc -l <<<"$names")" "${prefix}_ tests" "$why"
    SKIPPED_PARTS="$SKIPPED_PARTS    ${names//$'\n'/$'\n'    }"$'\n'
  fi
}

cargo_nextest() {
  local verb=$1
  shift
  cargo_on "nextest $verb" "$@"
}

# step_tests PREFIX...: every test but those that need what is not there.
step_tests() {
  local profile=default
  [ "${WINDLASS_SOAK:-0}" -eq 0 ] || profile=soak
  run_step tests count_nextest cargo_nextest run --profile "$profile" --no-fail-fast --failure-output final \
    -E "$(filter_without "$@")"
}

# A package without a library has no doc tests, which cargo calls an error when no other package was named.
doc_tests() {
  local code=0
  cargo_on test --doc 2>&1 | tee "$STEPS_DIR/doc-tests.out" || code=$?
  if [ "$code" -ne 0 ] && grep -q 'no library targets found' "$STEPS_DIR/doc-tests.out"; then code=0; fi
  return "$code"
}

step_doc_tests() { run_step 'doc tests' count_doc_tests doc_tests; }
