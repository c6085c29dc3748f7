"""Operations hear the names that PyTorch's functions give their arguments."""

from __future__ import annotations

from collections import defaultdict

import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.nn import functional as F
from gnomon.ops.registry import OPS

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

UNKNOWN = ("device", "layout", "memory_format", "names", "out", "pin_memory")
"""Words of factories and of results, which functions take and operations do not."""
OTHERWISE = {
    "batch_norm": "torch's own order: drop_in/argument_orders.py",
    "bernoulli": "torch's own order",
    "block_diag": "several tensors",
    "broadcast_tensors": "several tensors",
    "cartesian_prod": "several tensors",
    "convolution": "torch's own order",
    "dropout": "torch's own order",
    "einsum": "several tensors",
    "embedding": "torch's own order",
    "embedding_bag": "torch's own order",
    "instance_norm": "torch's own order",
    "meshgrid": "several tensors",
    "qr": "torch's own order",
    "svd": "tensor/linalg.py: V and not its adjoint",
    "tensordot": "its function: dims",
}
"""Names whose meaning in torch is not the operation's."""


def overloads() -> dict[str, list[list[str]]]:
    """The names of arguments of every function of torch, one list for each form."""
    found = defaultdict(list)
    for schema in torch._C._jit_get_all_schemas():
        names = ["input" if x.name == "self" else x.name for x in schema.arguments]
        if schema.name.startswith("aten::") and "out" not in schema.overload_name:
            found[schema.name.removeprefix("aten::")].append(names)
    return found


FORMS = overloads()


def refused(op, names: list[str]) -> list[str]:
    """The names that an operation does not know."""
    found = []
    for name in names:
        try:
            op.respell({name: None})
        except ArgumentError:
            found.append(name)
    return [x for x in found if x not in UNKNOWN]


CASES = [
    (name, form)
    for name in OPS
    for form in (name, f"linalg_{name}", f"special_{name}")
    if form in FORMS and hasattr(torch, name if form == name else form) and name not in OTHERWISE
]


@pytest.mark.parametrize(("name", "form"), CASES)
def test_names_of_arguments_are_torchs(name: str, form: str):
    least = min((refused(OPS[name], names) for names in FORMS[form]), key=len)

    assert not least, f"{name}: of {FORMS[form]} knows {OPS[name].words}"


A, V = [[2.0, 1.0], [1.0, 3.0]], [1.0, 2.0]
CALLS = [
    lambda t, a, v: t.unique(input=v),
    lambda t, a, v: t.unique_consecutive(input=v),
    lambda t, a, v: t.masked_select(input=a, mask=a > 1),
    lambda t, a, v: t.bincount(input=v.long(), minlength=4),
    lambda t, a, v: t.histc(input=v, bins=3),
    lambda t, a, v: t.combinations(input=v, r=2),
    lambda t, a, v: t.clone(input=a),
    lambda t, a, v: t.detach(input=a),
    lambda t, a, v: t.argwhere(input=a),
    lambda t, a, v: t.where(condition=a > 1, input=a, other=-a),
    lambda t, a, v: t.index_put(input=v, indices=(t.tensor([0]),), values=v[:1]),
    lambda t, a, v: t.split(tensor=a, split_size_or_sections=1, dim=0)[1],
    lambda t, a, v: t.tensor_split(input=v, indices=(1,))[0],
    lambda t, a, v: v.repeat(repeats=(2,)),
    lambda t, a, v: v.unfold(dimension=0, size=1, step=1),
    lambda t, a, v: v.unflatten(dim=0, sizes=(2, 1)),
    lambda t, a, v: a.mm(mat2=a),
    lambda t, a, v: t.mv(a, vec=v),
    lambda t, a, v: t.outer(v, vec2=v),
    lambda t, a, v: t.dot(v, tensor=v),
    lambda t, a, v: t.vander(v, N=3),
    lambda t, a, v: t.cdist(x1=a, x2=a),
    lambda t, a, v: t.nansum(a, dtype=t.float64),
    lambda t, a, v: t.nanmean(a, dtype=t.float64),
    lambda t, a, v: t.linalg.norm(input=a, dim=0),
    lambda t, a, v: t.linalg.vector_norm(a, dtype=t.float64),
    lambda t, a, v: t.linalg.matrix_norm(a, dtype=t.float64),
    lambda t, a, v: t.linalg.inv(A=a),
    lambda t, a, v: t.linalg.diagonal(A=a),
    lambda t, a, v: t.linalg.svdvals(A=a, driver=None),
    lambda t, a, v: t.linalg.eigvals(input=a),
    lambda t, a, v: t.linalg.lstsq(input=a, b=a).solution,
    lambda t, a, v: t.linalg.tensorinv(input=a.reshape(2, 2, 1)[:, :, 0], ind=1),
    lambda t, a, v: t.linalg.tensorsolve(input=a, other=v),
    lambda t, a, v: t.linalg.solve_triangular(input=a, B=a, upper=True),
    lambda t, a, v: t.cholesky_solve(a, input2=t.linalg.cholesky(a)),
    lambda t, a, v: t.lu_unpack(*t.linalg.lu_factor(a), True, False)[0],
    lambda t, a, v: t.lu_unpack(*t.linalg.lu_factor(a), False, True)[1],
    lambda t, a, v: t.lu_unpack(*t.linalg.lu_factor(a), False, True)[0],
    lambda t, a, v: t.lu_unpack(*t.linalg.lu_factor(t.complex(a, a)), False)[2].real,
    lambda t, a, v: t.special.chebyshev_polynomial_t(x=v, n=2),
    lambda t, a, v: t.layer_norm(a, (2,), None, None, 1e-5, False),
    lambda t, a, v: t.group_norm(a, 1, cudnn_enabled=False),
    lambda t, a, v: t.nn.functional.one_hot(input=v.long(), num_classes=3),
    lambda t, a, v: t.nn.functional.margin_ranking_loss(input1=v, input2=v, target=v),
    lambda t, a, v: t.nn.functional.pairwise_distance(x1=a, x2=-a),
]


@pytest.mark.parametrize("call", CALLS)
def test_functions_take_torchs_names(call):
    theirs, ours = (call(t, t.tensor(A), t.tensor(V)) for t in (torch, gn))

    assert tuple(ours.shape) == tuple(theirs.shape)
    assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
    assert torch.allclose(torch.from_numpy(ours.numpy()), theirs, atol=1e-5)


def test_a_norm_in_another_dtype_has_gradients_in_its_own():
    found = []
    for library in (torch, gn):
        x = library.tensor(V, requires_grad=True)
        library.linalg.vector_norm(x, dtype=library.float64).backward()
        found.append(x.grad)

    assert str(found[1].dtype).endswith("float32")
    assert found[1].tolist() == pytest.approx(found[0].tolist())


def test_a_name_that_nobody_knows_is_refused():
    with pytest.raises(ArgumentError, match=r"no argument 'mat3'\. It takes x, y"):
        gn.mm(gn.ones(2, 2), mat3=gn.ones(2, 2))
    with pytest.raises(ArgumentError, match="no argument 'input3'"):
        F.margin_ranking_loss(gn.ones(1), gn.ones(1), input3=gn.ones(1))
