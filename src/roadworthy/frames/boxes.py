"""The checks behind the constructor of `Boxes`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from roadworthy._frozen import FrozenDict, ReadOnlyArrays
from roadworthy.errors import FrameError, OntologyError, told_as
from roadworthy.frames.formats import files, maite
from roadworthy.ontology import ontology

Number = TypeVar("Number", bound=np.generic)


def array_of(name: str, value: ArrayLike, dtype: type[Number]) -> NDArray[Number]:
    """Return a copy of what was given as an array of numbers."""
    try:
        given = np.asarray(value)
        # An empty list is an array of floats, whatever it is a list of.
        wanted = "biu" if dtype is np.int64 and given.size else "biuf"
        if given.dtype.kind not in wanted:
            raise TypeError(f"got dtype {given.dtype}")
        if given.dtype == dtype:
            return given.copy()
        with np.errstate(over="ignore"):
            return np.array(given, dtype)
    except (TypeError, ValueError) as error:
        raise FrameError(f"{name} must be numbers of {np.dtype(dtype)}: {error}") from error


def checked_corners(xyxy: ArrayLike) -> NDArray[np.float32]:
    """Return a copy of the corners, shape (n, 4)."""
    corners = array_of("boxes", xyxy, np.float32)
    if corners.shape == (0,):
        return corners.reshape(0, 4)
    if corners.ndim != 2 or corners.shape[1] != 4:
        raise FrameError(f"boxes must have shape (n, 4), got {corners.shape}")
    broken = {
        "a coordinate that is not finite": np.any(~np.isfinite(corners), axis=1),
        "x2 < x1": corners[:, 2] < corners[:, 0],
        "y2 < y1": corners[:, 3] < corners[:, 1],
    }
    for complaint, wrong in broken.items():
        if wrong.any():
            index = int(wrong.argmax())
            numbers = ", ".join(f"{value:g}" for value in corners[index])
            raise FrameError(f"box {index} has {complaint}: ({numbers})")
    return corners


def checked_column(
    length: int, name: str, value: ArrayLike | None, dtype: type[Number]
) -> NDArray[Number] | None:
    """Return a copy of one value per box, or None."""
    if value is None:
        return None
    column = array_of(name, value, dtype)
    if column.shape != (length,):
        raise FrameError(f"{name} must have shape ({length},) for {length} boxes, got {column.shape}")
    if np.issubdtype(column.dtype, np.floating):
        fitting = (column >= np.float32(0)) & (column <= np.float32(1))
        if name != "scores":
            fitting |= np.isnan(column)
        if not fitting.all():
            index = int(np.flatnonzero(~fitting)[0])
            raise FrameError(f"{name} must be from 0 to 1, got {column[index]:g} for box {index}")
    return column


def unknown_to_none(column: NDArray[np.float32] | None) -> NDArray[np.float32] | None:
    """Turn a column in which nothing is known into None, so that there is one way to say it."""
    return None if column is None or np.isnan(column).all() else column


def checked_named(
    length: int, classes: Iterable[str], attributes: Iterable[Mapping[str, str]]
) -> tuple[tuple[str, ...], tuple[Mapping[str, str], ...]]:
    """Return the element names of the classes, and the attributes with those that the class words imply."""
    if isinstance(classes, str):
        raise FrameError(f"classes must be one name per box, got the single word {classes!r}")
    words = tuple(classes)
    if len(words) != length:
        raise FrameError(f"classes must name {length} boxes, got {len(words)}")
    given = tuple(attributes) or (FrozenDict[str, str](),) * length
    if len(given) != length:
        raise FrameError(f"attributes must describe {length} boxes, got {len(given)}")
    names, facts = [], []
    for index, (word, described) in enumerate(zip(words, given, strict=True)):
        if not isinstance(word, str):
            raise FrameError(f"the class of box {index} must be a name, got {word!r}")
        if not isinstance(described, Mapping):
            raise FrameError(f"attributes of box {index} must be a mapping, got {described!r}")
        for key, value in described.items():
            if not isinstance(key, str) or not isinstance(value, str):
                raise FrameError(f"attributes of box {index} must map words to words, got {key!r}: {value!r}")
        with told_as(OntologyError, f"box {index}", OntologyError):
            element, implied = ontology().resolve_with_properties(word)
        for key, value in implied.items():
            if described.get(key, value) != value:
                must = f"its {key} must be {value!r}, got {described[key]!r}"
                raise FrameError(f"box {index} is a {word!r}, so {must}")
        names.append(element.name)
        facts.append(FrozenDict({**implied, **described}))
    return tuple(names), tuple(facts)


def same_values(one: NDArray[Any] | None, other: NDArray[Any] | None) -> bool:
    """Return whether two columns say the same, unknown values included."""
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


Index = int | slice | Sequence[int] | NDArray[np.bool_] | NDArray[np.integer]


@dataclass(frozen=True, eq=False, init=False)
class Boxes(ReadOnlyArrays):
    """Bounding boxes of one image. Two are equal when all values are; unknown values equal each other.

    What is given is copied, checked and made read-only.

    Attributes:
        xyxy: Left, top, right and bottom edge in pixels, y down, float32, shape (n, 4). Pixel i covers i to
            i + 1, so a box around the whole image is (0, 0, width, height).
        classes: Names of ontology elements. Any word of the ontology is accepted: "truck" becomes "vehicle"
            with the attribute type=truck.
        scores: Confidence from 0 to 1, float32; None for ground truth.
        track_ids: Identity of the thing across frames and in the instance map, int64; None when unknown.
        occlusion: Share of the thing hidden by others, 0 to 1, float32, NaN where unknown; None when
            unknown for all.
        truncation: Share of the thing outside the image, like occlusion.
        attributes: Further facts per box, such as {"type": "truck", "color": "red"}.

    Example:
        >>> boxes = Boxes([[10, 20, 30, 60], [0, 0, 8, 8]], ["truck", "pedestrian"])
        >>> boxes.classes, dict(boxes.attributes[0])
        (('vehicle', 'pedestrian'), {'type': 'truck'})
        >>> len(boxes.select("dynamic object")), len(boxes.select("truck"))
        (2, 1)
        >>> Boxes([1, 2, 3, 4], ["car"])
        Traceback (most recent call last):
        ...
        roadworthy.errors.FrameError: boxes must have shape (n, 4), got (4,)
    """

    xyxy: NDArray[np.float32]
    classes: tuple[str, ...]
    scores: NDArray[np.float32] | None = None
    track_ids: NDArray[np.int64] | None = None
    occlusion: NDArray[np.float32] | None = None
    truncation: NDArray[np.float32] | None = None
    attributes: tuple[Mapping[str, str], ...] = ()

    def __init__(
        self,
        xyxy: ArrayLike,
        classes: Iterable[str],
        scores: ArrayLike | None = None,
        track_ids: ArrayLike | None = None,
        occlusion: ArrayLike | None = None,
        truncation: ArrayLike | None = None,
        attributes: Iterable[Mapping[str, str]] = (),
    ) -> None:
        """Check and take the boxes."""
        corners = checked_corners(xyxy)
        names, facts = checked_named(len(corners), classes, attributes)
        values: dict[str, object] = {
            "xyxy": corners,
            "classes": names,
            "scores": checked_column(len(corners), "scores", scores, np.float32),
            "track_ids": checked_column(len(corners), "track_ids", track_ids, np.int64),
            "occlusion": unknown_to_none(checked_column(len(corners), "occlusion", occlusion, np.float32)),
            "truncation": unknown_to_none(checked_column(len(corners), "truncation", truncation, np.float32)),
            "attributes": facts,
        }
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            object.__setattr__(self, name, value)

    @classmethod
    def empty(cls) -> Boxes:
        """Return no boxes.

        Example:
            >>> len(Boxes.empty())
            0
        """
        return cls(np.zeros((0, 4), np.float32), ())

    @classmethod
    def concatenate(cls, several: Iterable[Boxes]) -> Boxes:
        """Return all boxes, one after another.

        Raises:
            FrameError: Some have scores or track ids and others have not.

        Example:
            >>> pair = Boxes([[0, 0, 2, 2], [1, 1, 3, 3]], ["car", "tree"])
            >>> Boxes.concatenate([pair[1], pair[0]]).classes
            ('tree', 'vehicle')
        """
        parts = [part for part in several if len(part)]
        if not parts:
            return cls.empty()

        def joined(name: str) -> NDArray[Any] | None:
            columns = [getattr(part, name) for part in parts]
            known = [column for column in columns if column is not None]
            if not known:
                return None
            if len(known) < len(columns):
                if name in ("scores", "track_ids"):
                    raise FrameError(f"cannot concatenate boxes with {name} and boxes without {name}")
                columns = [
                    np.full(len(part), np.nan, np.float32) if column is None else column
                    for part, column in zip(parts, columns, strict=True)
                ]
            return np.concatenate(columns)

        classes = [name for part in parts for name in part.classes]
        facts = [one for part in parts for one in part.attributes]
        columns = {name: joined(name) for name in _COLUMNS}
        return cls(np.concatenate([part.xyxy for part in parts]), classes, **columns, attributes=facts)

    def __len__(self) -> int:
        return len(self.classes)

    def __getitem__(self, index: Index) -> Boxes:
        return self._taken(np.atleast_1d(np.arange(len(self))[index]))

    def __iter__(self) -> Iterator[Boxes]:
        return (self[index] for index in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Boxes):
            return NotImplemented
        if not len(self) and not len(other):
            return True
        if (self.classes, self.attributes) != (other.classes, other.attributes):
            return False
        columns = ("xyxy", *_COLUMNS)
        return all(same_values(getattr(self, name), getattr(other, name)) for name in columns)

    def __repr__(self) -> str:
        counts = {name: self.classes.count(name) for name in dict.fromkeys(self.classes)}
        parts = [f"{count} {name}" for name, count in counts.items()]
        return f"Boxes({', '.join(parts) if parts else 'none'}{'' if self.scores is None else ', scored'})"

    def _taken(self, chosen: NDArray[np.integer], xyxy: NDArray[np.float32] | None = None) -> Boxes:
        """Return the chosen boxes, at other corners where given, without checking them again."""
        taken = object.__new__(Boxes)
        values: dict[str, object] = {
            "xyxy": self.xyxy[chosen] if xyxy is None else xyxy,
            "classes": tuple(self.classes[index] for index in chosen),
            "attributes": tuple(self.attributes[index] for index in chosen),
        }
        for name in _COLUMNS:
            column = getattr(self, name)
            part = None if column is None else column[chosen]
            values[name] = unknown_to_none(part) if name in ("occlusion", "truncation") else part
        taken.__setstate__(values)
        return taken

    def replace(self, **changes: Any) -> Boxes:
        """Return the boxes with some attributes changed.

        Example:
            >>> Boxes([[1, 2, 3, 4]], ["car"]).replace(scores=[0.5]).scores.tolist()
            [0.5]
        """
        return dataclasses.replace(self, **changes)

    @property
    def area(self) -> NDArray[np.float64]:
        """The area of each box in square pixels."""
        corners = self.xyxy.astype(np.float64)
        return (corners[:, 2] - corners[:, 0]) * (corners[:, 3] - corners[:, 1])

    def iou(self, other: Boxes) -> NDArray[np.float64]:
        """Return intersection over union of every box with every box of the other, shape (n, m).

        Two boxes without area have an IoU of 0.

        Example:
            >>> square = Boxes([[0, 0, 2, 2]], ["car"])
            >>> square.iou(Boxes([[1, 0, 3, 2], [0, 0, 2, 2]], ["car", "car"])).round(3).tolist()
            [[0.333, 1.0]]
        """
        mine, others = self.xyxy.astype(np.float64), other.xyxy.astype(np.float64)
        low = np.maximum(mine[:, None, :2], others[None, :, :2])
        shared = np.clip(np.minimum(mine[:, None, 2:], others[None, :, 2:]) - low, 0, None).prod(axis=2)
        union = self.area[:, None] + other.area[None, :] - shared
        ratio: NDArray[np.float64] = np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)
        return ratio

    def select(self, *words: str) -> Boxes:
        """Return the boxes of any of the classes; a class includes those below it, "truck" only trucks.

        Raises:
            OntologyError: A word is unknown.
        """
        chosen = np.zeros(len(self), np.bool_)
        for word in words:
            element, wanted = ontology().resolve_with_properties(word)
            inside = {name: ontology().is_a(name, element.name) for name in set(self.classes)}
            for index, (name, facts) in enumerate(zip(self.classes, self.attributes, strict=True)):
                chosen[index] |= inside[name] and wanted.items() <= facts.items()
        return self[chosen]

    def clipped(self, width: float, height: float) -> Boxes:
        """Return the parts of the boxes inside an image; what lies wholly outside is left out.

        Example:
            >>> Boxes([[-5, 2, 5, 8], [20, 0, 30, 5]], ["car", "car"]).clipped(10, 10).xyxy.tolist()
            [[0.0, 2.0, 5.0, 8.0]]
        """
        left, top, right, bottom = self.xyxy.T
        inside = np.flatnonzero((right > 0) & (left < width) & (bottom > 0) & (top < height))
        limits = np.array([width, height, width, height], np.float32)
        return self._taken(inside, np.clip(self.xyxy[inside], np.float32(0), limits))

    def mirrored(self, width: float) -> Boxes:
        """Return the boxes in the mirrored image of this width.

        Example:
            >>> Boxes([[1, 2, 3, 4]], ["car"]).mirrored(10).xyxy.tolist()
            [[7.0, 2.0, 9.0, 4.0]]
        """
        left, top, right, bottom = self.xyxy.astype(np.float64).T
        turned = np.stack([width - right, top, width - left, bottom], axis=1).astype(np.float32)
        return self._taken(np.arange(len(self)), turned)

    from_kitti = staticmethod(files.read_kitti)
    """Read boxes from a label file of KITTI."""
    to_kitti = files.write_kitti
    """Write them as KITTI does."""
    from_coco = staticmethod(files.read_coco)
    """Read boxes from a file of COCO."""
    to_coco = files.write_coco
    """Write them as COCO does."""
    from_yolo = staticmethod(files.read_yolo)
    """Read boxes from a label file of YOLO."""
    to_yolo = files.write_yolo
    """Write them as YOLO does."""
    from_maite = staticmethod(maite.read)
    """Take boxes from MAITE."""
    to_maite = maite.write
    """Give them as MAITE has them."""


_COLUMNS = ("scores", "track_ids", "occlusion", "truncation")
