"""What the web page is sent: lines of JSON, each a request."""

from __future__ import annotations

import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from tests.fuzz.files import seed_of
from tests.fuzz.harness import Target
from tests.fuzz.mutating import mutated_json

__all__ = ["TARGETS"]

_STARTS_PROCESSES = ("/jobs", "/write/check")
_GIVEN = {
    "given/requirements.jsonl": "run-requirements",
    "given/cases/part-00000000.parquet": "run-rows",
    "given/marks.jsonl": "marks",
    "given/coverage.json": "covered",
    "given/search.json": "searched",
    "given/drive.parquet": "drive-recorded",
    "study/plan.json": "study-plan",
}
"""Files of the folders that it shows, and whose seeds they are."""


@cache
def _browser() -> Any:
    from tests.web.client import Browser, Client

    from roadworthy.web.app import create_app
    from roadworthy.web.settings import ServerSettings

    folder = Path(tempfile.mkdtemp(prefix="roadworthy-fuzz-web-"))
    for name, target in _GIVEN.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(seed_of(target))
    return Browser(Client(create_app(ServerSettings(folder / "out", (folder / "given", folder / "study")))))


def _requests(folder: Path) -> None:
    for line in (folder / "requests.jsonl").read_bytes().decode("utf-8", "replace").split("\n"):
        try:
            asked = json.loads(line)
        except (ValueError, RecursionError):
            asked = {"path": "/write/rule", "body": line}
        path = asked.get("path") if isinstance(asked, dict) else None
        if not isinstance(path, str) or not path.isascii() or path.startswith(_STARTS_PROCESSES):
            continue
        answer = _browser().post(path, asked["body"]) if "body" in asked else _browser().get(path)
        assert answer.status < 500, f"{path} answers {answer.status}: {answer.text[:200]}"


TARGETS = (Target("web", "requests.jsonl", _requests, mutated_json, names="", examples=20),)
