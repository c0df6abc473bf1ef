"""Naming rules: what an op, a parameter or an attr may be called in C++, Python and aclnn.

A name of a spec becomes an identifier in C++ (kernel, op_host, aclnn, torch binding), in Python
and in torch's schema language, and a file or folder. One table holds the names that are taken, with
the reason for each group. What is merely a local name of our own templates is in ``LOCALS``:
generated code gives way there.
"""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Callable, Iterable, Sequence

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.spec.findings import Findings
from msopgen_wrap.spec.model import Attr, ParamKind, TensorParam
from msopgen_wrap.spec.torch_names import BUILTIN_FUNCTIONS, words

CPP_KEYWORDS = words(
    """alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t
        char32_t class compl concept const consteval constexpr constinit const_cast continue
        co_await co_return co_yield decltype default delete do double dynamic_cast else enum
        explicit export extern false float for friend goto if inline int long mutable namespace new
        noexcept not not_eq nullptr operator or or_eq private protected public register
        reinterpret_cast requires return short signed sizeof static static_assert static_cast
        struct switch template this thread_local throw true try typedef typeid typename typeof union
        unsigned using virtual void volatile wchar_t while xor xor_eq half bfloat16_t"""
)

# Macros in small letters of the C library and of compilers in GNU mode.
C_MACROS = words(
    """assert errno stdin stdout stderr linux unix i386 offsetof alloca major minor makedev
        va_start va_end va_arg va_copy setjmp si_value si_pid si_uid si_status si_addr si_int si_ptr
        sa_handler sa_sigaction sigev_notify_function st_atime st_mtime st_ctime h_addr h_errno
        s6_addr d_fileno sched_priority complex imaginary noreturn signal_h"""
)

# The kernel's entry, the op_host functions and the binding name these beside the parameters.
GENERATED_CPP = words(
    """workspace tiling tilingData tiling_data userWorkspace usrWorkspace user pipe kernel context
        op stream executor workspaceSize workspace_size coreNum opgen gert ge optiling std torch
        main blockIdx block_idx blockDim block_dim platform_ascendc"""
)

# Locals of the functions that CANN's opbuild writes: it takes our parameters' names as they are.
OPBUILD_LOCALS = words(
    """timeStamp dfxId tilingId nnopExecutor executorSpace opType inputDesc outputDesc
        attrDesc supportList socSupportList opSocSupportList workspaceSize executor
        workspace stream"""
)
_OPBUILD_NUMBERED = re.compile(r"(?:tmp|inputDesc|outputDesc|list|supportInfo|socSupportInfo)\d+")

# What compute and the generated Python functions call.
GENERATED_PYTHON = (
    words(
        """torch F math opgen self cls ctx Tensor None True False print isinstance next len range
            zip tuple list enumerate out_tensors broadcast reduce rank numel like"""
    )
    | BUILTIN_FUNCTIONS
)

# Words of torch's schema language.
SCHEMA_WORDS = words("inf nan cond Tensor Scalar def fork apply future self")

# Ops: what the vendor's Python package and its namespace of torch.ops hold beside them.
PYTHON_PACKAGE = words(
    """add_vendor_folder call_count findings is_reference last_backend library_path onnx ops
        reference use_reference torchair csrc opp name torch math len range zip next tuple list
        enumerate isinstance print"""
)

# Ops: C++ names that stand beside an op's class (namespace ops) or its kernel function.
CPP_NEIGHBOURS = words("OpDef OpParamDef OpAttrDef OpAICoreDef OpMC2Def OpDefFactory")
KERNEL_NEIGHBOURS = words("opgen gert ge std ascend_c optiling acl main ops domi")

# Functions of C's library that its headers declare for kernels, too: the kernel function would have
# the name and other parameters. Those of <cmath> and POSIX are only seen as std:: and may be ops.
C_FUNCTIONS = words(
    """abort atexit atoi bcmp bcopy bsearch bzero calloc exit explicit_bzero ffs free getenv malloc
        memccpy memchr memcmp memcpy memmove mempcpy memrchr memset posix_memalign printf puts qsort
        rand realloc srand stpcpy strcat strchr strcmp strcpy strcspn strdup strerror strlen strncpy
        strspn strstr strtok strxfrm system"""
)

