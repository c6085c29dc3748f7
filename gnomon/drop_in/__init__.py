"""PyTorch's names for scripts that import torch: `gnomon run script.py`."""

from gnomon.drop_in.modules import installed
from gnomon.drop_in.report import NameReport
from gnomon.drop_in.script import run_module, run_script

__all__ = ["NameReport", "installed", "run_module", "run_script"]
