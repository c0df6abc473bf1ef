"""Fused attention operators of torch_npu, for training and for inference without quantisation."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from . import refuse, refuse_given

_FAR = 2147483647


def to_bnsd(op: str, x: Tensor, layout: str, heads: int) -> Tensor:
    """Return x as (batch, heads, sequence, size) in float32."""
    x = x.float()
    if layout == "BNSD":
        return x
    if layout == "BSND":
        return x.transpose(1, 2)
    if layout == "BSH":
        return x.unflatten(-1, (heads, -1)).transpose(1, 2)
    if layout == "SBH":
        return x.unflatten(-1, (heads, -1)).permute(1, 2, 0, 3)
    refuse(op, "input_layout", layout)
    return x


def from_bnsd(x: Tensor, layout: str) -> Tensor:
    """Inverse of :func:`to_bnsd`, without the dtype."""
    if layout == "BSND":
        return x.transpose(1, 2).contiguous()
    if layout == "BSH":
        return x.transpose(1, 2).flatten(-2)
    if layout == "SBH":
        return x.permute(2, 0, 1, 3).flatten(-2)
    return x.contiguous()


def band(rows: int, columns: int, before: int, after: int, corner: int, device) -> Tensor:
    """True where masked: outside [row + corner - before, row + corner + after]."""
    row = torch.arange(rows, device=device).unsqueeze(1) + corner
    column = torch.arange(columns, device=device).unsqueeze(0)
    return (column < row - before) | (column > row + after)


def sparse_mask(
    op: str,
    mode: int,
    mask: Tensor | None,
    rows: int,
    columns: int,
    before: int,
    after: int,
    device,
) -> Tensor | None:
    """Return the boolean mask (True: left out) that sparse_mode stands for.

    Without a mask argument nothing is masked, whatever the mode, as documented.
    """
    if mask is None:
        return None
    if mode in (0, 1):
        return mask.bool()[..., :rows, :columns]
    if mode == 2:  # causal from the upper left corner
        return band(rows, columns, _FAR, 0, 0, device)
    if mode == 3:  # causal from the lower right corner
        return band(rows, columns, _FAR, 0, columns - rows, device)
    if mode == 4:
        return band(rows, columns, before, after, columns - rows, device)
    refuse(op, "sparse_mode", mode)
    return None


def attend(
    q: Tensor, k: Tensor, v: Tensor, scale: float, bias: Tensor | None, mask: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Plain attention on (B, N, S, D) float32; key and value heads may be fewer (grouped).

    Returns output, probabilities, row maxima and row sums (both (B, N, S, 1)). A row that is
    masked everywhere gives zeros.
    """
    groups = q.shape[1] // k.shape[1]
    if groups > 1:
        k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.transpose(-1, -2) * scale
    if bias is not None:
        scores = scores + bias.float()
    if mask is not None:
        scores = scores.masked_fill(mask, float("-inf"))
    top = scores.amax(-1, keepdim=True)
    top = torch.where(torch.isinf(top), torch.zeros_like(top), top).detach()
    weights = torch.exp(scores - top)
    total = weights.sum(-1, keepdim=True)
    probabilities = weights / torch.where(total == 0, 1.0, total)
    return probabilities @ v, probabilities, top, total


def _ranges(lengths: list[int]) -> list[tuple[int, int]]:
    """Row ranges of a list of running sums; trailing zeros mean absent sequences."""
    ranges, start = [], 0
    for end in lengths:
        if end < start:
            break
        ranges.append((start, end))
        start = end
    return ranges


