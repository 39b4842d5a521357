"""Real things for real frames: what comes from the data itself, what from the gallery, and shadows."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from roadworthy.datasets import ChosenFrames
from roadworthy.errors import NotApplicable
from roadworthy.frames import Frame
from roadworthy.runs.store.digests import digest_of_things
from roadworthy.transforms import make_transform
from roadworthy.transforms.objects import harvesting
from roadworthy.transforms.objects.gallery import CutOut
from roadworthy.transforms.objects.harvesting import own_things, things_for
from roadworthy.transforms.objects.shadows import sun_side
from roadworthy.transforms.objects.surroundings import surroundings
from roadworthy.transforms.perspective import Perspective
from roadworthy.world import Camera, Conditions, Scene, WorldObject, frame_of, track


class Drive:
    """Frames as if they were real: nothing tells that the world drew them."""

    def __init__(self, count: int, people: int, name: str = "drive") -> None:
        self.name = name
        self.read: list[int] = []
        frames = []
        for number in range(count):
            actors = [
                WorldObject(77, "pedestrian", s=107.5 + 0.3 * number, d=1.0, look=number % 12)
                for _ in range(number < people)
            ]
            scene = Scene(track("meadow"), s=100, actors=tuple(actors), conditions=Conditions("cloudy"))
            made = frame_of(scene, Camera(640, 320))
            known = {name: value for name, value in made.metadata.items() if name != "track"}
            frames.append(made.replace(id=f"f{number}", metadata=known))
        self.frames = frames
        self.ids = tuple(one.id for one in frames)

    def __len__(self) -> int:
        return len(self.frames)

    def __getitem__(self, number: int) -> Frame:
        self.read.append(number)
        return self.frames[number]

    def __iter__(self) -> Iterator[Frame]:
        return iter(self.frames)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROADWORTHY_CACHE", str(tmp_path))


@pytest.fixture(scope="module")
def crowd() -> Drive:
    return Drive(9, people=8)


def chosen(drive: Drive) -> ChosenFrames:
    return ChosenFrames("tested", drive, range(len(drive)))


def added(frame: Frame) -> str:
    """Return the name of the one cut-out that was added."""
    notes = frame.metadata["added"]
    assert isinstance(notes, tuple)
    assert len(notes) == 1
    return str(notes[0]["cut_out"])


def test_people_come_from_the_data_and_from_another_frame_of_it(crowd: Drive) -> None:
    frames = chosen(crowd)
    empty = frames[8]
    changed = make_transform("add", element="pedestrian")(empty, 3, measure=False)
    name = added(changed)
    assert name.startswith("pedestrian-f")
    there = int(name.removeprefix("pedestrian-f").partition("-")[0])
    # Nobody stands twice in one frame.
    assert name in {one.name for one in things_for(frames[there - 1])}
    assert name not in {one.name for one in things_for(frames[there])}
    shipped = make_transform("add", element="pedestrian", gallery="shipped")(empty, 3, measure=False)
    assert added(shipped).startswith("solid-pedestrian")


def test_the_same_things_are_found_again_without_looking_twice(
    crowd: Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harvesting, "_known", {})
    first = own_things(chosen(crowd))
    monkeypatch.setattr(harvesting, "_packed", None)  # what is known by content is cut out by nobody
    again = own_things(chosen(crowd))
    assert again is not first
    assert [one.name for one in again.gallery] == [one.name for one in first.gallery]
    assert all(one.same_picture(two) for one, two in zip(again.gallery, first.gallery, strict=True))


def test_what_is_kept_holds_only_for_the_same_boxes_and_depth(
    crowd: Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harvesting, "_LEAST", 1)
    frame, drive = crowd.frames[2], Drive(0, people=0)
    boxes, depth = frame.boxes, frame.depth
    assert boxes is not None
    assert depth is not None
    hidden = dataclasses.replace(boxes, occlusion=[0.5] * len(boxes))  # type: ignore[arg-type]
    known = (frame, frame.replace(boxes=hidden), frame.replace(depth=depth * np.float32(1.1)))
    heights = []
    for one in known:
        drive.frames, drive.ids = [one], (one.id,)
        heights.append([thing.height for thing in own_things(chosen(drive)).gallery])
    assert [len(one) for one in heights] == [1, 0, 1]
    assert heights[0] != heights[2]


@pytest.mark.parametrize(("distance", "found"), [(12.0, 1), (18.0, 0)])
def test_people_are_cut_out_where_they_are_high_whoever_labelled_them(distance: float, found: int) -> None:
    person = WorldObject(77, "pedestrian", s=100 + distance, d=1.0)
    scene = Scene(track("meadow"), s=100, actors=(person,), conditions=Conditions("cloudy"))
    frame = frame_of(scene, Camera(640, 320)).replace(metadata={})
    assert frame.boxes is not None
    # 0.18 of the image's height are 58 pixels: smaller people have neither feet nor faces.
    assert (frame.boxes.xyxy[0, 3] - frame.boxes.xyxy[0, 1] >= 58) == (found == 1)
    estimated = frame.replace(metadata={"labels_from": "street (estimated)"})
    assert [len(harvesting._of_frame(one)[0]) for one in (frame, estimated)] == [found, found]


@pytest.mark.parametrize(("source", "looked_at"), [("folder:maps", 3), ("street (estimated)", 1)])
def test_fewer_frames_are_looked_at_where_labels_are_estimated(
    source: str, looked_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    drive = Drive(3, people=0)
    drive.frames = [one.replace(metadata={"labels_from": source}) for one in drive.frames]
    cut: list[str] = []

    def nothing(frame: Frame) -> tuple[list[CutOut], float]:
        cut.append(frame.id)
        return [], 0.5

    monkeypatch.setattr(harvesting, "_FRAMES", {False: 9, True: 1})
    monkeypatch.setattr(harvesting, "_of_frame", nothing)
    own_things(chosen(drive))
    assert len(cut) == looked_at


def test_what_a_data_set_keeps_inside_is_not_what_is_cut() -> None:
    outer, inner = Drive(1, people=1), Drive(1, people=0)
    outer.data = inner  # type: ignore[attr-defined]
    own_things(outer)
    assert (outer.read, inner.read) == ([0], [])


@pytest.mark.parametrize(("count", "people"), [(1, 1), (4, 0), (4, 3)])
def test_with_nobody_or_few_in_the_data_people_are_those_that_ship(count: int, people: int) -> None:
    drive = Drive(count, people)
    frame = drive.frames[-1].replace(siblings=chosen(drive))
    for seed in range(8):
        try:
            changed = make_transform("add", element="pedestrian")(frame, seed, measure=False)
        except NotApplicable:
            continue
        assert added(changed).startswith("solid-pedestrian")
        break
    else:
        pytest.fail("nobody could be added")


def test_vehicles_that_ship_are_used_on_real_frames_by_name_alone() -> None:
    drive = Drive(1, people=0)
    frame = chosen(drive)[0]
    place = {"element": "vehicle", "relation": "in front of", "reference": "ego-vehicle"}
    with pytest.raises(NotApplicable, match=r"no vehicle could be cut out of this data.*realism=any"):
        make_transform("add", **place)(frame, 1, measure=False)
    # Of a frame by itself nobody looked at any data.
    with pytest.raises(NotApplicable, match=r"does not say which data .*camvid:PATH.*--realism any"):
        make_transform("add", **place)(drive.frames[0], 1, measure=False)
    for chosen_by_name in ({"gallery": "shipped"}, {"realism": "any"}):
        changed = make_transform("add", **place, **chosen_by_name)(frame, 1, measure=False)
        assert added(changed).startswith("solid-")
    with pytest.raises(
        NotApplicable, match=r"a vehicle beside the road does not look real enough: say where"
    ):
        make_transform("add", element="vehicle")(frame, 1, measure=False)
    parked = make_transform("add", element="vehicle", realism="any")(frame, 1, measure=False)
    assert added(parked).startswith("solid-")


def test_no_vehicle_comes_at_us_where_none_is_seen_from_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    rgba = np.full((60, 90, 4), 255, np.uint8)
    rgba[::2, :, :3] = 90
    fronts = [
        CutOut(f"car{number}", "vehicle", 1.5, (100.0,) * 3, facing="toward", pixels=rgba)
        for number in range(9)
    ]
    monkeypatch.setattr("roadworthy.transforms.objects.compositing.things_for", lambda frame: fronts)
    frame = chosen(Drive(1, people=0))[0]
    ahead = {"element": "vehicle", "relation": "in front of", "reference": "ego-vehicle"}
    with pytest.raises(NotApplicable, match="no vehicle could be cut out of this data"):
        make_transform("add", **ahead)(frame, 1, measure=False)


def test_frames_of_the_world_know_no_data() -> None:
    drive = Drive(1, people=0)
    drawn = drive.frames[0].replace(metadata={**drive.frames[0].metadata, "track": "meadow"})
    drive.frames[0] = drawn
    assert chosen(drive)[0].siblings is None


def test_a_frame_whose_horizon_leaps_gets_people_of_the_size_of_those_before_and_after(
    crowd: Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a road bends the horizon seems lower, and people on it were dwarfs."""
    frame = chosen(crowd)[8].replace(depth=None)
    add = make_transform("add", element="pedestrian", reference="road", distance=9.0, realism="any")

    def height() -> int:
        _, top, _, bottom = add(frame, 5, measure=False).metadata["added"][0]["box"]  # type: ignore[index]
        return int(bottom - top)

    usual = height()
    bent = dataclasses.replace(Perspective.of(frame), horizon=0.6 * frame.height)
    monkeypatch.setattr(Perspective, "of", lambda _: bent)
    surroundings.cache_clear()
    assert height() == pytest.approx(usual, rel=0.05)


