#!/usr/bin/env bash
# Test, package, install and train; see README.md.   run.sh [WORK_FOLDER], default: build
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
work="${1:-$here/build}"
mkdir -p "$work"
cd "$work"
opgen test "$here/gated_rms_norm.yaml"
opgen new "$here/gated_rms_norm.yaml" -o project --vendor example
opgen build project --target cpu -o dist
sh dist/custom_opp_*.run --install-path="$work/opp"
. opp/vendors/example/bin/set_env.bash
PYTHONPATH="$work/project/torch_ext" python3 "$here/train.py"
