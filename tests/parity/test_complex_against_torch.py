"""Complex tensors, gn.fft and stft beside PyTorch: values, dtypes, gradients, views, refusals."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import gnomon as gn

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

Z, W, R = "complex (3, 4)", "complex (3, 4) again", "real (3, 4)"
SHAPES = {Z: (3, 4), W: (3, 4), R: (3, 4)}
ELEMENTS = (
    "exp log sqrt sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh reciprocal square "
    "abs angle sgn sigmoid rsqrt log2 log10 log1p expm1 neg conj exp2 real imag view_as_real"
)
CASES = {name: (lambda xp, z, name=name: getattr(xp, name)(z), Z) for name in ELEMENTS.split()}
for _name in ("add", "sub", "mul", "truediv", "pow"):
    _f = getattr(operator, _name)
    CASES |= {
        f"{_name} of two": (lambda xp, z, w, f=_f: f(z, w), Z, W),
        f"{_name} with real": (lambda xp, z, r, f=_f: f(z, r), Z, R),
        f"{_name} of real": (lambda xp, z, r, f=_f: f(r.abs(), z), Z, R),
        f"{_name} with a number": (lambda xp, z, f=_f: f(z, 2.5), Z),
        f"{_name} with 1j": (lambda xp, z, f=_f: f(z, 2.5 - 1j), Z),
        f"{_name} of real with 1j": (lambda xp, r, f=_f: f(r.abs(), 2.5 - 1j), R),
        f"{_name} of 1j": (lambda xp, z, f=_f: f(2j, z), Z),
    }
for _name in ("sum", "mean", "var", "std", "prod", "cumsum", "cumprod"):
    CASES[f"{_name} along 1"] = (lambda xp, z, name=_name: getattr(z, name)(1), Z)
    if not _name.startswith("cum"):
        CASES[_name] = (lambda xp, z, name=_name: getattr(z, name)(), Z)
CASES |= {
    "matmul": (lambda xp, z, w: z @ w.mT, Z, W),
    "matmul with real": (lambda xp, z, r: z.real @ r.mT @ r + z, Z, R),
    "einsum of three": (lambda xp, z, w: xp.einsum("ij,kj,ij->k", z, w, z), Z, W),
    "vdot": (lambda xp, z, w: xp.vdot(z[0], w[0]), Z, W),
    "vecdot": (lambda xp, z, w: xp.linalg.vecdot(z, w), Z, W),
    "tensordot": (lambda xp, z, w: xp.tensordot(z, w, 2), Z, W),
    "outer": (lambda xp, z, w: xp.outer(z[0], w[1]), Z, W),
    "addmm": (lambda xp, z, w: xp.addmm(z[:, :3], z, w.mT, beta=0.5, alpha=2), Z, W),
    "linear": (lambda xp, z, w: xp.nn.functional.linear(z, w, z[:, 0]), Z, W),
    "kron": (lambda xp, z, w: xp.kron(z, w), Z, W),
    "where": (lambda xp, z, w: xp.where(z.real > 0, z, w), Z, W),
    "masked_fill": (lambda xp, z: z.masked_fill(z.real > 0, 1j), Z),
    "cat": (lambda xp, z, w: xp.cat([z, w], -1), Z, W),
    "stack": (lambda xp, z, w: xp.stack([z, w], 1), Z, W),
    "moves": (lambda xp, z: z.reshape(2, 6).mT[:, None].expand(6, 3, 2).flip(0).roll(1, 1), Z),
    "adjoint": (lambda xp, z: xp.adjoint(z) + z.mH + z.H, Z),
    "index": (lambda xp, z: z[None, 1:, ::2] * z[:2, [0, 2]], Z),
    "gather": (lambda xp, z: z.gather(1, xp.tensor([[0, 1], [1, 2], [3, 3]])), Z),
    "index_add": (lambda xp, z, w: z.index_add(1, xp.tensor([0, 2]), w[:, :2]), Z, W),
    "parts": (lambda xp, z: [*z.split(2, 1), *z.chunk(2, -1)][1] * z.unbind(-1)[1][:, None], Z),
    "pad": (lambda xp, z: xp.nn.functional.pad(z, (1, 2)), Z),
    "diagonal": (lambda xp, z: z.diagonal() + z[:3, :3].trace(), Z),
    "norm": (lambda xp, z: z.norm() + xp.linalg.vector_norm(z, 3, -1), Z),
    "in place": (lambda xp, z: (z * 1).add_(1j).mul_(z), Z),
    "cast": (lambda xp, r: r.to(xp.complex64), R),
    "polar": (lambda xp, r: xp.polar(r.abs(), r), R),
    "complex": (lambda xp, r: xp.complex(r, r * 2), R),
    "view_as_complex": (lambda xp, r: xp.view_as_complex(r.reshape(3, 2, 2)), R),
    "stft": (lambda xp, r: xp.stft(r.reshape(12), 4, return_complex=True), R),
    "istft": (lambda xp, z: xp.istft(z, 4, 1, length=5), Z),
}
for _norm in (None, "ortho", "forward"):
    for _name in ("fft", "ifft", "irfft", "hfft", "rfft", "ihfft"):
        _x = R if _name in ("rfft", "ihfft") else Z
        for _words in ({"n": 5, "dim": 0}, {"n": 3}):
            CASES[f"{_name} {_norm} {_words}"] = (
                lambda xp, x, name=_name, words=_words, norm=_norm: getattr(xp.fft, name)(
                    x, norm=norm, **words
                ),
                _x,
            )
        CASES[f"{_name}2 {_norm}"] = (
            lambda xp, x, name=_name, norm=_norm: getattr(xp.fft, f"{name}2")(x, norm=norm),
            _x,
        )


def drawn(rng, name, kind):
    """Numbers of a parameter."""
    real = rng.standard_normal(SHAPES[name])
    if name == R:
        return real.astype(np.float32 if kind == np.complex64 else np.float64)
    return (real + 1j * rng.standard_normal(SHAPES[name])).astype(kind)


def array_of(tensor):
    """The values of one of PyTorch's tensors."""
    return tensor.detach().resolve_conj().resolve_neg().numpy()


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_pytorchs(name, rng):
    f, *wanted = CASES[name]
    for kind, bound in ((np.complex128, 1e-11), (np.complex64, 5e-5)):
        arrays = [drawn(rng, x, kind) for x in wanted]
        theirs = [torch.tensor(x, requires_grad=True) for x in arrays]
        ours = [gn.tensor(x, requires_grad=True) for x in arrays]
        their, our = f(torch, *theirs), f(gn, *ours)
        close(our.detach().numpy(), array_of(their), bound)
        seed = rng.standard_normal(our.shape)
        seed = seed + 1j * rng.standard_normal(our.shape) if our.is_complex() else seed
        seed = seed.astype(our.dtype.numpy)
        their.backward(torch.tensor(seed))
        our.backward(gn.tensor(seed))
        for x, y in zip(ours, theirs, strict=True):
            close(x.grad.numpy(), array_of(y.grad), bound * 10)
        if kind == np.complex128 and name.startswith(("pow", "prod")):
            return  # of complex64 both err by more than a bound says


