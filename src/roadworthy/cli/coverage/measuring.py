"""``roadworthy coverage measure`` and ``retrain``: what images cover, and what a network learns from them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from roadworthy._files import write_json
from roadworthy.cli._answer import PASSED, VIOLATED, Answer
from roadworthy.cli._commands import command, flag, opt
from roadworthy.cli._console import bars, make_new_folder, tracked
from roadworthy.cli.coverage._group import IDLE_TRAINING, app
from roadworthy.cli.options import (
    Data,
    Device,
    Options,
    Workers,
    free_folder,
    history_of,
    opened,
    opened_for,
    processes,
)
from roadworthy.cli.options import share as share_of
from roadworthy.errors import InputError
from roadworthy.result_tables import ResultTable

if TYPE_CHECKING:
    from roadworthy.cases import Dataset
    from roadworthy.cli._answer import Shown
    from roadworthy.cli._console import Bars
    from roadworthy.coverage.measuring import CoverageMeasurement
    from roadworthy.frames import Frame
    from roadworthy.training import Watcher

_BATCH = 32
_POINTS = 24  # of the growth curve, at least
_SHOWN = 5  # holes of each dimension or cross, and untried neurons of each layer, that are printed

TrainingOptions = Annotated[list[str] | None, opt("KEY=VALUE", "An option of the training data; repeatable.")]


@command(
    app,
    "roadworthy coverage measure --model dave2 --data world --sample 200",
    'roadworthy coverage measure -c neuron -c "multisection(sections=100)" --training world:town',
    "roadworthy coverage measure --model epoch-udacity --data udacity-ch2:drive --counting deeptest",
    "roadworthy coverage measure -c functional --operating-domain mine.yaml --data world",
    "roadworthy coverage measure --run search-out --merge monday.npz --state both.npz",
    "roadworthy coverage measure --merge monday.npz --merge tuesday.npz",
)
def measure(
    model: Annotated[str, opt("MODEL", "The network: a name, kind:path or a model.yaml.")] = "dave2",
    data: Annotated[
        str | None, opt("DATA", "The data set: name or name:path; world by default.", "--data", "-d")
    ] = None,
    option: Options = None,
    run: Annotated[Path | None, opt("FOLDER", "A run, whose images are measured instead.")] = None,
    criterion: Annotated[
        list[str] | None,
        opt(
            "NAME",
            "neuron, multisection, boundary, strong-activation, top-k, top-k-patterns, likelihood-surprise, "
            "distance-surprise or functional, with options as in top-k(k=2); repeatable. neuron and "
            "functional if left out.",
            "--criterion",
            "-c",
        ),
    ] = None,
    counting: Annotated[
        str, opt("NAME", "distinct: each neuron once; deeptest: as DeepTest's code.")
    ] = "distinct",
    threshold: Annotated[float, opt("NUMBER", "Above which a neuron is activated.")] = 0.2,
    sample: Annotated[
        int | None, opt("N", "How many frames, spread over the data; all if left out or 0.", "--sample", "-n")
    ] = None,
    training: Annotated[str | None, opt("DATA", "Training data, for criteria that compare with it.")] = None,
    training_option: TrainingOptions = None,
    training_sample: Annotated[int | None, opt("N", "How many frames of it; all if left out.")] = None,
    operating_domain: Annotated[Path | None, opt("FILE", "Your operating domain; ours if left out.")] = None,
    merge: Annotated[
        list[Path] | None,
        opt(
            "FILE",
            "Add what --state of another run wrote; repeatable. Without --data and --run, nothing else.",
        ),
    ] = None,
    state: Annotated[Path | None, opt("FILE", "Write what was seen, to be added by --merge.")] = None,
    out: Annotated[Path | None, opt("FOLDER", "Write growth.png, coverage.json and holes.txt here.")] = None,
) -> Answer:
    """Measure what images make a network do and which part of the operating domain they try.

    Shows the share that each criterion covers, layer by layer, and lists what was never tried. Work that is
    divided over machines is put together with --state and --merge: the result is that of one run over all.
    """
    from roadworthy.coverage import FunctionalCoverage, OperatingDomain, observable
    from roadworthy.coverage.measuring import FUNCTIONAL, CoverageMeasurement, Measuring, chosen_criteria
    from roadworthy.models import load_model
    from roadworthy.report.plots import write_measured

    if training is None and (training_option or training_sample is not None):
        raise InputError(
            "--training-option and --training-sample are about training data: add --training DATA"
        )
    if data is not None and run is not None:
        raise InputError("give --data or --run, not both")
    if merge and data is None and run is None and (option or sample or criterion or training):
        raise InputError(
            "--merge alone puts stored measurements together: name the images to measure besides by --data "
            "or --run, or leave out the options about them"
        )
    domain = OperatingDomain.load(operating_domain)
    parts: list[CoverageMeasurement] = []
    if data is not None or run is not None or not merge:
        choices, functional = chosen_criteria(criterion or ["neuron", FUNCTIONAL], threshold)
        system = load_model(model) if choices else None
        network = None if system is None else observable(system, counting)
        history = 0 if system is None else history_of(system) or 0
        whole = FunctionalCoverage(domain) if functional else None
        measuring = Measuring(network, choices, whole, counting=counting)
        frames = _Frames.opened(data or "world", option, run, sample, history)
        if measuring.needs_training_data:
            if training is None:
                raise InputError(
                    "multisection, boundary, strong-activation and the surprises compare with what the "
                    "network did on its training data: give it by --training DATA"
                )
            known = _Frames.opened(training, training_option, None, training_sample, history)
            measuring.learn(lambda: known.batches("Reading training data"))
        elif training is not None:
            raise InputError(IDLE_TRAINING)
        for batch in frames.batches("Measuring"):
            measuring.add(batch)
        parts.append(measuring.result)
    found, *others = [*parts, *(CoverageMeasurement.load(path, domain) for path in merge or ())]
    for one in others:
        found.merge(one)
    if state is not None:
        found.save(state)
    if out is not None:
        write_measured(out, found)
    wrote = [] if out is None else [f"Wrote {out}"]
    return Answer(found.as_dict(), [*_measured(found), *wrote])


def _measured(found: CoverageMeasurement) -> list[Shown]:
    """Return what was measured for people: tables, and what was never tried."""
    images = "1 image" if found.images == 1 else f"{found.images} images"
    shown: list[Shown] = [f"{found.model}, counting {found.counting}, {images}" if found.model else images]
    for one in found.criteria.values():
        shown.append(f"{one.criterion}: {one.covered} of {one.total}, {one.value:.1%}")
        rows = tuple(
            (
                *map(str, (row.layer.name, row.layer.kind, row.layer.neurons, row.covered, row.total)),
                f"{row.covered / row.total:.1%}",
                str(len(row.untried)),
            )
            for row in one.rows()
        )
        if rows:
            columns = ("layer", "kind", "neurons", "covered", "of", "share", "untried neurons")
            shown.append(ResultTable("", columns, rows))
    if (whole := found.functional) is not None:
        shown += [f"functional: {whole.covered} of {whole.total}, {whole.value:.1%}", whole.table()]
    if holes := found.holes(_SHOWN):
        shown += ["What was never tried:", *(f"  {line}" for line in holes)]
    return shown


@dataclasses.dataclass(frozen=True)
class _Frames:
    """Some frames of a run or a data set, read when they are looked at."""

    data: Dataset
    numbers: list[int]
    history: int

    @classmethod
    def opened(
        cls, reference: str, options: list[str] | None, run: Path | None, sample: int | None, history: int
    ) -> _Frames:
        from roadworthy.datasets import spread
        from roadworthy.runs.changed_images import ChangedImages

        if sample is not None and sample < 0:
            raise InputError(f"a sample cannot have fewer than 0 frames, got {sample}")
        data: Dataset = (
            opened(reference, options, count=sample or None, history=history or None)
            if run is None
            else ChangedImages(run)
        )
        if not len(data):
            raise InputError(f"{data.name} has no frames")
        return cls(data, list(spread(len(data), sample) if sample else range(len(data))), history)

    def batches(self, what: str) -> Iterator[list[Frame]]:
        """Yield the frames that can be read, with a progress bar on a terminal."""
        from roadworthy.training import with_history

        size = max(1, min(_BATCH, len(self.numbers) // _POINTS))
        frames = with_history(self._readable(what), self.history)
        while batch := list(islice(frames, size)):
            yield batch

    def _readable(self, what: str) -> Iterator[Frame]:
        lenient = getattr(self.data, "on_error", "raise") != "raise"
        for number in tracked(self.numbers, what):
            try:
                yield self.data[number]
            except InputError:
                if not lenient:
                    raise


@command(
    app,
    "roadworthy coverage retrain --model dave2-udacity --data udacity-ch2:drive",
    "roadworthy coverage retrain --model dave2-udacity --data udacity-ch2:drive --split time --control",
    'roadworthy coverage retrain --model trained/dave2 --data world --change "fog(amount=1)"',
    "roadworthy coverage retrain --model dave2-udacity --data udacity-ch2:drive --run search-out",
    "roadworthy coverage retrain --model epoch-udacity --data udacity-ch2:drive --prepare epoch.npz",
)
def retrain(
    model: Annotated[
        str, opt("NETWORK", "The network: a shipped one, a trained folder, or its ONNX file.")
    ] = "dave2-udacity",
    data: Data = "world",
    option: Options = None,
    training: Annotated[
        str | None,
        opt("DATA", "The original training data; the first part of the data, see --cut, if left out."),
    ] = None,
    training_option: TrainingOptions = None,
    cut: Annotated[str, opt("SHARE", "How much of the data is training data.")] = "80%",
    change: Annotated[
        list[str] | None, opt("TRANSFORM", "How frames are changed; repeatable. Default: rain and fog.")
    ] = None,
    run: Annotated[Path | None, opt("FOLDER", "A search on the data: learn from its failures.")] = None,
    learn: Annotated[
        list[str] | None,
        opt(
            "KIND",
            "What to learn from: rain, fog, …, guided; repeatable. If left out: guided with --run, else all "
            "changes.",
        ),
    ] = None,
    share: Annotated[str, opt("SHARE", "Of the changed images, to learn from.")] = "66%",
    split: Annotated[
        str, opt("HOW", "random, as in the paper, or time: learn from the first part.")
    ] = "random",
    scratch: Annotated[bool, flag("--scratch", "Train a fresh network instead of tuning this one.")] = False,
    control: Annotated[bool, flag("--control", "Also train as long without the changed images.")] = False,
    tolerance: Annotated[str, opt("SHARE", "How much the clean error may rise at most.")] = "5%",
    epochs: Annotated[int | None, opt("N", "The most epochs.")] = None,
    lr: Annotated[float | None, opt("RATE", "Adam's learning rate.")] = None,
    batch: Annotated[int | None, opt("N", "Images at a time.")] = None,
    seed: Annotated[int, opt("N", "Chooses all that is random.")] = 0,
    device: Device = "auto",
    workers: Workers = None,
    prepare: Annotated[Path | None, opt("FILE", "Only write the training data, for another machine.")] = None,
    prepared: Annotated[Path | None, opt("FILE", "Use what --prepare wrote instead of the data.")] = None,
    lossy: Annotated[bool, flag("--lossy", "With --prepare: images as JPEG, a third of the size.")] = False,
    out: Annotated[Path | None, opt("FOLDER", "Where to write; the next free retrained if left out.")] = None,
) -> Answer:
    """Retrain a network with changed images and compare it with what it was, on images it has not seen.

    As DeepTest's RQ5: the original training data and 66 % of the rain and fog images are learned from; the
    others and their originals are compared on. With --run, the failures that a search found are learned from
    instead. The exit code is 1 unless the new network may be called better: the clean error must not have
    got worse.
    """
    from roadworthy.models.zoo import located_weights, read_variant
    from roadworthy.training import retraining

    if prepare is not None and prepared is not None:
        raise InputError("give --prepare or --prepared, not both")
    variant = read_variant(located_weights(model))
    plan = retraining.RetrainingPlan(
        learn=tuple(learn or (["guided"] if run is not None else [])),
        share=share_of("--share", share),
        split=split,  # type: ignore[arg-type]  # checked by the plan
        first="scratch" if scratch else "tuned",
        control=control,
        tolerance=share_of("--tolerance", tolerance),
        seed=seed,
    )
    usual = retraining.usual_settings(model) if scratch else retraining.tuning_settings(model)
    given: dict[str, Any] = {"epochs": epochs, "learning_rate": lr, "batch": batch}
    chosen = {name: value for name, value in given.items() if value is not None}
    settings = dataclasses.replace(usual, seed=seed, device=device, **chosen)
    # With --prepare, nothing is written but its file.
    folder = Path() if prepare is not None else make_new_folder(out or free_folder(Path("retrained")))
    with bars() as shown:
        if prepared is not None:
            material = retraining.Material.load(prepared)
        else:
            history = variant.spec.input.history or None
            frames = opened_for(data, option, history)
            if training is None:
                known, frames = retraining.cut_in_two(frames, share_of("--cut", cut))
            else:
                known = opened_for(training, training_option, history)
            material = retraining.read_material(
                variant,
                known,
                frames,
                retraining.named_changes(change or ("rain", "fog")),
                guided=[] if run is None else retraining.failing_images(run, frames),
                seed=seed,
                workers=processes(workers),
                progress=shown.showing("Changing frames"),
            )
        if prepare is not None:
            material.save(prepare, "jpg" if lossy else "png")
            counts = material.counts
            document = {"file": str(prepare), "images": counts, "left_out": dict(material.left_out)}
            return Answer(document, [f"Wrote {prepare}: {_counted(counts)}"])
        watcher = _watcher(shown)
        found = retraining.retrain(material, model, plan, settings=settings, folder=folder, watcher=watcher)
    document = {"folder": str(folder), **found.to_dict(), "left_out": dict(material.left_out)}
    write_json(folder / "retraining.json", document)
    return Answer(
        document,
        [
            f"{found.start}, retrained with {_counted(found.learned)}",
            found.table(),
            *(f"  {note}" for note in found.notes(material)),
            str(found.judgement),
            f"Wrote {folder}",
        ],
        exit_code=PASSED if found.judgement.better else VIOLATED,
    )


def _counted(images: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in images.items())


def _watcher(shown: Bars) -> Watcher:
    """Return what shows the training on a terminal, and nothing in a pipe."""
    from roadworthy.training import EpochResult, Watcher

    class Shown(Watcher):
        def step(self, step: int, progress: float) -> None:  # noqa: ARG002
            shown.show("Training", progress, 1.0)

        def epoch(self, result: EpochResult) -> None:
            shown.tell(f"epoch {result.epoch}: validation loss {result.validation_loss:.4f}")

    return Shown()
