"""The page is one file that needs nothing else, and can be read in both of its themes."""

import base64
import gzip
import re

import msgspec
import pytest

from gnomon.profiler.packing import packed
from gnomon.profiler.page import ASSETS, SCRIPTS, asset, page, write_page
from tests.drawn import given
from tests.profiler.profiles import profiles
from tests.profiler.synthetic import made_up

pytestmark = pytest.mark.unit


def test_the_page_holds_the_profile():
    profile = made_up()
    text = re.search(r'<script id="profile"[^>]*>(.*?)</script>', page(profile), re.S)[1]

    assert msgspec.json.decode(gzip.decompress(base64.b64decode(text))) == msgspec.json.decode(
        msgspec.json.encode(packed(profile))
    )


def test_the_page_names_no_address():
    found = set(re.findall(r"https?://[^\s\"'`]+", page(made_up())))

    assert found == {"http://www.w3.org/2000/svg"}


def test_a_title_cannot_become_a_tag():
    assert "<b>" not in page(made_up(), "a <b> & {{script}}").split("<style>")[0]


@given(profiles())
def test_any_profile_has_a_page(profile):
    assert page(profile).endswith("</html>\n")


def test_every_asset_is_in_the_page(tmp_path):
    assert {path.name for path in ASSETS.iterdir()} == {
        "page.html",
        "page.css",
        *(f"{name}.js" for name in SCRIPTS),
    }
    write_page(made_up(), tmp_path / "made" / "page.html")
    written = (tmp_path / "made" / "page.html").read_text(encoding="utf-8")

    assert all(asset(f"{name}.js") in written for name in SCRIPTS)
    assert asset("page.css") in written


def test_the_same_profile_gives_the_same_page():
    assert page(made_up()) == page(made_up())


def test_many_kernels_make_a_small_page():
    profile = made_up(layers=1000)

    assert len(profile.records) == 10_001
    assert len(page(profile)) < 2_000_000


def themes() -> dict[str, dict[str, str]]:
    """The colours of both themes by name."""
    light = re.search(r":root \{(.*?)\}", asset("page.css"), re.S)[1]
    dark = re.search(r':root\[data-theme="dark"\] \{(.*?)\}', asset("page.css"), re.S)[1]
    read = re.compile(r"--([\w-]+): (#[0-9a-f]{6})")
    return {"light": dict(read.findall(light)), "dark": dict(read.findall(dark))}


def contrast(one: str, other: str) -> float:
    """How far apart two colours are in lightness, as WCAG counts it."""

    def light(colour):
        parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
        linear = [x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_words_can_be_read_on_what_is_behind_them(theme):
    colours = themes()[theme]
    pairs = [(x, y) for x in ("ink", "quiet") for y in ("paper", "sheet", "soft", "mark")]
    pairs += [(x, "sheet") for x in ("accent", "optimizer", "backward")]
    kinds = ("forward", "backward", "optimizer", "comm", "copy", "forced")
    pairs += [("on-accent", x) for x in kinds]

    assert not [(x, y) for x, y in pairs if contrast(colours[x], colours[y]) < 4.5]


def test_both_ways_to_the_dark_theme_are_equal():
    found = re.findall(r"--paper: #131519;.*?(?=\})", asset("page.css"), re.S)

    assert len(found) == 2
    assert found[0].split() == found[1].split()
