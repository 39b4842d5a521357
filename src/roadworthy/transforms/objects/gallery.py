"""The files of a gallery: a picture of each cut-out, transparent around it, and one of its parts."""

from __future__ import annotations

import dataclasses
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy._files import is_file, naming, read_json, stamp_of
from roadworthy._frozen import FrozenDict
from roadworthy.errors import FrameError, InputError, check_number
from roadworthy.images import read_pixels
from roadworthy.ontology import ontology
from roadworthy.transforms.wording import described

Rgba = NDArray[np.uint8]
Ids = NDArray[np.uint8]


class BrokenCutOut(FrameError):  # noqa: N818 - it says what is broken
    """A file of a gallery is missing or cannot be used; the message names it."""


def read_rgba(path: Path) -> Rgba:
    """Return the pixels of a cut-out: RGBA, height × width × 4, uint8.

    Raises:
        BrokenCutOut: The file is missing, corrupt, or shows nothing.
    """
    image = _decoded(path, "the cut-out", (4,))
    if not (image[..., 3] > 127).any():
        raise BrokenCutOut(f"the cut-out {path} is transparent everywhere: it shows nothing")
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_BGRA2RGBA), np.uint8)


def read_ids(path: Path) -> Ids:
    """Return the numbers of the parts of a cut-out, height × width, uint8.

    Raises:
        BrokenCutOut: The file is missing or corrupt.
    """
    return _decoded(path, "the parts", ())


def write_rgba(path: Path, rgba: Rgba) -> None:
    """Write the pixels of a cut-out."""
    # Colours that nobody sees would only make the file larger.
    write_ids(path, np.asarray(cv2.cvtColor(visible(rgba), cv2.COLOR_RGBA2BGRA), np.uint8))


def write_ids(path: Path, ids: Ids) -> None:
    """Write pixels, or the numbers of the parts of a cut-out; as WebP, only alpha stays as it is."""
    how = [cv2.IMWRITE_PNG_COMPRESSION, 9]
    if path.suffix == _LOSSY:
        how = [cv2.IMWRITE_WEBP_QUALITY, _QUALITY]
    written, data = cv2.imencode(path.suffix, ids, how)
    assert written
    path.write_bytes(data.tobytes())


def visible(rgba: Rgba) -> Rgba:
    """Return pixels without the colours of those that are transparent."""
    return np.where(rgba[..., 3:] > 0, rgba, 0).astype(np.uint8)


def _decoded(path: Path, what: str, channels: tuple[int, ...]) -> NDArray[np.uint8]:
    try:
        image = read_pixels(path, "cut-out")
    except FrameError as error:
        raise BrokenCutOut(f"{error}: make the gallery again") from error
    if image.shape[2:] != channels or image.dtype != np.uint8:
        wanted = "four channels" if channels else "one channel"
        shape = " × ".join(map(str, image.shape))
        raise BrokenCutOut(f"{what} {path} must have {wanted} of 8 bits, got {shape} {image.dtype}")
    return np.asarray(image, np.uint8)


Color = tuple[float, float, float]
Facing = Literal["", "away", "toward", "side"]

INDEX = "gallery.json"
_LOSSY, _QUALITY = ".webp", 85
SHIPPED, OWN = "shipped", "own"
DRAWN, SOLID = "world", "solid model"  # what shipped cut-outs come from, those for real frames the latter
BELIEVED = ("pedestrian",)  # whose solid models stand on real frames unasked: the others look like toys there
_FORMAT = 1
_KEPT = 65536  # pixels of a scaled cut-out, at most, that is kept: 128 of them take 32 MiB
_FOOT = 0.05  # of a thing's height: what stands on the ground


