"""Rows for reshapes, moves of axes, slices as views, joins and splits."""

from __future__ import annotations

from tests.parity.record import Table, booleans, integers, normal

TABLE = Table()
add, each = TABLE.add, TABLE.each

add("reshape", lambda lib, x: lib.reshape(x, (4, 3)), normal(2, 6))
add("reshape finds a size", lambda lib, x: x.reshape(-1, 2, 2), normal(2, 6))
add("reshape of a transpose", lambda lib, x: x.t().reshape(-1), normal(2, 5))
add("view", lambda lib, x: x.view(3, -1), normal(2, 6))
add("view of a tuple", lambda lib, x: x.view((3, 4)), normal(2, 6))
add("view_as", lambda lib, x, y: x.view_as(y), normal(2, 6), normal(3, 4), gradient=False)
add("transpose", lambda lib, x: x.transpose(1, 2), normal(2, 3, 4))
add("transpose from the end", lambda lib, x: lib.transpose(x, -1, 0), normal(2, 3, 4))
add(
    "transpose, contiguous, view",
    lambda lib, x: x.transpose(1, 2).contiguous().view(2, 12),
    normal(2, 3, 4),
)
add("permute", lambda lib, x: x.permute(2, 0, 1), normal(2, 3, 4))
add("permute of a tuple", lambda lib, x: lib.permute(x, (1, -1, 0)), normal(2, 3, 4))
add("t", lambda lib, x: x.t(), normal(2, 3))
add("T and mT", lambda lib, x: x.T @ x.mT.mT, normal(2, 3))
add("swapaxes", lambda lib, x: lib.swapaxes(x, 0, 2), normal(2, 3, 4))
add("movedim", lambda lib, x: lib.movedim(x, 0, -1), normal(2, 3, 4))
add("flatten", lambda lib, x: lib.flatten(x), normal(2, 3, 4))
add("flatten from one", lambda lib, x: lib.flatten(x, 1), normal(2, 3, 4))
add("flatten the first", lambda lib, x: x.flatten(start_dim=0, end_dim=1), normal(2, 3, 4))
add("flatten no axes", lambda lib, x: x.flatten(), normal())
add("unflatten", lambda lib, x: x.unflatten(1, (2, 3)), normal(2, 6))
add("ravel", lambda lib, x: x.ravel(), normal(2, 3))
add("squeeze", lambda lib, x: x.squeeze(), normal(1, 3, 1, 2))
add("squeeze one axis", lambda lib, x: lib.squeeze(x, -2), normal(1, 3, 1, 2))
add("squeeze a wide axis", lambda lib, x: x.squeeze(1), normal(1, 3, 1, 2))
add("unsqueeze", lambda lib, x: x.unsqueeze(1), normal(2, 3))
add("unsqueeze at the end", lambda lib, x: lib.unsqueeze(x, -1), normal(2, 3))
add("expand", lambda lib, x: x.expand(4, -1, 3), normal(2, 1))
add("expand_as", lambda lib, x, y: x.expand_as(y) * y, normal(1, 3), normal(2, 3))
add("broadcast_to", lambda lib, x: lib.broadcast_to(x, (2, 3, 4)), normal(3, 1))
add("repeat", lambda lib, x: x.repeat(2, 3), normal(2, 3))
add("repeat into more axes", lambda lib, x: x.repeat(2, 1, 3), normal(2, 3))
add("tile", lambda lib, x: lib.tile(x, (2, 2)), normal(2, 3))
add("repeat_interleave", lambda lib, x: x.repeat_interleave(3, dim=1), normal(2, 3))
add(
    "repeat_interleave flattens",
    lambda lib, x: lib.repeat_interleave(x, 2),
    normal(2, 3),
    gradient=True,
)
add("cat", lambda lib, x, y: lib.cat([x, y], dim=1), normal(2, 3), normal(2, 4))
add("cat of a tuple", lambda lib, x, y: lib.cat((x, y, x)), normal(2, 3), normal(4, 3))
add("cat from the end", lambda lib, x, y: lib.cat([x, y], -1), normal(2, 3, 1), normal(2, 3, 4))
add("cat promotes", lambda lib, x, i: lib.cat([x, i]), normal(2), integers(0, 5, 3))
add("concat of bools", lambda lib, a, b: lib.concat([a, b]), booleans(2), booleans(3))
add("stack", lambda lib, x, y: lib.stack([x, y]), normal(2, 3), normal(2, 3))
add("stack at the end", lambda lib, x, y: lib.stack((x, y), dim=-1), normal(2, 3), normal(2, 3))
add("hstack", lambda lib, x, y: lib.hstack([x, y]), normal(2, 3), normal(2, 1))
add("vstack", lambda lib, x, y: lib.vstack([x, y]), normal(3), normal(2, 3))
add("split by size", lambda lib, x: x.split(2, dim=1), normal(2, 5))
add("split by sizes", lambda lib, x: lib.split(x, [1, 3, 1], dim=1), normal(2, 5))
add("chunk", lambda lib, x: x.chunk(3, dim=-1), normal(2, 6))
add("chunk unevenly", lambda lib, x: lib.chunk(x, 3), normal(7, 2))
add("unbind", lambda lib, x: lib.unbind(x, dim=1), normal(2, 3))
add("iterate", lambda lib, x: [row * 2 for row in x], normal(3, 2))
add("narrow", lambda lib, x: x.narrow(1, 1, 3), normal(2, 5))
add("select", lambda lib, x: x.select(1, -1), normal(2, 5))
add("flip", lambda lib, x: lib.flip(x, dims=(0, 2)), normal(2, 3, 4))
add("flip one axis", lambda lib, x: x.flip(1), normal(2, 3))
add("roll", lambda lib, x: lib.roll(x, 2, dims=1), normal(2, 5))
add("roll two axes", lambda lib, x: x.roll(shifts=(1, -2), dims=(0, 1)), normal(3, 5))
add("roll flat", lambda lib, x: lib.roll(x, 1), normal(2, 3))
add("unfold", lambda lib, x: x.unfold(1, 3, 2), normal(2, 7))
add("rot90", lambda lib, x: lib.rot90(x), normal(2, 3))
add("pad", lambda lib, x: lib.nn.functional.pad(x, (1, 2)), normal(2, 3))
add("pad two axes", lambda lib, x: lib.nn.functional.pad(x, (1, 0, 2, 1), value=0.5), normal(2, 3))
add("pad crops", lambda lib, x: lib.nn.functional.pad(x, (-1, 1)), normal(2, 4))
for mode in ("reflect", "replicate", "circular"):
    add(
        f"pad {mode}",
        lambda lib, x, mode=mode: lib.nn.functional.pad(x, (2, 1, 1, 2), mode=mode),
        normal(2, 3, 4, 5),
    )
add("contiguous", lambda lib, x: x.t().contiguous(), normal(2, 3))
add(
    "heads of attention",
    lambda lib, x: x.view(2, 3, 4, 2).transpose(1, 2).reshape(8, 3, 2),
    normal(2, 3, 8),
)
add("broadcast_tensors", lambda lib, x, y: lib.broadcast_tensors(x, y), normal(3, 1), normal(4))
