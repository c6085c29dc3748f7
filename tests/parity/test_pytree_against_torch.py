"""Trees come apart, are written and are refused as PyTorch's do."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

from gnomon.utils import pytree as ours

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")
theirs = pytest.importorskip("torch.utils._pytree")
pytestmark = pytest.mark.parity

Point = namedtuple("Point", ["x", "y"])


def drawn(rng, depth: int = 4):
    """A tree of numbers, texts and None."""
    kind = rng.integers(0, 9 if depth else 2)
    if kind < 2:
        return [int(rng.integers(9)), None, "text", 2.5][rng.integers(4)]
    parts = [drawn(rng, depth - 1) for _ in range(2 if kind == 8 else rng.integers(0, 4))]
    names = [f"n{k}" for k in rng.permutation(len(parts))]
    return [
        lambda: tuple(parts),
        lambda: parts,
        lambda: dict(zip(names, parts, strict=True)),
        lambda: OrderedDict(zip(names, parts, strict=True)),
        lambda: defaultdict(list, zip(names, parts, strict=True)),
        lambda: deque(parts, maxlen=int(rng.integers(4, 9))),
        lambda: Point(*parts),
    ][kind - 2]()


def outcome(call):
    """What a call gives, or the kind of its error."""
    try:
        return call()
    except ValueError:
        return "refused"


@pytest.mark.parametrize("number", range(200))
def test_a_drawn_tree(rng, number: int):
    tree, other = drawn(rng), drawn(rng)
    (leaves, spec), (wanted, told) = ours.tree_flatten(tree), theirs.tree_flatten(tree)

    assert leaves == wanted
    assert repr(spec) == repr(told)
    assert ours.treespec_pprint(spec) == theirs.treespec_pprint(told)
    for name in ("num_nodes", "num_leaves", "num_children", "type", "context"):
        assert getattr(spec, name) == getattr(told, name), name
    assert str(ours.tree_leaves_with_path(tree)) == str(theirs.tree_leaves_with_path(tree))
    assert outcome(lambda: spec.flatten_up_to(other)) == outcome(lambda: told.flatten_up_to(other))
    held = "Point" not in repr(spec)
    if held:
        text = ours.treespec_dumps(spec)
        assert text == theirs.treespec_dumps(told)
        assert theirs.treespec_loads(text) == told
    mine, its = (x.tree_map(lambda a, b: (a, b), tree, tree) for x in (ours, theirs))
    assert mine == its
    prefix = ours._broadcast_to_and_flatten(other, spec)
    assert prefix == theirs._broadcast_to_and_flatten(other, told)
