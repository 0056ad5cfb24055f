#!/usr/bin/env python3
"""Plant the faults of sim/mutants.txt, one at a time, in a copy of the tree, and run simulated worlds until one fails.

    tools/simulate_mutants.py                 all of them, each in the worlds of the seeds 1, 2, ... 320
    tools/simulate_mutants.py WORD ...        those whose description holds one of the words
    tools/simulate_mutants.py --seeds 50      so many worlds at most
    tools/simulate_mutants.py --cpu-s 60      so many seconds of a CPU for each fault, at most
    tools/simulate_mutants.py --resume        keeps what earlier runs found, and goes on where they ended
    tools/simulate_mutants.py --page FILE     writes the results as a page in Markdown, too
    tools/simulate_mutants.py --jobs N        so many copies of the tree, in build-mutants/ or in $MUTANTS_DIR

Prints one line for each fault: whether a world failed, which one, and by which check. A world that fails without the fault too is
an error, and so is a fault that does not compile, or that should be found and is not: then it ends with 1.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import queue
import re
import select
import subprocess
import sys
import tempfile
import threading

import mutate

LIST = mutate.ROOT / "sim" / "mutants.txt"
FIELDS = ("file", "old", "new", "worlds", "from", "found")
WORLDS = ("any", "single", "redlock", "sync", "sentinel", "cluster")
SEEDS = 320
LENGTH_MS = 200000  # of the faults in a world, at most: a seed of forty hours takes as long as fifty others
PATIENCE_S = 60  # of a CPU, for one world: a fault may make it endless, which counts as found
LOOK_S = 5  # so often the time is compared
BLOCKED = 20  # times the patience, by the clock: it uses no CPU


def complaints(root, mutants):
    """The errors in a list: a mutant that cannot be planted, or that does not say where it is from and whether it is found."""
    for m in mutants:
        yield from mutate.planting_complaints(root, m, FIELDS)
        if "found" in m and m["found"] != "yes" and not re.fullmatch(r"no, \S.+", m["found"]):
            yield f"{m['what']}: found is yes, or no and why"
        if "worlds" in m and m["worlds"] not in WORLDS:
            yield f"{m['what']}: worlds is one of {', '.join(WORLDS)}"
        if "from" in m and not re.fullmatch(r"new|mended [0-9a-f]{8}", m["from"]):
            yield f"{m['what']}: from is new, or mended and a commit"


def build(tree):
    """None, or why it does not compile."""
    built = subprocess.run(
        ["ninja", "-j1", "-C", str(tree / "build"), "bowline-sim"], capture_output=True, text=True, check=False
    )
    return None if built.returncode == 0 else built.stdout[-400:]


# ---- worlds ----------------------------------------------------------------------------------------------------------------


class Run:
    """What a process of bowline-sim said about its worlds."""

    def __init__(self):
        self.worlds = 0  # that were begun
        self.seed = 0  # of the last one
        self.failure = ""  # of the last one; "": none failed

    def take(self, line):
        begun = re.fullmatch(r"world (\d+)", line)
        failed = re.match(r"seed \d+: (.+?); [\d.]+ virtual s, ", line)
        if begun:
            self.worlds += 1
            self.seed = int(begun.group(1))
        elif failed and failed.group(1) != "ok":
            self.failure = failed.group(1)
        return bool(begun)

    def end(self, status, errors):
        """The process has ended."""
        asserted = re.search(r": Assertion `(.+)' failed", errors)
        if self.failure or status == 0:
            return
        if asserted:
            self.failure = f"assertion: {asserted.group(1)}"
        else:
            self.failure = f"signal: {-status}" if status < 0 else f"status: it ends with {status}"


def cpu_s(pid):
    """The time of a CPU that a process has used."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def read_lines(program, run, limit_s):
    """Until it ends, or a world does not end, or the limit is reached: kills it then."""
    rest = b""
    world_began, looks = 0.0, 0
    while True:
        if select.select([program.stdout], [], [], LOOK_S)[0]:
            more = os.read(program.stdout.fileno(), 65536)
            if not more:
                return
            *lines, rest = (rest + more).split(b"\n")
            if any([run.take(line.decode(errors="replace")) for line in lines]):
                world_began, looks = cpu_s(program.pid), 0
                if limit_s and world_began >= limit_s:
                    run.worlds -= 1  # it was only begun
                    break
            continue
        looks += 1
        if cpu_s(program.pid) - world_began > PATIENCE_S or looks * LOOK_S > PATIENCE_S * BLOCKED:
            run.failure = f"endless: no end within {PATIENCE_S} s"
            break
    program.kill()


