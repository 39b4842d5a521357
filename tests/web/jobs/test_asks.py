"""What a suite that comes over the network may say."""

from __future__ import annotations

from typing import Any

import pytest

from roadworthy.errors import InputError
from roadworthy.web.jobs.asks import SuiteAsk
from roadworthy.web.services import check_ask
from roadworthy.web.settings import Declared, ServerLimits

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
    with pytest.raises(InputError, match="may name no files, options, programs or other machines"):
        check(asked(entry))


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ({"models": {"m": "onnx:secret.onnx"}}, "this server has no model 'onnx:secret.onnx'"),
        ({"models": {"m": {"model": "dave2", "options": {"threads": 1}}}}, "may name no files, options"),
        ({"data": {"d": "folder:/etc"}}, "this server has no data set 'folder:/etc'"),
        ({"data": {"d": {"data": "world", "options": {"size": "9x9"}}}}, "may name no files, options"),
        ({"data": {"d": {"data": "world", "sample": 99_999}}}, "frames at most here"),
    ],
)
def test_no_more_than_what_was_declared(others: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        check(asked(RULE, **others))
