"""Connectionist temporal classification: the loss of a text whose alignment in time is unknown.

Graves, Fernández, Gomez, Schmidhuber 2006: the sum over all alignments of the text, with blanks
between, by the forward recursion; one iteration of a loop per step. The gradient is derived.
"""

# t steps, n texts, c classes, s letters of the longest text, p = 2 s + 1 places: letters and blanks

from __future__ import annotations

from collections.abc import Sequence

from gnomon.capture.control_flow import scan
from gnomon.errors import ArgumentError, DtypeError, ShapeError
from gnomon.nn.value_checks import seen
from gnomon.ops.arguments import choice
from gnomon.ops.losses import REDUCTIONS
from gnomon.tensor.creation import arange, full, tensor
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.overrides import overridable
from gnomon.tensor.tensor import Tensor

NEVER = -1e30
"""The log-probability of the impossible; finite, since a difference of infinities is NaN."""

cat, where, logaddexp = FUNCTIONS["cat"], FUNCTIONS["where"], FUNCTIONS["logaddexp"]
Lengths = Tensor | Sequence[int]


def checked_lengths(word: str, lengths: Lengths, n: int, most: int) -> Tensor:
    """Each text's length as int64, checked to be from 0 to `most`."""
    given = lengths if isinstance(lengths, Tensor) else tensor(list(lengths))
    if given.dtype.is_floating_point and n:
        raise DtypeError(f"ctc_loss: {word} must be integral: got {given.dtype.name}. Use long().")
    values = seen(given)
    if values is not None and ((values < 0) | (values > most)).any():
        raise ArgumentError(f"ctc_loss: {word} are from 0 to {most}: got {values.tolist()}.")
    return given.reshape(n).long()


def letters_of(targets: Tensor, lengths: Tensor, blank: int) -> Tensor:
    """The texts as rows (n, s), from rows or from a concatenation; padded with blanks."""
    if targets.ndim == 1:
        given = lengths.tolist()
        longest = max(given, default=0)
        if sum(given) != targets.shape[0]:
            raise ShapeError(
                f"ctc_loss: targets of texts of {sum(given)} letters together: got "
                f"{targets.shape[0]}."
            )
        place = arange(longest) + (lengths.cumsum(0) - lengths)[:, None]
        if not longest:
            targets = full((1,), blank, dtype=targets.dtype)
        targets = targets[place.clamp(max=targets.shape[0] - 1)]
    inside = arange(targets.shape[1]) < lengths[:, None]
    return where(inside, targets.long(), blank)


def later(chances: Tensor, by: int) -> Tensor:
    """Log-probabilities shifted to later positions."""
    return cat([full((chances.shape[0], by), NEVER, dtype=chances.dtype), chances[:, :-by]], 1)


def likelihood(x_tnp: Tensor, skips: Tensor, steps: Tensor, letters: Tensor) -> Tensor:
    """The log-probability of each text.

    skips: positions that may follow the letter two before without a blank.
    """
    t, n, p = x_tnp.shape
    start = where(arange(p) == 0, 0.0, NEVER).to(x_tnp.dtype).expand(n, p)

    def iteration(chances: Tensor, given: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        x, now = given
        stays = logaddexp(chances, later(chances, 1))
        comes = x + (logaddexp(stays, where(skips, later(chances, 2), NEVER)) if p > 1 else chances)
        return where((now < steps)[:, None], comes, chances), now

    chances, _ = scan(iteration, start, (x_tnp, arange(t)))
    on_blank = FUNCTIONS["gather"](chances, 1, 2 * letters[:, None])[:, 0]
    on_letter = FUNCTIONS["gather"](chances, 1, (2 * letters[:, None] - 1).clamp(min=0))[:, 0]
    return logaddexp(on_blank, where(letters > 0, on_letter, NEVER))


@overridable
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Lengths,
    target_lengths: Lengths,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """The CTC loss: minus the log-probability of target texts, without an alignment.

    log_probs: (t, n, c), or (t, c) of one text. targets: rows (n, s) with lengths, or all texts
    concatenated. "mean" divides each text's loss by its length first. A text that cannot fit into
    its steps costs infinity, or nothing if `zero_infinity`, and gives no gradient.

    Shapes: log_probs (t, n, c), targets (n, s) -> (n) if reduction == "none" else ()

    >>> ctc_loss(-ones(2, 1, 2), tensor([[1]]), [2], [1], reduction="sum")
    Tensor(0.9014)
    """
    choice("ctc_loss", "reduction", reduction, REDUCTIONS)
    if alone := log_probs.ndim == 2:
        log_probs, targets = log_probs[:, None], targets.reshape(1, -1)
    t, n, c = log_probs.shape
    if not 0 <= blank < c:
        raise ArgumentError(f"ctc_loss: blank is no class: {blank} of {c}. Use 0 to {c - 1}.")
    steps = checked_lengths("input_lengths", input_lengths, n, t)
    letters = checked_lengths("target_lengths", target_lengths, n, targets.shape[-1])
    text = letters_of(targets, letters, blank)
    s = text.shape[1]
    between = full((n, s + 1), blank, dtype=text.dtype)
    places = cat(
        [FUNCTIONS["stack"]([between[:, :-1], text], 2).reshape(n, 2 * s), between[:, :1]], 1
    )
    new = (places[:, 2:] != places[:, :-2]) & (places[:, 2:] != blank)
    skips = cat([full((n, min(2, 2 * s + 1)), False), new], 1)
    wide = log_probs.float() if log_probs.dtype.bits < 32 else log_probs
    x_tnp = FUNCTIONS["gather"](wide, 2, places.expand(t, n, 2 * s + 1))
    chance = likelihood(x_tnp, skips, steps, letters)
    cost = where(chance < NEVER / 2, 0.0 if zero_infinity else float("inf"), -chance)
    cost = cost.to(log_probs.dtype)
    if reduction == "mean":
        return (cost / letters.clamp(min=1)).mean()
    return cost.sum() if reduction == "sum" or alone else cost
