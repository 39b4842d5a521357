"""``roadworthy coverage study``: DeepTest's studies on your own network and data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from roadworthy._files import file_name, write_json, write_text
from roadworthy.cli._answer import Answer
from roadworthy.cli._commands import Group, command, opt
from roadworthy.cli._console import make_folder, progress
from roadworthy.cli.coverage._group import seed_images
from roadworthy.cli.options import Data, Options, opened_models
from roadworthy.errors import InputError

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

Sample = Annotated[int, opt("N", "How many seed images, drawn at random; 0 for all.", "--sample", "-n")]
Transformations = Annotated[
    list[str] | None,
    opt(
        "NAME",
        "simple, composite, deeptest, a transform, or one with its parameters; repeatable.",
        "--transform",
        "-t",
    ),
]
Counting = Annotated[
    str, opt("NAME", "What counts as a neuron: distinct, or deeptest as the public code does.")
]
Threshold = Annotated[float, opt("NUMBER", "Above which a neuron is activated.")]
Lambda = Annotated[float, opt("λ", "λ of Equation 2.", "--lambda")]
Reference = Annotated[Literal["mse", "rmse"], opt(None, "What λ multiplies: the originals' MSE or RMSE.")]
Batch = Annotated[int, opt("N", "Images that a network sees at a time.")]


@dataclass(frozen=True)
class Inputs:
    """The networks and the data of a study, and where it is written."""

    model: Annotated[
        list[str] | None,
        opt("MODEL", "A network: a name, kind:path or a model.yaml; repeatable. dave2 if left out."),
    ] = None
    data: Data = "world"
    option: Options = None
    frames: Annotated[
        str | None, opt("FROM:TO", "Only these frames, such as 3600: to skip the training.")
    ] = None
    seed: Annotated[int, opt("N", "The same seed draws and makes the same images.")] = 0
    out: Annotated[Path, opt("FOLDER", "Where tables (CSV), figures (PNG) and JSON are written.")] = Path(
        "coverage-study"
    )

    def opened(self, sample: int) -> tuple[list[SystemUnderTest], SeedImages]:
        """Open the networks, and draw so many seed images from the data."""
        systems = opened_models(self.model)
        seeds = seed_images(self.data, self.option, systems, sample=sample, part=self.frames, seed=self.seed)
        return systems, seeds


@dataclass(frozen=True)
class Neurons:
    """What counts as an activated neuron."""

    counting: Counting = "distinct"
    threshold: Threshold = 0.2
    scaling: Annotated[
        Literal["outputs", "neurons", "none"],
        opt(None, "What a neuron's number is scaled by, within its layer, before."),
    ] = "outputs"
    batch: Batch = 64

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


@command(
    app,
    "roadworthy coverage study directions --model dave2 --model epoch",
    "roadworthy coverage study directions --model epoch-udacity -d udacity-ch2:drive --frames 3600:",
)
def directions(
    inputs: Inputs,
    neurons: Neurons,
    sample: Sample = 500,
    angle: Annotated[
        Literal["predicted", "recorded"], opt(None, "Whose steering angle: the network's, or the driver's.")
    ] = "predicted",
) -> Answer:
    """Does coverage change with what the network answers? RQ1, Table 5.

    Spearman's correlation of the coverage of single images with the steering angle, and a comparison of
    images steered to the left with images steered to the right.
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


@command(
    app,
    "roadworthy coverage study transformations --model dave2 --model epoch",
    "roadworthy coverage study transformations -t deeptest --sample 20",
)
def transformations(
    inputs: Inputs, neurons: Neurons, sample: Sample = 100, transformation: Transformations = None
) -> Answer:
    """Do different transformations activate different neurons? RQ2, Figure 4.

    Jaccard distances between the neurons of changed images of one seed image, for every pair of
    transformations, and the coverage of a seed image as transformations are added.
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


@command(
    app,
    "roadworthy coverage study change --model dave2 --model epoch",
    "roadworthy coverage study change --counting deeptest --model epoch --sample 50",
)
def change(
    inputs: Inputs, neurons: Neurons, sample: Sample = 100, transformation: Transformations = None
) -> Answer:
    """By how much does each transformation change the coverage of a seed image? Figure 5.

    All images of a transformation together and single ones, against the seed image, with Wilcoxon's signed
    rank test and Cohen's d; beside them as many other seed images, unchanged.
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