def npu_fusion_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    head_num: int,
    input_layout: str,
    pse: Tensor | None = None,
    padding_mask: Tensor | None = None,
    atten_mask: Tensor | None = None,
    scale: float = 1.0,
    keep_prob: float = 1.0,
    pre_tockens: int = _FAR,
    next_tockens: int = _FAR,
    inner_precise: int = 0,
    prefix: list[int] | None = None,
    actual_seq_qlen: list[int] | None = None,
    actual_seq_kvlen: list[int] | None = None,
    sparse_mode: int = 0,
    gen_mask_parallel: bool = True,
    sync: bool = False,
    softmax_layout: str = "",
    sink: Tensor | None = None,
    dropout_mask: Tensor | None = None,
    seed: int = 0,
    offset: int = 0,
) -> tuple[Tensor, Tensor, Tensor, Tensor, int, int, int]:
    """Attention for training.

    Returns output, softmax maximum and sum (each repeated 8 times in the last dimension, float32),
    an empty tensor, and three dropout numbers (0: the mask is not kept).
    """
    name = "npu_fusion_attention"
    refuse_given(
        name, padding_mask=padding_mask, prefix=prefix or None, sink=sink, dropout_mask=dropout_mask
    )
    if input_layout == "TND":
        out, top, total = _varlen(
            name,
            query,
            key,
            value,
            pse,
            atten_mask,
            scale,
            keep_prob,
            pre_tockens,
            next_tockens,
            actual_seq_qlen,
            actual_seq_kvlen,
            sparse_mode,
        )
    else:
        kv_heads = _kv_heads(query, key, input_layout, head_num)
        q = to_bnsd(name, query, input_layout, head_num)
        k = to_bnsd(name, key, input_layout, kv_heads)
        v = to_bnsd(name, value, input_layout, kv_heads)
        mask = sparse_mask(
            name,
            sparse_mode,
            atten_mask,
            q.shape[2],
            k.shape[2],
            pre_tockens,
            next_tockens,
            q.device,
        )
        out, top, total = _with_dropout(q, k, v, scale, pse, mask, keep_prob)
        out = from_bnsd(out, input_layout)
    wide = [top.expand(*top.shape[:-1], 8).contiguous(), total.expand(*total.shape[:-1], 8)]
    empty = query.new_empty(0)
    return out.to(query.dtype), wide[0], wide[1].contiguous(), empty, 0, 0, 0


def _kv_heads(query: Tensor, key: Tensor, layout: str, heads: int) -> int:
    """Heads of key: from its width, which is a multiple of the query's head size."""
    if layout in ("BSH", "SBH"):
        return key.shape[-1] // (query.shape[-1] // heads)
    return heads


def _with_dropout(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    scale: float,
    bias: Tensor | None,
    mask: Tensor | None,
    keep: float,
) -> tuple[Tensor, Tensor, Tensor]:
    out, probabilities, top, total = attend(q, k, v, scale, bias, mask)
    if keep < 1.0:
        groups = q.shape[1] // v.shape[1]
        dropped = torch.nn.functional.dropout(probabilities, 1.0 - keep)
        out = dropped @ (v.repeat_interleave(groups, 1) if groups > 1 else v)
    return out, top, total


