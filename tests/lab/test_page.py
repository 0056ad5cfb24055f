"""The pages of the lab in a browser: keys, slider, clicks, addresses, widths, colours. `make check-page` runs it.
"""

import json
import shutil

import pytest

from chromium import Browser, until
from test_face import EVIL_LOCK, EVIL_NAME, EVIL_STORY, REUSED

SLOW = ["token", "--slow", "2", "--invariant", "no overlap"]
LANES = {":": {"idle", "crashed"}, "|": {"busy"}, "#": {"holds"}, "!": {"over"}}
SHOWN = """(() => {
const part = (name) => document.querySelector(`#player [data-show=${name}]`);
const texts = (name) => [...part(name).children].map((item) => item.textContent);
const slider = document.querySelector("#player input"), veil = document.querySelector(".on .veil");
return {title: part("title").textContent, says: part("says").textContent, moral: part("moral").textContent,
    clients: texts("clients"), is: [...part("clients").children].map((item) => item.classList[0]),
    server: texts("server"), way: texts("way"), value: +slider.value, aria: slider.getAttribute("aria-valuetext"),
    veiled: veil.getBoundingClientRect().height, row: document.querySelector(".on .mark").getBoundingClientRect().toJSON(),
    panel: document.querySelector("#player").getBoundingClientRect().toJSON()}
})()"""
# The contrast of every text that can be seen with what is behind it; the least.
CONTRAST = """(() => {
const light = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map((v) => v / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const behind = (e) => { const is = getComputedStyle(e).backgroundColor; return /, 0\\)/.test(is) ? behind(e.parentElement) : is; };
return [...document.querySelectorAll("body *")].filter((e) => e.checkVisibility() && e.tagName !== "SCRIPT" &&
    [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())).map((e) => {
    const is = getComputedStyle(e), both = [light(e.closest("svg") ? is.fill : is.color), light(behind(e))].sort();
    return [(Math.max(...both) + 0.05) / (Math.min(...both) + 0.05), e.textContent];
}).sort((a, b) => a[0] - b[0])[0]
})()"""


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    if not shutil.which("chromium"):
        pytest.skip("no chromium")
    it = Browser(tmp_path_factory.mktemp("chromium"))
    yield it
    it.call("Browser.close")
    it.process.wait()


@pytest.fixture
def browser(chromium):
    chromium.screen(1500, "light")
    yield chromium
    assert chromium.complaints() == []


def page_of(lab, *words):
    assert lab(*words, "--html", "it.html").returncode in (0, 1)
    return (lab.root / "it.html").as_uri()


def part(selector):
    return f"document.querySelector({json.dumps(selector)})"


def go_by_key(browser, step, last):
    browser.press("Home" if step == 0 else "ArrowRight")


def go_by_click(browser, step, last):
    browser.click(part("#player [data-go=%s]" % ("first" if step == 0 else "on")))


def go_by_slider(browser, step, last):
    width = browser.run(part("#player input") + ".offsetWidth")
    browser.click(part("#player input"), (8 + step / last * (width - 16)) / width)


@pytest.mark.parametrize("go", [go_by_key, go_by_click, go_by_slider])
@pytest.mark.parametrize("words", [REUSED, ["token-delete-blind", "--crash", "1", "--invariant", "own key only"], SLOW])
def test_every_step_shows_what_the_schedule_and_the_diagram_say(lab, browser, words, go):
    steps = json.loads(lab.schedule(*words))["transitions"]
    lines = lab("try", *words).stdout.split("redis\n")[-1].splitlines()[:-1]
    browser.open(page_of(lab, "try", *words))
    rows = [stage["rows"][1] for stage in json.loads(browser.run(part(".on script") + ".textContent"))]
    veiled = []
    for number, step in enumerate([None, *steps]):
        go(browser, number, len(steps))
        shown = browser.run(SHOWN)
        assert shown["value"] == number and shown["title"].startswith(f"step {number} of {len(steps)}, at ")
        assert shown["aria"] == f"{shown['title']}: {shown['says']}"
        assert (shown["moral"] != "") == (number == len(steps))
        veiled.append(shown["veiled"])
        if step:
            assert shown["says"].split(": ", 1)[-1] == step["says"] and shown["says"][0] in (step["client"], "r", *"123456789")
            for client, name in enumerate("AB"):
                assert shown["clients"][client].startswith(name + " ")
                assert shown["is"][client] in LANES[lines[rows[number]][8 + 24 * client]], (number, shown)
            executes = step["do"].startswith("serve")
            assert not executes or shown["server"][0] in lines[rows[number]]
    assert veiled == sorted(veiled, reverse=True) and veiled[0] > 300 and veiled[-1] == 0
    if words == REUSED:
        assert shown["clients"] == [f"{name} believes it holds the lock for 28 ms more" for name in "AB"]
        assert shown["server"] == ["key B1 for 30 ms"] and shown["way"] == ["nothing"]


