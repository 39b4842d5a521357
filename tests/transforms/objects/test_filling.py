"""Real frames: holes that a network fills, what is too large, and what nobody would believe."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from roadworthy.errors import NotApplicable
from roadworthy.frames import Frame, LabelMap
from roadworthy.transforms import make_transform
from roadworthy.transforms.objects import filling
from roadworthy.transforms.objects.filling import FILL, evened, fill_network, grained

from .conftest import Street

Image = NDArray[np.uint8]


def road(size: tuple[int, int] = (96, 128)) -> Image:
    rng = np.random.default_rng(3)
    rows = np.linspace(150, 90, size[0])[:, None, None]
    return np.clip(rows + rng.normal(0, 2, (*size, 3)), 0, 255).astype(np.uint8)


def hole(shape: tuple[int, int], box: tuple[int, int, int, int]) -> NDArray[np.bool_]:
    mask = np.zeros(shape, np.bool_)
    mask[box[0] : box[1], box[2] : box[3]] = True
    return mask


@pytest.mark.parametrize(
    "box", [(30, 60, 40, 80), (0, 30, 0, 40), (70, 96, 100, 128)], ids=["inside", "corner", "other corner"]
)
def test_a_red_thing_goes_and_the_road_comes(box: tuple[int, int, int, int]) -> None:
    image = road()
    mask = hole(image.shape[:2], box)
    painted = image.copy()
    painted[mask] = (220, 20, 20)
    made = fill_network().fill([painted], [mask])[0]
    assert np.array_equal(made[~mask], painted[~mask])
    assert np.abs(made[mask].astype(int) - image[mask]).mean() < 12


def test_one_thread_fills_whatever_the_machine_has(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[int] = []
    monkeypatch.setenv("ROADWORTHY_THREADS", "8")
    monkeypatch.setattr(filling, "opened_session", lambda path, threads: opened.append(threads))
    _ = filling.FillNetwork()._session
    assert opened == [1]


def test_images_of_several_sizes_are_filled_at_once_as_one_by_one() -> None:
    images = [road(), road((64, 96)), road()]
    masks = [
        hole((96, 128), (20, 40, 30, 60)),
        hole((64, 96), (8, 30, 8, 40)),
        hole((96, 128), (50, 70, 60, 90)),
    ]
    together = fill_network().fill(images, masks)
    alone = [fill_network().fill([image], [mask])[0] for image, mask in zip(images, masks, strict=True)]
    for one, other in zip(together, alone, strict=True):
        assert np.abs(one.astype(int) - other).max() <= 1


def test_nothing_is_filled_where_nothing_is_masked() -> None:
    image = road()
    assert np.array_equal(fill_network().fill([image], [hole((96, 128), (0, 0, 0, 0))])[0], image)


def test_a_large_image_is_filled_at_the_size_that_the_network_knows() -> None:
    image = road((720, 1280))
    mask = hole((720, 1280), (300, 520, 400, 900))
    made = fill_network().fill([np.where(mask[..., None], np.uint8(255), image)], [mask])[0]
    assert np.abs(made[mask].astype(int) - image[mask]).mean() < 15


def test_what_is_filled_has_the_grain_of_what_is_around() -> None:
    image = road()
    mask = hole((96, 128), (30, 60, 40, 80))
    smooth = image.copy()
    smooth[mask] = image.mean(axis=1, keepdims=True).astype(np.uint8).repeat(128, axis=1)[mask]
    made = grained(image, smooth, mask, np.random.default_rng(1))
    spread = np.std(made[35:55, 45:75].astype(float) - smooth[35:55, 45:75])
    assert 0.5 < spread < 4
    assert np.array_equal(made[~mask], image[~mask])


def test_a_hole_gets_the_broad_colours_of_the_ground_around_it_and_keeps_its_detail() -> None:
    image = (
        np.repeat(np.linspace(40, 70, 128)[None], 96, axis=0)[..., None].repeat(3, axis=2).astype(np.uint8)
    )
    mask = hole((96, 128), (30, 60, 40, 80))
    ground = ~mask & ~hole((96, 128), (0, 96, 110, 128))
    image[:, 110:] = 250  # no ground
    tinted = image.copy()
    tinted[mask] = (52, 44, 58)  # purple, as the network sees a dark road
    tinted[45, 60] = 90
    made = evened(image, tinted, mask, ground)
    assert np.abs(made[mask].mean(axis=0) - image[mask].mean(axis=0)).max() < 2
    assert np.ptp(made[mask].mean(axis=0)) < 1
    assert made[45, 60].min() > made[45, 58].max() + 20
    assert np.array_equal(made[~mask], image[~mask])
    shade = np.where(mask[..., None], np.uint8(8), tinted)  # what a car hid lies in the shade
    assert evened(image, shade, mask, ground)[mask].max() < 12
    assert evened(image, tinted, mask, np.zeros_like(mask)) is tinted


def test_what_given_labels_do_not_name_stays_when_lines_beside_it_go(street: Street) -> None:
    frame = street()
    ids, image = frame.label_map.ids.copy(), frame.image.copy()
    ids[100:150, 156:161], ids[100:150, 161:190] = (
        frame.label_map.classes.index(n) for n in ("line", "void")
    )
    image[100:150, 156:161], image[100:150, 161:190] = 240, (150, 60, 30)
    marked = frame.replace(image=image, labels=LabelMap(ids, frame.label_map.classes))
    made = make_transform("remove", element="line")(marked, 1, measure=False).image
    assert np.array_equal(made[100:150, 161:190], image[100:150, 161:190])
    assert made[110:140, 156:160].mean() < 130


def test_the_network_ships_with_its_card() -> None:
    assert FILL.stat().st_size < 8_000_000
    assert FILL.with_name("fill.md").is_file()


def red_car(street: Street, box: tuple[int, int, int, int]) -> Frame:
    frame = street()
    labels = frame.label_map
    ids, image = labels.ids.copy(), frame.image.copy()
    left, top, right, bottom = box
    ids[top:bottom, left:right] = labels.classes.index("vehicle")
    image[top:bottom, left:right] = (230, 20, 20)
    # Its shadow, which nobody labelled.
    image[bottom : bottom + 4, left - 2 : right + 2] = image[bottom : bottom + 4, left - 2 : right + 2] // 3
    return frame.replace(image=image, labels=LabelMap(ids, labels.classes))


def test_a_car_goes_with_its_shadow(street: Street) -> None:
    frame = red_car(street, (150, 84, 180, 102))
    remove = make_transform("remove", element="vehicle", realism="any")
    made, again = (remove(frame, 1, measure=False) for _ in range(2))
    assert not made.label_map.mask("vehicle").any()
    under = made.image[102:106, 150:180].mean()
    assert under > 0.8 * street().image[102:106, 150:180].mean()
    assert made.image[84:102, 150:180, 0].mean() < 150
    assert np.array_equal(made.image, again.image)


def test_what_is_behind_a_car_is_not_painted_unless_asked_for(street: Street) -> None:
    frame = red_car(street, (110, 60, 220, 140))
    with pytest.raises(NotApplicable, match=r"cannot be painted believably.*realism=any"):
        make_transform("remove", element="vehicle")(frame, 1)
    made = make_transform("remove", element="vehicle", realism="any")(frame, 1, measure=False)
    assert not made.label_map.mask("vehicle").any()


def test_a_light_is_not_left_hanging_in_the_air(street: Street) -> None:
    frame = street()
    frame = frame.replace(image=frame.image // 4)
    ids, classes = frame.label_map.ids.copy(), (*frame.label_map.classes, "traffic light")
    ids[40:90, 250:254] = classes.index("pole")
    pole = frame.replace(labels=LabelMap(ids, classes))
    assert not make_transform("remove", element="pole")(pole, 1).label_map.mask("pole").any()
    ids = ids.copy()
    ids[30:40, 249:255] = len(classes) - 1
    with pytest.raises(NotApplicable, match="hang in the air"):
        make_transform("remove", element="pole")(frame.replace(labels=LabelMap(ids, classes)), 1)


@pytest.mark.parametrize(
    ("element", "by", "reason"),
    [("terrain", "sidewalk", "looks drawn on real frames"), ("vehicle", "truck", "is a drawing")],
)
def test_what_nobody_believes_is_made_by_name_alone(
    street: Street, element: str, by: str, reason: str
) -> None:
    frame = red_car(street, (150, 84, 180, 102))
    with pytest.raises(NotApplicable, match=reason):
        make_transform("replace", element=element, by=by)(frame, 1)
    drawn = frame.replace(metadata={"track": "town"})
    for change, on in (("any", frame), ("believable", drawn)):
        made = make_transform("replace", element=element, by=by, realism=change)(on, 1, measure=False)
        assert not np.array_equal(made.image, frame.image)
