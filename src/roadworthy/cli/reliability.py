"""``roadworthy reliability``: does a model still see what a human still sees?

Options:
    study (NAME): Whose tolerated ranges: imagenet or cifar10 of Hu et al., or a YAML file.
    seed (N): The same seed makes the same images and batches.
    transform (-t NAME): What changes the images: one of the paper's eight, or any transform that has an
        amount; repeatable. The eight if left out.
    limit (Δv): The largest visual change, instead of the tolerated one.
    model (MODEL): A model: a name, kind:path or a model.yaml; repeatable. classifier if left out.
    path ([PATH]): A CSV file of binned or single answers, a folder of binned ones, or an experiment's folder.
    measure (MEASURE): accuracy, accuracy(of=car), ap(iou=0.5), miou, steering(tolerance=1.39) or
        speed(tolerance=1); repeatable. What suits the model if left out.
    versions (N): How many changed images are made of each frame.
    tolerance (SHARE): The reliability distance that is tolerated: 0.05 or 5%.
    batches (N): Bootstrap batches of the paper's rule.
    batch (K): Images in a batch of the paper's rule; 50 by default, or all if there are fewer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from roadworthy.cli._answer import FAILED, PASSED, VIOLATED, Answer, write_document
from roadworthy.cli._commands import Group, command
from roadworthy.cli._console import make_folder, parse_options, progress, tracked
from roadworthy.cli._road import RunOptions, TestedOptions, answered, planned
from roadworthy.cli.options import Out, frames_of, free_folder
from roadworthy.cli.studies import glances
from roadworthy.errors import InputError, check_number
from roadworthy.result_tables import ResultTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from roadworthy.reliability.human import HumanData
    from roadworthy.reliability.human.answers import UnchangedAccuracy
    from roadworthy.runs.suites import SuitePlan, SuiteResult


app = typer.Typer(cls=Group, no_args_is_help=True)


@dataclass(frozen=True)
class ReliabilityOptions(TestedOptions):
    """What is tried on models: which changes, how large, how often, and what is measured."""

    usual = ("classifier",)

    data: str = "world-crops"
    transform: list[str] | None = None
    measure: list[str] | None = None
    limit: float | None = None
    study: str = "imagenet"
    versions: int = 4
    tolerance: str = "5%"
    batches: int = 200
    batch: int | None = None

    def __post_init__(self) -> None:
        check_number("--versions", self.versions, least=1)
        check_number("--batches", self.batches, least=2)
        check_number("--limit", self.limit, above=0, most=1)

    def entries(self, **settings: Any) -> dict[str, dict[str, Any]]:
        """Return one entry, whose requirements share its confidence: those given, or the paper's eight."""
        from roadworthy.reliability import PAPER_TRANSFORMATIONS
        from roadworthy.visual_change.tolerance import known_tolerance

        names = self.transform or [
            name for name in PAPER_TRANSFORMATIONS if known_tolerance(name, study=self.study) is not None
        ]
        given = ("measure", "limit", "versions", "tolerance", "batches", "batch", "study")
        shared = {name: getattr(self, name) for name in given}
        entry = names[0] if len(names) == 1 else "reliability"
        return {entry: {"reliability": names, **shared, **settings}}


