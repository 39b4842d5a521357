"""Measurements as they are told and stored, kept whole; and what cannot be put together."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from tests.kept import as_kept

from roadworthy.coverage import Activations, FunctionalCoverage, Layer, OperatingDomain, join
from roadworthy.coverage._torch import _fetched
from roadworthy.coverage._uncounted import Uncounted
from roadworthy.coverage.functional import DomainElement
from roadworthy.coverage.measuring import CoverageMeasurement, Covered
from roadworthy.errors import InputError, SystemUnderTestError
from roadworthy.frames import Frame, Signals

KEPT = Path(__file__).with_name("kept")
LAYERS = (Layer("conv|1", "conv", 4), Layer("dense", "dense", 12), Layer("full", "dense", 2))
DOMAIN = """
dimensions:
  weather: [sunny, rainy]
  time: [day, dusk, night]
  speed: {slow: [0, 5], fast: [5, 40]}
crosses:
  - [weather, time]
  - [weather, time, speed]
"""


def frame(speed: float | None = None, **facts: str) -> Frame:
    return Frame("f", np.zeros((2, 2, 3), np.uint8), metadata=facts, signals=Signals(speed=speed))


@pytest.fixture
def domain(tmp_path: Path) -> OperatingDomain:
    (tmp_path / "domain.yaml").write_text(DOMAIN)
    return OperatingDomain.load(tmp_path / "domain.yaml")


def measured(domain: OperatingDomain | None) -> CoverageMeasurement:
    seen = np.zeros(18, np.bool_)
    seen[[0, 2, 16, 17]] = True
    pairs = np.array([True, False, True])
    functional = None
    if domain is not None:
        functional = FunctionalCoverage(domain)
        functional.update([frame(3.0, weather="rainy", time="night"), frame(50.0, weather="foggy"), frame()])
    return CoverageMeasurement(
        "dave2", "distinct", 3,
        {
            "neuron": Covered("neuron", LAYERS, seen, per_neuron=True, settings="s"),
            "top-k-patterns": Covered("top-k-patterns", LAYERS, pairs, per_neuron=False, settings="t"),
        },
        functional,
        [(1, {"neuron": 0.1}), (3, {"neuron": 0.2})],
        (Uncounted("attention block", 2, (("Softmax", 2), ("MatMul", 1))),),
    )  # fmt: skip


def text_of(found: CoverageMeasurement) -> str:
    document = json.dumps(found.as_dict(), indent=1, ensure_ascii=False)
    parts = [*map(str, found.lines()), *found.holes(), *found.holes(1), document]
    return "\n".join(parts) + "\n"


def test_a_measurement_is_told_as_kept(domain: OperatingDomain) -> None:
    alone = CoverageMeasurement(images=1, functional=FunctionalCoverage(domain))
    parts = [text_of(one) for one in (measured(domain), measured(None), alone)]
    as_kept(KEPT / "measurement.txt", "\n=====\n".join(parts))


def test_a_measurement_comes_back_from_its_file(domain: OperatingDomain, tmp_path: Path) -> None:
    whole = measured(domain)
    whole.save(tmp_path / "a.npz")
    again = CoverageMeasurement.load(tmp_path / "a.npz", domain)
    whole.growth.clear()
    assert text_of(again) == text_of(whole)
    assert again.criteria["neuron"].settings == "s"
    twice = measured(domain)
    twice.merge(measured(domain), measured(domain))
    assert (twice.images, twice.growth, twice.values) == (9, [], whole.values)
    assert twice.functional is not None
    assert twice.functional.frames == 9
    for change, message in (
        ({"model": "epoch"}, "different models: dave2 and epoch"),
        ({"counting": "own"}, "different countings: distinct and own"),
        ({"functional": None}, "different uses of an operating domain: False and True"),
        ({"criteria": {}}, r"different criteria: \['neuron', 'top-k-patterns'\] and \[\]"),
    ):
        other: Any = measured(domain)
        for name, value in change.items():
            setattr(other, name, value)
        with pytest.raises(InputError, match=f"cannot merge measurements with {message}"):
            whole.merge(other)
    unknown = measured(None)
    unknown.not_counted = None
    unknown.merge(measured(None))
    assert unknown.not_counted == measured(None).not_counted


def test_what_fits_what_is_wanted() -> None:
    truck, red = DomainElement.of("truck"), DomainElement("vehicle", (("color", "red"), ("type", "truck")))
    assert red.fits(truck)
    assert red.fits(DomainElement("dynamic object"))
    assert DomainElement("vehicle").fits(truck) is None
    assert DomainElement("vehicle", (("color", "red"),)).fits(truck) is None
    assert DomainElement("vehicle", (("type", "car"),)).fits(truck) is False
    assert DomainElement("pedestrian").fits(truck) is False
    assert truck.fits(red) is None
    assert DomainElement.of("drizzle", {"level": "heavy"}) == DomainElement("rainy", (("level", "light"),))


class OnGpu(torch.Tensor):
    """Says that it is on another device."""

    @property
    def device(self) -> Any:  # type: ignore[override]
        return SimpleNamespace(type="cuda")


def test_numbers_from_a_gpu_come_in_one_go_and_keep_their_shapes() -> None:
    tensors = [torch.arange(6.0).reshape(2, 3), torch.tensor([7.0]), torch.arange(4.0).reshape(1, 2, 2)]
    for given in (tensors, [one.as_subclass(OnGpu) for one in tensors]):
        found = _fetched(given)
        assert [one.tolist() for one in found] == [one.tolist() for one in tensors]
    assert _fetched([]) == []


@pytest.mark.parametrize("table", ["values", "lows", "highs"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_neurons_answer_with_numbers(table: str, value: float) -> None:
    given: dict[str, Any] = {
        "values": np.zeros((2, 3)), "lows": np.zeros((2, 2)), "highs": np.zeros((2, 2)),
    }  # fmt: skip
    layers = (Layer("a", "conv", 2), Layer("b", "dense", 1))
    assert Activations(layers, **given).values.shape == (2, 3)
    given[table][1, -1] = value
    with pytest.raises(SystemUnderTestError):
        Activations(layers, **given)
    for name in given:
        with pytest.raises(InputError):
            Activations(layers, **{**given, name: np.zeros((2, 9))})


def test_the_first_layer_that_is_wrong_is_the_cause() -> None:
    layers = (Layer("a", "conv", 2), Layer("b", "dense", 1))
    values, lows, highs = np.zeros((3, 3)), np.zeros((3, 2)), np.zeros((3, 2))
    values[0, 2], lows[2, 0], highs[1, 0] = np.nan, -np.inf, np.inf
    with pytest.raises(SystemUnderTestError, match="layer 'a' answered frame 'y' with inf: are its weights"):
        Activations(layers, values, lows, highs, ("x", "y", "z"))
    highs[1, 0] = 0
    with pytest.raises(SystemUnderTestError, match="layer 'a' answered frame '2' with -inf"):
        Activations(layers, values, lows, highs)
    lows[2, 0] = 0
    with pytest.raises(SystemUnderTestError, match="layer 'b' answered frame '0' with nan"):
        Activations(layers, values, lows, highs)
    good = Activations(layers, np.arange(9.0).reshape(3, 3), lows, highs)
    assert good.frames == ("0", "1", "2")
    assert good.of("b").tolist() == [[2], [5], [8]]
    assert (good.take([2, 0]).frames, good.take([2, 0]).values[:, 0].tolist()) == (("2", "0"), [6, 0])
    assert join([good.take([1]), good.take([0, 2])]).values[:, 0].tolist() == [3, 0, 6]
    assert join([good]) is good
    with pytest.raises(InputError, match="there is no layer 'c': "):
        good.of("c")
    with pytest.raises(InputError, match="frames must name the 3 images, got 1 names"):
        Activations(layers, good.values, lows, highs, ("x",))
    with pytest.raises(InputError, match="expected at least one batch of activations, got none"):
        join([])
    other = Activations((Layer("a", "conv", 3),), good.values, lows[:, :1], highs[:, :1])
    with pytest.raises(InputError, match="the batches are of different networks, or counted differently"):
        join([good, other])
