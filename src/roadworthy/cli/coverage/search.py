"""``roadworthy coverage search``: changed images that raise coverage, and those that the network fails on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, make_new_folder
from roadworthy.cli.coverage._group import IDLE_TRAINING, app
from roadworthy.cli.options import AsJson, Data, Options, Out, opened
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.cases import Dataset
    from roadworthy.coverage.criteria import Ranges, SurpriseReference
    from roadworthy.coverage.observed import Observed
    from roadworthy.coverage.search.settings import SearchSettings
    from roadworthy.papers.deeptest.seeds import Seeds


_BATCH = 32
_ID = "coverage"


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy coverage search --model dave2 --data world:town --tries 300",
        "roadworthy coverage search --search algorithm-1 -t deeptest --lambda 5 --seconds 60",
        'roadworthy coverage search --criterion "0.7*neuron + 0.3*top-k" -t rain -t "night:heavy"',
        "roadworthy coverage search --model dave2-udacity -d udacity-ch2:drive --frames 3600: --tries 5000",
        "roadworthy coverage search --out search-out --resume --tries 2000",
    ),
)
def search(
    model: Annotated[
        str, typer.Option(metavar="MODEL", help="The network: a name, kind:path or a model.yaml.")
    ] = "dave2",
    data: Data = "world",
    option: Options = None,
    frames: Annotated[
        str | None,
        typer.Option(metavar="FROM:TO", help="Only these frames, such as 3600: to leave out the training."),
    ] = None,
    sample: Annotated[
        int,
        typer.Option("--sample", "-n", metavar="N", help="How many seed images, drawn at random; 0 for all."),
    ] = 50,
    search: Annotated[
        Literal["curious", "algorithm-1", "random", "random-deep"],
        typer.Option(help="What decides what is tried: our search, DeepTest's, or chance."),
    ] = "curious",
    criterion: Annotated[
        str,
        typer.Option(
            "--criterion", "-c", metavar="NAME", help="What guides it; several as in 0.7*neuron + 0.3*top-k."
        ),
    ] = "neuron",
    training: Annotated[
        str | None,
        typer.Option(
            metavar="DATA",
            help="Training data, for criteria that compare with it; the seed images if left out.",
        ),
    ] = None,
    transform: Annotated[
        list[str] | None,
        typer.Option(
            "--transform",
            "-t",
            metavar="NAME",
            help="simple, composite, deeptest, a transform, or one with its parameters; repeatable. simple "
            "if left out.",
        ),
    ] = None,
    tries: Annotated[int, typer.Option(metavar="N", help="Changed images to try at most.")] = 500,
    seconds: Annotated[
        float | None, typer.Option(metavar="S", help="Seconds to try for at most, if tries last longer.")
    ] = None,
    lam: Annotated[float, typer.Option("--lambda", metavar="λ", help="λ of Equation 2.")] = 5.0,
    reference: Annotated[
        Literal["mse", "rmse"], typer.Option(help="What λ multiplies: of the errors on the seed images.")
    ] = "mse",
    output: Annotated[
        Literal["steering", "speed"], typer.Option(help="Which answer is judged.")
    ] = "steering",
    max_failed_tries: Annotated[
        int, typer.Option(metavar="N", help="Of Algorithm 1: after how many more an image is given up.")
    ] = 10,
    again: Annotated[
        bool, typer.Option("--again", help="Of Algorithm 1: push the seeds again when the stack is empty.")
    ] = False,
    deepest: Annotated[
        int,
        typer.Option(metavar="N", help="Of curious and random-deep: transformations of an image, at most."),
    ] = 8,
    counting: Annotated[
        str,
        typer.Option(metavar="NAME", help="distinct: each neuron once; deeptest: as DeepTest's public code."),
    ] = "distinct",
    seed: Annotated[int, typer.Option(metavar="N", help="The same seed takes the same course.")] = 0,
    out: Out = Path("coverage-search"),
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the search in the folder; its budget may be raised.")
    ] = False,
    images: Annotated[
        Literal["failures", "all", "none"], typer.Option(help="Of which tries images are stored.")
    ] = "failures",
    worst: Annotated[
        int, typer.Option(metavar="N", help="Findings on the sheet, the most different ones; 0 for none.")
    ] = 6,
    operating_domain: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Your operating domain, for what was never tried.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Search for changed images that show something new, and judge each by DeepTest's Equation 2.

    The folder gets a row for every try, the images of failures, growth.png, findings.png and search.json.
    A search that was stopped, in whatever way, goes on with --resume. The exit code is 1 if a changed image
    violates Equation 2, 0 if none does.
    """
    from roadworthy.cases import OutcomeStatus, Requirement
    from roadworthy.cli._campaigns import data_form, hashed, write_as_suite
    from roadworthy.cli._console import progress
    from roadworthy.cli.coverage._found import Found, give_out
    from roadworthy.cli.coverage._group import seed_images
    from roadworthy.coverage import observable
    from roadworthy.coverage.method import CoverageMethod
    from roadworthy.coverage.search.settings import SearchSettings
    from roadworthy.datasets import fitting_options
    from roadworthy.models import load_model
    from roadworthy.runs import run
    from roadworthy.runs.model_notes import note_models
    from roadworthy.runs.store import digest_of_dataset

    if worst < 0:
        raise InputError(f"--worst must be 0 or more, got {worst}")
    settings = SearchSettings(
        search=search,
        criterion=criterion,
        transforms=tuple(transform or ["simple"]),
        tries=tries,
        seconds=seconds,
        lam=lam,
        reference=reference,
        output=output,
        max_failed_tries=max_failed_tries,
        again=again,
        deepest=deepest,
    )
    domain = _domain(operating_domain)
    network = load_model(model)
    system = observable(network, counting)
    drawn = seed_images(data, option, [network], sample=sample, part=frames, seed=seed)
    seeds = _seeds(drawn)
    known = None if training is None else opened(training, option)
    ranges, sampled = _learned(system, settings, known)
    method = CoverageMethod(ranges=ranges, reference=sampled)
    if not resume:
        make_new_folder(out)
    manifest = hashed(
        "coverage search",
        [network],
        seeds,
        seed=seed,
        # What may change when the search goes on, such as its budget, stands in requirements.jsonl.
        settings={"counting": counting, "training": training, **settings.fixed()},
    )
    if known is not None:
        manifest["data"] = {**manifest["data"], known.name: digest_of_dataset(known)}
    start = time.perf_counter()
    with _stoppable(out), progress("Trying", settings.tries + len(seeds)) as told:
        result = run(
            method,
            Requirement(_ID, settings.text, method.name, settings.parameters()),
            seeds,
            system,
            out=out,
            seed=seed,
            batch_size=_BATCH,
            images=images,
            progress=lambda counts: told(sum(counts.values())),
            resume=resume,
            manifest=manifest,
        )
    if training is None and not seeds.needs_more:
        made = fitting_options(data, count=drawn.count)
        form = data_form(data, option, frames=seeds.ids)
        write_as_suite(
            "coverage search",
            out,
            manifest,
            models={network.name: model},
            data=form | {"options": {**made, **form["options"]}},
            requirements={_ID: _entry(settings, counting)},
        )
    seconds = time.perf_counter() - start
    noticed = [*drawn.notes(), *note_models(out, [network], seeds, [settings.output])]
    found = Found(settings, seeds, method, result, out, seconds, noticed)
    give_out(found, domain, worst, as_json=as_json)
    raise typer.Exit(1 if result.outcome.status is OutcomeStatus.VIOLATED else 0)


