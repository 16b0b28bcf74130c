"""The PyTorch worker's framing, and its answers where there is no PyTorch. Needs none."""

from __future__ import annotations

import math
import os
import struct
import tempfile
import unittest
from pathlib import Path
from typing import Any

from torch_test_support import Worker, high_pipe
from torch_backend import msgpack
from torch_backend.costs import Size, flops, moved_bytes
from torch_backend.frames import Frame, RawTensor, read_frame, write_frame
from torch_backend.graph import Node, Ref
from torch_backend.msgpack import MalformedError


class MessagePack(unittest.TestCase):
    def test_values_come_back(self) -> None:
        values: list[Any] = [None, True, False, 0, 127, 128, -1, -32, -33, 2**63, 2**64 - 1, -(2**63), 1.5, math.inf]
        values += ["", "a" * 31, "ä" * 40, "x" * 70000, [], list(range(20)), {}, {f"k{i}": [i] for i in range(70000)}]
        for value in values:
            self.assertEqual(msgpack.decode(msgpack.encode(value)), value)
        self.assertTrue(math.isnan(msgpack.decode(msgpack.encode(math.nan))))

    def test_reads_every_width(self) -> None:
        cases = {
            b"\xcc\xff": 255,
            b"\xcd\x01\x00": 256,
            b"\xce\x00\x01\x00\x00": 65536,
            b"\xd0\x80": -128,
            b"\xd1\xff\x00": -256,
            b"\xd2\xff\xff\xff\xfe": -2,
            b"\xca\x3f\xc0\x00\x00": 1.5,
            b"\xc4\x02ab": b"ab",
            b"\xda\x00\x01a": "a",
            b"\xdc\x00\x01\x05": [5],
            b"\xdf\x00\x00\x00\x01\xa1a\x05": {"a": 5},
        }
        for data, value in cases.items():
            self.assertEqual(msgpack.decode(data), value)

    def test_bytes_of_strings_survive(self) -> None:
        raw = b"\xa3a\xff\xfe"
        self.assertEqual(msgpack.encode(msgpack.decode(raw)), raw)

    def test_refuses(self) -> None:
        cases = {
            b"": "truncated",
            b"\xd9\x05ab": "truncated",
            b"\xdd\xff\xff\xff\xff\x00": "truncated",
            b"\xdf\xff\xff\xff\xff\x00": "truncated",
            b"\xc1": "reserved",
            b"\xd4\x00\x00": "extension",
            b"\x81\x01\x02": "no string",
            b"\x82\xa1a\x01\xa1a\x02": "twice",
            b"\x01\x02": "left over",
            b"\x91" * 65 + b"\x00": "deeper",
        }
        for data, message in cases.items():
            with self.assertRaisesRegex(MalformedError, message, msg=repr(data)):
                msgpack.decode(data)
        self.assertEqual(str(msgpack.decode(b"\x91" * 64 + b"\x00")), "[" * 64 + "0" + "]" * 64)

    def test_refuses_to_write_what_has_no_form(self) -> None:
        for value in (2**64, -(2**63) - 1, object()):
            with self.assertRaises(MalformedError):
                msgpack.encode(value)


class Frames(unittest.TestCase):
    def exchange(self, data: bytes) -> Frame | None:
        read, write = high_pipe()
        os.write(write, data)
        os.close(write)
        try:
            return read_frame(read)
        finally:
            os.close(read)

    def header(self, value: Any) -> bytes:
        raw = msgpack.encode(value)
        return struct.pack("<Q", len(raw)) + raw

    def test_tensors_come_back(self) -> None:
        read, write = high_pipe()
        tensors = [RawTensor("f32", (2, 1), b"\1\2\3\4\5\6\7\x08"), RawTensor("i8", (0, 3), b"")]
        write_frame(write, Frame({"type": "x"}, [*tensors, RawTensor("bool", (), b"\1")]))
        os.close(write)
        frame = read_frame(read)
        self.assertEqual(frame.header, {"type": "x"})
        first = frame.tensors[0]
        self.assertEqual((first.dtype, first.shape, bytes(first.data)), ("f32", (2, 1), tensors[0].data))
        self.assertEqual([t.shape for t in frame.tensors], [(2, 1), (0, 3), ()])
        self.assertIsNone(read_frame(read))
        os.close(read)

    def test_refuses(self) -> None:
        def tensors(**meta: Any) -> bytes:
            return self.header({"tensors": [{"dtype": "f32", "shape": [1], **meta}]})

        cases = {
            b"\0" * 8: "0 bytes",
            b"\xff" * 8: "a header of",
            b"\1\0\0": "end of file",
            self.header(3): "no map",
            self.header({"type": "x"}): "needs an array",
            tensors(dtype="f33"): "no dtype",
            tensors(shape=[-1]): "no shape",
            tensors(shape=[True]): "no shape",
            tensors(shape=[1] * 65): "no shape",
            tensors(shape=[2**40, 2**40]): "larger than",
            tensors() + b"\0\0\0": "end of file",
            self.header({"tensors": [3]}): "no dtype",
        }
        for data, message in cases.items():
            with self.assertRaisesRegex(MalformedError, message, msg=repr(data)):
                self.exchange(data)
        self.assertIsNone(self.exchange(b""))


