"""The names of experts: stacked in one parameter here, one by one in Hugging Face's files.

model.layers.0.mlp.experts.up_proj.weight       (e, f, d), as the model has it
model.layers.0.mlp.experts.7.up_proj.weight     (f, d), as files have the eighth
"""

from __future__ import annotations

__all__ = ["expert_name", "is_stacked"]

EXPERTS = ".experts."


def is_stacked(name: str) -> bool:
    """Whether a parameter holds the matrices of all experts.

    >>> is_stacked("a.mlp.experts.up_proj.weight"), is_stacked("a.mlp.up_proj.weight")
    (True, False)
    """
    return EXPERTS in name


def expert_name(stacked: str, expert: int) -> str:
    """The file's name for one expert's part of a stacked parameter.

    >>> expert_name("a.mlp.experts.up_proj.weight", 7)
    'a.mlp.experts.7.up_proj.weight'
    """
    return stacked.replace(EXPERTS, f"{EXPERTS}{expert}.")
