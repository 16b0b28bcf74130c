"""Write pointwise_shapes.json: as shape_calls.py, for special functions, bits, complex numbers and random draws.

    python3 core/opset/testdata/pointwise_shapes.py > core/opset/testdata/pointwise_shapes.json

Written with torch 2.13.0+cpu.
"""

from __future__ import annotations

import itertools

import torch
from call_shapes import T, call, write

# Kernels of PyTorch's CPU lack some narrow dtypes; the rules say what a function takes, not which kernel exists.
WIDE = ("bool", "u8", "i32", "i64", "f32", "f64", "c64")
PAIRS = (
    ("f32", [2, 3], "f32", [3]),
    ("f64", [2, 1], "f32", [1, 4]),
    ("i64", [2], "f32", []),
    ("i32", [2], "i64", []),
    ("i64", [2], "i64", [2]),
    ("bool", [2], "bool", [2]),
    ("f32", [0, 3], "f32", [1, 3]),
    ("f32", [2, 3], "f32", [2]),
    ("c64", [2], "f32", [2]),
)


def functions() -> None:
    unary = (
        "erfc erfinv lgamma digamma i0 special_i0e special_i1 special_i1e special_erfcx special_ndtri "
        "special_ndtr special_log_ndtr special_entr "
        "special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 special_spherical_bessel_j0 "
        "special_airy_ai special_modified_bessel_i0 special_modified_bessel_k1 special_scaled_modified_bessel_k0"
    ).split()
    for name, dtype in itertools.product(unary, WIDE):
        call(f"aten::{name}.default", T(dtype, 2, 3))
    for dtype in WIDE:
        call("aten::polygamma.default", 1, T(dtype, 2))
        call("aten::signbit.default", T(dtype, 2))
        call("aten::frexp.Tensor", T(dtype, 2))
        call("aten::angle.default", T(dtype, 2))
        call("aten::_conj_physical.default", T(dtype, 2))
    call("aten::polygamma.default", -1, T("f32", 2))
    call("aten::round.decimals", T("f32", 2), decimals=2)
    call("aten::rrelu_with_noise.default", T("f32", 2), T("f32", 2))
    call("aten::rrelu_with_noise.default", T("i64", 2), T("i64", 2))


def pairs() -> None:
    names = (
        "igamma.default igammac.default special_zeta.default logaddexp2.default copysign.Tensor fmax.default fmin.default "
        "ldexp.Tensor __lshift__.Tensor bitwise_left_shift.Tensor bitwise_right_shift.Tensor complex.default"
    ).split()
    for name, (a, left, b, right) in itertools.product(names, PAIRS):
        call(f"aten::{name}", T(a, *left), T(b, *right))
    for a, left, b, right in PAIRS:
        call("aten::special_hermite_polynomial_h.default", T(a, *left), T(b, *right))
    for a in ("f32", "bf16", "f64"):
        call("aten::nextafter.default", T(a, 2, 3), T(a, 3))
    call("aten::complex.default", T("bf16", 2), T("bf16", 2))
    call("aten::complex.default", T("f64", 2), T("f32", 2))
    call("aten::bitwise_left_shift.Tensor_Scalar", T("i32", 2), 3)
    call("aten::copysign.Scalar", T("i32", 2), -1)


def draws() -> None:
    for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.uint8, torch.bool, torch.complex64):
        call("aten::randint.default", 2, [3, 4], dtype=dtype)
        call("aten::rand_like.default", T("f32", 2, 3), dtype=dtype)
    for low, high in ((0, 0), (5, 3), (-3, 4), (0, 256), (0, 257)):
        call("aten::randint.low", low, high, [2])
        call("aten::randint.low", low, high, [2], dtype=torch.uint8)
        call("aten::randint_like.low_dtype", T("i8", 2), low, high)
        call("aten::randint_like.low_dtype", T("f16", 2), low, high)
    call("aten::randint.default", 5, [-1])
    call("aten::randint_like.default", T("i64", 2), 5)
    for p in (0.0, 0.3, 1.0, 1.5, -0.1):
        call("aten::bernoulli.p", T("f32", 2), p)
        call("aten::geometric.default", T("f32", 2), p)
    for dtype in ("f32", "bf16", "i64", "bool"):
        call("aten::bernoulli.default", T(dtype, 2))
        call("aten::uniform.default", T(dtype, 2))
        call("aten::exponential.default", T(dtype, 2))
        call("aten::cauchy.default", T(dtype, 2))
        call("aten::log_normal.default", T(dtype, 2))
        call("aten::normal_functional.default", T(dtype, 2))
    call("aten::uniform.default", T("f32", 2), 2.0, 1.0)
    call("aten::exponential.default", T("f32", 2), 0.0)
    call("aten::cauchy.default", T("f32", 2), 0.0, 0.0)
    call("aten::log_normal.default", T("f32", 2), 0.0, -1.0)
    call("aten::normal_functional.default", T("f32", 2), 0.0, -1.0)
    call("aten::normal.Tensor_Tensor", T("f32", 2, 3), T("f32", 3))
    call("aten::normal.Tensor_Tensor", T("f32", 2, 3), T("f32", 2))
    call("aten::normal.Tensor_float", T("f32", 2, 3), -1.0)
    call("aten::normal.float_Tensor", 1.0, T("f32", 2, 3))
    for shape, samples, replacement in (([5], 3, False), ([2, 5], 5, False), ([2, 5], 6, False), ([5], 9, True), ([5], 0, True)):
        call("aten::multinomial.default", T("f32", *shape), samples, replacement)
    call("aten::multinomial.default", T("i64", 5), 2)
    call("aten::multinomial.default", T("f32", 2, 2, 5), 2)


if __name__ == "__main__":
    write(functions, pairs, draws, fill=1)
