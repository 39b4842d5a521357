"""Retraining and measuring with real frames, in small."""

from __future__ import annotations

from pathlib import Path

import pytest

from roadworthy.coverage import FunctionalCoverage, Observed
from roadworthy.coverage.criteria.named import parse_criterion
from roadworthy.coverage.measuring import Measuring
from roadworthy.datasets import UdacityCh2Dataset
from roadworthy.models import Network, load_model
from roadworthy.models.zoo import located_weights, read_variant
from roadworthy.training import evaluate
from roadworthy.training.retraining.material import read_material
from roadworthy.training.retraining.retrain import RetrainingPlan, retrain, tuning_settings
from roadworthy.transforms import make_transform


def test_errors_before_are_those_of_the_evaluator(real_data: Path) -> None:
    """Another way to the same number: the frames through ONNX Runtime, in the unit of the recording."""
    data = UdacityCh2Dataset(str(real_data / "udacity_ch2"))
    frames = data[3600:3900:5]
    variant = read_variant(located_weights("dave2-udacity"))
    material = read_material(variant, data[:64], frames, {"rain": make_transform("rain")})
    settings = tuning_settings("dave2-udacity")
    quick = type(settings)(**{**vars(settings), "epochs": 1, "device": "cpu"})
    found = retrain(material, "dave2-udacity", RetrainingPlan(split="time"), settings=quick)
    clean = found.comparisons[0]
    measures = {one.name: one for one in evaluate(load_model("dave2-udacity"), frames[round(0.66 * 60) :])}
    assert clean.images == measures["steering RMSE as recorded"].frames
    assert clean.unit.startswith(measures["steering RMSE as recorded"].unit)
    assert clean.rmse_before == pytest.approx(measures["steering RMSE as recorded"].value, rel=1e-3)
    # Every fifth of 20 frames a second: 60 frames are 15 seconds, of which a third is compared on.
    assert 2 <= clean.moments <= 4


def test_real_frames_show_neurons_and_little_of_the_domain(real_data: Path) -> None:
    data = UdacityCh2Dataset(str(real_data / "udacity_ch2"))
    network = load_model("epoch-udacity")
    assert isinstance(network, Network)
    measuring = Measuring(Observed(network), [parse_criterion("neuron")], FunctionalCoverage())
    measuring.add(list(data[::450]))
    found = measuring.result
    assert 0.05 < found.criteria["neuron"].value < 0.9
    assert found.functional is not None
    # The recording tells what was steered and nothing about the weather.
    rows = {row.name: row for row in found.functional.rows()}
    assert rows["weather"].unknown == 10
    assert rows["steering"].covered >= 2