class WithoutPyTorch(unittest.TestCase):
    """A package that fails to import stands in for a missing one."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        (Path(folder.name) / "torch").mkdir()
        (Path(folder.name) / "torch/__init__.py").write_text("raise ImportError('no such thing')\n")
        self.worker = Worker(environment={"PYTHONPATH": folder.name})
        self.addCleanup(self.worker.kill)

    def test_says_so(self) -> None:
        answer = self.worker.hello()
        self.assertEqual((answer["type"], answer["code"]), ("error", "pytorch_missing"))
        self.assertIn("no such thing", answer["message"])
        self.assertEqual(self.worker.end(), (0, ""))

    def test_rubbish_ends_it(self) -> None:
        self.worker.send_bytes(b"GET / HTTP/1.1\r\n\r\n")
        status, noise = self.worker.end()
        self.assertEqual(status, 1)
        self.assertIn("a header of", noise)


class Costs(unittest.TestCase):
    """The figures are those of core/opset/classify_test.cpp."""

    def cost(self, op: str, sizes: dict[str, tuple[int, ...]], output: tuple[int, ...], **others: Any) -> list[float]:
        arguments = tuple((name, Ref(name)) for name in sizes) + tuple(others.items())
        call = Node("n", op, arguments, ())
        items = {"indices": 8}
        lookup = {name: Size(shape, items.get(name, 4)) for name, shape in sizes.items()}.get
        return [function(call, lookup, [Size(output, 4)]) for function in (flops, moved_bytes)]

    def test_flops(self) -> None:
        self.assertEqual(self.cost("aten::mm.default", {"self": (2, 3), "mat2": (3, 5)}, (2, 5))[0], 60)
        self.assertEqual(self.cost("aten::bmm.default", {"self": (7, 2, 3), "mat2": (7, 3, 5)}, (7, 2, 5))[0], 420)
        addmm = self.cost("aten::addmm.default", {"self": (5,), "mat1": (2, 3), "mat2": (3, 5)}, (2, 5))
        self.assertEqual(addmm[0], 70)
        images, convolution = {"input": (2, 4, 8, 8)}, "aten::convolution.default"
        for weight, transposed, want in (
            ((6, 4, 3, 3), False, 2 * (2 * 6 * 4 * 4) * (4 * 3 * 3)),
            ((6, 2, 3, 3), False, 2 * (2 * 6 * 4 * 4) * (2 * 3 * 3)),
            ((4, 6, 3, 3), True, 2 * (2 * 4 * 8 * 8) * (6 * 3 * 3)),
        ):
            got = self.cost(convolution, {**images, "weight": weight}, (2, 6, 4, 4), transposed=transposed)
            self.assertEqual(got[0], want)
        for op, want in (("exp.default", 6), ("clone.default", 0), ("_softmax.default", 30)):
            self.assertEqual(self.cost(f"aten::{op}", {"self": (2, 3)}, (2, 3))[0], want)

    def test_bytes(self) -> None:
        self.assertEqual(self.cost("aten::exp.default", {"self": (2, 3)}, (2, 3))[1], 48)
        embedding = self.cost("aten::embedding.default", {"weight": (1000, 4), "indices": (2,)}, (2, 4))
        self.assertEqual(embedding[1], 80)
        self.assertEqual(self.cost("aten::mul.Tensor", {"self": (2, 3)}, (2, 3), other=Ref("self"))[1], 48)


if __name__ == "__main__":
    unittest.main()
