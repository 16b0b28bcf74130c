"""Write spatial_shapes.json: as shape_calls.py, for resampling, padding, folding, pooling, distances and bags.

    python3 core/opset/testdata/spatial_shapes.py > core/opset/testdata/spatial_shapes.json

Written with torch 2.13.0+cpu.
"""

from __future__ import annotations

import itertools

from call_shapes import T, call, write

DTYPES = ("bool", "u8", "i8", "i64", "f16", "bf16", "f32", "f64", "c64")


def resampling() -> None:
    for n, exact in itertools.product((1, 2, 3), ("upsample_nearest", "_upsample_nearest_exact")):
        sizes = [3, 4, 5][:n]
        for dtype in DTYPES:
            call(f"aten::{exact}{n}d.vec", T(dtype, 1, 2, *sizes), [6] * n, None)
        for shape in ([1, 2, *sizes], [0, 2, *sizes], [1, 0, *sizes], [2, *sizes], [1, 2, *sizes[:-1], 0], [1, 2, 3, *sizes]):
            call(f"aten::{exact}{n}d.default", T("f32", *shape), [6] * n)
        for size in ([0] * n, [-1] + [2] * (n - 1), [2] * (n + 1), []):
            call(f"aten::{exact}{n}d.default", T("f32", 1, 2, *sizes), size)
        for given in (([6] * n, [2.0] * n), (None, None), (None, [0.1] * n), (None, [1.7] * n), (None, [2.0] * (n + 1))):
            call(f"aten::{exact}{n}d.vec", T("f32", 1, 2, *sizes), *given)
    names = [(1, "upsample_linear1d"), (2, "upsample_bilinear2d"), (3, "upsample_trilinear3d"), (2, "upsample_bicubic2d")]
    for n, name in names:
        sizes = [3, 4, 5][:n]
        for dtype in DTYPES:
            call(f"aten::{name}.vec", T(dtype, 1, 2, *sizes), [6] * n, False, None)
        for shape in ([0, 2, *sizes], [1, 0, *sizes], [2, *sizes]):
            call(f"aten::{name}.default", T("f32", *shape), [6] * n, True)
        call(f"aten::{name}.default", T("f32", 1, 2, *sizes), [0] * n, True)
        call(f"aten::{name}.vec", T("f32", 1, 2, *sizes), None, True, [1.5] * n)
    for name in ("_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"):
        for dtype in ("bool", "u8", "i64", "f32", "f64", "c64"):
            call(f"aten::{name}.vec", T(dtype, 1, 2, 3, 4), [6, 2], False, None)
        call(f"aten::{name}.default", T("f32", 1, 2, 3, 4), [6, 0], False)
    T.fill = 0
    for dtype in DTYPES:
        call("aten::grid_sampler_2d.default", T(dtype, 1, 2, 3, 4), T(dtype, 1, 5, 6, 2), 0, 0, False)
        call("aten::grid_sampler_3d.default", T(dtype, 1, 2, 3, 4, 2), T(dtype, 1, 5, 6, 2, 3), 0, 0, False)
    for grid in ([2, 5, 6, 2], [1, 5, 6, 3], [1, 5, 2], [1, 0, 6, 2]):
        call("aten::grid_sampler.default", T("f32", 1, 2, 3, 4), T("f32", *grid), 0, 0, False)
    call("aten::grid_sampler.default", T("f32", 1, 2, 3, 0), T("f32", 1, 2, 2, 2), 0, 0, False)
    call("aten::grid_sampler.default", T("f32", 1, 2, 3, 4), T("f64", 1, 2, 2, 2), 0, 0, False)
    call("aten::grid_sampler.default", T("f32", 1, 2, 3, 4, 5), T("f32", 1, 2, 2, 2, 3), 2, 0, False)


def pads() -> None:
    for kind, n in itertools.product(("reflection", "replication"), (1, 2, 3)):
        name, sizes = f"aten::{kind}_pad{n}d.default", [3, 4, 5][:n]
        for dtype in ("u8", "i64", "bf16", "f64", "c64"):
            call(name, T(dtype, 2, *sizes), [1] * 2 * n)
        for shape in ([2, *sizes], [1, 2, *sizes], [0, 2, *sizes], [2, 0, *sizes], sizes, [2, *sizes[:-1], 0]):
            call(name, T("f32", *shape), [1] * 2 * n)
        for pad in ([2, 1] * n, [3, 0] * n, [7, 7] * n, [-1, 1] * n, [-2, -2] * n, [1] * (2 * n - 1)):
            call(name, T("f32", 1, 2, *sizes), pad)


