"""Draw the rooms of architecture.md and write its map, from the imports. Run with ``make docs``."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import escape

from layered import Drawing, lay_out
from rooms import FACES, FLOORS, ROOT, SOURCE, floor_of, rooms

PAGE = Path(__file__).parent / "architecture.md"
PICTURE = Path(__file__).parent / "pictures" / "architecture.svg"
START = "<!-- From here on written by docs/make_architecture.py. -->\n"
END = "<!-- Up to here written by docs/make_architecture.py. -->\n"

FLOOR_NAMES = (
    "where people come in",
    "the workshop",
    "what people look at",
    "from requirements to evidence",
    "the five methods",
    "systems, changes, data",
    "what all rooms speak of",
)
PAGES = {
    "bbsl": ("bbsl", "bbsl-testing"),
    "coverage": ("coverage", "coverage-search"),
    "datasets": ("data",),
    "driving": ("driving", "metrics", "driving-oracles"),
    "labelling": ("labels",),
    "models": ("models", "zoo"),
    "papers": ("papers/README",),
    "pytest_plugin": ("pytest",),
    "places": ("places",),
    "reliability": ("reliability",),
    "report": ("report",),
    "rules": ("rules", "rules-language"),
    "runs": ("suites", "runs-executors", "runs-store", "evidence"),
    "selftest": ("tool-confidence",),
    "statistics": ("statistics",),
    "studies": ("driving-ratings", "human-thresholds", "rules"),
    "training": ("zoo", "mutants", "retraining", "engines"),
    "transforms": ("transforms", "engines"),
    "visual_change": ("visual-change",),
    "web": ("web",),
    "world": ("world",),
}
"""The pages that tell more about a room."""

STYLE = """
.paper { fill: #ffffff } .even { fill: #eef3f8 } .odd { fill: #f8fafc }
.room { fill: #ffffff; stroke: #0b4f86; stroke-width: 1.4 }
.name { fill: #0f2233; font: 600 16px system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif }
.floor { fill: #475569; font: 14px system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif }
.arrow { fill: none; stroke: #64809b; stroke-width: 1.4 } .head { fill: #64809b }
@media (prefers-color-scheme: dark) {
  .paper { fill: #10171f } .even { fill: #18232f } .odd { fill: #131c26 }
  .room { fill: #0f2a43; stroke: #84c4ff }
  .name { fill: #eaf3fb } .floor { fill: #a9bacb }
  .arrow { stroke: #7f9bb5 } .head { fill: #7f9bb5 }
}
"""


def is_inside(room: str) -> bool:
    """Whether a module of the bottom floor is for the other rooms only."""
    return room.startswith("_")


def public_rooms() -> dict[str, set[str]]:
    """Return the rooms of the picture and what they import of each other, in the order of the floors."""
    found = {room: {one for one in others if not is_inside(one)} for room, others in rooms().items()}
    shown = [room for room in found if not is_inside(room)]
    return {room: found[room] for room in sorted(shown, key=lambda room: (floor_of(room), room))}


def reduced(graph: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Return the graph without the arrows that a longer way implies.

    >>> reduced({"cli": {"runs", "frames"}, "runs": {"frames"}, "frames": set()})
    {'cli': {'runs'}, 'runs': {'frames'}, 'frames': set()}
    """
    below: dict[str, set[str]] = {}

    def reached(room: str) -> set[str]:
        if room not in below:
            below[room] = set(graph[room]).union(*map(reached, graph[room]))
        return below[room]

    return {room: targets - set().union(*map(reached, targets)) for room, targets in graph.items()}


def rows(graph: Mapping[str, set[str]]) -> dict[str, int]:
    """Return the row of every room: floor by floor, and on each as low as its neighbours allow."""
    heights: dict[str, int] = {}

    def height(room: str) -> int:
        if room not in heights:
            neighbours = [one for one in graph[room] if floor_of(one) == floor_of(room)]
            heights[room] = 1 + max(map(height, neighbours), default=-1)
        return heights[room]

    found: dict[str, int] = {}
    first = 0
    for number in range(len(FLOORS)):
        here = [room for room in graph if floor_of(room) == number]
        tall = 1 + max(map(height, here))
        found.update({room: first + tall - 1 - height(room) for room in here})
        first += tall
    return found


def picture() -> str:
    """Return the drawing as SVG."""
    graph = reduced(public_rooms())
    drawing = lay_out(graph, rows(graph))
    return _svg(drawing, {room: floor_of(room) or 0 for room in graph})


LEFT, TOP, PITCH, TALL, TITLE = 22, 8, 62, 34, 24
"""Pixels: beside the boxes, above all, from row to row, the height of a box, and of the name of a floor."""


def _svg(drawing: Drawing, floors: Mapping[str, int]) -> str:
    tops = _tops(drawing, floors)
    width = drawing.width + 2 * LEFT
    insides = ", ".join(sorted(room for room in rooms() if is_inside(room)))
    height = tops[max(tops)] + PITCH + 28
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">',
        "<title>The rooms of Roadworthy and what they import</title>",
        f"<style>{STYLE}</style>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path class="head" d="M0 0 8 4 0 8z"/></marker></defs>',
        f'<rect class="paper" width="{width}" height="{height}" rx="8"/>',
    ]
    for number, name in enumerate(FLOOR_NAMES):
        own = [tops[drawing.rows[room]] for room, floor in floors.items() if floor == number]
        above, below = min(own) - TITLE - 4, max(own) + TALL + 8
        if number == len(FLOOR_NAMES) - 1:
            below = height - 8
        shade = "odd" if number % 2 else "even"
        lines.append(
            f'<rect class="{shade}" x="6" y="{above}" width="{width - 12}" height="{below - above}" rx="6"/>'
        )
        lines.append(f'<text class="floor" x="16" y="{above + 17}">{escape(name)}</text>')
    lines += [
        f'<path class="arrow" marker-end="url(#head)" d="{_curve(way, tops)}"/>' for way in drawing.arrows
    ]
    for room, (x, row) in drawing.places.items():
        wide, y = drawing.wide(room), tops[row]
        lines.append(
            f'<rect class="room" x="{LEFT + x - wide // 2}" y="{y}" width="{wide}" height="{TALL}" rx="6"/>'
            f'<text class="name" x="{LEFT + x}" y="{y + 22}" text-anchor="middle">{escape(room)}</text>'
        )
    lines.append(f'<text class="floor" x="16" y="{height - 18}">and their insides: {escape(insides)}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def _tops(drawing: Drawing, floors: Mapping[str, int]) -> dict[int, int]:
    """Return where the boxes of each row begin, with room for the name of a floor above its first row."""
    floor = {drawing.rows[room]: number for room, number in floors.items()}
    return {row: TOP + PITCH * row + TITLE * (number + 1) + 4 for row, number in floor.items()}


def _curve(way: list[tuple[int, int]], tops: Mapping[int, int]) -> str:
    """Return the path of an arrow: from below its first box, past others, to the top of its last."""
    (x, row), *rest = way
    y = tops[row] + TALL
    path = [f"M{LEFT + x} {y}"]
    for next_x, next_row in rest:
        half, top = (y + tops[next_row]) // 2, tops[next_row] - 1
        path.append(f"C{LEFT + x} {half} {LEFT + next_x} {half} {LEFT + next_x} {top}")
        x, y = next_x, top
        if next_row != rest[-1][1]:  # straight down beside the boxes of the row
            y = top + TALL + 1
            path.append(f"V{y}")
    return " ".join(path)


def purpose(path: Path) -> str:
    """Return the first sentence of a module's docstring."""
    text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].removesuffix("::").split()).replace("``", "`").replace("|", r"\|")


def reference() -> str:
    """Return the map of the rooms."""
    lines = ["![The rooms and what they import](pictures/architecture.svg)", ""]
    for number, name in enumerate(FLOOR_NAMES):
        lines += [f"### {name[0].upper()}{name[1:]}", "", "| room | what it is for |", "|---|---|"]
        here = sorted(FLOORS[number] - set(FACES), key=lambda room: (is_inside(room), room))
        for room in here:
            folder = SOURCE / ROOT / room
            face = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
            more = [f"[{page}]({page}.md)" for page in PAGES.get(room, ())]
            told = purpose(face) + (f" More: {', '.join(more)}." if more else "")
            named = f"**`{room}/`**" if folder.is_dir() else f"`{room}.py`"
            lines.append(f"| {named} | {told} |")
            lines += [f"| `{_part(one)}` | {purpose(one)} |" for one in sorted(folder.glob("*/__init__.py"))]
        lines.append("")
    return "\n".join(lines)


def _part(face: Path) -> str:
    return f"{face.parent.relative_to(SOURCE / ROOT).as_posix()}/"


def main() -> None:
    """Draw the picture and write the page."""
    PICTURE.write_text(picture(), "utf-8")
    text = PAGE.read_text("utf-8")
    head, _, rest = text.partition(START)
    _, _, tail = rest.partition(END)
    PAGE.write_text(f"{head}{START}\n{reference()}\n{END}{tail}", "utf-8")


if __name__ == "__main__":
    main()
