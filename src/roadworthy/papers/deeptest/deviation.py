"""RQ4 of DeepTest: what models answer on changed images, what of that is erroneous, and by how much."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roadworthy.coverage.oracle import (
    EPSILONS,
    LAMBDAS,
    UNFILTERED,
    BrokenRelation,
    ModelAnswers,
    Pair,
    Reference,
    Verdicts,
    check_lambda,
    cluster,
    judge,
)
from roadworthy.coverage.parameter_sets import ParameterSet
from roadworthy.errors import InputError, check_number
from roadworthy.frames import Frame, SignalUnits
from roadworthy.models import SystemUnderTest
from roadworthy.papers.deeptest import activity
from roadworthy.papers.deeptest.statistics import Statistic, p_text, signed_rank
from roadworthy.result_tables import ResultTable


def ask_models(
    models: Sequence[SystemUnderTest],
    frames: Iterable[Frame],
    sets: Sequence[ParameterSet],
    *,
    units: SignalUnits | None = None,
    seed: int = 0,
    batch: int = 64,
    progress: activity.Progress = activity.silent,
) -> list[ModelAnswers]:
    """Ask models about seed images and about their changed images, for the oracle.

    Changed images are made once for all models and are not kept.

    Args:
        models: The models; anything that predicts steering.
        frames: The seed images with recorded steering.
        sets: The transformations with their parameters.
        units: The native units of the data set, in which errors are computed; degrees when left out.
        seed: The same seed makes the same images.
        batch: Images that a model sees at a time.
        progress: Told how many seed images are done.

    Raises:
        InputError: There are no models, frames or labels, or a model does not predict steering.
        SystemUnderTestError: An answer has no steering, or one that is no finite number.

    Example:
        >>> from roadworthy.coverage.parameter_sets import parameter_sets
        >>> from roadworthy.datasets import load
        >>> from roadworthy.models import load_model
        >>> frames = load("world:town", count=3)
        >>> (answers,) = ask_models([load_model("dave2")], frames, parameter_sets(["rain"]))
        >>> answers.labels.size, len(answers.changed), answers.unit
        (3, 10, 'deg')
    """
    activity.check_names([one.name for one in models])
    check_number("batch", batch, least=1)
    native = units or SignalUnits()
    labels: list[float] = []
    ids: list[str] = []

    def images() -> Iterable[Frame]:
        for frame in frames:
            if frame.signals.steering is None:
                raise InputError(
                    f"frame {frame.id!r} has no recorded steering, and Equation 2 compares predictions with "
                    "labels: read the frames from a data set that has them"
                )
            labels.append(frame.signals.steering)
            ids.append(frame.id)
            yield frame
            for one in sets:
                for choice in one:
                    yield activity.changed_image(frame, one.name, choice, seed)
            progress(len(ids))

    found = _steered(models, images(), batch)
    if not ids:
        raise InputError("expected at least one seed image, got none")
    pairs: list[Pair] = [(one.name, choice.parameter) for one in sets for choice in one]
    unit = native.steering if isinstance(native.steering, str) else "units of the recording"
    answers = []
    for model, numbers in zip(models, found, strict=True):
        first, *changed = native.encode_steering(np.array(numbers).reshape(len(ids), -1)).T
        given = dict(zip(pairs, changed, strict=True))
        right = native.encode_steering(np.array(labels))
        answers.append(ModelAnswers(model.name, right, first, given, unit=unit, frames=ids))
    return answers


def add_images(
    models: Sequence[SystemUnderTest],
    answers: Sequence[ModelAnswers],
    name: str,
    images: Iterable[tuple[str, Frame]],
    *,
    units: SignalUnits | None = None,
    batch: int = 64,
) -> list[ModelAnswers]:
    """Ask the models about further images of the same seed images, such as those that a search found.

    Args:
        models: The models that were asked.
        answers: What they answered.
        name: What the images are called, such as `guided`.
        images: Each with the id of its seed image.
        units: As for `ask_models`.
        batch: Images that a model sees at a time.

    Raises:
        InputError: There are no images, or one is of no seed image that the models were asked about.
    """
    check_number("batch", batch, least=1)
    native = units or SignalUnits()
    places = {one: place for place, one in enumerate(answers[0].frames)}
    seeds: list[int] = []

    def frames() -> Iterable[Frame]:
        for seed, frame in images:
            if seed not in places:
                raise InputError(f"{name}: expected images of the seed images, got one of {seed!r}")
            seeds.append(places[seed])
            yield frame

    found = _steered(models, frames(), batch)
    if not seeds:
        raise InputError(f"{name}: expected at least one image, got none")
    pair: Pair = (name, "")
    added = []
    for one, numbers in zip(answers, found, strict=True):
        angles = np.asarray(native.encode_steering(np.array(numbers)), np.float64)
        changed, drawn = {**one.changed, pair: angles}, {**one.seeds, pair: np.array(seeds)}
        added.append(dataclasses.replace(one, changed=changed, seeds=drawn))
    return added


def _steered(models: Sequence[SystemUnderTest], frames: Iterable[Frame], batch: int) -> list[list[float]]:
    """Return what each model steers on each frame; the frames are read once and not kept."""
    found: list[list[float]] = [[] for _ in models]
    for some in activity.batches(frames, batch):
        for model, numbers in zip(models, found, strict=True):
            numbers += [
                activity.steering_of(model.name, *one) for one in zip(model.predict(some), some, strict=True)
            ]
    return found


_NOTE = "- means that no images were left to count, unlike 0."


def count_by_threshold(
    models: Sequence[ModelAnswers],
    *,
    lambdas: Sequence[float] = LAMBDAS,
    epsilons: Sequence[float] = EPSILONS,
    reference: Reference = "mse",
) -> ResultTable:
    """Count erroneous behaviours of all models together over λ and ε: the shape of the paper's Table 7.

    Every changed image that violates Equation 2 counts; the columns of ε hold the transformations that
    Equation 3 filters, and each of the others has its own column.

    Raises:
        InputError: There are no models, two share a name, their units differ, or a threshold is out of range.

    Example:
        >>> changed = {("blur", 3): [0.1, 0.5], ("rain", "heavy"): [0.5, 0.2]}
        >>> answers = ModelAnswers("epoch", [0.0, 1.0], [0.1, 0.9], changed, unit="rad")
        >>> print(count_by_threshold([answers], lambdas=(5, 30), epsilons=(0.1, 0.2)))
        erroneous behaviours of epoch; λ * MSE of the originals; errors and ε in rad^2
         λ  ε = 0.1  ε = 0.2  rain
         5        -        1     2
        30        -        0     1
        - means that no images were left to count, unlike 0.
    """
    unit = _one_unit(models)
    apart = [name for name in UNFILTERED if any(name == pair[0] for one in models for pair in one.changed)]
    columns: dict[str, list[str]] = {}
    for epsilon in epsilons:
        kept = [(one, [p for p in one.kept(epsilon, ()) if p[0] not in UNFILTERED]) for one in models]
        columns[f"ε = {epsilon:g}"] = _violations(kept, lambdas, reference)
    for name in apart:
        named = [(one, [pair for pair in one.changed if pair[0] == name]) for one in models]
        columns[name] = _violations(named, lambdas, reference)
    rows = zip((f"{lam:g}" for lam in lambdas), *columns.values(), strict=True)
    title = f"erroneous behaviours of {', '.join(one.model for one in models)}; {_stated(reference, unit)}"
    return ResultTable(title, ("λ", *columns), tuple(rows), _NOTE, "erroneous-by-threshold")


def count_by_model(
    models: Sequence[ModelAnswers], *, lam: float = 5, epsilon: float = 0.03, reference: Reference = "mse"
) -> ResultTable:
    """Count erroneous behaviours of each model under each transformation: the shape of the paper's Table 8.

    As in the paper, the filtered transformations add up to the cell of `count_by_threshold` at the same λ
    and ε. The filtered come first by name, then the others.

    Raises:
        InputError: As for `count_by_threshold`.

    Example:
        >>> changed = {("blur", 3): [0.1, 0.85], ("shear", 1): [0.9, 0.1], ("rain", "heavy"): [0.5, 0.2]}
        >>> answers = ModelAnswers("epoch", [0.0, 1.0], [0.1, 0.9], changed, unit="rad")
        >>> print(count_by_model([answers], lam=2))
        erroneous behaviours, λ = 2, ε = 0.03; λ * MSE of the originals; errors and ε in rad^2
        transformation  epoch
        blur                1
        shear               -
        rain                2
        - means that no images were left to count, unlike 0.
    """
    unit = _one_unit(models)
    present = {pair[0] for one in models for pair in one.changed}
    names = [*sorted(present.difference(UNFILTERED)), *(name for name in UNFILTERED if name in present)]
    kept = [(one, one.kept(epsilon)) for one in models]
    rows = []
    for name in names:
        named = [(one, [pair for pair in pairs if pair[0] == name]) for one, pairs in kept]
        rows.append((name, *(_violations([own], [lam], reference)[0] for own in named)))
    title = f"erroneous behaviours, λ = {lam:g}, ε = {epsilon:g}; {_stated(reference, unit)}"
    columns = ("transformation", *(one.model for one in models))
    return ResultTable(title, columns, tuple(rows), _NOTE, "erroneous-by-model")


def _violations(
    chosen: Sequence[tuple[ModelAnswers, Sequence[Pair]]], lambdas: Sequence[float], reference: Reference
) -> list[str]:
    """Return for each λ the violations of all pairs together."""
    for lam in lambdas:
        check_lambda(lam)
    squares = [(one.reference(reference), one.errors(pair) ** 2) for one, pairs in chosen for pair in pairs]
    if not squares:
        return ["-"] * len(lambdas)
    return [str(sum(int(np.sum(square > lam * allowed)) for allowed, square in squares)) for lam in lambdas]


def _stated(reference: Reference, unit: str) -> str:
    if reference == "mse":
        return f"λ * MSE of the originals; errors and ε in {unit}^2"
    return f"λ * RMSE of the originals, in {unit}; squared errors and ε in {unit}^2"


def _one_unit(models: Sequence[ModelAnswers]) -> str:
    """Return the unit that all models share."""
    if not models:
        raise InputError("expected the answers of at least one model, got none")
    activity.check_names([one.model for one in models])
    units = sorted({one.unit for one in models})
    if len(units) > 1:
        raise InputError(
            f"expected models with answers in one unit, got {', '.join(units)}: ε means one of them"
        )
    return units[0]


def percent(share: float | None) -> str:
    """Return a share in percent.

    Example:
        >>> percent(0.1234), percent(None)
        ('12.3%', '-')
    """
    return "-" if share is None else f"{share:.1%}"


@dataclass(frozen=True)
class Deviation:
    """How far off the violating images of a model are, beside their originals.

    Attributes:
        model: Its name.
        changes: Which changed images: all simple ones, those that Equation 3 keeps, or one transformation.
        images: How many changed images there were.
        violations: How many of them violate Equation 2.
        inherited: How many of these violations are on originals that are answered as wrongly, beyond the
            bound and to the same side: there, not the change is to blame.
        findings: How many distinct findings the violations are; all that an original bequeaths are one.
        mse: The mean squared error of the violating images; None without any.
        mse_originals: That of their originals, each counted as often as it was violated.
        test: Wilcoxon's signed rank test of the absolute errors of both.
    """

    model: str
    changes: str
    images: int
    violations: int
    inherited: int
    findings: int
    mse: float | None
    mse_originals: float | None
    test: Statistic


@dataclass(frozen=True)
class DeviationFinding:
    """Violations that count as one.

    Attributes:
        id: What it is called.
        model: Whose.
        worst: The worst of the violations.
        violations: How many there are.
        label: What the driver steered there, in the unit of the data set.
        original: What the model answered on the original.
        answer: What it answered on the changed image.
        inherited: Whether the answer on the original is beyond the bound as well, to the same side; then the
            finding holds all violations on this original.
    """

    id: str
    model: str
    worst: BrokenRelation
    violations: int
    label: float
    original: float
    answer: float
    inherited: bool


@dataclass(frozen=True, eq=False)
class DeviationStudy:
    """What RQ4 found.

    Attributes:
        answers: Of each model.
        lam: λ.
        epsilon: ε, in the square of the unit.
        reference: What λ multiplies.
        statements: The relation of each model with its numbers and units.
        rows: One for each model and kind of changes.
        findings: Of the violations that Table 8 counts, the worst first.
        errors: For figures: for each model and kind of changes, the absolute errors of the violating images
            and of their originals.
    """

    answers: tuple[ModelAnswers, ...]
    lam: float
    epsilon: float
    reference: Reference
    statements: tuple[str, ...]
    rows: tuple[Deviation, ...]
    findings: tuple[DeviationFinding, ...] = field(repr=False)
    errors: dict[tuple[str, str], tuple[NDArray[np.float64], NDArray[np.float64]]] = field(repr=False)

    @cached_property
    def tables(self) -> tuple[ResultTable, ...]:
        """The violations with their deviations, and the shapes of the paper's Tables 7 and 8."""
        unit = self.answers[0].unit
        return (
            ResultTable.of(
                f"Violations of Equation 2, λ = {self.lam:g} * {self.reference.upper()}, and errors on their "
                f"originals; MSE in {unit}^2",
                map(_cells, self.rows),
                "Inherited: the original is beyond the bound itself, to the same side, so the change is not "
                "to blame; all of one original are one finding. Violations are chosen for their errors, so "
                "larger errors than those of the originals are no surprise; how much larger they are is the "
                "result. p: Wilcoxon's signed rank test of the absolute errors.",
                name="deviation",
            ),
            count_by_threshold(self.answers, reference=self.reference),
            count_by_model(self.answers, lam=self.lam, epsilon=self.epsilon, reference=self.reference),
        )

    def __str__(self) -> str:
        return "\n\n".join(["\n".join(self.statements), *map(str, self.tables)])

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        return {
            "unit": self.answers[0].unit,
            "lambda": self.lam,
            "epsilon": self.epsilon,
            "reference": self.reference,
            "statements": list(self.statements),
            "rows": [asdict(one) for one in self.rows],
            **{
                table.name: [dict(zip(table.columns, row, strict=True)) for row in table.rows]
                for table in self.tables[1:]
            },
            "findings": [
                {name: getattr(one, name) for name in ("id", "model", "violations")}
                | {name: getattr(one.worst, name) for name in ("frame", "transformation", "parameter")}
                | {name: getattr(one, name) for name in ("label", "original", "answer", "inherited")}
                for one in self.findings
            ],
        }


