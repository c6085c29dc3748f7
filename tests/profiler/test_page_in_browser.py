"""The page in a browser: what is clicked shows everywhere, nothing is asked of a network.

Needs Chromium with its driver, and selenium: pip install -e '.[browser]'.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator

import pytest

from gnomon.profiler.page import write_page
from tests.profiler.synthetic import made_up

webdriver = pytest.importorskip(
    "selenium.webdriver", reason="needs selenium: pip install -e '.[browser]'"
)
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver on the path"
    ),
]
SWITCHES = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
PATIENCE = 30
"""Seconds for what a quiet machine does in one."""


class Page:
    """A page that is open, and what a person does with it."""

    def __init__(self, driver, address: str) -> None:
        self.driver = driver
        driver.get(address)
        self.wait_for("return document.documentElement.dataset.ready === 'yes'")

    def run(self, script: str):
        """The value of a script."""
        return self.driver.execute_script(script)

    def wait_for(self, script: str) -> None:
        """Wait until a script says yes."""
        self.wait_until(lambda: self.run(script))

    def wait_until(self, said: Callable[[], bool]) -> None:
        """Wait until something is so."""
        until = time.monotonic() + PATIENCE
        while not said():
            assert time.monotonic() < until, self.driver.get_log("browser")
            time.sleep(0.02)

    def all(self, selector: str) -> list:
        """The elements that a selector finds."""
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def texts(self, selector: str) -> list[str]:
        """What elements say, invisible ones too."""
        found = self.run(
            f"return [...document.querySelectorAll({json.dumps(selector)})].map(x => x.textContent)"
        )
        return [text.strip() for text in found]

    def click_row(self, pane: str, text: str) -> None:
        """Click the first row of a pane that holds a text."""
        rows = f'.pane[aria-label="{pane}"] .row'
        self.wait_for(
            f"const row = [...document.querySelectorAll({json.dumps(rows)})]"
            f".find(x => x.textContent.includes({json.dumps(text)}));"
            "if (row) row.click(); return Boolean(row);"
        )
        self.settle()

    def press(self, *keys: str) -> None:
        """Press keys, with nothing in the focus."""
        self.run("document.activeElement.blur()")
        ActionChains(self.driver).send_keys(*keys).perform()
        self.settle()

    def settle(self) -> None:
        """Wait until what was asked for is drawn: rows are, with the next frame."""
        self.driver.execute_async_script(
            "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))"
        )

    def hits(self, pane: str) -> list[str]:
        """The rows of a pane that are highlighted."""
        return self.texts(f'.pane[aria-label="{pane}"] .row.hit .code')

    def window(self) -> tuple[str, str]:
        """How much time the timeline shows, and how much there is."""
        shown, _, whole = self.texts("#window")[0].partition(" of ")
        return shown, whole


@pytest.fixture(scope="module")
def driver(tmp_path_factory) -> Iterator:
    """A browser of this module."""
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for switch in (*SWITCHES, f"--user-data-dir={tmp_path_factory.mktemp('browser')}"):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    made = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield made
    made.quit()


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> str:
    """A page of some layers."""
    path = tmp_path_factory.mktemp("page") / "page.html"
    write_page(made_up(steps=3), path, "made up")
    return path.as_uri()


def sized(driver, width: int, height: int) -> None:
    """Make the window as large as a screen."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


@pytest.fixture
def page(driver, address) -> Iterator[Page]:
    """The page on a usual screen; whatever a test does, the browser must have no complaint."""
    sized(driver, 1280, 800)
    yield Page(driver, address)
    assert driver.get_log("browser") == []


def test_nothing_is_asked_of_a_network(page, driver, address):
    driver.get_log("performance")
    Page(driver, address)
    for name in ("lines", "modules", "kernels", "roofline", "memory", "compile", "fusion"):
        driver.find_element(By.ID, f"tab-{name}").click()
    messages = [json.loads(x["message"])["message"] for x in driver.get_log("performance")]
    asked = {
        message["params"]["request"]["url"].partition(":")[0]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    }

    assert asked <= {"file", "data"}


def test_a_click_on_a_line_shows_its_graph_and_code(page):
    page.click_row("Source", "attention(q, k, v)")

    assert page.hits("Source") == ["y = attention(q, k, v)"]
    found = page.hits("Graph")
    assert found
    assert all("model.py:11" in row or "contract_add" in row for row in found)
    code, shared = page.hits("Code")
    assert code.startswith("define void @k_attention_grad(")
    assert shared == "define void @part_shared(ptr %x) {"


def test_a_click_on_the_graph_shows_its_line_and_code(page):
    page.click_row("Graph", "rms_norm(v5)")

    assert page.hits("Source") == ["h = self.norm(x)"]
    assert "@k_rms_norm" in page.hits("Code")[0]
    assert "layers.0" in page.hits("Graph")[0]
    assert page.texts(".row.made .code")[0].startswith("v6 = rms_norm(v5)")
    assert "layers.1.norm" in page.texts("select[aria-label=Kernel] option:checked")[0]


def test_a_click_on_the_code_shows_all_lines_that_share_it(page):
    page.click_row("Source", "self.out(y)")
    page.click_row("Code", "define void")

    assert page.hits("Source") == ["y = attention(q, k, v)", "x = x + self.out(y)"]
    assert page.hits("Graph")


def test_the_timeline_begins_with_the_steps_and_shows_all_when_asked(page):
    page.wait_until(lambda: len(set(page.window())) == 2)
    _, whole = page.window()

    page.press("f")

    page.wait_until(lambda: page.window() == (whole, whole))


