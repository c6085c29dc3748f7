"""Load the model and tokenizer that a command names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from gnomon.errors import ConfigError
from gnomon.lazy import causal, pretrained, runs
from gnomon.models.generation import WritesText
from gnomon.models.shipped import ShippedDecoder
from gnomon.models.text_format import TextFormat, text_format

if TYPE_CHECKING:
    from gnomon.models.causal import CausalLM

__all__ = ["Activations", "ModelPlace", "model_path", "opened_model", "opened_writer"]

HELP = (
    "A GGUF file, a program file (.gnp), a Hugging Face folder, or a run's folder or name; the "
    "latest run if none is named."
)
ModelPlace = Annotated[str | None, Parameter(help=HELP)]
"""The model argument of `gnomon chat` and `gnomon serve`."""
ROUNDING = (
    "int8: layers of a GGUF file's matrices round their input to 8 bits and multiply whole "
    "numbers, which is quicker and has other bits."
)
Activations = Annotated[Literal["", "int8"], Parameter(help=ROUNDING)]
"""The type that commands round activations to."""


def opened_model(name: str | None, activations: Activations = "") -> tuple[CausalLM, TextFormat]:
    """The model and tokenizer of a GGUF file, a Hugging Face folder or a run.

    Matrices of a GGUF file stay quantized: the tokens are those of decoded ones, unless activations
    are rounded.
    """
    path = model_path(name)
    in_blocks = path.suffix == ".gguf"
    refuse_rounding(path, in_blocks, activations)
    found = pretrained.from_pretrained(path, encoded=in_blocks, activations=activations)
    if not isinstance(found, causal.CausalLM):
        raise ConfigError(f"chat: {path} holds an encoder, which writes nothing. Take a decoder.")
    return found, text_format(path)


def refuse_rounding(path: Path, in_blocks: bool, activations: str) -> None:
    """Refuse to round the activations of a model that is no GGUF file."""
    if activations and not in_blocks:
        raise ConfigError(
            f"--activations {activations}: is for GGUF files: got {path}. Leave it out."
        )


def opened_writer(name: str | None, activations: Activations = "") -> tuple[WritesText, TextFormat]:
    """The model and text format of a command's argument; of a .gnp file, its decoder."""
    if name is None or Path(name).suffix != ".gnp":
        return opened_model(name, activations)
    refuse_rounding(Path(name), False, activations)
    found = ShippedDecoder(Path(name))
    return found, found.texts


def model_path(name: str | None) -> Path:
    """The path of a GGUF file, a Hugging Face folder, or the checkpoint of a run."""
    path = Path(name) if name is not None else None
    if path is None or not (path.suffix == ".gguf" or (path / "config.json").is_file()):
        path = runs.find_checkpoint(name).folder
    return path
