"""What a reader of a run should know before relying on it: sentences that its manifest keeps.

::

    notes     run: about all of it; models: by their names, and by the data that they were asked about
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from roadworthy.runs.store.manifest import read_manifest, write_manifest

__all__ = ["ModelNotes", "add_notes", "model_notes", "notes_of"]

ModelNotes = Mapping[str, Mapping[str, Sequence[str]]]
"""What looks wrong with models, by their names and by the names of data; empty where nothing does."""


def add_notes(folder: Path, *, run: Iterable[str] = (), models: ModelNotes | None = None) -> None:
    """Add to what the manifest of a run keeps; nothing is written where all of it is known.

    Args:
        folder: The folder of the run, which has a manifest.
        run: About the run, a sentence each.
        models: About models.

    Raises:
        InputError: The manifest cannot be read or written.

    Example:
        >>> import tempfile
        >>> from roadworthy.runs.store.manifest import begin_manifest
        >>> with tempfile.TemporaryDirectory() as name:
        ...     _ = begin_manifest(Path(name), models={}, data={})
        ...     add_notes(Path(name), models={"dave2": {"town": ["dave2: speed hardly varies"], "coast": []}})
        ...     manifest = read_manifest(Path(name))
        >>> notes_of(manifest), model_notes(manifest)["dave2"]["coast"]
        (['dave2: speed hardly varies'], [])
    """
    manifest = read_manifest(folder)
    if manifest is None:
        return
    before = _told(manifest)
    known = model_notes(manifest)
    added = {
        "run": list(dict.fromkeys([*_sentences(before.get("run")), *run])),
        "models": {
            name: {
                **known.get(name, {}),
                **{data: list(some) for data, some in (models or {}).get(name, {}).items()},
            }
            for name in (*known, *(one for one in models or {} if one not in known))
        },
    }
    if added != before and (added["run"] or added["models"]):
        write_manifest(folder, {**manifest, "notes": added})


def model_notes(manifest: Mapping[str, Any] | None) -> dict[str, dict[str, list[str]]]:
    """Return what a manifest keeps about models, also of those with which nothing looks wrong."""
    models = _told(manifest).get("models")
    return {
        str(name): {str(data): _sentences(some) for data, some in every.items()}
        for name, every in (models.items() if isinstance(models, Mapping) else ())
        if isinstance(every, Mapping)
    }


def notes_of(manifest: Mapping[str, Any] | None) -> list[str]:
    """Return all that a manifest keeps, a sentence each: about the run, then about models."""
    about = (note for every in model_notes(manifest).values() for some in every.values() for note in some)
    return list(dict.fromkeys([*_sentences(_told(manifest).get("run")), *about]))


def _told(manifest: Mapping[str, Any] | None) -> Mapping[str, Any]:
    notes = (manifest or {}).get("notes")
    return notes if isinstance(notes, Mapping) else {}


def _sentences(given: object) -> list[str]:
    return [str(one) for one in given] if isinstance(given, list) else []