def _cells(row: Deviation) -> dict[str, str]:
    def number(value: float | None) -> str:
        return "-" if value is None else f"{value:.3g}"

    return {
        "model": row.model,
        "changes": row.changes,
        **{name: str(getattr(row, name)) for name in ("images", "violations", "inherited", "findings")},
        "MSE": number(row.mse),
        "MSE of originals": number(row.mse_originals),
        "p": p_text(row.test.p) if not row.test.reason else f"not computable: {row.test.reason}",
    }


def study_deviation(
    answers: Sequence[ModelAnswers],
    *,
    lam: float = 5,
    epsilon: float = 0.03,
    reference: Reference = "mse",
    radius: float = 1.0,
) -> DeviationStudy:
    """Judge the answers of models, count what violates the oracle, and compare it with the originals.

    Args:
        answers: What each model answered, by `ask_models`.
        lam: λ.
        epsilon: ε of Equation 3, in the square of the data set's unit.
        reference: What λ multiplies.
        radius: How near violations are that count as one finding; see `cluster`.

    Raises:
        InputError: There are no models, or a threshold is out of range.
    """
    _one_unit(answers)
    rows: list[Deviation] = []
    findings: list[DeviationFinding] = []
    statements: list[str] = []
    errors = {}
    for one in answers:
        verdicts = judge(one, lam=lam, reference=reference)
        statements.append(verdicts.statement)
        kept = one.kept(epsilon)
        for changes, pairs in _kinds(one, epsilon, kept).items():
            row, both = _deviation(verdicts, changes, pairs, radius)
            rows.append(row)
            errors[one.model, changes] = both
        findings += _findings(verdicts, kept, radius)
    return DeviationStudy(
        tuple(answers), lam, epsilon, reference, tuple(statements), tuple(rows), tuple(findings), errors
    )


