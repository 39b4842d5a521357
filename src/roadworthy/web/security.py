"""Who is let in, and what pages may load: the middleware that every request passes.

In this order: the host that a request is addressed to, the page that it comes from, the token of servers that
other machines reach, and, for what changes anything, the token of the session and the size of the request.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, quote, urlencode

from pydantic_core import from_json
from starlette.requests import cookie_parser

from roadworthy.web.settings import ServerSettings

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

SESSION_COOKIE = "roadworthy_session"
TOKEN_COOKIE = "roadworthy_token"
CSRF_HEADER = "x-csrf-token"
_SAFE = frozenset({"GET", "HEAD"})
UPLOAD = "PUT"
"""The method by which files are sent; all else that changes anything is a few lines of JSON."""
# What needs no token: the style of the page that asks for one.
_OPEN = ("/static/",)

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "media-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
"""No script or style but files of ours, no other host, and no page around ours."""

_OTHER_NAME = (
    "This server does not answer to that name. Open the address that `roadworthy serve` printed, or start it "
    "with --name for another name of this machine."
)
_NO_TOKEN = (
    "This server is open to other machines and asks for its token. Open the address with ?token=… that "
    "`roadworthy serve` printed."
)
_OLD_PAGE = (
    "The page is from before the server was started again, or is not one of its own. Reload it; your text is "
    "kept."
)
_NO_JSON = (
    "The text has an invalid character, such as half an emoji, a number that is none, or too many brackets: "
    "{}. Type it again."
)

HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
"""What every answer says, beside what it is."""


@dataclass(frozen=True)
class Sessions:
    """Sessions of browsers, and the token that goes with each.

    Nothing is stored: the token is made of the session's name and a secret of this server, so that nobody
    else can make it, and a page from before a restart is told so.

    Example:
        >>> sessions = Sessions(b"secret")
        >>> sessions.valid("one", sessions.token("one")), sessions.valid("two", sessions.token("one"))
        (True, False)
    """

    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))

    def new(self) -> str:
        """Return the name of a new session."""
        return secrets.token_urlsafe(24)

    def token(self, session: str) -> str:
        """Return the token that goes with a session."""
        return hmac.new(self.secret, session.encode(), sha256).hexdigest()

    def valid(self, session: str, token: str) -> bool:
        """Return whether a token goes with a session."""
        return bool(session) and hmac.compare_digest(self.token(session).encode(), token.encode())


class AccessGate:
    """Lets in who may come in, and says with every answer what the page may load.

    Args:
        app: What answers those who are let in.
        settings: Whom the server is for.
        sessions: The sessions of browsers.
    """

    def __init__(self, app: App, settings: ServerSettings, sessions: Sessions) -> None:
        self.app = app
        self.settings = settings
        self.sessions = sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # nothing here speaks another protocol
        headers = _headers(scope)
        # Python's own parser drops all cookies for one that it dislikes, and other servers of this machine
        # set some of those.
        cookies = cookie_parser(headers.get("cookie", ""))
        if (refusal := self._refusal(scope, headers, cookies)) is not None:
            await _refuse(send, headers, *refusal)
            return
        if self.settings.token is not None and self._is_token(given := _query_token(scope)):
            await self._settle_token(scope, send, given)
            return
        session = cookies.get(SESSION_COOKIE, "")
        fresh = "" if session else self.sessions.new()
        scope.setdefault("state", {})["csrf"] = self.sessions.token(session or fresh)
        await self._pass_on(scope, receive, send, headers, fresh)

    def _refusal(
        self, scope: Scope, headers: dict[str, str], cookies: dict[str, str]
    ) -> tuple[int, str, str] | None:
        """Return status, code and reason where a request is not let in."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if not self.settings.admits(host):
            return 421, "host", _OTHER_NAME
        safe = scope["method"] in _SAFE
        foreign = origin is not None and origin not in (f"http://{host}", f"https://{host}")
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            foreign = foreign or not (safe and headers.get("sec-fetch-mode") == "navigate")
        if foreign:
            return 403, "origin", "Requests from pages of other servers are not answered."
        if not self._has_token(scope, headers, cookies):
            return 401, "token", _NO_TOKEN
        session, token = cookies.get(SESSION_COOKIE, ""), headers.get(CSRF_HEADER, "")
        if not safe and not self.sessions.valid(session, token):
            return 403, "session", _OLD_PAGE
        return None

    def _has_token(self, scope: Scope, headers: dict[str, str], cookies: dict[str, str]) -> bool:
        if self.settings.token is None or scope["path"].startswith(_OPEN):
            return True
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        return any(map(self._is_token, (cookies.get(TOKEN_COOKIE, ""), bearer, _query_token(scope))))

    def _is_token(self, shown: str) -> bool:
        """Return whether somebody shows the token; how long that takes says nothing about it."""
        wanted = self.settings.token or ""
        return bool(wanted) and hmac.compare_digest(shown.encode(), wanted.encode())

    async def _settle_token(self, scope: Scope, send: Send, token: str) -> None:
        """Keep the token in a cookie, and lead to the address without it: it shall not stand in a history."""
        query = [
            one
            for one in parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
            if one[0] != "token"
        ]
        # Only a path of ours, quoted: "//other.example" and "/\\other.example" would be another host.
        target = "/" + quote(scope["path"].lstrip("/")) + (f"?{urlencode(query)}" if query else "")
        cookie = f"{TOKEN_COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict"
        await _answer(
            send, 303, b"", [(b"location", target.encode("ascii")), (b"set-cookie", cookie.encode("latin-1"))]
        )

    async def _pass_on(
        self, scope: Scope, receive: Receive, send: Send, headers: dict[str, str], fresh: str
    ) -> None:
        limits = self.settings.limits
        length = headers.get("content-length", "0")
        if scope["method"] == UPLOAD:
            # Its route takes it piece by piece.
            if not _fits(length, limits.upload):
                reason = f"A file may have {limits.upload // 2**20:,} MiB at most."
                await _refuse(send, headers, 413, "size", reason)
                return
        elif scope["method"] not in _SAFE:
            try:
                async with asyncio.timeout(limits.body_seconds):
                    body = await _body(receive, length, limits.body)
            except TimeoutError:
                reason = f"The request was not there within {limits.body_seconds:g} seconds. Send it again."
                await _refuse(send, headers, 408, "time", reason)
                return
            if body is None:
                reason = f"A request may have {limits.body // 1024} KiB at most. Send less."
                await _refuse(send, headers, 413, "size", reason)
                return
            try:
                _check_json(body)
            except ValueError as error:
                await _refuse(send, headers, 422, "json", _NO_JSON.format(error))
                return
            receive = _given(body, receive)

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name.lower() for name, _ in message.get("headers", [])}
                extra = [(name, value) for name, value in HEADERS if name not in own]
                if b"cache-control" not in own:
                    extra.append((b"cache-control", b"no-store"))
                if fresh:
                    cookie = f"{SESSION_COOKIE}={fresh}; Path=/; HttpOnly; SameSite=Strict"
                    extra.append((b"set-cookie", cookie.encode()))
                message["headers"] = [*message.get("headers", []), *extra]
            await send(message)

        await self.app(scope, receive, sealed)


