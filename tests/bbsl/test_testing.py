"""Matching, verdicts and tables, on boxes whose answers are plain to see."""

import math
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bbsl.published_specs import mended

from roadworthy.bbsl import Bindings, PerFrame, parse
from roadworthy.bbsl.comparing import LabelledFrames, compare
from roadworthy.bbsl.method import BbslMethod
from roadworthy.bbsl.testing import ObjectRole, TestRow, find_role, judge, match, row_of, verdict_margin
from roadworthy.cases import Requirement, Status
from roadworthy.errors import InputError, OntologyError
from roadworthy.frames import Boxes, Frame
from roadworthy.models.recorded import Recorded, recorded_model
from roadworthy.runs import run
from roadworthy.runs.store import read_verdicts

CORNERS = st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(1, 8), st.integers(1, 8))
BOXES = st.lists(CORNERS, max_size=4).map(
    lambda rows: Boxes(
        np.array([(x, y, x + w, y + h) for x, y, w, h in rows]).reshape(-1, 4), ["car"] * len(rows)
    )
)


@given(BOXES, BOXES)
def test_matchings_against_trying_everything(truth: Boxes, found: Boxes) -> None:
    iou = truth.iou(found)
    best, greedy, optimal = (match(truth, found, how) for how in ("best", "greedy", "optimal"))
    assert best.iou.tolist() == [max(row, default=0.0) for row in iou.tolist()]
    for one in (greedy, optimal):
        taken = [index for index in one.index.tolist() if index >= 0]
        assert len(taken) == len(set(taken))
    for one in (best, greedy, optimal):
        for row, index in enumerate(one.index.tolist()):
            assert one.iou[row] == (iou[row, index] if index >= 0 else 0.0)
            assert index < 0 or one.iou[row] > 0
    pairs = max(len(truth), len(found))
    square = np.zeros((pairs, pairs))
    square[: len(truth), : len(found)] = iou
    highest = max(
        sum(square[row, column] for row, column in enumerate(order)) for order in permutations(range(pairs))
    )
    assert optimal.iou.sum() == pytest.approx(highest)
    if iou.size and iou.max() > 0:
        assert greedy.iou.max() == iou.max()


def test_boxes_that_only_touch_are_no_match() -> None:
    truth, found = Boxes([[0, 0, 10, 10]], ["car"]), Boxes([[10, 0, 20, 10]], ["car"])
    assert match(truth, found).index.tolist() == [-1]
    with pytest.raises(InputError, match="matching must be one of best, greedy, optimal, got 'worst'"):
        match(truth, found, "worst")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="least must be from 0 to below 1"):
        match(truth, found, least=1.0)


def test_the_role_is_found_or_asked_for() -> None:
    spec = mended(1)
    assert find_role(spec, ["stoppingDistance"]) == ObjectRole("vehicle", ("vehicleExists",))
    assert find_role(spec, ["stoppingDistance", "vehicle"]) is None
    with pytest.raises(InputError, match=r"called 'car': .*vehicle"):
        find_role(spec, (), function="car")
    two = parse("exfunction a(): bb b(): bb endexfunction case go a() = b() endcase")
    with pytest.raises(InputError, match=r"may be a\(\) or b\(\): choose it by --object"):
        find_role(two, ())
    assert find_role(two, ["b"]) == ObjectRole("a")
    with pytest.raises(OntologyError):
        ObjectRole("a", classes=("unicorn",))


def values(bottom: float | None) -> dict[str, object]:
    box = None if bottom is None else [600, 180, 700, bottom]
    return {"vehicle": box, "vehicleExists": box is not None, "stoppingDistance": [275, 375]}


@pytest.mark.parametrize(
    ("truth", "found", "passed", "margin"),
    [(300, 310, True, 35), (300, 270, False, -5), (200, 210, True, 65), (300, None, False, -math.inf)],
)
def test_verdicts_of_definition_13(truth: float, found: float | None, passed: bool, margin: float) -> None:
    one = judge(mended(1), values(truth), values(found), height=375, moving=("vehicle",))
    assert (one.passed, one.margin) == (passed, margin)