@dataclass(frozen=True, eq=False)
class CutOut:
    """One view of one thing, cut out of a picture.

    Attributes:
        name: Its name in the gallery.
        element: The ontology element that it shows.
        properties: Its properties, such as {"type": "van", "color": "red"}.
        height: Metres from its foot to its top.
        ambience: Mean RGB of the ground around its foot in the picture that it comes from, from 0 to 255: how
            much light there was, and of which colour.
        thing: Which thing it shows; several views of one thing have the same.
        facing: Whether we see it from behind ("away"), from the front ("toward") or from the "side"; empty
            where that is not known or does not matter.
        bearing: In which direction it was seen, in degrees to the right of straight ahead.
        source: Where it comes from.
        pose: Of people who were made for one: "walking" or "standing"; from the side they face right.
        pixels: RGBA, height × width × 4, uint8; colours are not multiplied by alpha.
        parts: Index into `part_names` per pixel, where it shows more than one class, such as sign and pole.
        part_names: The classes of the parts.
        folder: Where its files lie, when it was not made here.
    """

    name: str
    element: str
    height: float
    ambience: Color
    properties: Mapping[str, str] = field(default_factory=FrozenDict)
    thing: str = ""
    facing: Facing = ""
    bearing: float = 0.0
    source: str = ""
    pose: str = ""
    pixels: Rgba | None = None
    parts: Ids | None = None
    part_names: tuple[str, ...] = ()
    folder: Path | None = None

    def __post_init__(self) -> None:
        element = ontology().resolve(self.element)
        given = self.properties.items()
        known = {key: ontology().check_property(element.name, key, value) for key, value in given}
        check_number(f"the height of the cut-out {self.name!r}", self.height, above=0, below=math.inf)
        thing = self.thing or self.name
        vars(self).update(element=element.name, properties=FrozenDict(known), thing=thing)

    def facts(self) -> dict[str, object]:
        """Return what is known about it, as what JSON can hold."""
        names = ("name", "element", "properties", "height", "thing", "facing", "source")
        return {name: getattr(self, name) for name in names} | {"properties": dict(self.properties)}

    def tile(self, size: int) -> NDArray[np.uint8]:
        """Return it on grey, as large as fits into a square of so many pixels."""
        height, width = self.shape
        factor = size / max(height, width)
        high, wide = max(1, round(height * factor)), max(1, round(width * factor))
        picture = self.scaled(high, wide).astype(np.float32)
        tile = np.full((size, size, 3), 148.0, np.float32)
        top, left = (size - high) // 2, (size - wide) // 2
        window = tile[top : top + high, left : left + wide]
        window *= 1 - picture[..., 3:] / 255
        window += picture[..., :3]
        return np.asarray(cv2.convertScaleAbs(tile), np.uint8)

    @cached_property
    def rgba(self) -> Rgba:
        """Its pixels, read at the first use: RGBA, height × width × 4, uint8."""
        if self.pixels is not None:
            return self.pixels
        assert self.folder is not None
        lossy = self.folder / f"{self.name}{_LOSSY}"
        return read_rgba(lossy if is_file(lossy) else self.folder / f"{self.name}.png")

    @cached_property
    def part_ids(self) -> Ids | None:
        """Which part each pixel shows, an index into `part_names`; None when it is all of one class."""
        if self.parts is not None or not self.part_names or self.folder is None:
            return self.parts
        path = self.folder / f"{self.name}.parts.png"
        ids = read_ids(path)
        if ids.shape != self.shape or ids.max() >= len(self.part_names):
            raise BrokenCutOut(f"{path} does not fit {self.name}.png: make the gallery again")
        return ids

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width in pixels."""
        return self.rgba.shape[0], self.rgba.shape[1]

    @cached_property
    def foot(self) -> tuple[float, float]:
        """Where it touches the ground: from left to right, as shares of its width."""
        height, width = self.shape
        rows = max(1, round(_FOOT * height))
        columns = np.flatnonzero((self.rgba[height - rows :, :, 3] > 127).any(axis=0))
        return (columns[0] / width, (columns[-1] + 1) / width) if len(columns) else (0.0, 1.0)

    @cached_property
    def highlights(self) -> float:
        """How bright its bright parts are, from 0 to 255."""
        solid = self.rgba[self.rgba[..., 3] > 127]
        return float(np.percentile(solid[:, :3].mean(axis=1), 95))

    @property
    def readable(self) -> bool:
        """Whether it has writing or signals on it, so that it must not be mirrored."""
        signal = self.element in ("traffic sign", "traffic light")
        return signal or self.properties.get("type") in ("school bus", "bus", "taxi")

    def foot_span(self, mirrored: bool) -> tuple[float, float]:
        """Return where it touches the ground, seen as it is or mirrored."""
        left, right = self.foot
        return (1 - right, 1 - left) if mirrored else (left, right)

    def scaled(self, height: int, width: int, mirrored: bool = False) -> Rgba:
        """Return its pixels in another size, with colours multiplied by alpha.

        A small one is kept for the next frame; nobody may write into it.
        """
        make = _kept_scaled if height * width <= _KEPT else _scaled
        return make(self, height, width, mirrored)

    def scaled_parts(self, height: int, width: int, mirrored: bool = False) -> Ids | None:
        """Return its `part_ids` in another size."""
        if self.part_ids is None:
            return None
        ids = cv2.resize(self.part_ids, (width, height), interpolation=cv2.INTER_NEAREST_EXACT)
        return np.asarray(ids[:, ::-1] if mirrored else ids, np.uint8)

    def same_picture(self, other: CutOut) -> bool:
        """Return whether another one shows the very same pixels."""
        return np.array_equal(visible(self.rgba), visible(other.rgba))

    def __repr__(self) -> str:
        facts = " ".join(self.properties.values())
        return f"CutOut({self.name!r}, {self.element}{f' ({facts})' if facts else ''}, {self.height:.2f} m)"


def _shipped(*kinds: str) -> list[CutOut]:
    """Return what ships of some kinds: "data" is drawn, "kinds" are solid children, cones and dogs."""
    folders = (Path(__file__).with_name(f"gallery_{kind}") for kind in kinds)
    return [one for folder in folders for one in _loaded(folder, SHIPPED, SHIPPED)]


class Gallery(Sequence[CutOut]):
    """Cut-outs to choose from.

    Example:
        >>> gallery = Gallery.shipped()
        >>> {one.element for one in gallery.select("red car")}
        {'vehicle'}
        >>> gallery.select("tram")
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: the gallery 'shipped' has no 'tram'; it has ...
    """

    def __init__(self, cut_outs: Iterable[CutOut], name: str = "gallery") -> None:
        """Take cut-outs."""
        self._cut_outs = tuple(cut_outs)
        self.name = name

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Gallery:
        """Read a gallery from its folder; pictures are read when they are used.

        Raises:
            InputError: The folder has no gallery, or one that cannot be used.
        """
        folder = Path(path)
        index = folder / INDEX
        if not is_file(index):
            raise InputError(
                f"there is no gallery in {str(path)!r}, for it holds no {INDEX}: give the folder that "
                f"`roadworthy gallery harvest` wrote, or {SHIPPED!r} for the one that comes with Roadworthy"
            )
        return _loaded(folder.resolve(), stamp_of(sorted(folder.iterdir())), str(path))

    @classmethod
    @cache
    def shipped(cls) -> Gallery:
        """Return the gallery that comes with Roadworthy."""
        return cls(_shipped("data", "kinds"), SHIPPED)

    @classmethod
    @cache
    def shipped_for(cls, frame_is_drawn: bool) -> Gallery:
        """Return what comes with Roadworthy for drawn frames, or for real ones: there, solid models."""
        if frame_is_drawn:
            return cls.shipped()
        solid = _shipped("solid")
        known = {(one.element, one.properties.get("type")) for one in solid}
        others = [one for one in cls.shipped() if (one.element, one.properties.get("type")) not in known]
        return cls([*solid, *others], SHIPPED)

    @classmethod
    @cache
    def posed(cls) -> Gallery:
        """Return the people in poses that come with Roadworthy: solid models."""
        return cls(_shipped("poses", "kinds"), SHIPPED)

    @classmethod
    def opened(cls, reference: str) -> Gallery:
        """Return the gallery that words stand for, joined by commas: "shipped", folders, or data.

        Of data that is named, such as ``camvid:path``, things are cut out. "own" is what comes with
        Roadworthy, too: it stands in where the data of a frame has nothing to cut out.

        Example:
            >>> Gallery.opened("shipped").name
            'shipped'
        """
        names = [name.strip() for name in reference.split(",") if name.strip()]
        if not names:
            raise InputError(f"a gallery must be {OWN!r}, {SHIPPED!r}, a folder or data, got {reference!r}")
        found = [cls._named(name) for name in names]
        return found[0] if len(found) == 1 else _merged(tuple(found))

    @classmethod
    def _named(cls, name: str) -> Gallery:
        if name in (SHIPPED, OWN):
            return cls.shipped()
        if ":" in name and not is_file(Path(name) / INDEX):
            from roadworthy.transforms.objects.harvesting import harvested_from

            return harvested_from(name)
        return cls.load(name)

    @classmethod
    def merged(cls, galleries: Iterable[Gallery]) -> Gallery:
        """Return one gallery with all that several have."""
        several = list(galleries)
        return cls((one for gallery in several for one in gallery), ",".join(one.name for one in several))

    def __len__(self) -> int:
        return len(self._cut_outs)

    def __getitem__(self, index: Any) -> Any:
        return self._cut_outs[index]

    def __iter__(self) -> Iterator[CutOut]:
        return iter(self._cut_outs)

    def __repr__(self) -> str:
        return f"Gallery({self.name!r}, {len(self)} cut-outs)"

    def select(self, element: str, properties: Mapping[str, str] | None = None) -> tuple[CutOut, ...]:
        """Return the cut-outs of an element, or of one below it, that have all these properties.

        Children and people with wheelchairs or prams are among them only where they are asked for.

        Args:
            element: A word, or a few: "vehicle", "truck", "red car".
            properties: Further properties.

        Raises:
            InputError: There are none; says what the gallery has.
        """
        found = self.fitting(element, properties)
        if not found:
            words = " ".join([*(properties or {}).values(), element])
            contents = self.contents() or "nothing"
            raise InputError(f"the gallery {self.name!r} has no {words!r}; it has {contents}")
        return found

    def fitting(self, element: str, properties: Mapping[str, str] | None = None) -> tuple[CutOut, ...]:
        """Return what `select` returns; nothing where there are none."""
        asked = described(element)
        wanted = {**asked.properties, **(properties or {})}
        inside = {name: ontology().is_a(name, asked.element) for name in {one.element for one in self}}
        return tuple(
            one
            for one in self
            if inside[one.element]
            and wanted.items() <= one.properties.items()
            and ("type" in wanted or one.element != "pedestrian" or "type" not in one.properties)
        )

    def grown(self, cut_outs: Iterable[CutOut]) -> Gallery:
        """Return the gallery with more cut-outs, and with all that it had.

        One whose name is in use gets a number after it, for frames of other data may have the same ids. One
        that is there already, the same picture under the same name, is not taken twice.

        Example:
            >>> pedestrians = Gallery.shipped().select("pedestrian")
            >>> len(Gallery(pedestrians[:3]).grown(pedestrians[1:5]))
            5
        """
        taken = {one.name.casefold(): one for one in self}
        new = [named for one in cut_outs if (named := named_apart(one, taken))]
        return Gallery([*self, *new], self.name)

    @classmethod
    def to_grow(cls, folder: Path, *, add: bool = False) -> Gallery:
        """Return what a folder has before cut-outs are put into it: nothing, or a gallery to add to.

        Raises:
            InputError: There is a gallery that is not to be added to, or a cut-out of it is broken.
        """
        if add and (folder / INDEX).is_file():
            earlier = cls.load(folder)
            for one in earlier:
                _ = one.rgba  # a broken one is found before the work and not after it
            return earlier
        if (folder / INDEX).exists():
            raise InputError(
                f"there is a gallery in {str(folder)!r} already: add to it with --add, or choose another"
            )
        return cls([])

    def counts(self) -> dict[str, Counter[str]]:
        """Return how many different things there are of each element, by their properties in words."""
        found: dict[str, Counter[str]] = {}
        for one in {(cut.element, cut.thing): cut for cut in self}.values():
            words = " ".join(reversed([*one.properties.values()]))
            found.setdefault(one.element, Counter())[words] += 1
        return found

    def contents(self) -> str:
        """Return what it has in a line of words, such as "pedestrian 12, vehicle 8 (red car 2, …)"."""
        parts = []
        for element, kinds in self.counts().items():
            named = [f"{words} {count}" if count > 1 else words for words, count in kinds.items() if words]
            detail = f" ({', '.join(named)})" if named else ""
            parts.append(f"{element} {kinds.total()}{detail}")
        return ", ".join(parts)

    def save(self, path: str | PathLike[str], *, lossy: bool = False) -> None:
        """Write it to a folder, whose cut-outs of the same names are replaced.

        Args:
            path: The folder.
            lossy: Whether pictures may change a little, and take a quarter of the room.

        Raises:
            InputError: Two cut-outs have one name, or a file cannot be written.
        """
        folder = Path(path)
        names = Counter(one.name for one in self)
        if twice := [name for name, count in names.items() if count > 1]:
            raise InputError(f"two cut-outs have the name {twice[0]!r}")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for one in self:
                write_rgba(folder / f"{one.name}{_LOSSY if lossy else '.png'}", one.rgba)
                if one.part_ids is not None:
                    write_ids(folder / f"{one.name}.parts.png", one.part_ids)
            # The index comes last, so that it never names a file that is not there.
            new = folder / f".{INDEX}.new"
            new.write_text(_index(self), encoding="utf-8")
            new.replace(folder / INDEX)
        except OSError as error:
            raise InputError(f"cannot write the gallery to {str(path)!r}: {error.strerror}") from error


def named_apart(cut_out: CutOut, taken: dict[str, CutOut]) -> CutOut | None:
    """Return a cut-out under a name that no other has; None where the same picture has its name already.

    Args:
        cut_out: The cut-out.
        taken: The others by their names, without regard to case, because some file systems have none. The
            cut-out joins them.
    """
    number, name = 1, cut_out.name
    while (other := taken.get(name.casefold())) is not None:
        if cut_out.same_picture(other):
            return None
        number += 1
        name = f"{cut_out.name}.{number}"
    if number > 1:
        # It is another thing than the one whose name it had.
        thing = name if cut_out.thing == cut_out.name else cut_out.thing
        cut_out = dataclasses.replace(cut_out, name=name, thing=thing)
    taken[name.casefold()] = cut_out
    return cut_out


def _scaled(cut_out: CutOut, height: int, width: int, mirrored: bool) -> Rgba:
    rgba = cut_out.rgba.astype(np.float32)
    rgba[..., :3] *= rgba[..., 3:] / 255
    smaller = height < rgba.shape[0]
    method = cv2.INTER_AREA if smaller else cv2.INTER_LINEAR
    resized = cv2.resize(rgba, (width, height), interpolation=method)
    scaled = np.rint(resized[:, ::-1] if mirrored else resized).astype(np.uint8)
    scaled.setflags(write=False)
    return scaled


_kept_scaled = lru_cache(maxsize=128)(_scaled)
# What is made of a gallery is kept as long as the gallery, so the same word must give the same one.
_merged = lru_cache(maxsize=16)(Gallery.merged)


@lru_cache(maxsize=16)
def _loaded(folder: Path, stamp: str, name: str) -> Gallery:  # noqa: ARG001 - a changed one is another
    """Read a gallery."""
    index = folder / INDEX
    content = _checked(read_json(index), index)
    with naming(index):
        cut_outs = [CutOut(folder=folder, **fields) for fields in content]
    return Gallery(cut_outs, name)


def _checked(document: object, index: Path) -> list[dict[str, Any]]:
    from pydantic import BaseModel, ConfigDict, Field

    from roadworthy._yaml import check_form

    level = Annotated[float, Field(ge=0, le=255)]

    class Row(BaseModel):
        model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
        name: Annotated[str, Field(pattern=r"^[\w. -]+$")]
        element: str
        height: Annotated[float, Field(gt=0)]
        ambience: tuple[level, level, level]
        properties: dict[str, str] = {}
        thing: str = ""
        facing: Facing = ""
        bearing: float = 0.0
        source: str = ""
        pose: str = ""
        part_names: tuple[str, ...] = ()

    class Index(BaseModel):
        model_config = ConfigDict(extra="forbid")
        format: Literal[1]
        cut_outs: list[Row]

    return [row.model_dump() for row in check_form(Index, document, lambda *_: str(index)).cut_outs]


def _index(gallery: Gallery) -> str:
    in_files = ("pixels", "parts", "folder")
    kept = [field.name for field in dataclasses.fields(CutOut) if field.name not in in_files]
    rows = []
    for one in gallery:
        row = {name: getattr(one, name) for name in kept}
        row |= {"height": round(one.height, 3), "bearing": round(one.bearing, 2)}
        row |= {"ambience": [round(level, 1) for level in one.ambience], "properties": dict(one.properties)}
        rows.append(json.dumps({key: value for key, value in row.items() if value}, ensure_ascii=False))
    body = ",\n    ".join(rows)
    return f'{{\n  "format": {_FORMAT},\n  "cut_outs": [\n    {body}\n  ]\n}}\n'
