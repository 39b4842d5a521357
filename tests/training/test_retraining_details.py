"""Retraining in detail: what is told of it, how material is named and cut, and where borders lie."""

from __future__ import annotations

import dataclasses
import json
import math
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from tests.training.test_retraining import CHANGES, Listed, one_of, world

from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Frame, Signals, SignalUnits
from roadworthy.models.zoo import Variant, architecture
from roadworthy.runs.changed_images import StoredImage
from roadworthy.training import Settings
from roadworthy.training.retraining import material as materials
from roadworthy.training.retraining.comparing import ErrorComparison, Judgement, compared, judged
from roadworthy.training.retraining.material import (
    ErrorUnit,
    Material,
    RetrainingImages,
    cut_in_two,
    failing_images,
    material_of,
    named_changes,
    read_material,
    tolerated_changes,
)
from roadworthy.training.retraining.retrain import (
    Division,
    Retrained,
    RetrainingPlan,
    answers,
    divide,
    tuning_settings,
    usual_settings,
)
from roadworthy.training.samples import Samples

retraining: Any = import_module(
    "roadworthy.training.retraining.retrain"
)  # the package has a function of its name


@pytest.fixture(scope="module")
def variant() -> Variant:
    options = {"width": 32, "height": 16, "channels": (4, 4, 8), "hidden": 8}
    return architecture("epoch").variant(["steering", "speed"], options)


@pytest.fixture(scope="module")
def material(variant: Variant) -> Material:
    return read_material(variant, world(10, 1), world(8, 2), {"fog": CHANGES["fog"]})


def test_what_is_told_of_a_comparison() -> None:
    clean = ErrorComparison("clean", "steering", "rad", 9, 30, 4.0, 1.0, -3.0, -4.0, -2.0)
    rain = ErrorComparison("rain", "steering", "rad", 8, 25, 9.0, 4.0, -5.0, -6.0, -4.5)
    speed = dataclasses.replace(clean, signal="speed", unit="m/s", high=0.2, low=-0.1, mse_before=4.0)
    assert str(judged([clean, speed, rain])) == (
        "BETTER: the error fell on rain; the clean steering error is kept within 5%: MSE 4 to 1 (rad)², "
        "by -3 [-4, -2]; the clean speed error is kept within 5%: MSE 4 to 1 (m/s)², by -3 [-0.1, +0.2]"
    )
    risky = dataclasses.replace(speed, high=0.21)
    assert str(judged([clean, risky, rain])) == (
        "NOT CALLED BETTER (not shown): the clean speed error may have risen by more than 5% of what it was "
        "(0.2): MSE 4 to 1 (m/s)², by -3 [-0.1, +0.21]"
    )
    steady = dataclasses.replace(rain, low=-1.0, high=0.0)
    snow = dataclasses.replace(steady, kind="snow", low=0.0, high=1.0, moments=1)
    assert judged([clean, steady, snow]).reason == (
        "no error on changed images fell: rain MSE 9 to 4 (rad)², by -5 [-1, +0]; snow MSE 9 to 4 (rad)², "
        "by -5 [+0, +1]"
    )
    worse = dataclasses.replace(rain, low=0.1, high=0.2)
    assert judged([clean, rain, worse]).reason.startswith("the error on rain rose: MSE 9 to 4")
    alone = dataclasses.replace(rain, low=math.nan, high=math.nan)
    assert "by -5 no interval, one moment" in judged([clean, alone]).reason
    for missing in ([clean], [rain], []):
        with pytest.raises(
            InputError, match="judged on clean and on changed images, and one of them is missing"
        ):
            judged(missing)
    assert judged([dataclasses.replace(clean, high=0.0), rain], 0.0).better
    with pytest.raises(InputError, match="the tolerance must be 0 or more, got nan"):
        judged([clean, rain], math.nan)
    assert [one_of("x", low, high).direction for low, high in ((-1, -0.1), (-1, 0), (0, 1), (0.1, 1))] == [
        "fell", "unclear", "unclear", "rose",
    ]  # fmt: skip