@command(app)
def check(
    how: RunOptions,
    tested: ReliabilityOptions,
    preserve: Literal["correctness", "prediction", "both"] = "both",
    sampling: str = "even",
    rule: Literal["bound", "paper"] = "bound",
) -> Answer:
    """Check that a model still sees what a human still sees.

    Images are changed within the range that people tolerate. Correctness: the model must be as good on them
    as on the originals. Prediction: its answers must stay as stable as under a barely visible change; no
    ground truth is needed. The reliability distance is the gap. A requirement passes when the distance is at
    most the tolerance, is violated when it is above it, and is inconclusive when the images do not tell, with
    95% confidence over all requirements of the check together. The folder gets the rows of every case, the
    images of those that fail, plots, report.html, junit.xml, evidence, tables.md, result.json and suite.yaml.

    Options:
        preserve (WHAT): What must be preserved: correctness, prediction or both.
        sampling (HOW): even: over the visual change. published: parameters as the paper's authors draw them.
            levels: ImageNet-C's five.
        rule (NAME): bound, or paper: Δ + 1.645 σ of a batch ≤ 0, as Hu et al. decide; it claims no coverage.

    Examples:
        roadworthy reliability check --model classifier --data world-crops --transform defocus-blur
        roadworthy reliability check --model dave2 --data world --sample 100 --measure steering
        roadworthy reliability check --model detector --data world -t frost --measure "ap(iou=0.7)"
        roadworthy reliability check --model net.yaml --data folder:images --preserve prediction -t jpeg
        roadworthy reliability check --model dave2 --data world -t fog --limit 0.8
    """
    settings = {"preserve": preserve, "sampling": sampling, "decide": rule}
    document = tested.suite("reliability check", tested.entries(**settings))

    def made_of(result: SuiteResult) -> tuple[list[ResultTable], dict[str, Any]]:
        from roadworthy.report.reliability import ReliabilityReport

        report = ReliabilityReport(result)
        return report.tables(), {**report.document(), "sampling": sampling}

    return answered(document, how, Path("reliability-out"), made_of)


@command(app)
def rank(how: RunOptions, tested: ReliabilityOptions) -> Answer:
    """Rank models by their reliability distance, beside a plain benchmark (Table 2 of Hu et al.).

    The benchmark is the performance on the five levels of ImageNet-C, or on the original images where it has
    no such change. An arrow marks a model that ranks lower by its reliability distance: it has a gap that the
    benchmark does not show. All models see the same images. The exit code is always 0: a ranking is no
    verdict.

    Examples:
        roadworthy reliability rank --model dave2 --model epoch --data world --sample 99 --measure steering
        roadworthy reliability rank --model mine --model classifier --data world-crops -t frost -t jpeg
    """
    from roadworthy.reliability import transformation_named

    named = len(tested.model or ())
    if named < 2:
        raise InputError(f"a ranking needs two models or more, got {named}: repeat --model")
    entries = tested.entries(preserve="both")
    (entry,) = entries.values()
    known = [name for name in entry["reliability"] if transformation_named(name).levels]
    benchmark = {"preserve": "correctness", "sampling": "levels", "limit": 1.0, "versions": 5}
    levels = {
        key: value for key, value in {**entry, "reliability": known, **benchmark}.items() if key != "study"
    }
    document = tested.suite("reliability rank", {**entries, **({"levels": levels} if known else {})})

    def made_of(result: SuiteResult) -> tuple[list[ResultTable], dict[str, Any]]:
        from roadworthy.papers.reliability import ranking_of
        from roadworthy.report.reliability import ReliabilityReport

        report = ReliabilityReport(result)
        tables, rows = ranking_of(report)
        return tables, {**report.document(), "ranking": rows}

    how, usual = replace(how, images="none"), Path("reliability-rank")
    plan = planned(document, how, usual)
    _check_same_task(plan)
    answer = answered(plan, how, usual, made_of)
    return answer if answer.exit_code == FAILED else replace(answer, exit_code=0, conclusion="")


def _check_same_task(plan: SuitePlan) -> None:
    tasks = {model: trial.part.inside.made.measure.task for trial, model in plan.pairs}
    if len(set(tasks.values())) > 1 or len(tasks) < len(plan.suite.form.models):
        each = ", ".join(f"{name} ({task})" for name, task in tasks.items())
        raise InputError(f"models must have the same task to be ranked, got {each}")


