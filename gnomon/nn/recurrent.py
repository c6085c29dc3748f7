"""Recurrent layers: RNN, LSTM and GRU over sequences, and their cells for one step.

A layer multiplies the inputs of the whole sequence in one product; its steps are a scan, so that
long sequences compile as fast as short ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import sqrt
from typing import Any

from gnomon.capture.control_flow import scan
from gnomon.errors import ArgumentError, ShapeError
from gnomon.nn import functional as F
from gnomon.nn import init
from gnomon.nn.module import Module
from gnomon.nn.module_texts import unusual
from gnomon.nn.parameter import empty_parameter
from gnomon.nn.utils.rnn import PackedSequence, packed_like, pad_packed_sequence
from gnomon.nn.value_checks import check_chance
from gnomon.runtime.buffer import check_size
from gnomon.tensor.creation import arange, zeros
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.tensor import Tensor

States = tuple[Tensor, ...]
RecurrentStep = Callable[[Tensor, States, Tensor, Tensor | None], States]


def tanh_step(x: Tensor, state: States, weight: Tensor, bias: Tensor | None) -> States:
    """One step of a tanh RNN."""
    return ((x + F.linear(state[0], weight, bias)).tanh(),)


def relu_step(x: Tensor, state: States, weight: Tensor, bias: Tensor | None) -> States:
    """One step of a ReLU RNN."""
    return (F.relu(x + F.linear(state[0], weight, bias)),)


def gru_step(x: Tensor, state: States, weight: Tensor, bias: Tensor | None) -> States:
    """One step of a GRU."""
    (h,) = state
    reset_x, update_x, new_x = x.chunk(3, dim=-1)
    reset_h, update_h, new_h = F.linear(h, weight, bias).chunk(3, dim=-1)
    new = (new_x + (reset_x + reset_h).sigmoid() * new_h).tanh()
    update = (update_x + update_h).sigmoid()
    return ((1 - update) * new + update * h,)


def lstm_step(x: Tensor, state: States, weight: Tensor, bias: Tensor | None) -> States:
    """One step of an LSTM: the output and the cell's state."""
    h, c = state
    enter, keep, new, show = (x + F.linear(h, weight, bias)).chunk(4, dim=-1)
    c = keep.sigmoid() * c + enter.sigmoid() * new.tanh()
    return show.sigmoid() * c.tanh(), c


STEPS: dict[str, tuple[RecurrentStep, int, int]] = {
    "tanh": (tanh_step, 1, 1),
    "relu": (relu_step, 1, 1),
    "gru": (gru_step, 3, 1),
    "lstm": (lstm_step, 4, 2),
}
"""Per kind: the step's function, the number of gates, and of tensors in its state."""


def checked_nonlinearity(name: str) -> str:
    """The name of an RNN's nonlinearity, checked."""
    if name not in ("tanh", "relu"):
        raise ArgumentError(f"RNN: Unknown nonlinearity '{name}'. Select from 'tanh' or 'relu'.")
    return name


def checked_projection(kind: str, size: int, hidden: int) -> int:
    """The size of an LSTM's projected output, checked; 0 for none."""
    if size and kind != "lstm":
        raise ArgumentError("proj_size argument is only supported for LSTM, not RNN or GRU")
    if size < 0:
        raise ArgumentError("proj_size should be a positive integer or zero to disable projections")
    if size >= max(hidden, 1):
        raise ArgumentError("proj_size has to be smaller than hidden_size")
    return size


class Recurrent(Module):
    """Base of recurrent cells and layers, with their weights."""

    kind: str

    def reset_parameters(self) -> None:
        """Initialize the parameters at random."""
        bound = 1 / sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def _make(self, sizes: tuple[int, int], bias: bool, suffix: str, shown: int = 0) -> None:
        """Create the parameters of one step; shown: the size of a projected output, 0 for none."""
        inside, outside = sizes
        if inside < 1 or outside < 1:
            raise ArgumentError(f"{type(self).__name__}: sizes are at least 1: got {sizes}.")
        rows = STEPS[self.kind][1] * outside
        setattr(self, f"weight_ih{suffix}", empty_parameter(rows, inside))
        setattr(self, f"weight_hh{suffix}", empty_parameter(rows, shown or outside))
        for name in (f"bias_ih{suffix}", f"bias_hh{suffix}"):
            self.register_parameter(name, empty_parameter(rows) if bias else None)
        if shown:
            setattr(self, f"weight_hr{suffix}", empty_parameter(shown, outside))

    def _made(self, suffix: str) -> list[Tensor | None]:
        """The parameters of a layer and direction, in the order of a step's arguments."""
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        return [getattr(self, f"{name}{suffix}") for name in names]

    def _first(self, outer: Sequence[int], x: Tensor) -> States:
        """The initial state of zeros, with these leading axes."""
        sizes = [self.hidden_size] * STEPS[self.kind][2]
        sizes[0] = getattr(self, "proj_size", 0) or self.hidden_size
        return tuple(zeros((*outer, size), dtype=x.dtype) for size in sizes)

    def extra_repr(self) -> str:
        """The sizes as text, and the settings that differ from the defaults."""
        sizes = unusual(self, proj_size=0, num_layers=1, bias=True, batch_first=False)
        more = unusual(self, dropout=0.0, bidirectional=False)
        return f"{self.input_size}, {self.hidden_size}{sizes}{more}"


