"""The transform as a whole, beside the world's own counterfactual among others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roadworthy.datasets import load
from roadworthy.errors import InputError, NotApplicable, OntologyError
from roadworthy.frames import Frame, LabelMap
from roadworthy.images import Mask
from roadworthy.ontology import ontology
from roadworthy.transforms import compose, make_transform, parse_transform
from roadworthy.transforms.objects import Add, Gallery, believing, compositing
from roadworthy.transforms.objects.gallery import CutOut
from roadworthy.world import Camera, Scene, WorldObject, frame_of, track

Street = Callable[..., Frame]
CAMERA = Camera(320, 160)


def note_of(frame: Frame) -> Mapping[str, Any]:
    added: Any = frame.metadata["added"]
    note: Mapping[str, Any] = added[-1]
    return note


@pytest.mark.parametrize(
    ("words", "element", "properties"),
    [
        ("pedestrian", "pedestrian", {}),
        ("red car", "vehicle", {"type": "car", "color": "red"}),
        ("school bus", "vehicle", {"type": "school bus", "color": "yellow"}),
        ("30 speed limit sign", "traffic sign", {"type": "speed limit", "limit": "30"}),
        ("green light", "traffic light", {"color": "green"}),
        ("cyclist", "bicyclist", {}),
        ("tree", "tree", {}),
        ("lamp post", "pole", {}),
    ],
)
def test_words_of_rules(town: Frame, words: str, element: str, properties: dict[str, str]) -> None:
    changed = make_transform("add", element=words, relation="on", reference="roadside")(
        town, 4, measure=False
    )
    assert changed.boxes is not None
    assert town.boxes is not None
    new = changed.boxes[-1]
    assert new.classes == (element,)
    assert dict(new.attributes[0]) == properties
    assert changed.labels is not None
    assert town.labels is not None
    assert changed.labels.present()[element] > town.labels.present().get(element, 0) + 20


def test_a_word_for_several_elements_adds_one_of_them(town: Frame) -> None:
    change = make_transform("add", element="road user")
    found = {str(note_of(change(town, seed, measure=False))["element"]) for seed in range(25)}
    assert found == {"pedestrian", "vehicle", "bicyclist"}


def test_the_second_block_of_a_rule_brings_the_same_person_closer() -> None:
    """Formula 2: both images are made from the original, with the same seed."""
    placed = 0
    for number, frame in enumerate(load("world:town", count=10, seed=1)):
        try:
            first, second = (
                make_transform("add", element="pedestrian", relation=relation, reference="roadside")(
                    frame, number, measure=False
                )
                for relation in ("on", "closer")
            )
        except NotApplicable:
            continue
        placed += 1
        there, closer = note_of(first), note_of(second)
        assert [there[key] for key in ("cut_out", "side", "mirrored")] == [
            closer[key] for key in ("cut_out", "side", "mirrored")
        ]
        assert closer["distance"] < 0.86 * there["distance"]
    assert placed >= 7


@pytest.mark.parametrize("distance", [8.0, 12.0, 20.0])
@pytest.mark.parametrize("known", ["depth", "labels"])
def test_it_is_as_large_as_the_worlds_own(distance: float, known: str) -> None:
    """The same person, put by the world where the cut-out stands: the label maps agree."""
    road = track("meadow")
    ratios, overlaps = [], []
    for s in (100.0, 400.0, 700.0, 1000.0):
        scene = Scene(road, s=s)
        frame = frame_of(scene, CAMERA)
        given = frame if known == "depth" else frame.replace(depth=None)
        for seed in range(4):
            try:
                changed = Add(distance=distance)(given, seed, measure=False)
            except NotApplicable:
                continue
            note = note_of(changed)
            truth = frame_of(scene.replace(actors=(_same_person(scene, note),)), CAMERA)
            assert changed.labels is not None
            assert truth.labels is not None
            ours, theirs = (one.mask("pedestrian") for one in (changed.labels, truth.labels))
            ratios.append(_height(ours) / _height(theirs))
            overlaps.append(np.count_nonzero(ours & theirs) / np.count_nonzero(ours | theirs))
    assert len(ratios) >= 8
    # One pixel is 5% of a person 20 m away.
    assert np.median(ratios) == pytest.approx(1, abs=0.04 if known == "depth" else 0.07)
    assert np.median(overlaps) > 0.5


def _same_person(scene: Scene, note: Mapping[str, Any]) -> WorldObject:
    left, _, right, bottom = note["box"]
    view, projection = scene.view(CAMERA), CAMERA.projection()
    across = ((left + right) / 2 - 0.5 - projection.centre[0]) / projection.focal
    down = (bottom - 0.5 - projection.centre[1]) / projection.focal
    ray = np.array([across, down, 1.0]) @ view.rotation
    x, y, _ = view.origin + float(note["distance"]) * ray
    s, d = scene.track.locate(float(x), float(y), near=scene.s)
    return WorldObject(30_000, "pedestrian", s, d, look=int(str(note["cut_out"]).rpartition("-")[2]))


def _height(mask: np.ndarray) -> float:
    rows = np.flatnonzero(mask.any(axis=1))
    return float(rows[-1] - rows[0] + 1)


def test_outside_the_thing_and_its_shadow_nothing_changes(town: Frame) -> None:
    for seed in range(6):
        for words in ("pedestrian", "car", "tree"):
            change = Add(element=words)
            try:
                changed = change(town, seed, measure=False)
            except NotApplicable:
                continue
            outside = ~change.region(town, seed)
            assert np.array_equal(changed.image[outside], town.image[outside])
            # The region is the thing and its shadow, no more.
            left, top, right, bottom = note_of(changed)["box"]
            reach = 4 + (bottom - top) // 3
            assert outside[: max(0, top - 4)].all()
            assert outside[bottom + reach :].all()
            assert outside[:, : max(0, left - reach)].all()
            assert outside[:, right + reach :].all()
            assert town.depth is not None
            assert changed.depth is not None
            assert np.array_equal(changed.depth[outside], town.depth[outside])
            assert town.labels is not None
            assert changed.labels is not None
            assert np.array_equal(changed.labels.ids[outside], town.labels.ids[outside])


@settings(max_examples=12)
@given(st.integers(0, 2**32), st.sampled_from(["pedestrian", "truck", "stop sign"]))
def test_the_same_seed_gives_the_same_bytes(town: Frame, seed: int, words: str) -> None:
    change = make_transform("add", element=words)
    before = town.image.tobytes()
    try:
        first, second = (change(town, seed, measure=False) for _ in range(2))
    except NotApplicable:
        return
    assert first.image.tobytes() == second.image.tobytes()
    assert first.boxes == second.boxes
    assert first.labels == second.labels
    assert town.image.tobytes() == before


def test_earlier_frames_get_the_same_person() -> None:
    frame = load("world:town", count=1, history=2, seed=3)[0]
    changed = make_transform("add")(frame, 5, measure=False)
    names = {str(note_of(one)["cut_out"]) for one in (changed, *changed.previous)}
    sides = {str(note_of(one)["side"]) for one in (changed, *changed.previous)}
    assert len(changed.previous) == 2
    assert len(names) == len(sides) == 1


@pytest.mark.parametrize("size", [(16, 16), (33, 47), (97, 61), (1600, 900)])
def test_any_size_either_works_or_says_why_not(street: Street, size: tuple[int, int]) -> None:
    frame = street(*size, horizon=0.42 * size[1])
    for words in ("pedestrian", "car", "traffic light", "tree"):
        try:
            changed = make_transform("add", element=words)(frame, 1, measure=False)
        except NotApplicable:
            continue
        assert changed.size == size
        assert changed.image.dtype == np.uint8


def test_frames_without_labels_do_not_qualify() -> None:
    with pytest.raises(NotApplicable, match="add needs a label map, and the frame has none"):
        make_transform("add")(Frame("bare", np.zeros((40, 60, 3), np.uint8)))


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"element": "tram"}, InputError, "the gallery 'shipped' has no 'tram'; it has pedestrian 62"),
        ({"element": "unicorn"}, OntologyError, "unicorn"),
        ({"relation": "under"}, InputError, "unknown relation 'under'"),
        ({"reference": "vehicle"}, InputError, "nothing can be placed on the vehicle"),
        ({"relation": "behind", "reference": "ego-vehicle"}, InputError, "is not in the image"),
        ({"side": "top"}, InputError, "unknown side 'top'"),
        ({"distance": -3}, InputError, "distance must be between 0 and 100 m"),
        ({"gallery": "nowhere"}, InputError, "there is no gallery in 'nowhere'"),
    ],
)
def test_bad_parameters_are_refused_at_once(
    parameters: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make_transform("add", **parameters)


def test_an_empty_gallery_is_refused(tmp_path: Path) -> None:
    Gallery([]).save(tmp_path)
    with pytest.raises(InputError, match="has no 'pedestrian'; it has nothing"):
        make_transform("add", gallery=str(tmp_path))


def test_a_gallery_of_ones_own(tmp_path: Path, town: Frame) -> None:
    pixels = np.zeros((60, 24, 4), np.uint8)
    pixels[...] = (255, 0, 255, 255)
    mine = CutOut("mine", "pedestrian", height=1.8, ambience=(90.0, 90.0, 90.0), pixels=pixels)
    Gallery([mine]).save(tmp_path)
    changed = make_transform("add", gallery=str(tmp_path))(town, 2, measure=False)
    assert note_of(changed)["cut_out"] == "mine"
    both = make_transform("add", gallery=f"shipped,{tmp_path}")
    assert {note_of(both(town, seed, measure=False))["cut_out"] for seed in range(60)} >= {"mine"}


def test_it_can_be_spelled_and_composed(town: Frame) -> None:
    spelled = str(make_transform("add", element="red car", relation="in front of", reference="ego-vehicle"))
    assert spelled == "add(element=red car, relation=in front of, reference=ego-vehicle)"
    assert parse_transform(spelled) == Add(element="red car", relation="in front of", reference="ego-vehicle")
    both = compose([make_transform("add"), make_transform("add", element="tree")])
    changed = both(town, 3, measure=False)
    added: Any = changed.metadata["added"]
    assert len(added) == 2
    for name in Add.presets:
        assert ontology().get(str(Add.preset(name).element)) is not None


@pytest.mark.parametrize("words", ["school bus", "stop sign"])
def test_what_can_be_read_is_not_mirrored(town: Frame, words: str) -> None:
    change = make_transform("add", element=words)
    notes = [note_of(change(town, seed, measure=False)) for seed in range(8)]
    assert not any(note["mirrored"] for note in notes)


def test_what_would_not_be_seen_is_not_added(town: Frame) -> None:
    dark = town.replace(image=town.image // 16, metadata={})
    with pytest.raises(NotApplicable, match="would not stand out"):
        make_transform("add", element="pedestrian")(dark, 1, measure=False)


@pytest.mark.parametrize("ending", [".png", ".parts.png"])
def test_a_broken_cut_out_makes_the_frame_not_qualify(town: Frame, tmp_path: Path, ending: str) -> None:
    (sign,) = Gallery.shipped().select("stop sign")
    Gallery([sign]).save(tmp_path)
    (tmp_path / f"{sign.name}{ending}").write_bytes(b"")
    change = make_transform("add", element="stop sign", gallery=str(tmp_path))
    with pytest.raises(NotApplicable, match=f"cannot read the cut-out .*{sign.name}{ending}") as refused:
        change(town, 1, measure=False)
    assert refused.value.frame == town.id
    with pytest.raises(NotApplicable, match="cannot read the cut-out"):
        Add(element="stop sign", gallery=str(tmp_path)).region(town, 1)


def without_pavements(frame: Frame) -> Frame:
    """The frame with terrain in their place, as beside a country road."""
    ids, classes = frame.label_map.ids.copy(), frame.label_map.classes
    ids[frame.label_map.mask("sidewalk")] = classes.index("terrain")
    return frame.replace(labels=LabelMap(ids, classes))


def test_real_frames_get_solid_people_and_the_world_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = load("world:town", count=1)[0]
    street = drawn.replace(metadata={})
    real = without_pavements(street)
    add = make_transform("add", element="pedestrian")

    def added(frame: Frame) -> str:
        return str(note_of(add(frame, 7, measure=False))["cut_out"])

    assert added(real).startswith("solid-pedestrian")
    assert added(drawn).startswith("pedestrian")
    assert note_of(add.replace(realism="any")(street, 5, measure=False))
    assert Gallery.shipped_for(False).select("stop sign") == Gallery.shipped().select("stop sign")
    monkeypatch.setattr(believing, "_LEAST_OF_PEOPLE", {(0.0, 1.0): 1.01})
    assert added(drawn).startswith("pedestrian")
    with pytest.raises(NotApplicable, match="would not stand out from its background"):
        added(real)


PERSON = make_transform("add", element="pedestrian")


@pytest.fixture(scope="module")
def believed() -> tuple[Frame, Frame, int]:
    """A frame that the world did not draw, somebody solid in it, and the seed."""
    frame = without_pavements(load("world:town", count=1)[0].replace(metadata={}, depth=None))
    for seed in range(50, 74):
        try:
            return frame, PERSON(frame, seed, measure=False), seed
        except NotApplicable:
            continue
    raise AssertionError("nobody can be added")


def painted(frame: Frame, colour: Any, rows: slice, columns: slice, but: Mask | None = None) -> Frame:
    """The frame with a rectangle of one colour, apart from some of its pixels."""
    image = frame.image.copy()
    there = np.zeros(image.shape[:2], np.bool_)
    there[rows, columns] = True
    image[there if but is None else there & ~but] = colour
    return frame.replace(image=image)


def test_no_post_grows_from_a_head(believed: tuple[Frame, Frame, int]) -> None:
    frame, after, seed = believed
    left, top, right, bottom = note_of(after)["box"]
    own = np.flatnonzero((frame.label_map.ids != after.label_map.ids)[top + 2, left:right]) + left
    middle = int(own.mean())
    head = float(after.image[top + 2, own].mean())
    behind, post_level = (20, 140) if head > 120 else (235, 100)
    plain = painted(frame, behind, slice(0, top + (bottom - top) // 5), slice(left - 20, right + 20))
    assert note_of(PERSON(plain, seed, measure=False)) == note_of(after)
    post = painted(plain, post_level, slice(0, top), slice(middle - 1, middle + 2))
    with pytest.raises(NotApplicable, match="a post would seem to grow"):
        PERSON(post, seed, measure=False)
    aside = painted(plain, post_level, slice(0, top), slice(right + 8, right + 11))
    assert note_of(PERSON(aside, seed, measure=False)) == note_of(after)


def test_nobody_melts_into_what_is_around_the_head(believed: tuple[Frame, Frame, int]) -> None:
    frame, after, seed = believed
    left, top, right, bottom = note_of(after)["box"]
    own = frame.label_map.ids != after.label_map.ids
    head = slice(top, top + (bottom - top) // 7)
    colour = np.median(after.image[head][own[head]], axis=0)
    around = painted(frame, colour, slice(top - 8, head.stop + 4), slice(left - 8, right + 8), but=own)
    with pytest.raises(NotApplicable, match="could not be told from what is around"):
        PERSON(around, seed, measure=False)


def test_nobody_stands_on_a_post(believed: tuple[Frame, Frame, int]) -> None:
    frame, after, seed = believed
    bottom, (low, high) = note_of(after)["box"][3], note_of(after)["foot"]
    below, middle = slice(bottom, bottom + 20), (low + high) // 2
    for columns, fits in ((slice(middle - 1, middle + 2), False), (slice(high + 8, high + 11), True)):
        post = painted(frame, 250, below, columns)
        if fits:
            assert note_of(PERSON(post, seed, measure=False)) == note_of(after)
        else:
            with pytest.raises(NotApplicable, match="would seem to stand on a post"):
                PERSON(post, seed, measure=False)


def beside(frame: Frame, element: str, foot: int, high: int, left: int, wide: int) -> Frame:
    """The frame with somebody or something labelled in it, whose size tells how large things are."""
    ids = frame.label_map.ids.copy()
    ids[foot - high : foot, left : left + wide] = frame.label_map.classes.index(element)
    return frame.replace(labels=LabelMap(ids, frame.label_map.classes))


@pytest.mark.parametrize(
    ("element", "shape", "size", "reason"),
    [
        ("pedestrian", 0.3, 1.0, ""),
        ("pedestrian", 0.3, 1.5, "somebody who is there tells otherwise"),
        ("pedestrian", 0.3, 0.6, "somebody who is there tells otherwise"),
        ("pedestrian", 1.5, 0.6, ""),  # several people, not one
        ("vehicle", 1.3, 0.9, ""),
        ("vehicle", 1.3, 0.7, "a giant beside the vehicles"),
    ],
)
def test_people_are_as_high_as_those_who_are_there_and_as_vehicles_allow(
    believed: tuple[Frame, Frame, int], element: str, shape: float, size: float, reason: str
) -> None:
    frame, after, seed = believed
    left, top, _, bottom = note_of(after)["box"]
    high = round(size * (bottom - top))
    there = beside(frame, element, bottom, high, left - 160, round(shape * high))
    if reason:
        with pytest.raises(NotApplicable, match=reason):
            PERSON(there, seed, measure=False)
    else:
        assert note_of(PERSON(there, seed, measure=False))["cut_out"] == note_of(after)["cut_out"]


def test_nothing_stands_where_feet_would_be(believed: tuple[Frame, Frame, int]) -> None:
    frame, after, seed = believed
    ids, (low, high), bottom = frame.label_map.ids.copy(), note_of(after)["foot"], note_of(after)["box"][3]
    classes = frame.label_map.classes_with("pole")
    ids[bottom - 2 : bottom + 2, low - 3 : low] = ids[bottom + 1 : bottom + 2, low:high] = classes.index(
        "pole"
    )
    with pytest.raises(NotApplicable, match="something stands where its feet would be"):
        PERSON(frame.replace(labels=LabelMap(ids, classes)), seed, measure=False)


def test_solid_people_are_looked_at(
    believed: tuple[Frame, Frame, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    frame, _, seed = believed
    monkeypatch.setattr(compositing, "unfit_model", lambda *_: "it would be a statue")
    monkeypatch.setattr(compositing, "stands_out", lambda *_, **__: True)
    with pytest.raises(NotApplicable, match="statue"):
        PERSON(frame, seed, measure=False)


@pytest.mark.parametrize("pose", ["crossing", "stepping onto the road", "waiting", "walking along"])
def test_poses_are_made_by_name_alone_on_real_frames(believed: tuple[Frame, Frame, int], pose: str) -> None:
    frame = believed[0]
    add = PERSON.replace(pose=pose)
    with pytest.raises(NotApplicable, match=f"that is {pose} does not look real enough"):
        add(frame, 1, measure=False)
    assert note_of(add.replace(realism="any")(frame, 1, measure=False))


def test_nobody_in_a_pose_wears_a_coat_that_looks_like_a_robe() -> None:
    for one in Gallery.posed():
        if one.element == "pedestrian" and not one.properties:
            high = len(one.rgba)
            parts = one.rgba[high // 4 : 2 * high // 5], one.rgba[5 * high // 9 : 2 * high // 3]
            colours = [np.median(part[part[..., 3] > 200][:, :3], axis=0) for part in parts]
            assert np.abs(np.subtract(*colours)).max() > 12, one.name


def test_nobody_stands_in_burnt_out_glare(believed: tuple[Frame, Frame, int]) -> None:
    frame, after, seed = believed
    (low, high), bottom = note_of(after)["foot"], note_of(after)["box"][3]
    glare = painted(frame, 255, slice(bottom - 10, bottom + 10), slice(low - 6, high + 6))
    with pytest.raises(NotApplicable, match="the sun blinds the camera"):
        PERSON(glare, seed, measure=False)


def test_estimated_labels_that_contradict_themselves_tell_no_roadside(
    believed: tuple[Frame, Frame, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    frame, after, seed = believed
    monkeypatch.setattr(compositing, "unfit_place", lambda *_: "")
    left, _, right, bottom = note_of(after)["box"]
    estimated = {"labels_from": "street (estimated)"}
    assert note_of(PERSON(frame.replace(metadata=estimated), seed, measure=False)) == note_of(after)
    blurred = frame.replace(image=cv2.GaussianBlur(frame.image, (0, 0), 2.0), metadata=estimated)
    ids = frame.label_map.ids.copy()
    ids[bottom - 10 : bottom - 3, left - 30 : right + 30] = frame.label_map.classes.index("road")
    behind = frame.replace(labels=LabelMap(ids, frame.label_map.classes), metadata=estimated)
    for wrong in (blurred, behind):
        with pytest.raises(NotApplicable, match="labels cannot be trusted to tell where the road ends"):
            PERSON(wrong, seed, measure=False)
