"""Coverage in detail: what a search concludes and notes, graphs that are odd, state that does not fit."""

from __future__ import annotations

import dataclasses
import math
import pickle
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from tests.coverage.search.searching import Drive, _exported, network, requirement, tried
from tests.coverage.search.test_sampled import of_sample, verdicts
from torch import nn

from roadworthy.cases import Case, OutcomeStatus, Predict, Status, Verdict
from roadworthy.coverage import Activations, FunctionalCoverage, Layer, OperatingDomain
from roadworthy.coverage._onnx import OnnxRecorder, _halved, _has_factor, gate_after, read_graph
from roadworthy.coverage._torch import _in_place, _inner_outputs
from roadworthy.coverage.activations import Assembler, Counting, Reduced, input_layer
from roadworthy.coverage.criteria.named import Training, parse_criterion
from roadworthy.coverage.measuring import Measuring, chosen_criteria, read_batches
from roadworthy.coverage.method import CoverageMethod
from roadworthy.coverage.oracle import check_limits
from roadworthy.coverage.search import findings, trials
from roadworthy.coverage.search.settings import SearchSettings
from roadworthy.errors import FrameError, InputError, NotApplicable, SystemUnderTestError
from roadworthy.frames import Frame, Signals, SignalUnits

approx: Any = pytest.approx  # may stand beside what is exact in one tuple
GREY = np.full((8, 8, 3), 90, np.uint8)


def told(coverage: float | None, gain: float | None, margin: float = 1.0) -> Verdict:
    case = Case("try", "C1", (Predict((Frame("a", GREY),)),))
    measures: dict[str, Any] = {"coverage": coverage, "gain": gain} if coverage is not None else {}
    return Verdict.from_margin(case, margin, measures=measures)


@pytest.mark.parametrize(
    ("reach", "status"),
    [(0.5, OutcomeStatus.PASSED), (0.5 + 1e-10, OutcomeStatus.PASSED), (0.51, OutcomeStatus.VIOLATED)],
)
def test_coverage_that_must_be_reached(reach: float, status: OutcomeStatus) -> None:
    asked = requirement(reach=reach, tries=3, criterion="top-k")
    found = [told(None, None), told(0.25, 0.05), told(0.4, 0.15), told(0.5, 0.1)]
    outcome = CoverageMethod().conclude(asked, found)
    assert outcome.status is status
    assert outcome.summary == (
        f"top-k coverage went from 20.0% to 50.0%, {reach:.1%} must be reached; none of 4 tries fails; "
        "what a search finds is no rate"
    )
    assert {name: outcome.measures[name] for name in ("coverage_of_originals", "coverage", "reach")} == {
        "coverage_of_originals": pytest.approx(0.2), "coverage": 0.5, "reach": reach,
    }  # fmt: skip
    plain = CoverageMethod().conclude(requirement(tries=3), found)
    assert plain.status is OutcomeStatus.PASSED
    assert "reach" not in plain.measures
    failing = CoverageMethod().conclude(asked, [told(0.9, 0.1, -1.0)])
    assert (failing.status, failing.rate) == (OutcomeStatus.VIOLATED, None)
    assert "1 of 1 tries fail;" in failing.summary
    nothing = CoverageMethod().conclude(asked, [told(None, None)])
    assert "coverage" not in nothing.measures


def test_a_sample_of_nothing_and_of_one_cluster() -> None:
    empty = CoverageMethod().conclude(of_sample(0.3), [])
    assert empty.rate is None
    one = CoverageMethod().conclude(of_sample(0.0), verdicts([1]))
    assert "10 tries on 1 cluster, worth" in one.summary
    assert "accepted" not in one.summary
    # A crash has no measures and counts as much as a try can: 1 / (3 · 0.1).
    crashed = [
        dataclasses.replace(one, measures={}, margin=None, status=Status.ERROR, reason="it crashed")
        for one in verdicts([0] * 6, each=1)
    ]
    outcome = CoverageMethod().conclude(of_sample(0.3), [*crashed[:1], *verdicts([0] * 9, each=1)])
    assert outcome.rate == pytest.approx(10 / 3 / 10)
    whole = CoverageMethod().conclude(of_sample(0.3), crashed)
    assert (whole.rate, whole.measures["upper_bound"]) == (1.0, 1.0)


