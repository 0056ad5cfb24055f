"""The output of the lab: its texts, its diagrams, and its errors for wrong arguments."""

import html.parser
import json
import os
import pathlib
import pty
import re
import shutil
import subprocess
import xml.etree.ElementTree

import pytest

SOURCE = pathlib.Path(os.environ["BOWLINE_SOURCE"])
EVIL_NAME = "<img src=x onerror=document.title=1>\"'&<!--<script>"
EVIL_STORY = "</script><script>document.title='owned'</script><!--<script> \"'&"
EVIL_LOCK = f"# {EVIL_STORY}\nacquire: SET key `</script><!--<script>\"` NX -> OK ? held : busy\nrelease: DEL key\n"
REUSED = ["token-reused", "--loss", "1", "--invariant", "one holder"]

# One token for every attempt: a release that comes late is as good as a new one.
REUSED_DRAWN = """\
   ms   A                       B                       redis
    0   |--- acquire: SET A1 ---:---------------------->| yes; key A1 for 30 ms
        #<-------- yes ---------:-----------------------|   <== A HOLDS, for 28 ms
        | release               :                       |   A works no longer
        |------ DELETE A1 ------:---------------------->|
        | X connection breaks   :                       |
        | X DELETE A1: no answer:                       |
    5 ..|.......................:.......................| 5 ms pass
        |-- alarm: DELETE A1 ---:---------------------->| yes; no key
        :<-------- yes ---------:-----------------------|   A is done
        |--- acquire: SET A1 ---:---------------------->| yes; key A1 for 30 ms
        |                       :                       | LATE DELETE A1: no key
        #<-------- yes ---------:-----------------------|   <== A HOLDS, for 28 ms
        #                       |--- acquire: SET B1 -->| yes; key B1 for 30 ms
        #                       #<-------- yes ---------|   <== B HOLDS, for 28 ms
=> broken in 17 steps: one holder: two clients believe, each by its own clock, that they hold the
   lock.
"""


def test_list_names_protocols_invariants_and_scenarios(lab):
    said = lab("list")
    assert said.returncode == 0
    for word in ("protocols", "  token ", "invariants", "  one holder ", "scenarios", "  planted-one-token "):
        assert word in said.stdout


def test_try_draws_the_shortest_schedule(lab):
    said = lab("try", *REUSED)
    assert said.returncode == 1
    assert "one holder       BREAKS with 1 loss, in 17 steps" in said.stdout
    assert said.stdout.endswith("\n\n" + REUSED_DRAWN)


def test_kept_invariant_is_reported_without_a_drawing(lab):
    said = lab("try", "token", "--slow", "1", "--loss", "1")
    assert said.returncode == 0, said.stdout
    assert "BREAKS" not in said.stdout
    assert re.search(r"hold: +one holder, one worker", said.stdout)
    assert "redis" not in said.stdout.split("states in")[1]


def test_reported_budget_is_the_smallest(lab):
    """Two lost connections are allowed, and one is enough; with none it holds."""
    said = lab("try", "token-reused", "--loss", "2", "--invariant", "one holder")
    assert "BREAKS with 1 loss, in 17 steps" in said.stdout
    assert lab("try", "token-reused", "--slow", "1", "--invariant", "one holder").returncode == 0


@pytest.mark.parametrize(
    "words, status, part",
    [
        (["token", "--rate", "2", "--loss", "1", "--faults", "2"], 0, "hold:            one holder"),
        (["token", "--rate", "1", "--pace", "106"], 0, "hold:            one holder"),
        (["token", "--rate", "1", "--pace", "90"], 1, "honest lease     BREAKS with 1 rate, in 4 steps"),
        (["token", "--rate", "1", "--pace", "90"], 1, "its CLOCK RUNS at 90"),
        (["mutant-no-drift-rate-changes", "--rate", "1"], 1, "honest lease     BREAKS with 1 rate, in 4 steps"),
    ],
)
def test_a_clock_may_be_as_slow_as_the_allowance_says(lab, words, status, part):
    said = lab("try", *words)
    assert said.returncode == status and part in said.stdout, said.stdout


# ---- explanations ----------------------------------------------------------------------------------

