"""``roadworthy coverage retrain``: whether learning from changed images makes a network better."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roadworthy._files import write_json
from roadworthy.cli._commands import Command
from roadworthy.cli._console import bars, console, examples, make_new_folder, plain_table, print_json
from roadworthy.cli.coverage._group import app
from roadworthy.cli.coverage._suites import check_searched, stored_images
from roadworthy.cli.options import AsJson, Data, Device, Options, Workers, free_folder, processes
from roadworthy.cli.options import share as share_of
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.cases import Dataset
    from roadworthy.models.zoo import Variant
    from roadworthy.training import EpochResult, Settings, Watcher
    from roadworthy.training.retraining import GuidedImage, Material, Retrained
    from roadworthy.transforms import Transform


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy coverage retrain --model dave2-udacity --data udacity-ch2:drive",
        "roadworthy coverage retrain --model dave2-udacity --data udacity-ch2:drive --split time --control",
        'roadworthy coverage retrain --model trained/dave2 --data world --change "fog(amount=1)"',
        "roadworthy coverage retrain --model dave2-udacity --data udacity-ch2:drive --run search-out",
        "roadworthy coverage retrain --model epoch-udacity --data udacity-ch2:drive --prepare epoch.npz",
    ),
)
def retrain(
    model: Annotated[
        str,
        typer.Option(
            metavar="NETWORK", help="The network before: a shipped one, a trained folder, or its ONNX file."
        ),
    ] = "dave2-udacity",
    data: Data = "world",
    option: Options = None,
    training: Annotated[
        str | None,
        typer.Option(
            metavar="DATA",
            help="The original training data; the first part of the data, see --cut, if left out.",
        ),
    ] = None,
    training_option: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="An option of the training data; repeatable."),
    ] = None,
    cut: Annotated[str, typer.Option(metavar="SHARE", help="How much of the data is training data.")] = "80%",
    change: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TRANSFORM", help="How frames are changed; repeatable. rain and fog if left out."
        ),
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="A run of a search on the data, whose failures are learned from."
        ),
    ] = None,
    learn: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND",
            help="What to learn from: rain, fog, …, guided; repeatable. If left out: guided with --run, else "
            "all changes.",
        ),
    ] = None,
    share: Annotated[
        str, typer.Option(metavar="SHARE", help="Of the changed images, to learn from.")
    ] = "66%",
    split: Annotated[
        str,
        typer.Option(
            metavar="HOW", help="random, as in the paper, or time: learn from the first part alone."
        ),
    ] = "random",
    scratch: Annotated[
        bool, typer.Option("--scratch", help="Train a fresh network instead of going on with the weights.")
    ] = False,
    control: Annotated[
        bool, typer.Option("--control", help="Also train as long without the changed images.")
    ] = False,
    tolerance: Annotated[
        str,
        typer.Option(metavar="SHARE", help="How much the clean error may have risen, at most, to be kept."),
    ] = "5%",
    epochs: Annotated[int | None, typer.Option(metavar="N", help="The most epochs.")] = None,
    lr: Annotated[float | None, typer.Option(metavar="RATE", help="Adam's learning rate.")] = None,
    batch: Annotated[int | None, typer.Option(metavar="N", help="Images at a time.")] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Chooses all that is random.")] = 0,
    device: Device = "auto",
    workers: Workers = None,
    prepare: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Only write what is needed for training, for another machine."),
    ] = None,
    prepared: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Use what --prepare wrote instead of the data.")
    ] = None,
    lossy: Annotated[
        bool, typer.Option("--lossy", help="Write images for --prepare as JPEG, a third of the size.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Where the new network is written; retrained, or the next, if left out."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Retrain a network with changed images and compare it with what it was, on images it has not seen.

    As DeepTest's RQ5: the original training data and 66 % of the rain and fog images are learned from; the
    others and their originals are compared on. With --run, the failures that a search found are learned from
    instead. The exit code is 1 unless the new network may be called better: the clean error must not have
    got worse.
    """
    from roadworthy.models.zoo import located_weights, read_variant
    from roadworthy.training.retraining import Material, RetrainingPlan
    from roadworthy.training.retraining import retrain as retrained

    if prepare is not None and prepared is not None:
        raise InputError("give --prepare or --prepared, not both")
    variant = read_variant(located_weights(model))
    plan = RetrainingPlan(
        learn=tuple(learn or (["guided"] if run is not None else [])),
        share=share_of("--share", share),
        split=split,  # type: ignore[arg-type]  # checked by the plan
        first="scratch" if scratch else "tuned",
        control=control,
        tolerance=share_of("--tolerance", tolerance),
        seed=seed,
    )
    settings = _settings(model, scratch, seed, device, epochs=epochs, learning_rate=lr, batch=batch)
    # With --prepare, nothing is written but its file.
    folder = Path() if prepare is not None else make_new_folder(out or free_folder(Path("retrained")))
    if prepared is not None:
        material = Material.load(prepared)
    else:
        sources = _sources(data, option, training, training_option, share_of("--cut", cut), variant)
        material = _read(variant, sources, _changes(change), _guided(run, sources[1]), seed, workers)
    if prepare is not None:
        material.save(prepare, "jpg" if lossy else "png")
        _tell_prepared(prepare, material, as_json)
        return
    with _watching() as watcher:
        found = retrained(material, model, plan, settings=settings, folder=folder, watcher=watcher)
    document = {"folder": str(folder), **found.to_dict(), "left_out": dict(material.left_out)}
    write_json(folder / "retraining.json", document)
    if as_json:
        print_json(document)
    else:
        _print(found, material, folder)
    raise typer.Exit(0 if found.judgement.better else 1)


