"""What words ask of a frame, and which of its pixels they mean: tables, borders and ties."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.kept import as_kept

from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Boxes, Frame, LabelMap
from roadworthy.transforms.objects.request import RELATIONS, Request, parts_of, plan_of
from roadworthy.transforms.objects.selection import (
    ObjectSelection,
    _boxes_inside,
    _foot,
    _is_rest,
    _posts,
    _scraps,
    check_element,
    known_things,
    pixels_of,
    select,
    things_of,
)
from roadworthy.transforms.perspective import GROUND, ROAD
from roadworthy.transforms.wording import described

NAMES = ("void", "sky", "road", "building", "vehicle", "pole", "traffic sign", "traffic light", "line")


def test_every_request_means_what_it_meant() -> None:
    places = (
        "roadside", "Side of  the road", "road", "lane", "left lane", "ego-vehicle", "crosswalk", "sidewalk",
        "terrain", "stop and yield line", "red car", "tree", "sky", "rain",
    )  # fmt: skip
    grounds = {ROAD: "road", GROUND: "ground"}
    lines = []
    for element in (
        "pedestrian",
        "vehicle",
        "bicyclist",
        "traffic sign",
        "traffic light",
        "pole",
        "tree",
        "sky",
    ):
        habit = Request(element).habit
        lines.append(f"{element}: {habit} {habit.parks}")
    for element, relation, place in product(("pedestrian", "vehicle", "bicyclist"), RELATIONS, places):
        request = Request(element, relation, place)
        try:
            plan = plan_of(request)
            told = f"{plan.zone} {grounds.get(plan.ground, plan.ground)} {plan.compare} {plan.reference}"
            told += f" {plan.relation} {plan.among}"
        except InputError as error:
            told = str(error).partition(";")[0]
        lines.append(f"{request.words}: {told.rstrip()}")
    as_kept(Path(__file__).with_name("requests.txt"), "\n".join(lines) + "\n")


def test_parts_are_joined_at_corners_and_may_be_too_small() -> None:
    mask = np.zeros((6, 8), np.bool_)
    mask[1, 1], mask[2, 2], mask[4, 5:8] = True, True, True
    assert [(rows.start, columns.stop, int(one.sum())) for (rows, columns), one in parts_of(mask)] == [
        (1, 3, 2),
        (4, 8, 3),
    ]
    assert [int(one.sum()) for _, one in parts_of(mask, least=3)] == [3]
    assert list(parts_of(np.zeros((3, 3), np.bool_))) == []


def labelled(height: int = 60, width: int = 80, **rows: Any) -> LabelMap:
    ids = np.full((height, width), 2, np.uint8)
    for name, where in rows.items():
        ids[where] = NAMES.index(name.replace("_", " "))
    return LabelMap(ids, NAMES)


def frame_of(labels: LabelMap, **known: Any) -> Frame:
    return Frame("f", np.full((*labels.shape, 3), 90, np.uint8), labels=labels, **known)


class TestPosts:
    @pytest.mark.parametrize(
        ("pole", "carries"),
        [
            (np.s_[20:50, 38:41], True),  # just below the board
            (np.s_[23:50, 38:41], True),  # a third of it farther down
            (np.s_[25:50, 38:41], False),
            (np.s_[6:50, 38:41], True),  # seen before the board, from its upper edge on
            (np.s_[4:50, 38:41], False),  # it goes on above
            (np.s_[20:50, 50:53], False),  # beside it
            (np.s_[20:50, 20:51], True),  # as wide as that is a post still
            (np.s_[20:50, 20:52], False),
            (np.s_[12:20, 38:41], False),  # it ends with the board
            (np.s_[12:21, 38:41], True),
        ],
    )
    def test_a_post_is_below_its_board(self, pole: Any, carries: bool) -> None:
        head, poles = np.zeros((60, 80), np.bool_), np.zeros((60, 80), np.bool_)
        head[10:20, 30:50] = True
        poles[pole] = True
        found = _posts(poles, head)
        assert np.array_equal(found, poles if carries else np.zeros_like(poles))

    def test_a_thing_stands_where_its_post_does(self) -> None:
        posts = np.zeros((60, 80), np.bool_)
        posts[22:50, 38:41] = True
        window = (slice(10, 20), slice(30, 50))
        assert _foot(posts, window) == 50
        posts[22] = False
        assert _foot(posts, window) == 20, "three rows apart is another"
        assert _foot(posts, (slice(10, 20), slice(0, 30))) == 20


class TestScraps:
    @pytest.mark.parametrize(
        ("name", "hole", "own"),
        [
            ("void", np.s_[10:20, 10:20], True),
            ("sky", np.s_[10:12, 10], True),  # two of 4,800 pixels are a speck
            ("sky", np.s_[10:13, 10], False),
            ("void", np.s_[36:44, 10:20], False),  # half of its border lies on the road
        ],
    )
    def test_holes_in_a_wall_belong_to_it(self, name: str, hole: Any, own: bool) -> None:
        labels = labelled(building=np.s_[:40], **{name: hole})
        found = _scraps(labels, labels.mask("building"))
        assert np.array_equal(found, labels.mask(name) if own else np.zeros((60, 80), np.bool_))
        chosen = select(frame_of(labels), described("building"), 0.0).mask
        assert np.array_equal(chosen, labels.mask("building") | found)
        cars = select(frame_of(labelled(vehicle=np.s_[:40], **{name: hole})), described("vehicle"), 0.0)
        assert not cars.mask[hole].any(), "of cars nothing is guessed"


class TestSelecting:
    def test_what_is_too_small_or_not_there_is_said(self) -> None:
        frame = frame_of(labelled(vehicle=np.s_[40, 10:34]))
        assert np.count_nonzero(select(frame, described("vehicle"), 0.0).mask) == 24
        with pytest.raises(
            NotApplicable, match=r"what there is of 'vehicle' covers less than 0\.501% of the image"
        ):
            select(frame, described("vehicle"), 0.00501)
        assert select(frame, described("vehicle"), 0.005).mask.any()
        with pytest.raises(NotApplicable, match="there is no lane lines in the frame"):
            select(frame, described("lane lines"), 0.0)
        with pytest.raises(NotApplicable, match="the color of each vehicle is not known in the frame"):
            select(frame, described("red vehicle"), 0.0)

    def test_words_must_be_classes_that_may_be_edited(self) -> None:
        assert check_element("remove", "red car").element == "vehicle"
        with pytest.raises(
            InputError, match=r"remove: 'rain' is not a class of label maps; the classes are "
        ):
            check_element("remove", "rain")
        with pytest.raises(InputError, match=r"remove: 'sky' cannot be edited$"):
            check_element("remove", "sky", never=("sky", "road"))
        with pytest.raises(
            InputError, match=r"remove: 'dynamic object' cannot be edited, because it includes vehicle"
        ):
            check_element("remove", "dynamic object", never=("vehicle", "sky"))
        with pytest.raises(InputError, match=r"^remove: 'unicorn' is not in the ontology"):
            check_element("remove", "unicorn")

    def test_properties_choose_among_boxes(self) -> None:
        labels = labelled(vehicle=np.s_[30:40, 5:25])
        ids = labels.ids.copy()
        ids[30:45, 40:60] = NAMES.index("vehicle")
        boxes = Boxes([[5, 30, 25, 40], [40, 30, 60, 45]], ["red car", "blue truck"], track_ids=[3, 4])
        frame = frame_of(LabelMap(ids, NAMES), boxes=boxes)
        red = select(frame, described("red vehicle"), 0.0)
        assert red.boxes.tolist() == [0]
        assert np.count_nonzero(red.mask) == 200
        truck = select(frame, described("truck"), 0.0)
        assert truck.boxes.tolist() == [1]
        assert np.count_nonzero(truck.mask) == 300
        with pytest.raises(NotApplicable, match="there is no green vehicle in the frame"):
            select(frame, described("green vehicle"), 0.0)

    def test_pixels_belong_to_the_nearest_box_unless_instances_tell(self) -> None:
        labels = labelled(vehicle=np.s_[30:50, 10:50])
        boxes = Boxes([[10, 30, 40, 50], [30, 30, 50, 45]], ["car", "car"], track_ids=[7, 0])
        frame = frame_of(labels, boxes=boxes)
        both = np.array([0, 1])
        near = pixels_of(frame, labels.mask("vehicle"), both, np.array([0]))
        assert np.count_nonzero(near) == 20 * 30
        assert np.count_nonzero(pixels_of(frame, labels.mask("vehicle"), both, np.array([1]))) == 15 * 10
        instances = np.zeros((60, 80), np.uint16)
        instances[30:50, 10:20] = 7
        exact = frame.replace(instances=instances)
        assert np.count_nonzero(pixels_of(exact, labels.mask("vehicle"), both, np.array([0]))) == 200
        assert not pixels_of(exact, labels.mask("vehicle"), both, np.array([1])).any(), "number 0 is nothing"
        inside = np.zeros((60, 80), np.bool_)
        inside[30:50, 10:18] = True  # 160 of 600 pixels, and none of the other
        assert _boxes_inside(frame, both, inside).tolist() == [0]
        inside[30:50, 17] = False
        inside[30:40, 17] = True
        assert _boxes_inside(frame, both, inside).tolist() == [], "a quarter is not enough"
        assert _boxes_inside(frame.replace(boxes=None), both, inside) is both

    def test_what_a_box_leaves_out_is_no_thing_of_its_own(self) -> None:
        ids = labelled(vehicle=np.s_[30:50, 10:40]).ids.copy()
        ids[30:34, 40:44] = NAMES.index("vehicle")  # 16 pixels that touch 600
        ids[30:40, 60:70] = NAMES.index("vehicle")  # 100 by themselves
        frame = frame_of(LabelMap(ids, NAMES), boxes=Boxes([[10, 30, 40, 50]], ["red car"], occlusion=[0.2]))
        first, alone = things_of(frame, select(frame, described("vehicle"), 0.0))
        assert (first.window, first.foot, first.hidden) == ((slice(30, 50), slice(10, 40)), 50, True)
        assert dict(first.properties) == {"type": "car", "color": "red"}
        assert (alone.window, alone.hidden, dict(alone.properties)) == (
            (slice(30, 40), slice(60, 70)),
            False,
            {},
        )
        owner = np.full((6, 6), -1, np.int32)
        owner[1:5, 1] = 0
        part = np.ones((2, 2), np.bool_)
        for area, rest in ((16, False), (17, True)):
            assert _is_rest(owner, [area], (slice(1, 3), slice(1, 3)), part) is rest
        assert not _is_rest(owner, [99], (slice(0, 2), slice(3, 4)), part[:, :1]), "it does not touch it"

    def test_boxes_without_pixels_tell_nothing(self) -> None:
        labels = labelled(vehicle=np.s_[30:50, 10:40])
        frame = frame_of(labels, boxes=Boxes([[60, 0, 70, 9]], ["car"]))
        chosen = select(frame, described("vehicle"), 0.0)
        assert list(things_of(frame, chosen)) == []
        with pytest.raises(
            NotApplicable, match="which pixels belong to each vehicle is not known in the frame"
        ):
            known_things(frame, chosen)
        bare = frame.replace(boxes=None)
        nothing = ObjectSelection(described("vehicle"), labels.mask("vehicle"), np.zeros(0, np.intp))
        assert [one.element for one in known_things(bare, nothing)] == ["vehicle"]
