"""Who says what a frame shows: sources by name, asked in an order, and where each answer came from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import is_folder, naming, sha256_of
from roadworthy.cases import InverseDepth
from roadworthy.errors import FrameError, InputError
from roadworthy.frames import Boxes, Frame, LabelMap
from roadworthy.labelling.cache import Arrays, cached
from roadworthy.labelling.folder import LabelFolder
from roadworthy.labelling.geometry import CAMERA_HEIGHT, boxes_of, focal_of, instances_of, metric_depth
from roadworthy.labelling.street import StreetNetwork
from roadworthy.models import Network, SystemUnderTest, history_of, load_model
from roadworthy.models.description import sections
from roadworthy.models.load import is_description, short_name
from roadworthy.ontology import ontology
from roadworthy.places import is_address, local

What = Literal["labels", "depth", "boxes"]
_ESTIMATED = " (estimated)"  # what stands behind who said something that is not known for sure
PROVENANCE = ("labels_from", "depth_from", "boxes_from", "realism")
"""The keys in the metadata of a frame that say where labels, depth and boxes came from, if not its own, and
that a change had to do without them."""

_NOUNS = {"labels": "a label map", "depth": "depth", "boxes": "boxes"}


@dataclass(frozen=True)
class Opinion:
    """What a source says about one frame; None is nothing.

    Attributes:
        labels: The label map.
        instances: The single things, where they were told apart.
        inverse: Relative inverse depth.
        depth: Metres.
        boxes: The boxes.
    """

    labels: LabelMap | None = None
    instances: NDArray[Any] | None = None
    inverse: NDArray[np.float32] | None = None
    depth: NDArray[np.float32] | None = None
    boxes: Boxes | None = None


@dataclass(frozen=True)
class LabelSource(ABC):
    """Something that knows, or estimates, what frames show.

    Attributes:
        name: What it is called in rows and on pictures.
        told: What it is called in a sentence.
        estimates: Whether what it says is estimated.
    """

    name: str
    told: str
    estimates: bool

    @property
    @abstractmethod
    def identity(self) -> str:
        """What it is, by content."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What its user should know, a sentence each."""
        return ()

    @abstractmethod
    def opinions(self, frames: Sequence[Frame]) -> list[Opinion]:
        """Return what it says about each frame."""


@dataclass(frozen=True)
class OwnLabels(LabelSource):
    """What the data itself has."""

    identity: ClassVar[str] = "own"

    def opinions(self, frames: Sequence[Frame]) -> list[Opinion]:
        """Return what the frames have."""
        return [Opinion(one.labels, one.instances, None, one.depth, one.boxes) for one in frames]


@dataclass(frozen=True)
class Street(LabelSource):
    """The street network that ships."""

    network: StreetNetwork = field(default_factory=StreetNetwork)

    @property
    def identity(self) -> str:
        """The network's file and how it is used."""
        return f"street {self.network.identity}"

    def opinions(self, frames: Sequence[Frame]) -> list[Opinion]:
        """Return labels and relative depth, from the cache where they are known."""
        return _cached(self.identity, frames, self._ask)

    def _ask(self, frames: Sequence[Frame]) -> list[Opinion]:
        said = self.network.look([one.image for one in frames])
        return [Opinion(labels=labels, inverse=inverse) for labels, inverse in said]


@dataclass(frozen=True)
class MapFolder(LabelSource):
    """A folder of maps, named as the frames are.

    Attributes:
        maps: The folder.
    """

    maps: LabelFolder

    @property
    def identity(self) -> str:
        """All files of the folder."""
        return f"folder {self.maps.identity}"

    @property
    def notes(self) -> tuple[str, ...]:
        """Which of its classes are unknown."""
        return self.maps.notes

    def opinions(self, frames: Sequence[Frame]) -> list[Opinion]:
        """Return what lies there for each frame."""
        maps = self.maps
        return [Opinion(maps.labels(one), maps.instances(one), None, maps.depth(one)) for one in frames]


