#!/usr/bin/env bash
# Check the sources: ruff, mypy, clang-format. Makes or reuses the virtual environment of quickstart.sh.
#   scripts/lint.sh          check
#   scripts/lint.sh --fix    format and fix what the tools can
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh
opgen_environment dev
bin="$(dirname "$OPGEN_PYTHON")"

cpp() {
    git ls-files -z -- '*.cpp' '*.h' '*.asc' ':!tests/*/golden/*'
}

if [ "${1:-}" = --fix ]; then
    "$bin/ruff" check --fix .
    "$bin/ruff" format msopgen_wrap tests scripts
    cpp | xargs -0 "$bin/clang-format" -i
fi
"$bin/ruff" check .
"$bin/ruff" format --check msopgen_wrap tests scripts
"$bin/mypy"
cpp | xargs -0 "$bin/clang-format" --dry-run --Werror
