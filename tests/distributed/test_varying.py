"""Ranks' own values in programs over a mesh: no rank computes another's."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.distributed.device_mesh import init_device_mesh
from gnomon.distributed.fsdp import fully_shard
from gnomon.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from tests.distributed.attention_plan import (
    MESH_ROWS,
    attention_alone,
    batch_of,
    loss_of,
    model_of,
    whole_plan,
)
from tests.distributed.on_threads import on_threads
from tests.fuzz_ranks import findings, whole_of


@pytest.mark.parametrize("compiled", [False, True])
def test_a_product_of_a_ranks_part_is_that_ranks(compiled: bool):
    def work(rank: int, ranks: int) -> list[float]:
        mesh = init_device_mesh("cpu", (2,))
        x = distribute_tensor(gn.arange(8.0).reshape(2, 4), mesh, [Shard(1)])

        def product(x: gn.Tensor) -> gn.Tensor:
            return ((x * 1.0).to_local() @ gn.ones(2, 3))[:, 0]

        return (gn.compile(product) if compiled else product)(x).tolist()

    assert on_threads(work, 2) == [[1.0, 9.0], [5.0, 13.0]]


def test_the_loss_of_a_fully_sharded_models_own_rows_is_each_ranks():
    rng = np.random.default_rng(3)
    weight = rng.integers(-2, 3, (4, 6)).astype(np.float32)
    rows = rng.integers(-2, 3, (2, 3, 6)).astype(np.float32)

    def work(rank: int, ranks: int) -> tuple[float, float]:
        model, teacher = nn.Linear(6, 4, bias=False), nn.Linear(6, 4, bias=False)
        for each in (model, teacher):
            each.load_state_dict({"weight": gn.tensor(weight)})
        x = gn.tensor(rows[rank])
        y = fully_shard(model)(x)
        apart = (y @ y.t()).square().mean()
        return apart.item(), ((y * 2.0 - teacher(x)) @ y.t()).sum().item()

    made = [x @ weight.T for x in rows]
    wanted = [(float(((y @ y.T) ** 2).mean()), float((y @ y.T).sum())) for y in made]
    assert on_threads(work, 2) == [pytest.approx(each) for each in wanted]


def test_a_replicated_and_a_plain_tensor_make_each_ranks_own():
    whole = np.arange(16, dtype=np.float32).reshape(4, 4)

    def work(rank: int, ranks: int) -> None:
        mesh = init_device_mesh("cpu", (2,))
        x = distribute_tensor(gn.tensor(whole), mesh, [Replicate()])
        y = x * gn.tensor([rank + 1.0])
        assert y.placements == (Replicate(),)
        assert (y @ x).tolist() == ((rank + 1) * whole @ whole).tolist()
        split = distribute_tensor(gn.tensor(whole), mesh, [Shard(1)])
        z = split @ (gn.ones(4, 4) * gn.tensor([rank + 1.0]))
        assert z.tolist() == (whole @ np.full((4, 4), rank + 1.0)).tolist()
        assert (split * y).placements == (Shard(1),), "rotary tables and masks mix so"

    on_threads(work, 2)


def test_a_gradient_of_what_all_ranks_have_is_each_ranks_own():
    def work(rank: int, ranks: int) -> list:
        mesh = init_device_mesh("cpu", (2,))
        x = gn.ones(4, 4).requires_grad_()
        y = DTensor.from_local(x, mesh, [Replicate()]) @ distribute_tensor(
            gn.eye(4), mesh, [Replicate()]
        )
        (y.to_local() * (rank + 1.0)).sum().backward()
        return x.grad.tolist()

    assert on_threads(work, 2) == [[[k + 1.0] * 4] * 4 for k in range(2)]


LAYOUTS = [(1, 2), (1, 3), (1, 4), (2, 2), (2, 3), (3, 2)]
PLANS = [
    (attention_alone, False, LAYOUTS),
    (attention_alone, True, [(1, 2), (2, 2)]),
    (whole_plan, False, LAYOUTS[::2]),
    (whole_plan, True, [(2, 2)]),
    pytest.param(attention_alone, True, LAYOUTS, marks=pytest.mark.long),
    pytest.param(whole_plan, True, LAYOUTS, marks=pytest.mark.long),
]


@pytest.mark.parametrize(("plan", "compiled", "layouts"), PLANS)
def test_torchtitans_plans_have_one_processs_loss_and_gradients(
    plan, compiled: bool, layouts: list[tuple[int, int]]
):
    model = model_of(gn)
    loss = loss_of(gn, model, *batch_of(gn, MESH_ROWS))
    loss.backward()
    wanted = loss.item(), norm_of(model), gradients_of(model)

    for data, tensor in layouts:

        def work(rank: int, ranks: int, data: int = data, tensor: int = tensor):
            mesh = init_device_mesh("cpu", (data, tensor), mesh_dim_names=("dp", "tp"))
            model = model_of(gn)
            plan(model, mesh["tp"])
            for each in (*model.layers, model) if data > 1 else ():
                fully_shard(each, mesh=mesh["dp"])
            rows = slice(
                rank // tensor * MESH_ROWS // data, (rank // tensor + 1) * MESH_ROWS // data
            )
            given = [x[rows] for x in batch_of(gn, MESH_ROWS)]

            def step(*given: gn.Tensor) -> gn.Tensor:
                return loss_of(gn, model, *given)

            loss = (gn.compile(step) if compiled else step)(*given)
            loss.backward()
            return loss.item(), norm_of(model), gradients_of(model)

        losses, norms, gradients = zip(*on_threads(work, data * tensor), strict=True)
        assert np.mean(losses) == pytest.approx(wanted[0], rel=1e-6)
        assert len({*norms}) == 1
        assert norms[0] == pytest.approx(wanted[1], rel=1e-6)
        if data < 3:  # a third of a mean of four rows is rounded twice, a half and a quarter never
            assert gradients[0] == wanted[2]


@pytest.mark.parametrize("compiled", [False, True])
def test_what_a_rank_folded_whole_has_a_gradient_of_its_own_values(compiled: bool):
    rng = np.random.default_rng(0)
    whole, *arrays = rng.integers(-2, 3, (7, 4, 4)).astype(np.float32)
    plain, parts, seeds = arrays[:2], arrays[2:4], arrays[4:]

    def work(rank: int, ranks: int) -> tuple[np.ndarray, np.ndarray]:
        mesh = init_device_mesh("cpu", (2,))
        split = distribute_tensor(gn.tensor(whole), mesh, [Shard(0)])
        p, part = (gn.tensor(x[rank]).requires_grad_() for x in (plain, parts))

        def loss(p: gn.Tensor, part: gn.Tensor) -> gn.Tensor:
            own = p * DTensor.from_local(part, mesh, [Partial()])
            return ((own @ split).full_tensor() * gn.tensor(seeds[rank])).sum()

        (gn.compile(loss) if compiled else loss)(p, part).backward()
        return p.grad.numpy(), part.grad.numpy()

    for rank, (of_plain, of_part) in enumerate(on_threads(work, 2)):
        g = seeds[rank] @ whole.T
        assert np.array_equal(of_plain, g * sum(parts))
        assert np.array_equal(of_part, g * plain[rank])


def gradients_of(model: nn.Module) -> list[bytes]:
    """The bits of all gradients."""
    return [whole_of(p.grad).tobytes() for p in model.parameters()]


def norm_of(model: nn.Module) -> float:
    """The norm of all gradients together."""
    grads = [whole_of(p.grad).astype(np.float64) for p in model.parameters()]
    return float(np.sqrt(sum((x**2).sum() for x in grads)))


@pytest.mark.parametrize(
    "first", [0, 20, *(pytest.param(k, marks=pytest.mark.long) for k in (100, 600))]
)
def test_random_programs_have_each_ranks_truth(first: int):
    assert not [each for seed in range(first, first + 20) for each in findings(seed)]


MIXES = {
    "a sum moved to save work": lambda s, r, p: ((r @ s) + s) @ p,
    "elementwise": lambda s, r, p: ((r @ s) + s) * p,
    "moved by a reader before": lambda s, r, p: s.t() @ (r @ s) + (s.relu() + (r @ s)) @ p,
    "two splits": lambda s, r, p: gn.where(p > 0, s @ r + s, (r @ s.t()) * 2.0 + s),
    "behind views": lambda s, r, p: ((r @ s).reshape(-1) + s.reshape(-1)).reshape(s.shape) @ p,
}


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("mix", MIXES.values(), ids=MIXES)
def test_what_meets_a_varying_value_is_divided_by_types_and_not_by_cost(mix, ranks: int):
    rng = np.random.default_rng(1)
    arrays = rng.integers(-2, 3, (2 + ranks, ranks, ranks)).astype(np.float32)

    def work(rank: int, ranks: int) -> tuple[list, list]:
        mesh = init_device_mesh("cpu", (ranks,))
        s = distribute_tensor(gn.tensor(arrays[0]), mesh, [Shard(0)])
        r = distribute_tensor(gn.tensor(arrays[1]), mesh, [Replicate()])
        p = gn.tensor(arrays[2 + rank])
        eager = whole_of(mix(s, r, p))
        return eager.tolist(), whole_of(gn.compile(mix)(s, r, p)).tolist()

    for eager, compiled in on_threads(work, ranks):
        assert compiled == eager


def printed_sum() -> gn.Tensor:
    made = gn.full((6, 6), 2.0) * 3.0
    return made + print_of(made)


def print_of(x: gn.Tensor) -> gn.Tensor:
    """The tensor, whose value rank 0 alone has looked at."""
    if gn.distributed.get_rank() == 0:
        str(x)
    return x


CONSTANTS = {
    "one number": lambda: print_of(gn.full((6, 6), 2.0)),
    "computed": lambda: print_of(gn.full((6, 6), 2.0).triu() * 3.0 + gn.eye(6)),
    "made of what was printed": printed_sum,
    "a view": lambda: print_of(gn.arange(72.0).reshape(12, 6))[3:9],
    "written": lambda: print_of(gn.ones(6, 6)).mul_(3.0),
    "printed twice": lambda: print_of(print_of(gn.arange(36.0)).reshape(6, 6)),
}


@pytest.mark.parametrize("made", CONSTANTS.values(), ids=CONSTANTS)
def test_a_constant_is_one_on_all_ranks_whoever_knows_its_value(made):
    def work(rank: int, ranks: int) -> bool:
        mesh = init_device_mesh("cpu", (3,))
        whole = gn.arange(36.0).reshape(6, 6)
        x = distribute_tensor(whole, mesh, [Shard(0)])
        w = made()
        return (w @ x).full_tensor().tolist() == (w @ whole).tolist()

    assert on_threads(work, 3) == [True] * 3


def test_a_number_that_became_an_input_is_no_ranks_own_number():
    def work(rank: int, ranks: int) -> list[float]:
        mesh = init_device_mesh("cpu", (2,))
        x = DTensor.from_local(gn.tensor([rank + 1.0, 2.0]), mesh, [Partial()])
        for number in (2.0, 3.0, 4.0):
            assert (x * number).tolist() == [3 * number, 4 * number]
        return (x * gn.tensor(rank + 1.0)).tolist()

    assert on_threads(work, 2) == [[3.0, 4.0], [6.0, 8.0]]


@pytest.mark.parametrize("compiled", [False, True])
def test_a_gradient_through_full_tensor_lies_as_the_tensor(compiled: bool):
    rng = np.random.default_rng(0)
    whole, other, *asked = rng.integers(-2, 3, (4, 4, 4)).astype(np.float32)

    def work(rank: int, ranks: int) -> tuple[list, list]:
        mesh = init_device_mesh("cpu", (2,))
        x = distribute_tensor(gn.tensor(whole), mesh, [Shard(0)])
        w = distribute_tensor(gn.tensor(other), mesh, [Replicate()]).requires_grad_()

        def loss_of(x: gn.Tensor, w: gn.Tensor) -> gn.Tensor:
            own = (x * 1.0).to_local()
            y = (w + x) @ (own.t() @ own)
            return (y.full_tensor() * gn.tensor(asked[rank])).sum()

        (gn.compile(loss_of) if compiled else loss_of)(x, w).backward()
        return w.grad.full_tensor().tolist()

    parts = [asked[k][2 * k : 2 * k + 2] for k in range(2)]
    owns = [whole[2 * k : 2 * k + 2] for k in range(2)]
    wanted = np.concatenate([g @ (x.T @ x).T for g, x in zip(parts, owns, strict=True)])
    assert on_threads(work, 2) == [wanted.tolist()] * 2


@pytest.mark.parametrize("compiled", [False, True])
def test_what_is_reduced_into_parts_to_save_work_counts_as_whole(compiled: bool):
    rng = np.random.default_rng(0)
    whole, asked, *terms = rng.integers(-2, 3, (6, 4, 4)).astype(np.float32)

    def work(rank: int, ranks: int) -> list:
        mesh = init_device_mesh("cpu", (4,))
        x = distribute_tensor(gn.tensor(whole), mesh, [Shard(0)]).requires_grad_()
        total = DTensor.from_local(gn.tensor(terms[rank]), mesh, [Partial()])

        def loss_of(x: gn.Tensor, total: gn.Tensor) -> gn.Tensor:
            own = (x * 1.0).to_local()
            y = (total @ (own.t() @ own)).redistribute(mesh, [Shard(0)])
            return (y.full_tensor() * gn.tensor(asked)).sum()

        (gn.compile(loss_of) if compiled else loss_of)(x, total).backward()
        return x.grad.full_tensor().tolist()

    g = sum(terms).T @ asked
    assert on_threads(work, 4) == [(whole @ (g + g.T)).tolist()] * 4


@pytest.mark.parametrize("compiled", [False, True])
def test_the_gradient_of_a_plain_product_beside_parts_reads_its_own_ranks_values(compiled: bool):
    rng = np.random.default_rng(0)
    whole, asked, *factors = rng.integers(-2, 3, (6, 4, 4)).astype(np.float32)

    def work(rank: int, ranks: int) -> list:
        mesh = init_device_mesh("cpu", (2,))
        x = distribute_tensor(gn.tensor(whole), mesh, [Shard(0)])
        a, b = (gn.tensor(factors[2 * rank + k]).requires_grad_() for k in range(2))

        def loss_of(a: gn.Tensor, b: gn.Tensor) -> gn.Tensor:
            return ((x + a @ b).full_tensor() * gn.tensor(asked)).sum()

        (gn.compile(loss_of) if compiled else loss_of)(a, b).backward()
        return [a.grad.tolist(), b.grad.tolist()]

    pairs = zip(factors[::2], factors[1::2], strict=True)
    assert on_threads(work, 2) == [
        [(asked @ b.T).tolist(), (a.T @ asked).tolist()] for a, b in pairs
    ]


@pytest.mark.parametrize("compiled", [False, True])
def test_redistributing_what_varies_leaves_it_each_ranks_own(compiled: bool):
    def work(rank: int, ranks: int) -> list:
        mesh = init_device_mesh("cpu", (2,))
        x = distribute_tensor(gn.arange(16.0).reshape(4, 4), mesh, [Replicate()])

        def squared(x: gn.Tensor, own: gn.Tensor) -> gn.Tensor:
            y = (x * own).redistribute(mesh, [Replicate()])
            return (y @ y).to_local()

        made = (gn.compile(squared) if compiled else squared)(x, gn.tensor([rank + 1.0]))
        return made.tolist()

    whole = np.arange(16.0).reshape(4, 4)
    assert on_threads(work, 2) == [((k + 1) ** 2 * whole @ whole).tolist() for k in range(2)]
