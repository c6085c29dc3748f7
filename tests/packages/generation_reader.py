"""Run by test_generation.py where transformers is: what its models write after given prompts.

    python generation_reader.py CASES.json FOUND.json

A case is a folder, rows of tokens, their mask, and options of `generate`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
import transformers


def main(cases: Path, found: Path) -> None:
    """Write the tokens of each case."""
    written = []
    for case in json.loads(cases.read_text()):
        model = transformers.AutoModelForCausalLM.from_pretrained(
            case["folder"], dtype=torch.float32, attn_implementation="eager"
        ).eval()
        model.generation_config.eos_token_id = None
        tokens, mask = torch.tensor(case["tokens"]), torch.tensor(case["mask"])
        made = model.generate(
            tokens, attention_mask=mask, pad_token_id=0, do_sample=False, **case["options"]
        )
        written.append(made.tolist())
    found.write_text(json.dumps(written))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
