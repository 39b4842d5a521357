"""Suites from YAML files, checked: every complaint names file, line and column."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from roadworthy._yaml import (
    FileProblem,
    FileSpan,
    Place,
    YamlFile,
    keys_beside,
    read_yaml,
    reworded,
    yaml_text,
)
from roadworthy.errors import InputError, RuleError, suggest
from roadworthy.places import is_address, shown
from roadworthy.runs.suites.forms import as_name, names_of
from roadworthy.runs.suites.kinds import FORMS, KINDS
from roadworthy.runs.suites.kinds.coverage import CoverageForm
from roadworthy.runs.suites.kinds.driving import DrivingForm
from roadworthy.runs.suites.schema import SuiteForm

_MOST = 30
_KINDS = {form.key: kind for kind in KINDS.values() for form in kind.forms}


class SuiteError(InputError):
    """A suite is wrong in one place or several; the first 30 are shown, with their lines underlined.

    Args:
        complaints: What is wrong, at least one.

    Example:
        >>> print(SuiteError([FileProblem("no requirements", 0, "night.yaml: no requirements")]))
        night.yaml: no requirements
    """

    def __init__(self, complaints: Iterable[FileProblem]) -> None:
        self.complaints = tuple(sorted(complaints, key=lambda one: one.line))
        shown = [one.shown for one in self.complaints[:_MOST]]
        if len(self.complaints) > _MOST:
            shown.append(f"… and {len(self.complaints) - _MOST} more")
        super().__init__("\n".join(shown))

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.complaints,)


def complain(file: YamlFile, place: Place, message: str, *, key: bool = False) -> FileProblem:
    """Return a complaint about a place of a file, or about the nearest one around it.

    Args:
        file: The file.
        place: The keys that lead to what is wrong.
        message: What is wrong.
        key: Whether the key is wrong, not its value.
    """
    found = place
    while found and found not in file.places:
        found = found[:-1]
    if not found:
        named = file.places or file.path != Path(SUITE_FILE)  # else it stands in no file
        return FileProblem(message, 0, f"{file.path}: {message}" if named else message)
    written = file.places[found]
    # A value that is missing, or a block of many lines, is best pointed at by its key.
    whole = written.value.line < written.value.end_line and written.value.end_column <= written.value.column
    about_key = written.key is not None and (key or found != place or whole)
    return file.problem(message, written.key if about_key and written.key else written.value)


def about_rule(file: YamlFile, place: Place, error: RuleError) -> FileProblem:
    """Return a complaint about a rule, with the words underlined that the reader of rules does not know."""
    nearest = f"; known: {', '.join(error.suggestions)}" if error.suggestions else ""
    message = f"{error.reason}{nearest}"
    if (written := file.places.get(place)) is None:
        # Nobody wrote a file: the sentence itself is shown.
        return FileProblem(message, 0, f"{place[1]}: {error}")
    words = error.text[slice(*error.span)]
    for number in range(written.value.line, written.value.end_line + 1):
        start = file.line(number).find(words, written.value.column if number == written.value.line else 0)
        if words.strip() and start >= 0:
            return file.problem(message, FileSpan(number, start, number, start + len(words)))
    return complain(file, place, f"{message}: {words!r}")


@dataclass(frozen=True)
class Suite:
    """A suite as it is written: its form is checked; models, data and what requirements name is not yet.

    Attributes:
        file: The file, with the place of everything in it.
        form: What it says.
        started: The folder that paths count from where the suite stands in no file, or was not written to
            stand where it does.
    """

    file: YamlFile
    form: SuiteForm
    started: Path | None = None

    @property
    def path(self) -> Path:
        """Where it was read from."""
        return self.file.path

    @property
    def folder(self) -> Path:
        """The folder that paths in it count from."""
        return self.started if self.started is not None else self.file.path.parent / (self.form.base or "")

    @property
    def name(self) -> str:
        """What it is called."""
        if self.form.suite:
            return self.form.suite
        return self.path.name.removesuffix(".yaml").removesuffix(".yml").removesuffix(".suite")


def read_suite(path: str | PathLike[str], started: Path | None = None, *, of_run: bool = False) -> Suite:
    """Read a suite.

    Args:
        path: The file.
        started: The folder that paths in it count from; what it says itself when left out.
        of_run: Whether it is that of a run, which may be of before searches were refused to accept a rate.

    Raises:
        SuiteError: Something in it is wrong; all of it is told at once, with file, line and column.
        InputError: The file cannot be read, or is no YAML.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder, "night.suite.yaml")
        ...     _ = file.write_text('''
        ... models: dave2
        ... data: world:town
        ... requirements:
        ...   N1: If the driving time changes into night, then the ego-vehicle should slow down.
        ... ''')
        ...     suite = read_suite(file)
        >>> suite.name, suite.form.requirements["N1"].rule[:27]
        ('night', 'If the driving time changes')
    """
    twice: list[FileProblem] = []
    file = read_yaml(Path(path), "suite", "'models:' and 'requirements:'", SuiteFileError, twice=twice)
    data, complaints = _text_keys(file, file.data, ())
    complaints += twice
    complaints += [*_kinds_told(file, data, of_run=of_run), *_names_told(file, data)]
    try:
        form = SuiteForm.model_validate(data)
    except ValidationError as error:
        told = {one.line for one in complaints}
        for detail in error.errors():
            complaint = _explained(file, detail)
            if complaint is not None and not (detail["type"].startswith("union_tag") and told):
                complaints.append(complaint)
        raise SuiteError(complaints) from error
    if complaints:
        raise SuiteError(complaints)
    return Suite(file, form, started)


def suite_of(document: Mapping[str, Any], out: Path | None = None) -> Suite:
    """Return a suite that stands in no file: what a command, a page, a test or a script asks for.

    Its text is what a run of it keeps as suite.yaml, and running that gives the same rows.

    Args:
        document: What a suite file would say; keys whose value is None are left out, and names of models,
            data and requirements may hold any characters.
        out: The folder that it will be run into: the suite that is kept there says where its paths, which
            count from the current folder, lead from.

    Raises:
        SuiteError: Something in it is wrong.

    Example:
        >>> rules = {"R1": {"rule": "If it rains, slow down.", "engines": None}}
        >>> models = {"nets/a.onnx": "onnx:nets/a.onnx"}
        >>> suite = suite_of({"suite": "quick", "models": models, "data": "world", "requirements": rules})
        >>> suite.name, list(suite.form.models)
        ('quick', ['nets-a.onnx'])
        >>> print(suite.file.text, end="")
        suite: quick
        models:
          nets-a.onnx:
            model: onnx:nets/a.onnx
        data:
          world:
            data: world
        requirements:
          R1:
            rule: If it rains, slow down.
    """
    data = {key: _with_names(value) if key in _NAMED else value for key, value in document.items()}
    if out is not None and is_address(shown(str(out))):
        out = None  # a copy of it: the run lies elsewhere
    if out is not None and (way := os.path.relpath(Path.cwd(), out)) and not way.strip("./\\"):
        # From anywhere else the way would lead through folders of this machine, which a run does not name.
        data["base"] = way
    file = YamlFile(Path(SUITE_FILE), data, {})
    try:
        form = SuiteForm.model_validate(data)
    except ValidationError as error:
        told = (one for detail in error.errors() if (one := _explained(file, detail)))
        raise SuiteError(dict.fromkeys(told)) from error
    if unknown := _names_told(file, data):
        raise SuiteError(unknown)
    text = yaml_text(form.model_dump(mode="json", exclude_defaults=True, by_alias=True))
    return Suite(YamlFile(Path(SUITE_FILE), data, {}, text), form, Path())


SUITE_FILE = "suite.yaml"


def without_budgets(suite: Suite) -> SuiteForm:
    """Return what a suite says, but for how much its searches may try."""
    budgets: dict[type[Any], dict[str, Any]] = {
        CoverageForm: {"tries": 1, "seconds": None},
        DrivingForm: {"tries": 1},
    }
    entries = {
        id: entry.model_copy(update=budgets.get(type(entry))) for id, entry in suite.form.requirements.items()
    }
    return suite.form.model_copy(update={"requirements": entries})


_NAMED = ("models", "data", "requirements")


def _with_names(given: Any) -> Any:
    """Return what stands under names that a suite can have, without what is not given."""
    if not isinstance(given, Mapping):
        return given
    return {as_name(str(name)): _given(one) for name, one in given.items()}


def _given(entry: Any) -> Any:
    if not isinstance(entry, Mapping):
        return entry
    found = {key: value for key, value in entry.items() if value is not None}
    if isinstance(found.get("models"), list):
        found["models"] = [as_name(one) if isinstance(one, str) else one for one in found["models"]]
    return found


_PLACE = re.compile(r":(\d+):(\d+): ")


class SuiteFileError(SuiteError):
    """The file of a suite cannot be read at all."""

    def __init__(self, message: str) -> None:
        line, column = map(int, place.groups()) if (place := _PLACE.search(message)) else (0, 1)
        super().__init__([FileProblem(message, line, message, column - 1)])

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.complaints[0].message,)


def _text_keys(file: YamlFile, value: Any, place: Place) -> tuple[Any, list[FileProblem]]:
    """Return the data with keys that are text: an id may be a number, but never true or a date."""
    complaints: list[FileProblem] = []
    if isinstance(value, list):
        made = [_text_keys(file, one, (*place, str(number))) for number, one in enumerate(value)]
        return [one for one, _ in made], [one for _, more in made for one in more]
    if not isinstance(value, dict):
        return value, complaints
    found: dict[str, Any] = {}
    for key, one in value.items():
        if not isinstance(key, str | int | float) or isinstance(key, bool):
            message = f"a key must be text, got {key!r}: put it in quotes"
            complaints.append(complain(file, (*place, _as_written(file, place, key)), message, key=True))
            continue
        found[str(key)], more = _text_keys(file, one, (*place, str(key)))
        complaints += more
    return found, complaints


def _as_written(file: YamlFile, place: Place, key: object) -> str:
    """Return how a key that is no text is written, as far as can be told: yes, on, 2026-11-15."""
    near = [one[-1] for one in file.places if len(one) == len(place) + 1 and one[:-1] == place]
    words = {True: ("yes", "on", "true", "y"), False: ("no", "off", "false", "n")}.get(bool(key), ())
    wanted = words if isinstance(key, bool) else (str(key), "null", "~", "")
    return next((one for one in near if one.lower() in wanted), str(key))


def _kinds_told(file: YamlFile, data: Mapping[str, Any], *, of_run: bool) -> list[FileProblem]:
    """Complain about requirements that do not say of which kind they are."""
    entries = data.get("requirements")
    if not isinstance(entries, dict):
        return []
    complaints = []
    for id, entry in entries.items():
        if isinstance(entry, str):
            continue
        place = ("requirements", id)
        if not isinstance(entry, dict):
            message = f"a requirement is a sentence, a file, or a mapping with its kind, got {entry!r}"
            complaints.append(complain(file, place, message))
            continue
        kinds = [key for key in FORMS if key in entry]
        if len(kinds) > 1:
            message = f"a requirement is of one kind, got {' and '.join(kinds)}: write two requirements"
            complaints.append(complain(file, (*place, kinds[1]), message, key=True))
        elif not kinds:
            near = [key for key in entry if suggest(key, FORMS).startswith("did you mean")]
            hint = f": {suggest(near[0], FORMS)}" if near else ""
            message = f"{id} must say its kind by one of {', '.join(FORMS)}{hint}"
            complaints.append(complain(file, (*place, *near[:1]), message, key=True))
        elif "accept" in entry and not of_run and (message := _KINDS[kinds[0]].no_rate(entry.get("search"))):
            complaints.append(complain(file, (*place, "accept"), message, key=True))
    return complaints


def _names_told(file: YamlFile, data: Mapping[str, Any]) -> list[FileProblem]:
    """Complain about names of models and data that the suite does not have."""
    entries = data.get("requirements")
    asking: dict[Place, object] = {("defaults",): data.get("defaults")}
    if isinstance(entries, dict):
        asking.update({("requirements", id): entry for id, entry in entries.items()})
    complaints = []
    for key, among in (("models", "models"), ("data", "data"), ("training", "data")):
        known = names_of(data.get(among))
        for place, entry in asking.items():
            names = entry.get(key) if isinstance(entry, dict) else None
            for number, name in enumerate(names if isinstance(names, list) else [names]):
                if isinstance(name, str) and name not in known:
                    message = f"the suite has no {among} called {name!r}: {suggest(name, known)}"
                    item = (str(number),) if isinstance(names, list) else ()
                    complaints.append(complain(file, (*place, key, *item), message))
    return complaints


def _explained(file: YamlFile, detail: Mapping[str, Any]) -> FileProblem | None:
    """Return a complaint of pydantic in words, with the place."""
    place = tuple(str(part) for part in detail["loc"] if part != "[key]")
    if len(place) > 2 and place[0] == "requirements" and place[2] in FORMS:
        # The kind that pydantic took is part of its path; the file does not have it.
        place = (*place[:2], *place[3:])
    kind = detail["type"]
    if kind.startswith("union_tag"):
        return None
    if kind == "extra_forbidden":
        message = f"unknown key {place[-1]!r}: {suggest(place[-1], sorted(_known_keys(detail['loc'])))}"
        return complain(file, place, message, key=True)
    if kind == "missing":
        owner = " > ".join(place[:-1]) or "the suite"
        return complain(file, place[:-1], f"{owner} needs the key {place[-1]!r}", key=True)
    if "[key]" in detail["loc"]:
        message = f"a name has at most 120 characters, none of them / or @, got {_short(place[-1])}"
        return complain(file, place, message, key=True)
    if place not in file.places and place[:-1] in file.places:
        # A short form: what is wrong stands where the whole would.
        place = place[:-1]
    told = reworded(detail["msg"])
    what = place[-1] if place else "the suite"
    return complain(file, place, f"{what}: {told}, got {_short(detail['input'])}")


def _known_keys(loc: tuple[int | str, ...]) -> list[str]:
    """Return the keys that could have been written instead."""
    place = tuple(map(str, loc))
    if len(place) > 3 and place[2] in FORMS:
        # The kind that pydantic took is part of its path.
        return keys_beside(FORMS[place[2]], place[3:])
    return keys_beside(SuiteForm, place)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
