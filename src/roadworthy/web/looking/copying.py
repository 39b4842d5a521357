"""A case as a suite of its own: YAML with which `roadworthy run` tries exactly this case again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from roadworthy.datasets import options_of, reader_for
from roadworthy.errors import InputError
from roadworthy.models import SystemUnderTest, load_model
from roadworthy.runs.store import StoredPair, StoredRun
from roadworthy.runs.store.records import read_records
from roadworthy.runs.suites.forms import (
    BbslForm,
    CoverageForm,
    DataForm,
    DrivingForm,
    EntryForm,
    ReliabilityForm,
    RuleForm,
    RulesForm,
)
from roadworthy.runs.suites.reading import read_suite
from roadworthy.runs.suites.running import REQUIREMENTS, SUITE_FILE
from roadworthy.web.jobs.asks import BbslAsk, RulesAsk
from roadworthy.web.jobs.trials import classes_of, object_of, values_of
from roadworthy.web.looking.asked import AskedRules, AskedSearch, read_asked
from roadworthy.web.looking.remaking import image_entry, sector_entry

__all__ = ["CopiedTest", "copied_test"]


@dataclass(frozen=True)
class CopiedTest:
    """A suite with one case.

    Attributes:
        text: The YAML.
        file: What to call its file.
    """

    text: str
    file: str


def copied_test(
    folder: Path,
    case: Mapping[str, Any],
    ask: RulesAsk | BbslAsk | None = None,
    opened: Callable[[str], SystemUnderTest] = load_model,
) -> CopiedTest:
    """Return the suite that tries one case of a run again.

    Args:
        folder: The folder of the run.
        case: The case, as the wall shows it.
        ask: What the run was asked for, where it was started from a form.
        opened: Opens a model that the form named.

    Raises:
        InputError: There is none; says why.
    """
    pair = _pair_of(folder, case)
    if "track" in case["parameters"]:
        raise InputError("This case cannot be copied as a test: it is about all frames of a track.")
    if ask is not None:
        document, where = _of_form(ask, case, opened), "Paths count from where the server was started."
    elif (folder / SUITE_FILE).is_file():
        document, where = _of_suite(folder, pair, case)
    elif (asked := read_asked(folder, AskedRules)) is not None:
        document = _of_rules(asked, case)
        where = "Paths count from where `roadworthy rules run` was started."
    elif (search := read_asked(folder, AskedSearch)) is not None:
        document = _of_search(folder, search, case)
        where = "Paths count from where `roadworthy coverage search` was started."
    else:
        raise InputError(
            "This case cannot be copied as a test: the run does not say how its models and data were opened. "
            "Runs from here, runs of suites, `roadworthy rules run` and `roadworthy coverage search` do."
        )
    return CopiedTest(_text(document, case, where), f"{_name(case['case'])}.suite.yaml")


def _pair_of(folder: Path, case: Mapping[str, Any]) -> StoredPair:
    wanted = case["requirement"], case["system"]
    return next(one for one in StoredRun.open(folder).pairs if (one.requirement.id, one.system) == wanted)


def _of_form(
    ask: RulesAsk | BbslAsk, case: Mapping[str, Any], opened: Callable[[str], SystemUnderTest]
) -> dict[str, Any]:
    reference = next((one for one in ask.models if opened(one).name == case["system"]), None)
    if reference is None:
        raise InputError(f"The model {case['system']!r} is not one that this run was asked for.")
    data = _data(ask.data, {}, count=ask.frames, seed=ask.seed)
    entry = _specification(ask) if isinstance(ask, BbslAsk) else _rule(ask)
    return _document(ask.seed, {case["system"]: reference}, {_name(ask.data): _only(data, case)}, entry, case)


def _rule(ask: RulesAsk) -> dict[str, Any]:
    same = {"steering": ask.same_steering, "speed": _percent(ask.same_speed)}
    return {"rule": " ".join(ask.text.split()), "same": same}


def _specification(ask: BbslAsk) -> dict[str, Any]:
    from roadworthy.bbsl import parse

    entry: dict[str, Any] = {"bbsl": ask.text, "values": values_of(ask)}
    if function := object_of(ask, parse(ask.text)):
        entry |= {"object": function, "classes": classes_of(ask)}
    return entry


def _of_suite(folder: Path, pair: StoredPair, case: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    suite = read_suite(folder / SUITE_FILE)
    manifest = StoredRun.open(folder).manifest or {}
    about: Mapping[str, Any] = next(
        one["run"]
        for one in read_records(folder / REQUIREMENTS)
        if (one["id"], one.get("system")) == (pair.requirement.id, pair.system)
    )
    entry = suite.form.requirements[str(about["entry"])]
    chosen: dict[str, DataForm] = {}
    # Nothing is opened for a drive: its frames are those that the simulator shows.
    if about["data"]:
        sample: Any = manifest.get("settings", {}).get("sample")
        chosen[str(about["data"])] = _chosen(suite.form.data[str(about["data"])], entry, sample, case)
    model = suite.form.models[pair.system].model_dump(exclude_defaults=True)
    if isinstance(entry, CoverageForm):
        told = image_entry(entry, StoredRun.open(folder), case)
    else:
        told = _entry(entry, case)
    if pair.requirement.tags:
        told["tags"] = list(pair.requirement.tags)
    document = _document(int(manifest.get("seed", 0)), {pair.system: model}, chosen, told, case)
    name = next(iter(manifest.get("suite", {})), SUITE_FILE)
    return document, f"Keep it beside {name}: paths count from there."


def _chosen(data: DataForm, entry: EntryForm, sample: int | None, case: Mapping[str, Any]) -> DataForm:
    """Return as much of the data of a suite as one of its cases needs."""
    count = min((one for one in (data.sample, sample) if one is not None), default=None)
    if isinstance(entry, ReliabilityForm):
        # How much a frame is changed depends on how many there are: the data is opened as it was.
        return data.model_copy(update={"sample": count})
    options = _data(data.data, data.options, count=count).options
    return _only(data.model_copy(update={"options": options, "sample": None}), case)


def _of_search(folder: Path, asked: AskedSearch, case: Mapping[str, Any]) -> dict[str, Any]:
    search = CoverageForm.model_validate(
        {"coverage": asked.criterion, "output": asked.output, "counting": asked.counting}
    )
    entry = image_entry(search, StoredRun.open(folder), case)
    data = _only(_data(asked.data, asked.options, count=asked.count), case)
    return _document(0, {_name(case["system"]): asked.model}, {_name(asked.data): data}, entry, case)


def _of_rules(asked: AskedRules, case: Mapping[str, Any]) -> dict[str, Any]:
    if case["system"] not in asked.models:
        raise InputError(f"The model {case['system']!r} is not one that this run was asked for.")
    usual: dict[str, Any] = {"same": {}, "gallery": "shipped", "traffic": "right", "engines": None}
    told = asked.model_dump(include=set(usual))
    entry = {"rule": case["parameters"]["rule"]} | {
        key: one for key, one in told.items() if one != usual[key]
    }
    models = {_name(case["system"]): asked.models[case["system"]]}
    data = _data(asked.data, asked.options, count=asked.sample)
    return _document(asked.seed, models, {_name(asked.data): _only(data, case)}, entry, case)


def _data(reference: str, options: Mapping[str, Any], **wished: Any) -> DataForm:
    """Return data as it was opened: with its options, and those of the run that its reader has."""
    known = {one.name for one in options_of(reader_for(reference))}
    fitting = {key: value for key, value in wished.items() if key in known and value is not None}
    return DataForm(data=reference, options={**fitting, **options})


def _only(data: DataForm, case: Mapping[str, Any]) -> DataForm:
    """Return data of which no more than the frame of a case is tried."""
    return data.model_copy(update={"frames": [str(case["parameters"]["frame"])]})


def _entry(entry: EntryForm, case: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is tried, as the suite says it; of a file of rules the one rule."""
    left_out = {"rules", "only", "rule", "tags", "accept", "models", "data", "text"}
    told = entry.model_dump(exclude=left_out, exclude_defaults=True, by_alias=True)
    if isinstance(entry, RuleForm | RulesForm):
        return {"rule": case["parameters"]["rule"], **told}
    if isinstance(entry, ReliabilityForm):
        parameters = case["parameters"]
        which = {"reliability": parameters["transformation"], "preserve": parameters["preserve"]}
        return {**told, **which, "measure": parameters["measure"], "only": [case["case"]]}
    if isinstance(entry, DrivingForm):
        return sector_entry(entry, case)
    assert isinstance(entry, BbslForm)
    return told


