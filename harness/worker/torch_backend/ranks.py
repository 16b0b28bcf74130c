"""One rank's program over torch.distributed with the backend gloo.

Functional collectives go through torch.ops._c10d_functional as exported graphs
have them; what PyTorch has no functional form of, through torch.distributed.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import struct
import tempfile
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from .errors import InvalidRequest, Unsupported
from .frames import Frame, write_frame
from .graph import Graph, Node, Ref, read_graph
from .operators import Call
from .tensors import to_raw, upload

_FUNCTIONAL = "_c10d_functional::"
_AUTOGRAD = "_c10d_functional_autograd::"
_REDUCTIONS = {
    "sum": dist.ReduceOp.SUM,
    "avg": dist.ReduceOp.AVG,
    "product": dist.ReduceOp.PRODUCT,
    "min": dist.ReduceOp.MIN,
    "max": dist.ReduceOp.MAX,
    "band": dist.ReduceOp.BAND,
    "bor": dist.ReduceOp.BOR,
    "bxor": dist.ReduceOp.BXOR,
}


def output_names(text: str) -> list[str | None]:
    outputs = json.loads(text)["graph_module"]["graph"]["outputs"]
    return [union["as_tensor"]["name"] if "as_tensor" in union else None for union in outputs]


def bytes_on_sockets(but: int) -> int | None:
    """What this process has written to its TCP connections, `but` excluded: Linux counts (struct tcp_info)."""
    total = 0
    for entry in os.listdir("/proc/self/fd"):
        if int(entry) == but:
            continue
        try:
            if not os.readlink(f"/proc/self/fd/{entry}").startswith("socket:"):
                continue
            with socket.socket(fileno=os.dup(int(entry))) as connection:
                if connection.type != socket.SOCK_STREAM or connection.family == socket.AF_UNIX:
                    continue
                info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 512)
        except OSError:  # closed meanwhile, or no socket of a kind that is known
            continue
        if len(info) < 216:
            return None
        not_sent = struct.unpack_from("I", info, 144)[0]
        sent, sent_again = struct.unpack_from("QQ", info, 200)
        total += sent - sent_again + not_sent
    return total


class ByteCounter:
    """Payload that gloo moves, counted by harness/ranks/gloo_counter.cpp, which was loaded before PyTorch."""

    HEADER = 48

    def __init__(self, launcher: int):
        self.launcher = launcher
        self.function = getattr(ctypes.CDLL(None), "assay_gloo_counts", None)
        self.before = self._now()

    def _now(self) -> tuple[list[int], int | None]:
        counts = (ctypes.c_int64 * 4)(-1, -1, -1, -1)
        if self.function is not None:
            self.function(counts)
        return list(counts), bytes_on_sockets(self.launcher)

    def moved(self) -> tuple[int | None, int | None]:
        """Bytes sent and received since the start; None where they are not known.

        With the headers, what was sent must be what the system says that the sockets carried.
        """
        (counts, carried), (counts_before, carried_before) = self._now(), self.before
        if min(counts + counts_before) < 0 or carried is None or carried_before is None:
            return None, None
        sent, messages, received, _ = (now - before for now, before in zip(counts, counts_before))
        if sent + self.HEADER * messages != carried - carried_before:
            return None, None
        return sent, received


class Rank:
    def __init__(self, rank: int, world_size: int, token: str, timeout: float, start_timeout: float):
        self.rank = rank
        self.world_size = world_size
        self.timeout = timedelta(seconds=timeout)
        self.start_timeout = timedelta(seconds=start_timeout)
        torch.set_num_threads(1)  # ranks are more than cores
        # The ranks find one another through a file of their own, which gloo removes.
        path = Path(tempfile.gettempdir()) / f"assay-ranks-{token}"
        dist.init_process_group(
            "gloo", init_method=path.as_uri(), rank=rank, world_size=world_size, timeout=self.start_timeout
        )
        self.world = self._limited(dist.group.WORLD)
        # Groups of the same ranks each are one of their own: by ranks, and how many such groups stand before it.
        self.groups: dict[tuple[tuple[int, ...], int], Any] = {}

    def serve(self, launcher: int) -> None:
        """Answers go to the connection `launcher` from now on."""
        self.launcher = launcher

    def _limited(self, group: Any) -> Any:
        """Connecting many ranks takes time; what a collective may take is what was asked for."""
        dist.distributed_c10d._set_pg_timeout(self.timeout, group)
        return group

    def answer(self, frame: Frame) -> Frame:
        error, outputs = "", []
        self.moved: tuple[int | None, int | None] = (None, None)
        self.has_begun = False  # something that other ranks take part in
        try:
            outputs = self._run(frame)
        except Exception as problem:  # whatever PyTorch throws is this rank's answer
            error = f"rank {self.rank}: {type(problem).__name__}: {problem}"
        header = {
            "type": "answer",
            "error": error,
            "refused": error != "" and not self.has_begun,
            "outputs": [output is not None for output in outputs],
            "sent": self.moved[0],
            "received": self.moved[1],
        }
        return Frame(header, [to_raw(output) for output in outputs if output is not None])

    def _run(self, frame: Frame) -> list[torch.Tensor | None]:
        ranks = frame.header["ranks"]
        text = ranks["programs"][0]
        graph = read_graph(text)
        groups = {"world": self.world}
        # Every rank makes all groups, in the same order.
        alike: Counter[tuple[int, ...]] = Counter()
        for name, members in sorted(ranks["groups"].items()):
            key = tuple(members), alike[tuple(members)]
            alike[tuple(members)] += 1
            if key not in self.groups:
                self.has_begun = True
                made = dist.new_group(list(members), timeout=self.start_timeout, sort_ranks=False)
                self.groups[key] = self._limited(made) if self.rank in members else made
            groups[name] = self.groups[key]
        self.has_begun = False
        fault = ranks["faults"][0] if ranks["faults"] else None
        program = Program(graph, groups, self.launcher)
        for value, raw in zip(graph.inputs, frame.tensors, strict=True):
            program.values[value.name] = upload(raw, torch.device("cpu"))
        counter = ByteCounter(self.launcher)
        for index, node in enumerate(graph.nodes):
            if fault is not None and fault["node"] == index:
                self._suffer(fault)
            try:
                program.run(node)
            finally:
                self.has_begun = program.has_begun
        program.wait_for_all()
        outputs = [None if name is None else program.value(name) for name in output_names(text)]
        self.moved = counter.moved()
        return outputs

    @staticmethod
    def _suffer(fault: dict[str, Any]) -> None:
        if not fault["stands_still"]:
            os._exit(9)
        os.kill(os.getpid(), signal.SIGSTOP)


class Program:
    def __init__(self, graph: Graph, groups: dict[str, Any], launcher: int):
        self.graph = graph
        self.groups = groups
        self.launcher = launcher
        self.values: dict[str, torch.Tensor] = {}
        # What is under way by the value that stands for it, and how its result is made then.
        self.works: dict[str, tuple[Any, Callable[[], torch.Tensor]]] = {}
        self.unnamed: list[Any] = []  # without such a value
        self.has_begun = False  # a collective that PyTorch took
        self.posted: list[torch.Tensor] = []  # results of functional collectives

    def value(self, name: str) -> torch.Tensor:
        if name in self.works:
            work, finish = self.works.pop(name)
            work.wait()
            self.values[name] = finish()
        return self.values[name]

    def wait_for_all(self) -> None:
        """Also for what the program never waits for: the bytes of a collective are its own."""
        for name in list(self.works):
            self.value(name)
        for work in self.unnamed:
            work.wait()
        for result in self.posted:
            torch.ops._c10d_functional.wait_tensor.default(result)

    def _begun(self, node: Node, work: Any, finish: Callable[[], torch.Tensor]) -> torch.Tensor:
        """A collective that goes on while the program does; its result is made by `finish` when it is complete."""
        if node.outputs[0] is None:
            self.unnamed.append(work)
        else:
            self.works[node.outputs[0].name] = (work, finish)
        return torch.empty(0)

    def run(self, node: Node) -> None:
        given = {name: self._given(value) for name, value in node.arguments}
        if node.op == f"{_FUNCTIONAL}wait_tensor.default":
            result = torch.ops._c10d_functional.wait_tensor.default(given["tensor"])
        elif "group_name" in given:
            write_frame(self.launcher, Frame({"type": "progress", "node": node.name}, []))
            result = self._collective(node, given)
            self.has_begun = True
        else:
            call = Call(node, torch.device("cpu"))
            result = call.run(*call.bind(self.value))
        results = result if isinstance(result, (list, tuple)) else [result]
        for output, value in zip(node.outputs, results):
            if output is not None:
                self.values[output.name] = value

    def _given(self, value: Any) -> Any:
        if isinstance(value, Ref):
            return self.value(value.name)
        if isinstance(value, list):
            return [self._given(entry) for entry in value]
        return value

    def _collective(self, node: Node, given: dict[str, Any]) -> torch.Tensor | None:
        name = node.op.partition("::")[2].removesuffix(".default")
        wanted = given.pop("group_name")
        if wanted not in self.groups:
            raise InvalidRequest(f"{node.op}: unknown group '{wanted}'; there are: {', '.join(self.groups)}")
        group = self.groups[wanted]
        space = node.op.partition("::")[0]
        if node.op.startswith((_FUNCTIONAL, _AUTOGRAD)) and name not in ("isend", "irecv"):
            function = getattr(getattr(torch.ops, space), name).default
            group_name = group.group_name if hasattr(group, "group_name") else str(wanted)
            results = function(**given, group_name=group_name)
            self.posted += results if isinstance(results, (list, tuple)) else [results]
            return results
        method = getattr(self, f"_{name}", None)
        if method is None:
            raise Unsupported("operator", f"torch.distributed has no {node.op}")
        return method(group, node, **given)

    @staticmethod
    def _global(group: Any, position: int) -> int:
        return dist.get_global_rank(group, position)

    @staticmethod
    def _require_another(group: Any, position: int) -> None:
        if dist.get_rank(group) == position:
            raise Unsupported("argument", "gloo has no messages of a rank to itself")

    def _isend(self, group: Any, node: Node, tensor: torch.Tensor, dst: int, tag: int) -> torch.Tensor:
        self._require_another(group, dst)
        work = dist.isend(tensor.contiguous(), self._global(group, dst), group, tag)
        return self._begun(node, work, lambda: tensor)

    def _irecv(self, group: Any, node: Node, tensor: torch.Tensor, src: int, tag: int) -> torch.Tensor:
        self._require_another(group, src)
        buffer = torch.empty_like(tensor)
        return self._begun(node, dist.irecv(buffer, self._global(group, src), group, tag), lambda: buffer)

    @staticmethod
    def _require_one_size(what: str, sizes: list[int]) -> None:
        """Others than the root learn nothing of sizes that gloo does not take: they would wait for the time limit."""
        if len(set(sizes)) > 1:
            taken = f"torch.distributed.{what} over gloo takes tensors of one size only"
            raise Unsupported("argument", f"{taken}, not {sizes}")

    def _barrier(self, group: Any, node: Node) -> None:
        self.has_begun = True  # others may be in it, though this one never returns
        dist.barrier(group)

    def _reduce(self, group: Any, node: Node, input: torch.Tensor, reduce_op: str, dst: int) -> torch.Tensor:
        result = input.clone()
        work = dist.reduce(result, self._global(group, dst), _REDUCTIONS[reduce_op], group, async_op=True)
        # Elsewhere the buffer is gloo's workspace; the operator leaves the input as it is.
        here = dist.get_rank(group) == dst
        return self._begun(node, work, lambda: result if here else input.clone())

    def _all_gather_v(self, group: Any, node: Node, input: torch.Tensor, sizes: list[int]) -> torch.Tensor:
        self._require_one_size("all_gather", sizes)
        parts = [input.new_empty((size, *input.shape[1:])) for size in sizes]
        work = dist.all_gather(parts, input.contiguous(), group, async_op=True)
        return self._begun(node, work, lambda: torch.cat(parts))

    def _gather(
        self, group: Any, node: Node, input: torch.Tensor, dst: int, sizes: list[int], rank: int
    ) -> torch.Tensor:
        self._require_one_size("gather", sizes)
        here = dist.get_rank(group) == dst
        parts = [input.new_empty((size, *input.shape[1:])) for size in sizes] if here else None
        work = dist.gather(input.contiguous(), parts, self._global(group, dst), group, async_op=True)
        return self._begun(
            node, work, lambda: input.new_empty((0, *input.shape[1:])) if parts is None else torch.cat(parts)
        )

    def _scatter(
        self, group: Any, node: Node, input: torch.Tensor, src: int, sizes: list[int], rank: int
    ) -> torch.Tensor:
        self._require_one_size("scatter", sizes)
        result = input.new_empty((sizes[rank], *input.shape[1:]))
        parts = [part.contiguous() for part in input.split(sizes)] if dist.get_rank(group) == src else None
        work = dist.scatter(result, parts, self._global(group, src), group, async_op=True)
        return self._begun(node, work, lambda: result)

    def _reduce_scatter_v(
        self, group: Any, node: Node, input: torch.Tensor, reduce_op: str, sizes: list[int], rank: int
    ) -> torch.Tensor:
        result = input.new_empty((sizes[rank], *input.shape[1:]))
        parts = [part.contiguous() for part in input.split(sizes)]
        work = dist.reduce_scatter(result, parts, _REDUCTIONS[reduce_op], group, async_op=True)
        return self._begun(node, work, lambda: result)
