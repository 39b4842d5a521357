"""``roadworthy models try``: a first look at a model."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roadworthy._files import plain_name
from roadworthy.cli._commands import Command
from roadworthy.cli._console import (
    console,
    examples,
    listed,
    make_folder,
    parse_options,
    print_json,
    print_note,
    print_rows,
)
from roadworthy.cli._datasets import AsJson, FewFrames, Options, counted, opened, spread_frames
from roadworthy.cli._models import history_of
from roadworthy.cli.models._group import Data, ModelOptions, Reference, app
from roadworthy.errors import InputError, SystemUnderTestError

if TYPE_CHECKING:
    from roadworthy.cases import Dataset, Prediction
    from roadworthy.frames import Frame
    from roadworthy.models import Network, SystemUnderTest
    from roadworthy.models.network import Runtime


_MOST_FRAMES = 100
_SECONDS = 2.0  # for measuring time


@app.command(
    "try",
    cls=Command,
    epilog=examples(
        "roadworthy models try onnx:net.onnx",
        "roadworthy models try truth --data world:town",
        "roadworthy models try onnx:net.onnx -m output.signals=steering --data world",
        "roadworthy models try model.yaml --data world:town -o weather=rain --sample 12",
        "roadworthy models try recorded:results --data kitti:training",
    ),
)
def try_model(
    reference: Reference,
    data: Data = "world",
    option: Options = None,
    model_option: ModelOptions = None,
    sample: FewFrames = 6,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The picture to write; named after the model if left out."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Let a model answer a few frames, draw the answers and tell what it is like.

    Of a network of which nobody has said yet what it answers, tell what its file says, and print a model.yaml
    to begin with. The exit code is 2 then, because nothing was tried.
    """
    from roadworthy.images import write_image
    from roadworthy.models import load_model
    from roadworthy.models.network import UndescribedError
    from roadworthy.report import prediction_sheet

    if not 1 <= sample <= _MOST_FRAMES:
        raise InputError(f"--sample must be between 1 and {_MOST_FRAMES}, got {sample}")
    path = out or Path(f"try-{plain_name(reference)}.png")
    try:
        system = load_model(reference, **parse_options(model_option or [], "-m threads=1"))
    except UndescribedError as error:
        _print_beginning(reference, error.runtime, as_json=as_json)
        raise typer.Exit(2) from error
    dataset = opened(data, option, count=sample, history=history_of(system))
    frames, _ = spread_frames(dataset, sample)
    answers = _answers(system, frames)
    milliseconds = _milliseconds(system, frames)
    make_folder(path.parent)
    note = f"{counted(len(frames), len(dataset))} of {dataset.name}"
    sheet = prediction_sheet(frames, answers, title=system.name, note=note)
    write_image(path, sheet)
    document = _document(system, dataset, frames, answers, milliseconds)
    if as_json:
        print_json({"sheet": str(path), **document})
    else:
        _print_summary(path, document)


def _print_beginning(reference: str, runtime: Runtime, *, as_json: bool) -> None:
    """Tell what is known of a network that nobody has described yet, and how to describe it."""
    from rich.text import Text

    from roadworthy.cli.models._starting import description_to_begin_with

    description = description_to_begin_with(reference, runtime)
    if as_json:
        print_json(
            {
                "model": reference,
                "input": None if runtime.input is None else asdict(runtime.input),
                "outputs": [asdict(one) for one in runtime.outputs],
                "description": description,
            }
        )
        return
    out = console()
    out.print(Text.assemble((reference, "bold"), ", and nobody has said yet what it answers"))
    told = {"input": str(runtime.input or ""), "outputs": ", ".join(map(str, runtime.outputs))}
    print_rows({name: value or "its file does not say" for name, value in told.items()})
    place = "as model.yaml" if reference.startswith("http") else "beside it as model.yaml"
    out.print(f"Save this {place}, mend what has a comment, and try that file:\n")
    out.print(description, markup=False, soft_wrap=True)
    out.print("roadworthy models try model.yaml", style="cyan")


def _answers(system: SystemUnderTest, frames: Sequence[Frame]) -> list[Prediction]:
    """Return what the system answers, one prediction per frame."""
    try:
        answers = list(system.predict(frames))
    except SystemUnderTestError:
        raise
    except Exception as error:
        raise SystemUnderTestError(f"{system.name} raised {type(error).__name__}: {error}") from error
    if len(answers) != len(frames):
        raise SystemUnderTestError(
            f"{system.name} must give {len(frames)} predictions for {len(frames)} frames, got {len(answers)}"
        )
    return answers


def _milliseconds(system: SystemUnderTest, frames: Sequence[Frame]) -> float:
    """Return the time per frame, of the fastest of a few calls: the first ones warm up."""
    fastest, end = float("inf"), time.perf_counter() + _SECONDS
    for _ in range(5):
        start = time.perf_counter()
        system.predict(frames)
        fastest = min(fastest, time.perf_counter() - start)
        if time.perf_counter() > end:
            break
    return 1000 * fastest / len(frames)


