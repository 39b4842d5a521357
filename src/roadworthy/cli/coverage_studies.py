"""``roadworthy coverage study``: DeepTest's studies on your own network and data.

Options:
    sample (-n N): How many seed images, drawn at random; 0 for all.
    transformation (--transform -t NAME): simple, composite, deeptest, a transform, or one with its
        parameters; repeatable.
    counting (NAME): What counts as a neuron: distinct, or deeptest or activations as the public code does.
    threshold (NUMBER): The activation threshold of a neuron.
    batch (N): Images that a network sees at a time.
    lam (--lambda λ): λ of Equation 2.
    reference: What λ multiplies: the originals' MSE or RMSE.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from roadworthy._files import file_name, write_json, write_text
from roadworthy.cli._answer import Answer
from roadworthy.cli._commands import Group, command
from roadworthy.cli._console import make_folder, progress
from roadworthy.cli.options import history_of, opened, opened_models
from roadworthy.errors import InputError, check_number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from roadworthy.models import SystemUnderTest
    from roadworthy.papers.deeptest.activity import Activity, HowCounted
    from roadworthy.papers.deeptest.seeds import SeedImages
    from roadworthy.result_tables import ResultTable

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    help="Repeat DeepTest's studies on your network and data: a table and a figure for each question.",
)


def seed_images(
    reference: str,
    options: list[str] | None,
    systems: Sequence[SystemUnderTest],
    *,
    sample: int,
    part: str | None,
    seed: int,
) -> SeedImages:
    """Open a data set and draw seed images from it.

    Raises:
        InputError: There are no frames, or a number is out of range.
    """
    from roadworthy.papers.deeptest.seeds import SeedImages

    check_number("--sample", sample, least=0)
    history = max((history_of(one) or 0 for one in systems), default=0)
    # Data that is made is made in the number that is used.
    count = sample if sample and part is None else None
    data = opened(reference, options, count=count, history=history or None)
    return SeedImages.draw(data, sample, part=part, seed=seed, history=history, count=count)


@dataclass(frozen=True)
class Inputs:
    """The networks and the data of a study, and where it is written.

    Options:
        model (MODEL): A network: a name, kind:path or a model.yaml; repeatable. dave2 if left out.
        frames (FROM:TO): Only these frames, such as 3600: to skip the training.
        seed (N): The same seed draws and makes the same images.
        out (FOLDER): Where tables (CSV), figures (PNG) and JSON are written.
    """

    model: list[str] | None = None
    data: str = "world"
    option: list[str] | None = None
    frames: str | None = None
    seed: int = 0
    out: Path = Path("coverage-study")

    def opened(self, sample: int) -> tuple[list[SystemUnderTest], SeedImages]:
        """Open the networks, and draw so many seed images from the data."""
        systems = opened_models(self.model)
        seeds = seed_images(self.data, self.option, systems, sample=sample, part=self.frames, seed=self.seed)
        return systems, seeds


@dataclass(frozen=True)
class Neurons:
    """What counts as an activated neuron.

    Options:
        scaling: How a layer's activations are scaled first.
    """

    counting: str = "distinct"
    threshold: float = 0.2
    scaling: Literal["outputs", "neurons", "none"] = "outputs"
    batch: int = 64

    @property
    def how(self) -> HowCounted:
        """The same for the study."""
        from roadworthy.papers.deeptest.activity import HowCounted

        return HowCounted(self.counting, self.threshold, self.scaling)


def _answer(
    out: Path,
    name: str,
    document: dict[str, Any],
    tables: Sequence[ResultTable],
    figures: Mapping[str, Figure],
    *,
    notes: Sequence[str] = (),
    written: Iterable[str] = (),
) -> Answer:
    """Write a study into a folder, the document by its name, and return what is shown of it."""
    from roadworthy.report.plots import save

    make_folder(out)
    for table in tables:
        write_text(out / f"{table.name}.csv", table.csv())
    for title, figure in figures.items():
        save(figure, out / f"{title}.png")
    write_json(out / f"{name}.json", document)
    files = [f"{one.name}.csv" for one in tables] + [f"{title}.png" for title in figures]
    conclusion = f"Wrote {', '.join([*files, f'{name}.json', *written])} into {out}"
    # As text: the tables are wider than many terminals, and would be folded.
    return Answer(
        document, [f"{table}\n" for table in tables], notes or document["notes"], conclusion=conclusion
    )


def _records(items: Iterable[Any]) -> list[dict[str, Any]]:
    return [asdict(one) for one in items]


@command(app)
def directions(
    inputs: Inputs, neurons: Neurons, sample: int = 500, angle: Literal["predicted", "recorded"] = "predicted"
) -> Answer:
    """Does coverage change with what the network answers? RQ1, Table 5.

    Spearman's correlation of the coverage of single images with the steering angle, and a comparison of
    images steered to the left with images steered to the right.

    Options:
        angle: Whose steering angle: the network's, or the driver's.

    Examples:
        roadworthy coverage study directions --model dave2 --model epoch
        roadworthy coverage study directions --model epoch-udacity -d udacity-ch2:drive --frames 3600:
    """
    from roadworthy.papers.deeptest.directions import study_directions
    from roadworthy.papers.deeptest.figures import draw_directions

    how = neurons.how
    systems, seeds = inputs.opened(sample)
    with progress("Watching", len(seeds)) as told:
        study = study_directions(systems, seeds, how=how, angle=angle, batch=neurons.batch, progress=told)
    about = seeds.about(study.coverage, inputs.seed)
    document = {**about, "counted": str(how), "angle": angle, "rows": _records(study.rows)}
    figures = {"directions": draw_directions(study)}
    return _answer(inputs.out, "directions", document, [study.table()], figures)


@command(app)
def transformations(
    inputs: Inputs, neurons: Neurons, sample: int = 100, transformation: list[str] | None = None
) -> Answer:
    """Do different transformations activate different neurons? RQ2, Figure 4.

    Jaccard distances between the neurons of changed images of one seed image, for every pair of
    transformations, and the coverage of a seed image as transformations are added.

    Examples:
        roadworthy coverage study transformations --model dave2 --model epoch
        roadworthy coverage study transformations -t deeptest --sample 20
    """
    from roadworthy.papers.deeptest.figures import draw_transformations
    from roadworthy.papers.deeptest.transformations import study_transformations

    seeds, found = _observed(inputs, neurons, sample, transformation)
    study = study_transformations(found)
    document = {
        **seeds.about([one.model for one in found], inputs.seed),
        "counted": study.how,
        "transformations": list(found[0].transformations),
        "distances": _records(study.distances),
        "cumulative": _records(study.growth),
    }
    figures = {"transformations": draw_transformations(study)}
    return _answer(inputs.out, "transformations", document, study.tables(), figures)


@command(app)
def change(
    inputs: Inputs, neurons: Neurons, sample: int = 100, transformation: list[str] | None = None
) -> Answer:
    """By how much does each transformation change the coverage of a seed image? Figure 5.

    All images of a transformation together and single ones, against the seed image, with Wilcoxon's signed
    rank test and Cohen's d; beside them as many other seed images, unchanged.

    Examples:
        roadworthy coverage study change --model dave2 --model epoch
        roadworthy coverage study change --counting deeptest --model epoch --sample 50
    """
    from roadworthy.papers.deeptest.figures import draw_change
    from roadworthy.papers.deeptest.transformations import study_change

    seeds, found = _observed(inputs, neurons, sample, transformation)
    study = study_change(found, seed=inputs.seed)
    document = {**seeds.about(study.counts, inputs.seed), "counted": study.how, "rows": _records(study.rows)}
    return _answer(inputs.out, "change", document, [study.table()], {"change": draw_change(study)})


def _observed(
    inputs: Inputs, neurons: Neurons, sample: int, names: list[str] | None
) -> tuple[SeedImages, list[Activity]]:
    from roadworthy.coverage.parameter_sets import parameter_sets
    from roadworthy.papers.deeptest.activity import observe_changes

    how, sets = neurons.how, parameter_sets(names or ["simple"])
    systems, seeds = inputs.opened(sample)
    with progress("Changing images", len(seeds)) as told:
        found = observe_changes(
            systems, seeds, sets, how=how, seed=inputs.seed, batch=neurons.batch, progress=told
        )
    return seeds, found


@command(app)
def guided(
    inputs: Inputs,
    sample: int = 20,
    transformation: list[str] | None = None,
    tries: int = 0,
    lam: float = 5.0,
    reference: Literal["mse", "rmse"] = "mse",
    counting: str = "distinct",
    threshold: float = 0.2,
) -> Answer:
    """Can coverage be increased further by combining transformations? RQ3, Table 6.

    The seed images alone, every transformation of every seed image with every parameter, and searches that
    combine transformations: by chance, DeepTest's Algorithm 1, and ours. Each search has as many tries as all
    transformations make images, and begins again with its seeds when it has nothing left to try.

    Options:
        tries (N): Tries of each search; 0 for as many as all transformations make.

    Examples:
        roadworthy coverage study guided --model dave2 --model epoch --sample 20
        roadworthy coverage study guided --model dave2-udacity -d udacity-ch2:drive --frames 3600:
        roadworthy coverage study guided --tries 500 --lambda 3 --counting deeptest --out strict
    """
    from roadworthy.coverage.search.settings import SearchSettings
    from roadworthy.papers.deeptest.comparison import study_guided
    from roadworthy.papers.deeptest.seeds import Seeds
    from roadworthy.report.plots import draw_growth

    systems, drawn = inputs.opened(sample)
    settings = SearchSettings(
        transforms=tuple(transformation or ["simple"]), lam=lam, reference=reference, again=True
    )
    study, growths = study_guided(
        systems,
        Seeds(drawn),
        settings,
        tries=tries,
        counting=counting,
        threshold=threshold,
        out=inputs.out / "runs",
        seed=inputs.seed,
        progress=progress,
    )
    figures = {f"guided-{file_name(name)}": draw_growth(growth) for name, growth in growths.items()}
    about = drawn.about([one.name for one in systems], inputs.seed)
    document = {**about, "tries": study.tries, "rows": _records(study.rows)}
    return _answer(inputs.out, "guided", document, [study.table()], figures)


@command(app)
def deviation(
    inputs: Inputs,
    sample: int = 50,
    transformation: list[str] | None = None,
    lam: float = 5.0,
    epsilon: float = 0.03,
    reference: Literal["mse", "rmse"] = "mse",
    radius: float = 1.0,
    guided: Path | None = None,
    check: int = 16,
    batch: int = 64,
) -> Answer:
    """Which changed images are answered wrongly, and by how much? RQ4, Figure 6, Tables 7 and 8.

    Errors, λ and ε are in the native unit of the data set, which the tables state. Similar violations count
    as one finding. checks-MODEL.png shows findings drawn at random, to be checked by hand.

    Options:
        epsilon (NUMBER): ε of Equation 3, in the square of the data set's unit.
        radius (NUMBER): How close violations must be to count as one finding.
        guided (RUN): A run of `coverage search --images all` on this data: its images are judged too, and its
            seed images are added to the others.
        check (N): How many findings of each model to draw for checking by hand.

    Examples:
        roadworthy coverage study deviation --model dave2 --model epoch
        roadworthy coverage study deviation --model dave2-udacity -d udacity-ch2:drive --frames 3600:
        roadworthy coverage study deviation --lambda 3 --epsilon 0.02 --reference rmse
        roadworthy coverage study deviation --guided search-out
    """
    from roadworthy.coverage.oracle import check_limits
    from roadworthy.coverage.parameter_sets import parameter_sets
    from roadworthy.papers.deeptest.deviation import add_images, ask_models, study_deviation
    from roadworthy.papers.deeptest.figures import check_pairs, choose_findings, draw_deviation, write_checks
    from roadworthy.papers.deeptest.seeds import GuidedImages

    out, seed = inputs.out, inputs.seed
    check_limits(lam, epsilon, radius)
    choose_findings([], check)
    sets = parameter_sets(transformation or ["deeptest"])
    systems, seeds = inputs.opened(sample)
    found = None if guided is None else GuidedImages(guided, seeds)
    seeds = seeds if found is None else found.with_originals(seeds)
    how: dict[str, Any] = {"units": seeds.units, "batch": batch}
    with progress("Asking models", len(seeds)) as told:
        answers = ask_models(systems, seeds, sets, seed=seed, progress=told, **how)
    answers = answers if found is None else add_images(systems, answers, "guided", found, **how)
    study = study_deviation(answers, lam=lam, epsilon=epsilon, reference=reference, radius=radius)
    chosen = choose_findings(study.findings, check, seed)
    written = write_checks(out, study, check_pairs(study, chosen, seeds, sets, seed, found))
    document = {**seeds.about([one.model for one in answers], seed), **study.as_dict()}
    document["notes"] += [] if found is None else found.notes()
    figures = {"deviation": draw_deviation(study)}
    notes = [*study.statements, *document["notes"]]
    return _answer(out, "deviation", document, study.tables, figures, notes=notes, written=written)


@command(app)
def faults(
    inputs: Inputs,
    sample: int = 300,
    compared: int = 300,
    criterion: list[str] | None = None,
    counting: str = "distinct",
    size: list[int] | None = None,
    suites: int = 300,
    resamples: int = 200,
    mutants: Path | None = None,
    rounds: int = 4,
    tolerance: float = 1.0,
    batch: int = 64,
) -> Answer:
    """Do images that cover more find more faults? Not asked in the paper.

    Faults are mutants of the network. Suites of equal size are drawn at random from a pool of images, and
    their coverage by every criterion is correlated with how many mutants they kill. A suite kills a mutant
    that steers otherwise than the original on one of its images. All networks answer the pool once.

    Options:
        sample (-n N): How many images the pool has.
        compared (N): How many other images of the data, the first ones, criteria compare with that need
            training data.
        criterion (-c NAME): A criterion, with options as in top-k(k=2); repeatable. All eight if left out.
        size (N): How many images a suite has; repeatable. 10, 25 and 50 if left out.
        suites (N): How many suites of each size.
        resamples (N): Of the bootstrap over images and mutants that gives the intervals.
        mutants (FOLDER): Mutants of the network that `driving mutate` made; made in memory if left out.
        rounds (N): How often weights and neurons are drawn for them: 24 mutants, then 15 for each round more.
        tolerance (DEGREES): By how much, at the wheels, a mutant must steer otherwise to be killed.

    Examples:
        roadworthy coverage study faults --model dave2 -o weather=all -o time=all
        roadworthy coverage study faults --model epoch -c neuron -c top-k --size 20 --tolerance 0.5
        roadworthy coverage study faults --model dave2 --mutants mutants
    """
    from roadworthy.coverage.criteria.named import CRITERIA
    from roadworthy.papers.deeptest import faults as studied
    from roadworthy.papers.deeptest.seeds import Seeds

    models = inputs.model or ["dave2"]
    if mutants is not None and len(models) > 1:
        raise InputError(f"--mutants are of one network: give one --model, not {len(models)}")
    if sample < 1 or compared < 1:
        raise InputError(f"--sample and --compared must be 1 or more, got {sample} and {compared}")
    systems, seeds = inputs.opened(sample + compared)
    if len(seeds) <= compared:
        raise InputError(
            f"{seeds.data.name} has {len(seeds)} images, and {compared} are to be compared with: give fewer "
            "as --compared, or more data"
        )
    images = list(Seeds(seeds))
    reference, pool = images[:compared], images[compared:]
    studies = []
    for name, system in zip(models, systems, strict=True):
        faulty = studied.make_faults(name, rounds) if mutants is None else studied.read_faults(mutants)
        with progress(f"Asking {len(faulty)} mutants", len(pool)) as told:
            study = studied.study_faults(
                system,
                faulty,
                pool,
                reference=reference,
                criteria=criterion or CRITERIA,
                counting=counting,
                tolerance=tolerance,
                sizes=size or (10, 25, 50),
                suites=suites,
                resamples=resamples,
                seed=inputs.seed,
                batch=batch,
                progress=told,
            )
        studies.append(study)
    about = seeds.about([one.model for one in studies], inputs.seed)
    document = {**about, "compared": compared, "studies": [one.as_dict() for one in studies]}
    return _answer(inputs.out, "faults", document, [one.table() for one in studies], {})
