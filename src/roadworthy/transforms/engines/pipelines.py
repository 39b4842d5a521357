"""Diffusion pipelines in a local folder as engines, through the package `diffusers`, if it is installed.

Nothing is downloaded: the folder must hold the whole pipeline, with weights as safetensors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from roadworthy._files import is_folder, read_json
from roadworthy._frozen import FrozenDict
from roadworthy.errors import InputError, NotApplicable
from roadworthy.transforms.engines.backend import Backend, EngineResult, EngineTask, Image, filled
from roadworthy.transforms.engines.pictures import Fit, Size
from roadworthy.transforms.operations import AddOperation, Operation

Device = Literal["cpu", "cuda"]
Paints = Literal["inpaint", "image"]

_CLASSES = {"inpaint": "AutoPipelineForInpainting", "image": "AutoPipelineForImage2Image"}
_INDEX = "model_index.json"


@dataclass(frozen=True)
class Pipeline(Backend):
    """A diffusion pipeline that paints a part of an image anew, or the whole of it.

    Attributes:
        name: What the engine is called, for messages.
        folder: Of the pipeline; it has a model_index.json.
        prompt: What is to be seen, with words in braces.
        negative_prompt: What is not to be seen, likewise.
        paints: "inpaint" the part that may change, or the whole "image"; None chooses by the operation: the
            whole for weather, time, season and what is added.
        steps: Of denoising.
        strength: From 0, which leaves the image as it is, to 1.
        guidance: How closely the prompt is followed.
        device: Where it runs.
        dtype: Of its numbers.
        most: The largest (height, width) that it is run at; larger images are made smaller.
        multiple: What height and width must be multiples of.
        more: Further arguments of the call.
    """

    name: str
    folder: Path
    prompt: str
    negative_prompt: str = ""
    paints: Paints | None = None
    steps: int = 30
    strength: float = 0.9
    guidance: float = 7.5
    device: Device = "cpu"
    dtype: Literal["float32", "float16", "bfloat16"] = "float32"
    most: Size | None = (512, 768)
    multiple: int = 8
    more: Mapping[str, Any] = field(default_factory=FrozenDict)

    does: ClassVar[str] = "runs a pipeline"
    keeps_outside: ClassVar[bool] = True

    @property
    def files(self) -> tuple[Path, ...]:
        """All files of the folder."""
        return tuple(sorted(path for path in self.folder.rglob("*") if path.is_file()))

    def needs(self, operation: Operation) -> tuple[str, ...]:
        return ("labels",) if self._painting(operation) == "inpaint" else ()

    def check(self, operation: Operation) -> None:
        if not (self.folder / _INDEX).is_file():
            raise InputError(
                f"the engine {self.name!r}: {self.folder} is no pipeline: it has no {_INDEX}; nothing is "
                "downloaded, so put the whole pipeline there"
            )
        if missing := _missing_parts(self.folder):
            raise InputError(
                f"the engine {self.name!r}: {self.folder} is no whole pipeline: {_INDEX} names "
                f"{', '.join(missing)}, which is not there; nothing is downloaded, so copy the whole folder"
            )
        _diffusers()

    def made(self, task: EngineTask) -> EngineResult:
        paints = self._painting(task.operation)
        fit = Fit.of(task.frame.image.shape[:2], most=self.most, multiple=self.multiple)
        pipeline = self._opened(paints)
        from PIL.Image import fromarray

        given: dict[str, Any] = {
            "prompt": filled(self.prompt, task.words),
            "image": fromarray(fit.image(task.frame.image)),
            "strength": self.strength,
            "num_inference_steps": self.steps,
            "guidance_scale": self.guidance,
            "generator": _generator(self.device, task.seed),
            "output_type": "np",
            **self.more,
        }
        if self.negative_prompt:
            given["negative_prompt"] = filled(self.negative_prompt, task.words)
        if paints == "inpaint":
            height, width = fit.padded
            given |= {"mask_image": fromarray(fit.ids(task.mask)), "height": height, "width": width}
        try:
            found = np.asarray(pipeline(**given).images[0])
        except Exception as error:
            # What pipelines raise is not documented; out of memory is a RuntimeError, for one.
            raise NotApplicable(f"engine {self.name!r} raised {_told(error)}") from error
        return EngineResult(fit.back(self._image(found, fit)))

    def _opened(self, paints: Paints) -> Any:
        """Return the pipeline, ready to be called.

        Raises:
            InputError: It cannot be opened: no frame could be painted, so that the run ends.
        """
        try:
            return _opened(self.folder, paints, self.device, self.dtype)
        except InputError:
            raise
        except Exception as error:
            # Likewise; a file that is missing, broken or no safetensors, or a device that is not there.
            raise InputError(
                f"the engine {self.name!r}: cannot open the pipeline {self.folder} on {self.device}: "
                f"{_told(error)}; it must be a whole folder as save_pretrained writes it, with weights as "
                "safetensors"
            ) from error

    def _painting(self, operation: Operation) -> Paints:
        if self.paints is not None:
            return self.paints
        whole = isinstance(operation, AddOperation) or operation.what.condition is not None
        return "image" if whole else "inpaint"

    def _image(self, found: np.ndarray[Any, Any], fit: Fit) -> Image:
        if found.shape != (*fit.padded, 3):
            came, wanted = (" × ".join(map(str, shape)) for shape in (found.shape, (*fit.padded, 3)))
            raise NotApplicable(f"engine {self.name!r} gave an image of {came} instead of {wanted}")
        if not np.isfinite(found).all():
            raise NotApplicable(f"engine {self.name!r} gave an image with numbers that are not finite")
        return np.asarray(np.rint(np.clip(found, 0, 1) * 255), np.uint8)


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def _missing_parts(folder: Path) -> list[str]:
    """Return which parts of a pipeline its folder should have and has not.

    Raises:
        InputError: What says so is no JSON, or something else.
    """
    index = read_json(folder / _INDEX)
    if not isinstance(index, dict):
        raise InputError(f"{folder / _INDEX} must name the parts of a pipeline, got {type(index).__name__}")
    # A part is named with its library and its class; both are null for one that was left out.
    named = [key for key, one in index.items() if isinstance(one, list) and one and one[0] is not None]
    return [key for key in named if not key.startswith("_") and not is_folder(folder / key)]


def _diffusers() -> Any:
    """Return the package `diffusers`.

    Raises:
        InputError: It is not installed.
    """
    try:
        import diffusers
    except ImportError as error:
        raise InputError(
            f"a pipeline needs the package diffusers, which cannot be imported ({error}): install it with "
            "pip install diffusers transformers accelerate"
        ) from None
    return diffusers


# It takes gigabytes and seconds to open one, and a run uses it for every frame.
@lru_cache(maxsize=1)
def _opened(folder: Path, paints: str, device: str, dtype: str) -> Any:
    import torch

    pipeline = getattr(_diffusers(), _CLASSES[paints]).from_pretrained(
        str(folder), local_files_only=True, use_safetensors=True, torch_dtype=getattr(torch, dtype)
    )
    pipeline.set_progress_bar_config(disable=True)
    return pipeline.to(device)


def _generator(device: str, seed: int) -> Any:
    import torch

    return torch.Generator(device=device).manual_seed(seed)
