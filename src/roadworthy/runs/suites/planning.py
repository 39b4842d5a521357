"""From a suite to what is run: requirements with the models and data that they fit, checked beforehand."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from roadworthy._files import file_name
from roadworthy._importing import NotRunError, only_looking
from roadworthy._yaml import FileProblem, Place
from roadworthy.cases import Acceptance, Decision, Requirement, Severity
from roadworthy.errors import InputError, RoadworthyError, RuleError, check_number, shortened, suggest
from roadworthy.labelling import unlabelled
from roadworthy.labelling.chain import STREET_SOURCE
from roadworthy.labelling.street import STREET as STREET_FILE
from roadworthy.models import Truth, history_of
from roadworthy.runs.executors import Executor
from roadworthy.runs.gate import LOOKED_AT, OFF, STREET, Gate, gate_named, unwrapped
from roadworthy.runs.store.digests import (
    Digest,
    digest_of_engine,
    digest_of_file,
    digest_of_model,
    digest_of_things,
)
from roadworthy.runs.suites.forms import EntryForm
from roadworthy.runs.suites.kinds import KINDS, Context, Kind, Part, kind_of
from roadworthy.runs.suites.kinds.base import NoTruth, OtherTask
from roadworthy.runs.suites.opening import Facts, OpenedData, OpenedModel, look_at, open_data, open_model
from roadworthy.runs.suites.reading import Suite, SuiteError, about_rule, complain
from roadworthy.runs.suites.schema import SuiteForm
from roadworthy.transforms import Add, Remove, Replace
from roadworthy.transforms.objects.filling import FILL
from roadworthy.transforms.objects.gallery import OWN, SHIPPED, Gallery
from roadworthy.transforms.objects.remove import PAINTED

T = TypeVar("T")

_NOTED = 8  # ids in a note

# How a part is tried: by data, what tells its variants apart and all settings, with the models it is for.
_Variants: TypeAlias = dict[tuple[str, str, str], tuple[Part[Any], list[str]]]


@dataclass(frozen=True, eq=False)
class Trial:
    """A requirement with the data that it is tried on and the models that it is tried with.

    Attributes:
        requirement: What must hold.
        entry: The id of the entry of the suite that it comes from.
        kind: Its kind.
        part: What the kind needs to try it.
        data: The name of the data; empty where it needs none.
        models: The names of the models.
    """

    requirement: Requirement
    entry: str
    kind: Kind[Any, Any]
    part: Part[Any]
    data: str
    models: tuple[str, ...]


@dataclass(eq=False)
class SuitePlan:
    """What a suite comes to: nothing in it is run yet, and everything that it names is there.

    Attributes:
        suite: The suite.
        context: What the kinds know about it, and the files that requirements were read from.
        trials: The requirements, in the order of the suite.
        models: The models that are tested, by their names.
        data: The data that is used, by its names.
        notes: What a reader should know, a sentence each: which models a requirement does not fit, and where
            less is tested than its words say.
        of_suite: Those of the notes that are about the suite, and that no outcome has.
        only: The ids, tags or kinds that were asked for; empty where all of the suite was.
        unopened: The models and data whose code was only looked at, so that nobody knows whether they fit.
        gate: What looks at changed frames before a model is asked; None where it is off.
    """

    suite: Suite
    context: Context
    trials: list[Trial] = field(default_factory=list)
    models: dict[str, OpenedModel] = field(default_factory=dict)
    data: dict[str, OpenedData] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    of_suite: list[str] = field(default_factory=list)
    only: tuple[str, ...] = ()
    unopened: list[str] = field(default_factory=list)
    gate: Gate | None = None

    @property
    def pairs(self) -> list[tuple[Trial, str]]:
        """Every requirement with each of its models."""
        return [(trial, model) for trial in self.trials for model in trial.models]

    def estimated(self) -> dict[str, list[str]]:
        """Return what is estimated for which data, because a requirement needs it and frames have none."""
        found: dict[str, list[str]] = {}
        for trial in (one for one in self.trials if one.data in self.data):
            if lacking := self.data[trial.data].estimated(trial.kind.needs(trial.part)):
                found[trial.data] = sorted({*found.get(trial.data, ()), *lacking})
        return found

    def cases(self, trial: Trial) -> int:
        """Return how many cases a requirement has for each model, at most or about."""
        return trial.kind.cases(trial.part, len(self.data[trial.data].frames) if trial.data else 0)


def engines_of(plan: SuitePlan) -> dict[str, Digest]:
    """Return the digests of what makes images or labels, or looks at them: engines of the user, networks."""
    found = {name: digest_of_engine(one) for name, one in plan.context.engines.items()}

    def add(name: str, path: Path, told: str) -> None:
        found[name] = replace(digest_of_file(path), hashed=told)

    if plan.estimated():
        add(STREET_SOURCE.told, STREET_FILE, "the network that labels frames which have no labels")
    real = [one for one in plan.trials if one.data and not plan.data[one.data].first.drawn]
    steps = [(one.data, unwrapped(step)) for one in real for step in one.kind.steps(one.part)]
    if any(isinstance(one, Remove | Replace) and one.element not in PAINTED for _, one in steps):
        add(
            "fill (shipped network)",
            FILL,
            "the network that fills what is left where things of real frames go",
        )
    for name, step in steps:
        if isinstance(step, Add) and (things := step.cut_from(plan.data[name].frames)):
            found[f"things of {name if step.gallery == OWN else step.gallery}"] = digest_of_things(things)
        elif isinstance(step, Replace) and step.gallery not in (SHIPPED, OWN):
            found[f"things of {step.gallery}"] = digest_of_things(Gallery.opened(step.gallery))
    if plan.gate is not None and any(one.family in LOOKED_AT for _, one in steps):
        add(f"gate {STREET}", STREET_FILE, "the network of the gate, which looks at real frames")
    if plan.gate is not None and plan.gate.detector is not None:
        found[f"gate {plan.gate.name}"] = digest_of_model(plan.gate.detector)
    return found


def plan_suite(
    suite: Suite,
    *,
    only: Sequence[str] = (),
    sample: int | None = None,
    allow_commands: bool = False,
    seed: int | None = None,
    gate: str | None = None,
    copies: Path | None = None,
    progress: Callable[[Iterable[T]], Iterable[T]] = iter,
    executor: Executor | None = None,
    look_only: bool = False,
) -> SuitePlan:
    """Check everything that a suite names, and return what is to be run.

    Args:
        suite: The suite.
        only: Ids, tags or kinds; what has none of them is left out. All if empty.
        sample: How many frames of all data, tries of a search and drives there are at most.
        allow_commands: Whether engines of the user may run programs and code.
        seed: Instead of the suite's own.
        gate: Likewise.
        copies: A folder of copies of the files that requirements are read from, as a run has it; files that
            are not there are read where the suite says.
        progress: Wraps the entries, to show how far the check has come.
        executor: Where models are asked about a first frame; this process if left out.
        look_only: Whether Python code that the suite names is not imported: that file and function are there
            is seen, whether such a model fits is not.

    Raises:
        SuiteError: Something that the suite names cannot be used, or a requirement fits no model or data.
        InputError: Nothing has one of the ids, tags or kinds.
    """
    check_number("a sample", sample, least=1)
    seed = suite.form.seed if seed is None else seed
    context = Context(suite.folder, seed, allow_commands, sample, copies=copies)
    with only_looking() if look_only else nullcontext() as seen:
        planner = _Planner(suite, context, tuple(only), executor, seen)
        planner.open_gate(gate or suite.form.gate)
        return planner.plan(progress)


def misread_entries(suite: Suite) -> list[FileProblem]:
    """Return what is wrong with what requirements say; no model and no data is opened for it."""
    planner = _Planner(suite, Context(suite.folder, suite.form.seed), (), None, None)
    for id, entry in suite.form.requirements.items():
        planner.read_parts(id, entry)
    return planner.complaints


def chosen_entries(form: SuiteForm, only: Sequence[str]) -> dict[str, EntryForm]:
    """Return the entries of a suite that have one of some ids, tags or kinds, or a part of that name."""

    def is_chosen(id: str, entry: EntryForm) -> bool:
        known = {id, kind_of(entry).name, *tags_of(form, entry)}
        return not only or any(one in known or one.startswith((f"{id}/", f"{id}@")) for one in only)

    return {id: entry for id, entry in form.requirements.items() if is_chosen(id, entry)}


def tags_of(form: SuiteForm, entry: EntryForm) -> tuple[str, ...]:
    """Return the tags of an entry, those of all entries first."""
    return tuple(dict.fromkeys([*(form.defaults.tags or ()), *(entry.tags or ())]))


def severity_of(form: SuiteForm, entry: EntryForm) -> Severity:
    """Return how bad a violation of an entry is."""
    return Severity(entry.severity or form.defaults.severity or Severity.MAJOR)


def acceptance_of(form: SuiteForm, entry: EntryForm, *, of_before: bool = False) -> Acceptance:
    """Return what an entry accepts; of before, entries of every kind accepted a rate."""
    accept = entry.accept or form.defaults.accept
    # A search tells what it finds, and reliability has a rule of its own.
    no_rate = not of_before and kind_of(entry).no_rate(getattr(entry, "search", None))
    if accept is None or no_rate:
        return Acceptance()
    return Acceptance(accept.rate, accept.confidence, Decision(accept.decide), accept.early)


class _Planner:
    """Collects complaints, so that all are told at once."""

    def __init__(
        self,
        suite: Suite,
        context: Context,
        only: tuple[str, ...],
        executor: Executor | None,
        seen: list[str] | None,
    ) -> None:
        self.suite, self.context, self.only = suite, context, only
        self.executor, self.seen = executor, seen
        self.form = suite.form
        self.complaints: list[FileProblem] = []
        self.made = SuitePlan(suite, context, only=only)
        self.facts: dict[tuple[str, str], Facts] = {}
        self.folders: dict[str, str] = {}
        self.left_out: dict[str, list[str]] = {}
        self.closed: set[str] = set()  # the models among what was only looked at

    def plan(self, progress: Callable[[Iterable[Any]], Iterable[Any]]) -> SuitePlan:
        entries = chosen_entries(self.form, self.only)
        if not entries:
            raise InputError(self._nothing_chosen())
        for kind in KINDS.values():
            kind.read_ahead([one for one in entries.values() if kind_of(one) is kind], self.context)
        parts = {id: self.read_parts(id, entry) for id, entry in progress(entries.items())}
        self._open(entries)
        if not self.complaints:
            known = {name: one for name, one in self.made.models.items() if name not in self.closed}
            self.facts = look_at(known, self.made.data, self.executor)
            for id, entry in entries.items():
                self._fit(id, entry, parts[id])
        if self.complaints:
            raise SuiteError(self.complaints)
        if not self.made.trials:
            raise InputError(self._nothing_chosen())
        self._note()
        return self.made

    def open_gate(self, name: str) -> None:
        """Open what looks at changed frames."""
        try:
            self.made.gate = gate_named(name, self.suite.folder)
            self.made.unopened += ["the gate"] if self.seen else []
        except RoadworthyError as error:
            self._complain(("gate",), f"the gate is {STREET}, {OFF} or a detector: {error}")

    def _complain(self, place: Place, message: str, *, key: bool = False) -> None:
        self.complaints.append(complain(self.suite.file, place, message, key=key))

    # What is chosen

    def _part_chosen(self, id: str, entry: EntryForm, whole: str) -> bool:
        known = {id, kind_of(entry).name, *tags_of(self.form, entry), whole, whole.partition("@")[0]}
        return not self.only or not known.isdisjoint(self.only)

    def _nothing_chosen(self) -> str:
        tags = [tag for entry in self.form.requirements.values() for tag in tags_of(self.form, entry)]
        return (
            f"no requirement has the id, tag or kind {' or '.join(map(repr, self.only))}: "
            f"{suggest(self.only[0], {*KINDS, *self.form.requirements, *tags})}"
        )

    # What is read

    def read_parts(self, id: str, entry: EntryForm) -> list[Part[Any]]:
        place: Place = ("requirements", id, entry.key)
        if place not in self.suite.file.places:
            place = place[:2]
        try:
            return list(kind_of(entry).parts(entry, self.context))
        except RuleError as error:
            self.complaints.append(about_rule(self.suite.file, place, error))
        except InputError as error:
            self._complain(place, str(error))
        return []

    def _open(self, entries: Mapping[str, EntryForm]) -> None:
        """Open the models and data that are used, with as many earlier frames as the models want."""
        folders: dict[str, str] = {}
        for name in self._used(entries, "models"):
            other = folders.setdefault(file_name(name), name)
            if other != name:
                message = (
                    f"{name} and {other} would have one folder: use names that differ in letters or digits"
                )
                self._complain(self._place("models", name), message, key=True)
            try:
                self._open_model(name)
            except RoadworthyError as error:
                self._complain(self._place("models", name), str(error))
        history = max((history_of(one.system) for one in self.made.models.values()), default=0)
        wanting = {id: entry for id, entry in entries.items() if kind_of(entry).needs_data}
        if wanting and not self.form.data:
            id = next(iter(wanting))
            self._complain(
                ("requirements", id), f"{id} needs data, and the suite has none: add 'data:'", key=True
            )
        for id, entry in wanting.items():
            if self.form.data and not self._names(entry, "data"):
                self._complain(("requirements", id), f"{id} has no data but what it learns from", key=True)
        for name in self._used(wanting, "data"):
            try:
                self.made.data[name] = open_data(
                    name, self.form.data[name], self.suite.folder, history=history, sample=self.context.sample
                )
                self.context.data[name] = self.made.data[name].frames
            except RoadworthyError as error:
                if _is_not_run(error):
                    self.made.unopened.append(name)
                else:
                    self._complain(self._place("data", name), str(error))

    def _open_model(self, name: str) -> None:
        looked_at = len(self.seen or ())
        form = self.form.models[name]
        try:
            self.made.models[name] = open_model(name, form, self.suite.folder)
        except InputError as error:
            if not _is_not_run(error):
                raise
            self.made.models[name] = OpenedModel(name, form, Truth())
        if len(self.seen or ()) > looked_at:
            self.closed.add(name)
            self.made.unopened.append(name)

    def _used(self, entries: Mapping[str, EntryForm], key: str) -> list[str]:
        """Return the names of models or data that some entry is for, in the order of the suite."""
        used = {name for entry in entries.values() for name in self._names(entry, key)}
        if key == "data":
            used.update(*(kind_of(entry).learns_from(entry) for entry in entries.values()))
        return [name for name in getattr(self.form, key) if name in used]

    def _names(self, entry: EntryForm, key: str) -> list[str]:
        found = getattr(entry, key) or getattr(self.form.defaults, key) or getattr(self.form, key)
        learned = kind_of(entry).learns_from(entry) if key == "data" else ()
        return [name for name in found if name not in learned]

    def _place(self, key: str, name: str) -> Place:
        """Return where a model or data is written; in a list, the item."""
        written = self.suite.file.data.get(key)
        if isinstance(written, list):
            return (key, str(list(getattr(self.form, key)).index(name)))
        return (key,) if isinstance(written, str) else (key, name)

    # What fits

    def _fit(self, id: str, entry: EntryForm, parts: list[Part[Any]]) -> None:
        kind = kind_of(entry)
        models = self._names(entry, "models")
        data = self._names(entry, "data") if kind.needs_data else [""]
        tried: dict[tuple[str, str], str] = {}
        for part in parts:
            whole = f"{id}/{part.name}" if part.name else id
            reasons: dict[tuple[str, str], str] = {}
            trials: _Variants = {}
            for where in data:
                answers = self._try(kind, part, where, models, trials)
                reasons |= {(where, model): reason for model, reason in answers.items()}
            self._tell_misfits(id, whole, reasons)
            # Whatever fits one part of an entry fits the entry.
            tried = {pair: reason and tried.get(pair, reason) for pair, reason in reasons.items()}
            several = len({where for where, *_ in trials}) > 1
            for key, name in _named(whole, trials).items():
                (made, fit), where = trials[key], key[0]
                named = f"{name}@{where}" if several else name
                if self._part_chosen(id, entry, named):
                    self._add(named, id, entry, made, where, fit)
        if acceptance_of(self.form, entry).early and not all(map(kind.may_end_early, parts)):
            message = f"{id} cannot end early, because its cases have an order: leave out 'early'"
            self._complain(("requirements", id), message, key=True)
        for number, asked in enumerate(("data", "models")):
            for name in getattr(entry, asked) or ():
                found = [reason for pair, reason in tried.items() if pair[number] == name]
                if found and all(found):
                    self._complain(("requirements", id, asked), f"{id} does not fit {name}: {found[0]}")

    def _try(
        self, kind: Kind[Any, Any], part: Part[Any], where: str, models: Sequence[str], trials: _Variants
    ) -> dict[str, str]:
        """Note which models are tried by a part on some data; return why each is not, empty if it is."""
        reasons = dict.fromkeys(models, "")
        fit: dict[str, Facts] = {}
        unopened = [one for one in models if one in self.closed or where not in ("", *self.made.data)]
        for model in (one for one in models if one not in unopened):
            facts = self._facts(where, model)
            try:
                reasons[model] = kind.unfit(part, facts)
            except InputError as error:
                reasons[model] = str(error)
            if not reasons[model]:
                fit[model] = facts
        # They get the same images, so these must do for the one that sees least; no other model counts.
        shrinks = max((one.shrinks for one in fit.values()), default=1.0)
        for model, facts in fit.items():
            try:
                for one in kind.variants(part, replace(facts, shrinks=shrinks)):
                    suffix = one.name.removeprefix(part.name).strip("/")
                    told = json.dumps(dict(one.parameters), sort_keys=True, default=str)
                    trials.setdefault((where, suffix, told), (one, []))[1].append(model)
            except InputError as error:
                reasons[model] = str(error)
        if unopened:
            # Nobody knows whether they fit: they go with those that do, so that no requirement counts twice.
            place = next((key for key in trials if key[0] == where), (where, "", ""))
            trials.setdefault(place, (part, []))[1].extend(unopened)
        return reasons

    def _facts(self, where: str, model: str) -> Facts:
        """Return what is known about a model on some data, or without any."""
        if where:
            return self.facts[model, where]
        seen = next((one.known for (name, _), one in self.facts.items() if name == model), None)
        return Facts(self.made.models[model], None, seen)

    def _tell_misfits(self, id: str, whole: str, reasons: dict[tuple[str, str], str]) -> None:
        """Complain about a requirement that fits nothing; note which models it does not fit."""
        fit = {model for (_, model), reason in reasons.items() if not reason}
        if not fit and not all(isinstance(reason, NoTruth) for reason in reasons.values()):
            first = next(iter(reasons.values()))
            self._complain(("requirements", id), f"{whole} fits no model and data here: {first}", key=True)
            return
        others = {model: reason for (_, model), reason in reasons.items() if model not in fit}
        for reason in dict.fromkeys(others.values()):
            if not isinstance(reason, OtherTask):
                self.left_out.setdefault(reason, []).append(whole)

    def _note(self) -> None:
        """Note what was left out, and what no requirement is for."""
        for reason, ids in self.left_out.items():
            self.made.of_suite.append(f"Left out, because {reason}: {shortened(ids, _NOTED)}")
        self.made.of_suite += [
            f"{' and '.join(what)} {'is' if what == ['depth'] else 'are'} estimated by {STREET_SOURCE.told}: "
            f"{len(self.made.data[name].frames)} frames of {name} have none."
            for name, what in self.made.estimated().items()
        ]
        for name, data in self.made.data.items():
            if (labelling := unlabelled(data.frames)[1]) is not None:
                self.made.of_suite += [f"{name}: {labelling}, estimated."] if labelling.estimates else []
                self.made.of_suite += labelling.notes
            if any(
                "labels" in trial.kind.needs(trial.part) for trial in self.made.trials if trial.data == name
            ):
                self.made.of_suite += data.misfits()
        if self.made.gate is None:
            self.made.of_suite.append(
                "The gate is off: nobody looked whether changed frames show what they should."
            )
        for kind in KINDS.values():
            for name, data in self.made.data.items():
                parts = {
                    trial.requirement.id: trial.part
                    for trial in self.made.trials
                    if trial.kind is kind and trial.data == name
                }
                if parts:
                    self.made.of_suite += kind.notes(parts, data)
        noted: dict[str, list[str]] = {}
        for trial in self.made.trials:
            for note in trial.part.notes:
                noted.setdefault(note, []).append(trial.requirement.id)
        self.made.notes = [
            *self.made.of_suite,
            *(f"{shortened(ids, _NOTED)}: {note}" for note, ids in noted.items()),
        ]
        used = {
            "models": {model for trial in self.made.trials for model in trial.models},
            "data": {trial.data for trial in self.made.trials}.union(
                *(kind_of(entry).learns_from(entry) for entry in self.form.requirements.values())
            ),
        }
        for key in () if self.only else ("models", "data"):
            if unused := [name for name in getattr(self.form, key) if name not in used[key]]:
                note = f"No requirement is for {', '.join(unused)}."
                self.made.notes.append(note)
                self.made.of_suite.append(note)

    def _add(
        self, id: str, entry_id: str, entry: EntryForm, part: Part[Any], where: str, models: list[str]
    ) -> None:
        kind = kind_of(entry)
        try:
            requirement = Requirement(
                id,
                entry.text or part.text or id,  # only what was opened has all its words
                kind.name,
                part.parameters,
                tags_of(self.form, entry),
                severity_of(self.form, entry),
                acceptance_of(self.form, entry),
            )
        except InputError as error:
            self._complain(("requirements", entry_id), str(error), key=True)
            return
        other = self.folders.setdefault(file_name(id), id)
        if other != id:
            message = f"{id} and {other} would have one folder: use ids that differ in letters or digits"
            self._complain(("requirements", entry_id), message, key=True)
        self.made.trials.append(Trial(requirement, entry_id, kind, part, where, tuple(models)))


def _is_not_run(error: RoadworthyError) -> bool:
    """Tell whether code was only looked at; what opens it may have words of its own for that."""
    return NotRunError in (type(error), type(error.__cause__))


def _named(whole: str, trials: _Variants) -> dict[tuple[str, str, str], str]:
    """Return what the variants of a part are called: as the part, unless there are several on some data."""
    if len({key[1:] for key in trials}) == 1:
        return dict.fromkeys(trials, whole)
    names: dict[tuple[str, str, str], str] = {}
    for key in trials:
        number = [one for one in trials if one[:2] == key[:2]].index(key) + 1
        name = f"{whole}/{key[1]}" if key[1] else whole
        names[key] = name if number == 1 else f"{name}-{number}"
    return names
