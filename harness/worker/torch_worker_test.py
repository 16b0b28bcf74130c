"""The PyTorch worker on the CPU: operators, passes, fallbacks, compile mode, sessions."""

from __future__ import annotations

import json
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import torch_test_case
from torch_test_case import Case, declared, floats, setUpModule, tearDownModule, torch  # noqa: F401
from torch_test_support import Worker, graph_json, node, run_header
from torch_backend.device import Device
from torch_backend.eager import EagerRun
from torch_backend.frames import Frame, RawTensor
from torch_backend.operators import Call
from torch_backend.request import read_request
from torch_backend.tensors import TORCH_DTYPES, same_bits, to_raw, view_raw

ADD = "torch.ops.aten.add.Tensor"
MM = "torch.ops.aten.mm.default"
RELU = "torch.ops.aten.relu.default"


class Greeting(unittest.TestCase):
    def test_describes_itself(self) -> None:
        answer = torch_test_case.worker.hello()
        self.assertEqual((answer["type"], answer["name"], answer["contract"]), ("hello", "torch", ""))
        self.assertEqual(answer["version"], torch.__version__)
        self.assertTrue(answer["deterministic"] and answer["compile"] and not answer["simulated"])
        self.assertGreater(answer["memory_bytes"], 2**28)

    @unittest.skipIf(torch.cuda.is_available(), "this machine has the device")
    def test_device_that_is_not_here(self) -> None:
        self.assertEqual(torch_test_case.worker.hello(target="cuda")["code"], "device_missing")

    def test_refuses(self) -> None:
        for members in ({"target": "nonsense"}, {"target": "meta"}, {"options": {"lnc": "2"}}, {"protocol": 2}):
            self.assertEqual(torch_test_case.worker.hello(**members)["code"], "invalid_argument", members)
        self.assertEqual(torch_test_case.worker.hello(options={"threads": "0"})["code"], "invalid_argument")

    def test_device_on_the_command_line(self) -> None:
        other = Worker("nonsense")
        self.addCleanup(other.kill)
        self.assertEqual(other.ask({"type": "run"}).header["code"], "invalid_argument")  # hello comes first
        self.assertEqual(other.hello()["code"], "invalid_argument")
        self.assertEqual(other.hello(target="cpu")["type"], "hello")
        other.send_bytes(b"rubbish that is no frame")
        status, noise = other.end()
        self.assertEqual(status, 1)
        self.assertIn("a header of", noise)


