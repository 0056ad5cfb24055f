"""The site: every link and anchor leads somewhere, and each page fits a phone and a screen, without scripts. `make check-site` runs it."""

import html.parser
import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

import pytest

from chromium import Browser

SOURCE = pathlib.Path(os.environ["BOWLINE_SOURCE"])
BUILD = pathlib.Path(os.environ["BOWLINE_BUILD"])
# How much a page is wider than the screen; innerWidth of a phone grows with the page.
TOO_WIDE = """(() => { const wide = document.documentElement.scrollWidth - SCREEN;
    return wide <= 0 ? 0 : [wide, ...[...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > SCREEN + 1)
        .slice(0, 3).map((e) => e.outerHTML.slice(0, 80))]; })()"""


class Page(html.parser.HTMLParser):
    """What a page offers and where it leads to."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.scripts = {""}, [], 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        has = dict(attrs)
        self.ids.add(has.get("id"))
        self.links += [has[key] for key in ("href", "src") if has.get(key)]
        self.scripts += tag == "script"


@pytest.fixture(scope="module")
def site():
    if not shutil.which("mkdocs") or not shutil.which("mandoc"):
        pytest.skip("no mkdocs or no mandoc")
    made = subprocess.run([sys.executable, str(SOURCE / "tools/site_pages.py"), str(BUILD)], capture_output=True, text=True, check=False)
    assert (made.returncode, made.stderr) == (0, ""), made.stdout
    return BUILD / "site"


@pytest.fixture(scope="module")
def pages(site):
    found = {page: Page(page.read_text(encoding="utf-8")) for page in sorted(site.rglob("*.html"))}
    assert len(found) > 60
    return found


def dead_links(page, pages):
    for link in pages[page].links:
        if re.match(r"(https?|data|mailto):", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / urllib.parse.unquote(path)).resolve() if path else page
        if not target.is_file() or (target.suffix == ".html" and urllib.parse.unquote(anchor).split("/")[0] not in pages[target].ids):
            yield link


def test_no_link_and_no_anchor_is_dead(pages):
    assert {str(page): dead for page in pages if (dead := [*dead_links(page, pages)])} == {}


def test_only_the_pages_of_the_lab_have_scripts(pages, site):
    assert {page.relative_to(site).as_posix() for page in pages if pages[page].scripts} == {
        f"lab/{name}-page.html" for name in ("matrix", "set-nx-ex", "token", "token-reused")
    }
    every = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert re.findall(r"""(?:src|href)=["']https?://[^"']+\.(?:js|css|woff2?)""", every) == [], "it loads nothing from elsewhere"


def test_a_dead_link_and_a_dead_anchor_are_noticed(tmp_path):
    page = tmp_path.resolve() / "a.html"
    page.write_text('<h1 id="top"></h1><a href="#top"></a><a href="b.html"></a><a href="#no"></a><a href="a.html#top"></a>')
    assert [*dead_links(page, {page: Page(page.read_text())})] == ["b.html", "#no"]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if not shutil.which("chromium"):
        pytest.skip("no chromium")
    it = Browser(tmp_path_factory.mktemp("chromium"))
    it.call("Emulation.setScriptExecutionDisabled", value=True)
    yield it
    it.call("Browser.close")
    it.process.wait()


@pytest.mark.parametrize("width", [390, 1280])
def test_no_page_is_wider_than_the_screen(browser, pages, width):
    browser.screen(width, "light")
    wide = {}
    for page in pages:
        browser.open(page.as_uri())
        if said := browser.run(TOO_WIDE.replace("SCREEN", str(width))):
            wide[page.name] = said
        assert browser.run("document.body.innerText.trim().length") > 100, page
    assert wide == {}


def test_a_page_that_is_too_wide_is_noticed(browser, tmp_path):
    browser.screen(390, "light")
    (tmp_path / "wide.html").write_text('<meta name="viewport" content="width=device-width"><div style="width: 600px">wide</div>')
    browser.open((tmp_path / "wide.html").as_uri())
    assert browser.run(TOO_WIDE.replace("SCREEN", "390"))[0] > 100
