"""Take the pictures of a profile's page that the documentation shows, and print README's table.

    gnomon profile --out somewhere && python tools/pictures.py somewhere

Needs Chromium, its driver and selenium (pip install -e '.[browser]').
"""

from __future__ import annotations

import base64
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from gnomon.profiler import Profile, by_source_line, read_profile, totals
from gnomon.profiler.tables import costs, source_line, summary

PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
SWITCHES = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
SHOTS = {
    "profile": (1280, 800, "n"),
    "profile-roofline": (1280, 800, "tn5"),
    "profile-narrow": (390, 844, "tn"),
}
"""Name -> width, height, and the keys that are pressed first."""


HEAD = "| line | time of a step | of all | kernels | GB/s | GFLOP/s | of roofline |"
LONGEST = 66
"""Letters of a line that the table shows."""


def main(folder: Path) -> None:
    """Everything that the documentation shows of a profile."""
    take(folder / "profile.html")
    made = read_profile(folder)
    print(summary(made), HEAD, "|---" * HEAD.count(" | ") + "|---|", *rows(made), sep="\n")


def rows(made: Profile) -> Iterator[str]:
    """The ten costliest lines as rows of a table."""
    whole = totals(made)
    for row in by_source_line(made)[:10]:
        time, part, _, *speeds = costs(row.cost, whole.busy, whole.steps)
        text = source_line(made, row.file, row.line).replace("|", "\\|")
        text = text if len(text) <= LONGEST else f"{text[: LONGEST - 1].rstrip()}…"
        place = f"{'/'.join(Path(row.file).parts[-2:])}:{row.line}"
        linked = f"[{place}](gnomon/{place.replace(':', '#L')}) `{text}`"
        yield f"| {' | '.join([linked, time, part, str(row.cost.kernels), *speeds])} |"


def take(page: Path) -> None:
    """Open the page on every screen, press the keys, keep what is seen."""
    driver = browser()
    try:
        for name, (width, height, keys) in SHOTS.items():
            size = {"width": width, "height": height, "deviceScaleFactor": 1}
            size["mobile"] = width < 500
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            driver.get(page.resolve().as_uri())
            for key in keys:
                time.sleep(0.5)
                press = "document.dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0]}))"
                driver.execute_script(press, key)
            time.sleep(1)
            keep(driver, name)
    finally:
        driver.quit()


def browser() -> webdriver.Chrome:
    """Chromium without a window, as on its first day."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for switch in (*SWITCHES, f"--user-data-dir={tempfile.mkdtemp()}"):
        options.add_argument(switch)
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def keep(driver: webdriver.Chrome, name: str) -> None:
    """Write what is seen."""
    PICTURES.mkdir(exist_ok=True)
    wanted = {"format": "webp", "quality": 82}
    taken = driver.execute_cdp_cmd("Page.captureScreenshot", wanted)
    (PICTURES / f"{name}.webp").write_bytes(base64.b64decode(taken["data"]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