class Eager(Case):
    def test_every_dtype_comes_back(self) -> None:
        for dtype in TORCH_DTYPES.values():
            for shape in ((), (0, 3), (2, 3)):
                x = torch.arange(6)[: torch.Size(shape).numel()].reshape(shape).to(dtype)
                clone = node("torch.ops.aten.clone.default", {"self": "x"}, "y")
                header, tensors = self.run_graph({"x": x}, [clone], ["y"])
                self.assert_passed(header)
                # A graph of one node has a local pass, too.
                self.assertEqual([n["local"] for n in header["nodes"]], [1])
                for tensor in tensors:
                    self.assertTrue(same_bits(tensor, x), dtype)

    def test_dtype_that_pytorch_does_not_have(self) -> None:
        graph = graph_json({"x": ("f8_e4m3", (2,))}, [node(RELU, {"self": "x"}, "y")], ["y"])
        answer = self.worker.ask(run_header(graph, ["x"], ["y"]), [RawTensor("f8_e4m3", (2,), b"\0\0")]).header
        self.assertEqual((answer["failure"], answer["reason"]), ("unsupported", "dtype"))

    def test_arguments(self) -> None:
        x = floats(2, 3)
        nodes = [
            node(ADD, {"self": "x", "other": 2, "alpha": 0.5}, "a"),  # a number where a tensor is expected
            node("torch.ops.aten.full.default", {"size": [3], "fill_value": True, "dtype": {"as_scalar_type": 12},
                 "layout": {"as_layout": 7}, "device": {"as_device": {"type": "cuda", "index": 3}},
                 "pin_memory": True}, "mask"),
            node("torch.ops.aten.index.Tensor",
                 {"self": "a", "indices": {"as_optional_tensors": [{"as_none": True}, {"as_tensor": {"name": "mask"}}]}
                  }, "b"),
            node("torch.ops.aten.clamp.default", {"self": "b", "min": {"as_float": "-Infinity"}, "max": 0.25}, "c"),
            node("torch.ops.aten._to_copy.default",
                 {"self": "c", "dtype": {"as_scalar_type": 13}, "memory_format": {"as_memory_format": 4}}, "d"),
            node("torch.ops.aten.gelu.default", {"self": "d", "approximate": {"as_string": "tanh"}}, "e"),
        ]
        header, (e,) = self.run_graph({"x": x}, nodes, ["e"])
        self.assert_passed(header)
        want = torch.nn.functional.gelu((x + 1).clamp(max=0.25).bfloat16(), approximate="tanh")
        self.assertTrue(same_bits(e, want))

    def test_views_of_strided_tensors(self) -> None:
        x = floats(4, 6)
        nodes = [
            node("torch.ops.aten.permute.default", {"self": "x", "dims": [1, 0]}, "t"),
            node("torch.ops.aten.view.default", {"self": "t", "size": [3, 8]}, "v"),
            node("torch.ops.aten.as_strided.default", {"self": "t", "size": [2, 2], "stride": [4, 1]}, "s"),
            node("torch.ops.aten.view.dtype", {"self": "t", "dtype": {"as_scalar_type": 4}}, "bits"),
            node("torch.ops.aten.slice.Tensor", {"self": "t", "dim": 1, "start": 0, "end": 2}, "half"),
            node("torch.ops.aten.view_as_complex.default", {"self": "half"}, "z"),
        ]
        outputs = ["v", "s", "bits", "z", "x"]
        packed = x.t().contiguous()
        want = [
            packed.reshape(3, 8),
            packed[:2, :2],
            packed.view(torch.int32),
            torch.view_as_complex(packed[:, :2].contiguous()),
            x,
        ]
        for mode in ("eager", "compile"):
            header, got = self.run_graph({"x": x}, nodes, outputs, mode=mode)
            self.assert_passed(header)
            for a, b in zip(got, want, strict=True):
                self.assertTrue(same_bits(a, b), (mode, a, b))
            self.assertEqual(header["residency"]["metadata"], 6)

    def test_results_of_several_tensors(self) -> None:
        x = floats(3, 4)
        nodes = [
            node("torch.ops.aten.split_with_sizes.default", {"self": "x", "split_sizes": [1, 3], "dim": 1}, ["a", "b"]),
            node("torch.ops.aten.topk.default", {"self": "b", "k": 2}, "values", "indices"),
            node("torch.ops.aten.convolution_backward.default",
                 {"grad_output": "g", "input": "i", "weight": "w", "bias_sizes": None, "stride": [1], "padding": [0],
                  "dilation": [1], "transposed": False, "output_padding": [0], "groups": 1,
                  "output_mask": {"as_bools": [True, False, False]}}, "gi", None, None),
        ]
        inputs = {"x": x, "g": floats(1, 1, 2), "i": floats(1, 1, 3), "w": floats(1, 1, 2)}
        want = [x[:, :1], *x[:, 1:].topk(2), torch.nn.grad.conv1d_input((1, 1, 3), inputs["w"], inputs["g"])]
        for mode in ("eager", "compile"):
            header, got = self.run_graph(inputs, nodes, ["a", "values", "indices", "gi"], mode=mode, free_nodes=[0])
            self.assert_passed(header)
            if mode == "eager":
                self.assertEqual([n["free"] for n in header["nodes"]], [2, 0, 0])
                self.assertTrue(same_bits(got[1], x[:, 1:]))
            for a, b in zip(got[-4:], want, strict=True):
                torch.testing.assert_close(a, b)

    def test_host_scalars(self) -> None:
        number = lambda name: {"as_sym_int": {"as_name": name}}  # noqa: E731
        nodes = [
            node("torch.ops.aten.sym_size.int", {"self": "x", "dim": 1}, number("n")),
            node("_operator.mul", {"": number("n")}, number("m")),
            node("torch.ops.aten._assert_scalar.default", {"self": number("m"), "assert_msg": {"as_string": "?"}}),
            node("torch.ops.aten.view.default",
                 {"self": "x", "size": {"as_sym_ints": [{"as_name": "m"}, {"as_int": 1}]}}, "v"),
            node("torch.ops.aten.item.default", {"self": "k"}, number("i")),
            node("torch.ops.aten.mul.Scalar", {"self": "v", "other": number("i")}, "w"),
        ]
        nodes[1]["inputs"].append({"name": "", "arg": {"as_int": 2}, "kind": 1})
        x, k = floats(2, 3), torch.tensor(7)
        for mode in ("eager", "compile"):
            header, (w,) = self.run_graph({"x": x, "k": k}, nodes, ["w"], mode=mode)
            self.assert_passed(header)
            self.assertTrue(same_bits(w, (x * 7).reshape(6, 1)))
            self.assertEqual(header["residency"]["host_scalar"], 3)
            places = [n["placement"] for n in header["nodes"]]
            self.assertEqual(places, ["host_scalar"] * 2 + ["metadata"] * 2 + ["host_scalar", "device"])

    def test_inputs_stay_as_they_were(self) -> None:
        x = floats(3)
        for mode in ("eager", "compile"):
            header, got = self.run_graph({"x": x}, [node("torch.ops.aten.add_.Tensor", {"self": "x", "other": 1}, "y")],
                                         ["y", "x"], mode=mode, repeats=2)
            self.assert_passed(header)
            self.assertTrue(same_bits(got[-2], x + 1))
            self.assertTrue(same_bits(got[-1], x))

    def test_local_pass_reads_the_chain(self) -> None:
        x, a = floats(3), torch.full((3,), 10.0)
        nodes = [node(ADD, {"self": "x", "other": 1}, "a"), node(RELU, {"self": "a"}, "b"),
                 node(ADD, {"self": "b", "other": "c"}, "d"), node(RELU, {"self": "b"}, "c")]
        nodes[2], nodes[3] = nodes[3], nodes[2]
        graph = graph_json(declared({"x": x}), nodes, ["d"])
        header = run_header(graph, ["x"], ["d"], chain=["a", "b"])
        frame = self.worker.ask(header, [to_raw(x), to_raw(a), to_raw(a)])
        self.assert_passed(frame.header)
        # d reads c, which the reference did not send.
        self.assertEqual([n["local"] for n in frame.header["nodes"]], [1, 1, 1, 0])
        local_a, local_b, _, d = map(view_raw, frame.tensors)
        self.assertTrue(same_bits(local_a, x + 1))
        self.assertTrue(same_bits(local_b, a))
        self.assertTrue(same_bits(d, (x + 1).relu() * 2))
        self.assertIn(("local", 2), self.worker.progress)

    def test_repetitions(self) -> None:
        header, _ = self.run_graph({"x": floats(8, 8)}, [node(MM, {"self": "x", "mat2": "x"}, "y")], ["y"], repeats=3)
        self.assertEqual(len(header["phases"]["steady_s"]), 3)
        self.assertIs(header["repeatable"], True)
        self.assertTrue(all(seconds > 0 for seconds in header["phases"]["steady_s"]))
        self.assertEqual(self.worker.progress.count(("repeat", -1)), 3)

    def test_random_operators_follow_the_seed(self) -> None:
        nodes = [node("torch.ops.aten.rand.default", {"size": [4], "pin_memory": False}, "r")]
        header, first = self.run_graph({}, nodes, ["r"], seed=7, repeats=1)
        self.assertIs(header["repeatable"], True)
        torch.manual_seed(7)
        self.assertTrue(same_bits(first[-1], torch.rand(4)))
        _, other = self.run_graph({}, nodes, ["r"], seed=8)
        self.assertFalse(same_bits(first[-1], other[-1]))

    def test_uninitialised_memory_is_not_compared(self) -> None:
        nodes = [node("torch.ops.aten.empty.memory_format", {"size": [4]}, "e")]
        header, _ = self.run_graph({}, nodes, ["e"], repeats=1)
        self.assertIsNone(header["repeatable"])

    def test_bad_input_is_refused_with_pytorch_s_words(self) -> None:
        x = floats(3, 4)
        cases = [
            (node("torch.ops.aten.permute.default", {"self": "x", "dims": [0, 0]}, "y"), "dims|permutation"),
            (node("torch.ops.aten.select.int", {"self": "x", "dim": 0, "index": 3}, "y"), "index"),
            (node(MM, {"self": "x", "mat2": "x"}, "y"), "3x4|reduction dim"),
            (node(RELU, {"self": "x", "nonsense": 1}, "y"), "nonsense|at most 1 argument"),
            (node("torch.ops.aten.no_such_operator.default", {"self": "x"}, "y"), "no_such_operator"),
            (node(ADD, {"self": "x"}, "y"), "other"),
        ]
        for bad, words in cases:
            for mode in ("eager", "compile"):
                header, tensors = self.run_graph({"x": x}, [bad], ["y"], mode=mode, negative=True)
                self.assertEqual((header["failure"], header["reason"]), ("rejected_bad_input", "refused"), header)
                self.assertRegex(header["detail"], words)
                self.assertNotIn("Hint", header["detail"])
                self.assertEqual((header["failed_node"], tensors, header["outputs"]), ("y", [], [False]))
        header, _ = self.run_graph({"x": x}, [node(RELU, {"self": "x"}, "y")], ["y"], negative=True)
        self.assert_passed(header)  # accepted: the judge will say so

    def test_failures(self) -> None:
        x = floats(3, 4)
        bad = node(MM, {"self": "x", "mat2": "x"}, "y")
        header, _ = self.run_graph({"x": x}, [bad], ["y"])
        self.assertEqual((header["failure"], header["reason"]), ("crash", "device_trap"))
        header, _ = self.run_graph({"x": x.bool()}, [node("torch.ops.aten.exp.default", {"self": "x"}, "a"),
                                                     node("torch.ops.aten.bitwise_and.Tensor",
                                                          {"self": "a", "other": "a"}, "b")], ["b"])
        self.assertEqual((header["failure"], header["reason"], header["failed_node"]), ("unsupported", "dtype", "b"))
        self.assertEqual([n["placement"] for n in header["nodes"]], ["device", "not_run"])
        huge = node("torch.ops.aten.full.default", {"size": [1 << 50], "fill_value": 1.0}, "y")
        header, _ = self.run_graph({}, [huge], ["y"])
        self.assertEqual(header["failure"], "out_of_memory")
        short = node("torch.ops.aten.topk.default", {"self": "x", "k": 1}, "a", "b", "c")
        header, _ = self.run_graph({"x": x}, [short], ["a"])
        self.assertEqual((header["failure"], header["reason"]), ("meta_mismatch", "missing_output"))
        odd = node("torch.ops.aten.view.dtype", {"self": "x", "dtype": {"as_scalar_type": 31}}, "y")
        header, _ = self.run_graph({"x": x}, [odd], ["y"])
        self.assertEqual((header["failure"], header["reason"]), ("unsupported", "dtype"))

    def test_bad_requests_are_answered(self) -> None:
        good = graph_json({}, [], [])
        requests = [
            {"type": "nonsense"},
            {"type": ["run"]},
            {"type": "run"},
            run_header("{", [], []),
            run_header("[" * 100000, [], []),
            run_header(json.dumps({"graph_module": 3}), [], []),
            run_header(good, ["x"], []),
            run_header(good, [], ["x"]),
            run_header(good, [], [], repeats="1"),
            run_header(good, [], [], repeats=True),
            run_header(good, [], [], mode="lazy"),
            run_header(good, [], [], free_nodes=["0"]),
            {"type": "measure", "session": 99, "iterations": 1},
            {"type": "unload", "session": None},
            {"type": "supports", "nodes": [good]},
            {"type": "supports", "nodes": 3},
        ]
        for request in requests:
            answer = self.worker.ask(request).header
            self.assertEqual((answer["type"], answer["code"]), ("error", "invalid_argument"), str(request)[:80])
        answer = self.worker.ask(run_header(good, [], [], mutant="round_down")).header
        self.assertEqual((answer["code"], answer["reason"]), ("unsupported", "not_implemented"))
        self.assertEqual(self.worker.ask(run_header(good, [], [])).header["type"], "result")

    def test_residency_weighs_like_the_harness(self) -> None:
        nodes = [node(MM, {"self": "x", "mat2": "y"}, "a"), node(RELU, {"self": "a"}, "b")]
        header, _ = self.run_graph({"x": floats(2, 3), "y": floats(3, 5)}, nodes, ["b"])
        shares = {"nodes": 1.0, "flops": 1.0, "bytes": 1.0, "metadata": 0, "host_scalar": 0}
        self.assertEqual(header["residency"], shares)
        self.assertEqual(header["fallbacks"], [])


