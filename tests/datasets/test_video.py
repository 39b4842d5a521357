"""Films: numbers, times and pictures of frames, against films whose frames show their number in bits."""

from __future__ import annotations

import multiprocessing
import pickle
import random
import struct
from pathlib import Path

import cv2
import numpy as np
import pytest
from tests.fuzz.harness import CORPUS

from roadworthy.datasets import load
from roadworthy.datasets.folder import VideoDataset
from roadworthy.errors import FrameError, InputError
from roadworthy.images import Image, write_image

JUMPS = CORPUS / "video" / "seed-jumps.mp4"
"""H.264 with B-frames and open groups of 60 pictures: 150 frames at 20 a second."""
UNEVEN = CORPUS / "video" / "seed-uneven.mkv"
"""100 frames at uneven times, with a pause of 0.8 s after frame 60."""
BARE = CORPUS / "video" / "seed-bare.hevc"
"""A stream of HEVC without a container: 40 frames and no times."""


def number_in(image: Image) -> int:
    return sum(1 << bit for bit in range(8) if image[8, 8 * bit + 4].mean() > 130)


def video(path: Path, **options: object) -> VideoDataset:
    data = load(f"video:{path}", **options)
    assert isinstance(data, VideoDataset)
    return data


def film(path: Path, count: int = 40, code: str = "MJPG", size: tuple[int, int] = (64, 32)) -> Path:
    """Write a film of 10 frames a second; frame n is 5 n bright, and its top left corner white."""
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*code), 10, size)
    for number in range(count):
        image = np.full((size[1], size[0], 3), 5 * number, np.uint8)
        image[:8, :8] = 255
        writer.write(image)
    writer.release()
    return path


@pytest.mark.parametrize(("path", "count"), [(JUMPS, 150), (UNEVEN, 100), (BARE, 40)])
def test_every_frame_is_the_one_that_was_asked_for(path: Path, count: int) -> None:
    data = video(path)
    assert len(data) == count
    assert [number_in(frame.image) for frame in data] == list(range(count))
    picked = [*random.Random(3).choices(range(count), k=40), count - 1, 0, count - 2, 1]
    assert [number_in(data[number].image) for number in picked] == picked


def test_a_frame_after_a_jump_is_the_same_to_the_last_bit() -> None:
    data, again = video(JUMPS), video(JUMPS)
    in_order = [frame.image for frame in data]
    # 57 to 59 come before the key frame 60 and refer to it; 61 is the first after it that has no key frame.
    for number in (149, 61, 60, 59, 57, 120, 119, 2):
        assert np.array_equal(again[number].image, in_order[number]), number


def test_a_film_that_names_no_key_frames_is_read_from_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "flatnonzero", lambda _: np.array([], int))
    data = video(JUMPS)
    monkeypatch.undo()
    assert [number_in(data[number].image) for number in (120, 3, 90)] == [120, 3, 90]


def test_times_are_those_of_the_container() -> None:
    data = video(UNEVEN)
    times = [data.signals(number).timestamp or 0.0 for number in range(len(data))]
    assert times[:5] == pytest.approx([0, 0.079, 0.143, 0.198, 0.236])
    assert times[-1] == pytest.approx(6.193)
    assert int(np.argmax(np.diff(times))) == 60
    assert data[60].signals.timestamp == times[60]
    assert data.ids[60] == "seed-uneven-000060"
    assert set(data.clusters) == {"seed-uneven"}


def test_step_and_range_in_seconds_and_frames() -> None:
    chosen = video(JUMPS, step=20, start="1.5", end="100 frames")
    assert [number_in(frame.image) for frame in chosen] == [30, 50, 70, 90]
    assert chosen.ids[0] == "seed-jumps-000030"
    assert chosen[0].signals.timestamp == pytest.approx(1.5)
    assert len(video(JUMPS, end="1 s")) == 20
    with pytest.raises(InputError, match=r"150 frames and 7\.\d s: nothing is left from 9.0 to None"):
        video(JUMPS, start=9)
    with pytest.raises(InputError, match=r"start must be seconds, such as 12.5, or frames"):
        video(JUMPS, start="soon")
    with pytest.raises(InputError, match="step must be 1 or more, got 0"):
        video(JUMPS, step=0)


