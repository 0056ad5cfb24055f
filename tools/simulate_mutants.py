#!/usr/bin/env python3
"""Plant the faults of sim/mutants.txt, one at a time, in a copy of the tree, and run simulated worlds until one fails.

    tools/simulate_mutants.py                 all of them, each in the worlds of the seeds 1, 2, ... 400
    tools/simulate_mutants.py WORD ...        those whose description holds one of the words
    tools/simulate_mutants.py --seeds 50      so many worlds at most
    tools/simulate_mutants.py --all           also the faults that need a world which no seed gives yet
    tools/simulate_mutants.py --table FILE    writes the results as a table in Markdown, too
    tools/simulate_mutants.py --jobs N        so many copies of the tree, in build-mutants/ or in $MUTANTS_DIR

Prints one line for each fault: whether a world failed, which one, and by which check. Ends with 1 if a fault that should be found
was not found or does not compile, or if a world fails without a fault.
"""

import argparse
import concurrent.futures
import os
import pathlib
import queue
import re
import subprocess
import sys

import mutate

LIST = mutate.ROOT / "sim" / "mutants.txt"
FIELDS = ("file", "old", "new", "found")
SEEDS = 400
PATIENCE_S = 60  # for one world: a fault may make it endless, which counts as found
NEEDS_WORLD = "no, needs a world "  # the beginning of `found:` for what no seed can reach yet


def complaints(root, mutants):
    """The errors in a list: a mutant that cannot be planted, or that does not say whether it is found."""
    for m in mutants:
        yield from mutate.planting_complaints(root, m, FIELDS)
        if "found" in m and m["found"] != "yes" and not re.fullmatch(r"no, \S.+", m["found"]):
            yield f"{m['what']}: found is yes, or no and why"


def build(tree):
    """None, or why it does not compile."""
    built = subprocess.run(
        ["ninja", "-j1", "-C", str(tree / "build"), "bowline-sim"], capture_output=True, text=True, check=False
    )
    return None if built.returncode == 0 else built.stdout[-400:]


def failure_of(tree, seed):
    """What the world of a seed says when it fails; None: it passes."""
    command = [str(tree / "build" / "bowline-sim"), "--seed", str(seed)]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        return f"endless: no end within {PATIENCE_S} s"
    if ran.returncode == 0:
        return None
    failed = re.search(rf"^seed {seed}: (.+?); [\d.]+ virtual s, ", ran.stdout, re.M)
    asserted = re.search(r": Assertion `(.+)' failed", ran.stderr)
    if failed:
        return failed.group(1)
    if asserted:
        return f"assertion: {asserted.group(1)}"
    return f"signal: {-ran.returncode}" if ran.returncode < 0 else f"status: it ends with {ran.returncode}"


class Result:
    def __init__(self, mutant):
        self.mutant = mutant
        self.seed = None  # of the world that failed
        self.worlds = 0  # that were run
        self.failure = ""
        self.error = ""  # of the compiler
        self.is_left_out = False

    def check(self):
        return self.failure.partition(":")[0]

    def is_expected(self):
        return self.mutant["found"] == "yes"

    def has_failed(self):
        return bool(self.error) or (self.is_expected() and self.seed is None)

    def text(self):
        if self.error:
            return f"DOES NOT COMPILE: {self.error}"
        if self.is_left_out:
            return f"left out: {self.mutant['found']}"
        if self.seed is not None:
            note = "" if self.is_expected() else f" (the list says {self.mutant['found']})"
            return f"seed {self.seed}, world {self.worlds}: {self.failure}{note}"
        return f"in {self.worlds} worlds: the list says {self.mutant['found']}"

    def word(self):
        if self.is_left_out:
            return "-"
        return "found" if self.seed is not None else "NOT FOUND" if self.has_failed() else "not found"


def try_one(tree, mutant, seeds, is_left_out):
    result = Result(mutant)
    result.is_left_out = is_left_out
    with mutate.planted(tree, mutant):
        result.error = build(tree) or ""
        if result.error or is_left_out:
            return result
        for seed in seeds:
            result.worlds += 1
            failure = failure_of(tree, seed)
            if failure:
                result.seed, result.failure = seed, failure
                break
    return result


def failing_worlds(tree, seeds, pool):
    """Of the tree as it is."""
    for seed, failure in zip(seeds, pool.map(lambda seed: failure_of(tree, seed), seeds)):
        if failure:
            yield f"seed {seed}: {failure}"


def write_table(path, results):
    lines = ["| fault | file | check | seed | worlds |", "|---|---|---|---|---|"]
    for r in results:
        if r.seed is not None:
            check, seed, worlds = r.check(), r.seed, r.worlds
        else:
            check, seed, worlds = f"none: {r.mutant['found'].removeprefix('no, ')}", "", r.worlds or ""
        lines.append(f"| {r.mutant['what']} | `{r.mutant['file']}` | {check} | {seed} | {worlds} |")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def read_arguments(arguments):
    parser = argparse.ArgumentParser(description="Plant faults, and run simulated worlds until one fails.")
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--table", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    return parser.parse_args(arguments)


def run_all(mutants, arguments, pool, trees):
    """The results, in the order of the list; each is printed when it is known."""

    def tried(mutant):
        tree = trees.get()
        try:
            is_left_out = mutant["found"].startswith(NEEDS_WORLD) and not arguments.all
            return try_one(tree, mutant, range(1, arguments.seeds + 1), is_left_out)
        finally:
            trees.put(tree)

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
    trees = queue.SimpleQueue()
    made = [mutate.made_tree(f"simulator-{number}", "-Dtests=disabled") for number in range(arguments.jobs)]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        error = build(made[0])
        failing = [error] if error else list(failing_worlds(made[0], range(1, arguments.seeds + 1), pool))
        if failing:
            print("\n".join(["without a fault:"] + failing), file=sys.stderr)
            return 1
        for tree in made:
            trees.put(tree)
        results = list(run_all(mutants, arguments, pool, trees))
    if arguments.table:
        write_table(arguments.table, results)
    failed = sum(r.has_failed() for r in results)
    left_out = sum(r.is_left_out and not r.error for r in results)
    known = sum(not r.is_expected() and not r.is_left_out and r.seed is None and not r.error for r in results)
    print(f"{known} are known not to be found, {left_out} need a world that no seed gives yet")
    print(f"{len(results) - failed - left_out} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
