"""Small versions of the benchmarks: how many times as fast a job is as the obvious version of it.

The obvious versions are those of the benchmarks, or are written here; none needs a package that only ``make
bench`` installs. Where a job has no other version, it stands beside the work that it cannot do without, such
as plain inference: a ratio below 1 then says what comes on top. All of it is processor time.
"""

from __future__ import annotations

import itertools
import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks._measured import Work, fastest

__all__ = ["RATIOS", "Ratio"]

_SECONDS = 2.0  # for one ratio, on the clock
_RULE = "If: a pedestrian appears on the roadside, Then: the ego-vehicle should slow down."


def _times(ours: Work, theirs: Work, seconds: float = _SECONDS) -> float:
    mine, other = fastest(ours, theirs, seconds=seconds)
    return other / mine


def world() -> float:
    """Frames of the world with all ground truth, beside a plain renderer."""
    from benchmarks.world import plain_render
    from roadworthy.world import TRACK_NAMES, Camera, Scene, frame_of, make_scene

    camera = Camera(320, 160)
    scenes = [make_scene(name, 77.0 * place, seed=place) for name in TRACK_NAMES for place in range(3)]

    def of_all(draw: Callable[[Scene, Camera], object]) -> None:
        for scene in scenes:
            draw(scene, camera)

    return _times(partial(of_all, frame_of), partial(of_all, plain_render))


def reading() -> float:
    """A pass over images on disk with their boxes, beside a plain loop of image reads."""
    from benchmarks.datasets import plain_pass
    from roadworthy.datasets import export, load

    with tempfile.TemporaryDirectory() as name:
        data = load(
            export(load("world:town", count=24, size="640x320"), Path(name, "town"), "coco").reference
        )
        files = [str(file) for file in sorted(Path(name).rglob("*.png"))]
        assert len(files) == len(data) == 24
        return _times(lambda: sum(1 for _ in data), partial(plain_pass, files))


def filming() -> float:
    """A pass over the frames of a film, beside a plain loop of OpenCV's reader."""
    import cv2

    from roadworthy.datasets import load

    def plain(path: Path) -> None:
        film = cv2.VideoCapture(str(path), cv2.CAP_FFMPEG)
        while film.read()[0]:
            pass

    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "town.mp4")
        writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"mp4v"), 20, (640, 320))
        for frame in load("world:town", count=100, size="640x320", sequence=100):
            writer.write(frame.image[..., ::-1])
        writer.release()
        data = load(f"video:{path}")
        return _times(lambda: sum(1 for _ in data), partial(plain, path))


def transforms() -> float:
    """Four changes of an image, geometric mean, beside numpy and SciPy in floating point."""
    from roadworthy.transforms import parse_transform
    from roadworthy.world import Camera, frame_of, make_scene

    image = frame_of(make_scene("town", s=560.0, seed=5), Camera(640, 320)).image
    rng = np.random.default_rng(1)
    plain = {
        "contrast(gain=1.4)": partial(_plain_contrast, image),
        "gaussian-blur(size=19, sigma=3)": partial(_plain_blur, image),
        "gaussian-noise:imagenet-c-3": partial(_plain_noise, image, rng),
        "rotation(angle=9)": partial(_plain_rotation, image),
    }
    ratios = []
    for text, theirs in plain.items():
        change = parse_transform(text)
        ratios.append(_times(partial(change.on_image, image, rng), theirs, _SECONDS / 4))
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def _bytes(values: NDArray[np.float64]) -> NDArray[np.uint8]:
    return np.rint(np.clip(values, 0, 255)).astype(np.uint8)