def test_steps_go_back_and_a_click_on_the_diagram_leads_to_its_row(lab, browser):
    browser.open(page_of(lab, "try", *REUSED))
    browser.press("ArrowLeft", "ArrowLeft")
    assert browser.run(SHOWN)["value"] == 15
    browser.click("[...document.querySelectorAll('.on text')].find((e) => e.textContent.includes('× connection'))")
    shown = browser.run(SHOWN)
    assert shown["says"] == "A: connection breaks" and shown["way"] == ["A → redis, on a broken connection: DELETE A1"]
    browser.press("End", "ArrowRight")
    assert browser.run(SHOWN)["value"] == 17


def test_a_step_has_an_address_and_back_leads_to_the_table(lab, browser):
    url = page_of(lab, "matrix", "token", "--faults", "1")
    browser.open(url)
    assert browser.run(part("#player") + ".hidden")
    address = browser.run(part("td.bad a") + ".href")
    browser.click(part("td.bad a"))
    until(lambda: browser.run(f"document.activeElement === {part('#player input')}"))
    browser.press("Home", "ArrowRight", "ArrowRight")
    until(lambda: browser.run("location.href") == address + "/2")
    before = browser.run(SHOWN)
    browser.run("history.back()")
    until(lambda: browser.run(part("#player") + ".hidden"))
    assert browser.run("location.href") == url and browser.run(f"document.activeElement === {part('td.bad a')}")
    browser.open(address + "/2")
    assert browser.run(SHOWN) == before and before["value"] == 2
    browser.run("location.hash = '#c0-4/5'")
    until(lambda: browser.run(SHOWN)["value"] == 5)
    browser.run("history.back()")
    until(lambda: browser.run(SHOWN)["value"] == 2)


@pytest.mark.parametrize("words", [["matrix", "token", "setnx-getset-buffers", "--faults", "1"], ["try", *REUSED]])
def test_widths_and_colours(lab, browser, words):
    url = page_of(lab, *words)
    colours = set()
    for width in (360, 1500):
        for scheme in ("light", "dark"):
            browser.screen(width, scheme)
            browser.open(url + ("#c0-4/6" if words[0] == "matrix" else "#one-holder/12"))
            wide = browser.run("[...document.querySelectorAll('html, .scroll')].map((e) => e.scrollWidth > e.clientWidth)")
            assert wide == [False, width == 360][: 1 + (words[0] == "matrix")]
            shown = browser.run(SHOWN)
            assert width == 1500 or 0 <= shown["row"]["top"] < shown["row"]["bottom"] <= shown["panel"]["top"]
            least, text = browser.run(CONTRAST)
            assert least >= 4.5, (scheme, text)
            colours.add(browser.run("getComputedStyle(document.body).backgroundColor"))
    assert len(colours) == 2


def test_names_from_a_file_are_text(lab, browser):
    browser.open(page_of(lab, "try", lab.write(EVIL_NAME + ".lock", EVIL_LOCK)))
    assert browser.run("document.title") == "bowline lab: " + browser.run(part("h1") + ".textContent") == "bowline lab: " + EVIL_NAME
    assert browser.run(part("h1 + p") + ".textContent") == EVIL_STORY and browser.run("document.images.length") == 0
    browser.press("Home", "ArrowRight", "ArrowRight")
    assert browser.run(SHOWN)["says"] == 'redis: SET key </script><!--<script>" NX'
    browser.run("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"document.title=1\">')")
    until(lambda: "Content Security Policy" in str(browser.complaints()))
    assert browser.run("document.title") != "1"
    browser.open("about:blank")
    browser.complaints()
