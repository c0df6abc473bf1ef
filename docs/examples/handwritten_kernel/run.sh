#!/usr/bin/env bash
# Test the kernel on its case grid; see README.md.
set -euo pipefail
opgen test "$(dirname "$0")/running_max.yaml"
