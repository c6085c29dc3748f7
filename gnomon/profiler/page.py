"""A profile as one HTML file with style, script and data, which loads nothing else.

Its sources are in the folder assets. packing.py makes the data.
"""

from __future__ import annotations

import base64
import gzip
import html
import re
from functools import cache
from pathlib import Path

import msgspec

from gnomon.ir.memo import memo
from gnomon.profiler.model import Profile
from gnomon.profiler.packing import packed
from gnomon.runtime.files import publish

__all__ = ["page", "write_page"]

ASSETS = Path(__file__).parent / "assets"
SCRIPTS = ("model", "rows", "timeline", "charts", "views", "panes", "main")
"""The page's scripts in order of dependence."""


def write_page(profile: Profile, path: Path, title: str = "profile") -> None:
    """Write a profile's page to a file."""
    publish(path, page(profile, title).encode())


def page(profile: Profile, title: str = "profile") -> str:
    """The HTML of a profile's page."""
    numbers = gzip.compress(msgspec.json.encode(packed(profile)), 6, mtime=0)
    parts = {
        "title": html.escape(title),
        "style": asset("page.css"),
        "script": "\n".join(asset(f"{name}.js") for name in SCRIPTS),
        "profile": base64.b64encode(numbers).decode("ascii"),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], asset("page.html"))


@memo
@cache
def asset(name: str) -> str:
    """The text of a file in assets."""
    return (ASSETS / name).read_text(encoding="utf-8")
