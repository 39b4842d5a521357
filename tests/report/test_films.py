"""Films of drives, with captions and without."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

from roadworthy.driving.drives import Drive
from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.images import encode_image
from roadworthy.report.driving import Film, film_of


def a_drive() -> Drive:
    """Four sectors of a second each."""
    time = np.arange(40) / 10
    return Drive(
        "lap",
        time,
        {"speed": np.full(40, 10.0), "steering": np.zeros(40)},
        {"crash": time > 3.85},
        sectors=np.arange(40) // 10,
        sector_names=("a", "b", "c", "d"),
    )


@pytest.fixture
def film() -> Film:
    kept = Film()
    for number in range(40):
        kept.add(Frame(str(number), np.full((30, 60, 3), 6 * number, np.uint8)), number / 10)
    kept.add(Frame("again", np.zeros((30, 60, 3), np.uint8)), 3.9)
    return kept


def _grey(path: Path) -> list[int]:
    import cv2

    found: list[int] = []
    reader = cv2.VideoCapture(str(path))
    while True:
        ok, image = reader.read()
        if not ok:
            return found
        found.append(round(float(image[10, 10].mean())))


def test_a_film_of_a_sector_shows_it_and_what_led_to_it(film: Film, tmp_path: Path) -> None:
    assert film.write(tmp_path / "c.mp4", a_drive(), sector="c", lead=0.5, width=240) == 15
    shown = _grey(tmp_path / "c.mp4")
    assert shown == pytest.approx([6 * number for number in range(15, 30)], abs=6)


def test_a_gif_has_fewer_frames_and_the_same_length(film: Film, tmp_path: Path) -> None:
    import cv2

    assert film.write(tmp_path / "all.gif", a_drive()) == 20
    ok, read = cv2.imreadanimation(str(tmp_path / "all.gif"))
    assert ok
    assert len(read.frames) == 20
    assert sum(read.durations) == pytest.approx(4000, abs=200)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.gif"]


def test_films_that_cannot_be_made(film: Film, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected a film that ends in .mp4 or .webm or .gif"):
        film.write(tmp_path / "a.avi", a_drive())
    with pytest.raises(InputError, match="has no sector 'x'"):
        film.write(tmp_path / "a.mp4", a_drive(), sector="x")
    with pytest.raises(InputError, match="no frame of drive lap was kept"):
        Film().write(tmp_path / "a.mp4", a_drive())
    with pytest.raises(InputError, match="cannot be written"):
        film.write(tmp_path / "absent" / "a.mp4", a_drive())


@pytest.mark.parametrize("ending", ["mp4", "webm"])
def test_a_plain_film_shows_the_frames_and_nothing_else(
    film: Film, tmp_path: Path, ending: str, capfd: pytest.CaptureFixture[str]
) -> None:
    import cv2

    path = tmp_path / f"clip.{ending}"
    assert film.write_plain(path, 1.0, 2.9, width=240) == 20
    assert _grey(path) == pytest.approx([6 * number for number in range(10, 30)], abs=6)
    image = cv2.VideoCapture(str(path)).read()[1]
    assert image.shape == (120, 240, 3)
    assert float(np.ptp(image.astype(int))) <= 12  # one grey, no letters
    assert capfd.readouterr().err == ""


def test_a_plain_film_of_a_time_without_frames(film: Film, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no frame was kept between 9 and 10 s"):
        film.write_plain(tmp_path / "a.mp4", 9.0, 10.0)


def test_frames_are_kept_and_read_again(film: Film, tmp_path: Path) -> None:
    film.save(tmp_path / "frames.zip")
    again = Film.read(tmp_path / "frames.zip")
    assert len(again) == len(film)
    again.save(tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == (tmp_path / "frames.zip").read_bytes()
    assert again.write(tmp_path / "c.gif", a_drive(), sector="c", lead=0.5) == 8


@pytest.mark.parametrize("content", [b"", b"no zip"])
def test_frames_that_cannot_be_read(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        Film.read(tmp_path / "none.zip")
    (tmp_path / "bad.zip").write_bytes(content)
    with pytest.raises(InputError, match=r"bad.zip: expected the frames of a drive"):
        Film.read(tmp_path / "bad.zip")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("times.json", b"[0, 0]", "the times in times.json must grow"),
        ("times.json", b"[0, NaN]", "the times in times.json must grow"),
        ("000001.jpg", b"cut", r"cannot read the image .*bad.zip: 000001.jpg"),
        ("000001.jpg", encode_image(np.zeros((9, 60, 3), np.uint8), ".jpg"), "must have one shape, got 2"),
    ],
)
def test_frames_that_make_no_film(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    members = {"times.json": b"[0.0, 0.1]"}
    members |= {f"00000{one}.jpg": encode_image(np.zeros((30, 60, 3), np.uint8), ".jpg") for one in (0, 1)}
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
        for member, given in {**members, name: content}.items():
            archive.writestr(member, given)
    with pytest.raises(InputError, match=message):
        Film.read(tmp_path / "bad.zip").write_plain(tmp_path / "a.mp4", 0.0, 1.0)


def test_a_place_that_cannot_be_driven_again_is_named(tmp_path: Path) -> None:
    (tmp_path / "drive.json").write_text('{"simulator": "world:town", "options": {"snow": 1}}')
    signals = {name: [0.0, 0.0] for name in ("x", "y", "speed", "answered_steering", "answered_speed")}
    with pytest.raises(InputError, match=r"drive.json: 'world' has no option 'snow'"):
        film_of(Drive("lap", [0.0, 0.1], signals), tmp_path)
