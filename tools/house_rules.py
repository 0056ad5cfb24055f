"""The house rules that a program can check. Each takes the root of a tree and returns its complaints.

STYLE.md and ARCHITECTURE.md say why the rules are what they are. test_house.py applies them to this tree, and
shows that each detects its violation.
"""

import pathlib
import re
import subprocess

FILE_LINES_MAX = 700
FUNCTION_LINES_MAX = 70
COLUMNS_MAX = 100

# Which module may include which. A module may always include itself; a folder inside a module's folder that has a
# line of its own here is a module of its own.
PURE = ["src/protocol/articles", "src/protocol", "src/protocol/store", "src/protocol/format", "src/core"]
BELOW_ENGINES = ["src/net", "src/net/tls", "src/base", "src/lock", *PURE]
REDIS = ["src/engine/redis", "src/engine/redis/topology", "src/engine/redis/session", "src/engine/redis/wire"]
ENGINES = ["src/engine/file", "src/engine/thread", *REDIS]
MACHINE = ["src/lock", *PURE]
LAB = [f"lab/{folder}" for folder in ("base", "draw", "model", "world", "mutant", "search", "scenario", "report", "replay")]
CLI = [f"cli/{folder}" for folder in ("text", "settings", "fence", "run", "hold", "command")]
BENCH = [f"bench/{folder}" for folder in ("base", "world", "harness", "sides", "duel", "measure")]
LIBRARY = ["src/runtime", "src/engine", *ENGINES, *BELOW_ENGINES]
MODULE_MAY_INCLUDE = {
    "src/core": [],
    "src/protocol/format": ["src/core"],
    "src/protocol/store": ["src/protocol/format", "src/core"],
    "src/protocol": ["src/protocol/store", "src/protocol/format", "src/core"],
    "src/protocol/articles": ["src/protocol", "src/protocol/store", "src/protocol/format", "src/core"],
    "src/lock": ["src/protocol", "src/protocol/store", "src/protocol/format", "src/core"],
    "src/base": ["src/core"],
    "src/net": ["src/net/tls", "src/base", "src/core"],
    "src/net/tls": ["src/base", "src/core"],
    "src/engine": BELOW_ENGINES,
    "src/engine/file": ["src/engine", *BELOW_ENGINES],
    "src/engine/thread": ["src/engine", *BELOW_ENGINES],
    "src/engine/redis/wire": ["src/lock", *PURE],
    "src/engine/redis/session": ["src/engine/redis/wire", "src/engine", *BELOW_ENGINES],
    "src/engine/redis/topology": ["src/engine/redis/session", "src/engine/redis/wire", "src/engine", *BELOW_ENGINES],
    "src/engine/redis": [*REDIS, "src/engine", *BELOW_ENGINES],
    "src/runtime": ["src/engine", *BELOW_ENGINES],
    # The api module is the other side of the public headers: it must see what it implements.
    "src/api": ["include", *LIBRARY],
    "include": [],
    # The lab, from the bottom up. Only the commands may include all of it. Of the Redis engine, it takes what is pure:
    # the commands, and the rows of the profiles.
    "lab/base": ["src/core"],
    "lab/model": ["lab/base", *PURE],
    "lab/world": ["lab/model", "lab/base", *MACHINE],
    "lab/mutant": ["lab/world", "lab/model", "lab/base", *MACHINE],
    "lab/search": ["lab/world", "lab/base", *MACHINE],
    "lab/scenario": ["lab/mutant", "lab/world", "lab/model", "lab/base", *MACHINE],
    "lab/draw": ["lab/base"],
    "lab/report": ["lab/draw", "lab/search", "lab/scenario", "lab/world", "lab/model", "lab/base", *MACHINE],
    "lab/replay": ["lab/report", "lab/draw", "lab/world", "lab/model", "lab/base", "src/engine/redis/wire", *MACHINE],
    "lab": [*LAB, "src/engine/redis/wire", "src/engine/redis", *MACHINE],
    # It reads URLs and speaks TLS and RESP with the library's own code; its headers include nothing of that.
    "doctor": ["src/api", *LIBRARY],
    # The command, from the bottom up. Of this project it includes the public headers and the doctor's, nothing else.
    "cli/text": ["include"],
    "cli/settings": ["cli/text", "include", "doctor"],
    "cli/fence": ["cli/text", "doctor"],
    "cli/run": ["cli/settings", "cli/text", "include", "doctor"],
    "cli/hold": ["cli/run", "cli/settings", "cli/text", "include", "doctor"],
    "cli/command": [*CLI, "include", "doctor"],
    "cli": [*CLI, "include", "doctor"],
    # The benchmark, from the bottom up. Only main.c and options.c include all of it.
    "bench/base": ["src/core", "src/base"],
    "bench/world": ["bench/base", "src/core"],
    "bench/harness": ["bench/world", "bench/base", "src/core"],
    "bench/sides": ["bench/base", "include", "src/engine/redis/wire"],
    "bench/duel": ["bench/harness", "bench/world", "bench/base", "src/engine/redis/wire"],
    "bench/measure": [*BENCH, "include", "src/engine/redis/wire"],
    "bench/report": [*BENCH, "include", "src/core"],
    "bench/peers": ["include"],
    "bench": [*BENCH, "bench/report", "include", "src/core"],
    # The simulator. The server in it shares no code with the library: a common fault would not be seen.
    "sim/redis/data": ["sim/redis"],
    "sim/redis/core": ["sim/redis/data", "sim/redis"],
    "sim/redis/script": ["sim/redis/core", "sim/redis/data", "sim/redis"],
    "sim/redis/command": ["sim/redis/script", "sim/redis/core", "sim/redis/data", "sim/redis"],
    "sim/redis": ["sim/redis/script", "sim/redis/core", "sim/redis/data"],
    "sim/kernel": ["lab/base"],
    "sim/world": ["sim/kernel", "sim/redis", "lab/base"],
    "sim/load": ["sim/kernel", "include", "lab/base"],
    "sim/search": ["sim/load", "sim/world", "sim/redis", "sim/kernel", "include", "lab/draw", "lab/base"],
    "sim": ["sim/search", "sim/load", "sim/kernel", "lab/base"],
    "bindings": ["include"],
    "examples": ["include"],
}