def _kinds(answers: ModelAnswers, epsilon: float, kept: Sequence[Pair]) -> dict[str, list[Pair]]:
    """Return the kinds of changes that are told apart, with their pairs."""
    kinds = {}
    if simple := [pair for pair in answers.changed if pair[0] not in UNFILTERED]:
        kinds["simple, all"] = simple
        kinds[f"simple, ε = {epsilon:g}"] = [pair for pair in simple if pair in set(kept)]
    named = {name: [pair for pair in answers.changed if pair[0] == name] for name in UNFILTERED}
    return kinds | {name: pairs for name, pairs in named.items() if pairs}


def _deviation(
    verdicts: Verdicts, changes: str, pairs: Sequence[Pair], radius: float
) -> tuple[Deviation, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    answers = verdicts.answers
    originals = answers.originals - answers.labels
    after, before = [np.empty(0)], [np.empty(0)]
    for pair in pairs:
        bad = verdicts.margins[pair] < 0
        after.append(answers.errors(pair)[bad])
        before.append(originals[answers.seeds[pair]][bad])
    wrong, original = np.concatenate(after), np.concatenate(before)
    both = np.abs(wrong), np.abs(original)
    images = sum(answers.changed[pair].size for pair in pairs)
    inherited = int(np.sum(_inherited(original, wrong, verdicts.bound)))
    counts = images, wrong.size, inherited, len(_findings(verdicts, pairs, radius))
    mse, original_mse = (float(np.mean(one**2)) if wrong.size else None for one in (wrong, original))
    row = Deviation(answers.model, changes, *counts, mse, original_mse, signed_rank(both[1], both[0]))
    return row, both


def _inherited(original: Any, changed: Any, bound: float) -> Any:
    """Return whether the error on the original is beyond the bound itself, and to the same side."""
    return (original**2 > bound) & (original * changed > 0)


def _findings(verdicts: Verdicts, pairs: Sequence[Pair], radius: float) -> list[DeviationFinding]:
    """Return the distinct findings, the worst first."""
    answers = verdicts.answers
    places = {name: place for place, name in enumerate(answers.frames)}
    errors = (answers.originals - answers.labels).tolist()
    own: list[BrokenRelation] = []
    bequeathed: dict[str, list[BrokenRelation]] = {}
    for failure in verdicts.failures(pairs):
        if _inherited(errors[places[failure.frame]], failure.error, verdicts.bound):
            bequeathed.setdefault(failure.frame, []).append(failure)
        else:
            own.append(failure)
    alike = [(one.representative, one.size, False) for one in cluster(own, radius=radius)]
    groups = bequeathed.values()
    alike += [(min(each, key=lambda one: one.margin), len(each), True) for each in groups]
    found = []
    for number, (worst, count, inherited) in enumerate(sorted(alike, key=lambda one: one[0].margin), 1):
        place, id = places[worst.frame], f"{answers.model}-{number:03d}"
        label, original = float(answers.labels[place]), float(answers.originals[place])
        angles = label, original, label + worst.error
        found.append(DeviationFinding(id, answers.model, worst, count, *angles, inherited))
    return found
