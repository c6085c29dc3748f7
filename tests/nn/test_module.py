"""Module: names in order, state by path, hooks, modes, copies, casts."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.errors import GradientError


class Block(nn.Module):
    """A module of every kind of member."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", gn.zeros((), dtype=gn.int64))
        self.register_buffer("mask", gn.ones(2), persistent=False)
        self.inner = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2, bias=False))
        self.scale = nn.Parameter(gn.ones(2))
        self.rest = None

    def forward(self, x: gn.Tensor) -> gn.Tensor:
        """Counted, mixed, scaled."""
        self.seen += 1
        return self.inner(x) * self.scale


PARAMETERS = ["scale", "inner.0.weight", "inner.0.bias", "inner.2.weight"]


def test_names_come_depth_first_and_a_modules_own_before_its_parts():
    block = Block()

    assert [name for name, _ in block.named_parameters()] == PARAMETERS
    assert [name for name, _ in block.named_parameters("m")] == [f"m.{n}" for n in PARAMETERS]
    assert [name for name, _ in block.named_parameters(recurse=False)] == ["scale"]
    assert list(block.state_dict()) == ["scale", "seen", *PARAMETERS[1:]]
    assert [name for name, _ in block.named_buffers()] == ["seen", "mask"]
    assert [name for name, _ in block.named_modules()] == [
        "",
        "inner",
        *["inner." + k for k in "012"],
    ]
    assert [name for name, _ in block.named_children()] == ["inner"]


def test_a_shared_parameter_is_listed_once_and_saved_under_both_names():
    model = nn.ModuleDict({"tokens": nn.Embedding(5, 3), "head": nn.Linear(3, 5)})

    model["head"].weight = model["tokens"].weight

    assert [name for name, _ in model.named_parameters()] == ["tokens.weight", "head.bias"]
    both = model.named_parameters(remove_duplicate=False)
    assert [name for name, _ in both] == ["tokens.weight", "head.weight", "head.bias"]
    assert list(model.state_dict()) == ["tokens.weight", "head.weight", "head.bias"]
    again = copy.deepcopy(model)
    assert again["head"].weight is again["tokens"].weight


def test_assignments_say_what_fits():
    block = Block()

    block.rest = nn.Linear(2, 2)
    block.scale = None

    assert "rest.weight" in block.state_dict()
    assert block.scale is None
    assert "scale" not in block.state_dict()
    with pytest.raises(TypeError, match="cannot assign 'int' as parameter 'scale'"):
        block.scale = 3
    with pytest.raises(AttributeError, match="'Block' object has no attribute 'nothing'"):
        _ = block.nothing
    with pytest.raises(KeyError, match="a name can"):
        block.register_buffer("a.b", None)
    del block.rest
    assert not hasattr(block, "rest")


def test_members_need_the_constructor_of_module_first():
    class Early(nn.Module):
        def __init__(self) -> None:
            self.weight = nn.Parameter(gn.ones(1))

    with pytest.raises(AttributeError, match=r"before Module.__init__\(\) call"):
        Early()


def test_the_mode_reaches_all_parts():
    block = Block().eval()

    assert [module.training for module in block.modules()] == [False] * 5
    assert block.train().inner[1].training


def test_a_cast_keeps_parameters_themselves_and_leaves_integers():
    block = Block()
    before = dict(block.named_parameters())
    block.scale.grad = gn.ones(2)

    block.to(gn.float64)

    assert all(value is before[name] for name, value in block.named_parameters())
    assert {p.dtype for p in block.parameters()} == {gn.float64}
    assert block.scale.grad.dtype is gn.float64
    assert (block.seen.dtype, block.mask.dtype) == (gn.int64, gn.float64)
    assert block.half().scale.dtype is gn.float16
    assert all(p.is_leaf and p.requires_grad for p in block.parameters())


def test_gradients_reach_parameters_before_and_after_a_cast_that_changes_nothing():
    block = Block().to(gn.float32)

    block(gn.ones(4, 2)).sum().backward()

    assert all(p.grad is not None for p in block.parameters())
    block.zero_grad()
    assert all(p.grad is None for p in block.parameters())


def test_hooks_see_inputs_and_outputs_and_may_change_them():
    layer, seen = nn.Linear(2, 2), []
    handles = [
        layer.register_forward_pre_hook(lambda module, inputs: (inputs[0] * 2,)),
        layer.register_forward_hook(lambda module, inputs, output: seen.append(output.shape)),
        layer.register_forward_hook(lambda module, inputs, output: output * 0),
        layer.register_full_backward_hook(lambda module, _, given: seen.append(given[0].shape)),
    ]

    layer(gn.ones(3, 2)).sum().backward()
    for handle in handles:
        handle.remove()
    plain = layer(gn.ones(3, 2))

    assert [tuple(shape) for shape in seen] == [(3, 2), (3, 2)]
    np.testing.assert_allclose(
        plain.detach().numpy()[0], (layer.weight.sum(1) + layer.bias).tolist()
    )


