"""Complex tensors are numpy's in values, types and views, and PyTorch's in gradients."""

from __future__ import annotations

import copy
import operator
import pickle

import numpy as np
import pytest

import gnomon as gn
from gnomon.dtypes import dtype_of
from gnomon.errors import ArgumentError, ComplexError, DtypeError, GradientError
from gnomon.nn import functional as F
from gnomon.ops.registry import operations

BOUNDS = {np.complex128: 1e-12, np.complex64: 2e-6}
FORMULAS = (
    *("exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "sin", "cos", "tan", "sinh"),
    *("cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "abs", "square"),
    *("reciprocal", "exp2", "negative", "sign", "conj", "real", "imag", "isfinite", "isnan"),
)
THEIRS = {f"a{name}": f"arc{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}
SPECIAL = [0, 1, -1, 1j, -1j, 1e-20, 1e20, -3 + 0j, complex(-3, -0.0), complex(-0.0, 0), 1e-30j]


def drawn(rng, *shape, kind=np.complex128):
    """Complex normal numbers."""
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(kind)


def same(made, wanted, kind=np.complex128):
    """Equal in dtype and shape, and close in values."""
    found = made.detach().numpy()
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=BOUNDS[kind], atol=BOUNDS[kind])


# making and leaving them


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0, 2), (2, 3)])
@pytest.mark.parametrize("kind", [np.complex64, np.complex128])
def test_a_tensor_of_any_size_comes_and_goes(shape, kind, rng):
    x = drawn(rng, *shape, kind=kind)

    made = gn.tensor(x)

    assert isinstance(made, gn.Tensor)
    assert made.dtype == x.dtype
    assert (made.shape, made.ndim, made.numel()) == (x.shape, x.ndim, x.size)
    assert made.tolist() == x.tolist()
    np.testing.assert_array_equal(np.asarray(made), x)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(made)).numpy(), x)
    np.testing.assert_array_equal(copy.deepcopy(made).numpy(), x)


def test_numbers_say_which_dtype_they_are():
    assert gn.tensor([1 + 2j]).dtype is gn.complex64 is gn.cfloat
    assert gn.tensor(1j, dtype=gn.complex128).item() == 1j
    assert gn.tensor([1.5], dtype=gn.cdouble).tolist() == [1.5 + 0j]
    assert gn.full((2,), 1j).tolist() == [1j, 1j]
    assert gn.zeros(2, dtype=gn.complex64).tolist() == [0j, 0j]
    assert gn.ones_like(gn.tensor([1j])).tolist() == [1 + 0j]
    assert gn.eye(2, dtype=gn.complex64).dtype is gn.complex64
    assert complex(gn.tensor(2j)) == 2j


def test_what_holds_no_complex_number_refuses():
    with pytest.raises(DtypeError, match="tensor: float32 holds no complex numbers"):
        gn.tensor([1j], dtype=gn.float32)
    with pytest.raises(DtypeError, match="can't be cast"):
        gn.ones(2).add_(1j)
    with pytest.raises(ArgumentError, match="item"):
        gn.tensor([1j, 2j]).item()
    with pytest.raises(ArgumentError, match="imaginary part"):
        float(gn.tensor(1j))


def test_printing_is_numpys():
    assert repr(gn.tensor([1 + 2j])) == "Tensor([1.+2.j])"
    told = "Tensor([1.+2.j], dtype=gnomon.complex128, requires_grad=True)"
    assert repr(gn.tensor([1 + 2j], dtype=gn.cdouble, requires_grad=True)) == told


def test_normal_numbers_share_their_variance_between_the_parts():
    gn.manual_seed(0)

    x = gn.randn(4000, dtype=gn.complex64)

    assert float(x.abs().square().mean()) == pytest.approx(1, abs=0.05)
    assert gn.rand(5, dtype=gn.complex128).real.dtype is gn.float64


