#!/usr/bin/env python3
"""One rank of PyTorch's own collectives: `python3 torch_rank.py HOST PORT TOKEN RANK WORLD_SIZE TIMEOUT`.

Started by Assay for the backend torch:gloo (docs/distributed.md). Connects to
HOST:PORT, greets, and runs the programs that it is given until the connection
ends. Without PyTorch it says so.
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # an installed tree may be read-only, and a source tree should stay clean
sys.path.insert(0, str(Path(__file__).resolve().parent))

from torch_backend.frames import Frame, MalformedError, read_frame, write_frame  # noqa: E402


def greeting(rank: int, token: str, version: str, problem: str = "") -> Frame:
    header = {"type": "rank", "rank": rank, "token": token, "version": version, "problem": problem}
    return Frame(header, [])


def main() -> int:
    if len(sys.argv) != 7:
        print("usage: torch_rank.py HOST PORT TOKEN RANK WORLD_SIZE TIMEOUT", file=sys.stderr)
        return 2
    host, port, token, rank, world_size, timeout = sys.argv[1:]
    problem = ""
    try:
        import torch
    except Exception as error:  # a broken installation fails with anything from ImportError to OSError
        problem = f"{sys.executable} cannot import torch: {type(error).__name__}: {error}"
    # Not before: who connects must greet within seconds, and a first import takes longer.
    connection = socket.create_connection((host, int(port)))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    fd = connection.fileno()
    if problem:
        write_frame(fd, greeting(int(rank), token, "", problem))
        return 1
    from torch_backend.ranks import Rank

    member = Rank(int(rank), int(world_size), token, float(timeout), fd, lambda frame: write_frame(fd, frame))
    write_frame(fd, greeting(int(rank), token, f"PyTorch {torch.__version__}"))
    while frame := read_frame(fd):
        write_frame(fd, member.answer(frame))
    # Collectives that were given up are still under way in threads of PyTorch.
    os._exit(0)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (MalformedError, OSError, MemoryError) as error:
        sys.exit(f"torch_rank: {type(error).__name__}: {error}")
