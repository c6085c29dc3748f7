"""What kernels took in a run, as the debug dial prints it."""

from __future__ import annotations

import gnomon as gn
from gnomon.settings import override


def test_the_second_level_tells_what_each_kernel_took(capsys):
    x = gn.rand(70, 70)
    gn.evaluate(x)
    f = gn.compile(lambda x: (x @ x).softmax(-1))
    f(x)
    capsys.readouterr()
    with override(debug=2):
        f(x)
    text = capsys.readouterr().err

    (product,) = [row for row in text.splitlines() if " contract" in row]
    assert " us " in product
    assert "Gflop/s " in product or "Mflop/s " in product
    assert "test_run_times.py:" in product
    with override(debug=2, debug_only="softmax"):
        f(x)
    assert " contract" not in capsys.readouterr().err