def judged(given: float, label: float | None, **parameters: Any) -> Verdict:
    frame = Frame("a", GREY, signals=Signals(steering=label))
    case = Case("c", "C1", (Predict((frame,)),), {"output": "steering", "scale": 2.0, **parameters})
    predicted = SimpleNamespace(frames=(frame,), signal=lambda output: [given], internals=("clue",))
    answers: Any = SimpleNamespace(predicted=lambda: predicted)
    return CoverageMethod().judge(case, answers)


def test_one_answer_is_judged_by_equation_2() -> None:
    found = judged(3.0, 1.0, bound=16.0)
    assert (found.status, found.margin, found.clue) == (Status.PASSED, 0.0, "clue")
    assert found.measures == {"label": 2.0, "prediction": 6.0, "error": 4.0}
    worse = judged(3.0, 1.0, bound=15.0, weight=0.5)
    assert (worse.status, worse.margin, worse.measures["weight"]) == (Status.VIOLATED, -1.0, 0.5)
    original = judged(3.0, 1.0)
    assert (original.status, original.margin, original.clue) == (Status.NOT_APPLICABLE, None, "clue")
    assert judged(3.0, None).reason == "the changed frame has no label for steering"
    with pytest.raises(SystemUnderTestError, match="it answered frame 'a' with nan, which is no number"):
        judged(math.nan, 1.0, bound=1.0)


def test_training_data_are_learned_in_batches_where_a_criterion_needs_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes: list[int] = []
    observed = network()

    class Watching:
        def observe(self, frames: list[Frame]) -> Any:
            sizes.append(len(frames))
            return observed.observe(frames)

    monkeypatch.setattr("roadworthy.coverage.method._AHEAD", 2)
    method = CoverageMethod()
    system: Any = Watching()
    method.learn("neuron", system, Drive(3))
    assert sizes == []
    assert method.training.lacks(["ranges"])
    method.learn("boundary", system, Drive(3))
    assert sizes == [2, 1]
    assert not method.training.lacks(["ranges"])


def test_a_search_that_ends_early_says_why(tmp_path: Path) -> None:
    now = iter(np.arange(0.0, 1e6, 0.5))
    from roadworthy.runs import run

    asked = requirement(tries=60, seconds=2.0)
    result = run(
        CoverageMethod(clock=lambda: float(next(now))), asked, Drive(), network(), out=tmp_path, gate="off"
    )
    (note,) = [one for one in result.outcome.notes if one.startswith("It ended")]
    assert note == f"It ended after {len(tried(tmp_path))} of 60 tries: the time was up."
    assert len(tried(tmp_path)) < 60


def test_what_a_reader_is_told_of_a_search() -> None:
    method = CoverageMethod()
    assert list(method._notes(SearchSettings())) == []
    assert method.state() == {}
    method._search = object()  # type: ignore[assignment]
    method._tries = 5
    method.originals = SimpleNamespace(  # type: ignore[assignment]
        constant_layers=lambda: (Layer("conv", "conv", 6),),
        not_counted="3 products",
        unanswered=("slow", "dead"),
    )
    assert list(method._notes(SearchSettings(tries=9))) == [
        "Layer 'conv' gave one and the same number for every original: its 6 neurons cannot be covered "
        "unless a change wakes it.",
        "Neurons of the counted layers only; 3 products.",
        "2 originals could not be answered and set no bound; the first: slow",
        "It ended after 5 of 9 tries: nothing was left to try.",
    ]
    assert len(list(method._notes(SearchSettings(tries=5)))) == 3
    with pytest.raises(
        InputError, match="the search to resume has tries 3, and None was asked for: resume with"
    ):
        method.restore(requirement(), {"settings": {"tries": 3}})
    with pytest.raises(InputError, match="has no frames, and a search needs some to change"):
        list(CoverageMethod().cases(requirement(), Drive(0), np.random.default_rng(0)))


def test_the_last_hidden_layer_is_the_fingerprint() -> None:
    layers = (Layer("a", "dense", 2), Layer("b", "dense", 3), Layer("c", "dense", 1))
    flat = np.arange(6.0)[None]
    ends = np.zeros((1, 3))
    one = Activations(layers, flat, ends, ends)
    assert findings._hidden(one).tolist() == [2.0, 3.0, 4.0]
    single = Activations(layers[:1], flat[:, :2], ends[:, :1], ends[:, :1])
    assert findings._hidden(single).tolist() == [0.0, 1.0]
    many = 40 * findings._NUMBERS
    wide = (Layer("a", "dense", many), Layer("b", "dense", 1))
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=(1, many + 1)) for _ in range(2)]
    prints = [findings._hidden(Activations(wide, row, ends[:, :2], ends[:, :2])) for row in rows]
    assert {part.size for part in prints} == {findings._NUMBERS}
    apart = np.linalg.norm(prints[0] - prints[1]) / np.linalg.norm((rows[0] - rows[1])[0, :-1])
    assert apart == pytest.approx(1.0, abs=0.5), "distances are kept, nearly"


