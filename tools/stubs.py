"""Writes the .pyi files of gnomon, gnomon.nn and its functional, gnomon.linalg, .special, Tensor.

Functions, methods and modules are made from tables when gnomon is imported, where type checkers and
editors do not see them. Run it after an operation is added or changed (python tools/stubs.py);
tests/test_stubs.py compares.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType, NoneType, UnionType
from typing import Any, get_args, get_origin

import gnomon
from gnomon import distributions, nn
from gnomon.dtypes import DType
from gnomon.ir.node import Node
from gnomon.nn import functional
from gnomon.nn.tables import REQUIRED, SettingsModule
from gnomon.ops.registry import OPS, SPELLINGS, operations
from gnomon.tensor import linalg, special
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.placements import OfParts
from gnomon.tensor.tensor import Tensor

PACKAGE = Path(gnomon.__file__).parent
HEAD = '"""{}; written by tools/stubs.py."""\n\n'
HIDDEN = ("bool", "float", "int", "type")
"""Builtin types that methods of Tensor, or names of gnomon, hide: they get other names."""
BUILTINS = "import builtins\n"
OTHER_NAMES = "\n".join(f"_{name} = builtins.{name}" for name in HIDDEN)
FACTS = {op.__name__: op.facts for op in operations()}
MIXED = {facts.pair_of.__name__ for facts in FACTS.values() if facts.pair_of}
MIXED |= {name for name, facts in FACTS.items() if facts.values_alone}
"""Functions whose results depend on their arguments: one tensor, or values and positions."""
PAIRS = {name for name, facts in FACTS.items() if facts.pair}
READ = {name: op.facts.read for name, op in OPS.items()}
"""Parameters that are Python's numbers to an operation, and may be tensors to its function."""
COPYING = {name for name, facts in FACTS.items() if facts.copies}
ONLY = {
    "exponent": ("pow", "pow_", "float_power", "float_power_"),
    "diagonal": ("tril", "tril_", "triu", "triu_"),
    "element": ("isin",),
    "elements": ("isin",),
    "test_element": ("isin",),
    "test_elements": ("isin",),
    "dims": ("flip", "permute", "permute_dims", "repeat", "roll", "tensordot", "tile"),
}
"""Words that are taken everywhere and shown where PyTorch has them."""


# one annotation


def written(kind: Any, needed: set[tuple[str, str]]) -> str:
    """A type as text; `needed` gathers what must be imported for it."""
    if kind is NoneType or kind is None or kind is Ellipsis:
        return {Ellipsis: "..."}.get(kind, "None")
    if kind is Any or isinstance(kind, str):
        needed.add(("typing", "Any"))
        return "Any"
    if isinstance(kind, list):
        return f"[{', '.join(written(part, needed) for part in kind)}]"
    if isinstance(kind, UnionType):
        return " | ".join(dict.fromkeys(written(part, needed) for part in get_args(kind)))
    if get_origin(kind) is not None:
        parts = ", ".join(written(part, needed) for part in get_args(kind))
        return f"{written(get_origin(kind), needed)}[{parts}]"
    kind = Tensor if kind is Node else kind
    if kind is ModuleType:
        needed.add(("types", "ModuleType"))
        return "ModuleType"
    if kind.__module__ == "builtins":
        return f"_{kind.__name__}" if kind.__name__ in HIDDEN else kind.__name__
    needed.add((kind.__module__, kind.__name__))
    return kind.__name__


def evaluated(annotation: Any, function: Callable) -> Any:
    """What an annotation means where its function stands; Any when that cannot be known here."""
    if annotation is inspect.Parameter.empty:
        return Any
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, function.__globals__)
    except NameError:
        return Any


# one function


def other_words(name: str, word: str, taken: set[str]) -> list[str]:
    """PyTorch's words for a parameter, where no other parameter has them."""
    fitting = [w for w, ours in SPELLINGS.items() if word in ours and w not in taken]
    known = [w for w in fitting if name in ONLY.get(w, (name,))]
    op = OPS.get(name.removesuffix("_"))
    pairs = [pair.split("=") for pair in (op.facts.spelled.split() if op else ())]
    return [*known, *(theirs for theirs, ours in pairs if ours == word and theirs not in known)]


