"""Models into folders of Hugging Face's layout.

config.json   generation_config.json   tokenizer.json and its like
model.safetensors, or model-00001-of-00002.safetensors and so on with their index
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from gnomon import nn
from gnomon.distributed.checkpoint.files import (
    LARGEST_FILE,
    index,
    planned,
    write_headers,
    write_parts,
)
from gnomon.distributed.mesh import ALONE
from gnomon.dtypes import dtype_of
from gnomon.errors import ArgumentError, brief
from gnomon.models.carried import Carried
from gnomon.models.config import PretrainedConfig
from gnomon.models.config_json import to_hugging_face
from gnomon.models.stored_parameters import parameter_tensors
from gnomon.runtime.files import flush_folder, make_folder, publish
from gnomon.runtime.json_files import to_json
from gnomon.tensor.layouts import layout_of

__all__ = ["CONFIG", "INDEX", "PretrainedModel"]

CONFIG, INDEX = "config.json", "model.safetensors.index.json"
WEIGHTS = re.compile(r"model(-\d{5}-of-\d{5})?\.safetensors(\.index\.json)?")
"""Matches the names of files with a model's tensors and of their index."""


class PretrainedModel(nn.Module):
    """The base class of models that can be saved in Hugging Face's layout."""

    config: PretrainedConfig
    carried: Carried = Carried()
    """The other contents of the folder that the model was loaded from."""

    def save_pretrained(
        self, folder: str | os.PathLike[str], max_shard_size: int = LARGEST_FILE
    ) -> None:
        """Write config.json, the files that came with the model, and its tensors as safetensors.

        max_shard_size: the maximum bytes of tensors per file; larger models are split, with an
        index. Tensor files of an earlier model in the folder are removed first.
        """
        if not isinstance(max_shard_size, int) or max_shard_size < 1:
            came = brief(max_shard_size)
            raise ArgumentError(
                f"save_pretrained: max_shard_size must be a number of bytes: got {came}."
            )
        divided = next((name for name, x in self.named_parameters() if layout_of(x)), None)
        if divided is not None:
            raise ArgumentError(
                f"save_pretrained: {divided} is spread over ranks. Take a checkpoint of the run."
            )
        path = Path(folder)
        make_folder(path)
        for old in (x for x in path.iterdir() if WEIGHTS.fullmatch(x.name)):
            old.unlink()
        tensors = parameter_tensors(self, ALONE, 0)
        files = planned("model", tensors, max_shard_size)
        write_headers(path, files)
        write_parts(path, files, tensors, lambda: None)
        for name, content in self.carried.files.items():
            publish(path / name, content)
        if len(files) > 1:
            publish(path / INDEX, to_json(index(files, tensors)))
        dtype = dtype_of(max((x.dtype for x in tensors.values()), key=lambda x: x.itemsize)).name
        entries = to_hugging_face(self.config, dtype) | dict(self.carried.fields)
        publish(path / CONFIG, to_json(entries))
        flush_folder(path)
