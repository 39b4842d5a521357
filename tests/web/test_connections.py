"""What a visitor can do with bare connections to a real server, before a token is looked at."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from roadworthy.web.server import listening, server_for
from roadworthy.web.settings import ServerLimits, ServerSettings

if TYPE_CHECKING:
    import uvicorn

PATIENCE = 60.0  # seconds; what is to happen happens long before
CONNECTIONS = 8
HEAD = b"Host: 127.0.0.1\r\nAuthorization: Bearer geheim\r\nConnection: close\r\n"
PAGE = b"GET /runs HTTP/1.1\r\n" + HEAD + b"\r\n"


@dataclass(frozen=True)
class Site:
    """A server with its address."""

    server: uvicorn.Server
    port: int

    def connect(self, sent: bytes = b"") -> socket.socket:
        line = socket.create_connection(("127.0.0.1", self.port), PATIENCE)
        line.sendall(sent)
        return line

    def ask(self, sent: bytes) -> bytes:
        """Return everything that is answered until the server closes the connection."""
        with closing(self.connect(sent)) as line:
            return rest_of(line)

    def status(self, sent: bytes) -> int:
        return status_of(self.ask(sent))

    def wait_until(self, holds: Callable[[int], bool]) -> None:
        """Wait until there are so many connections."""
        end = time.monotonic() + PATIENCE
        while not holds(len(self.server.server_state.connections)):
            assert time.monotonic() < end, "it took too long"
            time.sleep(0.01)


def rest_of(line: socket.socket) -> bytes:
    received = b""
    try:
        while piece := line.recv(65536):
            received += piece
    except ConnectionError:
        pass  # dropped, not closed
    return received


def status_of(answer: bytes) -> int:
    assert answer.startswith(b"HTTP/1.1 "), answer[:80]
    return int(answer.split()[1])


@contextmanager
def serving(settings: ServerSettings) -> Iterator[Site]:
    listener = listening("127.0.0.1", 0)
    server = server_for(settings, lambda: None)
    server.config.lifespan = "off"  # no queue, and no English to be loaded
    thread = Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield Site(server, listener.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        listener.close()


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> ServerSettings:
    given = tmp_path_factory.mktemp("folders") / "given"
    given.mkdir()
    with (given / "large.png").open("wb") as file:
        file.truncate(32 * 1024 * 1024)
    limits = ServerLimits(connections=CONNECTIONS)
    return ServerSettings(given.with_name("out"), (given,), token="geheim", any_address=True, limits=limits)


@pytest.fixture(scope="module")
def site(settings: ServerSettings) -> Iterator[Site]:
    with serving(settings) as site:
        yield site


@pytest.fixture(scope="module")
def hasty(settings: ServerSettings) -> Iterator[Site]:
    """A server that waits for nobody."""
    limits = replace(settings.limits, head_seconds=0.2, read_seconds=0.2)
    with serving(replace(settings, limits=limits)) as site:
        yield site


def test_slow_heads_keep_nobody_out(site: Site) -> None:
    with ExitStack() as stack:
        slow = [
            stack.enter_context(closing(site.connect(b"GET /runs HTTP/1.1\r\nX-Slow: ")))
            for _ in range(4 * CONNECTIONS)
        ]
        for _ in range(3):
            assert site.status(PAGE) == 200
        site.wait_until(lambda number: number <= CONNECTIONS)
        # The eldest went; those that came last are still waited for.
        assert rest_of(slow[0]) == b""
        slow[-1].sendall(b"x\r\n" + HEAD + b"\r\n")
        assert status_of(rest_of(slow[-1])) == 200


def test_who_is_worked_for_is_not_dropped_for_others(site: Site) -> None:
    page = site.ask(PAGE).decode()
    session = page.split("roadworthy_session=")[1].split(";")[0]
    token = page.split('name="csrf-token" content="')[1].split('"')[0]
    body = b'{"text": "x"}'
    form = (
        b"POST /write/spec HTTP/1.1\r\n"
        + HEAD
        + f"Cookie: roadworthy_session={session}\r\nX-CSRF-Token: {token}\r\n".encode()
        + f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    )
    with ExitStack() as stack:
        # Asked for the body, so the head has been read.
        asking = form.replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n")
        busy = [stack.enter_context(closing(site.connect(asking))) for _ in range(CONNECTIONS)]
        for line in busy:
            assert line.recv(1024).startswith(b"HTTP/1.1 100")
        assert site.ask(PAGE) == b""
        for line in busy:
            line.sendall(body)
            assert status_of(rest_of(line)) == 200
    assert site.status(PAGE) == 200


def dribble(line: socket.socket) -> None:
    """Send a byte now and then until the connection is dropped."""
    line.settimeout(0.05)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            line.sendall(b"x")
            if not line.recv(65536):
                return
        except TimeoutError:
            continue
        except OSError:
            return
    raise AssertionError("the server still waits")


@pytest.mark.parametrize(
    "begun",
    [
        b"",
        b"GET /runs HTTP/1.1\r\nX: ",
        # Refused at its head, but the body goes on.
        b"POST /jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 200000\r\n\r\n",
        b"GET /runs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 200000\r\n\r\n",
    ],
    ids=["nothing", "a head", "a body that nobody wants", "a body of a page"],
)
def test_who_sends_slowly_is_given_up(hasty: Site, begun: bytes) -> None:
    with closing(hasty.connect(begun)) as line:
        dribble(line)


def test_who_reads_nothing_is_given_up(hasty: Site) -> None:
    with closing(socket.socket()) as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.settimeout(PATIENCE)
        line.connect(("127.0.0.1", hasty.port))
        line.sendall(b"GET /runs/given/files/large.png HTTP/1.1\r\n" + HEAD + b"\r\n")
        assert line.recv(12) == b"HTTP/1.1 200"
        hasty.wait_until(lambda number: number == 0)


MALFORMED = {
    "HTTP/0.9": b"GET /runs\r\n\r\n",
    "no host": b"GET /runs HTTP/1.1\r\n\r\n",
    "two hosts": b"GET /runs HTTP/1.1\r\nHost: evil.example\r\n" + HEAD + b"\r\n",
    "null byte": b"GET /runs\0 HTTP/1.1\r\n" + HEAD + b"\r\n",
    "carriage return": b"GET /runs\rX: 1 HTTP/1.1\r\n" + HEAD + b"\r\n",
    "space before a colon": b"GET /runs HTTP/1.1\r\nHost : evil.example\r\n" + HEAD + b"\r\n",
    "two lengths": b"POST /jobs HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n" + HEAD + b"\r\n{} ",
    "negative length": b"POST /jobs HTTP/1.1\r\nContent-Length: -1\r\n" + HEAD + b"\r\n{}",
    "unknown coding": b"POST /jobs HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n"
    + HEAD
    + b"\r\n0\r\n\r\n",
    "chunk without a size": b"POST /jobs HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" + HEAD + b"\r\nzz\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
}


@pytest.mark.parametrize("sent", MALFORMED.values(), ids=MALFORMED)
def test_what_is_no_http_is_refused_and_the_connection_closed(
    site: Site, sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        assert site.status(sent) == 400
        assert site.status(PAGE) == 200
    assert not caplog.records


def test_a_head_without_end_is_cut_off(site: Site) -> None:
    with closing(site.connect(b"GET /runs HTTP/1.1\r\nX: ")) as line, pytest.raises(ConnectionError):
        line.sendall(bytes(64 * 1024 * 1024))
    assert site.status(PAGE) == 200


def test_garbage_after_an_answer_ends_the_connection(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    chunked = b"POST /jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    with caplog.at_level(logging.ERROR), closing(site.connect(chunked)) as line:
        answer = b""
        while not answer.endswith(b"}"):
            answer += line.recv(65536)
        assert status_of(answer) == 401
        line.sendall(b"zz\r\n")
        assert rest_of(line) == b""
    assert not caplog.records


@pytest.mark.parametrize("method", [b"TRACE", b"OPTIONS", b"PUT", b"DELETE", b"PATCH", b"CONNECT", b"EVIL"])
def test_other_methods_do_nothing_and_echo_nothing(site: Site, method: bytes) -> None:
    answer = site.ask(method + b" /runs HTTP/1.1\r\n" + HEAD + b"\r\n")
    assert status_of(answer) == 403
    assert b"geheim" not in answer


def test_head_tells_nothing_that_get_does_not(site: Site) -> None:
    answer = site.ask(b"HEAD /runs HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
    assert status_of(answer) == 401
    assert answer.endswith(b"\r\n\r\n")


def test_an_absolute_address_is_no_way_around_the_host(site: Site) -> None:
    foreign = (
        b"GET http://127.0.0.1/runs HTTP/1.1\r\n" + HEAD.replace(b"127.0.0.1", b"evil.example") + b"\r\n"
    )
    assert site.status(foreign) == 421
    assert site.status(b"GET http://evil.example/runs HTTP/1.1\r\n" + HEAD + b"\r\n") == 404


def test_nobody_speaks_for_another_host(site: Site) -> None:
    forwarded = b"X-Forwarded-Host: 127.0.0.1\r\nX-Forwarded-For: 127.0.0.1\r\nForwarded: host=127.0.0.1\r\n"
    foreign = b"GET /runs HTTP/1.1\r\n" + HEAD.replace(b"127.0.0.1", b"evil.example") + forwarded + b"\r\n"
    assert site.status(foreign) == 421


def test_line_breaks_in_an_address_are_answered(site: Site) -> None:
    answer = site.ask(b"GET /x%0d%0aX-Evil:%201/?token=geheim HTTP/1.1\r\n" + HEAD + b"\r\n")
    assert status_of(answer) == 303
    assert b"\r\nX-Evil" not in answer
    assert site.status(b"GET /runs/x%0d%0aX-Evil:%201 HTTP/1.1\r\n" + HEAD + b"\r\n") == 404


def test_many_ranges_do_not_multiply_a_file(site: Site) -> None:
    whole = len(site.ask(b"GET /static/web.css HTTP/1.1\r\n" + HEAD + b"\r\n"))
    ranges = b",".join(b"0-%d" % number for number in range(20_000, 21_000))
    asked = b"GET /static/web.css HTTP/1.1\r\nRange: bytes=" + ranges + b"\r\n" + HEAD + b"\r\n"
    assert len(site.ask(asked)) < 2 * whole


def test_pipelined_requests_are_each_asked_for_the_token(site: Site) -> None:
    bare = b"GET /runs HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    answer = site.ask(bare * 3 + PAGE)
    assert answer.count(b"HTTP/1.1 401") == 3
    assert answer.count(b"HTTP/1.1 200") == 1
