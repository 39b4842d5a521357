"""Checksums and manifests at their borders: many files, files of one name, labelled data, notes, hosts."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.runs.executing import REQUIREMENT, Bright, Frames, digests

from roadworthy._importing import module_name, sources_of
from roadworthy.datasets import load
from roadworthy.errors import InputError
from roadworthy.frames import Frame, Signals
from roadworthy.images import write_image
from roadworthy.models import callable_model, load_model
from roadworthy.runs import run
from roadworthy.runs.store import add_notes, model_notes, read_manifest
from roadworthy.runs.store import manifest as manifests
from roadworthy.runs.store.digests import (
    Digest,
    _named,
    content_of_dataset,
    digest_of_dataset,
    digest_of_engine,
    digest_of_files,
    digest_of_model,
    digest_of_text,
)
from roadworthy.runs.store.manifest import begin_manifest, differing, host, is_of_before, notes_of, take_suite


def test_many_files_are_one_sum_and_no_list(tmp_path: Path) -> None:
    paths = {f"{n:02d}.bin": tmp_path / f"{n:02d}.bin" for n in range(21)}
    for name, path in paths.items():
        path.write_text(name)
    few = digest_of_files(dict(list(paths.items())[:20]), "all")
    many = digest_of_files(paths, "all")
    assert (len(few.sums), few.count, few.hashed) == (20, 20, "all")
    assert (many.sums, many.count) == ({}, 21)
    lines = [f"{hashlib.sha256(name.encode()).hexdigest()}  {name}\n" for name in sorted(paths)]
    assert many.sha256 == hashlib.sha256("".join(lines).encode()).hexdigest()
    assert digest_of_files(dict(reversed(paths.items())), "all") == many, "in the order of their names"
    assert many.record() == {"sha256": many.sha256, "hashed": "all", "count": 21}
    assert Digest(None, "nothing").record() == {"sha256": None, "hashed": "nothing"}
    assert digest_of_text("a", "abc").record() == {
        "sha256": hashlib.sha256(b"abc").hexdigest(), "hashed": "the content of the file", "count": 1,
        "sums": {"a": hashlib.sha256(b"abc").hexdigest()},
    }  # fmt: skip
    same = [Path("a/net.bin"), Path("b/net.bin"), Path("c/net.bin")]
    assert _named(same) == dict(zip(("net.bin", "net.bin (2)", "net.bin (3)"), same, strict=True))


def test_an_engine_is_its_files_and_a_model_what_it_consists_of(tmp_path: Path) -> None:
    (tmp_path / "fog.yaml").write_text("fog")
    engine: Any = SimpleNamespace(files=(tmp_path / "fog.yaml",))
    found = digest_of_engine(engine)
    assert (found.hashed, list(found.sums)) == ("its description and the files that it names", ["fog.yaml"])
    assert digest_of_engine(SimpleNamespace(files=())).record() == {  # type: ignore[arg-type]
        "sha256": None, "hashed": "nothing: it has no files",
    }  # fmt: skip
    (tmp_path / "mine.py").write_text("def drive(frames):\n    return []\n")
    own = digest_of_model(load_model(f"python:{tmp_path}/mine.py:drive"))
    assert own.hashed == "the file that defines it, and those of its folder or package that it imports"
    assert list(own.sums) == ["mine.py"]
    memory = digest_of_model(callable_model(eval("lambda frames: []"), name="x"))  # of no file
    assert (memory.sha256, memory.hashed) == (None, "nothing: it is in memory only")
    far = SimpleNamespace(name="far", runtime=SimpleNamespace(url="http://h/", function=None))
    assert digest_of_model(far).hashed == "nothing: what answers there is not known"
    truth = digest_of_model(load_model("truth"))
    assert truth.sha256 is not None
    inside = SimpleNamespace(name="x", network=load_model("dave2"))
    assert digest_of_model(inside) == digest_of_model(load_model("dave2"))
    assert set(digest_of_model(load_model("dave2")).settings) >= {"input", "output"}


def test_what_a_model_imports_of_its_folder_is_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    parts = tmp_path / "gainful"
    parts.mkdir()
    (tmp_path / "mine.py").write_text(
        "import json, gainful.gain\nfrom roadworthy.frames import Signals\n"
        "def drive(frames):\n    import later\n    return [Signals(speed=gainful.gain.K) for _ in frames]\n"
    )
    (tmp_path / "later.py").write_text("import mine\n")
    (tmp_path / "other.py").touch()
    for name, text in {
        "__init__": "",
        "gain": "from . import size\nfrom .size import K",
        "size": "K = 1",
    }.items():
        (parts / f"{name}.py").write_text(text)
    model = load_model(f"python:{tmp_path}/mine.py:drive")
    before = digest_of_model(model)
    run(Bright(), REQUIREMENT, Frames(4), model, out=tmp_path / "run")
    run(Bright(), REQUIREMENT, Frames(4), model, out=tmp_path / "run", resume=True)
    assert set(before.sums) == {"mine.py", "later.py", "__init__.py", "gain.py", "size.py"}
    assert sources_of(parts / "gain.py") == [parts / "gain.py", parts / "size.py"]
    (parts / "size.py").write_text("K = -1")
    with pytest.raises(InputError, match=r"size.py was edited after it was imported as gainful.size"):
        load_model(f"python:{tmp_path}/mine.py:drive")
    for name in ("gainful", "mine", "later", module_name(tmp_path / "mine.py")):
        forget(monkeypatch, name)
    edited = load_model(f"python:{tmp_path}/mine.py:drive")
    assert digest_of_model(edited).sha256 != before.sha256
    kept = digests(tmp_path / "run")
    with pytest.raises(InputError, match="a run of another model of the name"):
        run(Bright(), REQUIREMENT, Frames(4), edited, out=tmp_path / "run", resume=True)
    assert digests(tmp_path / "run") == kept


def forget(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)


def test_what_a_model_imports_of_a_folder_without_init_is_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "loose" / "parts").mkdir(parents=True)
    (tmp_path / "loose" / "parts" / "net.py").write_text(
        "from loose.gains import K\nfrom ..sizes import L\ndef drive(frames):\n    return []\n"
    )
    (tmp_path / "loose" / "gains.py").write_text("K = 1\n")
    (tmp_path / "loose" / "sizes.py").write_text("L = 1\n")
    before = digest_of_model(load_model("python:loose.parts.net:drive"))
    assert set(before.sums) == {"net.py", "gains.py", "sizes.py"}
    (tmp_path / "loose" / "gains.py").write_text("K = -1\n")
    forget(monkeypatch, "loose")
    assert digest_of_model(load_model("python:loose.parts.net:drive")).sha256 != before.sha256


def test_a_helper_that_was_edited_is_noticed_behind_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real", target_is_directory=True)
    monkeypatch.syspath_prepend(tmp_path / "link")
    (tmp_path / "real" / "linked_gain.py").write_text("K = 1\n")
    model = tmp_path / "link" / "linked.py"
    model.write_text("from linked_gain import K\ndef drive(frames):\n    return []\n")
    load_model(f"python:{model}:drive")
    (tmp_path / "real" / "linked_gain.py").write_text("K = -1\n")
    with pytest.raises(InputError, match=r"linked_gain.py was edited after it was imported as linked_gain"):
        load_model(f"python:{model}:drive")
    forget(monkeypatch, "linked_gain")


def test_what_a_file_imports_is_found_beside_a_warning_and_read_again_when_edited(tmp_path: Path) -> None:
    for name in ("mine", "first", "second"):
        (tmp_path / f"{name}.py").touch()
    (tmp_path / "mine.py").write_text("import first\nDIGITS = '\\d'\n")
    assert sources_of(tmp_path / "mine.py") == [tmp_path / "mine.py", tmp_path / "first.py"]
    (tmp_path / "mine.py").write_text("import second\n")
    assert sources_of(tmp_path / "mine.py") == [tmp_path / "mine.py", tmp_path / "second.py"]


class Few:
    """Frames that a test changes."""

    name = "few"

    def __init__(self, count: int = 9) -> None:
        self.frames = [Frame(str(n), np.full((2, 2, 3), n, np.uint8)) for n in range(count)]
        self.broken: set[int] = set()

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(one.id for one in self.frames)

    def __len__(self) -> int:
        return len(self.frames)

    def __getitem__(self, index: int, /) -> Frame:
        if index in self.broken:
            raise InputError("cut short")
        return self.frames[index]

    def __iter__(self) -> Any:
        return iter(self.frames)


class Lazy(Few):
    """Ids that are made as they are asked for, by an object that says no more of itself than where it is."""

    @property
    def ids(self) -> Any:
        return type(
            "Ids", (Sequence,), {"__len__": lambda _: 9, "__getitem__": lambda _, place: str(place)}
        )()


def test_a_few_frames_tell_data_from_other_data() -> None:
    same = content_of_dataset(Few())
    assert content_of_dataset(Few()) == same

    def changed(place: int) -> str:
        data = Few()
        data.frames[place] = data.frames[place].replace(signals=Signals(speed=1.0))
        return content_of_dataset(data)

    # The first, the last and those at the quarters are looked at; of the others only their ids.
    assert [place for place in range(9) if changed(place) != same] == [0, 2, 4, 6, 8]
    renamed = Few()
    renamed.frames[1] = renamed.frames[1].replace(id="other")
    assert content_of_dataset(renamed) != same
    broken = Few()
    broken.broken = {0}
    assert content_of_dataset(broken) != same
    assert len({content_of_dataset(Few(count)) for count in (0, 1, 2, 3)}) == 4
    assert content_of_dataset(Lazy()) == content_of_dataset(Lazy()) != content_of_dataset(Lazy(8))
    crops = [content_of_dataset(load("world-crops", count=count)) for count in (3, 3, 4)]
    assert crops[0] == crops[1] != crops[2]


def test_data_with_other_labels_is_other_data(tmp_path: Path) -> None:
    write_image(tmp_path / "a.png", np.zeros((4, 6, 3), np.uint8))
    plain, street = (load(f"folder:{tmp_path}", **how) for how in ({}, {"labels": "street"}))
    assert content_of_dataset(plain) != content_of_dataset(street)
    told: list[tuple[int, int]] = []
    first = digest_of_dataset(plain, lambda *one: told.append(one))
    second = digest_of_dataset(street)
    assert told == [(1, 1)]
    assert first.sha256 != second.sha256
    assert second.hashed == f"{first.hashed}; and what labels them"
    assert (second.count, list(second.settings)) == (1, ["labelling"])
    assert first.hashed == "the frames as they are read: ids, pixels and all that is known about them"


def test_a_suite_that_a_run_goes_on_with_is_written_down(tmp_path: Path) -> None:
    begin_manifest(tmp_path, models={}, data={}, suite={"a": digest_of_text("a", "1")})
    before = (tmp_path / "manifest.json").stat().st_mtime_ns, (tmp_path / "manifest.json").read_bytes()
    take_suite(tmp_path, {"a": digest_of_text("a", "1")})
    assert (
        (tmp_path / "manifest.json").stat().st_mtime_ns,
        (tmp_path / "manifest.json").read_bytes(),
    ) == before
    take_suite(tmp_path, {"a": digest_of_text("a", "2"), "b": digest_of_text("b", "3")})
    found = read_manifest(tmp_path)
    assert found is not None
    assert found["suite"] == {
        "a": digest_of_text("a", "2").record(), "b": digest_of_text("b", "3").record(),
    }  # fmt: skip


def test_notes_are_added_once_and_kept_by_model_and_data(tmp_path: Path) -> None:
    add_notes(tmp_path, run=["lost"])
    assert read_manifest(tmp_path) is None, "without a manifest there is nowhere to note anything"
    begin_manifest(tmp_path, models={}, data={})
    add_notes(tmp_path)
    assert "notes" not in (read_manifest(tmp_path) or {})
    add_notes(tmp_path, run=["one", "two", "one"], models={"net": {"town": ["slow"]}})
    add_notes(tmp_path, run=["two", "three"], models={"net": {"coast": []}, "other": {"town": ["slow"]}})
    found = read_manifest(tmp_path)
    assert model_notes(found) == {"net": {"town": ["slow"], "coast": []}, "other": {"town": ["slow"]}}
    assert notes_of(found) == ["one", "two", "three", "slow"]
    assert notes_of(None) == notes_of({"notes": []}) == notes_of({"notes": {"run": "x", "models": []}}) == []
    assert model_notes({"notes": {"models": {"net": 1, "other": {"town": 2}}}}) == {"other": {"town": []}}
    assert [is_of_before(one) for one in (None, {"format": 2}, {"format": 3})] == [True, True, False]


def test_what_differs_is_told_as_far_inside_as_can_be() -> None:
    assert differing("data", {"sha256": "1"}, {"sha256": "2", "count": 1}) == (
        "data", {"sha256": "1"}, {"sha256": "2", "count": 1},
    )  # fmt: skip
    assert differing("data", {"a": {"b": 1}}, {"a": {"b": 1}}) == ("data", {"a": {"b": 1}}, {"a": {"b": 1}})
    assert differing("data", {"a": 1}, {}) == ("data a", 1, None)
    assert differing("seed", 1, 2) == ("seed", 1, 2)
    told = [manifests._short(one) for one in ({"sha256": None}, {"sha256": "0" * 64}, None, "x", {"a": 1})]
    assert told == ["that cannot be hashed", "of SHA-256 000000000000…", "not given", "'x'", "{'a': 1}"]


def test_a_host_is_told_without_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 2**20}
    monkeypatch.setattr(os, "sysconf", pages.__getitem__)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    found = host()
    assert (found["cores"], found["memory_gib"]) == (3, 4.0)
    assert found["machine"] == platform.machine()
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: {"PRETTY_NAME": "Odd 1.2"})
    monkeypatch.setattr(
        Path, "read_text", lambda *_, **__: "flags\t: x\nmodel name\t: Fast 9000 : B\nmodel name: C\n"
    )
    assert (host()["system"], host()["processor"]) == ("Odd 1.2", "Fast 9000 : B")

    def missing(*_: Any, **__: Any) -> Any:
        raise OSError

    monkeypatch.setattr(platform, "freedesktop_os_release", missing)
    monkeypatch.setattr(Path, "read_text", missing)
    monkeypatch.setattr(os, "sysconf", missing)
    assert host()["system"] == platform.system()
    assert host()["memory_gib"] is None
    assert host()["processor"] == platform.processor()