def close(ours, theirs, bound):
    """The same dtype and shape, and values that differ by little of the largest one."""
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    size = np.abs(theirs).max(initial=1.0)
    np.testing.assert_allclose(ours, theirs, rtol=bound, atol=bound * size)


@pytest.mark.parametrize(
    "f",
    [
        lambda xp, z: xp.erf(z),
        lambda xp, z: z < z,
        lambda xp, z: xp.maximum(z, z),
        lambda xp, z: xp.relu(z),
        lambda xp, z: z.sort(),
        lambda xp, z: z.argmax(),
        lambda xp, z: xp.ones(2).add_(z),
        lambda xp, z: z.sum().backward(),
        lambda xp, z: xp.fft.rfft(z),
        lambda xp, z: xp.view_as_complex(xp.ones(3)),
        lambda xp, z: xp.view_as_real(xp.ones(2)),
        lambda xp, z: xp.complex(xp.ones(2), xp.ones(2, dtype=xp.float64)),
        lambda xp, z: xp.div(z, z, rounding_mode="floor"),
    ],
)
def test_what_pytorch_refuses_is_refused(f):
    for library in (torch, gn):
        z = library.ones(2, dtype=library.complex64, requires_grad=True)
        with pytest.raises((RuntimeError, TypeError, ValueError)):
            f(library, z)


def test_views_write_to_the_same_places():
    for library in (torch, gn):
        z = library.zeros(2, 3, dtype=library.complex64)
        library.view_as_real(z)[0, :, 1] = 2
        z.real[1] += 1
        z.mT[2, 0] = 7j
        z[:, 1].mul_(1j)
        assert z.tolist() == [[2j, -2, 7j], [1, 1j, 1]]


def test_files_hold_complex_numbers(tmp_path):
    x = torch.tensor([[1 + 2j, 3], [4j, 5]])
    saved = {"x": x, "turned": x.mT, "conj": x.conj(), "wide": x.to(torch.complex128)}
    for zipped in (True, False):
        torch.save(saved, tmp_path / "x.pt", _use_new_zipfile_serialization=zipped)

        found = gn.load(tmp_path / "x.pt")

        for name, tensor in saved.items():
            np.testing.assert_array_equal(found[name].numpy(), array_of(tensor))
    gn.save(found, tmp_path / "y.pt")
    assert gn.load(tmp_path / "y.pt")["wide"].dtype is gn.complex128


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_convolutions_and_their_gradients_are_torchs(axes: int, transposed: bool, rng):
    name = f"conv_transpose{axes}d" if transposed else f"conv{axes}d"
    shapes = [(2, 4, *[5] * axes), (4, 3, *[2] * axes) if transposed else (6, 2, *[2] * axes)]
    shapes.append((3,) if transposed else (6,))
    arrays = [rng.standard_normal(s) + 1j * rng.standard_normal(s) for s in shapes]
    found = []
    for library in (torch, gn):
        given = [library.tensor(x, requires_grad=True) for x in arrays]
        words = {"stride": 2, "padding": 1} | ({} if transposed else {"groups": 2})
        y = getattr(library.nn.functional, name)(*given, **words)
        (y.abs() ** 2).sum().backward()
        found.append([y.detach().numpy(), *(x.grad.numpy() for x in given)])

    for theirs, ours in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)
