"""Serialize the structures of trees in PyTorch's JSON format, in both directions."""

from __future__ import annotations

import json
from enum import Enum
from functools import partial
from pkgutil import resolve_name
from typing import Any

from gnomon.errors import ArgumentError, DtypeError
from gnomon.utils.pytree.nodes import WRITTEN
from gnomon.utils.pytree.specs import LEAF, TreeSpec

__all__ = ["treespec_dumps", "treespec_loads", "treespec_pprint"]

PROTOCOL = 1
"""The version of serialized structures."""


def schema_of(spec: TreeSpec) -> dict[str, Any]:
    """Convert a structure to JSON data."""
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    found = WRITTEN[spec.type]
    if not found.name:
        raise NotImplementedError(
            f"treespec_dumps: {spec.type} has no name. Register it with serialized_type_name."
        )
    written = found.dump or partial(json.dumps, default=enum_schema)
    return {
        "type": found.name,
        "context": written(spec.context),
        "children_spec": list(map(schema_of, spec.children())),
    }


def enum_schema(value: Any) -> dict[str, Any]:
    """Convert an enum member to JSON data."""
    if not isinstance(value, Enum):
        raise DtypeError(
            f"treespec_dumps: a context has {value!r}, which JSON does not know. Register the "
            "class with to_dumpable_context."
        )
    kind = type(value)
    return {
        "__enum__": True,
        "fqn": f"{kind.__module__}:{kind.__qualname__}",
        "name": value.name,
    }


def enum_meant(schema: dict[str, Any]) -> Any:
    """Convert JSON data to an enum member, if it describes one."""
    if "__enum__" not in schema:
        return schema
    return resolve_name(schema["fqn"])[schema["name"]]


def spec_of(schema: dict[str, Any]) -> TreeSpec:
    """Convert JSON data to a structure."""
    name, written = schema["type"], schema["context"]
    if name is None:
        return LEAF
    kind = next((kind for kind, found in WRITTEN.items() if found.name == name), None)
    if kind is None:
        raise NotImplementedError(f"treespec_loads: {name} is not registered. Register its class.")
    load = WRITTEN[kind].load
    context = load(written) if load else json.loads(written, object_hook=enum_meant)
    return TreeSpec(kind, context, list(map(spec_of, schema["children_spec"])))


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """Serialize a structure to text, which PyTorch reads too."""
    if not isinstance(treespec, TreeSpec):
        raise DtypeError(f"treespec_dumps: needs a TreeSpec: got {type(treespec).__name__}.")
    return json.dumps((checked_protocol(protocol), schema_of(treespec)), default=enum_schema)


def treespec_loads(serialized: str) -> TreeSpec:
    """Read a structure from text."""
    protocol, schema = json.loads(serialized)
    checked_protocol(protocol)
    return spec_of(schema)


def checked_protocol(protocol: int | None) -> int:
    """The version of a serialized structure; ArgumentError if it is unknown."""
    if protocol not in (None, PROTOCOL):
        raise ArgumentError(f"treespec_dumps: no protocol {protocol}. Use {PROTOCOL}.")
    return PROTOCOL


class Asterisk:
    """A leaf in printed structures."""

    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """The tree of a structure as Python code, with an asterisk for each leaf."""
    return repr(treespec.unflatten([Asterisk()] * treespec.num_leaves))
