"""`gnomon gguf`: write a model as a GGUF file with quantized matrices."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter
from rich.console import Console
from rich.progress import Progress

from gnomon.errors import ArgumentError
from gnomon.gguf.chat import TEMPLATE
from gnomon.gguf.element_types import plain_dtype
from gnomon.gguf.file import GGUFTensor, load
from gnomon.gguf.hugging_face import ROUTER, from_hugging_face
from gnomon.gguf.tokenizer_keys import tokenizer_keys
from gnomon.gguf.writing import LaterArray, save
from gnomon.models.pretrained import pretrained_tensors
from gnomon.models.registry import from_hugging_face as config_of
from gnomon.models.saving import CONFIG
from gnomon.models.text_format import TOKENIZER, text_format
from gnomon.runtime.json_files import decoded, read_text
from gnomon.train.opening import model_path
from gnomon.train.progress import bytes_text

__all__ = ["gguf"]

ENDS = ("token_embd.weight", "output.weight")
FINER = {"Q4_K": "Q6_K", "Q5_K": "Q6_K"}
"""Types of embeddings and outputs, by that of other matrices; by default the same type."""


def gguf(
    model: str,
    file: Path,
    /,
    *,
    kind: Annotated[str, Parameter(name="--type")] = "Q4_K",
    output_type: str | None = None,
) -> int:
    """Write a model as a GGUF file with quantized matrices, for llama.cpp or Gnomon.

    Supported families: llama, qwen2, qwen3 and qwen3_moe. Vectors and router weights are F32.

    Parameters
    ----------
    model
        A Hugging Face folder, a run's folder or name, or a GGUF file of another type.
    file
        The file to write.
    kind
        Type of matrices: Q4_K, Q5_K, Q6_K, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, F16, BF16 or F32.
    output_type
        Type of embeddings and the output matrix; by default Q6_K for Q4_K and Q5_K, else --type.
    """
    wide, console = kind.upper(), Console(soft_wrap=True, highlight=False)
    fine = (output_type or FINER.get(wide, wide)).upper()
    tensors, metadata = contents(model_path(model), console)
    types = {
        name: fine if name in ENDS else wide
        for name, x in tensors.items()
        if len(x.shape) > 1 and not name.endswith(ROUTER)
    }
    progress = Progress(console=Console(stderr=True), transient=True)
    with warnings.catch_warnings(record=True) as remarks, progress as shown:
        warnings.simplefilter("always")
        task = shown.add_task(file.name, total=len(tensors))
        advance = partial(shown.advance, task)
        seen = {name: with_progress(x, types.get(name), advance) for name, x in tensors.items()}
        save(file, seen, metadata, types=types)
    for remark in remarks:
        console.print(str(remark.message), markup=False)
    written = load(file)
    counts = Counter(x.type for x in written.tensors.values())
    listed = ", ".join(f"{count} {name}" for name, count in counts.items())
    console.print(f"{file}: {bytes_text(file.stat().st_size)}, tensors: {listed}", markup=False)
    return 0


def contents(path: Path, console: Console) -> tuple[dict[str, Any], dict[str, Any]]:
    """The tensors and the metadata of a model's file or folder."""
    if path.suffix == ".gguf":
        source = load(path)
        return dict(source.tensors), dict(source.metadata)
    config = decoded(path / CONFIG, read_text(path / CONFIG), dict[str, Any])
    later = {
        name: LaterArray(x.shape, x.dtype, partial(x.__getitem__, ()))
        for name, x in pretrained_tensors(path, config_of(config)).items()
    }
    tensors, metadata = from_hugging_face(config, later)
    return tensors, metadata | {"general.name": path.name} | text_keys(path, config, console)


def text_keys(path: Path, config: dict[str, Any], console: Console) -> dict[str, Any]:
    """The metadata of a folder's tokenizer and chat template; missing ones are reported."""
    if not (path / TOKENIZER).is_file():
        console.print(f"{path} has no {TOKENIZER}: the file has no tokenizer.", markup=False)
        return {}
    texts = text_format(path)
    template = {TEMPLATE: texts.template} if texts.template else {}
    try:
        return template | tokenizer_keys(texts.tokenizer, texts.special, config)
    except ArgumentError as refused:
        said = f"The file has no tokenizer: of {path / TOKENIZER}, {refused}"
        console.print(f"{said.rstrip('.')}.", markup=False)
        return template


def with_progress(value: Any, kind: str | None, advance: Callable[[], None]) -> Any:
    """Call `advance` when a tensor is read: later if it is converted, else at once."""
    if isinstance(value, GGUFTensor) and kind not in (None, value.type):
        dtype = np.dtype(plain_dtype(value.type) or np.float32)
        value = LaterArray(value.shape, dtype, value.numpy)
    if not isinstance(value, LaterArray):
        advance()
        return value
    return LaterArray(value.shape, value.dtype, partial(read_values, value, advance))


def read_values(value: LaterArray, advance: Callable[[], None]) -> np.ndarray:
    """Read a tensor's values, and report the progress."""
    advance()
    return value.make()