@pytest.mark.parametrize(
    ("left", "right", "wanted"),
    [
        (gn.complex64, gn.float64, gn.complex128),
        (gn.complex64, gn.int64, gn.complex64),
        (gn.bfloat16, gn.complex64, gn.complex64),
        (gn.complex64, gn.complex128, gn.complex128),
    ],
)
def test_dtypes_promote_as_in_pytorch(left, right, wanted):
    x, y = gn.ones(2, dtype=left), gn.ones(2, dtype=right)

    assert gn.promote_types(left, right) is wanted is gn.result_type(y, x)
    assert (x + y).dtype is (x * y).dtype is wanted


def test_memory_is_numpys_both_ways(rng):
    x = drawn(rng, 3)

    made = gn.from_numpy(x)
    x[0] = 7j
    made[1] = 5

    assert made[0].item() == 7j
    assert x[1] == 5
    made.numpy()[2] = 1j
    assert made[2].item() == 1j


# functions


@pytest.mark.parametrize("name", FORMULAS)
def test_a_function_of_elements_is_numpys(name, rng):
    x = drawn(rng, 2, 3)

    same(getattr(gn, name)(gn.tensor(x)), getattr(np, THEIRS.get(name, name))(x))


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "sin", "abs", "reciprocal"])
def test_a_function_of_elements_keeps_complex64(name, rng):
    x = drawn(rng, 2, 3, kind=np.complex64)

    same(getattr(gn, name)(gn.tensor(x)), getattr(np, name)(x), np.complex64)


@pytest.mark.parametrize(
    "name", ["sqrt", "log", "exp", "sin", "tanh", "atanh", "asin", "acos", "asinh", "abs", "sign"]
)
@pytest.mark.filterwarnings("ignore")
def test_points_of_meaning_are_numpys(name):
    x = np.array(SPECIAL)

    made = getattr(gn, name)(gn.tensor(x)).numpy()

    wanted = getattr(np, THEIRS.get(name, name))(x)
    np.testing.assert_allclose(made, wanted, rtol=1e-7, atol=0)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "pow", "eq", "ne"])
@pytest.mark.parametrize("other", ["complex", "real", "int", 2, 2.5, 1 - 2j])
def test_an_operator_is_numpys_on_both_sides(name, other, rng):
    x, function = drawn(rng, 3, 2), getattr(operator, name)
    arrays = {
        "complex": drawn(rng, 3, 2),
        "real": rng.uniform(1, 2, (3, 2)),
        "int": np.array([[1, 2], [3, 4], [5, 6]]),
    }
    y = arrays.get(other, other)
    made = gn.tensor(y) if isinstance(y, np.ndarray) else y

    same(function(gn.tensor(x), made), function(x, y))
    same(function(made, gn.tensor(x)), function(y, x))


def test_complex_numbers_meet_real_tensors():
    x = gn.tensor([1.0, 2.0])

    assert (x * 1j).tolist() == [1j, 2j]
    assert (1j - x).tolist() == [-1 + 1j, -2 + 1j]
    assert gn.add(x, 1j).dtype is gn.complex64
    assert (gn.tensor([1, 2]) / 2j).tolist() == [-0.5j, -1j]
    assert (np.complex128(1j) * x).tolist() == [1j, 2j]
    assert gn.where(x > 1, x, 1j).tolist() == [1j, 2]
    assert gn.add(x, 1j, alpha=0.5).tolist() == [1 + 0.5j, 2 + 0.5j]
    assert gn.sub(x, np.array([1j, 2j]), alpha=2).tolist() == [1 - 2j, 2 - 4j]
    assert gn.pad(x, (1, 0), value=1j).tolist() == [1j, 1, 2]
    large = gn.tensor([2**25 + 1])
    assert gn.cat([gn.tensor([1j], dtype=gn.cdouble), large])[1].item() == 2**25 + 1


