from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from roadworthy.errors import InputError, UnknownNameError
from roadworthy.frames import Frame, Signals
from roadworthy.models import ImageInput, ModelSpec, Network, RegressionOutput, SystemUnderTest, load_model
from roadworthy.models.description import described, draft_description
from roadworthy.models.detection import DetectionOutput
from roadworthy.models.network import Tensor
from roadworthy.registry import Registry

DESCRIPTION = """\
model: onnx:nets/driver.onnx
name: our driver
input:
  width: 40
  height: 24
  color: yuv
  range: [-1, 1]
  crop: [8, 2]
output:
  signals: [steering, speed]
  units: {steering: rad, steering_positive: left, speed: km/h}
options:
  threads: 1
"""


@pytest.fixture
def folder(tmp_path: Path, exported: Path) -> Path:
    """A folder with a description, and networks in a folder below it."""
    (tmp_path / "nets").symlink_to(exported)
    (tmp_path / "model.yaml").write_text(DESCRIPTION)
    return tmp_path


def test_a_description_says_it_all(
    folder: Path, driver_spec: Any, frames: list[Frame], exported: Path
) -> None:
    expected = load_model(f"onnx:{exported}/driver.onnx", spec=driver_spec).predict(frames[:3])
    for reference in (folder / "model.yaml", str(folder)):
        model = load_model(reference)
        assert isinstance(model, Network)
        assert (model.name, model.runtime.threads) == ("our driver", 1)  # type: ignore[attr-defined]
        assert model.predict(frames[:3]) == expected


def test_options_go_before_what_is_written(folder: Path) -> None:
    model = load_model(
        folder / "model.yaml",
        **{"input.color": "bgr", "output.units.steering": "deg", "threads": "2", "name": "other"},
    )
    assert isinstance(model, Network)
    assert (model.name, model.input.color, model.input.crop) == ("other", "bgr", (8.0, 2.0))
    assert isinstance(model.output, RegressionOutput)
    assert (model.output.units.steering, model.output.units.speed) == ("deg", "km/h")
    assert model.runtime.threads == 2  # type: ignore[attr-defined]


def test_the_same_can_be_said_in_python_in_three_ways(exported: Path) -> None:
    reference = f"onnx:{exported}/driver.onnx"
    output = RegressionOutput(("steering", "speed"))
    models = [
        load_model(reference, spec=ModelSpec(output, ImageInput(range=(0, 255)), batch=8)),
        load_model(reference, input={"range": [0, 255]}, output={"signals": ["steering", "speed"]}, batch=8),
        load_model(reference, **{"input.range": "0,255", "output.signals": "steering,speed", "batch": "8"}),
    ]
    assert all(isinstance(model, Network) for model in models)
    assert len({model.spec for model in models if isinstance(model, Network)}) == 1


def test_a_detector_is_described(folder: Path) -> None:
    (folder / "coco.names").write_text("person\ncar\n\n")
    (folder / "spotter.yml").write_text(
        "model: opencv:nets/spotter-one.onnx\n"
        "output:\n  task: detection\n  head: yolov8\n  classes: coco.names\n"
        "  class_names: {person: bicyclist}\n"
    )
    model = load_model(folder / "spotter.yml", **{"output.score_threshold": "0.1"})
    assert isinstance(model, Network)
    assert model.output == DetectionOutput(
        ("person", "car"), head="yolov8", class_names={"person": "bicyclist"}, score_threshold=0.1
    )
    assert (model.name, model.batch) == ("opencv:nets/spotter-one.onnx", 1)


def test_a_blank_line_among_class_names_is_refused(folder: Path) -> None:
    (folder / "coco.names").write_text("person\n\ncar\n")
    (folder / "spotter.yml").write_text(
        "model: opencv:nets/spotter-one.onnx\noutput: {task: detection, head: yolov8, classes: coco.names}\n"
    )
    with pytest.raises(InputError, match=r"coco\.names must have one class name per line: line 2 is blank"):
        load_model(folder / "spotter.yml")


def test_class_names_are_read_from_json(folder: Path) -> None:
    def classes(content: str) -> tuple[str, ...]:
        (folder / "classes.json").write_text(content)
        spec = described(
            {"output.task": "classification", "output.classes": "classes.json"}, folder=folder
        ).spec
        assert spec is not None
        return tuple(spec.output.classes)  # type: ignore[attr-defined]

    assert classes('["tench, a fish", "cab"]') == ("tench, a fish", "cab")
    assert classes('{"1": "cab", "0": "tench"}') == ("tench", "cab")
    for wrong in ('{"1": "cab", "2": "tench"}', '["cab", 2]', '"cab"'):
        with pytest.raises(
            InputError, match=r"classes\.json must list class names, or have a name for each num"
        ):
            classes(wrong)
    with pytest.raises(InputError, match=r"output\.classes: cannot read the class names .*classes\.json"):
        classes("[")


