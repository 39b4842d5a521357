"""Where the values of external functions come from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from roadworthy.bbsl import Bindings, FrameView, PerFrame, load, load_bindings, parse
from roadworthy.bbsl.bindings import (
    BoxesOf,
    Exists,
    Lane,
    Lead,
    LeadExists,
    Signal,
    StoppingDistance,
    TableValue,
)
from roadworthy.errors import InputError, RoadworthyError
from roadworthy.frames import Boxes, Frame, LabelMap, Signals

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "bbsl"


def view(*boxes: tuple[Any, str], scores: list[float] | None = None, **known: Any) -> FrameView:
    made = Boxes([box for box, _ in boxes] or np.zeros((0, 4)), [name for _, name in boxes], scores)
    return FrameView("17", 100, 300, made, **known)


def labels(rows: list[str]) -> LabelMap:
    """A label map drawn with letters: r is road, l is a line, . is sky."""
    words = {"r": "road", "l": "line", ".": "sky"}
    names = list(words.values())
    ids = np.array([[names.index(words[letter]) for letter in row] for row in rows], np.uint8)
    return LabelMap(ids, tuple(names))


class TestTheLeadVehicle:
    def test_is_the_lowest_that_reaches_into_the_corridor(self) -> None:
        seen = view(([0, 0, 90, 95], "car"), ([110, 40, 120, 50], "truck"), ([90, 40, 101, 60], "car"))
        assert Lead("vehicle").value(seen).tolist() == [90, 40, 101, 60]
        assert Lead("truck").value(seen).tolist() == [110, 40, 120, 50]
        assert Lead("vehicle", corridor=[0, 50]).value(seen).tolist() == [0, 0, 90, 95]

    def test_touching_the_corridor_is_enough_and_a_hair_less_is_not(self) -> None:
        assert LeadExists("vehicle").value(view(([0, 0, 100, 10], "car"))) is True
        assert LeadExists("vehicle").value(view(([0, 0, 99.9, 10], "car"))) is False

    def test_of_equally_low_ones_the_largest(self) -> None:
        seen = view(([110, 40, 120, 60], "car"), ([110, 20, 130, 60], "car"), ([111, 20, 131, 60], "car"))
        assert Lead("vehicle").value(seen).tolist() == [110, 20, 130, 60]

    def test_there_may_be_none(self) -> None:
        assert Lead("vehicle").value(view(([110, 40, 120, 60], "pedestrian"))) is None
        assert Lead("vehicle", min_score=0.5).value(view(([110, 40, 120, 60], "car"), scores=[0.4])) is None

    def test_without_a_width_the_corridor_is_needed(self) -> None:
        with pytest.raises(InputError, match="needs a corridor"):
            Lead("vehicle").value(FrameView("a", 100))


class TestBoxes:
    def test_by_class_and_score(self) -> None:
        seen = view(
            ([0, 0, 1, 1], "car"), ([0, 0, 2, 2], "bus"), ([0, 0, 3, 3], "tree"), scores=[0.9, 0.2, 0.9]
        )
        assert BoxesOf("vehicle").value(seen).xyxy[:, 2].tolist() == [1, 2]
        assert BoxesOf("vehicle", min_score=0.5).value(seen).xyxy[:, 2].tolist() == [1]
        assert Exists("vehicle", min_score=0.3).value(view(([0, 0, 1, 1], "car"), scores=[0.3])) is True
        assert BoxesOf(["bus", "tree"]).value(seen).xyxy[:, 2].tolist() == [2, 3]
        assert Exists("pedestrian").value(seen) is False
        assert Exists("tree").value(seen) is True

    def test_mistakes(self) -> None:
        with pytest.raises(RoadworthyError, match="unicorn"):
            BoxesOf("unicorn")
        with pytest.raises(InputError, match="min_score must be from 0 to 1"):
            BoxesOf("car", min_score=50)


class TestLanes:
    ROWS = (
        [".........."] * 2
        + ["...rrl.rr."] * 2  # the line parts ours from the next lane
        + [".rrrrlrrr."] * 2
        + [".rrrrlrrrr"] * 2
    )

    def test_the_ego_lane(self) -> None:
        seen = FrameView("a", 8, 10, labels=labels(self.ROWS))
        # The middle column, 5, is a line in the lowest strip: nothing there holds it.
        assert Lane("road", strip=2).value(seen) == []
        wider = FrameView(
            "a", 8, 10, labels=labels([row.replace("l", "r", 1) for row in self.ROWS[:-2]] + self.ROWS[-2:])
        )
        assert Lane("road", strip=2).value(wider) == [(1, 4, 9, 6), (3, 2, 6, 4)]

    def test_all_lanes(self) -> None:
        seen = FrameView("a", 8, 10, labels=labels(self.ROWS))
        assert Lane("road", which="all", strip=2).value(seen) == [
            (1, 6, 5, 8),
            (6, 6, 10, 8),
            (1, 4, 5, 6),
            (6, 4, 9, 6),
            (3, 2, 5, 4),
            (7, 2, 9, 4),
        ]

    def test_boxes_cover_the_mask_when_strips_are_rows(self) -> None:
        map_ = labels(self.ROWS)
        boxes = Lane("road", which="all", strip=1).value(FrameView("a", 8, 10, labels=map_))
        assert boxes is not None
        covered = np.zeros((8, 10), np.bool_)
        for left, top, right, bottom in boxes:
            covered[int(top) : int(bottom), int(left) : int(right)] = True
        assert (covered == map_.mask("road")).all()

    def test_a_slanting_line_parts_two_lanes(self) -> None:
        seen = FrameView("a", 4, 8, labels=labels(["rrrrlrrr", "rrrlrrrr", "rrlrrrrr", "rlrrrrrr"]))
        assert Lane("road", strip=2).value(seen) == [(3, 2, 8, 4), (5, 0, 8, 2)]
        assert Lane(["road", "line"], strip=4, parted_by=()).value(seen) == [(0, 0, 8, 4)]

    def test_no_label_map_is_no_value(self) -> None:
        assert Lane("road").value(FrameView("a")) is None

    def test_mistakes(self) -> None:
        with pytest.raises(InputError, match="which must be one of ego, all"):
            Lane("road", which="mine")  # type: ignore[arg-type]
        with pytest.raises(InputError, match="strip must be a whole number of rows"):
            Lane("road", strip=0)


class TestTheStoppingDistance:
    SOURCE = StoppingDistance(focal_length=720, horizon=172, camera_height=1.65)

    def test_the_formula(self) -> None:
        # 10 m/s for one second, then 10 m/s off at 5 m/s²: 10 + 100 / 10 = 20 m. Row: 172 + 720 · 1.65 / 20.
        row, bottom = self.SOURCE.value(FrameView("a", 375, signals=Signals(speed=10.0)))
        assert row == pytest.approx(172 + 59.4)
        assert bottom == 375

    @pytest.mark.parametrize("speed", [0.0, -3.0, 0.01])
    def test_one_who_stands_needs_none(self, speed: float) -> None:
        assert self.SOURCE.value(FrameView("a", 375, signals=Signals(speed=speed))) == (375, 375)

    def test_a_faster_car_needs_more(self) -> None:
        rows = [
            self.SOURCE.value(FrameView("a", 375, signals=Signals(speed=v)))[0]
            for v in (5.0, 10.0, 20.0, 40.0)
        ]
        assert rows == sorted(rows, reverse=True)
        assert rows[-1] > 172

    def test_no_speed_is_no_value(self) -> None:
        assert self.SOURCE.value(FrameView("a", 375)) is None

    def test_with_columns_it_is_a_box(self) -> None:
        source = StoppingDistance(focal_length=720, horizon=172, speed=10.0, columns=[420, 821])
        assert source.value(FrameView("a", 375)) == pytest.approx((420, 231.4, 821, 375))

    def test_mistakes(self) -> None:
        with pytest.raises(InputError, match="deceleration must be above 0"):
            StoppingDistance(focal_length=720, horizon=172, deceleration=0)
        with pytest.raises(InputError, match="columns must be two numbers"):
            StoppingDistance(focal_length=720, horizon=172, columns=[1])
        with pytest.raises(InputError, match="horizon must be finite"):
            StoppingDistance(focal_length=720, horizon=float("nan"))
        with pytest.raises(InputError, match="speed must be finite"):
            StoppingDistance(focal_length=720, horizon=172, speed=float("inf"))


def test_signals_and_tables(tmp_path: Path) -> None:
    assert Signal("speed").value(FrameView("a", signals=Signals(speed=3.0))) == 3.0
    assert Signal("grip").value(FrameView("a", signals=Signals(extra={"grip": 0.4}))) == 0.4
    assert Signal("speed").value(FrameView("a")) is None
    (tmp_path / "t.csv").write_text("frame,wet,low,high\na,true,1,2\nb,false,,3\n")
    wet = TableValue("t.csv", "wet", folder=tmp_path)
    zone = TableValue("t.csv", ["low", "high"], folder=tmp_path)
    assert [wet.value(FrameView(name)) for name in "abc"] == [True, False, None]
    assert [zone.value(FrameView(name)) for name in "abc"] == [[1, 2], None, None]
    with pytest.raises(InputError, match="missing dry"):
        TableValue("t.csv", "dry", folder=tmp_path)
    (tmp_path / "twice.csv").write_text("frame,wet\na,true\na,false\n")
    with pytest.raises(InputError, match="'a' has two rows"):
        TableValue("twice.csv", "wet", folder=tmp_path)


def test_from_file_to_outcome(tmp_path: Path) -> None:
    (tmp_path / "limits.csv").write_text("frame,limit\n17,30\n")
    path = tmp_path / "bind.yaml"
    path.write_text(
        """