def test_originals_that_cannot_set_a_bound() -> None:
    settings = SearchSettings()
    originals = findings.OriginalFrames(settings, SignalUnits(), Training())
    assert originals.constant_layers() == ()
    with pytest.raises(InputError, match="frame 'a' has no label for steering to compare with"):
        originals.expect(0, Frame("a", GREY))
    assert originals.expect(7, Frame("b", GREY, signals=Signals(steering=0.0))) == "original 000007"
    assert originals.frame_id(7) == "b"
    case = Case("original 000007", "C1", (Predict((Frame("b", GREY),)),))
    failed = Verdict.not_applicable(case, "it crashed")
    assert originals.tell(case, failed) is None
    assert originals.unanswered == ("it crashed",)
    with pytest.raises(
        SystemUnderTestError, match="none of the originals was answered; the first: it crashed"
    ):
        originals.conclude()


def test_findings_tell_the_worst_and_the_simplest() -> None:
    def row(
        number: int, margin: float, transform: str, depth: int, place: int = 0, seen: float = 0.3
    ) -> dict[str, Any]:
        return {
            "case": f"try {number}", "status": "violated" if margin < 0 else "passed", "margin": margin,
            "measure.error": 1.5, "measure.seen.0": seen, "measure.seen.10": 0.1, "measure.seen.2": None,
            "param.place": place, "param.transform": transform, "param.depth": depth,
        }  # fmt: skip

    rows = [
        row(1, -1.0, "blur(size=3)", 2),
        row(2, -3.0, "fog(amount=1) + blur(size=5)", 3, place=1),
        row(3, -2.0, "blur(size=3) + blur(size=3)", 2, place=1),
        row(4, 2.0, "rain(amount=1)", 1),
    ]
    (found,) = findings.findings_of(rows)
    assert (found.case, found.simplest, found.failures, found.originals) == ("try 2", "try 3", 3, 2)
    assert (found.error, found.margin, found.behaviour) == (1.5, -3.0, (0.3, 0.1))
    assert found.transformations == (("blur", 1.0), ("fog", approx(1 / 3)))
    apart = findings.findings_of([*rows, row(5, -9.0, "fog(amount=1)", 1, seen=99.0)])
    assert [one.case for one in apart] == ["try 5", "try 2"]
    # Shares are those of a finding's own failures, not of all.
    assert [one.transformations for one in apart] == [(("fog", 1.0),), found.transformations]
    groups = [
        findings.FailureGroup(str(n), str(n), 1, error, -1.0, 1, (), (value,))
        for n, (value, error) in enumerate([(0.0, 0.0), (0.1, 0.0), (9.0, 0.0), (4.0, 1.0)])
    ]
    assert [one.case for one in findings.most_different(groups, 3)] == ["0", "3", "2"]
    assert findings.most_different(groups, 4) == groups
    growth = findings.growth_of(
        [
            {"status": "not applicable"},
            {"param.transform": "a", "status": "error"},
            {"param.transform": "a", "status": "violated", "measure.coverage": 0.5, "measure.gain": 0.25},
            {"param.transform": "a", "status": "passed"},
            {"param.transform": "a", "status": "violated", "measure.coverage": 0.75, "measure.gain": 0.25},
        ],
        0.9,
    )
    assert (growth.coverage, growth.failures) == ([0.25, 0.25, 0.5, 0.5, 0.75], [0, 0, 1, 1, 2])
    assert findings.growth_of([], 0.9).coverage == [0.9]