def _varlen(
    name: str,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    pse: Tensor | None,
    mask: Tensor | None,
    scale: float,
    keep: float,
    before: int,
    after: int,
    q_ends: list[int] | None,
    kv_ends: list[int] | None,
    mode: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Sequences packed along the first dimension (T, N, D)."""
    refuse_given(name, pse=pse)
    if not q_ends or not kv_ends:
        refuse(name, "actual_seq_qlen", q_ends)
    outs, tops, totals = [], [], []
    for (a, b), (c, d) in zip(
        _ranges(list(q_ends or [])), _ranges(list(kv_ends or [])), strict=False
    ):
        q = query[a:b].float().transpose(0, 1).unsqueeze(0)
        k = key[c:d].float().transpose(0, 1).unsqueeze(0)
        v = value[c:d].float().transpose(0, 1).unsqueeze(0)
        cut = sparse_mask(name, mode, mask, b - a, d - c, before, after, query.device)
        out, top, total = _with_dropout(q, k, v, scale, None, cut, keep)
        outs.append(out[0].transpose(0, 1))
        tops.append(top[0].transpose(0, 1))
        totals.append(total[0].transpose(0, 1))
    return torch.cat(outs), torch.cat(tops), torch.cat(totals)


def npu_fusion_attention_v2(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    head_num: int,
    input_layout: str,
    *,
    pse: Tensor | None = None,
    padding_mask: Tensor | None = None,
    atten_mask: Tensor | None = None,
    query_rope: Tensor | None = None,
    key_rope: Tensor | None = None,
    scale: float = 1.0,
    keep_prob: float = 1.0,
    pre_tokens: int = _FAR,
    next_tokens: int = _FAR,
    inner_precise: int = 0,
    prefix: list[int] | None = None,
    actual_seq_qlen: list[int] | None = None,
    actual_seq_kvlen: list[int] | None = None,
    sparse_mode: int = 0,
    gen_mask_parallel: bool = True,
    sync: bool = False,
    pse_type: int = 1,
    q_start_idx: list[int] | None = None,
    kv_start_idx: list[int] | None = None,
    softmax_layout: str = "",
    sink: Tensor | None = None,
    dropout_mask: Tensor | None = None,
    seed: int = 0,
    offset: int = 0,
) -> tuple[Tensor, Tensor, Tensor, Tensor, int, int, int]:
    """npu_fusion_attention; pse_type 0 adds the position term before scaling."""
    name = "npu_fusion_attention_v2"
    refuse_given(
        name,
        query_rope=query_rope,
        key_rope=key_rope,
        q_start_idx=q_start_idx or None,
        kv_start_idx=kv_start_idx or None,
    )
    if pse is not None and pse_type not in (0, 1):
        refuse(name, "pse_type", pse_type)
    # scale * qk + pse (type 1: pse after scaling); type 0: scale * (qk + pse).
    if pse is not None and pse_type == 0:
        pse = pse * scale
    return npu_fusion_attention(
        query,
        key,
        value,
        head_num,
        input_layout,
        pse,
        padding_mask,
        atten_mask,
        scale,
        keep_prob,
        pre_tokens,
        next_tokens,
        inner_precise,
        prefix,
        actual_seq_qlen,
        actual_seq_kvlen,
        sparse_mode,
        gen_mask_parallel,
        sync,
        softmax_layout,
        sink,
        dropout_mask,
        seed,
        offset,
    )


def _per_batch(lengths: list[int], q: Tensor) -> Tensor:
    """Return lengths as (B, 1, 1, 1); one length stands for all of the batch."""
    limit = torch.tensor([int(n) for n in lengths], device=q.device)
    return limit.expand(q.shape[0]).view(-1, 1, 1, 1)


def _inference(
    name: str,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    layout: str,
    heads: int,
    kv_heads: int,
    scale: float,
    pse: Tensor | None,
    mask: Tensor | None,
    mode: int,
    before: int,
    after: int,
    q_lengths: list[int] | None,
    kv_lengths: list[int] | None,
) -> tuple[Tensor, Tensor]:
    """Attention for inference; returns output and log-sum-exp (B, N, S, 1)."""
    inner = "BNSD" if layout == "BNSD_BSND" else layout
    kv_heads = kv_heads or heads
    if inner in ("BSH", "SBH"):
        q = to_bnsd(name, query, inner, heads)
        k, v = (to_bnsd(name, t, inner, kv_heads) for t in (key, value))
    else:
        q, k, v = (to_bnsd(name, t, inner, heads) for t in (query, key, value))
    rows, columns = q.shape[2], k.shape[2]
    cut = sparse_mask(name, mode, mask, rows, columns, before, after, q.device)
    if mask is None and (before < columns or after < columns):
        corner = columns - rows if mode in (3, 4) else 0
        cut = band(rows, columns, before, after, corner, q.device)
    if kv_lengths:
        beyond = torch.arange(columns, device=q.device) >= _per_batch(kv_lengths, q)
        cut = beyond if cut is None else cut | beyond
    out, _, top, total = attend(q, k, v, scale, pse, cut)
    if q_lengths:
        outside = torch.arange(rows, device=q.device).unsqueeze(-1) >= _per_batch(q_lengths, q)
        out = out.masked_fill(outside, 0.0)
    out = from_bnsd(out, "BSND" if layout == "BNSD_BSND" else layout).to(query.dtype)
    return out, top + torch.log(total)


def npu_prompt_flash_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    padding_mask: Tensor | None = None,
    atten_mask: Tensor | None = None,
    pse_shift: Tensor | None = None,
    actual_seq_lengths: list[int] | None = None,
    deq_scale1: Tensor | None = None,
    quant_scale1: Tensor | None = None,
    deq_scale2: Tensor | None = None,
    quant_scale2: Tensor | None = None,
    quant_offset2: Tensor | None = None,
    num_heads: int = 1,
    scale_value: float = 1.0,
    pre_tokens: int = _FAR,
    next_tokens: int = 0,
    input_layout: str = "BSH",
    num_key_value_heads: int = 0,
    actual_seq_lengths_kv: list[int] | None = None,
    sparse_mode: int = 0,
) -> Tensor:
    """Attention over a whole prompt."""
    name = "npu_prompt_flash_attention"
    refuse_given(
        name,
        padding_mask=padding_mask,
        deq_scale1=deq_scale1,
        quant_scale1=quant_scale1,
        deq_scale2=deq_scale2,
        quant_scale2=quant_scale2,
        quant_offset2=quant_offset2,
    )
    return _inference(
        name,
        query,
        key,
        value,
        input_layout,
        num_heads,
        num_key_value_heads,
        scale_value,
        pse_shift,
        atten_mask,
        sparse_mode,
        pre_tokens,
        next_tokens,
        actual_seq_lengths,
        actual_seq_lengths_kv,
    )[0]


def npu_incre_flash_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    padding_mask: Tensor | None = None,
    atten_mask: Tensor | None = None,
    pse_shift: Tensor | None = None,
    actual_seq_lengths: list[int] | None = None,
    antiquant_scale: Tensor | None = None,
    antiquant_offset: Tensor | None = None,
    block_table: Tensor | None = None,
    dequant_scale1: Tensor | None = None,
    quant_scale1: Tensor | None = None,
    dequant_scale2: Tensor | None = None,
    quant_scale2: Tensor | None = None,
    quant_offset2: Tensor | None = None,
    kv_padding_size: Tensor | None = None,
    num_heads: int = 1,
    scale_value: float = 1.0,
    input_layout: str = "BSH",
    num_key_value_heads: int = 0,
    block_size: int = 0,
    inner_precise: int = 1,
) -> Tensor:
    """Attention of one new token; actual_seq_lengths are lengths of key and value."""
    name = "npu_incre_flash_attention"
    refuse_given(
        name,
        padding_mask=padding_mask,
        antiquant_scale=antiquant_scale,
        antiquant_offset=antiquant_offset,
        block_table=block_table,
        dequant_scale1=dequant_scale1,
        quant_scale1=quant_scale1,
        dequant_scale2=dequant_scale2,
        quant_scale2=quant_scale2,
        quant_offset2=quant_offset2,
        kv_padding_size=kv_padding_size,
    )
    return _inference(
        name,
        query,
        key,
        value,
        input_layout,
        num_heads,
        num_key_value_heads,
        scale_value,
        pse_shift,
        atten_mask,
        0,
        _FAR,
        _FAR,
        None,
        actual_seq_lengths,
    )[0]


def npu_fused_infer_attention_score(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    pse_shift: Tensor | None = None,
    atten_mask: Tensor | None = None,
    actual_seq_lengths: list[int] | None = None,
    actual_seq_lengths_kv: list[int] | None = None,
    num_heads: int = 1,
    scale: float = 1.0,
    pre_tokens: int = _FAR,
    next_tokens: int = _FAR,
    input_layout: str = "BSH",
    num_key_value_heads: int = 0,
    sparse_mode: int = 0,
    inner_precise: int = 0,
    softmax_lse_flag: bool = False,
    **others: object,
) -> tuple[Tensor, Tensor]:
    """Attention for prompt and decoding, without paging, quantisation or shared prefixes."""
    name = "npu_fused_infer_attention_score"
    refuse_given(name, **{k: v for k, v in others.items() if isinstance(v, (Tensor, list))})
    out, lse = _inference(
        name,
        query,
        key,
        value,
        input_layout,
        num_heads,
        num_key_value_heads,
        scale,
        pse_shift,
        atten_mask,
        sparse_mode,
        pre_tokens,
        next_tokens,
        actual_seq_lengths,
        actual_seq_lengths_kv,
    )
    return out, lse if softmax_lse_flag else lse.new_zeros(1)


OPS: dict[str, Callable] = {
    "npu_fusion_attention": npu_fusion_attention,
    "npu_fusion_attention_v2": npu_fusion_attention_v2,
    "npu_prompt_flash_attention": npu_prompt_flash_attention,
    "npu_incre_flash_attention": npu_incre_flash_attention,
    "npu_fused_infer_attention_score": npu_fused_infer_attention_score,
}
