"""What reports say and draw where something is missing, empty, exactly at a border, or too much."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.kept import described
from tests.report.runs_for_reports import add, requirement_of
from tests.report.test_films import a_drive
from tests.report.test_kept import scene

from roadworthy.bbsl import parse
from roadworthy.bbsl.testing import TestRow
from roadworthy.bbsl.values import Interval
from roadworthy.cases import Acceptance, Status
from roadworthy.driving.drives import Drive
from roadworthy.driving.drives.readers import write_drive
from roadworthy.driving.simulators import DriveLimits, open_simulator
from roadworthy.driving.simulators import drive as closed_loop
from roadworthy.errors import InputError
from roadworthy.frames import Frame, Signals
from roadworthy.models import callable_model
from roadworthy.report import plots, result_files, specifications
from roadworthy.report.bbsl import _around, _margin
from roadworthy.report.comparison import _markdown
from roadworthy.report.drive_tables import DriveReport
from roadworthy.report.driving import Film, film_of
from roadworthy.report.html.cards import MOST_PIXELS, Thumbnails, changed_region, small_copy, thresholds_of
from roadworthy.report.html.figures import figures_of
from roadworthy.report.html.page import Fact, facts_of
from roadworthy.report.plots import growth_figure, write_measured
from roadworthy.report.results import Standing, _sentence, clipped, number, percent, results_of
from roadworthy.report.sheets import transform_strip, variants
from roadworthy.report.specifications import SpecificationCoverage, draw_cases, paper_suite, zones_of
from roadworthy.runs.comparison import compare
from roadworthy.transforms import kind_of

AGAIN = "record the drive again with `driving drive --frames --out"


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> tuple[Drive, Path]:
    """A short drive in the world, with what says where it was driven, and no frames."""
    folder = tmp_path_factory.mktemp("driven")
    answers = [Signals(steering=2.0 * math.sin(step), speed=4.0 + step) for step in range(12)]
    rows = iter(answers * 9)
    model = callable_model(lambda frames: [next(rows) for _ in frames], name="lap")
    limits = DriveLimits(laps=None, seconds=1.0, standing=math.inf, events=())
    drive = closed_loop(model, open_simulator("world:town", traffic=0), limits=limits)
    (folder / "drive.json").write_text('{"simulator": "world:town", "options": {"traffic": 0}}')
    return drive, folder


def test_a_drive_in_the_world_is_driven_again_for_its_frames(driven: tuple[Drive, Path]) -> None:
    drive, folder = driven
    film = film_of(drive, folder)
    assert len(film) == len(drive) > 5
    assert film._times == drive.time.tolist()
    assert film._image(0).shape == (160, 320, 3)


@pytest.mark.parametrize(
    ("about", "words"),
    [
        (None, "no frames were kept, and no drive.json says where it was driven: "),
        ({}, "no frames were kept, and it cannot be driven again: "),
        ({"simulator": "donkey:here"}, "no frames were kept, and donkey:here cannot be driven again: "),
        ({"simulator": "world:meadow"}, "driven again by what the model answered, it takes another way"),
    ],
)
def test_a_drive_that_cannot_be_driven_again(
    driven: tuple[Drive, Path], tmp_path: Path, about: dict[str, str] | None, words: str
) -> None:
    if about is not None:
        (tmp_path / "drive.json").write_text(json.dumps(about))
    with pytest.raises(InputError) as refused:
        film_of(driven[0], tmp_path)
    assert str(refused.value).startswith(f"{tmp_path}: {words}")
    assert str(refused.value).endswith(f"{AGAIN} {tmp_path}`")


@pytest.mark.parametrize("missing", ["answered_steering", "answered_speed", "x", "y", "speed"])
def test_without_what_was_answered_or_where_it_went_there_is_no_second_drive(
    driven: tuple[Drive, Path], missing: str
) -> None:
    drive, folder = driven
    signals = {name: values for name, values in drive.signals.items() if name != missing}
    with pytest.raises(InputError, match="world:town cannot be driven again"):
        film_of(Drive(drive.name, drive.time, signals), folder)


def test_a_way_that_differs_a_little_is_another(driven: tuple[Drive, Path]) -> None:
    drive, folder = driven
    for name in ("x", "y", "speed"):
        for much, same in ((2e-8, True), (0.05, False)):
            changed = {**drive.signals, name: drive.signals[name] + much}
            again = Drive(drive.name, drive.time, changed)
            if same:
                assert len(film_of(again, folder)) == len(drive)
            else:
                with pytest.raises(InputError, match="it takes another way"):
                    film_of(again, folder)


def test_frames_that_were_kept_are_one_for_each_row(tmp_path: Path) -> None:
    film, drive = Film(), a_drive()
    for place in range(40):
        film.add(Frame(str(place), np.full((30, 60, 3), place, np.uint8)), place / 10)
    film.save(tmp_path / "frames.zip")
    assert len(film_of(drive, tmp_path)) == 40
    film.add(Frame("more", np.zeros((30, 60, 3), np.uint8)), 4.0)
    film.save(tmp_path / "frames.zip")
    with pytest.raises(InputError, match=r"frames.zip: expected a frame for each of 40 rows, got 41$"):
        film_of(drive, tmp_path)


def report_of(folder: Path, drive: Drive, *, frames: bool) -> DriveReport:
    """Return the report of a drive that was recorded, without a run."""
    report = DriveReport.__new__(DriveReport)
    report._spread, report._driven = [], [(0, drive)]
    report.folder, report._settings, report._model = folder, None, "mine"  # type: ignore[assignment]
    report._scenario = SimpleNamespace(simulator="world:town", options={"traffic": 0})  # type: ignore[assignment]
    report._kept, report._frames = folder / "kept.parquet", folder / "kept.zip"
    report.video, report.problem = None, ""
    write_drive(drive, report._kept)
    if frames:
        film = Film()
        for place in range(len(drive)):
            film.add(Frame(str(place), np.full((30, 60, 3), place, np.uint8)), float(drive.time[place]))
        film.save(report._frames)
    return report


@pytest.mark.parametrize(
    ("video", "crash", "film", "sector"),
    [
        ("none", True, None, None),
        ("failing", False, None, None),
        ("failing", True, "d-1-e.gif", "d/1 e"),
        ("all", False, "drive.gif", None),
        ("b", True, "b.gif", "b"),
    ],
)
def test_which_film_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, video: str, crash: bool, film: str | None,
    sector: str | None,
) -> None:  # fmt: skip
    plain = a_drive()
    events = plain.events if crash else {}
    names = ("a", "b", "c", "d/1 e")
    drive = Drive("lap", plain.time, plain.signals, events, sectors=plain.sectors, sector_names=names)
    written: list[Any] = []
    monkeypatch.setattr(Film, "write", lambda _, path, drive, *, sector: written.append((path, sector)))
    report = report_of(tmp_path, drive, frames=True)
    report.write("SP", video, "gif", frames=False)
    assert report.video == film
    assert written == ([] if film is None else [(tmp_path / film, sector)])
    assert json.loads((tmp_path / "drive.json").read_text())["video"] == film
    assert not (tmp_path / "frames.zip").exists()


def test_a_film_that_cannot_be_written_loses_nothing_else(tmp_path: Path) -> None:
    report = report_of(tmp_path, a_drive(), frames=True)
    report.write("SP", "nowhere", "gif", frames=True)
    assert report.problem.startswith("drive lap has no sector 'nowhere'")
    assert report.video is None
    assert {one.name for one in tmp_path.iterdir()} == {
        *("drive.parquet", "metrics.csv", "drive.png", "drive.json", "frames.zip", "kept.zip", "kept.parquet")
    }
    told = report.lines()[-1]
    assert isinstance(told, dict)
    assert told == {
        "failing sectors": "d",
        "written": f"{tmp_path}: drive.parquet, metrics.csv, drive.json, drive.png, frames.zip",
    }


def test_without_frames_a_drive_has_no_film(tmp_path: Path) -> None:
    report = report_of(tmp_path, a_drive(), frames=False)
    report.write("SP", "all", "gif", frames=True)
    assert (report.video, report.problem, (tmp_path / "frames.zip").exists()) == (None, "", False)
    assert str(report.lines()[0]).startswith("lap in world:town: ")
    assert "frames.zip" not in str(report.lines()[-1])
    report.video = "drive.gif"
    assert "drive.png, drive.gif" in str(report.lines()[-1])


def test_the_suite_of_the_paper_has_a_line_for_each_test(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = {("A", "yolo"): {0.6: "3/4", 0.8: "2/4"}, ("B", "ssd"): {0.5: "1/2", 0.8: "0/2"}}

    def report(result: object, id: str, model: str, thresholds: Any) -> Any:
        assert thresholds == (0.6, 0.8)
        trial = SimpleNamespace(requirement=SimpleNamespace(id=id), data=f"data of {id}")
        comparison = SimpleNamespace(iou=shares[id, model], specification=f"{id} holds")
        document = {"counts": len(id), "specification": "gone"}
        return SimpleNamespace(trial=trial, system=model, comparison=comparison, document=lambda: document)

    monkeypatch.setattr(specifications, "SpecificationReport", report)
    tests: Any = [
        SimpleNamespace(id=id, spec=Path(f"specs/{id}.bbsl"), values=(("near", id),)) for id in ("B", "A")
    ]
    result: Any = SimpleNamespace(outcomes=shares)
    (table,), document = paper_suite(result, tests)
    assert table.columns == ("test", "data", "system", "IoU 0.6", "IoU 0.8", "IoU 0.5", "specification")
    assert table.rows == (
        ("A", "data of A", "yolo", "3/4", "2/4", "", "A holds"),
        ("B", "data of B", "ssd", "", "0/2", "1/2", "B holds"),
    )
    assert document == {
        "tests": [
            {"counts": 1, "specification": "A", "id": "A", "values": {"near": "A"}},
            {"counts": 1, "specification": "B", "id": "B", "values": {"near": "B"}},
        ]
    }


def test_zones_are_in_image_pixels() -> None:
    head = (
        "exfunction v(): bb near(): interval wide(): interval free(): interval odd(): interval endexfunction "
    )
    spec = parse(
        head + "case stop PROJ_y(v()) ~ near() and PROJ_x(v()) ~ wide() and PROJ_y(v()) ~ odd() and "
        "PROJ_x(v()) ~ free() endcase"
    )
    sources: dict[str, Any] = {
        "near": Interval(10, 40),
        "wide": Interval(10, 40),
        "odd": (1, 2),
        "free": None,
        "v": (3, 4),
    }
    method = SimpleNamespace(spec=spec, bindings=SimpleNamespace(sources=sources))
    assert zones_of(method, 100.0) == {"near": ("y", [60, 90]), "wide": ("x", [10, 40]), "odd": ("y", [1, 2])}
    sources["odd"] = (1, 2, 3)
    assert "odd" not in zones_of(method, 100.0)


def test_specifications_that_cannot_be_drawn_or_moved() -> None:
    never = parse("exfunction v(): bb endexfunction case x PROJ_y(v()) < PROJ_y(v()) endcase", path="a.bbsl")
    with pytest.raises(
        InputError, match=r"^a.bbsl: no case was found to hold for any input: see `roadworthy"
    ):
        draw_cases(never)
    method: Any = SimpleNamespace(role=None)
    with pytest.raises(InputError, match="--boundary moves the box of the object under test, but every"):
        SpecificationCoverage(method, [], boundary=1)  # type: ignore[arg-type]


def a_row(truth: Any, detection: Any, margin: float = 1.0) -> TestRow:
    return TestRow("a", ("stop",), ("go",), False, margin, 0.7, truth, detection)


def test_an_example_is_shown_round_its_object() -> None:
    assert _around(a_row(None, None), 200, 100) == (0.0, 0.0, 200, 100)
    assert _around(a_row((95, 45, 105, 55), None), 200, 100) == (60.0, 30.0, 140.0, 70.0)
    assert _around(a_row((0, 0, 10, 10), None), 200, 100) == (0.0, 0.0, 80.0, 40.0)
    assert _around(a_row((190, 90, 200, 100), None), 200, 100) == (120.0, 60.0, 200.0, 100.0)
    # Both boxes, two and a half times as large as they are.
    assert _around(a_row((80, 40, 100, 50), (100, 40, 120, 60)), 200, 100) == (50.0, 25.0, 150.0, 75.0)
    assert _around(a_row((0, 0, 190, 10), None), 200, 100) == (0.0, 0.0, 200.0, 100.0)
    assert _margin(a_row((1, 1, 2, 2), None)) == "not detected"
    assert _margin(a_row(None, (1, 1, 2, 2), 1.25)) == "margin +1.25 px"
    assert _margin(a_row(None, (1, 1, 2, 2), math.inf)) == ""


def test_a_long_comparison_shows_thirty_lines(tmp_path: Path) -> None:
    run = add(tmp_path, [("a", 1.0, {}, {})])
    found = compare(run, run)
    object.__setattr__(found, "differences", found.differences * 31)
    text = _markdown(found)
    assert text.count("**R") == 30
    assert "\n1 more, none of them worse, are not shown.\n" in text


def test_images_that_are_too_large_are_made_smaller() -> None:
    import base64

    import cv2

    def size(image: Any) -> tuple[int, ...]:
        data = base64.b64decode(small_copy(image).partition(",")[2])
        return np.asarray(cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)).shape

    most = MOST_PIXELS
    assert size(np.zeros((20, most, 3), np.uint8)) == (20, most, 3)
    assert size(np.zeros((40, 2 * most, 3), np.uint8)) == (20, most, 3)
    assert size(np.zeros((4 * most, 10, 3), np.uint8)) == (2 * most, 5, 3)
    assert size(np.zeros((1, 4 * most, 3), np.uint8)) == (1, most, 3)
    red = np.zeros((16, 16, 3), np.uint8)
    red[..., 0] = 250
    data = base64.b64decode(small_copy(red).partition(",")[2])
    read = np.asarray(cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR))
    assert read[8, 8].argmax() == 2  # blue, green, red


def test_where_two_images_differ() -> None:
    street = np.zeros((100, 200, 3), np.uint8)
    assert changed_region(street, street) is None
    assert changed_region(street, street[:50]) is None
    corner = street.copy()
    corner[0, 0] = corner[0, 199] = 255
    assert changed_region(street, corner) == (0.0, 0.0, 200.0, 5.0)
    for much, seen in ((255, True), (1, False)):
        dot = street.copy()
        dot[99, 100, 1] = much
        assert (changed_region(street, dot) is not None) is seen
    small = np.zeros((10, 20, 3), np.uint8)
    dot = small.copy()
    dot[5, 10] = 255
    assert changed_region(small, dot) == (8.0, 3.0, 13.0, 8.0)


def test_a_page_without_room_makes_no_more_images(tmp_path: Path) -> None:
    run = add(tmp_path, [("a", -1.0, {}, {})])
    (row,) = run.worst(count=1)
    digests = str(row["images"]).split()
    full = Thumbnails(run, 0)
    assert (full.spent, full.of(digests), full.missing) == (True, None, 0)
    one = Thumbnails(run, 1)
    found = one.of(digests)
    assert found is not None
    assert [(image.width, image.height, image.digest) for image in found] == [
        (96, 48, digest) for digest in digests
    ]
    assert one.spent
    assert one.of(digests) is None
    gone = Thumbnails(run, 10**6)
    assert gone.of(["0" * 64]) == []
    assert (gone.missing, gone.spent) == (1, False)


@pytest.mark.parametrize(
    ("oracle", "found"),
    [
        (None, {}),
        ({"thresholds": [1]}, {}),
        ({"thresholds": {"SD(LP)": 1}}, {"SD(LP)": (1.0, "≤")}),
        ({"thresholds": {"SD(LP)": 1, "b": "x"}, "directions": {"SD(LP)": "down"}}, {"SD(LP)": (1.0, "≥")}),
    ],
)
def test_thresholds_of_an_oracle(oracle: Any, found: dict[str, Any]) -> None:
    asked = requirement_of("D", method="driving", parameters={} if oracle is None else {"oracle": oracle})
    assert thresholds_of(asked) == found


def test_figures_that_have_nothing_to_show(tmp_path: Path) -> None:
    oracle = {"thresholds": {"SD(LP)": 0.2, "gone": 1.0, "null": 1.0}, "directions": {}}
    asked = requirement_of("D", method="driving", parameters={"oracle": oracle})
    rows: list[tuple[Any, ...]] = [
        ("a", -1.0, {}, {"SD(LP)": 0.3, "null": None}),
        ("b", 1.0, {}, {"SD(LP)": 0.1, "null": None}),
    ]
    run = add(tmp_path / "d", rows, requirement=asked)
    titles = [str(one.caption) for one in figures_of(run, results_of(run)[0])]
    assert len(titles) == 1
    for name, measures in (("bare", {}), ("empty", {"coverage": None, "gain": None})):
        searched = requirement_of("C", method="coverage")
        run = add(tmp_path / name, [("try 1", -1.0, {"transform": "x"}, measures)], requirement=searched)
        assert all("Coverage" not in one.title for one in figures_of(run, results_of(run)[0]))


def test_a_manifest_is_told_up_to_a_number_of_lines(tmp_path: Path) -> None:
    run = add(tmp_path / "a", [("a", 1.0, {}, {})])
    assert facts_of(run) == []
    groups = {f"g{group}": {f"m{n}": n for n in range(39)} for group in range(5)}
    for more in (0, 1, 2):
        known = groups | {f"x{n}": n for n in range(more)}
        facts = facts_of(add(tmp_path / str(more), [("a", 1.0, {}, {})], manifest=known))
        assert len(facts) == 200 + bool(more)
        if more:
            assert facts[-1] == Fact("…", f"{more} more in manifest.json", 0)
    many = facts_of(add(tmp_path / "many", [("a", 1.0, {}, {})], manifest={f"m{n}": n for n in range(41)}))
    assert [one.name for one in many] == [*(f"m{n}" for n in range(40)), "…"]
    assert many[-1].value == "1 more"


def test_what_was_measured_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    monkeypatch.setattr(plots, "save", lambda figure, path: drawn.append(f"{path.name} {described(figure)}"))
    growth = [(10, {"neuron": 0.5}), (20, {"neuron": 0.6})]
    for model, title in (("dave2", "Coverage of dave2"), ("", "Coverage of the operating domain")):
        found: Any = SimpleNamespace(
            growth=growth, model=model, as_dict=lambda: {"a": 1}, holes=lambda: ["fog", "rain"]
        )
        write_measured(tmp_path / "new" / "out", found)
        assert drawn[-1].startswith("growth.png")
        assert title in drawn[-1]
    assert (tmp_path / "new/out/holes.txt").read_text() == "fog\nrain\n"
    assert json.loads((tmp_path / "new/out/coverage.json").read_text()) == {"a": 1}
    found.growth = []
    write_measured(tmp_path / "none", found)
    assert len(drawn) == 2
    with pytest.raises(InputError, match="expected how coverage grew, got no point of it"):
        growth_figure([], title="x")


def test_presets_of_a_transform_without_an_amount_are_its_variants() -> None:
    import re

    from roadworthy.registry import transforms

    kinds = [kind for kind in map(kind_of, transforms.names()) if kind.presets and not kind.has_amount()]
    assert kinds
    for kind in kinds:
        shown = variants(kind, 3)
        assert shown == tuple(kind.preset(name) for name in kind.presets)[:2]
    with pytest.raises(InputError, match="a strip needs at least one frame and one transform"):
        transform_strip([], variants(kind_of("rotation"), 2))
    with pytest.raises(InputError, match=re.escape("a strip needs at least one frame")):
        transform_strip([scene()], [])


@pytest.mark.parametrize(
    ("counted", "failed", "sentence"),
    [
        ({}, 0, "Nothing was tested."),
        ({Standing.PASSED: 1}, 0, "The requirement held in every case tried."),
        ({Standing.PASSED: 1}, 1, "The requirement held as often as required."),
        ({Standing.PASSED: 1200}, 0, "All 1,200 requirements held in every case tried."),
        ({Standing.VIOLATED: 1}, 1, "The requirement is violated."),
        ({Standing.UNFINISHED: 1}, 0, "The requirement was not fully tested."),
        ({Standing.VIOLATED: 1, Standing.PASSED: 4}, 1, "1 of 5 requirements is violated."),
        (
            {Standing.VIOLATED: 2, Standing.UNFINISHED: 1, Standing.INCONCLUSIVE: 3, Standing.PASSED: 1}, 9,
            "2 of 7 requirements are violated; 1 was not fully tested; 3 need more cases to decide.",
        ),
        ({Standing.INCONCLUSIVE: 1, Standing.PASSED: 1}, 0, "1 of 2 requirements needs more cases to decide."),  # noqa: E501
    ],
)  # fmt: skip
def test_what_came_of_everything_in_a_sentence(counted: Any, failed: int, sentence: str) -> None:
    numbers = {one: counted.get(one, 0) for one in Standing}
    for status in (Status.VIOLATED, Status.ERROR):
        cases = {Status.VIOLATED: 0, Status.ERROR: 0, status: failed}
        assert _sentence(numbers, sum(counted.values()), cases) == sentence


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (math.nan, "no number"), (math.inf, "∞"), (-math.inf, "−∞"), (0.0, "0"), (99.96, "100"),
        (100.4, "100"), (999.4, "999"), (1000.0, "1,000"), (-1234.5, "−1,234"),
        (9999999.0, "9,999,999"), (1e7, "1e+07"), (-0.5, "−0.5"),
    ],
)  # fmt: skip
def test_numbers_for_people(value: float, told: str) -> None:
    assert number(value) == told


@pytest.mark.parametrize(
    ("share", "told"),
    [
        (None, "–"), (0.0, "0%"), (1.0, "100%"), (0.9994, "99.9%"), (0.9995, ">99.9%"), (0.99951, ">99.9%"),
        (0.01, "1.0%"), (0.00999, "1.00%"), (0.001, "0.10%"), (0.000999, "0.100%"),
        (1e-8, "0.000001%"), (4e-9, "<0.000001%"),
    ],
)  # fmt: skip
def test_shares_for_people(share: float | None, told: str) -> None:
    assert percent(share) == told


def test_long_texts_are_cut() -> None:
    assert clipped("x" * 300) == "x" * 300
    assert clipped("x" * 301) == "x" * 299 + "…"
    assert clipped(" a\n b ", 3) == "a b"
    assert clipped("a" + " " * 100, 4) == "a…"


def test_a_violation_of_what_was_accepted_stands_as_violated(tmp_path: Path) -> None:
    rows: list[tuple[Any, ...]] = [(str(place), -1.0, {}, {}) for place in range(9)]
    (result,) = results_of(add(tmp_path, rows, requirement=requirement_of(acceptance=Acceptance(0.1))))
    assert result.standing is Standing.VIOLATED


def test_a_summary_says_no_more_than_there_is(tmp_path: Path) -> None:
    """Lines, notes and failures at the number up to which they are shown, and one beyond it."""
    calm = add(tmp_path / "calm", [("a", 1.0, {}, {})])
    text = result_files.write_summary(calm, tmp_path / "calm.md").read_text("utf-8")
    assert "worst failures" not in text
    assert "not shown" not in text
    for many, notes in ((30, 8), (31, 9)):
        folder = tmp_path / str(many)
        for place in range(many):
            rows: list[tuple[Any, ...]] = [("a", -1.0 if place < 4 else 1.0, {}, {})]
            manifest = {"notes": {"run": [f"note {n}" for n in range(notes)]}}
            run = add(folder, rows, requirement=requirement_of(f"R{place}"), images=False, manifest=manifest)
        text = result_files.write_summary(run, folder / "s.md").read_text("utf-8")
        assert text.count("| **R") == 30
        assert ("\n1 more, none of them worse, are not shown.\n" in text) is (many == 31)
        assert text.count("- note ") == 8
        assert ("\n- 1 more in manifest.json\n" in text) is (notes == 9)
        assert text.partition("**The worst failures**")[2].count("\n- R") == 3


def test_ten_warnings_of_a_comparison_are_shown(tmp_path: Path) -> None:
    run = add(tmp_path, [("a", 1.0, {}, {})])
    for many in (10, 11):
        found = compare(run, run)
        object.__setattr__(found, "warnings", tuple(f"warning {n}" for n in range(many)))
        assert _markdown(found).count("- warning ") == 10
