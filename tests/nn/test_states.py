"""state_dict and load_state_dict: shared memory, reports, complaints."""

from __future__ import annotations

import copy
from collections import OrderedDict

import pytest

import gnomon as gn
from gnomon import nn
from gnomon.errors import CheckpointError


def test_a_state_shares_the_modules_memory():
    layer = nn.Linear(2, 3)

    state = layer.state_dict()
    with gn.no_grad():
        layer.bias.fill_(7.0)

    assert state["bias"].tolist() == [7.0] * 3
    assert not state["bias"].requires_grad
    assert layer.state_dict(prefix="x.", keep_vars=True)["x.bias"] is layer.bias


def test_loading_copies_and_reports():
    one, two = nn.Linear(2, 3), nn.Linear(2, 3)
    kept = two.weight

    report = two.load_state_dict(one.state_dict())

    assert repr(report) == "<All keys matched successfully>"
    assert two.weight is kept
    assert two.weight.tolist() == one.weight.tolist()
    assert two.weight.requires_grad


def test_keys_that_do_not_fit_are_named():
    layer = nn.Linear(2, 3)
    state = {"weight": gn.ones(3, 2), "wheels": gn.ones(1)}

    with pytest.raises(CheckpointError) as complaint:
        layer.load_state_dict(state)
    report = layer.load_state_dict(state, strict=False)

    assert 'Missing key(s) in state_dict: "bias".' in str(complaint.value)
    assert 'Unexpected key(s) in state_dict: "wheels".' in str(complaint.value)
    assert report.missing_keys == ["bias"]
    assert report.unexpected_keys == ["wheels"]


def test_sizes_that_differ_are_refused_even_when_keys_may_differ():
    with pytest.raises(CheckpointError, match=r"size mismatch for bias: .*\(4,\).*\(3,\)"):
        nn.Linear(2, 3).load_state_dict({"bias": gn.ones(4)}, strict=False)


def test_values_are_assigned_when_that_is_asked():
    layer, weight = nn.Linear(2, 3), gn.ones(3, 2, dtype=gn.float64)

    layer.load_state_dict({"weight": weight, "bias": gn.zeros(3)}, assign=True)

    assert layer.weight.dtype is gn.float64
    assert isinstance(layer.weight, nn.Parameter)


def test_running_statistics_are_saved_and_loaded():
    one, two = nn.BatchNorm1d(2), nn.BatchNorm1d(2)
    one(gn.tensor([[1.0, 2.0], [3.0, 6.0]]))

    two.load_state_dict(one.state_dict())

    names = ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"]
    assert list(one.state_dict()) == names
    assert two.running_mean.tolist() == pytest.approx([0.2, 0.4])
    assert int(two.num_batches_tracked) == 1


class Noted(dict):
    """A state with the notes that PyTorch keeps beside it."""


def test_a_state_of_before_batches_were_counted_is_whole():
    net = nn.Sequential(nn.BatchNorm1d(2))
    old = {k: v for k, v in net.state_dict().items() if "num_batches" not in k}
    new = Noted(old)
    new._metadata = {"0": {"version": 2}}

    assert net.load_state_dict(old).missing_keys == []
    with pytest.raises(CheckpointError, match=r"Missing key.*0\.num_batches_tracked"):
        net.load_state_dict(new)
    assert net.load_state_dict({}, strict=False).missing_keys == [k for k in old]


class Counted(nn.Module):
    """A layer that saves more than tensors, under names of its own."""

    _version = 3

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(gn.ones(2))
        self.seen, self.loaded = {"count": 1}, None

    def get_extra_state(self):
        return self.seen

    def set_extra_state(self, state):
        self.seen = state

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "w"] = destination.pop(prefix + "weight")

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, *lists):
        self.loaded = local_metadata.get("version")
        state_dict[prefix + "weight"] = state_dict.pop(prefix + "w")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, *lists)


def test_a_class_says_what_it_saves_and_how_it_loads():
    net, twin = (nn.Sequential(Counted(), nn.Linear(1, 1)) for _ in range(2))
    net[0].seen = {"count": 7}
    with gn.no_grad():
        net[0].weight.fill_(5.0)

    state = net.state_dict()
    report = twin.load_state_dict(state)

    assert list(state) == ["0._extra_state", "0.w", "1.weight", "1.bias"]
    assert state._metadata == {"": {"version": 1}, "0": {"version": 3}, "1": {"version": 1}}
    assert list(net.state_dict()) == list(state)
    assert (report.missing_keys, report.unexpected_keys) == ([], [])
    assert (twin[0].weight.tolist(), twin[0].seen, twin[0].loaded) == ([5, 5], {"count": 7}, 3)


def test_what_a_class_saves_goes_through_a_file(tmp_path):
    net, twin = Counted(), Counted()
    net.seen = {"count": 9}

    gn.save(net.state_dict(), tmp_path / "net.gn")
    twin.load_state_dict(gn.load(tmp_path / "net.gn"))

    assert (twin.seen, twin.loaded) == ({"count": 9}, 3)


