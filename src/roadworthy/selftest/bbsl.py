"""Faults that specifications must find: in detectors, and in specifications themselves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from roadworthy.bbsl import parse
from roadworthy.bbsl.bindings import Bindings, Exists
from roadworthy.bbsl.method import TEXT, method_for
from roadworthy.bbsl.testing import find_role
from roadworthy.cases import Requirement, Status
from roadworthy.frames import Boxes, Frame
from roadworthy.runs import RunResult, read_verdicts, run
from roadworthy.selftest.faults import SOUND, FaultBench, Frames, Probe, SeededFault, Sighting, answering

_HEIGHT, _WIDTH = 160, 320
_BORDER = 60.0  # rows above the lower edge of the image at which a vehicle begins to be near
OBJECTS = 40
"""How many vehicles there are."""
_STEP = 0.5  # pixels from one vehicle to the next

SPECIFICATION = f"""
exfunction vehicle(): bb endexfunction
case stop PROJ_y.lower(vehicle()) <= {_BORDER:g} endcase
case NOT stop PROJ_y.lower(vehicle()) > {_BORDER:g} endcase
"""
"""Stop for a vehicle whose lower edge is near the lower edge of the image."""

_TRACKED = """
exfunction vehicleExists(): bool vehicle(): bb endexfunction
precondition [vehicleExists() = true] endprecondition
case kept always[1, 2] (vehicleExists() = true) endcase
case lost eventually[1, 2] (vehicleExists() = false) endcase
"""
PRESENT = """
exfunction anybody(): bool endexfunction
case present anybody() = true endcase
case absent anybody() = false endcase
"""
"""Whether there is a vehicle at all: a specification of whole frames."""


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
    bench: FaultBench,
    detect: Callable[[Frame, int], Boxes],
    text: str = SPECIFICATION,
    data: Frames | None = None,
    bindings: Bindings | None = None,
) -> RunResult:
    """Test a detector that gets the true boxes and the number of the frame."""
    data = rows_of_vehicles() if data is None else data
    spec, bound = parse(text), bindings or Bindings({})
    numbers = {id: number for number, id in enumerate(data.ids)}
    method = method_for(spec, bound, find_role(spec, bound.sources))
    system = answering(lambda frame: detect(frame, numbers[frame.id]))
    return run(method, Requirement("S", TEXT, "bbsl"), data, system, seed=bench.seed)


def counted(result: RunResult, known: int, size: float) -> Sighting:
    """Compare the number of violations with what is known; nothing may be lost."""
    violated, every = result.counts[Status.VIOLATED], sum(result.counts.values())
    said = f"{violated} of {every} objects violate it, known {known} of {OBJECTS}"
    if size == SOUND:
        return Sighting(violated > 0 or every != OBJECTS, said)
    return Sighting(violated == known and every == OBJECTS, said)


def true_boxes(frame: Frame) -> Boxes:
    """Return what a detector answers that finds everything where it is."""
    assert frame.boxes is not None
    return frame.boxes.replace(scores=np.full(len(frame.boxes), 0.9, np.float32), track_ids=None)


def _shifted(size: float, bench: FaultBench) -> Sighting:
    def detect(frame: Frame, number: int) -> Boxes:
        del number
        boxes = true_boxes(frame)
        return boxes.replace(xyxy=boxes.xyxy + np.array([0, size, 0, size], np.float32))

    # As many as stand above the border by no more than the shift.
    known = round(size / _STEP)
    return counted(run_detector(bench, detect), known, size)


def _margins(size: float, bench: FaultBench) -> Sighting:
    """Compare the smallest margin of a good detector with how far the nearest vehicle is from the border."""
    data = Frames("one", [rows_of_vehicles()[OBJECTS // 2 - 1 + round(size / _STEP)]])
    method = method_for(parse(SPECIFICATION), Bindings({}), find_role(parse(SPECIFICATION), ()))
    out = bench.folder / "run"
    run(method, Requirement("S", TEXT, "bbsl"), data, answering(true_boxes), out=out, seed=bench.seed)
    (verdict,) = read_verdicts(out)
    margin = verdict.margin
    said = f"margin {margin:g} px, known {size:g} px"
    return Sighting(margin != 0 if size == SOUND else margin == size, said)


def _missing(size: float, bench: FaultBench) -> Sighting:
    def detect(frame: Frame, number: int) -> Boxes:
        return Boxes.empty() if number < size else true_boxes(frame)

    return counted(run_detector(bench, detect), int(size), size)


def _mislabelled(word: str) -> Probe:
    def probe(size: float, bench: FaultBench) -> Sighting:
        def detect(frame: Frame, number: int) -> Boxes:
            boxes = true_boxes(frame)
            return Boxes(boxes.xyxy, [word], boxes.scores) if number < size else boxes

        return counted(run_detector(bench, detect), int(size), size)

    return probe


def _with_more(detected: Callable[[Boxes], Boxes]) -> Probe:
    """Seed detections of what is not there; the test asks only about what is."""

    def probe(size: float, bench: FaultBench) -> Sighting:
        def detect(frame: Frame, number: int) -> Boxes:
            boxes = true_boxes(frame)
            return Boxes.concatenate([boxes, detected(boxes)]) if number < size else boxes

        return counted(run_detector(bench, detect), int(size), size)

    return probe


def _ghost(boxes: Boxes) -> Boxes:
    return boxes.replace(xyxy=np.array([[10, 120, 60, 155]], np.float32))


def _ghost_in_empty_road(size: float, bench: FaultBench) -> Sighting:
    """Seed the same into frames without vehicles, tested by a specification of whole frames."""
    data = Frames("empty", [frame.replace(boxes=Boxes.empty()) for frame in rows_of_vehicles()])

    def detect(frame: Frame, number: int) -> Boxes:
        del frame
        return Boxes([[10, 120, 60, 155]], ["car"], [0.9]) if number < size else Boxes.empty()

    result = run_detector(bench, detect, PRESENT, data, Bindings({"anybody": Exists("vehicle")}))
    return counted(result, int(size), size)


def _flickering(size: float, bench: FaultBench) -> Sighting:
    """Seed a detector that loses a track for some frames, tested by a specification of several frames."""

    def detect(frame: Frame, number: int) -> Boxes:
        return Boxes.empty() if 10 <= number < 10 + size else true_boxes(frame)

    result = run_detector(bench, detect, _TRACKED)
    violated = result.counts[Status.VIOLATED]
    return Sighting(violated > 0, f"{violated} of {sum(result.counts.values())} tracks violate it")


def _proved(written: Callable[[float], str], wrong: str) -> Probe:
    """Seed a flaw into a specification, which the static checks must refute with a witness."""

    def probe(size: float, bench: FaultBench) -> Sighting:
        del bench
        result = parse(written(size)).check()
        refuted = {
            name: result.status(name).value for name in ("exhaustive", "exclusionary", "non-redundant")
        }
        said = ", ".join(f"{name} {status}" for name, status in refuted.items())
        if result.vacuous:
            said = "the precondition can never hold"
        if size == SOUND:
            return Sighting(not result.ok, said)
        exactly = result.vacuous if wrong == "vacuous" else [*_refuted(refuted)] == [wrong]
        return Sighting(exactly, said)

    return probe


def _refuted(statuses: dict[str, str]) -> list[str]:
    return [name for name, status in statuses.items() if status != "proved"]


def _gap(size: float) -> str:
    return SPECIFICATION.replace(f"> {_BORDER:g}", f"> {_BORDER + size:.12g}")


def _overlap(size: float) -> str:
    return SPECIFICATION.replace(f"> {_BORDER:g}", f"> {_BORDER - size:.12g}")


def _never(size: float) -> str:
    if size == SOUND:
        return SPECIFICATION
    # A case between two that leave nothing between them: it needs y below one and above another.
    return SPECIFICATION + (
        f"case slow PROJ_y.lower(vehicle()) <= {_BORDER:g} and "
        f"PROJ_y.lower(vehicle()) >= {_BORDER + size:.12g} endcase\n"
    )


def _impossible(size: float) -> str:
    if size == SOUND:
        return SPECIFICATION
    scope = "precondition [PROJ_y.lower(vehicle()) > PROJ_y.upper(vehicle())] endprecondition\n"
    head, _, cases = SPECIFICATION.partition("case ")
    return f"{head}{scope}case {cases}"


_PIXELS = (0.001, 1.0, 20.0)
_SOUND_SPEC = "a specification whose cases meet and share nothing"
_GOOD = "a detector that finds every vehicle where it is"

FAULTS: tuple[SeededFault, ...] = (
    SeededFault(
        "bbsl/shifted boxes",
        "bbsl/number",
        "a detector whose boxes are too low; exactly the objects whose case changes must be found",
        _GOOD,
        _shifted,
        (0.5, 2.0, 8.0),
        "px",
        0.5,
    ),
    SeededFault(
        "bbsl/margin",
        "bbsl/number",
        "a vehicle at a known distance from the border between two cases, which must be the margin",
        "a vehicle exactly on the border, with a margin of 0",
        _margins,
        (0.5, 3.0, 10.0),
        "px",
        0.5,
    ),
    SeededFault(
        "bbsl/missing boxes",
        "bbsl/missed",
        "a detector that misses some of the vehicles",
        _GOOD,
        _missing,
        (1.0, 4.0, 40.0),
        f"{{}} of {OBJECTS} vehicles",
    ),
    SeededFault(
        "bbsl/wrong class",
        "bbsl/missed",
        "a detector that takes some of the vehicles for pedestrians",
        _GOOD,
        _mislabelled("pedestrian"),
        (1.0, 4.0, 40.0),
        f"{{}} of {OBJECTS} vehicles",
    ),
    SeededFault(
        "bbsl/wrong kind of vehicle",
        "bbsl/missed",
        "a detector that takes some of the cars for trucks",
        _GOOD,
        _mislabelled("truck"),
        (4.0, 40.0),
        f"{{}} of {OBJECTS} vehicles",
        None,
        "The specification speaks of vehicles, and a truck is one. Where the kind matters, let it say so.",
    ),
    SeededFault(
        "bbsl/flickering track",
        "bbsl/missed",
        "a detector that loses a vehicle for some frames, tested by a specification over several frames",
        "a detector that keeps it",
        _flickering,
        (1.0, 2.0, 5.0),
        "frame(s)",
    ),
    SeededFault(
        "bbsl/ghost on an empty road",
        "bbsl/missed",
        "a detector that sees a vehicle on an empty road, tested by a specification of whole frames",
        "a detector that sees none",
        _ghost_in_empty_road,
        (1.0, 4.0, 40.0),
        f"{{}} of {OBJECTS} frames",
    ),
    SeededFault(
        "bbsl/ghost beside a vehicle",
        "bbsl/missed",
        "a detector that sees one vehicle more than there is, tested object by object",
        _GOOD,
        _with_more(_ghost),
        (40.0,),
        f"{{}} of {OBJECTS} frames",
        None,
        "A test of single objects asks about those of the ground truth. What else is detected is seen only "
        "by a specification of whole frames, or by the precision that `models evaluate` gives.",
    ),
    SeededFault(
        "bbsl/doubled boxes",
        "bbsl/missed",
        "a detector that finds every vehicle twice",
        _GOOD,
        _with_more(lambda boxes: boxes),
        (40.0,),
        f"{{}} of {OBJECTS} frames",
        None,
        "One of the two is matched, and the other is asked about by nobody: as for ghosts.",
    ),
    SeededFault(
        "bbsl/gap in a specification",
        "bbsl/specification",
        "a specification with a gap between two cases",
        _SOUND_SPEC,
        _proved(_gap, "exhaustive"),
        _PIXELS,
        "px",
        0.001,
    ),
    SeededFault(
        "bbsl/overlap in a specification",
        "bbsl/specification",
        "a specification two of whose cases overlap",
        _SOUND_SPEC,
        _proved(_overlap, "exclusionary"),
        _PIXELS,
        "px",
        0.001,
    ),
    SeededFault(
        "bbsl/case that never holds",
        "bbsl/specification",
        "a specification with a case that needs a lower edge below one line and above a higher one",
        _SOUND_SPEC,
        _proved(_never, "non-redundant"),
        _PIXELS,
        "px",
        0.001,
    ),
    SeededFault(
        "bbsl/impossible precondition",
        "bbsl/specification",
        "a specification whose precondition admits no box",
        _SOUND_SPEC,
        _proved(_impossible, "vacuous"),
    ),
)
"""All of them."""
