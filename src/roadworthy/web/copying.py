"""A case as a suite of its own: YAML with which `roadworthy run` tries exactly this case again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roadworthy.coverage.search.trials import Remade, Step
from roadworthy.datasets import fitting_options
from roadworthy.errors import InputError
from roadworthy.runs.store import Row, StoredPair, StoredRun
from roadworthy.runs.store.rows import read_records
from roadworthy.runs.suites.forms import DataForm, EntryForm, as_name
from roadworthy.runs.suites.kinds.coverage import CoverageForm
from roadworthy.runs.suites.kinds.driving import DrivingForm
from roadworthy.runs.suites.kinds.reliability import ReliabilityForm
from roadworthy.runs.suites.kinds.rules import RuleForm, RulesForm
from roadworthy.runs.suites.reading import SUITE_FILE, Suite, read_suite
from roadworthy.runs.suites.running import COMMAND, REQUIREMENTS

# What a search says that matters for one of its images: its budget and guidance are spent.
_KEPT = {"coverage", "output", "counting", "severity"}


def image_entry(entry: CoverageForm, run: StoredRun, case: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry that makes one image of a search again and judges it by the same bound.

    Args:
        entry: What the search was asked for.
        run: The run of the search.
        case: The case, as the wall shows it.

    Raises:
        InputError: It is an original, or an image that it was made from has no row.
    """
    line = [_row(run, case, str(case["case"]))]
    if not line[0].get("param.transform"):
        raise InputError("This case cannot be copied as a test: it is an original, which sets the bound.")
    seen = {str(case["case"])}
    while parent := line[0].get("param.parent"):
        if str(parent) in seen:
            raise InputError(f"This case cannot be copied as a test: {parent} seems to be made from itself.")
        seen.add(str(parent))
        line.insert(0, _row(run, case, str(parent)))
    last = line[-1]
    try:
        image = Remade(
            str(last["param.frame"]),
            int(str(last["param.seed"])),
            float(str(last["param.bound"])),
            tuple(
                Step(int(str(row["case"]).rpartition(" ")[2]), str(row["param.transform"])) for row in line
            ),
        )
    except (KeyError, ValueError) as error:
        raise InputError(
            "This case cannot be copied as a test: its row does not say how the image was made."
        ) from error
    return {**entry.model_dump(include=_KEPT, exclude_defaults=True), "only": [image.as_data()]}


