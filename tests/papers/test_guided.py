"""Images of a guided search beside their seed images, mutants from a folder, and ranking a whole run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.coverage.search.searching import Drive, searched
from tests.papers.test_ranking import outcome

from roadworthy.coverage.activations import Counting
from roadworthy.coverage.oracle import BrokenRelation, ModelAnswers
from roadworthy.coverage.parameter_sets import ParameterChoice, ParameterSet
from roadworthy.coverage.search.settings import SearchSettings
from roadworthy.errors import InputError, NotApplicable, SystemUnderTestError
from roadworthy.frames import Frame, Signals
from roadworthy.papers import reliability
from roadworthy.papers.deeptest import ask_models, comparison, faults, study_deviation, study_directions
from roadworthy.papers.deeptest.activity import Activity, HowCounted, observe_changes, steering_of
from roadworthy.papers.deeptest.comparison import Reached, add_every_change
from roadworthy.papers.deeptest.deviation import DeviationFinding, count_by_model, count_by_threshold
from roadworthy.papers.deeptest.directions import DirectionRow
from roadworthy.papers.deeptest.seeds import GuidedImages, SeedImages, Seeds
from roadworthy.papers.deeptest.statistics import Statistic, cohens_d, kendall, p_text, signed_rank, spearman
from roadworthy.papers.reliability import LevelStudy, benchmark_value, ranking_of, study_levels
from roadworthy.reliability import transformation_named
from roadworthy.reliability.checking import Pairs
from roadworthy.reliability.measures import Accuracy
from roadworthy.runs import read_rows
from roadworthy.runs.changed_images import stored_images
from roadworthy.transforms import make_transform

approx: Any = pytest.approx  # may stand beside what is exact in one tuple


class NamedDrive(Drive):
    """The drive of the search, which names its frames."""

    @property
    def ids(self) -> list[str]:
        return [f"drive/{number}" for number in range(self.count)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("guided") / "run"
    searched(out, NamedDrive(), tries=30, **{"lambda": 0.5})
    return out


def test_images_of_a_search_come_with_their_seed_images(folder: Path) -> None:
    seeds = SeedImages(NamedDrive(), (4,))
    images = GuidedImages(folder, seeds)
    stored = stored_images(folder)
    shown = list(images)
    assert [(original, frame.id) for original, frame in shown] == [(one.original, one.case) for one in stored]
    assert all(frame.image.shape == (24, 36, 3) for _, frame in shown)
    together = images.with_originals(seeds).numbers
    assert together == tuple(sorted({4, *(int(one.original.removeprefix("drive/")) for one in stored)}))
    passed = sum(row["status"] == "passed" and not row["images"] for row in read_rows(folder))
    told = [note for note in images.notes() if "tries that passed" in note]
    assert told == (
        [
            f"{passed} tries that passed have no stored image, so the violations are no share of "
            "what the search tried: search with --images all"
        ]
        if passed
        else []
    )
    # Of a shorter drive some frames are not there.
    few = NamedDrive(1 + min(int(one.original.removeprefix("drive/")) for one in stored))
    strange = sum(one.original not in few.ids for one in stored)
    notes = GuidedImages(folder, SeedImages(few, (0,))).notes()
    assert f"{strange} images of the search are of frames that are not in the data" in notes
    assert not any("not in the data" in note for note in images.notes())


def test_a_search_on_other_data_is_refused(folder: Path) -> None:
    class Elsewhere(NamedDrive):
        @property
        def ids(self) -> list[str]:
            return ["a", "b"]

    with pytest.raises(InputError, match="drive does not name its frames, so no search can be matched to it"):
        GuidedImages(folder, SeedImages(Drive(), (0,)))
    with pytest.raises(InputError, match=r"run has \d+ images, and none is of a frame of drive: .*'drive/"):
        GuidedImages(folder, SeedImages(Elsewhere(2), (0,)))

    told = folder / "search.json"
    before = told.read_text("utf-8") if told.exists() else None
    told.write_text('{"data": "another drive"}', "utf-8")
    try:
        with pytest.raises(InputError, match="run is a search on another drive, not on drive"):
            GuidedImages(folder, SeedImages(NamedDrive(), (0,)))
    finally:
        told.unlink()
        if before is not None:
            told.write_text(before, "utf-8")


def test_the_image_of_a_finding_is_the_one_with_its_error(folder: Path) -> None:
    images = GuidedImages(folder, SeedImages(NamedDrive(), (0,)))
    frames = list(images)
    ids = tuple(NamedDrive().ids)
    places = [ids.index(original) for original, _ in frames]
    pair = ("guided", "")
    labels = [float(place) for place in range(len(ids))]
    errors = [float(number) + 1 for number in range(len(frames))]
    answered = [labels[place] + error for place, error in zip(places, errors, strict=True)]
    answers = ModelAnswers(
        "m", labels, labels, {pair: answered},
        unit="deg", frames=ids, seeds={pair: places},
    )  # fmt: skip
    other = ModelAnswers("n", labels, labels, answers.changed, unit="deg", frames=ids, seeds={pair: places})
    study: Any = SimpleNamespace(answers=(other, answers))
    for number in {0, len(frames) // 2, len(frames) - 1}:
        original, frame = frames[number]
        worst = BrokenRelation(original, *pair, error=errors[number], margin=-1.0)
        found = images.image_of(study, DeviationFinding("m-001", "m", worst, 1, 0, 0, 0, inherited=False))
        assert found.id == frame.id


def test_frames_can_only_be_drawn_from_data_that_name_them() -> None:
    with pytest.raises(InputError, match="drive does not list frame ids, so none can be drawn: --sample 0"):
        _ = Seeds(SeedImages(Drive(3), (0, 1))).ids
    assert Seeds(SeedImages(NamedDrive(3), (2, 0))).ids == ["drive/2", "drive/0"]


class Transformation(SimpleNamespace):
    """What a ranking looks at of a transformation."""


def test_a_run_is_ranked_beside_its_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    stored: dict[tuple[str, str], list[float]] = {
        # Right on 3 of 4 levels and on 1 of 4; the originals of 'rain' are right on 1 of 2 and on 2 of 2.
        ("fog-levels", "a"): [1, 1, 0, 1], ("fog-levels", "b"): [1, 0, 0, 0],
        ("rain-c", "a"): [1, 0], ("rain-c", "b"): [1, 1],
    }  # fmt: skip
    asked = []

    def read(folder: tuple[str, str]) -> list[SimpleNamespace]:
        asked.append(folder)
        return [SimpleNamespace(margin=0.1, right=one) for one in stored[folder]] + [
            SimpleNamespace(margin=None, right=0.0)
        ]

    def pairs(verdicts: list[Any]) -> Pairs:
        right = [float(one.right) for one in verdicts]
        flat = np.zeros(len(right))
        wrong = [0.0] * len(right)
        levels = asked[-1][0] == "fog-levels"
        before, after = (wrong, right) if levels else (right, wrong)
        return Pairs(np.arange(len(right)), flat, flat, before=before, after=after)

    monkeypatch.setattr(reliability, "read_verdicts", read)
    monkeypatch.setattr(reliability, "collected", pairs)
    fog, rain = Transformation(name="fog", levels=(1, 2)), Transformation(name="rain", levels=())

    def asks(change: Transformation, preserve: str, sampling: str = "even") -> SimpleNamespace:
        return SimpleNamespace(
            transformation=change, measure=Accuracy(), preserve=preserve, sampling=sampling
        )

    requirements = {
        "fog-c": asks(fog, "correctness"), "fog-p": asks(fog, "prediction"),
        "fog-levels": asks(fog, "correctness", "levels"),
        "rain-c": asks(rain, "correctness"), "rain-p": asks(rain, "prediction"),
    }  # fmt: skip
    distances = {"fog-c": (0.2, 0.1), "fog-p": (0.3, 0.4), "rain-c": (0.1, 0.2), "rain-p": (0.5, 0.5)}
    outcomes = {("fog-levels", model): outcome(None) for model in "ab"}
    for id, both in distances.items():
        for model, distance in zip("ab", both, strict=True):
            found = outcome(distance)
            outcomes[id, model] = type(found)(
                "R", found.status, {}, None, "", {"distance": distance, "required": 0.9, "reached": 0.8}
            )
    result = SimpleNamespace(
        outcomes=outcomes,
        folder_of=lambda id, model: (id, model),
        plan=SimpleNamespace(models={"a": None, "b": None}),
    )
    report: Any = SimpleNamespace(requirements=requirements, result=result)
    tables, rows = ranking_of(report)
    assert sorted(asked) == sorted(stored), "only what the benchmarks rest on is read"
    assert [table.title for table in tables] == ["fog: accuracy", "rain: accuracy"]
    assert "ImageNet-C's five levels" in tables[0].note
    assert "the original images" in tables[1].note
    told = {(row["transformation"], row["model"]): row for row in rows}
    assert {key: (row["benchmark"], row["benchmark_place"]) for key, row in told.items()} == {
        ("fog", "a"): (0.75, 1), ("fog", "b"): (0.25, 2), ("rain", "b"): (1.0, 1), ("rain", "a"): (0.5, 2),
    }  # fmt: skip
    assert [(row["places"], row["gaps"]) for row in rows] == [
        ({"correctness": 2, "prediction": 1}, ["correctness"]),
        ({"correctness": 1, "prediction": 2}, []),
        ({"correctness": 2, "prediction": 1}, ["correctness"]),
        ({"correctness": 1, "prediction": 1}, []),
    ]


def test_a_benchmark_needs_the_truth() -> None:
    nothing = np.zeros(0)
    pairs = Pairs(np.zeros(0, np.intp), nothing, nothing)
    assert benchmark_value(pairs, Accuracy()) is None
    assert benchmark_value(pairs, Accuracy(), changed=False) is None


def test_levels_as_json() -> None:
    values = np.array([[0.2, 0.4], [0.6, 0.9]])
    study = LevelStudy("fog", 0.8, 0.5, values, np.array([0.1, 0.75]), np.zeros(0))
    assert study.as_dict() == {
        "transformation": "fog", "t_c": 0.8, "t_p": 0.5, "levels": [0.2, 0.9], "levels_mean": [0.3, 0.75],
        "levels_beyond": 0.25, "largest_even": 0.75,
        "covered": {"levels": 0.3, "published": 0.0, "even": 0.2},
    }  # fmt: skip
    empty = LevelStudy("x", None, None, np.zeros((0, 0)), np.zeros(0), np.zeros(0)).as_dict()
    assert (empty["levels"], empty["levels_mean"], empty["levels_beyond"], empty["largest_even"]) == (
        None, [], None, None,
    )  # fmt: skip
    # A tenth counts from one in a hundred values on, and the limit itself is inside.
    at = LevelStudy("x", 1.0, None, np.zeros((0, 0)), np.zeros(0), np.zeros(0))
    assert at.covered(np.array([0.05] * 99 + [1.0])) == pytest.approx(0.2)
    assert at.covered(np.array([0.05] * 101 + [1.0])) == pytest.approx(0.1)
    assert LevelStudy("x", 0.5, None, np.array([[0.5, 0.6]]), np.zeros(0), np.zeros(0)).beyond == 0.5


def test_frames_that_a_change_does_not_apply_to_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    class Pictures(list[Frame]):
        name = "pictures"

    changes = iter([0.1, None, 0.3])

    def made(data: Any, transformation: Any, limit: float, **how: Any) -> Any:
        assert (how["versions"], how["sampling"], limit) == (3, "even", approx(0.77))

        def changed() -> SimpleNamespace:
            if (value := next(changes)) is None:
                raise NotApplicable("no sky")
            return SimpleNamespace(visual_change=value)

        return [(None, None, None, changed)] * 3

    monkeypatch.setattr(reliability, "changed_frames", made)
    contrast = transformation_named("contrast")
    plain: Any = SimpleNamespace(name=contrast.name, levels=(), published=None)
    done: list[int] = []
    data: Any = Pictures([Frame("a", np.zeros((4, 4, 3), np.uint8))])
    (study,) = study_levels(data, [plain], versions=3, progress=lambda: done.append(1))
    assert study.even.tolist() == [0.1, 0.3]
    assert (study.levels.size, study.published.size, done) == (0, 0, [1])


def test_mutants_that_a_folder_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from roadworthy.training.mutants import saving

    kept = [
        {"name": "a", "folder": "one"},
        {"name": "b", "folder": "two", "failed": "no memory"},
        {"name": "c", "folder": "three", "fate": "equivalent"},
        {"name": "d", "folder": "four", "fate": "killed"},
    ]
    monkeypatch.setattr(saving, "read_mutants", lambda folder: kept if folder == tmp_path else kept[1:3])
    monkeypatch.setattr(faults, "load_model", lambda path, *, name: (path, name))
    found: Any = faults.read_faults(tmp_path)
    assert found == [(tmp_path / "one", "a"), (tmp_path / "four", "d")]
    with pytest.raises(InputError, match="x has no mutants that differ: make some with roadworthy driving"):
        faults.read_faults(tmp_path / "x")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"tolerance": -0.1}, "the tolerance must be 0 or more, got -0.1"),
        ({"tolerance": float("nan")}, "the tolerance must be 0 or more, got nan"),
        ({"batch": 0}, "batch must be 1 or more, got 0"),
        ({"pool": []}, "expected a pool of images, got none"),
    ],
)
def test_a_study_of_faults_that_cannot_be_made(
    colours: Any, colour: Callable[..., Frame], how: dict[str, Any], message: str
) -> None:
    given = {"pool": [colour(1, 2, 3)], "reference": [], "criteria": ["neuron"], **how}
    with pytest.raises(InputError, match=message):
        faults.study_faults(colours, [colours], **given)
    with pytest.raises(InputError, match="rounds of mutants must be 1 or more, got 0"):
        faults.make_faults("dave2", 0)


def test_an_answer_exactly_at_the_tolerance_kills_nobody(colours: Any, colour: Callable[..., Frame]) -> None:
    class Off:
        name = "off"

        def predict(self, frames: Any, /) -> list[Signals]:
            return [Signals(steering=(one.steering or 0.0) + 1.0) for one in colours.predict(frames)]

    pool = [colour(0, 0, 0), colour(255, 0, 255), colour(0, 255, 0), colour(0, 9, 0)]
    how: dict[str, Any] = {
        "sizes": (2,),
        "suites": 20,
        "resamples": 2,
        "reference": [],
        "criteria": ["neuron"],
    }
    kills = [
        dict(faults.study_faults(colours, [Off()], pool, tolerance=tolerance, **how).kills)["off"]
        for tolerance in (1.0, 0.99)
    ]
    assert kills == [0, 4]


def test_a_tau_of_one_suite_drawn_again_has_no_interval() -> None:
    assert faults._interval(0.3, [0.2]) is None
    found = faults._interval(0.3, [0.2, 0.4])
    assert found is not None
    half = 1.959964 * np.sqrt(0.02)
    assert (found.lower, found.upper) == pytest.approx((0.3 - half, 0.3 + half), abs=1e-5)
    wide = faults._interval(0.3, [-1.0, 1.0])
    assert wide is not None
    assert (wide.lower, wide.upper) == (-1.0, 1.0)


def test_models_that_cannot_be_told_apart_or_added_up() -> None:
    def one(name: str, unit: str) -> ModelAnswers:
        return ModelAnswers(name, [0.0], [0.0], {("fog", 1): [1.0]}, unit=unit)

    for count in (count_by_threshold, count_by_model):
        with pytest.raises(InputError, match="expected the answers of at least one model, got none"):
            count([])
        with pytest.raises(InputError, match="expected models with different names, got m, m"):
            count([one("m", "rad"), one("m", "rad")])
        with pytest.raises(InputError, match="answers in one unit, got deg, rad: ε means one of them"):
            count([one("m", "rad"), one("n", "deg")])
    with pytest.raises(InputError, match="expected the answers of at least one model, got none"):
        study_deviation([])


def test_an_error_exactly_at_the_bound_is_no_violation() -> None:
    # MSE of the originals 1; λ = 4 allows an error of 2.
    answers = ModelAnswers("m", [0.0, 0.0], [1.0, -1.0], {("fog", 1): [2.0, -2.001]}, unit="deg")
    study = study_deviation([answers], lam=4, epsilon=9.0)
    assert [(one.worst.frame, one.inherited) for one in study.findings] == [(answers.frames[1], False)]
    # Of an original beyond the bound, to the same side, everything is inherited; to the other side nothing.
    wrong = ModelAnswers(
        "m",
        [0.0] * 5,
        [3.0, 0.0, 0.0, 0.0, 0.0],
        {("fog", 1): [4.0, 0, 0, 0, 0], ("fog", 2): [-4.0, 0, 0, 0, 0]},
        unit="deg",
    )
    found = study_deviation([wrong], lam=4, epsilon=99.0)
    assert sorted((one.inherited, one.worst.error, one.violations) for one in found.findings) == [
        (False, -4.0, 1), (True, 4.0, 1),
    ]  # fmt: skip
    (row,) = [one for one in found.rows if one.changes == "fog"]
    assert (row.violations, row.inherited, row.findings, row.mse, row.mse_originals) == (2, 1, 2, 16.0, 9.0)


def test_answers_without_steering_are_the_models_fault() -> None:
    frame = Frame("a", np.zeros((4, 4, 3), np.uint8))
    with pytest.raises(SystemUnderTestError, match="net answered 'a' without a steering angle"):
        steering_of("net", Signals(speed=3.0), frame)
    assert steering_of("net", Signals(steering=0.0), frame) == 0.0


@pytest.mark.parametrize(
    ("direction", "text"),
    [
        (Statistic(None, None, "no left"), "not computable: no left"),
        (Statistic(0.9, 0.05), "not significant (p 0.05)"),
        (Statistic(0.9, 0.049), "left > right (p 0.049)"),
        (Statistic(0.1, 0.01), "left < right (p 0.01)"),
    ],
)
def test_what_left_and_right_say(direction: Statistic, text: str) -> None:
    nothing = Statistic(None, None, "x")
    row = DirectionRow("m", "all", 1, 2, 1, 1, 0.5, nothing, nothing, direction, None)
    assert row.direction_text() == text


def test_numbers_at_the_borders_of_tests() -> None:
    assert [p_text(p) for p in (2.2e-16, 2.19e-16, 0.0, 1.0)] == ["2.2e-16", "< 2.2e-16", "< 2.2e-16", "1"]
    assert spearman([1, 2, 3], [1, 2, 3]).value == 1.0
    assert kendall([1, 1, 2, 3], [1, 2, 2, 3]).value == pytest.approx(4 / 5)
    assert signed_rank([0, 0, 0], [1, 2, 3]).p == pytest.approx(0.25)
    # Equal differences are no distinct ranks: the normal distribution stands in for the exact one.
    assert signed_rank([0] * 4, [1, 1, 1, 1]).p != pytest.approx(2 / 16)
    assert cohens_d([1.0, 3.0], [0.0, 0.0]) == pytest.approx(2.0)
    assert cohens_d([1.0, 2.0], [1.0]) is None
    with pytest.raises(InputError, match="expected a flat series of finite numbers"):
        spearman([[1, 2, 3]], [[1, 2, 3]])


def test_changes_that_do_not_apply_make_no_images(colours: Any, colour: Callable[..., Frame]) -> None:
    class Choice:
        def __init__(self, applies: bool) -> None:
            self.applies = applies

        def transform(self, frame: Frame, rng: np.random.Generator, *, measure: bool) -> Frame:
            assert not measure
            if not self.applies:
                raise NotApplicable("no sky")
            return frame

    class Set(list[Choice]):
        name = "set"

    seen: list[int] = []
    system: Any = SimpleNamespace(observe=lambda frames: (None, len(frames)))
    criterion: Any = SimpleNamespace(update=seen.append)
    sets: Any = [Set([Choice(True), Choice(False), Choice(True)]), Set([Choice(False)])]
    assert add_every_change(system, [colour(1, 2, 3), colour(4, 5, 6)], sets, criterion) == 4
    assert seen == [2, 2]


def test_tables_are_in_order_and_documents_are_plain() -> None:
    names = ("translation", "shear", "rotation", "fog", "contrast", "blur", "rain")
    changed: Any = {(name, 1): [0.5, 1.5] for name in names}
    answers = ModelAnswers("m", [0.0, 1.0], [0.5, 1.5], changed, unit="deg")
    table = count_by_model([answers], epsilon=9.0)
    first = [row[0] for row in table.rows]
    assert first == ["blur", "contrast", "rotation", "shear", "translation", *first[5:]]
    assert set(first[5:]) == {"fog", "rain"}
    document = study_deviation([answers]).as_dict()
    assert (type(document["statements"]), type(document["rows"]), type(document["findings"])) == (list,) * 3
    assert json.loads(json.dumps(document)) == document


@pytest.mark.parametrize(
    ("sizes", "images", "message"),
    [
        ((2, 41), 80, "suites of 41 images need a pool of 82 or more, else they are alike; got 80"),
        ((40, 2), 79, "suites of 40 images need a pool of 80 or more"),
        ((), 80, r"each 1 or more, got \[\]"),
        ((0, 2), 80, r"each 1 or more, got \[0, 2\]"),
    ],
)
def test_suites_that_would_be_alike(sizes: tuple[int, ...], images: int, message: str) -> None:
    faults._check(80, 1, (40, 2), 20, 2)
    with pytest.raises(InputError, match=message):
        faults._check(images, 1, sizes, 20, 2)
    for suites, resamples in ((19, 2), (20, 1)):
        told = f"expected 20 suites and 2 resamples or more, got {suites} and {resamples}"
        with pytest.raises(InputError, match=told):
            faults._check(80, 1, (2,), suites, resamples)


def test_what_several_images_visit_together() -> None:
    visited = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 0]], np.bool_)
    suites = np.array([[0, 1], [1, 2], [0, 2]])
    assert faults.Unions(visited).sizes(suites).tolist() == [3, 2, 3]
    weights = np.array([1e-9, 1.0, 1e-9, 1.0])
    drawn = faults.draw_suites(weights, 2, 50, np.random.default_rng(0))
    assert all(set(suite) == {1, 3} for suite in drawn.tolist()), "by their weights"


@pytest.mark.parametrize(("seeds", "compared"), [(500, 500), (501, 251), (1000, 500), (1001, 334)])
def test_of_many_seed_images_as_many_as_500_are_compared(seeds: int, compared: int) -> None:
    packed = np.zeros((seeds, 1), np.uint8)
    nothing = np.zeros((seeds, 1), np.int64)
    one = Activity("m", 8, HowCounted(), ("a",), (1,), packed, {"a": nothing}, nothing, nothing, {})
    assert len(one.seed_distances()) == compared * (compared - 1) // 2


def test_studies_tell_how_far_they_are_and_three_frames_are_enough(
    colours: Any, colour: Callable[..., Frame]
) -> None:
    frames = [colour(200, 0, 9), colour(0, 0, 200), colour(90, 9, 0)]
    done: list[int] = []
    study = study_directions([colours], frames, batch=2, progress=done.append)
    assert (done, study.rows[0].images, study.angle) == ([2, 3], 3, "predicted")
    brighter, darker = (
        ParameterSet(name, (ParameterChoice(1, make_transform("brightness", bias=bias)),))
        for name, bias in (("brighter", 20), ("darker", -20))
    )
    done.clear()
    (found,) = observe_changes([colours], frames, [brighter, darker], batch=2, progress=done.append)
    assert (done, found.transformations, found.parameters) == ([1, 2, 3], ("brighter", "darker"), (1, 1))
    done.clear()
    (answers,) = ask_models([colours], frames, [brighter, darker], progress=done.append)
    assert (done, answers.frames) == ([1, 2, 3], tuple(frame.id for frame in frames))
    for wrong, message in (([], "got none"), ([brighter], "must be 2 or more, got 1")):
        given = frames if wrong else []
        with pytest.raises(InputError, match=message):
            observe_changes([colours], given, wrong or [brighter, darker])


@pytest.mark.parametrize(
    ("counting", "text"),
    [
        ("distinct", "distinct counting, threshold 0.25, scaling by outputs"),
        (Counting(), "own counting, threshold 0.25, scaling by outputs"),
    ],
)
def test_how_neurons_are_counted_is_told(counting: Any, text: str) -> None:
    assert str(HowCounted(counting, 0.25)) == text


def test_what_other_seed_images_cover_together() -> None:
    packed = np.array([[0b1000_0000], [0b0100_0000], [0b0010_0000]], np.uint8)
    nothing = np.zeros((3, 1), np.int64)
    one = Activity("m", 8, HowCounted(), ("a",), (1,), packed, {"a": nothing}, nothing, nothing, {})
    assert one.baseline.tolist() == [1, 1, 1]
    assert one.other_seeds(3) is None
    found = one.other_seeds(2)
    assert found is not None
    assert found.tolist() == [2, 2, 2], "the two others, never the image itself"
    assert one.seed_distances().tolist() == [1.0, 1.0, 1.0]


def test_searches_try_as_many_images_as_all_transformations_make(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def searched(watched: Any, seeds: Any, settings: Any, folder: Path, seed: int, told: Any) -> Any:
        asked.append((settings.search, settings.tries, settings.criterion, folder.name, seed))
        return Reached(watched.name, settings.search, 1, 2, 3, kept=1, failures=4), "growth"

    monkeypatch.setattr(comparison, "observable", lambda system, counting: system)
    monkeypatch.setattr(comparison, "_unguided", lambda *given: [])
    monkeypatch.setattr(comparison, "_searched", searched)
    monkeypatch.setattr(comparison, "read_rows", lambda folder: folder)
    monkeypatch.setattr(comparison, "distinct_failures", lambda rows: dict.fromkeys(rows, 7))
    system: Any = SimpleNamespace(name="a/b")
    seeds: Any = Seeds(SeedImages(NamedDrive(3), (0, 1, 2)))
    settings = SearchSettings(transforms=("rotation", "brightness(bias=20)"))
    shown: list[tuple[str, int]] = []

    @contextmanager
    def progress(what: str, total: int) -> Iterator[Any]:
        shown.append((what, total))
        yield None

    how: dict[str, Any] = {"out": tmp_path, "progress": progress, "seed": 5, "threshold": 0.4}
    study, growths = comparison.study_guided([system], seeds, settings, **how)
    images = 3 * sum(len(one) for one in settings.space().sets)
    assert study.tries == images == 33
    assert [(name, tries, criterion, seed) for name, tries, criterion, _, seed in asked] == [
        (name, 33, "neuron(threshold=0.4)", 5) for name in ("random", "algorithm-1", "curious")
    ]
    assert shown[1:] == [(f"a/b: {name}", 36) for name in ("random", "algorithm-1", "curious")]
    assert {row.findings for row in study.rows} == {7}
    assert set(growths["a/b"]) == {"random", "algorithm-1", "curious"}
    assert all("/" not in folder for *_, folder, _ in asked)
