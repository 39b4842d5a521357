from __future__ import annotations

import json
import os
from pathlib import Path

import cv2
import numpy as np
import pytest

from roadworthy.errors import InputError, OntologyError
from roadworthy.ontology import ontology
from roadworthy.transforms.objects import Gallery
from roadworthy.transforms.objects.gallery import CutOut
from roadworthy.transforms.perspective import real_height

SHIPPED = Path(__file__).parents[3] / "src/roadworthy/transforms/objects/gallery_data"


def cut_out(name: str = "one", element: str = "pedestrian", **details: object) -> CutOut:
    pixels = np.zeros((20, 10, 4), np.uint8)
    pixels[:, 2:8] = (200, 100, 50, 255)
    given = {"height": 1.7, "ambience": (90.0, 91.0, 92.0), "pixels": pixels, **details}
    return CutOut(name, element, **given)  # type: ignore[arg-type]


def test_what_ships_covers_what_rules_speak_of() -> None:
    gallery = Gallery.shipped()
    for words in (
        "pedestrian", "red car", "white van", "truck", "school bus", "cyclist", "stop sign", "yield sign",
        "speed limit sign", "turn sign", "red light", "yellow light", "green light", "tree", "pole",
    ):  # fmt: skip
        assert gallery.select(words), words
    assert {one.properties["color"] for one in gallery.select("car")} == set(
        ontology()["vehicle"].properties["color"]
    )
    assert sum(file.stat().st_size for file in SHIPPED.iterdir()) <= 1.5e6


def test_what_ships_is_whole_and_as_high_as_such_things_are() -> None:
    for one in Gallery.shipped():
        rgba = one.rgba
        assert rgba.shape[2] == 4
        solid = rgba[..., 3] > 25
        # Cut close: it reaches all four edges.
        assert all(edge.any() for edge in (solid[0], solid[-1], solid[:, 0], solid[:, -1])), one
        usual = real_height(one.element, one.properties)
        assert usual is not None
        assert 0.7 < one.height / usual < 1.35, one
        assert all(60 < level < 140 for level in one.ambience)