def test_a_grey_camera_gets_grey_people(crowd: Drive) -> None:
    frame = crowd.frames[8]
    grey = frame.replace(image=np.repeat(frame.image.mean(axis=2, keepdims=True).astype(np.uint8), 3, axis=2))
    changed = make_transform("add", element="pedestrian", gallery="shipped")(grey, 3, measure=False)
    assert (changed.image != grey.image).any()
    assert np.ptp(changed.image.astype(int), axis=2).max() == 0


def test_nothing_is_smaller_than_asked_for(crowd: Drive) -> None:
    frame = crowd.frames[8]
    add = make_transform("add", element="pedestrian", gallery="shipped")
    for seed in range(12):
        for smallest, least in ((0, 20), (60, 60)):
            changed = add.replace(smallest=smallest)(frame, seed, measure=False)
            _, top, _, bottom = changed.metadata["added"][0]["box"]  # type: ignore[index]
            assert bottom - top >= least
    with pytest.raises(NotApplicable, match="too small"):
        add.replace(smallest=60, distance=30)(frame, 1, measure=False)


def with_shadows(frame: Frame, side: int) -> Frame:
    """Put three people on the road whose shadows lie on a side of them."""
    image, ids = np.full_like(frame.image, 150), frame.label_map.ids.copy()
    classes = frame.label_map.classes_with("pedestrian")
    sky, road, person = (classes.index(one) for one in ("sky", "road", "pedestrian"))
    ids[:150], ids[150:] = sky, road
    for left in (100, 300, 500):
        ids[170:260, left : left + 20] = person
        start = left + 20 if side > 0 else left - 40
        image[250:264, start : start + 40] = 70
    labels = type(frame.label_map)(ids, classes)
    return frame.replace(image=image, labels=labels, instances=None, boxes=None, depth=None)