# Python packages and namespaces of torch.ops that a vendor's package would hide or clash with.
PACKAGES = words(
    """aten prim prims prim_ops quantized torch torch_npu torchair torchvision torchaudio torchgen
        functorch c10 c10d c10d_functional caffe2 higher_order inductor mkl mkldnn onednn profiler
        quantized_decomposed rngprims debugprims sparse static_runtime streams symm_mem xnnpack
        loaded_libraries load_library import_module npu npu_inference numpy onnx onnxruntime
        onnxscript tensorflow jax scipy pandas yaml jinja2 click rich filelock networkx sympy
        pytest setuptools pip wheel pkg_resources cmake ninja msopgen msopgen_wrap opc
        tbe te topi tvm acl ge hccl auto_tune test tests sitecustomize usercustomize"""
)
# Modules of Python's library in any version that the kit knows: the result must not depend on the
# Python that runs.
STDLIB = frozenset(
    n for n in sys.stdlib_module_names | words("asynchat asyncore distutils imp smtpd tomllib")
)


# Names of locals, members and tiling fields of our own templates: a parameter called so gets an
# underscore in generated C++.
LOCALS = words(
    """asked attrs axes before block blockRows blocks box boxBytes boxCols boxRows budget
        buffers byElement bytes bytesBuf chosen chunk coefficientBuf coefficients
        colCount columns convolved cores count cycles depth dims dtypes elements
        exchange expected filters first flat flatBytes float found given gmBandwidth
        groupStep half i idle imageStep inPlace inputOffset inputTiles item items kept
        keptOuter known lanes leftTransposed length lengths lineLength list longest
        maskBuf masks need numbers operands order other outerDims outputTiles part
        partial perCore pieceLength pieces pitchUnit platform product readBytes reduced
        reducedCount refusal resultFilterStep resultImageStep rightTransposed room
        rowBlockBuf rowBlocks rowBuf rowCount rowElements rowLength rowMaskBuf rowPitch
        rows rowsPerWindow scoreProduct scratch shape share shared sizes slabItems
        slabRows slot slotLength space spare split stage stageBuf stageHalf stageInt
        steps sumProduct temporaries tensors tile tileLength tiles tiling total transposed
        ubSize units use used uses valueBuf valueLength valueOffset variant vectorCycles views
        walk whole windowBuf workspace workspaces writtenBytes"""
)
_LOCAL_FORM = re.compile(
    r"(?:tmp|mask|row|rowMask)\d+|scalar\d*|k[A-Z]\w*"
    # members of a tiling struct of CANN 8.1 beside each field
    r"|[gs]et_\w+"
    r"|.+(?:Gm|Queue|Local|Loaded|Kept|Walk|List|Shape|Storage|View|Attr|Float|Int|Words)"
)


def cpp_local(name: str) -> str:
    """Return the name of a parameter in the body of a generated C++ function or class.

    It is the parameter's own unless a template uses that name for something else.
    """
    return f"{name}_" if name in LOCALS or _LOCAL_FORM.fullmatch(name) else name


# Types of C and AscendC that generated C++ names beside the parameters.
_C_TYPE = re.compile(r"(?:u?int(?:\d+|ptr|max)|size|ssize|ptrdiff|int4b|b?float\d+|hifloat8)_t")


def _macro(name: str) -> bool:
    """Whether a name has the form of C's macros: capitals, more than one letter."""
    return not re.search("[a-z]", name) and not re.fullmatch(r"[A-Z][0-9]*", name)


Rule = tuple[Callable[[str], bool], str]

# What a name is that a keyword of each language forbids: every position.
_KEYWORDS: tuple[Rule, ...] = (
    (
        lambda n: n in CPP_KEYWORDS,
        "it is a C++ keyword or device type, the generated kernel would not compile",
    ),
    (keyword.iskeyword, "it is a Python keyword, the generated torch function would not parse"),
    (
        lambda n: n in C_MACROS or _macro(n),
        "names in capitals, and a few others, are macros of C headers",
    ),
)

PARAM_RULES: tuple[Rule, ...] = (
    *_KEYWORDS,
    (
        lambda n: bool(re.match("[A-Z]", n)) and not re.fullmatch(r"[A-Z][0-9]*", n),
        "AscendC names its functions and types like this; CANN writes parameters small anyway",
    ),
    (
        lambda n: n in GENERATED_CPP or n in GENERATED_PYTHON or n.startswith("grad_"),
        "generated code uses this name itself",
    ),
    (
        lambda n: n.startswith(("g_tiling", "opgen_")) or bool(re.match("(acl|ge)[A-Z]", n)),
        "generated code, AscendC's macros and CANN's C interface use names that begin like this",
    ),
    (
        lambda n: n in OPBUILD_LOCALS or bool(_OPBUILD_NUMBERED.fullmatch(n)),
        "the aclnn function that CANN's opbuild writes uses this name itself",
    ),
    (lambda n: bool(_C_TYPE.fullmatch(n)), "it is a type of C++ or AscendC"),
    (lambda n: n in SCHEMA_WORDS, "it is a word of torch's schema language"),
)