class Defects(unittest.TestCase):
    """What the worker must notice, planted into the call of an operator; in this process, for that."""

    def run_defect(self, defect: Callable[..., Any]) -> dict[str, Any]:
        nodes = [node(RELU, {"self": "x"}, "a"), node(ADD, {"self": "a", "other": "x"}, "b")]
        graph = graph_json({"x": ("f32", (3,))}, nodes, ["b"])
        header = run_header(graph, ["x"], ["b"], chain=["a"], repeats=2)
        request = read_request(Frame(header, [to_raw(floats(3)), to_raw(floats(3))]))
        with mock.patch.object(Call, "run", defect):
            return EagerRun(Device("cpu", {"threads": "2"}, None), request, lambda phase, index: None).run().header

    def test_honest_device(self) -> None:
        header = self.run_defect(Call.run)
        self.assertEqual((header["failure"], header["guard_violation"], header["repeatable"]), (None, "", True))

    def test_input_that_is_overwritten(self) -> None:
        header = self.run_defect(lambda call, args, kwargs: args[0].add_(1) * 1)
        self.assertEqual(header["guard_violation"], "the input 'x' was modified")

    def test_value_that_is_overwritten(self) -> None:
        def defect(call: Call, args: list[Any], kwargs: dict[str, Any]) -> Any:
            return args[0].zero_() * 1 if call.node.op == "aten::add.Tensor" else args[0] * 1

        self.assertEqual(self.run_defect(defect)["guard_violation"], "node 'b' (aten::add.Tensor) modified its input 0")

    def test_results_that_do_not_repeat(self) -> None:
        values = iter(range(100))
        header = self.run_defect(lambda call, args, kwargs: args[0] + next(values))
        self.assertEqual((header["guard_violation"], header["repeatable"]), ("", False))

    def test_output_that_is_missing(self) -> None:
        header = self.run_defect(lambda call, args, kwargs: None)
        self.assertEqual((header["failure"], header["reason"]), ("meta_mismatch", "missing_output"))

    def test_dtype_without_a_name(self) -> None:
        header = self.run_defect(lambda call, args, kwargs: torch.zeros(3, dtype=torch.uint16))
        self.assertEqual((header["failure"], header["reason"]), ("meta_mismatch", "dtype_mismatch"))

    def test_refusal_of_the_device(self) -> None:
        def defect(call: Call, args: list[Any], kwargs: dict[str, Any]) -> Any:
            raise NotImplementedError("\"relu\" not implemented for 'ComplexFloat'")

        header = self.run_defect(defect)
        self.assertEqual((header["failure"], header["reason"], header["failed_node"]), ("unsupported", "complex", "a"))


