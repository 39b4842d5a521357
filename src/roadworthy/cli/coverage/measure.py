"""``roadworthy coverage measure``: what a set of images covers, and what was never tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import examples, print_json, tracked
from roadworthy.cli.coverage._group import IDLE_TRAINING, app
from roadworthy.cli.coverage._measured import FUNCTIONAL, as_document, print_measured, write_measured
from roadworthy.cli.options import AsJson, Options, opened
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.cases import Dataset
    from roadworthy.coverage.criteria.named import CriterionChoice
    from roadworthy.frames import Frame
    from roadworthy.models import Network


_BATCH = 32
_POINTS = 24  # of the growth curve, at least


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy coverage measure --model dave2 --data world --sample 200",
        'roadworthy coverage measure -c neuron -c "multisection(sections=100)" --training world:town',
        "roadworthy coverage measure --model epoch-udacity --data udacity-ch2:drive --counting deeptest",
        "roadworthy coverage measure -c functional --operating-domain mine.yaml --data world",
        "roadworthy coverage measure --run search-out --merge monday.npz --state both.npz",
        "roadworthy coverage measure --merge monday.npz --merge tuesday.npz",
    ),
)
def measure(
    model: Annotated[
        str, typer.Option(metavar="MODEL", help="The network: a name, kind:path or a model.yaml.")
    ] = "dave2",
    data: Annotated[
        str | None,
        typer.Option(
            "--data", "-d", metavar="DATA", help="The data set: its name, or name:path. world if left out."
        ),
    ] = None,
    option: Options = None,
    run: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="A run, whose images are measured instead.")
    ] = None,
    criterion: Annotated[
        list[str] | None,
        typer.Option(
            "--criterion",
            "-c",
            metavar="NAME",
            help="neuron, multisection, boundary, strong-activation, top-k, top-k-patterns, "
            "likelihood-surprise, distance-surprise or functional, with options as in top-k(k=2); "
            "repeatable. neuron and functional if left out.",
        ),
    ] = None,
    counting: Annotated[
        str,
        typer.Option(metavar="NAME", help="distinct: each neuron once; deeptest: as DeepTest's public code."),
    ] = "distinct",
    threshold: Annotated[
        float, typer.Option(metavar="NUMBER", help="Above which a neuron is activated.")
    ] = 0.2,
    sample: Annotated[
        int | None,
        typer.Option(
            "--sample", "-n", metavar="N", help="How many frames, spread over the data; all if left out or 0."
        ),
    ] = None,
    training: Annotated[
        str | None,
        typer.Option(metavar="DATA", help="Training data, for criteria that compare with it."),
    ] = None,
    training_option: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="An option of the training data; repeatable."),
    ] = None,
    training_sample: Annotated[
        int | None, typer.Option(metavar="N", help="How many frames of it; all if left out.")
    ] = None,
    operating_domain: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Declares the operating domain; Roadworthy's if left out."),
    ] = None,
    merge: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Add what --state of another run wrote; repeatable. Without --data and --run, nothing else.",
        ),
    ] = None,
    state: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write what was seen, to be added by --merge.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write growth.png, coverage.json and holes.txt into it."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure what images make a network do and which part of the operating domain they try.

    Shows the share that each criterion covers, layer by layer, and lists what was never tried. Work that is
    divided over machines is put together with --state and --merge: the result is that of one run over all.
    """
    from roadworthy.coverage import FunctionalCoverage, Observed, OperatingDomain
    from roadworthy.coverage.measuring import CoverageMeasurement, Measuring

    if training is None and (training_option or training_sample is not None):
        raise InputError(
            "--training-option and --training-sample are about training data: add --training DATA"
        )
    domain = OperatingDomain.load(operating_domain)
    found: CoverageMeasurement | None = None
    if merge and data is None and run is None and (option or sample or criterion or training):
        raise InputError(
            "--merge alone puts stored measurements together: name the images to measure besides by --data "
            "or --run, or leave out the options about them"
        )
    if data is not None or run is not None or not merge:
        if data is not None and run is not None:
            raise InputError("give --data or --run, not both")
        choices, functional = _chosen(criterion, threshold)
        network = _network(model) if choices else None
        measuring = Measuring(
            None if network is None else Observed(network, counting),
            choices,
            FunctionalCoverage(domain) if functional else None,
            counting=counting,
        )
        frames = _frames(data or "world", option, run, sample, network)
        if measuring.needs_training_data:
            if training is None:
                raise InputError(
                    "multisection, boundary, strong-activation and the surprises compare with what the "
                    "network did on its training data: give it by --training DATA"
                )
            known = _frames(training, training_option, None, training_sample, network)
            measuring.learn(lambda: known.batches("Reading training data"))
        elif training is not None:
            raise InputError(IDLE_TRAINING)
        for batch in frames.batches("Measuring"):
            measuring.add(batch)
        found = measuring.result
    for path in merge or ():
        other = CoverageMeasurement.load(path, domain)
        if found is None:
            found = other
        else:
            found.merge(other)
    assert found is not None
    if state is not None:
        found.save(state)
    document = as_document(found)
    if out is not None:
        write_measured(out, found, document)
    if as_json:
        print_json(document)
    else:
        print_measured(found, out)