def test_signs_and_lights_stand_on_poles() -> None:
    for one in (*Gallery.shipped().select("traffic sign"), *Gallery.shipped().select("traffic light")):
        assert set(one.part_names) == {one.element, "pole"}
        assert one.part_ids is not None
        solid = one.rgba[..., 3] > 127
        names = np.array(one.part_names)[one.part_ids]
        assert set(names[-20:][solid[-20:]]) == {"pole"}
        assert (names[: one.shape[0] // 4][solid[: one.shape[0] // 4]] == one.element).mean() > 0.9


def test_vehicles_are_seen_from_behind_and_from_the_front() -> None:
    views = Gallery.shipped().select("red car")
    assert {one.thing for one in views} == {"red-car"}
    assert {one.facing for one in views} == {"away", "toward"}
    assert max(one.bearing for one in views) > 10


def test_a_selection_that_is_empty_says_what_there_is() -> None:
    with pytest.raises(
        InputError, match=r"'shipped' has no 'tram'; it has pedestrian 62 \(child 30, .*traffic sign 8 \(stop"
    ):
        Gallery.shipped().select("tram")
    with pytest.raises(InputError, match="it has nothing"):
        Gallery([]).select("pedestrian")
    with pytest.raises(OntologyError, match="unicorn"):
        Gallery.shipped().select("unicorn")
    assert Gallery.shipped().select("vehicle", {"color": "green"})[0].properties["color"] == "green"


def test_saved_and_loaded_again_it_is_the_same(tmp_path: Path) -> None:
    ids = np.zeros((20, 10), np.uint8)
    ids[:8] = 1
    sign = cut_out(
        "stop", "stop sign", properties={"type": "stop"}, parts=ids, part_names=("pole", "traffic sign"),
        source="camvid:7", height=2.75,
    )  # fmt: skip
    car = cut_out("car", "vehicle", properties={"color": "red"}, facing="away", bearing=-12.5, thing="mine")
    Gallery([sign, car]).save(tmp_path / "mine")
    loaded = Gallery.load(tmp_path / "mine")
    assert len(loaded) == 2
    first, second = loaded
    assert np.array_equal(first.rgba[..., 3], sign.rgba[..., 3])
    assert np.array_equal(first.rgba[4, 4], sign.rgba[4, 4])
    assert first.part_ids is not None
    assert np.array_equal(first.part_ids, ids)
    assert (first.element, dict(first.properties), first.source) == (
        "traffic sign",
        {"type": "stop"},
        "camvid:7",
    )
    assert (second.facing, second.bearing, second.thing, second.height) == ("away", -12.5, "mine", 1.7)
    assert second.part_ids is None


def test_a_gallery_that_changed_is_read_again(tmp_path: Path) -> None:
    Gallery([cut_out("a")]).save(tmp_path)
    assert len(Gallery.load(tmp_path)) == 1
    Gallery([cut_out("a"), cut_out("b")]).save(tmp_path)
    assert len(Gallery.load(tmp_path)) == 2
    # Only a picture is another, and its times are those of before.
    before = (tmp_path / "a.png").stat()
    assert next(iter(Gallery.load(tmp_path))).rgba[0, 5, 0] == 200
    pixels = cut_out().rgba.copy()
    pixels[..., 0] = 55
    Gallery([cut_out("a", pixels=pixels), cut_out("b")]).save(tmp_path / "other")
    (tmp_path / "other" / "a.png").replace(tmp_path / "a.png")
    os.utime(tmp_path / "a.png", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert next(iter(Gallery.load(tmp_path))).rgba[0, 5, 0] == 55


def test_a_gallery_grows_and_loses_nothing() -> None:
    darker = np.zeros((20, 10, 4), np.uint8)
    darker[:, 2:8] = (20, 10, 5, 255)
    unseen = cut_out().rgba.copy()
    unseen[:, :2, :3] = 99  # colours under transparent pixels make no other picture
    before = Gallery([cut_out("a"), cut_out("b")], "mine")
    after = before.grown([cut_out("a", pixels=darker), cut_out("b", pixels=unseen), cut_out("C")])
    assert after.name == "mine"
    assert [one.name for one in after] == ["a", "b", "a.2", "C"]
    assert list(after)[:2] == list(before)
    assert after[2].thing == "a.2", "another thing, and not another view of the first"
    assert np.array_equal(after[2].rgba, darker)
    # What came in under another name is known again; of names that differ in case only there is one.
    again = after.grown([cut_out("a", pixels=darker), cut_out("c", pixels=darker)])
    assert [one.name for one in again] == ["a", "b", "a.2", "C", "c.2"]


def test_several_galleries_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roadworthy._files._SETTLED", 0.0)
    Gallery([cut_out("mine")]).save(tmp_path)
    both = Gallery.opened(f"shipped,{tmp_path}")
    assert len(both) == len(Gallery.shipped()) + 1
    assert "mine" in {one.name for one in both.select("pedestrian")}
    # What is made of it is kept, so it must not be another one for each frame.
    assert Gallery.opened(f"shipped,{tmp_path}") is both
    with pytest.raises(InputError, match="must be 'own', 'shipped', a folder or data, got ' , '"):
        Gallery.opened(" , ")


def test_small_sizes_are_made_once_and_mirrored(tmp_path: Path) -> None:
    one = cut_out()
    one.rgba[:, 2:5, :3] = 10
    small = one.scaled(10, 5)
    assert small.shape == (10, 5, 4)
    assert one.scaled(10, 5) is small
    assert one.scaled(600, 300) is not one.scaled(600, 300)  # what is large is not kept
    assert np.array_equal(one.scaled(10, 5, True), small[:, ::-1])
    assert not small.flags.writeable
    # Multiplied by alpha: what is transparent is black.
    assert (small[small[..., 3] == 0] == 0).all()
    assert one.foot == (0.2, 0.8)
    assert one.foot_span(True) == pytest.approx((0.2, 0.8))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"height": -1}, r"cut_outs > 0 > height: expected above 0, got -1"),
        ({"height": float("inf")}, r"cut_outs > 0 > height: expected a finite number"),
        ({"bearing": float("nan")}, r"cut_outs > 0 > bearing: expected a finite number"),
        ({"facing": "up"}, r"cut_outs > 0 > facing: "),
        ({"name": "../x"}, r"cut_outs > 0 > name: "),
        ({"colour": 1}, r"unknown key 'colour'"),
        ({"element": "unicorn"}, "'unicorn' is not in the ontology"),
        ({"properties": {"type": "boat"}}, "'boat' is not a type"),
    ],
)
def test_a_broken_index_is_refused(tmp_path: Path, change: dict[str, object], message: str) -> None:
    row = {"name": "a", "element": "pedestrian", "height": 1.7, "ambience": [1, 2, 3], **change}
    (tmp_path / "gallery.json").write_text(json.dumps({"format": 1, "cut_outs": [row]}))
    with pytest.raises(InputError, match=message) as error:
        Gallery.load(tmp_path)
    assert "gallery.json" in str(error.value)