def test_classes_of_a_classifier_are_renamed() -> None:
    changes = {"output.task": "classification", "output.classes": "cab,jeep,dog"}
    spec = described({**changes, "output.class_names": "cab=car,jeep=car,dog=none"}).spec
    assert spec is not None
    assert spec.output.words == ("car",)  # type: ignore[attr-defined]


def test_the_descriptions_in_the_documentation_are_right(tmp_path: Path) -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "models.md"
    blocks = re.findall(r"^```yaml\n(.*?)^```", page.read_text("utf-8"), re.M | re.S)
    written = [one for block in blocks for one in yaml.safe_load_all(block)]
    (tmp_path / "coco.names").write_text("person\ndog\ntoaster\n")
    renamed = [one["output"].get("class_names", {}) for one in written if "json" in str(one["output"])]
    (tmp_path / "imagenet1k_clean_names.json").write_text(json.dumps(["tench", *renamed[0]]))
    specs = [described({}, one, folder=tmp_path).spec for one in written]
    tasks = [spec.output.task for spec in specs if spec is not None]
    described_first = ["regression", "detection", "classification", "segmentation", "depth", "path"]
    assert tasks == [*described_first, "classification", "detection"]


def test_files_beside_the_description_are_found(folder: Path, frames: list[Frame]) -> None:
    (folder / "mine.py").write_text(
        "import torch\n\nclass Mean(torch.nn.Module):\n    def forward(self, images):\n"
        "        return images.mean((1, 2, 3))\n"
    )
    (folder / "mean.yaml").write_text("model: torch:mine.py:Mean\noutput: {signals: speed}\n")
    assert load_model(folder / "mean.yaml").predict(frames[:1])[0].speed == pytest.approx(  # type: ignore[union-attr]
        frames[0].image.mean() / 255, abs=1e-5
    )
    (folder / "weighted.yaml").write_text(
        "model: torch:mine.py:Mean\noutput: {signals: speed}\noptions: {weights: nets/absent.pth}\n"
    )
    with pytest.raises(InputError, match=rf"{folder}/nets/absent\.pth: there is no such file"):
        load_model(folder / "weighted.yaml")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("color: yuv", "colour: yuv"), r"model\.yaml:6: unknown key 'colour': did you mean 'color'\?"),
        (("  crop", "crop"), r"model\.yaml:8: unknown key 'crop': known names are batch, input, model"),
        (
            ("signals", "signal"),
            r"(?s)model\.yaml:9: output needs the key 'signals'.*model\.yaml:10: unknown key 'signal'",
        ),
        (("steering: rad", "angle: rad"), r"model\.yaml:11: unknown key 'angle'"),
        (("width: 40", "width: wide"), r"model\.yaml:4: input > width: expected .*integer, .*got 'wide'"),
        (("width: 40", "width: yes"), r"model\.yaml:4: input > width: .*number.*got True"),
        (("color: yuv", "color: rbg"), r"model\.yaml:6: input > color: expected 'rgb', 'bgr', .*got 'rbg'"),
        (("[-1, 1]", "[-1, .nan]"), r"model\.yaml:7: input > range > 1: expected a finite number, got nan"),
        (("[-1, 1]", "[-1]"), r"model\.yaml:7: input > range needs 2 values"),
        (("  height: 24\n", ""), r"model\.yaml:3: width and height must be given together"),
        (("width: 40", "width: 41"), r"our driver: .* w=40, but w=41 is declared"),
        (("steering: rad", "steering: grad"), r"model\.yaml:11: steering unit must be deg, rad or a number"),
        (("output:", "output:\n  task: driving"), r"model\.yaml:10: unknown task 'driving': known names are"),
        (("model: onnx:nets/driver.onnx\n", ""), r"model\.yaml: expected 'model:' with the model"),
        (
            ("driver.onnx", "absent.onnx"),
            r"cannot read the ONNX network .*nets/absent\.onnx: there is no such",
        ),
        (("threads: 1", "thread: 1"), "'onnx' has no option 'thread': did you mean 'threads'"),
        (("threads: 1", "threads: many"), "option 'threads' of 'onnx' must be a whole number, got 'many'"),
        (("onnx:nets", "onyx:nets"), "there is no model 'onyx'; did you mean 'onnx'"),
        (("name: our driver", "name: !!python/object/apply:os.getcwd []"), r"model\.yaml:2:7: broken YAML"),
        (("name: our driver", "name: [our"), r"model\.yaml:\d+:\d+: broken YAML"),
        (("name: our driver", "model: x"), r"model\.yaml:2:1: 'model' is written twice"),
    ],
)
def test_a_mistake_is_told_with_its_line(folder: Path, change: tuple[str, str], message: str) -> None:
    path = folder / "model.yaml"
    assert change[0] in DESCRIPTION
    path.write_text(DESCRIPTION.replace(*change))
    with pytest.raises((InputError, UnknownNameError), match=message):
        load_model(path)


