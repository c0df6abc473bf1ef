#!/usr/bin/env bash
# Run the program, then run it without a flag that it needs; see README.md.
set -euo pipefail
cd "$(dirname "$0")"
opgen run leaky_relu.asc
if OPGEN_CHECK=auto-sync=off opgen run leaky_relu.asc -D WITHOUT_FLAG; then
    echo "the missing flag was not found" >&2
    exit 1
fi
echo "The missing flag was found."