@dataclass(frozen=True)
class OtherNetwork(LabelSource):
    """A network that our adapters can open: a segmenter, a detector or one for depth.

    Attributes:
        system: The network.
    """

    system: SystemUnderTest = field(compare=False)

    @cached_property
    def identity(self) -> str:
        """The network's files and its description."""
        files = " ".join(sha256_of(Path(one)) for one in getattr(self.system, "files", ()))
        spec = sections(self.system.spec) if isinstance(self.system, Network) else {}
        return f"model {self.name} {files} {spec}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What is noted of the network."""
        return tuple(getattr(self.system, "notes", ()))

    def opinions(self, frames: Sequence[Frame]) -> list[Opinion]:
        """Return what it answers, from the cache where that can be known by the image and the files."""
        if not getattr(self.system, "files", ()) or history_of(self.system):
            return self._ask(frames)
        return _cached(self.identity, frames, self._ask)

    def _ask(self, frames: Sequence[Frame]) -> list[Opinion]:
        found = []
        for frame, said in zip(frames, self.system.predict(frames), strict=True):
            if isinstance(said, LabelMap):
                found.append(Opinion(labels=said))
            elif isinstance(said, Boxes):
                found.append(Opinion(boxes=said))
            elif isinstance(said, InverseDepth):
                found.append(Opinion(depth=said.depth) if said.metric else Opinion(inverse=said.values))
            else:
                raise InputError(
                    f"{self.name} must answer frame {frame.id!r} with a label map, boxes or depth, got "
                    f"{type(said).__name__}"
                )
        return found


OWN = OwnLabels("own", "own", False)
STREET_SOURCE = Street("street", "street (shipped network)", True)
TASKS = {"labels": ("segmentation",), "boxes": ("detection", "segmentation"), "depth": ("depth",)}
"""What networks must be for, to say each of them."""


def _cached(
    identity: str, frames: Sequence[Frame], ask: Callable[[Sequence[Frame]], list[Opinion]]
) -> list[Opinion]:
    known = cached(identity, frames, lambda new: [_packed(one) for one in ask(new)])
    return [_unpacked(one) for one in known]


def _packed(said: Opinion) -> Arrays:
    """Return an opinion as arrays; half precision is more than any network knows of depth."""
    arrays: dict[str, NDArray[Any]] = {}
    if said.labels is not None:
        arrays |= {"ids": said.labels.ids, "classes": np.array(said.labels.classes)}
    if said.inverse is not None:
        arrays["inverse"] = said.inverse.astype(np.float16)
    if said.depth is not None:
        arrays["depth"] = said.depth.astype(np.float16)
    if said.boxes is not None:
        pairs = zip(said.boxes.classes, said.boxes.attributes, strict=True)
        words = [ontology().word_for(*pair) for pair in pairs]
        arrays |= {"xyxy": said.boxes.xyxy, "words": np.array(words, "U64")}
        if said.boxes.scores is not None:
            arrays["scores"] = said.boxes.scores
    return arrays


def _unpacked(arrays: Arrays) -> Opinion:
    numbers = {name: arrays[name].astype(np.float32) for name in ("inverse", "depth") if name in arrays}
    labels = LabelMap(arrays["ids"], tuple(arrays["classes"].tolist())) if "ids" in arrays else None
    boxes = None
    if "xyxy" in arrays:
        boxes = Boxes(arrays["xyxy"], arrays["words"].tolist(), arrays.get("scores"))
    return Opinion(labels=labels, boxes=boxes, **numbers)


def sources_named(what: What, text: str, folder: Path = Path()) -> tuple[LabelSource, ...]:
    """Return the sources that text names, in their order.

    Args:
        what: What they shall say.
        text: Names joined by commas: own, street, a folder, folder:PATH, with its class list after an @,
            or a model as `load_model` takes it; none for no source.
        folder: What paths count from.

    Raises:
        InputError: One cannot be opened, or says nothing of the kind.

    Example:
        >>> [one.name for one in sources_named("labels", "own,street")]
        ['own', 'street']
    """
    names = [name for part in text.split(",") if (name := part.strip()) not in ("", "none")]
    return tuple(_opened(what, name, folder) for name in names)


