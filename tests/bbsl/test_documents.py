"""What people read of checks, coverage, comparisons and suites: whole documents."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import z3
from tests.bbsl.published_specs import mended
from tests.kept import as_kept, defaults_of

from roadworthy.bbsl import Bindings, parse
from roadworthy.bbsl.arrays import many_values, one_value
from roadworthy.bbsl.checking import CheckResult, check
from roadworthy.bbsl.checking.models import FunctionValue, Model, number_of
from roadworthy.bbsl.checking.results import CheckFinding, ProofStatus, Witness, _checks_finding, written
from roadworthy.bbsl.checking.solving import SolverAnswer, SolverLimits, _Clock, _lines, ask, guess
from roadworthy.bbsl.comparing import LabelledFrames, SuiteSpecification, compare, load_suite
from roadworthy.bbsl.coverage import BorderObjects, SpecCoverage
from roadworthy.bbsl.method import BbslMethod, BbslTrackMethod, inputs_of, method_for
from roadworthy.bbsl.syntax import Type
from roadworthy.bbsl.testing import ObjectRole, TestRow, find_role, out_of_scope, row_of
from roadworthy.bbsl.type_checking import find_axes, find_problems
from roadworthy.bbsl.values import Box, Interval
from roadworthy.cases import Case, RecordDrive, Status, Verdict
from roadworthy.errors import InputError
from roadworthy.frames import Boxes, Frame

BOX = Box(Interval(0, 50), Interval(75, 125.5))
CAR = FunctionValue("car", (), BOX)
GAP = FunctionValue("gap", (BOX,), Interval(1, 2))
CALLS = (CAR, GAP, FunctionValue("cars", (), (BOX,)), FunctionValue("wet", (), True))


def finding(concerns: Any, status: ProofStatus, *labels: str, **more: Any) -> CheckFinding:
    return CheckFinding(concerns, labels, status, **more)


class TestChecks:
    RESULT = CheckResult(
        (
            finding("exhaustive", ProofStatus.BOUNDED, "a", "b", up_to=3),
            finding(
                "exclusionary", ProofStatus.REFUTED, "a", "b", witness=Witness(CALLS, 640, 480, ("a", "b"))
            ),
            finding("exclusionary", ProofStatus.PROVED, "a", "c"),
            finding("non-redundant", ProofStatus.BOUNDED, "a", up_to=2),
            finding("non-redundant", ProofStatus.BOUNDED, "b", up_to=4),
            finding("non-redundant", ProofStatus.PROVED, "c"),
        )
    )

    def test_lines(self) -> None:
        assert self.RESULT.lines() == [
            "exhaustive: none up to 3 boxes in each set",
            "exclusionary: refuted",
            "non-redundant: none up to 2 boxes in each set",
            "- 'a' and 'b' hold at once for some input",
            "    car() = ([0, 50], [75, 125.5]), gap(([0, 50], [75, 125.5])) = [1, 2], "
            "cars() = {([0, 50], [75, 125.5])}, wet() = true",
            "- 'a' never holds with up to 2 boxes in each set",
            "- 'b' never holds with up to 4 boxes in each set",
        ]
        assert CheckResult((), vacuous=True).lines() == [
            "the precondition can never hold, so the cases say nothing"
        ]
        fine = CheckResult((finding("exhaustive", ProofStatus.PROVED),))
        assert fine.lines() == ["exhaustive: proved", "exclusionary: proved", "non-redundant: proved"]

    def test_document(self) -> None:
        document = self.RESULT.as_dict()
        assert {key: document[key] for key in document if key != "findings"} == {
            "ok": False,
            "vacuous": False,
            "exhaustive": "none up to n",
            "exclusionary": "refuted",
            "non_redundant": "none up to n",
        }
        assert document["findings"][:3] == [
            {
                "property": "exhaustive",
                "labels": ["a", "b"],
                "status": "none up to n",
                "sentence": "every input is in a case with up to 3 boxes in each set",
                "up_to": 3,
            },
            {
                "property": "exclusionary",
                "labels": ["a", "b"],
                "status": "refuted",
                "sentence": "'a' and 'b' hold at once for some input",
                "witness": {
                    "values": {
                        "car": "([0, 50], [75, 125.5])",
                        "cars": "{([0, 50], [75, 125.5])}",
                        "wet": "true",
                    },
                    "text": str(Witness(CALLS, 640, 480)),
                    "pixels": {
                        "car()": [0, 354.5, 50, 405],
                        "gap(([0, 50], [75, 125.5]))": [1, 2],
                        "cars()": [[0, 354.5, 50, 405]],
                        "wet()": True,
                    },
                    "width": 640,
                    "height": 480,
                    "cases": ["a", "b"],
                },
            },
            {
                "property": "exclusionary",
                "labels": ["a", "c"],
                "status": "proved",
                "sentence": "'a' and 'c' exclude each other",
            },
        ]
        assert json.loads(json.dumps(document)) == document
        open_one = finding("non-redundant", ProofStatus.UNKNOWN, "a", reason="no answer within 3 s")
        assert CheckResult((open_one,)).as_dict()["findings"] == [
            {
                "property": "non-redundant",
                "labels": ["a"],
                "status": "unknown",
                "sentence": "whether 'a' can hold is not known: no answer within 3 s",
                "reason": "no answer within 3 s",
            }
        ]

    @pytest.mark.parametrize(
        ("concerns", "status", "sentence", "ok"),
        [
            ("exhaustive", ProofStatus.PROVED, "every input is in a case", True),
            ("exhaustive", ProofStatus.REFUTED, "some input is in no case", False),
            ("exhaustive", ProofStatus.UNKNOWN, "whether every input is in a case is not known: x", False),
            ("exclusionary", ProofStatus.UNKNOWN,
             "whether 'a' and 'b' exclude each other is not known: x", False),
            ("exclusionary", ProofStatus.BOUNDED,
             "'a' and 'b' exclude each other with up to 3 boxes in each set", True),
            ("non-redundant", ProofStatus.PROVED, "'a' and 'b' holds for some input", True),
            ("non-redundant", ProofStatus.REFUTED, "'a' and 'b' can never hold", False),
            ("non-redundant", ProofStatus.BOUNDED,
             "'a' and 'b' never holds with up to 3 boxes in each set", False),
        ],
    )  # fmt: skip
    def test_sentences(self, concerns: Any, status: ProofStatus, sentence: str, ok: bool) -> None:
        one = finding(concerns, status, "a", "b", up_to=3, reason="x")
        assert (str(one), one.ok) == (sentence, ok)
        result = CheckResult((one,))
        assert (result.ok, result.problems) == (ok, () if ok else (one,))
        assert not CheckResult((one,), vacuous=True).ok

    def test_the_worst_finding_is_that_of_the_property(self) -> None:
        kinds = (ProofStatus.REFUTED, ProofStatus.UNKNOWN, ProofStatus.BOUNDED, ProofStatus.PROVED)
        for number in range(4):
            many = CheckResult(tuple(finding("exhaustive", one, "a") for one in reversed(kinds[number:])))
            assert many.exhaustive is kinds[number]
            assert many.exclusionary is ProofStatus.PROVED

    def test_a_witness_answers_as_the_functions_did(self) -> None:
        far = FunctionValue("gap", (Box(Interval(1, 2), Interval(3, 4)),), Interval(7, 8))
        bound = Witness((*CALLS, far), 640, 480).bindings
        assert (bound["car"], bound["wet"]) == (CAR.value, True)
        assert bound["gap"]([0, 354.5, 50, 405]) == Interval(1, 2)
        assert bound["gap"]([1, 476, 2, 477]) == Interval(7, 8)
        assert bound["gap"]([5, 5, 5, 5]) == Interval(1, 2), "elsewhere anything will do"
        assert [written(one) for one in (False, 2.0, 0.25, (), Interval(-1, 1e6))] == [
            "false", "2", "0.25", "{}", "[-1, 1e+06]"
        ]  # fmt: skip

    def test_what_does_not_stand_evaluation_is_not_shown(self) -> None:
        spec = parse("exfunction wet(): bool endexfunction case a wet() endcase case b not wet() endcase")
        dry, wet = (Model((FunctionValue("wet", (), one),), 10, 10) for one in (False, True))
        refuted, proved = ProofStatus.REFUTED, ProofStatus.PROVED
        for name, labels, model, status in (
            ("non-redundant", ("a",), wet, proved),
            ("non-redundant", ("a",), dry, ProofStatus.UNKNOWN),
            ("exclusionary", ("a", "b"), wet, ProofStatus.UNKNOWN),
            ("exhaustive", ("a", "b"), wet, ProofStatus.UNKNOWN),
            ("exclusionary", ("a",), wet, refuted),
        ):
            one = _checks_finding(spec, name, labels, SolverAnswer(True, model))  # type: ignore[arg-type]
            assert one.status is status, (name, labels)
            shown = f"wet() = {written(model.calls[0].value)}"
            if status is ProofStatus.UNKNOWN:
                assert one.reason == (
                    f"the values that z3 found do not do it when they are evaluated: {shown}"
                )
            else:
                assert one.witness is not None
                assert str(one.witness) == shown
        for possible, up_to, name, status in (
            (None, None, "exhaustive", ProofStatus.UNKNOWN),
            (False, None, "exhaustive", proved),
            (False, None, "non-redundant", refuted),
            (False, 2, "exclusionary", ProofStatus.BOUNDED),
        ):
            one = _checks_finding(spec, name, ("a",), SolverAnswer(possible, None, up_to, "slow"))  # type: ignore[arg-type]
            assert (one.status, one.up_to) == (status, up_to)
            assert one.reason == ("slow" if possible is None else "")

    def test_a_picture_shows_boxes_side_by_side_with_room_for_their_names(self) -> None:
        spec = parse(
            "exfunction a(): bb b(): bb near(): interval r(): real endexfunction case go true endcase"
        )
        (one,) = check(spec).of("non-redundant")
        assert one.witness is not None
        bound, shown = one.witness.bindings, one.witness
        assert (shown.width, shown.height, shown.labels) == (1242, 375, ("go",))
        for box in (bound["a"], bound["b"]):
            assert box.x.upper - box.x.lower >= 200
            assert box.y.upper - box.y.lower >= 50
            assert box.x.lower >= 0
            assert box.x.upper <= 1242
            assert box.y.lower >= 0
            assert box.y.upper <= 375
        assert abs(bound["a"].y.upper - bound["b"].y.upper) >= 25
        assert abs(bound["a"].x.lower - bound["b"].x.lower) >= 25
        assert 0 <= bound["near"].lower <= bound["near"].upper - 50 <= 325
        assert (bound["r"] * 10) % 1 == 0
        assert [end % 25 for end in (*bound["a"].x, *bound["b"].y, *bound["near"])] == [0] * 6

    def test_few_boxes_are_shown_but_one_of_each_set(self) -> None:
        spec = parse("exfunction p(): setBB q(): setBB endexfunction case go true endcase")
        (one,) = check(spec, boxes=3).of("non-redundant")
        assert one.witness is not None
        assert [len(boxes) for boxes in one.witness.bindings.values()] == [0, 0], "none is pointed at"
        spec = parse(
            "exfunction p(): setBB q(): setBB endexfunction case go exists x in p(), exists y in q(). "
            "(x ~ y) and exists x in p(), exists y in p(). (PROJ_x(x) < PROJ_x(y)) endcase"
        )
        (one,) = check(spec).of("non-redundant")
        assert one.witness is not None
        assert {name: len(boxes) for name, boxes in one.witness.bindings.items()} == {"p": 2, "q": 1}


class TestSolving:
    def test_roots_are_read_to_many_places(self) -> None:
        solver, root = z3.Solver(), z3.Real("r")
        solver.add(root * root == 2, root > 0)
        assert solver.check() == z3.sat
        assert number_of(solver.model(), root) == pytest.approx(math.sqrt(2), abs=1e-15)
        solver.add(z3.Real("h") * 3 == 1)
        assert solver.check() == z3.sat
        assert number_of(solver.model(), z3.Real("h")) == 1 / 3

    def test_guesses_are_of_every_kind_and_inside_the_image(self) -> None:
        head = "exfunction t(): bool r(): real i(): interval b(): bb s(): setBB endexfunction"
        spec = parse(f"{head} precondition [t() = true] endprecondition case go r() = 0.7 endcase")
        found = guess(spec, [(None, True), ("go", True)], boxes=2, image=(100, 50), seconds=5)
        assert found is not None
        values = {one.function: one.value for one in found.calls}
        assert (values["t"], values["r"], found.width, found.height) == (True, 0.7, 100, 50)
        assert all(one.arguments == () for one in found.calls)
        box, near, boxes = values["b"], values["i"], values["s"]
        assert isinstance(box, Box)
        assert isinstance(near, Interval)
        assert isinstance(boxes, tuple)
        assert all(end % 10 == 0 and 0 <= end <= 100 for end in box.x)
        assert all(end % 5 == 0 and 0 <= end <= 50 for end in (*box.y, *near))
        assert near.lower < near.upper
        assert len(boxes) <= 2
        assert guess(spec, [("go", False), ("go", True)], boxes=2, image=(9, 9), seconds=0.05) is None
        assert guess(spec, [("go", True)], boxes=2, image=(9, 9), seconds=-1) is None
        asked = parse("exfunction f(real): bool endexfunction case go f(1) endcase")
        assert guess(asked, [("go", True)], boxes=1, image=(9, 9), seconds=5) is None
        sets = parse(
            "exfunction s(): setBB endexfunction case go exists x in s(), exists y in s(). "
            "(not (x = y)) endcase"
        )
        two = guess(sets, [("go", True)], boxes=2, image=(9, 9), seconds=5)
        assert two is not None
        assert len(two.calls[0].value) == 2  # type: ignore[arg-type]
        assert guess(sets, [("go", True)], boxes=1, image=(9, 9), seconds=0.2) is None

    def test_the_lines_of_a_grid_have_the_numbers_of_the_text(self) -> None:
        spec = parse(
            "exfunction v(): bb endexfunction case go let z: interval = [7, 9.5] in "
            "PROJ_x(v()) ~ z and PROJ_y(v()) ~ [3, 3] and RAT({v()}, {v()}) > 0.25 endcase"
        )
        across, up = _lines(spec, (100, 24))
        assert across == sorted({*range(0, 101, 10), 3, 7, 9.5})
        assert up == sorted({*range(0, 25, 2), 3, 7, 9.5})

    def test_what_a_grid_does_not_show_is_answered_by_the_areas_themselves(self) -> None:
        head = "exfunction v(): bb u(): bb endexfunction"
        third = parse(f"{head} case go RAT({{v()}}, {{u()}}) = 0.123457 and v() = u() endcase")
        answer = ask(third, [("go", True)], SolverLimits(1, 5.0))
        assert (answer.possible, answer.up_to, answer.model) == (False, None, None)
        sets = parse(
            "exfunction s(): setBB v(): bb endexfunction case go RAT(s(), {v()}) > 0.5 and "
            "(forall x in s(). (w(PROJ_x(x)) <= 0 or w(PROJ_y(x)) <= 0)) endcase"
        )
        answer = ask(sets, [("go", True)], SolverLimits(2, 8.0))
        assert answer.possible is False
        assert answer.model is None

    def test_a_clock_has_at_least_a_millisecond(self) -> None:
        assert _Clock(0).milliseconds == 1
        assert _Clock(0).stopped
        clock = _Clock(100)
        assert 99_000 < clock.milliseconds <= 100_000
        assert not clock.stopped
        assert _Clock(0.25).reason == "no answer within 0.25 s"


SUITE = """
tests:
  ID1: {spec: near.bbsl, values: {zone: [275, 375]}, data: Td1, system: SUT1}
  7: {spec: sub/far.bbsl, data: Td2, system: SUT2}
