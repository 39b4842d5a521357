"""Opening any data set by one spelling."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from roadworthy._files import is_file, is_folder
from roadworthy._options import checked_options, options_of, takes_path
from roadworthy.cases import Dataset
from roadworthy.errors import InputError, UnknownNameError
from roadworthy.registry import datasets

__all__ = ["fitting_options", "load", "load_fitting", "reader_for"]


def reader_for(reference: str) -> Callable[..., Any]:
    """Return the reader that a reference names.

    Raises:
        UnknownNameError: No reader has this name; says what to write where it is a path alone.
        InputError: There is no name.
    """
    name = reference.partition(":")[0]
    if not name:
        raise InputError(f"a data set is written name or name:path, such as 'world:town', got {reference!r}")
    try:
        return datasets.get(name)
    except UnknownNameError:
        exists = is_file(Path(reference)) or is_folder(Path(reference))
        if not exists and len(Path(name).parts) < 2:
            raise
    raise UnknownNameError(
        f"{reference!r} is a path: write the format of the data before it, such as 'folder:{reference}'; "
        f"formats are {', '.join(datasets.names())}"
    )


def load(reference: str, relative_to: Path = Path(), /, **options: object) -> Dataset:
    """Open a data set.

    Args:
        reference: The name of a reader, and after a colon the path it reads: ``"world:town"``.
        relative_to: The folder that paths of files count from.
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
        roadworthy.errors.UnknownNameError: there is no data set 'wrold'; did you mean 'world'?
    """
    name, _, path = reference.partition(":")
    reader = reader_for(reference)
    wanted = takes_path(reader)
    if path and wanted == "never":
        raise InputError(f"{name!r} takes no path, got {path!r}: write {name!r} alone")
    if not path and wanted == "always":
        raise InputError(f"{name!r} needs a path: write '{name}:path/to/data'")
    checked = {
        key: relative_to / value if isinstance(value, Path) else value
        for key, value in checked_options(name, reader, options).items()
    }
    if path and wanted == "always":
        path = str(relative_to / path)
    dataset = reader(path, **checked) if path else reader(**checked)
    if not isinstance(dataset, Dataset):
        raise InputError(
            f"{name!r} must give a data set with name, len, [] and iteration, got {type(dataset).__name__}"
        )
    return dataset


def load_fitting(
    reference: str,
    relative_to: Path = Path(),
    /,
    *,
    options: Mapping[str, object] | None = None,
    **wished: object,
) -> Dataset:
    """Open a data set with what its user says, and with what would be good for what is done with it.

    Data that is made is made in the number that is used (``count``): its conditions cycle from frame to
    frame, and every n-th of more frames could show the same ones again and again.

    Args:
        reference: The name of a reader, and after a colon the path it reads.
        relative_to: The folder that paths of files count from.
        options: What the user says; it must fit the reader, and goes before what is wished for.
        wished: Left out where it is None or the reader has no such option.

    Raises:
        UnknownNameError: No reader has this name.
        InputError: The path or an option cannot be used.

    Example:
        >>> len(load_fitting("world:town", options={"time": "night"}, count=12, history=None, labels="any"))
        12
    """
    return load(reference, relative_to, **{**fitting_options(reference, **wished), **(options or {})})


def fitting_options(reference: str, **wished: object) -> dict[str, object]:
    """Return those of some options that a data set has and that are given.

    Args:
        reference: The name of a reader, and after a colon the path it reads.
        wished: Options; None where one is not given.

    Raises:
        UnknownNameError: No reader has this name.

    Example:
        >>> fitting_options("world:town", count=12, history=None, labels="any")
        {'count': 12}
    """
    known = {one.name for one in options_of(reader_for(reference))}
    return {name: value for name, value in wished.items() if name in known and value is not None}