# Of the snake_case name of an op.
OP_RULES: tuple[Rule, ...] = (
    *_KEYWORDS,
    (
        lambda n: n in KERNEL_NEIGHBOURS,
        "the kernel function would have the name of a namespace or of main()",
    ),
    (lambda n: n in C_FUNCTIONS, "it is a function of C's library"),
    (
        lambda n: n in PYTHON_PACKAGE,
        "the generated Python package uses this name itself",
    ),
    (lambda n: n in SCHEMA_WORDS, "it is a word of torch's schema language"),
)

VENDOR_RULES: tuple[Rule, ...] = (
    *_KEYWORDS,
    (lambda n: n in STDLIB, "the generated package would hide Python's own module"),
    (lambda n: n in PACKAGES, "it would hide a package, or is a namespace of torch.ops"),
)


def why_taken(name: str, rules: tuple[Rule, ...]) -> str:
    """Return why a name cannot be used, or an empty string."""
    return next((why for taken, why in rules if taken(name)), "")


OP_NAME = re.compile(r"[A-Z][A-Za-z0-9]*\Z")
PARAM_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
MAX_OP_NAME = 64
MAX_PARAM_NAME = 48
_VENDOR = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}\Z")
# Attr types whose parameters opbuild marks as optional: those it passes as pointers.
_OPTIONAL_ATTRS = ("str", "list_int", "list_float")


def macro_names(params: Sequence[str]) -> list[str]:
    """Return what stands for X in CANN's macros ``DTYPE_X`` of each parameter of an op.

    An output with the name of an input is ``X_REF``.

    Args:
        params: names of the inputs, then of the outputs.
    """
    return [
        name.upper() + ("_REF" if name in params[:index] else "")
        for index, name in enumerate(params)
    ]


def snake_case(name: str) -> str:
    """Return the snake_case form that msopgen gives a CamelCase op type.

    ``FusedAddRelu`` -> ``fused_add_relu``, ``RMSNorm`` -> ``rms_norm``, ``Add2D`` -> ``add2_d``
    is avoided by treating a digit as part of the word before it: ``add2d``.
    """
    step = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    step = re.sub(r"([a-z])([A-Z])", r"\1_\2", step)
    step = re.sub(r"([0-9])([A-Z][a-z])", r"\1_\2", step)
    return step.lower()


def camel_case(name: str) -> str:
    """Return a CamelCase op type for any words: ``fused_add relu`` -> ``FusedAddRelu``."""
    words = re.findall(r"[A-Za-z0-9]+", name)
    return "".join(w[:1].upper() + w[1:] for w in words)


def check_op_name(name: str, location: Location, findings: Findings) -> None:
    """Report OPG010 unless ``name`` is a CamelCase identifier."""
    if not OP_NAME.match(name):
        better = camel_case(name)
        findings.error(
            "OPG010",
            f"op name '{name}' is not CamelCase",
            location,
            why="CANN derives file, kernel and aclnn names from a CamelCase op type",
            fix=f"write '{better}'" if OP_NAME.match(better) else "write it like FusedAddRelu",
        )
    elif len(name) > MAX_OP_NAME:
        findings.error(
            "OPG010",
            f"op name has {len(name)} characters",
            location,
            why=f"more than {MAX_OP_NAME} makes file names that tar in the package refuses",
            fix="shorten it",
        )
    else:
        why = why_taken(snake_case(name), OP_RULES)
        if name in CPP_NEIGHBOURS:
            why = "CANN has a C++ class of this name beside the op's"
        elif name.endswith("GetWorkspaceSize"):
            why = "aclnn functions of other ops end like this"
        if why:
            findings.error(
                "OPG010",
                f"'{name}' ('{snake_case(name)}' in C++ and Python) cannot name an op",
                location,
                why=why,
                fix=f"rename it, e.g. 'Custom{name}'",
            )


