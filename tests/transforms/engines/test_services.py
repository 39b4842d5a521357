"""Image-edit services as engines: what they are posted, and that nothing they answer ends a run."""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Callable, Iterator
from email.parser import BytesParser
from email.policy import HTTP
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from tests.loading import load_file

from roadworthy.errors import EngineError, InputError
from roadworthy.frames import Frame
from roadworthy.images import encode_image
from roadworthy.transforms import read_engines, transform_for
from roadworthy.transforms.engines import UserEngine, services
from roadworthy.transforms.operations import AddOperation, Operation, RemoveOperation, ReplaceOperation

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "engines"
LINES = RemoveOperation("lane lines")

Answer = Callable[[bytes, Any], tuple[int, bytes]]


def engine_of(folder: Path, url: str, http: str = "", more: str = "") -> UserEngine:
    (folder / "engines.yaml").write_text(
        f"engines:\n  mine:\n    http:\n      url: {url}\n{http}{more}"
        "    supports: [{operation: remove, element: line}, {operation: replace, element: weather}]\n",
        "utf-8",
    )
    (engine,) = read_engines(folder / "engines.yaml", allow_commands=True)
    return engine


def reason_of(engine: UserEngine, frame: Frame, operation: Operation = LINES) -> str:
    with pytest.raises(EngineError) as caught:
        engine.transform(operation)(frame, 1, measure=False)
    return caught.value.reason


def parts_of(body: bytes, headers: Any) -> dict[str, tuple[str | None, bytes]]:
    """The parts of a form by name: file name and content, as the standard library reads them."""
    message = BytesParser(policy=HTTP).parsebytes(
        f"Content-Type: {headers['Content-Type']}\r\n\r\n".encode() + body
    )
    found = {}
    for part in message.iter_parts():
        content = part.get_payload(decode=True)
        assert isinstance(content, bytes)
        found[str(part.get_param("name", header="content-disposition"))] = (part.get_filename(), content)
    return found


def decoded(data: bytes) -> Any:
    return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)


def grey(level: int, size: tuple[int, int] = (24, 32)) -> bytes:
    return encode_image(np.full((*size, 3), level, np.uint8), ".png")


def test_a_form_with_pictures_and_words(tmp_path: Path, frame: Frame, serve: Callable[[Answer], str]) -> None:
    seen: dict[str, tuple[str | None, bytes]] = {}

    def answer(body: bytes, headers: Any) -> tuple[int, bytes]:
        seen.update(parts_of(body, headers))
        return 200, grey(7)

    fields = (
        '      fields: {photo: "{image}", where: "{mask}", cut: "{hole}", classes: "{labels}", count: 2,\n'
        '        prompt: "{operation} {element} ({width}x{height}) {{so}}", seed: "{seed}",\n'
        '        inline: "data:image/png;base64,{mask}"}\n'
    )
    change = engine_of(tmp_path, serve(answer), fields).transform(LINES)
    assert change.needs == ("labels",)
    changed = change(frame, 1, measure=False)
    assert {name: file for name, (file, _) in seen.items() if file} == {
        "photo": "image.png",
        "where": "mask.png",
        "cut": "hole.png",
        "classes": "labels.png",
    }
    assert np.array_equal(decoded(seen["photo"][1])[..., ::-1], frame.image)
    region = change.region(frame)
    assert np.array_equal(decoded(seen["where"][1]), region * np.uint8(255))
    assert np.array_equal(decoded(seen["cut"][1])[..., 3], ~region * np.uint8(255))
    assert frame.labels is not None
    assert np.array_equal(decoded(seen["classes"][1]), frame.labels.remapped().ids)
    assert seen["prompt"][1] == b"remove lane lines (32x24) {so}"
    assert 0 <= int(seen["seed"][1]) < 2**31
    assert seen["count"][1] == b"2"
    head, _, packed = seen["inline"][1].partition(b",")
    assert head == b"data:image/png;base64"
    assert base64.b64decode(packed) == seen["where"][1]
    # Whatever it answers, what the operation is not about stays.
    assert np.array_equal(changed.image[~region], frame.image[~region])
    lines = frame.labels.mask("line")
    assert (changed.image[lines] == 7).all()
    assert changed.labels is not None
    assert "line" not in changed.labels.present()