def test_errors_are_compared_with_those_of_a_control() -> None:
    before, after = np.array([2.0, 0.0, 1.0]), np.array([1.0, 1.0, 1.0])
    found = compared(
        "fog", "steering", "°", before, after, np.array([7, 7, 9]), control=np.array([3.0, 0, 0])
    )
    assert (found.images, found.moments, found.mse_control) == (3, 2, 3.0)
    # Moments: -2 over two images and 0 over one; resampled: both, or one of them alone.
    assert (found.low, found.high) == (-1.0, 0.0)
    assert found.difference == pytest.approx(-2 / 3)
    assert found.to_dict() == {
        "kind": "fog", "signal": "steering", "unit": "°", "images": 3, "moments": 2, "mse_before": 5 / 3,
        "mse_after": 1.0, "difference": pytest.approx(-2 / 3), "low": -1.0, "high": 0.0, "mse_control": 3.0,
        "rmse_before": pytest.approx((5 / 3) ** 0.5), "rmse_after": 1.0,
    }  # fmt: skip
    rng = np.random.default_rng(1)
    before, after = rng.normal(size=(2, 40))
    ends = [
        compared("fog", signal, "°", before, after, np.arange(40), seed=seed)
        for signal, seed in (("steering", 0), ("steering", 0), ("steering", 1), ("speed", 0))
    ]
    assert ends[0] == ends[1]
    assert len({(one.low, one.high) for one in ends}) == 3, "each signal and seed draws its own"
    with pytest.raises(InputError, match="there are no images of kind 'fog' to compare on"):
        compared("fog", "steering", "°", np.zeros(0), np.zeros(0), np.zeros(0, int))


def retrained(comparisons: list[ErrorComparison], seen: int = 0) -> Retrained:
    card = SimpleNamespace(
        settings=Settings(epochs=7), data=(), curve=(1, 2, 3), best_epoch=2, device="cpu", seconds=12.345
    )
    trained: Any = SimpleNamespace(card=card)
    told = Judgement("worse", "it rose")
    return Retrained(
        trained, tuple(comparisons), told, {"rain": 5, "fog": 4}, seen, RetrainingPlan(), "dave2"
    )


