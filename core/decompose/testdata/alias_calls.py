"""Write alias_calls.json: operators under their other names, norms, chains of products and losses, and answers.

    python3 core/decompose/testdata/alias_calls.py > core/decompose/testdata/alias_calls.json

Format: call_text.py. Written with torch 2.13.0+cpu.
"""

from __future__ import annotations

import torch
from call_text import INF, call, chance, f, i, write

torch.manual_seed(29)

X, Y, SMALL = f(2, 3), f(2, 3), chance(2, 3)
A, B = i(6, 4, -3), i(3, 5, 1)


def aliases() -> None:
    for name in "absolute arcsinh arctan fix negative special_erf special_erfc special_exp2 special_expit".split():
        call(f"{name}.default", self_=X)
    for name in "arccos arcsin arctanh special_digamma special_psi special_erfinv special_gammaln".split():
        call(f"{name}.default", self_=SMALL * 0.75)
    for name in "special_expm1 special_i0 special_log1p special_logit special_sinc".split():
        call(f"{name}.default", self_=SMALL)
    call("arccosh.default", self_=SMALL + 1)
    call("arctan2.default", self_=X, other=Y)
    call("atan2.out", self_=X, other=Y, out=torch.zeros(2, 3, dtype=torch.float64))
    call("clip.default", self_=X, min=-1, max=1)
    call("clip.Tensor", self_=X, min=Y)
    call("concat.default", tensors=[X, Y], dim=1)
    call("concatenate.default", tensors=[X, Y])
    call("row_stack.default", tensors=[X, Y])
    call("divide.Tensor", self_=X, other=SMALL)
    call("divide.Scalar", self_=X, other=2)
    call("divide.Tensor_mode", self_=X, other=SMALL, rounding_mode="floor")
    call("divide.Scalar_mode", self_=X, other=0.75, rounding_mode="trunc")
    call("true_divide.Tensor", self_=X, other=SMALL)
    call("true_divide.Scalar", self_=A, other=4)
    for name in "greater greater_equal less less_equal not_equal".split():
        call(f"{name}.Tensor", self_=X, other=Y)
        call(f"{name}.Scalar", self_=X, other=0.5)
    for name in "multiply subtract".split():
        call(f"{name}.Tensor", self_=X, other=Y)
        call(f"{name}.Scalar", self_=X, other=3)
    call("ger.default", self_=f(2), vec2=f(3))
    call("linalg_matmul.default", self_=f(2, 2, 3), other=f(3, 2))
    call("linalg_matmul.default", self_=f(3), other=f(3))
    call("moveaxis.int", self_=f(2, 1, 3), source=0, destination=-1)
    call("moveaxis.intlist", self_=f(2, 1, 3), source=[0, 1], destination=[2, 0])
    call("special_gammainc.default", self_=SMALL, other=SMALL + 1)
    call("special_gammaincc.default", self_=SMALL, other=SMALL + 1)
    call("special_logsumexp.default", self_=X, dim=[1])
    call("special_multigammaln.default", self_=SMALL + 3, p=2)
    call("special_xlogy.default", self_=X, other=SMALL)
    call("special_round.default", self_=X * 0.3, decimals=1)
    call("special_softmax.default", self_=X, dim=1)
    call("special_log_softmax.default", self_=X, dim=0)
    for name in "__and__ __or__ __xor__".split():
        call(f"{name}.Tensor", self_=A, other=B)
        call(f"{name}.Scalar", self_=A, other=5)


def norms() -> None:
    for keep in (False, True):
        call("linalg_norm.default", self_=X, keepdim=keep)
        call("linalg_norm.default", self_=X, ord=3, dim=[1], keepdim=keep)
        call("linalg_norm.default", self_=f(2, 3, 2), dim=[0, 2], keepdim=keep)
        call("linalg_norm.ord_str", self_=X, ord="fro", dim=[0, 1], keepdim=keep)
        for order in (1, -1, INF, -INF):
            call("linalg_norm.default", self_=f(2, 3, 2), ord=order, dim=[2, 0], keepdim=keep)
            call("linalg_matrix_norm.default", self_=f(2, 3, 2), ord=order, keepdim=keep)
        call("linalg_matrix_norm.str_ord", self_=f(2, 3, 2), keepdim=keep)
        call("frobenius_norm.dim", self_=X, dim=[1], keepdim=keep)
    call("linalg_norm.default", self_=X, ord=1)
    call("linalg_norm.default", self_=f(3), ord=0)
    call("linalg_norm.ord_str", self_=X, ord="fro")
    call("frobenius_norm.dim", self_=X, dim=[])


def chains() -> None:
    call("linalg_vecdot.default", x=X, y=Y)
    call("linalg_vecdot.default", x=X, y=f(3, 1, 3), dim=-1)
    for name, tensors in (("linalg_multi_dot", "tensors"), ("chain_matmul", "matrices")):
        call(f"{name}.default", **{tensors: [f(2, 3), f(3, 4), f(4, 1)]})
    call("linalg_multi_dot.default", tensors=[f(3), f(3, 4), f(4)])
    call("linalg_multi_dot.default", tensors=[f(2, 3), f(3)])
    call("linalg_diagonal.default", A=f(2, 3, 3), offset=1)


def losses() -> None:
    scores, target = f(4, 3), i(0, 2, 1, 2)
    for weight in (None, chance(3)):
        for reduction in range(3):
            call("nll_loss.default", self_=scores, target=target, weight=weight, reduction=reduction, ignore_index=1)
            call("nll_loss2d.default", self_=f(1, 3, 2, 2), target=target.view(1, 2, 2), weight=weight, reduction=reduction)
            for smoothing in (0.0, 0.25):
                common = {"weight": weight, "reduction": reduction, "label_smoothing": smoothing}
                call("cross_entropy_loss.default", self_=scores, target=target, ignore_index=2, **common)
                call("cross_entropy_loss.default", self_=f(2, 3, 2), target=target.view(2, 2), **common)
                call("cross_entropy_loss.default", self_=scores, target=chance(4, 3), **common)
    call("cross_entropy_loss.default", self_=f(3), target=i(1)[0], label_smoothing=0.5)


def numbers() -> None:
    call("float_power.Tensor_Scalar", self_=A, exponent=2)
    call("float_power.Scalar", self_=2, exponent=B)


aliases()
norms()
chains()
losses()
numbers()
write()