def test_a_complex_factor_of_what_is_added_at_positions():
    x, index = gn.tensor([1 + 1j, 2j]), gn.tensor([0, 1])

    assert gn.index_add(x, 0, index, x, alpha=1j).tolist() == [2j, -2 + 2j]
    assert gn.index_add(gn.ones(2), 0, index, gn.ones(2), alpha=1j).tolist() == [1 + 1j] * 2


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2)])
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "std", "var", "any", "all"])
def test_a_fold_is_numpys(name, axis, rng):
    x = drawn(rng, 2, 3, 4)

    same(getattr(gn, name)(gn.tensor(x), axis=axis), np.asarray(getattr(np, name)(x, axis)))


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("axis", [0, -1])
def test_a_running_fold_is_numpys(name, axis, rng):
    x = drawn(rng, 5, 3)

    same(getattr(gn, name)(gn.tensor(x), axis), getattr(np, name)(x, axis))


def test_folds_of_nothing_are_their_identity():
    x = gn.zeros(0, dtype=gn.complex64)

    assert (x.sum().item(), x.prod().item(), x.cumprod(0).tolist()) == (0, 1, [])


@pytest.mark.parametrize("kind", [np.complex128, np.float64])
def test_products_are_numpys(kind, rng):
    a, b = drawn(rng, 2, 3, 4), rng.standard_normal((2, 4, 5)).astype(kind)
    x, y = gn.tensor(a), gn.tensor(b)

    same(x @ y, a @ b)
    same(gn.bmm(x, y), a @ b)
    same(gn.einsum("bij,bjk->ki", x, y), np.einsum("bij,bjk->ki", a, b))
    same(gn.einsum("bij,bjk,bij->k", x, y, x), np.einsum("bij,bjk,bij->k", a, b, a))
    same(gn.tensordot(x[0], y[0], 1), np.tensordot(a[0], b[0], 1))
    same(gn.outer(x[0, 0], y[0, 0]), np.outer(a[0, 0], b[0, 0]))
    same(gn.vdot(x[0, 0], y[0, :, 0]), np.asarray(np.vdot(a[0, 0], b[0, :, 0])))
    same(gn.linalg.vecdot(x[0], x[1]), np.vecdot(a[0], a[1]))


def test_norms_are_those_of_sizes(rng):
    a = drawn(rng, 3, 4)
    x = gn.tensor(a)

    same(gn.linalg.vector_norm(x, 3, -1), np.linalg.norm(a, 3, -1))
    same(gn.linalg.matrix_norm(x), np.asarray(np.linalg.norm(a)))
    same(gn.linalg.matrix_norm(x, "nuc"), np.asarray(np.linalg.norm(a, "nuc")))


@pytest.mark.parametrize(
    "f",
    [
        lambda xp, x: xp.concatenate([x, x[:1]]),
        lambda xp, x: xp.stack([x, x], -1),
        lambda xp, x: xp.flip(x, 0),
        lambda xp, x: xp.roll(x, 1, 1),
        lambda xp, x: xp.reshape(x, (-1, 2)),
        lambda xp, x: xp.expand_dims(x, 1),
        lambda xp, x: xp.matrix_transpose(x),
        lambda xp, x: xp.permute_dims(x, (1, 0)),
        lambda xp, x: xp.broadcast_to(x, (2, 3, 4)),
        lambda xp, x: xp.tril(x),
        lambda xp, x: xp.tile(x, (2, 1)),
        lambda xp, x: xp.diff(x),
        lambda xp, x: xp.moveaxis(x, 0, -1),
        lambda xp, x: x[1],
        lambda xp, x: x[..., -1],
        lambda xp, x: x[None, 1:, ::2],
    ],
)
def test_what_moves_numbers_is_numpys(f, rng):
    x = drawn(rng, 3, 4)

    same(f(gn, gn.tensor(x)), f(np, x))


