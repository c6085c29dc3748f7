"""Container classes in trees: how each is flattened, rebuilt and serialized.

walks.py traverses trees.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from pkgutil import resolve_name
from typing import Any, NamedTuple

from gnomon.errors import ArgumentError, DtypeError

__all__ = [
    *("ConstantNode", "Context", "DICTS", "GetAttrKey", "MappingKey", "NodeDef"),
    *("SUPPORTED_NODES", "SequenceKey", "WRITTEN", "is_namedtuple", "is_namedtuple_class"),
    *("is_namedtuple_instance", "is_structseq", "is_structseq_class", "is_structseq_instance"),
    *("key_get", "keystr", "register_constant", "register_dataclass", "register_pytree_node"),
]

Context = Any


# keys: the place of a part in its container


@dataclasses.dataclass(frozen=True, slots=True)
class SequenceKey:
    """The index of a child in a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """The sequence's element at this index."""
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True, slots=True)
class MappingKey:
    """The key of a child in a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """The mapping's value under this key."""
        return mapping[self.key]


@dataclasses.dataclass(frozen=True, slots=True)
class GetAttrKey:
    """The attribute name of a child in an object."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """The object's attribute of this name."""
        return getattr(obj, self.name)


def keystr(kp: Iterable[Any]) -> str:
    """A path of keys as Python code, such as ['a'][0]."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: Iterable[Any]) -> Any:
    """The value at a path of keys in a tree."""
    for key in kp:
        obj = key.get(obj)
    return obj


# containers


class NodeDef(NamedTuple):
    """A container class: how it is flattened and rebuilt."""

    type: Any
    flatten_fn: Callable[[Any], tuple[list, Context]]
    unflatten_fn: Callable[[Iterable, Context], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[list, Context]] | None = None


class TextForm(NamedTuple):
    """A container class's name in serialized trees, and how its context is written and read."""

    name: str
    dump: Callable[[Context], Any] | None = None
    load: Callable[[Any], Context] | None = None


SUPPORTED_NODES: dict[Any, NodeDef] = {}
WRITTEN: dict[Any, TextForm] = {}


def register_pytree_node(
    cls: Any, flatten_fn: Callable, unflatten_fn: Callable, **how: Any
) -> None:
    """Register a class as a container in all trees.

    flatten_fn returns a list of children and a context, of any type; unflatten_fn makes an object
    of children and a context. how: flatten_with_keys_fn, whose children are (key, child);
    serialized_type_name, to_dumpable_context and from_dumpable_context, for treespec_dumps.

    Errors: ArgumentError if the class is a container already.
    """
    if cls in SUPPORTED_NODES:
        raise ArgumentError(f"register_pytree_node: {cls} is already registered. Register it once.")
    _private_register_pytree_node(cls, flatten_fn, unflatten_fn, **how)


def _register_pytree_node(cls: Any, *how: Any, **named: Any) -> None:
    """Register a container class as older PyTorch did, replacing an earlier registration."""
    if cls in SUPPORTED_NODES:
        warnings.warn(f"{cls} is already registered as a container.", stacklevel=2)
    _private_register_pytree_node(cls, *how[:2], **named)


def _private_register_pytree_node(
    cls: Any,
    flatten_fn: Callable,
    unflatten_fn: Callable,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable | None = None,
    from_dumpable_context: Callable | None = None,
    flatten_with_keys_fn: Callable | None = None,
) -> None:
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ArgumentError(
            f"register_pytree_node: {cls}: one of to_dumpable_context and from_dumpable_context. "
            "Give both, or neither."
        )
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    WRITTEN[cls] = TextForm(serialized_type_name or "", to_dumpable_context, from_dumpable_context)


def with_keys(flatten_fn: Callable, keys: Callable[[Any], Iterable]) -> Callable:
    """Make a function that flattens a container to pairs of key and child."""

    def flatten_with_keys(value: Any) -> tuple[list, Context]:
        parts, context = flatten_fn(value)
        return list(zip(keys(value), parts, strict=True)), context

    return flatten_with_keys


def index_keys(value: Any) -> list[SequenceKey]:
    """The keys of a sequence's children."""
    return [SequenceKey(k) for k in range(len(value))]


def map_keys(value: Any) -> list[MappingKey]:
    """The keys of a mapping's children."""
    return list(map(MappingKey, value))


def field_keys(value: Any) -> list[GetAttrKey]:
    """The keys of a named tuple's children."""
    return list(map(GetAttrKey, value._fields))


def _dict_flatten(d: dict) -> tuple[list, list]:
    return list(d.values()), list(d.keys())


def _dict_unflatten(values: Iterable, context: Iterable) -> dict:
    return dict(zip(context, values, strict=True))


def _list_flatten(d: list) -> tuple[list, None]:
    return list(d), None


def _list_unflatten(values: Iterable, context: Context) -> list:
    return list(values)


def _namedtuple_flatten(d: Any) -> tuple[list, type]:
    return list(d), type(d)


def _defaultdict_flatten(d: defaultdict) -> tuple[list, list]:
    return list(d.values()), [d.default_factory, list(d)]


def _defaultdict_unflatten(values: Iterable, context: Any) -> defaultdict:
    return defaultdict(context[0], zip(context[1], values, strict=True))


def factory_written(context: Any) -> dict[str, Any]:
    """Convert a defaultdict's context to JSON data."""
    factory, keys = context
    return {
        "default_factory_module": factory.__module__,
        "default_factory_name": factory.__qualname__,
        "dict_context": keys,
    }


def factory_read(schema: dict[str, Any]) -> list:
    """Convert JSON data to a defaultdict's context."""
    factory = "{default_factory_module}:{default_factory_name}".format_map(schema)
    return [resolve_name(factory), schema["dict_context"]]