def _opened(what: What, name: str, folder: Path) -> LabelSource:
    if name in ("own", "street"):
        return OWN if name == "own" else STREET_SOURCE
    path, _, classes = name.removeprefix("folder:").partition("@")
    mapped = name.startswith("folder:")
    place = local(path) if mapped and is_address(path) else folder / Path(path).expanduser()
    if mapped or (is_folder(place) and not is_description(name, folder)):
        maps = LabelFolder.opened(place, classes, "depth" if what == "depth" else "labels")
        label = f"folder:{place.name}"
        return MapFolder(label, f"{label}{maps.made_by}", maps.estimated, maps)
    others = "" if "." in name else " (own, street, none, a folder or a model)"
    with naming(f"{what}={name}{others}"):
        system = load_model(name, folder)
    task = getattr(system, "task", None)
    if task is not None and task not in TASKS[what]:
        expected = " or ".join(TASKS[what])
        raise InputError(f"{what}={name}: expected a network for {expected}, got one for {task}")
    return OtherNetwork(short_name(name), short_name(name), True, system)


_Asking = Callable[[LabelSource], Sequence[Opinion]]  # about all frames


@dataclass(frozen=True)
class Labelling:
    """Who labels frames: for labels, depth and boxes a chain each, of which the first that knows is believed.

    Attributes:
        labels: Asked for the class of each pixel; those after the first fill in what is void.
        depth: Asked for how far away each pixel is; those after the first fill in what is unknown.
        boxes: Asked for boxes.
        camera_height: Metres above the road, by which relative depth becomes metres.
    """

    labels: tuple[LabelSource, ...] = (OWN,)
    depth: tuple[LabelSource, ...] = (OWN,)
    boxes: tuple[LabelSource, ...] = (OWN,)
    camera_height: float = CAMERA_HEIGHT

    @property
    def estimates(self) -> bool:
        """Whether anything that it says may be estimated."""
        return any(one.estimates for one in (*self.labels, *self.depth, *self.boxes))

    @property
    def notes(self) -> tuple[str, ...]:
        """What is noted of the sources, a sentence each with the name of the source."""
        every = (*self.labels, *self.depth, *self.boxes)
        return tuple(dict.fromkeys(f"{one.name}: {note}" for one in every for note in one.notes))

    @property
    def identity(self) -> str:
        """What it is, by content."""
        chains = (f"{what}={[one.identity for one in getattr(self, what)]}" for what in _NOUNS)
        return f"{' '.join(chains)} camera_height={self.camera_height}"

    def __str__(self) -> str:
        chains = ((what, ",".join(one.told for one in getattr(self, what))) for what in _NOUNS)
        return ", ".join(f"{what} by {told or 'none'}" for what, told in chains if told != "own")

    def applied(self, frames: Sequence[Frame]) -> list[Frame]:
        """Return frames with what the chains say; what is asked twice is looked at once.

        Raises:
            InputError: A source cannot say anything about a frame.
        """
        asking: _Asking = cache(lambda source: source.opinions(frames))
        found = []
        for number, frame in enumerate(frames):
            changes: dict[str, Any] = {}
            told: dict[str, str] = {}
            if self.labels != (OWN,):
                changes |= self._labels(asking, number, frame, told)
            if self.depth != (OWN,):
                labels = changes.get("labels", frame.labels)
                changes["depth"] = self._depth(asking, number, frame, labels, told)
            if self.boxes != (OWN,):
                changes["boxes"] = self._boxes(asking, number, told)
            found.append(frame.replace(**changes, metadata={**frame.metadata, **told}))
        return found

    def _labels(self, asking: _Asking, number: int, frame: Frame, told: dict[str, str]) -> dict[str, Any]:
        known: LabelMap | None = None
        instances: NDArray[Any] | None = None
        by: list[str] = []
        for source in self.labels:
            if known is not None and not known.mask("void").any():
                break
            said = asking(source)[number]
            if said.labels is None:
                continue
            _check_size(said.labels.shape, frame, source, "label map")
            if known is None:
                known, instances = said.labels, said.instances
                if source.estimates and instances is None:
                    instances = instances_of(known, said.inverse)
            else:
                known = _filled(known, said.labels)
            by.append(_told(source))
        if by and by != ["own"]:
            told["labels_from"] = ", ".join(by)
        return {"labels": known, "instances": instances}

    def _depth(
        self, asking: _Asking, number: int, frame: Frame, labels: LabelMap | None, told: dict[str, str]
    ) -> NDArray[np.float32] | None:
        known: NDArray[np.float32] | None = None
        by: list[str] = []
        for source in self.depth:
            if known is not None and not np.isnan(known).any():
                break
            said = asking(source)[number]
            depth = said.depth
            if depth is None and said.inverse is not None:
                seen = labels or said.labels or asking(STREET_SOURCE)[number].labels
                assert seen is not None
                focal, height = focal_of(frame)
                height = height or self.camera_height
                depth = metric_depth(said.inverse, seen, focal=focal, camera_height=height)
            if depth is None:
                continue
            _check_size(depth.shape, frame, source, "depth")
            known = depth if known is None else np.where(np.isnan(known), depth, known)
            by.append(_told(source))
        if by and by != ["own"]:
            told["depth_from"] = ", ".join(by)
        return known

    def _boxes(self, asking: _Asking, number: int, told: dict[str, str]) -> Boxes | None:
        for source in self.boxes:
            said = asking(source)[number]
            boxes = said.boxes
            if boxes is None and said.labels is not None and source is not OWN:
                seen = said.instances
                known = instances_of(said.labels, said.inverse) if seen is None else seen
                boxes = boxes_of(known, said.labels)
            if boxes is not None:
                if source is not OWN:
                    told["boxes_from"] = _told(source)
                return boxes
        return None