def test_a_maker_forgets_the_oldest_images_and_carries_none(monkeypatch: pytest.MonkeyPatch) -> None:
    space = SearchSettings(transforms=("rotation", "brightness(bias=20)")).space()
    data = Drive(3)
    size = data[0].image.nbytes
    maker = trials.Maker(data, space, 5)
    monkeypatch.setattr(trials, "_REMEMBERED", 2 * size)
    for place in (0, 1, 0, 2):
        maker.frame(trials.SearchImage(place))
    assert [one.seed for one in maker._known] == [0, 2]
    assert maker._bytes == 2 * size
    travelled = pickle.loads(pickle.dumps(maker))
    assert (travelled._known, travelled._bytes, len(maker._known)) == (OrderedDict(), 0, 2)
    brighter = trials.Pick(1, 0)
    made = trials.SearchImage(
        1, (trials.Composite(4, (brighter,)), trials.Composite(7, (trials.Pick(0, 2),)))
    )
    frame = maker.frame(made)
    assert frame.id == "drive/1~7"
    assert (frame.image == travelled.frame(made).image).all()
    assert space.words(made) == f"{space.transform([brighter])} + {space.transform([trials.Pick(0, 2)])}"
    before = Frame("f", GREY, previous=(Frame("e", GREY),), depth=np.ones((8, 8), np.float32))
    assert trials._size(before) == GREY.nbytes * 2 * 2


def test_rows_of_a_search_are_made_again() -> None:
    def row(number: int, transform: str, parent: str = "") -> dict[str, Any]:
        return {
            "case": f"try {number:06d}",
            "param.place": 1,
            "param.parent": parent,
            "param.seed": 7,
            "param.transform": transform,
        }

    rows = [
        row(1, "brightness(bias=20)"),
        row(2, "brightness(bias=10)", "try 000001"),
        {"case": "original", "param.transform": None},
    ]
    replay = trials.Replay(rows, Drive(2))
    assert list(replay.rows) == ["try 000001", "try 000002"]
    assert replay.changes("try 000002") == "brightness(bias=20) + brightness(bias=10)"
    assert [frame.id for frame in replay.frames()] == ["drive/1~1", "drive/1~2"]
    plain = Drive(2)[1].image.astype(int)
    assert (replay.frame("try 000002").image == np.minimum(plain + 30, 255)).all()
    assert replay.original("try 000002").id == "drive/1"
    with pytest.raises(InputError, match="try 000002 was made from try 000001, of which there is no row"):
        trials.Replay(rows[1:], Drive(2))
    lost = trials.Replay([row(1, "snow-cover()"), row(2, "brightness(bias=1)")], Drive(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trials, "parse_transform", _needs_labels)
        assert [frame.id for frame in lost.frames()] == ["drive/1~2"]


def _needs_labels(text: str) -> Any:
    def transform(frame: Frame, rng: np.random.Generator, *, measure: bool) -> Frame:
        if text.startswith("snow"):
            raise NotApplicable("no labels")
        return frame

    return transform


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ((0.0, 0.0, 1.0), "λ must be above 0 and finite, got 0.0"),
        ((math.inf, 0.0, 1.0), "λ must be above 0 and finite, got inf"),
        ((1.0, -0.1, 1.0), "ε must be 0 or more and finite, got -0.1"),
        ((1.0, math.nan, 1.0), "ε must be 0 or more and finite, got nan"),
        ((1.0, 0.0, -1.0), "radius"),
    ],
)
def test_limits_that_cannot_be_used(limits: tuple[float, float, float], message: str) -> None:
    check_limits(1.0, 0.0, 1.0)
    with pytest.raises(InputError, match=message):
        check_limits(*limits)


def test_settings_of_the_wrong_kind_are_refused() -> None:
    with pytest.raises(InputError, match="the parameters of coverage cannot be used: "):
        SearchSettings.from_parameters({"seconds": "soon"})


class Broken(Drive):
    """Of five frames the third cannot be read."""

    on_error = "skip"

    def __getitem__(self, index: int, /) -> Frame:
        if index == 2:
            raise FrameError("it is cut short")
        return super().__getitem__(index)


def test_frames_are_read_in_batches_that_tell_the_growth() -> None:
    shown: list[int] = []

    def progress(numbers: Any) -> Iterator[int]:
        shown.extend(numbers)
        return iter(numbers)

    ids = [frame.id for batch in read_batches(Broken(), progress=progress) for frame in batch]
    assert ids == ["drive/0", "drive/1", "drive/3", "drive/4"]
    assert shown == [0, 1, 2, 3, 4]
    broken = Broken()
    broken.on_error = "raise"
    with pytest.raises(FrameError, match="cut short"):
        list(read_batches(broken))
    assert sum(map(len, read_batches(Drive(9), 3))) == 3
    assert sum(map(len, read_batches(Drive(9), 0))) == 9
    with pytest.raises(InputError, match="a sample must be 0 or more, got -1"):
        list(read_batches(Drive(9), -1))
    with pytest.raises(InputError, match="drive has no frames"):
        list(read_batches(Drive(0)))