def test_a_failed_verdict_flips_when_every_wrong_case_has_changed() -> None:
    margins = {"a": -3.0, "b": 5.0, "c": -1.0}
    assert verdict_margin(("a",), ("b",), margins) == -5.0
    assert verdict_margin(("b",), ("b",), margins) == 1.0
    assert verdict_margin(("b",), ("b",), {"b": None}) == math.inf


def test_an_iou_of_the_threshold_itself_is_enough() -> None:
    at, below = (TestRow("f", ("stop",), ("stop",), True, 1.0, iou) for iou in (0.6, 0.599))
    table = compare([at, below], thresholds=[0.6])
    assert (table.iou[0.6].passed, table.iou[0.6].failed) == (1, 1)
    assert table.cell(0.6, "stop", True, True).rows == (at,)
    assert table.cell(0.6, "stop", False, True).rows == (below,)
    assert len(table.cell(0.6, "go", True, True)) == 0


def test_only_what_is_detected_moves() -> None:
    spec = parse(
        """
        exfunction car(): bb lane(): setBB others(): setBB fixed(): bb endexfunction
        case go car() ~ fixed() and exists x in lane(), exists y in others(). (x = y) endcase
        """
    )
    bound = {"lane": [[0, 0, 1, 1]], "others": PerFrame(lambda view: view.boxes), "fixed": [0, 0, 1, 1]}
    method = BbslMethod(spec, bound, role=find_role(spec, bound))
    assert method.moving == ("car", "others")


def test_out_of_scope_fails_or_stands_apart() -> None:
    apart = judge(mended(1), values(300), values(None), height=375, outside="apart")
    assert apart.passed is None
    assert apart.reason == "the precondition does not hold for the detections"
    nothing = judge(mended(1), values(None), values(300), height=375)
    assert nothing.passed is None
    assert nothing.reason == "the precondition does not hold for the ground truth"
    unknown = {**values(300), "stoppingDistance": None}
    reason = judge(mended(1), unknown, values(300), height=375).reason
    assert reason == "'NOT stop' and 'stop' have no value for the ground truth"
    with pytest.raises(InputError, match="outside must be one of fail, apart"):
        judge(mended(1), values(1), values(1), height=375, outside="maybe")  # type: ignore[arg-type]


def frames(*bottoms: Sequence[float]) -> list[Frame]:
    black = np.zeros((375, 1242, 3), np.uint8)
    return [
        Frame(
            f"f{number}",
            black,
            boxes=Boxes(
                [[600 + 40 * k, 180, 630 + 40 * k, y] for k, y in enumerate(row)], ["truck"] * len(row)
            ),
        )
        for number, row in enumerate(bottoms)
    ]


class Listed(list[Frame]):
    name = "a list"


def results(folder: Path, method: BbslMethod, data: Listed, detector: Recorded) -> list[Status]:
    run(method, Requirement("R", "text", "bbsl"), data, detector, out=folder, images="none")
    return [verdict.status for verdict in read_verdicts(folder)]


def test_the_method_asks_once_per_frame_and_judges_every_object(tmp_path: Path) -> None:
    spec, bound = mended(1), {"stoppingDistance": [275, 375]}
    data = Listed(frames([300, 200], [280]))
    asked: list[int] = []

    class Detector:
        name = "detector"

        def predict(self, frames: Sequence[Frame], /) -> list[Boxes]:
            asked.append(len(frames))
            # A truck is detected as a car, and the second object of a frame is not found.
            return [Boxes([[600, 180, 630, 300]], ["car"], scores=[0.9]) for _ in frames]

    method = BbslMethod(spec, bound, role=find_role(spec, bound, classes=("truck",)))
    run(method, Requirement("R", "text", "bbsl"), data, Detector(), out=tmp_path / "run", images="none")
    rows = [row_of(verdict) for verdict in read_verdicts(tmp_path / "run")]
    assert sum(asked) == 2
    assert [(row.frame, row.expected, row.passed, row.reason) for row in rows if row] == [
        ("f0", ("stop",), True, ""),
        ("f0", ("NOT stop",), False, "not detected"),
        ("f1", ("stop",), True, ""),
    ]
    table = compare([row for row in rows if row], expectations=spec.labels)
    assert str(table.specification) == "2/(2+1) = 66.7%"
    assert len(table.cell(0.6, "NOT stop", False, False)) == 1
    assert table.as_dict()["iou"]["0.8"]["passed"] == 2