def check_states(module: Module, states: States, wanted: list[tuple[int, ...]]) -> None:
    """Refuse states whose shapes do not fit a module."""
    found = [tuple(getattr(part, "shape", ())) for part in states]
    if found != wanted:
        raise ShapeError(f"{type(module).__name__}: the state must be {wanted}: got {found}.")


class Cell(Recurrent):
    """Base of recurrent cells, which compute single steps."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: object = None,
        dtype: object = None,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        self._make((input_size, hidden_size), bias, "")
        self.reset_parameters()
        if dtype is not None:
            self.to(dtype)

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        """The next state, from an input and the state hx, by default zeros."""
        if input.ndim not in (1, 2):
            raise ShapeError(
                f"{type(self).__name__}: input must be (input_size) or (b, input_size): got "
                f"{tuple(input.shape)}."
            )
        weight_in, weight, bias_in, bias = self._made("")
        single = STEPS[self.kind][2] == 1
        if hx is None:
            state = self._first(input.shape[:-1], input)
        else:
            state = (hx,) if single else tuple(hx)
        check_states(self, state, [(*input.shape[:-1], self.hidden_size)] * STEPS[self.kind][2])
        made = STEPS[self.kind][0](F.linear(input, weight_in, bias_in), state, weight, bias)
        return made[0] if single else made


class RNNCell(Cell):
    """One step of a plain recurrent network.

    Shapes: input (b, input_size) -> (b, hidden_size)

    >>> RNNCell(3, 4)(tensor([[1.0, 2.0, 3.0]])).shape
    Size([1, 4])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: object = None,
        dtype: object = None,
    ) -> None:
        object.__setattr__(self, "kind", checked_nonlinearity(nonlinearity))
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity

    def extra_repr(self) -> str:
        """The sizes as text, and the settings that differ from the defaults."""
        return f"{super().extra_repr()}{unusual(self, nonlinearity='tanh')}"


class GRUCell(Cell):
    """One step of a gated recurrent unit (GRU).

    Shapes: input (b, input_size) -> (b, hidden_size)

    >>> GRUCell(3, 4)(tensor([[1.0, 2.0, 3.0]])).shape
    Size([1, 4])
    """

    kind = "gru"


class LSTMCell(Cell):
    """One step of an LSTM; state and result are pairs.

    Shapes: input (b, input_size) -> (b, hidden_size), (b, hidden_size)

    >>> h, c = LSTMCell(3, 4)(tensor([[1.0, 2.0, 3.0]]))
    >>> h.shape, c.shape
    (Size([1, 4]), Size([1, 4]))
    """

    kind = "lstm"