def _document(
    seed: int,
    models: Mapping[str, Any],
    data: Mapping[str, DataForm],
    entry: Mapping[str, Any],
    case: Mapping[str, Any],
) -> dict[str, Any]:
    return {
        "seed": seed,
        "models": dict(models),
        "data": {name: one.model_dump(exclude_none=True) for name, one in data.items()},
        "requirements": {_name(case["requirement"]): dict(entry)},
    }


def _text(document: Mapping[str, Any], case: Mapping[str, Any], where: str) -> str:
    import yaml

    margin = "" if case["margin"] is None else f", margin {case['margin']!r}"
    # A line end in a name would end the comment.
    about = f"{case['case']} of {case['requirement']} on {case['system']}: {case['status']}{margin}"
    lines = [" ".join(f"# {one}".split()) for one in (about, where)]
    body = yaml.safe_dump(dict(document), sort_keys=False, allow_unicode=True, width=100)
    return "\n".join([*lines, body])


def _percent(share: float) -> str:
    """Return a share as a percentage that is read as exactly this share.

    Example:
        >>> _percent(0.1), _percent(0.07), _percent(0.0007)
        ('10%', '7%', '0.07%')
    """
    return f"{(Decimal(repr(share)) * 100).normalize():f}%"


def _name(text: str) -> str:
    """Return a name that files and suites take.

    Example:
        >>> _name("paper/R1@day")
        'paper-R1-day'
    """
    return "".join(one if one.isalnum() or one in "-_. " else "-" for one in text)[:100] or "case"
