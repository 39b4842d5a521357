from __future__ import annotations

import base64
import json
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import pytest

from roadworthy.errors import InputError, SystemUnderTestError
from roadworthy.frames import Frame, Signals
from roadworthy.models import ImageInput, ModelSpec, RegressionOutput, load_model
from roadworthy.models.http import http_model

Serve = Callable[[Callable[[bytes, Any], Any]], str]
STEERING = ModelSpec(RegressionOutput(("steering",)))


@pytest.fixture
def frame() -> Frame:
    return Frame("drive/ü", np.full((4, 6, 3), (10, 20, 30), np.uint8))


def test_an_address_is_enough(serve: Serve, frame: Frame) -> None:
    seen = []

    def answer(_: bytes, headers: Any) -> object:
        seen.append(json.loads(headers["X-Frame-Ids"]))
        return {"outputs": {"angle": [[2.5], [3.5]]}}

    model = load_model(serve(answer), **{"output.signals": "steering", "timeout": "5"})
    assert model.predict([frame, frame]) == [Signals(steering=2.5), Signals(steering=3.5)]
    assert seen == [["drive/ü"] * 2]


def test_images_can_be_sent_as_png(serve: Serve, frame: Frame) -> None:
    def answer(body: bytes, headers: Any) -> object:
        assert headers["Content-Type"] == "application/json"
        document = json.loads(body)
        assert document["ids"] == ["drive/ü"]
        (png,) = (np.frombuffer(base64.b64decode(one), np.uint8) for one in document["images"])
        bgr = cv2.imdecode(png, cv2.IMREAD_COLOR)
        assert bgr is not None
        return {"outputs": {"angle": [[float(bgr[0, 0, 2]), *bgr.shape[:2]]]}}

    spec = ModelSpec(RegressionOutput(("steering", "h", "w")), ImageInput(width=3, height=2, range=(-1, 1)))
    (found,) = http_model(serve(answer), spec=spec, sends="png").predict([frame])
    assert found.as_dict() == {"steering": 10.0, "h": 2.0, "w": 3.0}
    with pytest.raises(InputError, match="sent as png are single RGB images: use sends=npy"):
        http_model("http://x/", spec=ModelSpec(STEERING.output, ImageInput(color="gray")), sends="png")


def test_a_server_that_is_busy_is_asked_again(serve: Serve, frame: Frame) -> None:
    calls = []

    def answer(*_: object) -> object:
        calls.append(time.monotonic())
        return (503, b"busy") if len(calls) < 3 else {"outputs": {"angle": [[1.0]]}}

    model = http_model(serve(answer), spec=STEERING, retries=2, backoff=0.05)
    assert model.predict([frame]) == [Signals(steering=1.0)]
    assert calls[2] - calls[1] > calls[1] - calls[0] > 0.04


def test_a_server_that_is_not_there_is_named_with_the_frame(frame: Frame) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/predict"
    model = http_model(url, spec=STEERING, retries=1, backoff=0)
    message = rf"no answer for frame 'drive/ü': no server listens at {url}: connection refused \(2 tries\)"
    with pytest.raises(SystemUnderTestError, match=message):
        model.predict([frame])
    with pytest.raises(SystemUnderTestError, match=r"cannot reach http://no-such-host\.invalid/"):
        http_model("http://no-such-host.invalid/", spec=STEERING, retries=0).predict([frame])


def test_a_server_that_hangs_is_not_waited_for(serve: Serve, frame: Frame) -> None:
    released = threading.Event()

    def answer(*_: object) -> object:
        released.wait(10)
        return {}

    model = http_model(serve(answer), spec=STEERING, timeout=0.1, retries=1, backoff=0)
    start = time.monotonic()
    with pytest.raises(SystemUnderTestError, match=r"gave no answer within 0\.1 s \(2 tries\)"):
        model.predict([frame])
    assert time.monotonic() - start < 5
    released.set()