@dataclass(frozen=True)
class People:
    """What people answered, and how a threshold is found from it.

    Options:
        rule (NAME): How a threshold is found: imagenet or cifar10 (published), released, text, or careful.
            If left out, careful; for the answers of a published study, as published.
        originals (SHARE): The share of right answers on images without a change; from the data if left out.
        transform (-t NAME): Only this transformation; repeatable.
        column (NAME=COLUMN): The name of a column of single answers, such as answer=human_label; repeatable.
        answers (FILE): Answers to an experiment, if they are not in its answers.csv; repeatable.
        width (Δv): Width of the intervals for single answers; wider needs fewer answers. 0.01 if left out.
        plot (FILE): Draw them, as .png or .svg.
    """

    rule: str | None = None
    originals: float | None = None
    transform: list[str] | None = None
    column: list[str] | None = None
    answers: list[Path] | None = None
    width: float | None = None
    seed: int = 0
    plot: Path | None = None

    def opened(self, path: Path) -> HumanData:
        """Read the answers."""
        from roadworthy.studies import read_human_answers

        given = parse_options(self.column or (), "--column answer=human_label")
        named = {name: str(column) for name, column in given.items()}
        data = read_human_answers(path, columns=named, answers=tuple(self.answers or ()), width=self.width)
        return data.only(self.transform or ())

    @property
    def known_originals(self) -> UnchangedAccuracy | None:
        """How people do on images without a change, where that was said."""
        from roadworthy.reliability.human.answers import UnchangedAccuracy

        return None if self.originals is None else UnchangedAccuracy(self.originals, None, "--originals")

    def draw(self, figure: Callable[[], Figure]) -> list[str]:
        """Draw the plot, where one was asked for, and say so."""
        from roadworthy.report.plots import save

        if self.plot is None:
            return []
        save(figure(), self.plot)
        return [f"Wrote {self.plot}"]


@command(app)
def change(reference: Path, changed: Path, transform: str = "", study: str = "imagenet") -> Answer:
    """Say how much of the change between two images a human sees, and whether people tolerate as much.

    Δv is 0 where nobody sees the change or it improves the image, and 1 where nothing is left. How much
    people tolerate depends on what changed the image; with --transform the exit code is 1 if it is too much
    for them.

    Options:
        reference (A): The original image.
        changed (B): The changed image.
        transform (-t NAME): What changed it, if that is known.

    Examples:
        roadworthy reliability change before.png after.png
        roadworthy reliability change before.png after.png --transform contrast
        roadworthy reliability change before.png after.jpg --transform jpeg --study cifar10 --json
    """
    from roadworthy.images import read_image
    from roadworthy.visual_change.tolerance import measure_change

    found = measure_change(read_image(reference), read_image(changed), transform, study=study)
    too_much = bool(transform) and not found.tolerated
    return Answer(found.document(), found.lines(), exit_code=VIOLATED if too_much else PASSED)


@command(app)
def thresholds(
    people: People,
    path: Path | None = None,
    repetitions: int = 1000,
    confidence: float = 0.9,
    save: Path | None = None,
) -> Answer:
    """Find the visual change up to which people answer as well as without any.

    t_c is for answers that are right, t_p for answers as to the original. The spread is where the thresholds
    of repetitions of the same experiment lie; a wide one says that the threshold is a matter of luck. A drop
    must grow before it is significant, so it begins below the threshold: the last column says where. Without
    a PATH, it shows the published thresholds that ship with Roadworthy and their sources.

    Options:
        repetitions (N): How often the experiment is simulated; 0: no intervals.
        confidence (SHARE): The share of repetitions that the spread holds; the confidence of the interval.
        save (FILE): Write them as a YAML file that `check --study` takes.

    Examples:
        roadworthy reliability thresholds human/imagenet --plot thresholds.png
        roadworthy reliability thresholds frost.csv --originals 0.97
        roadworthy reliability thresholds raw.csv --column answer=human_label --column truth=label --json
        roadworthy reliability thresholds experiment --save mine.yaml
        roadworthy reliability thresholds
    """
    from roadworthy.papers.reliability_figures import draw_thresholds
    from roadworthy.reliability.human.thresholds import estimate_thresholds, write_study
    from roadworthy.visual_change.tolerance import human_studies

    if path is None:
        published = human_studies()
        document = {name: study.as_dict() for name, study in published.items()}
        return Answer(document, [study.table() for study in published.values()])
    found = estimate_thresholds(
        people.opened(path),
        rule=people.rule,
        originals=people.known_originals,
        samples=repetitions,
        confidence=confidence,
        seed=people.seed,
        progress=lambda bins: tracked(bins, "Finding thresholds"),
    )
    wrote = people.draw(lambda: draw_thresholds(found.thresholds))
    without = [] if save is None else write_study(found.thresholds, save)
    lacking = [f"not in {save}: {name}, which lacks t_c or t_p" for name in without]
    saved = [] if save is None else [f"Wrote {save}"]
    plot = {"plot": None if people.plot is None else str(people.plot)}
    return Answer({**found.document(), **plot}, [*found.lines(), *lacking, *wrote, *saved])