def _fits(length: str, limit: int) -> bool:
    return length.isascii() and length.isdigit() and int(length) <= limit


async def _body(receive: Receive, length: str, limit: int) -> bytes | None:
    """Return the body of a request; None as soon as it is too large."""
    if not _fits(length, limit):
        return None
    taken = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return bytes(taken)
        taken += message.get("body", b"")
        if len(taken) > limit:
            return None
        if not message.get("more_body", False):
            return bytes(taken)


def _check_json(body: bytes) -> None:
    """Refuse what is read here but cannot be written again, or not by everybody.

    Raises:
        ValueError: It has half a character, a number that is none, or lies too deep.
    """
    if body:
        json.dumps(from_json(body, allow_inf_nan=False), allow_nan=False)


def _given(body: bytes, receive: Receive) -> Receive:
    """Return what gives a body that was read already, and then whatever comes."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def given() -> Message:
        return waiting.pop() if waiting else await receive()

    return given


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}


def _query_token(scope: Scope) -> str:
    pairs: Iterable[tuple[str, str]] = parse_qsl(scope["query_string"].decode("latin-1"))
    return next((value for name, value in pairs if name == "token"), "")


async def _refuse(send: Send, headers: dict[str, str], status: int, code: str, reason: str) -> None:
    """Say why a request is not answered: as JSON to scripts, in words to people."""
    if "text/html" in headers.get("accept", ""):
        body = f"{reason}\n".encode()
        kind = b"text/plain; charset=utf-8"
    else:
        body = json.dumps({"code": code, "error": reason}).encode()
        kind = b"application/json"
    await _answer(send, status, body, [(b"content-type", kind)])


async def _answer(send: Send, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    head = [*headers, *HEADERS, (b"cache-control", b"no-store"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})
