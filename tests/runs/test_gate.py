"""The gate refuses frames that do not show what the words say, and lets the others through."""

from __future__ import annotations

import gc
import json
import weakref
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from roadworthy.cases import BaseMethod, Case, CaseStream, Predict, Requirement, Status, Verdict
from roadworthy.coverage import Observed
from roadworthy.coverage.method import CoverageMethod
from roadworthy.datasets import load
from roadworthy.errors import EngineError, InputError
from roadworthy.frames import Boxes, Frame
from roadworthy.images import Image
from roadworthy.labelling import street_network
from roadworthy.models import load_model
from roadworthy.rules.amounts import Faded
from roadworthy.runs import gate as gate_module
from roadworthy.runs import run
from roadworthy.runs.executors.pickling import pack_job, unpack_job
from roadworthy.runs.executors.work import BatchJob
from roadworthy.runs.gate import FrameChange, Gate, gate_named
from roadworthy.runs.several import run_several
from roadworthy.runs.store import read_rows
from roadworthy.runs.store.manifest import notes_of, read_manifest
from roadworthy.runs.suites import plan_suite, run_suite, suite_of
from roadworthy.transforms import Transform, make_transform

EMPTY = "much of the image is black, white or empty"


@pytest.fixture(scope="module")
def street() -> Frame:
    """A frame that nobody says the world drew, so that networks look at it."""
    return load("world:town", count=1)[0].replace(metadata={})


@pytest.fixture(scope="module")
def crossing(street: Frame) -> FrameChange:
    """A pedestrian who was really added."""
    person = make_transform("add", element="pedestrian", realism="any")
    return FrameChange(street, person(street, 0, measure=False), (person,))


@pytest.fixture(scope="module")
def emptied(street: Frame) -> FrameChange:
    """A street without its vehicles."""
    gone = make_transform("remove", element="vehicle", realism="any")
    return FrameChange(street, gone(street, 0, measure=False), (gone,))


def made(street: Frame, *steps: Transform, drawn: bool = True) -> FrameChange:
    """Changes as the built-in world, which takes more of them than real frames do, has them made."""
    after = street.replace(metadata={"track": "town"} if drawn else {})
    for step in steps:
        after = step(after, 0, measure=False)
    notes = {key: value for key, value in after.metadata.items() if key == "added"}
    return FrameChange(street, after.replace(metadata=notes), steps)


def showing(change: FrameChange, image: Image) -> FrameChange:
    """A change whose image is another, while all else says that it was done."""
    return change._replace(after=change.after.replace(image=image))


def added(change: FrameChange) -> Any:
    """What the changed frame notes about the one thing that was added."""
    notes: Any = change.after.metadata["added"]
    return notes[0]


def added_boxes(change: FrameChange) -> list[tuple[float, ...]]:
    notes: Any = change.after.metadata["added"]
    return [tuple(map(float, note["box"])) for note in notes]


def refusal(change: FrameChange, gate: Gate | None = None) -> str:
    (found,) = (gate or Gate()).refusals([change])
    assert isinstance(found, str), found
    return found


def test_what_was_asked_for_and_is_there_passes(crossing: FrameChange, emptied: FrameChange) -> None:
    assert Gate().refusals([crossing, emptied]) == ["", ""]