def check_param_name(name: str, what: str, location: Location, findings: Findings) -> bool:
    """Report OPG011 unless ``name`` can name a parameter in C++, Python and aclnn."""
    why = fix = ""
    if not PARAM_NAME.match(name) or "__" in name:
        why = "names are letters, digits and single underscores, starting with a letter"
    elif len(name) > MAX_PARAM_NAME:
        why = f"names have at most {MAX_PARAM_NAME} characters"
    else:
        why = why_taken(name, PARAM_RULES)
    if not why:
        return True
    if PARAM_NAME.match(name):
        better = name.lower() if not why_taken(name.lower(), PARAM_RULES) else f"{name.lower()}_in"
        fix = f"rename it, e.g. '{better}'"
    findings.error("OPG011", f"'{name}' cannot name {what}", location, why, fix)
    return False


def check_vendor(vendor: str) -> str:
    """Return ``vendor`` if it can be a folder, a shell and CMake word, a Python package and a
    namespace of torch.ops.

    Raises:
        OpgenError: OPG603.
    """
    why = (
        why_taken(vendor, VENDOR_RULES)
        if _VENDOR.match(vendor)
        else "it becomes a folder, a shell variable, a Python package and a namespace of torch.ops"
    )
    if why:
        raise OpgenError(
            Diagnostic(
                "OPG603",
                f"vendor name {vendor!r} cannot be used",
                why=why,
                fix="use letters, digits and '_', starting with a letter, at most 64 characters, "
                "and a name of your own, e.g. 'acme_ops'",
            )
        )
    return vendor


# ---- parameters of aclnn functions ---------------------------------------------------------------


def lower_camel(name: str) -> str:
    """Return the form opbuild gives parameter names: ``input_x`` -> ``inputX``, ``X`` -> ``x``."""
    head, *rest = name.split("_")
    return head[:1].lower() + head[1:] + "".join(word[:1].upper() + word[1:] for word in rest)


def aclnn_input(param: TensorParam, inplace: bool) -> str:
    """Return the C name of an input; ``inplace`` says that an output overwrites it."""
    optional = "Optional" if param.kind is ParamKind.OPTIONAL else ""
    return lower_camel(param.name) + ("Ref" if inplace else "") + optional


def aclnn_attr(attr: Attr) -> str:
    """Return the C name of an attr: optional text and lists end in ``Optional``, numbers do not."""
    optional = not attr.required and attr.type in _OPTIONAL_ATTRS
    return lower_camel(attr.name) + ("Optional" if optional else "")


def aclnn_output(param: TensorParam, alone: bool) -> str:
    """Return the C name of an output; ``alone`` says that the op has no other."""
    return "out" if alone else lower_camel(param.name) + "Out"


def check_aclnn_names(
    inputs: Sequence[TensorParam],
    outputs: Sequence[TensorParam],
    attrs: Iterable[Attr],
    findings: Findings,
) -> None:
    """Report parameters that get one name in the aclnn function or in the kernel (OPG012)."""
    overwritten = {o.inplace for o in outputs}
    named: list[tuple[TensorParam | Attr, str]] = [
        (p, aclnn_input(p, p.name in overwritten)) for p in inputs
    ]
    named += [(a, aclnn_attr(a)) for a in attrs]
    named += [(o, aclnn_output(o, len(outputs) == 1)) for o in outputs if o.inplace is None]
    seen: dict[str, TensorParam | Attr] = {}
    for item, name in named:
        other = seen.setdefault(name, item)
        if other is item:
            continue
        # An output alone is 'out' whatever the spec calls it: the other one has to give way.
        bad, good = (other, item) if name == "out" and item in outputs else (item, other)
        findings.error(
            "OPG012",
            f"'{bad.name}' and '{good.name}' are one parameter, '{name}', of the aclnn function",
            bad.location,
            why="CANN's opbuild writes parameters in camelCase and calls a single output 'out'",
            fix=f"rename '{bad.name}'",
        )
    # The kernel's names: types of x and X_y are TX and TXY; an output in place is x and xOut.
    kernel: dict[str, TensorParam] = {}
    for param in (*inputs, *outputs):
        form = lower_camel(param.name) + ("Out" if param.inplace else "")
        other_param = kernel.setdefault(form, param)
        if other_param is not param and other_param.name != param.name:
            findings.error(
                "OPG012",
                f"'{param.name}' and '{other_param.name}' have one name in the kernel, '{form}'",
                param.location,
                why="generated C++ writes parameters in camelCase",
                fix="rename one of the two",
            )
