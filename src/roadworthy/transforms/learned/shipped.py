"""The learned engines that come with Roadworthy, trained on its built-in world."""

from __future__ import annotations

from pathlib import Path

from roadworthy._files import is_folder
from roadworthy.errors import InputError, suggest
from roadworthy.transforms.learned.card import CARD
from roadworthy.transforms.learned.engine import LearnedEngine

__all__ = ["engine_folder", "nearer_engines", "shipped_engines", "shipped_folder", "shipped_names"]


def shipped_folder() -> Path:
    """Return the folder in which the engines that come with Roadworthy lie, each in its own."""
    return Path(__file__).parent / "engines"


def shipped_names() -> tuple[str, ...]:
    """Return the names of the engines that come with this installation."""
    return tuple(sorted(path.parent.name for path in shipped_folder().glob(f"*/{CARD}")))


def shipped_engines() -> tuple[LearnedEngine, ...]:
    """Open all engines that come with this installation, for frames of the built-in world.

    Raises:
        InputError: One is broken.
    """
    return tuple(
        LearnedEngine.open(shipped_folder() / name, only_its_domain=True) for name in shipped_names()
    )


def nearer_engines() -> tuple[LearnedEngine, ...]:
    """Open those of them that were measured to come nearer to the truth than what is built in.

    Raises:
        InputError: There is none, or one is broken.
    """
    if not (every := shipped_engines()):
        raise InputError("this installation comes with no learned engines: give a file of engines")
    found = tuple(one for one in every if one.card.is_nearer)
    if not found:
        raise InputError(
            "none of the learned engines that come with this installation was measured to be nearer to the "
            "truth than what is built in: name those that you want in an engines file"
        )
    return found


def engine_folder(which: str | Path, beside: Path | None = None) -> Path:
    """Return the folder of an engine that is named by its folder, or by its name if it is shipped.

    Args:
        which: The folder or the name.
        beside: What the folder is relative to; the current folder when left out.

    Raises:
        InputError: There is neither.
    """
    folder = (beside or Path()) / which
    if is_folder(folder):
        return folder
    if str(which) in shipped_names():
        return shipped_folder() / which
    known = shipped_names()
    told = suggest(str(which), known) if known else "this installation comes with none"
    raise InputError(f"there is no folder {folder} and no learned engine {str(which)!r}: {told}")
