"""torch_npu's own operators: reference implementations against formulas written independently."""

from __future__ import annotations

import math

import pytest
import torch
import torch_npu
from torch.nn import functional as F

pytestmark = pytest.mark.npu


def randn(*shape, dtype=torch.float32, grad=False):
    """Random tensor on the device."""
    return torch.randn(*shape, dtype=dtype).to("npu").requires_grad_(grad)


def close(a, b, tolerance=1e-5):
    torch.testing.assert_close(a.cpu(), b.cpu(), rtol=tolerance, atol=tolerance)


def gradients_match(function, *tensors):
    """Finite differences against autograd, in one random direction per tensor."""
    out = function(*tensors)
    weight = torch.randn_like(out)
    grads = torch.autograd.grad((out * weight).sum(), tensors)
    for index, grad in enumerate(grads):
        direction = torch.randn_like(tensors[index])
        values = []
        for sign in (1, -1):
            moved = [t.detach() for t in tensors]
            moved[index] = moved[index] + sign * 1e-2 * direction
            values.append((function(*moved) * weight).sum().item())
        expected = (values[0] - values[1]) / 2e-2
        assert (grad * direction).sum().item() == pytest.approx(expected, rel=2e-2, abs=2e-2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_rms_norm(npu, dtype):
    x, gamma = randn(4, 3, 16, dtype=dtype), randn(16, dtype=dtype)
    y, rstd = torch_npu.npu_rms_norm(x, gamma, 1e-5)
    expected = F.rms_norm(x.cpu().float(), (16,), gamma.cpu().float(), 1e-5)
    assert y.dtype == dtype and rstd.dtype == torch.float32 and rstd.shape == (4, 3, 1)
    close(y.float(), expected, {torch.float32: 1e-5}.get(dtype, 2e-2))
    r = randn(4, 3, 16, dtype=dtype)
    y2, rstd2, total = torch_npu.npu_add_rms_norm(x, r, gamma, 1e-5)
    assert torch.equal(total.cpu(), (x.cpu().float() + r.cpu().float()).to(dtype))
    added = F.rms_norm(x.cpu().float() + r.cpu().float(), (16,), gamma.cpu().float(), 1e-5)
    close(y2.float(), added, {torch.float32: 1e-5}.get(dtype, 2e-2))
    assert rstd2.shape == (4, 3, 1)


def test_rms_norm_backward(npu):
    x, gamma, dy = randn(5, 8, grad=True), randn(8, grad=True), randn(5, 8)
    y, rstd = torch_npu.npu_rms_norm(x, gamma)
    dx, dgamma = torch.autograd.grad(y, (x, gamma), dy)
    got = torch.ops.npu.npu_rms_norm_backward(dy, x.detach(), gamma.detach(), rstd.detach())
    close(got[0], dx)
    close(got[1], dgamma)
    gradients_match(lambda a, g: torch_npu.npu_rms_norm(a, g)[0], x, gamma)


def test_activations(npu):
    x = randn(4, 10, grad=True)
    a, b = x.detach().cpu().chunk(2, -1)
    close(torch_npu.npu_swiglu(x), F.silu(a) * b)
    gradients_match(torch_npu.npu_swiglu, x)
    dy = randn(4, 5)
    (expected,) = torch.autograd.grad(torch_npu.npu_swiglu(x), x, dy)
    close(torch.ops.npu.npu_swiglu_backward(dy, x.detach()), expected)
    close(torch_npu.npu_silu(x), F.silu(x.detach().cpu()))
    close(torch_npu.npu_fast_gelu(x), x.detach().cpu() * torch.sigmoid(1.702 * x.detach().cpu()))
    y, gelu = torch_npu.npu_geglu(x.detach(), -1, 1)
    close(gelu, F.gelu(b, approximate="tanh"))
    close(y, a * F.gelu(b, approximate="tanh"))


def test_rotary(npu):
    x, cos, sin = randn(2, 3, 4, 8, grad=True), randn(1, 3, 1, 8), randn(1, 3, 1, 8)
    h, c, s = x.detach().cpu(), cos.cpu(), sin.cpu()
    half = torch.cat((-h[..., 4:], h[..., :4]), -1)
    close(torch_npu.npu_rotary_mul(x, cos, sin), h * c + half * s)
    # As complex numbers: interleaved pairs turn by an angle.
    angle = torch.rand(1, 3, 1, 4) * 6
    pairs = torch.view_as_complex(h.view(2, 3, 4, 4, 2))
    turned = torch.view_as_real(pairs * torch.polar(torch.ones_like(angle), angle)).flatten(-2)
    wide = angle.repeat_interleave(2, -1)
    got = torch_npu.npu_rotary_mul(x, wide.cos().to(npu), wide.sin().to(npu), "interleave")
    close(got, turned)
    gradients_match(lambda t: torch_npu.npu_rotary_mul(t, cos, sin), x)


LAYOUTS = {
    "BNSD": lambda t: t,
    "BSND": lambda t: t.transpose(1, 2).contiguous(),
    "BSH": lambda t: t.transpose(1, 2).flatten(2),
    "SBH": lambda t: t.permute(2, 0, 1, 3).flatten(2),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kv_heads", [4, 2])
@pytest.mark.parametrize("causal", [False, True])
def test_fusion_attention(npu, layout, kv_heads, causal):
    q, k, v = (
        torch.randn(2, 4, 6, 8),
        torch.randn(2, kv_heads, 9, 8),
        torch.randn(2, kv_heads, 9, 8),
    )
    mask = torch.ones(6, 9, dtype=torch.bool).triu(1) if causal else None
    expected = F.scaled_dot_product_attention(
        q, k.repeat_interleave(4 // kv_heads, 1), v.repeat_interleave(4 // kv_heads, 1),
        attn_mask=None if mask is None else ~mask, scale=0.3,
    )  # fmt: skip
    to = LAYOUTS[layout]
    out, top, total, *_ = torch_npu.npu_fusion_attention(
        to(q).to(npu), to(k).to(npu), to(v).to(npu), 4, layout, scale=0.3,
        atten_mask=None if mask is None else mask.to(npu),
    )  # fmt: skip
    close(out, to(expected))
    assert top.shape == total.shape == (2, 4, 6, 8) and top.dtype == torch.float32
    scores = q @ k.repeat_interleave(4 // kv_heads, 1).transpose(-1, -2) * 0.3
    if mask is not None:
        scores = scores.masked_fill(mask, -math.inf)
    lse = top[..., 0].cpu() + total[..., 0].cpu().log()
    close(lse, scores.logsumexp(-1))


@pytest.mark.parametrize(("mode", "shift"), [(2, 0), (3, 3)])
def test_fusion_attention_compressed_masks(npu, mode, shift):
    q, k = torch.randn(1, 2, 4, 8), torch.randn(1, 2, 7, 8)
    compressed = torch.ones(2048, 2048, dtype=torch.bool).triu(1).to(npu)
    out = torch_npu.npu_fusion_attention(
        q.to(npu), k.to(npu), k.to(npu), 2, "BNSD", atten_mask=compressed, sparse_mode=mode
    )[0]
    keep = torch.ones(4, 7, dtype=torch.bool).tril(shift)
    close(out, F.scaled_dot_product_attention(q, k, k, attn_mask=keep, scale=1.0))


def test_fusion_attention_varlen_and_gradient(npu):
    q = randn(9, 2, 4, grad=True)
    ends = [4, 9]
    out = torch_npu.npu_fusion_attention(
        q, q, q, 2, "TND", scale=0.5, actual_seq_qlen=ends, actual_seq_kvlen=ends
    )[0]
    for a, b in ((0, 4), (4, 9)):
        part = q.detach().cpu()[a:b].transpose(0, 1)
        close(out[a:b], F.scaled_dot_product_attention(part, part, part, scale=0.5).transpose(0, 1))
    x = randn(1, 2, 5, 4, grad=True)
    gradients_match(lambda t: torch_npu.npu_fusion_attention(t, t, t, 2, "BNSD", scale=0.5)[0], x)


def test_inference_attention(npu):
    q, k = torch.randn(2, 4, 1, 8), torch.randn(2, 2, 10, 8)
    out = torch_npu.npu_incre_flash_attention(
        q.to(npu), k.to(npu), k.to(npu), num_heads=4, num_key_value_heads=2, input_layout="BNSD",
        scale_value=0.4, actual_seq_lengths=[10, 3],
    )  # fmt: skip
    wide = k.repeat_interleave(2, 1)
    keep = torch.arange(10).view(1, 1, 1, 10) < torch.tensor([10, 3]).view(2, 1, 1, 1)
    close(out, F.scaled_dot_product_attention(q, wide, wide, attn_mask=keep, scale=0.4))
    with pytest.raises(NotImplementedError, match=r"npu_fused_infer_attention_score.*block_table"):
        torch_npu.npu_fused_infer_attention_score(
            q.to(npu), k.to(npu), k.to(npu), num_heads=4, input_layout="BNSD",
            block_table=torch.zeros(1, dtype=torch.int32, device=npu),
        )  # fmt: skip


def test_moe_round_trip(npu):
    tokens, experts, k = randn(7, 4, grad=True), 5, 2
    logits = randn(7, experts)
    weights, index, rows = torch_npu.npu_moe_gating_top_k_softmax(logits, None, k)
    soft = torch.softmax(logits.cpu(), -1).topk(k, -1)
    close(weights, soft.values)
    assert torch.equal(index.cpu().long(), soft.indices) and index.dtype == torch.int32
    assert rows.tolist() == [[i, i + 7] for i in range(7)]
    permuted, places = torch_npu.npu_moe_token_permute(tokens, index)
    order = index.flatten().sort(stable=True).indices.cpu() // k
    close(permuted, tokens.detach().cpu()[order])
    assert torch.equal(permuted.cpu()[places.cpu().long()][::2], tokens.detach().cpu())
    back = torch_npu.npu_moe_token_unpermute(permuted, places, weights)
    close(back, tokens.detach().cpu() * weights.cpu().sum(-1, keepdim=True))
    (grad,) = torch.autograd.grad(back.sum(), tokens)
    close(grad, weights.cpu().sum(-1, keepdim=True).expand(7, 4))


def test_moe_inference_path(npu):
    """Gate, route, compute with grouped matmul, combine: equals the plain sum over experts."""
    torch.manual_seed(0)
    x, gate, experts = randn(6, 8), randn(6, 4), randn(4, 8, 3)
    weights, index, rows = torch_npu.npu_moe_gating_top_k_softmax(gate, None, 2)
    routed, places, sorted_experts = torch_npu.npu_moe_init_routing(x, rows, index, 6)
    ends = torch_npu.npu_moe_compute_expert_tokens(sorted_experts, 4)
    counted = torch.bincount(index.cpu().flatten(), minlength=4).cumsum(0)
    assert ends.tolist() == counted.tolist()
    (out,) = torch_npu.npu_grouped_matmul(
        [routed], [experts], group_list=ends.long(), split_item=2, group_type=0, group_list_type=0
    )
    got = torch_npu.npu_moe_finalize_routing(out, None, None, None, weights, places, index)
    expected = torch.zeros(6, 3)
    for row in range(6):
        for slot in range(2):
            product = x.cpu()[row] @ experts.cpu()[index[row, slot].item()]
            expected[row] += weights.cpu()[row, slot] * product
    close(got, expected, 1e-4)


def test_init_routing_example_of_the_documentation(npu):
    x = torch.tensor([[0.1] * 4, [0.2] * 4, [0.3] * 4], device=npu)
    rows = torch.tensor([[0, 3], [1, 4], [2, 5]], dtype=torch.int32, device=npu)
    experts = torch.tensor([[1, 2], [0, 1], [0, 2]], dtype=torch.int32, device=npu)
    routed, places, order = torch_npu.npu_moe_init_routing(x, rows, experts, 3)
    assert order.tolist() == [0, 0, 1, 1, 2, 2]
    assert [round(v, 1) for v in routed[:, 0].tolist()] == [0.2, 0.3, 0.1, 0.2, 0.1, 0.3]
    assert places.tolist() == [2, 0, 1, 4, 3, 5]


def test_quantisation(npu):
    x = randn(4, 16)
    y, scale = torch_npu.npu_dynamic_quant(x)
    assert y.dtype == torch.int8 and y.abs().amax(-1).tolist() == [127] * 4
    assert ((y.float() * scale.unsqueeze(-1) - x).abs() <= scale.unsqueeze(-1) * 0.51).all()
    a = torch.randint(-128, 128, (3, 16), dtype=torch.int8)
    b = torch.randint(-128, 128, (16, 5), dtype=torch.int8)
    s, t = torch.rand(5), torch.rand(3)
    out = torch_npu.npu_quant_matmul(
        a.to(npu), b.to(npu), s.to(npu), pertoken_scale=t.to(npu), output_dtype=torch.float16
    )
    expected = (a.long() @ b.long()).double() * s.double() * t.double().unsqueeze(1)
    assert out.dtype == torch.float16
    close(out.double(), expected.half().double(), 1e-2)


def test_formats_keep_values(npu):
    x = randn(3, 5)
    y = torch_npu.npu_format_cast(x, 29)
    assert torch.equal(x, y) and torch_npu.get_npu_format(y) == 2
    layer = torch.nn.Linear(5, 2).to(npu)
    layer.weight.data = torch_npu.npu_format_cast(layer.weight.data, 29)
    assert layer(x).shape == (3, 2)
    assert torch_npu.npu_dtype_cast(x, torch.float16).dtype == torch.float16
