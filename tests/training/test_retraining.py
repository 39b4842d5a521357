from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy.datasets import WorldDataset, load
from roadworthy.errors import InputError
from roadworthy.frames import Frame, Signals
from roadworthy.images import write_image
from roadworthy.models import load_model
from roadworthy.models.zoo import Variant, architecture
from roadworthy.reliability import transformation_named
from roadworthy.runs.changed_images import StoredImage
from roadworthy.training import Settings, train
from roadworthy.training.retraining.comparing import ErrorComparison, compared, judged
from roadworthy.training.retraining.material import ErrorUnit, Material, WithChanges, read_material
from roadworthy.training.retraining.retrain import (
    RetrainingPlan,
    divide,
    retrain,
    tuning_settings,
    usual_settings,
)
from roadworthy.training.samples import Samples
from roadworthy.transforms import make_transform

QUICK = Settings(epochs=2, batch=16, learning_rate=1e-3, mirror=0.0, device="cpu")
CHANGES = {"rain": make_transform("rain"), "fog": make_transform("fog")}


def world(count: int, seed: int) -> WorldDataset:
    return WorldDataset(count=count, seed=seed, size="64x32")


@pytest.fixture(scope="module")
def variant() -> Variant:
    options = {"width": 32, "height": 16, "channels": (4, 4, 8), "hidden": 8}
    return architecture("epoch").variant(["steering"], options)


