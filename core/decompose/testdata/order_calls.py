"""Write order_calls.json: calls of scans, order statistics, searches, histograms and writes by index, and PyTorch's answers.

    python3 core/decompose/testdata/order_calls.py > core/decompose/testdata/order_calls.json

A call is [operator, {argument: value}, [results]] as in composite_calls.py. Operators with a decomposition are held
against it, the others against the reference's kernel.

Written with torch 2.13.0+cpu.
"""

from __future__ import annotations

import itertools
import math
import warnings

import torch
from call_text import INF, NAN, call, f, i, write

torch.manual_seed(9)


def b(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.bool)


def d(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def distinct(*shape: int) -> torch.Tensor:
    return torch.randperm(math.prod(shape)).reshape(shape).double() / 4


X, T3 = f(3, 4), f(2, 3, 4)
SPECIAL = d(1, -INF, 2, INF, 0.5, NAN, 3)


def scans() -> None:
    for op in ("cumprod", "cummax", "cummin", "logcumsumexp"):
        for self_, dim in ((X, 1), (T3, 1), (T3, 0), (d(1.5).reshape(()), 0), (f(0, 3), 1), (SPECIAL, 0)):
            call(op + ".default", self_=self_, dim=dim)
    for op in ("cumprod", "cummax", "cummin"):
        call(op + ".default", self_=torch.randint(-4, 5, (3, 5)), dim=1)
    call("cumprod.default", self_=torch.randint(1, 3, (5,), dtype=torch.int32), dim=0, dtype=torch.float64)
    call("cumprod.default", self_=i(3, 7, 1 << 31, 1 << 31, 5), dim=0)
    call("logcumsumexp.default", self_=d(-INF, -INF, 1, -INF, 700, 710), dim=0)
    call("logcumsumexp.default", self_=d(-800, -790, 3, 2, 1, 4), dim=-1)


def statistics() -> None:
    even, odd = distinct(3, 4), distinct(2, 5)
    for op, x in itertools.product(("median", "nanmedian"), (even, odd, d(1, NAN, 0, 3), d(NAN, NAN), d(7).reshape(()))):
        call(op + ".default", self_=x)
        for dim, keepdim in itertools.product({0, -1}, (False, True)):
            call(op + ".dim", self_=x, dim=dim, keepdim=keepdim)
    call("median.default", self_=i(5, 1, 4, 2))
    call("median.default", self_=f(0))
    for k, keepdim in itertools.product((1, 2, 3), (False, True)):
        call("kthvalue.default", self_=distinct(2, 3), k=k, keepdim=keepdim)
    call("kthvalue.default", self_=d(1, NAN, 0, 3), k=4)
    call("mode.default", self_=d(3, 1, 3, 1, 2))
    call("mode.default", self_=torch.tensor([[2, 2, 1], [0, 5, 5]]), dim=1, keepdim=True)
    call("mode.default", self_=d(2).reshape(()))
    for descending in (False, True):
        call("sort.stable", self_=d(2, 1, 2, NAN, 1, INF, 2, -INF), stable=True, descending=descending)
        call("argsort.stable", self_=i(2, 1, 2, 1, 3, 0, 2), stable=True, descending=descending)
    call("argsort.stable", self_=distinct(3, 4), stable=False, dim=0)
    call("msort.default", self_=distinct(3, 4))
    call("msort.default", self_=d(7).reshape(()))
    zeros = torch.tensor([[0.0, 1.0, NAN], [2.0, 0.0, -0.0]]).double()
    for dims in ([0], [1], [0, 1], [-1], []):
        call("count_nonzero.dim_IntList", self_=zeros, dim=dims)
    call("count_nonzero.dim_IntList", self_=i(0, 3), dim=[0])


def searches() -> None:
    edges, values = d(-1, 0, 0, 2.5, INF), d(-2, -1, 0, 1, 2.5, 9, INF, NAN, -INF)
    for right, out_int32 in itertools.product((False, True), (False, True)):
        call("searchsorted.Tensor", sorted_sequence=edges, self_=values, right=right, out_int32=out_int32)
        call("bucketize.Tensor", self_=values.reshape(3, 3), boundaries=edges, right=right, out_int32=out_int32)
        call("bucketize.Scalar", self_=0, boundaries=edges, right=right)
        call("searchsorted.Scalar", sorted_sequence=i(1, 2, 3), self_=2.5, right=right)
        call("searchsorted.Scalar", sorted_sequence=i(1, 2, 3), self_=2, right=right)
    call("searchsorted.Tensor", sorted_sequence=torch.sort(f(2, 5))[0], self_=f(2, 3), side="right")
    call("searchsorted.Tensor", sorted_sequence=torch.sort(f(2, 5))[0], self_=f(2, 3), side="left")
    unsorted = distinct(5)
    call("searchsorted.Tensor", sorted_sequence=unsorted, self_=f(4), sorter=torch.argsort(unsorted))
    call("searchsorted.Tensor", sorted_sequence=d(NAN), self_=d(NAN, 1))
    call("searchsorted.Tensor", sorted_sequence=f(0), self_=d(NAN, 1))
    call("searchsorted.Tensor", sorted_sequence=i(1, 3, 3, 7), self_=torch.tensor(3))
    x = i(3, 1, 1, 2, 3, 3, 1)
    for inverse, counts in itertools.product((False, True), (False, True)):
        call("_unique2.default", self_=x, return_inverse=inverse, return_counts=counts)
        call("unique_consecutive.default", self_=x, return_inverse=inverse, return_counts=counts)
        grid = torch.tensor([[1, 2, 1], [3, 4, 3]])
        call("unique_dim.default", self_=grid, dim=1, return_inverse=inverse, return_counts=counts)
        call("unique_consecutive.default", self_=grid.repeat(1, 2).sort(1)[0], dim=1, return_inverse=inverse, return_counts=counts)
    call("_unique2.default", self_=d(2, NAN, -1, INF, 2).reshape(5, 1), return_inverse=True, return_counts=True)
    call("_unique2.default", self_=b(1, 0, 1), return_inverse=True)
    call("unique_dim.default", self_=f(0, 3), dim=0, return_inverse=True, return_counts=True)
    call("unique_consecutive.default", self_=f(0), return_inverse=True, return_counts=True)


def histograms() -> None:
    x = d(0.1, 0.35, 0.9, 0.6, 2.5, -1, NAN, 1.0, 0.0, 0.62)
    call("histc.default", self_=x, bins=4, min=0, max=1)
    call("histc.default", self_=f(40), bins=7)
    call("histc.default", self_=d(2, 2, 2), bins=3)
    call("histc.default", self_=f(0), bins=3)
    for density in (False, True):
        call("histogram.bin_ct", self_=x, bins=4, range=[0.0, 1.0], density=density)
        call("histogram.bin_ct", self_=f(30), bins=5, weight=f(30).abs(), density=density)
        call("histogram.bins_tensor", self_=x, bins=d(-1, 0, 0.35, 1), density=density)
        call("histogram.bins_tensor", self_=f(30), bins=d(-2, -1, 0, 3), weight=f(30).abs(), density=density)
        xy = torch.rand(30, 2, dtype=torch.float64)
        call("_histogramdd_from_bin_cts.default", self_=xy, bins=[3, 2], density=density)
        call("_histogramdd_from_bin_cts.default", self_=xy, bins=[3, 2], range=[0.0, 1.0, 0.25, 0.75], weight=f(30).abs(), density=density)
        call("_histogramdd_from_bin_tensors.default", self_=xy, bins=[d(0, 0.5, 1), d(0.1, 0.2, 0.8)], density=density)
    call("histogram.bin_ct", self_=d(3, 3), bins=2)
    call("_histogramdd_bin_edges.default", self_=torch.rand(10, 2, dtype=torch.float64), bins=[3, 2])


def writes() -> None:
    for alpha in (1, 2):
        call("index_add.default", self_=X, dim=0, index=i(2, 0, 2), source=f(3, 4), alpha=alpha)
    call("index_add.default", self_=T3, dim=-1, index=i(1, 3, 1).int(), source=f(2, 3, 3))
    call("index_add.default", self_=d(2).reshape(()), dim=0, index=i(0), source=d(3).reshape(()))
    call("index_add.default", self_=torch.randint(0, 9, (4,)), dim=0, index=i(1, 1, 3), source=i(5, 6, 7), alpha=3)
    call("index_copy.default", self_=T3, dim=1, index=i(2, 0), source=f(2, 2, 4))
    call("index_copy.default", self_=d(2).reshape(()), dim=0, index=i(0), source=d(3).reshape(()))
    call("index_copy.default", self_=f(4), dim=0, index=torch.tensor(2), source=d(3).reshape(()))
    for index in (i(2, -1), torch.tensor(1), i()):
        call("index_fill.int_Scalar", self_=T3, dim=1, index=index, value=1.5)
        call("index_fill.int_Tensor", self_=T3, dim=-1, index=index, value=torch.tensor(2.5, dtype=torch.float64))
    call("index_fill.int_Scalar", self_=d(2).reshape(()), dim=0, index=i(0), value=7)
    for accumulate in (False, True):
        call("put.default", self_=X, index=i(3, -1, 0), source=f(3), accumulate=accumulate)
    call("put.default", self_=X, index=i(3, 3, 3, 3).reshape(2, 2), source=f(4, 1), accumulate=True)
    call("take.default", self_=X, index=torch.tensor([[3, -1], [0, 11]]))
    call("take.default", self_=X, index=torch.tensor(4))
    index = torch.tensor([[0, 3], [3, 3], [1, 0]])
    for reduce in ("add", "multiply"):
        call("scatter.reduce", self_=X, dim=1, index=index, src=f(3, 2), reduce=reduce)
        call("scatter.value_reduce", self_=X, dim=1, index=index, value=1.5, reduce=reduce)
        call("scatter.reduce", self_=torch.arange(12).reshape(3, 4), dim=0, index=index % 3, src=index + 2, reduce=reduce)
    for reduce, include_self in itertools.product(("sum", "prod", "mean", "amax", "amin"), (False, True)):
        call("scatter_reduce.two", self_=X, dim=1, index=index, src=f(3, 3), reduce=reduce, include_self=include_self)
        whole = dict(self_=torch.randint(-9, 9, (5,)), dim=0, index=i(1, 1, 4, 1), reduce=reduce, include_self=include_self)
        call("scatter_reduce.two", src=i(-3, 2, -4, 6), **whole)
        special = dict(self_=d(1, NAN, 3), dim=0, index=i(0, 1, 2, 0), reduce=reduce, include_self=include_self)
        call("scatter_reduce.two", src=d(INF, 1, NAN, 2), **special)
        if reduce != "sum":
            call("index_reduce.default", self_=T3, dim=1, index=i(2, 0, 2, 2), source=f(2, 4, 4), reduce=reduce, include_self=include_self)
            call("index_reduce.default", self_=i(4, 9, -6), dim=0, index=i(0, 0), source=i(5, -7), reduce=reduce, include_self=include_self)
    call("index_put.default", self_=f(5), indices=[b(1, 0, 1, 1, 0)], values=f(3))
    call("index_put.default", self_=f(5), indices=[b(1, 0, 1, 1, 0)], values=d(7).reshape(()))
    call("index_put.default", self_=X, indices=[X > 0], values=d(-1), accumulate=True)
    call("index_put.default", self_=X, indices=[b(1, 0, 1), i(2, 0)], values=f(2))
    call("index_put.default", self_=X, indices=[b(1, 0, 1)], values=f(2, 4))
    call("index_put.default", self_=T3, indices=[b(1, 0), b(1, 0, 1)], values=f(2, 4))
    call("index.Tensor", self_=X, indices=[b(1, 0, 1)])
    call("index.Tensor", self_=T3, indices=[T3[:, :, 0] > 0])
    call("index.Tensor", self_=T3, indices=[i(1, 0), b(1, 0, 1)])
    call("_unsafe_index.Tensor", self_=X, indices=[i(1, -1)])
    call("_unsafe_index_put.default", self_=X, indices=[i(1, 1)], values=f(4), accumulate=True)


def selections() -> None:
    call("masked_select.default", self_=X, mask=X > 0)
    call("masked_select.default", self_=X, mask=b(1, 0, 1, 1))
    call("masked_select.default", self_=f(3, 1), mask=b(1, 0, 1, 1))
    for size in (0, 2, 9):
        call("nonzero_static.default", self_=i(0, 3, 0, 1).reshape(2, 2), size=size, fill_value=-7)
    call("repeat_interleave.Tensor", repeats=i(2, 0, 3))
    call("repeat_interleave.Tensor", repeats=i(2, 0, 3).int(), output_size=5)
    for repeats in (i(2, 0, 1), i(2), torch.tensor(3)):
        call("repeat_interleave.self_Tensor", self_=X, repeats=repeats, dim=0)
    call("repeat_interleave.self_Tensor", self_=X, repeats=i(2), output_size=24)
    for reduce, initial in itertools.product(("sum", "mean", "max", "min", "prod"), (None, 2)):
        kind = dict(reduce=reduce, initial=initial)
        call("segment_reduce.default", data=f(6, 2), lengths=i(2, 0, 4), **kind)
        call("segment_reduce.default", data=f(2, 4), lengths=torch.tensor([[1, 3], [4, 0]]), axis=1, unsafe=True, **kind)
        call("segment_reduce.default", data=d(1, NAN, 3, 4), offsets=i(0, 1, 2, 4), **kind)


def main() -> None:
    warnings.simplefilter("ignore")
    for family in (scans, statistics, searches, histograms, writes, selections):
        family()
    write()


if __name__ == "__main__":
    main()
