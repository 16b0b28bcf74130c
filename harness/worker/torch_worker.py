#!/usr/bin/env python3
"""Hosts a PyTorch device for Assay: `python3 torch_worker.py DEVICE`.

Speaks docs/worker_protocol.md on file descriptors 3 (requests) and 4
(replies). DEVICE is what torch.device() takes: cpu, cuda, cuda:1, mps, ...
Nothing but PyTorch is needed, and without it the worker says so.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

sys.dont_write_bytecode = True  # an installed tree may be read-only, and a source tree should stay clean
sys.path.insert(0, str(Path(__file__).resolve().parent))

from torch_backend.frames import Frame, MalformedError, read_frame, write_frame  # noqa: E402

REQUESTS = 3
REPLIES = 4


def error_frame(code: str, reason: str, message: str) -> Frame:
    return Frame({"type": "error", "code": code, "reason": reason, "message": message}, [])


def without_pytorch(problem: str) -> Callable[[Frame], Frame]:
    """Answers of a worker that cannot import PyTorch."""
    return lambda frame: error_frame("pytorch_missing", "pytorch_missing", problem)


def make_answer(device: str, send: Callable[[Frame], None]) -> Callable[[Frame], Frame]:
    try:
        import torch  # noqa: F401
    except Exception as error:  # a broken installation fails with anything from ImportError to OSError
        return without_pytorch(f"{sys.executable} cannot import torch: {type(error).__name__}: {error}")
    from torch_backend.service import Service

    return Service(device, send).answer


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: torch_worker.py DEVICE", file=sys.stderr)
        return 2
    for descriptor in (REQUESTS, REPLIES):
        # Compilers that PyTorch starts must not keep the pipes open after this process.
        os.set_inheritable(descriptor, False)
    answer = make_answer(sys.argv[1], lambda frame: write_frame(REPLIES, frame))
    while frame := read_frame(REQUESTS):
        write_frame(REPLIES, answer(frame))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (MalformedError, OSError, MemoryError) as error:
        sys.exit(f"torch_worker: {type(error).__name__}: {error}")
