"""Writes tests/golden/pretrained with transformers: small random models, and what they compute.

By hand, in an environment that has torch and transformers 5.24 and need not have Gnomon:

    python tests/models/pretrained_writer.py tests/golden/pretrained [FAMILY ...]

Of each family a folder as `save_pretrained` writes it, and expected.npz: tokens, logits, gradients
of the mean loss, 64 tokens that are each the likeliest. A seed is passed over where two tokens are
nearly as likely, so that rounding cannot decide.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
import transformers

SIZES = {
    "vocab_size": 260,
    "hidden_size": 8,
    "intermediate_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 96,
    "bos_token_id": 0,
    "eos_token_id": 0,
}
WIDE = SIZES | {"head_dim": 4}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 1e4,
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 24,
}
YARN = {
    "rope_type": "yarn",
    "rope_theta": 1e4,
    "factor": 4.0,
    "original_max_position_embeddings": 24,
}
THETAS = {
    "full_attention": {"rope_theta": 1e6, "rope_type": "default"},
    "sliding_attention": {"rope_theta": 1e4, "rope_type": "default"},
}
FAMILIES = {
    "qwen3_tied": ("Qwen3", WIDE | {"tie_word_embeddings": True}),
    "qwen3_untied": ("Qwen3", WIDE | {"tie_word_embeddings": False, "attention_bias": True}),
    "qwen3_moe": (
        "Qwen3Moe",
        WIDE
        | {
            "num_experts": 4,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 8,
            "norm_topk_prob": True,
        },
    ),
    "llama": ("Llama", WIDE | {"rope_parameters": LLAMA3}),
    "llama_yarn": (
        "Llama",
        WIDE
        | {
            "rope_parameters": YARN,
            "attention_bias": True,
            "mlp_bias": True,
            "tie_word_embeddings": True,
        },
    ),
    "mistral": ("Mistral", WIDE | {"sliding_window": 8}),
    "qwen2": (
        "Qwen2",
        SIZES | {"use_sliding_window": True, "sliding_window": 8, "max_window_layers": 1},
    ),
    "gpt2": (
        "GPT2",
        {
            "vocab_size": 260,
            "n_embd": 8,
            "n_layer": 2,
            "n_head": 2,
            "n_positions": 96,
            "n_inner": 20,
            "bos_token_id": 0,
            "eos_token_id": 0,
        },
    ),
    "gemma3_text": (
        "Gemma3Text",
        WIDE
        | {
            "sliding_window": 8,
            "layer_types": ["sliding_attention", "full_attention"],
            "query_pre_attn_scalar": 6,
            "rope_parameters": THETAS,
            "tie_word_embeddings": True,
        },
    ),
    "bert": (
        "Bert",
        {
            "vocab_size": 260,
            "hidden_size": 8,
            "intermediate_size": 12,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "max_position_embeddings": 32,
        },
    ),
}
SHARDED = {"qwen3_moe": "8KB"}
"""Of some families, the most that a file has."""
EVERY = 8
"""Of tables of the vocabulary's size, every so many rows are kept, from the first on."""


def fill(model: torch.nn.Module, seed: int) -> None:
    """Give a model weights whose every part matters."""
    made = torch.Generator().manual_seed(seed)
    is_gemma = "Gemma" in type(model).__name__  # it adds 1 to a norm's weights, and scales tokens
    table = 0.12 if is_gemma else 1.0
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            drawn = torch.randn(parameter.shape, generator=made)
            if parameter.ndim > 1:
                parameter.copy_(drawn * (0.5 if parameter.shape[0] < 90 else table))
            elif name.endswith("bias") or is_gemma:
                parameter.copy_(0.3 * drawn)
            else:
                parameter.copy_(1 + 0.3 * drawn)


def rows(name: str, array: torch.Tensor) -> np.ndarray:
    """An array, or some of its rows where there is one for each token."""
    kept = array.detach().numpy()
    return kept[::EVERY] if kept.shape[0] == SIZES["vocab_size"] else kept


def gradients(model: torch.nn.Module) -> dict[str, np.ndarray]:
    """The gradient of every parameter."""
    return {f"grad:{name}": rows(name, p.grad) for name, p in model.named_parameters()}


def likeliest(model: torch.nn.Module, prompt: list[int]) -> tuple[list[int], float]:
    """64 tokens after a prompt, and how far the second was at least behind the first."""
    tokens, nearest = list(prompt), float("inf")
    for _ in range(64):
        scores = model(torch.tensor([tokens])).logits[0, -1].detach()
        first, second = scores.topk(2)[0].tolist()
        nearest = min(nearest, first - second)
        tokens.append(int(scores.argmax()))
    return tokens[len(prompt) :], nearest


def decoder(name: str, config: transformers.PretrainedConfig) -> tuple[torch.nn.Module, dict]:
    """A model of the next token, and what it computes."""
    prompt = [5, 77, 130, 9, 201]
    for seed in range(50):
        model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
        fill(model, seed)
        model.eval()
        with torch.no_grad():
            chosen, nearest = likeliest(model, prompt)
        if nearest > 1e-3 and len(set(chosen)) > 8:
            break
    else:
        raise AssertionError(f"{name}: in no seed the tokens are clear.")
    made = torch.Generator().manual_seed(1)
    tokens = torch.randint(0, 260, (2, 21), generator=made)
    logits = model(tokens[:, :-1]).logits
    losses = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    losses.backward()
    kept = logits.detach().numpy()[:, :, ::EVERY]
    found = {"tokens": tokens.numpy(), "logits": kept, "loss": losses.detach().numpy()}
    return model, found | gradients(model) | {"prompt": prompt, "greedy": chosen}


def encoder(config: transformers.PretrainedConfig) -> tuple[torch.nn.Module, dict]:
    """A model of texts as vectors, and what it computes."""
    model = transformers.AutoModel.from_config(config, attn_implementation="eager")
    fill(model, 0)
    model.eval()
    made = torch.Generator().manual_seed(1)
    tokens = torch.randint(0, 260, (2, 14), generator=made)
    kinds = torch.randint(0, 2, (2, 14), generator=made)
    mask = torch.ones(2, 14, dtype=torch.int64)
    mask[1, 9:] = 0
    given = model(tokens, attention_mask=mask, token_type_ids=kinds)
    states, weights = given.last_hidden_state, mask[..., None].float()
    pooled = (states * weights).sum(1) / weights.sum(1)
    pull = torch.randn(pooled.shape, generator=made)
    ((pooled * pull).mean() + given.pooler_output.mean()).backward()
    found = {
        "tokens": tokens,
        "kinds": kinds,
        "mask": mask,
        "pull": pull,
        "states": states,
        "pooled": pooled,
        "pooler": given.pooler_output,
    }
    return model, {k: v.detach().numpy() for k, v in found.items()} | gradients(model)


def main(folder: Path, names: list[str]) -> None:
    """Write what is asked for, or all."""
    for name in names or FAMILIES:
        kind, sizes = FAMILIES[name]
        config = getattr(transformers, f"{kind}Config")(**sizes)
        model, found = encoder(config) if name == "bert" else decoder(name, config)
        model.save_pretrained(folder / name, max_shard_size=SHARDED.get(name, "5GB"))
        np.savez_compressed(folder / name / "expected.npz", **found)
        print(name, sum(x.stat().st_size for x in (folder / name).iterdir()), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
