"""Small models that write, for tests of generation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import gnomon as gn
from gnomon.models.causal import CausalLM
from gnomon.models.registry import MODELS
from gnomon.train.tokenizer import END, train

SIZES: dict[str, Any] = dict(
    vocab_size=300,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    num_key_value_heads=1,
    head_dim=16,
    max_position_embeddings=40,
    tie_word_embeddings=False,  # a tied head would have most models repeat the last token
)
WINDOW = dict(sliding_window=4, layer_types=("sliding_attention", "full_attention"))


def small(name: str = "qwen3", seed: int = 0, **sizes: Any) -> CausalLM:
    """A model of a kind; those that may have windows have one in their first layer."""
    kind = MODELS[name]
    windows = WINDOW if name in ("mistral", "qwen2", "gemma3_text") else {}
    more = dict(hidden_act="gelu") if name == "gpt2" else {}
    model = kind.model(kind.config(**SIZES | windows | more | sizes))
    kind.initialize(model, seed)
    with gn.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3.0)  # so that tokens differ from place to place
    return model.eval()


def prompt(*lengths: int, seed: int = 0) -> list[list[int]]:
    """Random prompts."""
    made = np.random.default_rng(seed)
    return [made.integers(1, 300, length).tolist() for length in lengths]


def padded(rows: list[list[int]]) -> tuple[gn.Tensor, gn.Tensor]:
    """Rows with zeros on their left, and the mask that says so."""
    longest = max(map(len, rows))
    tokens = [[0] * (longest - len(row)) + row for row in rows]
    mask = [[0] * (longest - len(row)) + [1] * len(row) for row in rows]
    return gn.tensor(tokens), gn.tensor(mask)


TEMPLATE = (
    "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)


def tokenizer():
    """A tokenizer of bytes, and a few words."""
    return train(["user: one two three\nassistant: four five\n" * 50], 290)


def chat_folder(folder: Path, template: str | None = TEMPLATE, **sizes: Any) -> Path:
    """A folder of a small model with a tokenizer and a chat template."""
    small(**sizes).save_pretrained(folder)
    settings = {"eos_token": {"content": END}, "chat_template": template}
    (folder / "tokenizer.json").write_text(tokenizer().to_str(), "utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), "utf-8")
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": 0}), "utf-8")
    return folder


def chat_file(path: Path, template: str | None = TEMPLATE, **sizes: Any) -> Path:
    """A GGUF file of the same model, tokenizer and template."""
    words = json.loads(tokenizer().to_str())["model"]
    tokens = sorted(words["vocab"], key=words["vocab"].get)
    tokens += [f"<unused {k}>" for k in range(len(tokens), 300)]
    start = "tokenizer.ggml."
    metadata = {
        f"{start}model": "gpt2",
        f"{start}pre": "gpt-2",
        f"{start}tokens": tokens,
        f"{start}token_type": [3 if x.startswith("<") and len(x) > 1 else 1 for x in tokens],
        f"{start}merges": [" ".join(pair) for pair in words["merges"]],
        f"{start}eos_token_id": 0,
    } | ({"tokenizer.chat_template": template} if template else {})
    save_gguf(path, small(**sizes), metadata)
    return path


def save_gguf(path: Path, model: CausalLM, metadata: dict[str, Any], **types: Any) -> None:
    """Write a model as a GGUF file."""
    config = model.config.written_fields() | {"model_type": model.config.model_type}
    arrays = {name: x.detach().numpy() for name, x in model.named_parameters()}
    in_files = {}
    for name, array in arrays.items():
        in_files |= split(name, array)
    tensors, own = gn.gguf.from_hugging_face(config, in_files)
    gn.gguf.save(path, tensors, own | metadata, **types)


def split(name: str, array: np.ndarray) -> dict[str, np.ndarray]:
    """A parameter under the names that files have: those of experts one by one."""
    if ".experts." not in name:
        return {name: array}
    stem, _, kind = name.rpartition(".experts.")
    return {f"{stem}.experts.{k}.{kind}": part for k, part in enumerate(array)}
