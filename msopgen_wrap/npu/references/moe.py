"""Mixture-of-experts operators of torch_npu (single device; the distributed ones are refused)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from . import refuse, refuse_given


def npu_moe_gating_top_k_softmax(
    x: Tensor, finished: Tensor | None = None, k: int = 1
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the top k of softmax(x), their int32 experts, and row numbers (column major).

    A finished row gets the number of experts as its expert.
    """
    values, experts = torch.softmax(x.float(), -1).topk(k, -1)
    experts = experts.int()
    if finished is not None:
        experts = torch.where(finished.unsqueeze(-1), x.shape[-1], experts).int()
    rows = values.numel() // k
    order = torch.arange(rows * k, dtype=torch.int32, device=x.device)
    return values.to(x.dtype), experts, order.view(k, rows).t().reshape(experts.shape).contiguous()


def npu_moe_gating_top_k_softmax_v2(
    x: Tensor,
    *,
    k: int = 1,
    finished: Tensor | None = None,
    renorm: int | None = 0,
    output_softmax: bool | None = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """renorm 0: top k of softmax; 1: softmax of the top k. Third result: the whole softmax."""
    soft = torch.softmax(x.float(), -1)
    if renorm:
        values, experts = x.float().topk(k, -1)
        values = torch.softmax(values, -1)
    else:
        values, experts = soft.topk(k, -1)
    experts = experts.int()
    if finished is not None:
        experts = torch.where(finished.unsqueeze(-1), x.shape[-1], experts).int()
    return values.to(x.dtype), experts, soft if output_softmax else soft.new_empty(0)


def npu_moe_gating_top_k(
    x: Tensor,
    k: int,
    *,
    bias: Tensor | None = None,
    input_ids: Tensor | None = None,
    tid2eid: Tensor | None = None,
    k_group: int = 1,
    group_count: int = 1,
    group_select_mode: int = 0,
    renorm: int = 0,
    norm_type: int = 0,
    out_flag: bool = False,
    routed_scaling_factor: float = 1.0,
    eps: float = 1e-20,
) -> tuple[Tensor, Tensor, Tensor]:
    """Grouped top k: norm (0 softmax, 1 sigmoid), choose groups, choose experts, scale.

    Experts are chosen by score + bias, weighted by the score alone; sigmoid scores are divided by
    their sum + eps.
    """
    name = "npu_moe_gating_top_k"
    refuse_given(name, input_ids=input_ids, tid2eid=tid2eid)
    if renorm != 0:
        refuse(name, "renorm", renorm)
    wide = x.float()
    scores = torch.sigmoid(wide) if norm_type == 1 else torch.softmax(wide, -1)
    choice = scores if bias is None else scores + bias.float()
    if group_count > 1:
        grouped = choice.unflatten(-1, (group_count, -1))
        if group_select_mode == 0:
            group_score = grouped.amax(-1)
        else:
            group_score = grouped.topk(2, -1).values.sum(-1)
        chosen = group_score.topk(k_group, -1).indices
        keep = torch.zeros_like(group_score, dtype=torch.bool).scatter_(-1, chosen, True)
        choice = grouped.masked_fill(~keep.unsqueeze(-1), float("-inf")).flatten(-2)
    experts = choice.topk(k, -1).indices
    weights = scores.gather(-1, experts)
    if norm_type == 1:
        weights = weights / (weights.sum(-1, keepdim=True) + eps)
    weights = weights * routed_scaling_factor
    return weights.to(x.dtype), experts.int(), scores if out_flag else scores.new_empty(0)


def npu_moe_init_routing(
    x: Tensor, row_idx: Tensor, expert_idx: Tensor, active_num: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Sort (expert, row) pairs by expert; return the rows of x in that order, the place of each
    pair, and the sorted experts."""
    rows, k = expert_idx.shape
    sorted_experts, order = torch.sort(expert_idx.reshape(-1), stable=True)
    sorted_rows = row_idx.reshape(-1)[order].long()
    places = torch.empty_like(sorted_rows)
    places[sorted_rows] = torch.arange(rows * k, device=x.device)
    active = min(rows, active_num) * k
    return x[sorted_rows[:active] % rows], places.int(), sorted_experts.int()


def npu_moe_init_routing_v2(
    x: Tensor,
    expert_idx: Tensor,
    *,
    scale: Tensor | None = None,
    offset: Tensor | None = None,
    active_num: int = -1,
    expert_capacity: int = -1,
    expert_num: int = -1,
    drop_pad_mode: int = 0,
    expert_tokens_num_type: int = 0,
    expert_tokens_num_flag: bool = False,
    quant_mode: int = -1,
    active_expert_range: list[int] | None = None,
    row_idx_type: int = 0,
    x_dtype: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Route tokens without quantisation or padding.

    Undefined parts of the hardware's outputs are zero here. Count modes: 0 running sum, 1 count.
    """
    name = "npu_moe_init_routing_v2"
    refuse_given(name, offset=offset, x_dtype=x_dtype)
    if quant_mode != -1:
        refuse(name, "quant_mode", quant_mode)
    if drop_pad_mode != 0:
        refuse(name, "drop_pad_mode", drop_pad_mode)
    if expert_tokens_num_type not in (0, 1):
        refuse(name, "expert_tokens_num_type", expert_tokens_num_type)
    first, last = active_expert_range or (0, expert_num)
    rows, k = expert_idx.shape
    flat = expert_idx.reshape(-1).long()
    wanted = (flat >= first) & (flat < last)
    # Experts outside the range sort behind all others.
    order = torch.sort(torch.where(wanted, flat, last), stable=True).indices
    available = int(wanted.sum())
    limit = available if active_num <= 0 else min(active_num, available)
    source = order[:limit]
    expanded = x.new_zeros(rows * k if active_num <= 0 else min(rows * k, active_num), x.shape[-1])
    expanded[:limit] = x[source // k]
    if row_idx_type == 0:
        places = torch.full_like(flat, -1)
        places[source] = torch.arange(limit, device=x.device)
    else:
        places = order
    counts = torch.bincount(flat[wanted] - first, minlength=last - first)[: last - first]
    if expert_tokens_num_type == 0:
        counts = counts.cumsum(0)
    scales = torch.zeros(rows * k, dtype=torch.float32, device=x.device)
    if scale is not None:
        scales[:limit] = scale.float()[source // k]
    return expanded, places.int(), counts, scales


def npu_moe_compute_expert_tokens(sorted_expert_for_source_row: Tensor, num_expert: int) -> Tensor:
    """Running count of rows up to each expert, int32."""
    edges = torch.arange(num_expert, device=sorted_expert_for_source_row.device)
    counts = (sorted_expert_for_source_row.unsqueeze(0) <= edges.unsqueeze(1)).sum(1)
    return counts.to(sorted_expert_for_source_row.dtype)


def npu_moe_finalize_routing(
    expanded_permuted_rows: Tensor,
    skip1: Tensor | None,
    skip2: Tensor | None,
    bias: Tensor | None,
    scales: Tensor | None,
    expanded_src_to_dst_row: Tensor,
    export_for_source_row: Tensor | None,
    drop_pad_mode: int | None = 0,
    k: int | None = 1,
) -> Tensor:
    """skip1 + skip2 + sum over k of scale * (row + bias of its expert).

    drop_pad_mode 0: places are column major (i + k * rows); 2: row major.
    """
    name = "npu_moe_finalize_routing"
    top_k = scales.shape[1] if scales is not None else (k or 1)
    rows = expanded_src_to_dst_row.numel() // top_k
    places = expanded_src_to_dst_row.reshape(-1).long()
    if drop_pad_mode in (0, None):
        places = places.view(top_k, rows).t()
    elif drop_pad_mode == 2:
        places = places.view(rows, top_k)
    else:
        refuse(name, "drop_pad_mode", drop_pad_mode)
    valid = (places >= 0).unsqueeze(-1)
    picked = expanded_permuted_rows.float()[places.clamp(min=0)] * valid
    if bias is not None and export_for_source_row is not None:
        picked = picked + bias.float()[export_for_source_row.long()]
    if scales is not None:
        picked = picked * scales.float().unsqueeze(-1)
    out = picked.sum(1)
    for skip in (skip1, skip2):
        if skip is not None:
            out = out + skip.float()
    return out.to(expanded_permuted_rows.dtype)


def npu_moe_token_permute(
    tokens: Tensor, indices: Tensor, num_out_tokens: int | None = None, padded_mode: bool = False
) -> tuple[Tensor, Tensor]:
    """Order tokens by expert; sorted_indices[i] is where copy i went."""
    if padded_mode:
        refuse("npu_moe_token_permute", "padded_mode", padded_mode)
    top_k = indices.shape[1] if indices.dim() == 2 else 1
    order = torch.argsort(indices.reshape(-1), stable=True)
    places = torch.argsort(order, stable=True).int()
    if num_out_tokens:
        order = order[:num_out_tokens]
    return tokens.index_select(0, order // top_k), places


def npu_moe_token_unpermute(
    permuted_tokens: Tensor,
    sorted_indices: Tensor,
    probs: Tensor | None = None,
    padded_mode: bool = False,
    restore_shape: list[int] | None = None,
) -> Tensor:
    """Bring tokens back and add up the copies, weighted by probs. Dropped copies count as zero."""
    name = "npu_moe_token_unpermute"
    if padded_mode:
        refuse(name, "padded_mode", padded_mode)
    top_k = probs.shape[1] if probs is not None else 1
    missing = sorted_indices.numel() - permuted_tokens.shape[0]
    if missing > 0:
        permuted_tokens = F.pad(permuted_tokens, (0, 0, 0, missing))
    picked = permuted_tokens.index_select(0, sorted_indices.long())
    picked = picked.view(-1, top_k, permuted_tokens.shape[-1])
    if probs is not None:
        picked = picked.float() * probs.float().unsqueeze(-1)
    return picked.sum(1).to(permuted_tokens.dtype)


def _bounds(group_list: Tensor | list[int] | None, kind: int) -> list[int]:
    """Row ends per group; kind 0 is a running sum, 1 counts."""
    values = group_list.tolist() if isinstance(group_list, Tensor) else list(group_list or [])
    if kind == 0:
        return [int(v) for v in values]
    ends, total = [], 0
    for value in values:
        total += int(value)
        ends.append(total)
    return ends


def npu_grouped_matmul(
    x: list[Tensor],
    weight: list[Tensor],
    *,
    bias: list[Tensor] | None = None,
    scale: list[Tensor] | None = None,
    offset: list[Tensor] | None = None,
    antiquant_scale: list[Tensor] | None = None,
    antiquant_offset: list[Tensor] | None = None,
    per_token_scale: list[Tensor] | None = None,
    group_list: Tensor | list[int] | None = None,
    activation_input: list[Tensor] | None = None,
    activation_quant_scale: list[Tensor] | None = None,
    activation_quant_offset: list[Tensor] | None = None,
    split_item: int | None = 0,
    group_type: int | None = None,
    group_list_type: int | None = 0,
    act_type: int | None = 0,
    tuning_config: list[int] | None = None,
    output_dtype: int | None = None,
    x_dtype: int | None = None,
    weight_dtype: int | None = None,
    scale_dtype: int | None = None,
    per_token_scale_dtype: int | None = None,
) -> list[Tensor]:
    """Matrix products of float groups: one x split by group_list over rows, or lists side by side.

    split_item 2 and 3 join the results into one tensor.
    """
    name = "npu_grouped_matmul"
    refuse_given(
        name,
        scale=scale or None,
        offset=offset or None,
        antiquant_scale=antiquant_scale or None,
        antiquant_offset=antiquant_offset or None,
        per_token_scale=per_token_scale or None,
        activation_input=activation_input or None,
        x_dtype=x_dtype,
        weight_dtype=weight_dtype,
    )
    if act_type:
        refuse(name, "act_type", act_type)
    if group_type not in (None, -1, 0):
        refuse(name, "group_type", group_type)
    if not x[0].dtype.is_floating_point:
        refuse(name, "x", x[0].dtype)
    weights = list(weight[0].unbind(0)) if len(weight) == 1 and weight[0].dim() == 3 else weight
    pieces = list(x)
    if len(pieces) == 1 and len(weights) > 1:
        if group_list is None:
            refuse(name, "group_list", None)
        ends = _bounds(group_list, group_list_type or 0)
        starts = [0, *ends[:-1]]
        pieces = [x[0][a:b] for a, b in zip(starts, ends, strict=True)]
    biases: list[Tensor | None] = [None] * len(weights)
    if bias:
        biases = list(bias[0].unbind(0)) if len(bias) == 1 and bias[0].dim() == 2 else list(bias)
    results = []
    for piece, matrix, extra in zip(pieces, weights, biases, strict=True):
        product = piece.float() @ matrix.float()
        if extra is not None:
            product = product + extra.float()
        results.append(product.to(x[0].dtype))
    if split_item in (2, 3):
        joined = torch.cat(results, 0)
        # Rows behind the last group belong to no expert; the hardware leaves them undefined.
        rest = x[0].shape[0] - joined.shape[0] if len(x) == 1 else 0
        return [F.pad(joined, (0, 0, 0, rest)) if rest > 0 else joined]
    return results


def npu_moe_re_routing(
    tokens: Tensor,
    expert_token_num_per_rank: Tensor,
    *,
    per_token_scales: Tensor | None = None,
    expert_token_num_type: int = 1,
    idx_type: int = 0,
    tokens_dtype: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Turn rank-major tokens (ranks, experts) into expert-major ones."""
    name = "npu_moe_re_routing"
    refuse_given(name, tokens_dtype=tokens_dtype)
    if expert_token_num_type != 1 or idx_type != 0:
        refuse(name, "expert_token_num_type, idx_type", (expert_token_num_type, idx_type))
    counts = expert_token_num_per_rank.long()
    ranks, experts = counts.shape
    starts = torch.cat((counts.new_zeros(1), counts.reshape(-1).cumsum(0)[:-1]))
    starts = starts.view(ranks, experts)
    pieces = [
        torch.arange(int(starts[r, e]), int(starts[r, e] + counts[r, e]), device=tokens.device)
        for e in range(experts)
        for r in range(ranks)
    ]
    order = torch.cat(pieces) if pieces else counts.new_zeros(0)
    scales = (
        per_token_scales[order]
        if per_token_scales is not None
        else torch.zeros(order.numel(), dtype=torch.float32, device=tokens.device)
    )
    per_expert = counts.sum(0).to(expert_token_num_per_rank.dtype)
    return tokens[order], scales, order.int(), per_expert


OPS: dict[str, Callable] = {
    "npu_moe_gating_top_k_softmax": npu_moe_gating_top_k_softmax,
    "npu_moe_gating_top_k_softmax_v2": npu_moe_gating_top_k_softmax_v2,
    "npu_moe_gating_top_k": npu_moe_gating_top_k,
    "npu_moe_init_routing": npu_moe_init_routing,
    "npu_moe_init_routing_v2": npu_moe_init_routing_v2,
    "npu_moe_compute_expert_tokens": npu_moe_compute_expert_tokens,
    "npu_moe_finalize_routing": npu_moe_finalize_routing,
    "npu_moe_token_permute": npu_moe_token_permute,
    "npu_moe_token_unpermute": npu_moe_token_unpermute,
    "npu_grouped_matmul": npu_grouped_matmul,
    "npu_grouped_matmul.List": npu_grouped_matmul,
    "npu_moe_re_routing": npu_moe_re_routing,
}
