"""The argument as Mermaid flowcharts, small enough for what shows them by default."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from roadworthy.runs.evidence.gsn import Fragment, Node

__all__ = ["MOST_CHARACTERS", "MOST_EDGES", "diagram", "diagrams"]

MOST_EDGES = 400
"""Mermaid refuses more than 500 edges unless told otherwise (`maxEdges`)."""
MOST_CHARACTERS = 45_000
"""And more than 50,000 characters (`maxTextSize`)."""

_AROUND = 40  # characters that a node takes besides its text: its line, its edge, its style
_ROOM = MOST_CHARACTERS - 1000  # for the styles
_LONGEST = 240  # characters of one node: a diagram is to be looked at, and the JSON holds the whole text
_WIDTH = 44
_SHAPES = {
    "goal": ('["', '"]'),
    "strategy": ('[/"', '"/]'),
    "solution": ('(("', '"))'),
    "context": ('(["', '"])'),
}
_STYLES = {
    "passed": "fill:#e3f4e1,stroke:#2f7d32,color:#111",
    "violated": "fill:#fbe2e0,stroke:#b3261e,color:#111",
    "inconclusive": "fill:#fff3d6,stroke:#9a6b00,color:#111",
    "untried": "fill:#f2f2f2,stroke:#777,stroke-dasharray:4 3,color:#111",
}


def diagrams(fragment: Fragment) -> Iterator[tuple[str, str]]:
    """Yield the names and texts of the diagrams: one, or an overview and parts of it where it is large.

    Example:
        >>> from roadworthy.runs.evidence.gsn import Argued, fragment_of
        >>> found = Argued("R1", "Slow down at night", "rules", "dave2", "not tried", "")
        >>> [name for name, _ in diagrams(fragment_of([found]))]
        ['gsn.mmd']
    """
    whole = diagram(fragment)
    if _fits(fragment, whole):
        yield "gsn.mmd", whole
        return
    # The overview ends at the strategies; their goals are drawn in files of their own.
    top = [node for node in fragment.nodes if node.kind in ("context", "strategy") or node.id == "G0"]
    kept = {node.id for node in top}
    overview = Fragment(top, [one for one in fragment.edges if {one.source, one.target} <= kept])
    yield "gsn.mmd", diagram(overview)
    below: dict[str, list[str]] = {}
    for edge in fragment.edges:
        below.setdefault(edge.source, []).append(edge.target)
    sizes = {node.id: len(_shape(node)) + _AROUND for node in fragment.nodes}
    number = 0
    for strategy in (node.id for node in top if node.kind == "strategy"):
        for group in _grouped(below.get(strategy, []), below, sizes):
            number += 1
            yield f"gsn-{strategy}-{number:03d}.mmd", diagram(fragment.part(group))


def _fits(fragment: Fragment, text: str) -> bool:
    return len(fragment.edges) <= MOST_EDGES and len(text) <= MOST_CHARACTERS


def _grouped(
    goals: Sequence[str], below: Mapping[str, Sequence[str]], sizes: Mapping[str, int]
) -> Iterator[list[str]]:
    """Yield goals in groups whose diagrams fit."""
    group: list[str] = []
    letters = edges = 0
    for goal in goals:
        solutions = below.get(goal, ())
        size = sum(sizes[one] for one in (goal, *solutions))
        if group and (letters + size > _ROOM or edges + len(solutions) > MOST_EDGES):
            yield group
            group, letters, edges = [], 0, 0
        group.append(goal)
        letters, edges = letters + size, edges + len(solutions)
    if group:
        yield group


def diagram(fragment: Fragment) -> str:
    """Return a fragment as one Mermaid flowchart.

    Goals are boxes, strategies are parallelograms, solutions are circles, contexts are rounded; a dashed line
    leads to a context.
    """
    lines = ["flowchart TB"]
    lines += [f"  {node.id}{_shape(node)}" for node in fragment.nodes]
    arrows = {"supported by": "-->", "in context of": "-.->"}
    lines += [f"  {edge.source} {arrows[edge.link]} {edge.target}" for edge in fragment.edges]
    lines += [f"  classDef {name} {style}" for name, style in _STYLES.items()]
    for name in _STYLES:
        status = "not tried" if name == "untried" else name
        ids = [node.id for node in fragment.nodes if node.status == status]
        if ids:
            lines.append(f"  class {','.join(ids)} {name}")
    return "\n".join(lines) + "\n"


def _shape(node: Node) -> str:
    left, right = _SHAPES[node.kind]
    note = " (undeveloped)" if node.undeveloped else ""
    words = f"{node.id}{note}<br/>" + "<br/>".join(map(_escaped, _wrapped(node.text)))
    return f"{left}{words}{right}"


def _wrapped(text: str) -> list[str]:
    short = textwrap.shorten(" ".join(text.split()), _LONGEST, placeholder=" …")
    return textwrap.wrap(short, _WIDTH) or [""]


def _escaped(text: str) -> str:
    """Return text that stands in quotes in a diagram and is shown as it is.

    Example:
        >>> _escaped('If "it" rains & <b>')
        'If #quot;it#quot; rains #amp; #lt;b#gt;'
    """
    # The hash goes first: it begins every escape. A backtick would begin Markdown.
    for sign, escape in (
        ("#", "#35;"),
        ("&", "#amp;"),
        ('"', "#quot;"),
        ("<", "#lt;"),
        (">", "#gt;"),
        ("`", "#96;"),
        ("*", "#42;"),
        ("_", "#95;"),
        ("\\", "#92;"),
    ):
        text = text.replace(sign, escape)
    return text