class Fallback(Case):
    options = {"deny": "aten::relu.default+aten::sigmoid.default"}

    def nodes(self) -> list[dict[str, Any]]:
        return [
            node(MM, {"self": "x", "mat2": "x"}, "a"),
            node(RELU, {"self": "a"}, "b"),
            node(ADD, {"self": "b", "other": "x"}, "c"),
            node(RELU, {"self": "c"}, "d"),
        ]

    def test_denied_operators_run_on_the_host(self) -> None:
        x = floats(4, 4)
        want = ((x @ x).relu() + x).relu()
        for mode in ("eager", "compile"):
            shapes = {name: ("f32", (4, 4)) for name in "abcd"}
            header, (d,) = self.run_graph({"x": x}, self.nodes(), ["d"], results=shapes, mode=mode, repeats=1)
            self.assert_passed(header)
            torch.testing.assert_close(d, want)
            (fallback,) = header["fallbacks"]
            found = fallback["op"], fallback["reason"], fallback["count"]
            self.assertEqual(found, ("aten::relu.default", "policy", 2))
            self.assertGreater(fallback["seconds"], 0)
            self.assertEqual([n["placement"] for n in header["nodes"]], ["device", "fallback"] * 2)
            residency = header["residency"]
            self.assertEqual(residency["nodes"], 0.5)
            # FLOPs: 2 * 4 * 4 * 4 + 16 of 128 + 3 * 16; bytes: mm 128 (x once), add 192, relu 128 each.
            self.assertAlmostEqual(residency["flops"], 144 / 176)
            self.assertAlmostEqual(residency["bytes"], 320 / 576)
        self.assertEqual(header["compiles"]["count"], 2)

    def test_no_fallback(self) -> None:
        for mode in ("eager", "compile"):
            header, _ = self.run_graph({"x": floats(4, 4)}, self.nodes(), ["d"], mode=mode, fallback=False)
            self.assertEqual((header["failure"], header["reason"]), ("unsupported", "policy"))
            self.assertIn("aten::relu.default", header["detail"])

    def test_fullgraph_names_all_operators(self) -> None:
        nodes = [*self.nodes(), node("torch.ops.aten.sigmoid.default", {"self": "d"}, "e")]
        header, _ = self.run_graph({"x": floats(4, 4)}, nodes, ["e"], mode="compile", fullgraph=True)
        self.assertEqual((header["failure"], header["reason"]), ("compile_error", "graph_break"))
        self.assertIn("aten::relu.default", header["detail"])
        self.assertIn("aten::sigmoid.default", header["detail"])

    def test_supports(self) -> None:
        def ask(target: str, dtype: str, shape: tuple[int, ...] = (2, 2), name: str = "self") -> dict[str, Any]:
            text = graph_json({"x": (dtype, shape)}, [node(target, {name: "x"}, "y")], ["y"])
            return self.worker.ask({"type": "supports", "nodes": [text]}).header["nodes"][0]

        exp = "torch.ops.aten.exp.default"
        self.assertEqual(ask(exp, "f32"), {"supported": True, "native": 1, "reason": "", "message": ""})
        self.assertEqual(ask(exp, "f8_e5m2")["reason"], "dtype")
        self.assertEqual(ask(exp, "f8_e4m3")["reason"], "dtype")
        self.assertEqual(ask("torch.ops.aten.floor.default", "c64")["reason"], "complex")
        self.assertEqual(ask("torch.ops.aten.no_such.default", "f32")["reason"], "operator")
        wait = "torch.ops._c10d_functional.wait_tensor.default"
        self.assertEqual(ask(wait, "f32", name="tensor")["reason"], "operator")
        self.assertEqual(ask(RELU, "f32")["reason"], "policy")
        self.assertTrue(ask(exp, "f32", (1 << 20, 1 << 20))["supported"])


