"""Label maps: the class of every pixel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from roadworthy._frozen import ReadOnlyArrays, described, read_only
from roadworthy.errors import FrameError, check_choice
from roadworthy.ontology import VOID, normalized, ontology

Color = tuple[int, int, int]
Ids = NDArray[np.uint8 | np.uint16]
_UINT8 = np.dtype(np.uint8)


@dataclass(frozen=True, eq=False)
class LabelMap(ReadOnlyArrays):
    """The class of every pixel. Two label maps are equal when their ids and classes are.

    Attributes:
        ids: Index into `classes` per pixel, uint8 or uint16, height × width; a read-only view, no copy.
        classes: Names of ontology elements, or "void" where nothing is known. The default are the label
            classes of the ontology.

    Example:
        >>> import numpy as np
        >>> labels = LabelMap(np.array([[0, 1], [1, 2]], np.uint8), ("void", "road", "car"))
        >>> labels.classes
        ('void', 'road', 'vehicle')
        >>> labels.present()
        {'void': 1, 'road': 2, 'vehicle': 1}
        >>> labels.mask("dynamic object").tolist()
        [[False, False], [False, True]]
    """

    ids: Ids
    classes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        ids: object = self.ids
        if not isinstance(ids, np.ndarray) or ids.ndim != 2 or ids.dtype not in (np.uint8, np.uint16):
            raise FrameError(
                f"label ids must have shape (height, width) and dtype uint8 or uint16, got {described(ids)}"
            )
        classes = _classes(self.classes)
        if ids.size and (largest := int(ids.max())) >= len(classes):
            row, column = np.unravel_index(int(ids.argmax()), ids.shape)
            raise FrameError(
                f"label id {largest} at row {row}, column {column} has no class: "
                f"ids must be below {len(classes)}, the number of classes"
            )
        object.__setattr__(self, "ids", read_only(ids))
        object.__setattr__(self, "classes", classes)

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        return self.ids.shape[0], self.ids.shape[1]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelMap):
            return NotImplemented
        return self.classes == other.classes and np.array_equal(self.ids, other.ids)

    def __repr__(self) -> str:
        height, width = self.shape
        return f"LabelMap({width}x{height}, {len(self.classes)} classes)"

    def mask(self, *words: str) -> NDArray[np.bool_]:
        """Return which pixels are of any of the classes; a class includes those below it in the ontology.

        Raises:
            OntologyError: A word is unknown.
            FrameError: A word asks for more than a class, such as "truck" where the class is "vehicle".
        """
        asked = {_class(word, exact=True) for word in words}
        wanted = [index for index, name in enumerate(self.classes) if not asked.isdisjoint(_line(name))]
        if len(wanted) == 1:
            return np.asarray(self.ids == wanted[0])
        table = np.zeros(len(self.classes), np.bool_)
        table[wanted] = True
        return np.asarray(table.take(self.ids))

    def classes_with(self, *names: str) -> tuple[str, ...]:
        """Return the classes, and after them those of the names that are not among them."""
        return (*self.classes, *(name for name in dict.fromkeys(names) if name not in self.classes))

    def present(self) -> dict[str, int]:
        """Return the number of pixels of each class that has any."""
        counts = np.bincount(self.ids.ravel(), minlength=len(self.classes))
        present: dict[str, int] = {}
        for name, count in zip(self.classes, counts.tolist(), strict=True):
            if count:
                present[name] = present.get(name, 0) + count
        return present

    def mirrored(self) -> LabelMap:
        """Return the label map with left and right exchanged."""
        return LabelMap(np.ascontiguousarray(self.ids[:, ::-1]), self.classes)

    def remapped(
        self, names: Mapping[str, str | None] | None = None, *, classes: Sequence[str] = ()
    ) -> LabelMap:
        """Return the same pixels under other classes.

        Args:
            names: New class for old ones; None makes void. Classes that are not named stay.
            classes: The classes of the result, in id order; the label classes of the ontology when left
                out. A class that is not among them becomes the nearest one above it that is.

        Raises:
            FrameError: A class has pixels but neither it nor one above it is among the new classes, or a
                name asks for more than a class, as in `mask`.

        Example:
            >>> labels = LabelMap(np.array([[1, 2]], np.uint8), ("void", "pedestrian", "terrain"))
            >>> coarse = labels.remapped({"terrain": None}, classes=("void", "dynamic object"))
            >>> coarse.ids.tolist()
            [[1, 0]]
        """
        given = (names or {}).items()
        changes = {_class(old, exact=True): VOID if new is None else _class(new) for old, new in given}
        target = _classes(classes)
        table = _id_table(len(self.classes), len(target))
        present = self.present()
        for index, name in enumerate(self.classes):
            new = changes.get(name, name)
            found = next((one for one in _line(new) if one in target), None)
            if found is not None:
                table[index] = target.index(found)
            elif name in present:
                raise FrameError(
                    f"class {new!r} has {present[name]} pixels but is not among the new classes "
                    f"{', '.join(target)}: name a class for it, or None for void"
                )
        return LabelMap(table[self.ids], target)

    def to_rgb(self, colors: Mapping[str, Color] | None = None) -> NDArray[np.uint8]:
        """Return the label map as a picture, in the colours of the ontology or in those given.

        Raises:
            FrameError: A class has pixels but no colour.
        """
        known: dict[str, Color] = {VOID: (0, 0, 0)}
        known |= {name: one.color for name, one in ontology().elements.items() if one.color}
        known |= {_class(name): color for name, color in (colors or {}).items()}
        for name in self.present():
            if name not in known:
                raise FrameError(f"class {name!r} has no colour: pass colors={{{name!r}: (r, g, b)}}")
        return np.array([known.get(name, (0, 0, 0)) for name in self.classes], np.uint8)[self.ids]

    @classmethod
    def from_rgb(
        cls,
        image: NDArray[np.uint8],
        colors: Mapping[str, Color] | Mapping[Color, str | None] | None = None,
        *,
        on_unknown: Literal["error", "void"] = "error",
    ) -> LabelMap:
        """Read a label map from a picture in which every class has a colour.

        Args:
            image: RGB, height × width × 3, uint8.
            colors: Colour of each class, or class of each colour (None for void); the colours of the ontology
                when left out. Several colours may mean one class.
            on_unknown: What to do with a colour that has no class.

        Returns:
            A label map with the label classes of the ontology; classes that are not among them come after
            them.

        Raises:
            FrameError: A pixel has a colour without a class and `on_unknown` is "error"; names the first.

        Example:
            >>> picture = np.array([[[128, 64, 128], [0, 0, 142]]], np.uint8)
            >>> LabelMap.from_rgb(picture).present()
            {'road': 1, 'vehicle': 1}
        """
        if not is_rgb(image):
            raise FrameError(
                f"a label picture must have shape (height, width, 3) and dtype uint8, got {described(image)}"
            )
        check_choice("on_unknown", on_unknown, ("error", "void"), FrameError)
        by_color = _classes_by_color(colors)
        classes = tuple(dict.fromkeys((*ontology().label_classes, *by_color.values())))
        # One entry per RGB colour is 16 MB but makes a picture a single look-up; 0 stands for no class.
        table = _id_table(1 << 24, len(classes) + 1)
        for (red, green, blue), name in by_color.items():
            table[red << 16 | green << 8 | blue] = classes.index(name) + 1
        packed = image[..., 0].astype(np.int32)
        packed <<= 8
        packed |= image[..., 1]
        packed <<= 8
        packed |= image[..., 2]
        found: Ids = table[packed]
        unknown = found == 0
        if unknown.any():
            if on_unknown == "error":
                raise FrameError(_unknown_color(image, packed, unknown))
            found[unknown] = 1
        found -= 1
        return cls(found, classes)


def is_rgb(image: object) -> bool:
    """Return whether something is an image: an array (height, width, 3) of `uint8`."""
    return isinstance(image, np.ndarray) and image.shape[2:] == (3,) and image.dtype == _UINT8


def _classes(words: Sequence[str]) -> tuple[str, ...]:
    if isinstance(words, str):
        raise FrameError(f"classes must be one name per label id, got the single word {words!r}")
    known = ontology().label_classes
    # The frames of a data set all have the same classes, mostly these.
    return known if not words or words == known else tuple(_class(word) for word in words)


def _class(word: str, *, exact: bool = False) -> str:
    if not isinstance(word, str):
        raise FrameError(f"a class must be a name, got {word!r}")
    if normalized(word) == VOID:
        return VOID
    element, properties = ontology().resolve_with_properties(word)
    if exact and properties:
        raise FrameError(f"a label map has no properties, so ask for {element.name!r} instead of {word!r}")
    return element.name


def _id_table(length: int, ids: int) -> Ids:
    # Zeros that are never touched cost no memory, which makes a table of all colours cheap.
    return np.zeros(length, np.uint8) if ids <= 256 else np.zeros(length, np.uint16)


@cache
def _line(name: str) -> tuple[str, ...]:
    """Return a class and those above it, nearest first."""
    return (name,) if name == VOID else (name, *ontology().ancestors(name))


def _classes_by_color(colors: Mapping[str, Color] | Mapping[Color, str | None] | None) -> dict[Color, str]:
    if colors is None:
        palette = ontology().palette.tolist()
        return {(r, g, b): name for (r, g, b), name in zip(palette, ontology().label_classes, strict=True)}
    by_color: dict[Color, str] = {}
    for key, value in colors.items():
        color, name = (value, key) if isinstance(key, str) else (key, value)
        if not (
            isinstance(color, tuple | list)
            and len(color) == 3
            and all(isinstance(channel, int | np.integer) and 0 <= channel <= 255 for channel in color)
        ):
            raise FrameError(f"a colour must be three integers from 0 to 255, got {color!r}")
        resolved = VOID if name is None else _class(str(name))
        channels = (int(color[0]), int(color[1]), int(color[2]))
        if by_color.setdefault(channels, resolved) != resolved:
            raise FrameError(f"colour {channels} stands for both {by_color[channels]!r} and {resolved!r}")
    return by_color


def _unknown_color(image: NDArray[np.uint8], packed: NDArray[np.int32], unknown: NDArray[np.bool_]) -> str:
    row, column = np.unravel_index(int(unknown.argmax()), unknown.shape)
    color = tuple(image[row, column].tolist())
    others = len(np.unique(packed[unknown])) - 1
    more = f" (and {others} more unknown colours)" if others else ""
    return (
        f"colour {color} at row {row}, column {column} stands for no class{more}: "
        "add it to colors, or pass on_unknown='void'"
    )