@command(
    app,
    "roadworthy coverage study guided --model dave2 --model epoch --sample 20",
    "roadworthy coverage study guided --model dave2-udacity -d udacity-ch2:drive --frames 3600:",
    "roadworthy coverage study guided --tries 500 --lambda 3 --counting deeptest --out strict",
)
def guided(
    inputs: Inputs,
    sample: Sample = 20,
    transformation: Transformations = None,
    tries: Annotated[int, opt("N", "Tries of each search; 0 for as many as all transformations make.")] = 0,
    lam: Lambda = 5.0,
    reference: Reference = "mse",
    counting: Counting = "distinct",
    threshold: Threshold = 0.2,
) -> Answer:
    """Can coverage be increased further by combining transformations? RQ3, Table 6.

    The seed images alone, every transformation of every seed image with every parameter, and searches that
    combine transformations: by chance, DeepTest's Algorithm 1, and ours. Each search has as many tries as all
    transformations make images, and begins again with its seeds when it has nothing left to try.
    """
    from roadworthy.coverage.search.settings import SearchSettings
    from roadworthy.papers.deeptest.comparison import study_guided
    from roadworthy.papers.deeptest.seeds import Seeds
    from roadworthy.report.plots import draw_growth

    if tries < 0:
        raise InputError(f"--tries must be 0 or more, got {tries}")
    systems, drawn = inputs.opened(sample)
    seeds = Seeds(drawn)
    settings = SearchSettings(
        criterion=f"neuron(threshold={threshold})",
        transforms=tuple(transformation or ["simple"]),
        lam=lam,
        reference=reference,
        again=True,
    )
    budget = tries or len(seeds) * sum(len(one) for one in settings.space().sets)
    note = (
        f"{len(seeds)} seed images; neurons are counted {counting!r}, activated above {threshold:g}; the "
        f"coverage of searches includes the seed images; kept are images that raised coverage; failures "
        f"violate Equation 2 with λ = {lam:g} and the {reference.upper()} of the seed images, and all "
        "findings of a model are counted together."
    )
    study, growths = study_guided(
        systems,
        seeds,
        settings,
        tries=budget,
        counting=counting,
        note=note,
        out=inputs.out / "runs",
        seed=inputs.seed,
        progress=progress,
    )
    figures = {f"guided-{file_name(name)}": draw_growth(growth) for name, growth in growths.items()}
    about = drawn.about([one.name for one in systems], inputs.seed)
    document = {**about, "tries": budget, "rows": _records(study.rows)}
    return _answer(inputs.out, "guided", document, [study.table()], figures)


@command(
    app,
    "roadworthy coverage study deviation --model dave2 --model epoch",
    "roadworthy coverage study deviation --model dave2-udacity -d udacity-ch2:drive --frames 3600:",
    "roadworthy coverage study deviation --lambda 3 --epsilon 0.02 --reference rmse",
    "roadworthy coverage study deviation --guided search-out",
)
def deviation(
    inputs: Inputs,
    sample: Sample = 50,
    transformation: Transformations = None,
    lam: Lambda = 5.0,
    epsilon: Annotated[float, opt("NUMBER", "ε of Equation 3, in the square of the data set's unit.")] = 0.03,
    reference: Reference = "mse",
    radius: Annotated[float, opt("NUMBER", "How near violations are that count as one finding.")] = 1.0,
    guided: Annotated[
        Path | None,
        opt(
            "RUN",
            "A run of `coverage search --images all` on this data: its images are judged too, and its seed "
            "images are added to the others.",
        ),
    ] = None,
    check: Annotated[int, opt("N", "Findings of each model that are drawn for checking by hand.")] = 16,
    batch: Batch = 64,
) -> Answer:
    """Which changed images are answered wrongly, and by how much? RQ4, Figure 6, Tables 7 and 8.

    Errors, λ and ε are in the native unit of the data set, which the tables state. Violations that are alike
    count as one finding. checks-MODEL.png shows findings drawn at random and checks.csv waits for your
    judgement of them; `false-alarms` counts it.
    """
    from roadworthy.coverage.oracle import check_epsilon, check_lambda, check_radius
    from roadworthy.coverage.parameter_sets import parameter_sets
    from roadworthy.papers.deeptest.asking import add_images, ask_models
    from roadworthy.papers.deeptest.checking import choose_findings, refuse_to_overwrite
    from roadworthy.papers.deeptest.deviation import study_deviation
    from roadworthy.papers.deeptest.figures import check_pairs, draw_deviation, write_checks
    from roadworthy.papers.deeptest.seeds import GuidedImages

    out, seed = inputs.out, inputs.seed
    refuse_to_overwrite(out)
    check_lambda(lam)
    check_epsilon(epsilon)
    check_radius(radius)
    choose_findings([], check)
    sets = parameter_sets(transformation or ["deeptest"])
    systems, seeds = inputs.opened(sample)
    found = None if guided is None else GuidedImages(guided, seeds)
    if found is not None:
        seeds = found.with_originals(seeds)
    with progress("Asking models", len(seeds)) as told:
        answers = ask_models(systems, seeds, sets, units=seeds.units, seed=seed, batch=batch, progress=told)
    if found is not None:
        answers = add_images(systems, answers, "guided", found, units=seeds.units, batch=batch)
    study = study_deviation(answers, lam=lam, epsilon=epsilon, reference=reference, radius=radius)
    chosen = choose_findings(study.findings, check, seed)
    written = write_checks(out, study, chosen, check_pairs(study, chosen, seeds, sets, seed, found))
    about = seeds.about([one.model for one in answers], seed)
    notes = [*about["notes"], *([] if found is None else found.notes())]
    document = {**about, "notes": notes, **study.as_dict()}
    figures = {"deviation": draw_deviation(study)}
    said = [*study.statements, *notes]
    return _answer(out, "deviation", document, study.tables, figures, notes=said, written=written)


@command(app, "roadworthy coverage study false-alarms coverage-study/checks.csv", name="false-alarms")
def false_alarms(
    files: Annotated[
        list[Path], typer.Argument(metavar="CHECKS", help="Tables of `study deviation` that were filled in.")
    ],
) -> Answer:
    """How many of the findings that were checked by hand are false alarms? Figure 8, with bounds."""
    from roadworthy.papers.deeptest.checking import count_false_alarms, read_checks

    found = count_false_alarms([one for file in files for one in read_checks(file)])
    return Answer({"rows": [one.as_dict() for one in found.rows]}, [str(found)])
