#!/usr/bin/env python3
"""Ranks of PyTorch's own collectives, started by Assay for the backend torch:gloo (docs/distributed.md).

Imports PyTorch once and forks a process for each rank that it is asked for, which then needs neither the time nor
the memory of an import. Speaks the frames of the worker protocol on descriptors 3 and 4: "hello" is answered with
PyTorch's version or why there is none, "start" with the process group of the ranks, which connect to the given
port, greet, and run the programs that they are given until the connection ends.
"""

from __future__ import annotations

import ctypes
import fcntl
import gc
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True  # an installed tree may be read-only, and a source tree should stay clean
sys.path.insert(0, str(Path(__file__).resolve().parent))

from torch_backend.frames import Frame, MalformedError, read_frame, write_frame  # noqa: E402

REQUESTS, REPLIES = 3, 4
_PR_SET_PDEATHSIG = 1


def become_rank(rank: int, order: dict[str, Any]) -> None:
    from torch_backend.ranks import Rank

    member = Rank(rank, order["ranks"], order["token"], order["timeout"], order["start_timeout"])
    # Not before: who connects must greet within seconds, and many ranks take longer to find one another.
    connection = socket.create_connection((order["host"], order["port"]))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    fd = connection.fileno()
    member.serve(fd)
    write_frame(fd, Frame({"type": "rank", "rank": rank, "token": order["token"], "version": "", "problem": ""}, []))
    while frame := read_frame(fd):
        write_frame(fd, member.answer(frame))


def child(rank: int, order: dict[str, Any], parent: int, gate: int) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        return
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.read(gate, 1)  # until all ranks are in their group
    for fd in (gate, REQUESTS, REPLIES):
        os.close(fd)
    for fd in (1, 2):  # what nobody reads must not keep a rank from going on
        fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_NONBLOCK)
    become_rank(rank, order)


def start_ranks(order: dict[str, Any]) -> int:
    """The process group of new processes, one for each rank."""
    parent, group = os.getpid(), 0
    gate, opening = os.pipe()
    try:
        for rank in range(order["ranks"]):
            pid = os.fork()
            if pid == 0:
                status = 1
                try:
                    os.close(opening)
                    child(rank, order, parent, gate)
                    status = 0
                except Exception as error:
                    print(f"rank {rank}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
                finally:
                    # Collectives that were given up are still under way in threads of PyTorch.
                    os._exit(status)
            group = group or pid
            os.setpgid(pid, group)
    except OSError:
        if group:
            os.killpg(group, signal.SIGKILL)
        raise
    finally:
        os.close(gate)
        os.close(opening)
    return group


def answer(header: dict[str, Any], version: str, problem: str) -> dict[str, Any]:
    if header.get("type") == "hello" or problem:
        return {"type": "hello", "version": version, "problem": problem}
    if header.get("type") != "start":
        raise MalformedError(f"no request of the type {header.get('type')!r}")
    try:
        return {"type": "started", "group": start_ranks(header), "problem": ""}
    except OSError as error:
        return {"type": "started", "group": 0, "problem": f"no process for a rank: {error}"}


def main() -> int:
    version = problem = ""
    try:
        import torch
        import torch.distributed._functional_collectives
        import torch_backend.ranks  # noqa: F401

        version = f"PyTorch {torch.__version__}"
    except Exception as error:  # a broken installation fails with anything from ImportError to OSError
        problem = f"{sys.executable} cannot import torch: {type(error).__name__}: {error}"
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # ranks that end are nobody's to wait for
    gc.collect()
    gc.freeze()  # pages that no rank writes to stay shared
    while frame := read_frame(REQUESTS):
        write_frame(REPLIES, Frame(answer(frame.header, version, problem), []))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (MalformedError, OSError, MemoryError) as error:
        sys.exit(f"torch_rank: {type(error).__name__}: {error}")
