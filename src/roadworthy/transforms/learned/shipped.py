"""The learned engines that come with Roadworthy, trained on its built-in world."""

from __future__ import annotations

from pathlib import Path

from roadworthy.errors import InputError, suggest
from roadworthy.transforms.learned.card import CARD
from roadworthy.transforms.learned.engine import LearnedEngine

__all__ = ["engine_folder", "shipped_engines", "shipped_folder", "shipped_names"]


def shipped_folder() -> Path:
    """Return the folder in which the engines that come with Roadworthy lie, each in its own."""
    return Path(__file__).parent / "engines"


def shipped_names() -> tuple[str, ...]:
    """Return the names of the engines that come with this installation."""
    return tuple(sorted(path.parent.name for path in shipped_folder().glob(f"*/{CARD}")))


def shipped_engines() -> tuple[LearnedEngine, ...]:
    """Open all engines that come with this installation.

    Raises:
        InputError: One is broken.
    """
    return tuple(LearnedEngine.open(shipped_folder() / name) for name in shipped_names())


def engine_folder(which: str | Path, beside: Path | None = None) -> Path:
    """Return the folder of an engine that is named by its folder, or by its name if it is shipped.

    Args:
        which: The folder or the name.
        beside: What the folder is relative to; the current folder when left out.

    Raises:
        InputError: There is neither.
    """
    folder = (beside or Path()) / which
    if folder.is_dir():
        return folder
    if str(which) in shipped_names():
        return shipped_folder() / which
    known = shipped_names()
    told = suggest(str(which), known) if known else "this installation comes with none"
    raise InputError(f"there is no folder {folder} and no learned engine {str(which)!r}: {told}")
