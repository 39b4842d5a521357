"""The commands about specifications: what they print, write and return."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from typer.testing import Result

from roadworthy.bbsl.comparing import load_suite
from roadworthy.errors import InputError
from roadworthy.images import write_image

SPEC = """
exfunction
  vehicleExists(): bool
  vehicle(): bb
  near(): interval
endexfunction
precondition [vehicleExists() = true] endprecondition
case stop
  PROJ_y(vehicle()) ~ near() or PROJ_y(vehicle()) < near()
endcase
case NOT stop
  PROJ_y(vehicle()) > near()
endcase
"""
LABEL = "{} 0.00 0 -10 {} {} {} {} -1 -1 -1 -1000 -1000 -1000 -10{}\n"
Run = Callable[..., Result]


def boxes(*rows: tuple[float, float, float, float], score: str = "", kind: str = "Car") -> str:
    return "".join(LABEL.format(kind, *row, score) for row in rows)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A near car that is found too far up, a far one that is found, and a truck that is not."""
    (tmp_path / "truth" / "label_2").mkdir(parents=True)
    (tmp_path / "results").mkdir()
    (tmp_path / "spec.bbsl").write_text(SPEC)
    (tmp_path / "truth/label_2/a.txt").write_text(boxes((600, 180, 700, 300), (100, 170, 150, 200)))
    (tmp_path / "truth/label_2/b.txt").write_text(boxes((400, 100, 600, 350), kind="Truck"))
    (tmp_path / "results/a.txt").write_text(boxes((600, 180, 700, 272), (100, 170, 150, 201), score=" 0.9"))
    (tmp_path / "results/b.txt").write_text("")
    return tmp_path


ON = ("--truth", "kitti:truth", "--set", "near=275,375", "--size", "1242x375")
TEST = ("bbsl", "test", "spec.bbsl", *ON, "--detections", "results")


def test_check_proves_and_draws_an_example_of_every_case(data: Path, roadworthy: Run) -> None:
    result = roadworthy("bbsl", "check", "spec.bbsl", "--draw", "pictures")
    assert result.exit_code == 0
    for name in ("exhaustive", "exclusionary", "non-redundant"):
        assert f"{name}: proved" in result.output
    assert (data / "pictures/spec.png").read_bytes().startswith(b"\x89PNG")


def test_check_shows_what_is_wrong_and_ends_with_one(data: Path, roadworthy: Run) -> None:
    (data / "gap.bbsl").write_text(SPEC.replace(" or PROJ_y(vehicle()) < near()", ""))
    result = roadworthy("bbsl", "check", "spec.bbsl", "gap.bbsl")
    assert result.exit_code == 1
    assert "some input is in no case" in result.output
    assert "near() = [" in result.output
    document = json.loads(roadworthy("bbsl", "check", "gap.bbsl", "--json").stdout)
    assert [one["exhaustive"] for one in document] == ["refuted"]
    witness = document[0]["findings"][0]["witness"]
    assert set(witness["values"]) == {"vehicleExists", "vehicle", "near"}
    assert witness["cases"] == []


def test_check_ends_with_two_where_it_cannot_begin(data: Path, roadworthy: Run) -> None:
    (data / "typo.bbsl").write_text(SPEC.replace("near():", "neer():"))
    result = roadworthy("bbsl", "check", "typo.bbsl")
    assert result.exit_code == 2
    assert "did you mean 'neer'" in result.output
    (data / "none.bbsl").write_text("exfunction v(): bb endexfunction")
    assert "the specification has no case" in roadworthy("bbsl", "check", "none.bbsl").output
    assert "WIDTHxHEIGHT" in roadworthy("bbsl", "check", "spec.bbsl", "--image", "big").output


def test_check_says_up_to_how_many_boxes_only_of_what_was_not_refuted(data: Path, roadworthy: Run) -> None:
    circle = (
        "(forall x in a(). exists y in b(). (PROJ_x(x) < PROJ_x(y))) "
        "and (forall y in b(). exists x in a(). (PROJ_x(y) < PROJ_x(x))) and (exists x in a(). (x = x))"
    )
    head = "exfunction a(): setBB b(): setBB wet(): bool endexfunction"
    (data / "circle.bbsl").write_text(
        f"{head} case one {circle} endcase case two wet() = true endcase case three wet() = wet() endcase"
    )
    result = roadworthy("bbsl", "check", "circle.bbsl", "--boxes", "1")
    assert result.exit_code == 1
    # "one" holds for no single boxes; "two" and "three" hold at once.
    assert "exclusionary: refuted" in result.output
    assert "non-redundant: none up to 1 boxes in each set" in result.output
    assert "- 'one' never holds with up to 1 boxes in each set" in result.output