def test_a_server_that_drips_is_not_waited_for(frame: Frame) -> None:
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
                while not stop.wait(0.03):
                    try:
                        connection.sendall(b" ")
                    except OSError:
                        return

        thread = threading.Thread(target=drip)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        with pytest.raises(SystemUnderTestError, match=r"gave no answer within 0\.2 s \(1 try\)"):
            http_model(url, spec=STEERING, timeout=0.2, retries=0).predict([frame])
        stop.set()
        thread.join()


@pytest.mark.parametrize("more", [b"", b"Connection: close\r\n"])
def test_the_time_is_that_of_the_whole_request(frame: Frame, more: bytes) -> None:
    """A byte shortly before the end gives no new time, whether or not the server closes the connection."""
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def stall() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 200 OK\r\n" + more + b"Content-Length: 1000\r\n\r\n")
                stop.wait(0.9)
                connection.sendall(b" ")
                stop.wait(10)

        thread = threading.Thread(target=stall)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        start = time.monotonic()
        with pytest.raises(SystemUnderTestError, match=r"gave no answer within 1 s \(1 try\)"):
            http_model(url, spec=STEERING, timeout=1.0, retries=0).predict([frame])
        assert time.monotonic() - start < 1.6
        stop.set()
        thread.join()


def test_an_address_may_have_letters_of_all_languages(serve: Serve, frame: Frame) -> None:
    model = http_model(f"{serve(lambda *_: {'outputs': {'angle': [[1.0]]}})}/über?a=b", spec=STEERING)
    assert model.predict([frame]) == [Signals(steering=1.0)]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((404, b"no such page"), "answered with status 404: 'no such page'"),
        ((302, b""), "answered with status 302"),
        ((200, b"<html>"), "must answer with JSON, got '<html>'"),
        ((200, b"[" * 100_000), "must answer with JSON, got"),
        ({"angle": [1]}, r'must answer with \{"outputs": \{"name": array'),
        ({"outputs": {"angle": [[1.0], [2.0]]}}, "must have one row for each of 1 images"),
        ({"outputs": {"angle": [[float("nan")]]}}, "'angle' for frame 'drive/ü' must be finite, got nan"),
        ({"outputs": {"angle": [["left"]]}}, "'angle' for frame 'drive/ü' must be numbers"),
        ({"outputs": {"angle": [None]}}, "'angle' for frame 'drive/ü' must be numbers"),
    ],
)
def test_an_answer_that_cannot_be_used_is_shown(
    serve: Serve, answer: Any, message: str, frame: Frame
) -> None:
    calls = []

    def give(*_: object) -> Any:
        calls.append(1)
        return answer

    with pytest.raises(SystemUnderTestError, match=message):
        http_model(serve(give), spec=STEERING).predict([frame])
    assert len(calls) == 1  # asking again would give the same


def test_a_server_that_breaks_off_is_asked_again(frame: Frame) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def break_off() -> None:
            for content in (b"", b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"):
                connection, _ = server.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(content)

        thread = threading.Thread(target=break_off)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        with pytest.raises(SystemUnderTestError, match=r"cannot reach http://127.* \(2 tries\)"):
            http_model(url, spec=STEERING, retries=1, backoff=0).predict([frame])
        thread.join()


@pytest.mark.parametrize(
    ("url", "options", "message"),
    [
        ("http:", {}, "needs to know what to open"),
        ("http:///predict", {}, "expected an address such as http://127.0.0.1:8000/predict"),
        ("http://host:99999/", {}, "expected an address"),
        ("http://host/", {"timeout": 0}, "timeout must be above 0"),
        ("http://host/", {"retries": -1}, "retries and backoff must be 0 or more"),
        ("http://host/", {"sends": "jpg"}, "option 'sends' of 'http' must be 'npy' or 'png', got 'jpg'"),
    ],
)
def test_an_address_that_cannot_be_is_refused(url: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_model(url, spec=STEERING, **options)
