#!/usr/bin/env python3
"""Draw the terminals of a page as a moving picture: a recording of what tools/shell_page.py has typed.

    terminal_svg.py PAGE UNTIL > SVG

The blocks up to the heading UNTIL are played in their order, each in its terminal. The picture needs no script: CSS shows line after
line, and the last state stays. With reduced motion, and where CSS does not move anything, it shows that state at once.
"""

import html
import pathlib
import re
import sys

from shell_page import BLOCK, commands_of

COLUMNS, CHAR, LINE, PAD, HEAD = 96, 7.83, 18, 10, 24
TYPED_S, COMMAND_S, LINE_S, TURN_S = 0.028, 0.5, 0.12, 0.9
STYLE = """text{font:13px ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;fill:#d6dde6;white-space:pre}
.head{fill:#8a96a3;font-size:12px}.typed{fill:#ffffff;font-weight:600}rect{fill:#171c22;stroke:#39424c}
@keyframes show{from{opacity:0}to{opacity:1}}.line{animation:show .01s linear both}
@media(prefers-reduced-motion:reduce){.line{animation:none}}"""


def lines_of(page, until):
    """Each line with its terminal, its time and whether it was typed."""
    now = 0.6
    for found in BLOCK.finditer(page.partition(f"\n## {until}\n")[0]):
        terminal = found["head"].partition(",")[0]
        for command, output in commands_of(found["body"]):
            for text in ["$ " + line for line in (command or "").splitlines()]:
                yield terminal, now, True, text
                now += COMMAND_S + TYPED_S * len(text)
            for text in output.splitlines():
                yield terminal, now, False, text
                now += LINE_S
        now += TURN_S


def drawn(page, until):
    panes = {}
    for terminal, when, typed, text in lines_of(page, until):
        panes.setdefault(terminal, []).append((when, typed, text[:COLUMNS]))
    width, top, made = round(COLUMNS * CHAR + 2 * PAD), 0, []
    for terminal, lines in panes.items():
        height = HEAD + LINE * len(lines) + PAD
        made += [f'<rect x=".5" y="{top + .5}" width="{width - 1}" height="{height - 1}" rx="6"/>']
        made += [f'<text class="head" x="{PAD}" y="{top + 16}">terminal {terminal}</text>']
        for at, (when, typed, text) in enumerate(lines):
            place = f'x="{PAD}" y="{top + HEAD + LINE * at + 13}" style="animation-delay:{when:.2f}s"'
            made += [f'<text class="line{" typed" if typed else ""}" {place}>{html.escape(text, quote=False)}</text>']
        top += height + 8
    size = f'width="{width}" height="{top - 8}" viewBox="0 0 {width} {top - 8}"'
    title = "Terminals in which commands run under a lock, and a holder is killed"
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img"><title>{title}</title><style>{STYLE}</style>\n' + "\n".join(made) + "\n</svg>\n"


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.stdout.write(drawn(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"), sys.argv[2]))