def _settings(model: str, scratch: bool, seed: int, device: str, **given: float | int | None) -> Settings:
    from roadworthy.training.retraining import tuning_settings, usual_settings

    usual = usual_settings(model) if scratch else tuning_settings(model)
    changed: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    return dataclasses.replace(usual, seed=seed, device=device, **changed)


def _sources(
    reference: str,
    options: list[str] | None,
    training: str | None,
    training_options: list[str] | None,
    cut: float,
    variant: Variant,
) -> tuple[Dataset, Dataset]:
    """Return the original training data, and the frames that images are made from."""
    from roadworthy.cli.options import opened_for
    from roadworthy.datasets import BaseDataset

    history = variant.spec.input.history or None
    data = opened_for(reference, options, history)
    if training is not None:
        return opened_for(training, training_options, history), data
    if not isinstance(data, BaseDataset):
        raise InputError(
            f"{data.name} cannot be cut into two parts: name the training data by --training DATA"
        )
    place = round(cut * len(data))
    if not 0 < place < len(data):
        raise InputError(
            f"--cut {cut:.0%} leaves {place} of {len(data)} frames for training and {len(data) - place} to "
            "change: both must have some"
        )
    return data[:place], data[place:]


def _changes(given: Sequence[str] | None) -> dict[str, Transform]:
    """Return the changes by the names of their kinds."""
    from roadworthy.transforms import parse_transform

    found: dict[str, Transform] = {}
    for text in given or ("rain", "fog"):
        change = parse_transform(text)
        if change in found.values():
            raise InputError(f"the change {text!r} is given twice; leave one out")
        found[change.name if change.name not in found else str(change)] = change
    return found


def _guided(run: Path | None, data: Dataset) -> list[GuidedImage]:
    """Return the failures of a run on the data."""
    from roadworthy.training.retraining import GuidedImage

    if run is None:
        return []
    failing = [one for one in stored_images(run) if one.failing]
    if not failing:
        raise InputError(f"the run {run} has no failing images to learn from")
    check_searched(run, data)
    return [GuidedImage(one.case, one.original, one.file) for one in failing]


def _read(
    variant: Variant,
    sources: tuple[Dataset, Dataset],
    changes: dict[str, Transform],
    guided: Sequence[GuidedImage],
    seed: int,
    workers: int | None,
) -> Material:
    """Read everything, with a progress bar on a terminal."""
    from roadworthy.training.retraining import read_material

    with bars() as shown:
        return read_material(
            variant,
            sources[0],
            sources[1],
            changes,
            guided=guided,
            seed=seed,
            workers=processes(workers),
            progress=shown.showing("Changing frames"),
        )


@contextmanager
def _watching() -> Iterator[Watcher]:
    """Show the training on a terminal, and nothing in a pipe."""
    from roadworthy.training import Watcher

    with bars() as shown:

        class Shown(Watcher):
            def step(self, step: int, progress: float) -> None:  # noqa: ARG002
                shown.show("Training", progress, 1.0)

            def epoch(self, result: EpochResult) -> None:
                shown.tell(f"epoch {result.epoch}: validation loss {result.validation_loss:.4f}")

        yield Shown()


def _tell_prepared(path: Path, material: Material, as_json: bool) -> None:
    images = {kind: len(one.originals) for kind, one in material.changed.items()}
    counts = {"training": len(material.training), "clean": len(material.clean), **images}
    document = {"file": str(path), "images": counts, "left_out": dict(material.left_out)}
    if as_json:
        print_json(document)
        return
    told = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    console().print(f"Wrote {path}: {told}", markup=False, soft_wrap=True)


def _print(found: Retrained, material: Material, folder: Path) -> None:
    from rich.padding import Padding
    from rich.text import Text

    from roadworthy.training.retraining import table_rows

    out = console()
    control = any(one.mse_control is not None for one in found.comparisons)
    columns = ["test set", "images", "MSE", "after", "RMSE", "after", "MSE change", "95 %"]
    table = plain_table(*columns, *(["control"] if control else []))
    for row, one in zip(table_rows(found.comparisons), found.comparisons, strict=True):
        more = [] if one.mse_control is None else [f"{one.mse_control:.4g}"]
        table.add_row(*(Text(cell) for cell in (*row, *more)))
    added = ", ".join(f"{count} {kind}" for kind, count in found.learned.items())
    out.print(f"{found.start}, retrained with {added}", markup=False, soft_wrap=True)
    out.print(Padding(table, (0, 0, 0, 2)))
    notes = [f"steering is in {material.unit.name}, MSE in its square"]
    if control:
        notes.append("control: the MSE of a network trained as long without the changed images")
    if found.seen:
        notes.append(
            f"{found.seen} of {found.comparisons[0].images} clean frames were learned in another weather, as "
            "in the paper; --split time keeps them apart"
        )
    notes += [
        f"{count} frames were left out of {kind}: the change does not apply to them"
        for kind, count in material.left_out.items()
        if count
    ]
    for note in notes:
        out.print(f"  {note}", markup=False, soft_wrap=True)
    style = "bold green" if found.judgement.better else "bold red"
    out.print(Text(str(found.judgement), style=style), soft_wrap=True)
    out.print(Text.assemble("Wrote ", (str(folder), "cyan")), soft_wrap=True)
