"""Measurements in pieces are those in one go, and what is stored is what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from roadworthy.coverage import FunctionalCoverage, Layer, Observed
from roadworthy.coverage.criteria.named import CriterionChoice, parse_criterion
from roadworthy.coverage.measuring import CoverageMeasurement, Covered, Measuring
from roadworthy.datasets import load
from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.models import Network, load_model
from roadworthy.result_tables import ResultTable

FRAMES = list(load("world:town,meadow", count=12, size="96x48", weather="all", time="all"))


def dave2() -> Observed[Any]:
    network = load_model("dave2")
    assert isinstance(network, Network)
    return Observed(network)


def measured(frames: list[Frame], choices: list[CriterionChoice], batch: int = 5) -> CoverageMeasurement:
    measuring = Measuring(dave2(), choices, FunctionalCoverage())
    measuring.learn(lambda: [FRAMES[:6]])
    for start in range(0, len(frames), batch):
        measuring.add(frames[start : start + batch])
    return measuring.result


def test_layers_tell_which_neurons_were_never_tried() -> None:
    layers = (Layer("a", "conv", 2), Layer("b", "dense", 3))
    seen = np.array([1, 0, 0, 0, 1, 1, 0, 1, 0, 0], np.bool_)
    rows = Covered("boundary", layers, seen, per_neuron=True).rows()
    assert [(row.layer.name, row.covered, row.total, row.untried) for row in rows] == [
        ("a", 1, 4, (1,)),
        ("b", 3, 6, (2,)),
    ]
    assert Covered("top-k-patterns", layers, seen, per_neuron=False).rows() == []


def test_growth_never_falls_and_keeps_few_points() -> None:
    functional = Measuring(None, [], FunctionalCoverage())
    for number in range(1000):
        functional.add([FRAMES[number % len(FRAMES)]])
    growth = functional.result.growth
    assert len(growth) <= 257
    assert growth[-1][0] == 1000
    values = [point["functional"] for _, point in growth]
    assert values == sorted(values)
    # Every fourth image, beginning with the fourth: what a long measurement leaves out, it leaves out evenly.
    assert [count for count, _ in growth] == list(range(4, 1001, 4))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("nueron", "did you mean 'neuron'"),
        ("top-k(k=many)", "a whole number"),
        ("top-k(many)", "expected option=value"),
        ("top-k(k=1", "expected name or name"),
        ("neuron(k=1)", "no option 'k'"),
    ],
)
def test_a_criterion_that_cannot_be_read(text: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        parse_criterion(text)


def test_a_criterion_without_its_training_data() -> None:
    measuring = Measuring(dave2(), [parse_criterion("multisection")])
    with pytest.raises(InputError, match="give that data"):
        measuring.add(FRAMES[:1])


def test_nothing_to_measure() -> None:
    with pytest.raises(InputError, match="at least one criterion"):
        Measuring(None, [])
    with pytest.raises(InputError, match="twice"):
        Measuring(dave2(), [parse_criterion("neuron")] * 2)
    with pytest.raises(InputError, match="no images"):
        _ = Measuring(None, [], FunctionalCoverage()).result


def test_a_data_set_is_measured_in_one_call() -> None:
    data = load("world:town", count=6, size="64x32")
    measuring = Measuring.of(["neuron", "functional"], "dave2", threshold=0.3)
    seen: list[str] = []

    def progress(numbers: Sequence[int], what: str) -> Iterator[int]:
        seen.append(what)
        return iter(numbers)

    whole = measuring.measure(data, 3, progress=progress)
    by_hand = Measuring.of(["neuron", "functional"], "dave2", threshold=0.3)
    for number in (0, 2, 4):
        by_hand.add([data[number]])
    assert whole.as_dict()["criteria"] == by_hand.result.as_dict()["criteria"]
    assert (whole.images, seen) == (3, ["Measuring"])
    title, criterion, table, *_ = whole.lines()
    assert title == "dave2, counting distinct, 3 images"
    assert str(criterion).startswith("neuron(threshold=0.3): ")
    assert isinstance(table, ResultTable)
    assert [row[0] for row in table.rows] == [
        one.layer.name for one in next(iter(whole.criteria.values())).rows()
    ]
    assert "What was never tried:" in whole.lines()


def test_training_data_is_for_criteria_that_compare_with_it() -> None:
    data = load("world:town", count=3, size="64x32")
    compared = Measuring.of(["boundary"], "dave2")
    with pytest.raises(InputError, match="compare with what the network did on its training data"):
        compared.measure(data)
    learned = compared.measure(data, training=data)
    assert next(iter(learned.criteria.values())).covered == 0, "nothing lies beyond what was learned"
    with pytest.raises(InputError, match="leave it out"):
        Measuring.of(["neuron"], "dave2").measure(data, training=data)