def test_specifications_over_time_are_tested_and_not_checked(data: Path, roadworthy: Run) -> None:
    (data / "time.bbsl").write_text(
        SPEC.replace("PROJ_y(vehicle()) > near()", "always[0, 3] (PROJ_y(vehicle()) > near())")
    )
    checked = roadworthy("bbsl", "check", "time.bbsl")
    assert checked.exit_code == 2
    assert "static checks look at one frame" in " ".join(checked.output.split())
    tested = roadworthy("bbsl", "test", "time.bbsl", *ON, "--detections", "results")
    assert tested.exit_code == 2
    assert "have no track ids" in " ".join(tested.output.split())


def test_test_prints_the_tables_of_the_paper_and_ends_with_one(data: Path, roadworthy: Run) -> None:
    result = roadworthy(*TEST, "--out", "run")
    assert result.exit_code == 1
    assert "1/(1+2) = 33.3%" in result.output  # the specification: the far car alone
    assert "2/(2+1) = 66.7%" in result.output  # IoU at 0.6: both cars
    assert (data / "run/pictures/cells-iou-0.6.png").exists()
    assert list((data / "run/runs/spec/results/cases").glob("*.parquet"))


def test_what_was_tested_is_written_down_and_verified(data: Path, roadworthy: Run) -> None:
    (data / "sub").mkdir()
    (data / "truth").rename(data / "sub/truth")
    (data / "bind.yaml").write_text("functions: {near: [275, 375]}\n")
    options = ("--truth", "kitti:sub/truth", "--bind", "bind.yaml", "--size", "1242x375")
    roadworthy("bbsl", "test", "spec.bbsl", *options, "--detections", "results", "--out", "run")
    manifest = json.loads((data / "run/manifest.json").read_text())
    assert manifest["ended"]
    sums = {name: one["sha256"] for name, one in manifest["suite"].items()}
    assert (
        sums.items()
        >= {
            name: sha256((data / name).read_bytes()).hexdigest() for name in ("spec.bbsl", "bind.yaml")
        }.items()
    )
    (data / "bind.yaml").unlink()
    same = roadworthy("evidence", "verify", "run", "--rerun", "9")
    assert same.exit_code == 0, same.output
    assert "3 cases were run again: 3 came out the same to the last bit" in same.output
    (data / "results/a.txt").write_text(boxes((600, 180, 700, 300), score=" 0.9"))
    other = roadworthy("evidence", "verify", "run", "--rerun", "9")
    assert other.exit_code == 1
    assert "manifest: model results" in other.output
    assert "case 'a#0': status was 'violated' and is 'passed'" in other.output


def test_test_for_scripts(data: Path, roadworthy: Run) -> None:
    result = roadworthy(*TEST, "--json", "--outside", "apart", "--classes", "car,truck", "--allow", "60%")
    document = json.loads(result.stdout)
    assert document["table"]["apart"] == {"not detected": 1}
    assert document["table"]["specification"] == {"passed": 1, "failed": 1, "share": 0.5}
    assert document["margins"]["50%"] == pytest.approx(74)
    assert document["status"] == "inconclusive"  # two test cases show nothing with confidence
    assert result.exit_code == 3
    only = json.loads(roadworthy(*TEST, "--json", "--classes", "truck").stdout)
    assert only["counts"]["violated"] == 1


def test_whole_frames_and_bindings_from_a_file(data: Path, roadworthy: Run) -> None:
    (data / "all.bbsl").write_text(
        "exfunction cars(): setBB near(): interval endexfunction "
        "case stop exists x in cars(). (PROJ_y(x) ~ near()) endcase "
        "case go forall x in cars(). (not (PROJ_y(x) ~ near())) endcase"
    )
    (data / "bind.yaml").write_text("functions:\n  cars: {boxes: vehicle}\n  near: [275, 375]\n")
    options = (
        "--truth",
        "kitti:truth",
        "--size",
        "1242x375",
        "--bind",
        "bind.yaml",
        "--detections",
        "results",
    )
    document = json.loads(roadworthy("bbsl", "test", "all.bbsl", *options, "--json").stdout)
    assert document["counts"]["violated"] == 2
    assert document["table"]["iou"] == {}


