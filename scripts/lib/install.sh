# shellcheck shell=bash
# Installs what is missing, without a question, and only what is missing. What cannot be installed here is left out: the
# caller looks again and says so. An installation that was tried and failed is an error.

# shellcheck disable=SC2034 # the versions are named by the callers
CARGO_NEXTEST_VERSION=0.9.151
# shellcheck disable=SC2034
CARGO_DENY_VERSION=0.20.2

# Outside the checkout, so that a fresh clone on the same machine does not build the tools again.
TOOLS_DIR=${XDG_CACHE_HOME:-${HOME:-$ROOT/target}/.cache}/windlass/tools

# Prints the words to put before apt-get; fails where we may not install.
root_prefix() {
  if [ "$(id -u)" -eq 0 ]; then
    echo env
  elif have sudo && sudo -n true 2>/dev/null; then
    echo sudo -n env
  else
    return 1
  fi
}

can_apt() { have apt-get && root_prefix >/dev/null; }

# apt_install PACKAGE...
apt_install() {
  local prefix log
  prefix=$(root_prefix)
  log=$(mktemp)
  say "installing $* with apt-get"
  # shellcheck disable=SC2086 # the prefix is several words
  if ! {
    $prefix DEBIAN_FRONTEND=noninteractive apt-get update &&
      $prefix DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
  } >"$log" 2>&1 </dev/null; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    die "apt-get could not install: $*"
  fi
  rm -f "$log"
}

# install_servers NAME...: of those neither given by URL nor installed.
install_servers() {
  local name packages=''
  [ "${NO_INSTALL:-0}" -eq 0 ] && can_apt || return 0
  for name in $(services_missing "$@"); do
    packages="$packages $(service_package "$name")"
  done
  # shellcheck disable=SC2086
  [ -z "$packages" ] || apt_install $packages
}

# install_cargo_tool NAME VERSION: a debug build, which takes a third of the time and is fast enough for a checker.
install_cargo_tool() {
  local name=$1 version=$2
  PATH=$PATH:$TOOLS_DIR/bin
  if have "$name" || [ "${NO_INSTALL:-0}" -ne 0 ]; then return 0; fi
  say "building $name $version into $TOOLS_DIR (once, some minutes)"
  mkdir -p "$TOOLS_DIR"
  if ! cargo install --locked --debug --root "$TOOLS_DIR" "$name@$version" >"$TOOLS_DIR/$name.log" 2>&1 </dev/null; then
    tail -n 20 "$TOOLS_DIR/$name.log" >&2
    die "cargo could not install $name $version"
  fi
}

# install_npm_tools: node_modules as the lock file says. Install scripts are not needed and not run.
install_npm_tools() {
  local stamp=$ROOT/node_modules/.windlass-lock.json log=$ROOT/target/npm-ci.log
  have npm || return 0
  if cmp -s "$ROOT/package-lock.json" "$stamp" || [ "${NO_INSTALL:-0}" -ne 0 ]; then return 0; fi
  say "installing npm's tools (once per change of package-lock.json)"
  mkdir -p "$ROOT/target"
  if ! (cd "$ROOT" && npm ci --ignore-scripts --no-audit --no-fund) >"$log" 2>&1 </dev/null; then
    tail -n 20 "$log" >&2
    die "npm could not install the tools of package-lock.json"
  fi
  cp "$ROOT/package-lock.json" "$stamp"
}
