"""Models and data that are added on the page: what may come in, and what may not."""

from __future__ import annotations

import json
import time
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import onnx
import pytest
from tests.labelling.conftest import network
from tests.web.client import ADDRESS, Answer, Browser, Client

from roadworthy.errors import InputError
from roadworthy.images import write_image
from roadworthy.models.zoo.saved import weights_folder
from roadworthy.web import apart
from roadworthy.web.app import create_app
from roadworthy.web.security import CSRF_HEADER
from roadworthy.web.settings import ServerSettings

DATA = b"\x1a\x45\xdf\xa3, which may be a film"
NETWORK = {
    "kind": "models",
    "input": "",
    "outputs": [],
    "asked": {"input": {}, "output": {"signals": ["speed"]}},
}
SEEN = {"kind": "data", "frames": 9, "size": "32x16", "has": [], "picture": "/9j/"}
DESCRIBED = {
    "kind": "models",
    "task": "regression",
    "signals": ["speed"],
    "sections": {"output": {"signals": ["speed"]}},
}
RULE = "If the driving time changes into night, then the ego-vehicle should slow down."


@pytest.fixture
def under(tmp_path: Path) -> Path:
    """A folder of --under, and beside it what nobody may reach."""
    under = tmp_path / "mine"
    (under / "frames").mkdir(parents=True)
    write_image(under / "frames" / "a.png", np.zeros((16, 32, 3), np.uint8))
    network(under / "net.onnx", np.array([[0.5]]))
    (under / "net.yaml").write_text("model: callable:os:system\n")
    (under / "described").mkdir()
    (under / "described" / "model.yaml").write_text("model: callable:os:system\n")
    (under / "evil.py").write_text("raise SystemExit")
    secret = tmp_path / "secret"
    secret.mkdir()
    network(secret / "secret.onnx", np.array([[0.5]]))
    write_image(secret / "a.png", np.zeros((16, 32, 3), np.uint8))
    (under / "out").symlink_to(secret)
    (under / "link.onnx").symlink_to(secret / "secret.onnx")
    return under


@pytest.fixture
def settings(tmp_path: Path, under: Path) -> ServerSettings:
    return ServerSettings(tmp_path / "out", under=(under,))


