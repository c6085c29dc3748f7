"""Functions of two meanings have PyTorch's in a script of PyTorch's."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.drop_in.modules import installed
from gnomon.drop_in.names import MEANINGS, parse_to
from gnomon.drop_in.report import NameReport

pytestmark = pytest.mark.unit


def test_functions_of_two_meanings_are_methods():
    x = gn.tensor([[1.0, 0.0, 4.0]])

    assert MEANINGS["var"](x).item() == pytest.approx(13 / 3)
    assert MEANINGS["std"](x, dim=1, unbiased=False).shape == (1,)
    assert MEANINGS["nonzero"](x).tolist() == [[0, 0], [0, 2]]
    assert MEANINGS["sort"](x)[1].tolist() == [[1, 0, 2]]
    assert MEANINGS["squeeze"](x, 1).shape == (1, 3)
    assert MEANINGS["equal"](x, x) is True


def test_a_grid_runs_along_its_first_tensor_first():
    a, b = MEANINGS["meshgrid"](gn.arange(2), gn.arange(3))

    assert a.tolist() == [[0, 0, 0], [1, 1, 1]]
    assert b.shape == (2, 3)
    assert MEANINGS["meshgrid"]([gn.arange(2)], indexing="xy")[0].shape == (2,)


def test_what_a_module_is_moved_to_is_sorted():
    assert parse_to("cpu", gn.float64) == (gn.device("cpu"), gn.float64, False, None)
    assert parse_to(gn.float16, non_blocking=True) == (None, gn.float16, True, None)
    assert parse_to(device="cpu", dtype="half")[:2] == (gn.device("cpu"), gn.float16)


def test_a_function_of_two_meanings_writes_where_it_is_told():
    places = gn.empty(0, dtype=gn.int64)

    assert MEANINGS["nonzero"](gn.tensor([0, 5]), out=places) is places
    assert places.tolist() == [[1]]


def test_dtypes_are_cast_to_one_of_no_fewer_kinds_of_numbers():
    can_cast = MEANINGS["can_cast"]

    assert can_cast(gn.float64, gn.float32)
    assert can_cast(gn.int64, gn.int8)
    assert not can_cast(gn.float32, gn.int64)
    assert not can_cast(gn.int64, gn.bool)
    assert not can_cast(gn.complex64, gn.float64)


def test_names_of_errors_and_of_the_older_compiler_are_found_where_pytorch_has_them():
    import_torch = """
import torch
try:
    try:
        raise KeyError("k")
    except torch.cuda.OutOfMemoryError:
        raise AssertionError
except KeyError:
    pass
try:
    torch.empty(10**15)
except torch.cuda.OutOfMemoryError as error:
    assert isinstance(error, RuntimeError) and isinstance(error, torch.OutOfMemoryError)

class Made(torch.jit.ScriptModule):
    @torch.jit.script_method
    def forward(self, x):
        return x + 1

assert Made()(torch.ones(1)).item() == 2
assert not isinstance(torch.nn.Linear(1, 1), torch.jit.ScriptModule)
assert torch.backends.cuda.SDPBackend is torch.nn.attention.SDPBackend
assert torch.profiler.ProfilerActivity.XPU.name == "XPU"
from torch.distributed.distributed_c10d import GroupMember, _get_global_rank
outside = torch.distributed._rank_not_in_group
assert outside(GroupMember.NON_GROUP_MEMBER) and not outside(None)
assert _get_global_rank is torch.distributed.get_global_rank
from torch.cuda import _lazy_call
assert _lazy_call(lambda: 1 / 0) is None  # what waits for a card that never comes
"""
    with installed(NameReport()):
        exec(import_torch, {})


def test_launchers_ask_for_the_processor_and_for_the_backend_by_name():
    """Accelerate sets the device of each rank; Lightning averages by what the backend is called."""
    asked = """
import torch, torch.cpu, torch.distributed as dist
from torch.distributed._tensor.device_mesh import init_device_mesh
from torch.distributed.checkpoint.state_dict import _init_optim_state

assert torch.cpu.is_available() and torch.cpu.device_count() == 1
assert torch.cpu.set_device("cpu") is torch.cpu.synchronize() is torch.cpu.current_stream() is None
assert torch.cpu.current_device() == "cpu"
with torch.cpu.stream(None):
    pass
assert init_device_mesh("cpu", (1,)).size() == 1
assert dist.get_backend() == "gloo" == dist.distributed_c10d.get_backend()
dist.destroy_process_group()
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.AdamW(model.parameters())
_init_optim_state(optimizer)
assert len(optimizer.state) == 2 and not optimizer.state[model.weight]["exp_avg"].any()
"""
    with installed(NameReport()):
        exec(asked, {})


@pytest.mark.parametrize(
    ("other", "sign"), [((2, 6), 1), ("2.9.1", 1), ((3,), -1), ("2.13.0", 0), ("2.13.1a0", -1)]
)
def test_a_version_is_compared_by_its_numbers(other, sign):
    version = MEANINGS["__version__"]

    assert (version > other, version >= other, version < other, version <= other) == (
        sign > 0, sign >= 0, sign < 0, sign <= 0
    )  # fmt: skip
    assert version == "2.13.0+gnomon"
    assert version.split(".")[:2] == ["2", "13"]