def test_a_stream_without_times_gets_them_from_a_rate() -> None:
    assert video(BARE).signals(3).timestamp is None
    assert video(BARE, rate=20).signals(3).timestamp == pytest.approx(0.15)
    with pytest.raises(InputError, match="has no times: give its rate, or end in frames"):
        video(BARE, end="1 s")


def turned(path: Path) -> Path:
    """Let the header of an MP4 say that players shall turn the film by 90 degrees to the right."""
    content = bytearray(path.read_bytes())
    matrix = content.index(b"tkhd") + 4 + 40
    content[matrix : matrix + 36] = struct.pack(">9i", 0, 65536, 0, -65536, 0, 0, 32 << 16, 0, 1 << 30)
    path.write_bytes(content)
    return path


def test_rotation_of_the_film_and_of_the_user(tmp_path: Path) -> None:
    path = turned(film(tmp_path / "phone.mp4", code="mp4v"))

    def corner(**options: object) -> tuple[tuple[int, ...], tuple[int, int]]:
        image = video(path, **options)[0].image
        white = np.argwhere(image.mean(axis=2) > 200).mean(axis=0) / image.shape[:2]
        return image.shape[:2], (round(white[0]), round(white[1]))

    assert corner() == ((64, 32), (0, 1)), "as the film says: what was top left is top right"
    assert corner(rotation=0) == ((32, 64), (0, 0))
    assert corner(rotation=90) == corner()
    assert corner(rotation="180") == ((32, 64), (1, 1))
    assert corner(rotation=270) == ((64, 32), (1, 0))


def test_folders_of_films(tmp_path: Path) -> None:
    for name in ("b.avi", "a.avi"):
        film(tmp_path / name, count=3)
    film(tmp_path / "b.mp4", count=2, code="mp4v")
    for reader in ("folder", "video"):
        data = load(f"{reader}:{tmp_path}")
        assert data.ids[2:5] == ("a-000002", "b.avi-000000", "b.avi-000001")  # type: ignore[attr-defined]
        assert data.clusters[-3:] == ("b.avi", "b.mp4", "b.mp4")  # type: ignore[attr-defined]
        assert data[4].signals.timestamp == pytest.approx(0.1)
        assert data[4].image[20, 30].mean() == pytest.approx(5, abs=3)
    write_image(tmp_path / "poster.png", np.zeros((4, 4, 3), np.uint8))
    assert load(f"folder:{tmp_path}").ids == ("poster",), "images go first"  # type: ignore[attr-defined]


def test_signals_beside_a_film(tmp_path: Path) -> None:
    path = film(tmp_path / "dash.avi")
    table = tmp_path / "dash.csv"
    table.write_text(
        "time,speed,steering,note\n100000,36,0.1,a\n100200,72,,b\n103000,72,-0.1,c\n103100,36,0.1,d\n"
    )
    units = {"time_unit": "ms", "offset": 100, "speed_unit": "km/h", "steering_unit": "rad"}
    data = video(path, signals=table, steering_positive="left", **units)
    assert data[1].signals.speed == pytest.approx(15.0)
    assert data[1].signals.steering is None, "the next value is three seconds away"
    assert data[3].signals.speed is None
    assert data[31].signals.steering == pytest.approx(-np.degrees(0.1))
    assert data[31].signals.speed == pytest.approx(10.0)
    assert data[32].signals.speed is None, "after the last row"
    assert video(tmp_path, signals=tmp_path, **units)[1].signals.speed == pytest.approx(15.0)
    table.write_text("time,note\n0,a\n")
    with pytest.raises(InputError, match=r"dash\.csv needs a column speed or steering or"):
        video(path, signals=table)


