"""Cutting things out: the world's exact masks as truth, made-up label maps for what must be refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from roadworthy.errors import InputError
from roadworthy.frames import Frame, LabelMap
from roadworthy.transforms.objects import Gallery, harvest
from roadworthy.world import Camera, Conditions, Scene, WorldObject, frame_of, track

Street = Callable[..., Frame]
WithThing = Callable[[Frame, str, tuple[int, int, int, int]], Frame]


def person_ahead(**known: object) -> Frame:
    """A frame of the world with one person, large and alone, on the road."""
    person = WorldObject(77, "pedestrian", s=107.5, d=1.0, look=5)
    scene = Scene(track("meadow"), s=100, actors=(person,), conditions=Conditions("cloudy"))
    return frame_of(scene, Camera(640, 320)).replace(**known)


@pytest.mark.parametrize("known", [{}, {"boxes": None, "instances": None, "depth": None}])
def test_a_person_of_the_world_is_cut_out(known: dict[str, object]) -> None:
    frame = person_ahead(**known)
    result = harvest([frame], ["pedestrian"], source="world")
    assert result.refused == {"pedestrian": {}}
    (one,) = result.cut_outs
    assert one.element == "pedestrian"
    assert one.source == "world:world"
    truth = person_ahead()
    assert truth.boxes is not None
    left, top, right, bottom = truth.boxes.xyxy[0].astype(int).tolist()
    assert abs(one.shape[0] - (bottom - top)) <= 3
    assert abs(one.shape[1] - (right - left)) <= 3
    # This look of a pedestrian is 1.73 m high.
    assert one.height == pytest.approx(1.73, rel=0.1)
    assert truth.instances is not None
    pixels = truth.instances[top:bottom, left:right] == 77
    solid = cv2.resize(one.rgba[..., 3], (right - left, bottom - top)) > 127
    agreed = np.count_nonzero(solid & pixels) / np.count_nonzero(solid | pixels)
    assert agreed > 0.85
    # None of the road's grey is left in it.
    inside = cv2.erode(pixels.astype(np.uint8), np.ones((3, 3), np.uint8)).astype(bool)
    own = truth.image[top:bottom, left:right][inside].mean(axis=0)
    assert one.rgba[one.rgba[..., 3] > 127][:, :3].mean(axis=0) == pytest.approx(own, abs=12)


def test_frames_with_one_name_give_cut_outs_with_two() -> None:
    first, other = person_ahead(), person_ahead()
    lighter = other.replace(image=np.minimum(other.image, 215) + np.uint8(40))
    result = harvest([first, lighter, first], ["pedestrian"])
    assert [one.name for one in result.cut_outs] == ["pedestrian-world-1", "pedestrian-world-1.2"]
    assert result.refused["pedestrian"] == {"the same picture twice": 1}
    assert len(harvest([first, lighter], ["pedestrian"], most=1).cut_outs) == 1


def test_light_of_the_place_is_noted() -> None:
    (one,) = harvest([person_ahead()], ["pedestrian"]).cut_outs
    frame = person_ahead()
    assert frame.labels is not None
    road = frame.image[frame.labels.mask("road")].mean(axis=0)
    assert one.ambience == pytest.approx(tuple(road), abs=15)


def test_the_same_frames_give_the_same_bytes() -> None:
    first, second = (harvest([person_ahead()], ["pedestrian"]).cut_outs[0].rgba for _ in range(2))
    assert first.tobytes() == second.tobytes()


def textured(frame: Frame) -> Frame:
    """The frame with some contrast inside its things, as real ones have."""
    rows, columns = np.mgrid[0 : frame.height, 0 : frame.width]
    image = frame.image.copy()
    assert frame.labels is not None
    thing = frame.labels.mask("vehicle", "pedestrian")
    image[thing] = np.stack([60 + 90 * ((rows // 4 + columns // 4) % 2)] * 3, axis=2)[thing]
    return frame.replace(image=image)


@pytest.mark.parametrize(
    ("element", "box", "reason"),
    [
        ("pedestrian", (150, 100, 162, 130), "too small"),
        ("pedestrian", (0, 60, 18, 110), "at the edge of the image"),
        ("pedestrian", (200, 20, 218, 65), "does not stand on visible ground"),
        ("pedestrian", (120, 70, 200, 120), "unlikely shape"),
        ("vehicle", (150, 100, 170, 150), "unlikely shape"),
        ("pedestrian", (150, 5, 190, 110), "unlikely size"),
    ],
)
def test_what_is_not_whole_or_not_likely_is_refused_with_its_reason(
    street: Street, with_thing: WithThing, element: str, box: tuple[int, int, int, int], reason: str
) -> None:
    frame = textured(with_thing(street(), element, box))
    result = harvest([frame], [element])
    assert result.cut_outs == []
    assert result.refused == {element: {reason: 1}}


def test_what_touches_another_thing_is_refused(street: Street, with_thing: WithThing) -> None:
    frame = with_thing(street(), "pedestrian", (150, 60, 170, 112))
    frame = textured(with_thing(frame, "vehicle", (170, 70, 230, 110)))
    assert harvest([frame], ["pedestrian"]).refused == {"pedestrian": {"touches other things": 1}}


def test_what_is_too_dark_to_tell_is_refused(street: Street, with_thing: WithThing) -> None:
    frame = textured(with_thing(street(brightness=20), "pedestrian", (150, 63, 170, 112)))
    assert harvest([frame], ["pedestrian"]).refused == {"pedestrian": {"too dark": 1}}
    flat = with_thing(street(), "pedestrian", (150, 63, 170, 112))
    assert harvest([flat], ["pedestrian"]).refused == {"pedestrian": {"hardly any contrast": 1}}


def test_a_whole_one_is_taken_and_the_largest_are_kept(street: Street, with_thing: WithThing) -> None:
    near = textured(with_thing(street(), "pedestrian", (150, 60, 172, 116)))
    far = textured(with_thing(street(), "pedestrian", (100, 63, 118, 104)))
    both = harvest([near, far.replace(id="far")], ["person"])
    assert [one.shape[0] for one in both.cut_outs] == [pytest.approx(56, abs=3), pytest.approx(41, abs=3)]
    assert both.frames == 2
    one = harvest([near, far.replace(id="far")], ["person"], most=1)
    assert [cut.name for cut in one.cut_outs] == ["pedestrian-street-1"]
    assert one.refused["pedestrian"]["more than asked for"] == 1


def test_a_sign_comes_with_its_pole() -> None:
    """A board of 30 × 30 pixels on a thin pole that a label map draws like a string of beads."""
    rows, columns = np.mgrid[0:200, 0:200]
    ids = np.where(rows < 80, 1, 2).astype(np.uint8)
    ids[60:140, 99:101] = 4
    ids[70:140:3, 101] = 4
    ids[30:60, 85:115] = 3
    image = np.where(ids == 1, 200, 110).astype(np.uint8)[..., None].repeat(3, axis=2)
    image[ids == 4] = 60
    image[ids == 3] = np.stack([(columns // 6 % 2) * 150 + 60] * 3, axis=2)[ids == 3]
    labels = LabelMap(ids, ("void", "sky", "road", "traffic sign", "pole"))
    (sign,) = harvest([Frame("sign", image, labels=labels)], ["sign"]).cut_outs
    assert sign.part_names == ("pole", "traffic sign")
    assert sign.part_ids is not None
    height = sign.shape[0]
    assert height == pytest.approx(110, abs=3)
    widths = np.count_nonzero(sign.rgba[height // 2 : -3, :, 3] > 100, axis=1)
    assert widths.min() >= 1
    assert widths.max() <= 3
    board = sign.part_ids[: height // 4] == 1
    assert board.any()


def test_frames_without_labels_are_counted_too() -> None:
    result = harvest([Frame("bare", np.zeros((60, 80, 3), np.uint8))], ["pedestrian", "vehicle"])
    assert result.refused == {
        "pedestrian": {"the frame has no label map": 1},
        "vehicle": {"the frame has no label map": 1},
    }


def test_only_some_elements_can_be_harvested() -> None:
    with pytest.raises(InputError, match="cannot harvest 'building': only pedestrian"):
        harvest([], ["building"])


def test_a_harvest_becomes_a_gallery(tmp_path: Path) -> None:
    harvest([person_ahead()], ["dynamic object"]).gallery().save(tmp_path)
    assert Gallery.load(tmp_path).contents() == "pedestrian 1"


def test_a_harvest_grows_the_gallery_of_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "people"
    taken = harvest([person_ahead()], ["pedestrian"])
    assert taken.save(folder, Gallery.to_grow(folder)) == 0
    assert taken.document() == {"frames": 1, "taken": {"pedestrian": 1}, "refused": {"pedestrian": {}}}
    with pytest.raises(InputError, match=r"there is a gallery in .* already: add to it"):
        Gallery.to_grow(folder)
    assert taken.save(folder, Gallery.to_grow(folder, add=True)) == 1, "it was there already"
    assert len(Gallery.load(folder)) == 1
    refused = harvest([person_ahead(labels=None)], ["pedestrian"])
    assert refused.lines() == {"pedestrian": "0 taken; refused: the frame has no label map 1"}
