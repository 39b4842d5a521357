"""The answers of people, a file for each of them, whole or not at all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from threading import RLock

from roadworthy._files import write_text
from roadworthy._tables import Table, csv_text
from roadworthy.errors import InputError

FOLDER = "answers"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_LOCK = RLock()


def rater_name(text: str) -> str:
    """Return what a person is called in files.

    Raises:
        InputError: It could not be the name of a file everywhere.

    Example:
        >>> rater_name(" Ann-3 ")
        'ann-3'
        >>> rater_name("../key")
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: a name has letters a to z, digits, - and _, 40 at most, got '../key'
    """
    name = text.strip().lower()
    if not _NAME.fullmatch(name):
        raise InputError(f"a name has letters a to z, digits, - and _, 40 at most, got {text!r}")
    return name


class AnswerFiles:
    """The tables of answers of a study, one CSV file for each person.

    Args:
        folder: The folder of the study; files are in its folder ``answers``.
        columns: The columns of a table.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     files = AnswerFiles(Path(folder), ("item", "rater", "answer"))
        ...     files.write("ann", [{"item": "a", "rater": "ann", "answer": "car"}])
        ...     files.read_all()
        {'ann': [{'item': 'a', 'rater': 'ann', 'answer': 'car'}]}
    """

    def __init__(self, folder: Path, columns: Sequence[str]) -> None:
        self.folder = folder / FOLDER
        self.columns = tuple(columns)
        # One at a time, all studies together: what is read must still hold when it is written.
        self.lock = _LOCK

    @property
    def paths(self) -> list[Path]:
        """The files, sorted."""
        return sorted(one for one in self.folder.glob("*.csv") if _NAME.fullmatch(one.stem))

    def read(self, rater: str) -> list[dict[str, str]]:
        """Return the rows of a person; none where there is no file."""
        path = self.folder / f"{rater}.csv"
        if not path.is_file():
            return []
        table = Table.read(path)
        table.require(*self.columns)
        return [{name: table.text(index, name) for name in self.columns} for index in range(len(table.rows))]

    def read_all(self) -> dict[str, list[dict[str, str]]]:
        """Return the rows of everybody."""
        return {path.stem: self.read(path.stem) for path in self.paths}

    def write(self, rater: str, rows: Iterable[Mapping[str, str]]) -> None:
        """Write the rows of a person, all of them.

        Raises:
            InputError: The file cannot be written.
        """
        text = csv_text(self.columns, ([row[name] for name in self.columns] for row in rows))
        try:
            self.folder.mkdir(exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot write {self.folder}: {error.strerror}; answers go there") from error
        write_text(self.folder / f"{rater_name(rater)}.csv", text)