@pytest.fixture
def looked(client: Client, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What a first look was asked about, in place of a process that takes seconds."""
    asked: list[dict[str, Any]] = []

    def seen(what: str, given: dict[str, Any]) -> dict[str, Any]:
        asked.append({"what": what, **given})
        if what == "frames":
            return dict(SEEN)
        return {**DESCRIBED, "sections": given["sections"]} if given.get("sections") else dict(NETWORK)

    monkeypatch.setattr(client.app.state.services.added, "_apart", seen)
    return asked


Send = Callable[..., Answer]


@pytest.fixture
def send(browser: Browser, client: Client) -> Send:
    def sent(name: str, *pieces: bytes, **headers: str) -> Answer:
        own = {"origin": ADDRESS, CSRF_HEADER: browser.csrf, "content-length": str(sum(map(len, pieces)))}
        given = own | {key.replace("_", "-"): value for key, value in headers.items()}
        return client.request("PUT", f"/added/files/{name}", given, pieces or (b"",))

    return sent


def kept(settings: ServerSettings) -> list[str]:
    folder = settings.out / "added"
    return sorted(one.name for one in folder.iterdir()) if folder.exists() else []


def items(browser: Browser) -> dict[str, Any]:
    return {one["name"]: one for one in browser.get("/added").json()["items"]}


def test_a_network_and_a_film_of_ones_own(
    browser: Browser, send: Send, settings: ServerSettings, tmp_path: Path
) -> None:
    """With the process in which they are opened."""
    film = cv2.VideoWriter(str(tmp_path / "drive.avi"), cv2.VideoWriter.fourcc(*"MJPG"), 10, (320, 160))
    for number in range(8):
        film.write(np.full((160, 320, 3), 20 * number, np.uint8))
    film.release()
    found = send("My drive.avi", (tmp_path / "drive.avi").read_bytes()).json()
    assert (found["name"], found["ready"], found["summary"]) == (
        "my-drive",
        True,
        "8 frames, 320x160; added here",
    )
    dave2 = (weights_folder() / "dave2.onnx").read_bytes()
    asked = send("Mine.onnx", dave2[:5000], dave2[5000:]).json()
    assert (asked["name"], asked["ready"]) == ("mine", False)
    assert asked["about"]["input"] == "'image' (?, 3, 66, 200) float32"
    assert asked["about"]["asked"]["output"]["signals"] == ["steering", "speed"]
    # Of what nobody has described nothing can be asked, and so it is not offered.
    assert "added/mine" not in browser.page("/write").text
    card = json.loads((weights_folder() / "dave2.json").read_text())
    wrong = {"input": card["input"], "output": {"signals": ["steering"]}}
    answer = browser.post("/added/mine/description", wrong)
    assert (answer.status, "1 number" in answer.json()["error"]) == (422, True), answer.json()
    told = {"input": card["input"], "output": card["output"]}
    assert browser.post("/added/mine/description", told).json()["ready"]
    for picture in ("my-drive", "mine"):
        assert browser.get(f"/added/{picture}/seen.jpg").body[:2] == b"\xff\xd8"
    page = browser.page("/write").text
    assert 'value="' + asked["reference"] + '" data-outputs="steering speed"' in page
    assert found["reference"] in page
    ask = {"kind": "rules", "text": RULE, "models": [asked["reference"]], "data": "world:town", "frames": 9}
    seen = browser.post("/write/preview", {"ask": ask, "count": 1}).json()
    assert (seen["model"], len(seen["frames"][0]["pictures"])) == ("mine", 2)
    changed = browser.get(f"/write/pictures/{seen['frames'][0]['pictures'][1]}.png")
    assert changed.body[:4] == b"\x89PNG"
    # A server that is started again on the folder has them still.
    again = Browser(Client(create_app(settings)))
    assert set(items(again)) == {"mine", "my-drive"}
    assert "mine" not in {one["name"] for one in again.post("/added/mine/remove", {}).json()["items"]}
    assert kept(settings) == ["my-drive"]


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("x.zip", 422),
        ("x.onnx.zip", 422),
        ("x.pt", 422),
        ("x.py", 422),
        ("model.yaml", 422),
        ("x.m3u8", 422),
        ("x.mp4%00.py", 422),
        ("onnx", 422),
        ("..", 422),
        ("../x.onnx", 404),
        ("..%2fx.onnx", 404),
        ("%2fetc%2fx.onnx", 404),
    ],
)
def test_other_files_do_not_come_in(
    send: Send, settings: ServerSettings, looked: list[Any], name: str, status: int
) -> None:
    assert send(name, DATA).status == status
    assert (kept(settings), looked) == ([], [])


@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("My%20net%20(1).onnx", "my-net-1"),
        ("..%5c..%5cevil.ONNX", "evil"),
        (".onnx.onnx", "onnx"),
        ("%3Cscript%3E.onnx", "script"),
        ("%00%0d%0a.onnx", "unnamed"),
        (f"{'x' * 200}.onnx", "x" * 60),
        ("dave2.onnx", "dave2-2"),
        (".part-x.mp4", "part-x"),
    ],
)
def test_what_a_file_is_called_is_no_way_anywhere(
    send: Send, settings: ServerSettings, looked: list[Any], name: str, called: str
) -> None:
    found = send(name, DATA).json()
    assert (found["name"], kept(settings)) == (called, [called])
    (asked,) = looked
    file = Path(asked.get("file") or asked["reference"].removeprefix("video:"))
    assert file.parent.parent == settings.out / "added"
    assert asked.get("name", called) == called


def test_whoever_is_not_let_in_sends_nothing(
    browser: Browser, client: Client, send: Send, settings: ServerSettings
) -> None:
    assert send("a.onnx", b"x", origin="http://evil.example").status == 403
    assert send("a.onnx", b"x", x_csrf_token="").status == 403
    assert send("a.onnx", b"x", host="evil.example").status == 421
    assert send("a.onnx", b"x", sec_fetch_site="cross-site").status == 403
    guarded = Client(create_app(replace(settings, token="geheim")))
    assert guarded.request("PUT", "/added/files/a.onnx", {"content-length": "1"}, [b"x"]).status == 401
    for path in ("/added", "/suites", "/jobs", "/write/rule"):
        assert client.request("PUT", path, {"origin": ADDRESS, CSRF_HEADER: browser.csrf}).status in (
            404,
            405,
        )
    assert kept(settings) == []


def test_sizes(send: Send, settings: ServerSettings, client: Client, looked: list[Any]) -> None:
    most = settings.limits.upload
    for length in (str(most + 1), "-1", "\xb2", "9" * 30):
        assert send("a.onnx", b"x", content_length=length).status == 413
    for length in ("1", "9"):
        answer = send("a.onnx", b"four", content_length=length)
        assert (answer.status, "another length than was said" in answer.json()["error"]) == (422, True)
    assert (kept(settings), looked) == ([], [])


def test_one_that_does_not_arrive_is_not_waited_for(
    settings: ServerSettings, client: Client, send: Send, looked: list[Any]
) -> None:
    client.app.state.services.added._limits = replace(settings.limits, body_seconds=0.05)
    client.stays_open_after = 1
    answer = send("a.mp4", b"some", b"more")
    assert (answer.status, "did not come" in answer.json()["error"]) == (422, True)
    assert kept(settings) == []


def test_a_full_disk_is_left_alone(
    settings: ServerSettings, send: Send, looked: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=2**30 + 3))
    assert "no room for 4 bytes" in send("a.onnx", b"four").json()["error"]
    assert (kept(settings), looked) == ([], [])


def test_only_so_many(settings: ServerSettings, client: Client, send: Send, looked: list[Any]) -> None:
    client.app.state.services.added._limits = replace(settings.limits, added=2)
    assert [send("a.mp4", DATA).status for _ in range(3)] == [201, 201, 422]
    assert kept(settings) == ["a", "a-2"]


def test_what_was_left_half_sent_is_thrown_away(
    settings: ServerSettings, send: Send, looked: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    (settings.out / "added" / ".part-old").mkdir(parents=True)
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now + 7200)
    assert send("a.mp4", DATA).status == 201
    assert kept(settings) == ["a"]


class TestContent:
    """What is in a file whose name says something else, as the process finds out that opens it."""

    def test_a_playlist_names_no_other_file(self, tmp_path: Path) -> None:
        film = tmp_path / "film.mp4"
        for text in ("#EXTM3U\n#EXTINF:1,\n/etc/passwd\n", "ffconcat version 1.0\nfile /etc/passwd\n"):
            film.write_text(text)
            with pytest.raises(InputError, match="is no film"):
                apart._frames(f"video:{film}")

    @pytest.mark.parametrize("how", ["sent", "below"])
    def test_nor_does_one_with_a_byte_of_a_film_in_it(
        self, browser: Browser, send: Send, under: Path, looked: list[Any], settings: ServerSettings, how: str
    ) -> None:
        """To libraries a playlist is one by how it begins, whatever comes after."""
        for text in (b"#EXTM3U\n#EXTINF:1,\n/home/film.mp4\n\0", b"ffconcat version 1.0\nfile /film.mp4\n\0"):
            (under / "list.mp4").write_bytes(text)
            answer = (
                send("list.mp4", text) if how == "sent" else browser.post("/added", {"path": "mine/list.mp4"})
            )
            assert (answer.status, "is no film" in answer.json()["error"]) == (422, True)
        assert (kept(settings), looked) == ([], [])

    def test_a_bomb_is_no_network(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "net.onnx", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a", bytes(10_000_000))
        with pytest.raises(InputError, match="no ONNX file"):
            apart._network(str(tmp_path / "net.onnx"), "net")

    @pytest.mark.parametrize("location", ["../secret.bin", "/etc/passwd", "up/secret.bin"])
    def test_weights_lie_beside_their_network(self, tmp_path: Path, location: str) -> None:
        folder = tmp_path / "added"
        folder.mkdir()
        (tmp_path / "secret.bin").write_bytes(bytes(64))
        (folder / "up").symlink_to(tmp_path)
        network(folder / "net.onnx", np.array([[0.5]]))
        model = onnx.load(folder / "net.onnx")
        tensor = model.graph.initializer.add(name="w", data_type=1, dims=[4], data_location=1)
        tensor.external_data.add(key="location", value=location)
        (folder / "net.onnx").write_bytes(model.SerializeToString())
        with pytest.raises(InputError, match="its weights lie in another folder"):
            apart._network(str(folder / "net.onnx"), "net")


@pytest.mark.parametrize(
    "told",
    [
        {"output": {"task": "classification", "classes": "/etc/hosts.txt"}},
        {"output": {"task": "detection", "classes": "names.json"}},
        {"output": {"signals": ["speed"]}, "model": "callable:os:system"},
        {"output": {"signals": ["speed"]}, "options": {"x": 1}},
        {"output": {"signals": ["speed"], "path": "x"}},
        {"output": {"signals": ["speed"]}, "input": {"file": "x"}},
        {"output": {"task": "http"}},
        {"input": {}},
    ],
    ids=str,
)
def test_a_description_says_what_numbers_mean_and_nothing_else(
    browser: Browser, send: Send, settings: ServerSettings, looked: list[Any], told: Any
) -> None:
    send("a.onnx", DATA)
    assert browser.post("/added/a/description", told).status == 422
    assert not (settings.out / "added" / "a" / "model.yaml").exists()
    assert len(looked) == 1


def test_what_the_process_says_is_not_believed_either(
    browser: Browser, client: Client, send: Send, monkeypatch: pytest.MonkeyPatch, settings: ServerSettings
) -> None:
    sections = {"output": {"task": "classification", "classes": "/etc/hosts.txt"}}
    hostile = {**DESCRIBED, "sections": sections}
    monkeypatch.setattr(client.app.state.services.added, "_apart", lambda *_: dict(hostile))
    assert send("a.onnx", DATA).status == 422
    assert kept(settings) == []


class TestUnder:
    @pytest.mark.parametrize("path", ["mine/net.onnx", "mine/frames"])
    def test_what_lies_below_can_be_added(
        self, browser: Browser, under: Path, looked: list[Any], path: str
    ) -> None:
        found = browser.post("/added", {"path": path}).json()
        assert found["about"]["file"] == str(under.parent / path)
        assert browser.post(f"/added/{found['name']}/remove", {}).json()["items"] == []
        assert (under.parent / path).exists()

    @pytest.mark.parametrize(
        "path",
        [
            "secret/secret.onnx",
            "mine/../secret/secret.onnx",
            "mine/out",
            "mine/out/secret.onnx",
            "mine/link.onnx",
            "/etc",
            "mine",
            "",
            "mine/nothing.onnx",
            "mine/net.yaml",
            "mine/described",
            "mine/evil.py",
            "mine/\x00",
            "mine/" + "x" * 3000,
            "callable:os:system",
            "http://evil.example/x.onnx",
        ],
    )
    def test_nothing_else(
        self, browser: Browser, settings: ServerSettings, looked: list[Any], path: str
    ) -> None:
        assert browser.post("/added", {"path": path}).status == 422
        assert (kept(settings), looked) == ([], [])

    def test_folders_show_what_may_be_chosen(self, browser: Browser) -> None:
        def below(path: str) -> Any:
            return browser.post("/added/below", {"path": path}).json()

        assert below("") == {"folders": ["mine"], "files": [], "suites": []}
        here = below("mine")
        assert here["files"] == ["mine/link.onnx", "mine/net.onnx"]
        for path in ("mine/..", "mine/out", "/", "secret"):
            assert "error" in below(path), path


@pytest.mark.parametrize("how", ["other model", "other file", "link", "broken", "no text"])
def test_what_somebody_changed_in_the_folder_is_not_offered(
    browser: Browser, send: Send, settings: ServerSettings, looked: list[Any], tmp_path: Path, how: str
) -> None:
    """Folders of runs are copied from machine to machine."""
    send("a.onnx", DATA)
    browser.post("/added/a/description", {"output": {"signals": ["speed"]}})
    reference = items(browser)["a"]["reference"]
    folder = settings.out / "added" / "a"
    assert f'value="{reference}"' in browser.page("/write").text
    about = json.loads((folder / "about.json").read_text())
    if how == "other model":
        (folder / "model.yaml").write_text("model: callable:os:system\n")
    elif how == "other file":
        (folder / "about.json").write_text(json.dumps(about | {"file": "../../../secret/secret.onnx"}))
    elif how == "link":
        folder.rename(tmp_path / "moved")
        folder.symlink_to(tmp_path / "moved")
    else:
        (folder / "about.json").write_text("[]" if how == "broken" else '{"kind": 3, "file": {}}')
    assert items(browser) == {}
    assert f'value="{reference}"' not in browser.page("/write").text
    ask = {"kind": "rules", "text": RULE, "models": [reference], "data": "world:town", "frames": 2}
    answer = browser.post("/jobs", ask)
    assert (answer.status, "this server has no model" in answer.json()["error"]) == (422, True)


@pytest.mark.parametrize("name", ["..", "%2e%2e", "a%2f..", "x" * 3000, "%00"])
def test_a_name_that_leads_elsewhere_is_none(browser: Browser, settings: ServerSettings, name: str) -> None:
    (settings.out / "added").mkdir(parents=True)
    assert browser.get(f"/added/{name}/seen.jpg").status in (404, 422)
    for what in ("remove", "description"):
        assert browser.post(f"/added/{name}/{what}", {"output": {}}).status in (404, 422)
    assert settings.out.exists()
