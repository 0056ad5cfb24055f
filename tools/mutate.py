#!/usr/bin/env python3
"""Plant the faults of tests/mutants.txt, one at a time, in a copy of the tree, and check that a test fails.

    tools/mutate.py                 all of them, each against the program that it names
    tools/mutate.py WORD ...        those whose description holds one of the words
    tools/mutate.py --hunt WORD     likewise, against all programs of session, transcript, conformance and live until one fails

Three copies per CPU have a build of their own each, in build-mutants/ or in $MUTANTS_DIR. The list is tests/mutants.txt, or the
file that $MUTANTS_FILE names. Prints a table; ends with 1 if a fault was not noticed.
"""

import concurrent.futures
import contextlib
import os
import pathlib
import queue
import re
import select
import shutil
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIELDS = ("file", "old", "new", "by")
HUNTED = ("session", "transcript", "conformance", "live")  # quick ones first
WORKERS_PER_CPU = 3  # most programs wait for a server most of the time
PATIENCE_S = 75  # without output: a fault may make a program hang, which counts as detected


def read_mutants(text):
    """The mutants of a list: one dictionary each, "what" being the description."""
    mutants = []
    for line in text.splitlines():
        if re.fullmatch(r"\[.+\]", line):
            mutants.append({"what": line[1:-1]})
        elif line.strip() and not line.startswith("#"):
            field, _, value = line.partition(": ")
            mutants[-1][field] = value
    return mutants


def planting_complaints(root, mutant, fields):
    """Why a mutant of a list with these fields cannot be planted."""
    if sorted(mutant) != sorted(("what",) + fields):
        yield f"{mutant['what']}: needs exactly {', '.join(fields)}"
        return
    path = root / mutant["file"]
    count = path.read_text(encoding="utf-8").count(mutant["old"]) if path.is_file() else 0
    if count != 1:
        yield f"{mutant['what']}: its text is {count} times in {mutant['file']}"
    if mutant["old"] == mutant["new"]:
        yield f"{mutant['what']}: changes nothing"


def complaints(root, mutants, build_file):
    """The errors in a list: a mutant that cannot be planted, or whose test does not exist."""
    for m in mutants:
        yield from planting_complaints(root, m, FIELDS)
        if "by" not in m:
            continue
        suite, _, name = m["by"].partition("/")
        listed = [f"\n  '{name}',\n"] if suite == "unit" else [f"['{suite}', '{name}']", f"['{suite}', '{name}', "]
        if not any(text in build_file for text in listed):
            yield f"{m['what']}: there is no {m['by']}"


def programs(build_file):
    return [
        f"{suite}/{name}"
        for suite in HUNTED
        for name in re.findall(rf"^  \['{suite}', '(\w+)'\],", build_file, re.M)
    ]


def copy_tree(to):
    names = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True, check=True,
    ).stdout.decode().split("\0")
    for name in names:
        source, target = ROOT / name, to / name
        if name and source.is_file() and not (target.is_file() and target.read_bytes() == source.read_bytes()):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)  # with the current time, so that it is compiled again
            shutil.copymode(source, target)


def command_of(tree, program):
    """(what is built, what is run): a program in C, or a file of pytest and the command that it tries."""
    suite, _, name = program.partition("/")
    source = tree / "tests" / suite / f"test_{name}.py"
    if source.is_file():
        return "bowline", [str(tree / "tools" / "pytest"), str(source)]
    target = "tests/test_" + program.removeprefix("unit/").replace("/", "_")
    return target, [str(tree / "build" / target)]


def outcome(tree, program):
    """(noticed, by what): the first case that failed, or how the program ended."""
    target, command = command_of(tree, program)
    built = subprocess.run(
        ["ninja", "-C", str(tree / "build"), target, "tests/libbowline_clock_shim.so"],
        capture_output=True, text=True, check=False,
    )
    if built.returncode != 0:
        return None, built.stdout[-400:]
    environment = dict(
        os.environ,
        PATH=f"{ROOT / '.deps' / 'bin'}:{os.environ['PATH']}",
        CMOCKA_MESSAGE_OUTPUT="TAP",
        BOWLINE_CLOCK_SHIM=str(tree / "build" / "tests" / "libbowline_clock_shim.so"),
        BOWLINE=str(tree / "build" / "bowline"),
        BOWLINE_SOURCE=str(tree),
        BOWLINE_BUILD=str(tree / "build"),
        BOWLINE_CC="cc",
    )
    program = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, env=environment, bufsize=0, start_new_session=True,
    )
    said = ""
    cases = 0
    try:
        while select.select([program.stdout], [], [], PATIENCE_S)[0]:
            more = program.stdout.read(4096).decode(errors="replace")
            said += more
            cases = len(re.findall(r"^ok ", said, re.M))
            failed = re.search(r"^not ok \d+ - (.+)\n", said, re.M)
            if failed:
                return True, failed.group(1)
            if more == "":
                break
        else:
            return True, f"hangs after {cases} cases"
        status = program.wait()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)  # its children as well
        program.wait()
        program.stdout.close()
    if status < 0:
        return True, f"ends by signal {-status} after {cases} cases"
    return status != 0, f"ends with {status} after {cases} cases"


@contextlib.contextmanager
def planted(tree, mutant):
    """The tree has the fault meanwhile."""
    path = tree / mutant["file"]
    good = path.read_text(encoding="utf-8")
    path.write_text(good.replace(mutant["old"], mutant["new"]), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(good, encoding="utf-8")


def try_one(tree, mutant, candidates):
    with planted(tree, mutant):
        for program in candidates:
            noticed, by = outcome(tree, program)
            if noticed is None:
                return False, f"does not compile: {by}"
            if noticed:
                return True, f"{program}: {by}"
        return False, "not noticed"


def made_tree(name, *options):
    """A copy of the tree with a build of its own, in the directory of all copies."""
    tree = ROOT / os.environ.get("MUTANTS_DIR", "build-mutants") / name
    copy_tree(tree)
    if not (tree / "build" / "build.ninja").exists():
        setup = ["meson", "setup", *options, str(tree / "build"), str(tree)]
        subprocess.run(setup, check=True, stdout=subprocess.DEVNULL)
    return tree


def main(words):
    hunt = "--hunt" in words
    words = [word for word in words if word != "--hunt"]
    build_file = (ROOT / "tests" / "meson.build").read_text(encoding="utf-8")
    listed = pathlib.Path(os.environ.get("MUTANTS_FILE", ROOT / "tests" / "mutants.txt"))
    mutants = read_mutants(listed.read_text(encoding="utf-8"))
    wrong = list(complaints(ROOT, mutants, build_file))
    if wrong:
        print("\n".join(wrong), file=sys.stderr)
        return 2
    mutants = [m for m in mutants if not words or any(word in m["what"] for word in words)]
    trees = queue.SimpleQueue()
    workers = max(1, min(len(mutants), WORKERS_PER_CPU * (os.cpu_count() or 1)))
    for number in range(workers):
        trees.put(made_tree(f"tree-{number}", "-Doptimization=0"))

    def tried(mutant):
        tree = trees.get()
        try:
            return try_one(tree, mutant, programs(build_file) if hunt else [mutant["by"]])
        finally:
            trees.put(tree)

    noticed_sum = survivors = 0
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for mutant, (noticed, by) in zip(mutants, pool.map(tried, mutants)):
            noticed_sum += noticed
            survivors += not noticed
            print(f"{'noticed' if noticed else 'NOT NOTICED':<12}{mutant['file']:<40}{mutant['what']}  <- {by}", flush=True)
    print(f"{noticed_sum} passed, {survivors} failed")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