def test_the_timeline_zooms_and_moves(page):
    steps, _ = page.window()

    page.run(
        "document.getElementById('timeline').dispatchEvent(new WheelEvent('wheel',"
        "{deltaY: -400, clientX: 700, clientY: 200, cancelable: true}))"
    )
    page.wait_until(lambda: page.window()[0] != steps)
    near, _ = page.window()
    page.press("w", "w", "d")
    page.wait_until(lambda: page.window()[0] != near)
    page.press("e")
    page.wait_until(lambda: page.window()[0] not in (steps, near))


def test_a_click_on_a_slice_chooses_its_kernel(page):
    timeline = page.all("#timeline")[0]
    lanes = ("steps", "compile", "looked at", "thread 0")
    down = 20 + 22 * lanes.index("thread 0") + 8 - timeline.size["height"] / 2
    page.press("e")

    ActionChains(page.driver).move_to_element_with_offset(timeline, 200, down).click().perform()

    assert page.hits("Source")
    assert page.texts("#tip b")


def test_what_is_searched_is_found_and_chosen(page):
    page.press("/")
    ActionChains(page.driver).send_keys("attention(q").perform()
    assert page.texts("#found .what") == ["somebody/model.py:11  y = attention(q, k, v)"]

    ActionChains(page.driver).send_keys(Keys.ENTER).perform()

    assert page.hits("Source") == ["y = attention(q, k, v)"]


def test_lines_are_found_by_the_parts_of_the_model_that_they_serve(page):
    page.press("/")
    ActionChains(page.driver).send_keys("model.py layers.2.up").perform()

    assert [x.split()[0] for x in page.texts("#found .what")] == [
        "somebody/model.py:13",
        "somebody/model.py:12",
    ]


def test_a_search_for_nothing_says_so(page):
    page.press("/")
    ActionChains(page.driver).send_keys("no such thing").perform()

    assert page.texts("#found .none") == ["Nothing has this in its name."]
    ActionChains(page.driver).send_keys(Keys.ESCAPE).perform()
    assert page.run("return document.getElementById('found').hidden")


def test_every_view_opens_by_its_key(page):
    names = ["source", "lines", "modules", "kernels", "roofline", "memory", "compile", "fusion"]
    for number, name in enumerate(names, 1):
        page.press(str(number))

        assert page.texts("#tabs [aria-selected=true]")[0].lower().startswith(name)
        assert page.run(f"return document.getElementById('view-{name}').offsetHeight") > 200
    page.press("?")
    assert page.run("return document.getElementById('keys').open")


def test_a_capture_that_was_not_the_first_says_why(page):
    page.press("7")
    told = page.texts("#view-compile .mono")

    assert "step, capture 2: tensor 0: shape is (4,), was (3,)" in told


def test_keys_walk_through_lines_and_kernels(page):
    page.press("n")
    first = page.hits("Source")
    page.press("n")
    assert page.hits("Source") != first
    page.press("p")
    assert page.hits("Source") == first
    page.press("j", "j")
    assert "@k_contract" in page.hits("Code")[0]
    page.press(Keys.ESCAPE)
    assert page.hits("Source") == page.hits("Graph") == []


def test_a_table_sorts_by_what_is_clicked(page):
    page.press("4")
    page.all("#view-kernels .labels button")[2].click()
    by = "#view-kernels .row > span:nth-child(2)"
    first = page.texts(by)[0]
    page.all("#view-kernels .labels button")[1].click()
    page.all("#view-kernels .labels button")[1].click()

    assert page.texts(by)[0] != first


def test_a_decision_names_both_sides_and_shows_its_kernel(page):
    page.press("8")
    rows = page.texts("#view-fusion .row")
    apart = next(x for x in rows if "add" in x and "backward" in x and "model.py:9" in x)

    assert apart.startswith("apart")
    assert "add (somebody/model.py:10 backward) of mul (somebody/model.py:9 backward)" in apart
    assert "read by two kernels" in apart

    page.run(
        "[...document.querySelectorAll('#view-fusion .row')]"
        ".find(x => x.textContent.startsWith('fused')).click()"
    )
    page.press("1")
    names, told = page.texts(".facts dt"), page.texts(".facts dd")
    facts = [x for name, x in zip(names, told, strict=True) if name == "fused"]
    assert facts
    assert all("relu" in x or "add" in x for x in facts)
    assert all("together" in x and "model.py:" in x for x in facts)
    assert "(2.00 ms apart, 1.00 ms together)" in facts[0]


def test_the_theme_turns_and_is_kept(page, driver, address):
    ground = "return getComputedStyle(document.body).backgroundColor"
    before = page.run(ground)
    page.press("t")
    after = page.run(ground)

    assert before != after
    assert Page(driver, address).run(ground) == after
    page.press("t")


def test_a_telephone_shows_all_without_moving_sideways(page, driver):
    sized(driver, 390, 844)

    for number in range(1, 9):
        page.press(str(number))
        assert page.run("return document.documentElement.scrollWidth") <= 390


def test_every_button_has_a_name(page):
    nameless = page.run(
        "return [...document.querySelectorAll('button, input, select')].filter(x =>"
        " !x.textContent.trim() && !x.getAttribute('aria-label')).length"
    )

    assert nameless == 0


def test_ten_thousand_kernels_are_quick_to_open_and_to_walk(driver, tmp_path):
    path = tmp_path / "large.html"
    write_page(made_up(layers=1000), path, "large")
    sized(driver, 1280, 800)

    page = Page(driver, path.as_uri())
    loaded = page.run("return performance.now()")
    page.press("4")
    page.press("n", "j", "j")

    assert loaded < 1000 * PATIENCE
    assert page.run("return document.querySelectorAll('*').length") < 3000
    assert page.texts("#tab-kernels small") == ["10,001"]
    assert driver.get_log("browser") == []
