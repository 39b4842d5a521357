"""Files outside docs/ that pages link to become pages of the site, so that no link leads out of it.

On a code host ``[…](../examples/bbsl)`` shows the folder. The site has no such folder: here the link leads to
a page with the list of its files, and each of those to a page with its text.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

REPOSITORY = Path(__file__).resolve().parents[2]
DOCS = REPOSITORY / "docs"
FOLDER = "files"
LANGUAGES = {".yaml": "yaml", ".yml": "yaml", ".py": "python", ".json": "json", ".toml": "toml"}
LESS = "---\nsearch:\n  boost: 0.2\n---\n"
"""Pages that explain are found before those that only show a file."""
_LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)#\s]+)")


def outside(link: str, origin: Path) -> Path | None:
    """Return the file or folder of the repository that a link leads to, unless it is a part of docs/."""
    target = Path(os.path.normpath(origin.parent / link))
    if not target.is_relative_to(REPOSITORY) or target.is_relative_to(DOCS) or not target.exists():
        return None
    return target


def page_of(target: Path) -> str:
    """Return the name of the page that shows a file or a folder."""
    name = target.relative_to(REPOSITORY).as_posix()
    if target.is_dir():
        return f"{FOLDER}/{name}/index.md"
    return f"{FOLDER}/{name}" if target.suffix == ".md" else f"{FOLDER}/{name}.md"


def origin_of(page: str) -> Path:
    """Return the file of the repository that a page is made of."""
    if not page.startswith(f"{FOLDER}/"):
        return DOCS / page
    return REPOSITORY / page.removeprefix(f"{FOLDER}/")


def members(folder: Path) -> list[Path]:
    """Return what lies in a folder, without what tools leave there."""
    return sorted(one for one in folder.iterdir() if not one.name.startswith((".", "__")))


def text_of(target: Path) -> str:
    """Return the Markdown of the page about a file or a folder."""
    if target.suffix == ".md":
        return target.read_text("utf-8")
    name = target.relative_to(REPOSITORY).as_posix()
    if target.is_dir():
        here = PurePosixPath(page_of(target)).parent
        links = [
            f"- [{one.name}{'/' if one.is_dir() else ''}]({PurePosixPath(page_of(one)).relative_to(here)})"
            for one in members(target)
        ]
        return f"{LESS}# {name}/\n\n" + "\n".join(links) + "\n"
    language = LANGUAGES.get(target.suffix, "text")
    return (
        f"{LESS}# {target.name}\n\n`{name}`\n\n````{language}\n{target.read_text('utf-8').rstrip()}\n````\n"
    )


def linked(origin: Path) -> list[Path]:
    """Return all files and folders outside docs/ that a document links to."""
    found = (outside(link, origin) for link in _LINK.findall(origin.read_text("utf-8")))
    return [target for target in found if target is not None]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each file that some page links to, and for what those link to."""
    waiting = [target for file in files.documentation_pages() for target in linked(DOCS / file.src_uri)]
    done: set[Path] = set()
    while waiting:
        target = waiting.pop()
        if target in done:
            continue
        done.add(target)
        files.append(File.generated(config, page_of(target), content=text_of(target)))
        if target.is_dir():
            waiting += members(target)
        elif target.suffix == ".md":
            waiting += linked(target)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links to such files to their pages."""
    del config, files
    origin = origin_of(page.file.src_uri)
    if page.file.src_uri.startswith(f"{FOLDER}/") and origin.suffix != ".md":
        return markdown
    if not origin.is_file():  # a page that another hook has made
        return markdown
    here = PurePosixPath(page.file.src_uri).parent

    def led(found: re.Match[str]) -> str:
        target = outside(found[1], origin)
        if target is not None:
            return os.path.relpath(page_of(target), here)
        inside = Path(os.path.normpath(origin.parent / found[1]))
        if origin.is_relative_to(DOCS) or not inside.is_relative_to(DOCS):
            return found[1]
        # Of a document outside docs/, a link into it must find its way from the page's new place.
        return os.path.relpath(inside.relative_to(DOCS), here)

    return _LINK.sub(led, markdown)
