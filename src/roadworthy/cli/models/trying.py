"""``roadworthy models try``: a first look at a model."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import (
    console,
    examples,
    listed,
    make_folder,
    parse_options,
    print_json,
    print_rows,
)
from roadworthy.cli._datasets import AsJson, Options, counted, opened, spread_frames
from roadworthy.cli._model_notes import notes
from roadworthy.cli.models._group import Data, ModelOptions, Reference, app, history_of
from roadworthy.errors import InputError, SystemUnderTestError

if TYPE_CHECKING:
    from roadworthy.cases import Dataset, Prediction
    from roadworthy.frames import Frame
    from roadworthy.models import Network, SystemUnderTest

__all__ = ["try_model"]

_MOST_FRAMES = 100
_SECONDS = 2.0  # for measuring time


@app.command(
    "try",
    cls=Command,
    epilog=examples(
        "roadworthy models try truth --data world:town",
        "roadworthy models try onnx:net.onnx -m output.signals=steering --data world",
        "roadworthy models try model.yaml --data world:town -o weather=rain --count 12",
        "roadworthy models try recorded:results --data kitti:training",
    ),
)
def try_model(
    reference: Reference,
    data: Data = "world",
    option: Options = None,
    model_option: ModelOptions = None,
    count: Annotated[
        int, typer.Option("--count", "-n", metavar="N", help="How many frames, spread over the data set.")
    ] = 6,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The picture to write; named after the model when left out."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Let a model answer a few frames, draw the answers and tell what it is like."""
    from roadworthy.images import write_image
    from roadworthy.models import load_model
    from roadworthy.report import prediction_sheet

    if not 1 <= count <= _MOST_FRAMES:
        raise InputError(f"--count must be between 1 and {_MOST_FRAMES}, got {count}")
    path = out or Path("try-" + re.sub(r"[^\w.-]+", "-", reference).strip("-.") + ".png")
    system = load_model(reference, **parse_options(model_option or []))
    dataset = opened(data, option, count=count, history=history_of(system))
    frames, _ = spread_frames(dataset, count)
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
    from roadworthy.models.comparison import compare

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
        words.append(f"without {asked.crop[0]:g} rows above and {asked.crop[1]:g} below")
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
        out.print(Text.assemble(("Note: ", "yellow"), str(note)))
    out.print(Text.assemble("Wrote ", (str(path), "cyan")), soft_wrap=True)


def _joined(values: object) -> str:
    return ", ".join(map(str, values)) if isinstance(values, list) else ""
