"""What a suite that comes over the network may say."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from roadworthy.errors import InputError
from roadworthy.web.declared import Declared
from roadworthy.web.jobs.asks import BbslAsk, Binding, RulesAsk, SuiteAsk, read_ask
from roadworthy.web.services import check_ask
from roadworthy.web.settings import ServerLimits

SPEC = "exfunction v(): bb endexfunction case far PROJ_y(v()) > [0, 9] endcase"
RULE = "If it rains, slow down and/or stop."


def asked(*entries: Any, **others: Any) -> SuiteAsk:
    document = {
        "suite": "night",
        "models": {"dave2": "dave2"},
        "data": {"town": {"data": "world:town", "sample": 4}},
        "requirements": {f"R{number}": entry for number, entry in enumerate(entries)},
    }
    return SuiteAsk(document=document | others)


def check(ask: SuiteAsk) -> None:
    check_ask(ask, Declared((), ()), ServerLimits())


def test_every_kind_may_be_asked_for() -> None:
    ask = asked(
        RULE,
        {"reliability": "frost", "preserve": "prediction", "gallery": None},
        {"coverage": "0.7*neuron + 0.3*top-k", "tries": 20, "transforms": ["rain", "fog:light"]},
        {"bbsl": SPEC, "values": {"near": [1, 2], "others": {"boxes": "truck"}}},
        {"driving": {"SD(LP)": 0.2}, "simulator": "world:town", "tags": ["ISO/PAS 8800"]},
        {"rule": RULE, "gallery": "shipped", "traffic": "left"},
    )
    check(ask)
    assert (ask.name, ask.title, ask.models) == ("night", "R0, R1, R2, R3, R4, R5", ("dave2",))
    assert (ask.data, ask.frames, ask.seed) == ("world:town", 4, 0)


@pytest.mark.parametrize(
    "entry",
    [
        {"rules": "mine.rules"},
        {"rule": RULE, "engines": "engines.yaml"},
        {"rule": RULE, "gallery": "people"},
        {"rule": RULE, "by": "engine:mine"},
        {"reliability": "frost", "study": "mine.yaml"},
        {"reliability": "add(gallery=people)"},
        {"bbsl": "stop.bbsl"},
        {"bbsl": SPEC, "bindings": "near.yaml"},
        {"bbsl": SPEC, "values": {"near": {"table": {"path": "a.csv", "columns": "b"}}}},
        {"driving": "oracle.json"},
        {"driving": {}, "simulator": "donkey:127.0.0.1:9091"},
        {"driving": {}, "options": {"scene": "x"}},
    ],
    ids=str,
)
def test_nothing_that_opens_a_file_or_reaches_another_machine(entry: Any) -> None:
    with pytest.raises(InputError, match="may name no files, programs or other machines"):
        check(asked(entry))


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ({"models": {"m": "onnx:secret.onnx"}}, "this server has no model 'onnx:secret.onnx'"),
        ({"models": {"m": {"model": "dave2", "options": {"threads": 1}}}}, "may name no files"),
        ({"data": {"d": "folder:/etc"}}, "this server has no data set 'folder:/etc'"),
        ({"data": {"d": {"data": "world", "options": {"size": "9x9"}}}}, "may name no files"),
        ({"data": {"d": {"data": "world", "options": {"labels": "maps"}}}}, "labels: this server cannot ask"),
        ({"data": {"d": {"data": "world", "options": {"camera_height": "1"}}}}, "may name no files"),
        ({"data": {"d": {"data": "world", "options": {"depth": ["street"]}}}}, "may name no files"),
        ({"base": "nets"}, "base: a suite here may name no files"),
        ({"gate": "callable:evil.py:look"}, "gate: a suite here may name no files"),
        ({"gate": "http://127.0.0.1/look"}, "gate: a suite here may name no files"),
        ({"data": {"R0": {"data": "world", "options": {"size": "9x9"}}}}, "may name no files"),
        (
            {"models": {"town": {"model": "dave2", "options": {"threads": 1}}}, "data": {"town": "world"}},
            "may name no files",
        ),
        ({"data": {"d": {"data": "world", "sample": 99_999}}}, "frames at most here"),
        ({"data": {"d": "world"}}, "d: say with sample how many frames, 10000 at most here"),
        ({"data": {"d": {"data": "world:town, world", "sample": 1}}}, "no data set 'world:town, world'"),
    ],
)
def test_no_more_than_what_was_declared(others: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        check(asked(RULE, **others))


def test_a_suite_may_say_who_labels_its_frames_and_whether_they_are_looked_at() -> None:
    options = {"labels": "own, street", "depth": "none", "boxes": "own,detector"}
    check(asked(RULE, data={"d": {"data": "world", "sample": 4, "options": options}}, gate="off"))


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("If it rains, slow down" + " now" * 2_000, "R0: the text may have 4000 characters at most"),
        ({"bbsl": SPEC + " " * 30_000}, "R0: the text may have 20000 characters at most"),
        ({"rule": RULE, "text": "x" * 5_000}, "R0: the text may have 4000 characters at most"),
        ({"coverage": "neuron", "tries": 10**9}, "R0: tries may be 10000 at most here, got 1000000000"),
        ({"coverage": "neuron", "seconds": 1e9}, "R0: seconds may be 3600 at most here"),
        ({"reliability": "frost", "versions": 10**9}, "R0: versions may be 100 at most here"),
        ({"reliability": "frost", "batches": 10**9}, "R0: batches may be 10000 at most here"),
        ({"driving": {"SD(LP)": 0.2}, "laps": 10**9}, "R0: laps may be 100 at most here"),
        ({"driving": {"SD(LP)": 0.2}, "seconds": 1e9}, "R0: seconds may be 3600 at most here"),
    ],
)
def test_the_limits_of_the_server_hold_for_each_requirement(entry: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        check(asked(entry))


def test_frames_that_are_named_need_no_sample() -> None:
    ask = asked(RULE, data={"town": {"data": "world:town", "frames": ["town-000001", "town-000003"]}})
    check(ask)
    assert ask.frames == 2


@pytest.mark.parametrize(
    "document",
    [{}, {"models": 5}, {"models": "dave2", "requirements": {"R0": {"rule": RULE, "models": [5]}}}],
    ids=str,
)
def test_a_suite_that_cannot_be_read_is_no_ask(document: Any) -> None:
    with pytest.raises(ValidationError, match=r"models|requirements"):
        read_ask({"kind": "suite", "document": document})


FORM = {
    "text": "If it  rains,\n slow down.",
    "models": ("dave2", "dave2", "onnx:nets/mine.onnx"),
    "data": "world:town",
}


def test_a_form_is_a_suite() -> None:
    assert RulesAsk(**FORM).suite() == {  # type: ignore[arg-type]
        "suite": "rule",
        "seed": 0,
        "models": {"dave2": "dave2", "onnx:mine.onnx": "onnx:nets/mine.onnx"},
        "data": {"world:town": {"data": "world:town", "options": {"count": 60, "seed": 0}, "sample": 60}},
        "requirements": {"rule": {"rule": "If it rains, slow down.", "same": {}, "accept": None}},
    }
    others: dict[str, Any] = {"name": "R 1.b-c", "labels": "street", "depth": "none", "boxes": "own"}
    others |= {"frames": 4, "seed": 7, "allow": 0.05, "same_steering": 2.0, "same_speed": 0.07}
    assert RulesAsk(**FORM | others).suite() == {
        "suite": "R 1.b-c",
        "seed": 7,
        "models": {"dave2": "dave2", "onnx:mine.onnx": "onnx:nets/mine.onnx"},
        "data": {
            "world:town": {
                "data": "world:town",
                "options": {"count": 4, "seed": 7, "labels": "street", "depth": "none"},
                "sample": 4,
            }
        },
        "requirements": {
            "R 1.b-c": {
                "rule": "If it rains, slow down.",
                "same": {"steering": 2.0, "speed": "7%"},
                "accept": 0.05,
            }
        },
    }
    # A data set that is read has nothing to be made.
    read = RulesAsk(**FORM | {"data": "folder:frames"}).suite()["data"]  # type: ignore[arg-type]
    assert read == {"folder:frames": {"data": "folder:frames", "options": {}, "sample": 60}}
    assert RulesAsk(**FORM).title == FORM["text"]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("share", "written"), [(0.1, None), (0.12345, "12.345%"), (1.0, "100%"), (1e-7, "0.00001%")]
)
def test_a_share_is_written_exactly(share: float, written: str | None) -> None:
    same = RulesAsk(**FORM | {"same_speed": share}).entry()["same"]  # type: ignore[arg-type]
    assert same == ({} if written is None else {"speed": written})


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ({"name": "x" * 80}, {"name": "x" * 81}),
        ({"name": ""}, {"name": "a/b"}),
        ({"models": ("m",) * 8}, {"models": ("m",) * 9}),
        ({"models": ("m",)}, {"models": ()}),
        ({"models": ("m" * 300,)}, {"models": ("m" * 301,)}),
        ({"data": "d" * 300}, {"data": "d" * 301}),
        ({"data": "d"}, {"data": ""}),
        ({"labels": "x" * 2_000}, {"labels": "x" * 2_001}),
        ({"depth": "street"}, {"depth": ""}),
        ({"boxes": "own"}, {"boxes": ["own"]}),
        ({"frames": 1}, {"frames": 0}),
        ({"seed": 0}, {"seed": -1}),
        ({"seed": 2**31 - 1}, {"seed": 2**31}),
        ({"allow": 0}, {"allow": -0.001}),
        ({"allow": 1}, {"allow": 1.001}),
        ({"same_steering": 90}, {"same_steering": 90.1}),
        ({"same_steering": 0.001}, {"same_steering": 0}),
        ({"same_speed": 1}, {"same_speed": 1.001}),
        ({"same_speed": 0.001}, {"same_speed": 0}),
        ({"kind": "rules"}, {"kind": "other"}),
        ({}, {"unknown": 1}),
    ],
    ids=str,
)
def test_what_a_form_may_say(good: Any, bad: Any) -> None:
    read_ask({"kind": "rules", **FORM, **good})
    with pytest.raises(ValidationError):
        read_ask({"kind": "rules", **FORM, **bad})


DETECTED = """exfunction v(): bb near(): interval others(): setBB speed(): real there(): bool
endexfunction case far PROJ_y(v()) > near() endcase"""


def specified(text: str = DETECTED, **bindings: Binding) -> BbslAsk:
    given = FORM | {"text": text, "classes": " car, ,truck "}
    return BbslAsk(**given, bindings=bindings)  # type: ignore[arg-type]


def test_a_form_of_a_specification_is_a_suite() -> None:
    ask = specified(
        v=Binding(source="object"),
        near=Binding(source="value", value=" 1, 2 "),
        others=Binding(source="boxes", value="car,truck"),
        speed=Binding(source="signal", value=" speed "),
        there=Binding(source="exists", value="car"),
    )
    assert ask.suite()["requirements"] == {
        "specification": {
            "bbsl": DETECTED,
            "values": {
                "near": [1.0, 2.0],
                "others": {"boxes": ["car", "truck"]},
                "speed": {"signal": "speed"},
                "there": {"exists": ["car"]},
            },
            "object": "v",
            "classes": ["car", "truck"],
            "accept": None,
        }
    }
    assert ask.title == "a specification in BBSL"
    # Without an object there are no classes of objects.
    assert specified(near=Binding(source="value", value="1, 2")).entry() == {
        "bbsl": DETECTED,
        "values": {"near": [1.0, 2.0]},
    }


@pytest.mark.parametrize(
    ("bindings", "words"),
    [
        ({"w": Binding(source="object")}, "has no external function 'w': choose its values again"),
        ({"near": Binding(source="object")}, "one function of type bb must stand for the object under test"),
        (
            {"v": Binding(source="object"), "w": Binding(source="object")},
            "one function of type bb must stand for the object under test, and only one",
        ),
        ({"near": Binding(source="value", value="x")}, "^near: "),
        ({"others": Binding(source="boxes", value=" ")}, "^others: name classes, such as vehicle$"),
        ({"speed": Binding(source="signal")}, "^speed: name a signal, such as speed$"),
    ],
    ids=str,
)
def test_values_that_cannot_be_used(bindings: dict[str, Binding], words: str) -> None:
    text = DETECTED.replace("v(): bb", "v(): bb w(): bb") if len(bindings) > 1 else DETECTED
    with pytest.raises(InputError, match=words):
        specified(text, **bindings).entry()


def test_a_suite_without_a_name_and_with_several_data() -> None:
    data = {
        "a": {"data": "world:town", "sample": 4},
        "b": "world",
        "c": {"data": "world", "frames": ["x", "y"]},
    }
    rule = {"rule": RULE, "data": "a"}
    ask = SuiteAsk(
        document={
            "models": {"x": "dave2", "y": "epoch"},
            "data": data,
            "seed": 5,
            "requirements": {"R": rule},
        }
    )
    assert (ask.name, ask.title, ask.models) == ("", "R", ("dave2", "epoch"))
    assert (ask.data, ask.frames, ask.seed) == ("world:town, world, world", 6, 5)
    assert ask.suite() is ask.document
