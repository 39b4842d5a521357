from __future__ import annotations

import csv
import hashlib
import json
import re
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy.errors import InputError
from roadworthy.runs.evidence import verify, write_bundle
from roadworthy.runs.evidence.bundle import opened_bundle
from roadworthy.runs.evidence.pairs import folder_digests, pair_results
from roadworthy.runs.evidence.sums import SUMS, Differences, encoded, files_below, read_sums, sums_text
from roadworthy.runs.store import StoredRun, locked

Make = Callable[..., Path]


def test_the_trace_leads_from_requirement_to_image(stored: StoredRun) -> None:
    bundle = write_bundle(stored)
    with (stored.folder / "trace.csv").open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == bundle.written.cases == 120
    failing = [line for line in lines if line["status"] == "violated"]
    assert {line["requirement"] for line in failing} == {"C1"}
    for line in failing:
        assert line["severity"] == "critical"
        assert line["tags"] == "camera mounting; ISO 21448:2022 clause 7"
        assert line["reason"] == "off, by\n a line"
        image = (stored.folder / line["images"]).read_bytes()
        assert hashlib.sha256(image).hexdigest() == Path(line["images"]).stem
    margins = [float(line["margin"]) for line in lines if line["margin"]]
    assert margins == [row["margin"] for row in stored.rows() if row["margin"] is not None]


def test_the_catalogue_finds_what_fails(stored: StoredRun) -> None:
    write_bundle(stored)
    found = json.loads((stored.folder / "evidence/triggering_conditions.json").read_text("utf-8"))[
        "conditions"
    ]
    (failing,) = (one for one in found if one["requirement"] == "C1" and one["failures"])
    assert (failing["system"], failing["condition"], failing["low"]) == ("dave2", "rotation", 30.0)
    assert (failing["failures"], failing["cases"], failing["standing"]) == (4, 4, "above")
    assert failing["worst_case"] == "try 39"
    assert failing["worst_images"] == stored.worst("C1", "dave2", 1)[0]["images"]
    # A rate is accepted only where the method decides by a rate.
    assert {one["accepted"] for one in found if one["requirement"] == "C1"} == {0.1}
    with (stored.folder / "evidence/triggering_conditions.csv").open(newline="", encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == len(found)


def test_what_was_never_tried_is_said(stored: StoredRun) -> None:
    write_bundle(stored)
    told = json.loads((stored.folder / "evidence/requirement_coverage.json").read_text("utf-8"))
    assert told["never_tried"] == ["R9 on dave2"]
    assert told["tags_never_tried"] == ["unicorn"]
    statuses = [one["status"] for one in told["requirements"]]
    assert statuses == ["inconclusive", "passed", "violated", "not tried"]
    (clause,) = (one for one in told["tags"] if one["tag"].startswith("ISO"))
    assert (clause["applicable"], clause["violated"]) == (80, [])
    page = (stored.folder / "evidence/README.md").read_text("utf-8")
    assert "Tags and clauses: unicorn" in page


def test_the_page_claims_no_compliance(stored: StoredRun) -> None:
    write_bundle(stored, reqif=True)
    texts = [path.read_text("utf-8").lower() for path in (stored.folder / "evidence").iterdir()]
    assert any("supports evidence for iso 21448, iso/pas 8800 and ul 4600" in text for text in texts)
    assert not any(re.search(r"complian|complies|conform|certif", text) for text in texts)


def test_evidence_ids_are_hashes_that_anybody_can_compute(stored: StoredRun) -> None:
    write_bundle(stored)
    argument = json.loads((stored.folder / "evidence/gsn.json").read_text("utf-8"))
    solution = next(node for node in argument["nodes"] if node["kind"] == "solution")
    (told,) = (value for name, value in solution["refers_to"].items() if name.startswith("E-"))
    digest, place = re.fullmatch(r"sha256:(\w+) (.+)", told).groups()  # type: ignore[union-attr]
    lines = [
        line
        for line in (stored.folder / SUMS).read_text("utf-8").splitlines(keepends=True)
        if line[66:].startswith(place)
    ]
    assert lines
    assert hashlib.sha256("".join(lines).encode()).hexdigest() == digest
    assert folder_digests(read_sums(stored.folder / SUMS))[place] == digest


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="there is no sha256sum")
def test_sha256sum_reads_the_sums(stored: StoredRun) -> None:
    (stored.folder / "odd name\n\\ é.txt").write_text("odd")
    write_bundle(stored)
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", "--quiet", SUMS],
        cwd=stored.folder,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_same_run_gives_the_same_bytes(make_run: Make, tmp_path: Path) -> None:
    first, second = make_run("one"), make_run("two")
    digests = set()
    for number, folder in enumerate([first, first, second]):
        out = tmp_path / f"bundle-{number}" / "evidence.zip"
        digests.add((write_bundle(StoredRun.open(folder), out, reqif=True).digest, out.read_bytes()))
    assert len(digests) == 1
    with zipfile.ZipFile(tmp_path / "bundle-0" / "evidence.zip") as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    assert write_bundle(StoredRun.open(first), reqif=True).digest == next(iter(digests))[0]


