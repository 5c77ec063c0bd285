# shellcheck shell=bash
# Foundry's native programs. npm's packages carry one per platform; starting it directly saves node's start-up and makes
# its process id the one that we signal.

foundry_platform() {
  local os arch
  os=$(uname -s | tr '[:upper:]' '[:lower:]')
  arch=$(uname -m)
  case $arch in
    x86_64) arch=amd64 ;;
    aarch64) arch=arm64 ;;
  esac
  printf '%s-%s\n' "$os" "$arch"
}

# foundry_tool NAME: prints the path of anvil, cast or forge; fails when there is none.
foundry_tool() {
  local native
  native=$ROOT/node_modules/@foundry-rs/$1-$(foundry_platform)/bin/$1
  if [ -x "$native" ]; then
    printf '%s\n' "$native"
  else
    command -v "$1"
  fi
}
