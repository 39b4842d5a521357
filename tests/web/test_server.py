"""What a server is started with: addresses, ports, names, models and folders."""

from __future__ import annotations

import errno
import re
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi import HTTPException

from roadworthy.errors import InputError, MissingExtraError
from roadworthy.web import declared as declaring
from roadworthy.web import server
from roadworthy.web.app import create_app
from roadworthy.web.connections import Connection
from roadworthy.web.declared import Declared
from roadworthy.web.jobs.asks import BbslAsk, RulesAsk, SuiteAsk
from roadworthy.web.pages import PictureCache, _sentence, shown_file
from roadworthy.web.services import Services, check_ask
from roadworthy.web.settings import RunFolders, ServerLimits, ServerSettings, file_below, is_loopback

WORDS = "declared when the server was started"


@pytest.mark.parametrize(
    ("host", "near"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), ("0.0.0.0", False),
     ("192.168.0.4", False), ("::", False), ("car", False), ("localhost.example", False)],
)  # fmt: skip
def test_what_is_reached_from_this_machine_only(host: str, near: bool) -> None:
    assert is_loopback(host) is near


def test_a_server_of_this_machine_has_no_token_and_no_name(tmp_path: Path) -> None:
    made = server.settings_for("127.0.0.1", tmp_path, names=("Car.Example",))
    assert (made.token, set(made.names), made.any_address) == (None, {"car.example"}, False)
    assert (made.out, made.runs, made.models, made.data) == (tmp_path, (), (), ())


def test_a_server_for_others_has_a_token_and_goes_by_its_names(tmp_path: Path) -> None:
    made = server.settings_for(
        "Car", tmp_path, runs=[tmp_path], models=["onnx:a"], data=["folder:b"], names=["Bus"]
    )
    assert made.token is not None
    assert len(made.token) == 32
    assert made.token != server.settings_for("Car", tmp_path).token
    assert made.names == {"car", "bus", socket.gethostname().lower()}
    assert made.any_address
    assert (made.runs, made.models, made.data) == ((tmp_path,), ("onnx:a",), ("folder:b",))


def test_without_its_libraries_the_server_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "uvicorn", None)
    with pytest.raises(MissingExtraError, match=r"roadworthy\[web\]"):
        server.settings_for("127.0.0.1", tmp_path)


class _Socket:
    """One whose ports are taken up to a number."""

    free_from = 0
    made: list[_Socket]

    def __init__(self, family: int, kind: int) -> None:
        self.said: list[Any] = [family, kind]
        _Socket.made.append(self)

    def setsockopt(self, *given: int) -> None:
        self.said.append(given)

    def bind(self, place: tuple[str, int]) -> None:
        self.place = place
        if place[1] < self.free_from:
            raise OSError(errno.EADDRINUSE, "taken")

    def listen(self, backlog: int) -> None:
        self.said.append(backlog)

    def close(self) -> None:
        self.said.append("closed")


@pytest.fixture
def sockets(monkeypatch: pytest.MonkeyPatch) -> type[_Socket]:
    _Socket.made = []
    monkeypatch.setattr("socket.socket", _Socket)
    return _Socket


