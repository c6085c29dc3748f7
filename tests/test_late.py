"""Modules that wait until they are used."""

from __future__ import annotations

import subprocess
import sys

from gnomon.late import Late


def test_a_module_loads_when_it_is_first_used():
    script = (
        "import sys; from gnomon.late import Late; json = Late('wave');"
        "before = 'wave' in sys.modules; json.open; print(before, 'wave' in sys.modules)"
    )

    command = [sys.executable, "-c", script]
    said = subprocess.run(command, capture_output=True, text=True, check=True)

    assert said.stdout.split() == ["False", "True"]


def test_it_gives_what_the_module_has():
    assert Late("math").pi == __import__("math").pi
    assert repr(Late("math")) == "Late('math')"


def test_the_package_shows_what_loads_late_and_gives_it():
    program = (
        "import gnomon as gn; listed = {'accumulate', 'finfo', 'linalg', 'load', 'nn', 'optim'};"
        "assert listed <= set(dir(gn)); assert 'finfo' in gn.__all__;"
        "gn.nn.Linear, gn.optim.AdamW, gn.linalg.norm;"
        "from gnomon import accumulate, load, nn; import gnomon.nn.functional as F; F.relu;"
        "print(gn.finfo('float32').bits, load.__module__)"
    )

    said = subprocess.check_output([sys.executable, "-c", program], text=True)

    assert said.split() == ["32", "gnomon.tensor.files"]
