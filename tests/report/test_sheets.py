from __future__ import annotations

import numpy as np
import pytest

from roadworthy.cases import ClassScores
from roadworthy.errors import InputError
from roadworthy.frames import Frame, Signals
from roadworthy.report import Pair, Tile, contact_sheet, frame_sheet, pair_sheet
from roadworthy.report.drawing import text_width
from roadworthy.report.sheets import _slower, _tiles, _titles, _wrapped


def tile(height: int = 20, width: int = 40, value: int = 200) -> Tile:
    return Tile(np.full((height, width, 3), value, np.uint8))


def count_tiles(sheet: np.ndarray[tuple[int, ...], np.dtype[np.uint8]], value: int = 200) -> int:
    return int((sheet == value).all(axis=2).sum()) // 800


@pytest.mark.parametrize(("number", "columns"), [(1, 3), (3, 3), (4, 3), (7, 2), (5, 9)])
def test_every_tile_is_on_the_sheet_once_and_whole(number: int, columns: int) -> None:
    sheet = contact_sheet([tile()] * number, columns)
    assert sheet.dtype == np.uint8
    assert count_tiles(sheet) == number


def test_tiles_of_several_sizes_keep_theirs() -> None:
    sheet = contact_sheet([tile(20, 40, 200), tile(40, 20, 220)], 2)
    assert (sheet == 200).all(axis=2).sum() == (sheet == 220).all(axis=2).sum() == 800


def test_titles_heading_and_footer_add_room() -> None:
    plain = contact_sheet([tile()])
    titled = contact_sheet([Tile(tile().image, "town", "rain")])
    headed = contact_sheet([tile()], title="World", note="one frame")
    footed = contact_sheet([tile()], footer=tile(10, 40, 150).image)
    assert titled.shape[0] > plain.shape[0]
    assert headed.shape[0] > plain.shape[0]
    assert (footed == 150).all(axis=2).sum() == 400


def test_no_tiles_and_no_columns_are_errors() -> None:
    with pytest.raises(InputError, match="at least one tile, got none"):
        contact_sheet([])
    with pytest.raises(InputError, match="at least one tile, got none"):
        frame_sheet([])
    with pytest.raises(InputError, match="columns must be 1 or more, got 0"):
        contact_sheet([tile()], 0)


def test_titles_say_what_a_frame_shows() -> None:
    image = np.zeros((4, 4, 3), np.uint8)
    metadata = {"track": "town", "weather": "rainy", "level": "heavy", "time": "night"}
    assert _titles(Frame("f1", image, metadata=metadata)) == ("town · rainy · night", "f1")
    metadata["season"] = "winter"
    assert _titles(Frame("f1", image, metadata=metadata)) == ("town · rainy · night · winter", "f1")
    assert _titles(Frame("f1", image)) == ("f1", "")


def test_a_frame_sheet_takes_frames_of_any_size_and_knowledge() -> None:
    frames = [
        Frame("a", np.zeros((30, 60, 3), np.uint8), signals=Signals(speed=3.0)),
        Frame("b", np.zeros((60, 30, 3), np.uint8), depth=np.ones((60, 30), np.float32)),
    ]
    sheet = frame_sheet(iter(frames), 2, overlays="boxes,labels,depth,signals", scale=2)
    assert sheet.shape[1] > 2 * 120


def test_a_pair_shows_before_after_and_difference() -> None:
    before = Frame("a", np.full((20, 40, 3), 200, np.uint8), signals=Signals(speed=10.0))
    image = before.image.copy()
    image[:10] = 90
    after = Frame("b", image, signals=Signals(speed=5.0))
    sheet = pair_sheet([Pair("dark", before, after)], scale=1)
    assert (sheet == 200).all(axis=2).sum() == 800 + 400
    assert (sheet == 90).all(axis=2).sum() == 400


@pytest.mark.parametrize(
    ("speeds", "told"),
    [
        ((10.0, 5.0), "-50% speed"),
        ((8.0, 10.0), "+25% speed"),
        ((8.0, 8.01), "same speed"),
        ((0.0, 5.0), ""),
        ((8.0, None), ""),
    ],
)
def test_a_pair_tells_how_much_slower_it_is(speeds: tuple[float, float | None], told: str) -> None:
    image = np.zeros((20, 40, 3), np.uint8)
    before, after = (
        Frame(name, image, signals=Signals(speed=speed)) for name, speed in zip("ab", speeds, strict=True)
    )
    assert _slower(Pair("dark", before, after)) == told


def test_the_three_likeliest_classes_are_named() -> None:
    frame = Frame("a", np.zeros((20, 40, 3), np.uint8))
    scores = ClassScores(("w", "x", "y", "z"), np.array([0.1, 0.4, 0.125, 0.375]))
    (tile,) = _tiles(frame, scores, 1.0)
    assert (tile.title, tile.note) == ("a", "x 0.40, z 0.38, y 0.12")


@pytest.mark.parametrize("where", ["tile", "heading"])
def test_no_caption_is_cut_off(where: str) -> None:
    title, note = (
        "the pedestrian would not stand out in front of what is there",
        "labels are estimated (street)",
    )

    def ink(width: int) -> int:
        image = np.zeros((20, width, 3), np.uint8)
        if where == "tile":
            sheet = contact_sheet([Tile(image, title, note)])
        else:
            sheet = contact_sheet([Tile(image)], title=title, note=note)
        assert sheet.shape[1] == width + 72
        return int((sheet > 120).sum())

    assert ink(240) == pytest.approx(ink(2000), rel=0.02)


def test_a_long_id_is_broken_and_keeps_its_number() -> None:
    id = "2024-03-17_18-22-45_front_camera_dashcam_1080p-000250"
    for text, room in ((id, 300), (f"town {id} night", 120), ("x" * 90, 60)):
        lines = _wrapped(text, 13, room)
        assert "".join(lines).replace(" ", "") == text.replace(" ", "")
        assert all(text_width(line, 13) <= room for line in lines)
    assert _wrapped(id, 13, 300)[-1].endswith("000250")
    assert _wrapped("wide", 13, 1) == ["w", "i", "d", "e"]
