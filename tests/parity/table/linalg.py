"""Rows for products of vectors, matrices and batches of them."""

from __future__ import annotations

from tests.parity.record import Table, integers, normal

TABLE = Table()
add = TABLE.add

add("matmul", lambda lib, a, b: lib.matmul(a, b), normal(3, 4), normal(4, 5))
add("@", lambda lib, a, b: a @ b, normal(3, 4), normal(4, 5))
add("matmul of vectors", lambda lib, a, b: a @ b, normal(4), normal(4))
add("matmul with a vector", lambda lib, a, b: a @ b, normal(3, 4), normal(4))
add("matmul from a vector", lambda lib, a, b: a @ b, normal(4), normal(4, 5))
add("matmul of batches", lambda lib, a, b: a @ b, normal(2, 3, 4), normal(2, 4, 5))
add("matmul broadcasts a matrix", lambda lib, a, b: a @ b, normal(2, 3, 4), normal(4, 5))
add("matmul broadcasts a batch", lambda lib, a, b: a @ b, normal(3, 4), normal(2, 4, 5))
add("matmul broadcasts both", lambda lib, a, b: a @ b, normal(2, 1, 3, 4), normal(5, 4, 2))
add("matmul of a batch and a vector", lambda lib, a, b: a @ b, normal(2, 3, 4), normal(4))
add("matmul of transposes", lambda lib, a, b: a.t() @ b.mT, normal(4, 3), normal(5, 4))
add("matmul with a long sum", lambda lib, a, b: a @ b, normal(3, 700), normal(700, 5), slack=40.0)
add("matmul of odd sizes", lambda lib, a, b: a @ b, normal(17, 33), normal(33, 65), slack=8.0)
add("matmul of one row", lambda lib, a, b: a @ b, normal(1, 7), normal(7, 9))
add("matmul of an empty batch", lambda lib, a, b: a @ b, normal(0, 3, 4), normal(4, 5))
add("matmul of an empty sum", lambda lib, a, b: a @ b, normal(3, 0), normal(0, 5))
add("matmul of integers", lambda lib, a, b: a @ b, integers(-9, 9, 3, 4), integers(-9, 9, 4, 5))
add("matmul of the same", lambda lib, a: a @ a, normal(4, 4))
add("gram matrix", lambda lib, a: a @ a.t(), normal(4, 3))
add("mm", lambda lib, a, b: lib.mm(a, b), normal(3, 4), normal(4, 5))
add("mv", lambda lib, a, b: lib.mv(a, b), normal(3, 4), normal(4))
add("bmm", lambda lib, a, b: lib.bmm(a, b), normal(2, 3, 4), normal(2, 4, 5))
add("dot", lambda lib, a, b: lib.dot(a, b), normal(5), normal(5))
add("outer", lambda lib, a, b: lib.outer(a, b), normal(3), normal(4))
add("linalg.vecdot", lambda lib, a, b: lib.linalg.vecdot(a, b), normal(3, 4), normal(3, 4))
add(
    "addmm",
    lambda lib, c, a, b: lib.addmm(c, a, b, beta=0.5, alpha=2),
    normal(5),
    normal(3, 4),
    normal(4, 5),
)
add(
    "baddbmm",
    lambda lib, c, a, b: lib.baddbmm(c, a, b),
    normal(2, 3, 5),
    normal(2, 3, 4),
    normal(2, 4, 5),
)
add("tensordot", lambda lib, a, b: lib.tensordot(a, b, dims=2), normal(2, 3, 4), normal(3, 4, 5))
add(
    "tensordot by axes",
    lambda lib, a, b: lib.tensordot(a, b, dims=([0, 2], [1, 0])),
    normal(2, 3, 4),
    normal(4, 2, 5),
)
add("kron", lambda lib, a, b: lib.kron(a, b), normal(2, 3), normal(3, 2))
add("trace", lambda lib, a: lib.trace(a), normal(4, 4))
add("cross", lambda lib, a, b: lib.linalg.cross(a, b), normal(4, 3), normal(4, 3))
add(
    "linear",
    lambda lib, x, w, b: lib.nn.functional.linear(x, w, b),
    normal(2, 3, 4),
    normal(5, 4),
    normal(5),
)
add(
    "linear without a bias",
    lambda lib, x, w: lib.nn.functional.linear(x, w),
    normal(3, 4),
    normal(5, 4),
)
add(
    "linear of a vector",
    lambda lib, x, w, b: lib.nn.functional.linear(x, w, b),
    normal(4),
    normal(5, 4),
    normal(5),
)
add(
    "bilinear",
    lambda lib, x, y, w: lib.nn.functional.bilinear(x, y, w),
    normal(2, 3),
    normal(2, 4),
    normal(5, 3, 4),
)
add("cdist", lambda lib, a, b: lib.cdist(a, b), normal(3, 4), normal(5, 4), slack=10.0)

for spec, left, right in (
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,kj->ik", (2, 3), (4, 3)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("bqhd,bkhd->bhqk", (2, 3, 2, 4), (2, 5, 2, 4)),
    ("bhqk,bkhd->bqhd", (2, 2, 3, 5), (2, 5, 2, 4)),
    ("i,j->ij", (3,), (4,)),
    ("i,i->", (5,), (5,)),
    ("bn,bn->b", (3, 4), (3, 4)),
    ("...i,ij->...j", (2, 3, 4), (4, 5)),
    ("ij,jk", (2, 3), (3, 4)),
    ("bi,bj->ij", (5, 2), (5, 3)),
    ("btd,d->bt", (2, 3, 4), (4,)),
):
    add(
        f"einsum {spec}",
        lambda lib, a, b, spec=spec: lib.einsum(spec, a, b),
        normal(*left),
        normal(*right),
    )
