"""What every study with people shares: its folder, its key, its answers, and how people take part.

A study is a folder. ``plan.json`` is all that people may know; ``key.json`` says what each thing is that they
see, and no rater may see it; the answers are CSV files: one to be filled in by hand, and one for each person
who answers on the page.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import RLock
from typing import Any, ClassVar, Self

from roadworthy._files import as_record, naming, read_json, write_json, write_text
from roadworthy._tables import Table, csv_text
from roadworthy.errors import InputError, told_as

PLAN, KEY, ANSWERS = "plan.json", "key.json", "answers.csv"
_BROKEN = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError)
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_MOST_NAMED = 10  # bad rows that are named
_LOCK = RLock()


@dataclass(frozen=True)
class StudyPlan:
    """The plan of a study: what is shown to whom, and what it is. Its key has all fields in their order.

    Attributes:
        command: The command that plans such a study, for messages.
        by_id: The fields that are dicts by id, of which the key has lists.
    """

    command: ClassVar[str]
    by_id: ClassVar[tuple[str, ...]] = ()

    def write_key(self, folder: Path, indent: int = 1) -> None:
        """Write the key to the folder of the study."""
        document = asdict(self)
        lists = {name: list(document[name].values()) for name in self.by_id}
        write_json(folder / KEY, document | lists, indent)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Return the plan of a study from its key.

        Raises:
            InputError: The folder is not that of such a study.
        """
        path, such = folder / KEY, f"a study, as `{cls.command}` writes it"
        if not path.is_file():
            raise InputError(f"{folder}: expected the folder of {such}; there is no {KEY} in it")
        found = read_json(path)
        with told_as(InputError, f"{path} must be the key of {such}", *_BROKEN), naming(path):
            dicts = {name: {one["id"]: one for one in found[name]} for name in cls.by_id}
            return as_record(cls, {**found, **dicts})


def read_answers(
    files: Iterable[Path], columns: Sequence[str], take: Callable[[dict[str, str], str], None]
) -> None:
    """Read tables of answers, row by row.

    Args:
        files: The CSV files.
        columns: The columns that they must have.
        take: Is given each row and where it stands; raises an `InputError` where it cannot be.

    Raises:
        InputError: A file cannot be read, or rows are wrong; names the file and the lines, up to ten.
    """
    wrong = []
    for file in files:
        if not file.is_file():
            raise InputError(f"expected a CSV file of answers, found none at {file}")
        table = Table.read(file)
        table.require(*columns)
        for index, row in enumerate(table.rows):
            where = f"{file}: line {row.line}"
            try:
                with naming(where):
                    take({name: table.text(index, name) for name in columns}, where)
            except InputError as error:
                wrong.append(str(error))
    if wrong:
        left = len(wrong) - _MOST_NAMED
        more = f"\nand {left} more row{'s' * (left != 1)}" if left > 0 else ""
        raise InputError("\n".join(wrong[:_MOST_NAMED]) + more)


def read_score(text: str) -> int | str | None:
    """Return the score in a cell: None where it is empty, the text itself where it is no whole number."""
    return (int(text) if text.isdecimal() and len(text) < 9 else text) if text else None


