#!/usr/bin/env python3
"""Make the site: the pages of docs/, the manual and pages of the lab as HTML that needs no network and no script.

    site_pages.py BUILD

The pages are copied to BUILD/site-pages and written by MkDocs to BUILD/site. A link to another file of the tree leads to a copy of
that file. MkDocs calls `slug`: headings get the anchors that they have on GitHub.
"""

import pathlib
import posixpath
import re
import shutil
import subprocess
import sys

from command_pages import PARTS as COMMANDS

ROOT = pathlib.Path(__file__).resolve().parent.parent
SECTIONS = {
    "tutorial": "Tutorial", "how-to": "How-to", "reference": "Reference", "man": "Manual", "explanation": "Explanation",
    "lab": "Pages of the lab", "design": "Decisions", "project": "The project", "zh": "中文",
}
PROJECT = {
    "README.md": "index.md", "README.zh-CN.md": "zh/index.md", "examples/README.md": "project/examples.md",
    "bench/peers/README.md": "project/bench-peers.md",
    **{f"{name}.md": f"project/{name.lower()}.md" for name in ("ARCHITECTURE", "CHANGELOG", "CONTRIBUTING", "SECURITY", "STYLE")},
}
MANUAL = ["bowline.1", "bowline-lab.1", "bowline.3", "bowline.7"]
LAB_PAGES = {
    "matrix": (["matrix", "token", "queue", "set-nx-ex", "setnx-del", "setnx-getset"], "Protocols by faults, with each schedule"),
    "set-nx-ex": (["try", "set-nx-ex", "--clients", "3", "--crash", "1"], "SET NX EX and DEL: a late DEL removes the lock of the next holder"),
    "token-reused": (["try", "token-reused", "--loss", "1"], "A lock whose clients use one token again and again"),
    "token": (["try", "token", "--slow", "2"], "The lock of the Redis manual: what a late holder can still do"),
}
LINK = re.compile(r"(?P<text>!?\[(?:[^\]\[]|\[[^\]]*\])*\])\((?P<target>[^()\s#]*)(?P<anchor>#[^()\s]*)?\)")