def parameters(name: str, function: Callable, needed: set[tuple[str, str]], method: bool) -> str:
    """A function's parameters as text: the array API's words, then PyTorch's by keyword."""
    found = list(inspect.signature(function).parameters.values())
    taken = {p.name for p in found}
    own = inspect.getmodule(function) is linalg  # by the standard, whose words are these alone
    texts, more, by_keyword, optional = [], [], False, False
    for k, p in enumerate(found):
        kind = written(evaluated(p.annotation, function), needed)
        kind += " | Tensor" if p.name in READ.get(name.removesuffix("_"), ()) else ""
        words = other_words(name, p.name, taken) if k and not own else []
        optional = optional and p.kind is not p.KEYWORD_ONLY
        optional = optional or p.default is not p.empty or bool(words)
        more += [f"{word}: {kind} = ..." for word in words]
        if p.kind is p.KEYWORD_ONLY and not by_keyword:
            texts.append("*")
        by_keyword |= p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        first = k == 0 and method and not star
        default = " = ..." if optional and not star else ""
        texts.append("self" if first else f"{star}{p.name}: {kind}{default}")
    if not method and name in COPYING:
        more.append(f"copy: {written(bool | None, needed)} = ...")
    if more and not by_keyword:
        more.insert(0, "*")
    last = [texts.pop()] if texts and texts[-1].startswith("**") else []
    return ", ".join([*texts, *more, *last])


def result(name: str, function: Callable, needed: set[tuple[str, str]]) -> str:
    """A function's result as text."""
    if name in MIXED:
        needed.add(("typing", "Any"))
        return "Any"
    if name in PAIRS:
        needed.add(("gnomon.tensor.functions", "Values"))
        return "Values"
    return written(evaluated(inspect.signature(function).return_annotation, function), needed)


def definition(
    name: str, shown: Callable, needed: set[tuple[str, str]], method: bool = False
) -> list[str]:
    """The lines of one function: of an operation's own, where that is what is shown."""
    function = inspect.unwrap(shown)
    certain = method and (name in OPERATORS or is_in_place(name))
    gives = "Tensor" if certain else result(name, function, needed)
    takes = parameters(name, function, needed, method)
    told = (inspect.getdoc(shown) or "").split("\n\n")[0].split("\n")[0]
    ignore = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
    told = told.replace("\\", "\\\\")
    return [f"def {name}({takes}) -> {gives}:{ignore}", f'    """{told}"""' if told else "    ..."]


# the class


SLOTS = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift"
OTHER_SLOTS = "eq ne lt le gt ge neg pos abs invert"
OPERATORS = {f"__{p}{slot}__" for slot in SLOTS.split() for p in ("", "r", "i")}
OPERATORS |= {f"__{slot}__" for slot in OTHER_SLOTS.split()}
OPERATORS |= {"T", "mT", "H"}


def is_in_place(name: str) -> bool:
    """Whether a method of this name stores its result in the tensor."""
    return name.endswith("_") and not name.startswith("_")


def methods(known: set[str], needed: set[tuple[str, str]]) -> Iterator[str]:
    """What was given to Tensor after its class statement, by name."""
    for name, value in sorted(vars(Tensor).items()):
        of_parts = isinstance(value, OfParts)
        if name in known or (of_parts and name.startswith("_")):
            continue
        if of_parts and not value.is_property:
            yield from definition(name, value.function, needed, method=True)
        elif isinstance(value, property | OfParts):
            yield "@property"
            shown = value.fget if isinstance(value, property) else value.function
            yield from definition(name, shown, needed, method=True)
        elif inspect.isfunction(value):
            plain = vars(Tensor).get(name.removesuffix("_")) or FUNCTIONS.get(name[:-1])
            generic = name.endswith("_") and "kwargs" in inspect.signature(value).parameters
            shown = loaded(name, plain if generic and plain else value)
            yield from definition(name, shown, needed, method=True)


def loaded(name: str, method: Any) -> Any:
    """The function behind a method whose file loads when it is first called."""
    home = getattr(method, "home", None)
    return getattr(home, name, None) or getattr(home, name.removesuffix("_"), method)


