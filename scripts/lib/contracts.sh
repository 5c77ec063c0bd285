# shellcheck shell=bash
# The steps on the contracts.

contracts_ready() { foundry_tool forge >/dev/null && [ -d "$ROOT/node_modules/solc" ]; }

steps_contracts() {
  if ! contracts_ready; then
    skip_part 3 'contract tests, formatting and artifacts' "forge or solc is missing; with Node 20: npm ci --ignore-scripts"
    return
  fi
  run_step 'forge fmt' count_check "$ROOT/scripts/forge" fmt --check
  run_step 'contract tests' count_forge "$ROOT/scripts/forge" test
  run_step 'contract artifacts' count_check "$ROOT/scripts/contract-artifacts" --check
}
