"""The lab in Chinese: no English is left on a page, and the tables have what the sources have."""

import errno
import os
import pathlib
import re
import shlex
import shutil

import pytest

SOURCE = pathlib.Path(os.environ["BOWLINE_SOURCE"])
LOCKS = SOURCE / "lab" / "locks"
PAGES = [line for line in (SOURCE / "tests/lab/pages_zh.txt").read_text().splitlines() if line[0] != "#"]
PIECE = re.compile(r"""/\*.*?\*/|"((?:[^"\\]|\\.)*)"|PRI([du])64|('(?:[^'\\]|\\.)'|[^\s\\"])""", re.S)
CONVERSION = re.compile(r"%(?:(\d+)\$)?[-+0]*(\*|\d+)?(?:\.(\*|\d+))?((?:ll?|z)?[a-zA-Z%])")
# Names that are typed, of Redis, of libraries and of units; beside those that the lab lists itself.
NAMES = set((SOURCE / "tests/lab/names_zh.txt").read_text().split())


def literals(path):
    """The texts of a C file, each with the pieces that the compiler joins."""
    texts = [""]
    for text, conversion, other in PIECE.findall(re.sub(r"^#include.*", "", path.read_text(), flags=re.M)):
        texts[-1] += text or (conversion and "l" + conversion)
        texts += [""] if other and texts[-1] else []
    return [text for text in texts if text]


def conversions(text):
    """The types of the arguments, by their positions."""
    types, has_positions = {}, set()
    for position, *stars, kind in CONVERSION.findall(text):
        for star in stars:
            if star == "*":
                types[len(types) + 1] = "*"
        if kind != "%":
            has_positions.add(position != "")
            types[int(position) if position else len(types) + 1] = kind
    assert len(has_positions) < 2, text
    return sorted(types.items())


def test_each_text_of_the_tables_is_in_the_sources_once():
    tables = [literals(path) for path in sorted((SOURCE / "lab/base").glob("zh*.c"))]
    pairs = [pair for table in tables for pair in zip(table[::2], table[1::2], strict=True)]
    files = [path for path in (SOURCE / "lab").rglob("*.[ch]") if not path.name.startswith("zh")]
    files += (SOURCE / "src/protocol/lock_file").glob("*.c")
    said = {text for path in files for text in literals(path)} | {os.strerror(number) for number in errno.errorcode}
    english = [key for key, _ in pairs]
    assert len(english) > 400
    assert [key for key in english if key not in said or english.count(key) > 1] == []
    assert [pair for pair in pairs if conversions(pair[0]) != conversions(pair[1])] == []


def english_in(lab, page, *typed):
    """Words that are no names, outside of scripts."""
    listed = lab("list").stdout
    labels = re.findall(r"^  (\S+(?: \S+)*?)  +broken when", listed, re.M)
    names = NAMES | {path.stem for path in LOCKS.iterdir()} | set(re.findall(r"\w[\w-]*", " ".join(typed)))
    names |= set(re.findall(r"^ +(?:-\w, +)?(?:--)?([a-z][\w-]*)", lab("--help").stdout + listed, re.M))
    page = re.sub(rf"(?<![\w-])({'|'.join(labels)})(?![\w-])|`return [^`]*`", "", page)
    return [word for word in re.findall(r"[A-Za-z]{2}[\w-]*", page, re.A) if word.strip("-") not in names]


@pytest.mark.parametrize("page", PAGES)
def test_page_has_no_english(lab, page):
    lab.write("bad.lock", "lease 10s\nacquire: SET key token PX -> OK ? held : busy\n")
    for path in LOCKS.glob("*.lock"):
        shutil.copy(path, lab.root)
    status, *words = shlex.split(page)
    said = lab(*words, "--lang", "zh")
    assert said.returncode == int(status), said.stdout + said.stderr
    assert english_in(lab, said.stdout + said.stderr, *words) == []
    assert re.search("[\u4e00-\u9fff]", said.stdout + said.stderr)


@pytest.mark.parametrize("words", ["try token --slow 2 --crash 1", "matrix queue setnx-getset --faults 1 --budget 900"])
def test_html_has_no_english(lab, words):
    lab(*words.split(), "--html", "it.html", "--lang", "zh")
    page = re.sub(r"<style>.*?</style>|<script>.*?</script>", "", (lab.root / "it.html").read_text(), flags=re.S)
    steps = re.sub(r'"\w+":|true|false|"(?:idle|busy|holds|over|crashed)"', "", " ".join(re.findall(r"json\">(.*?)</script>", page, re.S)))
    assert 'lang="zh-CN"' in page
    assert english_in(lab, steps + re.sub(r"<script.*?</script>|<code>.*?</code>|<[^>]*>|&\w+;", " ", page, flags=re.S)) == []


def test_replay_on_a_server_has_no_english(lab):
    if not shutil.which("redis-server"):
        pytest.skip("there is no redis-server")
    said = lab("replay", lab.write("it.json", lab.schedule("token-delete-blind", "--lang", "zh", "--restart", "1")), "--lang=zh")
    assert said.returncode == 0, said.stderr
    assert english_in(lab, said.stdout) == []


@pytest.mark.parametrize("names, lang", [("LANG", "zh"), ("LC_MESSAGES", "zh"), ("LC_ALL LANG", "en")])
def test_language_is_that_of_the_environment(lab, names, lang):
    languages = dict(zip(names.split(), ["C" if " " in names else "zh_CN.UTF-8", "zh_CN.UTF-8"]))
    said = lab("list", env={**lab.env, "LC_ALL": "", "LC_MESSAGES": "", **languages})
    assert said.stdout == lab("list", "--lang", lang).stdout == lab("--lang", lang, "list").stdout
