"""A fragment of an assurance case in Goal Structuring Notation, also as Mermaid flowcharts."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import Literal, TypeAlias

from roadworthy._yaml import read_yaml

Kind: TypeAlias = Literal["goal", "strategy", "solution", "context"]
Link: TypeAlias = Literal["supported by", "in context of"]

_WORDS = read_yaml(Path(__file__).with_suffix(".yaml"), "file of words", "words and shapes").data
_ESCAPES = str.maketrans(_WORDS["escapes"])


@dataclass(frozen=True, slots=True)
class Evidence:
    """A file that a solution stands on.

    Attributes:
        path: Where it is in the bundle.
        sha256: What its bytes hash to.
    """

    path: str
    sha256: str

    @property
    def id(self) -> str:
        """The name by which the argument refers to it: ``E-`` and the start of the SHA-256."""
        return f"E-{self.sha256[:12]}"


@dataclass(frozen=True, slots=True)
class Argued:
    """A requirement, tested on one system, as the fragment argues it.

    Attributes:
        requirement: Its id.
        text: What must hold.
        method: The method that tested it.
        system: The system under test.
        status: ``passed``, ``violated``, ``inconclusive``, or ``not tried``.
        summary: What was found, in one sentence.
        evidence: The files that show it.
        tags: Operating-domain terms and clauses.
        severity: How bad a violation is.
    """

    requirement: str
    text: str
    method: str
    system: str
    status: str
    summary: str
    evidence: tuple[Evidence, ...] = ()
    tags: tuple[str, ...] = ()
    severity: str = "major"


@dataclass(frozen=True, slots=True)
class Node:
    """One element of the argument.

    Attributes:
        id: Its name in the argument, such as ``G1``.
        kind: What it is.
        text: What it states.
        status: For goals and solutions, what was found.
        undeveloped: Whether nothing supports it yet.
        refers_to: The requirement, system or file that it stands for.
    """

    id: str
    kind: Kind
    text: str
    status: str = ""
    undeveloped: bool = False
    refers_to: tuple[tuple[str, str], ...] = ()

    def record(self) -> dict[str, object]:
        """Return it as JSON holds it: without what it does not have."""
        known = {**asdict(self), "refers_to": dict(self.refers_to)}
        return {name: value for name, value in known.items() if value or name == "text"}


@dataclass(frozen=True, slots=True)
class Edge:
    """A line of the argument, from what is supported to what supports it."""

    source: str
    target: str
    link: Link = "supported by"


@dataclass(slots=True)
class Fragment:
    """The elements and lines of the argument.

    Example:
        >>> proof = Evidence("runs/r1/dave2/cases/part-00000000.parquet", "ab" * 32)
        >>> found = Argued("R1", "Slow down at night", "rules", "dave2", "passed", "0 of 90 failed", (proof,))
        >>> fragment = fragment_of([found], contexts=["Data: 90 frames"])
        >>> [(node.id, node.kind) for node in fragment.nodes]
        [('G0', 'goal'), ('C1', 'context'), ('S1', 'strategy'), ('G1', 'goal'), ('Sn1', 'solution')]
    """

    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)

    def part(self, roots: Iterable[str]) -> Fragment:
        """Return some elements with everything below them."""
        below: dict[str, list[Edge]] = {}
        for edge in self.edges:
            below.setdefault(edge.source, []).append(edge)
        wanted, todo = set(roots), list(roots)
        while todo:
            for edge in below.get(todo.pop(), ()):
                if edge.target not in wanted:
                    wanted.add(edge.target)
                    todo.append(edge.target)
        return Fragment(
            [node for node in self.nodes if node.id in wanted],
            [edge for edge in self.edges if edge.source in wanted and edge.target in wanted],
        )

    def document(self) -> dict[str, object]:
        """Return it as JSON can hold it."""
        return {
            "notation": "Goal Structuring Notation, community standard version 3",
            "nodes": [node.record() for node in self.nodes],
            "edges": [asdict(edge) for edge in self.edges],
        }


def fragment_of(argued: Sequence[Argued], *, contexts: Sequence[str] = ()) -> Fragment:
    """Return the argument: a goal for all, a strategy per method, a goal per requirement, its solutions.

    Args:
        argued: What was tested, one item per requirement and system.
        contexts: What the argument is about: models, data, the operating domain.
    """
    fragment = Fragment()

    def add(node: Node, above: str, link: Link = "supported by") -> str:
        fragment.nodes.append(node)
        fragment.edges.append(Edge(above, node.id, link))
        return node.id

    about = ", ".join(dict.fromkeys(one.system for one in argued)) or "the system under test"
    whole = _together([one.status for one in argued])
    goal = f"The requirements tested in this run hold for {about} under the conditions that were tried"
    fragment.nodes.append(Node("G0", "goal", goal, whole, not argued))
    for number, text in enumerate(contexts, 1):
        add(Node(f"C{number}", "context", text), "G0", "in context of")
    by_method: dict[str, dict[str, list[Argued]]] = {}
    for one in argued:
        by_method.setdefault(one.method, {}).setdefault(one.requirement, []).append(one)
    goals, solutions = count(1), count(1)
    for number, (method, requirements) in enumerate(by_method.items(), 1):
        how = _WORDS["how"].get(method, f"the method {method}")
        text = f"Argue over each requirement tested by {method}: {how}"
        strategy = add(Node(f"S{number}", "strategy", text), "G0")
        for id, several in requirements.items():
            status = _together([one.status for one in several])
            refers = [("requirement", id), ("severity", several[0].severity)]
            if several[0].tags:
                refers.append(("tags", ", ".join(several[0].tags)))
            solved = [one for one in several if one.evidence]
            text = f"{id}: {several[0].text}"
            node = Node(f"G{next(goals)}", "goal", text, status, not solved, tuple(refers))
            goal = add(node, strategy)
            for one in solved:
                add(_solution(f"Sn{next(solutions)}", one), goal)
    return fragment


def _solution(id: str, one: Argued) -> Node:
    ids = ", ".join(item.id for item in one.evidence)
    refers = (
        ("requirement", one.requirement),
        ("system", one.system),
        *((item.id, f"sha256:{item.sha256} {item.path}") for item in one.evidence),
    )
    text = f"{one.system}: {one.status}. {one.summary} [{ids}]"
    return Node(id, "solution", text, one.status, refers_to=refers)


def _together(statuses: Sequence[str]) -> str:
    """Return what several outcomes say about one goal: the least good of them."""
    order = ("violated", "not tried", "inconclusive")
    return next((one for one in order if one in statuses), "passed" if statuses else "not tried")


MOST_EDGES = 400
"""Mermaid refuses more than 500 edges unless told otherwise (`maxEdges`)."""
MOST_CHARACTERS = 45_000
"""And more than 50,000 characters (`maxTextSize`)."""

_AROUND = 40  # characters that a node takes besides its text: its line, its edge, its style
_ROOM = MOST_CHARACTERS - 1000  # for the styles
_LONGEST = 240  # characters of one node: a diagram is to be looked at, and the JSON holds the whole text
_WIDTH = 44


def diagrams(fragment: Fragment) -> Iterator[tuple[str, str]]:
    """Yield the names and texts of the diagrams: one, or an overview and parts of it where it is large.

    Example:
        >>> from roadworthy.runs.evidence.argument import Argued, fragment_of
        >>> found = Argued("R1", "Slow down at night", "rules", "dave2", "not tried", "")
        >>> [name for name, _ in diagrams(fragment_of([found]))]
        ['gsn.mmd']
    """
    whole = diagram(fragment)
    if len(fragment.edges) <= MOST_EDGES and len(whole) <= MOST_CHARACTERS:
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
    lines += [f"  classDef {name} {style}" for name, style in _WORDS["styles"].items()]
    for name in _WORDS["styles"]:
        status = "not tried" if name == "untried" else name
        if ids := [node.id for node in fragment.nodes if node.status == status]:
            lines.append(f"  class {','.join(ids)} {name}")
    return "\n".join(lines) + "\n"


def _shape(node: Node) -> str:
    left, right = _WORDS["shapes"][node.kind]
    note = " (undeveloped)" if node.undeveloped else ""
    short = textwrap.shorten(" ".join(node.text.split()), _LONGEST, placeholder=" …")
    words = "<br/>".join([f"{node.id}{note}", *map(_escaped, textwrap.wrap(short, _WIDTH) or [""])])
    return f"{left}{words}{right}"


def _escaped(text: str) -> str:
    """Return text that stands in quotes in a diagram and is shown as it is.

    Example:
        >>> _escaped('If "it" rains & <b>')
        'If #quot;it#quot; rains #amp; #lt;b#gt;'
    """
    return text.translate(_ESCAPES)