def test_positions_and_masks_choose_and_write(rng):
    a, mask = drawn(rng, 3, 4), rng.standard_normal((3, 4)) > 0
    x, wanted = gn.tensor(a), a.copy()

    same(x[:, [0, 2]], a[:, [0, 2]])
    same(x[gn.tensor(mask)], a[mask])
    x[gn.tensor(mask)], wanted[mask] = 1j, 1j
    x[0], wanted[0] = 2.0, 2.0
    x[:, [1, 3]], wanted[:, [1, 3]] = gn.tensor([3j, 4]), np.array([3j, 4])
    same(x, wanted)
    with pytest.raises(IndexError):
        x[0, 0, 0]


def test_the_adjoint_is_conjugated(rng):
    a = drawn(rng, 2, 3)
    x = gn.tensor(a)

    for made in (x.mH, x.H, x.adjoint(), gn.adjoint(x)):
        same(made, a.T.conj())
    same(x.mT, a.T)


def test_closeness_is_by_distance():
    x = gn.tensor([1 + 1j])

    assert gn.allclose(x, x + 1e-9)
    assert not gn.allclose(x, x.conj())
    gn.testing.assert_close(x, x.clone())
    with pytest.raises(AssertionError, match="not close"):
        gn.testing.assert_close(x, x + 1j)


# one memory


def test_parts_and_pairs_are_views():
    z = gn.zeros(2, dtype=gn.complex64)

    z.real += 1
    gn.view_as_real(z)[0, 1] = 5
    z.view(2, 1)[1] = 3j
    z.imag[1] = 4

    assert z.tolist() == [1 + 5j, 4j]
    pair = gn.zeros(2, 2)
    gn.view_as_complex(pair).add_(1j)
    assert pair.tolist() == [[0, 1], [0, 1]]


def test_writes_in_place_are_seen_by_views():
    z = gn.tensor([1j, 2j])
    shown = z[1:]

    z *= 2
    z.add_(1).mul_(gn.tensor([1.0, 2.0]))
    z.unsqueeze_(0)

    assert shown.tolist() == [2 + 8j]
    assert z.tolist() == [[1 + 2j, 2 + 8j]]
    assert z.copy_(gn.ones(1, 2)).zero_().fill_(1j).tolist() == [[1j, 1j]]


def test_casts_say_what_they_leave_out():
    z = gn.tensor([1 + 2j, 0])

    with pytest.warns(UserWarning, match="imaginary part"):
        assert z.to(gn.float64).tolist() == [1, 0]
    assert z.to(gn.bool).tolist() == [True, False]
    assert gn.tensor([1, 2]).to(gn.complex64).tolist() == [1, 2]
    assert z.real.sum(dtype=gn.complex128).item() == 1


# what they refuse


def test_an_operation_that_does_not_know_them_refuses_by_name():
    z = gn.ones(2, 2, dtype=gn.complex64)

    with pytest.raises(ComplexError, match=r"erf: complex64 is not supported here\. Take view_as"):
        gn.erf(z)
    with pytest.raises(ComplexError, match="less: complex64"):
        assert z < z
    with pytest.raises(ComplexError, match="complex64"):
        gn.unique(z)
    with pytest.raises(ComplexError, match="rounding_mode"):
        gn.div(z, z, rounding_mode="floor")
    with pytest.raises(ComplexError, match="scatter: reduce"):
        z.scatter(0, gn.zeros(1, 1, dtype=gn.int64), z, reduce="multiply")
    with pytest.raises(TypeError):
        assert gn.ones(2) < 1j


def test_no_operation_takes_them_for_real_ones():
    """Whatever an operation is called with, it answers by its fact or refuses."""
    z = gn.ones(2, 2, dtype=gn.complex64)
    silent = [op for op in operations() if not op.facts.complex and not op.facts.view]

    for op in silent:
        function = getattr(gn, op.__name__, None)
        if callable(function) and len(op.words) == 1 and op.words[0] == "x":
            with pytest.raises(ComplexError):
                function(z)


# gradients