def test_coco_files_do_as_well(data: Path, roadworthy: Run) -> None:
    (data / "coco/images").mkdir(parents=True)
    (data / "coco/annotations").mkdir()
    write_image(data / "coco/images/a.png", np.zeros((375, 1242, 3), np.uint8))
    image = {"id": 1, "file_name": "a.png", "width": 1242, "height": 375}
    note = {"id": 1, "image_id": 1, "category_id": 3, "bbox": [600, 180, 100, 120], "iscrowd": 0}
    truth = {"images": [image], "annotations": [note], "categories": [{"id": 3, "name": "car"}]}
    result = {"image_id": 1, "category_id": 3, "bbox": [600, 180, 100, 90], "score": 0.9}
    (data / "coco/annotations/instances.json").write_text(json.dumps(truth))
    (data / "found.json").write_text(json.dumps([result]))
    options = ("--detections", "found.json", "--annotations", "coco/annotations/instances.json")
    told = roadworthy(
        "bbsl", "test", "spec.bbsl", "--truth", "coco:coco", *options, "--set", "near=275,375", "--json"
    )
    document = json.loads(told.stdout)
    # The lower edge is at 270 and not at 300: an IoU of 0.75 that makes the vehicle drive on.
    assert document["table"]["iou"]["0.6"]["passed"] == 1
    assert document["table"]["specification"]["failed"] == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--truth", "kitti:truth", "--set", "near=275,375", "--detections", "results"),
            "labels: 1242x375, or --size, tests labels",
        ),
        ((*ON,), "either --detections PATH or --model MODEL"),
        ((*ON, "--detections", "nowhere"), "there is no such file or folder"),
        ((*ON, "--detections", "truth"), "has no KITTI results"),
        ((*ON, "--detections", "results", "--iou", "6"), "thresholds above 0 and up to 1"),
        ((*ON, "--detections", "results", "--matching", "x"), "matching: expected"),
        ((*ON, "--detections", "results", "--object", "car"), "no function of type bb is called 'car'"),
        ((*ON, "--detections", "results", "--classes", "unicorn"), "unicorn"),
        ((*ON, "--detections", "results", "--invalid", "x"), "'x' is not one of"),
        ((*ON, "--detections", "results", "--set", "near"), "such as --set near=275,375"),
        ((*ON, "--detections", "results", "--set", "x=far"), "--set x: a value is true, false, a number"),
        (("--truth", "kitti:truth", "--size", "1242x375", "--detections", "results"), "bound to near()"),
        (
            ("--truth", "kitti:results", "--size", "9x9", "--set", "near=1,2", "--detections", "results"),
            "has no frames",
        ),
    ],
)
def test_test_ends_with_two_and_says_why(
    data: Path, roadworthy: Run, options: tuple[str, ...], message: str
) -> None:
    result = roadworthy("bbsl", "test", "spec.bbsl", *options)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


def test_turned_detections_are_errors_or_skipped(data: Path, roadworthy: Run) -> None:
    (data / "results/b.txt").write_text(boxes((600, 100, 400, 350), score=" 0.9"))
    document = json.loads(roadworthy(*TEST, "--json").stdout)
    assert document["counts"]["error"] == 1
    skipped = json.loads(roadworthy(*TEST, "--json", "--invalid", "skip").stdout)
    assert skipped["counts"] == {"passed": 1, "violated": 2, "not applicable": 0, "error": 0}


def test_a_frame_without_results_is_an_error(data: Path, roadworthy: Run) -> None:
    (data / "results/b.txt").unlink()
    result = roadworthy(*TEST, "--json")
    assert json.loads(result.stdout)["counts"]["error"] == 1
    assert result.exit_code == 1