def _plain_contrast(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return _bytes(image.astype(np.float64) * 1.4)


def _plain_blur(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    from scipy.ndimage import gaussian_filter

    return _bytes(gaussian_filter(image.astype(np.float64), (3, 3, 0), radius=(9, 9, 0)))


def _plain_noise(image: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.uint8]:
    return _bytes(image + 255 * rng.normal(0, 0.18, image.shape))


def _plain_rotation(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    from scipy.ndimage import rotate

    return _bytes(rotate(image.astype(np.float64), 9, reshape=False, order=1))


def adding() -> float:
    """Adding a pedestrian to frames, beside drawing the frames."""
    from benchmarks.adding import seconds
    from roadworthy.datasets import load
    from roadworthy.transforms import make_transform

    data = load("world:town", count=12)
    (drawing,) = fastest(lambda: list(data), seconds=_SECONDS / 2)
    return drawing / seconds(make_transform("add", element="pedestrian"), list(data))


def rules() -> float:
    """A rule from end to end with rows and images on disk, beside the obvious loop that stores nothing."""
    from benchmarks.rules import one_by_one
    from roadworthy.cases import Requirement
    from roadworthy.datasets import load
    from roadworthy.models import load_model
    from roadworthy.rules import parse
    from roadworthy.rules.generation import plan_for
    from roadworthy.rules.method import RulesMethod
    from roadworthy.runs import run

    plan, system, data = plan_for(parse(_RULE)), load_model("dave2", threads=1), load("world", count=24)
    method, requirement = RulesMethod({"R1": plan}), Requirement("R1", _RULE, "rules")

    def whole() -> None:
        with tempfile.TemporaryDirectory() as folder:
            run(method, requirement, data, system, out=Path(folder, "run"))

    return _times(whole, partial(one_by_one, plan, data, system))


def parsing() -> float:
    """Reading rules, beside what the English pipeline alone takes for the same sentences."""
    from roadworthy.rules import parse
    from roadworthy.rules.language.words import pipeline

    texts = [
        _RULE.replace("pedestrian", one) for one in ("cyclist", "truck", "red car", "stop sign", "child")
    ]
    english = pipeline()
    return _times(lambda: [parse(text) for text in texts], lambda: [english(text) for text in texts])


def coverage() -> float:
    """Neuron coverage in batches with its inference, beside one layer after another as in public."""
    from benchmarks.coverage import PerLayer

    watch, _, module, images = _watched()
    plain = PerLayer(module, whole=False, faithful=True, device="cpu")
    return _times(watch, partial(plain.update, images[:1])) * len(images)


def coverage_overhead() -> float:
    """Neuron coverage in batches, beside plain inference."""
    watch, infer, _, _ = _watched()
    return _times(watch, infer)


@lru_cache(maxsize=1)
def _watched() -> tuple[Work, Work, Any, NDArray[np.float32]]:
    import torch

    from roadworthy.coverage import recorder
    from roadworthy.coverage.criteria import NeuronCoverage
    from roadworthy.datasets import load
    from roadworthy.models import onnx_model
    from roadworthy.models.zoo import architecture
    from roadworthy.training import export

    torch.set_num_threads(1)
    variant = architecture("epoch").variant(["steering"], {"width": 128, "height": 128})
    module: Any = variant.build().eval()
    module.taken = (3, 128, 128)
    taken = variant.spec.input
    images = taken.tensor([taken.view(frame) for frame in load("world:town", count=16)])
    with tempfile.TemporaryDirectory() as folder:
        export(module, variant, Path(folder) / "epoch.onnx")
        network = onnx_model(Path(folder) / "epoch.onnx", spec=variant.spec, threads=1)
        watched = recorder(network)
        found = NeuronCoverage(watched.run(images)[1].layers)

    def watch() -> None:
        found.update(watched.run(images)[1])

    return watch, lambda: network.runtime.run(images, ()), module, images


def visual_change() -> float:
    """Visual change of a pair of grey images, beside the formulas step by step."""
    from benchmarks.vif.measuring import picture
    from benchmarks.vif.plain import plain_visual_change
    from roadworthy.visual_change import visual_change as ours

    pair = picture(224, 224)
    return _times(partial(ours, *pair), partial(plain_visual_change, *pair))


def bbsl() -> float:
    """A specification over 100,000 boxes, beside box by box."""
    from benchmarks.bbsl import EXAMPLES, some_boxes
    from roadworthy.bbsl import load

    spec, boxes = load(EXAMPLES / "listing1_distance.bbsl"), some_boxes(100_000)
    values: dict[str, Any] = {"vehicleExists": True, "stoppingDistance": (275, 375)}
    few = boxes[:100].tolist()

    def alone() -> None:
        for box in few:
            spec.evaluate({**values, "vehicle": box}, height=375, width=1242)

    together = partial(
        spec.evaluate_many, {**values, "vehicle": boxes}, height=375, width=1242, count=len(boxes)
    )
    return _times(together, alone) * len(boxes) / len(few)


def oracle() -> float:
    """Exact thresholds in the paper's shape, beside trying every choice of sectors to give up."""
    from benchmarks.driving.oracles import PAPER, problem
    from roadworthy.driving.oracles import fit_oracle

    nominal, mutants = problem(PAPER)
    give_up = PAPER[3]

    def by_trying() -> int:
        most = 0
        for given in itertools.combinations(range(len(nominal)), give_up):
            thresholds = np.delete(nominal, given, axis=0).max(axis=0)
            most = max(most, int((mutants > thresholds).any(axis=1).sum()))
        return most

    assert fit_oracle(nominal, mutants, give_up=give_up).alarms == by_trying()
    return _times(partial(fit_oracle, nominal, mutants, give_up=give_up), by_trying)


def metrics() -> float:
    """All driving metrics of 100 sectors, beside plain pandas."""
    from benchmarks.driving.metrics import a_drive, as_frame, plain_metrics
    from roadworthy.driving.metrics import MetricSettings, compute

    drive = a_drive(100_000, 100)
    table = as_frame(drive)
    part = table[table["sector"] < 2]
    told = MetricSettings.standard()
    return _times(partial(compute, drive), partial(plain_metrics, part, told)) * 100 / 2


def closed_loop() -> float:
    """DAVE-2 in closed loop, beside drawing as many frames and asking it about each."""
    from benchmarks.driving.closed_loop import driven
    from roadworthy.models import load_model
    from roadworthy.world import Camera, frame_of, make_scene

    system, steps = load_model("dave2", threads=1), 45
    scenes = [make_scene("town", 10.0 * place, seed=1) for place in range(steps)]

    def bare() -> None:
        for scene in scenes:
            system.predict([frame_of(scene, Camera(320, 160))])

    return _times(lambda: driven(system, "town", 1.0, steps / 15), bare)


def cases() -> float:
    """A run of cases that cost nothing, rows on disk, beside calling the system for each and judging."""
    from benchmarks.runs.executors import Cheap, Corner, Many
    from roadworthy.cases import Requirement
    from roadworthy.runs import run

    data, system, requirement = Many(1000), Corner(), Requirement("R1", "None", "cheap")

    def whole() -> None:
        with tempfile.TemporaryDirectory() as folder:
            run(Cheap(), requirement, data, system, out=Path(folder, "run"), images="none")

    def bare() -> list[bool]:
        answers = (system.predict([frame])[0] for frame in data)
        return [answer.speed is not None and answer.speed >= 10 for answer in answers]

    return _times(whole, bare)


def store() -> float:
    """The worst 50 failures of a rule over 40,000 rows, beside reading everything with pandas."""
    from benchmarks.runs.store import ASKED, by_pandas, write_rows
    from roadworthy.runs.store import StoredRun

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for rule in (1, 3):
            write_rows(folder, rule, "dave2", 20_000)
        return _times(lambda: StoredRun.open(folder).worst(ASKED), partial(by_pandas, folder))


def wall() -> float:
    """The first view of 3,000 pairs on the page Look, beside sending everything about all of them."""
    from tests.web.client import Browser, Client
    from tests.web.many import make_run

    from roadworthy.web.app import create_app
    from roadworthy.web.settings import ServerSettings

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "large")
        make_run(folder, 3000)
        browser = Browser(Client(create_app(ServerSettings(Path(name, "out"), (folder,)))))

        keys = [{"requirement": "R1", "system": "dave2", "case": f"frame-{at:05d}"} for at in range(60)]

        def first() -> None:
            browser.page("/look/large")
            browser.get("/look/large/table")
            browser.post("/look/large/cases", {"cases": keys})

        def everything() -> None:
            browser.cases("large", status="all")

        return _times(first, everything)


@dataclass(frozen=True)
class Ratio:
    """A job beside another version of it.

    Attributes:
        what: What is measured, in words.
        measure: Returns how many times as fast it is.
        share: Of what was recorded, below which it has fallen. Ratios to work that cannot be avoided move
            little from one machine or run to the next; others move more.
    """

    what: str
    measure: Callable[[], float]
    share: float


_OBVIOUS = (world, transforms, adding, coverage, visual_change, bbsl, oracle, metrics, cases, store, wall)
_UNAVOIDABLE = (reading, filming, rules, parsing, coverage_overhead, closed_loop)
RATIOS = {
    one.__name__.replace("_", "-"): Ratio((one.__doc__ or "").rstrip("."), one, share)
    for some, share in ((_OBVIOUS, 0.6), (_UNAVOIDABLE, 0.75))
    for one in some
}
