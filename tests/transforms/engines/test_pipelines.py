"""Diffusion pipelines as engines, against a package that stands for diffusers and notes what it is asked."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from roadworthy.errors import EngineError, InputError
from roadworthy.frames import Frame
from roadworthy.transforms import read_engines, transform_for
from roadworthy.transforms.engines import commands as pipelines
from roadworthy.transforms.operations import ReplaceOperation

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "engines" / "pipeline.yaml"
TREES = ReplaceOperation("building", "tree")

STAND_IN = """
    from types import SimpleNamespace
    import numpy as np

    opened, called, answer = [], [], {}

    class _Pipeline:
        def __init__(self, kind, folder, given):
            opened.append((kind, folder, given))

        @classmethod
        def from_pretrained(cls, folder, **given):
            if "broken" in answer:
                raise OSError(answer["broken"])
            return cls(cls.__name__, folder, given)

        def to(self, device):
            opened.append(device)
            return self

        def set_progress_bar_config(self, disable):
            pass

        def __call__(self, prompt, image, strength, num_inference_steps, guidance_scale, generator,
                     output_type, mask_image=None, height=None, width=None, **more):
            called.append(dict(locals()))
            if "error" in answer:
                raise RuntimeError(answer["error"])
            pixels = np.asarray(image) / 255.0
            noise = generator.initial_seed() % 97 / 970
            return SimpleNamespace(images=[answer.get("image", 1 - pixels * 0.5 - noise)])

    class AutoPipelineForInpainting(_Pipeline): ...

    class AutoPipelineForImage2Image(_Pipeline): ...
"""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A package called diffusers on the path, as an installed one would be."""
    package = tmp_path / "installed" / "diffusers"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(dedent(STAND_IN), "utf-8")
    monkeypatch.syspath_prepend(str(package.parent))
    pipelines._opened.cache_clear()
    # The files of the tests are younger than any that a run begins with.
    monkeypatch.setattr("roadworthy._files._SETTLED", 0.0)
    import diffusers

    yield diffusers
    pipelines._opened.cache_clear()
    for name in [one for one in sys.modules if one.partition(".")[0] == "diffusers"]:
        del sys.modules[name]


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """The example, with folders that look like pipelines."""
    for name in ("inpainting", "image-to-image"):
        folder = tmp_path / "pipelines" / name
        folder.mkdir(parents=True)
        (folder / "model_index.json").write_text(json.dumps({"_class_name": "SomePipeline"}))
    file = tmp_path / "pipeline.yaml"
    file.write_text(EXAMPLE.read_text("utf-8"), "utf-8")
    return file


def test_things_are_painted_where_they_may_change(example: Path, stand_in: Any, town: Frame) -> None:
    engines = read_engines(example, allow_commands=True)
    change = transform_for(TREES, engines)
    assert (change.name, change.needs) == ("inpainting", ("labels",))
    changed = change(town, 3, measure=False)
    kind, folder, given = stand_in.opened[0]
    assert kind == "AutoPipelineForInpainting"
    assert Path(folder) == example.parent / "pipelines" / "inpainting"
    # Nothing is fetched, and no pickle is read.
    assert (given["local_files_only"], given["use_safetensors"]) == (True, True)
    (asked,) = stand_in.called
    assert asked["prompt"] == "tree beside a road, photo of a street by day"
    assert asked["more"] == {"negative_prompt": "people, text, blurred"}
    assert (asked["num_inference_steps"], asked["guidance_scale"], asked["strength"]) == (30, 7.5, 0.95)
    assert (asked["height"], asked["width"], asked["image"].size) == (160, 320, (320, 160))
    region = change.region(town)  # type: ignore[attr-defined]
    assert np.array_equal(np.asarray(asked["mask_image"]), region * np.uint8(255))
    seed = int(np.random.default_rng(3).integers(2**31))
    assert asked["generator"].initial_seed() == seed
    assert np.array_equal(changed.image[~region], town.image[~region])
    opacity = change.task(town, np.random.default_rng(3)).opacity  # type: ignore[attr-defined]
    whole = opacity == 1
    expected = 255 * np.clip(1 - town.image / 510 - seed % 97 / 970, 0, 1)
    assert np.abs(changed.image[whole] - expected[whole]).max() <= 1
    # It is opened once.
    change(town, 4, measure=False)
    assert len(stand_in.opened) == 2
    # And again when it is another one.
    (example.parent / "pipelines" / "inpainting" / "weights.safetensors").write_bytes(b"others")
    change(town, 4, measure=False)
    assert len(stand_in.opened) == 4


def test_weather_is_painted_over_the_whole_image(example: Path, stand_in: Any, town: Frame) -> None:
    change = transform_for(ReplaceOperation("weather", "snow"), read_engines(example, allow_commands=True))
    assert (change.name, change.needs) == ("restyling", ())
    changed = change(town, 1, measure=False)
    assert stand_in.opened[0][0] == "AutoPipelineForImage2Image"
    assert stand_in.called[0]["prompt"] == "the same street in snow, photo from a car"
    assert stand_in.called[0]["mask_image"] is None
    assert changed.metadata["weather"] == "snowy"
    assert changed.labels is town.labels