def test_copies_and_processes_have_decoders_of_their_own() -> None:
    data = video(JUMPS)
    assert number_in(data[100].image) == 100
    copy = pickle.loads(pickle.dumps(data))
    assert [number_in(one[5].image) for one in (copy, data[10:], data)] == [5, 15, 5]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(_number_of, [(data, number) for number in (6, 90, 7, 91)]) == [6, 90, 7, 91]
    assert number_in(data[6].image) == 6


def _number_of(asked: tuple[VideoDataset, int]) -> int:
    data, number = asked
    return number_in(data[number].image)


def test_films_that_end_in_the_middle(tmp_path: Path) -> None:
    whole = film(tmp_path / "whole.avi").read_bytes()
    cut = tmp_path / "cut.avi"
    cut.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(
        InputError, match=r"cut\.avi ends in the middle: it should last 4\.0 s, .* at \d\.\d s; -o on_err"
    ):
        video(cut)
    assert 5 < len(list(video(cut, on_error="skip"))) < 30
    without_index = tmp_path / "cut.mp4"
    content = film(tmp_path / "whole.mp4", code="mp4v").read_bytes()
    without_index.write_bytes(content[: content.index(b"moov")])
    with pytest.raises(InputError, match=r"cut\.mp4 cannot be decoded by OpenCV: its codec .* broke off"):
        video(without_index)


def test_a_damaged_frame_is_told_and_can_be_left_out(tmp_path: Path) -> None:
    path = film(tmp_path / "damaged.avi")
    content = bytearray(path.read_bytes())
    begin = content.index(b"movi")
    places = [place for place in range(begin, len(content)) if content[place : place + 4] == b"00dc"]
    place = places[10] + 8
    content[place : place + 200] = bytes(200)
    path.write_bytes(content)
    with pytest.raises(
        FrameError, match=r"frame 10 of 40 cannot be decoded, the film is damaged: on_error=skip"
    ):
        list(video(path))
    data = video(path, on_error="skip")
    assert [frame.id[-2:] for frame in data] == [f"{number:02d}" for number in range(40) if number != 10]
    assert list(data.skipped) == ["damaged-000010"]
    assert data[11].image[20, 30].mean() == pytest.approx(55, abs=3)


def test_what_is_no_film(tmp_path: Path) -> None:
    (tmp_path / "list.mp4").write_text("#EXTM3U\n#EXTINF:1,\nhttp://example.org/a.ts\n")
    with pytest.raises(InputError, match=r"list\.mp4 is no film: it is text"):
        video(tmp_path / "list.mp4")
    (tmp_path / "none.mp4").write_bytes(b"")
    with pytest.raises(InputError, match=r"none\.mp4 is no film: it is empty"):
        video(tmp_path / "none.mp4")
    (tmp_path / "noise.mp4").write_bytes(bytes(range(256)) * 20)
    with pytest.raises(InputError, match=r"noise\.mp4 cannot be decoded by OpenCV"):
        video(tmp_path / "noise.mp4")
    film(tmp_path / "nothing.avi", count=0)
    with pytest.raises(InputError, match=r"nothing\.avi "):
        video(tmp_path / "nothing.avi")
    with pytest.raises(InputError, match="expected a film or a folder of films, found nothing at"):
        video(tmp_path / "gone.mp4")
    (tmp_path / "below").mkdir()
    with pytest.raises(InputError, match=r"has no films: expected \.mp4.*recursive=true looks"):
        video(tmp_path / "below")


def test_a_film_without_its_format_or_with_another(tmp_path: Path) -> None:
    path = film(tmp_path / "dash.avi", count=2)
    data = load(str(path))
    assert (data.name, len(data)) == (f"video:{path}", 2)
    with pytest.raises(InputError, match=r"dash\.avi is a film and no folder: write video:.*dash\.avi"):
        load(f"folder:{path}")


def test_nothing_is_written_to_the_terminal(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "noise.mp4").write_bytes(bytes(range(256)) * 20)
    with pytest.raises(InputError):
        video(tmp_path / "noise.mp4")
    assert capfd.readouterr() == ("", "")