class Compile(Case):
    def test_phases(self) -> None:
        x = floats(6, 6)
        nodes = [node(MM, {"self": "x", "mat2": "x"}, "a"), node(RELU, {"self": "a"}, "b")]
        header, (b,) = self.run_graph({"x": x}, nodes, ["b"], mode="compile", repeats=2, fullgraph=True)
        self.assert_passed(header)
        torch.testing.assert_close(b, (x @ x).relu())
        phases = header["phases"]
        self.assertGreater(phases["compile_cold_s"], 10 * phases["first_run_s"])
        self.assertEqual((len(phases["steady_s"]), header["repeatable"]), (2, True))
        self.assertEqual(header["compiles"], {"count": 1, "hits_memory": 0, "hits_disk": 0, "misses": []})
        self.assertLess(self.worker.progress.index(("compile", 0)), self.worker.progress.index(("free", 0)))
        # The same graph again in the same process.
        header, _ = self.run_graph({"x": x}, nodes, ["b"], mode="compile", fullgraph=True)
        self.assertIsNone(header["phases"]["compile_cold_s"])
        self.assertLess(header["phases"]["compile_memory_warm_s"], phases["compile_cold_s"] / 10)
        self.assertEqual(header["compiles"], {"count": 0, "hits_memory": 1, "hits_disk": 0, "misses": []})

    def test_graph_without_nodes(self) -> None:
        header, (x,) = self.run_graph({"x": floats(3)}, [], ["x"], mode="compile")
        self.assert_passed(header)
        self.assertTrue(same_bits(x, floats(3)))

    def test_disk_cache(self) -> None:
        nodes = [node("torch.ops.aten.sin.default", {"self": "x"}, "a"), node(RELU, {"self": "a"}, "b")]
        headers = []
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(2):
                worker = Worker()
                self.addCleanup(worker.kill)
                worker.hello(cache_dir=folder, options={"threads": "2"})
                graph = graph_json({"x": ("f32", (5, 7))}, nodes, ["b"])
                header = run_header(graph, ["x"], ["b"], mode="compile")
                headers.append(worker.ask(header, [to_raw(floats(5, 7))]).header)
                self.assertEqual(worker.end(), (0, ""))
            self.assertTrue(any(Path(folder).rglob("*.so")))
        cold, warm = headers
        self.assertEqual((cold["compiles"]["count"], cold["compiles"]["misses"]), (1, ["not in PyTorch's cache"]))
        self.assertIsNone(cold["phases"]["compile_disk_warm_s"])
        self.assertEqual((warm["compiles"]["count"], warm["compiles"]["hits_disk"]), (0, 1))
        self.assertIsNone(warm["phases"]["compile_cold_s"])
        self.assertLess(warm["phases"]["compile_disk_warm_s"], cold["phases"]["compile_cold_s"])

    def test_compiler_that_fails(self) -> None:
        worker = Worker(environment={"CXX": "/bin/false"})
        self.addCleanup(worker.kill)
        worker.hello(options={"threads": "2"})
        graph = graph_json({"x": ("f32", (5, 7))}, [node("torch.ops.aten.cos.default", {"self": "x"}, "y")], ["y"])
        answer = worker.ask(run_header(graph, ["x"], ["y"], mode="compile"), [to_raw(floats(5, 7))]).header
        self.assertEqual((answer["failure"], answer["reason"]), ("compile_error", "compiler_error"), answer["detail"])
        self.assertNotIn("/tmp/", answer["detail"])


