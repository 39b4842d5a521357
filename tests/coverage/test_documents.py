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

from roadworthy.coverage import Activations, FunctionalCoverage, Layer, OperatingDomain
from roadworthy.coverage._torch import _fetched
from roadworthy.coverage.activations import Operation, Uncounted, join, not_counted, not_counted_text
from roadworthy.coverage.functional import DomainElement
from roadworthy.coverage.measuring import CoverageMeasurement, Covered
from roadworthy.coverage.search.settings import SEARCHES, SearchSettings
from roadworthy.coverage.search.trials import TrialResult
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
            "neuron": Covered("neuron", LAYERS, seen, per_neuron=True),
            "top-k-patterns": Covered("top-k-patterns", LAYERS, pairs, per_neuron=False),
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


@pytest.mark.parametrize(
    ("operations", "text"),
    [
        # Scores without a product before them, and weights that nothing is multiplied by, are no attention.
        ([("softmax", 0), ("matmul", 1, 0)], "2 operations (1 softmax, 1 matmul)"),
        ([("matmul", 0, 0), ("softmax", 1)], "2 operations (1 matmul, 1 softmax)"),
        ([("matmul", 0, 0), ("softmax", 1), ("matmul", 2, 0)], "1 attention block (2 matmul, 1 softmax)"),
        # What only passes values on may lie between them; what mixes may not.
        (
            [("bmm", 0, 0), ("mul", 1), ("softmax", 2), ("dropout", 3), ("bmm", 4, 0)],
            "1 attention block (2 bmm, 1 softmax)",
        ),
        (
            [("matmul", 0, 0), ("tanh", 1), ("softmax", 2), ("matmul", 3, 0)],
            "4 operations (2 matmul, 1 tanh, 1 softmax)",
        ),
        # A product with a constant is no product of two things.
        ([("matmul", 0), ("softmax", 1), ("matmul", 2, 0)], "3 operations (2 matmul, 1 softmax)"),
        ([("scaled_dot_product_attention", 0, 0, 0)], "1 attention block (1 scaled_dot_product_attention)"),
        ([("add", 0), ("maxpool", 1), ("__iadd__", 2, 0), ("reduce_sum", 3)], "1 operation (1 add)"),
        ([("transpose", 0), ("reshape", 1)], ""),
    ],
)
def test_what_an_attention_block_is(operations: list[tuple[Any, ...]], text: str) -> None:
    several = [
        Operation("input", counted=True),
        *(Operation(name, tuple(parents)) for name, *parents in operations),
    ]
    told = not_counted_text(not_counted(several))
    assert told == (f"not counted: {text}" if text else "")


def test_counted_and_hidden_operations_are_no_others() -> None:
    block = [
        Operation("input", counted=True),
        Operation("matmul", (0, 0)),
        Operation("softmax", (1,), counted=True),
    ]
    found = not_counted([*block, Operation("matmul", (2, 0)), Operation("If", (3,), hidden=True)])
    assert [str(one) for one in found] == [
        "2 operations (2 matmul)",
        "1 part that cannot be looked into (1 If)",
    ]
    counted = Operation("scaled_dot_product_attention", (0, 0), counted=True)
    assert not_counted([block[0], counted]) == ()


def test_the_state_of_a_search_does_not_change_with_it() -> None:
    for name in SEARCHES:
        settings = SearchSettings(search=name, tries=40, transforms=("rotation", "brightness"), again=True)
        search = settings.make(3, np.random.default_rng(1))
        for number in range(12):
            for trial in search.propose(2):
                search.tell(trial, TrialResult(0.1 if number % 3 == 0 else 0.0))
        state = search.state()
        before = json.dumps(state)
        again = settings.make(3, np.random.default_rng(9))
        again.restore(json.loads(before))
        courses = []
        for one in (search, again):
            course = []
            for number in range(12):
                for trial in one.propose(2):
                    one.tell(trial, TrialResult(0.1 if number % 4 == 0 else 0.0))
                    course.append(trial)
            courses.append(course)
        assert json.dumps(state) == before, f"{name}: what was asked for before stays"
        assert courses[0] == courses[1], name