# The status and the error of a call: one type for every layer.
FOR_EVERY_MODULE = {"include/bowline/error.h"}

# Arrows that the table above forbids and that are still there. This list may only become shorter: an arrow that is
# gone from the sources must go from here too.
OWED = set()

# Protocols know nothing of each other. The files that hold the table of all of them belong to none.
SIBLINGS_APART = {
    "src/protocol": {"protocol", "protocols"},
}

# The external symbols that the pure archive may use: those of the compiler itself, and of asserts.
PURE_MAY_CALL = {
    "memcpy", "memmove", "memset", "memcmp", "strlen", "__assert_fail", "__stack_chk_fail",
    "bcmp",  # clang's word for a memcmp of which only zero or not is asked
    "_GLOBAL_OFFSET_TABLE_",  # a linker's table, not a call
}

# Folders whose code gets bytes and time from its caller: it opens no socket, reads no clock, and starts no thread.
SANS_IO = ("src_engine_redis_session_", "src_engine_redis_topology_", "src_engine_redis_wire_")
# Of libc they may call what works on memory and text. errno is what a stream of src/net has left there.
SANS_IO_MAY_CALL = re.compile(
    r"(__|_)?(mem|str|bcmp|explicit_bzero|v?snprintf|isoc|ctype|errno_location|assert|stack_chk|to(upper|lower)|qsort|bsearch)\w*"
    r"|__u?(div|mod|divmod|mul|ashl|ashr|lshr)[sdt]i\d"  # arithmetic that the processor has no instruction for
    r"|malloc|calloc|realloc|free|_GLOBAL_OFFSET_TABLE_|bwl_\w+|crc32\w*"
)

# Words about the place of writing that no file may have. In pieces, or this file would break its own rule.
FORBIDDEN_WORDS = re.compile(
    "|".join(
        [
            "/wor" + "k/",
            "/far" + "m/",
            r"\.lib" + "rary",
            "sub" + "agent",
            "[Cc]lau" + "de",
            "language" + " model",
            "assis" + "tant",
        ]
    )
)

UNFINISHED = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|X" + r"XX)\b")

CODE_SUFFIXES = {".c", ".h", ".cpp", ".hpp", ".py", ".sh", ".lua", ".map"}
SKIPPED_DIRECTORIES = re.compile(r"^(\.git|\.deps|\.pytest_cache|__pycache__|build.*)$")


# Files.


