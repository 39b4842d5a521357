"""The README for a package index, where the files that ours links to are not: a build hook of hatchling.

Relative links lead nowhere on a package index, and relative pictures show nothing. Where the project has the
address ``Documentation`` they lead there. Without one they are left out: words stay, pictures go with their
captions. And who reads it on an index installs from there, not from a clone.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

INSTALLED = {
    "$ make demo && source .venv/bin/activate": "$ pip install roadworthy && roadworthy demo",
    "Python 3.11 or newer and make;": "Python 3.11 or newer;",
    "sets up `.venv`, which takes about three minutes,": "installs it, in about three minutes,",
}
"""What the README says to those who have a clone, and what it says to others."""
WITHOUT = "\n*The pages that are spoken of here, with pictures, lie in the folder `docs` of the source.*\n"
_PICTURE = re.compile(r"^!\[[^\]]*\]\((?!\w+:)[^)]+\)\n+(?:\*[^*]+\*\n+)?", re.M)
_LINKS_ALONE = re.compile(r"^## Read on\n.*?(?=^## |^Apache|\Z)", re.M | re.S)
_LINK = re.compile(r"\[([^\]]*)\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")


class PackageReadme(MetadataHookInterface):
    """Gives the package its README."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the field ``readme``."""
        text = Path(self.root, "README.md").read_text("utf-8")
        address = metadata.get("urls", {}).get("Documentation")
        metadata["readme"] = {"content-type": "text/markdown", "text": package_readme(text, address)}


def package_readme(text: str, documentation: str | None = None) -> str:
    """Return a README whose links all lead somewhere, wherever it is shown.

    Raises:
        ValueError: What it says to those who have a clone is no longer in it.
    """
    for cloned, installed in INSTALLED.items():
        if cloned not in text:
            raise ValueError(f"README.md no longer says {cloned!r}: change scripts/package_readme.py as well")
        text = text.replace(cloned, installed)
    if documentation is not None:
        address = documentation.rstrip("/")
        return _LINK.sub(lambda link: f"[{link[1]}]({address}/{page_of(link[2])}{link[3] or ''})", text)
    text = _LINKS_ALONE.sub("", _PICTURE.sub("", text))
    return _LINK.sub(lambda link: link[1], text).rstrip() + "\n" + WITHOUT


def page_of(path: str) -> str:
    """Return where the site has a file of the repository, see docs/hooks/repository_files.py."""
    name = path.removeprefix("docs/") if path.startswith("docs/") else f"files/{path}"
    folder, file = os.path.split(name)
    if file == "README.md":
        return f"{folder}/index.html" if folder else "index.html"
    if not path.startswith("docs/") and not file.endswith(".md"):
        return f"{name}.html"
    return re.sub(r"\.md$", ".html", name)
