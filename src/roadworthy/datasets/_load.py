"""Opening any data set by one spelling."""

from __future__ import annotations

from roadworthy._options import checked_options, takes_path
from roadworthy.cases import Dataset
from roadworthy.errors import InputError
from roadworthy.registry import datasets

__all__ = ["load"]


def load(reference: str, /, **options: object) -> Dataset:
    """Open a data set.

    Args:
        reference: The name of a reader, and after a colon the path it reads: ``"world:town"``.
        options: The reader's options; text is converted to what the option takes.

    Raises:
        UnknownNameError: No reader has this name.
        InputError: The path or an option cannot be used.

    Example:
        >>> data = load("world:town", weather="rain", time="night", count="24")
        >>> len(data), data.name
        (24, 'world:town')
        >>> load("wrold")
        Traceback (most recent call last):
        ...
        roadworthy.errors.UnknownNameError: datasets has no 'wrold'; did you mean 'world'?
    """
    name, _, path = reference.partition(":")
    if not name:
        raise InputError(f"a data set is written name or name:path, such as 'world:town', got {reference!r}")
    reader = datasets.get(name)
    wanted = takes_path(reader)
    if path and wanted == "never":
        raise InputError(f"{name!r} takes no path, got {path!r}: write {name!r} alone")
    if not path and wanted == "always":
        raise InputError(f"{name!r} needs a path: write '{name}:path/to/data'")
    checked = checked_options(name, reader, options)
    dataset = reader(path, **checked) if path else reader(**checked)
    if not isinstance(dataset, Dataset):
        raise InputError(
            f"{name!r} must give a data set with name, len, [] and iteration, got {type(dataset).__name__}"
        )
    return dataset
