"""A server that speaks KServe V2 as its specification and Triton's extension for bytes have it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from roadworthy._http import Endpoint
from roadworthy.errors import InputError, SystemUnderTestError
from roadworthy.frames import Frame, Signals
from roadworthy.models import load_model

MODEL = {
    "name": "driver",
    "inputs": [{"name": "image", "datatype": "FP32", "shape": [-1, 3, 4, 6]}],
    "outputs": [{"name": "angle", "datatype": "FP32", "shape": [-1, 1]}],
}
Start = Callable[..., str]


@pytest.fixture
def server() -> Iterator[Start]:
    """Starts a server whose model answers with the mean of each image."""
    running: list[ThreadingHTTPServer] = []

    def start(*, extensions: tuple[str, ...] = (), told: Any = MODEL, answer: Any = None) -> str:
        class Handler(BaseHTTPRequestHandler):
            def reply(self, document: Any, status: int = 200) -> None:
                content = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def do_GET(self) -> None:
                if self.path == "/v2":
                    self.reply({"name": "triton", "extensions": extensions})
                elif self.path in ("/v2/models/driver", "/v2/models/driver/versions/2"):
                    self.reply(told)
                else:
                    self.reply({"error": "unknown model"}, 404)

            def do_POST(self) -> None:
                assert self.path == "/v2/models/driver/infer"
                body = self.rfile.read(int(self.headers["Content-Length"]))
                length = self.headers.get("Inference-Header-Content-Length")
                assert bool(length) == ("binary_tensor_data" in extensions)
                sent = json.loads(body[: int(length)] if length else body)["inputs"][0]
                assert (sent["name"], sent["datatype"]) == ("image", "FP32")
                if length:
                    assert sent["parameters"]["binary_data_size"] == len(body) - int(length)
                    images = np.frombuffer(body[int(length) :], np.float32)
                else:
                    images = np.array(sent["data"])
                means = images.reshape(sent["shape"]).mean(axis=(1, 2, 3)).tolist()
                found = {"name": "angle", "datatype": "FP32", "shape": [len(means), 1], "data": means}
                self.reply(answer or {"outputs": [found]})

            def log_message(self, *args: object) -> None:
                pass

        made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=made.serve_forever, args=(0.01,)).start()
        running.append(made)
        return f"http://127.0.0.1:{made.server_address[1]}"

    yield start
    for one in running:
        one.shutdown()
        one.server_close()


FRAMES = [Frame(str(value), np.full((4, 6, 3), value, np.uint8)) for value in (0, 51)]
STEERS = {"output.signals": "steering", "retries": 0}


@pytest.mark.parametrize("extensions", [(), ("classification", "binary_tensor_data")])
@pytest.mark.parametrize("path", ["/driver", "/v2/models/driver/"])
def test_images_go_as_bytes_or_as_json(server: Start, extensions: tuple[str, ...], path: str) -> None:
    model = load_model(f"kserve:{server(extensions=extensions)}{path}", **STEERS)
    found = [one.steering for one in model.predict(FRAMES) if isinstance(one, Signals)]
    assert found == pytest.approx([0.0, 0.2])


def test_a_model_that_is_not_there_is_told_when_it_is_named(server: Start) -> None:
    with pytest.raises(
        InputError, match=r"cannot ask the server about its model: .*/v2/models/drver answered with sta"
    ):
        load_model(f"kserve:{server()}/drver", **STEERS)
    with pytest.raises(InputError, match="cannot ask the server about its model: no server listens at"):
        load_model("kserve:http://127.0.0.1:9/driver", **STEERS)
    with pytest.raises(
        InputError, match=r"expected kserve:http://host:port/model, got 'kserve:http://127.0.0.1:8000'"
    ):
        load_model("kserve:http://127.0.0.1:8000", **STEERS)
    with pytest.raises(InputError, match="expected a model with one input, the image, got 0"):
        load_model(f"kserve:{server(told={'name': 'driver'})}/driver", **STEERS)


@pytest.mark.parametrize("answer", [{"outputs": [{"name": "angle"}]}, {"outputs": [3]}])
def test_an_answer_of_another_form_is_told(server: Start, answer: Any) -> None:
    model = load_model(f"kserve:{server(answer=answer)}/driver", **STEERS)
    with pytest.raises(SystemUnderTestError, match="/infer must answer as KServe V2 says: "):
        model.predict(FRAMES)


def test_a_server_that_gives_no_answer_is_told_with_the_frames(
    server: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load_model(f"kserve:{server()}/driver", **STEERS)
    for status in (503, 400):
        monkeypatch.setattr(Endpoint, "_post", lambda *_, status=status: (status, b"busy"))
        with pytest.raises(
            SystemUnderTestError,
            match=f"no usable answer for .*'0'.*/infer answered with status {status}: 'busy'",
        ):
            model.predict(FRAMES)