TITLES = {
    "C": ["What breaks it", "In practice", "What to use instead", "How to move a running fleet", "How to see it"],
    "zh_CN.UTF-8": ["什么情况下会出错", "实际中", "改用什么", "怎样迁移正在运行的程序", "怎样亲眼看到"],
}


@pytest.mark.parametrize("locale", TITLES)
def test_every_lock_and_every_lock_file_is_explained(lab, locale):
    machines = re.findall(r"^    X\(\w+, (\w+)\)", (SOURCE / "src/protocol/protocol.h").read_text(), re.M)
    listed = re.findall(r"^  ([\w-]+) ", lab("list").stdout.partition("\n\n")[0], re.M)
    files = sorted(map(str, SOURCE.glob("lab/locks/*.lock")))
    for name in {name.replace("_", "-") for name in machines} | {*listed} | {*files}:
        said = lab("explain", name, env={**lab.env, "LC_ALL": locale})
        assert said.returncode == 0, name
        assert [title for title in TITLES[locale] if not re.search(rf"^{title}\n  +\S", said.stdout, re.M)] == [], name
        lines = [line for line in said.stdout.splitlines() if line[:4].strip() and not re.search("[!-~]{60}", line)]
        assert max(len(line) + len(re.findall(r"[\u2e80-\uffff]", line)) for line in lines) <= 80, name
        shown = name in files or not name.startswith(("token-", "written-"))
        assert not shown or re.search(rf"^    bowline lab try {name}( |$)", said.stdout, re.M), name
        assert name not in files or pathlib.Path(name).read_text().splitlines()[-1] in said.stdout


# ---- drawings --------------------------------------------------------------------------------------


def svg_of(lab, *words):
    file = lab.root / "it.svg"
    assert lab("try", *words, "--svg", str(file)).returncode == 1
    return file.read_text()


def test_svg_is_xml_for_light_and_dark_and_loads_nothing(lab):
    text = svg_of(lab, *REUSED)
    root = xml.etree.ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "prefers-color-scheme:dark" in text
    assert not re.search(r"https?:", text.replace("http://www.w3.org/2000/svg", ""))
    bars = [e for e in root.iter("{http://www.w3.org/2000/svg}rect")]
    # A holds, gives back, holds again; B holds: and the last two bars end together.
    assert [bar.get("class") for bar in bars] == ["A", "A", "B"]
    ends = [int(bar.get("y")) + int(bar.get("height")) for bar in bars]
    assert ends[1] == ends[2] > ends[0]
    late = [e for e in root.iter("{http://www.w3.org/2000/svg}line") if e.get("class") == "A late"]
    assert len(late) == 1 and int(late[0].get("y2")) > int(late[0].get("y1"))


@pytest.mark.parametrize(
    "words, parts",
    [
        # B finds no key, and its DEL removes what A has set.
        (["way-3.lock"], ["| stamp t-2s <= A's clock t+0s: over\n", "| no stamp: over\n"]),
        (["way-4.lock"], ["   B (clock +3000 ms) ", "| t+2s; key t+5s by B, for ever\n"]),
        (["buffers.lock"], ["| stamp t+31ms >= A's clock t+25ms: not over\n"]),
        (["setnx-getset", "--wall", "1"], ["| B's clock is ahead by 30 ms\n", "<= B's clock t+2s (ahead by 30\n"]),
        (["setnx-expire-watch", "--slow", "2"], ["- WATCH key, GET key -", "| MULTI, DEL key, EXEC: nil; key A1 "]),
    ],
)
def test_a_drawing_says_what_decides_and_every_text_has_its_place(lab, words, parts):
    said = lab("try", *words, "--svg", str(lab.root / "it.svg"), cwd=SOURCE / "lab/locks").stdout.split("states in")[1]
    assert all(part in said for part in parts) and max(map(len, said.splitlines())) <= 100, said
    root = xml.etree.ElementTree.parse(lab.root / "it.svg").getroot()
    width, height = map(int, root.get("viewBox").split()[2:])
    at = [(int(e.get("x")), int(e.get("y")), e.text) for e in root.iter("{http://www.w3.org/2000/svg}tspan")]
    boxes = [(x, y - 10, x + 7.4 * len(text), y + 3) for x, y, text in at]
    assert all(a >= 0 and b >= 0 and c <= width and d <= height for a, b, c, d in boxes)
    assert not [(a, b) for a in boxes for b in boxes if a < b and a[2] > b[0] and a[1] < b[3] and b[1] < a[3]]


