"""The house rules, applied to this tree; and a violation of each rule, which must be detected.

The rules are in tools/house_rules.py. What a rule must catch is written to a temporary directory here, so that a check
that detects nothing fails too.
"""

import importlib.util
import os
import pathlib
import shlex
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = pathlib.Path(os.environ.get("BOWLINE_SOURCE", HERE.parent.parent))

SPEC = importlib.util.spec_from_file_location("bowline_house_rules", ROOT / "tools/house_rules.py")
rules = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(rules)

COMPILER = shlex.split(os.environ.get("BOWLINE_CC", "cc"))
# Instrumented programs call the sanitizer: the symbols of the archive itself are then not visible.
INSTRUMENTED = os.environ.get("BOWLINE_SANITIZE", "none") != "none" or os.environ.get("BOWLINE_COVERAGE") == "true"
plain_build = pytest.mark.skipif(INSTRUMENTED, reason="instrumented build")


def no_complaints(complaints):
    if complaints:
        pytest.fail("\n".join(complaints), pytrace=False)


def built(variable):
    path = os.environ.get(variable)
    if not path:
        pytest.skip(f"{variable} is not set: run through meson test")
    if not pathlib.Path(path).exists():
        pytest.fail(f"{variable}={path} is not there")
    return path


def nm(*words):
    return subprocess.run(["nm", *words], capture_output=True, text=True, check=True).stdout


def put(root, name, text):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


# This tree.


@pytest.mark.parametrize(
    "check",
    [
        rules.check_includes, rules.check_sizes, rules.check_comments, rules.check_asserts, rules.check_first_lines,
        rules.check_words, rules.check_unknown_words, rules.check_unit_is_pure, rules.check_listed,
    ],
    ids=lambda check: check.__name__,
)  # fmt: skip
def test_this_tree_follows_the_rule(check):
    no_complaints(check(ROOT, rules.OWED) if check == rules.check_includes else check(ROOT))


@plain_build
def test_pure_archive_calls_nothing():
    no_complaints(rules.check_pure(nm("-A", built("BOWLINE_PURE"))))


@plain_build
def test_session_and_topology_do_no_input_or_output():
    no_complaints(rules.check_sans_io(nm("-A", built("BOWLINE_REAL"), built("BOWLINE_REDIS"))))


@plain_build
def test_library_exports_exactly_the_list():
    listed = (ROOT / "tests/abi/symbols.txt").read_text()
    no_complaints(rules.check_exports(nm("-D", "--defined-only", built("BOWLINE_SO")), listed))


def test_public_headers_declare_exactly_the_list():
    declared = set()
    for header in (ROOT / "include/bowline").glob("*.h"):
        declared |= rules.public_functions(header.read_text())
    listed = set(rules.symbol_list((ROOT / "tests/abi/symbols.txt").read_text()))
    no_complaints(
        [f"declared, but not listed: {name}" for name in sorted(declared - listed)]
        + [f"listed, but not declared: {name}" for name in sorted(listed - declared)]
    )


def headers():
    return sorted(path.name for path in (ROOT / "include/bowline").glob("*.h*"))


@pytest.mark.parametrize("language,standard", [("c", "c11"), ("c", "c17"), ("c++", "c++17")])
@pytest.mark.parametrize("header", headers())
def test_public_header_compiles_alone(header, language, standard, tmp_path):
    if language == "c" and header.endswith(".hpp"):
        pytest.skip("C++ only")
    if language == "c++":
        # The C driver hands C++ to the C++ compiler proper, where that is installed.
        probe = subprocess.run([*COMPILER, "-x", "c++", "-fsyntax-only", "-"], input=b"", capture_output=True)
        if probe.returncode != 0:
            pytest.skip("no C++ compiler")
    done = compile_alone(language, standard, f"#include <bowline/{header}>\n")
    assert done.returncode == 0, done.stderr


