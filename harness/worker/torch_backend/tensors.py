"""Tensors of a frame <-> tensors of PyTorch, without NumPy."""

from __future__ import annotations

import ctypes
import math

import torch

from .errors import Unsupported
from .frames import RawTensor

# The non-OCP e4m3 of Trainium ("f8_e4m3") is not among PyTorch's dtypes.
TORCH_DTYPES = {
    "bool": torch.bool,
    "u8": torch.uint8,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "f8_e4m3fn": torch.float8_e4m3fn,
    "f8_e5m2": torch.float8_e5m2,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
    "c64": torch.complex64,
    "c128": torch.complex128,
}
DTYPE_NAMES = {dtype: name for name, dtype in TORCH_DTYPES.items()}


class UnknownDType(Exception):
    """A tensor came out in a dtype that the protocol has no name for."""


def view_raw(raw: RawTensor) -> torch.Tensor:
    """A host tensor over the frame's own bytes: to read, never to give to an operator."""
    dtype = TORCH_DTYPES.get(raw.dtype)
    if dtype is None:
        raise Unsupported("dtype", f"PyTorch has no dtype {raw.dtype}")
    if math.prod(raw.shape) == 0:
        return torch.empty(raw.shape, dtype=dtype)
    flat = torch.frombuffer(raw.data, dtype=torch.uint8)
    # Bytes other than 0 and 1 are no bools, and kernels differ in what they make of them.
    flat = flat.ne(0) if dtype is torch.bool else flat.view(dtype)
    return flat.reshape(raw.shape)


def upload(raw: RawTensor, device: torch.device) -> torch.Tensor:
    """A copy on the device (on the CPU too): the bytes of the request stay as they were sent."""
    return view_raw(raw).to(device, copy=True)


def download(tensor: torch.Tensor) -> torch.Tensor:
    """On the host, dense and contiguous; the tensor itself if it is so already."""
    return tensor.detach().to("cpu").resolve_conj().resolve_neg().contiguous()


def to_raw(tensor: torch.Tensor) -> RawTensor:
    """Without a copy where the tensor is contiguous on the host. Raises UnknownDType."""
    name = DTYPE_NAMES.get(tensor.dtype)
    if name is None:
        raise UnknownDType(str(tensor.dtype).removeprefix("torch."))
    host = download(tensor)
    shape = tuple(host.shape)
    size = host.numel() * host.element_size()
    if size == 0:
        return RawTensor(name, shape, b"")
    return RawTensor(name, shape, (ctypes.c_char * size).from_address(host.data_ptr()), host)


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Equal dtype, shape and bits: -0 differs from 0, and a NaN equals itself."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.numel() == 0:
        return True
    return torch.equal(_bytes_of(a), _bytes_of(b))


def _bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    host = download(tensor)
    # A tensor of one element counts as contiguous whatever its strides are, which view() then objects to.
    return host.as_strided((host.numel(),), (1,)).view(torch.uint8)