def test_the_diagram_of_the_docs_is_what_is_drawn(lab):
    assert svg_of(lab, *REUSED) == (SOURCE / "docs/how-to/lab/token-reused.svg").read_text()


def test_name_is_escaped_in_the_drawing(lab):
    made = build_own(lab, own_protocol(), name="<b>&\"own'.so")
    text = svg_of(lab, made, "--invariant", "own key only")
    assert xml.etree.ElementTree.fromstring(text)[0].text.endswith("<b>&\"own'.so")


def test_mermaid_has_a_line_for_each_message(lab):
    said = lab("try", *REUSED, "--mermaid").stdout.splitlines()
    assert said[0] == "sequenceDiagram"
    assert "    A->>redis: acquire, SET A1" in said
    assert "    A-)redis: DELETE A1" in said  # it arrives later
    assert "    Note over redis: LATE DELETE A1: no key" in said
    assert "    redis-->>B: yes" in said
    assert not [line for line in said if ";" in line or "#" in line]


def test_a_lock_that_holds_is_drawn_in_a_run_without_a_fault(lab):
    said = lab("try", str(SOURCE / "lab/locks/token.lock"), "--slow", "0", "--mermaid", "--svg", "it.svg")
    assert said.returncode == 0 and "Note over B: B waits" in said.stdout and said.stdout.endswith("B is done\n")
    drawn = (lab.root / "it.svg").read_text()
    assert "SET key B2 NX" in drawn and "broken" not in drawn


def test_file_that_cannot_be_written_is_reported_and_removed(lab):
    said = lab("try", *REUSED, "--svg", "no/such/it.svg")
    assert said.returncode == 1 and "no/such/it.svg cannot be written" in said.stderr
    (lab.root / "taken").mkdir()
    said = lab("try", *REUSED, "--svg", "taken")
    assert said.returncode == 1 and "taken cannot be written" in said.stderr
    assert sorted(path.name for path in lab.root.iterdir()) == ["taken"]


def test_a_full_disk_is_not_success(lab):
    with open("/dev/full", "w", encoding="utf-8") as full:
        said = subprocess.run([os.environ["BOWLINE_LAB"], "list"], stdout=full, stderr=subprocess.PIPE, check=False)
    assert said.returncode == 1 and b"standard output cannot be written" in said.stderr


# ---- the matrix ------------------------------------------------------------------------------------


class Page(html.parser.HTMLParser):
    VOID = {"meta", "br", "link", "img", "input"}

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.cells, self.tags, self.scripts = [], set(), [], [], set(), []
        self.feed(text)
        assert self.open == [], self.open

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.add(tag)
        if "id" in found:
            assert found["id"] not in self.ids
            self.ids.add(found["id"])
        if tag == "a":
            self.links.append(found["href"])
        if tag == "td":
            self.cells.append(found.get("class"))
        assert not {"src", "onclick", "onload", "onerror"} & set(found)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)

    def handle_data(self, data):
        if self.open[-1:] == ["script"]:
            self.scripts.append(data)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag


