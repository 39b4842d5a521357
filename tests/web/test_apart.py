"""A process of its own for what must not hold up the page, or harm the server."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.web.client import finished

from roadworthy.errors import InputError
from roadworthy.web.apart import ProcessApart

GAP = "exfunction v(): bb endexfunction case far PROJ_y(v()) > [0, 100] endcase"


async def checked(process: ProcessApart, text: str = GAP) -> str:
    return str((await process.ask("check", text=text, seconds=5))["state"])


def test_it_answers_again_and_again_and_after_one_that_took_too_long_or_was_given_up() -> None:
    async def asked() -> list[str]:
        process = ProcessApart(60)
        try:
            found = [await checked(process), await checked(process)]
            same = process._process
            process.seconds = 0.001
            with pytest.raises(InputError, match=r"no answer within 0\.001 seconds"):
                await checked(process)
            process.seconds = 60
            given_up = asyncio.create_task(checked(process))
            await asyncio.sleep(0.05)
            given_up.cancel()
            with pytest.raises(asyncio.CancelledError):
                await given_up
            found.append(await checked(process))
            assert process._process is not same
            return found
        finally:
            await process.close()

    assert finished(asked()) == ["checked"] * 3


@dataclass
class Silent:
    """A process that answers what it is told to, and then ends."""

    answers: list[bytes | Exception]
    returncode: int | None = None
    asked: list[Any] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stdin = self.stdout = self

    def write(self, data: bytes) -> None:
        assert data.endswith(b"\n")
        self.asked.append(json.loads(data))

    async def drain(self) -> None:
        pass

    async def readline(self) -> bytes:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def kill(self) -> None:
        self.ended.append("killed")
        raise ProcessLookupError

    def close(self) -> None:
        self.ended.append("closed")

    async def wait(self) -> None:
        self.ended.append("waited for")


def test_one_that_ends_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    fine = b'{"found": {"state": "checked"}}\n'
    first, second = Silent([fine, b""]), Silent([BrokenPipeError()])
    third, fourth = Silent([fine, b'{"error": "no"}\n', fine]), Silent([fine])
    waiting = [first, second, third, fourth]

    async def create(*command: str, **given: Any) -> Silent:
        assert command[1:] == ("-m", "roadworthy.web.apart")
        assert given["limit"] >= 8 * 2**20
        return waiting.pop(0)

    monkeypatch.setattr("asyncio.create_subprocess_exec", create)

    async def asked() -> list[str]:
        process = ProcessApart(20)
        found = []
        for number in range(7):
            if number == 6:
                third.returncode = 1
            try:
                found.append(await checked(process, "x"))
            except InputError as error:
                found.append(str(error)[:10])
        return found

    crashed = "it crashed"
    assert finished(asked()) == ["checked", crashed, crashed, "checked", "no", "checked", "checked"]
    assert first.asked == [{"what": "check", "text": "x", "seconds": 5}] * 2
    assert first.ended == second.ended == ["killed", "closed", "waited for"]
    assert (third.ended, waiting) == ([], [])


def test_files_get_a_new_one_each_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = []

    async def create(*_: str, **__: Any) -> Silent:
        made.append(Silent([b'{"found": {}}\n']))
        return made[-1]

    monkeypatch.setattr("asyncio.create_subprocess_exec", create)

    async def asked() -> None:
        process = ProcessApart(20, once=True)
        for _ in range(2):
            await process.ask("frames", reference=str(tmp_path))

    finished(asked())
    assert [one.ended for one in made] == [["killed", "closed", "waited for"]] * 2