def test_functions_are_applied_inside_out():
    names: list[str] = []

    Block().apply(lambda module: names.append(type(module).__name__))

    assert names == ["Linear", "ReLU", "Linear", "Sequential", "Block"]


def test_copies_and_pickles_are_their_own():
    block = Block()
    block.inner[0].weight.requires_grad_(False)

    for twin in (copy.deepcopy(block), pickle.loads(pickle.dumps(block))):
        with gn.no_grad():
            twin.scale.mul_(5.0)

        assert block.scale.tolist() == [1.0, 1.0]
        assert list(twin.state_dict()) == list(block.state_dict())
        assert not twin.inner[0].weight.requires_grad
        assert isinstance(twin.scale, nn.Parameter)


def test_paths_lead_to_members():
    block = Block()

    assert block.get_submodule("inner.2") is block.inner[2]
    assert block.get_parameter("inner.0.bias") is block.inner[0].bias
    assert block.get_buffer("seen") is block.seen


def test_a_parameter_over_a_result_is_a_leaf():
    x = gn.ones(3, requires_grad=True)

    made = nn.Parameter(x * 2)

    assert made.is_leaf
    assert made.requires_grad
    (made[1:] * 3).sum().backward()
    assert made.grad.tolist() == [0.0, 3.0, 3.0]
    assert x.grad is None


def test_leaves_are_not_written_in_place():
    with pytest.raises(GradientError, match="leaf Variable"):
        nn.Linear(2, 2).weight.mul_(2)


def test_the_text_of_a_module_shows_its_parts():
    assert repr(nn.Sequential(nn.Linear(2, 3), nn.ReLU())) == (
        "Sequential(\n  (0): Linear(in_features=2, out_features=3, bias=True)\n  (1): ReLU()\n)"
    )


def test_a_module_without_forward_says_so():
    with pytest.raises(NotImplementedError, match='missing the required "forward" function'):
        nn.Module()(1)


def test_hooks_are_listed_as_they_are_under_the_numbers_of_their_handles():
    layer = nn.Linear(2, 2)

    def hook(*_):
        return None

    handles = [
        layer.register_forward_hook(hook, with_kwargs=True),
        layer.register_forward_pre_hook(hook),
        layer.register_full_backward_hook(hook),
        layer.register_full_backward_pre_hook(hook),
    ]
    kept = (layer._forward_hooks, layer._forward_pre_hooks)
    kept += (layer._backward_hooks, layer._backward_pre_hooks)
    assert [hooks[handle.id] for hooks, handle in zip(kept, handles, strict=True)] == [hook] * 4
    for handle in handles:
        handle.remove()
    assert not any(kept)


def test_a_hook_that_is_always_called_is_told_of_a_forward_that_fails():
    seen = []
    layer = nn.Linear(2, 2)
    layer.register_forward_hook(lambda m, x, y: seen.append(y), always_call=True)
    layer.register_forward_hook(lambda m, x, y: seen.append("other"))

    with pytest.raises(gn.errors.ShapeError):
        layer(gn.ones(3))
    assert seen == [None]
    layer(gn.ones(2))
    assert seen[1].shape == (2,)
    assert seen[2] == "other"


def test_a_hook_with_words_may_answer_nothing():
    layer = nn.Linear(2, 2)
    layer.register_forward_pre_hook(lambda m, args, kwargs: None, with_kwargs=True)
    assert layer(gn.ones(2)).shape == (2,)


def test_a_parameter_in_the_place_of_a_buffer_that_is_not_saved_is_saved():
    module = nn.Module()
    module.register_buffer("x", gn.ones(2), persistent=False)

    module.x = nn.Parameter(gn.ones(2))

    assert list(module.state_dict()) == ["x"]


@pytest.mark.parametrize("before", ["attribute", "buffer", "parameter", "module"])
def test_a_name_that_means_something_else_is_not_given_again(before):
    module = nn.Module()
    give = {
        "attribute": lambda: setattr(module, "x", 5),
        "buffer": lambda: module.register_buffer("x", gn.ones(2)),
        "parameter": lambda: module.register_parameter("x", nn.Parameter(gn.ones(2))),
        "module": lambda: module.add_module("x", nn.Identity()),
    }
    give[before]()

    for kind in ("buffer", "parameter", "module"):
        if kind == before:
            give[kind]()
            continue
        with pytest.raises(KeyError, match="already exists"):
            give[kind]()


def test_numbers_of_parts_are_no_names_to_complete():
    found = dir(nn.Sequential(nn.Identity()))

    assert "0" not in found
    assert "training" in found