class Sessions(Case):
    def test_load_measure_unload(self) -> None:
        x = floats(32, 32)
        nodes = [node(MM, {"self": "x", "mat2": "x"}, "a"), node(RELU, {"self": "a"}, "b")]
        for mode in ("eager", "compile"):
            graph = graph_json(declared({"x": x}), nodes, ["b"])
            loaded = self.worker.ask({**run_header(graph, ["x"], ["b"], mode=mode), "type": "load"}, [to_raw(x)]).header
            self.assertEqual(loaded["type"], "loaded", loaded)
            session = loaded["session"]
            ask = {"type": "measure", "session": session, "iterations": 5}
            measured = self.worker.ask(ask).header
            self.assertEqual((measured["type"], measured["fallbacks"]), ("measured", 0))
            self.assertGreater(measured["seconds"], 0)
            self.assertEqual(self.worker.ask({"type": "unload", "session": session}).header["type"], "unloaded")
            self.assertEqual(self.worker.ask(ask).header["code"], "invalid_argument")
        bad = graph_json(declared({"x": floats(2, 3)}), [node(MM, {"self": "x", "mat2": "x"}, "a")], ["a"])
        answer = self.worker.ask({**run_header(bad, ["x"], ["a"]), "type": "load"}, [to_raw(floats(2, 3))]).header
        self.assertEqual((answer["type"], answer["code"]), ("error", "execution_error"))


if __name__ == "__main__":
    unittest.main()
