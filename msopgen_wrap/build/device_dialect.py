"""Kernel text that the device compiler takes and g++ does not, rewritten line by line.

* ``add<<<dim, l2ctrl, stream>>>(...)`` in a launcher that a kernel library never calls becomes an
  ordinary call; the function attributes ``[aicore]`` and ``[host, aicore]`` go.
* Catlass kernels specialise a member template per core kind inside the class (``template <> void
  operator()<AscendC::AIC>(...)``; CWG 727, g++ 14), and pick one by a default argument. Here one
  binary serves both kinds, so the specialisations become overloads with a tag, and the primary
  template chooses by the core it runs on. Such kernels leave it to the compiler to see which cores
  they need: both kinds when there is a body for the vector core, else cubes alone.
* ``if constexpr (TILING_KEY_IS(1))``: the device compiles a kernel once per tiling key, which makes
  it a constant. Here one binary serves all keys and the condition is an ordinary one.


Lines keep their numbers.
"""

from __future__ import annotations

import re

_BRACKETS = re.compile(r"<<<.*?>>>|\[\s*(?:host\s*,\s*)?aicore\s*\]", re.DOTALL)
_CONSTANT_KEY = re.compile(r"\bif(\s+)constexpr(\s*\((?=[^;{}]*\bTILING_KEY_(?:IS|VAR)\b))")
_HEAD = r"(?P<head>[^;{}()]*?\bvoid\s+operator\s*\(\s*\))"
_PARAMS = r"\(\s*(?P<params>[^;{}()]*?\b(?P<name>\w+))\s*\)"
_PRIMARY = re.compile(
    r"template\s*<\s*int32_t\s+(?P<kind>\w+)\s*=\s*g_coreType\s*>"
    + _HEAD
    + r"\s*"
    + _PARAMS
    + r"\s*(?:;|\{\s*\})"
)
_SPECIAL = re.compile(
    r"template\s*<\s*>" + _HEAD + r"\s*<\s*(?P<kind>(?:AscendC::)?AI[CV])\s*>\s*" + _PARAMS
)
_VECTOR_BODY = re.compile(r"operator\s*\(\s*\)\s*<[^<>]*AIV\s*>\s*\([^()]*\)\s*\{(?!\s*\})")
_TAG = "::ascendc_emu::CoreTag"


def host_text(text: str) -> str:
    """Return the text for g++; the same object content when there is nothing to rewrite."""
    text = _BRACKETS.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    text = dynamic_keys(text)
    if "g_coreType" not in text or not _PRIMARY.search(text):
        return text
    kind = ""
    if "KERNEL_TASK_TYPE" not in text:
        kind = "KERNEL_TYPE_MIX_AIC_1_2" if _VECTOR_BODY.search(text) else "KERNEL_TYPE_AIC_ONLY"
    text = _SPECIAL.sub(lambda m: _keep_lines(m, f"{m['head']}({m['params']}, {_tag(m)})"), text)
    return _PRIMARY.sub(lambda m: _keep_lines(m, _dispatcher(m, kind)), text)


def dynamic_keys(text: str) -> str:
    """Return the text with conditions on the tiling key evaluated when the kernel runs."""
    return _CONSTANT_KEY.sub(r"if\1\2", text)


def _tag(match: re.Match[str]) -> str:
    return f"{_TAG}<{match['kind']}>"


def _dispatcher(match: re.Match[str], kind: str) -> str:
    head, params, name = match["head"], match["params"], match["name"]
    flat = " ".join(head.split())
    call = f"(*this)({name}, {_TAG}<::AscendC::%s>{{}});"
    declare = f"KERNEL_TASK_TYPE_DEFAULT({kind}); " if kind else ""
    choice = f"if (::ascendc_emu::OnAic()) {call % 'AIC'} else {call % 'AIV'}"
    return (
        f"{head}({params}) {{ {declare}{choice} }} "
        f"template <int32_t {match['kind']}> {flat}({params}, {_tag(match)}) {{}}"
    )


def _keep_lines(match: re.Match[str], text: str) -> str:
    """Add the line ends that the rewriting lost."""
    return text + "\n" * (match[0].count("\n") - text.count("\n"))