def _entry(settings: SearchSettings, counting: str) -> dict[str, Any]:
    """Return a search as a suite has it."""
    told = settings.parameters()
    return {
        "coverage": told.pop("criterion"),
        "lambda": told.pop("lambda"),
        "counting": counting,
        **told,
    }


@contextmanager
def _stoppable(out: Path) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        hint = f"Stopped. {out} has what was tried: go on with the same options and --resume --out {out}"
        console(stderr=True).print(hint, markup=False, soft_wrap=True)
        raise


def _seeds(drawn: Any) -> Seeds:
    from roadworthy.papers.deeptest.seeds import Seeds

    return Seeds(drawn)


def _domain(path: Path | None) -> Any:
    from roadworthy.coverage import OperatingDomain

    return OperatingDomain.load(path)


def _learned(
    system: Observed[Any], settings: SearchSettings, data: Dataset | None
) -> tuple[Ranges | None, SurpriseReference | None]:
    """Return what the neurons did on training data, as far as the criterion needs it."""
    from roadworthy.cli._console import tracked
    from roadworthy.coverage.criteria import learn_ranges, learn_reference, parse_mixture

    needs = parse_mixture(settings.criterion).needs - {"layers"}
    if data is None:
        return None, None
    if not needs:
        raise InputError(IDLE_TRAINING)
    starts = list(range(0, len(data), _BATCH))

    def batches() -> Any:
        for start in tracked(starts, "Learning"):
            part = [data[place] for place in range(start, min(start + _BATCH, len(data)))]
            yield system.observe(part)[1]

    ranges = learn_ranges(batches()) if "ranges" in needs else None
    return ranges, learn_reference(batches()) if "reference" in needs else None