def estimated_by(known: Mapping[str, object], prefix: str = "") -> str:
    """Return what stands on a picture whose labels, depth or boxes were estimated; empty where none were.

    Args:
        known: The metadata of a frame, or a stored row.
        prefix: What stands before the keys, in a row.

    Example:
        >>> estimated_by({"labels_from": "street (estimated)"})
        'labels are estimated (street)'
        >>> estimated_by({"labels_from": "folder:maps"})
        ''
    """
    found = []
    for key in PROVENANCE:
        said = str(known.get(f"{prefix}{key}") or "")
        if _ESTIMATED in said:
            what = key.removesuffix("_from")
            verb = "is" if what == "depth" else "are"
            found.append(f"{what} {verb} estimated ({said.replace(_ESTIMATED, '')})")
        elif said and key == "realism":
            found.append(said)
    return "; ".join(found)


def is_estimated(frame: Frame, what: str = "labels") -> bool:
    """Return whether labels, depth or boxes of a frame were estimated, wholly or partly.

    Example:
        >>> frame = Frame("a", np.zeros((2, 2, 3), np.uint8), metadata={"labels_from": "folder:maps"})
        >>> is_estimated(frame), is_estimated(frame.replace(metadata={"labels_from": "street (estimated)"}))
        (False, True)
    """
    return _ESTIMATED in str(frame.metadata.get(f"{what}_from"))


def _told(source: LabelSource) -> str:
    return f"{source.name}{_ESTIMATED}" if source.estimates else source.name


def _filled(known: LabelMap, other: LabelMap) -> LabelMap:
    """Return a label map whose void pixels have the class that another gives them."""
    second = other.remapped(classes=known.classes_with(*other.classes))
    return LabelMap(np.where(known.mask("void"), second.ids, known.ids), second.classes)


def _check_size(shape: tuple[int, ...], frame: Frame, source: LabelSource, what: str) -> None:
    if shape != frame.image.shape[:2]:
        raise FrameError(
            f"the {what} of {source.name} for frame {frame.id!r} must have the size of its image, "
            f"{frame.width}x{frame.height}, got {shape[1]}x{shape[0]}"
        )
