#!/usr/bin/env bash
# Build wheels that carry the emulation library: one for x86-64, and one for aarch64 where a cross
# compiler is installed (Debian: apt-get install g++-aarch64-linux-gnu).
#   scripts/build_wheels.sh [OUT]      default: dist
# The wheel's platform tag says the oldest glibc it loads on, which is that of the machine it is built
# on; elsewhere the installed kit compiles the library at first use, as a wheel without it does.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh
opgen_environment dev
out="${1:-dist}"

build_wheel() { # MACHINE COMPILER
    local folder tag
    folder="$(mktemp -d)"
    tag="$("$OPGEN_PYTHON" -m msopgen_wrap.build.wheel_library "$folder" --machine "$1" --cxx "$2")"
    OPGEN_WHEEL_PREBUILT="$folder" OPGEN_WHEEL_TAG="$tag" \
        "$OPGEN_PYTHON" -m build --wheel --no-isolation -o "$out" .
    rm -rf "$folder"
}

for pair in x86_64:x86_64-linux-gnu-g++ aarch64:aarch64-linux-gnu-g++; do
    if command -v "${pair#*:}" >/dev/null 2>&1; then
        build_wheel "${pair%%:*}" "${pair#*:}"
    else
        opgen_say "no ${pair#*:}: no wheel for ${pair%%:*}"
    fi
done