def tuple_written(kind: type) -> str:
    """The serialized name of a named tuple class."""
    found = WRITTEN.get(kind)
    if found is None or not found.name:
        raise NotImplementedError(
            f"treespec_dumps: {kind} has no name in texts. Use _register_namedtuple first."
        )
    return found.name


def tuple_read(name: str) -> Any:
    """The named tuple class of a serialized name."""
    return next(kind for kind, found in WRITTEN.items() if found.name == name)


OWN: tuple[tuple[Any, Callable, Callable, Callable], ...] = (
    (tuple, _list_flatten, lambda values, _: tuple(values), index_keys),
    (list, _list_flatten, _list_unflatten, index_keys),
    (dict, _dict_flatten, _dict_unflatten, map_keys),
    (OrderedDict, _dict_flatten, lambda v, keys: OrderedDict(zip(keys, v, strict=True)), map_keys),
    (deque, lambda d: (list(d), d.maxlen), lambda v, most: deque(v, maxlen=most), index_keys),
    (defaultdict, _defaultdict_flatten, _defaultdict_unflatten, map_keys),
    (namedtuple, _namedtuple_flatten, lambda values, kind: kind(*values), field_keys),
)
TEXTS = {
    defaultdict: (factory_written, factory_read),
    namedtuple: (tuple_written, tuple_read),
}
"""Functions that convert contexts to JSON data and back, by class."""
DICTS = (dict, OrderedDict, defaultdict)
"""Dictionary classes that flatten_up_to treats as equal."""


for _kind, _flatten, _unflatten, _keys in OWN:
    _dump, _load = TEXTS.get(_kind, (None, None))
    register_pytree_node(
        _kind,
        _flatten,
        _unflatten,
        serialized_type_name=f"{'collections' if _kind is namedtuple else _kind.__module__}."
        f"{_kind.__name__}",
        to_dumpable_context=_dump,
        from_dumpable_context=_load,
        flatten_with_keys_fn=with_keys(_flatten, _keys),
    )


def _register_namedtuple(cls: Any, *, serialized_type_name: str) -> None:
    """Register the serialized name of a named tuple class."""
    WRITTEN[cls] = TextForm(serialized_type_name, tuple_written, tuple_read)


# classes of programs


def register_dataclass(
    cls: type,
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Register a dataclass as a container of its fields; fields that are None are not leaves."""
    is_data, dropped = dataclasses.is_dataclass(cls), set(drop_field_names or ())
    if not is_data and field_names is None:
        raise ArgumentError(
            f"register_dataclass: {cls} is no dataclass. Say its fields in field_names."
        )
    own = [x.name for x in dataclasses.fields(cls) if x.init] if is_data else field_names or []
    names = own if field_names is None else field_names
    if is_data and field_names is not None and {*own} - dropped != {*names}:
        raise ArgumentError(
            f"register_dataclass: the fields of {cls} are {own}: got field_names {names} and "
            f"drop_field_names {sorted(dropped)}. Name each in one of them."
        )

    def parts_of(value: Any) -> tuple[list, list]:
        held = {name: getattr(value, name) for name in names}
        there = [name for name, part in held.items() if part is not None]
        return [held[x] for x in there], [there, [x for x in names if x not in there]]

    def made_of(parts: Iterable, context: Any) -> Any:
        there, absent = context
        return cls(**dict(zip(there, parts, strict=True)), **dict.fromkeys(absent))

    def keys(value: Any) -> list[GetAttrKey]:
        return [GetAttrKey(x) for x in parts_of(value)[1][0]]

    _private_register_pytree_node(
        cls,
        parts_of,
        made_of,
        serialized_type_name=serialized_type_name,
        flatten_with_keys_fn=with_keys(parts_of, keys),
    )


@dataclasses.dataclass(frozen=True, slots=True)
class ConstantNode:
    """The context of a registered constant: the object itself."""

    value: Any


def register_constant(cls: type) -> None:
    """Register a class whose objects are part of the structure and have no leaves.

    Errors: DtypeError if objects of the class are not compared by value.
    """
    if cls.__eq__ is object.__eq__ or cls.__hash__ is None:
        raise DtypeError(
            f"register_constant: {cls} has no __eq__ and __hash__ of its own. Define both."
        )

    def parts_of(value: Any) -> tuple[list, ConstantNode]:
        return [], ConstantNode(value)

    _private_register_pytree_node(
        cls, parts_of, lambda _, context: context.value, flatten_with_keys_fn=parts_of
    )


# tuples with names


def is_namedtuple_class(cls: Any) -> bool:
    """Whether a value is a named tuple class."""
    names = getattr(cls, "_fields", None)
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and isinstance(names, tuple)
        and all(type(name) is str for name in names)
        and callable(getattr(cls, "_make", None))
        and callable(getattr(cls, "_asdict", None))
    )


def is_namedtuple_instance(obj: Any) -> bool:
    """Whether an object is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: Any) -> bool:
    """Whether a value is a named tuple or a named tuple class."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls: Any) -> bool:
    """Whether a value is a struct sequence class, such as time.struct_time."""
    counts = ("n_fields", "n_sequence_fields", "n_unnamed_fields")
    return (
        isinstance(cls, type)
        and cls.__bases__ == (tuple,)
        and all(isinstance(getattr(cls, name, None), int) for name in counts)
    )


def is_structseq_instance(obj: Any) -> bool:
    """Whether a value is a struct sequence."""
    return is_structseq_class(type(obj))


def is_structseq(obj: Any) -> bool:
    """Whether a value is a struct sequence or a class of them."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))
