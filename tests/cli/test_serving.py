"""`roadworthy serve`, started as users start it."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from roadworthy.errors import InputError
from roadworthy.web.server import PORT, address, listening


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[dict[str, Any], subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "roadworthy", "serve", "--json", "--port", "0", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        text = ""
        try:
            while "}" not in text:
                line = process.stdout.readline()
                assert line, process.stderr.read() if process.stderr else ""
                text += line
            yield json.loads(text), process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                try:
                    process.communicate(timeout=60)
                except subprocess.TimeoutExpired:
                    process.kill()  # else leaving the block waits for ever
                    raise


def test_it_says_where_it_is_answers_and_ends_cleanly(tmp_path: Path) -> None:
    with serving("--out", str(tmp_path)) as (told, process):
        assert told["token"] is None
        assert told["address"].startswith("http://127.0.0.1:")
        with urlopen(Request(f"{told['address']}runs", headers={"accept": "text/html"})) as page:
            assert "No runs yet" in page.read().decode()
            assert "uvicorn" not in page.headers.get("server", "")
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode in (0, 130, -signal.SIGINT)
    assert "Traceback" not in said


def test_open_to_others_it_has_a_token() -> None:
    with serving("--host", "0.0.0.0") as (told, _):
        assert len(told["token"]) >= 32
        assert told["address"].endswith(f"/?token={told['token']}")


class TestPort:
    def test_when_the_usual_port_is_taken_the_next_free_one_is_used(self) -> None:
        with listening("127.0.0.1", None) as first, listening("127.0.0.1", None) as second:
            ports = [one.getsockname()[1] for one in (first, second)]
            assert ports[1] > ports[0] >= PORT

    def test_a_port_that_was_asked_for_and_is_taken_is_refused(self) -> None:
        with listening("127.0.0.1", 0) as first, pytest.raises(InputError, match="--port 0"):
            listening("127.0.0.1", first.getsockname()[1])

    def test_addresses_of_other_machines(self) -> None:
        with pytest.raises(InputError, match=r"cannot listen on 192\.0\.2\.1"):
            listening("192.0.2.1", 0)

    @pytest.mark.parametrize("port", [-1, 65536])
    def test_numbers_that_are_no_ports(self, port: int) -> None:
        with pytest.raises(InputError, match="from 0 to 65535"):
            listening("127.0.0.1", port)


def test_addresses_can_be_opened() -> None:
    assert address("127.0.0.1", 80, None) == "http://127.0.0.1:80/"
    assert address("::1", 80, "t") == "http://[::1]:80/?token=t"
    assert address("0.0.0.0", 80, None) == f"http://{socket.gethostname()}:80/"
