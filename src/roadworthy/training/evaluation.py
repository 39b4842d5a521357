"""How good a network is, on data and on a lap of a built-in track, and the card that says how it came so."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import rendered, write_text
from roadworthy._version import __version__
from roadworthy.cases import Dataset, Prediction
from roadworthy.errors import InputError, check_number
from roadworthy.frames import Frame, Signals, SignalUnits
from roadworthy.frames.frame import with_history
from roadworthy.models.description import sections
from roadworthy.models.network import history_of
from roadworthy.models.protocols import Driver, SystemUnderTest, Task, task_of
from roadworthy.models.scorers import BoxScorer, ClassScorer, Measure, answered_classes, with_all_boxes
from roadworthy.models.zoo import Variant
from roadworthy.models.zoo.catalogue import size_text
from roadworthy.result_tables import ResultTable, markdown_text
from roadworthy.runs.store.manifest import libraries
from roadworthy.training.loop import EpochResult, Settings
from roadworthy.world import Observation, Simulation
from roadworthy.world.track import LANE_WIDTH

Numbers: TypeAlias = NDArray[np.floating]
_UNITS = {"steering": "°", "speed": "m/s"}


def signal_errors(
    name: str, truth: Numbers, answers: Numbers, unit: str | None = None, note: str = ""
) -> list[Measure]:
    """Return MAE, MSE and RMSE of a signal, and the RMSE of a model that always answers 0.

    Args:
        name: The signal.
        truth: What is true.
        answers: What was answered.
        unit: The unit of both; m/s for speed and degrees for steering when left out.
        note: What to add to the names of the measures.

    Example:
        >>> truth, answers = np.array([3.0, -1.0]), np.array([2.0, -3.0])
        >>> [str(one) for one in signal_errors("speed", truth, answers)[:3]]
        ['speed MAE 1.5 m/s', 'speed MSE 2.5 (m/s)²', 'speed RMSE 1.58 m/s']
    """
    unit = unit or _UNITS.get(name, "")
    errors = np.asarray(answers, np.float64) - np.asarray(truth, np.float64)
    squared = f"({unit})²" if "/" in unit else f"{unit}²"
    values = {
        "MAE": (np.abs(errors).mean(), unit),
        "MSE": (np.square(errors).mean(), squared if unit else ""),
        "RMSE": (np.sqrt(np.square(errors).mean()), unit),
        "RMSE of always 0": (np.sqrt(np.square(np.asarray(truth, np.float64)).mean()), unit),
    }
    return [
        Measure(f"{name} {kind}{note}", float(value), own, len(errors))
        for kind, (value, own) in values.items()
    ]


def measures_table(measures: Sequence[Measure]) -> ResultTable:
    """Return measures as people read them, a line each."""
    rows = tuple((one.name, value_text(one), str(one.frames)) for one in measures)
    return ResultTable("", ("measure", "value", "frames"), rows)


def value_text(measure: Measure) -> str:
    """Return the value of a measure with its unit.

    Example:
        >>> value_text(Measure("steering MAE", 0.51234, "°", 4))
        '0.5123°'
        >>> value_text(Measure("accuracy", 0.98444, "share", 4500))
        '98.4%'
    """
    if measure.unit == "share":
        return f"{measure.value:.1%}"
    return f"{measure.value:.4g} {measure.unit}".strip().replace(" °", "°")


class SignalScorer:
    """Collects speed and steering.

    Args:
        native: The units of the recording, where they are others than ours: errors on a data set are compared
            with those of others in its own unit.
    """

    def __init__(self, native: SignalUnits | None = None) -> None:
        self._native = native
        self._pairs: dict[str, list[tuple[float, float]]] = {}

    def add(self, frames: Sequence[Frame], answers: Sequence[Prediction]) -> None:
        """Take the answers for some frames."""
        for frame, answer in zip(frames, answers, strict=True):
            assert isinstance(answer, Signals)
            for name in _UNITS:
                truth, given = getattr(frame.signals, name), getattr(answer, name)
                if truth is not None and given is not None:
                    self._pairs.setdefault(name, []).append((truth, given))

    def measures(self) -> list[Measure]:
        """Return MAE, MSE and RMSE of each signal, in our units and in those of the recording."""
        measures = []
        for name, pairs in self._pairs.items():
            truth, given = np.array(pairs, np.float64).T
            measures += signal_errors(name, truth, given)
            if self._native is not None:
                unit = getattr(self._native, name)
                usual = getattr(SignalUnits(), name)
                encode = getattr(self._native, f"encode_{name}")
                if unit != usual or not np.array_equal(encode(truth), truth):
                    label = unit if isinstance(unit, str) else "units of the recording"
                    measures += signal_errors(name, encode(truth), encode(given), label, " as recorded")
        return measures


Scorer: TypeAlias = SignalScorer | BoxScorer | ClassScorer

_SCORERS: dict[Task, Callable[[SystemUnderTest, SignalUnits | None], Scorer]] = {
    "regression": lambda _, native: SignalScorer(native),
    "detection": lambda system, _: BoxScorer(answered_classes(system)),
    "classification": lambda *_: ClassScorer(),
}


def evaluate(
    system: SystemUnderTest,
    *data: Dataset,
    batch: int = 64,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> list[Measure]:
    """Return how near the answers of a model are to the truth of a data set, or of several as one.

    Signals: MAE, MSE and RMSE. Boxes: average precision, for which a detector also gives the boxes it is
    hardly sure of. Classes: accuracy, and the recall of each. A model that sees earlier frames gets them from
    the data, see `with_history`.

    Args:
        system: The model.
        data: Frames with what is true about them.
        batch: How many frames it is asked about at a time.
        progress: Called with the frames that were answered so far and the number of all.

    Raises:
        InputError: No truth is known for what the model answers, no frame has the history it needs, there is
            no data, or batch is no number of frames.
        SystemUnderTestError: The model failed.

    Example:
        >>> from roadworthy.datasets import load
        >>> from roadworthy.models import load_model
        >>> measures = evaluate(load_model("truth"), load("world:town", count=3, size="64x32"))
        >>> [str(one) for one in measures if one.name.endswith("MAE")]
        ['steering MAE 0°', 'speed MAE 0 m/s']
    """
    check_number("batch", batch, least=1)
    system = with_all_boxes(system)
    history = history_of(system)
    native = getattr(data[0], "units", None) if len(data) == 1 else None
    total, name = sum(map(len, data)), " and ".join(data_set.name for data_set in data)
    scorer: Scorer | None = None
    done = 0
    source = with_history(chain.from_iterable(data), history)
    while frames := list(islice(source, batch)):
        answers = system.predict(frames)
        if scorer is None:
            scorer = _scorer_for(system, answers[0], native)
        scorer.add(frames, answers)
        done += len(frames)
        progress(done, total)
    if scorer is None:
        raise InputError(nothing_to_use(system.name, history, name))
    measures = scorer.measures()
    if not measures:
        raise InputError(f"{name} does not tell what is true of anything that {system.name} answers")
    return measures


def nothing_to_use(name: str, history: int, data: str) -> str:
    """Return the complaint about data of which a network can use no frame."""
    if not history:
        return f"{data} has no frame that can be read"
    return (
        f"{name} sees {history} earlier frames, but no frame of {data} has them: read the data with "
        f"history={history} if it can, or as drives with time stamps (sequence={4 * history} in the world)"
    )


def _scorer_for(system: SystemUnderTest, answer: Prediction, native: SignalUnits | None) -> Scorer:
    task = task_of(answer)
    if task not in _SCORERS:
        known = ", ".join(sorted(_SCORERS))
        raise InputError(f"{system.name} answers for {task}, and only answers for {known} can be evaluated")
    return _SCORERS[task](system, native)


_LONGEST_STOP = 30.0  # seconds; the traffic lights of the world are not longer red


@dataclass(frozen=True)
class Lap:
    """How a lap went.

    Attributes:
        track: The track.
        traffic: How much traffic there was.
        share: How much of the lap was driven before the middle of the vehicle left its lane, a crash, or a
            stop without end; 1 is the whole lap.
        largest_offset: The largest distance from the middle of the lane, in metres.
        mean_offset: The mean distance.
        seconds: How long it took, in the world.
        ended: Why it ended: "lap complete", "left the lane", "crash", "stopped" or "time over".
    """

    track: str
    traffic: float
    share: float
    largest_offset: float
    mean_offset: float
    seconds: float
    ended: str

    def __str__(self) -> str:
        return (
            f"{self.share:.0%} of a lap of {self.track} with traffic {self.traffic:g} in "
            f"{self.seconds:.0f} s, {self.ended}; from the middle of the lane at most "
            f"{self.largest_offset:.2f} m, on average {self.mean_offset:.2f} m"
        )


def drive_lap(
    system: SystemUnderTest, track: str = "meadow", *, traffic: float = 0.0, minutes: float = 10.0
) -> Lap:
    """Let a model drive a lap of a built-in track.

    A model that answers steering alone gets the speed of the careful driver, and one that answers speed alone
    its steering. One that sees earlier frames sees the first frame several times at the start.

    Args:
        system: The model.
        track: The track; "meadow" is the easiest.
        traffic: How much traffic, from 0 to 5.
        minutes: In the world, after which the drive ends.

    Raises:
        SystemUnderTestError: The model failed, or answered with neither steering nor speed.

    Example:
        >>> from roadworthy.models import Truth
        >>> lap = drive_lap(Truth(), minutes=0.1)
        >>> lap.ended, lap.largest_offset < 0.2
        ('time over', True)
    """
    simulation = Simulation(track, traffic=traffic)
    driver = Driver(system)
    seen = simulation.reset()
    offsets = [abs(seen.lane_offset)]
    distance = standing = 0.0
    ended = "time over"
    while seen.time < 60 * minutes:
        # The world's frames carry what the careful driver would do.
        action = driver.answer(seen.frame, otherwise=seen.frame.signals)
        before, seen = seen, simulation.step(action.steering or 0.0, action.speed or 0.0)
        offsets.append(abs(seen.lane_offset))
        standing = standing + seen.time - before.time if seen.state.speed < 0.1 else 0.0
        if failure := _lap_failure(seen, standing):
            ended = failure
            break
        distance += simulation.track.ahead(before.scene.s, seen.scene.s)
        if seen.laps:
            ended = "lap complete"
            break
    share = 1.0 if seen.laps else min(1.0, max(0.0, distance / simulation.track.length))
    return Lap(track, traffic, share, max(offsets), sum(offsets) / len(offsets), seen.time, ended)


def _lap_failure(seen: Observation, standing: float) -> str:
    """Return why a drive cannot go on; nothing if it can."""
    if "crash" in seen.events:
        return "crash"
    if abs(seen.lane_offset) > LANE_WIDTH / 2:
        return "left the lane"
    return "stopped" if standing > _LONGEST_STOP else ""


_PACKAGES = ("numpy", "opencv-python-headless", "torch", "onnx")


@dataclass(frozen=True)
class DataNote:
    """What a network was trained, validated or evaluated with.

    Attributes:
        role: "training", "validation" or "evaluation".
        name: The data, with its options where they are known.
        frames: The number of samples.
        sha256: The hash of what the network saw and learned; empty where it was not taken.
    """

    role: str
    name: str
    frames: int
    sha256: str = ""


@dataclass(frozen=True)
class Card:
    """What is known about a trained network.

    Attributes:
        variant: Which network it is.
        parameters: The numbers that were learned.
        data: What it was trained and measured with.
        settings: How it was trained.
        curve: The results of the epochs.
        best_epoch: The epoch whose weights it has.
        stopped: Why the training ended.
        measures: How near its answers are to the truth, on the last of the data.
        start: The weights that it was trained on from, with their hash; empty where they were fresh.
        laps: How it drives.
        device: Where it was trained.
        seconds: How long that took.
        versions: Of what it was trained with.
    """

    variant: Variant
    parameters: int
    data: tuple[DataNote, ...]
    settings: Settings
    curve: tuple[EpochResult, ...]
    best_epoch: int
    stopped: str
    measures: tuple[Measure, ...]
    start: str = ""
    laps: tuple[Lap, ...] = ()
    device: str = "cpu"
    seconds: float = 0.0
    versions: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the card as plain data. Its input and output are written as in a ``model.yaml``."""
        return {
            "architecture": self.variant.name,
            "summary": self.variant.architecture.summary,
            "paper": self.variant.architecture.paper,
            "outputs": list(self.variant.outputs),
            "options": dict(self.variant.options),
            "parameters": self.parameters,
            **sections(self.variant.spec),
            **{name: [asdict(one) for one in getattr(self, name)] for name in ("measures", "laps", "data")},
            "start": self.start,
            "settings": asdict(self.settings),
            **{name: getattr(self, name) for name in ("best_epoch", "stopped", "device")},
            "seconds": round(self.seconds, 1),
            "versions": dict(self.versions),
            "curve": [one.document() for one in self.curve],
        }

    def to_json(self) -> str:
        """Return the card as a JSON document."""
        return json_text(self.to_dict())

    def to_markdown(self) -> str:
        """Return the card as a page for people."""
        return rendered(
            Path(__file__).with_name("card.md.jinja"),
            card=self,
            cell=lambda value: markdown_text(_text(value)),
            options=" ".join(f"{key}={size_text(value)}" for key, value in self.variant.options.items()),
            versions=", ".join(f"{name} {version}" for name, version in self.versions.items()),
            measured=measures_table(self.measures),
            settings=asdict(self.settings),
            curve=[(str(one.epoch), f"{one.loss:.5f}", f"{one.validation_loss:.5f}") for one in self.curve],
        )


def json_text(document: Mapping[str, Any]) -> str:
    r"""Return a card's plain data as it is written to a file.

    Example:
        >>> json_text({"architecture": "dave2"})
        '{\n "architecture": "dave2"\n}\n'
    """
    # NaN is no JSON, and other programs refuse it.
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def versions_in_use() -> dict[str, str]:
    """Return the versions of what networks are trained with.

    Example:
        >>> versions_in_use()["roadworthy"] == __version__
        True
    """
    return {"roadworthy": __version__, **libraries(_PACKAGES)}


def write_description(path: Path, variant: Variant, model: str, *, name: str | None = None) -> None:
    """Write a ``model.yaml`` for a network of the zoo.

    Args:
        path: The file to write.
        variant: The network.
        model: The adapter and the file that it opens, beside the description: ``"onnx:dave2.onnx"``.
        name: What it is called in rows and reports; the network's name when left out.

    Raises:
        InputError: It cannot be written.
    """
    import yaml

    described = {"model": model, "name": name or variant.name, **sections(variant.spec)}
    write_text(path, yaml.safe_dump(described, sort_keys=False))