def test_matrix_is_a_table_and_a_page_of_one_file(lab):
    said = lab("matrix", "token", "token-delete-blind", "--faults", "1", "--html", "lab.html")
    assert said.returncode == 0, said.stderr
    lines = {line.split()[0]: line.split()[1:] for line in said.stdout.splitlines() if line.startswith("token")}
    columns = said.stdout.splitlines()[0].split()
    cells = {name: dict(zip(columns, row)) for name, row in lines.items()}
    assert cells["token"]["none"] == cells["token"]["loss"] == cells["token"]["crash"] == "."
    assert cells["token"]["restart"] == "1:7"
    figures = re.search(r"^(\d+) cells: (\d+) hold in every state, (\d+) break, 0 cut short", said.stdout, re.M)
    assert int(figures[1]) == 2 * len(columns) == int(figures[2]) + int(figures[3])
    assert re.search(r"^[\d,]+ states in \d+ s: [\d,]+ a second", said.stdout, re.M)
    assert cells["token-delete-blind"]["none"] == "." and cells["token-delete-blind"]["crash"].startswith("1:")

    text = (lab.root / "lab.html").read_text()
    page = Page(text)
    assert not {"link", "img", "iframe"} & page.tags
    assert not re.search(r"(?:https?:)?//[a-z]|url\(|@import", text)
    assert 'name="viewport"' in text and "prefers-color-scheme:dark" in text
    assert len(page.cells) == 1 + 2 * len(columns)
    broken = sum(cell != "." for row in cells.values() for cell in row.values())
    assert page.cells.count("bad") == broken > 0
    behind = {link[1:] for link in page.links} - {"top"}
    assert len(behind) == broken and behind <= page.ids and text.count("<svg") == broken
    steps = [len(json.loads(script)) - 1 for script in page.scripts[:-1]]
    assert steps == [int(cell.split(":")[1]) for name in cells for cell in cells[name].values() if cell != "."]


def test_a_page_of_a_lock_has_every_result_and_no_text_of_a_file_breaks_out(lab):
    said = lab("try", lab.write(EVIL_NAME + ".lock", EVIL_LOCK), "--html", "lab.html").stdout
    text = (lab.root / "lab.html").read_text()
    page = Page(text)
    found = dict(re.findall(r"^  (\w[\w ]+?) +BREAKS with no fault, in (\d+) steps", said, re.M))
    assert {link[1:] for link in page.links} - {"top"} == {name.replace(" ", "-") for name in found} <= page.ids
    schedules = [json.loads(script) for script in page.scripts[:-1]]
    assert [schedule[-1]["title"].split(",")[0] for schedule in schedules] == [f"step {n} of {n}" for n in found.values()]
    assert schedules[0][2]["says"] == 'redis: SET key </script><!--<script>" NX'
    assert text.count("<script") == 1 + len(schedules) and not re.search(r"<img|<!--|(?:https?:)?//[a-z]", text)
    assert "bowline lab try &#39;" in text


def test_cell_without_memory_is_cut_short_and_not_kept(lab):
    said = lab("matrix", "token", "--faults", "2", "--memory", "1M", "--html", "lab.html")
    assert said.returncode == 0, said.stderr
    row = next(line for line in said.stdout.splitlines() if line.startswith("token"))
    assert "?" in row.split()


def test_a_cell_that_was_not_exhausted_is_counted_and_named(lab):
    said = lab("matrix", "token", "--budget", "1000", "--html", "lab.html")
    row = next(line for line in said.stdout.splitlines() if line.startswith("token"))
    cut = row.split().count("?")
    assert cut > 0 and f" {cut} cut short, at 1,000 states" in said.stdout
    text = (lab.root / "lab.html").read_text()
    assert text.count('<td class="cut">') == cut and "in the first 1,000 states" in text
    assert "cut" in Page((lab.root / "lab.html").read_text()).cells


# ---- several servers -------------------------------------------------------------------------------


def test_several_servers_agree_with_their_table(lab):
    said = lab("servers", "rounds", "restart", "no-undo", "--draw").stdout
    assert "every state visited, no invariant broken" in said.splitlines()[0]
    assert said.count(", as expected") == 2
    assert "1: RESTARTS, empty; keys - A1 -" in said and "B HOLDS" in said


def test_commands_of_several_servers_are_drawn_with_their_replies(lab):
    done = lab("servers", "rounds", "--restart", "1")
    said = done.stdout
    assert done.returncode == 1
    assert "BROKEN in 11 steps" in said and "as expected" not in said
    assert re.search(r"B HOLDS.*\n=> broken in 11 steps: one holder", said)
    said = lab("servers", "rounds", "--loss", "1", "--budget", "1000").stdout
    assert "BUDGET REACHED" in said