def tracked_files(root):
    """Every file of the project: what git knows or would add; without git, all but build directories."""
    root = pathlib.Path(root)
    if (root / ".git").exists():
        git = ["git", "-c", f"safe.directory={root}", "-C", str(root)]
        listing = subprocess.run(
            git + ["ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            capture_output=True,
            check=False,
        )
        if listing.returncode == 0:
            names = listing.stdout.decode().split("\0")
            return sorted(root / name for name in names if name and (root / name).is_file())
    found = []
    for path in root.rglob("*"):
        parts = path.relative_to(root).parts
        if path.is_file() and not any(SKIPPED_DIRECTORIES.match(part) for part in parts):
            found.append(path)
    return sorted(found)


def text_of(path):
    """The text of a file, or None if it is not text (an input of a fuzz corpus, say)."""
    data = path.read_bytes()
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def c_files(root, suffixes=(".c", ".h")):
    return [path for path in tracked_files(root) if path.suffix in suffixes]


def name_of(path, root):
    return path.relative_to(root).as_posix()


# A lexer for as much of C as the rules need.


def lex(text):
    """Blank out comments, strings and preprocessor lines, keeping every newline.

    Returns the blanked text and a list of (line, kind, text), kind being "block" or "line", of the comments.
    """
    out = []
    comments = []
    line = 1
    at = 0
    fresh = True  # nothing but white space so far on this line

    def blank(piece):
        return re.sub(r"[^\n]", " ", piece)

    token = re.compile(
        r"/\*.*?\*/"  # a block comment
        r"|//(?:\\\n|[^\n])*"  # a line comment, which a backslash can continue
        r"|\"(?:\\.|[^\"\\\n])*\""  # a string
        r"|'(?:\\.|[^'\\\n])*'",  # a character
        re.DOTALL,
    )
    plain = re.compile(r"[^/\"'#\n]+")  # what begins none of these, nor a line
    while at < len(text):
        match = plain.match(text, at)
        if match:
            out.append(match.group())
            at = match.end()
            fresh = fresh and match.group().isspace()
            continue
        char = text[at]
        if fresh and char == "#":
            # To the end of the line, and on where a backslash or a block comment goes on.
            end = at
            while end < len(text) and text[end] != "\n":
                match = token.match(text, end)
                if match:
                    piece = match.group()
                    if piece.startswith("/"):
                        kind = "block" if piece.startswith("/*") else "line"
                        comments.append((line + text.count("\n", at, end), kind, piece))
                    end = match.end()
                elif text[end] == "\\":
                    end += 2
                else:
                    end += 1
            piece = text[at:end]
            out.append(blank(piece))
            line += piece.count("\n")
            at = end
            continue
        match = token.match(text, at)
        if match:
            piece = match.group()
            if piece.startswith("/*"):
                comments.append((line, "block", piece))
            elif piece.startswith("//"):
                comments.append((line, "line", piece))
            out.append(blank(piece))
            line += piece.count("\n")
            at = match.end()
            if not piece.startswith("/*"):
                fresh = False
            continue
        if char == "\n":
            line += 1
            fresh = True
        elif not char.isspace():
            fresh = False
        out.append(char)
        at += 1
    return "".join(out), comments


def bodies(code):
    """Every function body of a C file that lex has blanked: (head, where its brace opens, where it closes)."""
    found = []
    depth = 0
    head = None  # of the function that the scan is in
    start = 0
    since = 0  # where the present outermost declaration began
    for match in re.finditer(r"[{};]", code):
        char = match.group()
        if char == ";" and depth == 0:
            since = match.end()
        elif char == "{":
            if depth == 0:
                words = code[since : match.start()].strip()
                if words == "extern":
                    # extern "C" { : what is inside is the outermost level still. The string is blanked by now.
                    since = match.end()
                    continue
                head = words if words.endswith(")") and "=" not in words else None
                start = match.start()
            depth += 1
        elif char == "}":
            if depth == 0:
                since = match.end()
                continue
            depth -= 1
            if depth == 0:
                since = match.end()
                if head is not None:
                    found.append((head, start, match.start()))
                    head = None
    return found


def without_attributes(head):
    """The head of a function without its __attribute__((...)), which may have parentheses three deep."""
    return re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", "", head)


def name_of_function(head):
    match = re.search(r"(\w+)\s*\(", without_attributes(head))
    return match.group(1) if match else "?"


def functions(text):
    """Every function of a C file as (name, first line, last line, brace is at the start of its own line)."""
    code, _ = lex(text)
    found = []
    for head, start, end in bodies(code):
        first = code.count("\n", 0, start) + 1
        last = code.count("\n", 0, end) + 1
        found.append((name_of_function(head), first, last, code.rfind("\n", 0, start) == start - 1))
    return found


# The rules.


def module_of(name):
    """The module of a file, by its path below the root: the innermost that there is; None outside of all."""
    inside = [module for module in MODULE_MAY_INCLUDE if name.startswith(module + "/")]
    return max(inside, key=len, default=None)


def includes(text):
    """(line, quoted or angled, name) of every #include."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r"\s*#\s*include\s*([<\"])([^>\"]+)[>\"]", line)
        if match:
            found.append((number, match.group(1), match.group(2)))
    return found


def resolve(root, path, quote, target):
    """The path below the root that an #include means, or None for a system header."""
    places = [root / "src", root / "include", root]
    if quote == '"':
        places.insert(0, path.parent)
    for place in places:
        candidate = pathlib.Path(re.sub(r"[^/]+/\.\./", "", (place / target).as_posix()))
        if candidate.is_file():
            return candidate.resolve().relative_to(root.resolve()).as_posix()
    # Made by the build, so perhaps not there yet: known by its name alone.
    if quote == "<" and target.startswith("bowline/"):
        return f"include/{target}"
    return f"src/{target}" if module_of(f"src/{target}") else None


def owner_among_siblings(root, module, stem):
    """Which of a module's siblings a file belongs to; None for what they share."""
    # Every .c file is a sibling of its own, and so is the header named after it.
    if stem in SIBLINGS_APART[module] or not (root / module / f"{stem}.c").is_file():
        return None
    return stem


def check_includes(root, owed=frozenset()):
    """An #include points down, never up and never sideways, but for the arrows that are owed; those are there."""
    root = pathlib.Path(root)
    complaints = []
    seen = set()
    for path in c_files(root, (".c", ".h", ".hpp", ".cpp")):
        name = name_of(path, root)
        module = module_of(name)
        if module is None:
            continue
        for number, quote, target in includes(path.read_text(encoding="utf-8")):
            found = resolve(root, path, quote, target)
            if found is None:
                if quote == '"':
                    complaints.append(f"{name}:{number}: \"{target}\" is not a file of ours")
                continue
            if found in FOR_EVERY_MODULE:
                continue
            theirs = module_of(found)
            seen.add((module, theirs))
            if theirs is None:
                complaints.append(f"{name}:{number}: {module} may not include {found}")
            elif theirs != module and theirs not in MODULE_MAY_INCLUDE[module] and (module, theirs) not in owed:
                complaints.append(f"{name}:{number}: {module} may not include {found} of {theirs}")
            elif theirs == module and module in SIBLINGS_APART:
                ours = owner_among_siblings(root, module, path.stem)
                other = owner_among_siblings(root, module, pathlib.Path(found).stem)
                if ours and other and ours != other:
                    complaints.append(f"{name}:{number}: {ours} may not include its sibling {other}")
    return complaints + [f"owed, and not there any more: {a} -> {b}" for a, b in sorted(owed - seen)]


def check_pure(nm_output):
    """What the pure archive needs from outside is on a short list. Takes the output of nm -A or of plain nm."""
    defined, undefined = set(), set()
    for line in nm_output.splitlines():
        words = line.split()
        if len(words) >= 2 and len(words[-2]) == 1:
            kind, symbol = words[-2], words[-1]
            if kind in "Uwv":
                undefined.add(symbol)
            else:
                defined.add(symbol)
    return [
        f"the pure archive calls {symbol}"
        for symbol in sorted(undefined - defined)
        if symbol not in PURE_MAY_CALL and not re.fullmatch(r"__\w+_chk", symbol)
    ]


def check_sans_io(nm_output):
    """The objects of the folders without input and output call only memory and text functions. Takes the output of nm -A."""
    complaints = set()
    seen = set()
    for line in nm_output.splitlines():
        words = line.split()
        folder = next((folder for folder in SANS_IO if folder in line), None)
        seen.add(folder)
        if folder and len(words) >= 2 and words[-2] in ("U", "w", "v") and not SANS_IO_MAY_CALL.fullmatch(words[-1]):
            complaints.add(f"{folder.rstrip('_').replace('_', '/')} calls {words[-1]}")
    return sorted(complaints) + [f"no object of {folder}" for folder in SANS_IO if folder not in seen]


def check_exports(nm_output, expected):
    """The exported names are exactly those of the list."""
    actual = set()
    for line in nm_output.splitlines():
        words = line.split()
        if len(words) == 3 and words[1] != "A":
            actual.add(words[2].split("@")[0])
    wanted = set(symbol_list(expected))
    return [f"exported, but not listed: {name}" for name in sorted(actual - wanted)] + [
        f"listed, but not exported: {name}" for name in sorted(wanted - actual)
    ]


def symbol_list(text):
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    return [line for line in lines if line]


def check_sizes(root):
    """No C file over 700 lines, no function over 70, no line over 100 columns, no tabs."""
    root = pathlib.Path(root)
    complaints = []
    for path in c_files(root):
        name = name_of(path, root)
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        if len(lines) > FILE_LINES_MAX:
            complaints.append(f"{name}: {len(lines)} lines, {FILE_LINES_MAX} at most")
        for number, line in enumerate(lines, 1):
            if len(line) > COLUMNS_MAX:
                complaints.append(f"{name}:{number}: {len(line)} columns, {COLUMNS_MAX} at most")
            if "\t" in line:
                complaints.append(f"{name}:{number}: a tab")
            if line != line.rstrip():
                complaints.append(f"{name}:{number}: white space at the end")
        for function, first, last, own_line in functions(text):
            length = last - first + 1
            if length > FUNCTION_LINES_MAX:
                complaints.append(
                    f"{name}:{first}: {function} has {length} lines, {FUNCTION_LINES_MAX} at most"
                )
            if not own_line:
                complaints.append(f"{name}:{first}: the brace of {function} is not at the start of a line")
    return complaints


def check_comments(root):
    """Comments are block comments; nothing is left to be done."""
    root = pathlib.Path(root)
    complaints = []
    for path in c_files(root):
        name = name_of(path, root)
        _, comments = lex(path.read_text(encoding="utf-8"))
        for number, kind, _ in comments:
            if kind == "line":
                complaints.append(f"{name}:{number}: a // comment")
    for path in tracked_files(root):
        text = text_of(path) if path.suffix in CODE_SUFFIXES or path.name == "meson.build" else None
        for number, line in enumerate((text or "").splitlines(), 1):
            match = UNFINISHED.search(line)
            if match:
                complaints.append(f"{name_of(path, root)}:{number}: {match.group()}")
    return complaints


def check_asserts(root):
    """An assertion that a pointer is not NULL, or a number not NO_..., comes before it is used: else it can never fail."""
    complaints = []
    for path in c_files(pathlib.Path(root), (".c",)):
        text = path.read_text(encoding="utf-8")
        code = lex(text)[0].split("\n")
        for function, first, last, _ in functions(text):
            body = "\n".join(code[first - 1 : last])
            for match in re.finditer(r"\bassert\(([^;]*)\);", body):
                for pointer in re.findall(r"(\w+) != (?:NULL|NO_\w+)", match.group(1)):
                    before = body[: match.start()]
                    set_at = [m.end() for m in re.finditer(rf"\b{pointer}\s*=(?!=)[^;]*", before)]
                    if re.search(rf"(?<![\w>.]){pointer}->|\[{pointer}\]", before[set_at[-1] if set_at else 0 :]):
                        number = first + before.count("\n")
                        complaints.append(
                            f"{name_of(path, root)}:{number}: {function} uses {pointer} before this assertion"
                        )
    return complaints


def check_first_lines(root):
    """Every file says at its start what it is; a C file may leave that to its own header, which it then includes first."""
    root = pathlib.Path(root)
    complaints = []
    for path in tracked_files(root):
        name = name_of(path, root)
        text = text_of(path)
        if text is None or "corpus" in path.parts:
            continue
        if path.suffix in (".c", ".h", ".hpp", ".cpp", ".map"):
            own = path.with_suffix(".h")
            good = text.startswith("/*") or (
                path.suffix == ".c" and own.is_file() and re.match(rf'#include "([\w/]+/)?{own.name}"\n', text) is not None
            )
        elif path.suffix == ".lua":
            good = text.startswith(("--", "#!"))
        elif path.suffix == ".py":
            good = text.startswith(("#", '"""')) or not text
        elif path.suffix == ".sh" or text.startswith("#!"):
            # After the interpreter, a comment that says what it does.
            good = re.match(r'#![^\n]+\n(#|""")', text) is not None
        elif path.name in ("meson.build", "meson_options.txt", "Makefile"):
            good = text.startswith("#")
        else:
            continue
        if not good:
            complaints.append(f"{name}: does not begin with a comment")
    return complaints


def check_words(root):
    """No file speaks of the place where it was written."""
    root = pathlib.Path(root)
    complaints = []
    for path in tracked_files(root):
        name = name_of(path, root)
        text = text_of(path)
        if FORBIDDEN_WORDS.search(name):
            complaints.append(f"{name}: its name")
        for number, line in enumerate((text or "").splitlines(), 1):
            match = FORBIDDEN_WORDS.search(line)
            if match:
                complaints.append(f"{name}:{number}: {match.group()}")
    return complaints


# What a module does not know: its files have none of these words.  (redis.io is cited.)
UNKNOWN_WORDS = {
    "src/core": (r"[Rr]edis(?!\.io)|cluster|sentinel|inotify|flock", "core has no word of an engine"),
    "src/net": (r"\bRESP\b|bwl_resp|redis", "net carries bytes of any protocol"),
    "src/runtime": (r"redis|cluster|sentinel|bwl_file_|bwl_thread_engine", "the runtime names no engine"),
    "src/engine/redis/session": (
        r"->topology|BWL_TOPOLOGY|bwl_(cluster|sentinel|quorum|router|slots)_",
        "a session knows one server",
    ),
}


def check_unknown_words(root):
    complaints = []
    for path in c_files(pathlib.Path(root), (".c", ".h")):
        name = name_of(path, root)
        pattern, why = UNKNOWN_WORDS.get(module_of(name), (None, ""))
        if name.startswith("src/engine/redis/session/config."):  # the options of the URL, for all layers
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = pattern and re.search(pattern, line)
            if match:
                complaints.append(f"{name}:{number}: {match.group()}: {why}")
    return complaints


def check_unit_is_pure(root):
    """No unit test has a server: a package is built, and its unit tests run, where there is none."""
    complaints = []
    for path in c_files(pathlib.Path(root), (".c",)):
        name = name_of(path, root)
        if name.startswith("tests/unit/"):
            for line in re.findall(r'^#include "((?:tests/lib|bench/world)/(?:server|frozen)\.h)"', path.read_text(), re.M):
                complaints.append(f"{name}: {line} starts a server: the test belongs into tests/live or tests/bench")
    return complaints


def check_listed(root):
    """Every source and every test is in its meson.build: what is not listed is not built, and nobody notices."""
    root = pathlib.Path(root)
    complaints = []
    for path in tracked_files(root):
        name = name_of(path, root)
        parts = name.split("/")
        if path.suffix == ".c" and (parts[0] in ("cli", "doctor", "lab", "bench", "sim") or parts[0] == "src"):
            if not mentions(path.parent / "meson.build", path.name) and not mentions(
                path.parent / "wire/meson.build", "../" + path.name
            ):
                complaints.append(f"{name}: not in {name_of(path.parent, root)}/meson.build")
        elif path.suffix == ".lua" and name.startswith("src/engine/redis/wire/scripts/"):
            if not mentions(root / "src/engine/redis/wire/meson.build", "scripts/" + path.name):
                complaints.append(f"{name}: not in src/engine/redis/wire/meson.build")
        elif parts[0] == "tests" and re.fullmatch(r"(test|fuzz)_\w+\.(c|py)", path.name):
            if not mentions(root / "tests/meson.build", path.stem.split("_", 1)[1]):
                complaints.append(f"{name}: not in tests/meson.build")
        elif path.suffix == ".scd":
            if not mentions(path.parent / "meson.build", path.stem):
                complaints.append(f"{name}: not in {name_of(path.parent, root)}/meson.build")
    # And the other way round: a listed unit test or fuzz target that is not there.
    build = root / "tests" / "meson.build"
    for variable, form in (("unit_tests", "unit/test_{}.c"), ("fuzz_targets", "fuzz/fuzz_{}.c")):
        match = re.search(rf"^{variable} = \[(.*?)\]", build.read_text() if build.exists() else "", re.M | re.S)
        for entry in re.findall(r"'([^']+)'", match.group(1) if match else ""):
            if not (root / "tests" / form.format(entry)).is_file():
                complaints.append(f"tests/meson.build: {entry} is listed, tests/{form.format(entry)} is not there")
    return complaints


def mentions(build_file, entry):
    return build_file.exists() and f"'{entry}'" in build_file.read_text()


def public_functions(header_text):
    """The functions that a public header declares, by BOWLINE_API."""
    code, _ = lex(header_text)
    return set(re.findall(r"\bBOWLINE_API\b[^;{]*?\b(bowline_\w+)\s*\(", code))
