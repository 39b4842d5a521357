"""Measurements as they are told and stored, kept whole; and what cannot be put together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.kept import as_kept

from roadworthy.coverage import FunctionalCoverage, Layer, OperatingDomain
from roadworthy.coverage._uncounted import Uncounted
from roadworthy.coverage.functional import DomainElement
from roadworthy.coverage.measuring import CoverageMeasurement, Covered
from roadworthy.errors import InputError
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
