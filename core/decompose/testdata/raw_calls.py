"""Write raw_calls.json: calls of operators that graphs keep when nobody called run_decompositions(), and answers.

    python3 core/decompose/testdata/raw_calls.py > core/decompose/testdata/raw_calls.json

Format: call_text.py. Written with torch 2.13.0+cpu.
"""

from __future__ import annotations

import torch
from call_text import INF, NAN, call, f, i, write

torch.manual_seed(23)

X, T3, V = f(3, 4), f(2, 3, 4), f(5)
HOLES = torch.tensor([[1.5, NAN, -2.0, 0.25], [NAN] * 4, [3.0, INF, -1.0, 0.0]], dtype=torch.float64)


def complex_(*shape: int) -> torch.Tensor:
    return torch.complex(f(*shape), f(*shape))


def aliases() -> None:
    for name in "positive resolve_conj resolve_neg conj conj_physical alias_copy deg2rad rad2deg".split():
        call(f"{name}.default", self_=X)
    call("deg2rad.default", self_=i(90, -180).int())
    call("conj_physical.default", self_=complex_(3))
    call("max.other", self_=X, other=f(4))
    call("min.other", self_=X, other=f(4))
    call("vdot.default", self_=V, other=f(5))
    call("sum_to_size.default", self_=T3, size=[3, 1])
    call("sum_to_size.default", self_=X, size=[3, 4])
    call("flipud.default", self_=X)
    call("fliplr.default", self_=T3)
    call("unsafe_split_with_sizes.default", self_=X, split_sizes=[1, 3], dim=1)
    call("unsafe_split.Tensor", self_=f(5, 2), split_size=2)
    call("unsafe_chunk.default", self_=f(5, 2), chunks=2)
    call("reshape_as.default", self_=X, other=f(2, 6))


def assemblies() -> None:
    for diagonal in (0, 2, -1):
        call("diag.default", self_=V, diagonal=diagonal)
        call("diag.default", self_=X, diagonal=diagonal)
        call("diag_embed.default", self_=X, offset=diagonal)
        call("diag_embed.default", self_=X, offset=diagonal, dim1=0, dim2=2)
        call("diag_embed.default", self_=T3, offset=diagonal, dim1=3, dim2=1)
    call("diag.default", self_=torch.tensor([INF, NAN, 1.0]).double(), diagonal=-1)
    call("block_diag.default", tensors=[X, f(2), torch.tensor(3.0).double(), f(1, 2)])
    call("block_diag.default", tensors=[i(1, 2), X])
    vectors = [f(2), f(3), f(4)]
    call("meshgrid.default", tensors=vectors)
    call("meshgrid.indexing", tensors=vectors, indexing="ij")
    call("meshgrid.indexing", tensors=vectors, indexing="xy")
    call("meshgrid.indexing", tensors=vectors[:1], indexing="xy")
    call("meshgrid.indexing", tensors=[torch.tensor(1.5).double(), f(2)], indexing="xy")
    call("cartesian_prod.default", tensors=vectors)
    call("cartesian_prod.default", tensors=vectors[:1])
    for r in (1, 2, 3):
        call("combinations.default", self_=V, r=r)
        call("combinations.default", self_=V, r=r, with_replacement=True)
    call("combinations.default", self_=f(2), r=3)
    call("cross.default", self_=f(2, 3), other=f(2, 3))
    call("cross.default", self_=f(3, 2), other=f(3, 2), dim=0)
    call("linalg_cross.default", self_=f(1, 3), other=f(4, 3))
    call("kron.default", self_=X, other=f(2, 2))
    call("kron.default", self_=f(2), other=T3)


def differences() -> None:
    for n in (0, 1, 2, 5):
        call("diff.default", self_=X, n=n)
    call("diff.default", self_=X, dim=0, prepend=f(1, 4), append=f(2, 4))
    call("diff.default", self_=torch.tensor([True, False, False]))
    call("diff.default", self_=i(1, 5, -2))
    for name in ("trapezoid", "trapz"):
        call(f"{name}.dx", y=X, dx=0.5)
        call(f"{name}.x", y=X, x=f(4))
    call("trapezoid.dx", y=X, dx=2, dim=0)
    call("trapezoid.x", y=T3, x=f(3, 4))
    call("trapezoid.x", y=X, x=f(3), dim=0)
    call("cumulative_trapezoid.dx", y=X, dim=0)
    call("cumulative_trapezoid.x", y=X, x=X.cumsum(1))


