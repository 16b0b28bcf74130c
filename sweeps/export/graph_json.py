"""From an exported program to the JSON object of a catalogue file.

The graph is exactly `models/model.json` as `torch.export.save` writes it;
only node metadata is cut down to a source link and a module path, which is
what a report shows. The rest of the metadata (graph ids, provenance) is most
of the file and differs from run to run.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import PurePosixPath
from typing import Any

import torch

FRAME = re.compile(r'File "([^"]+)", line (\d+)')


def short_source(stack_trace: str) -> str:
    """`package/path/file.py:LINE` of the innermost frame that is not PyTorch's own or this exporter's."""
    short = ""
    for path, line in FRAME.findall(stack_trace):
        parts = PurePosixPath(path.replace("\\", "/")).parts
        if "site-packages" not in parts:
            continue
        relative = parts[len(parts) - parts[::-1].index("site-packages") :]
        if relative[0] != "torch":
            short = f"{'/'.join(relative)}:{line}"
    return short


def short_module(nn_module_stack: str) -> str:
    """Dotted path of the innermost module: entries are `key,path,class`, joined by semicolons."""
    return nn_module_stack.rsplit(";", 1)[-1].split(",")[1]


def short_metadata(metadata: dict[str, str]) -> dict[str, str]:
    kept = {}
    if source := short_source(metadata.get("stack_trace", "")):
        kept["stack_trace"] = source
    if stack := metadata.get("nn_module_stack"):
        kept["nn_module_stack"] = short_module(stack)
    return kept


def model_json(program: torch.export.ExportedProgram) -> dict[str, Any]:
    """The graph's JSON, with shortened metadata."""
    archive = io.BytesIO()
    torch.export.save(program, archive)
    with zipfile.ZipFile(archive) as files:
        (name,) = [name for name in files.namelist() if name.endswith("models/model.json")]
        model = json.loads(files.read(name))
    for node in model["graph_module"]["graph"]["nodes"]:
        node["metadata"] = short_metadata(node["metadata"])
    return model
