"""Write the operator schemas that the C++ side parses (core/opset/schemas.txt).

Names, order and defaults of arguments come from PyTorch's own registry, so
they are dumped, never typed. Four sources, one sorted text:

* every overload that PyTorch tags `core` (the Core ATen set),
* `extra_operators.txt`, each with the reason why it is listed,
* everything in the namespaces `_c10d_functional` and `_c10d_functional_autograd`
  (functional collectives),
* what the catalogue's graphs call (`--graphs`), in case a new model brings an
  operator that none of the others has.

    python3 -m sweeps.export.dump_schemas [--graphs sweeps/catalogue/models] [--out core/opset/schemas.txt]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
import torch.distributed._functional_collectives  # noqa: F401  registers _c10d_functional

from .tables import read_model

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent


def core_schemas() -> set[str]:
    """Schemas of all overloads tagged core.

    In-place, out and backward-only variants are kept where PyTorch tags them:
    the tag is the definition.
    """
    found = set()
    for schema in torch._C._jit_get_all_schemas():
        if not schema.name.startswith("aten::"):
            continue
        packet = getattr(torch.ops.aten, schema.name.removeprefix("aten::"))
        overload_name = schema.overload_name or "default"
        if overload_name not in packet.overloads():
            continue
        overload = getattr(packet, overload_name)
        if torch.Tag.core in overload.tags:
            found.add(str(overload._schema))
    return found


def schema_of(qualified: str) -> str:
    """Schema text of `namespace::name[.overload]`."""
    namespace, _, name = qualified.partition("::")
    name, _, overload = name.partition(".")
    packet = getattr(getattr(torch.ops, namespace), name)
    return str(getattr(packet, overload or "default")._schema)


def extra_schemas(path: Path) -> set[str]:
    lines = (line.strip() for line in path.read_text().splitlines())
    return {schema_of(line) for line in lines if line and not line.startswith("#")}


def namespace_schemas(namespace: str) -> set[str]:
    return {
        str(schema)
        for schema in torch._C._jit_get_all_schemas()
        if schema.name.startswith(namespace + "::")
    }


def graph_schemas(folder: Path) -> set[str]:
    """Schemas of the operators that the catalogue's graphs call."""
    found = set()
    for file in sorted(folder.glob("*.json.zst")):
        for node in read_model(file)["graph_module"]["graph"]["nodes"]:
            target = node["target"]
            if target.startswith("torch.ops."):
                namespace, name, overload = target.removeprefix("torch.ops.").split(".")
                found.add(schema_of(f"{namespace}::{name}.{overload}"))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=REPOSITORY / "core/opset/schemas.txt")
    parser.add_argument("--graphs", type=Path, default=REPOSITORY / "sweeps/catalogue/models")
    arguments = parser.parse_args()

    schemas = core_schemas() | extra_schemas(HERE / "extra_operators.txt")
    for namespace in ("_c10d_functional", "_c10d_functional_autograd"):
        schemas |= namespace_schemas(namespace)
    schemas |= graph_schemas(arguments.graphs)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text("".join(line + "\n" for line in sorted(schemas)))
    print(f"{len(schemas)} schemas")


if __name__ == "__main__":
    main()