def test_bundling_twice_replaces_the_documents(stored: StoredRun) -> None:
    first = write_bundle(stored, reqif=True)
    assert (stored.folder / "evidence/requirements.reqif").is_file()
    second = write_bundle(stored)
    assert not (stored.folder / "evidence/requirements.reqif").exists()
    assert second.digest != first.digest
    assert verify(stored.folder).passed


@pytest.mark.parametrize("name", ["copy", "copy.zip"])
def test_a_copy_is_whole_without_the_run(stored: StoredRun, tmp_path: Path, name: str) -> None:
    out = tmp_path / "there" / name
    bundle = write_bundle(stored, out)
    assert not (stored.folder / SUMS).exists()
    shutil.rmtree(stored.folder)
    with opened_bundle(out) as opened:
        found = verify(opened.folder, digest=bundle.digest)
        assert (found.passed, found.files, found.rows, found.images) == (True, bundle.files, 120, 4)
        assert len(pair_results(StoredRun.open(opened.folder))) == 4


def test_a_copy_without_images_says_so(stored: StoredRun, tmp_path: Path) -> None:
    write_bundle(stored, tmp_path / "small", images=False)
    assert not (tmp_path / "small" / "images").exists()
    found = verify(tmp_path / "small")
    assert found.passed
    assert any("without them" in note for note in found.notes)


def test_places_that_cannot_be_used_are_refused(stored: StoredRun, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    (tmp_path / "old.zip").write_text("mine")
    for place, words in (
        (stored.folder / "inside", "lies in the run"),
        (tmp_path / "full", "must be new or an empty folder"),
        (tmp_path / "old.zip", "is there already"),
    ):
        with pytest.raises(InputError, match=words):
            write_bundle(stored, place)
    with pytest.raises(InputError, match="--out"):
        write_bundle(stored, images=False)
    assert (tmp_path / "full" / "mine.txt").read_text() == "mine"


def test_a_run_that_goes_on_is_not_bundled(stored: StoredRun, tmp_path: Path) -> None:
    def bundle() -> None:
        write_bundle(stored, tmp_path / "copy")

    with locked(stored.folder), ThreadPoolExecutor(1) as another, pytest.raises(InputError, match="another"):
        another.submit(bundle).result()
    assert not (tmp_path / "copy").exists()
    bundle()


def test_tampering_is_named(make_run: Make) -> None:
    folder = make_run()
    write_bundle(StoredRun.open(folder))
    assert verify(folder).passed
    shard = next(folder.glob("runs/c1/dave2/cases/*.parquet"))
    image = next(folder.glob("images/*/*.png"))
    for path, kind in ((shard, "changed"), (image, "changed"), (folder / "trace.csv", "missing")):
        before = path.read_bytes()
        if kind == "missing":
            path.unlink()
        else:
            path.write_bytes(before[:-1] + bytes([before[-1] ^ 1]))
        found = verify(folder)
        names = {(one.kind, one.what) for one in found.findings}
        assert (kind, path.relative_to(folder).as_posix()) in names
        path.write_bytes(before)
    (folder / "evidence" / "more.csv").write_text("made up")
    assert {(one.kind, one.what) for one in verify(folder).findings} == {("added", "evidence/more.csv")}


def test_hashing_anew_after_tampering_is_seen_by_who_kept_the_digest(make_run: Make) -> None:
    folder = make_run()
    digest = write_bundle(StoredRun.open(folder)).digest
    record = folder / "runs/c1/dave2/requirements.jsonl"
    record.write_text(record.read_text("utf-8").replace('"violated": 4', '"violated": 3'), encoding="utf-8")
    write_bundle(StoredRun.open(folder))
    found = verify(folder, digest=digest)
    assert {one.kind for one in found.findings} == {"digest", "counts", "requirement"}
    assert "3 cases are violated, the rows say 4" in str(found.findings[1])


def test_a_run_that_was_never_bundled_is_checked_as_far_as_can_be(make_run: Make) -> None:
    folder = make_run()
    next(folder.glob("images/*/*.png")).write_bytes(b"another picture")
    found = verify(folder)
    assert [one.kind for one in found.findings] == ["image"]
    assert any(SUMS in note for note in found.notes)


def test_a_broken_zip_or_a_strange_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "broken.zip").write_bytes(b"nothing")
    with zipfile.ZipFile(tmp_path / "strange.zip", "w") as archive:
        archive.writestr("a/one", "1")
        archive.writestr("b/two", "2")
    with zipfile.ZipFile(tmp_path / "long.zip", "w") as archive:
        archive.writestr("a" * 300, "1")
    for name, words in (
        ("broken.zip", "cannot be unpacked"),
        ("long.zip", "one folder"),
        ("strange.zip", "one folder"),
        ("no.zip", "none"),
    ):
        with pytest.raises(InputError, match=words), opened_bundle(tmp_path / name):
            pass