def test_what_can_be_measured() -> None:
    with pytest.raises(InputError, match="expected at least one criterion or an operating domain to measure"):
        Measuring(None, [])
    with pytest.raises(InputError, match="criteria of structural coverage need a network to observe"):
        Measuring(None, [parse_criterion("neuron")], FunctionalCoverage())
    with pytest.raises(InputError, match="the criterion neuron is asked for twice; leave one out"):
        Measuring(network(), [parse_criterion("neuron")] * 2)
    with pytest.raises(InputError, match="there were no images to measure the coverage of"):
        _ = Measuring(network(), [parse_criterion("neuron")]).result
    choices, domain = chosen_criteria(["neuron", "functional", "top-k", "neuron(threshold=0.7)"], 0.4)
    assert domain
    assert [dict(one.options).get("threshold") for one in choices] == [0.4, None, 0.7]
    assert not chosen_criteria(["top-k"], 0.4)[1]
    measuring = Measuring(network(), [parse_criterion("neuron")])
    measuring.add(list(Drive(3)))
    result = measuring.result
    assert result.growth[-1] == (3, result.values)
    assert measuring.result.growth == result.growth, "asked again it does not grow"


def test_a_domain_names_its_dimensions() -> None:
    domain = OperatingDomain.load()
    first = domain.dimensions[0]
    assert domain.dimension(first.name) is first
    with pytest.raises(InputError, match=f"has no dimension '{first.name}x': did you mean '{first.name}'"):
        domain.dimension(f"{first.name}x")


# Graphs


def node(kind: str, inputs: str, output: str) -> SimpleNamespace:
    return SimpleNamespace(op_type=kind, input=inputs.split(), output=[output])


def gate(*nodes: SimpleNamespace, constants: str = "c") -> str | None:
    readers: dict[str, list[Any]] = {}
    for one in nodes:
        for name in one.input:
            readers.setdefault(name, []).append(one)
    return gate_after("x", nodes, readers, set(constants.split()))


def test_functions_of_several_nodes_end_where_they_end() -> None:
    silu = (node("Sigmoid", "x", "s"), node("Mul", "x s", "y"))
    assert gate(*silu) == "y"
    assert gate(silu[0], node("Mul", "s x", "y")) == "y"
    assert gate(node("Abs", "x", "a"), node("Add", "a c", "b"), node("Div", "x b", "y")) == "y"
    # What is divided is x, not by x.
    assert gate(node("Abs", "x", "a"), node("Div", "a x", "y")) is None
    assert gate(node("Mul", "x c", "y")) is None
    assert gate(node("Mul", "x x", "y")) is None
    assert gate(node("Sigmoid", "x", "s"), node("Mul", "z s", "y")) is None, "z is something else"
    assert gate(node("Softmax", "x", "s"), node("Mul", "x s", "y")) is None
    gelu = (node("Erf", "x", "e"), node("Add", "e c", "b"), node("Mul", "x b", "m"))
    assert gate(*gelu, node("Mul", "m c", "y")) == "y", "GELU's half belongs to it"
    assert gate(*gelu, node("Mul", "m c", "y"), node("Relu", "m", "z")) == "m", "it is read twice"
    assert gate(*gelu, node("Mul", "m z", "y")) == "m"
    assert gate(*silu, node("Mul", "y c", "z")) == "y", "SiLU has no factor"
    many = [node("Neg", "x" if n == 0 else f"n{n - 1}", f"n{n}") for n in range(30)]
    assert gate(*many, *silu) is None, "too far away to be one function"


@pytest.mark.parametrize(
    ("operations", "factor"),
    [
        ({"Tanh"}, True),
        ({"Tanh", "Softplus"}, False),
        ({"Erf"}, True),
        ({"Clip", "Add"}, True),
        ({"Sigmoid"}, False),
    ],
)
def test_which_functions_have_a_factor(operations: set[str], factor: bool) -> None:
    assert _has_factor(frozenset(operations)) is factor
    assert _halved("m", {}, {"c"}) == "m"
    assert _halved("m", {"m": [node("Div", "m c", "y")]}, {"c"}) == "y"
    assert _halved("m", {"m": [node("Add", "m c", "y")]}, {"c"}) == "m"