def _document(
    system: SystemUnderTest,
    dataset: Dataset,
    frames: Sequence[Frame],
    answers: Sequence[Prediction],
    milliseconds: float,
) -> dict[str, object]:
    from roadworthy.models import Network, task_of
    from roadworthy.models.scorers import compare
    from roadworthy.runs.model_notes import notes

    measures = compare(frames, answers)
    document: dict[str, object] = {
        "model": system.name,
        "task": " and ".join(sorted({task_of(answer) for answer in answers})),
        "dataset": dataset.name,
        "frames": [frame.id for frame in frames],
        "milliseconds_per_frame": round(milliseconds, 3),
    }
    if isinstance(system, Network):
        document |= _about(system)
    document["answers"] = _ranges(answers)
    document["truth"] = [
        {"name": one.name, "value": one.value, "unit": one.unit, "frames": one.frames, "text": str(one)}
        for one in measures
    ]
    document["notes"] = notes(system, dataset, frames, answers)
    return document


def _about(network: Network[Prediction]) -> dict[str, object]:
    """Return what a network declares, and what its file says."""
    asked = network.input
    size = "the frame's own size" if asked.width is None else f"{asked.width}x{asked.height}"
    values = asked.range or ((0, 255) if asked.dtype == "uint8" else (0, 1))
    words = [size, asked.color, f"{asked.dtype}", asked.axes, f"values {values[0]:g} to {values[1]:g}"]
    if asked.mean or asked.std:
        words.append("then mean and std")
    if any(asked.crop):
        cut = zip(asked.crop, ("above", "below"), strict=True)
        words.append("without " + " and ".join(f"{_rows(one)} {where}" for one, where in cut if one))
    if asked.fit == "letterbox":
        words.append("letterboxed")
    if asked.history:
        words.append(f"{asked.history} earlier frames as {asked.stacking}")
    return {
        "input": ", ".join(words),
        "batch": "any number" if network.batch is None else str(network.batch),
        "outputs": [str(one) for one in network.runtime.outputs],
        "files": [str(file) for file in network.files],
    }


def _rows(cropped: float) -> str:
    """Return what is cropped: shares of the height are below 1, numbers of rows are not.

    Example:
        >>> _rows(0.3375), _rows(60), _rows(1)
        ('33.75% of the rows', '60 rows', '1 row')
    """
    if cropped < 1:
        return f"{cropped * 100:g}% of the rows"
    return "1 row" if cropped == 1 else f"{cropped:g} rows"


def _ranges(answers: Sequence[Prediction]) -> dict[str, str]:
    """Return what was answered, in a line for each kind of answer."""
    from roadworthy.cases import ClassScores
    from roadworthy.frames import Boxes, LabelMap, Signals

    found: dict[str, str] = {}
    values: dict[str, list[float]] = {}
    for answer in answers:
        if isinstance(answer, Signals):
            for name, value in answer.as_dict().items():
                values.setdefault(name, []).append(value)
    units = {"steering": "°", "speed": " m/s"}
    for name, given in values.items():
        if name != "timestamp":
            found[name] = f"{min(given):.3g} to {max(given):.3g}{units.get(name, '')}"
    boxes = Counter(name for answer in answers if isinstance(answer, Boxes) for name in answer.classes)
    if any(isinstance(answer, Boxes) for answer in answers):
        found["boxes"] = listed(dict(boxes.most_common())) or "none"
    best = Counter(answer.best for answer in answers if isinstance(answer, ClassScores))
    if best:
        found["best class"] = listed(dict(best.most_common(8)))
    pixels: Counter[str] = Counter()
    for answer in answers:
        if isinstance(answer, LabelMap):
            pixels.update(answer.present())
    if total := sum(pixels.values()):
        found["pixels"] = listed({name: f"{one / total:.1%}" for name, one in pixels.most_common()})
    return found


def _print_summary(path: Path, document: Mapping[str, object]) -> None:
    from rich.text import Text

    out = console()
    rows: dict[str, object] = {
        "input": document.get("input"),
        "batch": document.get("batch"),
        "outputs": _joined(document.get("outputs")),
        "time": f"{document['milliseconds_per_frame']:.2f} ms per frame",
    }
    answers, truth, noted = document["answers"], document["truth"], document["notes"]
    assert isinstance(answers, dict)
    assert isinstance(truth, list)
    assert isinstance(noted, list)
    rows |= answers
    rows["against truth"] = ", ".join(one["text"] for one in truth)
    out.print(Text.assemble((str(document["model"]), "bold"), f", {document['task']}"))
    print_rows({name: str(value) for name, value in rows.items() if value})
    for note in noted:
        print_note(str(note))
    out.print(Text.assemble("Wrote ", (str(path), "cyan")), soft_wrap=True)


def _joined(values: object) -> str:
    return ", ".join(map(str, values)) if isinstance(values, list) else ""