# ---- wrong arguments -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words, part",
    [
        (["trry", "token"], "did you mean try?"),
        (["try", "tokn"], "did you mean token?"),
        (["try", "token-delete-blnd"], "did you mean token-delete-blind?"),
        (["try", "zzzzzz"], "type: bowline lab list"),
        (["explain", "setnx-dell"], "did you mean setnx-del?"),
        (["explain", "zzzzzz"], "type: bowline lab list"),
        (["try", "token\x1b[31m"], "no protocol is called token?[31m"),
        (["try", "token", "--los", "1", "--clint", "3"], "did you mean --clients?"),
        (["try", "token", "--loss", "many"], "--loss many is not a valid number"),
        (["try", "token", "--loss", "-1"], "--loss -1 is not a valid number"),
        (["try", "token", "--loss", "1e3"], "--loss 1e3 is not a valid number"),
        (["try", "token", "--clients", "1"], "--clients 1: no other client shares the lock"),
        (["try", "token", "--clients", "4"], "from 1 to 3"),
        (["try", "token", "--invariant", "one holdr"], "did you mean --invariant 'one holder'?"),
        (["try", "token", "--memory", "lots"], "512M or 2G"),
        (["try", "token", "--memory", "99999999999G"], "512M or 2G"),
        (["try", "token", "--tap"], "is no option of `try`"),
        (["try"], "try takes exactly one PROTOCOL"),
        (["try", "token", "token"], "try takes exactly one PROTOCOL"),
        (["list", "token"], "list takes nothing"),
        (["list", "--lang", "xx"], "type: --lang en, or --lang zh"),
        (["replay"], "replay takes exactly one FILE"),
        (["run", "clam"], "did you mean calm?"),
        (["matrix", "tokn"], "did you mean token?"),
        (["servers", "clam"], "did you mean calm?"),
        (["servers", "calm", "--eviction", "1"], "does not happen where there are several servers"),
        (["servers", "calm", "--loss", "any"], "has no end here"),
        (["try", "./none.so"], "cannot be loaded as a protocol"),
    ],
)
def test_wrong_argument_has_a_suggestion(lab, words, part):
    assert part in lab.refuses(*words)


def test_impossible_exploration_is_refused_at_the_start(lab):
    said = lab.refuses("try", "token", "--clients", "3", "--slow", "4", "--loss", "2", "--memory", "2M", code=3)
    assert "cannot be explored in 2.0 MB" in said
    assert re.search(r"may take [\d.]+ [MGT]B", said)
    assert "type: --faults 5, or --memory SIZE" in said


# ---- a terminal ------------------------------------------------------------------------------------


def on_terminal(lab, *words):
    """What goes to standard error, if that is a terminal."""
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [os.environ["BOWLINE_LAB"], *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=child,
        cwd=lab.root,
    )
    os.close(child)
    said = b""
    while True:
        try:
            piece = os.read(parent, 4096)
        except OSError:  # the other side is closed
            break
        if not piece:
            break
        said += piece
    os.close(parent)
    assert process.wait() in (0, 1)
    return said.decode()


LONG = ["try", "token", "--clients", "3", "--slow", "2", "--faults", "2"]


def test_progress_is_shown_on_a_terminal_and_wiped(lab):
    said = on_terminal(lab, *LONG)
    assert re.search(r"\r\x1b\[Ktoken: [\d,]+ states, \d+ steps deep, .* of 1.0 GB", said), said
    assert said.endswith("\r\x1b[K")


def test_no_progress_without_a_terminal_or_with_quiet(lab):
    assert on_terminal(lab, *LONG, "--quiet") == ""
    assert lab("try", *REUSED).stderr == ""


# ---- bowline lab -----------------------------------------------------------------------------------


def test_bowline_lab_is_bowline_lab(lab):
    said = subprocess.run([os.environ["BOWLINE"], "lab", "try", *REUSED], capture_output=True, text=True, check=False)
    assert said.returncode == 1 and said.stdout.endswith(REUSED_DRAWN)


def test_bowline_without_its_lab_reports_the_missing_program(lab):
    alone = lab.root / "bowline"
    shutil.copy2(os.environ["BOWLINE"], alone)
    # A program in PATH is not used: any user could have written it.
    (lab.root / "bin").mkdir()
    shutil.copy2(os.environ["BOWLINE_LAB"], lab.root / "bin" / "bowline-lab")
    env = {**lab.env, "PATH": f"{lab.root}/bin:{os.environ['PATH']}"}
    said = subprocess.run([alone, "lab", "list"], capture_output=True, text=True, check=False, env=env)
    assert said.returncode == 127 and said.stdout == ""
    assert "bowline-lab was not found" in said.stderr
    assert "install bowline-lab" in said.stderr


