"""The shape of this tree is within its limits, apart from what the ledger owes; and each rule notices.

The rules are in tools/shape.py, the ledger is tools/shape-owed.txt. What a rule must notice is written to a temporary directory.
"""

import importlib.util
import os
import pathlib

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = pathlib.Path(os.environ.get("BOWLINE_SOURCE", HERE.parent.parent))

SPEC = importlib.util.spec_from_file_location("bowline_house_shape", ROOT / "tools/shape.py")
shape = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(shape)


def put(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def struct(name, fields):
    return f"struct {name} {{\n" + "".join(f"    int field{n};\n" for n in range(fields)) + "};\n"


def function(name, *calls):
    return f"void {name}(void)\n{{\n" + "".join(f"    {call};\n" for call in calls) + "}\n"


def ring(*names):
    """Files each of which calls the next, and the last the first."""
    after = names[1:] + names[:1]
    return {name: function(pathlib.Path(name).stem, pathlib.Path(to).stem + "()") for name, to in zip(names, after)}


def include_from(header, count):
    text = f'#include "{header}"\n#include "{header}"\n#include <string.h>\n'
    return {header: "/* h */\n"} | {f"src/f{number}/a.c": text for number in range(count)}


def sources(folder, count):
    return {f"{folder}/a{number}.{suffix}": "/* a */\n" for number in range(count) for suffix in "ch"}


def ledger(text):
    return {shape.LEDGER: text}


def cycles(root):
    return shape.measure(root).cycles


# This tree.


def test_this_tree_breaks_no_limit_outside_of_the_ledger():
    complaints = shape.check(ROOT)
    if complaints:
        pytest.fail("\n".join(complaints), pytrace=False)


def test_the_ledger_of_this_tree_is_as_it_is_written():
    text = (ROOT / shape.LEDGER).read_text(encoding="utf-8")
    assert text == shape.text_of_ledger(shape.read_ledger(text))


def test_the_figures_of_this_tree_are_not_empty():
    measured = shape.measure(ROOT)
    for kind in shape.LIMITS:
        assert measured.figures[kind], kind
    assert measured.calls
    assert all(measured.totals.values())
    assert {*shape.PARTS, shape.PUBLIC} <= {folder for folders in shape.TOTALS.values() for folder in folders}, "not measured"


# What breaks a limit.

A, B, C, D, E = (f"src/lock/{name}.c" for name in "abcde")
NET = "src/net/a.c"
MENDED = " (tools/shape.py --write)"

# The files of a tree, and what is wrong with it.
TREES = [
    ({"src/lock/a.h": struct("bwl_a", 25)}, []),
    ({"src/lock/a.h": struct("bwl_a", 26)}, ["struct bwl_a: 26 fields, 25 at most"]),
    ({"include/bowline/bowline.h": struct("bowline_options", 40)}, []),
    # Two structs of one name are told apart by their files.
    ({"cli/a.c": struct("reader", 26), "lab/b.c": struct("reader", 27)},
     ["struct cli/a.c:reader: 26 fields, 25 at most", "struct lab/b.c:reader: 27 fields, 25 at most"]),
    *(
        ({name: "int a;\n" * lines}, [f"header {name}: {lines} lines, 250 at most"] * (lines > 250))
        for name in ("src/lock/a.h", "lab/a.h", "include/bowline/async.h", "include/bowline/cpp/a.hpp")
        for lines in (250, 251)
    ),
    ({"include/bowline/bowline.h": "int a;\n" * 400, "tests/lib/a.h": "int a;\n" * 400}, []),
    (include_from("src/lock/a.h", 15), []),
    (include_from("src/lock/a.h", 16), ["included src/lock/a.h: 16 files include it, 15 at most"]),
    *((include_from(header, 30), []) for header in ("src/core/a.h", "src/base/a.h", "lab/base/a.h")),  # the bottom
    (sources("lab", 20) | sources("lab/search", 20) | sources("tests/unit", 30), []),
    (sources("lab", 21), ["folder lab: 21 source files, 20 at most"]),
    (ring(NET, B), [f"cycle {B} {NET}: calls in a circle across folders"]),
    (ring(A, B, C, D), []),
    (ring(A, B, C, D, E), [f"cycle {A} {B} {C} {D} {E}: 5 files, 4 at most"]),
    # An entry of the ledger is allowed, and may not grow; it is as high as the figure.
    (ledger("# comment\nstruct bwl_a 27\n") | {"src/lock/a.h": struct("bwl_a", 27)}, []),
    (ledger("struct bwl_a 27\n") | {"src/lock/a.h": struct("bwl_a", 28)},
     ["struct bwl_a: 28 fields, 27 in the ledger: it may only shrink"]),
    *(
        (ledger("struct bwl_a 27\n") | {"src/lock/a.h": struct("bwl_a", fields)},
         ["in the ledger, and no longer so: struct bwl_a 27" + MENDED])
        for fields in (26, 25, 0)
    ),
    # A cycle in the ledger may not get another file, and loses those that have left it.
    (ledger(f"cycle {B} {NET}\n") | ring(NET, B), []),
    (ledger(f"cycle {B} {NET}\n") | ring(NET, B, "src/net/c.c"),
     [f"cycle src/net/c.c: now in the cycle of {B}, which may only shrink",
      f"in the ledger, and no longer so: cycle {B} {NET}" + MENDED]),
    (ledger(f"cycle {B} {NET} src/net/c.c\n") | ring(NET, B) | {"src/net/c.c": function("c", "a()")},
     [f"in the ledger, and no longer so: cycle {B} {NET} src/net/c.c" + MENDED]),
]


@pytest.mark.parametrize("files, complaints", TREES)
def test_shape_complains_of_exactly_what_breaks_a_limit(tmp_path, files, complaints):
    put(tmp_path, files)
    assert shape.check(tmp_path) == complaints


# Structs.


@pytest.mark.parametrize(
    "body,fields,flags",
    [
        ("int a;", 1, 0),
        ("int a, *b, c[4];", 3, 0),
        ("bool a, b; _Bool c; bool *d; bool (*e)(void);", 5, 3),
        ("unsigned a : 1; unsigned b : 2, c : 3;", 3, 0),
        ("int (*call)(int, int, void (*)(int, int)); int a;", 2, 0),
        ("int table[PAIR(1, 2)][3];", 1, 0),
        ("struct { int a; bool b; union { int c; int d; }; } in; int e;", 5, 1),
        ("const struct { int a; int b; } in[2];", 2, 0),
        ("struct __attribute__((packed)) { int a; int b; } in;", 2, 0),
        ("struct other { int a; int b; } one, two;", 2, 0),
        ("struct other { int a; int b; };", 0, 0),
        ("struct other *other;", 1, 0),
        ("enum { A, B, C } kind; enum { D, E };", 1, 0),
        ("_Static_assert(1, \"a;b\"); int a;", 1, 0),
        ("/* int a; */ int b; // int c;\n", 1, 0),
        ("\n#ifdef A\nint a;\n#endif\nint b;", 2, 0),
        ("__attribute__((aligned(8))) int a;", 1, 0),
    ],
)
def test_fields_are_counted(body, fields, flags):
    code, _ = shape.rules.lex(f"struct outer {{ {body} }};\n")
    assert shape.structs(code)[0] == ("outer", fields, flags)


def test_structs_without_a_tag_have_the_name_of_their_type_or_variable():
    code, _ = shape.rules.lex(
        "typedef struct {\n    int a;\n    struct {\n        int b;\n    } in;\n} thing;\n"
        "static const struct {\n    int a;\n} table[] = { { 1 } };\n"
        "static struct other f(struct other o)\n{\n    struct local { int a; int b; } l = { 1, 2 };\n}\n"
    )
    assert shape.structs(code) == [("thing", 2, 0), ("table", 1, 0), ("local", 2, 0)]


def test_a_header_included_by_its_name_alone_counts_and_a_test_that_includes_it_does_not(tmp_path):
    put(tmp_path, {"lab/a.h": "/* h */\n"})
    put(tmp_path, {"lab/a.c": '#include "a.h"\n'})
    put(tmp_path, {"tests/unit/test_a.c": '#include "lab/a.h"\n'})
    assert shape.measure(tmp_path).figures["included"] == {"lab/a.h": 1}


# Cycles.


def test_two_circles_that_share_a_file_are_one_cycle(tmp_path):
    put(tmp_path, {"src/lock/a.c": function("a", "b()", "c()")})
    put(tmp_path, {"src/lock/b.c": function("b", "a()")})
    put(tmp_path, {"src/lock/c.c": function("c", "a()", "d()")})
    put(tmp_path, {"src/lock/d.c": function("d")})
    assert cycles(tmp_path) == [("src/lock/a.c", "src/lock/b.c", "src/lock/c.c")]


def test_calls_in_one_direction_are_no_cycle(tmp_path):
    put(tmp_path, {"src/api/a.c": function("a", "b()", "c()")})
    put(tmp_path, {"src/lock/b.c": function("b", "c()")})
    put(tmp_path, {"src/core/c.c": function("c")})
    assert cycles(tmp_path) == []
    assert shape.measure(tmp_path).calls == {
        ("src/api/a.c", "src/lock/b.c"): {"b"},
        ("src/api/a.c", "src/core/c.c"): {"c"},
        ("src/lock/b.c", "src/core/c.c"): {"c"},
    }


@pytest.mark.parametrize(
    "text",
    [
        "const table engine = { .a = a, .b = b };\n",  # a name in a table
        function("b", "engine->a()", "engine.a(1)", "engine -> a (2)"),  # a field of that name
        function("b", "use(a)"),  # a pointer that is handed on
        function("b", 'say("a()")') + "/* a() */\n",  # text
        "void a(void);\n" + function("b"),  # a declaration
        "static int a(void)\n{\n    return 1;\n}\n" + function("b", "a()"),  # a function of its own
        "#define UNUSED a()\n" + function("b"),
        function("b", "hidden()"),  # static in the other file
        "static " + function("inner") + function("b", "inner()"),  # the name of another header's inline function
    ],
    ids=["table", "field", "pointer", "text", "declaration", "static", "macro", "hidden", "inline"],
)
def test_text_like_a_call_is_not_counted(tmp_path, text):
    put(tmp_path, {"src/net/a.h": "static inline " + function("inner", "a()")})
    put(tmp_path, {"src/net/a.c": function("a", "b()") + "static " + function("hidden")})
    put(tmp_path, {"src/lock/b.c": function("b") + text})
    assert cycles(tmp_path) == []


@pytest.mark.parametrize(
    "text",
    [
        function("b", "return a ()"),
        function("b", "if (1) x = (int)a()"),
        function("b", "use(a())"),
        "__attribute__((format(printf, 1, 2))) " + function("b", "a()"),
        "static " + function("c", "a()") + function("b"),
        "#define CALL(x) do { \\\n    a(x); \\\n} while (0)\n#define TWICE CALL(1)\n" + function("b", "TWICE"),
        '#include "net/a.h"\n' + function("b", "HEADER_CALL(1)"),
        '#include "net/a.h"\n' + function("b", "a_inline()"),
    ],
    ids=["space", "cast", "argument", "attribute", "static caller", "macro", "header's macro", "inline"],
)
def test_a_call_is_seen_in_every_form(tmp_path, text):
    put(tmp_path, {"src/net/a.h": "#define HEADER_CALL(x) a(x)\nstatic inline " + function("a_inline", "a()")})
    put(tmp_path, {"src/net/a.c": function("a", "b()")})
    put(tmp_path, {"src/lock/b.c": text})
    assert cycles(tmp_path) == [("src/lock/b.c", "src/net/a.c")]


def test_name_of_two_programs_means_the_own_one(tmp_path):
    put(tmp_path, {"cli/say.c": function("say")})
    put(tmp_path, {"lab/say.c": function("say", "run()")})
    put(tmp_path, {"cli/run.c": function("run", "say()")})
    assert cycles(tmp_path) == []


# The ledger.


@pytest.mark.parametrize("line", ["struct bwl_a", "struct bwl_a many", "cycle src/a.c", "room lab 90"])
def test_invalid_line_of_the_ledger_is_refused(line):
    with pytest.raises(ValueError):
        shape.read_ledger(line + "\n")


def test_written_ledger_has_the_figures_of_the_tree(tmp_path, capsys):
    put(tmp_path, {"src/lock/a.h": struct("bwl_a", 26) + "int a;\n" * 250})
    put(tmp_path, ring("src/net/a.c", "src/lock/b.c"))
    put(tmp_path, {shape.LEDGER: "struct bwl_gone 30\nheader src/lock/a.h 260\n"})
    assert len(shape.check(tmp_path)) == 4
    shape.main(["--write", "--root", str(tmp_path)])
    assert shape.check(tmp_path) == []
    assert (tmp_path / shape.LEDGER).read_text() == shape.LEDGER_HEAD + (
        "struct bwl_a 26\nheader src/lock/a.h 278\ncycle src/lock/b.c src/net/a.c\n"
    )
    assert capsys.readouterr().out.splitlines() == [
        "worse: header src/lock/a.h: 278 lines, 260 in the ledger: it may only shrink",
        "worse: struct bwl_a: 26 fields, 25 at most",
        "worse: cycle src/lock/b.c src/net/a.c: calls in a circle across folders",
    ]


# What is printed.


def test_the_table_has_the_worst_of_each_kind_and_the_totals(tmp_path, capsys):
    for number in range(12):
        put(tmp_path, {f"lab/a{number}.h": struct(f"bwl_a{number}", number + 1)})
    put(tmp_path, {"lab/flags.h": "struct flags { int a[9], b, c, d, e, f, g, h, i, j, k, l; bool m, n, o; };\n"})
    put(tmp_path, ring("src/net/a.c", "src/lock/b.c"))
    put(tmp_path, {"cli/a.c": '#include "lab/flags.h"\n'})
    put(tmp_path, {"tests/unit/test_a.c": "/* t */\n" * 9})
    shape.main(["--print", "--root", str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    assert "fields of a struct (flags): 0 of 13 above 25" in lines
    assert "     12 bwl_a11 (0)" in lines
    assert "     15 flags (3)" in lines
    assert not any("bwl_a0" in line for line in lines)
    assert "lines of a header: 0 of 13 above 250" in lines
    assert "      1 lab/flags.h" in lines
    assert "      1 src/lock" in lines
    assert "call cycles: 1 of 1 across folders or above 4 files, 1 across folders" in lines
    assert "      2 src/lock 1, src/net 1" in lines
    assert lines[-1] == "lines: library 8, command 1, doctor 0, lab 103, bench 0, simulator 0, tests 9"


def test_the_calls_of_a_cycle_are_listed(tmp_path, capsys):
    put(tmp_path, ring("src/net/a.c", "src/lock/b.c"))
    put(tmp_path, ring("lab/c.c", "lab/d.c"))
    shape.main(["--cycles", "--root", str(tmp_path)])
    assert capsys.readouterr().out.splitlines() == [
        "cycle of 2 files in src/lock, src/net",
        "  src/lock/b.c -> src/net/a.c: a",
        "  src/net/a.c -> src/lock/b.c: b",
    ]
