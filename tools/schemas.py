"""Write the JSON schemas of what Gnomon saves, for the documentation.

python tools/schemas.py
"""

from __future__ import annotations

import json
from inspect import cleandoc
from pathlib import Path
from typing import Any

import msgspec

from gnomon.program.records import SavedRecords

SCHEMAS = {"records.schema.json": SavedRecords}


def text_of(kind: type) -> str:
    """A schema as text."""
    return json.dumps(cleaned(msgspec.json.schema(kind)), indent=2) + "\n"


def cleaned(part: Any) -> Any:
    """A part of a schema, descriptions without the source's margin: msgspec 0.22 keeps it."""
    if isinstance(part, list):
        return [cleaned(x) for x in part]
    if not isinstance(part, dict):
        return part
    texts = {k: cleandoc(x) for k, x in part.items() if k == "description" and isinstance(x, str)}
    return {k: texts.get(k, cleaned(x)) for k, x in part.items()}


if __name__ == "__main__":
    for name, kind in SCHEMAS.items():
        path = Path(__file__).parent.parent / "docs" / name
        path.write_text(text_of(kind), encoding="utf-8")
