#!/usr/bin/env bash
# Run the kit's tests. Makes or reuses the virtual environment of quickstart.sh.
#   scripts/test.sh            the default suite
#   scripts/test.sh -m slow    what the default suite leaves out
#   scripts/test.sh tests/spec -k broadcast    anything pytest takes
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh
opgen_environment dev

# Idle threads of torch in one test process must not keep the others from running.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"
if [ $# -eq 0 ]; then
    set -- -m "not slow"
fi
# Each process begins with tests that follow one another, which share what a module compiles, and
# takes over tests of another one when it is done.
exec "$OPGEN_PYTHON" -m pytest -n auto --dist worksteal "$@"