def stripped(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements without what a stub leaves out: values and bodies of functions."""
    for node in body:
        if isinstance(node, ast.FunctionDef):
            node.body = [ast.Expr(ast.Constant(...))]
            yield node
        elif isinstance(node, ast.ClassDef):
            node.body = [*slots(node), *stripped(node.body)]
            yield node
        elif isinstance(node, ast.AnnAssign):
            node.value = None
            yield node
        elif isinstance(node, ast.Import | ast.ImportFrom | ast.If):
            yield node
        elif isinstance(node, ast.Assign) and not ast.unparse(node).startswith("__slots__"):
            yield ast.parse(f"{ast.unparse(node.targets[0])}: Any").body[0]


def slots(kind: ast.ClassDef) -> Iterator[ast.stmt]:
    """The attributes that a class names in its slots and says no more about."""
    said = {ast.unparse(x.target) for x in kind.body if isinstance(x, ast.AnnAssign)}
    for node in kind.body:
        if isinstance(node, ast.Assign) and ast.unparse(node).startswith("__slots__"):
            for name in ast.literal_eval(node.value):
                if name not in said and not name.startswith("__"):
                    yield ast.parse(f"{name}: Any").body[0]


class Qualified(ast.NodeTransformer):
    """Names of builtin types are said in full: methods of Tensor are called so too."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """A name of a type that a method hides."""
        return ast.Name(f"_{node.id}") if node.id in HIDDEN else node


def tensor_stub() -> str:
    """gnomon/tensor/tensor.pyi: the file's own names, and the class with all its methods."""
    tree = ast.parse((PACKAGE / "tensor" / "tensor.py").read_text(encoding="utf-8"))
    body = list(stripped(tree.body))
    (kind,) = (x for x in body if isinstance(x, ast.ClassDef) and x.name == "Tensor")
    known = {getattr(x, "name", "") for x in kind.body} | {"__dict__", "__weakref__"}
    needed: set[tuple[str, str]] = set()
    found = list(methods(known, needed))
    lines: list[str] = []
    for node in body:
        lines.append(ast.unparse(Qualified().visit(node)))
        if node is kind:
            lines += [f"    {line}" for line in found]
    future, *rest = lines
    needed.discard(("gnomon.tensor.tensor", "Tensor"))
    head = [future, BUILTINS + imports(needed), OTHER_NAMES]
    return HEAD.format("What tensor.py holds") + "\n".join([*head, *rest, ""])


# packages and modules


def imports(needed: set[tuple[str, str]]) -> str:
    """Import statements, one per name."""
    return "\n".join(f"from {module} import {name}" for module, name in sorted(needed))


def public() -> Iterator[tuple[str, Any]]:
    """The names that users see in gnomon, and what they are."""
    for name in dir(gnomon):
        listed = name in gnomon.__all__ or name == "__array_namespace_info__"
        if listed or (name in gnomon._LATE and is_there(name)):
            yield name, getattr(gnomon, name)


def is_there(part: str) -> bool:
    """Whether a part of the package exists yet."""
    places = (f"{part}/__init__.py", f"{part}.py", f"tensor/{part}.py")
    return any((PACKAGE / place).exists() for place in places)


def is_found(name: str, function: Callable) -> bool:
    """Whether a function can be imported from where it says that it was made."""
    home = sys.modules.get(function.__module__)
    generated = home in (gnomon, functional, linalg, special) or "." in function.__qualname__
    return not generated and getattr(home, function.__name__, None) is function


def entry(name: str, value: Any, needed: set[tuple[str, str]]) -> list[str]:
    """The lines about one public name."""
    if isinstance(value, ModuleType):
        parent, _, last = value.__name__.rpartition(".")
        return [f"from {parent} import {last} as {name}"]
    if inspect.isfunction(value) and not is_found(name, value):
        return definition(name, value, needed)
    if inspect.isclass(value) and value.__module__ == "gnomon.nn":
        return settings_of(value, needed)
    if isinstance(value, DType):
        return [f"{name}: {written(DType, needed)}"]
    if inspect.isfunction(value) or inspect.isclass(value):
        return [f"from {value.__module__} import {value.__name__} as {name}"]
    return [f"{name}: {written(type(value), needed)}"]


def stub(of: str, offered: Iterable[tuple[str, Any]], more: list[str]) -> str:
    """A file of public names."""
    needed: set[tuple[str, str]] = set()
    offered = list(offered)
    lines = [line for name, value in offered for line in entry(name, value, needed)]
    if any(line.startswith("@dataclass") for line in more):
        needed.add(("dataclasses", "dataclass"))
    # what is imported to be offered, or defined here, is not imported a second time
    known = {name for name, _ in offered}
    needed = {(home, name) for home, name in needed if name not in known and home != of}
    head = [BUILTINS + imports(needed), OTHER_NAMES]
    return HEAD.format(f"What {of} offers") + "\n".join([*head, *lines, *more, ""])


COMPILE = """from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar, overload
from gnomon.capture.jit import Compiled
from gnomon.nn.module import Module
_P = ParamSpec("_P")
_R = TypeVar("_R")
_M = TypeVar("_M", bound=Module)
class _Compiled(Compiled, Generic[_P, _R]):
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
@overload
def compile(function: _M, /, **options: Any) -> _M: ...
@overload
def compile(function: Callable[_P, _R], /, **options: Any) -> _Compiled[_P, _R]: ...
@overload
def compile(
    function: None = ..., /, **options: Any
) -> Callable[[Callable[_P, _R]], _Compiled[_P, _R]]: ...
"""
"""A compiled function has the signature of the function, and a compiled module is that module."""


def package_stub() -> str:
    """gnomon/__init__.pyi: every public name."""
    more = [*COMPILE.splitlines(), "__version__: str", "__array_api_version__: str"]
    return stub("gnomon", ((k, x) for k, x in public() if k != "compile"), more)


def modules() -> Iterator[tuple[str, Any]]:
    """The classes and parts of gnomon.nn."""
    for name, value in sorted(vars(nn).items()):
        is_part = isinstance(value, ModuleType) and name in ("functional", "init", "utils")
        if is_part or (inspect.isclass(value) and value.__name__ == name and is_ours(value)):
            yield name, value


def is_ours(kind: type) -> bool:
    """Whether a class is of gnomon.nn and offered there."""
    return kind.__module__.startswith("gnomon.nn") and kind is not SettingsModule


def classes() -> list[str]:
    """The classes that gnomon.nn.functional defines."""
    tree = ast.parse(Path(functional.__file__).read_text(encoding="utf-8"))
    own = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return [ast.unparse(Qualified().visit(node)) for node in own]


def functions() -> Iterator[tuple[str, Any]]:
    """The functions of gnomon.nn.functional."""
    for name, value in sorted(vars(functional).items()):
        if inspect.isfunction(value) and not name.startswith("_") and name not in INNER:
            yield name, value


def offered_by(part: ModuleType) -> Iterator[tuple[str, Any]]:
    """What a module lists."""
    for name in part.__all__:
        yield name, getattr(part, name)


INNER = (
    "alpha_dropped",
    "apply",
    "follow",
    "implicit_axis",
    "with_indices",
    "write_result",
    "writer",
)
"""Functions of functional.py that are not of PyTorch's names."""


def settings_of(kind: type, needed: set[tuple[str, str]]) -> list[str]:
    """A class that calls one function with settings: its constructor's arguments."""
    needed |= {("gnomon.nn.module", "Module"), ("typing", "Any")}
    takes = "".join(
        f", {name}: Any" + ("" if kind.SETTINGS.get(name) is REQUIRED else " = ...")
        for name in kind.ORDER or kind.SETTINGS
    )
    told = inspect.getdoc(kind).splitlines()[0]
    start = f"    def __init__(self{takes}) -> None: ..."
    return [f"class {kind.__name__}(Module):", f'    """{told}"""', start]


def distributions_stub() -> str:
    """gnomon/distributions/__init__.pyi: where each name lies."""
    homes = {
        name: getattr(value, "__module__", None)
        for name, value in sorted(vars(distributions).items())
        if name in distributions.__all__
    }
    told = {name: home or NAMED_BY[name] for name, home in homes.items()} | NAMED_BY
    lines = [f"from {home} import {name} as {name}" for name, home in sorted(told.items())]
    return "\n".join([f'"""{distributions.__doc__}"""', "", *lines, ""])


NAMED_BY = {
    "biject_to": "gnomon.distributions.constraint_registry",
    "constraints": "gnomon.distributions",
    "identity_transform": "gnomon.distributions.transform",
    "transform_to": "gnomon.distributions.constraint_registry",
}
"""Where the names lie that are no classes and functions."""
STUBS: dict[str, Callable[[], str]] = {
    "__init__.pyi": package_stub,
    "distributions/__init__.pyi": distributions_stub,
    "nn/__init__.pyi": lambda: stub("gnomon.nn", modules(), []),
    "nn/functional.pyi": lambda: stub("gnomon.nn.functional", functions(), classes()),
    "tensor/linalg.pyi": lambda: stub("gnomon.tensor.linalg", offered_by(linalg), []),
    "tensor/special.pyi": lambda: stub("gnomon.tensor.special", offered_by(special), []),
    "tensor/tensor.pyi": tensor_stub,
}


def main() -> None:
    """Write both files."""
    texts = {path: text() for path, text in STUBS.items()}
    for path, text in texts.items():
        (PACKAGE / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
