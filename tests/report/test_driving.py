"""Drives drawn and filmed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from roadworthy.driving.drives import Drive
from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.report.driving import Film, drive_figure, failing_sectors
from roadworthy.report.plots import save


def a_drive(**changes: object) -> Drive:
    time = np.arange(40) / 10
    given: dict[str, object] = {
        "signals": {
            "x": 10 * time, "y": np.zeros(40), "lane_offset": np.sin(time), "distance": 10 * time,
            "speed": np.full(40, 10.0), "steering": np.zeros(40),
        },
        "events": {"crash": time > 3.85, "line crossing": (time > 1.25) & (time < 1.5)},
        "sectors": np.arange(40) // 10,
        "sector_names": ("a", "b", "c", "d"),
    } | changes  # fmt: skip
    return Drive("lap", time, **given)  # type: ignore[arg-type]


def test_the_sectors_that_failed() -> None:
    assert failing_sectors(a_drive()) == ("b", "d")
    assert failing_sectors(a_drive(events={})) == ()


def test_the_way_is_coloured_by_the_metric_and_alarms_are_marked() -> None:
    figure = drive_figure(a_drive(), "LP", alarms=("b",))
    way, along, bar = figure.axes
    marked, coloured = way.collections
    assert len(marked.get_paths()) == 10
    values = coloured.get_array()
    assert values is not None
    np.testing.assert_allclose(np.asarray(values), np.sin(np.arange(39) / 10))
    assert bar.get_ylabel() == "lateral position, m"
    assert [text.get_text() for text in way.texts] == ["a", "b", "c", "d"]
    assert {line.get_label() for line in way.lines} >= {"crash", "line crossing"}
    assert along.get_xlabel() == "m driven"


def test_a_metric_of_sectors_is_drawn_over_each() -> None:
    figure = drive_figure(a_drive(), "Max(LP)")
    values = figure.axes[0].collections[-1].get_array()
    assert values is not None
    assert len(np.unique(values)) == 4


def test_without_a_map_only_the_metric_along_the_way_is_drawn(tmp_path: Path) -> None:
    bare = Drive("log", [0.0, 0.1, 5.0], {"lane_offset": [0.1, 0.2, 0.3]}, gap=1.0)
    figure = drive_figure(bare)
    assert len(figure.axes) == 1
    assert figure.axes[0].get_xlabel() == "s"
    save(figure, tmp_path / "log.png")


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(InputError, match="HP of drive lap needs the signal headway"):
        drive_figure(a_drive(), "HP")
    with pytest.raises(InputError, match="has no sector 'e': a, b, c, d"):
        drive_figure(a_drive(), alarms=("e",))


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
    with pytest.raises(InputError, match=r"expected a film that ends in .mp4 or .gif"):
        film.write(tmp_path / "a.avi", a_drive())
    with pytest.raises(InputError, match="has no sector 'x'"):
        film.write(tmp_path / "a.mp4", a_drive(), sector="x")
    with pytest.raises(InputError, match="no frame of drive lap was kept"):
        Film().write(tmp_path / "a.mp4", a_drive())
    with pytest.raises(InputError, match="cannot be written"):
        film.write(tmp_path / "absent" / "a.mp4", a_drive())