def test_broken_pictures_are_refused_when_they_are_used(tmp_path: Path) -> None:
    Gallery([cut_out("a"), cut_out("b"), cut_out("c"), cut_out("d")]).save(tmp_path)
    (tmp_path / "a.png").write_bytes(b"no picture")
    (tmp_path / "b.png").unlink()
    cv2.imwrite(str(tmp_path / "c.png"), np.zeros((4, 4, 3), np.uint8))
    cv2.imwrite(str(tmp_path / "d.png"), np.zeros((4, 4, 4), np.uint8))
    loaded = Gallery.load(tmp_path)
    for one, message in zip(loaded, ("corrupt", "No such file", "four channels", "transparent"), strict=True):
        with pytest.raises(InputError, match=message):
            _ = one.rgba


def test_there_must_be_a_gallery(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no gallery.json: give the folder that"):
        Gallery.load(tmp_path)
    (tmp_path / "gallery.json").write_text("{")
    with pytest.raises(InputError, match="must be JSON"):
        Gallery.load(tmp_path)
    with pytest.raises(InputError, match="two cut-outs have the name 'a'"):
        Gallery([cut_out("a"), cut_out("a")]).save(tmp_path / "twice")
    with pytest.raises(InputError, match="must be above 0"):
        cut_out(height=0.0)
    with pytest.raises(InputError, match="must be above 0 and finite, got inf"):
        cut_out(height=float("inf"))


def test_an_index_says_what_is_known_and_no_more(tmp_path: Path) -> None:
    known = {
        "properties": {"color": "red", "type": "car"},
        "facing": "away",
        "bearing": 1.236,
        "source": "ä:1",
    }
    car = cut_out("car", "vehicle", height=1.50049, ambience=(90.04, 0.0, 255.0), thing="mine", **known)
    Gallery([cut_out("a", ambience=(1.0, 2.0, 3.0)), car]).save(tmp_path)
    assert json.loads((tmp_path / "gallery.json").read_text("utf-8")) == {
        "format": 1,
        "cut_outs": [
            {"name": "a", "element": "pedestrian", "height": 1.7, "ambience": [1, 2, 3], "thing": "a"},
            {
                "name": "car",
                "element": "vehicle",
                "height": 1.5,
                "ambience": [90, 0, 255],
                "properties": {"color": "red", "type": "car"},
                "thing": "mine",
                "facing": "away",
                "bearing": 1.24,
                "source": "ä:1",
            },
        ],
    }
    assert not (tmp_path / ".gallery.json.new").exists()
    assert Gallery.load(tmp_path)[1].facts() == {
        "name": "car", "element": "vehicle", "properties": {"color": "red", "type": "car"}, "height": 1.5,
        "thing": "mine", "facing": "away", "source": "ä:1",
    }  # fmt: skip


def test_contents_count_things_and_not_their_views() -> None:
    red = {"properties": {"type": "car", "color": "red"}}
    gallery = Gallery(
        [
            cut_out("a", "vehicle", thing="one", **red),
            cut_out("b", "vehicle", thing="one", **red),
            cut_out("c", "vehicle", thing="two", **red),
            cut_out("d", "vehicle", properties={"type": "truck"}),
            cut_out("e"),
        ],
        "mine",
    )
    assert gallery.contents() == "vehicle 3 (red car 2, truck), pedestrian 1"
    assert gallery.counts() == {"vehicle": {"red car": 2, "truck": 1}, "pedestrian": {"": 1}}
    assert repr(gallery) == "Gallery('mine', 5 cut-outs)"
    assert [one.name for one in gallery.fitting("red vehicle")] == ["a", "b", "c"]
    assert gallery.fitting("dynamic object") == tuple(gallery)
    assert gallery.fitting("tree") == ()
    merged = Gallery.merged([gallery, Gallery([cut_out("z")], "other")])
    assert (merged.name, len(merged)) == ("mine,other", 6)


def test_real_frames_get_solid_models_where_there_are_some() -> None:
    drawn, solid = (Gallery.shipped_for(one) for one in (True, False))
    assert drawn is Gallery.shipped()
    assert solid.select("pedestrian")[0].name.startswith("solid-")
    kinds = {(one.element, one.properties.get("type")) for one in drawn}
    assert kinds <= {(one.element, one.properties.get("type")) for one in solid}
    assert not [one for one in solid.select("pedestrian") if not one.name.startswith("solid-")]


def test_what_a_cut_out_says_of_itself(tmp_path: Path) -> None:
    assert [cut_out(element=one).readable for one in ("stop sign", "traffic light", "car", "tree")] == [
        True, True, False, False
    ]  # fmt: skip
    assert cut_out("bus", "vehicle", properties={"type": "school bus"}).readable
    assert cut_out().highlights == pytest.approx(350 / 3)
    feet = cut_out().rgba.copy()
    feet[-2:] = 0
    feet[-1, 3] = 255
    assert cut_out(pixels=feet).foot == (0.3, 0.4)
    assert cut_out(pixels=feet).foot_span(True) == pytest.approx((0.6, 0.7))
    feet[-1, 3, 3] = 127
    assert cut_out(pixels=feet).foot == (0.0, 1.0)
    ids = np.zeros((20, 10), np.uint8)
    ids[:8, :5] = 1
    sign = cut_out("s", "stop sign", parts=ids, part_names=("pole", "traffic sign"))
    small = sign.scaled_parts(10, 5)
    assert small is not None
    assert small[:4, :2].tolist() == [[1, 1]] * 4
    mirrored = sign.scaled_parts(20, 10, True)
    assert mirrored is not None
    assert np.array_equal(mirrored, ids[:, ::-1])
    assert cut_out().scaled_parts(4, 4) is None
    Gallery([sign]).save(tmp_path)
    cv2.imwrite(str(tmp_path / "s.parts.png"), np.full((20, 10), 2, np.uint8))
    with pytest.raises(InputError, match=r"s\.parts\.png does not fit s\.png: make the gallery again"):
        _ = Gallery.load(tmp_path)[0].part_ids
    Gallery([cut_out("l")]).save(tmp_path / "lossy", lossy=True)
    assert not (tmp_path / "lossy" / "l.png").exists()
    found = Gallery.load(tmp_path / "lossy")[0].rgba.astype(int)
    assert np.abs(found - cut_out().rgba)[4, 4].max() < 12