def test_the_first_free_port_of_twenty_is_taken(
    sockets: type[_Socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "free_from", 8340)
    found: Any = server.listening("127.0.0.1", None)
    assert found.place == ("127.0.0.1", 8340)
    again = (socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    assert found.said == [socket.AF_INET, socket.SOCK_STREAM, again, 128]
    assert [one.place[1] for one in sockets.made] == list(range(8321, 8341))
    assert all(one.said[-1] == "closed" for one in sockets.made[:-1])
    monkeypatch.setattr(sockets, "free_from", 8341)
    with pytest.raises(
        InputError,
        match=r"^cannot listen on ::1, port 8340: taken; choose another with --port, or any free one with",
    ):
        server.listening("::1", None)
    assert sockets.made[-1].said[0] == socket.AF_INET6


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_that_there_is_not(sockets: type[_Socket], port: int) -> None:
    with pytest.raises(InputError, match=f"^--port must be from 0 to 65535, got {port}$"):
        server.listening("127.0.0.1", port)
    for one in (0, 65535):
        found: Any = server.listening("127.0.0.1", one)
        assert found.place == ("127.0.0.1", one)


def test_a_port_that_is_asked_for_is_the_only_one_tried(
    sockets: type[_Socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "free_from", 8400)
    with pytest.raises(InputError, match="port 8399"):
        server.listening("127.0.0.1", 8399)
    assert len(sockets.made) == 1


@pytest.mark.parametrize(
    ("host", "token", "shown"),
    [
        ("127.0.0.1", None, "http://127.0.0.1:80/"),
        ("::1", "t", "http://[::1]:80/?token=t"),
        ("0.0.0.0", None, f"http://{socket.gethostname()}:80/"),
        ("::", "", f"http://{socket.gethostname()}:80/"),
        ("car", "t", "http://car:80/?token=t"),
    ],
)
def test_what_to_open_in_a_browser(host: str, token: str | None, shown: str) -> None:
    assert server.address(host, 80, token) == shown


def test_how_the_server_is_set_up(tmp_path: Path) -> None:
    limits = ServerLimits(connections=3)
    config = server.server_for(ServerSettings(tmp_path, limits=limits), lambda: None).config
    assert (config.log_level, config.timeout_graceful_shutdown, config.backlog) == ("warning", 2, 128)
    assert (config.server_header, config.proxy_headers, config.ws) == (False, False, "none")
    assert isinstance(config.http, type)
    assert issubclass(config.http, Connection)
    assert config.http.limits is limits


@pytest.mark.parametrize(
    ("host", "plain", "named", "any_address"),
    [
        ("localhost", True, True, True),
        (" LOCALHOST:8321 ", True, True, True),
        ("127.0.0.1:1", True, True, True),
        ("[::1]:80", True, True, True),
        ("::1", False, False, False),
        ("car:80", False, True, False),
        ("10.0.0.4:80", False, False, True),
        ("[fe80::1]", False, False, True),
        ("evil.example", False, False, False),
        ("localhost:123456", False, False, False),
        ("localhost:", False, False, False),
        ("user@localhost", False, False, False),
        ("", False, False, False),
    ],
)
def test_what_a_request_may_be_addressed_to(host: str, plain: bool, named: bool, any_address: bool) -> None:
    made = [
        ServerSettings(Path("out")),
        ServerSettings(Path("out"), names=frozenset({"car"})),
        ServerSettings(Path("out"), any_address=True),
    ]
    assert [one.admits(host) for one in made] == [plain, named, any_address]


def test_folders_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        InputError, match=r"--run must be the folder of a run, got .*file, which is no folder"
    ):
        ServerSettings(tmp_path, (tmp_path, tmp_path / "file"))
    for letter in ("\ud800", "\udfff"):
        with pytest.raises(InputError, match="--out must have a name that is text"):
            ServerSettings(tmp_path / f"a{letter}")
    ServerSettings(tmp_path / "\ue000\ud7ff")


def test_folders_are_called_by_their_names_and_each_otherwise(tmp_path: Path) -> None:
    names = ("a b", "x/a b", ".-.", "20261115-120000-aaaa", "y/a-b", "ä.1")
    for name in names:
        (tmp_path / name).mkdir(parents=True)
    folders = RunFolders(ServerSettings(tmp_path, tuple(tmp_path / name for name in names)))
    assert folders.names == ("a-b", "a-b-2", "run", "20261115-120000-aaaa-2", "a-b-3", "ä.1")
    assert folders.folder("a-b-3") == tmp_path / "y/a-b"
    with pytest.raises(InputError, match=r"^there is no run 'b' here: all runs are on the page Runs$"):
        folders.folder("b")


@pytest.mark.parametrize(
    ("name", "picture", "film"),
    [
        ("a.PNG", "image/png", "image/png"),
        ("a.jpg", "image/jpeg", "image/jpeg"),
        ("a.jpeg", "image/jpeg", "image/jpeg"),
        ("a.webm", None, "video/webm"),
        ("a.mp4", None, "video/mp4"),
        ("a.gif", None, "image/gif"),
        ("a.svg", None, None),
        ("a.html", None, None),
    ],
)
def test_what_is_a_picture_or_a_film(name: str, picture: str | None, film: str | None) -> None:
    assert RunFolders.media_type(Path(name)) == picture
    assert RunFolders.media_type(Path(name), films=True) == film
    if picture is None:
        with pytest.raises(HTTPException) as refused:
            shown_file(Path(name), otherwise="nothing to see")
        assert (refused.value.status_code, refused.value.detail) == (404, "nothing to see")
    if film is not None:
        answer = shown_file(Path(name), films=True, otherwise="")
        assert (answer.media_type, answer.headers["cache-control"]) == (film, "private, max-age=3600")
    with pytest.raises(HTTPException):
        shown_file(None, films=True, otherwise="")


def test_only_files_below_a_folder_are_handed_out(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "in-side"
    for folder in (inside / "deep", outside):
        folder.mkdir(parents=True)
        (folder / "a.txt").write_text("a")
    (inside / "link").symlink_to(outside / "a.txt")
    (inside / "own").symlink_to(inside / "deep" / "a.txt")
    assert file_below(inside, "deep/a.txt") == file_below(inside, "own") == inside / "deep/a.txt"
    for path in ("link", "../in-side/a.txt", "deep", "", ".", "none", "a\0b", str(outside / "a.txt")):
        assert file_below(inside, path) is None
    assert file_below(tmp_path / "gone", "a.txt") is None
    assert file_below(inside / "deep" / "a.txt", "") is None


def test_models_and_data_that_were_declared(tmp_path: Path) -> None:
    file = tmp_path / "driver.py"
    own = f"callable:{file}:drive"
    declared = Declared((own,), ("folder:x",))
    assert [declared.check("models", one) for one in ("dave2", own)] == ["dave2", own]
    assert declared.check("data", "folder:x") == "folder:x"
    with pytest.raises(InputError, match=r"no model 'dave': did you mean 'dave2'.*start it with --model to"):
        declared.check("models", "dave")
    with pytest.raises(InputError, match=r"no data set 'wrold': .*; start it with --data to add one$"):
        declared.check("data", "wrold")
    assert [(one.reference, one.name, one.summary) for one in declared.data()] == [
        *((name, name, summary) for name, summary in declaring.WORLDS.items()),
        ("folder:x", "folder:x", WORDS),
    ]
    known = {one.reference: one for one in declared.models()}
    dave, detector, gone = known["dave2"], known["detector"], known[own]
    assert (dave.name, dave.task, dave.problem) == ("dave2", "regression", "")
    assert dave.outputs == ("steering", "speed")
    assert (detector.task, detector.outputs) == ("detection", ())
    assert (gone.name, gone.summary, gone.task) == (own, WORDS, "")
    assert "driver.py" in gone.problem
    assert (dave.fits("regression"), dave.fits("detection"), gone.fits("detection")) == (True, False, True)
    # One that is mended is opened again; one that comes with the package is not.
    file.write_text("def drive(image):\n    return {'speed': 1.0}\n")
    again = {one.reference: one for one in declared.models()}
    assert (again[own].name, again[own].problem) == (own, "")
    assert again["dave2"] is dave
    assert declared.names([own, "dave2", "gone"]) == [own, "dave2", "gone"]


RULE: dict[str, Any] = {"text": "x" * 4_000, "models": ("dave2",), "data": "world:town", "frames": 10_000}


def test_what_may_be_asked_for() -> None:
    declared, limits = Declared((), ()), ServerLimits()
    check_ask(RulesAsk(**RULE), declared, limits)
    check_ask(BbslAsk(**RULE | {"text": "x" * 20_000}), declared, limits)
    for change, words in (
        ({"text": "x" * 4_001}, "^the text may have 4000 characters at most, got 4001$"),
        ({"frames": 10_001}, "^a run may have 10000 frames at most here, got 10001$"),
        ({"models": ("dave2", "other")}, "no model 'other'"),
        ({"data": "kitti:x"}, "no data set 'kitti:x'"),
    ):
        with pytest.raises(InputError, match=words):
            check_ask(RulesAsk(**RULE | change), declared, limits)
    with pytest.raises(InputError, match="20000 characters at most, got 20001"):
        check_ask(BbslAsk(**RULE | {"text": "x" * 20_001}), declared, limits)


@pytest.mark.parametrize(("key", "most"), [("tries", 10_000), ("seconds", 3_600)])
def test_the_most_of_a_requirement_is_allowed(key: str, most: int) -> None:
    document = {
        "models": "dave2",
        "data": {"d": {"data": "world", "sample": 1}},
        "requirements": {"R0": {"coverage": "neuron", key: most}},
    }
    check_ask(SuiteAsk(document=document), Declared((), ()), ServerLimits())


def test_what_only_some_forms_have(tmp_path: Path) -> None:
    services: Services = create_app(ServerSettings(tmp_path)).state.services
    document = {"models": "dave2", "data": {"d": {"data": "world", "sample": 1}}, "requirements": {"R": "x"}}
    with pytest.raises(InputError, match=r"^a suite has no preview: start the run$"):
        services.preview(SuiteAsk(document=document), 1)
    undeclared = RulesAsk(**RULE | {"models": ("other",)})
    for call in (lambda: services.preview(undeclared, 1), lambda: services.copied(tmp_path, [], undeclared)):
        with pytest.raises(InputError, match="this server has no model 'other'"):
            call()
    for ask, most in ((services.rule, 4_000), (services.spec, 20_000)):
        with pytest.raises(InputError, match=f"the text may have {most} characters at most, got {most + 1}"):
            ask("x" * (most + 1))
    with pytest.raises(HTTPException, match="there is no run"):
        services.run_of("none")


def test_a_preview_has_no_more_frames_than_the_server_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    services: Services = create_app(ServerSettings(tmp_path)).state.services
    monkeypatch.setattr("roadworthy.web.services.preview", lambda ask, count, pictures: {"count": count})
    ask = RulesAsk(**RULE)
    assert [services.preview(ask, count)["count"] for count in (3, 8, 9)] == [3, 8, 8]


def test_pictures_are_kept_up_to_a_size_and_the_latest_stay() -> None:
    first, second, third = (np.full((8, 8, 3), shade, np.uint8) for shade in (1, 2, 3))
    everything = PictureCache()
    digests = [everything.add(one) for one in (first, second, third, first)]
    assert digests[0] == digests[3]
    assert len(set(digests)) == 3
    size = max(len(everything.get(one) or b"") for one in digests)
    pictures = PictureCache(2 * size)
    pictures.add(first)
    pictures.add(second)
    pictures.add(first)
    assert [pictures.get(one) is not None for one in digests[:2]] == [True, True]
    pictures.add(third)
    assert [pictures.get(one) is not None for one in digests[:3]] == [True, False, True]
    pictures.add(second)
    assert [pictures.get(one) is not None for one in digests[:3]] == [False, True, True]
    # The one that was just made is there, however large.
    small = PictureCache(1)
    assert small.get(small.add(first)) is not None


@pytest.mark.parametrize(
    ("text", "told"), [("", ""), ("a", "A."), ("Why?", "Why?"), ("so…", "So…"), ("x: Y!", "X: Y!")]
)
def test_errors_are_shown_as_sentences(text: str, told: str) -> None:
    assert _sentence(text) == told


def test_what_a_page_waits_for_is_shown_or_the_problem_or_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    services: Services = create_app(ServerSettings(tmp_path)).state.services
    assert services.awaited(("a",), lambda progress: 5) == {"found": 5, "problem": "", "work": ""}

    def refused(progress: object) -> int:
        raise InputError("no answers")

    assert services.awaited(("b",), refused) == {"found": None, "problem": "no answers", "work": ""}
    monkeypatch.setattr("roadworthy.web.services._PATIENCE", 0.0)
    waits = services.awaited(("c",), lambda progress: __import__("time").sleep(0.3) or 7)
    assert (waits["found"], waits["problem"]) == (None, "")
    assert re.fullmatch(r"\w+", waits["work"])
    assert services.bench.get(waits["work"]).result(30) == 7
