"""Control of evaluation: when values are computed, and by how many threads."""

from __future__ import annotations

from typing import Any

from gnomon.errors import ArgumentError
from gnomon.lazy import threads
from gnomon.runtime.buffer import memory
from gnomon.runtime.system import memory_bytes
from gnomon.tensor.evaluate import evaluate as evaluate_nodes
from gnomon.tensor.evaluate import evaluate_all
from gnomon.tensor.evaluate import explain as explain_node
from gnomon.tensor.pytree import tensors_in
from gnomon.tensor.state import state
from gnomon.tensor.tensor import Tensor, raw, value_of


def evaluate(*tensors: Any) -> None:
    """Compute tensors, or nested lists and dicts of them, in one program; or all pending ones."""
    if not tensors:
        evaluate_all()
        return
    waiting = [t for t in tensors_in(tensors) if not is_known(t)]
    if waiting:
        evaluate_nodes([raw(t) for t in waiting])
        for t in waiting:
            value_of(t)


def is_known(tensor: Tensor) -> bool:
    """Whether a tensor's value is computed, and it is no view; False in captures."""
    node = tensor._storage.node
    return tensor._view is None and node.value is not None and node.arena is state.arena


def explain(tensor: Tensor) -> str:
    """The plan for computing a tensor: kernels, their lines, work and shapes, and memory."""
    return explain_node(raw(tensor))


def synchronize(device: object = None) -> None:
    """Compute all pending tensors, to measure time."""
    evaluate_all()


def set_num_threads(n: int) -> None:
    """Choose how many threads every program runs on from now on."""
    if not isinstance(n, int) or n < 1:
        raise ArgumentError(f"set_num_threads: expected a positive integer: got {n!r}.")
    state.recorder.acted("set_num_threads")
    threads.set_num_threads(n)


def get_num_threads() -> int:
    """The number of threads that a program runs on."""
    return state.recorder.asked(lambda: threads.get_num_threads())


def set_memory_limit(nbytes: int | None) -> None:
    """Refuse programs that would need more memory than this in all; None is the machine's own.

    >>> set_memory_limit(1 << 33)
    >>> set_memory_limit(None)
    """
    if nbytes is not None and (not isinstance(nbytes, int) or nbytes < 0):
        raise ArgumentError(f"set_memory_limit: expected bytes or None: got {nbytes!r}.")
    state.recorder.acted("set_memory_limit")
    memory.limit = memory_bytes() if nbytes is None else nbytes


def get_memory_limit() -> int:
    """The bytes that programs may need in all."""
    return state.recorder.asked(lambda: memory.limit)


def set_float32_matmul_precision(precision: str) -> None:
    """Check the name and do nothing: products of float32 are always computed in float32."""
    if precision not in ("highest", "high", "medium"):
        raise ArgumentError(
            f"set_float32_matmul_precision: must be highest, high or medium: got {precision!r}."
        )


def get_float32_matmul_precision() -> str:
    """Always "highest"."""
    return "highest"