def slug(text, _):
    """As GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def pages():
    """The page of each source, by its path in the tree."""
    found = dict(PROJECT)
    for page in sorted((ROOT / "docs").rglob("*.md")):
        name = page.relative_to(ROOT / "docs").as_posix()
        found["docs/" + name] = f"zh/{posixpath.basename(name).replace('.zh-CN', '')}" if name.endswith(".zh-CN.md") else name
    return found


class Stage:
    def __init__(self, directory):
        self.directory, self.pages = directory, pages()
        shutil.rmtree(directory, ignore_errors=True)

    def write(self, name, text):
        target = self.directory / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def link(self, source, here, found):
        target, anchor = found["target"], found["anchor"] or ""
        if not target or re.match(r"[a-z]+:", target):
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        path = path + "/README.md" if f"{path}/README.md" in self.pages or f"{path}/README.md" in PROJECT else path
        if path in self.pages:
            there = self.pages[path]
        elif path.endswith(".scd"):
            there = f"man/{posixpath.basename(path)[:-4]}.md"
        elif (ROOT / path).is_file():
            shown = path if path.endswith((".svg", ".png")) else path + ".txt"
            there = "files/" + shown.replace("docs/", "", 1)
            (self.directory / there).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, self.directory / there)
        elif (ROOT / path).is_dir():
            there = "files/" + path.strip("/") + ".txt"
            listed = sorted(each.relative_to(ROOT).as_posix() for each in (ROOT / path).rglob("*") if each.is_file())
            self.write(there, "\n".join(listed) + "\n")
        else:
            sys.exit(f"site_pages.py: {source}: {target} leads nowhere")
        return f"{found['text']}({posixpath.relpath(there, posixpath.dirname(here) or '.')}{anchor})"

    def add(self, source):
        """The page with links of the site, and an empty line before a list, which Python-Markdown needs."""
        here, made, fenced, before = self.pages[source], [], False, ""
        for line in (ROOT / source).read_text(encoding="utf-8").splitlines():
            if line.startswith("```"):
                fenced = not fenced
                line = re.sub(r"^```(console)$", "```", line)
            elif not fenced:
                line = re.sub(r"^(<!--.*-->)$", "", line)
                line = LINK.sub(lambda found: self.link(source, here, found), line)
                if re.match(r"([-*]|\d+\.) ", line) and before.strip() and not re.match(r"([-*]|\d+\.) |\s", before):
                    made.append("")
                line = re.sub(r"^ {2,3}(?=\S)", "    ", line) if re.match(r"[-*\d ]", before or "x") else line
            made.append(line)
            before = line
        self.write(here, "\n".join(made) + "\n")

    def manual(self, build):
        names = [*MANUAL, *(f"bowline-{command}.1" for command in COMMANDS)]
        for name in names:
            words = ["mandoc", "-Thtml", "-O", "fragment", str(build / "docs/man" / name)]
            html = subprocess.run(words, capture_output=True, text=True, check=True).stdout
            html = re.sub(r"<b>([\w-]+)</b>\((\d)\)", lambda m: self.page_of(m, names), html)
            parts = "".join(f'<li><a href="#{part}">{part.replace("_", " ")}</a></li>' for part in re.findall(r'<h1 class="Sh" id="([^"]+)"', html))
            toc = f'<details class="toc"><summary>On this page</summary><ul>{parts}</ul></details>'
            self.write(f"man/{name}.md", f"# {name[:-2]}({name[-1]})\n\n{toc}\n\n<div class=\"man\">\n{html}\n</div>\n")

    def page_of(self, found, names):
        name = f"{found[1]}.{found[2]}"
        if name not in names and not (found[1].startswith("bowline_") and found[2] == "3"):
            return found[0]
        return f'<a href="{name if name in names else "bowline.3"}.html">{found[1]}({found[2]})</a>'

    def lab(self, build):
        """Each is a page of its own, which the lab writes."""
        lines = ["# Pages of the lab", "", "Written by `bowline lab`. Step through a schedule with the keys; without scripts the pages show the diagrams.", ""]
        (self.directory / "lab").mkdir()
        program, kept = (build / "bowline-lab").resolve(), build / "site-lab"
        kept.mkdir(exist_ok=True)
        for name, (words, title) in LAB_PAGES.items():
            made = kept / f"{name}-page.html"
            if not made.exists() or made.stat().st_mtime < program.stat().st_mtime:
                subprocess.run([program, *words, "--html", made.resolve()], check=False, stdout=subprocess.DEVNULL)
            shutil.copyfile(made, self.directory / "lab" / made.name)
            lines += [f"- [{title}]({name}-page.html): `bowline lab {' '.join(words)} --html`"]
        self.write("lab/index.md", "\n".join(lines) + "\n")

    def nav(self):
        """Sections in their order, and each with its pages by title."""
        lines = ["nav:", "  - Home: index.md"]
        for section, title in SECTIONS.items():
            found = sorted((self.directory / section).rglob("*.md"))
            lines += [f"  - {title}:"]
            entries = []
            for page in found:
                heading = re.search(r"^# (.+)$", page.read_text(encoding="utf-8"), re.M)
                entries.append((page.name != "index.md", (heading[1] if heading else page.stem).replace("`", ""), page.relative_to(self.directory).as_posix()))
            lines += [f"    - {name!r}: {path}" for _, name, path in sorted(entries)]
        return "\n".join(lines)


def main(build):
    build = pathlib.Path(build)
    stage = Stage(build / "site-pages")
    for source in stage.pages:
        stage.add(source)
    stage.manual(build)
    stage.lab(build)
    shutil.copyfile(ROOT / "docs/theme/style.css", stage.directory / "style.css")
    configuration = f"""site_name: bowline
docs_dir: site-pages
site_dir: site
use_directory_urls: false
theme: {{name: null, custom_dir: {ROOT / 'docs/theme'}}}
plugins: []
markdown_extensions:
  - tables
  - fenced_code
  - sane_lists
  - toc:
      slugify: !!python/name:site_pages.slug
{stage.nav()}
"""
    (build / "mkdocs.yml").write_text(configuration, encoding="utf-8")
    environment = {"PYTHONPATH": str(ROOT / "tools"), "PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(["mkdocs", "build", "--quiet", "--clean", "--strict", "-f", str(build / "mkdocs.yml")], env=environment, check=False)
    return done.returncode


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