def statistics() -> None:
    q = torch.tensor([0.0, 0.4, 1.0], dtype=torch.float64)
    for mode in ("linear", "lower", "higher", "midpoint", "nearest"):
        call("quantile.default", self_=X, q=q, dim=1, interpolation=mode)
        call("nanquantile.default", self_=HOLES, q=q, dim=1, interpolation=mode)
    for name in ("quantile", "nanquantile"):
        call(f"{name}.default", self_=HOLES, q=q, dim=0, keepdim=True)
        call(f"{name}.default", self_=X, q=torch.tensor(0.3).double())
        call(f"{name}.scalar", self_=HOLES, q=0.25, dim=-1)
        call(f"{name}.scalar", self_=T3, q=0.7, keepdim=True)
    call("isin.Tensor_Tensor", elements=i(1, 2, 3, 4), test_elements=i(4, 2))
    call("isin.Tensor_Tensor", elements=X, test_elements=X[:1], invert=True)
    call("isin.Tensor_Scalar", elements=i(1, 2), test_element=2)
    call("isin.Scalar_Tensor", element=2, test_elements=i(1, 2))
    call("std_mean.default", self_=X)
    call("std_mean.dim", self_=X, dim=[1], unbiased=False, keepdim=True)
    call("std_mean.correction", self_=T3, dim=[0, 2], correction=1)


def margins() -> None:
    target = torch.tensor([1.0, -1.0, 1.0], dtype=torch.float64)
    for reduction in (0, 1, 2):
        call("margin_ranking_loss.default", input1=f(3), input2=f(3), target=target, margin=0.5, reduction=reduction)
        call("hinge_embedding_loss.default", self_=f(3), target=target, margin=0.75, reduction=reduction)
        call("soft_margin_loss.default", self_=f(3), target=target, reduction=reduction)
        triple = {"anchor": X, "positive": f(3, 4), "negative": f(3, 4)}
        call("triplet_margin_loss.default", **triple, reduction=reduction)
        call("triplet_margin_loss.default", **triple, margin=0.5, p=1.0, swap=True, reduction=reduction)
        pair = {"input1": X, "input2": f(3, 4)}
        call("cosine_embedding_loss.default", **pair, target=target, margin=0.25, reduction=reduction)
        call("multi_margin_loss.default", self_=X, target=i(1, 3, 0), reduction=reduction)
        call("multi_margin_loss.default", self_=X, target=i(1, 3, 0), p=2, margin=0.5, weight=f(4), reduction=reduction)
    call("multi_margin_loss.default", self_=V, target=torch.tensor(2))
    call("multi_margin_loss.default", self_=torch.tensor(1.5).double(), target=torch.tensor(0))
    call("multi_margin_loss.default", self_=V, target=torch.tensor(2), reduction=0)


def fourier() -> None:
    real, image = f(3, 6), complex_(3, 5)
    for norm in (None, "ortho", "forward"):
        for name in ("fft", "ifft", "irfft", "hfft"):
            call(f"fft_{name}.default", self_=image, norm=norm)
            call(f"fft_{name}n.default", self_=image, norm=norm)
            call(f"fft_{name}2.default", self_=image, norm=norm)
        for name in ("fft", "ifft", "rfft", "ihfft"):
            call(f"fft_{name}.default", self_=real, n=4, dim=0, norm=norm)
            call(f"fft_{name}n.default", self_=f(2, 3, 4), s=[3, -1], norm=norm)
            call(f"fft_{name}2.default", self_=real, s=[4, 5], norm=norm)
    call("fft_fftn.default", self_=f(2, 3, 4), dim=[2, 0])
    call("fft_irfft.default", self_=image, n=7)
    call("fft_hfftn.default", self_=image, s=[2, 6], dim=[1, 0])
    for name in ("fftshift", "ifftshift"):
        call(f"fft_{name}.default", self_=real)
        call(f"fft_{name}.default", self_=V, dim=[0])


def pieces() -> None:
    for name in ("atleast_1d", "atleast_2d", "atleast_3d"):
        call(f"{name}.Sequence", tensors=[torch.tensor(2.5).double(), f(2), f(2, 3), T3])
    call("atleast_3d.default", self_=torch.tensor(2.5).double())
    for shape in ((2,), (2, 3), (2, 3, 4)):
        call("atleast_3d.default", self_=f(*shape))
    call("dstack.default", tensors=[f(3), f(3)])
    call("dstack.default", tensors=[X, f(3, 4)])
    call("column_stack.default", tensors=[f(3), X, f(3, 2)])
    call("column_stack.default", tensors=[torch.tensor(1.0).double(), torch.tensor(2.0).double()])
    call("tensor_split.indices", self_=f(7, 2), indices=[1, 5, -1])
    call("tensor_split.indices", self_=X, indices=[3, 1, 9], dim=1)
    WIDE = f(4, 6, 2)
    for overload, given in (("int", {"sections": 2}), ("array", {"indices": [1, 2]})):
        for name in ("vsplit", "hsplit", "dsplit"):
            call(f"{name}.{overload}", self_=WIDE, **given)
        call(f"hsplit.{overload}", self_=f(4), **given)
    for k in (0, 1, 2, 3, -1):
        call("rot90.default", self_=X, k=k)
        call("rot90.default", self_=T3, k=k, dims=[2, 0])
    call("movedim.intlist", self_=T3, source=[0, 2], destination=[-1, 0])
    call("movedim.intlist", self_=f(2, 3, 4, 5), source=[1, 3], destination=[2, 1])
    call("tensordot.default", self_=T3, other=f(4, 3, 5), dims_self=[1, 2], dims_other=[1, 0])
    call("tensordot.default", self_=X, other=f(2), dims_self=[], dims_other=[])
    call("tensordot.default", self_=f(1, 1, 3), other=f(2, 1, 2), dims_self=[0, 1], dims_other=[2, 0])
    call("trace.default", self_=X)
    for offset in (0, 1, -2):
        call("diagflat.default", self_=f(2, 2), offset=offset)
    call("squeeze_copy.default", self_=f(1, 3, 1))
    call("squeeze_copy.dim", self_=f(1, 3, 1), dim=0)
    call("t_copy.default", self_=X)
    call("t_copy.default", self_=V)
    call("mH.default", self_=complex_(2, 3, 2))
    call("matrix_H.default", self_=complex_(3, 2))
    call("matrix_H.default", self_=X)


