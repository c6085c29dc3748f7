"""Rows for loss functions: reductions, weights, ignored targets, smoothing."""

from __future__ import annotations

from typing import Any

from tests.parity.record import Table, between, distinct, exactly, integers, normal

TABLE = Table()
add = TABLE.add
LABELS = integers(0, 5, 7)
SOME_IGNORED = exactly([1, -100, 4, 0, -100, 2, 3], "int64")


def loss(name: str, **options: Any) -> Any:
    """A call of a loss of nn.functional."""
    return lambda lib, *tensors: getattr(lib.nn.functional, name)(*tensors, **options)


for reduction in ("mean", "sum", "none"):
    for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"):
        add(f"F.{name} {reduction}", loss(name, reduction=reduction), distinct(3, 5), normal(3, 5))
    add(
        f"F.cross_entropy {reduction}",
        loss("cross_entropy", reduction=reduction),
        normal(7, 5),
        LABELS,
    )
    add(f"F.nll_loss {reduction}", loss("nll_loss", reduction=reduction), normal(7, 5), LABELS)
    add(
        f"F.binary_cross_entropy {reduction}",
        loss("binary_cross_entropy", reduction=reduction),
        between(0.1, 0.9, 6),
        between(0.0, 1.0, 6),
        slack=2.0,
        gradient=False,
    )
    add(
        f"F.binary_cross_entropy_with_logits {reduction}",
        loss("binary_cross_entropy_with_logits", reduction=reduction),
        normal(3, 4),
        between(0.0, 1.0, 3, 4),
    )
for power in (1, 2):
    add(f"F.multi_margin_loss {power}", loss("multi_margin_loss", p=power), distinct(7, 5), LABELS)
add(
    "F.multi_margin_loss weighted",
    lambda lib, x, i, w: lib.nn.functional.multi_margin_loss(x, i, weight=w, reduction="none"),
    distinct(7, 5),
    LABELS,
    between(0.5, 2.0, 5),
    gradient=False,
)
add(
    "F.soft_margin_loss",
    lambda lib, x: lib.nn.functional.soft_margin_loss(x, lib.ones_like(x)),
    distinct(9),
)
for reduction in ("sum", "none"):
    add(
        f"F.kl_div {reduction}",
        loss("kl_div", reduction=reduction),
        normal(3, 4),
        between(0.1, 0.9, 3, 4),
    )
add(
    "F.kl_div batchmean",
    loss("kl_div", reduction="batchmean"),
    normal(3, 4),
    between(0.1, 0.9, 3, 4),
)
add(
    "F.kl_div of logs", loss("kl_div", reduction="sum", log_target=True), normal(3, 4), normal(3, 4)
)
add(
    "F.binary_cross_entropy slopes",
    lambda lib, x: lib.nn.functional.binary_cross_entropy(x, lib.full_like(x, 0.3)),
    between(0.1, 0.9, 6),
)
add(
    "F.binary_cross_entropy at the ends",
    loss("binary_cross_entropy", reduction="none"),
    exactly([0.0, 1.0, 0.0, 1.0]),
    exactly([0.0, 1.0, 1.0, 0.0]),
    gradient=False,
)
add("F.smooth_l1_loss with beta", loss("smooth_l1_loss", beta=0.5), distinct(9), normal(9))
add("F.huber_loss with delta", loss("huber_loss", delta=0.7), distinct(9), normal(9))
add("F.cross_entropy ignores", loss("cross_entropy"), normal(7, 5), SOME_IGNORED)
add("F.cross_entropy ignores an index", loss("cross_entropy", ignore_index=2), normal(7, 5), LABELS)
add(
    "F.cross_entropy ignores, unreduced",
    loss("cross_entropy", reduction="none"),
    normal(7, 5),
    SOME_IGNORED,
)
add("F.cross_entropy smooths", loss("cross_entropy", label_smoothing=0.1), normal(7, 5), LABELS)
add(
    "F.cross_entropy smooths and ignores",
    loss("cross_entropy", label_smoothing=0.1),
    normal(7, 5),
    SOME_IGNORED,
)
add(
    "F.cross_entropy weighs",
    lambda lib, x, i, w: lib.nn.functional.cross_entropy(x, i, weight=w.detach()),
    normal(7, 5),
    LABELS,
    between(0.5, 2.0, 5),
)
add("F.cross_entropy of images", loss("cross_entropy"), normal(2, 5, 3, 4), integers(0, 5, 2, 3, 4))
add("F.cross_entropy of chances", loss("cross_entropy"), normal(3, 5), between(0.0, 0.4, 3, 5))
add("F.cross_entropy of one", loss("cross_entropy"), normal(5), exactly(3, "int64"))
add(
    "F.cross_entropy far out",
    loss("cross_entropy"),
    exactly([[900.0, -900.0, 0.0]]),
    exactly([1], "int64"),
)
add(
    "F.cross_entropy of a wide vocabulary",
    loss("cross_entropy"),
    normal(6, 517),
    integers(0, 517, 6),
    slack=4.0,
)
add("F.nll_loss ignores", loss("nll_loss"), normal(7, 5), SOME_IGNORED)
add("F.nll_loss of images", loss("nll_loss"), normal(2, 5, 3, 4), integers(0, 5, 2, 3, 4))
add(
    "F.binary_cross_entropy_with_logits weighs",
    lambda lib, x, y, w: lib.nn.functional.binary_cross_entropy_with_logits(
        x, y, pos_weight=w.detach()
    ),
    normal(3, 4),
    between(0.0, 1.0, 3, 4),
    between(0.5, 2.0, 4),
)
add(
    "F.binary_cross_entropy_with_logits far out",
    loss("binary_cross_entropy_with_logits"),
    exactly([-200.0, 200.0, 0.0]),
    exactly([0.0, 0.0, 1.0]),
)
add(
    "F.hinge_embedding_loss",
    loss("hinge_embedding_loss"),
    distinct(6),
    exactly([1.0, -1, 1, -1, 1, -1]),
    gradient=False,
)
add(
    "F.margin_ranking_loss",
    loss("margin_ranking_loss", margin=0.3),
    normal(6),
    distinct(6),
    exactly([1.0, -1, 1, -1, 1, -1]),
    gradient=False,
)
for swap in (False, True):
    triplet = loss("triplet_margin_loss", swap=swap)
    add(f"F.triplet_margin_loss {swap}", triplet, normal(3, 4), normal(3, 4), normal(3, 4))
