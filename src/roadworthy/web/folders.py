"""Folders of runs that pages may show, and the files below them: nothing else is ever read for a page."""

from __future__ import annotations

import re
from pathlib import Path

from roadworthy.errors import InputError
from roadworthy.web.jobs.states import ID
from roadworthy.web.settings import Settings

REPORT = "report.html"
"""The report of a run, in its folder."""
REPORT_POLICY = "sandbox allow-same-origin; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""What a report may do: it brings its own style and pictures, and nothing else; no script runs in it."""

_PICTURES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}
_FILMS = {".webm": "video/webm", ".mp4": "video/mp4", ".gif": "image/gif"}
FILMS = frozenset(_FILMS)
"""How the names of films end."""


def file_below(folder: Path, path: str) -> Path | None:
    """Return a file below a folder; None if there is none, or if it lies elsewhere in truth.

    Links are followed before it is decided, so one that leads out of the folder leads nowhere.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.txt").write_text("a")
        ...     file_below(Path(folder), "a.txt").name, file_below(Path(folder), "../../etc/passwd")
        ('a.txt', None)
    """
    try:
        root = folder.resolve(strict=True)
        found = (root / path).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):
        return None
    return found if found.is_file() and found.is_relative_to(root) and found != root else None


class RunFolders:
    """The folders of runs that a server was told about, by the names that addresses use.

    Args:
        settings: What the server was started with.

    Example:
        >>> RunFolders(Settings(Path("out"), (Path("src"), Path("tests")))).names
        ('src', 'tests')
    """

    def __init__(self, settings: Settings) -> None:
        self._folders: dict[str, Path] = {}
        for folder in settings.runs:
            stem = re.sub(r"[^\w.-]+", "-", folder.resolve().name).strip("-.") or "run"
            name, number = stem, 2
            # What looks like a run of this server is looked for among those.
            while name in self._folders or ID.fullmatch(name):
                name, number = f"{stem}-{number}", number + 1
            self._folders[name] = folder

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in the order in which the folders were given."""
        return tuple(self._folders)

    def folder(self, name: str) -> Path:
        """Return the folder of a run.

        Raises:
            InputError: No run has this name.
        """
        if name not in self._folders:
            raise InputError(f"there is no run {name!r} here: all runs are on the page Runs")
        return self._folders[name]

    @staticmethod
    def media_type(path: Path, *, films: bool = False) -> str | None:
        """Return the type of a picture, or film; None for everything else, which is handed out to be kept."""
        known = _PICTURES | _FILMS if films else _PICTURES
        return known.get(path.suffix.lower())