def test_so_is_the_season(example: Path, stand_in: Any, town: Frame) -> None:
    change = transform_for(ReplaceOperation("season", "winter"), read_engines(example, allow_commands=True))
    assert (change.name, change.needs) == ("restyling", ())
    assert change(town, 1, measure=False).metadata["season"] == "winter"
    assert stand_in.opened[0][0] == "AutoPipelineForImage2Image"
    assert stand_in.called[0]["prompt"] == "the same street in winter, photo from a car"


def test_what_goes_wrong_is_told(example: Path, stand_in: Any, town: Frame) -> None:
    change = transform_for(TREES, read_engines(example, allow_commands=True))

    def reason() -> str:
        with pytest.raises(EngineError) as caught:
            change(town, 1, measure=False)
        return caught.value.reason

    stand_in.answer["image"] = np.zeros((8, 8, 3))
    assert reason() == "engine 'inpainting' gave an image of 8 × 8 × 3 instead of 160 × 320 × 3"
    stand_in.answer["image"] = np.full((160, 320, 3), np.nan)
    assert reason() == "engine 'inpainting' gave an image with numbers that are not finite"
    stand_in.answer["error"] = "CUDA out of memory\nand more"
    assert reason() == "engine 'inpainting' raised RuntimeError: CUDA out of memory"


def test_a_folder_that_is_not_whole(example: Path, stand_in: Any, town: Frame) -> None:
    folder = example.parent / "pipelines" / "inpainting"
    index = {
        "_class_name": ["mine", "SomePipeline"],  # as pipelines of others have it: no part
        "unet": ["diffusers", "UNet2DConditionModel"],
        "vae": ["diffusers", "AutoencoderKL"],
        "safety_checker": [None, None],
        "requires_safety_checker": False,
    }
    (folder / "model_index.json").write_text(json.dumps(index))
    (folder / "vae").mkdir()
    engines = read_engines(example, allow_commands=True)
    with pytest.raises(
        InputError, match=r"is an incomplete pipeline: model_index\.json names unet, which is not"
    ):
        transform_for(TREES, engines)
    (folder / "unet").mkdir()
    # What else is wrong shows when it is opened, and no frame could be painted.
    stand_in.answer["broken"] = "no file named diffusion_pytorch_model.safetensors\nin it"
    change = transform_for(TREES, engines)
    told = (
        r"cannot open the pipeline .*inpainting on cpu: OSError: no file named \S+; it must be a whole folder"
    )
    with pytest.raises(InputError, match=told):
        change(town, 1, measure=False)
    for text, told in (("[]", "must name the parts of a pipeline, got list"), ("{", "must be JSON")):
        (folder / "model_index.json").write_text(text)
        with pytest.raises(InputError, match=told):
            transform_for(TREES, engines)


def test_larger_frames_are_made_smaller(example: Path, stand_in: Any, town: Frame) -> None:
    text = example.read_text("utf-8").replace("most: [512, 768]", "most: [100, 768]")
    example.write_text(text, "utf-8")
    changed = transform_for(TREES, read_engines(example, allow_commands=True))(town, 1, measure=False)
    assert (stand_in.called[0]["height"], stand_in.called[0]["width"]) == (104, 200)
    assert changed.image.shape == town.image.shape


def test_what_is_missing_is_said_before_the_first_frame(
    example: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "diffusers", None)  # as if it were not installed
    engines = read_engines(example, allow_commands=True)
    with pytest.raises(InputError, match=r"needs the package diffusers, .*pip install diffusers"):
        transform_for(TREES, engines)
    (example.parent / "pipelines" / "inpainting" / "model_index.json").unlink()
    with pytest.raises(InputError, match=r"inpainting is not a pipeline: it has no model_index\.json"):
        transform_for(TREES, engines)


def test_it_runs_only_if_that_is_allowed(example: Path) -> None:
    with pytest.raises(InputError, match=r"'inpainting' runs a pipeline: if you trust the file"):
        transform_for(TREES, read_engines(example))


def test_prompts_hold_words_and_no_files(tmp_path: Path) -> None:
    file = tmp_path / "engines.yaml"
    file.write_text(
        "engines:\n  a:\n    pipeline:\n      folder: x\n      prompt: 'a {image}'\n"
        "    supports: [{operation: remove, element: line}]\n"
    )
    with pytest.raises(InputError, match=r"engines\.yaml:5: \{image\} stands for nothing"):
        read_engines(file)
    file.write_text(file.read_text().replace("a {image}'", "a'\n      negative_prompt: '{image}'"))
    with pytest.raises(InputError, match=r"engines\.yaml:6: \{image\} stands for nothing"):
        read_engines(file)
