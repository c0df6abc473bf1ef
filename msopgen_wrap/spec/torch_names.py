"""The allow-list of ``compute``: which names of torch a spec may use.

Everything here is functional (no in-place form, no ``out=``, no randomness, no I/O, no device or
process access) and has a decomposition to core ATen ops.
"""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """Return the set of words of a text."""
    return frozenset(text.split())


_POINTWISE = """abs absolute acos acosh add addcdiv addcmul arccos arccosh arcsin arcsinh arctan
arctan2 arctanh asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_not bitwise_or
bitwise_right_shift bitwise_xor ceil clamp clamp_max clamp_min clip copysign cos cosh deg2rad div
divide eq erf erfc erfinv exp exp2 expm1 fix floor floor_divide fmax fmin fmod frac ge greater
greater_equal gt heaviside hypot isfinite isinf isnan isneginf isposinf le lerp less less_equal
log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor logit lt
maximum minimum mul multiply nan_to_num ne neg negative nextafter not_equal positive pow rad2deg
reciprocal relu remainder round rsqrt rsub sgn sigmoid sign signbit sin sinc sinh sqrt square sub
subtract tan tanh true_divide trunc where xlogy ldexp float_power"""

_REDUCE = """all amax amin aminmax any argmax argmin argsort count_nonzero cummax cummin cumprod
cumsum diff logcumsumexp logsumexp max mean median min mode nanmean nansum norm prod sort std
std_mean sum topk var var_mean softmax log_softmax kthvalue"""

_SHAPE = """broadcast_to cat chunk concat concatenate diagonal dstack expand_copy flatten flip
gather hsplit hstack index_select movedim moveaxis narrow permute ravel repeat_interleave reshape
roll select squeeze split stack swapaxes swapdims t take_along_dim tile transpose tril triu
unbind unflatten unsqueeze unsqueeze_copy view_copy vsplit vstack scatter scatter_add index_add
index_fill masked_fill masked_scatter rot90 constant_pad_nd"""

_LINALG = "addmm addmv baddbmm bmm dot einsum inner matmul mm mv outer tensordot vdot"

_CREATE = """arange eye full full_like ones ones_like tensor zeros zeros_like
scalar_tensor linspace"""

_TEST = "detach is_tensor is_floating_point numel broadcast_tensors clone"

DTYPE_NAMES = words("float16 bfloat16 float32 float64 int8 int16 int32 int64 uint8 bool")

TORCH_DTYPES = DTYPE_NAMES | words("half float double long int short")

# Limits of a dtype; their attributes are in INFO_ATTRIBUTES.
TORCH_INFO = words("finfo iinfo")
INFO_ATTRIBUTES = words("max min eps tiny smallest_normal bits")

TORCH_CONSTANTS = words("pi inf nan e")

TORCH_FUNCTIONS = (
    words(" ".join((_POINTWISE, _REDUCE, _SHAPE, _LINALG, _CREATE, _TEST))) | TORCH_INFO
)

# Calls whose integer arguments are sizes: literals are bounded there.
SIZED_FUNCTIONS = words(
    "arange eye full ones zeros tile repeat_interleave repeat expand linspace new_full new_ones "
    "new_zeros unflatten constant_pad_nd pad one_hot interpolate"
)

TORCH_NAMESPACES: dict[str, frozenset[str]] = {
    "torch.nn.functional": words(
        """binary_cross_entropy binary_cross_entropy_with_logits celu cosine_similarity
        cross_entropy elu embedding gelu glu group_norm hardshrink hardsigmoid hardswish hardtanh
        huber_loss instance_norm kl_div l1_loss layer_norm leaky_relu linear log_softmax logsigmoid
        mish mse_loss nll_loss normalize one_hot pad pairwise_distance pixel_shuffle
        pixel_unshuffle prelu relu relu6 rms_norm selu sigmoid silu smooth_l1_loss
        soft_margin_loss softmax softmin softplus softshrink softsign tanh tanhshrink threshold
        local_response_norm batch_norm avg_pool1d avg_pool2d max_pool2d interpolate
        scaled_dot_product_attention"""
    ),
    "torch.special": words(
        """bessel_j0 bessel_j1 entr erf erfc erfcx erfinv exp2 expit expm1 i0 i0e i1 i1e log1p
        log_ndtr log_softmax logit logsumexp ndtr ndtri round sinc softmax xlog1py xlogy"""
    ),
    "torch.linalg": words("norm vector_norm matmul vecdot"),
}

TENSOR_METHODS = (
    words(" ".join((_POINTWISE, _REDUCE, _SHAPE, _LINALG)))
    - words(
        # functions without a method of that name
        """aminmax broadcast_tensors cat chunk concat concatenate dstack hstack stack vstack
        concatenate einsum tensordot where std_mean var_mean expand_copy unsqueeze_copy view_copy
        constant_pad_nd rsub argsort"""
    )
) | words(
    """argsort aminmax bfloat16 bool chunk clone contiguous dim double expand expand_as float half
    int long masked_fill mul ndimension new_full new_ones new_zeros numel repeat reshape_as short
    detach size stride sum_to_size to type_as view view_as where is_floating_point
   """
)

TENSOR_PROPERTIES = words("shape ndim dtype device T mT")

MATH_FUNCTIONS = words(
    """ceil cos erf exp expm1 floor gcd isinf isnan log log10 log1p log2 pow prod sin sqrt tan
    tanh"""
)
MATH_CONSTANTS = words("pi e inf nan tau")

BUILTIN_FUNCTIONS = words("abs bool float int len list max min tuple zip enumerate round sum")

RANDOM_NAMES = words(
    """alpha_dropout bernoulli dropout dropout1d dropout2d dropout3d feature_alpha_dropout
    gumbel_softmax manual_seed multinomial normal poisson rand rand_like randint randint_like randn
    randn_like randperm rrelu uniform"""
)

# Keyword arguments that write, place or name things.
REFUSED_KEYWORDS = words("out generator device layout pin_memory names inplace requires_grad")
