"""What an installation of gnomon weighs: the files of it and of all it needs, largest first.

Run by hand in the environment to be weighed. Byte code, which pip compiles beside the files, is
a column of its own; the limit of the house is on the files.
"""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, distribution, requires
from pathlib import Path


def closure(name: str, found: set[str]) -> set[str]:
    """The distributions that one needs without extras, itself included."""
    name = re.sub(r"[-_.]+", "-", name).lower()
    if name in found:
        return found
    try:
        needed = requires(name) or []
    except PackageNotFoundError:
        return found
    found.add(name)
    for line in needed:
        if "extra ==" not in line:
            closure(re.match(r"[\w.-]+", line)[0], found)
    return found


def weigh(name: str) -> tuple[float, float]:
    """Megabytes of a distribution's files, and of their byte code."""
    paths = [Path(str(file.locate())) for file in distribution(name).files or []]
    weights = {path: path.stat().st_size / 1e6 for path in paths if path.is_file()}
    compiled = sum(weight for path, weight in weights.items() if path.suffix == ".pyc")
    return sum(weights.values()) - compiled, compiled


def main() -> None:
    """Print a table and its sum."""
    rows = sorted(((*weigh(name), name) for name in closure("gnomon", set())), reverse=True)
    for files, compiled, name in rows:
        print(f"{files:8.1f} MB {compiled:6.1f} MB byte code  {name}")
    print(f"{sum(r[0] for r in rows):8.1f} MB {sum(r[1] for r in rows):6.1f} MB byte code  in all")


if __name__ == "__main__":
    main()