@pytest.mark.parametrize("name", ["b" * 256, "/".join(["b" * 200] * 30)], ids=["name", "path"])
def test_a_name_that_no_file_can_have_is_a_finding(make_run: Make, tmp_path: Path, name: str) -> None:
    whole = tmp_path / "evidence.zip"
    write_bundle(StoredRun.open(make_run(cases=2)), whole)
    with zipfile.ZipFile(whole, "a") as archive:
        archive.writestr(f"evidence/{name}", "x")
    with opened_bundle(whole) as opened:
        found = verify(opened.folder, damaged=opened.damaged)
    assert [(one.kind, one.what) for one in found.findings] == [("changed", name)]


def test_a_changed_byte_of_a_zip_is_a_finding_whichever_it_is(make_run: Make, tmp_path: Path) -> None:
    whole = tmp_path / "evidence.zip"
    write_bundle(StoredRun.open(make_run(cases=2)), whole)
    content = whole.read_bytes()
    digest = hashlib.sha256(_member(whole, SUMS)).hexdigest()
    broken = tmp_path / "broken.zip"
    rng = np.random.default_rng(0)
    # Of the names and sizes at the end as many as of the rest.
    directory = content.index(b"PK\x01\x02")
    places = [*rng.integers(0, directory, 40), *rng.integers(directory, len(content), 60)]
    missed = []
    for place in places:
        changed = bytearray(content)
        changed[place] ^= 1 << int(rng.integers(8))
        broken.write_bytes(changed)
        with opened_bundle(broken) as opened:
            found = verify(opened.folder, digest=digest, damaged=opened.damaged)
        if found.passed:
            missed.append(place)
            assert found.files == len(_names(whole)) - 1
    # What passes is no part of what was bundled: dates and rights of the packed files.
    assert len(missed) < len(places) / 2


def test_a_damaged_member_is_named_and_not_kept(make_run: Make, tmp_path: Path) -> None:
    whole = tmp_path / "evidence.zip"
    write_bundle(StoredRun.open(make_run(cases=2)), whole)
    name = next(one for one in _names(whole) if one.endswith(".parquet"))
    with zipfile.ZipFile(whole) as archive:
        start = archive.getinfo(f"evidence/{name}").header_offset
    content = bytearray(whole.read_bytes())
    content[content.index(b"PAR1", start) + 40] ^= 1
    whole.write_bytes(content)
    with opened_bundle(whole) as opened:
        assert not (opened.folder / name).exists()
        found = verify(opened.folder, damaged=opened.damaged)
    # The rows that are gone are missed as well.
    assert [(one.kind, one.what) for one in found.findings] == [("changed", name), ("counts", "C1 on dave2")]
    assert "Bad CRC-32" in found.findings[0].detail


def _names(bundle: Path) -> list[str]:
    with zipfile.ZipFile(bundle) as archive:
        return [name.partition("/")[2] for name in archive.namelist()]


def _member(bundle: Path, name: str) -> bytes:
    with zipfile.ZipFile(bundle) as archive:
        return archive.read(f"{bundle.stem}/{name}")


def test_sums_that_lead_out_of_the_folder_are_refused(tmp_path: Path) -> None:
    for text, words in (
        (sums_text({"../secret": "0" * 64}), "inside the folder"),
        (sums_text({"/etc/passwd": "0" * 64}), "inside the folder"),
        ("hello\n", "SHA256SUMS:1: expected a SHA-256"),
        (sums_text({"a": "0" * 64}) * 2, "listed twice"),
    ):
        (tmp_path / SUMS).write_text(text)
        with pytest.raises(InputError, match=words):
            Differences.of(tmp_path)


@given(st.dictionaries(st.text(st.characters(exclude_characters="\0"), min_size=1), st.just("ab" * 32)))
def test_sums_are_read_back_whatever_files_are_called(digests: dict[str, str]) -> None:
    kept = {name: one for name, one in digests.items() if name[0] != "/" and ".." not in name.split("/")}
    with TemporaryDirectory() as folder:
        path = Path(folder, SUMS)
        path.write_bytes(encoded(sums_text(kept)))
        assert read_sums(path) == kept


def test_hidden_files_are_no_part_of_it(tmp_path: Path) -> None:
    for name in (".lock", "a", "b/c", "b/.part-1-c", SUMS):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert list(files_below(tmp_path)) == ["a", "b/c"]