studies = typer.Typer(cls=Group, no_args_is_help=True, help="Do the paper's studies on images of your own.")
app.add_typer(studies, name="study")


@command(studies)
def levels(
    data: str = "world",
    option: list[str] | None = None,
    transform: list[str] | None = None,
    sample: int = 50,
    versions: int = 5,
    study: str = "imagenet",
    seed: int = 0,
    out: Out = Path("reliability-levels"),
) -> Answer:
    """Say how well the five levels of ImageNet-C cover the range of changes that people tolerate (RQ2).

    For each transformation: the range of the visual change at the five levels, which share of the tolerated
    range they cover, and which share of their images is outside of it; the same for parameters drawn as the
    paper's authors do, and for images drawn evenly over the visual change. The folder gets ranges.png (Figure
    5), distributions.png (Figure 6), tables.md and result.json.

    Options:
        sample (-n N): Frames, spread over the data.
        versions (N): How many changed images are drawn of each frame.

    Examples:
        roadworthy reliability study levels --data world --sample 50
        roadworthy reliability study levels --data folder:images -t frost -t jpeg
    """
    from roadworthy.papers.reliability import level_table, study_levels
    from roadworthy.papers.reliability_figures import distribution_figure, range_figure
    from roadworthy.reliability import PAPER_TRANSFORMATIONS, transformation_named
    from roadworthy.report.plots import save

    kinds = [transformation_named(one) for one in transform or PAPER_TRANSFORMATIONS]
    frames = frames_of(data, option, [], sample)
    make_folder(out)
    done = count(1)
    with progress("Measuring", len(kinds)) as told:
        found = study_levels(
            frames, kinds, versions=versions, study=study, seed=seed, progress=lambda: told(next(done))
        )
    save(range_figure(found), out / "ranges.png")
    save(distribution_figure(found), out / "distributions.png")
    document = {
        "data": frames.name,
        "frames": len(frames),
        "study": study,
        "seed": seed,
        "transformations": [one.as_dict() for one in found],
    }
    table = level_table(found)
    write_document(out, document, [table])
    return Answer({"folder": str(out), **document}, [table, f"Wrote {out}"])


