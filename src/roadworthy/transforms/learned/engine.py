"""Learned engines: a network that paints what an edited label map says, or another weather, time or season.

::

    engine = LearnedEngine.open("my-engines/night")       # a folder with card.json and engine.onnx
    night = engine.transform(ReplaceOperation("time", "night"))
    dark = night(frame, 7)

A network is data: it runs no code of whoever made it, so that it needs no permission to be used.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import Any, ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy._files import is_folder, sha256_of
from roadworthy.errors import EngineError, InputError, NotApplicable, suggest
from roadworthy.frames import Frame, LabelMap
from roadworthy.images import Image
from roadworthy.ontology import VOID
from roadworthy.seeding import rng_for
from roadworthy.transforms.engines.backend import Backend, EngineResult, EngineTask, Fit, Support, check_made
from roadworthy.transforms.engines.engine import UserEngine
from roadworthy.transforms.learned.card import CARD, NETWORK, WORLD, EngineCard
from roadworthy.transforms.learned.network import (
    Device,
    EngineNetwork,
    channel_table,
    context_of,
    edges_of,
    image_of,
    one_hot,
    scaled,
)
from roadworthy.transforms.objects.inpainting import base_of
from roadworthy.transforms.operations import AddOperation, Operation, ReplaceOperation, transform_for

Floats = NDArray[np.float32]

_CELLS = (96, 48)  # in which the tone of what is painted is matched to that of what is around it
_RING = 5  # pixels round a hole whose tone is looked at
_LEAST_RING = 16  # pixels of a class; fewer do not tell its tone


@dataclass(frozen=True)
class NetworkBackend(Backend):
    """A learned network that makes the images of an engine.

    A frame larger than `card.most` is made smaller for it, and what it paints is made larger again; of a
    weather, time or season, the detail that is lost by that is put back. A frame smaller than those that it
    was trained with is made larger for it: at another scale it knows nothing. Sizes that are no multiple of
    `card.multiple` are padded at the right and at the bottom. For a network that takes one size alone, the
    frame is stretched to it.

    Attributes:
        folder: Where the card and the network lie.
        sha256: Of the network.
        device: Where it runs.
        threads: How many threads it uses.
        card: What is known about it.
    """

    folder: Path
    sha256: str
    device: Device = "cpu"
    threads: int = 1
    card: EngineCard = field(kw_only=True, compare=False, repr=False)

    keeps_outside: ClassVar[bool] = True

    @classmethod
    def open(cls, folder: Path, device: Device = "cpu", threads: int = 1) -> NetworkBackend:
        """Return the network in the folder of an engine.

        Raises:
            InputError: There is none, or it is not the one that the card is about.
        """
        card = EngineCard.read(folder)
        path = folder / NETWORK
        if not path.is_file():
            raise InputError(f"{folder} has a card but no {NETWORK}: make it again, or copy it there")
        if not card.sha256:
            raise InputError(f"{folder / CARD}: the card has no sha256 of {NETWORK}: make the engine again")
        if (found := sha256_of(path)) != card.sha256:
            raise InputError(
                f"{path} is not the network that its card is about: its sha256 is {found[:16]}…, the card "
                f"says {card.sha256[:16]}…: make or copy both again"
            )
        return cls(folder, card.sha256, device, threads, card=card)

    def __reduce__(self) -> tuple[Callable[..., NetworkBackend], tuple[Any, ...]]:
        return _reopened, (self.folder, self.sha256, self.device, self.threads)

    @property
    def files(self) -> tuple[Path, ...]:
        """Its card and its network."""
        return (self.folder / CARD, self.folder / NETWORK)

    @property
    def name(self) -> str:
        """What the card calls it."""
        return self.card.name

    def network(self) -> EngineNetwork:
        """Return the network, which runs on batches.

        Raises:
            InputError: It is broken, or not what the card says.
        """
        return EngineNetwork(self.folder, self.card, self.device, self.threads)

    def needs(self, operation: Operation) -> tuple[str, ...]:
        return ("labels",) if self.card.kind == "synthesis" else ()

    def check(self, operation: Operation) -> None:
        self.network()
        if self.card.kind == "translation":
            return
        if isinstance(operation, AddOperation) or operation.what.condition is not None:
            told = f"{operation.kind} {operation.what}"
            raise InputError(f"the engine {self.name!r} paints what a label map says, and cannot {told}")
        if isinstance(operation, ReplaceOperation):
            new = operation.new.element
            if channel_table((new,), self.card.classes)[0] == len(self.card.classes):
                known = ", ".join(self.card.classes)
                raise InputError(f"the engine {self.name!r} never saw {operation.new}: it knows {known}")
        if self.card.prefilled:
            transform_for(operation)

    def made(self, task: EngineTask) -> EngineResult:
        fit = self.fit(task.frame.height, task.frame.width)
        paint = self._translated if self.card.kind == "translation" else self._synthesised
        return EngineResult(paint(task, fit))

    def fit(self, height: int, width: int) -> Fit:
        """Return how a frame is made to fit the network.

        Raises:
            NotApplicable: It is too small.
        """
        least, most = self.card.least, self.card.most
        if least == most:
            # It takes one size alone, and was trained with images that were stretched to it.
            return Fit((height, width), most, most)
        fit = Fit.of((height, width), most=most, multiple=self.card.multiple, usual=self.card.trained_at)
        # One that is much wider than high may become too small when it is made smaller.
        if min(height, fit.padded[0]) < least[0] or min(width, fit.padded[1]) < least[1]:
            shrunk = fit.scaled[0] < fit.size[0]
            at = f", made smaller to {fit.scaled[1]} × {fit.scaled[0]}" if shrunk else ""
            raise NotApplicable(
                f"the image is {width} × {height} pixels{at}, and the engine {self.name!r} takes {least[1]} "
                f"× {least[0]} or more"
            )
        return fit

    def _translated(self, task: EngineTask, fit: Fit) -> Image:
        given = fit.image(task.frame.image)
        return _sharpened(task.frame.image, given, self._painted({"image": scaled(given)}, task, fit), fit)

    def _synthesised(self, task: EngineTask, fit: Fit) -> Image:
        labels = task.edited
        assert task.opacity is not None
        self._check_classes(labels, task)
        seen = LabelMap(fit.ids(labels.ids), labels.classes)
        inputs = {"labels": one_hot(seen, self.card.classes)}
        if self.card.edges:
            # At the size that the network sees, as in the public code: there an edge is two pixels wide.
            inputs["edges"] = edges_of(seen, self._instances(task, fit))
        if self.card.context:
            made = self._in_context(inputs, task, fit)
        else:
            made = fit.back(self._painted(inputs, task, fit))
            made = _toned(task.frame.image, made, task.opacity, labels.ids)
        return self._without_strange(task, made)

    def _in_context(self, inputs: dict[str, Floats], task: EngineTask, fit: Fit) -> Image:
        """Return what the network paints that sees the image around the hole."""
        image = self._prefilled(task) if self.card.prefilled else task.frame.image
        given = fit.image(image)
        inputs["context"] = context_of(given, fit.ids(task.mask), prefilled=self.card.prefilled)
        painted = self._painted(inputs, task, fit)
        # What it improves has detail of its own, which would be lost where a frame is made smaller for it.
        return _sharpened(image, given, painted, fit) if self.card.prefilled else fit.back(painted)

    def _without_strange(self, task: EngineTask, made: Image) -> Image:
        """Return an image in which classes that the network never saw, round what it painted, are as before.

        What is to be painted is of none of them; see `_check_classes`.
        """
        assert task.selection is not None
        strange = self._strange(task.edited.classes)[task.edited.ids] & ~task.selection.mask
        return np.where(strange[..., None], task.frame.image, made) if strange.any() else made

    def _instances(self, task: EngineTask, fit: Fit) -> NDArray[np.int32] | None:
        """Return the numbers of the things that are left, as the network sees them."""
        assert task.selection is not None
        if task.frame.instances is None:
            return None
        return fit.ids(np.where(task.selection.mask, 0, task.frame.instances).astype(np.int32))

    def _painted(self, inputs: dict[str, Floats], task: EngineTask, fit: Fit) -> Image:
        if self.card.noise:
            shape = (self.card.noise, *fit.padded)
            inputs["noise"] = task.rng.standard_normal(shape, np.float32)
        # One that cannot be opened ends the run: it would fail on every frame.
        network = self.network()
        try:
            found = network.run({name: array[None] for name, array in inputs.items()})
        except InputError as error:
            raise EngineError(f"engine {self.name!r}: {error}") from error
        check_made(self.name, found, (1, 3, *fit.padded))
        return image_of(found[0])

    def _prefilled(self, task: EngineTask) -> Image:
        """Return what the built-in transform makes of the frame."""
        return transform_for(task.operation).change(task.frame, task.rng).image

    def _check_classes(self, labels: LabelMap, task: EngineTask) -> None:
        """Refuse to paint what the network never saw.

        Raises:
            NotApplicable: Such classes are where the image is to be painted; names them and those known.
        """
        assert task.selection is not None
        if strange := self.unseen(labels, task.selection.mask):
            raise NotApplicable(
                f"the engine {self.name!r} never saw {', '.join(strange)}, which is to be painted: it knows "
                f"{', '.join(self.card.classes)}"
            )

    def unseen(self, labels: LabelMap, where: NDArray[np.bool_] | None = None) -> dict[str, int]:
        """Return the classes of a label map that the network never saw, with their numbers of pixels.

        It sees them as void, which is no harm where nothing is painted.

        Args:
            labels: The label map.
            where: Where to look; everywhere when left out.
        """
        ids = labels.ids if where is None else labels.ids[where]
        pixels = np.bincount(ids.ravel(), minlength=len(labels.classes))
        counts = zip(labels.classes, pixels.tolist(), self._strange(labels.classes).tolist(), strict=True)
        return {name: count for name, count, new in counts if count and new}

    def _strange(self, classes: tuple[str, ...]) -> NDArray[np.bool_]:
        """Return which classes the network never saw; void is known to all."""
        unnamed = channel_table(classes, self.card.classes) == len(self.card.classes)
        return np.asarray(unnamed & np.array([name != VOID for name in classes]), np.bool_)


@lru_cache(maxsize=16)
def _reopened(folder: Path, sha256: str, device: Device, threads: int) -> NetworkBackend:
    """Return a network that came from another process; see that it is still the same."""
    found = NetworkBackend.open(folder, device, threads)
    if found.sha256 != sha256:
        raise InputError(f"{folder / NETWORK} was changed while it was in use: run again")
    return found


def _toned(before: Image, after: Image, opacity: Floats, ids: NDArray[np.unsignedinteger]) -> Image:
    """Return what a network painted without seeing the image, in the light of what is around it.

    What it paints of each class is shifted as the same class beside it differs from the image.
    """
    region = opacity > 0
    kernel = np.ones((2 * _RING + 1, 2 * _RING + 1), np.uint8)
    ring = cv2.dilate(region.view(np.uint8), kernel).view(np.bool_) & ~region
    difference = before.astype(np.float32) - after
    toned = after.astype(np.float32)
    for number in np.unique(ids[region]).tolist():
        beside = ring & (ids == number)
        if np.count_nonzero(beside) < _LEAST_RING:
            continue
        inside = region & (ids == number)
        toned[inside] += base_of(difference, beside, _CELLS)[inside]
    return _bytes(toned)


def _sharpened(image: Image, given: Image, made: Image, fit: Fit) -> Image:
    """Return what a network made of a smaller image at the frame's size, with the frame's own detail.

    Detail is what is lost when the frame is made smaller. It is as strong as there is light to see it.
    """
    back = fit.back(made)
    if fit.scaled == fit.size:
        return back
    smooth = fit.back(given).astype(np.float32)
    light = np.clip((back + np.float32(1)) / (smooth + np.float32(1)), 0, 1)
    return _bytes(back + light * (image - smooth))


def _bytes(levels: Floats) -> Image:
    return np.asarray(np.clip(np.rint(levels), 0, 255), np.uint8)


@dataclass(frozen=True)
class LearnedEngine(UserEngine):
    """An engine whose images a learned network makes; its backend is a `NetworkBackend`.

    Attributes:
        only_its_domain: Whether it is used only on frames of what it was trained for, where that is the
            built-in world; see `UserEngine` for the others.
    """

    only_its_domain: bool = False

    def is_for(self, frame: Frame) -> bool:
        """Return whether it was trained for frames such as this one, as far as that is known.

        Of engines that learned from the built-in world alone it is known, for frames of that say so.
        """
        return self.card.domain != WORLD or _is_of_world(frame)

    def misfit(self, frame: Frame) -> str:
        """Return why it is not used on frames such as this one; empty if it is."""
        if not self.only_its_domain or self.is_for(frame):
            return ""
        return (
            f"the engine {self.name!r} learned from the built-in world alone, and this is no frame of it: "
            "train or import one for such frames, or name it in an engines file"
        )

    @property
    def card(self) -> EngineCard:
        """What is known about it."""
        assert isinstance(self.backend, NetworkBackend)
        return self.backend.card

    @classmethod
    def open(
        cls,
        which: str | Path,
        *,
        beside: Path | None = None,
        device: Device = "cpu",
        threads: int = 1,
        only_its_domain: bool = False,
    ) -> LearnedEngine:
        """Open an engine from its folder, with the name and the operations of its card.

        Args:
            which: Its folder, or the name of one that comes with Roadworthy.
            beside: What the folder is relative to; the current folder when left out.
            device: Where it runs.
            threads: How many threads it uses. With another number, the last bits of an image may differ.
            only_its_domain: Whether frames of other cameras than it learned from do not qualify; see the
                class.

        Raises:
            InputError: There is no such engine, or it is broken.
        """
        backend = NetworkBackend.open(engine_folder(which, beside), device, threads)
        does = backend.card.operations(str(backend.folder / CARD))
        return cls(backend.name, does, backend, allowed=True, only_its_domain=only_its_domain)

    def narrowed(self, supported: tuple[Support, ...]) -> LearnedEngine:
        """Return the engine for some of what it does.

        Raises:
            InputError: One of these is nothing that it does.
        """
        for one in supported:
            if not any(_within(one, other) for other in self.supported):
                raise InputError(
                    f"the engine {self.card.name!r} does not {one}: its card says that it does "
                    f"{', '.join(map(str, self.supported))}"
                )
        return replace(self, supported=supported)


def _is_of_world(frame: Frame) -> bool:
    """Return whether a frame says that it is one of the built-in world."""
    from roadworthy.world.track import HELD_OUT_TRACK_NAMES, TRACK_NAMES

    return frame.metadata.get("track") in (*TRACK_NAMES, *HELD_OUT_TRACK_NAMES)


def _within(one: Support, other: Support) -> bool:
    """Return whether all that one support covers is covered by another."""
    if one.operation != other.operation or not other.element.covers(one.element):
        return False
    if other.by is not None and (one.by is None or not other.by.covers(one.by)):
        return False
    return other.relation in (None, one.relation) and other.reference in (None, one.reference)


def shipped_folder() -> Path:
    """Return the folder in which the engines that come with Roadworthy lie, each in its own."""
    return Path(__file__).parent / "engines"


def shipped_names() -> tuple[str, ...]:
    """Return the names of the engines that come with this installation."""
    return tuple(sorted(path.parent.name for path in shipped_folder().glob(f"*/{CARD}")))


def shipped_engines() -> tuple[LearnedEngine, ...]:
    """Open all engines that come with this installation, for frames of the built-in world.

    Raises:
        InputError: One is broken.
    """
    folders = (shipped_folder() / name for name in shipped_names())
    return tuple(LearnedEngine.open(folder, only_its_domain=True) for folder in folders)


def nearer_engines() -> tuple[LearnedEngine, ...]:
    """Open those of them that were measured to come nearer to the truth than what is built in.

    Raises:
        InputError: There is none, or one is broken.
    """
    if not (every := shipped_engines()):
        raise InputError("this installation has no learned engines: give an engines file")
    found = tuple(one for one in every if one.card.is_nearer)
    if not found:
        raise InputError(
            "none of the learned engines that come with this installation was measured to be nearer to the "
            "truth than what is built in: name those that you want in an engines file"
        )
    return found


def engine_folder(which: str | Path, beside: Path | None = None) -> Path:
    """Return the folder of an engine that is named by its folder, or by its name if it is shipped.

    Args:
        which: The folder or the name.
        beside: What the folder is relative to; the current folder when left out.

    Raises:
        InputError: There is neither.
    """
    folder = (beside or Path()) / which
    if is_folder(folder):
        return folder
    if str(which) in shipped_names():
        return shipped_folder() / which
    known = shipped_names()
    told = suggest(str(which), known) if known else "this installation comes with none"
    raise InputError(f"there is no folder {folder} and no learned engine {str(which)!r}: {told}")


def engine_reference(which: str | Path, file: Path) -> str:
    """Return how a file names an engine: by a folder relative to it, or by the name of a shipped one."""
    folder = engine_folder(which).resolve()
    if folder.parent == shipped_folder().resolve():
        return folder.name
    try:
        return Path(os.path.relpath(folder, file.parent.resolve())).as_posix()
    except ValueError:  # on another drive
        return str(folder)


def tried(
    engine: LearnedEngine, operations: Mapping[str, Operation], frames: Sequence[Frame], seed: int
) -> dict[str, Any]:
    """Return how long an engine takes, which frames do not qualify, and which classes it never saw.

    Args:
        engine: The engine.
        operations: What it is asked for, by the words for it.
        frames: What it changes.
        seed: Of all random numbers.
    """
    rows = []
    for words, operation in operations.items():
        change = engine.transform(operation)
        reasons: Counter[str] = Counter()
        spent: list[float] = []
        for frame in frames:
            start = time.perf_counter()
            try:
                change(frame, rng_for(seed, frame.id), measure=False)
                spent.append(time.perf_counter() - start)
            except (NotApplicable, EngineError) as error:
                reasons[error.reason] += 1
        seconds = median(spent) if spent else None
        rows.append({"operation": words, "changed": len(spent), "seconds": seconds, "reasons": dict(reasons)})
    unseen: Counter[str] = Counter()
    if engine.card.kind == "synthesis" and isinstance(engine.backend, NetworkBackend):
        for frame in frames:
            if frame.labels is not None:
                unseen.update(engine.backend.unseen(frame.labels))
    return {"operations": rows, "unseen": dict(unseen)}