@pytest.mark.parametrize(
    ("reference", "options", "message"),
    [
        ("net.onnx", {}, "cannot read the ONNX network net.onnx: there is no such file"),
        ("steering.csv", {}, "steering.csv"),
        ("onnx", {}, "'onnx' needs to know what to open: write 'onnx:…'"),
        ("truth:of/it", {}, "'truth' takes no path, got 'of/it'"),
        ("truth", {"output.signals": "speed"}, "'truth' takes no description of input and output"),
        ("onxx:net.onnx", {}, "there is no model 'onxx'; did you mean 'onnx'"),
        ("absent.yaml", {}, "absent.yaml: cannot read the model description: No such file"),
        ("onnx:x", {"input.width": "20"}, "an input is described but no output"),
        (
            "onnx:x",
            {"output.signals": "speed", "input.with": "20"},
            "input.with: unknown key 'with': did you mean 'width'",
        ),
        ("onnx:x", {"output.signals": "speed", "batch": "0"}, "option batch: batch must be 1 or more"),
        (
            "onnx:x",
            {"output.task": "detection", "output.classes": "no.names"},
            "cannot read the class names no.names",
        ),
        ("onnx:x", {"spec": 3}, "spec must be a ModelSpec, got int"),
        (
            "onnx:x",
            {"spec": ModelSpec(RegressionOutput(("speed",))), "batch": 1},
            "give either spec or batch",
        ),
    ],
)
def test_what_cannot_be_opened_is_explained(reference: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises((InputError, UnknownNameError), match=message):
        load_model(reference, **options)


def test_models_of_others_are_opened_with_their_options(monkeypatch: pytest.MonkeyPatch) -> None:
    registry: Registry[Any] = Registry("models", home="roadworthy.no_home")
    monkeypatch.setattr("roadworthy.models.load.models", registry)

    @registry.register("steady", summary="always the same speed")
    class Steady:
        name = "steady"

        def __init__(self, *, speed: float = 5.0) -> None:
            self.speed = speed

        def predict(self, frames: list[Frame], /) -> list[Signals]:
            return [Signals(speed=self.speed) for _ in frames]

    registry.register("nothing", summary="no model")(lambda: 3)
    model = load_model("steady", speed="7")
    assert isinstance(model, SystemUnderTest)
    assert model.predict([Frame("a", np.zeros((2, 2, 3), np.uint8))]) == [Signals(speed=7)]
    with pytest.raises(InputError, match="'nothing' must give a model with name and predict, got int"):
        load_model("nothing")


def drafted(image: Tensor | None, *outputs: Tensor, reference: str = "onnx:nets/my.onnx") -> dict[str, Any]:
    class Declared:
        input = image
        files = ()

    runtime: Any = Declared()
    runtime.outputs = outputs
    found: dict[str, Any] = yaml.safe_load(draft_description(reference, runtime))
    return found


def test_a_draft_says_what_the_file_says() -> None:
    image = Tensor("in", (None, 3, 66, 200), "float32")
    draft = drafted(image, Tensor("steer", (None, 1)))
    assert (draft["model"], draft["name"]) == ("onnx:my.onnx", "my")
    assert draft["input"] == {"width": 200, "height": 66, "layout": "nchw", "color": "rgb", "range": [0, 1]}
    assert draft["output"]["signals"] == ["steering"]
    assert draft["output"]["units"] == {"steering": "deg", "steering_positive": "right"}
    gray = drafted(Tensor("in", (None, 66, 200, 1), "uint8"), Tensor("a", (1, 2)))
    assert gray["input"] == {"width": 200, "height": 66, "layout": "nhwc", "color": "gray"}
    assert (gray["output"]["signals"], gray["output"]["units"]["speed"]) == (["steering", "speed"], "m/s")
    assert drafted(Tensor("in", (None, 5, 3, 66, 200)), Tensor("a", (1, 1)))["input"]["history"] == 4
    assert drafted(None, reference="http://h/predict")["model"] == "http://h/predict"


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        ([Tensor("speed_out", (1, 1)), Tensor("steer", (1, 1))], {"signals": ["speed", "steering"]}),
        ([Tensor("speed", (1, 1)), Tensor("speedy", (1, 1))], {"signals": ["steering", "speed"]}),
        ([Tensor("a", (None, 3))], {"signals": ["steering", "speed", "throttle"]}),
        ([Tensor("a", (None, 4))], {"task": "classification", "classes": [f"class-{n}" for n in range(4)]}),
        ([Tensor("a", (1, 2, 80, 160))], {"task": "segmentation", "classes": ["class-0", "class-1"]}),
        ([Tensor("a", (1, 84, 8400))], {"task": "detection", "head": "yolov8", "score_threshold": 0.25}),
        ([Tensor("a", (1, 8400, 85))], {"task": "detection", "head": "yolov5"}),
        ([Tensor("a", (1, 10, 4))] * 3, {"task": "detection", "head": "separate"}),
    ],
)
def test_a_draft_guesses_what_the_numbers_are(outputs: list[Tensor], expected: dict[str, Any]) -> None:
    found = drafted(Tensor("in", (None, 3, 66, 200)), *outputs)["output"]
    assert {name: found.get(name) for name in expected} == expected