def forms() -> None:
    special = torch.tensor([0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 2.5, 1e-3], dtype=torch.float64)
    for x in (X, special):
        for name in "sinc special_entr special_ndtr special_log_ndtr isposinf isneginf isreal real nan_to_num".split():
            call(f"{name}.default", self_=x)
    call("sgn.default", self_=special[:6])
    call("special_log_ndtr.default", self_=torch.tensor([-40.0, -5.0, 6.0]).double())
    call("isposinf.default", self_=i(1, 2))
    call("real.default", self_=complex_(3))
    call("nan_to_num.default", self_=special, nan=1.5, posinf=7.0, neginf=-7.0)
    call("nan_to_num.default", self_=i(1, 2))
    chance = torch.tensor([0.0, 0.25, 0.5, 1.0]).double()
    call("logit.default", self_=chance)
    call("logit.default", self_=chance, eps=0.125)
    call("special_xlog1py.default", self_=special[:8], other=torch.tensor([NAN, -1.0, 0.5, 2, 0, 1, 0, INF]).double())
    call("heaviside.default", self_=special, values=f(1))
    call("heaviside.default", self_=i(-1, 0, 2), values=i(5))
    call("float_power.Tensor_Tensor", self_=X.abs(), exponent=i(1, 2, 3, 0))
    call("rsub.Tensor", self_=X, other=f(4), alpha=2)
    call("divide.Tensor", self_=X, other=f(4) + 9)
    call("subtract.Tensor", self_=X, other=f(4), alpha=2)
    call("divide.Tensor", self_=X, other=4.0)
    call("subtract.Tensor", self_=X, other=1.5)
    call("special_polygamma.default", n=2, self_=X.abs() + 1)
    for p in (1, 2, 4):
        call("mvlgamma.default", self_=X.abs() + 2, p=p)
    for reduction in (0, 1, 2):
        for full, log_input in ((False, True), (True, False)):
            call(
                "poisson_nll_loss.default",
                input=X.abs(),
                target=f(3, 4).abs(),
                log_input=log_input,
                full=full,
                eps=1e-8,
                reduction=reduction,
            )
    call("nanmean.default", self_=HOLES)
    call("nanmean.default", self_=HOLES, dim=[1], keepdim=True)
    mask = torch.tensor([[True, False], [True, True]])
    call("all.dim", self_=mask, dim=1)
    call("all.dim", self_=X, dim=-1, keepdim=True)
    call("all.dims", self_=mask, dim=[0, 1])
    call("all.dims", self_=mask, dim=[1], keepdim=True)
    call("renorm.default", self_=T3, p=2, dim=1, maxnorm=2.0)
    call("renorm.default", self_=X, p=1, dim=0, maxnorm=4.0)


def einsums() -> None:
    for equation, shapes in (
        ("i,j->ij", ((3,), (2,))),
        ("ij,jk->ik", ((3, 4), (4, 2))),
        ("ij,jk", ((3, 4), (4, 2))),
        ("bij,bjk->bik", ((2, 3, 4), (2, 4, 2))),
        ("bhqd,bhkd->bhqk", ((2, 2, 3, 4), (2, 2, 5, 4))),
        ("...ij,...jk->...ik", ((2, 1, 3, 4), (3, 4, 2))),
        ("i...,i...", ((3, 2), (3, 2))),
        ("ii->i", ((3, 3),)),
        ("ii", ((3, 3),)),
        ("ijk->kj", ((2, 3, 4),)),
        ("ba", ((2, 3),)),
        ("ij,kl->", ((2, 3), (2, 2))),
        ("ij,j,jk->ik", ((3, 4), (4,), (4, 2))),
        ("bn,anm,bm->ba", ((2, 3), (4, 3, 2), (2, 2))),
        (" i j , j -> i ", ((3, 4), (4,))),
        ("Aa,a", ((2, 3), (3,))),
        ("ij,ij->ij", ((3, 4), (1, 4))),
        ("ij,ij->i", ((3, 4), (3, 1))),
        ("ij,jk->ik", ((3, 0), (0, 2))),
    ):
        call("einsum.default", equation=equation, tensors=[f(*shape) for shape in shapes])


def main() -> None:
    aliases()
    assemblies()
    differences()
    statistics()
    margins()
    fourier()
    pieces()
    forms()
    einsums()
    write()


if __name__ == "__main__":
    main()