@pytest.fixture(scope="module")
def start(variant: Variant, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network that has learned next to nothing."""
    folder = tmp_path_factory.mktemp("start")
    train(variant, world(24, 1), settings=dataclasses.replace(QUICK, epochs=1, batch=8), folder=folder)
    return folder


@pytest.fixture(scope="module")
def material(variant: Variant) -> Material:
    return read_material(variant, world(64, 1), world(40, 2), CHANGES)


def one_of(kind: str, low: float, high: float, before: float = 1.0) -> ErrorComparison:
    middle = (low + high) / 2
    return ErrorComparison(kind, "steering", "°", 99, 20, before, before + middle, middle, low, high)


@pytest.mark.parametrize(
    ("clean", "changed", "word"),
    [
        ((-0.1, 0.04), [(-1.0, -0.5)], "better"),
        ((-0.2, -0.1), [(-1.0, -0.5), (-0.1, 0.1)], "better"),
        ((0.001, 0.04), [(-1.0, -0.5)], "worse"),
        ((-0.1, 0.06), [(-1.0, -0.5)], "not shown"),
        ((float("nan"), float("nan")), [(-1.0, -0.5)], "not shown"),
        ((-0.1, 0.0), [(-0.5, 0.1)], "no better"),
        ((-0.1, 0.0), [(-1.0, -0.5), (0.1, 0.2)], "no better"),
    ],
)
def test_the_burden_of_proof_is_with_the_new_network(
    clean: tuple[float, float], changed: list[tuple[float, float]], word: str
) -> None:
    comparisons = [one_of("clean", *clean), *(one_of(f"kind {n}", *one) for n, one in enumerate(changed))]
    found = judged(comparisons)
    assert found.word == word
    assert found.better == (word == "better")
    assert ("NOT CALLED BETTER" in str(found)) == (word != "better")


def test_a_worse_clean_error_of_any_signal_is_refused() -> None:
    speed = dataclasses.replace(one_of("clean", 0.1, 0.2), signal="speed")
    found = judged([one_of("clean", -0.2, -0.1), speed, one_of("rain", -1, -0.5)])
    assert found.word == "worse"
    assert "speed" in found.reason


def test_the_tolerance_is_a_share_of_the_error_before() -> None:
    comparisons = [one_of("clean", -0.1, 0.3, before=2.0), one_of("rain", -1, -0.5)]
    assert judged(comparisons, 0.1).word == "not shown"
    assert judged(comparisons, 0.15).word == "better"
    with pytest.raises(InputError, match="tolerance"):
        judged(comparisons, -0.1)
    with pytest.raises(InputError, match="missing"):
        judged(comparisons[:1])


def test_nothing_is_called_better_by_a_few_moments() -> None:
    comparisons = [one_of("clean", -0.2, -0.1), one_of("rain", -1, -0.5)]
    assert judged(comparisons).word == "better"
    for place in (0, 1):
        few = list(comparisons)
        few[place] = dataclasses.replace(few[place], moments=19)
        found = judged(few)
        assert found.word == "not shown"
        assert found.reason.startswith("19 moments tell too little, 20 are needed: rain MSE 1 to 0.25")


def test_an_interval_of_many_moments_covers_the_difference() -> None:
    rng = np.random.default_rng(5)
    hits = 0
    for trial in range(100):
        before, after = rng.normal(0, 1.5, 80), rng.normal(0, 1.0, 80)
        found = compared("rain", "steering", "°", before, after, np.arange(80), seed=trial)
        # The true difference of the mean squares is 1 - 1.5².
        hits += found.low <= 1 - 1.5**2 <= found.high
    assert 0.86 <= hits / 100 <= 1.0


@given(st.integers(2, 12), st.integers(2, 6), st.integers(0, 99))
def test_frames_of_one_moment_are_no_more_evidence_than_one_of_them(
    moments: int, copies: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    before, after = rng.normal(size=(2, moments))
    single = compared("fog", "steering", "°", before, after, np.arange(moments))
    many = compared(
        "fog", "steering", "°", before.repeat(copies), after.repeat(copies), np.arange(moments).repeat(copies)
    )
    assert (many.low, many.high) == pytest.approx((single.low, single.high))
    assert many.moments == moments


def test_errors_before_and_after() -> None:
    found = compared("rain", "steering", "rad", np.array([3.0, 4.0]), np.array([1.0, 0.0]), np.zeros(2, int))
    assert (found.mse_before, found.mse_after, found.difference) == (12.5, 0.5, -12.0)
    assert found.rmse_before == pytest.approx(12.5**0.5)
    # One moment has no interval, which is not one of width 0.
    assert np.isnan(found.low)
    assert found.to_dict()["low"] is None


def test_the_paper_draws_66_percent_of_all_weathers_together(material: Material) -> None:
    sizes = {kind: len(one.originals) for kind, one in material.changed.items()}
    division = divide(material, RetrainingPlan())
    assert sum(int(one.sum()) for one in division.learned.values()) == round(0.66 * sum(sizes.values()))
    held = {
        number
        for kind, one in material.changed.items()
        for number in one.originals[~division.learned[kind]].tolist()
    }
    assert division.clean.tolist() == sorted(held)
    other = divide(material, RetrainingPlan(seed=1))
    assert any((division.learned[kind] != other.learned[kind]).any() for kind in sizes)


def test_time_keeps_all_versions_of_a_frame_together(material: Material) -> None:
    division = divide(material, RetrainingPlan(split="time"))
    assert division.seen == 0
    learned = np.concatenate([one.originals[division.learned[k]] for k, one in material.changed.items()])
    assert learned.max() < division.clean.min()


def test_random_tells_how_many_clean_frames_were_learned_in_another_weather(material: Material) -> None:
    division = divide(material, RetrainingPlan())
    learned = {
        number
        for kind, one in material.changed.items()
        for number in one.originals[division.learned[kind]].tolist()
    }
    assert division.seen == sum(number in learned for number in division.clean.tolist()) > 0
    alone = divide(material, RetrainingPlan(learn=("rain",)))
    rain = set(material.changed["rain"].originals[alone.learned["rain"]].tolist())
    assert alone.seen == sum(number in rain for number in alone.clean.tolist())
    assert 0 < alone.seen < division.seen, "fog is not learned from"


@pytest.mark.parametrize("encoding", ["png", "jpg"])
def test_material_is_stored(material: Material, tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "material.npz"
    material.save(file, encoding)  # type: ignore[arg-type]
    found = Material.load(file)
    assert (found.variant, found.unit, found.left_out) == (material.variant, material.unit, material.left_out)
    assert found.moments.tolist() == material.moments.tolist()
    pairs = [(material.training, found.training), (material.clean, found.clean)]
    pairs += [(one.samples, found.changed[kind].samples) for kind, one in material.changed.items()]
    for before, after in pairs:
        if encoding == "png":
            assert before.sha256 == after.sha256
        assert np.abs(before.images.astype(int) - after.images).mean() < 3
        assert after.targets.tolist() == before.targets.tolist()


@pytest.mark.parametrize("content", [b"", b"no zip"])
def test_broken_material(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "broken.npz").write_bytes(content)
    for name in ("broken.npz", "missing.npz"):
        with pytest.raises(InputError, match="--prepare FILE"):
            Material.load(tmp_path / name)


def test_frames_of_one_moment_share_a_number(variant: Variant) -> None:
    drive = WorldDataset(count=24, sequence=12, seed=3, size="64x32")
    found = read_material(variant, world(16, 1), drive, CHANGES)
    times = [frame.signals.timestamp for frame in drive]
    for number in range(1, 24):
        same = number != 12 and times[number] // 2 == times[number - 1] // 2  # type: ignore[operator]
        assert (found.moments[number] == found.moments[number - 1]) == same


def test_images_of_a_search_have_the_labels_of_their_frames(variant: Variant, tmp_path: Path) -> None:
    data = world(6, 2)
    guided = []
    for number, frame in enumerate(data[1:4]):
        write_image(tmp_path / f"{number}.png", 255 - frame.image)
        guided.append(StoredImage(f"try {number}", frame.id, True, tmp_path / f"{number}.png"))
    found = read_material(variant, world(16, 1), data, {}, guided=guided).changed["guided"]
    assert found.originals.tolist() == [1, 2, 3]
    assert found.samples.targets[:, 0].tolist() == pytest.approx(
        [data[n].signals.steering for n in (1, 2, 3)]
    )
    others = [dataclasses.replace(one, original="of another drive") for one in guided]
    with pytest.raises(InputError, match="none of the 3 images of the search"):
        read_material(variant, world(16, 1), data, {}, guided=others)


def test_what_cannot_be_retrained(variant: Variant, start: Path, material: Material) -> None:
    speed = architecture("epoch").variant(["speed"])
    with pytest.raises(InputError, match="a network that steers"):
        read_material(speed, world(16, 1), world(6, 2), CHANGES)
    with pytest.raises(InputError, match="could be changed"):
        read_material(variant, world(16, 1), world(6, 2), {})
    unlabelled = [Frame("a", np.zeros((32, 64, 3), np.uint8))]
    with pytest.raises(InputError, match="has no steering to learn"):
        read_material(variant, world(16, 1), Listed(unlabelled), CHANGES)
    with pytest.raises(InputError, match="no images of kind 'snow'"):
        retrain(material, start, RetrainingPlan(learn=("snow",)), settings=QUICK)
    with pytest.raises(InputError, match="split must be random or time"):
        RetrainingPlan(split="weekly")  # type: ignore[arg-type]


class Listed:
    name = "listed"

    def __init__(self, frames: list[Frame]) -> None:
        self._frames = frames

    def __len__(self) -> int:
        return len(self._frames)

    def __getitem__(self, index: int, /) -> Frame:
        return self._frames[index]

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(self._frames)


@pytest.mark.parametrize("first", ["tuned", "scratch"])
def test_a_network_is_retrained_and_written(
    material: Material, start: Path, tmp_path: Path, first: str
) -> None:
    plan = RetrainingPlan(first=first, control=True)  # type: ignore[arg-type]
    found = retrain(material, start, plan, settings=QUICK, folder=tmp_path / "new")
    assert [one.kind for one in found.comparisons] == ["clean", "rain", "fog"]
    assert all(one.mse_control is not None for one in found.comparisons)
    assert sum(found.learned.values()) == round(
        0.66 * sum(len(one.originals) for one in material.changed.values())
    )
    again = retrain(material, start, plan, settings=QUICK)
    assert [one.mse_after for one in again.comparisons] == [one.mse_after for one in found.comparisons]
    model = load_model(tmp_path / "new")
    (answer,) = model.predict([world(1, 7)[0]])
    assert isinstance(answer, Signals)
    assert answer.steering is not None
    for name in ("card.json", "checkpoint.pt", "epoch.onnx"):
        assert (tmp_path / "new" / name).is_file()
    json.dumps(found.to_dict(), allow_nan=False)


def test_what_is_compared_on_was_not_learned(material: Material, start: Path) -> None:
    """The card's hash of the data is that of the images that may be learned from, and of no others."""
    plan = RetrainingPlan(split="time")
    found = retrain(material, start, plan, settings=QUICK)
    assert found.seen == 0
    names = [one.name for one in found.trained.card.data]
    assert "rain + fog" in names[0]
    division = divide(material, plan)
    images = sum(int(one.sum()) for one in division.learned.values())
    old = len(material.training)
    # A tenth of each is for validation.
    assert sum(one.frames for one in found.trained.card.data) == images + old


def test_settings_are_those_of_the_card(start: Path) -> None:
    usual = usual_settings(start)
    assert (usual.batch, usual.mirror, usual.device) == (8, 0.0, "auto")
    assert tuning_settings(start).learning_rate < usual.learning_rate
    assert usual_settings("epoch-udacity").batch == 64


def test_units_are_those_of_the_recording() -> None:
    class Recorded(Listed):
        from roadworthy.frames import SignalUnits

        units = SignalUnits(steering="rad", steering_positive="left", steering_ratio=14.4)

    unit = ErrorUnit.of(Recorded([]))
    assert unit.name == "rad at the steering wheel"
    assert unit.per_degree == pytest.approx(np.pi / 180 * 14.4)


def test_samples_are_taken_in_order(material: Material) -> None:
    chosen = np.array([5, 2, 9])
    some = material.clean.take(chosen, "some")
    assert isinstance(some, Samples)
    assert some.targets.tolist() == material.clean.targets[chosen].tolist()
    shown = material.clean.images[material.clean.windows[chosen]]
    assert some.images[some.windows].tolist() == shown.tolist()


def test_training_data_with_changes_keeps_the_truth_and_stays_in_the_range() -> None:
    kinds = [transformation_named(one) for one in ("jpeg", "contrast")]
    frames = load("world-crops", count=3, size=32)
    data = WithChanges(frames, kinds, [0.94, 0.77], seed=4)
    made = list(data)
    assert len(made) == len(data) == 9
    for number, frame in enumerate(frames):
        own = made[3 * number : 3 * number + 3]
        assert [one.metadata["class"] for one in own] == [frame.metadata["class"]] * 3
        np.testing.assert_array_equal(own[0].image, frame.image)
        assert all((one.visual_change or 0) <= 0.94 for one in own[1:])
        assert {one.id.partition("~")[2].partition("(")[0] for one in own[1:]} == {"jpeg", "contrast"}
    np.testing.assert_array_equal(data[-1].image, made[8].image)
    with pytest.raises(IndexError):
        data[9]
    with pytest.raises(InputError, match="a limit for each"):
        WithChanges(frames, kinds, [0.5])
    with pytest.raises(InputError, match="versions must be 1 or more"):
        WithChanges(frames, kinds, [0.5, 0.5], versions=0)


def test_a_frame_that_cannot_be_changed_stays_as_it_is() -> None:
    class Pictures(list[Frame]):
        name = "pictures"

    flat = Frame("flat", np.full((32, 32, 3), 60, np.uint8))
    data = WithChanges(Pictures([flat]), [transformation_named("contrast")], [0.77])
    np.testing.assert_array_equal(data[1].image, flat.image)