@pytest.mark.parametrize(
    "f",
    [
        lambda z, w: (z * w).exp(),
        lambda z, w: z / w,
        lambda z, w: (z**3).sqrt() + w**1.5,
        lambda z, w: z.tanh() * w.asinh(),
        lambda z, w: gn.fft.fft(z * w),
        lambda z, w: (z @ w.mT).prod(-1, keepdim=True),
        lambda z, w: z.cumprod(0) * w.angle() + w.abs(),
        lambda z, w: (z.conj() * w).log1p().mH,
        lambda z, w: gn.where(gn.tensor([True, False]), z, w)[..., :1],
    ],
)
def test_gradients_are_those_of_differences(f, rng):
    z, w, g = (drawn(rng, 2, 2) for _ in range(3))
    leaves = [gn.tensor(x, requires_grad=True) for x in (z, w)]
    made = f(*leaves)
    g = g[: made.shape[0], : made.shape[1]]
    made.backward(gn.tensor(g))

    def loss(*arrays):
        return float(np.sum((f(*map(gn.tensor, arrays)).numpy() * g.conj()).real))

    for k, leaf in enumerate(leaves):
        for part in (1, 1j):
            step = np.zeros((2, 2), complex)
            step[0, 1] = 1e-6 * part
            low, high = ([z, w], [z, w])
            low, high = [x.copy() for x in low], [x.copy() for x in high]
            low[k], high[k] = low[k] - step, high[k] + step
            found = leaf.grad[0, 1].item()
            slope = (loss(*high) - loss(*low)) / 2e-6
            assert (found.real if part == 1 else found.imag) == pytest.approx(slope, rel=1e-6)


def test_the_sign_of_a_zero_is_the_one_without_signs():
    made = gn.sgn(gn.tensor([complex(-0.0, 0.0), complex(0.0, -0.0), -0.0 - 0.0j])).numpy()

    assert not np.signbit(made.real).any()
    assert not np.signbit(made.imag).any()


@pytest.mark.parametrize("accumulate", [False, True])
def test_values_are_put_at_positions(accumulate, rng):
    x, values = drawn(rng, 3, 4), drawn(rng, 2)
    places = np.array([2, 0]), np.array([1, 3])
    made, wanted = gn.tensor(x), x.copy()

    made.index_put_(tuple(map(gn.tensor, places)), gn.tensor(values), accumulate=accumulate)

    wanted[places] = values + (x[places] if accumulate else 0)
    same(made, wanted)
    rows = gn.index_put(made, (gn.tensor([1]),), gn.tensor(1j))
    assert rows[1].tolist() == [1j] * 4


def test_casts_have_methods():
    assert gn.ones(2).cfloat().dtype == gn.tensor([1j, 2]).cfloat().dtype == gn.complex64
    assert gn.arange(2).cdouble().tolist() == [0j, 1 + 0j]


def test_silu_is_x_times_its_sigmoid(rng):
    x = drawn(rng, 5)

    np.testing.assert_allclose(gn.nn.functional.silu(gn.tensor(x)).numpy(), x / (1 + np.exp(-x)))


def test_of_several_tensors_a_real_one_stays_real():
    x, y = gn.tensor([1j, 2]), gn.tensor([3.0, 4.0, 5.0])

    for made in (gn.meshgrid(x, y), gn.broadcast_tensors(x[:, None], y), gn.atleast_2d(x, y)):
        assert [part.dtype for part in made] == [gn.complex64, gn.float32]
    first, second = gn.meshgrid([x, y], indexing="ij")
    assert first.tolist() == [[1j] * 3, [2 + 0j] * 3]
    assert second.tolist() == [[3, 4, 5]] * 2


def test_gradients_at_zero_are_finite():
    z = gn.tensor([0j, 3 + 4j], requires_grad=True)

    (z.abs().sum() + z.sgn().real.sum() + z.angle().sum()).backward()

    assert np.isfinite(z.grad.numpy()).all()
    assert z.grad[0].item() == 0