def run_worlds(tree, worlds, seeds, limit_s=0):
    """Those of the seeds, one after the other, until one fails."""
    run = Run()
    command = [str(tree / "build" / "bowline-sim"), "--seeds", f"{seeds[0]}..{seeds[-1]}", "--first"]
    command += ["--length", str(LENGTH_MS)]
    if worlds != "any":
        command += ["--topology", worlds]
    with tempfile.TemporaryFile() as errors:
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors) as program:
            read_lines(program, run, limit_s)
            status = program.wait()
        errors.seek(0)
        if status != -9:
            run.end(status, errors.read().decode(errors="replace"))
    return run


# ---- results ---------------------------------------------------------------------------------------------------------------


class Result:
    def __init__(self, mutant):
        self.mutant = mutant
        self.seed = None  # of the world that failed
        self.worlds = 0  # that were run
        self.failure = ""
        self.error = ""  # of the compiler
        self.without = []  # worlds that fail without the fault too

    def check(self):
        return self.failure.partition(":")[0]

    def is_found(self):
        return self.seed is not None

    def is_expected(self):
        return self.mutant["found"] == "yes"

    def has_failed(self):
        return bool(self.error or self.without) or (self.is_expected() and not self.is_found())

    def text(self):
        if self.error:
            return f"DOES NOT COMPILE: {self.error}"
        if self.without:
            return f"FAILS WITHOUT IT: {'; '.join(self.without)}"
        if self.is_found():
            note = "" if self.is_expected() else f" (the list says {self.mutant['found']})"
            return f"seed {self.seed}, world {self.worlds}: {self.failure}{note}"
        return f"in {self.worlds} worlds: the list says {self.mutant['found']}"

    def word(self):
        return "found" if self.is_found() else "NOT FOUND" if self.has_failed() else "not found"


class Kept:
    """The results, in a file beside the copies of the tree."""

    def __init__(self, path, resumes):
        self.path = path
        self.lock = threading.Lock()
        self.known = json.loads(path.read_text(encoding="utf-8")) if resumes and path.is_file() else {}

    @staticmethod
    def name(mutant):
        return "\n".join(mutant[field] for field in ("file", "old", "new", "worlds"))

    def result(self, mutant):
        result = Result(mutant)
        vars(result).update(self.known.get(self.name(mutant), {}))
        return result

    def keep(self, result):
        facts = {"seed": result.seed, "worlds": result.worlds, "failure": result.failure}
        with self.lock:
            if not result.error:
                self.known[self.name(result.mutant)] = facts
            self.path.write_text(json.dumps(self.known, indent=1), encoding="utf-8")


def try_one(tree, plain, result, arguments):
    """plain: a tree without faults. The result has what earlier runs found."""
    worlds = result.mutant["worlds"]
    with mutate.planted(tree, result.mutant):
        result.error = build(tree) or ""
        while not result.error and not result.is_found() and result.worlds < arguments.seeds:
            run = run_worlds(tree, worlds, (result.worlds + 1, arguments.seeds), arguments.cpu_s)
            result.worlds += run.worlds
            if not run.failure:
                return
            without = run_worlds(plain, worlds, (run.seed, run.seed))
            if without.failure:
                result.without.append(f"seed {run.seed}, {worlds} worlds: {without.failure}")
            else:
                result.seed, result.failure = run.seed, run.failure


# ---- the page --------------------------------------------------------------------------------------------------------------