add(
    "F.cosine_embedding_loss",
    loss("cosine_embedding_loss"),
    normal(3, 4),
    normal(3, 4),
    exactly([1, -1, 1], "int64"),
)
add("F.gaussian_nll_loss", loss("gaussian_nll_loss"), normal(6), normal(6), between(0.5, 2.0, 6))
for shape in ((3,), (3, 1)):
    spreads = between(0.5, 2.0, *shape)
    add(
        f"F.gaussian_nll_loss {shape}",
        loss("gaussian_nll_loss"),
        normal(3, 3),
        normal(3, 3),
        spreads,
    )
add("F.poisson_nll_loss", loss("poisson_nll_loss"), normal(6), between(0.5, 2.0, 6), gradient=False)
add(
    "the evidence bound",
    lambda lib, mu, v: -0.5 * lib.sum(1 + v - mu.pow(2) - v.exp()),
    normal(3, 4),
    normal(3, 4),
)
for settings in ({}, {"label_smoothing": 0.1}, {"reduction": "sum"}, {"ignore_index": 2}):
    add(
        f"F.linear_cross_entropy {settings}",
        loss("linear_cross_entropy", **settings),
        normal(7, 4),
        normal(5, 4),
        LABELS,
    )


def ctc(**options: Any) -> Any:
    """ctc_loss of scores: log_softmax first, since torch's gradient supposes it."""

    def call(lib: Any, scores: Any, targets: Any) -> Any:
        lengths = options.get("lengths", ((9, 9, 7), (4, 2, 3)))
        named = {key: value for key, value in options.items() if key != "lengths"}
        lengths = [lib.tensor(list(each)) for each in lengths]
        return lib.nn.functional.ctc_loss(scores.log_softmax(-1), targets, *lengths, **named)

    return call


TEXTS, IN_A_ROW = integers(1, 5, 3, 4), integers(1, 5, 9)
for reduction in ("mean", "sum", "none"):
    add(f"F.ctc_loss {reduction}", ctc(reduction=reduction), normal(9, 3, 6), TEXTS)
add("F.ctc_loss blank", ctc(blank=5), normal(9, 3, 6), TEXTS)
add("F.ctc_loss texts in a row", ctc(), normal(9, 3, 6), IN_A_ROW)
add(
    "F.ctc_loss zero_infinity",
    ctc(zero_infinity=True, lengths=((9, 2, 7), (4, 4, 0))),
    *(normal(9, 3, 6), TEXTS),
)
add(
    "F.ctc_loss one text",
    ctc(lengths=((9,), (4,)), reduction="none"),
    normal(9, 6),
    integers(1, 5, 4),
)
ANSWERS = exactly([[3, 0, -1, 1], [-1, 2, 1, 0], [0, 1, 2, 3]], "int64")
for reduction in ("mean", "sum", "none"):
    call = loss("multilabel_margin_loss", reduction=reduction)
    add(f"F.multilabel_margin_loss {reduction}", call, distinct(3, 4), ANSWERS)
    for swap in (False, True):
        call = loss("triplet_margin_with_distance_loss", swap=swap, reduction=reduction, margin=2.0)
        name = f"F.triplet_margin_with_distance_loss {reduction} {swap}"
        add(name, call, *[normal(3, 4)] * 3, slack=4.0)
add(
    "F.multilabel_margin_loss of one",
    loss("multilabel_margin_loss"),
    distinct(4),
    exactly([2, 1, -1, 0], "int64"),
)
add(
    "F.triplet_margin_with_distance_loss by a distance",
    lambda lib, a, b, c: lib.nn.functional.triplet_margin_with_distance_loss(
        a, b, c, distance_function=lambda x, y: (x - y).abs().sum(-1)
    ),
    *[normal(3, 4)] * 3,
)
