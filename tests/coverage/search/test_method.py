"""The method on networks: what is judged, stored, guided, resumed and refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.coverage.search.searching import Drive, Small, digests, network, requirement, searched, tried

from roadworthy.cases import OutcomeStatus, Requirement, ResumableMethod, Status
from roadworthy.coverage.criteria import NeuronCoverage
from roadworthy.coverage.method import CoverageMethod
from roadworthy.coverage.search import SearchSettings
from roadworthy.coverage.search.findings import findings_of, most_different
from roadworthy.coverage.search.settings import SEARCHES
from roadworthy.coverage.search.trials import Replay
from roadworthy.errors import InputError, SystemUnderTestError
from roadworthy.frames import Frame, Signals, SignalUnits
from roadworthy.images import encode_image
from roadworthy.models import Truth
from roadworthy.runs import read_rows, run
from roadworthy.runs.store.writing import image_path
from roadworthy.visual_change import tolerated, visual_change

torch.set_num_threads(1)
CONTRASTS = ["contrast(gain=0.5)", "contrast(gain=0.05)", "jpeg(quality=20)"]
EVERY = pytest.mark.parametrize("name", SEARCHES)


def test_it_is_a_method_that_can_be_resumed() -> None:
    assert isinstance(CoverageMethod(), ResumableMethod)


@EVERY
@pytest.mark.parametrize("reference", ["mse", "rmse"])
def test_rows_say_what_equation_2_says(tmp_path: Path, name: str, reference: str) -> None:
    units = SignalUnits(steering="rad", steering_positive="left", steering_ratio=14.4)
    result = searched(tmp_path, Drive(units=units), search=name, reference=reference, **{"lambda": 0.3})
    native = -np.deg2rad(1) * 14.4
    labels = np.array([frame.signals.steering for frame in Drive()]) * native
    predicted = np.array([one.steering for one in network().predict(list(Drive()))]) * native
    mse = np.mean((labels - predicted) ** 2)
    bound = 0.3 * (mse if reference == "mse" else np.sqrt(mse))
    rows = tried(tmp_path)
    assert len(rows) == 60
    for row in rows:
        place = int(row["param.place"])
        assert row["param.bound"] == pytest.approx(bound, rel=1e-5)
        assert row["measure.label"] == pytest.approx(labels[place])
        assert row["margin"] == pytest.approx(
            bound - (labels[place] - row["measure.prediction"]) ** 2, abs=1e-9
        )
        assert row["status"] == ("passed" if row["margin"] >= 0 else "violated")
    assert result.counts[Status.NOT_APPLICABLE] == 5, "the originals are not judged"
    violated = sum(row["status"] == "violated" for row in rows)
    assert 0 < violated == result.counts[Status.VIOLATED]
    assert result.outcome.status is OutcomeStatus.VIOLATED


@EVERY
def test_images_can_be_made_again_and_coverage_is_that_of_all_of_them(tmp_path: Path, name: str) -> None:
    transforms = ["rotation", "gaussian-noise", "blur"]
    result = searched(tmp_path, search=name, transforms=transforms, **{"lambda": 0.3})
    replay = Replay(read_rows(tmp_path), Drive())
    stored = 0
    for row in tried(tmp_path):
        if row["images"]:
            stored += 1
            content = image_path(tmp_path / "images", str(row["images"])).read_bytes()
            assert content == encode_image(replay.frame(str(row["case"])).image, ".png")
    assert stored == result.counts[Status.VIOLATED] > 0
    _, seen = network().observe([*Drive(), *replay.frames()])
    coverage = NeuronCoverage(seen.layers)
    coverage.update(seen)
    assert result.outcome.measures["coverage"] == coverage.value
    rows = tried(tmp_path)
    assert rows[-1]["measure.coverage"] == coverage.value
    gains = sum(float(row["measure.gain"]) for row in rows)
    assert result.outcome.measures["coverage_of_originals"] == pytest.approx(coverage.value - gains)


def test_images_grow_from_images_that_helped(tmp_path: Path) -> None:
    searched(tmp_path, search="algorithm-1")
    rows = {str(row["case"]): row for row in tried(tmp_path)}
    grown = [row for row in rows.values() if row["param.parent"]]
    assert grown
    for row in grown:
        parent = rows[str(row["param.parent"])]
        assert float(parent["measure.gain"]) > 0
        assert parent["param.place"] == row["param.place"]
        assert int(row["param.depth"]) == int(parent["param.depth"]) + 2


@EVERY
def test_the_same_seed_gives_the_same_bytes_whatever_the_batch_size(tmp_path: Path, name: str) -> None:
    for size in (1, 7, 64):
        searched(tmp_path / str(size), search=name, batch_size=size, tries=110)
    assert digests(tmp_path / "1") == digests(tmp_path / "7") == digests(tmp_path / "64")
    searched(tmp_path / "other", search=name, seed=1, tries=110)
    assert digests(tmp_path / "other") != digests(tmp_path / "1")


@pytest.mark.parametrize(
    "criterion",
    [
        "top-k(k=2)",
        "multisection(sections=5)",
        "boundary",
        "distance-surprise",
        "0.5*neuron + 0.5*top-k-patterns",
    ],
)
def test_any_criterion_or_mix_can_guide_it(tmp_path: Path, criterion: str) -> None:
    searched(tmp_path / "parts", criterion=criterion, search="algorithm-1", tries=120)
    values = [float(row["measure.coverage"]) for row in tried(tmp_path / "parts")]
    assert values == sorted(values)
    assert values[-1] > values[0]
    searched(tmp_path / "parts", criterion=criterion, search="algorithm-1", tries=200, resume=True)
    searched(tmp_path / "whole", criterion=criterion, search="algorithm-1", tries=200)
    assert tried(tmp_path / "parts") == tried(tmp_path / "whole"), "its state comes back whole"


def test_failing_images_have_their_visual_change_and_whether_people_tolerate_it(tmp_path: Path) -> None:
    searched(tmp_path, tries=150, transforms=CONTRASTS, **{"lambda": 0.3})
    rows = tried(tmp_path)
    images = Replay(rows, Drive())
    seen: set[object] = set()
    for row in rows:
        case, told = str(row["case"]), row.get("measure.tolerated")
        if row["status"] != "violated":
            assert row["visual_change"] is told is None
            continue
        change = visual_change(images.original(case).image, images.frame(case).image)
        assert row["visual_change"] == pytest.approx(change, abs=1e-6)
        name = str(row["param.transform"]).partition("(")[0]
        assert told == (tolerated(change, name) if row["param.depth"] == 1 else None)
        seen.add(told)
    assert seen == {True, False, None}


def test_failures_become_findings(tmp_path: Path) -> None:
    searched(tmp_path, tries=150)
    rows = tried(tmp_path)
    found = findings_of(rows)
    assert sum(one.failures for one in found) == sum(row["status"] == "violated" for row in rows)
    assert [one.margin for one in found] == sorted(one.margin for one in found)
    depth = {str(row["case"]): int(row["param.depth"]) for row in rows}
    assert all(depth[one.simplest] <= depth[one.case] for one in found)
    assert most_different(found, 1) == found[:1]
    assert len(most_different(found, len(found))) == len(found)
    # Everything is alike when the radius is large: only the side of the error tells failures apart.
    assert len(findings_of(rows, radius=1e6)) <= 2


def test_behaviour_is_in_units_of_what_is_usual() -> None:
    method = CoverageMethod()
    run(method, requirement(tries=1), Drive(), network(), gate="off")
    originals = method.originals
    _, seen = network().observe(list(Drive()))
    hidden = seen.values[:, seen.slices[1]].astype(float)
    usual = np.maximum(hidden.std(axis=0), 0.25 * np.sqrt(np.mean(hidden**2, axis=0)))
    *numbers, error = originals.behaviour(originals.fingerprint(seen.take([0])), -3 * originals.bound**0.5)
    assert error == pytest.approx(-3), "an error at the bound is 1"
    active = usual > 0
    assert np.array(numbers)[active] == pytest.approx(
        (hidden[0] / np.where(active, usual, 1))[active], rel=1e-5
    )


def _nan(module: Small) -> None:
    module.hidden.weight[2] = np.nan


def _constant(module: Small) -> None:
    module.conv.weight[:] = 0
    module.conv.bias[:] = 0  # type: ignore[index]


def test_a_network_whose_activations_are_nan_is_told_by_layer_and_frame(tmp_path: Path) -> None:
    with pytest.raises(
        SystemUnderTestError, match=r"none of the originals .* 'hidden' answered frame 'drive/0'"
    ):
        searched(tmp_path, system=network(_nan))


def test_a_constant_layer_is_named_and_covers_nothing() -> None:
    method = CoverageMethod()
    run(method, requirement(tries=20), Drive(), network(_constant), gate="off")
    assert [layer.name for layer in method.originals.constant_layers()] == ["conv", "answer"]
    criterion = method.originals.criterion
    assert isinstance(criterion, NeuronCoverage)
    assert not criterion.seen[:6].any()


def test_a_criterion_that_cannot_be_learnt_from_constant_neurons_says_so(tmp_path: Path) -> None:
    def silent(module: Small) -> None:
        module.hidden.weight[:] = 0

    with pytest.raises(InputError, match="none of the chosen neurons varies"):
        searched(tmp_path, system=network(silent), criterion="likelihood-surprise")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tries": 0}, "tries must be 1 or more, got 0"),
        ({"tries": 2.5}, "tries must be 1 or more"),
        ({"seconds": 0}, "seconds must be above 0"),
        ({"criterion": "neurons"}, "there is no criterion 'neurons': did you mean 'neuron'"),
        ({"criterion": "top-k(j=2)"}, "j"),
        ({"transforms": ["rotate it"]}, "rotate it"),
        ({"transforms": []}, "expected the names of transformations"),
        ({"search": "algorithm1"}, "there is no search 'algorithm1': did you mean 'algorithm-1'"),
        ({"reference": "mae"}, "there is no reference 'mae'"),
        ({"lambda": 0}, "λ must be above 0"),
        ({"output": "brake"}, "there is no output 'brake'"),
        ({"lamda": 5}, "coverage has no parameter 'lamda': did you mean 'lambda'"),
        ({"max_failed_tries": -1}, "max_failed_tries must be 0 or more"),
        ({"deepest": 0}, "deepest must be 1 or more"),
        ({"tries": "many"}, "tries must be 1 or more"),
    ],
)
def test_settings_that_cannot_be_used(tmp_path: Path, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        searched(tmp_path, **parameters)


def test_settings_come_back_from_a_requirement() -> None:
    settings = SearchSettings(search="random", transforms=("blur", "fog"), seconds=2.0, lam=3.0)
    stored = Requirement("C1", "x", "coverage", settings.parameters()).parameters
    assert SearchSettings.from_parameters(stored) == settings


def test_frames_without_labels_cannot_be_judged(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="frame 'drive/0' has no label for steering to compare with"):
        searched(tmp_path, Drive(labels=False))


def test_answers_that_are_exactly_right_leave_no_bound(tmp_path: Path) -> None:
    class Right(Drive):
        def __getitem__(self, index: int, /) -> Frame:
            frame = super().__getitem__(index)
            (answer,) = network().predict([frame])
            return frame.replace(signals=Signals(steering=answer.steering))

    with pytest.raises(InputError, match="exactly their labels"):
        searched(tmp_path, Right())


def test_a_system_that_cannot_be_observed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="truth does not tell what happens inside it"):
        searched(tmp_path, system=Truth())


def test_no_frames_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="drive has no frames"):
        searched(tmp_path, Drive(0))
