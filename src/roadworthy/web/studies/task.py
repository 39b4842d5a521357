"""What all studies have in common, so that the pages need not know which one they show."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from roadworthy._files import read_json
from roadworthy.errors import InputError
from roadworthy.web.settings import file_below
from roadworthy.web.studies.answer_files import AnswerFiles


@dataclass(frozen=True)
class Part:
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


class Task(ABC):
    """A study that people take part in.

    Args:
        folder: The folder of the study.

    Raises:
        InputError: The folder holds no such study, or its plan cannot be used.
    """

    kind: ClassVar[str]
    """The name of its template and script."""
    title: ClassVar[str]
    """What it is, in words."""
    columns: ClassVar[tuple[str, ...]]
    """Of the answers, as the reader of the study wants them."""
    plan_file: ClassVar[str] = "plan.json"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.answers = AnswerFiles(folder, self.columns)
        path = folder / self.plan_file
        self.plan: Any = read_json(path)
        try:
            self.shown_files = frozenset(self._files())
            self._prepare()
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            raise InputError(f"{path} must be the plan of {self.title.lower()}: {error!r}") from error

    @abstractmethod
    def _files(self) -> list[str]:
        """Return the files that people see, relative to the plan."""

    @abstractmethod
    def _prepare(self) -> None:
        """Take from the plan what is needed."""

    @abstractmethod
    def parts(self) -> list[Part]:
        """Return the parts, and how many people have done each."""

    @abstractmethod
    def begin(self, rater: str) -> dict[str, Any]:
        """Return what a person is asked next; with no items where there is nothing left."""

    @abstractmethod
    def answer(self, rater: str, item: str, values: Mapping[str, Any]) -> None:
        """Store an answer.

        Raises:
            InputError: The person was not asked that, or it is no answer.
        """

    @property
    def raters(self) -> int:
        """How many people have answered something."""
        return len(self.answers.paths)

    def file(self, path: str) -> Path | None:
        """Return a file that people may see; None for every other one."""
        if path not in self.shown_files:
            return None
        return file_below((self.folder / self.plan_file).parent, path)
