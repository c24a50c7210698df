"""What the site has beside the pages of docs/: the README and its kin, the options of every command, the reference of the
API and the files that pages link to. Links that leave docs/ in the tree thus stay inside the site.

TULLE_BINARY is the command line, TULLE_API the folder that Doxygen wrote."""

import os
import pathlib
import posixpath
import re
import subprocess

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
OUTSIDE = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "examples/cardiac/README.md": "cardiac.md",
}  # in the tree: in the site
WIDE = """.md-grid { max-width: 84rem; }
.md-typeset table:not([class]) th { min-width: 0; }
.md-typeset table:not([class]) td, .md-typeset table:not([class]) th { padding: .4em .7em; }
"""
LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s]+)(\))")
FENCE = re.compile(r"^(```.*?^```$)", re.MULTILINE | re.DOTALL)
LIST = re.compile(r"^([^-*>|#\s].*\n)(?=- )", re.MULTILINE)  # right after a paragraph, as repositories show it
HELP = re.compile(r"<!-- help: (.+?) -->")


def tulle(*arguments):
    """What the command line prints, at the width of a page."""
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [os.environ["TULLE_BINARY"], *arguments], capture_output=True, text=True, check=False, env=environment
    )
    if done.returncode:
        raise PluginError(f"tulle {' '.join(arguments)}: {done.stderr}")
    return done.stdout


def commands():
    """The names of all commands, as the list of `tulle --help` has them: one a line, indented, words behind it."""
    names = re.findall(r"^  ([a-z]+)  +\S", tulle("--help"), re.MULTILINE)
    return [name for name in dict.fromkeys(names) if name != "help"]


def on_files(files, config):
    def add(uri, **source):
        files.append(File.generated(config, uri, **source))

    add("wide.css", content=WIDE)
    for outside, uri in OUTSIDE.items():
        add(uri, content=(ROOT / outside).read_text())
    for command in commands():
        if not (DOCS / f"commands/{command}.md").exists():
            add(f"commands/{command}.md", content=f"# tulle {command}\n\n<!-- help: {command} -->\n")
    for folder, title in (("notes", "Notes: what was tried and measured"), ("adr", "Decisions")):
        pages = sorted((DOCS / folder).glob("0*.md"))
        lines = [f"- [{page.read_text().splitlines()[0].lstrip('# ')}]({page.name})" for page in pages]
        add(f"{folder}/index.md", content=f"# {title}\n\n" + "\n".join(lines) + "\n")
    api = pathlib.Path(os.environ["TULLE_API"])
    for file in sorted(api.rglob("*")):
        if file.is_file():
            add(f"api/{file.relative_to(api).as_posix()}", abs_src_path=str(file))
    for page in [file for file in files if file.src_uri.endswith(".md")]:
        for target in links(page.content_string):
            if (path := in_tree(page.src_uri, target)) and not in_site(path):
                for uri, source in copies(path):
                    if files.get_file_from_path(uri) is None:
                        add(uri, **source)
    config.nav = [expanded(entry, files) for entry in config.nav]
    return files


def expanded(entry, files):
    """An entry of the navigation, with the pages of a folder in place of its name; its index first."""
    if isinstance(entry, dict):
        ((title, value),) = entry.items()
        if isinstance(value, list):
            return {title: [expanded(e, files) for e in value]}
        if value.endswith("/"):
            pages = [f.src_uri for f in files if f.src_uri.startswith(value) and f.src_uri.endswith(".md")]
            return {title: sorted(pages, key=lambda uri: (not uri.endswith("/index.md"), uri))}
    return entry


def links(markdown):
    """The targets of links outside of fenced blocks, without anchors."""
    prose = FENCE.sub("", markdown)
    return [target.split("#")[0] for _, target, _ in LINK.findall(prose) if not re.match(r"[a-z]+:|#", target)]


def in_tree(page, target):
    """The path in the tree that a page of the site links to; None for the reference, which is in the site alone."""
    page = next((outside for outside, uri in OUTSIDE.items() if uri == page), f"docs/{page}")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
    if path.startswith("docs/api/"):
        return None
    if not (ROOT / path).exists() and not (path.startswith("docs/commands/") and path.endswith(".md")):
        raise PluginError(f"{page} links to {target}: there is no {path}")
    return path


def in_site(path):
    """The page of the site that shows a file of the tree; None where it is copied."""
    if path in OUTSIDE:
        return OUTSIDE[path]
    if path in ("docs/notes", "docs/adr"):
        return f"{path[5:]}/index.md"
    return path[5:] if path.startswith("docs/") else None


def copies(path):
    """The file, or the list of a folder's, under the name that it has in the site."""
    if (ROOT / path).is_dir():
        names = sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / path).rglob("*") if p.is_file())
        yield f"source/{path}.txt", {"content": "\n".join(names) + "\n"}
    elif path.endswith((".json", ".svg", ".png")):
        yield f"source/{path}", {"abs_src_path": str(ROOT / path)}
    else:  # a browser shows it
        yield f"source/{path}.txt", {"content": (ROOT / path).read_text()}


def on_page_markdown(markdown, page, config, files):
    here = page.file.src_uri

    def moved(match):
        before, target, after = match.groups()
        if re.match(r"[a-z]+:|#", target):
            return match.group()
        target, hash_sign, anchor = target.partition("#")
        path = in_tree(here, target)
        if path is None:
            return match.group()
        uri = in_site(path) or next(copies(path))[0]
        return before + posixpath.relpath(uri, posixpath.dirname(here) or ".") + hash_sign + anchor + after

    def help_of(match):
        command = match.group(1)
        return f"```console\n$ tulle {command} --help\n{tulle(*command.split(), '--help').rstrip()}\n```"

    parts = [
        part if part.startswith("```") else LIST.sub(r"\1\n", LINK.sub(moved, part)) for part in FENCE.split(markdown)
    ]
    return HELP.sub(help_of, "".join(parts))