def test_cover_measures_and_makes_boxes_on_the_border(data: Path, roadworthy: Run) -> None:
    result = roadworthy("bbsl", "cover", "spec.bbsl", *ON, "--boundary", "2", "--out", "covered", "--json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["inputs"] == 3
    assert document["cases"] == {"share": 1.0, "counts": {"stop": 2, "NOT stop": 1}}
    # The near car's lower edge is 25 pixels inside the zone: its nearest box that is not to be stopped for.
    first = next(one for one in document["boundary"] if one["frame"] == "a" and one["object"] == 0)
    assert first["after"] == ["NOT stop"]
    assert first["box"] == pytest.approx([600, 180, 700, 275], abs=0.05)
    assert (data / "covered/coverage.png").exists()
    shown = roadworthy("bbsl", "cover", "spec.bbsl", *ON, "--boundary", "1", "--least", "100%")
    assert shown.exit_code == 1  # vehicleExists() was never false
    assert "vehicleExists() = true" in shown.output


def test_a_grid_needs_columns_and_rows(data: Path, roadworthy: Run) -> None:
    result = roadworthy("bbsl", "cover", "spec.bbsl", *ON, "--grid", "0x3")
    assert result.exit_code == 2
    assert "--grid is written COLUMNSxROWS, such as 12x5, got '0x3'" in " ".join(result.output.split())


def test_only_the_box_of_an_object_can_be_moved_to_a_border(data: Path, roadworthy: Run) -> None:
    bound = (*ON, "--set", "vehicle=1,2,3,4", "--set", "vehicleExists=true")
    result = roadworthy("bbsl", "cover", "spec.bbsl", *bound, "--boundary", "1")
    assert result.exit_code == 2
    assert "every function is bound: leave one of type bb unbound" in " ".join(result.output.split())


def test_draw_shows_cases_or_a_frame(data: Path, roadworthy: Run) -> None:
    cases = roadworthy("bbsl", "draw", "spec.bbsl", "--out", "cases.png", "--json")
    assert json.loads(cases.stdout)["cases"] == ["stop", "NOT stop"]
    frame = roadworthy("bbsl", "draw", "spec.bbsl", *ON, "--frame", "b", "--out", "frame.svg", "--json")
    assert json.loads(frame.stdout)["frame"] == "b"
    assert (data / "cases.png").exists()
    assert b"<svg" in (data / "frame.svg").read_bytes()
    assert "has no frame 'c'" in roadworthy("bbsl", "draw", "spec.bbsl", *ON, "--frame", "c").output
    assert roadworthy("bbsl", "draw", "spec.bbsl", "--out", "cases.txt").exit_code == 2
    assert "add --truth DATA" in roadworthy("bbsl", "draw", "spec.bbsl", "--frame", "b").output


def test_a_suite_gives_the_papers_table_3(data: Path, roadworthy: Run) -> None:
    (data / "suite.yaml").write_text(
        "tests:\n"
        "  ID1: {spec: spec.bbsl, values: {near: [275, 375]}, data: Td1, system: SUT1}\n"
        "  ID2: {spec: spec.bbsl, values: {near: [100, 375]}, data: Td1, system: SUT1}\n"
    )
    options = ("--size", "1242x375", "--data", "Td1=kitti:truth", "--system", "SUT1=results")
    result = roadworthy("bbsl", "suite", "suite.yaml", *options, "--json")
    shares = {
        one["id"]: one["table"]["specification"]["passed"] for one in json.loads(result.stdout)["tests"]
    }
    assert shares == {"ID1": 1, "ID2": 2}
    assert "ID2" in roadworthy("bbsl", "suite", "suite.yaml", *options).output
    missing = roadworthy("bbsl", "suite", "suite.yaml", "--data", "Td1=kitti:truth", "--size", "9x9")
    assert missing.exit_code == 2
    assert "--system SUT1=" in missing.output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tests: {}", "tests: expected at least one"),
        ("others: 1", "unknown key 'others'"),
        ("tests: {A: 3}", "tests > A: expected a mapping, got 3"),
        ("tests: {A: {spek: x}}", "did you mean 'spec'"),
        ("tests: {A: {spec: x, data: y}}", "tests > A needs the key 'system'"),
        ("tests: {A: {spec: x, data: y, system: z, values: 3}}", "values: expected a mapping"),
    ],
)
def test_suites_that_cannot_be_read(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "suite.yaml").write_text(text)
    with pytest.raises(InputError, match=message):
        load_suite(tmp_path / "suite.yaml")


def test_the_papers_table_2_is_an_example() -> None:
    tests = load_suite(Path(__file__).parents[2] / "examples/bbsl/table2.yaml")
    assert [one.id for one in tests] == [f"ID{number}" for number in range(1, 12)]
    assert all(one.spec.is_file() for one in tests)
    assert [one.id for one in tests if one.system == "SUT2"] == ["ID2", "ID8", "ID9"]
    assert [one.id for one in tests if one.data == "Td2"] == ["ID10", "ID11"]