def test_a_document_and_an_answer_deep_inside_one(
    tmp_path: Path, frame: Frame, serve: Callable[[Answer], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    def answer(body: bytes, headers: Any) -> tuple[int, bytes]:
        seen.append((json.loads(body), headers["Authorization"], headers["Content-Type"]))
        image = "data:image/png;base64," + base64.b64encode(grey(200)).decode()
        return 200, json.dumps({"data": [{"image": image}]}).encode()

    monkeypatch.setenv("ROADWORTHY_TEST_KEY", "s3cret")
    more = (
        "      send: json\n      answer: data.0.image\n"
        '      headers: {Authorization: "Bearer {env:ROADWORTHY_TEST_KEY}"}\n'
        '      fields: {image: "{image}", options: {seed: "{seed}", sizes: ["{width}", "{height}"], n: 1.5,\n'
        '        tiled: true}, prompt: "{by}"}\n'
    )
    change = engine_of(tmp_path, serve(answer), more).transform(ReplaceOperation("weather", "heavy rain"))
    assert change.needs == ()
    changed = change(frame, 3, measure=False)
    ((document, key, kind),) = seen
    assert (key, kind) == ("Bearer s3cret", "application/json")
    assert document["prompt"] == "heavy rain"
    assert document["options"] == {
        "seed": int(np.random.default_rng(3).integers(2**31)),
        "sizes": [32, 24],
        "n": 1.5,
        "tiled": True,
    }
    assert np.array_equal(decoded(base64.b64decode(document["image"]))[..., ::-1], frame.image)
    assert (changed.image == 200).all()
    assert changed.metadata["weather"] == "rainy"
    monkeypatch.delenv("ROADWORTHY_TEST_KEY")
    with pytest.raises(InputError, match="needs the environment variable ROADWORTHY_TEST_KEY"):
        engine_of(tmp_path, "http://127.0.0.1:9/", more).transform(LINES)


def test_what_is_sent_fits_what_the_service_takes(
    tmp_path: Path, frame: Frame, serve: Callable[[Answer], str]
) -> None:
    sizes = []

    def answer(body: bytes, headers: Any) -> tuple[int, bytes]:
        image = decoded(parts_of(body, headers)["image"][1])
        sizes.append(image.shape[:2])
        return 200, grey(50, image.shape[:2])

    more = '      most: [12, 64]\n      multiple: 8\n      fields: {image: "{image}", mask: "{mask}"}\n'
    changed = engine_of(tmp_path, serve(answer), more).transform(LINES)(frame, 1, measure=False)
    assert sizes == [(16, 16)]
    assert changed.image.shape == frame.image.shape
    assert frame.labels is not None
    assert (changed.image[frame.labels.mask("line")] == 50).all()


@pytest.mark.parametrize(
    ("http", "status", "content", "reason"),
    [
        ("", 404, b"no such page", r"answered with status 404: 'no such page'"),
        ("", 200, b"no image", r"answered with an image that cannot be read: it is corrupt or no image"),
        ("", 200, b"", r"cannot be read: the file is empty"),
        ("", 200, grey(1, (8, 8)), r"answered with an image of 8 × 8 pixels to one of 32 × 24: give `most`"),
        (
            "",
            200,
            b" <html>Sign in</html>",
            r"answered with text instead of an image: ' <html>Sign in</html>'; ",
        ),
        ("", 200, b'{"error": "no credit"}', r"text instead of an image: .*no credit.*is said by `answer`"),
        ("      answer: a.0\n", 200, b"[}", r"must answer with JSON, got '\[}'"),
        ("      answer: a.0\n", 200, b'{"a": []}', r"answered with JSON without a\.0: "),
        ("      answer: a\n", 200, b'{"a": 5}', r"a must be an image in base64, got int"),
        ("      answer: a\n", 200, b'{"a": "#"}', r"a must be an image in base64, got other text"),
        ("      retries: 0\n", 503, b"busy", r"answered with status 503: 'busy' \(1 try\)"),
    ],
)
def test_what_goes_wrong_is_told(
    tmp_path: Path,
    frame: Frame,
    serve: Callable[[Answer], str],
    http: str,
    status: int,
    content: bytes,
    reason: str,
) -> None:
    engine = engine_of(tmp_path, serve(lambda *_: (status, content)), http)
    assert re.search(reason, reason_of(engine, frame))
    assert reason_of(engine, frame).startswith("engine 'mine': http://127.0.0.1:")


@pytest.mark.parametrize("status", [201, 302])
def test_other_answers_than_200_are_not_followed(
    tmp_path: Path, frame: Frame, serve: Callable[[Answer], str], status: int
) -> None:
    engine = engine_of(tmp_path, serve(lambda *_: (status, grey(1, (24, 32)))))
    assert f"answered with status {status}: " in reason_of(engine, frame)


def test_an_answer_without_an_end_is_not_read(
    tmp_path: Path, frame: Frame, serve: Callable[[Answer], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "_LONGEST", 1000)
    engine = engine_of(tmp_path, serve(lambda *_: (200, bytes(1001))))
    assert reason_of(engine, frame).endswith("answered with more than 1000 bytes")


def test_a_service_that_is_busy_is_asked_again(
    tmp_path: Path, frame: Frame, serve: Callable[[Answer], str]
) -> None:
    asked: list[int] = []

    def answer(*_: object) -> tuple[int, bytes]:
        asked.append(1)
        return (503, b"busy") if len(asked) < 3 else (200, grey(9))

    engine_of(tmp_path, serve(answer)).transform(LINES)(frame, 1, measure=False)
    assert len(asked) == 3


def test_a_service_that_hangs_is_not_waited_for(
    tmp_path: Path, frame: Frame, serve: Callable[[Answer], str]
) -> None:
    done = threading.Event()

    def answer(*_: object) -> tuple[int, bytes]:
        done.wait(20)
        return 200, b""

    engine = engine_of(tmp_path, serve(answer), "      retries: 0\n", "    timeout: 0.2\n")
    assert "gave no answer within 0.2 s (1 try)" in reason_of(engine, frame)
    done.set()


def test_labels_are_needed_where_a_thing_is_masked() -> None:
    service = services.Service("mine", "http://127.0.0.1:1/", fields={"mask": "{mask}"})
    assert service.needs(LINES) == ("labels",)
    for whole in (AddOperation("tree"), ReplaceOperation("weather", "rainy")):
        assert service.needs(whole) == ()


def test_nobody_is_called_unless_it_is_allowed(tmp_path: Path) -> None:
    engine_of(tmp_path, "http://127.0.0.1:9/")
    (engine,) = read_engines(tmp_path / "engines.yaml")
    with pytest.raises(InputError, match=r"'mine' calls a service: if you trust the file, .*allow_commands"):
        engine.transform(LINES)


@pytest.mark.parametrize(
    ("http", "complaint"),
    [
        ("url: ftp://host/", r":4: expected an address such as http://127\.0\.0\.1:8000/predict, got 'ftp"),
        ("url: http://h/\n      feilds: {}", r":5: unknown key 'feilds': did you mean 'fields'"),
        ('url: http://h/\n      fields: {a: "{imgae}"}', r":5: \{imgae\} stands for nothing: did you mean"),
        ('url: http://h/\n      fields: {a: {b: ["{x}"]}}', r":5: \{x\} stands for nothing"),
        (
            'url: http://h/\n      headers: {a: "{KEY}"}',
            r":5: in a header, .*write \{env:NAME\}, got \{KEY\}",
        ),
        ("url: http://h/\n      fields: {a: {no: 1}}", r":5: expected words as keys, got False: put it in q"),
        ("url: http://h/\n      send: xml", r":5: .*expected 'multipart' or 'json', got 'xml'"),
        ("fields: {}", r"engines > a > http needs the key 'url'"),
    ],
)
def test_mistakes_in_the_file_are_found_with_their_line(tmp_path: Path, http: str, complaint: str) -> None:
    path = tmp_path / "engines.yaml"
    supports = "    supports: [{operation: remove, element: line}]\n"
    path.write_text(f"engines:\n  a:\n    http:\n      {http}\n{supports}", "utf-8")
    with pytest.raises(InputError, match=complaint):
        read_engines(path)


@pytest.fixture
def example_service() -> Iterator[int]:
    """The example's service, running; its port."""
    server = load_file(EXAMPLES / "edit_service.py").server()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


def test_the_example_works(tmp_path: Path, town: Frame, example_service: int) -> None:
    text = (EXAMPLES / "service.yaml").read_text("utf-8").replace(":8188/", f":{example_service}/")
    (tmp_path / "service.yaml").write_text(text, "utf-8")
    engines = read_engines(tmp_path / "service.yaml", allow_commands=True)
    assert town.labels is not None
    lines = town.labels.mask("line")
    erased = transform_for(RemoveOperation("line"), engines)(town, 1, measure=False)
    assert erased.image[lines].mean() < town.image[lines].mean() - 20
    change = transform_for(ReplaceOperation("building", "tree"), engines)
    assert change.name == "json-service"
    wooded = change(town, 1, measure=False)
    region = change.region(town)  # type: ignore[attr-defined]
    assert np.array_equal(wooded.image[~region], town.image[~region])
    assert not np.array_equal(wooded.image[region], town.image[region])
