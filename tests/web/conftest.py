from __future__ import annotations

from pathlib import Path

import pytest
from tests.web.client import Browser, Client

from roadworthy.web.app import create_app
from roadworthy.web.settings import ServerSettings


@pytest.fixture
def settings(tmp_path: Path) -> ServerSettings:
    run = tmp_path / "given"
    run.mkdir()
    return ServerSettings(tmp_path / "out", (run,))


@pytest.fixture
def client(settings: ServerSettings) -> Client:
    return Client(create_app(settings))


@pytest.fixture
def browser(client: Client) -> Browser:
    return Browser(client)
