# Sourced by the other scripts: makes the virtual environment .venv once and installs the kit.
#   opgen_environment [EXTRA]   installs the extra (dev, onnx, npu) where it is missing
#   opgen_tensorflow FOLDER     makes FOLDER, an environment with TensorFlow and LiteRT, without the kit
# opgen_environment sets OPGEN_PYTHON. OPGEN_VENV chooses another folder.

opgen_say() {
    printf '%s\n' "$*" >&2
}

opgen_environment() {
    local extra="${1:-}"
    local venv="${OPGEN_VENV:-.venv}"
    local base="${PYTHON:-python3}"
    if ! "$base" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
        opgen_say "opgen needs Python 3.10 or newer; set PYTHON to one, e.g. PYTHON=python3.11 $0"
        exit 3
    fi
    if ! command -v "${CXX:-g++}" >/dev/null 2>&1; then
        opgen_say "opgen needs a C++17 compiler; install g++ 10 or newer, e.g. apt-get install g++"
        exit 3
    fi
    if [ ! -x "$venv/bin/python" ]; then
        opgen_say "Making the virtual environment $venv"
        "$base" -m venv "$venv" || {
            opgen_say "python3 -m venv failed; on Debian and Ubuntu: apt-get install python3-venv"
            exit 3
        }
    fi
    OPGEN_PYTHON="$(cd "$venv" && pwd)/bin/python"
    export OPGEN_PYTHON
    # One stamp per extra: pip runs again only when the requirements change.
    local stamp
    stamp="$venv/.opgen-${extra:-base}-$(cksum <pyproject.toml | cut -d' ' -f1)"
    if [ ! -e "$stamp" ]; then
        opgen_say "Installing the kit${extra:+ with [$extra]} (a few minutes the first time)"
        # The emulation library needs no torch: it is compiled while pip unpacks that. What goes
        # wrong with it is reported by the first command that uses it.
        "$OPGEN_PYTHON" -m pip install --quiet --disable-pip-version-check filelock platformdirs >&2
        "$OPGEN_PYTHON" -m msopgen_wrap.build >/dev/null 2>&1 &
        local library=$!
        # Naming the version first keeps pip from choosing a build with gigabytes of GPU libraries.
        "$OPGEN_PYTHON" -m pip install --quiet --disable-pip-version-check "torch==${OPGEN_TORCH:-2.13.0}" >&2
        "$OPGEN_PYTHON" -m pip install --quiet --disable-pip-version-check -e ".${extra:+[$extra]}" >&2
        wait "$library" || true
        : >"$stamp"
    fi
}

opgen_tensorflow() {
    local venv="$1"
    local stamp
    stamp="$venv/.opgen-$(cksum <pyproject.toml | cut -d' ' -f1)"
    if [ ! -e "$stamp" ]; then
        opgen_say "Installing TensorFlow into $venv"
        "${PYTHON:-python3}" -m venv "$venv"
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
            "tensorflow-cpu==${OPGEN_TENSORFLOW:-2.21.0}" "ai-edge-litert==${OPGEN_LITERT:-2.3.0}" >&2
        : >"$stamp"
    fi
}
