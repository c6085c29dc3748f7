"""`gnomon program`: write a decoder as a program file, which runs without a compiler."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from gnomon.capture.precompiled import targets_here
from gnomon.models.shipped import ship
from gnomon.train.opening import Activations, opened_model
from gnomon.train.progress import bytes_text

__all__ = ["program"]


def program(
    model: str,
    file: Path,
    /,
    *,
    context: int | None = None,
    targets: Annotated[list[str] | None, Parameter(name="--target", negative=())] = None,
    activations: Activations = "",
) -> int:
    """Write a model as a program file, with machine code, weights and tokenizer.

    `gnomon chat FILE` talks to it; Python with numpy, or C, runs its methods.

    Parameters
    ----------
    model
        A GGUF file, whose blocks are kept, a Hugging Face folder, or a run's folder or name.
    file
        The file to write; its name ends in .gnp.
    context
        Maximum number of tokens of a conversation; by default the model's, and 4096 at most.
    targets
        A kind of processor: avx2, avx512 or neon; may be repeated. By default this machine's.
    activations
        The type to which layers round their inputs.
    """
    console = Console(soft_wrap=True, highlight=False)
    language_model, texts = opened_model(model, activations)
    digest = ship(language_model, texts, file, targets or targets_here(), context)
    console.print(f"{file}: {bytes_text(file.stat().st_size)}, digest {digest}", markup=False)
    return 0
