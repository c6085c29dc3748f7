"""Write the JSON schemas of what Gnomon saves, for the documentation.

python tools/schemas.py
"""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from gnomon.program.records import SavedRecords

SCHEMAS = {"records.schema.json": SavedRecords}


def text_of(kind: type) -> str:
    """A schema as text."""
    return json.dumps(msgspec.json.schema(kind), indent=2) + "\n"


if __name__ == "__main__":
    for name, kind in SCHEMAS.items():
        path = Path(__file__).parent.parent / "docs" / name
        path.write_text(text_of(kind), encoding="utf-8")
