"""A stored row as pages show it, and the least change that still fails."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.cases import Case, Predicted, Scalar, Verdict
from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.images import Image, read_image
from roadworthy.labelling import estimated_by
from roadworthy.labelling.street import street_network
from roadworthy.models import SystemUnderTest, history_of, load_model
from roadworthy.ontology import ontology
from roadworthy.report.rules import shrink
from roadworthy.rules.gauges import Gauge, gauge_of, unit_of
from roadworthy.rules.generation import RulePlan
from roadworthy.rules.shrinking import Shrinking, Violation
from roadworthy.runs.store import MEASURE, PARAMETER, StoredRun, clip_images, shown_images
from roadworthy.transforms.answers import overlays
from roadworthy.web.jobs.asks import SuiteAsk
from roadworthy.web.previews import trial_of
from roadworthy.web.working import Progress

if TYPE_CHECKING:
    from roadworthy.web.pages import PictureCache
    from roadworthy.web.wall import CaseMark


_FILM = 6  # frames of a clip
_EDGES = 10, 17  # of the rows and columns of places that are hidden, one after the other
_SIDES = ("x1", "y1", "x2", "y2")
_SQUARES = {"speed": " (m/s)²", "steering": "°²"}
# Columns that say what was done to a frame as a whole, the most exact first.
_CHANGES = (f"{MEASURE}transform", f"{PARAMETER}transform")


def shown(row: Mapping[str, Scalar], mark: CaseMark | None = None) -> dict[str, Any]:
    """Return a row as JSON can hold it: pictures, answers, boxes, and everything else by name.

    Example:
        >>> row = {"requirement": "R1", "system": "dave2", "case": "town-1", "status": "violated",
        ...        "margin": -1.5, "reason": "", "visual_change": 0.25, "images": "ab cd",
        ...        "param.output.1": "speed", "measure.before.1": 8.0, "measure.after.1": 9.5}
        >>> one = shown(row)
        >>> one["pictures"], one["unit"]
        (['ab', 'cd'], ' m/s')
        >>> [(answer["output"], answer["before"], answer["after"]) for answer in one["answers"]]
        [('speed', 8.0, 9.5)]
    """
    return {
        **{name: row[name] for name in ("requirement", "system", "case", "status")},
        "margin": _number(row["margin"]),
        "unit": _unit(row),
        "reason": row["reason"] or "",
        "visual_change": _number(row.get("visual_change")),
        "tolerated": row.get(f"{MEASURE}tolerated"),
        "estimated": estimated_by(row, MEASURE),
        "pictures": shown_images(row),
        "film": _film(row),
        "answers": list(_answers(row)),
        "boxes": dict(_boxes(row)),
        "overlays": overlays(row, MEASURE),
        "lines": list(_lines(row)),
        "parameters": _part(row, PARAMETER),
        "measures": _part(row, MEASURE),
        "mark": "" if mark is None else mark.mark,
        "note": "" if mark is None else mark.note,
    }


def _film(row: Mapping[str, Scalar]) -> list[str]:
    """Return some pictures of a clip as the change has it; none of a single frame."""
    frames = [one[-1] for one in clip_images(row) if len(one) > 1]
    return frames[:: -(-len(frames) // _FILM)] if len(frames) > 1 else []


def _answers(row: Mapping[str, Scalar]) -> Iterator[dict[str, Any]]:
    """Yield what the model answered, what decides about the margin first."""
    for _, output, words, before, after, part in sorted(_compared(row), key=lambda one: one[0]):
        yield {
            "output": output,
            "unit": "°" if output == "steering" else unit_of(output),
            "before": _number(before),
            "after": _number(after),
            "words": list(words),
            "part": part,
        }


Compared = tuple[float, str, tuple[str, str], Scalar, Scalar, int]
"""A margin, what was predicted, what the two numbers are, the numbers, and of which part of a rule."""


def _compared(row: Mapping[str, Scalar]) -> Iterator[Compared]:
    before_and_after = "before", "after"
    number = 1
    # A rule speaks of one output or of several.
    while (before := row.get(f"{MEASURE}before.{number}")) is not None:
        margin = _number(row.get(f"{MEASURE}margin.{number}"))
        output = str(row.get(f"{PARAMETER}output.{number}") or "answer")
        after = row.get(f"{MEASURE}after.{number}")
        yield math.inf if margin is None else margin, output, before_and_after, before, after, number
        number += 1
    # A search holds an answer against what is true.
    if (label := row.get(f"{MEASURE}label")) is not None:
        output = str(row.get(f"{PARAMETER}output") or "answer")
        yield 0.0, output, ("true", "answered"), label, row.get(f"{MEASURE}prediction"), 1
    # Reliability holds how right the model is.
    if (before := row.get(f"{MEASURE}before")) is not None:
        measure = str(row.get(f"{PARAMETER}measure") or "answer")
        yield 0.0, measure, before_and_after, before, row.get(f"{MEASURE}after"), 1


def _unit(row: Mapping[str, Scalar]) -> str:
    """Return what the margin is measured in; nothing where it is a plain number."""
    if row.get(f"{MEASURE}label") is not None:
        # Equation 2 of DeepTest is about squared errors.
        return _SQUARES.get(str(row.get(f"{PARAMETER}output")), "")
    if answers := list(_answers(row)):
        return str(answers[0]["unit"])
    return " px" if dict(_boxes(row)) else ""


def _lines(row: Mapping[str, Scalar]) -> Iterator[str]:
    """Yield what else is worth a line of its own."""
    if (expected := row.get(f"{MEASURE}expected")) is not None:
        yield f"expected {expected}, found {row.get(f'{MEASURE}found') or 'nothing'}"
    if (nearest := row.get(f"{MEASURE}nearest")) is not None:
        value = _number(row.get(f"{MEASURE}{nearest}"))
        yield f"nearest to its threshold: {nearest}" + ("" if value is None else f" {value:.3g}")
    if done := next((str(row[one]) for one in _CHANGES if row.get(one)), ""):
        yield done


def _boxes(row: Mapping[str, Scalar]) -> Iterator[tuple[str, list[float]]]:
    for kind in ("truth", "detection"):
        corners = [_number(row.get(f"{MEASURE}{kind}.{side}")) for side in _SIDES]
        if all(one is not None for one in corners):
            yield kind, [one for one in corners if one is not None]


def _part(row: Mapping[str, Scalar], prefix: str) -> dict[str, Any]:
    """Return the parameters or measures of a row that it has; numbers too large for JavaScript as text."""
    return {
        name.removeprefix(prefix): _told(value)
        for name, value in row.items()
        if name.startswith(prefix) and value is not None
    }


def _told(value: Scalar) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return str(value) if isinstance(value, int) and abs(value) > 2**53 else value


def _number(value: object) -> float | None:
    """Return a number that JSON can hold; an infinite one as a very large one."""
    if not isinstance(value, int | float) or math.isnan(value):
        return None
    return float(value) if math.isfinite(value) else math.copysign(1e308, value)


class _Watched(Shrinking):
    """Tells how far it has come: by the first try and its six halves."""

    progress: Progress = Progress()

    def feedback(self, case: Case, verdict: Verdict) -> None:
        super().feedback(case, verdict)
        tries = sum(map(len, self.tried.values()))
        self.progress(f"Trying {float(str(case.parameters['amount'])):.0%} of the change.", tries / 8)


def shrunk(
    ask: SuiteAsk, case: Mapping[str, Any], pictures: PictureCache, progress: Progress
) -> dict[str, Any]:
    """Return how much of the change is enough for a case to fail, and all that was tried, the least first.

    Args:
        ask: The suite of this one case.
        case: The case, as the wall shows it.
        pictures: Where pictures are kept for the page.
        progress: Is told how far it has come.

    Raises:
        InputError: The case does not violate, or does not any more.
    """
    if case["status"] != "violated":
        raise InputError("only a violation can be shrunk")
    progress("Opening the model and the data.", None)
    trial = trial_of(ask, *ask.models)
    if not isinstance(trial.inside, RulePlan):
        raise InputError("only a case of a rule can be shrunk")
    frame = str(case["parameters"]["frame"])
    search = _Watched(trial.inside, [Violation(frame, int(case["parameters"]["seed"]))])
    search.progress = progress
    shrink(search, trial.requirement, trial.data, trial.system)
    if (found := search.smallest.get(frame)) is None:
        raise InputError("the case does not fail any more: the model answers differently from time to time")
    tried = sorted(search.tried[frame], key=lambda one: one[0])
    return {
        "amount": found.amount,
        "changes": list(found.changes),
        "pictures": [pictures.add(one.image) for one in found.frames],
        "answers": {output: list(values) for output, values in found.predictions.items()},
        "margin": found.margin,
        "film": [_step(amount, verdict, case["parameters"], pictures) for amount, verdict in tried],
    }


def _step(
    amount: float, verdict: Verdict, known: Mapping[str, Any], pictures: PictureCache
) -> dict[str, Any]:
    """Return one amount of a change that was tried; without a picture where none could be made."""
    frames = verdict.clue.frames if isinstance(verdict.clue, Predicted) else ()
    row = {f"{PARAMETER}{name}": value for name, value in known.items()}
    row |= {f"{MEASURE}{name}": value for name, value in verdict.measures.items()}
    return {
        "amount": amount,
        "status": str(verdict.status),
        "reason": verdict.reason,
        "margin": verdict.margin,
        "pictures": [pictures.add(one.image) for one in frames],
        "answers": list(_answers(row)),
    }


def seen(paths: Sequence[Path], pictures: PictureCache) -> dict[str, Any]:
    """Return what the street network sees in some pictures: what each pixel shows, and how near it is.

    Args:
        paths: The pictures.
        pictures: Where pictures are kept for the page.
    """
    looks = street_network().look([read_image(path) for path in paths])
    palette = np.asarray(ontology().palette, np.uint8)
    there = np.unique([number for labels, _ in looks for number in np.unique(labels.ids)])
    return {
        "labels": [pictures.add(palette[labels.ids]) for labels, _ in looks],
        "depth": [pictures.add(_near(inverse)) for _, inverse in looks],
        "classes": [[ontology().label_classes[one], *palette[one].tolist()] for one in there if one],
    }


def attended(
    ask: SuiteAsk, case: Mapping[str, Any], pictures: PictureCache, progress: Progress
) -> dict[str, Any]:
    """Return by how much an answer changes where one place of a picture after the other is hidden.

    A place is hidden by the picture's mean colour, as Zeiler and Fergus do (2014).

    Args:
        ask: The suite of this one case.
        case: The case, as the wall shows it, with the folder of its `run`.
        pictures: Where pictures are kept for the page.
        progress: Is told how far it has come.

    Raises:
        InputError: The answer is no number, or the model sees more than one picture.
    """
    if not case["pictures"] or not case["answers"]:
        raise InputError("what a model looks at is told of a case with pictures and answers")
    progress("Opening the model.", None)
    system, output = load_model(ask.models[0]), next((one["output"] for one in case["answers"]), "answer")
    gauge, run = gauge_of(output), StoredRun.open(case["run"])
    if history_of(system):
        raise InputError(f"{system.name} sees several frames at once: what it looks at is told of one")
    maps = [_relied_on(system, gauge, read_image(run.image(one)), progress) for one in case["pictures"]]
    most = max(float(one.max()) for one in maps)
    heat = [pictures.add(_heat(one, 0.0, most)) for one in maps]
    return {"attention": heat, "most": most, "output": output, "unit": unit_of(output)}


def _relied_on(
    system: SystemUnderTest, gauge: Gauge, image: Image, progress: Progress
) -> NDArray[np.float32]:
    """Return by how much an answer changes where each place of a picture is hidden."""
    rows, columns = (np.linspace(0, *one, dtype=int) for one in zip(image.shape, _EDGES, strict=False))
    found, mean = list[float](), image.mean(axis=(0, 1))
    for top, bottom in pairwise(rows):
        progress("Hiding one place after the other.", top / image.shape[0])
        frames = [Frame("whole", image)]
        for left, right in pairwise(columns):
            pixels = image.copy()
            pixels[top:bottom, left:right] = mean
            frames.append(Frame("hidden", pixels))
        whole, *answers = system.predict(frames)
        for hidden, answer in zip(frames[1:], answers, strict=True):
            pairs = gauge.measured((frames[0], hidden), (whole, answer))
            found.append(max((abs(one - two) for one, two in pairs), default=0.0))
    places = np.nan_to_num(np.array(found, np.float32).reshape(len(rows) - 1, -1))
    return np.asarray(cv2.resize(places, image.shape[1::-1], interpolation=cv2.INTER_LINEAR))


CLOSER: Mapping[str, Callable[..., dict[str, Any]]] = {"least": shrunk, "attention": attended}
"""What is looked at closer in one case, with its model: by the last part of the address."""


def _near(inverse: NDArray[np.float32]) -> Image:
    """Return relative inverse depth as colours: what is near is bright."""
    return _heat(inverse, *np.percentile(inverse, (1, 99)))


def _heat(values: NDArray[np.float32], least: float, most: float) -> Image:
    grey = np.clip(255 * (values - least) / max(most - least, 1e-6), 0, 255).astype(np.uint8)
    colored = cv2.applyColorMap(grey, cv2.COLORMAP_INFERNO)
    return np.asarray(cv2.cvtColor(colored, cv2.COLOR_BGR2RGB), np.uint8)
