"""Numbers for people: counts with their noun, amounts in three digits, rows in columns."""

from __future__ import annotations

__all__ = ["align_columns", "counted", "digits", "metric"]


def counted(number: int, what: str) -> str:
    """A number with its noun, in the singular or plural.

    >>> counted(1, "kernel"), counted(0, "kernel")
    ('1 kernel', '0 kernels')
    """
    return f"{number} {what}{'' if number == 1 else 's'}"


def metric(number: float, unit: str) -> str:
    """A number with three digits and a decimal prefix of its unit.

    >>> metric(0, "flop"), metric(640, "B"), metric(24_600, "B"), metric(3_200_000_000, "flop/s")
    ('0 flop', '640 B', '24.6 kB', '3.20 Gflop/s')
    """
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= 0.9995 * size:
            return f"{digits(number / size)} {letter}{unit}"
    return f"{number:.3g} {unit}"


def digits(number: float) -> str:
    """A number below a thousand with three digits.

    >>> digits(4.2), digits(42), digits(421.5)
    ('4.20', '42.0', '422')
    """
    places = 2 if abs(number) < 9.995 else 1 if abs(number) < 99.95 else 0
    return f"{number:.{places}f}"


def align_columns(rows: list[tuple[str, ...]]) -> list[str]:
    """Rows as lines with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    cells = ((text.ljust(width) for text, width in zip(r, widths, strict=True)) for r in rows)
    return ["  " + "  ".join(line).rstrip() for line in cells]