def folding() -> None:
    for dtype in DTYPES:
        call("aten::im2col.default", T(dtype, 1, 2, 4, 4), [2, 2], [1, 1], [0, 0], [1, 1])
        call("aten::col2im.default", T(dtype, 1, 8, 9), [4, 4], [2, 2], [1, 1], [0, 0], [1, 1])
    for shape in ([2, 4, 4], [0, 2, 4, 4], [1, 0, 4, 4], [1, 2, 4, 0], [4, 4]):
        call("aten::im2col.default", T("f32", *shape), [2, 2], [1, 1], [0, 0], [1, 1])
    for how in (([5, 1], [1, 1], [0, 0], [1, 1]), ([2, 2], [0, 1], [0, 0], [1, 1]), ([2, 2], [1, 1], [0, 0], [0, 1]), ([3, 2], [1, 2], [2, 1], [2, 3]), ([0, 2], [1, 1], [0, 0], [1, 1]), ([2, 2], [1, 1], [-1, 0], [1, 1])):
        call("aten::im2col.default", T("f32", 1, 2, 4, 4), *how)
    for shape in ([1, 8, 8], [1, 9, 9], [8, 9], [0, 8, 9], [1, 0, 9]):
        call("aten::col2im.default", T("f32", *shape), [4, 4], [2, 2], [1, 1], [0, 0], [1, 1])


def pools() -> None:
    for n, dtype in itertools.product((2, 3), DTYPES):
        sizes = [3, 4, 5][:n]
        call(f"aten::adaptive_max_pool{n}d.default", T(dtype, 1, 2, *sizes), [2] * n)
        if dtype not in ("f16", "bf16") or n == 2:
            call(f"aten::_adaptive_avg_pool{n}d.default", T(dtype, 1, 2, *sizes), [2] * n)
        call(f"aten::max_unpool{n}d.default", T(dtype, 1, 2, *sizes), T("i64", 1, 2, *sizes), [6] * n, *([[1] * n, [0] * n] if n == 3 else []))
        call(f"aten::fractional_max_pool{n}d.default", T(dtype, 1, 2, *sizes), [2] * n, [2] * n, T(dtype, 1, 2, n))
    for n in (1, 2, 3):
        sizes = [3, 4, 5][:n]
        for shape in ([2, *sizes], [0, 2, *sizes], [2, 0, *sizes], sizes, [1, 2, *sizes[:-1], 0]):
            call(f"aten::adaptive_max_pool{n}d.default", T("f32", *shape), [2] * n)
        call(f"aten::adaptive_max_pool{n}d.default", T("f32", 1, 2, *sizes), [7] * n)
        call(f"aten::adaptive_max_pool{n}d.default", T("f32", 1, 2, *sizes), [2] * (n + 1))
        call(f"aten::avg_pool{n}d.default", T("i64", 1, 2, *sizes), [2] * n)
        call(f"aten::avg_pool{n}d.default", T("i32", 1, 2, *sizes), [2] * n)
    call("aten::max_unpool2d.default", T("f32", 2, 3, 4), T("i64", 2, 3, 4), [6, 6])
    call("aten::max_unpool2d.default", T("f32", 3, 4), T("i64", 3, 4), [6, 6])
    call("aten::max_unpool2d.default", T("f32", 2, 3, 4), T("i32", 2, 3, 4), [6, 6])
    call("aten::max_unpool2d.default", T("f32", 2, 3, 4), T("i64", 2, 3, 5), [6, 6])
    call("aten::max_unpool2d.default", T("f32", 2, 3, 4), T("i64", 2, 3, 4), [6])
    for kernel, out, samples in (([2, 2], [2, 3], [1, 2, 2]), ([4, 2], [1, 1], [1, 2, 2]), ([2, 2], [3, 3], [1, 2, 2]), ([2, 2], [2, 2], [1, 2, 3]), ([2, 2], [2, 2], [1, 1, 2])):
        call("aten::fractional_max_pool2d.default", T("f32", 1, 2, 3, 4), kernel, out, T("f32", *samples))
    for dtype in ("f16", "f32"):
        x = T(dtype, 1, 2, 4, 4, 4)
        call("aten::conv3d.default", x, T(dtype, 4, 2, 2, 3, 1), T(dtype, 4), [1, 2, 1], [0, 1, 0])
    call("aten::conv3d.padding", T("f32", 2, 4, 4, 4), T("f32", 4, 2, 2, 3, 1), None, [1, 1, 1], "same")
    call("aten::conv3d.padding", T("f32", 1, 2, 4, 4, 4), T("f32", 4, 2, 2, 3, 1), None, [2, 1, 1], "same")


def distances() -> None:
    for dtype in ("i64", "f32", "f64", "c64"):
        call("aten::_cdist_backward.default", T(dtype, 5, 6), T(dtype, 5, 4), T(dtype, 6, 4), 1.0, T(dtype, 5, 6))
        call("aten::embedding_renorm.default", T(dtype, 5, 4), T("i64", 3), 1.0, 2.0)
    call("aten::_cdist_backward.default", T("f32", 2, 5, 6), T("f32", 2, 5, 4), T("f32", 2, 6, 4), 1.0, T("f32", 2, 5, 6))
    call("aten::embedding_renorm.default", T("f32", 5, 4), T("f32", 3), 1.0, 2.0)
    call("aten::embedding_renorm.default", T("f32", 5, 4), T("i32", 2, 3), 1.0, 2.0)
    call("aten::resize_as.default", T("f32", 5, 4), T("i32", 2, 3))
    call("aten::resize_.default", T("f32", 5, 4), [3])


if __name__ == "__main__":
    write(resampling, pads, folding, pools, distances)
