"""Engines that run on this machine: a program, a Python function, a diffusers pipeline, a network that fills.

Nothing is downloaded: the folder must hold the whole pipeline, with weights as safetensors.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import is_folder, naming, read_json, stamp_of
from roadworthy._frozen import FrozenDict
from roadworthy._importing import imported
from roadworthy.errors import EngineError, FrameError, InputError, NotApplicable, words_of
from roadworthy.frames import Frame, LabelMap
from roadworthy.images import read_ids, read_image, read_pixels, write_image
from roadworthy.models import Inpainter
from roadworthy.models.network import OpensLater
from roadworthy.models.networks import public_networks
from roadworthy.transforms.engines import backend
from roadworthy.transforms.objects.filling import FILL, fill_network
from roadworthy.transforms.operations import AddOperation, Operation, RemoveOperation

PLACEHOLDERS: Mapping[str, str] = {**backend.TOLD["program"], **backend.WORDS}
"""What a word of a command may hold in braces."""

TIMEOUT = 60.0
"""Seconds that a program or a service may take when nothing is said."""

_FILES = ("image", "labels", "mask", "output", "labels_output")
_LINES = 3  # of what a program complained, shown


@dataclass(frozen=True)
class ProgramBackend(backend.Backend):
    """A program that reads an image and writes another.

    Attributes:
        name: What the engine is called, for messages.
        command: The program and its arguments, with words in braces.
        timeout: Seconds that it may take.
        folder: Where the files lie that it names.
    """

    name: str
    command: tuple[str, ...]
    timeout: float = TIMEOUT
    folder: Path = field(default_factory=Path)

    does: ClassVar[str] = "runs a command"

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that lie beside the description and are named in the command."""
        return tuple(self.folder / word for word in self.command if _is_file(self.folder, word))

    @property
    def _wanted(self) -> set[str]:
        return {name for word in self.command for name in backend.placeholders(word)}

    def needs(self, operation: Operation) -> tuple[str, ...]:
        return ("labels",) if "labels" in self._wanted else ()

    def made(self, task: backend.EngineTask) -> backend.EngineResult:
        # What the program leaves there may be beyond our rights to delete.
        with tempfile.TemporaryDirectory(prefix="roadworthy-engine-", ignore_cleanup_errors=True) as name:
            folder = Path(name).resolve()
            files = {one: folder / f"{one}.png" for one in _FILES}
            write_image(files["image"], task.frame.image)
            if "labels" in self._wanted:
                files["labels"].write_bytes(backend.labels_png(task.frame.label_map))
            if "mask" in self._wanted:
                files["mask"].write_bytes(backend.png(task.mask))
            values = task.words | {one: str(path) for one, path in files.items()}
            values["folder"] = str(self.folder.resolve())
            run_command(self.name, filled_in(self.command, values, self.folder), folder, self.timeout)
            image = self._read_image(files["output"])
            labels = None
            if task.written or files["labels_output"].exists():
                labels = self._read_labels(files["labels_output"])
        return backend.EngineResult(image, labels)

    def _read_image(self, path: Path) -> NDArray[np.uint8]:
        if not path.exists():
            raise EngineError(f"engine {self.name!r} wrote no image")
        try:
            image = read_image(path)
            # Reading makes 8 bits of 16, and a program that writes 16 means something else by them.
            depth = read_pixels(path).dtype
        except FrameError as error:
            reason = str(error).partition(f"{path}: ")[2] or "it is no image"
            raise EngineError(f"engine {self.name!r} wrote an unreadable image: {reason}") from error
        if depth != np.uint8:
            raise EngineError(f"engine {self.name!r} wrote an image without 8 bits per channel")
        return image

    def _read_labels(self, path: Path) -> LabelMap:
        if not path.exists():
            raise EngineError(f"engine {self.name!r} wrote no label map")
        try:
            return LabelMap(read_ids(path))
        except FrameError as error:
            reason = str(error).replace(str(path), "it")
            raise EngineError(f"engine {self.name!r} wrote an unusable label map: {reason}") from error


def filled_in(words: Sequence[str], values: Mapping[str, str], folder: Path) -> list[str]:
    """Return the words of a command with their values; a file beside the description gets its whole path.

    Each value stays in its word, whatever is in it.

    Example:
        >>> filled_in(["blur", "--out={output}"], {"output": "/tmp/a b;c.png"}, Path("."))
        ['blur', '--out=/tmp/a b;c.png']
    """
    words = [backend.filled(word, values) for word in words]
    return [str((folder / word).resolve()) if _is_file(folder, word) else word for word in words]


