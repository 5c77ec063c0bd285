# shellcheck shell=bash
# What a person reads: headlines on stdout, trouble and advice on stderr.

say() { printf '%s\n' "$*"; }

warn() { printf 'warning: %s\n' "$*" >&2; }

hint() { printf 'hint: %s\n' "$*" >&2; }

# The machine or the command line is wrong: nothing was tested.
die() {
  printf 'error: %s\n' "$1" >&2
  [ -z "${2:-}" ] || hint "$2"
  exit "${3:-1}"
}

have() { command -v "$1" >/dev/null 2>&1; }
