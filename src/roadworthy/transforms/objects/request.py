"""What an object edit is asked for, and the base of all object edits."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Frame
from roadworthy.images import Mask
from roadworthy.ontology import Ontology, ontology
from roadworthy.transforms.objects.gallery import BrokenCutOut
from roadworthy.transforms.operations import AddOperation
from roadworthy.transforms.perspective import GROUND, ROAD
from roadworthy.transforms.transform import BelievableTransform, Keeps
from roadworthy.transforms.wording import ElementDescription, believable, described

Comparison = Literal["", "closer", "farther"]
Zone = Literal["roadside", "lane", "area", "around"]

RELATIONS = ("on", "in front of", "behind", "beside", "closer", "farther")
COMPANIES = ("any", "group")
POSES: Mapping[str, tuple[str, list[str]]] = believable()["poses"]
"""What people and vehicles do, with the pose of their cut-outs and how those are seen."""
SIDES = ("either", "left", "right")
ROADSIDE = "roadside"

_STEPPING = "stepping onto the road"
_OFF_ROAD = ("sidewalk", "terrain")
_ROADSIDES = (ROADSIDE, "road side", "side of the road", "side of the street", "kerb", "curb")
_REGIONS = ("crosswalk", "stop and yield line")


@dataclass(frozen=True)
class Habit:
    """Where things of an element stand when nobody says otherwise.

    Attributes:
        gap: Metres between the road's edge and the near side of a thing at the roadside, least and most.
        deep: Metres of ground behind the foot that must be allowed too.
        nearest: Metres from the camera at which it is put at least.
        farthest: Metres at which it is put at most when no distance is asked for.
        on_road: Whether it belongs on the road when no roadside is asked for.
        edge: Whether it rides at the roadside: on the edge of the road, and not beside it.
        whole: Whether it must be seen to its top; a tree may be cut off by the image.
        clear: Metres of ground behind the foot on which nothing else may stand.
        covers: Whether it may hide things that stand farther away, if no place is free of them.
    """

    gap: tuple[float, float]
    deep: float = 0.3
    nearest: float = 5.0
    farthest: float = 40.0
    on_road: bool = False
    edge: bool = False
    whole: bool = True
    clear: float = 1.0
    covers: bool = True

    @property
    def parks(self) -> bool:
        """Whether it has left the road where it is at the roadside."""
        return self.on_road and not self.edge


_HABITS = {name: Habit(tuple(gap), **habit) for name, (gap, habit) in believable()["habits"].items()}
_USUAL = Habit((0.1, 4.0), whole=False)


@dataclass(frozen=True)
class Request(AddOperation):
    """What is asked for: an element of the ontology that comes, and how large it must be.

    Attributes:
        smallest: Pixels that it is high at least; 0 leaves it to the frame.
    """

    smallest: float = 0.0

    @property
    def habit(self) -> Habit:
        """Where things like this usually stand."""
        line = (self.element, *ontology().ancestors(self.element))
        usual = next((_HABITS[name] for name in line if name in _HABITS), _USUAL)
        if self.pose == "waiting":
            return replace(usual, gap=(0.0, 0.7))  # at the kerb
        return replace(usual, gap=(0.1, 1.0), edge=True) if self.pose == _STEPPING else usual

    @property
    def faces_road(self) -> bool:
        """Whether it turns to the road, which it stands beside."""
        return self.pose in ("waiting", _STEPPING)

    @property
    def words(self) -> str:
        """The request in words, for messages."""
        than = " than" if self.relation in ("closer", "farther") else ""
        return f"{self.element} {self.relation}{than} the {self.reference}"


@dataclass(frozen=True, slots=True)
class Draws:
    """All that is left to chance, from 0 to 1, drawn before anything about the frame is looked at.

    So the same seed puts the same person on the same side, whatever the distance.
    """

    thing: float
    side: float
    distance: float
    across: float
    mirror: float

    @classmethod
    def of(cls, rng: np.random.Generator) -> Draws:
        """Draw them."""
        return cls(*rng.random(5).tolist())


@dataclass(frozen=True)
class EditPlan:
    """What a request means.

    Attributes:
        zone: Beside the road's edge ("roadside"), on our lane or the one beside it ("lane"), anywhere on the
            ground ("area"), or in relation to things that are there ("around").
        ground: The classes that the foot may stand on.
        compare: Whether the thing comes closer or goes farther away than it would stand otherwise.
        reference: The things that it is compared with, or stands around.
        relation: How it stands to them, or to us.
        among: A class that must be close on both sides of the foot: a crosswalk is stripes on the road.
        oncoming: Whether it comes towards us, wherever it is.
    """

    zone: Zone
    ground: tuple[str, ...]
    compare: Comparison = ""
    reference: ElementDescription | None = None
    relation: str = ""
    among: str = ""
    oncoming: bool = False


def plan_of(request: Request) -> EditPlan:
    """Return what a request means.

    Raises:
        InputError: The words are unknown or make no sense together.
    """
    return _plan(request, ontology())


@lru_cache(maxsize=256)
def _plan(request: Request, _in_use: Ontology) -> EditPlan:
    relation = request.relation
    compare: Comparison = ""
    if relation in ("closer", "farther"):
        compare, relation = ("closer" if relation == "closer" else "farther"), "on"
    on_road = request.habit.on_road
    roadside = EditPlan("roadside", ROAD if request.habit.edge else _OFF_ROAD, compare)
    word = " ".join(request.reference.lower().split())
    if word in _ROADSIDES or request.pose == _STEPPING:
        return roadside
    asked = described(word)
    name = asked.element
    if name == "ego-vehicle":
        return _near_us(request, relation, compare, roadside)
    if name in ("road", "lane") and relation == "beside":
        return roadside
    if name in ("road", "lane") and relation == "on":
        oncoming = asked.properties.get("direction") == "reverse"
        zone: Zone = "lane" if name == "lane" or on_road else "area"
        return EditPlan(zone, ROAD, compare, oncoming=oncoming)
    if name == "crosswalk" and relation == "on":
        return EditPlan("area", ("crosswalk", "road"), compare, among="crosswalk")
    if name in GROUND and relation == "on":
        return EditPlan("area", (name,), compare)
    if compare:
        usual = EditPlan("lane", ROAD) if on_road else roadside
        return EditPlan(usual.zone, usual.ground, compare, asked)
    standing = ontology().is_a(name, "object") or ontology().is_a(name, "traffic infrastructure")
    if relation != "on" and (standing or name in _REGIONS):
        return EditPlan("around", ROAD if on_road else GROUND, "", asked, relation)
    raise InputError(
        f"add: nothing can be placed {relation} the {word}; "
        "say 'on' a road, lane, sidewalk, crosswalk or terrain, 'in front of', 'behind' or 'beside' things"
    )


def _near_us(request: Request, relation: str, compare: Comparison, roadside: EditPlan) -> EditPlan:
    """Return what a place in relation to the vehicle that carries the camera means."""
    if compare:
        return EditPlan("lane", ROAD, compare) if request.habit.on_road else roadside
    if relation in ("in front of", "beside"):
        return EditPlan("lane", ROAD, relation=relation)
    hint = "say 'in front of' or 'beside'"
    raise InputError(f"add: what is {relation} the ego-vehicle is not in the image; {hint}")


Window = tuple[slice, slice]


def box_window(corners: NDArray[np.floating]) -> Window:
    """Return the rows and columns of the pixels that a box touches; a box may begin outside the image.

    Example:
        >>> box_window(np.array([-1.0, 2.2, 3.0, 2.8]))
        (slice(2, 3, None), slice(0, 3, None))
    """
    left, top = np.maximum(np.floor(corners[:2]), 0).astype(int).tolist()
    right, bottom = np.maximum(np.ceil(corners[2:]), 0).astype(int).tolist()
    return slice(top, bottom), slice(left, right)


def window_of(mask: Mask) -> Window:
    """Return the rows and columns that the pixels of a mask cover.

    Example:
        >>> window_of(np.array([[0, 0, 0], [0, 1, 1]], np.bool_))
        (slice(1, 2, None), slice(1, 3, None))
    """
    left, top, wide, high = cv2.boundingRect(mask.view(np.uint8))
    return slice(top, top + high), slice(left, left + wide)


def parts_of(mask: Mask, least: int = 1) -> Iterator[tuple[Window, Mask]]:
    """Yield the window and the pixels in it of each connected part of a mask that has so many pixels.

    Example:
        >>> mask = np.array([[1, 1, 0, 0], [0, 0, 0, 1]], np.bool_)
        >>> [(rows.start, columns.start, pixels.sum().item()) for (rows, columns), pixels in parts_of(mask)]
        [(0, 0, 2), (1, 3, 1)]
    """
    # Looking only where the mask is: most of an image is not in it.
    rows, columns = window_of(mask)
    top, left = rows.start, columns.start
    inside = np.ascontiguousarray(mask[rows, columns]).view(np.uint8)
    if not inside.size:
        return
    count, parts, stats, _ = cv2.connectedComponentsWithStats(inside, connectivity=8)
    for number in range(1, count):
        x, y, across, down, area = stats[number].tolist()
        if area >= least:
            pixels: Mask = parts[y : y + down, x : x + across] == number
            yield ((slice(top + y, top + y + down), slice(left + x, left + x + across)), pixels)


class Edited(NamedTuple):
    """A frame after an edit, and which pixels of its image the edit was free to change."""

    frame: Frame
    region: Mask


class ObjectEdit(BelievableTransform):
    """A transform that adds, removes or replaces things; outside its region it changes nothing."""

    family = "objects"
    keeps = Keeps.EDITED
    needs = ("labels",)
    random = True

    @abstractmethod
    def edit(self, frame: Frame, rng: np.random.Generator) -> Edited:
        """Make the edit; see `Transform.change`."""

    def change(self, frame: Frame, rng: np.random.Generator) -> Frame:
        return self._edited(frame, rng).frame

    def _edited(self, frame: Frame, rng: np.random.Generator) -> Edited:
        try:
            return self.edit(frame, rng)
        except BrokenCutOut as error:
            # The draws of other frames may fall on cut-outs that are whole.
            raise NotApplicable(str(error)) from error

    def region(self, frame: Frame, rng: np.random.Generator | int = 0) -> Mask:
        """Return which pixels of a frame's image the edit with this seed may change.

        It follows from what is edited and from where things are put, not from the edited image.

        Raises:
            NotApplicable: The frame does not qualify.

        Example:
            >>> from roadworthy.datasets import load
            >>> from roadworthy.transforms import make_transform
            >>> frame = load("world:town", count=1)[0]
            >>> change = make_transform("replace", element="building", by="tree")
            >>> changed, region = change(frame, 7, measure=False), change.region(frame, 7)
            >>> bool((changed.image[~region] == frame.image[~region]).all())
            True
        """
        return self._edited(frame, np.random.default_rng(rng)).region