def test_gradients_gather_in_leaves_and_pass_hooks():
    z, seen = gn.tensor([1 + 1j], requires_grad=True), []
    z.register_hook(lambda g: seen.append(g.item()))

    (z * z.conj()).real.sum().backward()
    (z * 1).real.sum().backward()

    assert z.is_leaf
    assert z.grad.tolist() == [3 + 2j]
    assert seen == [2 + 2j, 1]
    (found,) = gn.autograd.grad((z * 2j).imag.sum(), z)
    assert found.tolist() == [2 + 0j]
    with pytest.raises(GradientError, match="real scalar outputs"):
        z.sum().backward()


def test_a_real_leaf_gets_a_real_gradient():
    x = gn.tensor([1.0, 2.0], requires_grad=True)

    (x * 1j).abs().sum().backward()

    assert x.grad.tolist() == [1, 1]


# compiled


def test_a_compiled_function_gives_the_same_bits(rng):
    kept = gn.tensor(drawn(rng, 3, kind=np.complex64))

    def f(z, pair):
        w = (z * kept + pair["w"]).exp() / 3j
        return w, [w.abs().sum(), gn.fft.ifft(w)]

    compiled = gn.compile(f)
    for _ in range(2):
        z, w = (gn.tensor(drawn(rng, 3, kind=np.complex64)) for _ in range(2))
        mine, (size, back) = compiled(z, {"w": w})
        theirs, (size2, back2) = f(z, {"w": w})
        assert isinstance(mine, gn.Tensor)
        assert mine.numpy().tobytes() == theirs.numpy().tobytes()
        assert back.numpy().tobytes() == back2.numpy().tobytes()
        assert size.item() == size2.item()


def test_a_compiled_step_goes_backward_and_writes():
    z = gn.tensor([1 + 1j, 2.0], requires_grad=True)

    @gn.compile
    def step(scale):
        loss = (z * scale).abs().square().sum()
        loss.backward()
        with gn.no_grad():
            z.sub_(z.grad * 0.25)
        z.grad = None
        return loss

    losses = [float(step(gn.tensor(1.0 + 0j))) for _ in range(3)]

    assert losses == [6, 1.5, 0.375]
    assert z.tolist() == [0.125 + 0.125j, 0.25]


