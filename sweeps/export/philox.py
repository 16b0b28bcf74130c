"""Philox4x32-10, the counter-based generator behind weights and inputs.

Salmon, Moraes, Dror, Shaw: "Parallel Random Numbers: As Easy as 1, 2, 3"
(SC 2011). A value depends on (key, counter) alone, so C++ can compute any
element of any tensor without computing the ones before it.
"""

from __future__ import annotations

import numpy as np

MULTIPLIER_0 = np.uint64(0xD2511F53)
MULTIPLIER_1 = np.uint64(0xCD9E8D57)
WEYL_0 = 0x9E3779B9
WEYL_1 = 0xBB67AE85
ROUNDS = 10
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


def philox4x32(counter: np.ndarray, key: tuple[int, int]) -> np.ndarray:
    """Ten rounds over counters of shape [N, 4] (uint32); returns words of the same shape."""
    c0, c1, c2, c3 = (counter[:, column].astype(np.uint64) for column in range(4))
    key_0, key_1 = key
    for _ in range(ROUNDS):
        product_0, product_1 = c0 * MULTIPLIER_0, c2 * MULTIPLIER_1
        c0, c1, c2, c3 = (
            (product_1 >> HALF) ^ c1 ^ np.uint64(key_0),
            product_1 & LOW,
            (product_0 >> HALF) ^ c3 ^ np.uint64(key_1),
            product_0 & LOW,
        )
        key_0, key_1 = (key_0 + WEYL_0) & 0xFFFFFFFF, (key_1 + WEYL_1) & 0xFFFFFFFF
    return np.stack([c0, c1, c2, c3], axis=1).astype(np.uint32)


def fnv1a64(text: str) -> int:
    """64-bit FNV-1a of the UTF-8 bytes (Fowler, Noll, Vo; RFC 9923)."""
    value = 0xCBF29CE484222325
    for byte in text.encode("utf-8"):
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def words(name: str, count: int, seed: int = 0) -> np.ndarray:
    """The first `count` 32-bit words of the stream called `name`."""
    blocks = np.arange((count + 3) // 4, dtype=np.uint64)
    counter = np.empty((blocks.size, 4), dtype=np.uint32)
    counter[:, 0] = blocks & LOW
    counter[:, 1] = blocks >> HALF
    counter[:, 2] = seed & 0xFFFFFFFF
    counter[:, 3] = (seed >> 32) & 0xFFFFFFFF
    hashed = fnv1a64(name)
    return philox4x32(counter, (hashed & 0xFFFFFFFF, hashed >> 32)).reshape(-1)[:count]