def test_a_recorder_of_a_file_travels_and_says_what_cannot_be_watched(tmp_path: Path) -> None:
    recorder = OnnxRecorder(_exported(), Counting())
    images = np.random.default_rng(0).random((2, 3, 24, 36), dtype=np.float32)
    outputs, seen = recorder.run(images)
    again, same = pickle.loads(pickle.dumps(recorder)).run(images)
    assert outputs.keys() == again.keys()
    assert all(np.array_equal(one, again[name]) for name, one in outputs.items())
    assert (seen.values == same.values).all()
    recorder._graph = b"no graph"
    with pytest.raises(InputError, match=r"cannot watch the layers of .*small\.onnx: "):
        recorder._opened()
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"cannot read the ONNX network .*broken\.onnx: "):
        read_graph(broken)


@pytest.mark.parametrize("name", ["relu_", "__iadd__", "add_"])
def test_what_writes_in_place(name: str) -> None:
    assert _in_place(name)
    assert not any(map(_in_place, ("relu", "__add__", "__", "iadd")))


@pytest.mark.parametrize(
    "layer",
    [
        nn.LSTM(3, 4, num_layers=3, batch_first=True),
        pytest.param(
            nn.LSTM(3, 4, num_layers=2, proj_size=2),
            marks=pytest.mark.filterwarnings("ignore:LSTM with projections"),
        ),
        nn.GRU(3, 4, num_layers=2, bidirectional=True),
        nn.RNN(3, 4, num_layers=2, nonlinearity="relu", bias=False),
    ],
)
def test_what_inner_recurrent_layers_give_goes_into_the_next(layer: Any) -> None:
    torch.manual_seed(0)
    steps = torch.rand(5, 2, 3)
    with torch.no_grad():
        ways = 2 if layer.bidirectional else 1
        batch = 5 if layer.batch_first else 2
        hidden = torch.rand(layer.num_layers * ways, batch, layer.proj_size or 4)
        cells = torch.rand(layer.num_layers * ways, batch, 4)
        state = (hidden, cells) if isinstance(layer, nn.LSTM) else hidden
        found = _inner_outputs(layer, steps, state)
        assert len(found) == layer.num_layers - 1
        # The last layer, alone, makes the whole network's answer of what the one below it gave.
        last = type(layer)(
            found[-1].shape[-1], 4, bias=layer.bias, batch_first=layer.batch_first,
            bidirectional=layer.bidirectional,
            **({"nonlinearity": "relu"} if isinstance(layer, nn.RNN) else {}),
            **({"proj_size": 2} if layer.proj_size else {}),
        )  # fmt: skip
        number = layer.num_layers - 1
        last.load_state_dict(
            {name: getattr(layer, name.replace("_l0", f"_l{number}")) for name, _ in last.named_parameters()}
        )
        own = slice(number * ways, None)
        begun = (hidden[own], cells[own]) if isinstance(layer, nn.LSTM) else hidden[own]
        assert torch.allclose(last(found[-1], begun)[0], layer(steps, state)[0], atol=1e-6)


def test_a_network_that_runs_otherwise_is_refused() -> None:
    def one(name: str, neurons: int) -> Reduced:
        return Reduced(name, "dense", np.zeros((2, 1, neurons), np.float32), np.zeros(2), np.zeros(2))

    assembler = Assembler(Counting())
    assembler.assemble([one("a", 2), one("b", 3)], 2, ())
    with pytest.raises(
        InputError, match="layer 'b' had 3 neurons, and now 'b' has 4: give images of one size"
    ):
        assembler.assemble([one("a", 2), one("b", 4)], 2, ())
    with pytest.raises(
        InputError, match="the network ran 2 layers before, and now 1: use one that always runs"
    ):
        assembler.assemble([one("a", 2)], 2, ())


def test_channels_of_the_input_are_means() -> None:
    images = np.arange(2 * 2 * 3 * 2 * 2, dtype=np.float32).reshape(2, 2, 3, 2, 2)
    layer = input_layer(images, "ntchw")
    assert layer.units[0].tolist() == [[1.5, 5.5, 9.5], [13.5, 17.5, 21.5]]
    assert (layer.lows.tolist(), layer.highs.tolist()) == ([0, 24], [23, 47])
    last = input_layer(images[:, 0].transpose(0, 2, 3, 1), "nhwc")
    assert last.units[1].tolist() == [[25.5, 29.5, 33.5]]
