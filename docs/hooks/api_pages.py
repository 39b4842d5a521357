"""Pages of the API reference: one for each public package, and for each module that a document imports from.

The pages only say which names stand on them; mkdocstrings reads their docstrings from the source.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import griffe
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

DOCS = Path(__file__).resolve().parents[1]
SOURCE = DOCS.parent / "src"
ROOT = "roadworthy"
INSIDES = ("cli", "web", "pytest_plugin", "examples")
"""Rooms whose face is no API: commands, pages and a plugin."""
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)
_IMPORT = re.compile(r"^\s*from (roadworthy[\w.]*) import", re.M)


def imported() -> set[str]:
    """Return the modules that the Python of the documents imports from."""
    found: set[str] = set()
    for page in DOCS.rglob("*.md"):
        for block in _BLOCK.findall(page.read_text("utf-8")):
            found.update(_IMPORT.findall(block))
    return found


def public_modules(root: griffe.Module, shown: set[str]) -> dict[str, griffe.Module]:
    """Return the modules that get a page: public packages, and what documents import from."""
    found: dict[str, griffe.Module] = {}
    waiting = [root]
    while waiting:
        module = waiting.pop()
        inner = [one for one in module.modules.values() if not one.is_alias]
        waiting += [one for one in inner if not one.name.startswith("_") and one.name not in INSIDES]
        single = module.parent is root
        if module.exports and (module.is_init_module or single or module.path in shown):
            found[module.path] = module
    return dict(sorted(found.items()))


def owners(modules: dict[str, griffe.Module]) -> dict[str, dict[str, str]]:
    """Return, for each page, its names and the page on which each is described.

    A name that several packages export is described once, where it is nearest to its home.
    """
    nearest: dict[str, str] = {}
    canonical: dict[tuple[str, str], str] = {}
    for path, module in modules.items():
        for name in map(str, module.exports or ()):
            home = module.members[name].canonical_path if name in module.members else f"{path}.{name}"
            canonical[path, name] = home
            if home not in nearest or (home.startswith(f"{path}.") and len(path) > len(nearest[home])):
                nearest[home] = path
    pages: dict[str, dict[str, str]] = {path: {} for path in modules}
    for (path, name), home in canonical.items():
        pages[path][name] = nearest[home]
    return pages


def summary(module: griffe.Module) -> str:
    """Return the first sentence of a module's docstring."""
    text = module.docstring.value if module.docstring else ""
    return " ".join(text.split("\n\n")[0].split())


def page(module: griffe.Module, names: dict[str, str]) -> str:
    """Return the text of a page."""
    own = [name for name, owner in names.items() if owner == module.path]
    lines = [f"# {module.path.removeprefix(f'{ROOT}.')}", "", f"`from {module.path} import …`", ""]
    if own or module.docstring:
        members = ", ".join(f'"{name}"' for name in own)
        lines += [f"::: {module.path}", "    options:", f"      members: [{members}]", ""]
    others = {name: owner for name, owner in names.items() if owner != module.path}
    if others:
        listed = [f"[`{name}`]({owner}.md)" for name, owner in others.items()]
        lines += ["**Also here**, described elsewhere: " + " · ".join(listed), ""]
    return "\n".join(lines)


def index(modules: dict[str, griffe.Module]) -> str:
    """Return the page that lists all others."""
    lines = ["# API reference", "", "Everything public, by where it is imported from.", ""]
    for path, one in modules.items():
        indent = "    " * max(0, path.count(".") - 1)
        lines.append(f"{indent}- [`{path}`]({path}.md): {summary(one)}")
    return "\n".join(lines) + "\n"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages, unless SITE_API=false: they are most of the time that a build takes."""
    if os.environ.get("SITE_API") == "false":
        config.nav = [entry for entry in config.nav or [] if "API" not in entry]
        return files
    # Packages load lazily, so griffe sees only what their source says; nothing is imported.
    root = griffe.load(ROOT, search_paths=[str(SOURCE)], allow_inspection=False)
    assert isinstance(root, griffe.Module)
    modules = public_modules(root, imported())
    pages = owners(modules)
    files.append(File.generated(config, "api/index.md", content=index(modules)))
    for path, module in modules.items():
        files.append(File.generated(config, f"api/{path}.md", content=page(module, pages[path])))
    _add_to_nav(config, list(modules))
    return files


def _add_to_nav(config: MkDocsConfig, paths: list[str]) -> None:
    """Put the pages where the navigation says "API", grouped by room."""
    rooms: dict[str, list[str]] = {}
    for path in paths:
        rooms.setdefault(path.split(".")[1] if "." in path else path, []).append(path)
    entries: list[object] = ["api/index.md"]
    for room, members in rooms.items():
        listed: list[object] = [{one.removeprefix(f"{ROOT}."): f"api/{one}.md"} for one in members]
        entries += listed if len(members) == 1 else [{room: listed}]
    for entry in config.nav or []:
        if isinstance(entry, dict) and "API" in entry:
            entry["API"] = entries
