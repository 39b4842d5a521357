"""``roadworthy coverage``: what images cover, changes that break a network, and learning from them.

Options:
    training_option (KEY=VALUE): An option of the training data; repeatable.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from roadworthy._files import write_json
from roadworthy.cli import coverage_studies
from roadworthy.cli._answer import PASSED, VIOLATED, Answer
from roadworthy.cli._commands import Group, command
from roadworthy.cli._console import bars, make_new_folder, tracked
from roadworthy.cli._road import RunOptions, answered, data_document, suite_document
from roadworthy.cli.options import accepted, free_folder, opened, opened_for, processes, training_shown
from roadworthy.cli.options import share as share_of
from roadworthy.errors import InputError, check_number
from roadworthy.result_tables import ResultTable
from roadworthy.runs.store import StoredRun

if TYPE_CHECKING:
    from roadworthy.cases import Dataset
    from roadworthy.papers.deeptest.seeds import SeedImages
    from roadworthy.runs.suites import SuiteResult


app = typer.Typer(cls=Group, no_args_is_help=True)


TRAINING = "training"
"""What the suite calls the training data."""


@dataclass(frozen=True)
class SearchOptions:
    """What a search does; the fields are those of `SearchSettings`.

    Options:
        search: The search strategy: ours, DeepTest's, or random.
        criterion (-c NAME): What guides it; several as in 0.7*neuron + 0.3*top-k.
        transforms (--transform -t NAME): simple, composite, deeptest, a transform, or one with its
            parameters; repeatable. simple if left out.
        tries (N): The most changed images to try.
        seconds (S): Time limit in seconds.
        lam (--lambda λ): λ of Equation 2.
        reference: What λ multiplies: the MSE or RMSE of the seed images.
        output: Which answer is judged.
        max_failed_tries (N): Algorithm 1: give an image up after this many failed tries.
        again: Algorithm 1: push the seeds again when the stack is empty.
        deepest (N): curious and random-deep: the most transformations of one image.
    """

    search: Literal["curious", "algorithm-1", "random", "random-deep", "sampled"] = "curious"
    criterion: str = "neuron"
    transforms: list[str] | None = None
    tries: int = 500
    seconds: float | None = None
    lam: float = 5.0
    reference: Literal["mse", "rmse"] = "mse"
    output: Literal["steering", "speed"] = "steering"
    max_failed_tries: int = 10
    again: bool = False
    deepest: int = 8


@command(app)
def search(
    how: RunOptions,
    model: str = "dave2",
    data: str = "world",
    option: list[str] | None = None,
    frames: str | None = None,
    sample: int = 50,
    training: str | None = None,
    counting: str = "distinct",
    seed: int = 0,
    worst: int = 6,
    operating_domain: Path | None = None,
    *,
    given: SearchOptions,
) -> Answer:
    """Search for changed images that show something new, and judge each by DeepTest's Equation 2.

    The folder gets a row for every try, the images of failures, growth.png, findings.png, search.json,
    report.html, junit.xml, evidence, tables.md, result.json and suite.yaml. Run the same command again to
    continue a stopped search, or with a larger budget to extend a finished one.

    Options:
        model (MODEL): The network: a name, kind:path or a model.yaml.
        frames (FROM:TO): Only these frames, such as 3600: to leave out the training.
        sample (-n N): How many seed images, drawn at random; 0 for all.
        training (DATA): Training data, for criteria that compare with it; the seed images if left out.
        counting (NAME): distinct: each neuron once; deeptest or activations: as DeepTest's public code.
        seed (N): The same seed gives the same search.
        worst (N): Findings on the sheet, the most different ones; 0 for none.
        operating_domain (FILE): Your operating domain, for what was never tried.

    Examples:
        roadworthy coverage search --model dave2 --data world:town --tries 300
        roadworthy coverage search --search algorithm-1 -t deeptest --lambda 5 --seconds 60
        roadworthy coverage search --criterion "0.7*neuron + 0.3*top-k" -t rain -t "night:heavy"
        roadworthy coverage search --model dave2-udacity -d udacity-ch2:drive --frames 3600: --tries 5000
        roadworthy coverage search --out search-out --tries 2000
    """
    from roadworthy.coverage import OperatingDomain
    from roadworthy.coverage.search.settings import SearchSettings
    from roadworthy.models import load_model

    check_number("--worst", worst, least=0)
    chosen = {**vars(given), "transforms": tuple(given.transforms or ["simple"])}
    entry = SearchSettings(**chosen).parameters()
    entry |= {"coverage": entry.pop("criterion"), "counting": counting}
    domain = OperatingDomain.load(operating_domain)
    drawn = coverage_studies.seed_images(
        data, option, [load_model(model)], sample=sample, part=frames, seed=seed
    )
    document = suite_document(
        "coverage search",
        {"coverage": entry},
        models=[model],
        data=_drawn_document(data, option, drawn),
        seed=seed,
    )
    if training is not None:
        entry["training"] = TRAINING
        document["data"][TRAINING] = data_document(training, option)
    lines = drawn.notes()

    def made_of(result: SuiteResult) -> tuple[list[ResultTable], dict[str, Any]]:
        from roadworthy.report.searches import SearchReport

        report = SearchReport(result, domain)
        report.write(worst)
        lines.extend(report.lines())
        return report.tables(), {**report.document, "notes": [*drawn.notes(), *result.notes]}

    return answered(document, how, Path("coverage-search"), made_of, lines=lines)


@command(app)
def rate(how: RunOptions, run: Path, tries: int = 500, allow: str = "0", seed: int = 1) -> Answer:
    """Estimate how often a model fails in the operating domain of a search, from what the search found.

    A search follows the answers, so the share of its tries that fail says nothing about that. Here single
    transformations are drawn from all that the search could choose from, more often those in which it found
    failures, and weighed so that the estimate is unbiased. Its bounds are over the originals,
    or the drives that they come from.

    Options:
        run (SEARCH): The folder of the search.
        tries (N): How many changed images to draw.
        allow (SHARE): The share of the operating domain that may fail, such as 5%.
        seed (N): Another seed than that of the search draws other images.

    Examples:
        roadworthy coverage rate coverage-search
        roadworthy coverage rate coverage-search --tries 2000 --allow 10%
    """
    from roadworthy.report.searches import sampling_suite

    def made_of(result: SuiteResult) -> tuple[list[ResultTable], dict[str, Any]]:
        rows = tuple((*pair, outcome.summary) for pair, outcome in result.outcomes.items())
        columns = ("requirement", "model", "estimate")
        return [ResultTable("How often it fails", columns, rows)], {"search": str(run)}

    accept = accepted(allow, "bound", early=False)
    document = sampling_suite(StoredRun.open(run), tries=tries, accept=accept, seed=seed)
    return answered(document, how, Path("coverage-rate"), made_of)


def _drawn_document(reference: str, options: list[str] | None, drawn: SeedImages) -> dict[str, Any]:
    """Return the seed images as a suite has them: named, unless they are all that the data has."""
    from roadworthy.datasets import fitting_options
    from roadworthy.papers.deeptest.seeds import Seeds

    document = data_document(reference, options, frames=Seeds(drawn).ids)
    document["options"] = {**fitting_options(reference, count=drawn.count), **document["options"]}
    return document


@command(app)
def measure(
    model: str = "dave2",
    data: str | None = None,
    option: list[str] | None = None,
    run: Path | None = None,
    criterion: list[str] | None = None,
    counting: str = "distinct",
    threshold: float = 0.2,
    sample: int | None = None,
    training: str | None = None,
    training_option: list[str] | None = None,
    training_sample: int | None = None,
    operating_domain: Path | None = None,
    out: Path | None = None,
) -> Answer:
    """Measure what images make a network do and which part of the operating domain they try.

    Shows the share that each criterion covers, layer by layer, and lists what was never tried and what of the
    network is not counted, such as attention.

    Options:
        model (MODEL): The network: a name, kind:path or a model.yaml.
        data (-d DATA): The data set: name or name:path; world by default.
        run (FOLDER): Measure the images of this run instead.
        criterion (-c NAME): neuron, multisection, boundary, strong-activation, top-k, top-k-patterns,
            likelihood-surprise, distance-surprise or functional, with options as in top-k(k=2); repeatable.
            neuron and functional if left out.
        counting (NAME): distinct: each neuron once; deeptest or activations: as DeepTest's public code.
        threshold (NUMBER): The activation threshold of a neuron.
        sample (-n N): How many frames, spread over the data; all if left out or 0.
        training (DATA): Training data, for criteria that compare with it.
        training_sample (N): How many frames of it; all if left out.
        operating_domain (FILE): Your operating domain; Roadworthy's by default.
        out (FOLDER): Write growth.png, coverage.json and holes.txt here.

    Examples:
        roadworthy coverage measure --model dave2 --data world --sample 200
        roadworthy coverage measure -c neuron -c "multisection(sections=100)" --training world:town
        roadworthy coverage measure --model epoch-udacity --data udacity-ch2:drive --counting deeptest
        roadworthy coverage measure -c functional --operating-domain mine.yaml --data world
        roadworthy coverage measure --run search-out
    """
    from roadworthy.coverage import OperatingDomain
    from roadworthy.coverage.measuring import FUNCTIONAL, Measuring
    from roadworthy.report.plots import write_measured
    from roadworthy.runs.changed_images import ChangedImages

    if training is None and (training_option or training_sample is not None):
        raise InputError(
            "--training-option and --training-sample are about training data: add --training DATA"
        )
    if data is not None and run is not None:
        raise InputError("give --data or --run, not both")
    check_number("--sample", sample, least=0)
    domain = OperatingDomain.load(operating_domain)
    measuring = Measuring.of(
        criterion or ["neuron", FUNCTIONAL], model, counting=counting, threshold=threshold, domain=domain
    )
    history = measuring.history or None
    frames: Dataset = (
        ChangedImages(run) if run else opened(data or "world", option, count=sample or None, history=history)
    )
    known = (
        None
        if training is None
        else opened(training, training_option, count=training_sample or None, history=history)
    )
    how: dict[str, Any] = {"training": known, "training_sample": training_sample}
    found = measuring.measure(frames, sample, **how, progress=tracked)
    if out is not None:
        write_measured(out, found)
    return Answer(found.as_dict(), [*found.lines(), *([] if out is None else [f"Wrote {out}"])])


@command(app)
def retrain(
    model: str = "dave2-udacity",
    data: str = "world",
    option: list[str] | None = None,
    training: str | None = None,
    training_option: list[str] | None = None,
    cut: str = "80%",
    change: list[str] | None = None,
    run: Path | None = None,
    learn: list[str] | None = None,
    share: str = "66%",
    split: str = "random",
    scratch: bool = False,
    control: bool = False,
    tolerance: str = "5%",
    epochs: int | None = None,
    lr: float | None = None,
    batch: int | None = None,
    seed: int = 0,
    device: str = "auto",
    workers: int | None = None,
    prepare: Path | None = None,
    prepared: Path | None = None,
    lossy: bool = False,
    out: Path | None = None,
) -> Answer:
    """Retrain a network with changed images and compare it with what it was, on images it has not seen.

    As DeepTest's RQ5: it learns from the original training data and 66% of the rain and fog images, and is
    compared on the rest and their originals. With --run, it learns from the failures that a search found. The
    exit code is 1 unless the new network is better and its clean error is no worse.

    Options:
        model (NETWORK): The network: a shipped one, a trained folder, or its ONNX file.
        training (DATA): The original training data; the first part of the data, see --cut, if left out.
        cut (SHARE): The share of the data to train on.
        change (TRANSFORM): How frames are changed; repeatable. Default: rain and fog.
        run (FOLDER): A search on the data: learn from its failures.
        learn (KIND): What to learn from: rain, fog, …, guided; repeatable. If left out: guided with --run,
            else all changes.
        share (SHARE): The share of the changed images to learn from.
        split (HOW): random, as in the paper, or time: learn from the first part.
        scratch: Train a fresh network instead of tuning this one.
        control: Also train for as long without the changed images.
        tolerance (SHARE): The most by which the clean error may rise.
        epochs (N): The most epochs.
        lr (RATE): Adam's learning rate.
        batch (N): Images at a time.
        seed (N): Chooses all that is random.
        prepare (FILE): Only write the training data, for another machine.
        prepared (FILE): Use what --prepare wrote instead of the data.
        lossy: With --prepare: images as JPEG, a third of the size.
        out (FOLDER): Where to write; the next free retrained if left out.

    Examples:
        roadworthy coverage retrain --model dave2-udacity --data udacity-ch2:drive
        roadworthy coverage retrain --model dave2-udacity --data udacity-ch2:drive --split time --control
        roadworthy coverage retrain --model trained/dave2 --data world --change "fog(amount=1)"
        roadworthy coverage retrain --model dave2-udacity --data udacity-ch2:drive --run search-out
        roadworthy coverage retrain --model epoch-udacity --data udacity-ch2:drive --prepare epoch.npz
    """
    from roadworthy.models.zoo import located_weights, read_variant
    from roadworthy.training import retraining

    if prepare is not None and prepared is not None:
        raise InputError("give --prepare or --prepared, not both")
    plan = retraining.RetrainingPlan(
        learn=tuple(learn or (["guided"] if run is not None else [])),
        share=share_of("--share", share),
        split=split,  # type: ignore[arg-type]  # checked by the plan
        first="scratch" if scratch else "tuned",
        control=control,
        tolerance=share_of("--tolerance", tolerance),
        seed=seed,
    )
    settings = plan.settings(model, seed=seed, device=device, epochs=epochs, learning_rate=lr, batch=batch)
    # With --prepare, nothing is written but its file.
    folder = Path() if prepare is not None else make_new_folder(out or free_folder(Path("retrained")))
    with bars() as shown:
        if prepared is not None:
            material = retraining.Material.load(prepared)
        else:
            variant = read_variant(located_weights(model))
            history = variant.spec.input.history or None
            material = retraining.material_of(
                variant,
                opened_for(data, option, history),
                None if training is None else opened_for(training, training_option, history),
                cut=share_of("--cut", cut),
                changes=change or ("rain", "fog"),
                run=run,
                seed=seed,
                workers=processes(workers),
                progress=shown.showing("Changing frames"),
            )
        if prepare is not None:
            material.save(prepare, "jpg" if lossy else "png")
            document = {"file": str(prepare), "images": material.counts, "left_out": dict(material.left_out)}
            return Answer(document, [f"Wrote {prepare}: {material}"])
        watcher = training_shown(shown)
        found = retraining.retrain(material, model, plan, settings=settings, folder=folder, watcher=watcher)
    document = {"folder": str(folder), **found.to_dict(), "left_out": dict(material.left_out)}
    write_json(folder / "retraining.json", document)
    code = PASSED if found.judgement.better else VIOLATED
    return Answer(document, [*found.lines(material), f"Wrote {folder}"], exit_code=code)


app.add_typer(coverage_studies.app, name="study")
