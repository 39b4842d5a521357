from __future__ import annotations

import gc
import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import typer.testing
from hypothesis import settings
from typer.main import get_command

# The same examples on every run, and no deadline: a busy machine is no failure.
settings.register_profile("roadworthy", deadline=None, derandomize=True)
settings.load_profile("roadworthy")


def pytest_collection_finish() -> None:
    """What there is now stays to the end, so no search for garbage has to look at it."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def commands_made_once() -> Iterator[None]:
    """All commands are made out of their functions once, not for each that is run: it takes 0.1 s."""
    with patch.object(typer.testing, "_get_command", cache(get_command)):
        yield


@pytest.fixture(scope="session", autouse=True)
def runs_in_one_process() -> Iterator[None]:
    """Starting processes takes longer than most runs here; what they are for is tested by name."""
    with patch.dict(os.environ, ROADWORTHY_EXECUTOR="serial"):
        yield


@pytest.fixture(scope="session", autouse=True)
def labels_of_this_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What networks said about images is kept for these tests alone: nobody's own folder is touched."""
    with patch.dict(os.environ, ROADWORTHY_CACHE=str(tmp_path_factory.mktemp("cache"))):
        yield


@pytest.fixture(scope="session", autouse=True)
def no_waiting_for_disks() -> Iterator[None]:
    """Whether a file is on the disk or on its way shows after a power cut only, which no test makes.

    What is no open file is refused as ever.
    """
    with patch.object(os, "fsync", os.fstat):
        yield


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data beside the repository; absent, a test that needs it is skipped.

    ROADWORTHY_REQUIRE_REAL_DATA makes its absence a failure: a machine meant to have it must not skip.
    """
    folder = Path(__file__).resolve().parents[1].parent / "shared" / "data"
    if not folder.is_dir():
        reason = "the real data is not beside the repository (../shared/data)"
        if os.environ.get("ROADWORTHY_REQUIRE_REAL_DATA"):
            pytest.fail(reason)
        pytest.skip(reason)
    return folder


@pytest.fixture
def serve() -> Iterator[Callable[[Callable[[bytes, Any], Any]], str]]:
    """Starts servers that answer a POST with what a function returns: a document, or status and bytes."""
    servers: list[ThreadingHTTPServer] = []

    def start(answer: Callable[[bytes, Any], Any]) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                found = answer(body, self.headers)
                status, content = found if isinstance(found, tuple) else (200, json.dumps(found).encode())
                with suppress(ConnectionError):  # the client may have given up
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_address[1]}/answer"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()