def _is_file(folder: Path, word: str) -> bool:
    with suppress(OSError, ValueError):
        return not Path(word).is_absolute() and (folder / word).is_file()
    return False


def run_command(name: str, command: Sequence[str], folder: Path, timeout: float) -> None:
    """Run a program and wait for it.

    It gets no input and runs in `folder`. When it ends, or when its time is over, all processes that it
    started in its group are ended.

    Args:
        name: What the engine is called, for messages.
        command: The program and its arguments.
        folder: Where it runs; what it writes to stdout and stderr goes there as well.
        timeout: Seconds that it may take.

    Raises:
        EngineError: It cannot be started, fails or takes too long.
    """
    complaints = folder / "stderr.txt"
    with (folder / "stdout.txt").open("wb") as stdout, complaints.open("wb") as stderr:
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                # Its own session: all that it starts can be ended together, and Ctrl-C reaches only us.
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise EngineError(f"engine {name!r}: cannot start {command[0]!r}: {reason}") from error
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise EngineError(f"engine {name!r} did not end within {timeout:g} s") from None
        finally:
            _end(process)
    if status:
        how = f"exit status {status}" if status > 0 else f"signal {_signal_name(-status)}"
        told = _last_lines(complaints, folder)
        raise EngineError(f"engine {name!r} failed with {how}" + (f": {told}" if told else ""))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and all that it started."""
    if sys.platform == "win32":
        process.kill()
    else:
        # The group outlives its first process as long as any other is in it.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _last_lines(path: Path, folder: Path) -> str:
    """Return what a program complained about last, without its folder, which is another each time."""
    try:
        data = path.read_bytes()[-4000:]
    except OSError:  # it is the program's folder, and the program may have emptied it
        return ""
    text = data.decode("utf-8", "replace").replace(str(folder), "…")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " / ".join(lines[-_LINES:])


EntryPoint = Callable[[Frame, Operation, np.random.Generator], Frame | NDArray[np.uint8]]


@dataclass(frozen=True)
class EngineFunction(backend.Backend):
    """A function that gets a frame, the operation and a random generator, and returns a frame or an image.

    Attributes:
        name: What the engine is called, for messages.
        entry: ``package.module:function`` or ``file.py:function``.
        folder: Where the file lies that it names.
        where: Where it is described, for messages.
    """

    name: str
    entry: str
    folder: Path = field(default_factory=Path)
    where: str = ""

    does: ClassVar[str] = "calls your code"

    @property
    def _file(self) -> Path | None:
        where, colon, _ = self.entry.rpartition(":")
        return self.folder / where if colon and where.endswith(".py") else None

    @property
    def files(self) -> tuple[Path, ...]:
        """The file that the function is in, if it is named."""
        return () if self._file is None else (self._file,)

    def check(self, operation: Operation) -> None:
        self.entry_point()

    def entry_point(self) -> EntryPoint:
        """Return the function.

        Raises:
            InputError: There is none.
        """
        name = self.entry.rpartition(":")[2]
        with naming(f"{self.where}: engine {self.name!r}"):
            entry = self.entry if self._file is None else f"{self._file}:{name}"
            found: EntryPoint = imported(entry, "", "function")
            if not callable(found):
                raise InputError(f"{self.entry} must be a function, got {found!r}")
        return found

    def made(self, task: backend.EngineTask) -> backend.EngineResult:
        try:
            found = self.entry_point()(task.frame, task.operation, task.rng)
        except NotApplicable:
            raise
        except (Exception, SystemExit) as error:
            # A script that was made a function may still call sys.exit, which must not end a run as passed.
            raise EngineError(
                f"engine {self.name!r} raised {type(error).__name__}: {words_of(error)}"
            ) from error
        if isinstance(found, Frame):
            return backend.EngineResult(found.image, found.labels, found)
        return backend.EngineResult(found)


Device = Literal["cpu", "cuda"]
Paints = Literal["inpaint", "image"]

_CLASSES = {"inpaint": "AutoPipelineForInpainting", "image": "AutoPipelineForImage2Image"}
_INDEX = "model_index.json"


@dataclass(frozen=True)
class Pipeline(backend.Backend):
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
    most: backend.Size | None = (512, 768)
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
                f"the engine {self.name!r}: {self.folder} is not a pipeline: it has no {_INDEX}; nothing is "
                "downloaded, so put the whole pipeline there"
            )
        if missing := _missing_parts(self.folder):
            raise InputError(
                f"the engine {self.name!r}: {self.folder} is an incomplete pipeline: {_INDEX} names "
                f"{', '.join(missing)}, which is not there; nothing is downloaded, so copy the whole folder"
            )
        _diffusers()

    def made(self, task: backend.EngineTask) -> backend.EngineResult:
        paints = self._painting(task.operation)
        fit = backend.Fit.of(task.frame.image.shape[:2], most=self.most, multiple=self.multiple)
        pipeline = self._opened(paints)
        import torch
        from PIL.Image import fromarray

        given: dict[str, Any] = {
            "prompt": backend.filled(self.prompt, task.words),
            "image": fromarray(fit.image(task.frame.image)),
            "strength": self.strength,
            "num_inference_steps": self.steps,
            "guidance_scale": self.guidance,
            "generator": torch.Generator(device=self.device).manual_seed(task.seed),
            "output_type": "np",
            **self.more,
        }
        if self.negative_prompt:
            given["negative_prompt"] = backend.filled(self.negative_prompt, task.words)
        if paints == "inpaint":
            height, width = fit.padded
            given |= {"mask_image": fromarray(fit.ids(task.mask)), "height": height, "width": width}
        try:
            found = np.asarray(pipeline(**given).images[0])
        except Exception as error:
            # What pipelines raise is not documented; out of memory is a RuntimeError, for one.
            raise EngineError(f"engine {self.name!r} raised {_told(error)}") from error
        backend.check_made(self.name, found, (*fit.padded, 3))
        image = np.asarray(np.rint(np.clip(found, 0, 1) * 255), np.uint8)
        return backend.EngineResult(fit.back(image))

    def _opened(self, paints: Paints) -> Any:
        """Return the pipeline, ready to be called.

        Raises:
            InputError: It cannot be opened: no frame could be painted, so that the run ends.
        """
        try:
            return _opened(self.folder, stamp_of(self.files), paints, self.device, self.dtype)
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


def _told(error: Exception) -> str:
    lines = words_of(error).splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"


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
def _opened(folder: Path, stamp: str, paints: str, device: str, dtype: str) -> Any:  # noqa: ARG001
    import torch

    pipeline = getattr(_diffusers(), _CLASSES[paints]).from_pretrained(
        str(folder), local_files_only=True, use_safetensors=True, torch_dtype=getattr(torch, dtype)
    )
    pipeline.set_progress_bar_config(disable=True)
    return pipeline.to(device)


_OURS = "fill"  # the filling network that ships


def fillers() -> tuple[str, ...]:
    """Return the networks that fill what is removed: ours, and public ones, once they are imported.

    Example:
        >>> fillers()
        ('fill', 'migan')
    """
    known = public_networks().items()
    return (_OURS, *(name for name, one in known if one.opened_by.endswith(Inpainter.__name__)))


@dataclass(frozen=True)
class FillingNetwork(OpensLater, backend.Backend):
    """A network that fills the place of what is removed.

    Attributes:
        network: What it is imported as, or "fill" for the one that ships.
    """

    network: str

    keeps_outside: ClassVar[bool] = True

    @property
    def files(self) -> tuple[Path, ...]:
        """The files of the network."""
        if self.network == _OURS:
            return (FILL,)
        known = public_networks()[self.network]
        return tuple(known.folder / name for name in known.files)

    def needs(self, operation: Operation) -> tuple[str, ...]:
        return ("labels",)

    def check(self, operation: Operation) -> None:
        if not isinstance(operation, RemoveOperation):
            raise InputError(f"{self.network} fills what is removed, it cannot {operation.kind} anything")
        if self.network != _OURS:
            _ = self._inpainter

    def made(self, task: backend.EngineTask) -> backend.EngineResult:
        image, hole = task.frame.image, task.mask > 0
        if self.network == _OURS:
            return backend.EngineResult(fill_network().fill([image], [hole])[0])
        return backend.EngineResult(self._inpainter.fill(image, hole))

    @cached_property
    def _inpainter(self) -> Inpainter:
        # One thread, so that an image is the same in every executor.
        return Inpainter(self.network, threads=1)
