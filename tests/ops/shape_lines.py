"""The `Shapes:` line of an operation: its grammar, and whether a call's shapes fit it.

Not a test; test_every_op.py reads every line with it. docs/adding-an-op.md tells the grammar.
"""

from __future__ import annotations

import builtins
import inspect
import math
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.ops.registry import OPS

PLAIN = ["sum", "min", "max", "abs", "len", "sorted"]
WORDS = {"prod": math.prod, **{name: getattr(builtins, name) for name in PLAIN}}
"""What an expression may call."""
Known = dict[str, Any]


def each(work: Callable[[int, int], int], turned: bool = False) -> Callable[[Sizes, Any], Sizes]:
    """A method that works number by number; a single number stands beside each."""

    def method(self: Sizes, other: Any) -> Sizes:
        others = other if isinstance(other, tuple | list) else (other,) * len(self)
        pairs = zip(others, self, strict=True) if turned else zip(self, others, strict=True)
        return Sizes(work(a, b) for a, b in pairs)

    return method


class Sizes(tuple):
    """Several sizes; arithmetic works on each."""

    __add__, __radd__ = each(operator.add), each(operator.add, True)
    __sub__, __rsub__ = each(operator.sub), each(operator.sub, True)
    __mul__, __rmul__ = each(operator.mul), each(operator.mul, True)
    __floordiv__ = each(operator.floordiv)

    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        return Sizes(found) if isinstance(place, slice) else found


@dataclass(frozen=True)
class Form:
    """One way to call an operation: axes of arguments and results, when, and which laws hold."""

    given: dict[str, list[str]]
    results: list[list[str]]
    condition: str
    laws: list[str]

    def letters(self) -> tuple[set[str], set[str]]:
        """The names in the results, and those that something else says the size of."""
        said = names_in(" ".join([*(w for axes in self.given.values() for w in axes), *self.laws]))
        return names_in(" ".join(w for axes in self.results for w in axes)), said


def names_in(text: str) -> set[str]:
    """The names of sizes; functions and words of Python are none."""
    return set(re.findall(r"[a-z]\w*", text)) - WORDS.keys() - {"without", "axis", "if", "else"}


def said_of_shapes(name: str) -> str:
    """The line of an operation."""
    return said_in(OPS[name].__doc__)


def said_in(documentation: str | None) -> str:
    """The text after `Shapes:`, up to the next blank line."""
    found = re.search(r"Shapes: (.*?)(\n *\n|$)", (documentation or "").strip(), re.DOTALL)
    return " ".join(found[1].split()) if found else ""


def forms(name: str) -> list[Form]:
    """The ways to call an operation, in the order of its line."""
    return forms_in(said_of_shapes(name))


def forms_in(line: str) -> list[Form]:
    """The ways to call what a line tells of, in its order."""
    parts = [part.strip() for part in line.split(";")]
    laws = [part for part in parts if "->" not in part]
    return [form for part in parts if "->" in part for form in branches(part, laws)]


def branches(part: str, laws: list[str]) -> Iterator[Form]:
    """`given -> results`, or one form for each side of `results if condition else results`."""
    given, results = part.split(" -> ")
    arguments = {word: split(axes) for word, axes in named(given)}
    found = re.fullmatch(r"(.*?) if (.*?)(?: else (.*))?", results)
    if not found:
        yield Form(arguments, list(lists(results)), "True", laws)
        return
    yield Form(arguments, list(lists(found[1])), found[2], laws)
    if found[3]:
        yield Form(arguments, list(lists(found[3])), f"not ({found[2]})", laws)


def lists(text: str) -> Iterator[list[str]]:
    """Axes in parentheses, one list for each result."""
    return (split(part) for part in pieces(text))


def named(text: str) -> Iterator[tuple[str, str]]:
    """Arguments and their axes."""
    for part in pieces(text):
        word, _, axes = part.partition(" ")
        yield word, axes


def pieces(text: str) -> list[str]:
    """A text cut at the commas outside parentheses."""
    cut, depth = [""], 0
    for character in text:
        depth += (character in "([") - (character in ")]")
        if character == "," and not depth:
            cut.append("")
        else:
            cut[-1] += character
    return [part.strip() for part in cut if part.strip()]


def split(axes: str) -> list[str]:
    """The axes between parentheses."""
    return pieces(axes.strip()[1:-1])


def holds(form: Form, arguments: Known, results: Sequence[tuple[int, ...]]) -> bool:
    """Whether a call's shapes fit a form: some binding of its letters makes all of it true."""
    start = {word: value for word, value in arguments.items() if sizes(value) is not None}
    shapes = [
        (axes, shape, number)
        for word, axes in form.given.items()
        for number, shape in enumerate(shapes_of(arguments[word]))
    ]
    axes = form.results if len(form.results) > 1 else form.results * len(results)
    if len(axes) != len(results) or not condition(form, arguments):
        return False
    found: Iterator[Known] = iter([{"%call": arguments}])
    for words, shape, number in shapes:
        found = chained(found, words, shape, start, number, False)
    for number, (words, shape) in enumerate(zip(axes, results, strict=True)):
        found = chained(found, words, shape, start, number, True)
    return any(lawful(form.laws, known, start) for known in found)


def condition(form: Form, arguments: Known) -> bool:
    """Whether a form is meant for this call."""
    return bool(eval(form.condition, {"__builtins__": {}}, {**WORDS, **arguments}))


