"""PyTorch's fp64 outputs for seed 0: a slice to compare, a digest to recognise."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import torch

from .draws import dtype_name
from .tensor_file import raw_bytes, write

SLICE = 512


def stride_of(elements: int, limit: int) -> int:
    """Step that takes at most `limit` evenly spaced elements."""
    return 1 if elements <= limit else elements // limit


def write_golden(path: Path, outputs: list[torch.Tensor], dtypes: list[torch.dtype], limit: int = SLICE) -> None:
    """`outputs` are fp64 (or exact integers); `dtypes` are what the graph returns."""
    tensors: dict[str, torch.Tensor] = {}
    metadata: dict[str, str] = {}
    for index, (output, dtype) in enumerate(zip(outputs, dtypes, strict=True)):
        flat = output.to(torch.float64).reshape(-1)
        stride = stride_of(flat.numel(), limit)
        tensors[str(index)] = flat[::stride][:limit]
        metadata[f"{index}.shape"] = json.dumps(list(output.shape), separators=(",", ":"))
        metadata[f"{index}.dtype"] = dtype_name(dtype)
        metadata[f"{index}.stride"] = str(stride)
        metadata[f"{index}.max_abs"] = repr(flat.abs().max().item())
        metadata[f"{index}.sha256"] = hashlib.sha256(raw_bytes(flat)).hexdigest()
    metadata["torch_version"] = torch.__version__
    write(path, tensors, metadata)
