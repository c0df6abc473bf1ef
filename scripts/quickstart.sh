#!/usr/bin/env bash
# From a fresh checkout to a torch op that runs its AscendC kernel on this CPU: makes .venv, installs
# the kit, scaffolds one op, tests it, packages and installs it, and calls it from a torch module.
#   scripts/quickstart.sh [WORK_FOLDER]     default: build/quickstart
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh
SECONDS=0
opgen_environment
exec "$OPGEN_PYTHON" scripts/quickstart.py --setup-seconds "$SECONDS" "$@"
