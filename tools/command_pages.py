#!/usr/bin/env python3
"""Make the manual page of one command, bowline-COMMAND(1), from that of all, bowline(1).

    command_pages.py COMMAND TABLE bowline.1.scd

It has the parts of bowline(1) that belong to the command: each paragraph and option once, in one source. TABLE is the output of
the table of options: it has a line about each command.
"""

import re
import sys

PARTS = {
    "run": ["DESCRIPTION", "OPTIONS", "SHARED HOLDS AND PERMITS", "SEVERAL NAMES", "ONCE PER PERIOD", "METRICS", "STOPPING"],
    "elect": ["ELECTION", "STOPPING"], "observe": ["OBSERVE"],
    "hold": ["HOLD", "TICKETS"], "release": ["HOLD"], "who": ["WHO"], "ls": ["LS"], "top": ["TOP"],
    "watch": ["WATCH"], "break": ["BREAK"], "fence": ["FENCES"], "caps": ["CAPABILITIES"], "acl": ["ACL"], "doctor": ["DOCTOR"],
    "version": ["VERSION"],
}
SHARED = ["EXIT STATUS", "ENVIRONMENT", "FILES"]
ONLY_THERE = ["NAME", "SYNOPSIS", "LAB", "JSON", "SIGNALS", "EXAMPLES", "SEE ALSO"]  # bowline(1) is the place of these


def sections_of(text):
    pieces = re.split(r"^# (.+)$", text, flags=re.M)
    return dict(zip(pieces[1::2], pieces[2::2]))


def page(command, about, text):
    there = sections_of(text)
    if missing := [name for name in [*PARTS[command], *SHARED] if name not in there]:
        raise ValueError(f"bowline(1) has no part {', '.join(missing)}")
    (usage,) = re.findall(rf"^(\*bowline {command}\*.*?)(?:\+\+)?$", there["SYNOPSIS"], re.M)
    first, *more = [(name, there[name].strip()) for name in PARTS[command]]
    made = [f"bowline-{command}(1)", "# NAME", f"bowline-{command} - {about}", "# SYNOPSIS", usage, "# DESCRIPTION", first[1]]
    for name, body in [*more, *((name, there[name].strip()) for name in SHARED)]:
        made += [f"# {name}", body]
    return "\n\n".join([*made, "# SEE ALSO", "*bowline*(1) has all commands and examples, *bowline*(7) the URLs."]) + "\n"


def main(command, table, source):
    with open(table, encoding="utf-8") as lines:
        about = {line.split("\t")[1]: line.rstrip("\n").split("\t")[-1] for line in lines if line.startswith("command\t")}
    with open(source, encoding="utf-8") as text:
        sys.stdout.write(page(command, about[command], text.read()))


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in PARTS:
        sys.exit(__doc__)
    main(*sys.argv[1:])