@command(studies)
def subsets(
    people: People, path: Path, draw: str | None = None, share: float = 0.6, pairs: int = 10
) -> Answer:
    """Find thresholds from parts of the answers, and compare the curves (RQ1).

    Curves are alike where their 83% intervals overlap, at every visual change: those of the two subsets of a
    pair and that of all answers. Even then, thresholds may be far apart.

    Options:
        draw (WHAT): images, raters or answers; images where known.
        share (SHARE): How much of the whole a subset is.
        pairs (N): How many pairs of subsets.

    Examples:
        roadworthy reliability study subsets human/imagenet
        roadworthy reliability study subsets raw.csv --draw raters --pairs 50 --plot subsets.png
    """
    from roadworthy.papers.reliability import study_subsets
    from roadworthy.papers.reliability_figures import draw_subsets
    from roadworthy.reliability.human import rule_named
    from roadworthy.reliability.human.thresholds import find_each, usual_rule

    data, known = people.opened(path), people.known_originals
    rule = rule_named(people.rule) if people.rule else usual_rule(data.bins[0])
    settings: dict[str, Any] = {"rule": rule.name, "share": share, "pairs": pairs, "seed": people.seed}
    found, troubles = find_each(
        tracked(data.bins, "Drawing subsets"), lambda one: study_subsets(data, one, draw, known, **settings)
    )
    wrote = people.draw(lambda: draw_subsets(found))
    without = [*data.without, *troubles]
    document = {**settings, "studies": [one.as_dict() for one in found], "not_counted": without}
    columns = ("transformation", "", "all", f"{share:.0%} subsets", "median", "curves alike")
    table = ResultTable("", columns, tuple(one.cells for one in found))
    return Answer(document, [table, *data.not_counted(troubles), *wrote])


@command(app)
def retrain(
    network: str,
    data: str = "world-crops",
    option: list[str] | None = None,
    transform: list[str] | None = None,
    limit: float | None = None,
    study: str = "imagenet",
    versions: int | None = None,
    weights: str | None = None,
    epochs: int = 10,
    lr: float = 1e-3,
    minutes: float | None = None,
    workers: int = 1,
    seed: int = 11,
    out: Path | None = None,
) -> Answer:
    """Continue training a reference network with images changed within the range that people tolerate.

    Each frame is followed by changed versions of it, whose visual change is even over the tolerated range.
    Validation data is made alike: with another seed where data is made, or the end of what was recorded. The
    folder is opened like any model; check it with frames and a seed that it was not trained with.

    Options:
        network (NETWORK): dave2, epoch, detector or classifier.
        versions (N): Changed versions of a frame; default: one per change.
        weights (MODEL): Weights to start from, or none; default: shipped.
        epochs (N): The most epochs.
        lr (RATE): Adam's learning rate, which falls to 0.
        minutes (N): Time limit: no epoch starts that would end later.
        workers (N): Processes that make images.
        out (FOLDER): Where to write; default: the next retrained/NETWORK.

    Examples:
        roadworthy reliability retrain classifier --data world-crops -o count=2000 -t gaussian-noise
        roadworthy reliability rank --model classifier --model retrained/classifier -t gaussian-noise
        roadworthy reliability retrain dave2 --data world -o count=4000 -o seed=11 --out sturdy
    """
    from roadworthy.models.zoo import architecture
    from roadworthy.training import Settings, TrainingSources, measures_table, train
    from roadworthy.training.retraining.material import WithChanges, tolerated_changes
    from roadworthy.training.train import OTHER_SEED

    variant = architecture(network).variant(None, {}, small=network in ("epoch", "chauffeur"))
    kinds, limits = tolerated_changes(transform, study=study, limit=limit)
    sources = TrainingSources.open(data, parse_options(option or []))
    training = WithChanges(sources.training, kinds, limits, versions, seed)
    validation = sources.validation and WithChanges(
        sources.validation, kinds, limits, versions, seed + OTHER_SEED
    )
    folder = out or free_folder(Path("retrained") / network)
    settings = Settings(
        epochs=epochs,
        learning_rate=lr,
        decay="cosine",
        seed=seed,
        minutes=minutes,
        workers=workers,
        patience=epochs,
    )
    start = None if weights == "none" else weights or network
    trained = train(variant, training, validation=validation, settings=settings, start=start, folder=folder)
    measures = trained.card.measures
    document = {
        "folder": str(folder),
        "data": training.name,
        "frames": len(training),
        "measures": {one.name: one.value for one in measures},
    }
    done = f"Wrote {folder}: a network that has seen {training.name}"
    return Answer(document, [measures_table(measures), done])


app.add_typer(glances)