def compile_alone(language, standard, text):
    flags = ["-x", language, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    return subprocess.run(
        [*COMPILER, *flags, "-I", str(ROOT / "include"), "-fsyntax-only", "-"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )


# The rules themselves: each must detect its violation.


# A file of each module, and headers that it may not include.
UP = {
    "src/core/a.c": ["protocol/store/b.h", "bowline/b.h", "../lock/b.h", "../../tests/unit/b.h"],
    "src/protocol/store/a.c": ["protocol/b.h"],
    "src/protocol/a.c": ["lock/b.h", "protocol/articles/b.h"],
    "src/lock/a.c": ["base/b.h"],
    "src/net/a.c": ["engine/redis/wire/b.h", "runtime/b.h"],
    "src/engine/redis/wire/a.c": ["engine/redis/session/b.h"],
    "src/engine/redis/session/a.c": ["engine/redis/topology/b.h"],
    "src/engine/file/a.c": ["engine/redis/session/b.h"],
    "src/engine/thread/a.c": ["engine/file/b.h"],
    "src/engine/redis/a.c": ["engine/file/b.h", "api/b.h", "lab/b.h"],
    "src/runtime/a.c": ["engine/redis/b.h", "api/b.h"],
    "src/api/a.c": ["cli/b.h"],
    "include/bowline/a.h": ["core/b.h"],
    "lab/a.c": ["engine/redis/session/b.h", "api/b.h"],
    "lab/base/a.c": ["lab/model/b.h"],
    "lab/model/a.c": ["lab/world/b.h"],
    "lab/world/a.c": ["lab/search/b.h", "lab/scenario/b.h", "engine/redis/wire/b.h"],
    "lab/mutant/a.c": ["lab/scenario/b.h"],
    "lab/search/a.c": ["lab/report/b.h"],
    "lab/scenario/a.c": ["lab/search/b.h"],
    "lab/report/a.c": ["lab/b.h"],
    "cli/a.c": ["core/b.h", "api/b.h"],
    "cli/text/a.c": ["cli/settings/b.h"],
    "cli/settings/a.c": ["cli/run/b.h"],
    "cli/fence/a.c": ["cli/run/b.h"],
    "cli/run/a.c": ["cli/command/b.h"],
    "bench/base/a.c": ["bench/world/b.h"],
    "bench/harness/a.c": ["bench/measure/b.h"],
    "bench/measure/a.c": ["bench/report/b.h", "engine/redis/session/b.h"],
    "examples/a.c": ["lock/b.h"],
    "src/core/deep/a.c": ["../../lock/b.h"],
}


@pytest.mark.parametrize("path,include", [(path, include) for path, includes in UP.items() for include in includes])
def test_an_include_that_points_up_is_noticed(tmp_path, path, include):
    for module in rules.MODULE_MAY_INCLUDE:
        if module.startswith(("src/", "lab/", "cli/", "bench/")):
            put(tmp_path, f"{module}/b.h", "/* b.h */\n")
    for name in ("include/bowline/b.h", "lab/b.h", "cli/b.h", "tests/unit/b.h"):
        put(tmp_path, name, "/* b.h */\n")
    put(tmp_path, path, f'/* a */\n#include "{include}"\n')
    assert len(rules.check_includes(tmp_path)) == 1


def test_known_exception_is_allowed_while_it_exists(tmp_path):
    put(tmp_path, "src/runtime/b.h", "/* b.h */\n")
    put(tmp_path, "src/net/a.c", '/* a */\n#include "runtime/b.h"\n')
    assert rules.check_includes(tmp_path, {("src/net", "src/runtime")}) == []
    put(tmp_path, "src/net/a.c", "/* a */\n")
    assert rules.check_includes(tmp_path, {("src/net", "src/runtime")}) == [
        "owed, and not there any more: src/net -> src/runtime"
    ]


# Tables that have an entry for each protocol of BWL_PROTOCOL_MAP.
TABLES = ["doctor/caps.c", "doctor/rights.c", "src/protocol/protocols.c"]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("more", ["", "    X(SURPRISE, surprise) \\\n"], ids=["all", "one more"])
def test_a_table_without_an_entry_for_a_protocol_does_not_compile(tmp_path, table, more):
    header = (ROOT / "src/protocol/protocol.h").read_text(encoding="utf-8")
    first = header.index("    X(QUEUE, queue)")
    text = header[:first] + more + header[first:]
    if more:
        text = text.replace("typedef enum bwl_protocol_id", "extern const bwl_protocol bwl_surprise;\ntypedef enum bwl_protocol_id")
    put(tmp_path, "protocol/protocol.h", text)
    includes = [f"-I{tmp_path}", *(f"-I{ROOT / folder}" for folder in ("src", "include", "."))]
    command = [*COMPILER, "-std=c11", "-D_GNU_SOURCE", *includes, "-fsyntax-only", str(ROOT / table)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == (more == ""), done.stderr
    assert "SURPRISE" in done.stderr or "surprise" in done.stderr or more == ""


def test_includes_that_point_down_are_fine(tmp_path):
    put(tmp_path, "src/core/core.h", "/* core.h */\n#include <stdint.h>\n")
    put(tmp_path, "include/bowline/bowline.h", "/* bowline.h */\n")
    put(tmp_path, "include/bowline/async.h", "/* async.h */\n#include <bowline/bowline.h>\n")
    wire = "engine/redis/wire"
    put(tmp_path, f"src/{wire}/resp.h", "/* resp.h */\n")
    put(tmp_path, f"src/{wire}/words.c", f'/* w */\n#include "{wire}/resp.h"\n#include "{wire}/scripts.h"\n')
    put(tmp_path, "src/engine/redis/session/a.c", f'/* a */\n#include "{wire}/resp.h"\n')
    put(tmp_path, "src/api/open.c", '/* o */\n#include <bowline/bowline.h>\n#include "core/core.h"\n')
    put(tmp_path, "lab/run.c", '/* r */\n#include "engine/redis/wire/resp.h"\n#include "core/core.h"\n')
    put(tmp_path, "lab/world/world.h", '/* world.h */\n#include "core/core.h"\n')
    put(tmp_path, "lab/search/a.c", '/* a */\n#include "lab/world/world.h"\n')
    put(tmp_path, "cli/run.c", '/* r */\n#include "cli.h"\n#include <bowline/async.h>\n')
    put(tmp_path, "cli/cli.h", "/* cli.h */\n")
    assert rules.check_includes(tmp_path) == []


def test_a_protocol_that_includes_another_is_noticed(tmp_path):
    put(tmp_path, "src/protocol/token.c", '/* t */\n#include "protocol/protocol.h"\n')
    put(tmp_path, "src/protocol/protocol.h", "/* p */\n")
    put(tmp_path, "src/protocol/token.h", "/* t */\n")
    put(tmp_path, "src/protocol/protocols.c", '/* all */\n#include "protocol/token.h"\n')
    assert rules.check_includes(tmp_path) == []
    put(tmp_path, "src/protocol/redlock.c", '/* r */\n#include "protocol/token.h"\n')
    assert "sibling" in rules.check_includes(tmp_path)[0]


def test_a_call_out_of_the_pure_archive_is_noticed(tmp_path):
    put(tmp_path, "a.c", "int bwl_b(void);\nlong time(long *);\nlong bwl_a(void)\n{\n    return time(0) + bwl_b();\n}\n")
    put(tmp_path, "b.c", "int bwl_b(void);\nint bwl_b(void)\n{\n    return 1;\n}\n")
    for name in "ab":
        subprocess.run([*COMPILER, "-c", f"{name}.c", "-o", f"{name}.o"], cwd=tmp_path, check=True)
    subprocess.run(["ar", "rcs", "lib.a", "a.o", "b.o"], cwd=tmp_path, check=True)
    assert rules.check_pure(nm("-A", str(tmp_path / "lib.a"))) == ["the pure archive calls time"]


def test_a_system_call_in_a_folder_without_input_and_output_is_noticed():
    fine = "".join(f"x.a:{folder}a.c.o:  U {symbol}\n" for folder in rules.SANS_IO for symbol in ("memcpy", "bwl_stream_open"))
    assert rules.check_sans_io(fine) == []
    for symbol in ("recv", "poll", "clock_gettime", "pthread_mutex_lock", "time"):
        bad = f"{fine}x.a:src_engine_redis_session_goodbye.c.o:  U {symbol}\nx.a:src_net_stream.c.o:  U {symbol}\n"
        assert rules.check_sans_io(bad) == [f"src/engine/redis/session calls {symbol}"]
    assert rules.check_sans_io("") == [f"no object of {folder}" for folder in rules.SANS_IO]


def test_a_name_too_many_or_too_few_is_noticed():
    output = (
        "0000000000001000 T bowline_open@@BOWLINE_0\n"
        "0000000000001000 T bwl_secret\n"
        "0000000000000000 A BOWLINE_0\n"
    )
    assert rules.check_exports(output, "bowline_open\nbwl_secret # a reason\n") == []
    assert rules.check_exports(output, "bowline_open\nbowline_close\n") == [
        "exported, but not listed: bwl_secret",
        "listed, but not exported: bowline_close",
    ]


def test_a_header_that_needs_another_is_noticed():
    done = compile_alone("c", "c11", "uint32_t bowline_alone(void);\n")
    assert done.returncode != 0


def body(lines):
    return "int f(int a)\n{\n" + "    a++;\n" * (lines - 3) + "    return a;\n}\n"


def asserting(code):
    return {"src/core/x.c": "/* x */\nint f(struct s *q, struct s *p)\n{\n" + code + "\n}\n"}


USED_BEFORE = "src/core/x.c:6: f uses {} before this assertion"

# A rule, the files of a tree, and the complaints of the rule about it.
TREES = [
    (rules.check_includes, {"src/core/a.c": '/* a */\n#include "engine/redis/wire/scripts.h"\n'},  # made by the build
     ["src/core/a.c:2: src/core may not include src/engine/redis/wire/scripts.h of src/engine/redis/wire"]),
    (rules.check_includes, {"src/core/a.c": '/* a */\n#include "nowhere.h"\n'},
     ['src/core/a.c:2: "nowhere.h" is not a file of ours']),
    (rules.check_sizes, {"a.c": "/* a */\n" + body(70)}, []),
    (rules.check_sizes, {"a.c": "/* a */\n" + body(71)}, ["a.c:3: f has 71 lines, 70 at most"]),
    (rules.check_sizes, {"a.c": "/* a */\nint f(void) {\n    return 0;\n}\n"},
     ["a.c:2: the brace of f is not at the start of a line"]),
    (rules.check_sizes, {"long.c": "/* a */\n" + "int a;\n" * 700}, ["long.c: 701 lines, 700 at most"]),
    (rules.check_sizes, {"wide.c": "/* " + "a" * 98 + " */\n"}, ["wide.c:1: 104 columns, 100 at most"]),
    (rules.check_sizes, {"umlaut.c": "/* " + "\u00e4" * 90 + " */\n"}, []),
    (rules.check_sizes, {"tab.h": "/* a */\n\tint a;\n"}, ["tab.h:2: a tab"]),
    (rules.check_sizes, {"space.h": "/* a */ \n"}, ["space.h:1: white space at the end"]),
    (rules.check_comments, {"a.c": '/* http://a.org */\nconst char *a = "http://a.org";\nint b; // no\n'},
     ["a.c:3: a // comment"]),
    (rules.check_comments, {"b.c": "/* b */\n#define B 1 // no\n"}, ["b.c:2: a // comment"]),
    (rules.check_comments, {"a.c": "/* TO" + 'DO: more */\nchar name[] = "bowline.XX' + 'XXXX";\n'}, ["a.c:1: TO" + "DO"]),
    (rules.check_comments, {"b.py": "# FIX" + "ME\n"}, ["b.py:1: FIX" + "ME"]),
    (rules.check_asserts, asserting("    int n = p->n;\n\n    assert(p != NULL);\n    return n;"), [USED_BEFORE.format("p")]),
    (rules.check_asserts, asserting("    assert(p != NULL);\n    return p->n;"), []),
    (rules.check_asserts,
     asserting("    int n = p->n;\n\n    p = p->next;\n    assert(p != NULL && n > 0);\n    return p->n;"), []),
    (rules.check_asserts, asserting("    int n = q->p->n;\n\n    assert(p != NULL);\n    return n + p->n;"), []),
    (rules.check_asserts, asserting("    int n = of[i].n;\n\n    assert(i != NO_INDEX && n > 0);\n    return n;"),
     [USED_BEFORE.format("i")]),
    (rules.check_asserts, asserting("    assert(i != NO_INDEX);\n    return of[i].n;"), []),
    *(
        (rules.check_first_lines, {name: text}, [f"{name}: does not begin with a comment"])
        for name, text in (
            ("a.c", "#include <stdio.h>\n"), ("a.h", "#ifndef A\n#endif\n"), ("a.lua", "return 1\n"), ("a.py", "import os\n"),
            ("tool", "#!/bin/sh\nset -eu\n"), ("meson.build", "project('x')\n"), ("exports.map", "V { local: *; };\n"),
        )
    ),
    (rules.check_first_lines, {"a.h": "/* a.h -- a thing. */\n", "a.c": '#include "x/a.h"\n'}, []),
    (rules.check_first_lines, {"b.c": '#include "x/a.h"\n'}, ["b.c: does not begin with a comment"]),
    *(
        (rules.check_words, {"a.md": f"text\n{word}\n"}, [f"a.md:2: {word}"])
        for word in ("/wor" + "k/", "sub" + "agent", "Clau" + "de", "language" + " model", "assis" + "tant")
    ),
    (rules.check_unknown_words, {"src/core/a.h": "/* a */\nbool redis;\n"},
     ["src/core/a.h:2: redis: core has no word of an engine"]),
    (rules.check_unknown_words, {"src/core/a.h": "/* see redis.io */\n"}, []),
    (rules.check_unknown_words, {"src/net/a.c": "/* a */\n/* RESP */\n"},
     ["src/net/a.c:2: RESP: net carries bytes of any protocol"]),
    (rules.check_unknown_words, {"src/runtime/a.c": '/* a */\nuse("redis://");\n'},
     ["src/runtime/a.c:2: redis: the runtime names no engine"]),
    (rules.check_unknown_words, {"src/engine/redis/session/a.c": "/* a */\nif (config->topology == 1)\n"},
     ["src/engine/redis/session/a.c:2: ->topology: a session knows one server"]),
    (rules.check_unknown_words, {"src/engine/redis/session/a.c": "/* a */\nbwl_cluster_route(c);\n"},
     ["src/engine/redis/session/a.c:2: bwl_cluster_: a session knows one server"]),
    (rules.check_unknown_words, {"src/engine/redis/topology/a.c": "bwl_cluster_route(c);\n"}, []),
    (rules.check_unknown_words, {"src/engine/redis/session/a.c": "use(redis);\n"}, []),
    *(
        (rules.check_unit_is_pure, {"tests/unit/test_a.c": f'#include "{header}"\n'},
         [f"tests/unit/test_a.c: {header} starts a server: the test belongs into tests/live or tests/bench"])
        for header in ("tests/lib/server.h", "bench/world/server.h")
    ),
    (rules.check_unit_is_pure, {"tests/unit/test_c.c": '#include "tests/lib/wire.h"\n'}, []),
    (rules.check_unit_is_pure, {"tests/live/test_d.c": '#include "tests/lib/server.h"\n'}, []),
]


@pytest.mark.parametrize("check, files, complaints", TREES)
def test_rule_complains_of_exactly_its_violations(tmp_path, check, files, complaints):
    for name, text in files.items():
        put(tmp_path, name, text)
    assert check(tmp_path) == complaints


def test_braces_in_strings_comments_and_macros_do_not_confuse_the_count(tmp_path):
    text = (
        "/* a { */\n"
        "#define OPEN {{{ /* { */ \\\n"
        "    {{ 'x'\n"
        "static const int table[] = { 1, 2, 3 };\n"
        "struct pair {\n    int a;\n};\n"
        "int g(void)\n{\n"
        "    /* } */ char c = '}'; char q = '\\''; const char *s = \"\\\"}{\";\n"
        "    return c + q + s[0];\n"
        "}\n"
    )
    assert [(name, first, last) for name, first, last, _ in rules.functions(text + body(10))] == [
        ("g", 9, 12),
        ("f", 14, 23),
    ]


def test_a_function_inside_extern_c_is_seen():
    text = '#ifdef __cplusplus\nextern "C" {\n#endif\n' + body(5) + "#ifdef __cplusplus\n}\n#endif\n" + body(6)
    assert [last - first + 1 for _, first, last, _ in rules.functions(text)] == [5, 6]


def test_file_that_is_not_built_is_detected(tmp_path):
    put(tmp_path, "src/core/meson.build", "core_sources = files('a.c')\n")
    put(tmp_path, "src/core/a.c", "/* a */\n")
    put(tmp_path, "tests/meson.build", "unit_tests = [\n  'a',\n  'gone',\n]\n")
    put(tmp_path, "tests/unit/test_a.c", "/* a */\n")
    assert rules.check_listed(tmp_path) == [
        "tests/meson.build: gone is listed, tests/unit/test_gone.c is not there"
    ]
    for name in ("src/core/b.c", "tests/unit/test_b.c", "tests/live/test_l.py", "src/engine/redis/wire/scripts/s.lua"):
        put(tmp_path, name, "")
    assert len(rules.check_listed(tmp_path)) == 5


def test_build_directories_are_not_the_project(tmp_path):
    put(tmp_path, "build-asan/a.c", "// generated\n")
    put(tmp_path, "a.c", "/* a */\n")
    assert [path.name for path in rules.tracked_files(tmp_path)] == ["a.c"]
