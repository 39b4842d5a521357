"""Faults that specifications must find: in detectors, and in specifications themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from roadworthy._yaml import read_yaml
from roadworthy.bbsl import parse
from roadworthy.bbsl.bindings import Bindings, Exists
from roadworthy.bbsl.checking.results import PROPERTIES
from roadworthy.bbsl.method import TEXT, method_for
from roadworthy.bbsl.testing import find_role
from roadworthy.cases import Acceptance, Requirement, Status
from roadworthy.frames import Boxes, Frame
from roadworthy.models import FrameFunction
from roadworthy.runs import RunResult, read_verdicts, run
from roadworthy.selftest.faults import SOUND, FaultBench, Frames, Probe, Sighting, answering, described

_HEIGHT, _WIDTH = 160, 320
_BORDER = 60.0  # rows above the lower edge of the image at which a vehicle begins to be near
OBJECTS = 40
"""How many vehicles there are."""
_STEP = 0.5  # pixels from one vehicle to the next

_TEXTS: Mapping[str, str] = read_yaml(Path(__file__).with_name("texts.yaml"), "file of texts", "texts").data
SPECIFICATION = _TEXTS["stopping"].format(border=_BORDER)
"""Stop for a vehicle whose lower edge is near the lower edge of the image."""

PRESENT = _TEXTS["present"]
"""Whether there is a vehicle at all: a specification of whole frames."""
ANYBODY = Bindings({"anybody": Exists("vehicle")})
_GHOST = (10, 120, 60, 155)


def rows_of_vehicles() -> Frames:
    """Return frames with one vehicle each, lower by half a pixel from frame to frame, across the border.

    Example:
        >>> data = rows_of_vehicles()
        >>> len(data), data[1].boxes.xyxy[0].tolist()
        (40, [140.0, 61.0, 170.0, 91.0])
    """
    black = np.broadcast_to(np.zeros((1, 1, 3), np.uint8), (_HEIGHT, _WIDTH, 3))
    top = _HEIGHT - _BORDER - _STEP * OBJECTS / 2 + _STEP
    frames = []
    for number in range(OBJECTS):
        lower = top + _STEP * number
        boxes = Boxes([[140, lower - 30, 170, lower]], ["car"], track_ids=[1])
        frames.append(Frame(f"row-{number:02d}", black, boxes=boxes))
    return Frames("rows", frames)


def run_detector(
    system: FrameFunction,
    text: str = SPECIFICATION,
    data: Frames | None = None,
    bindings: Bindings | None = None,
    *,
    accept: float = 0.0,
    **how: Any,
) -> RunResult:
    """Test a detector by a specification; `how` is passed on to the run."""
    spec, bound = parse(text), bindings or Bindings({})
    method = method_for(spec, bound, find_role(spec, bound.sources))
    asked = Requirement("S", TEXT, "bbsl", acceptance=Acceptance(accept))
    return run(method, asked, data or rows_of_vehicles(), system, **how)


def counted(result: RunResult, known: int, size: float) -> Sighting:
    """Compare the number of violations with what is known; nothing may be lost."""
    violated, every = result.counts[Status.VIOLATED], sum(result.counts.values())
    said = f"{violated} of {every} objects violate it, known {known} of {OBJECTS}"
    return Sighting.of_number(size, violated == known and every == OBJECTS, said)


def true_boxes(frame: Frame) -> Boxes:
    """Return what a detector answers that finds everything where it is."""
    assert frame.boxes is not None
    return frame.boxes.replace(scores=np.full(len(frame.boxes), 0.9, np.float32), track_ids=None)


def number_of(frame: Frame) -> int:
    """Return the place of a frame in `rows_of_vehicles`."""
    return int(frame.id.removeprefix("row-"))


def in_first(size: float, changed: Callable[[Boxes], Boxes], timeout: float | None = None) -> FrameFunction:
    """Return a detector that is right but for the first frames, to which it gives changed answers."""

    def detect(frame: Frame) -> Boxes:
        boxes = true_boxes(frame)
        return changed(boxes) if number_of(frame) < size else boxes

    return answering(detect, timeout)


def _shifted(size: float, bench: FaultBench) -> Sighting:
    down = np.array([0, size, 0, size], np.float32)
    system = in_first(OBJECTS, lambda boxes: boxes.replace(xyxy=boxes.xyxy + down))
    # As many as stand above the border by no more than the shift.
    return counted(run_detector(system, seed=bench.seed), round(size / _STEP), size)


def _margins(size: float, bench: FaultBench) -> Sighting:
    """Compare the smallest margin of a good detector with how far the nearest vehicle is from the border."""
    data = Frames("one", [rows_of_vehicles()[OBJECTS // 2 - 1 + round(size / _STEP)]])
    out = bench.folder / "run"
    run_detector(answering(true_boxes), data=data, out=out, seed=bench.seed)
    (verdict,) = read_verdicts(out)
    margin = verdict.margin
    return Sighting.of_number(size, margin == size, f"margin {margin:g} px, known {size:g} px")


def none(boxes: Boxes) -> Boxes:
    """Return what a detector answers that finds nothing."""
    del boxes
    return Boxes.empty()


def _wrong(changed: Callable[[Boxes], Boxes]) -> Probe:
    """Seed wrong answers to some of the frames."""
    return lambda size, bench: counted(
        run_detector(in_first(size, changed), seed=bench.seed), int(size), size
    )


def _mislabelled(word: str) -> Probe:
    return _wrong(lambda boxes: Boxes(boxes.xyxy, [word], boxes.scores))


def _with_more(detected: Callable[[Boxes], Boxes]) -> Probe:
    """Seed detections of what is not there; the test asks only about what is."""
    return _wrong(lambda boxes: Boxes.concatenate([boxes, detected(boxes)]))


def _ghost_in_empty_road(size: float, bench: FaultBench) -> Sighting:
    """Seed the same into frames without vehicles, tested by a specification of whole frames."""
    data = Frames("empty", [frame.replace(boxes=Boxes.empty()) for frame in rows_of_vehicles()])
    system = in_first(size, lambda _: Boxes([_GHOST], ["car"], [0.9]))
    return counted(run_detector(system, PRESENT, data, ANYBODY, seed=bench.seed), int(size), size)


def _flickering(size: float, bench: FaultBench) -> Sighting:
    """Seed a detector that loses a track for some frames, tested by a specification of several frames."""

    def detect(frame: Frame) -> Boxes:
        return Boxes.empty() if 10 <= number_of(frame) < 10 + size else true_boxes(frame)

    result = run_detector(answering(detect), _TEXTS["tracked"], seed=bench.seed)
    violated = result.counts[Status.VIOLATED]
    return Sighting(violated > 0, f"{violated} of {sum(result.counts.values())} tracks violate it")


def _proved(written: Callable[[float], str], wrong: str) -> Probe:
    """Seed a flaw into a specification, which the static checks must refute with a witness."""

    def probe(size: float, bench: FaultBench) -> Sighting:
        del bench
        result = parse(SPECIFICATION if size == SOUND else written(size)).check()
        statuses = {name: result.status(name).value for name in PROPERTIES}
        said = ", ".join(f"{name} {status}" for name, status in statuses.items())
        if result.vacuous:
            said = "the precondition can never hold"
        if size == SOUND:
            return Sighting(not result.ok, said)
        refuted = [name for name, status in statuses.items() if status != "proved"]
        return Sighting(result.vacuous if wrong == "vacuous" else refuted == [wrong], said)

    return probe


def _moved(size: float) -> str:
    return SPECIFICATION.replace(f"> {_BORDER:g}", f"> {_BORDER + size:.12g}")


def _never(size: float) -> str:
    # A case between two that leave nothing between them: it needs y below one and above another.
    return SPECIFICATION + (
        f"case slow PROJ_y.lower(vehicle()) <= {_BORDER:g} and "
        f"PROJ_y.lower(vehicle()) >= {_BORDER + size:.12g} endcase\n"
    )


def _impossible(size: float) -> str:
    del size
    scope = "precondition [PROJ_y.lower(vehicle()) > PROJ_y.upper(vehicle())] endprecondition\n"
    head, _, cases = SPECIFICATION.partition("case ")
    return f"{head}{scope}case {cases}"


_SEEDED = {
    "shifted boxes": _shifted,
    "margin": _margins,
    "missing boxes": _wrong(none),
    "wrong class": _mislabelled("pedestrian"),
    "wrong kind of vehicle": _mislabelled("truck"),
    "flickering track": _flickering,
    "ghost on an empty road": _ghost_in_empty_road,
    "ghost beside a vehicle": _with_more(lambda boxes: boxes.replace(xyxy=np.array([_GHOST], np.float32))),
    "doubled boxes": _with_more(lambda boxes: boxes),
    "gap in a specification": _proved(_moved, "exhaustive"),
    "overlap in a specification": _proved(lambda size: _moved(-size), "exclusionary"),
    "case that never holds": _proved(_never, "non-redundant"),
    "impossible precondition": _proved(_impossible, "vacuous"),
}
FAULTS = described("bbsl", _SEEDED)