def counted(results, kind):
    chosen = [r for r in results if r.mutant["from"].startswith(kind)]
    return len(chosen), sum(r.is_found() for r in chosen)


def row_start(r):
    return f"| {r.mutant['what']} | `{r.mutant['file']}` | {r.mutant['from']} | {r.mutant['worlds']} |"


def page(results, seeds):
    """In Markdown: a row for each fault."""
    found = [r for r in results if r.is_found()]
    left = [r for r in results if not r.is_found()]
    mended, mended_found = counted(results, "mended")
    new, new_found = counted(results, "new")
    lines = [
        "# Planted faults",
        "",
        "This page is generated from the results of `make simulate-mutants-page`.",
        "",
        "Each fault of [sim/mutants.txt](../../sim/mutants.txt) was planted in the library, and the worlds of the seeds 1, 2, ... were run",
        f"until one failed ([simulation.md](../explanation/simulation.md)). {len(results)} were planted: {len(found)} were found within {seeds} worlds.",
        f"Of {mended} that had once been mended, {mended_found} were found; of {new} new ones, {new_found}.",
        f"Of the {len(left)} that were not found, {sum(r.worlds < seeds for r in left)} were tried in fewer worlds: the last column says in how many.",
        "",
        "A fault with a commit was in the library until that commit. *worlds* is the kind of world that was run (`--topology`); faults",
        f"happen in its first {LENGTH_MS // 1000} s (`--length {LENGTH_MS}`). The reasons are read from the code.",
        "",
        "## Found",
        "",
        "| fault | file | from | worlds | check | seed | worlds until then |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [f"{row_start(r)} {r.check()} | {r.seed} | {r.worlds} |" for r in found]
    lines += ["", "## Not found", "", "| fault | file | from | worlds | why | worlds that were run |", "|---|---|---|---|---|---|"]
    lines += [f"{row_start(r)} {r.mutant['found'].removeprefix('no, ')} | {r.worlds} |" for r in left]
    return "\n".join(lines) + "\n"


# ---- the program -----------------------------------------------------------------------------------------------------------


def read_arguments(arguments):
    parser = argparse.ArgumentParser(description="Plant faults, and run simulated worlds until one fails.")
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--cpu-s", type=float, default=0)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    return parser.parse_args(arguments)


def run_all(mutants, arguments, trees, plain):
    """The results, in the order of the list; each is printed when it is known."""
    kept = Kept(plain.parent / "simulated.json", arguments.resume)

    def tried(mutant):
        tree = trees.get()
        try:
            result = kept.result(mutant)
            if not result.is_found() and result.worlds < arguments.seeds:
                try_one(tree, plain, result, arguments)
                kept.keep(result)
            return result
        finally:
            trees.put(tree)

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for result in pool.map(tried, mutants):
            print(f"{result.word():<10}{result.mutant['file']:<42}{result.mutant['what']}  <- {result.text()}", flush=True)
            yield result


def main(arguments):
    arguments = read_arguments(arguments)
    mutants = mutate.read_mutants(LIST.read_text(encoding="utf-8"))
    wrong = list(complaints(mutate.ROOT, mutants))
    if wrong:
        print("\n".join(wrong), file=sys.stderr)
        return 2
    mutants = [m for m in mutants if not arguments.words or any(word in m["what"] for word in arguments.words)]
    plain, *made = [mutate.made_tree(f"simulator-{number}", "-Dtests=disabled") for number in range(arguments.jobs + 1)]
    error = build(plain)
    if error:
        print(error, file=sys.stderr)
        return 1
    trees = queue.SimpleQueue()
    for tree in made:
        trees.put(tree)
    results = list(run_all(mutants, arguments, trees, plain))
    if arguments.page:
        arguments.page.write_text(page(results, arguments.seeds), encoding="utf-8")
    failed = sum(r.has_failed() for r in results)
    known = sum(not r.is_expected() and not r.is_found() and not r.error for r in results)
    print(f"{known} are known not to be found")
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
