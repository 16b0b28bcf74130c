"""Write order_shapes.json: as shape_calls.py, for scans, order statistics, searches, histograms and writes by index.

    python3 core/opset/testdata/order_shapes.py > core/opset/testdata/order_shapes.json

Written with torch 2.13.0+cpu.
"""

from __future__ import annotations

import itertools

from call_shapes import T, call, calls, write

DTYPES = ("bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "c64")


def refused(name: str, *args, **kwargs) -> None:
    """Of operators whose result has a size that depends on data only refusals are kept."""
    call(name, *args, **kwargs)
    if calls[-1][2] is not None:
        calls.pop()


def scans() -> None:
    for name, dtype in itertools.product(("cumprod", "cummax", "cummin", "logcumsumexp"), DTYPES):
        if name == "logcumsumexp" and dtype == "c64":
            continue  # no complex kernels here
        call(f"aten::{name}.default", T(dtype, 2, 3), 1)
    for name, shape in itertools.product(("cumprod", "cummax", "cummin", "logcumsumexp"), ([], [0, 3], [5])):
        call(f"aten::{name}.default", T("f32", *shape), -1)
        if shape[:1] != [0]:  # cummax of an empty tensor looks at no dim
            call(f"aten::{name}.default", T("f32", *shape), 2)
    import torch

    call("aten::cumprod.default", T("i64", 2, 3), 0, dtype=torch.float16)
    call("aten::cumprod.default", T("f32", 2, 3), 0, dtype=torch.int64)


def statistics() -> None:
    for dtype in DTYPES:
        for name in ("median", "nanmedian"):
            call(f"aten::{name}.default", T(dtype, 2, 3))
            call(f"aten::{name}.dim", T(dtype, 2, 3), 1)
        call("aten::mode.default", T(dtype, 2, 3))
        call("aten::kthvalue.default", T(dtype, 2, 3), 2)
        call("aten::sort.stable", T(dtype, 2, 3), stable=True)
        call("aten::argsort.default", T(dtype, 2, 3))
        call("aten::argsort.stable", T(dtype, 2, 3), stable=True, dim=0)
        call("aten::msort.default", T(dtype, 2, 3))
        call("aten::count_nonzero.dim_IntList", T(dtype, 2, 3), [1])
    for name, shape, dim, keep in itertools.product(
        ("median.dim", "nanmedian.dim", "mode.default"), ([], [5], [2, 0, 3], [2, 3, 4]), (0, 1, -1, 3), (False, True)
    ):
        call(f"aten::{name}", T("f32", *shape), dim, keep)
    for shape, k, keep in itertools.product(([], [0, 3], [2, 3]), (0, 1, 3, 4), (False, True)):
        call("aten::kthvalue.default", T("f32", *shape), k, -1, keep)
    for shape in ([], [0, 3], [2, 3, 4]):
        call("aten::argsort.default", T("f32", *shape), -1, True)
        call("aten::sort.stable", T("f32", *shape), stable=None, dim=0)
        for dims in ([0], [-1], [0, -1], [], [7], [0, 0]):
            call("aten::count_nonzero.dim_IntList", T("f32", *shape), dims)
    call("aten::msort.default", T("f32", 2, 3, 4))


def searches() -> None:
    for dtype in DTYPES:
        call("aten::searchsorted.Tensor", T(dtype, 5), T(dtype, 2, 3))
        call("aten::searchsorted.Scalar", T(dtype, 5), 2)
        call("aten::bucketize.Tensor", T(dtype, 2, 3), T(dtype, 5))
        call("aten::bucketize.Scalar", 2, T(dtype, 5))
    shapes = [([5], []), ([5], [2, 3]), ([2, 5], [2, 3]), ([2, 5], [3, 3]), ([2, 5], [3]), ([], [3]), ([0], [3])]
    for sequence, values in shapes:
        for out_int32 in (False, True):
            call("aten::searchsorted.Tensor", T("f32", *sequence), T("f32", *values), out_int32=out_int32)
        call("aten::bucketize.Tensor", T("f32", *values), T("f32", *sequence), right=True)
        call("aten::searchsorted.Scalar", T("f32", *sequence), 1.5)
    for first, second in itertools.product(("bool", "i64", "f16", "f64", "c64"), ("bool", "u8", "f32", "c64")):
        call("aten::searchsorted.Tensor", T(first, 5), T(second, 3))
        call("aten::bucketize.Tensor", T(second, 3), T(first, 5))
    for side, right in itertools.product(("left", "right", "middle"), (False, True)):
        call("aten::searchsorted.Tensor", T("f32", 5), T("f32", 3), side=side, right=right)
    for sorter in (T("i64", 5), T("i64", 4), T("i32", 5)):
        call("aten::searchsorted.Tensor", T("f32", 5), T("f32", 3), sorter=sorter)
    for name, dtype in itertools.product(("_unique2", "unique_consecutive"), DTYPES):
        refused(f"aten::{name}.default", T(dtype, 2, 3))
    for dtype in DTYPES:
        refused("aten::unique_dim.default", T(dtype, 2, 3), 0)
    refused("aten::unique_dim.default", T("f32", 2, 0), 0)
    refused("aten::unique_dim.default", T("f32", 2, 3), 2)
    refused("aten::unique_consecutive.default", T("f32", 2, 0), dim=0)


def histograms() -> None:
    for dtype in DTYPES:
        call("aten::histc.default", T(dtype, 2, 3), 4, 0, 1)
        call("aten::histogram.bin_ct", T(dtype, 2, 3), 4, range=[0.0, 1.0])
        call("aten::histogram.bins_tensor", T(dtype, 2, 3), T(dtype, 4))
        call("aten::_histogramdd_from_bin_cts.default", T(dtype, 5, 2), [3, 4], range=[0.0, 1.0, 0.0, 1.0])
        call("aten::_histogramdd_bin_edges.default", T(dtype, 5, 2), [3, 4], range=[0.0, 1.0, 0.0, 1.0])
    for bins, low, high in ((0, 0, 1), (-1, 0, 1), (3, 1, 0), (3, 1, 1), (3, 0.5, 2)):
        call("aten::histc.default", T("f32", 6), bins, low, high)
        call("aten::histogram.bin_ct", T("f32", 6), bins, range=[float(low), float(high)])
    call("aten::histogram.bin_ct", T("f32", 6), 3, range=[0.0])
    call("aten::histogram.bin_ct", T("f32", 6), 3, weight=T("f32", 6))
    call("aten::histogram.bin_ct", T("f32", 6), 3, weight=T("f32", 5))
    call("aten::histogram.bin_ct", T("f32", 6), 3, weight=T("f64", 6))
    for bins in (T("f32", 1), T("f32", 2, 2), T("f64", 4), T("f32", 0)):
        call("aten::histogram.bins_tensor", T("f32", 6), bins)
    for samples, bins in (([6], [3]), ([6, 2], [3]), ([6, 2], [3, 0]), ([2, 3, 2], [3, 4]), ([6, 2], [3, 4, 5])):
        call("aten::_histogramdd_from_bin_cts.default", T("f32", *samples), bins)
        edges = [T("f32", count + 1) for count in bins]
        call("aten::_histogramdd_from_bin_tensors.default", T("f32", *samples), edges)


def writes() -> None:
    for dtype in DTYPES:
        call("aten::index_add.default", T(dtype, 3, 4), 1, T("i64", 2), T(dtype, 3, 2))
        call("aten::index_copy.default", T(dtype, 3, 4), 1, T("i64", 2), T(dtype, 3, 2))
        call("aten::index_fill.int_Scalar", T(dtype, 3, 4), 1, T("i64", 2), 1)
        call("aten::put.default", T(dtype, 3, 4), T("i64", 2), T(dtype, 2))
        call("aten::take.default", T(dtype, 3, 4), T("i64", 2))
        call("aten::scatter.reduce", T(dtype, 3, 4), 1, T("i64", 3, 2), T(dtype, 3, 2), reduce="add")
        call("aten::scatter.value_reduce", T(dtype, 3, 4), 1, T("i64", 3, 2), 2, reduce="multiply")
        for reduce in ("prod", "mean", "amax", "amin"):
            call("aten::index_reduce.default", T(dtype, 3, 4), 1, T("i64", 2), T(dtype, 3, 2), reduce)
        for reduce in ("sum", "prod", "mean", "amax", "amin"):
            call("aten::scatter_reduce.two", T(dtype, 3, 4), 1, T("i64", 3, 2), T(dtype, 3, 2), reduce)
        call("aten::segment_reduce.default", T(dtype, 3, 4), "sum", lengths=T("i64", 1), unsafe=True)
    for name in ("index_add", "index_copy"):
        for index in (T("i64"), T("i32", 2), T("i64", 2, 1), T("f32", 2)):
            call(f"aten::{name}.default", T("f32", 3, 4), 1, index, T("f32", 3, 2))
        for source in (T("f64", 3, 2), T("f32", 3, 3), T("f32", 2, 2), T("f32", 6), T("f32", 3, 2, 1)):
            call(f"aten::{name}.default", T("f32", 3, 4), 1, T("i64", 2), source)
        call(f"aten::{name}.default", T("f32"), 0, T("i64"), T("f32"))
        call(f"aten::{name}.default", T("f32", 3, 4), 2, T("i64", 2), T("f32", 3, 2))
    for index in (T("i64"), T("i32", 2), T("i64", 2, 1), T("i64", 0)):
        call("aten::index_fill.int_Scalar", T("f32", 3, 4), 1, index, 1)
        call("aten::index_fill.int_Tensor", T("f32", 3, 4), 1, index, T("f32"))
    call("aten::index_fill.int_Tensor", T("f32", 3, 4), 1, T("i64", 2), T("f32", 1))
    for index, source in ((T("i64", 2, 2), T("f32", 4)), (T("i64", 2), T("f32", 3)), (T("i32", 2), T("f32", 2)), (T("i64", 2), T("f64", 2))):
        call("aten::put.default", T("f32", 3, 4), index, source, True)
    call("aten::put.default", T("f32", 0), T("i64", 2), T("f32", 2))
    call("aten::take.default", T("f32", 0), T("i64", 2))
    call("aten::take.default", T("f32", 0), T("i64", 0))
    call("aten::take.default", T("f32", 3), T("i32", 2))
    call("aten::scatter.reduce", T("f32", 3, 4), 1, T("i64", 3, 2), T("f32", 3, 2), reduce="sum")
    call("aten::scatter.reduce", T("f32", 3, 4), 1, T("i64", 3, 2), T("f32", 2, 2), reduce="add")
    call("aten::scatter.reduce", T("f32", 3, 4), 1, T("i64", 4, 2), T("f32", 4, 2), reduce="add")
    call("aten::index_reduce.default", T("f32", 3, 4), 1, T("i64", 2), T("f32", 3, 2), "sum")
    refused("aten::masked_select.default", T("f32", 3, 4), T("bool", 3))
    refused("aten::masked_select.default", T("f32", 3, 4), T("u8", 4))
    for size in (0, 2, -1):
        call("aten::nonzero_static.default", T("f32", 3, 4), size=size)
    refused("aten::repeat_interleave.Tensor", T("i64", 2, 2))
    refused("aten::repeat_interleave.Tensor", T("f32", 2))
    call("aten::repeat_interleave.Tensor", T("i64", 3), output_size=0)
    call("aten::repeat_interleave.Tensor", T("i64", 0))
    for axis, lengths in ((0, T("i64", 1)), (0, T("i64", 3, 1)), (1, T("i64", 3, 2)), (1, T("i64", 2, 2)), (0, T("f32", 1))):
        call("aten::segment_reduce.default", T("f32", 3, 4), "max", lengths=lengths, axis=axis, unsafe=True)
        call("aten::segment_reduce.default", T("f32", 3, 4), "max", offsets=lengths, axis=axis, unsafe=True)
    call("aten::segment_reduce.default", T("f32", 3, 4), "sum")
    call("aten::segment_reduce.default", T("f32", 3, 4), "median", lengths=T("i64", 1), unsafe=True)


if __name__ == "__main__":
    write(scans, statistics, searches, histograms, writes)
