"""The last lines of .ci/run: of each tier its counts and times, and what failed with its end.

Exits with 1 if a tier failed, or if none was run.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from pathlib import Path

LAST = 12
"""Lines shown of each failure."""


def counts(root: ET.Element) -> str:
    """How many tests had which outcome."""
    total = {key: 0 for key in ("tests", "failures", "errors", "skipped")}
    for suite in root.iter("testsuite"):
        for key in total:
            total[key] += int(suite.get(key, 0))
    bad = total["failures"] + total["errors"]
    passed = total["tests"] - bad - total["skipped"]
    return f"{passed} passed, {bad} failed, {total['skipped']} skipped, "


def failures(root: ET.Element) -> list[str]:
    """Each test that failed, with the last lines of what it said."""
    lines = []
    for case in root.iter("testcase"):
        for told in [*case.findall("failure"), *case.findall("error")]:
            lines.append(f"FAILED {case.get('classname')}::{case.get('name')}")
            lines += [f"    {line}" for line in (told.text or "").strip().splitlines()[-LAST:]]
    return lines


def main(folder: Path) -> int:
    """Print the report of a run; the exit code of all of it."""
    wrong, ending = 0, []
    rows = (folder / "outcomes.tsv").read_text().splitlines()
    for name, code, seconds, work in (row.split("\t") for row in rows):
        report = folder / f"{name}.xml"
        root = ET.parse(report).getroot() if report.exists() else None
        said = "" if root is None else counts(root)
        outcome = "" if code == "0" else f"exit code {code}, "
        time = f"{int(seconds) // 60} min {int(seconds) % 60} s, {work} s of processors"
        ending.append(f"== {name}: {said}{outcome}{time}")
        if code != "0":
            wrong += 1
            print("\n".join(failures(root) if root is not None else [f"FAILED {name}"]))
    print("\n".join(ending))
    return int(wrong > 0 or not rows)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