def test_what_is_told_of_a_retraining() -> None:
    clean = ErrorComparison("clean", "steering", "rad", 40, 30, 4.0, 1.0, -3.0, -4.25, -2.0)
    speed = dataclasses.replace(clean, signal="speed", unit="m/s")
    fog = ErrorComparison("fog", "steering", "rad", 8, 25, 9.0, 2.25, -6.75, -7.0, 0.125)
    found = retrained([clean, speed, fog])
    about: Any = SimpleNamespace(unit=ErrorUnit("rad"), left_out={"rain": 0, "fog": 3})
    head, table, *notes, verdict = found.lines(about)
    assert (head, verdict) == ("dave2, retrained with 5 rain, 4 fog", "NOT CALLED BETTER (worse): it rose")
    errors = ("MSE", "after", "RMSE", "after")
    assert table.columns == ("test set", "images", *errors, "MSE change", "resampled")  # type: ignore[union-attr]
    assert table.rows == (  # type: ignore[union-attr]
        ("clean", "40", "4", "1", "2", "1", "-3", "-4.25 to -2"),
        ("clean, speed", "40", "4", "1", "2", "1", "-3", "-4.25 to -2"),
        ("fog", "8", "9", "2.25", "3", "1.5", "-6.75", "-7 to +0.125"),
    )
    assert notes == [
        "  steering is in rad, MSE in its square; resampled: where 95% of 4000 resamples of 25 or more "
        "moments lie, claiming no confidence",
        "  3 frames were left out of fog: the change does not apply to them",
    ]
    control = retrained([dataclasses.replace(one, mse_control=0.5) for one in (clean, fog)], seen=2)
    assert control.table().columns[-1] == "control"
    assert control.table().rows[0][-1] == "0.5"
    assert control.notes(about)[1:3] == [
        "control: the MSE of a network trained as long without the changed images",
        "2 of 40 clean frames were learned in another weather, as in the paper; --split time keeps "
        "them apart",
    ]
    document = found.to_dict()
    assert json.loads(json.dumps(document)) == {**document, "plan": {**document["plan"], "learn": []}}
    assert {name: document[name] for name in ("network", "verdict", "reason", "better", "learned")} == {
        "network": "dave2", "verdict": "worse", "reason": "it rose", "better": False,
        "learned": {"rain": 5, "fog": 4},
    }  # fmt: skip
    assert (document["epochs"], document["best_epoch"], document["device"], document["seconds"]) == (
        3,
        2,
        "cpu",
        12.3,
    )
    assert (document["settings"]["epochs"], document["plan"]["share"]) == (7, 0.66)
    assert document["clean_frames_learned_in_another_version"] == 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"share": 0.0}, "share must be between 0 and 1, both excluded, got 0.0"),
        ({"share": 1.0}, "share must be between 0 and 1, both excluded, got 1.0"),
        ({"share": math.nan}, "share must be between 0 and 1, both excluded, got nan"),
        ({"first": "new"}, "first must be tuned or scratch, got 'new'"),
        ({"split": "day"}, "split must be random or time, got 'day'"),
    ],
)
def test_plans_that_are_none(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        RetrainingPlan(**given)


def test_settings_of_a_plan() -> None:
    usual = usual_settings("dave2-udacity")
    tuned = RetrainingPlan().settings("dave2-udacity", epochs=None, batch=3)
    assert (tuned.epochs, tuned.patience, tuned.decay, tuned.batch) == (12, 12, "cosine", 3)
    assert tuned.learning_rate == pytest.approx(usual.learning_rate * 0.2)
    assert tuned == dataclasses.replace(tuning_settings("dave2-udacity"), batch=3)
    scratch = RetrainingPlan(first="scratch").settings("dave2-udacity", epochs=4)
    assert scratch == dataclasses.replace(usual, epochs=4)


def test_the_card_of_a_network_says_how_it_was_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = tmp_path / "net.onnx"
    monkeypatch.setattr(retraining, "located_weights", lambda start: weights)
    assert usual_settings("x") == Settings()
    told = {"epochs": 5, "batch": 3, "device": "cuda", "workers": 7, "minutes": 1.0, "memory": 2.0, "gone": 1}
    (tmp_path / "card.json").write_text(json.dumps({"settings": told, "other": 1}))
    assert usual_settings("x") == Settings(epochs=5, batch=3)
    (tmp_path / "net.json").write_text(json.dumps({"settings": {"epochs": 6}}))
    assert usual_settings("x").epochs == 6, "the card beside the weights comes first"
    (tmp_path / "net.json").write_text(json.dumps({"settings": {"epochs": "many"}}))
    with pytest.raises(InputError, match=r"net\.json.*settings\.epochs"):
        usual_settings("x")


def images_of(material: Material, **counts: int) -> Material:
    """Material with so many images of each kind, of frames 0, 1, 2, …"""
    changed = {
        kind: RetrainingImages(material.clean.take(np.zeros(count, np.int64), kind), np.arange(count))
        for kind, count in counts.items()
    }
    return dataclasses.replace(material, changed=changed)


def test_images_of_a_search_are_divided_by_themselves(material: Material) -> None:
    made = images_of(material, rain=6, fog=4, guided=8)
    found = divide(made, RetrainingPlan(share=0.5))
    assert [len(found.learned[kind]) for kind in ("rain", "fog", "guided")] == [6, 4, 8]
    assert int(found.learned["rain"].sum() + found.learned["fog"].sum()) == 5
    assert int(found.learned["guided"].sum()) == 4
    only = divide(images_of(material, guided=4), RetrainingPlan(share=0.5))
    assert list(only.learned) == ["guided"]
    early = divide(made, RetrainingPlan(share=0.25, split="time"))
    # A quarter of the eight clean frames: those before number 2.
    assert {kind: np.flatnonzero(one).tolist() for kind, one in early.learned.items()} == {
        "rain": [0, 1], "fog": [0, 1], "guided": [0, 1],
    }  # fmt: skip
    assert early.clean.tolist() == [2, 3, 4, 5, 6, 7]
    with pytest.raises(
        InputError, match="images of kind 'rain': 1, too few to learn from 50% of them and comp"
    ):
        divide(images_of(material, rain=1), RetrainingPlan(share=0.5))
    with pytest.raises(InputError, match="there are no images of kind 'ran': did you mean 'rain'"):
        divide(made, RetrainingPlan(share=0.5, learn=("ran",)))


def test_a_tenth_of_what_is_added_says_when_to_stop(material: Material) -> None:
    samples = material.clean
    learned, checked = retraining._apart(samples, 3)
    assert (len(learned), len(checked)) == (7, 1)
    shown = sorted([*learned.targets[:, 0].tolist(), *checked.targets[:, 0].tolist()])
    assert shown == sorted(samples.targets[:, 0].tolist())
    assert retraining._apart(samples, 3)[1].targets.tolist() == checked.targets.tolist()
    with pytest.raises(InputError, match="1 added images are too few to learn from: give more frames"):
        retraining._apart(samples.take(np.array([0]), "x"), 3)


class Constant(torch.nn.Module):
    """Answers with the same to every image, and remembers how many came at once."""

    def __init__(self, steering: float, speed: float) -> None:
        super().__init__()
        self.answer = torch.tensor([[steering, speed]])
        self.sizes: list[int] = []

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        assert not self.training
        self.sizes.append(len(images))
        return self.answer.expand(len(images), 2)


def test_networks_are_compared_on_what_was_not_learned(material: Material, variant: Variant) -> None:
    module = Constant(1.0, 2.0)
    assert answers(module, variant, material.clean, "cpu", batch=3).shape == (8, 2)
    assert module.sizes == [3, 3, 2]
    fog = material.changed["fog"]
    learned = np.zeros(len(fog.originals), np.bool_)
    learned[:5] = True
    division = Division({"fog": learned}, np.array([5, 6, 7]), 0)
    told = dataclasses.replace(material, unit=ErrorUnit("rad", 0.5))
    found = retraining._compared(
        told,
        division,
        {"before": Constant(0, 0), "after": Constant(3.0, 1.0), "control": Constant(1.0, 1.0)},
        "cpu",
        0,
    )
    # No label says how fast to go in fog, so speed is compared on clean frames alone.
    assert [(one.kind, one.signal, one.unit, one.images) for one in found] == [
        ("clean", "steering", "rad", 3), ("clean", "speed", "m/s", 3),
        ("fog", "steering", "rad", len(learned) - 5),
    ]  # fmt: skip
    steering, speed = material.clean.targets[5:8].astype(np.float64).T
    assert found[0].mse_before == pytest.approx(np.mean((steering * 0.5) ** 2))
    assert found[0].mse_after == pytest.approx(np.mean(((3 - steering) * 0.5) ** 2), rel=1e-5)
    assert found[0].mse_control == pytest.approx(np.mean(((1 - steering) * 0.5) ** 2), rel=1e-5)
    assert found[1].mse_after == pytest.approx(np.mean((1 - speed) ** 2), rel=1e-5)


def test_a_control_takes_as_many_steps(material: Material, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[dict[str, Any]] = []

    def train_on(variant: Variant, training: Samples, validation: Samples, **how: Any) -> Any:
        calls.append({"training": training, "validation": validation, **how})
        return SimpleNamespace(module=Constant(0.0, 0.0), save=lambda folder: calls.append({"saved": folder}))

    monkeypatch.setattr(retraining, "train_on", train_on)
    monkeypatch.setattr(retraining, "load_module", lambda start, variant: Constant(1.0, 1.0))
    made = dataclasses.replace(material, training=material.training)
    plan = RetrainingPlan(share=0.5, control=True, split="time")
    settings = Settings(epochs=10, device="cpu")
    found = retraining.retrain(made, "net", plan, settings=settings, folder=Path("new"))
    first, second, saved = calls
    old = len(made.training) - 1
    added = found.learned["fog"]
    assert added == 4
    assert len(first["training"]) == old + added - 1
    assert (len(first["validation"]), len(second["training"]), len(second["validation"])) == (2, old, 1)
    assert (first["start"], second["start"], first["folder"], second.get("folder")) == (
        "net",
        "net",
        Path("new"),
        None,
    )
    assert first["settings"].epochs == 10
    assert second["settings"].epochs == round(10 * (old + added - 1) / old)
    assert saved == {"saved": Path("new")}
    assert first["training"].name.endswith(f"+ {added - 1} images of fog")
    assert (found.start, found.plan) == ("net", plan)
    calls.clear()
    retraining.retrain(
        made, "net", dataclasses.replace(plan, control=False, first="scratch"), settings=settings
    )
    assert [call["start"] for call in calls] == [None]


def test_changes_are_named_by_their_kinds() -> None:
    found = named_changes(["rain", "brightness(bias=20)", "brightness(bias=30)"])
    assert list(found) == ["rain", "brightness", "brightness(bias=30)"]
    with pytest.raises(InputError, match=r"the change 'brightness\(bias=20\)' is given twice; leave one out"):
        named_changes(["brightness(bias=20)", "rain", "brightness(bias=20)"])


@pytest.mark.parametrize(
    ("cut", "place"), [(0.8, 8), (0.05, None), (0.06, 1), (0.94, 9), (0.96, None), (1.0, None)]
)
def test_a_recording_is_cut_in_two(cut: float, place: int | None) -> None:
    data = world(10, 1)
    if place is None:
        with pytest.raises(
            InputError, match=f"--cut {cut:.0%} leaves .* frames for training and .* both must have some"
        ):
            cut_in_two(data, cut)
        return
    one, two = cut_in_two(data, cut)
    assert (len(one), len(two)) == (place, 10 - place)
    assert two[0].id == data[place].id
    with pytest.raises(
        InputError, match="listed cannot be cut into two parts: name the training data by --training"
    ):
        cut_in_two(Listed([]), cut)


def test_material_by_the_names_of_changes(variant: Variant, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(materials, "read_material", lambda *given, **how: asked.append((given, how)))
    monkeypatch.setattr(materials, "failing_images", lambda run, data: [run, data.name, len(data)])
    data, training = world(10, 1), world(4, 2)
    material_of(variant, data, training, changes=["fog"], run=Path("run"), seed=3)
    material_of(variant, data, cut=0.7)
    (own, how), (cut, usual) = asked
    assert (own[1], own[2], list(own[3])) == (training, data, ["fog"])
    assert how == {"guided": [Path("run"), data.name, 10], "seed": 3}
    assert ([len(one) for one in cut[1:3]], list(cut[3]), usual) == ([7, 3], ["rain", "fog"], {"guided": []})


def test_failing_images_of_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[Any] = []
    stored = [StoredImage(name, "f", name != "fine", Path(name)) for name in ("bad", "fine", "worse")]
    monkeypatch.setattr(materials, "stored_images", lambda run: stored)
    monkeypatch.setattr(materials, "check_searched", lambda run, data: checked.append((run, data)))
    assert [one.case for one in failing_images(Path("run"), Listed([]))] == ["bad", "worse"]
    assert [run for run, _ in checked] == [Path("run")]
    stored[:] = stored[1:2]
    with pytest.raises(InputError, match="the run run has no failing images to learn from"):
        failing_images(Path("run"), Listed([]))


def test_material_that_cannot_be_read(variant: Variant) -> None:
    guided = [StoredImage("try", "f", True, Path("x.png"))]
    sees = architecture("chauffeur").variant(["steering"], {"width": 96, "height": 64, "history": 2})
    with pytest.raises(
        InputError, match="chauffeur sees 2 earlier frames, and a run stores one image of a case"
    ):
        read_material(sees, world(4, 1), world(4, 2), {}, guided=guided)
    with pytest.raises(InputError, match="listed has no frame that epoch can use"):
        read_material(variant, world(4, 1), Listed([]), CHANGES)


def test_material_counts_and_tells_its_progress(variant: Variant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(materials, "_CHUNK", 3)
    shown: list[tuple[int, int]] = []
    found = read_material(
        variant,
        world(4, 1),
        world(7, 2),
        {"fog": CHANGES["fog"]},
        progress=lambda done, total: shown.append((done, total)),
    )
    assert shown == [(3, 7), (6, 7), (7, 7)]
    assert str(found) == "4 training, 7 clean, 7 fog"
    assert found.changed["fog"].originals.tolist() == list(range(7))
    whole = read_material(variant, world(4, 1), world(7, 2), {"fog": CHANGES["fog"]})
    assert whole.changed["fog"].samples.sha256 == found.changed["fog"].samples.sha256
    other = read_material(variant, world(4, 1), world(7, 2), {"rain": CHANGES["rain"]}, seed=1)
    assert (
        other.changed["rain"].samples.sha256
        != read_material(variant, world(4, 1), world(7, 2), {"rain": CHANGES["rain"]})
        .changed["rain"]
        .samples.sha256
    )


def test_moments_are_two_seconds_of_one_sequence() -> None:
    def frame(name: str, time: float | None, sequence: str | None = None) -> Frame:
        about = {} if sequence is None else {"sequence": sequence}
        return Frame(name, np.zeros((4, 4, 3), np.uint8), signals=Signals(timestamp=time), metadata=about)

    versions: Any = SimpleNamespace(_known={})
    frames = [
        frame("a", 0.0), frame("b", 1.9), frame("c", 2.0), frame("d", 1.0, "x"), frame("e", None),
        frame("f", None),         frame("g", 3.9), frame("h", 1.5, "x"),
    ]  # fmt: skip
    assert [materials._Versions._moment(versions, one) for one in frames] == [0, 0, 1, 2, 3, 4, 1, 2]


def test_units_of_recordings() -> None:
    def unit(**units: Any) -> ErrorUnit:
        class Recorded(Listed):
            pass

        data = Recorded([])
        if units:
            data.units = SignalUnits(**units)  # type: ignore[attr-defined]
        return ErrorUnit.of(data)

    assert unit() == ErrorUnit("°", 1.0)
    assert unit(steering="deg") == ErrorUnit("deg", 1.0)
    assert unit(steering=25.0).name == "units of the recording"
    assert unit(steering=25.0).per_degree == pytest.approx(1 / 25)
    assert unit(steering="deg", steering_ratio=2.0, steering_positive="left") == ErrorUnit(
        "deg at the steering wheel", 2.0
    )


def test_changes_go_as_far_as_people_tolerate() -> None:
    kinds, limits = tolerated_changes(None, study="imagenet")
    assert (len(kinds), len(limits)) == (8, 8)
    (contrast,), (limit,) = tolerated_changes(["contrast"], study="imagenet")
    assert (contrast.name, limit) == ("contrast", 0.77)
    assert tolerated_changes(["contrast", "jpeg"], study="imagenet", limit=0.3)[1] == [0.3, 0.3]


def test_frames_that_a_change_does_not_apply_to_are_counted(variant: Variant) -> None:
    rain = CHANGES["rain"]

    class Sometimes:
        name = "rain"

        def __call__(self, frame: Frame, rng: Any, *, measure: bool) -> Frame:
            if frame.id in left_out:
                raise NotApplicable("no sky")
            return rain(frame, rng, measure=measure)

    data = world(4, 2)
    left_out = {data[0].id, data[2].id}
    change: Any = Sometimes()
    found = read_material(variant, world(4, 1), data, {"rain": change, "fog": CHANGES["fog"]})
    assert found.left_out == {"rain": 2, "fog": 0}
    assert found.changed["rain"].originals.tolist() == [1, 3]
