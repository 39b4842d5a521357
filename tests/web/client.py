"""A browser without a window: asks an app without a server, byte for byte as it is told."""

from __future__ import annotations

import asyncio
import json
import time
from base64 import b64decode
from collections.abc import Coroutine, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.cookies import SimpleCookie
from typing import Any, TypeVar
from urllib.parse import unquote

import numpy as np
from fastapi import FastAPI

from roadworthy.web.security import CSRF_HEADER

__all__ = ["ADDRESS", "Answer", "Browser", "Client", "finished"]

T = TypeVar("T")

HOST = "127.0.0.1:8321"
ADDRESS = f"http://{HOST}"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    def json(self) -> Any:
        return json.loads(self.body)


def finished(work: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine comes to.

    In a thread of its own: Playwright's loop runs in this one once a test has opened a browser.
    """
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


class Client:
    """Keeps cookies, and leaves paths as they are: a browser would tidy up `..` before it asks."""

    def __init__(self, app: FastAPI, host: str = HOST) -> None:
        self.app = app
        self.host = host
        self.cookies: dict[str, str] = {}
        self.answers: list[Answer] = []
        self.stays_open_after: int | None = None
        """After how many pieces of a request nothing more comes."""

    def get(self, path: str, **headers: str) -> Answer:
        return self.request("GET", path, headers)

    def request(
        self, method: str, path: str, headers: Mapping[str, str], pieces: Iterable[bytes] = (b"",)
    ) -> Answer:
        return finished(self._request(method, path, headers, list(pieces)))

    async def _request(
        self, method: str, path: str, headers: Mapping[str, str], pieces: list[bytes]
    ) -> Answer:
        raw, _, query = path.partition("?")
        given = {"host": self.host, **{name.replace("_", "-"): value for name, value in headers.items()}}
        if self.cookies:
            given["cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(raw),
            "raw_path": raw.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.lower().encode(), value.encode()) for name, value in given.items()],
            "client": ("127.0.0.1", 5000),
            "server": ("127.0.0.1", 8321),
        }
        sent: list[Any] = []
        sent_pieces = 0

        async def receive() -> Any:
            nonlocal sent_pieces
            if pieces and sent_pieces != self.stays_open_after:
                sent_pieces += 1
                return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}
            return await asyncio.Event().wait()  # the page stays open

        async def send(message: Any) -> None:
            sent.append(message)

        try:
            await self.app(scope, receive, send)
        finally:
            if sent:
                self.answers = [*self.answers, self._answer(sent)]
        return self.answers[-1]

    def _answer(self, sent: list[Any]) -> Answer:
        found = [(name.decode().lower(), value.decode()) for name, value in sent[0]["headers"]]
        for name, value in found:
            if name == "set-cookie":
                self.cookies |= {key: one.value for key, one in SimpleCookie(value).items()}
        body = b"".join(message.get("body", b"") for message in sent[1:])
        return Answer(sent[0]["status"], dict(found), body)


KEY = "requirement", "system", "case"


def _column(column: dict[str, Any]) -> list[str]:
    return [column["names"][code] for code in np.frombuffer(b64decode(column["codes"]), "<i4")]


class Browser:
    """Talks to an app as a page of its own does: with the token that the page holds."""

    def __init__(self, client: Client) -> None:
        self.client = client
        page = client.get("/runs", accept="text/html").text
        start = page.index('name="csrf-token" content="') + len('name="csrf-token" content="')
        self.csrf = page[start : page.index('"', start)]

    def get(self, path: str, **headers: str) -> Answer:
        return self.client.get(path, **headers)

    def page(self, path: str) -> Answer:
        return self.client.get(path, accept="text/html")

    def cases(self, run: str, *, status: str = "failures", **chosen: str) -> list[Any]:
        """Return what the wall shows of a run: its failures, or what else is chosen, the worst first."""
        columns = self.get(f"/look/{run}/table").json()["categories"]
        rows = zip(*(_column(columns[name]) for name in (*KEY, "status")), strict=True)
        statuses = {"failures": ("violated", "error"), "all": ()}.get(status, (status,))
        wanted = [dict(zip(KEY, key, strict=True)) for *key, own in rows if not statuses or own in statuses]
        wanted = [one for one in wanted if chosen.items() <= one.items()]
        lots = (wanted[at : at + 200] for at in range(0, len(wanted), 200))
        return [
            one for lot in lots for one in self.post(f"/look/{run}/cases", {"cases": lot}).json()["cases"]
        ]

    def settled(self, path: str) -> Answer:
        """Return a page once what it waits for is there."""
        end = time.monotonic() + 120
        while 'id="working"' in (answer := self.page(path)).text:
            assert time.monotonic() < end, "it took too long"
        return answer

    def post(
        self, path: str, body: object, pieces: Iterable[bytes] = (), method: str = "POST", **headers: str
    ) -> Answer:
        data = list(pieces) or [json.dumps(body).encode()]
        own = {"origin": ADDRESS, CSRF_HEADER: self.csrf, "content-type": "application/json"}
        given = own | {name.replace("_", "-"): value for name, value in headers.items()}
        if not pieces:
            given["content-length"] = str(len(data[0]))
        return self.client.request(method, path, given, data)