functions:
  zone: [60, 100]            # the same in every frame
  lead: {lead: vehicle, corridor: [100, 200]}
  there: {lead_exists: vehicle, corridor: [100, 200]}
  limit: {table: limits.csv, columns: limit}
  speed: {signal: speed}
  others: {boxes: [car, pedestrian], min_score: 0.5}
  stop: {stopping_distance: {focal_length: 70, horizon: 50, speed: 8}}
  unused: true
"""
    )
    spec = parse(
        """
        exfunction there(): bool lead(): bb zone(): interval limit(): real speed(): real others(): setBB
          stop(): interval
        endexfunction
        precondition [there() = true] endprecondition
        case slow: speed() > limit() endcase
        case near:
          PROJ_y(lead()) ~ zone() and exists x ∈ others(). (x = lead()) and stop() ~ PROJ_y(lead())
        endcase
        """
    )
    bindings = load_bindings(path)
    seen = view(([110, 40, 120, 80], "car"), signals=Signals(speed=40.0))
    assert spec.cases(bindings.values(seen), height=100) == {"slow", "near"}
    # Without a row in the table and without a car: nothing is known, and the precondition does not hold.
    empty = FrameView("18", 100, 300)
    outcomes = spec.evaluate_many(bindings.columns([seen, empty]), height=100)
    assert outcomes.applies.tolist() == [1, 0]
    assert outcomes.cases(0) == {"slow", "near"}


@pytest.mark.parametrize("views", [[], [FrameView("a", 9)], [FrameView("a", 9), FrameView("b", 9)]])
def test_a_set_that_is_empty_in_every_frame(views: list[FrameView]) -> None:
    spec = parse("exfunction s(): setBB endexfunction case go: forall x in s(). (false) endcase")
    outcomes = spec.evaluate_many(Bindings({"s": []}).columns(views), height=9)
    assert outcomes.values["go"].tolist() == [1] * len(views)


def test_python_functions_and_frames() -> None:
    frame = Frame("a", np.zeros((100, 300, 3), np.uint8), boxes=Boxes([[0, 0, 9, 95]], ["car"]))
    bindings = Bindings({"many": PerFrame(lambda seen: len(seen.boxes) > 1), "limit": 3.0})
    assert bindings.values(FrameView.of(frame)) == {"many": False, "limit": 3.0}
    two = Boxes([[0, 0, 9, 95], [0, 0, 9, 95]], ["car", "car"])
    assert bindings.values(FrameView.of(frame, two))["many"] is True


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("function: {}", "bind.yaml:1: unknown key 'function': did you mean 'functions'"),
        ("functions: []", "functions: expected a mapping"),
        ("functions:\n  a: 1\n  v: speed", "bind.yaml:3: v: expected true, false, numbers"),
        ("functions:\n  v: {box: car}", "bind.yaml:2: v: expected one source.*did you mean 'boxes'"),
        ("functions:\n  v: {boxes: car, exists: car}", "expected one source"),
        (
            "functions:\n  v: {boxes: car, min_scor: 1}",
            "boxes has no option 'min_scor': did you mean 'min_score'",
        ),
        ("functions:\n  v: {boxes: unicorn}", "bind.yaml:2: v: .*unicorn"),
        ("functions:\n  v: {stopping_distance: {horizon: 3}}", "stopping_distance needs focal_length"),
        ("functions:\n  v: {table: no.csv, columns: a}", "cannot read"),
        ("functions:\n  v: {boxes: car, min_score: high}", "boxes: a value has the wrong type"),
        ("functions:\n  v: {table: t.csv, columns: a, folder: x}", "table has no option 'folder'"),
        ("functions:\n  v: [1, .inf]", "got inf"),
        ("functions:\n  v: {lead: car, corridor: [0, .inf]}", "corridor must go from left to right"),
        ("functions:\n  v: {lane: road, strip: 2.5}", "strip must be a whole number of rows"),
        (
            "functions:\n  v: {stopping_distance: {focal_length: 7, horizon: low}}",
            "stopping_distance: a value has the wrong type",
        ),
    ],
)
def test_mistakes_in_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bind.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        load_bindings(path)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.bbsl")), ids=lambda path: path.stem)
def test_the_examples_run_with_their_bindings(path: Path) -> None:
    spec = load(path)
    assert spec.format() == spec.source
    # The object under test, which the file leaves out.
    subject = {
        one.name: [600, 200, 640, 260] if one.result == "bb" else True
        for one in spec.functions
        if one.name.startswith("vehicle") and one.result in ("bb", "bool")
    }
    names = ["car", "pedestrian", "bicyclist", "tree"]
    seen = FrameView("a", 375, 1242, Boxes([[600, 200, 640, 260]] * 4, names))
    values = {**load_bindings(EXAMPLES / "bindings.yaml").values(seen), **subject}
    assert len(spec.cases(values, height=375, width=1242)) == 1