class Layers(Recurrent):
    """Base of recurrent layers over sequences, in one or both directions."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: object = None,
        dtype: object = None,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.proj_size = checked_projection(self.kind, proj_size, hidden_size)
        if not isinstance(num_layers, int) or num_layers < 1:
            raise ArgumentError(
                f"{type(self).__name__}: num_layers must be 1 or more: got {num_layers!r}."
            )
        check_chance(type(self).__name__, dropout)
        self.bias, self.batch_first, self.dropout = bias, batch_first, dropout
        self.bidirectional = bidirectional
        check_size(type(self).__name__, num_layers * hidden_size * (hidden_size + 2), 4)
        for number, suffix in self._suffixes():
            inside = (proj_size or hidden_size) * (1 + bidirectional) if number else input_size
            self._make((inside, hidden_size), bias, suffix, proj_size)
        self.reset_parameters()
        if dtype is not None:
            self.to(dtype)

    def _suffixes(self) -> Iterator[tuple[int, str]]:
        """Each layer and direction: the layer's number, and the suffix of parameter names."""
        for number in range(self.num_layers):
            yield number, f"_l{number}"
            if self.bidirectional:
                yield number, f"_l{number}_reverse"

    def flatten_parameters(self) -> None:
        """Do nothing: the compiler chooses the memory layout of weights."""

    @property
    def all_weights(self) -> list[list[Tensor]]:
        """The weights of each layer and direction, in the order of registration."""
        made = [
            [*self._made(suffix), getattr(self, f"weight_hr{suffix}", None)]
            for _, suffix in self._suffixes()
        ]
        return [[weight for weight in row if weight is not None] for row in made]

    def forward(self, input: Tensor, hx: Any = None) -> tuple[Tensor, Any]:
        """The outputs of all steps, and the last states; of packed sequences, packed outputs."""
        if isinstance(input, PackedSequence):
            return self._packed(input, hx)
        if input.ndim not in (2, 3):
            raise ShapeError(
                f"{type(self).__name__}: input must be (t, input_size) or (t, b, input_size): got "
                f"{tuple(input.shape)}."
            )
        alone = input.ndim == 2
        single = STEPS[self.kind][2] == 1
        x = input.unsqueeze(1) if alone else input
        x = x.transpose(0, 1) if self.batch_first and not alone else x
        count = self.num_layers * (1 + self.bidirectional)
        if hx is None:
            states = self._first((count, x.shape[1]), x)
        else:
            states = (hx,) if single else tuple(hx)
            states = tuple(s.unsqueeze(1) for s in states) if alone else states
        x, last = self._run(x, states)
        if alone:
            x, last = x.squeeze(1), tuple(s.squeeze(1) for s in last)
        elif self.batch_first:
            x = x.transpose(0, 1)
        return x, (last[0] if single else last)

    def _packed(self, packed: PackedSequence, hx: Any) -> tuple[PackedSequence, Any]:
        """Run packed sequences of several lengths; each state stops at its sequence's end."""
        x, lengths = pad_packed_sequence(packed)
        single = STEPS[self.kind][2] == 1
        count = self.num_layers * (1 + self.bidirectional)
        first = (hx,) if single and hx is not None else hx
        states = self._first((count, x.shape[1]), x) if hx is None else first
        inside = (arange(x.shape[0])[:, None] < lengths)[..., None]
        x, last = self._run(x, tuple(states), inside)
        return packed_like(x, packed), (last[0] if single else last)

    def _run(
        self, x: Tensor, states: States, inside: Tensor | None = None
    ) -> tuple[Tensor, States]:
        """Run all layers over (t, b, ...); returns the outputs and stacked last states.

        inside (t, b, 1): where a sequence has an element; elsewhere its states are kept.
        """
        rows = self.num_layers * (1 + self.bidirectional), x.shape[1]
        sizes = (self.proj_size or self.hidden_size, self.hidden_size)[: STEPS[self.kind][2]]
        check_states(self, states, [(*rows, size) for size in sizes])
        lasts: list[States] = []
        shown: list[Tensor] = []
        for place, (number, suffix) in enumerate(self._suffixes()):
            back = suffix.endswith("_reverse")
            made, last = self._along(x, tuple(s[place] for s in states), suffix, back, inside)
            lasts.append(last)
            shown.append(made)
            if len(shown) == 1 + self.bidirectional:
                x = FUNCTIONS["cat"](shown, dim=-1) if self.bidirectional else made
                shown = []
                if self.dropout and number < self.num_layers - 1:
                    x = F.dropout(x, self.dropout, self.training)
        return x, tuple(FUNCTIONS["stack"](list(part)) for part in zip(*lasts, strict=True))

    def _along(
        self, x: Tensor, state: States, suffix: str, back: bool, inside: Tensor | None = None
    ) -> tuple[Tensor, States]:
        """Run one layer in one direction; returns its outputs and last states."""
        weight_in, weight, bias_in, bias = self._made(suffix)
        narrower = getattr(self, f"weight_hr{suffix}", None)
        gates = F.linear(x, weight_in, bias_in)
        if STEPS[self.kind][1] == 1:
            # a plain step shows what it computes in, under autocast a narrow float
            state = (state[0].to(gates.dtype),)

        def iteration(state: States, part: tuple[Tensor, ...]) -> tuple[States, Tensor]:
            made = STEPS[self.kind][0](part[0], state, weight, bias)
            if narrower is not None:
                made = (F.linear(made[0], narrower), *made[1:])
            for here in part[1:]:
                made = tuple(
                    FUNCTIONS["where"](here, new, old) for new, old in zip(made, state, strict=True)
                )
            return made, made[0]

        parts = (gates,) if inside is None else (gates, inside)
        last, shown = scan(iteration, state, parts, reverse=back)
        return shown, last


class RNN(Layers):
    """A plain recurrent network over sequences.

    Shapes: input (t, b, input_size) -> (t, b, hidden_size)

    >>> y, state = RNN(3, 4)(zeros(5, 2, 3))
    >>> y.shape
    Size([5, 2, 4])
    """

    def __init__(self, *sizes: Any, nonlinearity: str = "tanh", **options: Any) -> None:
        if len(sizes) > 3:
            nonlinearity, sizes = sizes[3], (*sizes[:3], *sizes[4:])
        object.__setattr__(self, "kind", checked_nonlinearity(nonlinearity))
        super().__init__(*sizes, **options)
        self.nonlinearity = nonlinearity


class GRU(Layers):
    """A gated recurrent network (GRU) over sequences.

    Shapes: input (t, b, input_size) -> (t, b, hidden_size)

    >>> y, state = GRU(3, 4)(zeros(5, 2, 3))
    >>> y.shape
    Size([5, 2, 4])
    """

    kind = "gru"


class LSTM(Layers):
    """An LSTM over sequences; states are pairs. proj_size: the size of projected outputs.

    Shapes: input (t, b, input_size) -> (t, b, hidden_size)

    >>> y, state = LSTM(3, 4)(zeros(5, 2, 3))
    >>> y.shape
    Size([5, 2, 4])
    """

    kind = "lstm"
