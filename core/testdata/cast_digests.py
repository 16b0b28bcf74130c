#!/usr/bin/env python3
"""Writes cast_digests.txt: what ml_dtypes makes of casts between f32 and the narrow floats, as digests.

    pip install numpy ml_dtypes && python3 core/testdata/cast_digests.py

Line `narrow DTYPE GROUP HASH`: f32 numbers cast to DTYPE. Group g holds, for every f32 upper half 256 g + h,
h = 0 .. 255, the numbers with the lower halves LOWS, in that order. These are every tie of bf16 and f16, their
neighbours, all subnormals' ties of the narrow floats, both sides of every overflow, infinities and NaNs.
Line `wide DTYPE GROUP HASH`: the patterns 256 g .. 256 g + 255 of DTYPE cast to f32.
HASH is FNV-1a (64 bits) of the results' bytes, little endian, after every NaN has become the pattern of all ones.
reference/cast_ci_test.cpp holds Assay's casts against this file.
"""

import pathlib

import ml_dtypes
import numpy

DTYPES = {
    "f16": numpy.float16,
    "bf16": ml_dtypes.bfloat16,
    "f8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "f8_e5m2": ml_dtypes.float8_e5m2,
    "f8_e4m3": ml_dtypes.float8_e4m3,
}
# f16 drops the last 13 bits of f32: multiples of 2^13, halfway between them, and one to each side of both.
LOWS = sorted({(k * 0x2000 + d) % 0x10000 for k in range(8) for d in (0, 1, 0xFFF, 0x1000, 0x1001, -1)})


def fnv1a(data: bytes) -> int:
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def digest(values: numpy.ndarray) -> str:
    nan = numpy.isnan(values.astype(numpy.float32))
    bits = values.view(f"u{values.itemsize}").copy()
    bits[nan] = numpy.iinfo(bits.dtype).max
    return f"{fnv1a(bits.astype(bits.dtype.newbyteorder('<')).tobytes()):016x}"


def lines():
    yield f"# ml_dtypes {ml_dtypes.__version__}, numpy {numpy.__version__}; written by cast_digests.py"
    lows = numpy.array(LOWS, dtype=numpy.uint32)
    for name, dtype in DTYPES.items():
        for group in range(256):
            highs = numpy.arange(256 * group, 256 * group + 256, dtype=numpy.uint32)
            source = (highs[:, None] << 16 | lows[None, :]).reshape(-1).view(numpy.float32)
            with numpy.errstate(all="ignore"):
                yield f"narrow {name} {group} {digest(source.astype(dtype))}"
    for name, dtype in DTYPES.items():
        width = numpy.dtype(dtype).itemsize
        for group in range(256 ** (width - 1)):
            bits = numpy.arange(256 * group, 256 * group + 256, dtype=numpy.uint32).astype(f"u{width}")
            yield f"wide {name} {group} {digest(bits.view(dtype).astype(numpy.float32))}"


if __name__ == "__main__":
    target = pathlib.Path(__file__).with_suffix(".txt")
    target.write_text("\n".join(lines()) + "\n", encoding="ascii")
    print(f"{target}: {len(LOWS) * 65536} numbers a dtype")