for spec, shape in (
    ("ij->ji", (2, 3)),
    ("ij->i", (2, 3)),
    ("ijk->", (2, 3, 4)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)),
    ("bij->bji", (2, 3, 4)),
):
    add(f"einsum {spec}", lambda lib, a, spec=spec: lib.einsum(spec, a), normal(*shape))
add(
    "einsum of three",
    lambda lib, a, b, c: lib.einsum("ij,jk,kl->il", a, b, c),
    normal(2, 3),
    normal(3, 4),
    normal(4, 2),
)
add(
    "einsum with spaces",
    lambda lib, a, b: lib.einsum("b i, i o -> b o", a, b),
    normal(2, 3),
    normal(3, 4),
)

add("linalg.inv", lambda lib, a: lib.linalg.inv(a), normal(2, 4, 4), slack=40.0)
add("det", lambda lib, a: lib.det(a), normal(2, 4, 4), slack=40.0)
add("linalg.slogdet", lambda lib, a: lib.linalg.slogdet(a).logabsdet, normal(2, 4, 4), slack=40.0)
add("linalg.solve", lambda lib, a, b: lib.linalg.solve(a, b), normal(4, 4), normal(4, 2), slack=40)
add("linalg.svdvals", lambda lib, a: lib.linalg.svdvals(a), normal(4, 3), slack=40.0)
add("linalg.qr", lambda lib, a: lib.linalg.qr(a).R, normal(4, 3), slack=40.0)
add("linalg.pinv", lambda lib, a: lib.linalg.pinv(a), normal(4, 3), slack=80.0)
add("linalg.cholesky", lambda lib, a: lib.linalg.cholesky(a @ a.mT + 1), normal(3, 5), slack=80.0)
add("linalg.lu", lambda lib, a: list(lib.linalg.lu(a)), normal(2, 4, 3), slack=40.0)
add("linalg.lu of a wide one", lambda lib, a: list(lib.linalg.lu(a))[1:], normal(3, 4), slack=40.0)
add("linalg.lu_factor", lambda lib, a: list(lib.linalg.lu_factor(a)), normal(4, 4), slack=40.0)
add("lu with infos", lambda lib, a: list(a.lu(get_infos=True)), normal(2, 3, 3), slack=40.0)
add(
    "lu_solve",
    lambda lib, b, a: b.lu_solve(*lib.linalg.lu_factor(a)),
    normal(4, 2),
    normal(4, 4),
    slack=80.0,
)
add(
    "linalg.lu_solve on the right",
    lambda lib, b, a: lib.linalg.lu_solve(*lib.linalg.lu_factor(a), b, left=False, adjoint=True),
    normal(2, 4),
    normal(4, 4),
    slack=80.0,
)
add("linalg.matrix_exp", lambda lib, a: lib.linalg.matrix_exp(a), normal(2, 4, 4), slack=80.0)
add("linalg.inv_ex", lambda lib, a: list(lib.linalg.inv_ex(a)), normal(4, 4), slack=80.0)
add(
    "linalg.solve_ex",
    lambda lib, a, b: list(lib.linalg.solve_ex(a, b)),
    normal(4, 4),
    normal(4),
    slack=80.0,
)
add(
    "linalg.multi_dot",
    lambda lib, a, b, c: lib.linalg.multi_dot([a, b, c]),
    normal(4),
    normal(4, 5),
    normal(5, 2),
    slack=8.0,
)
add(
    "chain_matmul",
    lambda lib, a, b, c: lib.chain_matmul(a, b, c),
    normal(3, 4),
    normal(4, 5),
    normal(5, 2),
    slack=8.0,
)
add("linalg.tensorinv", lambda lib, a: lib.linalg.tensorinv(a, 1), normal(6, 2, 3), slack=80.0)
add(
    "linalg.tensorsolve",
    lambda lib, a, b: lib.linalg.tensorsolve(a, b, dims=(0,)),
    normal(6, 2, 3),
    normal(2, 3),
    slack=80.0,
)
add("linalg.vander", lambda lib, x: lib.linalg.vander(x, N=4), normal(2, 3), slack=4.0)
add(
    "linalg.householder_product",
    lambda lib, a, t: lib.linalg.householder_product(a, t),
    normal(2, 4, 3),
    normal(2, 2),
    slack=40.0,
)
add("geqrf", lambda lib, a: list(lib.geqrf(a)), normal(4, 3), gradient=False, slack=40.0)
add(
    "ormqr",
    lambda lib, a, t, b: lib.ormqr(a, t, b, True, True),
    normal(4, 3),
    normal(3),
    normal(4, 2),
    slack=40.0,
)
add("svd", lambda lib, a: lib.svd(a).S, normal(4, 3), slack=40.0)
add(
    "triangular_solve",
    lambda lib, b, a: list(lib.triangular_solve(b, a + 3 * lib.eye(3, dtype=a.dtype))),
    normal(3, 2),
    normal(3, 3),
    slack=40.0,
)