def sector_entry(entry: DrivingForm, case: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry that lets a model drive once more and judges one sector.

    Example:
        >>> entry = DrivingForm(driving={"SD(LP)": 0.2}, simulator=["world:town", "world:meadow"])
        >>> sector_entry(entry, {"parameters": {"simulator": "world:town", "sector": "town-02"}})
        {'driving': {'SD(LP)': 0.2}, 'simulator': 'world:town', 'sectors': 'town-02'}
    """
    told = entry.model_dump(
        exclude={"simulator", "sectors", "tags", "accept", "models", "data", "text", "only"},
        exclude_defaults=True,
    )
    where = case["parameters"]
    if entry.search:
        drive = {name[len("gene.") :]: one for name, one in where.items() if name.startswith("gene.")}
        return {**told, "simulator": entry.simulator, "only": [drive]}
    return {**told, "simulator": str(where["simulator"]), "sectors": str(where["sector"])}


def _row(run: StoredRun, case: Mapping[str, Any], id: str) -> Row:
    rows = run.query(
        'SELECT * FROM cases WHERE requirement = $1 AND system = $2 AND "case" = $3 LIMIT 1',
        [case["requirement"], case["system"], id],
    )
    if not rows:
        raise InputError(
            f"This case cannot be copied as a test: it was made from {id}, of which there is no row."
        )
    return rows[0]


@dataclass(frozen=True)
class CopiedTest:
    """A suite with some cases of a run.

    Attributes:
        text: The YAML.
        file: What to call its file.
    """

    text: str
    file: str


def copied_test(folder: Path, cases: Sequence[Mapping[str, Any]]) -> CopiedTest:
    """Return the suite that tries cases of a run again.

    Args:
        folder: The folder of the run.
        cases: The cases, as the wall shows them.

    Raises:
        InputError: There is none; says why.
    """
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    where = ""
    for case in cases:
        document, where = document_of(folder, case)
        (entry,) = document["requirements"].values()
        # A sector is driven on its own.
        key = (case["requirement"], case["system"], case["case"] if "sectors" in entry else "")
        if key in found:
            _extend(found[key], document)
        else:
            found[key] = document
    whole = next(iter(found.values())) if len(found) == 1 else _joined(found)
    about = cases[0] if len(cases) == 1 else {"case": f"{len(cases)} cases"}
    return CopiedTest(_text(whole, about, where), f"{_name(about['case'])}.suite.yaml")


def document_of(folder: Path, case: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Return a suite of one case, and what its paths count from.

    Raises:
        InputError: There is none; says why.
    """
    run, wanted = StoredRun.open(folder), (case["requirement"], case["system"])
    pair = next(one for one in run.pairs if (one.requirement.id, one.system) == wanted)
    if "track" in case["parameters"]:
        raise InputError("This case cannot be copied as a test: it is about all frames of a track.")
    if not (folder / SUITE_FILE).is_file():
        raise InputError(
            "This case cannot be copied as a test: the run does not say how its models and data were opened, "
            f"for it has no {SUITE_FILE}."
        )
    suite = read_suite(folder / SUITE_FILE)
    manifest = run.manifest or {}
    settings: Mapping[str, Any] = manifest.get("settings", {})
    entry_id, data_name = _place_in_suite(folder, pair, suite, of_command=COMMAND in settings)
    name = pair.system if pair.system in suite.form.models else as_name(pair.system)
    known: tuple[tuple[str, Mapping[str, Any]], ...] = (
        (entry_id, suite.form.requirements),
        (name, suite.form.models),
        (data_name, suite.form.data),
    )
    for one, among in known:
        if one and one not in among:
            raise InputError(f"This case cannot be copied as a test: {SUITE_FILE} of the run has no {one!r}.")
    entry = suite.form.requirements[entry_id]
    chosen: dict[str, DataForm] = {}
    # Nothing is opened for a drive: its frames are those that the simulator shows.
    if data_name:
        chosen[data_name] = _chosen(suite.form.data[data_name], entry, settings.get("sample"), case)
    model = suite.form.models[name].model_dump(exclude_defaults=True)
    told = image_entry(entry, run, case) if isinstance(entry, CoverageForm) else _entry(entry, case)
    if pair.requirement.tags:
        told["tags"] = list(pair.requirement.tags)
    document = {
        "seed": int(manifest.get("seed", 0)),
        "models": {name: model},
        "data": {name: one.model_dump(exclude_none=True) for name, one in chosen.items()},
        "requirements": {_name(case["requirement"]): told},
    }
    if COMMAND in settings:
        return document, f"Paths count from where `roadworthy {settings[COMMAND]}` was started."
    beside = next(iter(manifest.get("suite", {})), SUITE_FILE)
    return document, f"Keep it beside {beside}: paths count from there."


def _extend(document: dict[str, Any], other: Mapping[str, Any]) -> None:
    """Add the frames and images of a case to those of others of its requirement and model."""
    for part, key in (("data", "frames"), ("requirements", "only")):
        for one, more in zip(document[part].values(), other[part].values(), strict=True):
            if key in one:
                one[key] += [each for each in more[key] if each not in one[key]]


def _joined(documents: Mapping[tuple[str, ...], Mapping[str, Any]]) -> dict[str, Any]:
    """Return one suite of several: each entry has its own data, because each has its own frames."""
    seed = next(iter(documents.values()))["seed"]
    whole: dict[str, Any] = {"seed": seed, "models": {}, "data": {}, "requirements": {}}
    for number, (key, document) in enumerate(documents.items(), 1):
        (model,), (entry,) = document["models"], document["requirements"].values()
        data = {f"{name}-{number}": one for name, one in document["data"].items()}
        whole["models"] |= document["models"]
        whole["data"] |= data
        own = entry | {"models": model} | ({"data": next(iter(data))} if data else {})
        # Long names are cut, and signs in them replaced: two may become one.
        whole["requirements"][f"{_name(' '.join(filter(None, key)))[:90]} {number}"] = own
    return whole


def _place_in_suite(folder: Path, pair: StoredPair, suite: Suite, *, of_command: bool) -> tuple[str, str]:
    """Return the entry of a suite that a requirement comes from, and the name of the data."""
    if of_command:
        # It has an entry for each requirement, and one data set.
        return as_name(pair.requirement.id), next(iter(suite.form.data), "")
    about: Mapping[str, Any] = next(
        one["run"]
        for one in read_records(folder / REQUIREMENTS)
        if (one["id"], one.get("system")) == (pair.requirement.id, pair.system)
    )
    return str(about["entry"]), str(about["data"])


def _chosen(data: DataForm, entry: EntryForm, sample: int | None, case: Mapping[str, Any]) -> DataForm:
    """Return as much of the data of a suite as one of its cases needs."""
    count = min((one for one in (data.sample, sample) if one is not None), default=None)
    if isinstance(entry, ReliabilityForm):
        # How much a frame is changed depends on how many there are: the data is opened as it was.
        return data.model_copy(update={"sample": count})
    # As it was opened: with its options, and those of the run that its reader has.
    options = {**fitting_options(data.data, count=count), **data.options}
    frames = [str(case["parameters"]["frame"])]
    return data.model_copy(update={"options": options, "sample": None, "frames": frames})


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
    return told


def _text(document: Mapping[str, Any], case: Mapping[str, Any], where: str) -> str:
    from roadworthy._yaml import yaml_text

    about = str(case["case"])
    if "status" in case:
        margin = "" if case["margin"] is None else f", margin {case['margin']!r}"
        about += f" of {case['requirement']} on {case['system']}: {case['status']}{margin}"
    # A line end in a name would end the comment.
    return "\n".join([*(" ".join(f"# {one}".split()) for one in (about, where)), yaml_text(document)])


def _name(text: str) -> str:
    """Return a name that files and suites take.

    Example:
        >>> _name("paper/R1@day")
        'paper-R1-day'
    """
    return "".join(one if one.isalnum() or one in "-_. " else "-" for one in text)[:100] or "case"
