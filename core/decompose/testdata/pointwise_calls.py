"""Write pointwise_calls.json: as spatial_calls.py, for pointwise functions, special functions and polynomials.

    python3 core/decompose/testdata/pointwise_calls.py > core/decompose/testdata/pointwise_calls.json

Written with torch 2.13.0+cpu.
"""

from __future__ import annotations

import torch
from call_text import INF, NAN, call, write

F64 = torch.float64


def f(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=F64)


def pointwise() -> None:
    a, b = f(1.5, NAN, -2, NAN, INF, -INF, 0.25), f(NAN, 2, -3, NAN, INF, INF, 0.25)
    for op in ("fmax", "fmin", "logaddexp2"):
        call(op + ".default", self_=a, other=b)
    call("fmax.default", self_=torch.tensor([3, -4]), other=torch.tensor([1, 7]))
    call("ldexp.Tensor", self_=f(1.5, -2, 0.75), other=torch.tensor([3, -2, 0]))
    for decimals in (2, 0, -1):
        call("round.decimals", self_=f(1.256, -2.344, 15.2, 0.005, 149), decimals=decimals)
    call("rrelu_with_noise.default", self_=f(1, -2, 0), noise=f(0, 0, 0), lower=0.25, upper=0.5)
    integers, by = torch.tensor([1, -5, 100, 7]), torch.tensor([0, 3, 2, 62])
    for op in ("__lshift__.Tensor", "__rshift__.Tensor", "bitwise_left_shift.Tensor", "bitwise_right_shift.Tensor"):
        call(op, self_=integers, other=by)
    call("copysign.Tensor", self_=f(1, 2, -3, 0), other=f(-0.0, 1, 2, -1))
    call("signbit.default", self_=f(1, -0.0, 0, -INF))
    call("frexp.Tensor", self_=f(6, -0.25, 0, 1e-300))
    call("nextafter.default", self_=f(1, 1, 0, -2), other=f(2, 0, -1, 0))
    call("angle.default", self_=f(1, -2, 0, NAN))


def functions() -> None:
    x = f(0.1, 0.5, 0.9, 1.5, 3.25, 8, 20)
    for op in (
        "erfc lgamma digamma i0 special_i0e special_i1 special_i1e special_erfcx special_modified_bessel_i0 special_modified_bessel_i1 "
        "special_modified_bessel_k0 special_modified_bessel_k1"
    ).split():
        call(op + ".default", self_=x)
    # Between 2 and 10 PyTorch's are off by up to 4e-9 (J0(8) is 0.17165080713755).
    for op in ("special_bessel_j0", "special_bessel_j1", "special_bessel_y0", "special_bessel_y1"):
        call(op + ".default", self_=f(0.1, 0.5, 0.9, 1.5, 20))
    for op in ("special_scaled_modified_bessel_k0", "special_scaled_modified_bessel_k1", "special_airy_ai", "special_spherical_bessel_j0"):
        call(op + ".default", x=x)
    for op in ("erfc", "erfinv", "lgamma", "digamma", "i0", "special_erfcx"):
        call(op + ".default", self_=f(-0.9, -0.25, 0.5))
    call("special_ndtri.default", self_=f(0, 0.001, 0.25, 0.5, 0.99, 1))
    call("igamma.default", self_=f(0.5, 2, 10, 0, 3), other=f(0.25, 3, 8, 2, 0))
    call("igammac.default", self_=f(0.5, 2, 10, 0, 3), other=f(0.25, 3, 8, 2, 0))
    call("special_zeta.default", self_=f(1.5, 2, 7, 1, 0.5), other=f(1, 0.25, 3, 2, 2))
    # PyTorch's trigamma is off by up to 9e-10 in fp64 (4.93480220207 for pi^2 / 2), so n = 1 is left out.
    for n in (0, 2, 3):
        call("polygamma.default", n=n, self_=x)


def polynomials() -> None:
    x, n = f(-1, -0.7, 0.1, 0.6, 1, 1.5).reshape(6, 1), f(-1, 0, 1, 2, 5, 9)
    for name in "tuvw":
        call(f"special_chebyshev_polynomial_{name}.default", x=x, n=n)
        call(f"special_shifted_chebyshev_polynomial_{name}.default", x=f(0, 0.2, 0.7, 1, 1.5).reshape(5, 1), n=n)
    for name in ("hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"):
        call(f"special_{name}.default", x=x, n=n)


def main() -> None:
    for family in (pointwise, functions, polynomials):
        family()
    write()


if __name__ == "__main__":
    main()