def checked(frame: Frame, share: float, step: int = 40) -> Frame:
    """A frame of checks of 8 pixels: on a share of it they differ by `step` levels, elsewhere by 5."""
    rows, columns = np.mgrid[:160, :320]
    levels = 120 + (rows // 8 + columns // 8) % 2 * np.where(columns < 320 * share, step, 5)
    image = np.repeat(levels.astype(np.uint8)[..., None], 3, axis=2)
    return frame.replace(image=image, labels=None, depth=None, instances=None, boxes=None)


@pytest.mark.parametrize(
    ("before", "after", "step", "recognised"),
    [
        (1.0, 0.3, 40, True),
        (1.0, 0.1, 40, False),
        (1.0, 0.5, 15, False),  # 16 levels make a form
        (1.0, 0.5, 16, True),
        (0.2, 0.1, 40, True),  # half of what was there before
        (0.2, 0.05, 40, False),
    ],
)
def test_an_image_in_which_nothing_is_recognised_is_not_judged(
    street: Frame, before: float, after: float, step: int, recognised: bool
) -> None:
    blur, fog = make_transform("gaussian-blur"), make_transform("fog")
    drawn = street.replace(metadata={"track": "town"})
    nothing = make_transform("contrast", gain=1.0)
    change = FrameChange(checked(drawn, before), checked(drawn, after, step), (blur, nothing, blur))
    assert nothing.is_identity
    assert refusal(change) == ("" if recognised else "no form is left to be recognised")
    # Weather may hide all it likes, and of a single change people have said what they tolerate.
    assert refusal(change._replace(steps=(blur, fog, blur))) == ""
    assert refusal(change._replace(steps=(blur, nothing))) == ""


def test_a_street_seen_through_ever_stronger_blur(street: Frame) -> None:
    blur = make_transform("gaussian-blur")

    def seen(sigma: float) -> FrameChange:
        image = np.asarray(cv2.GaussianBlur(street.image, (0, 0), sigma), np.uint8)
        return FrameChange(street, street.replace(image=image), (blur, blur))

    assert refusal(seen(3)) == ""
    assert refusal(seen(20)) == "no form is left to be recognised"


def test_a_blank_box_is_no_pedestrian(crossing: FrameChange) -> None:
    note = added(crossing)
    left, top, right, bottom = note["box"]
    image = crossing.before.image.copy()
    image[max(0, top) : bottom, max(0, left) : right] = (150, 140, 160)
    assert refusal(showing(crossing, image)) == "the gate sees no pedestrian where one was added"


def test_nothing_is_no_pedestrian_even_where_nobody_says_where(crossing: FrameChange) -> None:
    unsaid = crossing._replace(after=crossing.after.replace(labels=None, metadata={}))
    assert refusal(unsaid) == ""
    missing = showing(unsaid, crossing.before.image.copy())
    assert refusal(missing) == "the gate sees no pedestrian where one was added"


def test_vehicles_that_are_still_there_are_not_removed(emptied: FrameChange) -> None:
    still = showing(emptied, emptied.before.image.copy())
    assert refusal(still) == "the gate still sees the vehicle that should be gone"


@pytest.mark.parametrize(
    ("seen", "refused"),
    [
        ("road", ""),
        ("bicyclist", "sees a bicyclist where a line was"),
        ("line", "sees a line where a line was"),
    ],
)
def test_what_fills_the_hole_of_each_thing_stands_around_it(
    street: Frame, monkeypatch: pytest.MonkeyPatch, seen: str, refused: str
) -> None:
    change = made(street, NO_LINE)
    before, after, _ = change
    assert before.labels is not None
    assert after.labels is not None
    holes = (before.labels.mask("line") & ~after.labels.mask("line")).astype(np.uint8)
    _, parts, stats, _ = cv2.connectedComponentsWithStats(holes)
    areas = stats[1:, cv2.CC_STAT_AREA]
    smallest = 1 + int(np.argmin(np.where(areas < 60, areas.max(), areas)))
    network = street_network()

    class Seeing:
        def likelihoods(self, image: Image) -> dict[str, NDArray[np.float32]]:
            found = network.likelihoods(image)
            size = found["road"].shape[::-1]
            hole = cv2.resize((parts == smallest).astype(np.uint8), size, interpolation=cv2.INTER_NEAREST) > 0
            return {word: np.where(hole, np.float32(word == seen), one) for word, one in found.items()}

    monkeypatch.setattr(gate_module, "_network", Seeing)
    assert refused in refusal(change) if refused else refusal(change) == ""


def test_a_house_that_still_stands_is_no_tree(street: Frame) -> None:
    trees = make_transform("replace", element="building", by="tree")
    green = made(street, trees)
    assert refusal(green) == ""
    assert refusal(showing(green, street.image.copy())).startswith("the gate still sees the building")


@pytest.mark.parametrize("level", [0, 255])
def test_a_black_or_white_frame_is_no_image(crossing: FrameChange, level: int) -> None:
    assert refusal(showing(crossing, np.full_like(crossing.before.image, level))) == EMPTY


def test_a_label_map_must_fit_the_image(street: Frame) -> None:
    wet = made(street, make_transform("rain:heavy"))
    assert refusal(wet) == ""
    upside_down = np.ascontiguousarray(wet.after.image[::-1])
    assert refusal(showing(wet, upside_down)) in (
        "the label map no longer fits the image",
        "the street network no longer recognises the road",
    )


def test_a_street_without_labels_must_stay_one(street: Frame) -> None:
    bare, night = Frame("bare", street.image), make_transform("night")
    dark = FrameChange(bare, night(bare, 0, measure=False), (night,))
    assert refusal(dark) == ""
    sky = np.full_like(street.image, 90) + np.random.default_rng(0).integers(0, 9, (160, 320, 1), np.uint8)
    assert refusal(showing(dark, sky)) == "the street network no longer recognises the street"


def test_what_nobody_asked_to_change_must_still_be_there(street: Frame) -> None:
    ahead = make_transform("add", element="car", reference="lane", distance=8)
    rain = make_transform("rain:light")
    wet = made(made(street, ahead).after.replace(metadata={}), rain)
    assert refusal(wet) == ""
    lost = showing(wet, made(street, rain).after.image)
    assert refusal(lost) == "the gate no longer sees a vehicle that nobody asked to change"


PERSON = make_transform("add", element="pedestrian", realism="any")
NO_VEHICLE = make_transform("remove", element="vehicle", realism="any")
NO_LINE, TURNED = make_transform("remove", element="line"), make_transform("rotation", angle=5)
NO_PERSON, STILL = "the gate sees no pedestrian where one was added", "the gate still sees the vehicle"


@pytest.mark.parametrize(
    ("steps", "left_out", "told"),
    [
        ((PERSON, TURNED), PERSON, NO_PERSON),
        ((TURNED, PERSON), PERSON, NO_PERSON),
        ((PERSON, NO_LINE), PERSON, NO_PERSON),
        ((NO_VEHICLE, PERSON), PERSON, NO_PERSON),
        ((NO_VEHICLE, PERSON), NO_VEHICLE, STILL),
        ((NO_LINE, NO_VEHICLE), NO_VEHICLE, STILL),
    ],
)
def test_of_two_steps_each_is_asked_about_its_own_part(
    street: Frame, steps: tuple[Transform, ...], left_out: Transform, told: str
) -> None:
    if steps[0] is PERSON and TURNED in steps:
        # Of people who moved with the image, nobody knows who is new.
        street = load("world:town", count=2)[1].replace(metadata={})
    drawn = NO_VEHICLE not in steps  # the filling network leaves less of a vehicle
    both = made(street, *steps, drawn=drawn)
    assert refusal(both) == ""
    one = made(street, *(step for step in steps if step is not left_out), drawn=drawn)
    assert refusal(showing(both, one.after.image)).startswith(told)


def test_a_detector_looks_for_each_thing_in_its_own_place(street: Frame) -> None:
    car = make_transform("add", element="car", reference="lane", distance=8)
    both = made(street, PERSON, car)
    (person, vehicle), gate = added_boxes(both), Gate("mine")
    vars(gate)["detector"] = Sees(person, vehicle, classes=["pedestrian", "vehicle"])
    assert refusal(both, gate) == ""
    vars(gate)["detector"] = Sees(vehicle, vehicle, classes=["pedestrian", "vehicle"])
    assert refusal(both, gate) == NO_PERSON


def test_the_world_and_plain_changes_are_not_shown_to_networks(street: Frame, crossing: FrameChange) -> None:
    blur = make_transform("gaussian-blur", sigma=2)
    assert refusal(FrameChange(street, street.replace(image=street.image.copy()), (blur,))) == ""
    drawn = street.replace(metadata={"track": "town"})
    nothing = crossing.after.replace(image=street.image.copy())
    assert refusal(FrameChange(drawn, nothing, crossing.steps)) == ""
    assert (
        refusal(FrameChange(drawn, nothing.replace(image=np.zeros_like(street.image)), crossing.steps))
        == EMPTY
    )


def test_of_a_change_that_is_only_partly_seen_nothing_is_asked(emptied: FrameChange) -> None:
    faint = Faded(emptied.steps[0], 0.2)
    assert refusal(showing(emptied, emptied.before.image.copy())._replace(steps=(faint,))) == ""


class Sees:
    """A detector that sees what it is told."""

    name = "sees"

    def __init__(self, *boxes: tuple[float, ...], classes: list[str] | None = None) -> None:
        self.boxes = boxes
        self.classes = classes or ["pedestrian"] * len(boxes)

    def predict(self, frames: list[Frame]) -> list[Boxes]:
        return [Boxes(self.boxes, self.classes) for _ in frames]


def test_a_detector_of_the_user_decides_about_people(crossing: FrameChange) -> None:
    gate, blind = Gate("mine"), Gate("mine")
    note = added(crossing)
    vars(gate)["detector"] = Sees(tuple(map(float, note["box"])))
    vars(blind)["detector"] = Sees((0.0, 0.0, 5.0, 5.0))
    assert refusal(crossing, gate) == ""
    assert refusal(crossing, blind) == "the gate sees no pedestrian where one was added"
    vars(blind)["detector"] = load_model("truth")
    with pytest.raises(InputError, match="must be a detector"):
        refusal(crossing, blind)


def test_a_gate_that_is_neither_known_nor_a_model_is_told_before_anything_runs() -> None:
    assert gate_named("off") is None
    with pytest.raises(InputError, match="steet"):
        gate_named("steet.onnx")


@dataclass(frozen=True)
class Showing:
    """A source whose image is not what its change would make."""

    original: Frame
    steps: tuple[Transform, ...]
    image: Frame

    def __call__(self) -> Frame:
        return self.image


class Slows(BaseMethod):
    """Two cases: a pedestrian who is there, and one who is not."""

    name = "slows"

    def __init__(self, good: FrameChange) -> None:
        self.sources = {
            "there": Showing(good.before, good.steps, good.after),
            "missing": Showing(good.before, good.steps, good.after.replace(image=good.before.image.copy())),
        }

    def cases(self, requirement: Requirement, data: Any, rng: Any) -> CaseStream:
        yield from (Case(id, requirement.id, (Predict((one,)),)) for id, one in self.sources.items())

    def judge(self, case: Case, answers: Any) -> Verdict:
        return Verdict.from_margin(case, 1.0)


def test_a_run_counts_what_is_refused_and_keeps_its_image(crossing: FrameChange, tmp_path: Path) -> None:
    asked, data, model = Requirement("R", "R", "slows"), load("world:town", count=1), load_model("truth")
    found = run(Slows(crossing), asked, data, model, out=tmp_path / "on")
    assert (found.counts[Status.PASSED], found.counts[Status.NOT_APPLICABLE]) == (1, 1)
    there, missing = sorted(read_rows(tmp_path / "on"), key=lambda row: row["case"] != "there")
    assert missing["reason"] == "the gate sees no pedestrian where one was added"
    assert missing["measure.gate"] == "refused"
    assert missing["images"]
    assert not there["images"]
    off = run(Slows(crossing), asked, data, model, out=tmp_path / "off", gate="off")
    assert off.counts[Status.PASSED] == 2
    several = run_several(Slows(crossing), [asked], data, [model], out=tmp_path / "several")
    assert several.results["R", "truth"].counts == found.counts
    several = run_several(Slows(crossing), [asked], data, [model], out=tmp_path / "none", gate="off")
    assert several.results["R", "truth"].counts == off.counts


class Stumbles(Sees):
    """A detector that leaves at a frame, and wants one frame at a time."""

    def predict(self, frames: list[Frame]) -> list[Boxes]:
        (frame,) = frames
        if frame.id.endswith("bad"):
            raise SystemExit("no boxes today")
        return super().predict(frames)


def test_a_gate_that_crashes_on_a_frame_costs_that_case_alone(crossing: FrameChange, tmp_path: Path) -> None:
    asked, data, model = Requirement("R", "R", "slows"), load("world:town", count=1), load_model("truth")
    method, gate = Slows(crossing), Gate("mine")
    method.sources["missing"] = Showing(crossing.before, crossing.steps, crossing.after.replace(id="bad"))
    vars(gate)["detector"] = Stumbles(*added_boxes(crossing))
    found = run(method, asked, data, model, out=tmp_path / "run", gate=gate)
    assert (found.counts[Status.PASSED], found.counts[Status.ENGINE_ERROR]) == (1, 1)
    (row,) = (one for one in read_rows(tmp_path / "run") if one["case"] == "missing")
    assert row["reason"] == "the gate 'mine' crashed on frame 'bad': SystemExit: no boxes today"


def test_label_maps_of_two_sizes_cost_that_case_alone(crossing: FrameChange) -> None:
    labels = crossing.after.labels
    assert labels is not None
    odd = replace(labels, ids=labels.ids[:-2])
    halved = crossing._replace(after=crossing.after.replace(labels=None))
    object.__setattr__(halved.after, "labels", odd)
    first, second = Gate().refusals([halved, crossing])
    assert isinstance(first, EngineError)
    assert second == ""


def test_no_frame_is_kept_after_it_was_looked_at(street: Frame) -> None:
    change = made(street.replace(image=street.image.copy()), PERSON)
    refusal(change)
    before = weakref.ref(change.before.image)
    del change
    gc.collect()
    assert before() is None


def test_the_gate_travels_to_other_processes() -> None:
    job = BatchJob(CoverageMethod(), {}, frozenset(), 8, gate=Gate())
    packed, _ = pack_job(job)
    assert unpack_job(packed, {})[0].gate == Gate()


def test_a_search_does_not_judge_images_that_nobody_would_recognise() -> None:
    data, system = load("world:town", count=2), Observed[Any](load_model("dave2"))  # type: ignore[arg-type]
    far = {"transforms": ["translation(x=100,y=100)", "translation(x=5,y=0)"], "tries": 4, "search": "random"}
    asked = Requirement("C", "C", "coverage", far)
    kept = run(CoverageMethod(), asked, data, system)
    every = run(CoverageMethod(), asked, data, system, gate="off")
    judged = [one.counts[Status.PASSED] + one.counts[Status.VIOLATED] for one in (kept, every)]
    assert judged[0] < judged[1] == 4


def test_a_suite_says_who_looked(tmp_path: Path) -> None:
    suite = {
        "models": "dave2",
        "data": {"town": {"data": "world:town", "sample": 1}},
        "requirements": {"C1": {"coverage": "neuron", "tries": 1}},
    }
    # YAML reads a plain off as no.
    assert suite_of({**suite, "gate": False}).form.gate == "off"
    plan = plan_suite(suite_of({**suite, "gate": "off"}))
    run_suite(plan, tmp_path)
    assert json.loads((tmp_path / "manifest.json").read_text("utf-8"))["settings"]["gate"] == "off"
    assert any("gate is off" in note for note in plan.notes)
    assert any("gate is off" in note for note in notes_of(read_manifest(tmp_path)))
    assert plan_suite(suite_of(suite)).gate == Gate("street", Path())
    with pytest.raises(InputError, match="the gate is street, off or a detector"):
        plan_suite(suite_of({**suite, "gate": "nobody.onnx"}))
