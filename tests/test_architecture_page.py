"""The picture and the map of docs/architecture.md are those of the source, and the picture can be read."""

from __future__ import annotations

import doctest
import re
from itertools import combinations
from pkgutil import resolve_name

import layered
import make_architecture as made
from layered import lay_out
from rooms import FLOORS, floor_of, rooms

STALE = "run .venv/bin/python docs/make_architecture.py"


def test_the_page_shows_what_is_there() -> None:
    _, _, rest = made.PAGE.read_text("utf-8").partition(made.START)
    written, end, _ = rest.partition(made.END)
    assert end
    assert written.strip() == made.reference().strip(), STALE
    assert made.PICTURE.read_text("utf-8") == made.picture(), STALE


def test_every_room_is_in_the_picture_or_named_as_an_inside() -> None:
    picture = made.picture()
    assert [room for room in rooms() if room not in picture] == []
    assert len(made.FLOOR_NAMES) == len(FLOORS)


def closure(graph: dict[str, set[str]], room: str) -> set[str]:
    found: set[str] = set()
    waiting = [room]
    while waiting:
        new = graph[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def test_arrows_that_are_left_out_are_implied_and_no_others() -> None:
    whole = made.public_rooms()
    kept = made.reduced(whole)
    assert {room: closure(kept, room) for room in whole} == {room: closure(whole, room) for room in whole}
    for room, targets in kept.items():
        for target in targets:
            fewer = {**kept, room: targets - {target}}
            assert target not in closure(fewer, room), f"{room} -> {target} is implied"


def test_every_arrow_of_the_picture_points_down() -> None:
    graph = made.reduced(made.public_rooms())
    row = made.rows(graph)
    assert all(row[room] < row[target] for room, targets in graph.items() for target in targets)
    for one, other in combinations(graph, 2):
        upper, lower = sorted((one, other), key=lambda room: floor_of(room) or 0)
        assert floor_of(upper) == floor_of(lower) or row[upper] < row[lower]


def test_the_examples_of_the_scripts_run() -> None:
    for module in (made, layered):
        found = doctest.testmod(module)
        assert (found.failed, found.attempted) == (0, 1)


def test_boxes_keep_apart_and_arrows_pass_them() -> None:
    gap = 8
    graph = made.reduced(made.public_rooms())
    drawing = lay_out(graph, made.rows(graph))
    sides = {
        room: (row, x - drawing.wide(room) / 2, x + drawing.wide(room) / 2)
        for room, (x, row) in drawing.places.items()
    }
    for one, other in combinations(sides.values(), 2):
        assert one[0] != other[0] or one[2] + gap <= other[1] or other[2] + gap <= one[1]
    for way in drawing.arrows:
        for x, row in way[1:-1]:
            assert all(x + gap <= left or right + gap <= x for at, left, right in sides.values() if at == row)


def test_the_way_of_a_frame_names_what_there_is() -> None:
    _, _, section = made.PAGE.read_text("utf-8").partition("### The way of a frame")
    rows = re.findall(r"^\| \d+ \| (.*?) \|", section.partition("\n### ")[0], re.M)
    names = [name for row in rows for name in re.findall(r"`(\w+/[\w/.]+)`", row)]
    assert len(names) > 15
    for name in names:
        assert resolve_name(f"roadworthy.{name.replace('/', '.')}"), name
