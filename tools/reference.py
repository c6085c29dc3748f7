"""Writes the API reference: a Markdown page for each public namespace, from its docstrings.

Nothing is written to disk: `tools/site.py` adds the pages when MkDocs builds the site. Names come
from a module's `__all__`, from its .pyi file, or are what it defines itself.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from types import ModuleType
from typing import Any

import gnomon

PUBLIC = """
gnomon gnomon.Tensor gnomon.nn gnomon.nn.functional gnomon.nn.init gnomon.nn.utils gnomon.optim
gnomon.optim.lr_scheduler gnomon.autograd gnomon.func gnomon.amp gnomon.linalg gnomon.fft
gnomon.special gnomon.distributions gnomon.distributed gnomon.distributed.tensor
gnomon.distributed.fsdp gnomon.distributed.checkpoint gnomon.distributed.device_mesh gnomon.export
gnomon.onnx gnomon.quant gnomon.gguf gnomon.models gnomon.serialization gnomon.utils.data
gnomon.utils.checkpoint gnomon.profiler gnomon.fx gnomon.library gnomon.testing gnomon.settings
gnomon.errors
"""
NAMESPACES = PUBLIC.split()
"""The modules, and the class Tensor, that have a page, in the order of the site's menu."""
FOLDER = "reference"
MARKS = re.compile(r"(`[^`]*`)|([\\*_<\[#])")
"""Code, which stays, and characters that Markdown would read as marks."""
ADDRESS = re.compile(r"<.*? at 0x[0-9a-f]+>")


class Annotation(str):
    """An annotation's text, which a printed signature shows without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def annotation_of(kind: Any) -> Any:
    """An annotation as users read it: the nodes of a graph are tensors to them."""
    if kind is inspect.Parameter.empty:
        return kind
    text = kind if isinstance(kind, str) else inspect.formatannotation(kind)
    return Annotation(re.sub(r"\bNode\b", "Tensor", text.replace("gnomon.ir.node.", "")))


def shown(value: object) -> str:
    """A value's text, without addresses, which differ from build to build."""
    return ADDRESS.sub("...", str(value))


def signature_of(value: Any) -> str:
    """The parameters and result of a callable; empty where Python knows none."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    takes = [p.replace(annotation=annotation_of(p.annotation)) for p in found.parameters.values()]
    gives = inspect.Signature.empty
    if not inspect.isclass(value):
        gives = annotation_of(found.return_annotation)
    return shown(inspect.Signature(takes, return_annotation=gives))


def escaped(text: str) -> str:
    """Prose in which nothing but code is read as Markdown."""
    return MARKS.sub(lambda match: match.group(1) or "\\" + match.group(2), text)


def markdown(docstring: str) -> str:
    """A docstring as Markdown: examples become blocks of code."""
    parts = [part.strip("\n") for part in re.split(r"\n\s*\n", docstring) if part.strip()]
    blocks: list[str] = []
    for is_example, group in groupby(parts, key=lambda part: part.lstrip().startswith(">>>")):
        if is_example:
            blocks.append("```pycon\n" + "\n\n".join(map(inspect.cleandoc, group)) + "\n```")
        else:
            blocks += [part if part.startswith("    ") else escaped(part) for part in group]
    return "\n\n".join(blocks)


def first_sentence(value: Any) -> str:
    """The opening line of a docstring."""
    text = inspect.getdoc(value) or ""
    return escaped(" ".join(text.split("\n\n")[0].split()))


def in_stub(module: ModuleType) -> list[str] | None:
    """The names in the .pyi file beside a module; None where it has none."""
    path = Path(module.__file__ or "").with_suffix(".pyi")
    if not path.exists():
        return None
    names: list[str] = []
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.ImportFrom):
            names += [each.asname for each in node.names if each.asname == each.name]
    return names


def names_of(space: ModuleType) -> list[str]:
    """The public names of a module, sorted."""
    listed = getattr(space, "__all__", None) or in_stub(space)
    if listed is None:
        own = vars(space).items()
        listed = [name for name, x in own if getattr(x, "__module__", "") == space.__name__]
    return sorted({name for name in listed if not name.startswith("_")}, key=str.lower)


def members(kind: type) -> Iterator[str]:
    """A line for each public method and property that a class itself defines."""
    for name, value in sorted(vars(kind).items()):
        if name.startswith("_") or not (callable(value) or isinstance(value, property)):
            continue
        if said := first_sentence(value):
            call = signature_of(value) if inspect.isfunction(value) else ""
            yield f"- `{name}{call}`: {said}"


def entry(space: str, name: str, value: Any) -> str:
    """The heading, signature and docstring of one name."""
    lines = [f"### {escaped(name)} {{ #{space}.{name} }}"]
    if (own := getattr(value, "__name__", name)) != name and not inspect.ismodule(value):
        lines.append(f"Another name of `{own}`.")
    elif callable(value):
        lines.append(f"```py\n{name}{signature_of(value)}\n```")
        lines.append(markdown(inspect.getdoc(value) or ""))
        if inspect.isclass(value) and not issubclass(value, gnomon.Tensor):
            lines.append("\n".join(members(value)))
    else:
        is_plain = isinstance(value, str | int | float | gnomon.dtype)
        lines.append(f"`{value}`" if is_plain else first_sentence(value))
    return "\n\n".join(filter(None, lines))


def page(name: str) -> str:
    """The Markdown page of a namespace."""
    if name == "gnomon.Tensor":
        methods = {x: getattr(gnomon.Tensor, x) for x in dir(gnomon.Tensor) if x[:1] != "_"}
        said = [f"- `{x}{signature_of(y)}`: {first_sentence(y)}" for x, y in methods.items()]
        return f"# {name}\n\n{markdown(inspect.getdoc(gnomon.Tensor) or '')}\n\n" + "\n".join(said)
    space = importlib.import_module(name)
    entries = [entry(name, x, getattr(space, x)) for x in names_of(space)]
    return "\n\n".join([f"# {name}", markdown(inspect.getdoc(space) or ""), *entries])


def path_of(name: str) -> str:
    """The file of a namespace's page, below docs."""
    return f"{FOLDER}/{name}.md"
