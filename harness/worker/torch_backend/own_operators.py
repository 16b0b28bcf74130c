"""Operators that PyTorch does not have (core/opset/own_schemas.txt), in terms of those that it has.

Importing this module registers them, so that they are found and called like
any other operator.
"""

from __future__ import annotations

import torch
import torch.nn.functional as functional
from torch import Tensor

from . import own_gla

_LIBRARY = torch.library.Library("assay", "DEF")
_LIBRARY.define(
    "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, *, "
    "str causal='none', float? scale=None, float softcap=0., bool enable_gqa=False) "
    "-> (Tensor output, Tensor logsumexp)"
)
_NOTHING = -float("inf")


def _causal_mask(causal: str, rows: int, keys: int, device: torch.device) -> Tensor | None:
    if causal == "none":
        return None
    if causal not in ("top_left", "bottom_right"):
        raise ValueError(f"causal is {causal!r}; it must be none, top_left or bottom_right")
    diagonal = 0 if causal == "top_left" else keys - rows
    return torch.ones(rows, keys, dtype=torch.bool, device=device).tril(diagonal)


def _joined(mask: Tensor | None, causal: Tensor | None) -> Tensor | None:
    if mask is None or causal is None:
        return causal if mask is None else mask
    return mask & causal if mask.dtype == torch.bool else mask.masked_fill(~causal, _NOTHING)


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    *,
    causal: str = "none",
    scale: float | None = None,
    softcap: float = 0.0,
    enable_gqa: bool = False,
) -> tuple[Tensor, Tensor]:
    """Output and logsumexp; scores in fp32 for narrower floats."""
    wide = torch.promote_types(query.dtype, torch.float32)
    mask = _joined(attn_mask, _causal_mask(causal, query.shape[-2], key.shape[-2], query.device))
    keys, values = key, value
    if enable_gqa:
        keys = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
        values = value.repeat_interleave(query.shape[-3] // value.shape[-3], -3)
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    scores = query.to(wide) @ keys.to(wide).transpose(-2, -1) * factor
    if softcap > 0:
        scores = torch.tanh(scores / softcap) * softcap
    if mask is not None:
        scores = scores.masked_fill(~mask, _NOTHING) if mask.dtype == torch.bool else scores + mask
    logsumexp = torch.logsumexp(scores, -1)
    if softcap > 0:
        output = torch.ops.aten._safe_softmax(scores, -1).to(query.dtype) @ values
    else:
        output = functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, scale=scale, enable_gqa=enable_gqa
        )
    return output, logsumexp


_LIBRARY.impl("scaled_dot_product_attention", attention, "CompositeImplicitAutograd")
own_gla.register(_LIBRARY)
