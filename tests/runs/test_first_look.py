"""What a model is like on a few frames, and what becomes of cases batch by batch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from roadworthy._frozen import content_of
from roadworthy.cases import (
    AWAIT_VERDICTS,
    Answers,
    BaseMethod,
    Case,
    ClassScores,
    Driven,
    InverseDepth,
    Predict,
    Prediction,
    RecordDrive,
    Requirement,
    Status,
    Verdict,
)
from roadworthy.datasets import load
from roadworthy.errors import EngineError, InputError, MissingExtraError, NotApplicable, SystemUnderTestError
from roadworthy.frames import Boxes, Frame, LabelMap, Signals
from roadworthy.models import ModelSpec, Recorded, RegressionOutput, Truth, callable_model, load_model
from roadworthy.models.detection import DetectionOutput
from roadworthy.models.images import ImageInput
from roadworthy.runs.batches import (
    Answered,
    Guarded,
    Made,
    ask,
    brings_frame,
    distinct_sources,
    frames_of,
    group,
    judge,
    key_of,
    looked_at,
    make_frames,
    with_visual_change,
)
from roadworthy.runs.model_notes import _about, _ranges, first_look, notes

IMAGE = np.zeros((4, 6, 3), np.uint8)
FRAMES = [Frame(name, IMAGE + number, signals=Signals(speed=3.0)) for number, name in enumerate("abc")]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({}, "the frame's own size, rgb, float32, nchw, values 0 to 1"),
        ({"dtype": "uint8"}, "the frame's own size, rgb, uint8, nchw, values 0 to 255"),
        (
            {"width": 20, "height": 10, "range": (-1, 1), "color": "bgr"},
            "20x10, bgr, float32, nchw, values -1 to 1",
        ),
        (
            {"mean": (0.5, 0.5, 0.5)},
            "the frame's own size, rgb, float32, nchw, values 0 to 1, then mean and std",
        ),
        (
            {"crop": (0.5, 2)},
            "the frame's own size, rgb, float32, nchw, values 0 to 1, without 50% of the rows above and "
            "2 rows below",
        ),
        ({"crop": (0, 1)}, "the frame's own size, rgb, float32, nchw, values 0 to 1, without 1 row below"),
        (
            {"width": 20, "height": 10, "fit": "letterbox"},
            "20x10, rgb, float32, nchw, values 0 to 1, letterboxed",
        ),
        (
            {"width": 20, "height": 10, "fit": "corner"},
            "20x10, rgb, float32, nchw, values 0 to 1, letterboxed in a corner",
        ),
        ({"width": 20, "height": 10, "fit": "cover"}, "20x10, rgb, float32, nchw, values 0 to 1, cover"),
        (
            {"history": 2, "stacking": "channels"},
            "the frame's own size, rgb, float32, nchw, values 0 to 1, 2 earlier frames as channels",
        ),
    ],
)
def test_the_input_of_a_network_is_told_in_words(asked: dict[str, Any], told: str) -> None:
    network: Any = callable_model(len, spec=ModelSpec(RegressionOutput(("speed",)), ImageInput(**asked)))
    assert _about(network)["input"] == told
    assert _about(network)["batch"] == "any number"
    assert _about(load_model("dave2"))["files"]  # type: ignore[arg-type]


def test_what_was_answered_is_told_in_a_line_for_each_kind() -> None:
    speeds: list[Prediction] = [
        Signals(speed=1.23456, steering=-2.0, timestamp=5.0), Signals(speed=10.0, brake=0.5),
    ]  # fmt: skip
    assert _ranges(speeds) == {"speed": "1.23 to 10 m/s", "steering": "-2 to -2°", "brake": "0.5 to 0.5"}
    boxes = Boxes([[0, 0, 2, 2]] * 3, ["car", "tree", "car"])
    assert _ranges([boxes, Boxes.empty()]) == {"boxes": "vehicle 2, tree 1"}
    assert _ranges([Boxes.empty()]) == {"boxes": "none"}
    best: list[Prediction] = [ClassScores((str(n),), np.ones(1)) for n in [*range(9), 0]]
    assert _ranges(best) == {"best class": "0 2, 1 1, 2 1, 3 1, 4 1, 5 1, 6 1, 7 1"}
    near = InverseDepth(np.array([[0.1, np.nan]]), metric=True)
    assert _ranges([near, InverseDepth(np.array([[0.5]]), metric=True)]) == {
        "inverse depth": "0.1 to 0.5 per metre"
    }
    assert _ranges([near, InverseDepth(np.array([[0.5]]))]) == {
        "inverse depth": "0.1 to 0.5, higher is nearer, no unit"
    }
    labels = LabelMap(np.array([[0, 0, 0, 1]], np.uint8), ("road", "sky"))
    assert _ranges([labels, labels]) == {"pixels": "road 75.0%, sky 25.0%"}
    assert _ranges([]) == {}


def test_a_first_look_says_what_a_model_is_and_how_near_it_is() -> None:
    model = callable_model(
        lambda frames: [Signals(speed=4.0, extra={"sped": 1.0}) for _ in frames], name="mine"
    )
    data = load("world:town", count=1)
    found = first_look(model, data, FRAMES)
    assert found.answers[0].as_dict() == {"speed": 4.0, "sped": 1.0}  # type: ignore[union-attr]
    assert found.document["model"] == "mine"
    assert found.document["task"] == "regression"
    assert (found.document["dataset"], found.document["frames"]) == ("world:town", ["a", "b", "c"])
    assert 0 <= found.document["milliseconds_per_frame"] < 1000
    assert found.document["answers"] == {"speed": "4 to 4 m/s", "sped": "1 to 1"}
    (truth,) = found.document["truth"]
    assert (truth["value"], truth["frames"]) == (1.0, 3)
    assert found.document["notes"] == [
        "'sped' is kept as an extra signal; did you mean 'speed'?", "speed is the same for every frame",
    ]  # fmt: skip
    assert "input" not in found.document, "a function declares none"
    assert notes(model, data, FRAMES, found.answers, signals=()) == found.document["notes"][:1]


def test_records_for_images_that_are_not_there_are_told() -> None:
    recorded = Recorded("r", "regression", {"town-000000": Signals(speed=1.0), "x": Signals()}, "r.csv")
    data = load("world:town", count=1)
    assert notes(recorded, data, [], []) == [
        "1 of 2 records are for images that world:town does not have, such as 'x'"
    ]
    assert notes(recorded, SimpleNamespace(name="bare"), [], []) == []


class Plain(BaseMethod):
    name = "plain"

    def __init__(self, verdict: Any = None) -> None:
        self.verdict = verdict

    def cases(self, *_: Any) -> Any:
        raise AssertionError

    def judge(self, case: Case, answers: Answers) -> Any:
        if isinstance(self.verdict, Exception):
            raise self.verdict
        return self.verdict or Verdict.from_margin(case, 1.0)


def case(*sources: Any, id: str = "c", **how: Any) -> Case:
    return Case(id, "R", (Predict(sources, **how),))


def test_a_verdict_is_given_on_the_case_that_was_asked_about() -> None:
    one, answers = case(FRAMES[0]), Answers(())
    assert judge(Plain(), one, answers).status is Status.PASSED
    for reason, status, told in [
        (NotApplicable("too dark"), Status.NOT_APPLICABLE, "too dark"),
        (NotApplicable(), Status.NOT_APPLICABLE, "no reason given"),
        (EngineError("no image"), Status.ENGINE_ERROR, "no image"),
        (SystemUnderTestError("crash"), Status.ERROR, "crash"),
        (SystemUnderTestError(), Status.ERROR, "no reason given"),
    ]:
        for found in (judge(Plain(), one, reason), judge(Plain(reason), one, answers)):  # type: ignore[arg-type]
            assert (found.status, found.reason) == (status, told)
    with pytest.raises(InputError, match=r"plain.judge must return a Verdict on case 'c', got bool"):
        judge(Plain(True), one, answers)
    for other in (case(FRAMES[0], id="d"), Case("c", "R2", one.asks)):
        with pytest.raises(
            InputError, match=r"must return the verdict on case 'c' of 'R', got one on '[cd]'"
        ):
            judge(Plain(Verdict.from_margin(other, 1.0)), one, answers)


class Asked:
    """Answers as a test says, and counts how many frames it was given."""

    name = "asked"

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer
        self.given: list[int] = []

    def predict(self, frames: Any, /) -> Any:
        self.given.append(len(frames))
        if self.answer is not None:
            return self.answer(frames)
        return [Signals(speed=1.0) for _ in frames]


def wrote(frames: Any) -> Any:
    frames[0].image.setflags(write=True)  # as torch and C may
    frames[0].image[:] = 9
    return [Signals(speed=1.0) for _ in frames]


def raised(error: BaseException) -> Any:
    def answer(_: Any) -> Any:
        raise error

    return answer


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (raised(ZeroDivisionError("oh")), "asked crashed on frame 'a': ZeroDivisionError: oh"),
        (raised(SystemExit(3)), "asked crashed on frame 'a': SystemExit: 3"),
        (raised(SystemUnderTestError("no road")), "asked could not answer frame 'a': no road"),
        (lambda _: [], "asked gave a wrong number of predictions for frame 'a': expected 1, got 0"),
        (
            lambda _: ["left"],
            "asked must answer frame 'a' with one of Signals, Boxes, LabelMap, ClassScores, "
            "InverseDepth, PlannedPath, got str",
        ),
        (wrote, "asked wrote into the image of frame 'a': let it work on a copy"),
    ],
)
def test_no_way_out_of_a_model_is_a_way_out_of_the_run(answer: Any, told: str) -> None:
    with pytest.raises(SystemUnderTestError) as caught:
        Guarded(Asked(answer)).predict(FRAMES[:1])
    assert str(caught.value) == told
    assert not FRAMES[0].image.any(), "others see the image as it was"
    with pytest.raises(SystemUnderTestError, match=r"3 frames from 'a' to 'c'|frame 'a'"):
        Guarded(Asked(answer)).predict(FRAMES)


KNOWN = {
    "labels": LabelMap(np.ones((8, 8), np.uint8)),
    "instances": np.ones((8, 8), np.uint16),
    "boxes": Boxes([[1, 1, 4, 4]], ["car"]),
    "depth": np.full((8, 8), np.nan, np.float32),
}


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("earlier", [False, True])
def test_what_answers_are_judged_by_is_written_by_no_model(name: str, earlier: bool) -> None:
    """As `torch.from_numpy` of what is read-only in Python may."""
    known: dict[str, Any] = KNOWN
    frame = Frame("a", np.zeros((8, 8, 3), np.uint8), **known)
    frame = replace(frame, previous=[frame]) if earlier else frame
    before = b"".join(content_of(frame))

    def writes(frames: Any) -> Any:
        (given,) = frames[0].previous or frames
        value = getattr(given, name)
        array = {"labels": "ids", "boxes": "xyxy"}.get(name)
        array = value if array is None else getattr(value, array)
        array.setflags(write=True)
        array[:] = 0
        return [Signals(speed=1.0)]

    with pytest.raises(SystemUnderTestError, match=f"asked wrote into the {name} of frame 'a': let it work"):
        Guarded(Asked(writes)).predict([frame])
    assert b"".join(content_of(frame)) == before
    assert Guarded(Asked()).predict([frame]) == [Signals(speed=1.0)]


@pytest.mark.parametrize("earlier", [False, True])
def test_what_a_frame_says_of_itself_is_changed_by_no_model(earlier: bool) -> None:
    """Where a thing was added, whether a change is seen, and the truth of signals decide what is judged."""
    said = {"visible": True, "added": [{"element": "pedestrian", "box": [1, 1, 4, 4]}]}
    frame = Frame("a", np.zeros((8, 8, 3), np.uint8), signals=Signals(speed=9.0), metadata=said)
    frame = replace(frame, previous=[frame]) if earlier else frame
    before = b"".join(content_of(frame))

    def writes(frames: Any) -> Any:
        (given,) = frames[0].previous or frames
        given.metadata["added"][0]["box"].clear()
        given.metadata["added"].clear()
        dict.__setitem__(given.metadata, "visible", False)
        object.__setattr__(given.signals, "speed", 0.0)
        return [Signals(speed=1.0)]

    assert Guarded(Asked(writes)).predict([frame]) == [Signals(speed=1.0)]
    assert b"".join(content_of(frame)) == before


def test_a_missing_library_and_a_user_who_stops_end_the_run() -> None:
    for error in (KeyboardInterrupt(), MissingExtraError("torch", extra="torch", purpose="run")):
        with pytest.raises(type(error)):
            Guarded(Asked(raised(error))).predict(FRAMES)
    with pytest.raises(InputError, match="asked does not tell what happens inside it, and the method needs"):
        Guarded(Asked()).observe(FRAMES)


def test_only_guilty_frames_are_errors() -> None:
    system = Asked(lambda frames: [Signals(speed=1.0 / (len(frames) if f.id != "b" else 0)) for f in frames])
    found = ask(system, FRAMES, 2)
    assert system.given == [2, 1, 1, 1]
    kinds = [type(getattr(one, "prediction", one)).__name__ for one in found]
    assert kinds == ["Signals", "SystemUnderTestError", "Signals"]
    assert ask(Asked(), [], 2) == []


def test_batches_have_so_many_frames_and_cases_that_come_together_stay() -> None:
    def grouped(size: int, *items: Any) -> list[str]:
        return ["".join(one.id for one in batch) for batch in group(items, size)]

    a, b, c = (case(frame, id=frame.id) for frame in FRAMES)
    drive = RecordDrive("oval")
    laps = [Case(id, "R", (drive,)) for id in "xy"]
    assert grouped(2, [a], [b], [c]) == ["ab", "c"]
    assert grouped(2, [a, b, c], [a]) == ["abc", "a"], "too many that come together are a batch of their own"
    assert grouped(2, [a], [a], [b], [a]) == ["aaba"]
    assert grouped(2, [a], AWAIT_VERDICTS, AWAIT_VERDICTS, [b]) == ["a", "b"]
    assert grouped(8, [a], [laps[0]], [laps[1]], [b]) == ["a", "xy", "b"]
    assert grouped(2) == []


def unhashable(frame: Frame) -> Any:
    class Maker:
        __hash__ = None  # type: ignore[assignment]

        def __call__(self) -> Frame:
            return frame

    return Maker()


def test_sources_are_made_once_and_what_cannot_be_made_is_a_value() -> None:
    first, second = unhashable(FRAMES[0]), unhashable(FRAMES[0])
    assert key_of(first) == id(first)
    cases = [case(first, FRAMES[1]), case(second, FRAMES[1]), case(first)]
    assert [brings_frame(one) for one in (first, Changed(FRAMES[0], FRAMES[1]), Later(Later(FRAMES[0])))] == [
        False, True, True,
    ]  # fmt: skip
    assert not brings_frame(Later(Later(first)))
    assert distinct_sources(cases) == ([first, FRAMES[1], second], [[0, 1], [2, 1], [0]])

    def dark() -> Frame:
        raise NotApplicable("dark")

    def broken() -> Frame:
        raise EngineError("broken")

    sources = [FRAMES[0], first, dark, broken]
    made = make_frames(sources)
    assert [one.frame for one in made[:2]] == [FRAMES[0], FRAMES[0]]
    assert [type(one.frame) for one in made[2:]] == [NotApplicable, EngineError]
    assert all(one.seconds >= 0 and one.refusal == "" for one in made)
    assert frames_of(made) == (FRAMES[0], FRAMES[0])
    with pytest.raises(InputError, match="a frame source must make a Frame, got str from"):
        make_frames([lambda: "frame"])  # type: ignore[list-item,return-value]


class Changed:
    """A source that knows what it changes and how."""

    steps = ()

    def __init__(self, original: Any, frame: Frame) -> None:
        self.original, self.frame = original, frame

    def __call__(self) -> Frame:
        return self.frame

    def measured(self, frame: Frame) -> Frame:
        return frame.replace(visual_change=0.75)


@dataclass(frozen=True)
class Later:
    """A source that changes what another makes."""

    original: Any

    def __call__(self) -> Frame:
        return self.original if isinstance(self.original, Frame) else self.original()


class Gatekeeper:
    def __init__(self, *refusals: Any) -> None:
        self.told = refusals
        self.seen: list[list[Any]] = [[]]

    def refusals(self, changes: Any) -> Any:
        self.seen.append(
            [(one.before.id, one.after.id) if hasattr(one, "before") else one for one in changes]
        )
        return list(self.told)


def test_a_gate_sees_changed_frames_alone_and_says_why_they_do_not_count() -> None:
    a, b, c = FRAMES

    def dark() -> Frame:
        raise NotApplicable("dark")

    sources: list[Any] = [a, Changed(a, b), Changed(lambda: c, b), Changed(dark, c)]
    made = make_frames(sources)
    assert looked_at(None, sources, made) == made
    gate: Any = Gatekeeper("no rain", EngineError("crash"))
    found = looked_at(gate, sources, made)
    assert len(gate.seen[1]) == 2, "neither the original, nor a change whose original cannot be made"
    assert [one.refusal for one in found] == ["", "no rain", "", ""]
    assert isinstance(found[2].frame, EngineError)
    assert found[1].seconds >= made[1].seconds
    assert found[1].frame is b


def test_what_is_seen_of_a_change_is_in_the_verdict() -> None:
    a = FRAMES[0]
    source = Changed(a, FRAMES[1])
    failed = Verdict("c", "R", Status.VIOLATED, -1.0)

    def row(verdict: Verdict, *frames: Frame, sources: Any = (a, source)) -> Verdict:
        return with_visual_change(case(*sources), verdict, frames)

    assert row(failed, a, FRAMES[1]).visual_change == 0.75, "measured where it fails"
    passed = replace(failed, status=Status.PASSED, margin=1.0)
    assert row(passed, a, FRAMES[1]).visual_change is None
    seen = FRAMES[1].replace(visual_change=0.25)
    assert row(failed, a, seen).visual_change == 0.25, "what is known is not measured again"
    assert row(replace(failed, visual_change=0.5), a, seen).visual_change == 0.5
    two = row(passed, seen, FRAMES[2].replace(visual_change=0.5))
    assert two.visual_change == 0.5
    assert "tolerated" not in two.measures
    told = row(passed, a, FRAMES[1].replace(metadata={"labels_from": "street"}))
    assert told.measures == {"labels_from": "street"}


def test_cases_without_all_frames_are_not_asked_about_and_drives_are_driven_once() -> None:
    a, b, _ = FRAMES

    def dark() -> Frame:
        raise NotApplicable("dark")

    lap = RecordDrive("oval")
    cases = [case(a, id="1"), case(b, dark, id="2"), Case("3", "R", (lap,)), Case("4", "R", (lap,))]
    sources, asked = distinct_sources(cases)
    found = make_frames(sources)
    made = [[found[number] for number in numbers] for numbers in asked]
    driven: list[object] = []

    class Simulator:
        def drive(self, scenario: object, system: Any) -> object:
            driven.append((scenario, system.name))
            return "recorded"

    system = Asked()
    answered = Answered(cases, system, 8, made, Simulator())
    assert (answered.asked, system.given) == (1, [1])
    verdicts = [verdict for verdict, _ in answered.judged(Plain())]
    assert [one.status for one in verdicts] == ["passed", "not applicable", "passed", "passed"]
    assert driven == [("oval", "asked")]
    refused = [Made(one.frame, 0.0, "no rain") for one in made[0]]
    ((verdict, _),) = Answered(cases[:1], Asked(), 8, [refused]).judged(Plain())
    assert (verdict.status, verdict.reason) == ("not applicable", "no rain")
    with pytest.raises(InputError, match="case '3' asks for a drive: expected a simulator, got None"):
        list(Answered(cases[2:3], Asked(), 8, [[]]).judged(Plain()))
    assert isinstance(Driven("x").drive, str)
    assert Requirement("R", "t", "plain").method == Plain.name
    assert Guarded(Truth()).name == "truth"


def test_a_wrong_range_or_colour_is_noticed_where_another_does_well() -> None:
    def detect(images: NDArray[Any]) -> Any:
        return [np.array([[0, 0, 4, 4, 0.9, 0]] if one.max() > 2 else np.zeros((0, 6))) for one in images]

    def steer(images: NDArray[Any]) -> Any:
        return 30 * (images[:, 0].mean((1, 2)) - 0.5)[:, None]

    # Redder the more it is steered to the right, and blue everywhere.
    seen = [
        Frame(
            f"{n}",
            np.full((4, 6, 3), (30 * n, 0, 200), np.uint8),
            signals=Signals(steering=30 * (30 * n / 255 - 0.5)),
        )
        for n in range(8)
    ]

    def told(function: Any, output: Any, **asked: Any) -> list[str]:
        model = callable_model(function, spec=ModelSpec(output, ImageInput(**asked)))
        return [
            one
            for one in first_look(model, load("world:town", count=1), seen).document["notes"]
            if "-m" in one
        ]

    boxes, steering = DetectionOutput(("car",), head="rows"), RegressionOutput(("steering",))
    right = ": are the input's colours and range right?"
    assert told(detect, boxes) == [f"no box is found, but 8 boxes are found with -m input.range=0,255{right}"]
    assert told(detect, boxes, range=(0, 255)) == []
    (note,) = told(steer, steering, color="bgr")
    assert note.startswith("steering is off by 13.8°, but steering is off by ")
    assert note.endswith(f"with -m input.color=rgb{right}")
    assert told(steer, steering) == []
