"""The argument in GSN, its diagrams and ReqIF."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest

from roadworthy.runs.evidence.argument import (
    MOST_CHARACTERS,
    MOST_EDGES,
    Argued,
    Evidence,
    Fragment,
    diagram,
    diagrams,
    fragment_of,
)
from roadworthy.runs.evidence.documents import reqif_text, write_reqif

NAMESPACE = "http://www.omg.org/spec/ReqIF/20110401/reqif.xsd"
NASTY = 'If "it" rains & <b>x</b> `code` #35; [a](b) {c} | \\ é 行 ; end\n subgraph _u_ *s* --> %% click'
PROOF = Evidence("runs/r1/dave2/", "ab" * 32)
ARGUED = (
    Argued("R1", NASTY, "rules", "dave2", "passed", "0 of 9 failed", (PROOF,), ("night",), "critical"),
    Argued("R1", NASTY, "rules", "epoch", "violated", "4 of 9 failed", (PROOF,), ("night",), "critical"),
    Argued("S1", "Stop near vehicles", "bbsl", "detector", "inconclusive", "too few", (PROOF,)),
    Argued("R9", "If a unicorn appears, slow down", "rules", "dave2", "not tried", ""),
)

_NODE = re.compile(r'  (?P<id>[A-Za-z]+\d+)(?:\["|\[/"|\(\("|\(\[")(?P<text>[^"]*)(?:"\]|"/\]|"\)\)|"\]\))')
_EDGE = re.compile(r"  (?P<source>\w+) (?:-->|-\.->) (?P<target>\w+)")
_STYLE = re.compile(r"  classDef \w+ [\w:#,. -]+|  class [\w,]+ \w+")


def read_diagram(text: str) -> tuple[dict[str, str], set[tuple[str, str]]]:
    """Read a diagram by the few forms of Mermaid that it may use; anything else is an error."""
    first, *lines = text.splitlines()
    assert first == "flowchart TB"
    nodes: dict[str, str] = {}
    edges = set()
    for line in lines:
        if node := _NODE.fullmatch(line):
            assert node["id"] not in nodes
            # Nothing but escapes and line breaks may be left of what Mermaid would understand.
            assert not re.search(r"[<>`\\]", node["text"].replace("<br/>", ""))
            assert re.fullmatch(r"(?:[^#&]|#(?:\d+|quot|amp|lt|gt);)*", node["text"])
            nodes[node["id"]] = node["text"]
        elif edge := _EDGE.fullmatch(line):
            edges.add((edge["source"], edge["target"]))
        else:
            assert _STYLE.fullmatch(line), line
    assert {end for edge in edges for end in edge} <= set(nodes)
    return nodes, edges


def test_there_is_a_goal_per_requirement_a_strategy_per_method_and_a_solution_per_system() -> None:
    fragment = fragment_of(ARGUED, contexts=["Data: world"])
    kinds = Counter(node.kind for node in fragment.nodes)
    assert kinds == {"goal": 1 + 3, "strategy": 2, "solution": 3, "context": 1}
    goals = {node.text.split(":")[0]: node for node in fragment.nodes if node.kind == "goal"}
    assert goals["R1"].status == "violated"
    assert goals["S1"].status == "inconclusive"
    assert goals["R9"].undeveloped
    assert goals["R9"].id not in {edge.source for edge in fragment.edges}
    assert fragment.nodes[0].status == "violated"


def test_solutions_name_their_evidence_with_its_sha_256() -> None:
    document = fragment_of(ARGUED).document()
    nodes = document["nodes"]
    assert isinstance(nodes, list)
    solution = next(node for node in nodes if node["kind"] == "solution")
    assert solution["refers_to"][PROOF.id] == f"sha256:{PROOF.sha256} runs/r1/dave2/"
    assert PROOF.id in solution["text"]


def test_no_word_claims_compliance_or_safety() -> None:
    words = str(fragment_of(ARGUED, contexts=["Data"]).document()).lower()
    assert not re.search(r"complian|complies|certif|is safe|proves", words)


def test_a_run_without_requirements_has_an_undeveloped_goal() -> None:
    (goal,) = fragment_of([]).nodes
    assert (goal.undeveloped, goal.status) == (True, "not tried")


def test_diagrams_hold_the_nodes_and_edges_whatever_the_words_are() -> None:
    fragment = fragment_of(ARGUED, contexts=[NASTY])
    nodes, edges = read_diagram(diagram(fragment))
    assert set(nodes) == {node.id for node in fragment.nodes}
    assert edges == {(edge.source, edge.target) for edge in fragment.edges}
    text = nodes["G1"].replace("<br/>", " ")
    assert "#quot;it#quot; rains #amp; #lt;b#gt;" in text
    # What looks like an escape already is shown as it is written.
    assert "#35;35;" in text


@pytest.mark.parametrize(("words", "systems"), [(NASTY, "ab"), ("-", "abcdefgh")])
def test_a_large_argument_is_cut_into_diagrams_that_are_shown_by_default(words: str, systems: str) -> None:
    short = Evidence("-", "0" * 64)
    many = [
        Argued(f"R{number}", words, "rules", system, "passed", "", (short,))
        for number in range(700)
        for system in systems
    ]
    fragment = fragment_of(many)
    parts = dict(diagrams(fragment))
    assert len(parts) > 2
    goals: Counter[str] = Counter()
    for name, text in parts.items():
        nodes, edges = read_diagram(text)
        assert len(text) <= MOST_CHARACTERS, name
        assert len(edges) <= MOST_EDGES, name
        goals.update(node for node in nodes if node.startswith("G") and node != "G0")
    assert goals == Counter({f"G{number}": 1 for number in range(1, 701)})


def test_mermaid_itself_reads_the_diagrams() -> None:
    reader = pytest.importorskip("mermaid_parser.parser", reason="mermaid-parser-py is not installed")
    fragment = fragment_of(ARGUED, contexts=[NASTY])
    graph = reader.MermaidParser().parse(diagram(fragment))["graph_data"]
    assert set(graph["vertices"]) == {node.id for node in fragment.nodes}
    assert len(graph["edges"]) == len(fragment.edges)
    shapes = {name: vertex["type"] for name, vertex in graph["vertices"].items()}
    assert (shapes["G1"], shapes["S1"], shapes["Sn1"], shapes["C1"]) == (
        "square",
        "lean_right",
        "circle",
        "stadium",
    )


def test_a_part_is_closed_below() -> None:
    part = fragment_of(ARGUED).part(["S2"])
    assert {node.id for node in part.nodes} == {"S2", "G3", "Sn3"}
    assert isinstance(part, Fragment)


def _tag(name: str) -> str:
    return f".//{{{NAMESPACE}}}{name}"


def test_reqif_has_an_object_per_requirement_and_system_and_every_reference_leads_somewhere() -> None:
    root = ElementTree.fromstring(reqif_text(ARGUED))
    assert len(root.findall(_tag("SPEC-OBJECT"))) == len(root.findall(_tag("SPEC-HIERARCHY"))) == len(ARGUED)
    ids = [one.attrib["IDENTIFIER"] for one in root.iter() if "IDENTIFIER" in one.attrib]
    assert len(set(ids)) == len(ids)
    references = [one.text for one in root.iter() if one.tag.endswith("-REF")]
    assert references
    assert set(references) <= set(ids)


def test_reqif_holds_texts_and_statuses() -> None:
    root = ElementTree.fromstring(reqif_text(ARGUED))
    values = [one.attrib["THE-VALUE"] for one in root.findall(_tag("ATTRIBUTE-VALUE-STRING"))]
    # XML turns a line break in an attribute into a space when it is read.
    assert NASTY in values
    names = {one.attrib["IDENTIFIER"]: one.attrib["LONG-NAME"] for one in root.findall(_tag("ENUM-VALUE"))}
    told = [names[one.text or ""] for one in root.findall(_tag("ENUM-VALUE-REF"))]
    assert told[1::2] == ["passed", "violated", "inconclusive", "not tried"]


def test_reqif_is_the_same_bytes_for_the_same_run_and_holds_no_forbidden_signs(tmp_path: Path) -> None:
    odd = (Argued("R1", "null \x00 and \ud800 and \x0b", "rules", "dave2", "passed", ""),)
    for name in ("a.reqif", "b.reqif"):
        write_reqif(odd, tmp_path / name, created="2026-11-15T20:00:00+00:00")
    assert (tmp_path / "a.reqif").read_bytes() == (tmp_path / "b.reqif").read_bytes()
    ElementTree.parse(tmp_path / "a.reqif")


def test_reqif_is_read_by_another_program_and_agrees_with_the_schema(tmp_path: Path) -> None:
    parser = pytest.importorskip("reqif.parser", reason="the package reqif is not installed")
    write_reqif(ARGUED, tmp_path / "out.reqif", created="2026-11-15T20:00:00+00:00")
    bundle = parser.ReqIFParser.parse(str(tmp_path / "out.reqif"))
    (specification,) = bundle.core_content.req_if_content.specifications
    places = list(bundle.iterate_specification_hierarchy(specification))
    objects = [bundle.get_spec_object_by_ref(place.spec_object) for place in places]
    assert [one.attributes[0].value for one in objects] == ["R1", "R1", "S1", "R9"]
    command = "from reqif.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", command, "validate", "--use-reqif-schema", str(tmp_path / "out.reqif")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "0 errors, 0 schema issues found, 0 semantic issues found" in done.stdout, (
        done.stdout + done.stderr
    )
