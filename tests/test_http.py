"""Posting to an endpoint: limited in time and size, and repeated where that may help."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from roadworthy._http import Endpoint, NoAnswer, UnusableAnswer, excerpt
from roadworthy.errors import InputError

Serve = Callable[[Callable[[bytes, Any], Any]], str]


@pytest.mark.parametrize("url", ["ftp://a/b", "http://", "a/b", "http://h:0/", "http://h:x/", "http://[::1/"])
def test_an_address_is_of_http(url: str) -> None:
    with pytest.raises(InputError, match="expected an address such as http"):
        Endpoint(url)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"timeout": 0}, "timeout must be above 0, got 0"),
        ({"retries": -1}, "retries and backoff must be 0 or more, got -1"),
        ({"backoff": -0.5}, "must be 0 or more, got 2, -0.5"),
    ],
)
def test_settings_that_cannot_be(options: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        Endpoint("http://h/", **options)


def test_a_server_that_fails_for_a_moment_is_asked_again(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[bytes, str]] = []
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)

    def answer(body: bytes, headers: Any) -> Any:
        asked.append((body, headers["X-Mine"]))
        return (500, b"busy") if len(asked) < 3 else (200, b"well")

    url = serve(answer)
    assert Endpoint(url, backoff=0.25).post(b"body", {"X-Mine": "yes"}) == b"well"
    assert asked == [(b"body", "yes")] * 3
    assert slept == [0.25, 0.5]
    asked.clear()
    with pytest.raises(NoAnswer, match=r"answered with status 500: 'busy' \(2 tries\)"):
        Endpoint(url, retries=1).post(b"body", {"X-Mine": "yes"})
    assert len(asked) == 2


def test_another_status_or_too_much_is_not_asked_again(serve: Serve) -> None:
    asked: list[bytes] = []

    def answer(body: bytes, headers: Any) -> Any:
        asked.append(body)
        return (404, b"no such page") if body == b"a" else (200, b"x" * 11)

    url = serve(answer)
    with pytest.raises(UnusableAnswer, match="answered with status 404: 'no such page'"):
        Endpoint(url).post(b"a", {})
    with pytest.raises(UnusableAnswer, match="answered with more than 10 bytes"):
        Endpoint(url, longest=10).post(b"b", {})
    assert asked == [b"a", b"b"]
    assert Endpoint(url, longest=11).post(b"b", {}) == b"x" * 11


def test_no_server_and_no_answer_in_time(serve: Serve) -> None:
    with pytest.raises(
        NoAnswer, match=r"no server listens at http://127.0.0.1:1/: connection refused \(1 try\)"
    ):
        Endpoint("http://127.0.0.1:1/", retries=0).post(b"", {})
    slow = serve(lambda body, headers: time.sleep(0.5))
    with pytest.raises(NoAnswer, match=r"gave no answer within 0.1 s \(1 try\)"):
        Endpoint(slow, timeout=0.1, retries=0).post(b"", {})


def test_the_beginning_of_an_answer() -> None:
    assert excerpt(b"x" * 200) == repr("x" * 200)
    assert excerpt(b"x" * 201) == repr("x" * 200) + " …"
    assert excerpt(b"\xff") == repr("\ufffd")


def test_an_answer_that_is_cut_off_is_none() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def half() -> None:
            connection, _ = listening.accept()
            with connection:
                # All of it: closing a connection with something unread resets it.
                asked = b""
                while not asked.endswith(b"\r\n\r\nx"):
                    asked += connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")

        answering = threading.Thread(target=half)
        answering.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        with pytest.raises(NoAnswer, match=r"cannot reach .*IncompleteRead\(4 bytes read, 6 more expected\)"):
            Endpoint(url, retries=0).post(b"x", {})
        answering.join()


def test_what_is_asked_for_keeps_its_path_and_question() -> None:
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            for _ in range(3):
                connection, _address = listening.accept()
                with connection:
                    asked.append(connection.recv(65536))
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

        answering = threading.Thread(target=answer)
        answering.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        assert Endpoint(f"{url}/a b/%20?q=1&r=é").get() == b"ok"
        assert Endpoint(f"{url}/c").post(b"", {}) == b"ok"
        assert Endpoint(url).post(b"xyz", {"X-Mine": "yes"}) == b"ok"
        answering.join()
    assert [one.splitlines()[0] for one in asked] == [
        b"GET /a%20b/%20?q=1&r=%C3%A9 HTTP/1.1",
        b"POST /c HTTP/1.1",
        b"POST / HTTP/1.1",
    ]
    assert b"X-Mine: yes\r\n" in asked[2]


def test_an_answer_that_comes_drop_by_drop_is_given_up_in_time() -> None:
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            connection, _ = listening.accept()
            with connection, suppress(OSError):  # the client gives up
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
                while not stop.wait(0.02):
                    connection.sendall(b"x")

        answering = threading.Thread(target=drip)
        answering.start()
        began = time.monotonic()
        with pytest.raises(NoAnswer, match=r"gave no answer within 0.15 s \(1 try\)"):
            Endpoint(f"http://127.0.0.1:{listening.getsockname()[1]}/", timeout=0.15, retries=0).post(
                b"x", {}
            )
        assert time.monotonic() - began < 10
        stop.set()
        answering.join()


def test_an_error_without_words_is_told_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for error, told in ((OSError(), "OSError"), (OSError("cable cut"), "cable cut")):
        monkeypatch.setattr(Endpoint, "_post", raising(error))
        with pytest.raises(NoAnswer) as caught:
            Endpoint("http://h/", retries=0).get()
        assert str(caught.value) == f"cannot reach http://h/ ({told}) (1 try)"
    for status, kind in ((500, NoAnswer), (499, UnusableAnswer), (201, UnusableAnswer)):
        monkeypatch.setattr(Endpoint, "_post", lambda *_, status=status: (status, b"x"))
        with pytest.raises(kind, match=f"http://h/ answered with status {status}: 'x'"):
            Endpoint("http://h/", retries=0).get()


def raising(error: Exception) -> Any:
    def post(*_: Any) -> Any:
        raise error

    return post