def check_score(name: str, score: object, low: int, high: int) -> int:
    """Return a score that is on its scale.

    Raises:
        InputError: It is not.

    Example:
        >>> check_score("score", 6, 1, 5)
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: score must be a whole number from 1 to 5, got 6
    """
    if type(score) is not int or not low <= score <= high:
        raise InputError(f"{name} must be a whole number from {low} to {high}, got {score!r}")
    return score


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
    """The tables of answers that people give on the page, one CSV file for each person.

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
        self.folder = folder / "answers"
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
        rows: list[dict[str, str]] = []
        if path.is_file():
            read_answers([path], self.columns, lambda row, _: rows.append(row))
        return rows

    def read_all(self) -> dict[str, list[dict[str, str]]]:
        """Return the rows of everybody."""
        return {path.stem: self.read(path.stem) for path in self.paths}

    def write(self, rater: str, rows: Iterable[Mapping[str, str]]) -> None:
        """Write the rows of a person, all of them.

        Raises:
            InputError: The file cannot be written.
        """
        text = csv_text(self.columns, ([row[name] for name in self.columns] for row in rows))
        if self.folder.is_symlink():
            raise InputError(f"cannot write {self.folder}: it leads elsewhere; make it a folder of its own")
        try:
            self.folder.mkdir(exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot write {self.folder}: {error.strerror}; answers go there") from error
        write_text(self.folder / f"{rater_name(rater)}.csv", text)


@dataclass(frozen=True)
class StudyPart:
    """A part of a study that one person does in one go.

    Attributes:
        name: What it is called.
        items: How many things it asks about.
        raters: How many people have answered all of it.
        wanted: How many should.
    """

    name: str
    items: int
    raters: int
    wanted: int


class Study(ABC):
    """A study that people take part in: deals out its parts and stores answers. It never reads the key.

    Args:
        folder: The folder of the study.

    Attributes:
        kind: The name of its template and script.
        title: What it is, in words.
        columns: The columns of the answers.
        item: The column that names what is answered.
        asked: The columns that must be filled in for an item to count as answered; without any, a row is
            enough.
        shown: What of an item in the plan is a file that people see.
        plan_file: Where the plan lies in the folder.

    Raises:
        InputError: The folder holds no such study, or its plan cannot be used.
    """

    kind: ClassVar[str]
    title: ClassVar[str]
    columns: ClassVar[tuple[str, ...]]
    item: ClassVar[str] = "item"
    asked: ClassVar[tuple[str, ...]] = ()
    shown: ClassVar[tuple[str, ...]] = ("file",)
    plan_file: ClassVar[str] = PLAN

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = (folder / self.plan_file).parent
        self.answers = AnswerFiles(folder, self.columns)
        path = folder / self.plan_file
        self.plan: Any = read_json(path)
        with told_as(InputError, f"{path} must be the plan of {self.title.lower()}", *_BROKEN):
            self.parts_of_plan: dict[str, list[dict[str, Any]]] = self._parts()
            self.ids = {name: {str(one["id"]) for one in items} for name, items in self.parts_of_plan.items()}
            items = [one for some in self.parts_of_plan.values() for one in some]
            self.shown_files = frozenset(
                [*self._other_files(), *(str(one[name]) for one in items for name in self.shown)]
            )
            self.wanted = int(self._prepare())

    @abstractmethod
    def _parts(self) -> dict[str, list[dict[str, Any]]]:
        """Return the items of each part, by its name, out of the plan."""

    def _other_files(self) -> list[str]:
        """Return the files that people see and that are of no part."""
        return []

    @abstractmethod
    def _prepare(self) -> int:
        """Take from the plan what else is needed; return how many people each part needs."""

    @abstractmethod
    def begin(self, rater: str) -> dict[str, Any]:
        """Return what a person is asked next; with no items where there is nothing left."""

    @abstractmethod
    def answer(self, rater: str, item: str, values: Mapping[str, Any]) -> None:
        """Store an answer.

        Raises:
            InputError: The person was not asked that, or it is no answer.
        """

    def parts(self) -> list[StudyPart]:
        """Return the parts, and how many people have done each."""
        everybody = [self.answered(rows) for rows in self.answers.read_all().values()]
        return [
            StudyPart(name, len(ids), sum(ids <= done for done in everybody), self.wanted)
            for name, ids in self.ids.items()
        ]

    @property
    def raters(self) -> int:
        """How many people have answered something."""
        return len(self.answers.paths)

    def answered(self, rows: Iterable[Mapping[str, str]]) -> set[str]:
        """Return what a person has answered."""
        return {row[self.item] for row in rows if all(row[name] for name in self.asked)}

    def blank_rows(self, rater: str, items: Iterable[str], **others: str) -> list[dict[str, str]]:
        """Return rows for a person to be filled in."""
        empty = dict.fromkeys(self.columns, "") | {"rater": rater} | others
        return [{**empty, self.item: item} for item in items]

    def fill_in(self, rater: str, item: str, values: Mapping[str, object]) -> None:
        """Write values into the row that a person was dealt."""
        with self.answers.lock:
            rows = self.answers.read(rater)
            row = next((row for row in rows if row[self.item] == item), None)
            if row is None:
                raise InputError(f"{rater} was not asked about {item!r}: open the page again")
            row.update({name: str(value) for name, value in values.items()})
            self.answers.write(rater, rows)
