"""Rules from handbooks: which sentences are duties, how they are worded, and who decides."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from roadworthy.cli import app
from roadworthy.errors import InputError, RoadworthyError
from roadworthy.rules import parse, read_rules
from roadworthy.rules.drafting import Paraphraser, draft, read_handbook, sentences_of, write_draft

HANDBOOK = """\
CHAPTER 4: Adverse weather

126. In wet weather, stopping distances will be at least double those on dry
roads. You should keep well back, as this lets you see ahead. You MUST reduce your speed
if a cyclist is riding on the road ahead, because cyclists may swerve.

You should slow down when:
 • it is foggy (see Rule 235)
 • there is snow on the road

Do not speed up at night. You do not have to stop if the light is green.
Motorists shall give way to pedestrians at a crosswalk.
"""


def drafted(text: str, **more: Any) -> dict[str, Any]:
    return {one.sentence: one for one in draft(text, "code.txt", **more)[0]}


def test_duties_are_found_with_their_lines() -> None:
    assert [(one.line, one.sentence[:24]) for one in draft(HANDBOOK, "code.txt")[0]] == [
        (4, "You should keep well bac"),
        (4, "You MUST reduce your spe"),
        (8, "You should slow down whe"),
        (9, "You should slow down whe"),
        (11, "Do not speed up at night"),
        (12, "Motorists shall give way"),
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        "Fog is common in autumn.",
        "You do not have to stop if the light is green.",
        "Stopping distances will be longer on wet roads.",
        "Cyclists may swerve.",
    ],
)
def test_facts_and_permissions_are_no_duties(sentence: str) -> None:
    assert drafted(sentence) == {}


@pytest.mark.parametrize(
    "sentence",
    [
        "If a vehicle appears ahead of you, reduce your speed by at least 30%.",
        "Slow down in fog.",
        "In snow, reduce your speed.",
        "You are expected to slow down in fog.",
    ],
)
def test_orders_are_duties(sentence: str) -> None:
    assert drafted(sentence)[sentence].rule


@pytest.mark.parametrize(
    ("sentence", "rule", "remark"),
    [
        ("Slow down in fog (see Rule 235).", "Slow down in fog.", "what stands in brackets is left out"),
        (
            "You must slow down if a cyclist is riding on the road ahead, since cyclists may swerve.",
            "You must slow down if a cyclist is riding on the road ahead.",
            "the reason is left out",
        ),
        (
            "Slow down if it rains, because roads are slippery.",
            "Slow down if it rains, because roads are slippery.",
            "'because roads are slippery' is not tested.",
        ),
        (
            "Never exceed 30 km/h when it snows, e.g. in January.",
            "Never exceed 30 km/h when it snows.",
            "examples are left out",
        ),
        (
            "At night, drive more slowly than by day.",
            "At night, drive more slowly.",
            "compared with the frame as it is",
        ),
        (
            "Be ready to slow down if a pedestrian appears on the roadside.",
            "Slow down if a pedestrian appears on the roadside.",
            "to be ready for it is tested as doing it",
        ),
        (
            "Motorists shall give way to pedestrians at a crosswalk.",
            "The ego-vehicle should slow down if pedestrians appear at a crosswalk.",
            "to give way is tested as slowing down",
        ),
    ],
)
def test_what_differs_from_the_sentence_is_told(sentence: str, rule: str, remark: str) -> None:
    duty = drafted(sentence)[sentence]
    assert (duty.rule, duty.remarks) == (rule, (remark,))
    assert duty.reading == str(parse(rule))


def test_a_sentence_that_is_read_as_it_is_is_not_touched() -> None:
    plain = "You should slow down when it rains."
    assert (drafted(plain)[plain].rule, drafted(plain)[plain].remarks) == (plain, ())


@pytest.mark.parametrize(
    "sentence",
    [
        "Slow down at night to avoid a crash unless the road is lit.",
        "Slow down in fog (but not on a motorway).",
        "Slow down in rain, for example if it is heavy.",
    ],
)
def test_exceptions_and_conditions_are_not_left_out(sentence: str) -> None:
    assert drafted(sentence)[sentence].rule == ""


def test_many_duties_of_one_line_have_names(tmp_path: Path) -> None:
    text = " ".join(f"If a car is {far} m ahead, slow down." for far in range(10, 40))
    duties, _ = draft(text, "code.txt")
    write_draft(duties, tmp_path / "code.rules")
    file = tmp_path / "code.rules"
    file.write_text(file.read_text().replace("#? ", ""))
    assert [one.id for one in read_rules(file)][:3] == ["code-1", "code-1.2", "code-1.3"]
    assert len(read_rules(file)) == 30


def test_decisions_stay_when_lines_move(tmp_path: Path) -> None:
    file = tmp_path / "code.rules"
    write_draft(draft(HANDBOOK, "code.txt")[0], file)
    file.write_text(file.read_text().replace("#? ", "#- "))
    assert write_draft(draft(f"Preface.\n\n{HANDBOOK}", "code.txt")[0], file) == (0, 5)


def test_what_is_not_read_says_which_words() -> None:
    sentence = "Never overtake near a junction."
    duty = drafted(sentence)[sentence]
    assert duty.rule == ""
    assert "junction" in duty.reason


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Slow down (approx. 10 km/h). Stop.", [(1, "Slow down (approx. 10 km/h)."), (1, "Stop.")]),
        ("Use lights, e.g. Xenon ones. Stop.", [(1, "Use lights, e.g. Xenon ones."), (1, "Stop.")]),
        (
            "Slow down when\n\n1) it rains\n2) it snows\n\nStop.",
            [(3, "Slow down when it rains"), (4, "Slow down when it snows"), (6, "Stop.")],
        ),
        ("A heading\n\n- Stop.\n- Turn.", [(1, "A heading"), (3, "Stop."), (4, "Turn.")]),
        ("One\r\ntwo.\r\n\r\nThree.", [(1, "One two."), (4, "Three.")]),
        ("", []),
    ],
)
def test_sentences_and_lists(text: str, found: list[tuple[int, str]]) -> None:
    assert list(sentences_of(text)) == found


def test_nothing_is_a_rule_before_a_person_accepts_it(tmp_path: Path) -> None:
    file = tmp_path / "code.rules"
    duties, _ = draft(HANDBOOK, "code.txt")
    assert write_draft(duties, file) == (5, 0)
    with pytest.raises(InputError, match='delete the "#\\? "'):
        read_rules(file)
    text = file.read_text()
    assert "# code.txt:12: Motorists shall give way to pedestrians at a crosswalk.\n" in text
    assert "#   note: to give way is tested as slowing down\n" in text

    file.write_text(text.replace("#? ", ""))
    accepted = read_rules(file)
    assert [one.id for one in accepted] == ["code-4", "code-8", "code-9", "code-11", "code-12"]
    for one in accepted:
        assert f"#   reads: {parse(one.text)}" in text


def test_drafting_again_keeps_what_was_decided(tmp_path: Path) -> None:
    file = tmp_path / "code.rules"
    write_draft(draft(HANDBOOK, "code.txt")[0], file)
    decided = (
        file.read_text()
        .replace(
            "#? code-8: You should slow down when it is foggy", "code-8: In fog, slow down by at least 20%."
        )
        .replace("#? code-11", "#- code-11")
    )
    file.write_text(decided)
    longer = f"{HANDBOOK}\nReduce your speed when it rains. Slow down at night."
    assert write_draft(draft(longer, "code.txt")[0], file) == (2, 5)
    text = file.read_text()
    assert text.startswith(decided)
    assert [(one.id, one.text) for one in read_rules(file)] == [
        ("code-8", "In fog, slow down by at least 20%.")
    ]
    assert "#? code-14: Reduce your speed when it rains.\n" in text
    assert "#? code-14.2: Slow down at night.\n" in text


def test_ids_of_names_that_are_none(tmp_path: Path) -> None:
    file = tmp_path / "odd.rules"
    write_draft(draft("Slow down in fog.", "2024 Straßen-Code (v2).txt")[0], file)
    file.write_text(file.read_text().replace("#? ", ""))
    assert [one.text for one in read_rules(file)] == ["Slow down in fog."]


class Chat(BaseHTTPRequestHandler):
    """A chat endpoint that answers what it was told to."""

    content: Any = ""
    body: bytes | None = None
    wait = Event()
    asked: list[dict[str, Any]] = []  # noqa: RUF012 - one server at a time

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        document = json.loads(self.rfile.read(length))
        Chat.asked.append({"path": self.path, "key": self.headers.get("Authorization"), **document})
        if Chat.content is None:
            Chat.wait.wait(20)
            return
        answer = Chat.body or json.dumps({"choices": [{"message": {"content": Chat.content}}]}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def chat(content: Any, body: bytes | None = None) -> Iterator[str]:
    Chat.content, Chat.body, Chat.asked = content, body, []
    Chat.wait.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Chat)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        Chat.wait.set()
        server.shutdown()
        thread.join()
        server.server_close()


UNREAD = "Never overtake near a junction, and mind those on foot beside the carriageway."


def asked(content: Any, body: bytes | None = None, timeout: float = 5.0) -> tuple[Any, list[str]]:
    with chat(content, body) as url:
        words = Paraphraser(url, "some-model", "secret", timeout=timeout)
        duties, problems = draft(f"{UNREAD} Slow down in fog.", "code.txt", paraphrase=words)
    assert duties[1].rule == "Slow down in fog."
    return duties[0], problems


def test_a_language_model_may_propose_words() -> None:
    duty, problems = asked('1. "If a pedestrian appears on the roadside, slow down."\n2. nonsense')
    assert duty.rule == "If a pedestrian appears on the roadside, slow down."
    assert duty.remarks == ("in the words of a language model",)
    assert problems == []
    # It is asked about what is not read, and about nothing else.
    assert [one["messages"][-1]["content"] for one in Chat.asked] == [UNREAD]
    assert Chat.asked[0]["model"] == "some-model"
    assert (Chat.asked[0]["path"], Chat.asked[0]["key"]) == ("/v1/chat/completions", "Bearer secret")


@pytest.mark.parametrize("content", ["NONE", "", "Drive well.", "x" * 401, "If a dragon appears, slow down."])
def test_what_the_reader_cannot_read_is_no_proposal(content: str) -> None:
    duty, problems = asked(content)
    assert (duty.rule, problems) == ("", [])


@pytest.mark.parametrize("number", ["30%", "thirty percent"])
def test_numbers_that_the_handbook_does_not_have_are_refused(number: str) -> None:
    duty, _ = asked(f"If a pedestrian appears on the roadside, slow down by at least {number}.")
    assert duty.rule == ""
    assert "a language model has other numbers" in duty.reason


@pytest.mark.parametrize(
    ("content", "body", "problem"),
    [
        ("", b"<html>", "gave no chat completion"),
        ("", b'{"choices": []}', "gave no chat completion"),
        ("", b"[" * 200_000, "gave no chat completion"),
        ("", b"a" * (2**18 + 1), "answered with more than"),
        (None, None, "gave no answer within 0.2 s"),
    ],
)
def test_an_endpoint_that_fails_loses_nothing(content: str | None, body: bytes | None, problem: str) -> None:
    duty, problems = asked(content, body, timeout=0.2 if content is None else 5.0)
    assert duty.rule == ""
    assert len(problems) == 1
    assert problem in problems[0]


def test_a_dead_endpoint_is_asked_once() -> None:
    text = f"{UNREAD} Never overtake near a bridge. Slow down in fog."
    words = Paraphraser("http://127.0.0.1:9/v1", "some-model", timeout=1)
    duties, problems = draft(text, "code.txt", paraphrase=words)
    assert [bool(one.rule) for one in duties] == [False, False, True]
    assert len(problems) == 1
    assert "no server listens" in problems[0]


def run(*args: str) -> Result:
    return CliRunner().invoke(app, ["rules", "draft", *args], env={"COLUMNS": "200"})


def test_the_command_writes_beside_the_text(tmp_path: Path) -> None:
    handbook = tmp_path / "code.txt"
    handbook.write_text(HANDBOOK)
    result = run(str(handbook))
    assert result.exit_code == 0
    assert "code.txt:8: You should slow down when it is foggy (see Rule 235)" in result.output
    assert "6 duties, 5 of them can be tested: 5 new in" in result.output
    assert (tmp_path / "code.rules").is_file()
    document = json.loads(run(str(handbook), "--json").stdout)
    assert (document["added"], len(document["duties"])) == (0, 6)
    assert document["duties"][1]["line"] == 4


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        ("", [], "expected a text with sentences"),
        ("Fog is common.", [], "no sentence states a duty"),
        ("Slow down.", ["--endpoint", "http://127.0.0.1:9"], "belong together"),
        ("Slow down.", ["--endpoint-model", "m"], "belong together"),
        ("Slow down.", ["--out", "HANDBOOK"], "is the text itself"),
        ("Slow down.", ["--endpoint", "ftp://x", "--endpoint-model", "m"], "expected an address"),
        ("Slow down.", ["--endpoint", "http://a..b/v1", "--endpoint-model", "m"], "expected an address"),
        ("Slow down in " + "(" * 10**6, [], "code.txt:1: a sentence of 1,000,013 characters is not read"),
        (b"\xff\xfe\x00", [], "code.txt"),
    ],
)
def test_wrong_use_is_told(text: str | bytes, more: list[str], message: str, tmp_path: Path) -> None:
    handbook = tmp_path / "code.txt"
    handbook.write_bytes(text if isinstance(text, bytes) else text.encode())
    result = run(str(handbook), *(str(handbook) if one == "HANDBOOK" else one for one in more))
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
    assert not (tmp_path / "code.rules").exists()


def test_a_sentence_without_end_costs_no_other() -> None:
    duties, problems = draft("Slow down in fog." + "\n\nStop no. 1" * 9 + " no. A" * 20_000, "code.txt")
    assert [one.rule for one in duties if one.rule] == ["Slow down in fog."]
    assert len(problems) == 1


def test_the_name_of_a_text_brings_no_rule(tmp_path: Path) -> None:
    handbook = tmp_path / "a\nR1: If it rains, the ego-vehicle should slow down.\n.txt"
    handbook.write_text("Slow down in fog.")
    assert run(str(handbook), "--out", str(tmp_path / "a.rules")).exit_code == 0
    with pytest.raises(RoadworthyError, match="none of its drafted rules is accepted"):
        read_rules(tmp_path / "a.rules")


def test_a_terminal_obeys_no_language_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret\n")
    handbook = tmp_path / "code.txt"
    handbook.write_text(UNREAD)
    with chat("If it rains, slow down by 30%.\x1b]0;mine\x07\x1b[2J\x9b2J") as url:
        result = run(str(handbook), "--endpoint", url, "--endpoint-model", "m")
    assert "slow down by 30%.]0;mine[2J2J" in result.output
    assert Chat.asked[0]["key"] == "Bearer secret"
    with pytest.raises(InputError, match="must be one word of plain letters"):
        Paraphraser(url, "m", "schl\xfcssel")


def test_a_handbook_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(RoadworthyError, match=r"cannot read .*none\.txt"):
        read_handbook(tmp_path / "none.txt")