def test_whole_frames_are_judged_without_a_role(tmp_path: Path) -> None:
    spec = parse(
        """
        exfunction vehicles(): setBB endexfunction
        case stop exists x in vehicles(). (PROJ_y(x) ~ [0, 100]) endcase
        case go forall x in vehicles(). (not (PROJ_y(x) ~ [0, 100])) endcase
        """
    )

    bindings = Bindings({"vehicles": PerFrame(lambda view: view.boxes)})
    data = Listed(frames([300, 200], [200], []))
    detector = Recorded(
        "r",
        "detection",
        {"f0": Boxes([[0, 0, 9, 200]], ["car"], scores=[1]), "f1": Boxes.empty(), "f2": Boxes.empty()},
        "a list",
    )
    assert results(tmp_path / "run", BbslMethod(spec, bindings), data, detector) == [
        Status.VIOLATED,
        Status.PASSED,
        Status.PASSED,
    ]


def test_a_frame_without_recorded_detections_is_an_error_and_named(tmp_path: Path) -> None:
    spec, bound = mended(1), {"stoppingDistance": [275, 375]}
    method = BbslMethod(spec, bound, role=find_role(spec, bound))
    detector = Recorded("r", "detection", {"f0": Boxes.empty()}, "a list")
    data = Listed(frames([300], [300]))
    assert results(tmp_path / "run", method, data, detector) == [Status.VIOLATED, Status.ERROR]
    (_, error) = read_verdicts(tmp_path / "run")
    assert "nothing is recorded for frame 'f1'" in error.reason
    assert row_of(error) is None


def test_results_with_nan_are_an_error_that_names_file_and_line(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "f0.txt").write_text("Car -1 -1 -10 nan 180 700 300 -1 -1 -1 -1000 -1000 -1000 -10 0.9\n")
    spec, bound = mended(1), {"stoppingDistance": [275, 375]}
    method = BbslMethod(spec, bound, role=find_role(spec, bound))
    assert results(tmp_path / "run", method, Listed(frames([300])), recorded_model(folder)) == [Status.ERROR]
    (error,) = read_verdicts(tmp_path / "run")
    assert "f0.txt: line 1: column 5 must be a number, got 'nan'" in error.reason


def test_what_a_method_cannot_use() -> None:
    spec = mended(1)
    with pytest.raises(InputError, match=r"bound to vehicleExists\(\), vehicle\(\), stoppingDistance"):
        BbslMethod(spec, {})
    with pytest.raises(InputError, match="matching must be one of"):
        BbslMethod(spec, values(1), matching="none")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="outside must be one of"):
        BbslMethod(spec, values(1), outside="none")  # type: ignore[arg-type]
    temporal = parse("exfunction v(): bb endexfunction case go always (v() = v()) endcase")
    with pytest.raises(InputError, match="test it with BbslTrackMethod"):
        BbslMethod(temporal, {"v": None})
    odd = parse('exfunction v(): bb endexfunction case "stop + go" v() = v() endcase')
    with pytest.raises(InputError, match="the case 'stop \\+ go' would be read as several"):
        BbslMethod(odd, {"v": None})
    bare = Listed([Frame("bare", np.zeros((4, 4, 3), np.uint8))])
    detector = Recorded("r", "detection", {}, "a list")
    with pytest.raises(InputError, match=r"frame 'bare' of a list has no boxes: .*-o boxes=street"):
        run(BbslMethod(spec, values(1)), Requirement("R", "text", "bbsl"), bare, detector)
    with pytest.raises(InputError, match="1x1 or more, got 0x5"):
        LabelledFrames(bare, 0, 5)


def test_a_row_out_of_scope_has_no_case_at_all() -> None:
    found = TestRow("f", ("stop",), None, None, 0.0).measures()
    assert (found["found"], found["expected"], found["iou"]) == (None, "stop", None)
    assert "truth.x1" not in found