@pytest.mark.parametrize("side", [-1, 1])
def test_shadows_tell_where_the_sun_is(crowd: Drive, side: int) -> None:
    assert sun_side(surroundings(with_shadows(crowd.frames[8], side))) == -side
    assert sun_side(surroundings(crowd.frames[8])) == 0


@pytest.mark.parametrize("side", [-1, 1])
def test_a_person_has_a_shadow_where_others_have_theirs_and_light_on_the_other_side(
    crowd: Drive, side: int
) -> None:
    frame = with_shadows(crowd.frames[8], side)
    add = make_transform("add", element="pedestrian", reference="road", distance=9.0, realism="any")
    changed = add(frame, 4, measure=False)
    note = changed.metadata["added"][0]  # type: ignore[index]
    left, top, right, bottom = note["box"]
    assert note["mirrored"] == (side < 0)
    lost = frame.image.astype(int).sum(axis=2) - changed.image.sum(axis=2)
    high = bottom - top
    beside = {  # beyond the contact shade, which reaches some pixels aside of the feet
        -1: lost[bottom - high // 4 : bottom, max(0, left - high) : left - 5],
        1: lost[bottom - high // 4 : bottom, right + 5 : right + high],
    }
    assert np.count_nonzero(beside[side] > 30) > 40
    assert not (beside[-side] > 30).any()


def test_what_is_cut_out_can_be_told_from_what_is_cut_out_of_other_data(crowd: Drive, tmp_path: Path) -> None:
    def digest(drive: Drive) -> str | None:
        things = make_transform("add", element="pedestrian").cut_from(chosen(drive))  # type: ignore[attr-defined]
        return digest_of_things(things).sha256

    assert digest(crowd) == digest(Drive(9, people=8)) != digest(Drive(9, people=7))
    own_things(chosen(crowd)).gallery.save(tmp_path / "cut")
    for element, gallery, count in (
        ("pedestrian", str(tmp_path / "cut"), len(own_things(chosen(crowd)).gallery)),
        ("pedestrian", "shipped", None),
        ("traffic light", "own", None),  # no real ones are cut out
    ):
        add = make_transform("add", element=element, gallery=gallery)
        found = add.cut_from(chosen(crowd))  # type: ignore[attr-defined]
        assert (None if found is None else len(found)) == count, (element, gallery)