def _chosen(given: Sequence[str] | None, threshold: float) -> tuple[list[CriterionChoice], bool]:
    """Return the criteria of the network, and whether the operating domain is measured."""
    from roadworthy.coverage.criteria.named import CRITERIA, parse_criterion
    from roadworthy.errors import suggest

    names = list(given or ["neuron", FUNCTIONAL])
    choices = []
    for name in names:
        if name == FUNCTIONAL:
            continue
        word = name.partition("(")[0].strip()
        if word not in CRITERIA:
            raise InputError(f"there is no criterion {word!r}: {suggest(word, (*CRITERIA, FUNCTIONAL))}")
        choice = parse_criterion(name)
        choices.append(choice.with_default("threshold", threshold) if choice.name == "neuron" else choice)
    return choices, FUNCTIONAL in names


def _network(reference: str) -> Network[Any]:
    from roadworthy.models import Network, load_model

    system = load_model(reference)
    if not isinstance(system, Network):
        raise InputError(
            f"{system.name} shows no neurons: structural coverage needs a network that torch or ONNX Runtime "
            "runs; -c functional measures the operating domain alone"
        )
    return system


def _frames(
    reference: str,
    options: list[str] | None,
    run: Path | None,
    sample: int | None,
    network: Network[Any] | None,
) -> _Frames:
    """Return the frames of a run or a data set, or some of them."""
    from roadworthy.cli.coverage._suites import Suite

    if sample is not None and sample < 0:
        raise InputError(f"a sample cannot have fewer than 0 frames, got {sample}")
    sample = sample or None
    history = 0 if network is None else network.input.history
    data: Dataset
    if run is not None:
        data = Suite(run)
    else:
        data = opened(reference, options, count=sample, history=history or None)
    if not len(data):
        raise InputError(f"{data.name} has no frames")
    from roadworthy.datasets import spread

    return _Frames(data, range(len(data)) if sample is None else spread(len(data), sample), history)


@dataclass(frozen=True)
class _Frames:
    """Some frames of a data set, read when they are looked at."""

    data: Dataset
    numbers: Sequence[int]
    history: int

    def batches(self, what: str) -> Iterator[list[Frame]]:
        """Yield the frames that can be read, with a progress bar on a terminal."""
        from roadworthy.training import with_history

        batch: list[Frame] = []
        size = max(1, min(_BATCH, len(self.numbers) // _POINTS))
        for frame in with_history(self._readable(what), self.history):
            batch.append(frame)
            if len(batch) == size:
                yield batch
                batch = []
        if batch:
            yield batch

    def _readable(self, what: str) -> Iterator[Frame]:
        lenient = getattr(self.data, "on_error", "raise") != "raise"
        for number in tracked(list(self.numbers), what):
            try:
                yield self.data[number]
            except InputError:
                if not lenient:
                    raise