def shapes_of(value: Any) -> list[tuple[int, ...]]:
    """The shapes of the tensors in an argument."""
    if isinstance(value, np.ndarray):
        return [value.shape]
    return (
        [v.shape for v in value if v is not None and hasattr(v, "shape")] if listed(value) else []
    )


def listed(value: Any) -> bool:
    """Whether a value holds others."""
    return isinstance(value, list | tuple)


def sizes(value: Any) -> Any:
    """A parameter as a size or several; None when it is neither."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    whole = listed(value) and value and all(v is None or isinstance(v, int) for v in value)
    return Sizes(value) if whole else None


def chained(
    found: Iterator[Known], words: list, shape: tuple, start: Known, number: int, last: bool
) -> Iterator[Known]:
    """Every binding that one more shape allows: the number-th of its argument."""
    for known in found:
        yield from fits(words, shape, known | {"%k": number}, start, last)


def fits(words: list[str], shape: tuple, known: Known, start: Known, last: bool) -> Iterator[Known]:
    """Bindings under which axes have these sizes; `last` where the shape is a result's."""
    if not words:
        yield from () if shape else (known,)
        return
    word, rest = words[0], words[1:]
    if word == "..." or word.startswith("*"):
        for count in range(len(shape) + 1):
            if (more := run(word, shape[:count], known, start, last)) is not None and right_place(
                words, count, len(shape), known
            ):
                yield from fits(rest, shape[count:], more, start, last)
    elif shape and (more := one(word, shape[0], known, start)) is not None:
        yield from fits(rest, shape[1:], more, start, last)


def right_place(words: list[str], before: int, rank: int, known: Known) -> bool:
    """In (*a, n, *b), whether n stands at the call's axis."""
    axis = known["%call"].get("axis", known["%call"].get("dim"))
    middle = len(words) == 3 and words[2][0] == "*" and words[1][0] not in ".*"
    return not middle or not isinstance(axis, int) or before == axis % rank


def run(word: str, own: tuple, known: Known, start: Known, last: bool) -> Known | None:
    """The binding with a run of axes, or None."""
    if word == "...":
        before = known.get("...", own if last else ())
        try:
            both = np.broadcast_shapes(before, own)
        except ValueError:
            return None
        return None if last and own != before else known | {"...": both}
    name = word[1:].removesuffix(" without axis")
    if word.endswith(" without axis"):
        return known if own == without(known[name], known["%call"]) else None
    wanted = known.get(name, sizes(start.get(name)))
    if wanted is None:
        return known | {name: own}
    wanted = (wanted,) * len(own) if isinstance(wanted, int) else wanted
    same = len(wanted) == len(own) and all(
        w in (-1, None, n) for w, n in zip(wanted, own, strict=True)
    )
    return known if same else None


def without(shape: tuple, arguments: Known) -> tuple[int, ...]:
    """A shape without the axes that a call folds, or with size 1 there."""
    axis = arguments.get("axis")
    if axis is None or isinstance(axis, bool):
        axis = range(len(shape))
    axes = [axis] if isinstance(axis, int) else axis
    gone = {k % len(shape) for k in axes}
    if arguments.get("keepdims"):
        return tuple(1 if k in gone else n for k, n in enumerate(shape))
    return tuple(n for k, n in enumerate(shape) if k not in gone)


def one(word: str, size: int, known: Known, start: Known) -> Known | None:
    """The binding with one axis, or None. n_k is another size in each tensor."""
    if word.isdigit():
        return known if int(word) == size else None
    if not word.isidentifier():
        return known | {"%later": (*known.get("%later", ()), (word, size))}
    if word.endswith("_k"):
        before, number = known.get(word, Sizes()), known["%k"]
        if number < len(before):
            return known if before[number] == size else None
        return known | {word: Sizes((*before, size))}
    wanted = sizes(start.get(word))
    wanted = known.get(word) if wanted is None else wanted
    return known | {word: size} if wanted is None else known if wanted == size else None


def lawful(laws: list[str], known: Known, start: Known) -> bool:
    """Whether laws and expressions hold under a binding; `a = b` gives an unbound a its sizes."""
    bound = {k: Sizes(v) if listed(v) else v for k, v in known.items() if k[0] != "%"}
    scope = WORDS | known["%call"] | {k: sizes(v) for k, v in start.items()} | bound
    for law in laws:
        name, says, value = law.partition(" = ")
        if not names_in(value or law) <= scope.keys():
            continue  # of another form
        found = worked_out(value or law, scope)
        if says and name not in scope:
            scope[name] = found if listed(found) else Sizes((found,) * len(scope["s"]))
        elif not (same(found, scope[name]) if says else found):
            return False
    return all(worked_out(word, scope) == size for word, size in known.get("%later", ()))


def same(found: Any, wanted: Any) -> bool:
    """Whether sizes are those wanted, or each of them is."""
    return found == wanted or (listed(wanted) and not listed(found) and set(wanted) <= {found})


def worked_out(text: str, scope: Known) -> Any:
    """The value of an expression; None where it is about another kind of call."""
    try:
        return eval(text, {"__builtins__": {}}, scope)
    except TypeError:
        return None


def called_with(name: str, args: tuple, kwargs: Known) -> Known:
    """A call's arguments by name, defaults too, and `*more` joined to the parameter before."""
    bound = inspect.signature(OPS[name].function).bind(*args, **kwargs)
    bound.apply_defaults()
    said = dict(bound.arguments)
    if more := said.pop("more", ()):
        word = list(said)[-1]
        said[word] = (said[word], *more)
    return said