def test_a_compiled_module_reads_its_complex_buffer():
    class Rotary(gn.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("turns", gn.polar(gn.ones(2), gn.arange(2.0)))

        def forward(self, x):
            pairs = gn.view_as_complex(x.reshape(-1, 2, 2))
            return gn.view_as_real(pairs * self.turns).flatten(1)

    module, x = Rotary(), gn.arange(8.0).reshape(2, 4)
    compiled = gn.compile(module)

    assert compiled(x).tolist() == module(x).tolist()
    module.turns = module.turns * 2
    assert compiled(x).tolist() == module(x).tolist()
    other = Rotary()
    other.load_state_dict(module.state_dict())
    assert other.turns.tolist() == module.turns.tolist()


def test_samples_of_complex_tensors_are_refused():
    with pytest.raises(ComplexError, match="vmap: complex tensors"):
        gn.func.vmap(lambda z: z * z)(gn.tensor([1j]))


def test_numpys_functions_answer_and_lose_no_gradient():
    x = gn.tensor([1 + 2j, 3 - 1j], requires_grad=True)

    with pytest.raises(GradientError, match="can't call numpy"):
        np.exp(x)
    with pytest.raises(GradientError, match="can't call numpy"):
        np.asarray(x)
    assert (np.ones(2) * x).requires_grad
    np.testing.assert_allclose(np.exp(x.detach()).numpy(), np.exp([1 + 2j, 3 - 1j]), rtol=1e-6)
    assert np.concatenate([x.detach(), x.detach()]).dtype == np.complex64


def test_parts_are_set_to_the_real_parts_of_complex_numbers():
    z = gn.tensor([1 + 2j])

    z.real, z.imag = gn.tensor([5 + 6j]), gn.tensor([7.0])

    assert z.tolist() == [5 + 7j]


def test_a_real_tensor_has_no_imaginary_part_and_is_its_own_conjugate():
    x = gn.ones(2)

    assert x.conj() is gn.resolve_conj(x) is gn.real(x) is x
    for read in (gn.imag, lambda x: x.imag, gn.Tensor.imag.__get__):
        with pytest.raises(DtypeError, match="imag: float32 has no imaginary part"):
            read(x)
    assert gn.imag(gn.tensor([1 + 2j])).tolist() == [2]


def test_complex_numbers_are_seen_under_another_dtype_and_know_their_base():
    z = gn.tensor([1 + 2j, 3 + 4j])

    assert z.view(gn.float32).tolist() == [1, 2, 3, 4]
    assert gn.tensor([1.0, 2.0]).view(gn.complex64).view(gn.float32).tolist() == [1, 2]
    assert z[1:]._base.tolist() == z.tolist()
    assert z._base is None


def test_methods_that_write_are_found_on_the_class_too():
    z, one = gn.ones(2, dtype=gn.complex64), gn.ones(1, dtype=gn.complex64)

    made = gn.Tensor.mul_(z, 2j)
    gn.Tensor.scatter_(z, 0, gn.tensor([1]), one)

    assert made is z
    assert z.tolist() == [2j, 1]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda a: F.conv2d(a, a, 1j), r"conv2d: bias must be a tensor: got 1j"),
        (lambda a: F.linear(a, b"x", 1j), r"linear: weight must be a tensor: got a bytes"),
        (lambda a: F.linear(a, a * 1j, "x"), r"linear: bias must be a tensor: got 'x'"),
        (
            lambda a: gn.addmm(a[0, 0], a[0, 0], a[0, 0], beta=1j, alpha="nope"),
            r"addmm: alpha must be a number or tensor: got 'nope'",
        ),
    ],
)
def test_an_operand_that_is_no_tensor_is_refused_by_its_name(call, told):
    with pytest.raises(ArgumentError, match=told):
        call(gn.ones(1, 1, 2, 2))


FOLDS = {
    "sum": lambda x, dtype: x.sum(dtype=dtype),
    "sum of an axis": lambda x, dtype: gn.sum(x, 0, dtype=dtype),
    "prod": lambda x, dtype: x.prod(dtype=dtype),
    "cumsum": lambda x, dtype: gn.cumsum(x, 0, dtype=dtype),
    "cumprod": lambda x, dtype: x.cumprod(0, dtype=dtype),
}


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("to", [np.complex64, np.complex128])
@pytest.mark.parametrize("call", FOLDS.values(), ids=FOLDS)
def test_a_fold_of_real_numbers_may_be_complex(call, to, kind):
    x = np.array([[1, 2], [3, 4]], kind)

    found = call(gn.asarray(x), dtype_of(np.dtype(to).name))

    same(found, call(gn.asarray(x.astype(to)), None).numpy(), to)


@pytest.mark.filterwarnings("ignore:to. the imaginary part")
@pytest.mark.parametrize("to", [np.int64, np.float32, np.float64])
@pytest.mark.parametrize("call", FOLDS.values(), ids=FOLDS)
def test_a_fold_of_complex_numbers_to_a_real_dtype_is_of_their_real_parts(call, to):
    x = np.array([[1 + 5j, 2 - 1j], [3j, 4]])

    found = call(gn.asarray(x), dtype_of(np.dtype(to).name)).numpy()

    wanted = call(gn.asarray(x.real.astype(to)), None).numpy()
    assert found.dtype == wanted.dtype
    assert found.tolist() == wanted.tolist()


@pytest.mark.filterwarnings("ignore:to. the imaginary part")
def test_a_mean_to_a_real_dtype_is_of_the_real_parts():
    assert gn.tensor([1 + 5j, 2 - 1j]).mean(dtype=gn.float64).item() == 1.5
    assert gn.tensor([1 + 5j, 0j]).sum(dtype=gn.bool).item() is True
