"""Run by test_pretrained.py where transformers is: what folders' models make of tokens.

    python pretrained_reader.py TOKENS.npy FOLDER ...

writes theirs.npy beside each config.json.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
import transformers


def main(tokens: Path, folders: list[Path]) -> None:
    """Write the scores, or an encoder's states, of each folder's model."""
    given = torch.from_numpy(np.load(tokens))
    for folder in folders:
        config = transformers.AutoConfig.from_pretrained(folder)
        encodes = config.model_type == "bert"
        kind = transformers.AutoModel if encodes else transformers.AutoModelForCausalLM
        model, told = kind.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
        assert not any(told.values()), (folder, told)
        with torch.no_grad():
            found = model.eval()(given)
        scores = found.last_hidden_state if encodes else found.logits
        np.save(folder / "theirs.npy", scores.float().numpy())


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(x) for x in sys.argv[2:]])
