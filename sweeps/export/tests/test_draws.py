"""The vectors of weights.md, and what it claims about exactness."""

import unittest
from fractions import Fraction

import numpy as np
import torch

from sweeps.export.draws import Draw, data_entry, integers, quantise, uniform
from sweeps.export.philox import fnv1a64, philox4x32, words


def hex_words(values: np.ndarray) -> str:
    return " ".join(f"{int(value):08x}" for value in values)


class Philox(unittest.TestCase):
    def test_known_answers_of_random123(self) -> None:
        answers = (
            ([0] * 4, (0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
            ([0xFFFFFFFF] * 4, (0xFFFFFFFF, 0xFFFFFFFF), "408f276d 41c83b0e a20bc7c6 6d5451fd"),
            (
                [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
                (0xA4093822, 0x299F31D0),
                "d16cfe09 94fdcceb 5001e420 24126ea1",
            ),
        )
        for counter, key, expected in answers:
            block = philox4x32(np.array([counter], dtype=np.uint32), key)[0]
            self.assertEqual(hex_words(block), expected)

    def test_hash(self) -> None:
        answers = {
            "": 0xCBF29CE484222325,
            "a": 0xAF63DC4C8601EC8C,
            "foobar": 0x85944171F73967E8,
            "é": 0x0AC21707B7181E01,
            "model.norm.weight": 0xD6D6E5AFD11604E4,
            "input:input_ids": 0xA3F55163A214BB7C,
        }
        for text, expected in answers.items():
            self.assertEqual(fnv1a64(text), expected)

    def test_stream(self) -> None:
        expected = "338cad38 b4fc391f 84283f0a 0e4f9581 24dc05a5 6a4d6712 c102e705 c9649b39 6476dcc4"
        self.assertEqual(hex_words(words("model.norm.weight", 9)), expected)
        other_seed = words("model.norm.weight", 4, seed=2**32 + 7)
        self.assertEqual(hex_words(other_seed), "8d917dad fd408656 3f013009 d69e6781")


class Draws(unittest.TestCase):
    def test_uniform(self) -> None:
        draw = Draw(1.0, 0.4000244140625)
        values = uniform("model.norm.weight", (6,), draw).to(torch.float32)
        expected = "0x1.85abf8p-1 0x1.2a640ap+0 0x1.035372p+0 0x1.4a1616p-1 0x1.6e2a8ep-1 0x1.dd481ap-1"
        self.assertEqual(values.tolist(), [float.fromhex(text) for text in expected.split()])
        values = uniform("w", (5,), Draw(0.0, 0.21649169921875)).to(torch.float32)
        expected = "-0x1.81973ep-3 0x1.844312p-4 -0x1.43351cp-3 -0x1.9e35e0p-4 -0x1.211b9cp-4"
        self.assertEqual(values.tolist(), [float.fromhex(text) for text in expected.split()])

    def test_uniform_is_exact_before_the_one_rounding(self) -> None:
        draw = Draw.around(1.0, 0.4)
        values = uniform("exact", (1000,), draw).tolist()
        for word, value in zip(words("exact", 1000), values, strict=True):
            k = (int(word) >> 8) - 2**23
            self.assertEqual(Fraction(value), Fraction(draw.center) + Fraction(draw.scale) * Fraction(k, 2**23))

    def test_integers(self) -> None:
        self.assertEqual(integers("input:input_ids", (8,), 0, 256).tolist(), [94, 158, 15, 1, 78, 47, 211, 254])
        self.assertEqual(
            integers("input:input_ids", (8,), 0, 256, seed=1).tolist(), [28, 149, 74, 137, 218, 172, 211, 110]
        )
        self.assertEqual(integers("input:input_ids", (8,), -3, 7).tolist(), [0, 3, -3, -3, 0, -2, 5, 6])
        # A range of 2^32 takes the words as they are.
        self.assertEqual(integers("w", (3,), 0, 2**32).tolist(), words("w", 3).tolist())

    def test_quantise_keeps_12_bits(self) -> None:
        self.assertEqual(quantise(0.4), 0.4000244140625)
        self.assertEqual(quantise(-2 / 3), -0.666748046875)
        self.assertEqual(quantise(0.0), 0.0)
        self.assertEqual(quantise(4095.5 / 4096), 1.0)

    def test_data_is_little_endian(self) -> None:
        entry = data_entry(torch.tensor([1, -2], dtype=torch.int32))
        self.assertEqual(entry, {"dtype": "int32", "shape": [2], "data": "AQAAAP7///8="})
        self.assertEqual(data_entry(torch.tensor(True))["data"], "AQ==")
        self.assertEqual(data_entry(torch.zeros(0))["data"], "")