def test_extra_state_that_is_missing_or_left_over_is_named():
    state = Counted().state_dict()
    del state["_extra_state"]

    with pytest.raises(CheckpointError, match=r'Missing key\(s\) in state_dict: "_extra_state"'):
        Counted().load_state_dict(state)
    with pytest.raises(CheckpointError, match=r'Unexpected key\(s\).*"_extra_state"'):
        nn.Linear(1, 1).load_state_dict({**nn.Linear(1, 1).state_dict(), "_extra_state": 1})
    with pytest.raises(NotImplementedError, match="does not define it"):
        nn.Linear(1, 1).set_extra_state(1)


def test_a_state_is_gathered_in_a_dict_that_is_given():
    kept = {}

    assert nn.Linear(1, 1).state_dict(destination=kept, prefix="a.") is kept
    assert nn.Linear(1, 1).state_dict(kept, "b.", True)["b.bias"].requires_grad
    assert list(kept) == ["a.weight", "a.bias", "b.weight", "b.bias"]


def test_a_number_that_was_a_vector_is_taken():
    net = nn.Module()
    net.register_buffer("steps", gn.tensor(0.0))

    net.load_state_dict({"steps": gn.tensor([3.0])})

    assert net.steps.item() == 3


def test_a_class_behind_module_is_made_where_that_is_asked():
    class Named:
        def __init__(self, name="none"):
            self.name = name

    class Both(nn.Module, Named):
        call_super_init = True

        def __init__(self, name):
            super().__init__(name)

    class Plain(nn.Module, Named):
        pass

    assert Both("x").name == "x"
    assert not hasattr(Plain(), "name")
    with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
        Plain("x")
    with pytest.raises(TypeError, match="unexpected keyword argument 'name'"):
        nn.Module.__init__(Plain(), name="x")


def test_hooks_stand_before_and_behind_the_collection_of_a_state():
    layer, seen = nn.Linear(2, 3), []

    def before(module, prefix, keep_vars):
        seen.append((module is layer, prefix, keep_vars))

    def behind(module, state, prefix, notes):
        state[prefix + "extra"] = notes["version"]

    kept = [layer.register_state_dict_pre_hook(before), layer.register_state_dict_post_hook(behind)]
    state = nn.Sequential(layer).state_dict()
    for handle in kept:
        handle.remove()

    assert list(state) == ["0.weight", "0.bias", "0.extra"]
    assert seen == [(True, "0.", False)]
    assert list(layer.state_dict()) == ["weight", "bias"]


def test_a_hook_behind_a_state_may_not_replace_it_unless_it_is_of_that_kind():
    layer = nn.Linear(2, 3)
    layer._register_state_dict_hook(lambda module, state, prefix, notes: {"all": len(state)})
    assert layer.state_dict() == {"all": 2}

    layer.register_state_dict_post_hook(lambda *_: 1)
    with pytest.raises(RuntimeError, match="must return None"):
        layer.state_dict()


def test_a_hook_before_loading_renames_keys():
    model = nn.Sequential(nn.Linear(2, 3))

    def renamed(module, state, prefix, notes, strict, missing, unexpected, errors):
        state[prefix + "weight"] = state.pop(prefix + "w")

    model[0].register_load_state_dict_pre_hook(renamed)
    model.load_state_dict({"0.w": gn.ones(3, 2), "0.bias": gn.zeros(3)})

    assert model[0].weight.tolist() == [[1.0, 1.0]] * 3


def test_a_hook_before_loading_is_given_the_module_only_where_it_asks():
    layer, seen = nn.Linear(2, 3), []
    layer._register_load_state_dict_pre_hook(lambda *given: seen.append(len(given)))
    layer._register_load_state_dict_pre_hook(lambda *given: seen.append(given[0]), with_module=True)

    layer.load_state_dict(layer.state_dict())

    assert seen == [7, layer]


def test_a_hook_behind_loading_takes_misfits_out_of_the_report():
    model = nn.Sequential(nn.Linear(2, 3))
    model.register_load_state_dict_post_hook(lambda module, report: report.missing_keys.clear())

    report = model.load_state_dict({"0.weight": gn.ones(3, 2)})

    assert report == ([], [])


def test_a_copy_of_a_module_keeps_its_hooks_of_states():
    layer = nn.Linear(2, 3)
    layer.register_state_dict_post_hook(add_mark)

    twin = copy.deepcopy(layer)

    assert twin.state_dict()["mark"] == 1


def add_mark(module, state, prefix, notes):
    state[prefix + "mark"] = 1


def test_a_prefix_of_keys_is_taken_off_with_the_notes():
    state = nn.Sequential(OrderedDict(module=nn.BatchNorm1d(2))).state_dict()
    wanted = nn.BatchNorm1d(2).state_dict()

    nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")

    assert list(state) == list(wanted)
    assert state._metadata[""] == wanted._metadata[""]
    nn.BatchNorm1d(2).load_state_dict(state)


def test_what_is_no_state_is_refused():
    with pytest.raises(TypeError, match="needs a dict of tensors"):
        nn.Linear(1, 1).load_state_dict("weights")
    with pytest.raises(TypeError, match="object to buffer 'x'"):
        nn.Linear(1, 1).register_buffer("x", 3)


def test_what_was_not_loaded_prints_as_in_pytorch():
    found = nn.Linear(1, 1).load_state_dict(
        {"weight": gn.ones(1, 1), "x": gn.ones(1)}, strict=False
    )

    assert repr(found) == "_IncompatibleKeys(missing_keys=['bias'], unexpected_keys=['x'])"