"""


class TestSuites:
    def test_a_suite_is_read_and_its_files_lie_beside_it(self, tmp_path: Path) -> None:
        (tmp_path / "tests.yaml").write_text(SUITE)
        first, second = load_suite(str(tmp_path / "tests.yaml"))
        assert first == SuiteSpecification("ID1", tmp_path / "near.bbsl", {"zone": [275, 375]}, "Td1", "SUT1")
        assert (second.id, second.spec, dict(second.values)) == ("7", tmp_path / "sub" / "far.bbsl", {})
        assert first.entry() == {
            "bbsl": str(tmp_path / "near.bbsl"),
            "data": "Td1",
            "models": ["SUT1"],
            "values": {"zone": [275, 375]},
        }

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("tests: {}", r"tests\.yaml.*tests"),
            ("tests: {a: {spec: x, data: d}}", r"tests\.yaml.*system"),
            ("tests: {a: {spec: x, data: d, system: s, vales: {}}}", r"tests\.yaml.*vales"),
            ("test: {}", r"tests\.yaml"),
        ],
    )
    def test_what_is_wrong_is_named(self, text: str, message: str, tmp_path: Path) -> None:
        (tmp_path / "tests.yaml").write_text(text)
        with pytest.raises(InputError, match=message):
            load_suite(tmp_path / "tests.yaml")

    def test_frames_without_images_are_black_and_know_their_drives(self) -> None:
        class Labels:
            name, ids, clusters = "labels", ("a", "b"), ("d1", "d2")

            def __len__(self) -> int:
                return 2

            def boxes(self, index: int) -> Boxes:
                return Boxes([[index, 0, 5, 5]], ["car"])

        data: Any = LabelledFrames(Labels(), 40, 30)
        assert (data.name, data.ids, data.clusters, len(data)) == ("labels", ("a", "b"), ("d1", "d2"), 2)
        assert [one.image.shape for one in data] == [(30, 40, 3)] * 2
        assert [one.boxes.xyxy[0, 0] for one in data] == [0, 1]
        assert not data[1].image.any()
        bare = type("Bare", (Labels,), {})()
        del Labels.clusters
        assert LabelledFrames(bare, 1, 1).clusters == ("a", "b")
        for size in ((0, 1), (1, 0)):
            with pytest.raises(InputError, match=f"1x1 or more, got {size[0]}x{size[1]}"):
                LabelledFrames(bare, *size)


def row(frame: str, expected: str, passed: bool | None, iou: float | None, reason: str = "") -> TestRow:
    return TestRow(frame, (expected,), None, passed, 1.0, iou, reason=reason)


class TestComparing:
    ROWS = (
        row("a", "stop", True, 0.9),
        row("b", "stop", True, 0.7),
        row("c", "stop", False, 0.95),
        row("d", "go", False, 0.0),
        row("e", "go", None, 0.9, "unclear"),
        row("f", "go", None, None, "unclear"),
        row("g", "go", None, None, "dark"),
        row("h", "go", True, None),
    )

    def test_the_whole_table(self) -> None:
        table = compare(self.ROWS, expectations=["stop", "halt"])
        assert table.as_dict() == {
            "specification": {"passed": 3, "failed": 2, "share": 0.6},
            "iou": {
                "0.6": {"passed": 3, "failed": 1, "share": 0.75},
                "0.8": {"passed": 2, "failed": 2, "share": 0.5},
            },
            "cells": {
                threshold: [
                    {"expectation": name, "iou": iou, "specification": passed,
                     "count": counts[name, iou, passed]}
                    for name in ("stop", "halt", "go")
                    for passed in (True, False)
                    for iou in (True, False)
                ]
                for threshold, counts in (
                    (
                        "0.6",
                        Counts({("stop", True, True): 2, ("stop", True, False): 1, ("go", False, False): 1}),
                    ),
                    (
                        "0.8",
                        Counts({("stop", True, True): 1, ("stop", False, True): 1, ("stop", True, False): 1,
                                ("go", False, False): 1}),
                    ),
                )
            },
            "apart": {"unclear": 2, "dark": 1},
        }  # fmt: skip

    def test_telling_examples(self) -> None:
        rows = [
            row(name, "stop", True, iou) for name, iou in (("b", 0.7), ("a", 0.7), ("c", 0.9), ("d", 0.65))
        ]
        both = compare(rows, thresholds=[0.6]).cell(0.6, "stop", True, True)
        assert [one.frame for one in both.examples(3)] == ["c", "b", "a"]
        neither = compare(rows, thresholds=[0.95]).cell(0.95, "stop", False, True)
        assert [one.frame for one in neither.examples(3)] == ["d", "a", "b"]

    def test_without_iou_there_is_no_table_of_it(self) -> None:
        table = compare([row("h", "go", True, None)])
        assert (table.iou, table.cells, str(table.specification)) == ({}, {}, "1/(1+0) = 100.0%")
        assert str(compare([]).specification) == "no test cases"
        assert compare([]).as_dict()["specification"] == {"passed": 0, "failed": 0, "share": None}


class Counts(dict[tuple[str, bool, bool], int]):
    def __missing__(self, key: tuple[str, bool, bool]) -> int:
        return 0


class TestCoverage:
    def test_the_whole_document(self) -> None:
        spec = parse(
            "exfunction seen(): bool v(): bb endexfunction precondition [seen()] endprecondition "
            "case stop PROJ_y(v())   ~ [0, 100] endcase case go not (PROJ_y(v()) ~ [0, 100]) endcase"
        )
        coverage = SpecCoverage(spec, near=3.0, grid=(2, 3))
        for seen, box, place in (
            (True, [0, 0, 9, 278], (0, 0)),
            (True, [0, 0, 9, 271], (300, 200)),
            (True, None, (299, 199)),
            (False, [0, 0, 9, 90], (-5, 900)),
            (True, [0, 0, 9, 300], None),
        ):
            coverage.add({"seen": seen, "v": box}, moving=["v"], height=375, width=300, place=place)
        atoms = [
            {"case": "", "text": "seen()", "true": 4, "false": 1, "unknown": 0, "nearest_true": None,
             "nearest_false": None, "border_covered": None},
            *({"case": case, "text": "PROJ_y(v()) ~ [0, 100]", "true": 2, "false": 1, "unknown": 1,
               "nearest_true": 3.0, "nearest_false": 4.0, "border_covered": False}
              for case in ("stop", "go")),
        ]  # fmt: skip
        assert coverage.as_dict() == {
            "inputs": 5,
            "outside": 1,
            "cases": {"share": 1.0, "counts": {"stop": 2, "go": 1}},
            "conditions": {"share": 1.0, "atoms": atoms},
            "borders": {"share": 0.0, "near": 3.0},
            "positions": {"share": 1 / 2, "counts": [[1, 0, 0], [1, 0, 2]]},
        }
        coverage.near = 4.0
        assert coverage.border_share == 1.0

    def test_nothing_was_tried(self) -> None:
        coverage = SpecCoverage(mended(1), grid=(1, 1))
        shares = coverage.case_share, coverage.condition_share, coverage.border_share, coverage.position_share
        assert shares == (0, 0, 0, 0)
        assert all(one.has_border for one in coverage.atoms)
        with pytest.raises(InputError, match="near must be 0 or more, got nan"):
            SpecCoverage(mended(1), near=math.nan)
        assert SpecCoverage(mended(1), near=0).near == 0

    def test_the_objects_nearest_to_a_border_are_kept(self) -> None:
        spec = parse(
            "exfunction v(): bb endexfunction case stop PROJ_y(v()) ~ [0, 100] endcase "
            "case go PROJ_y(v()) > [0, 100] endcase"
        )
        near = BorderObjects(spec, "v", ("v",), 2)
        frame = Frame("f", np.zeros((375, 400, 3), np.uint8))
        for number, bottom in enumerate((300, 280, 290, 200, 270)):
            near.add(frame, number, {"v": [0, 100, 9, bottom]})
        near.add(frame, 5, {"v": None})
        found = near.changes()
        assert [(one["frame"], one["object"], one["before"], one["after"]) for one in found] == [
            ("f", 1, ("stop",), ("go",)),
            ("f", 2, ("stop",), ("go",)),
            ("f", 4, ("go",), ("stop",)),
            ("f", 3, ("go",), ("stop",)),
        ]
        assert [round(one["distance"]) for one in found] == [5, 15, 5, 75]
        assert found[0]["box"] == pytest.approx((0, 100, 9, 275), abs=0.02)


class TestMethods:
    SPEC = "exfunction v(): bb near(): interval endexfunction case go PROJ_y(v()) ~ near() endcase"

    def test_a_method_is_that_of_its_specification(self) -> None:
        spec, bound = parse(self.SPEC), Bindings({"near": [0, 9]})
        role = find_role(spec, bound.sources)
        single = method_for(spec, bound, role, matching="greedy", outside="apart")
        assert isinstance(single, BbslMethod)
        assert (single.role, single._matching, single._outside) == (role, "greedy", "apart")
        plain = method_for(spec, bound, role)
        assert (plain._matching, plain._outside) == ("best", "fail")
        timed = parse(self.SPEC.replace("PROJ_y(v()) ~ near()", "always (PROJ_y(v()) ~ near())"))
        tracks = method_for(timed, bound, role, matching="optimal", outside="apart")
        assert isinstance(tracks, BbslTrackMethod)
        assert (tracks._matching, tracks._outside, tracks._ends) == ("optimal", "apart", "cut")
        with pytest.raises(
            InputError, match="over several frames, leave a function of type bb unbound or name"
        ):
            method_for(timed, Bindings({"near": [0, 9], "v": [0, 0, 1, 1]}), None)

    def test_inputs_are_objects_or_the_whole_frame(self) -> None:
        bindings = Bindings({"near": [0, 9]})
        boxes = Boxes([[0, 0, 1, 1], [2, 2, 3, 3], [4, 4, 5, 5]], ["car", "pedestrian", "truck"])
        frame = Frame("f", np.zeros((9, 9, 3), np.uint8), boxes=boxes)
        role = ObjectRole("v", ("vExists",))
        assert list(inputs_of(frame, bindings, role)) == [
            ((0, 0, 1, 1), {"near": [0, 9], "v": (0, 0, 1, 1), "vExists": True}),
            ((4, 4, 5, 5), {"near": [0, 9], "v": (4, 4, 5, 5), "vExists": True}),
        ]
        assert list(inputs_of(frame, bindings, None)) == [(None, {"near": [0, 9]})]
        with pytest.raises(InputError, match="frame 'f' has no boxes: use data with labels"):
            list(inputs_of(frame.replace(boxes=None), bindings, role))

    def test_rows_come_back_from_verdicts(self) -> None:
        case = Case("f#0", "R", (RecordDrive("-"),))
        rows = (
            TestRow("f", ("a", "b"), (), False, -2.0, 0.0, (0, 1, 2, 3), None, "not detected"),
            TestRow("f", (), ("a",), True, 0.0),
            TestRow("f", ("a",), None, False, -math.inf, 0.5, (0, 1, 2, 3), (4, 5, 6, 7)),
        )
        for one in rows:
            verdict = one.verdict(case)
            assert verdict.status is (Status.PASSED if one.passed else Status.VIOLATED)
            assert row_of(verdict) == one
        apart = TestRow("f", ("a",), None, None, -math.inf, reason="dark").verdict(case)
        assert (apart.status, apart.reason) == (Status.NOT_APPLICABLE, "dark")
        back = row_of(apart)
        assert back is not None
        assert math.isnan(back.margin)
        assert (back.passed, back.found, back.expected) == (None, None, ("a",))
        for status in (Status.ERROR, Status.ENGINE_ERROR):
            assert row_of(Verdict("f#0", "R", status, None, "crashed", {"frame": "f"})) is None

    def test_why_a_specification_says_nothing(self) -> None:
        spec = parse(
            "exfunction s(): bool v(): bb endexfunction precondition [s()] endprecondition "
            "case a PROJ_x(v()) ~ [0, 1] endcase case b PROJ_y(v()) ~ [0, 1] endcase case c true endcase"
        )
        for values, said in (
            ({"s": False, "v": None}, "the precondition does not hold for them"),
            ({"s": None, "v": None}, "the precondition has no value for them"),
            ({"s": True, "v": None}, "'a' and 'b' have no value for them"),
            ({"s": True, "v": [0, 0, 1, 1]}, ""),
        ):
            assert out_of_scope(spec.evaluate(values, height=9, width=9), "them") == said
        one = parse("exfunction v(): bb endexfunction case a PROJ_x(v()) ~ [0, 1] endcase")
        assert out_of_scope(one.evaluate({"v": None}, height=9), "them") == "'a' has no value for them"


class TestTypes:
    HEAD = (
        "exfunction f(real): real near(): interval on(interval): bool box(): bb n(): interval endexfunction"
    )

    def test_every_mistake_inside_a_call_is_named(self) -> None:
        spec = parse(f"{self.HEAD} case go f(1, x) > g(y) endcase")
        assert [one.message for one in find_problems(spec)] == [
            "'f' takes 1 argument, got 2",
            "no let or quantifier binds 'x' here",
            "no external function is called 'g'",
            "no let or quantifier binds 'y' here",
        ]

    @pytest.mark.parametrize(
        ("condition", "axes"),
        [
            ("PROJ_x(box()) ~ near()", ("x", "open", "open")),
            ("PROJ_x(box()) ~ near() and near() ~ n()", ("x", "x", "open")),
            ("PROJ_x(box()) ~ near() and PROJ_y(box()) ~ near()", ("both", "open", "open")),
            ("near() ~ [0, 1]", ("unsaid", "open", "open")),
            ("near() ~ [0, PROJ_y.lower(box())]", ("y", "open", "open")),
            ("(near(), n()) ~ box()", ("x", "y", "open")),
            ("on(near()) and PROJ_y(box()) ~ near()", ("y", "open", "y")),
            ("PROJ_x(box()) ~ near() intersect n()", ("x", "x", "open")),
            ("let z: interval = near() in PROJ_y(box()) ~ z", ("y", "open", "open")),
            ("let z: real = PROJ_x.lower(box()) in near() < z", ("x", "open", "open")),
        ],
    )
    def test_intervals_lie_on_the_axis_of_what_they_are_compared_with(
        self, condition: str, axes: tuple[str, ...]
    ) -> None:
        found = find_axes(parse(f"{self.HEAD} case go {condition} endcase"))
        assert (found["function", "near"], found["function", "n"], found["parameter", "on", "0"]) == axes
        if "let" not in condition:
            alone = parse(f"{self.HEAD} precondition [{condition}] endprecondition case go true endcase")
            assert find_axes(alone) == found


class TestValues:
    @pytest.mark.parametrize(
        ("kind", "values"),
        [
            (Type.BOOL, [True, False, None]),
            (Type.REAL, [1.5, 0.0, None]),
            (Type.INTERVAL, [Interval(0, 0), Interval(1, 2), None]),
            (Type.BB, [CAR.value, None, Box(Interval(0, 0), Interval(1, 1))]),
            (Type.SET_BB, [(), (CAR.value,), None, (CAR.value, Box(Interval(0, 0), Interval(1, 1)))]),
        ],
    )
    def test_one_row_of_many_is_the_value_of_its_frame(self, kind: Type, values: list[Any]) -> None:
        many = many_values(values, kind)
        assert [one_value(many, row, kind) for row in range(len(values))] == values


def test_what_is_done_when_nothing_is_said_stays() -> None:
    as_kept(Path(__file__).parent / "kept" / "defaults.txt", defaults_of("bbsl"))
