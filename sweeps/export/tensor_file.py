"""Write safetensors with the bytes decided here.

The `safetensors` package keeps metadata in a hash map, so that two files of
equal content can differ in bytes; a catalogue must not.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch

DTYPES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}


def raw_bytes(tensor: torch.Tensor) -> bytes:
    """Little-endian bytes in row-major order."""
    if tensor.numel() == 0:
        return b""
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def write(path: Path, tensors: dict[str, torch.Tensor], metadata: dict[str, str] | None = None) -> None:
    header: dict[str, object] = {"__metadata__": metadata} if metadata else {}
    body = b""
    for name, tensor in tensors.items():
        raw = raw_bytes(tensor)
        header[name] = {
            "dtype": DTYPES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [len(body), len(body) + len(raw)],
        }
        body += raw
    text = json.dumps(header, separators=(",", ":")).encode("utf-8")
    text += b" " * (-len(text) % 8)  # data starts aligned
    path.write_bytes(len(text).to_bytes(8, "little") + text + body)