# ---- a protocol of the user ------------------------------------------------------------------------


def blocks(language):
    """The contents of the fenced blocks of the page that are in this language."""
    pieces = re.split(r"^```(.*)\n", (SOURCE / "docs/how-to/lab.md").read_text(), flags=re.M)
    assert len(pieces) % 4 == 1  # every one is closed
    return [pieces[i + 1] for i in range(1, len(pieces), 4) if pieces[i] == language]


def own_protocol():
    return blocks("c")[0]


def build_own(lab, code, name="mine.so"):
    lab.write("mine.c", code)
    compiler = os.environ["BOWLINE_CC"].split()
    command = [*compiler, "-std=c11", "-shared", "-fPIC", "-I", str(SOURCE / "src"), "-I", str(SOURCE), "-o"]
    subprocess.run([*command, name, "mine.c"], cwd=lab.root, check=True)
    return "./" + name


def agrees(doc, said):
    """Each line of the doc is there, in order; ... stands for some lines, numbers of states and seconds may differ."""

    def general(line):
        return re.sub(r"^[\d,]+ states in [\d.]+ s$", "N states", line)

    lines = [general(line) for line in said.rstrip("\n").splitlines()]
    skips = False
    for line in map(general, doc.rstrip("\n").splitlines()):
        if line.strip() == "...":
            skips = True
            continue
        while skips and lines and lines[0] != line:
            lines.pop(0)
        if not lines or lines.pop(0) != line:
            return f"not said: {line}"
        skips = False
    return f"said as well: {lines[0]}" if lines else ""


def test_walk_through_of_the_docs_gives_its_results(lab):
    """Its file is compiled with the commands of the page, in a copy of the needed files, and prints the output of the page."""
    lab.write("mine.c", own_protocol())
    for room in ("src", "lab"):
        os.symlink(SOURCE / room, lab.root / room)
    env = {**lab.env, "PATH": f"{pathlib.Path(os.environ['BOWLINE']).parent}:{os.environ['PATH']}"}
    outputs = [block for block in blocks("") if "states in" in block]
    assert len(blocks("sh")) == len(outputs) == 2
    for commands, expected in zip(blocks("sh"), outputs):
        said = subprocess.run(["sh", "-c", commands], cwd=lab.root, env=env, capture_output=True, text=True, check=False)
        assert said.stderr == ""
        assert agrees(expected, said.stdout) == "", said.stdout


def test_a_protocol_of_another_version_is_not_run(lab):
    made = build_own(lab, own_protocol().replace("= BWL_OWN_LAYOUT", "= BWL_OWN_LAYOUT + 1"))
    assert "compiled with the headers of another version" in lab.refuses("try", made)
    made = build_own(lab, own_protocol().replace("bowline_lab_own =", "another_name ="), "other.so")
    assert "cannot be loaded as a protocol" in lab.refuses("try", made)
    made = build_own(lab, own_protocol().replace(".event         = event,", "(void (*)(void *, const bwl_lock_request *, const bwl_event *, bwl_effects *))0,"), "without.so")
    assert "has no name, init, command or event" in lab.refuses("try", made)


def test_a_schedule_does_not_load_code_that_it_names(lab):
    """Its file leaves a mark when it is loaded."""
    mark = lab.root / "loaded"
    code = own_protocol() + f'#include <stdio.h>\n__attribute__((constructor)) static void mark(void)\n'
    code += f'{{ FILE *f = fopen("{mark}", "w"); if (f) fclose(f); }}\n'
    made = build_own(lab, code)
    schedule = lab.write("it.json", lab.schedule(made, "--invariant", "own key only"))
    mark.unlink()
    for words in ([], ["--protocol", "./other.so"]):
        assert "is not loaded unless --protocol says so" in lab.refuses("replay", schedule, *words)
        assert not mark.exists()
    if shutil.which("redis-server"):
        said = lab("replay", schedule, "--protocol", made)
        assert said.returncode == 0 and "=> broken on a real server: own key only" in said.stdout
