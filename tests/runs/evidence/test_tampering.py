"""Whoever may change a run may also hash it anew: what changed is found without a digest kept elsewhere."""

from __future__ import annotations

import base64
import copy
import json
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pyarrow.parquet as parquet
import pytest
from typer.testing import CliRunner

from roadworthy import _files
from roadworthy._files import sha256_of
from roadworthy._frozen import read_npz
from roadworthy.cli import app
from roadworthy.driving.simulators.scenarios import CameraFrames
from roadworthy.errors import InputError
from roadworthy.images import decode_image
from roadworthy.report.deriving import check_documents
from roadworthy.report.html import write_report
from roadworthy.report.html.cards import small_copy
from roadworthy.report.publish import WRITERS, run_suite
from roadworthy.runs.evidence import verify, write_bundle
from roadworthy.runs.evidence.bundle import opened_bundle
from roadworthy.runs.evidence.checking import Verification
from roadworthy.runs.evidence.reopening import check_present
from roadworthy.runs.evidence.sums import SUMS, encoded, files_below, sums_text
from roadworthy.runs.store import StoredRun

SUITE = """
models: [dave2, epoch]
data: {town: {data: world:town, sample: 3}}
seed: 7
requirements:
  fog: {rule: "If it becomes foggy, the steering angle should stay the same.", tags: [fog]}
  slow: {rule: "If a pedestrian appears on the roadside, then the ego-vehicle should slow down at least 90%"}
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tampering")
    (folder / "steady.suite.yaml").write_text(SUITE)
    published = run_suite(folder / "steady.suite.yaml", folder / "run")
    assert published.result.outcomes["slow", "dave2"].status == "violated"
    return folder / "run"


@pytest.fixture
def run(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "run"))


def hash_anew(run: Path) -> None:
    sums = sums_text({path: sha256_of(run / path) for path in files_below(run)})
    (run / SUMS).write_bytes(encoded(sums))


def publish_anew(run: Path) -> None:
    """Let Roadworthy itself write all that it derives, from what was changed."""
    stored = StoredRun.open(run)
    for name, write in WRITERS.values():
        write(stored, run / name)
    coverage = run / "evidence/functional_coverage.json"
    write_bundle(stored, functional=json.loads(coverage.read_text()) if coverage.is_file() else "")


def replace(run: Path, pattern: str, old: str, new: str) -> None:
    changed = 0
    for path in run.glob(pattern):
        if path.is_file():
            text = path.read_text("utf-8")
            path.write_text(re.sub(old, new, text), "utf-8")
            changed += path.read_text("utf-8") != text
    assert changed, f"{old} is nowhere in {pattern}"


def remove_rows(run: Path) -> None:
    shutil.rmtree(run / "runs/slow")


def remove_requirement(run: Path) -> None:
    remove_rows(run)
    replace(run, "requirements.jsonl", r'(?m)^\{"id": "slow".*\n', "")


def remove_requirement_of_a_run_that_was_stopped(run: Path) -> None:
    remove_requirement(run)
    replace(run, "manifest.json", '"ended": ".*"', '"ended": null')


def remove_one_model(run: Path) -> None:
    shutil.rmtree(run / "runs/slow/epoch")
    replace(run, "requirements.jsonl", r'(?m)^\{"id": "slow".*"system": "epoch".*\n', "")


def say_passed_everywhere(run: Path) -> None:
    for pattern in ("report.html", "junit.xml", "results.csv", "summary.md", "trace.csv", "evidence/*"):
        for path in run.glob(pattern):
            path.write_text(path.read_text("utf-8").replace("violated", "passed"), "utf-8")


def change_a_number_of_the_report(run: Path) -> None:
    replace(run, "report.html", r"100%", "0%")


def change_a_word_of_the_report(run: Path) -> None:
    replace(run, "report.html", "at least 90%", "at most 90%")


def show_another_picture(run: Path) -> None:
    """One of those that the report has, mirrored: whoever looks sees another street."""
    report = run / "report.html"
    (first, *_) = re.findall(r"data:image/webp;base64,[^\"']*", text := report.read_text(encoding="utf-8"))
    image = decode_image(base64.b64decode(first.partition(",")[2]))
    report.write_text(text.replace(first, small_copy(image[:, ::-1].copy())), encoding="utf-8")


def leave_out_a_picture(run: Path) -> None:
    report = run / "report.html"
    pictures = re.findall(r"data:image/webp;base64,[^\"']*", text := report.read_text(encoding="utf-8"))
    report.write_text(text.replace(pictures[-1], ""), encoding="utf-8")


def show_words_as_a_picture(run: Path) -> None:
    drawn = (
        "data:image/svg+xml,<svg xmlns=%22http://www.w3.org/2000/svg%22><text y=%2220%22>sound</text></svg>"
    )
    replace(run, "report.html", "data:image/webp;base64,[A-Za-z0-9+/=]*", drawn)


def change_what_the_data_touches(run: Path) -> None:
    replace(run, "evidence/functional_coverage.json", '"unknown": 0', '"unknown": 1')


def drop_a_line_of_the_trace(run: Path) -> None:
    replace(run, "trace.csv", r"(?m)^slow,.*\n", "")


def drop_a_failure_of_junit(run: Path) -> None:
    replace(run, "junit.xml", r"(?s)<failure.*?</failure>", "")


def change_a_condition(run: Path) -> None:
    replace(run, "evidence/triggering_conditions.json", r'"failures": [1-9]', '"failures": 0')


def leave_out_the_index(run: Path) -> None:
    (run / "evidence/README.md").unlink()


def leave_out_the_report(run: Path) -> None:
    (run / "report.html").unlink()


def leave_out_all_reports(run: Path) -> None:
    for name, _ in WRITERS.values():
        (run / name).unlink()


def accept_more_in_the_suite(run: Path) -> None:
    replace(run, "suite.yaml", r"slow: \{", "slow: {accept: 99%, ")


def ask_less_of_the_suite(run: Path) -> None:
    remove_requirement(run)
    replace(run, "suite.yaml", r"(?m)^  slow:.*\n", "")


def change_the_seed(run: Path) -> None:
    replace(run, "manifest.json", '"seed": 7', '"seed": 8')


def accept_more_in_the_run(run: Path) -> None:
    replace(run, "**/requirements.jsonl", r'"max_rate": 0\.0', '"max_rate": 1.0')
    replace(run, "**/requirements.jsonl", '"status": "violated"', '"status": "passed"')


def say_passed_in_the_outcome(run: Path) -> None:
    replace(run, "**/requirements.jsonl", '"status": "violated"', '"status": "passed"')


def say_passed_and_nothing_of_what_was_measured(run: Path) -> None:
    say_passed_in_the_outcome(run)
    replace(run, "**/requirements.jsonl", r'"measures": \{[^{}]*\}', '"measures": {}')


def change_the_counts(run: Path) -> None:
    replace(run, "**/requirements.jsonl", r'"passed": 0, "violated": (\d)', r'"passed": \1, "violated": 0')


def change_the_text(run: Path) -> None:
    replace(run, "**/requirements.jsonl", "slow down at least 90%", "slow down at least 1%")


def drop_failing_rows(run: Path) -> None:
    for shard in run.glob("runs/slow/dave2/cases/*.parquet"):
        rows = parquet.read_table(shard)
        kept = [status != "violated" for status in rows["status"].to_pylist()]
        parquet.write_table(rows.filter(kept), shard)


def turn_failing_rows(run: Path) -> None:
    for shard in run.glob("runs/slow/*/cases/*.parquet"):
        rows = parquet.read_table(shard)
        place = rows.schema.get_field_index("status")
        parquet.write_table(rows.set_column(place, "status", [["passed"] * len(rows)]), shard)
    for path in (run / "requirements.jsonl", *run.glob("runs/slow/*/requirements.jsonl")):
        text = re.sub(r'"passed": 0, "violated": (\d)', r'"passed": \1, "violated": 0', path.read_text())
        path.write_text(text.replace('"status": "violated"', '"status": "passed"'))


def store_rows_twice(run: Path) -> None:
    """All of them, so that every rate stays what it was."""
    for shard in run.glob("runs/slow/*/cases/*.parquet"):
        rows = parquet.read_table(shard)
        parquet.write_table(pyarrow.concat_tables([rows, rows]), shard)


def take_rows_of_another(run: Path) -> None:
    shutil.rmtree(run / "runs/slow/dave2/cases")
    shutil.copytree(run / "runs/fog/dave2/cases", run / "runs/slow/dave2/cases")


def change_the_model_digest(run: Path) -> None:
    document = json.loads((run / "manifest.json").read_text())
    document["models"]["dave2"]["sha256"] = "0" * 64
    (run / "manifest.json").write_text(json.dumps(document, indent=2) + "\n")


Attack = Callable[[Path], None]
BY_ROWS: dict[Attack, str] = {
    remove_rows: "requirement: slow on dave2: requirements.jsonl lists it, and there are no rows",
    remove_requirement: "requirement: slow: suite.yaml asks for it, and there are no rows",
    remove_requirement_of_a_run_that_was_stopped: "requirement: slow: suite.yaml asks for it",
    accept_more_in_the_suite: "suite: suite.yaml: the run was made with sha256",
    ask_less_of_the_suite: "suite: suite.yaml: the run was made with sha256",
    change_the_seed: "manifest: seed",
    accept_more_in_the_run: "requirement: slow: suite.yaml says accept",
    say_passed_in_the_outcome: "outcome: slow on dave2: it says passed, and the rows say violated",
    say_passed_and_nothing_of_what_was_measured: "outcome: slow on dave2: it says passed",
    store_rows_twice: "row: slow on dave2: case",
    change_the_counts: "counts: slow on dave2",
    drop_failing_rows: "counts: slow on dave2",
    turn_failing_rows: "row: slow on dave2",
    take_rows_of_another: "row: slow on dave2",
}
BY_DOCUMENTS: dict[Attack, str] = {
    say_passed_everywhere: "document: report.html: it does not say what the rows say: 'passed'",
    change_a_number_of_the_report: "document: report.html: it does not say what the rows say: '0%'",
    change_a_word_of_the_report: "document: report.html: its words are not those",
    show_another_picture: "document: report.html: picture 1 of report.html is not what the run's images give",
    leave_out_a_picture: "document: report.html: picture 6 of report.html is not what the run's images give",
    show_words_as_a_picture: "document: report.html: its words are not those",
    drop_a_line_of_the_trace: "document: trace.csv",
    drop_a_failure_of_junit: "document: junit.xml",
    change_a_condition: "document: evidence/triggering_conditions.json",
    leave_out_the_index: "missing: evidence/README.md",
    leave_out_the_report: "missing: report.html",
    leave_out_all_reports: "missing: junit.xml",
}
BY_SUITE: dict[Attack, str] = {
    remove_one_model: "requirement: slow on epoch: suite.yaml asks for it, and there are no rows",
    change_the_text: "requirement: slow on dave2: suite.yaml says",
    change_what_the_data_touches: "document: evidence/functional_coverage.json: it does not say",
    change_the_model_digest: "manifest: model dave2",
}
ATTACKS = {**BY_ROWS, **BY_DOCUMENTS, **BY_SUITE}


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda one: one.__name__)
def test_tampering_is_found_though_the_checksums_were_written_anew(run: Path, attack: Attack) -> None:
    attack(run)
    hash_anew(run)
    found = verify(run)
    if attack in BY_DOCUMENTS:
        assert found.passed
        check_documents(run, found)
    elif attack in BY_SUITE:
        check_present(run, found)
    findings = list(map(str, found.findings))
    assert any(one.startswith(ATTACKS[attack]) for one in findings), findings


@pytest.mark.slow
@pytest.mark.parametrize("attack", [*BY_ROWS, *BY_SUITE], ids=lambda one: one.__name__)
def test_tampering_is_found_though_everything_was_derived_from_it_anew(run: Path, attack: Attack) -> None:
    attack(run)
    publish_anew(run)
    result = CliRunner().invoke(app, ["evidence", "verify", str(run)])
    assert result.exit_code == 1
    assert ATTACKS[attack] in " ".join(result.stdout.split())


def test_rows_that_a_link_leads_to_are_told_in_words(run: Path) -> None:
    (run / "runs").rename(run.parent / "elsewhere")
    (run / "runs").symlink_to(run.parent / "elsewhere")
    told = "runs/fog/dave2/ is reached by a link, and evidence is of files: put there what it leads to"
    with pytest.raises(InputError, match=told):
        write_bundle(StoredRun.open(run))


@pytest.mark.parametrize("derive", [hash_anew, publish_anew])
def test_what_was_not_changed_is_found_whole(run: Path, derive: Attack) -> None:
    derive(run)
    result = CliRunner().invoke(app, ["evidence", "verify", str(run), "--json"])
    document = json.loads(result.stdout)
    assert (result.exit_code, document["findings"], document["notes"]) == (0, [], [])


def test_another_version_may_have_other_words_but_no_other_verdicts(run: Path) -> None:
    replace(run, "manifest.json", '"version": ".*"', '"version": "0.0.7"')
    (run / SUMS).unlink()
    write_report(StoredRun.open(run), run / "report.html")
    replace(run, "report.html", "Worst first", "The worst first")
    found = Verification()
    check_documents(run, found)
    assert found.passed
    assert [note for note in found.notes if "other words" in note and "report.html" in note]
    replace(run, "report.html", ">violated<", ">passed<")
    check_documents(run, found)
    assert not found.passed


def test_what_a_command_adds_must_have_the_outcomes_of_the_run(run: Path) -> None:
    said = {"results": [{"status": "passed", "model": "dave2", "summary": "3 of these 3 cases failed"}]}
    (run / "result.json").write_text(json.dumps(said))
    (run / "tables.md").write_text("| rule | dave2 |\n| --- | --- |\n| slow | passed |\n| fog | passed |\n")
    found = Verification()
    check_documents(run, found)
    assert {one.what for one in found.findings} == {"result.json", "tables.md"}


def test_a_run_of_a_part_of_the_suite_says_so(tmp_path: Path) -> None:
    (tmp_path / "steady.suite.yaml").write_text(SUITE)
    run_suite(tmp_path / "steady.suite.yaml", tmp_path / "run", only=["fog"])
    found = verify(tmp_path / "run")
    assert found.passed
    assert found.notes == ["only fog was asked for, so the suite's slow was not tried"]
    replace(tmp_path / "run", "manifest.json", r'(?s)"only": \[.*?\],\n', "")
    assert [one.what for one in verify(tmp_path / "run").findings if one.kind == "requirement"] == ["slow"]


def test_an_image_that_changed_is_not_hashed_into_new_checksums(whole: Path, run: Path) -> None:
    image = next(run.glob("images/*/*.png"))
    image.write_bytes(image.read_bytes()[:-9])
    result = CliRunner().invoke(app, ["run", str(whole.parent / "steady.suite.yaml"), "--out", str(run)])
    assert result.exit_code == 2
    assert image.name in result.stderr.replace("\n", "")
    # What is written says what the image was, so it is a finding for everybody.
    found = {(one.kind, one.what) for one in verify(run).findings}
    assert found == {("changed", f"images/{image.parent.name}/{image.name}"), ("image", image.stem)}


def test_what_a_file_manager_leaves_among_images_is_hashed_as_it_is(run: Path) -> None:
    (run / "images/Thumbs.db").write_bytes(b"small pictures")
    write_bundle(StoredRun.open(run))
    assert verify(run).passed


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("result.json", '{"status": ["violated"]}'),
        ("evidence/gsn.json", "[1]"),
        ("evidence/functional_coverage.json", "[1]"),
        ("manifest.json", '{"format": 2, "settings": 3}'),
        ("manifest.json", '{"format": 2, "continued": [1]}'),
    ],
)
def test_what_has_another_shape_is_told_in_words(run: Path, path: str, content: str) -> None:
    (run / path).write_text(content)
    hash_anew(run)
    result = CliRunner().invoke(app, ["evidence", "verify", str(run)])
    assert "should not happen" not in result.output
    assert result.exit_code == (0 if path == "result.json" else 1 if "gsn" in path else 2)


def test_a_signature_shows_who_vouches_for_a_run(run: Path, tmp_path: Path) -> None:
    serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519

    private, other = ed25519.Ed25519PrivateKey.generate(), ed25519.Ed25519PrivateKey.generate()
    pem, text = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    for name, key in (
        ("public", private),
        ("other", other),
        ("curve", ec.generate_private_key(ec.SECP256R1())),
    ):
        (tmp_path / f"{name}.pem").write_bytes(key.public_key().public_bytes(pem, text))
    form, locked = serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"secret")
    (tmp_path / "private.pem").write_bytes(private.private_bytes(pem, form, serialization.NoEncryption()))
    (tmp_path / "locked.pem").write_bytes(private.private_bytes(pem, form, locked))
    (tmp_path / "unbundled").mkdir()

    def evidence(*words: str) -> tuple[int, str]:
        given = [str(tmp_path / one) if one.endswith((".pem", ".zip")) else one for one in words]
        result = CliRunner().invoke(app, ["evidence", *given])
        return result.exit_code, " ".join(result.output.split())

    write_bundle(StoredRun.open(run), tmp_path / "run.zip")
    for bundle in (str(run), "run.zip"):
        assert evidence("sign", bundle, "--key", "private.pem")[0] == 0
        with opened_bundle(tmp_path / "run.zip" if bundle == "run.zip" else run) as opened:
            signature = Path(f"{tmp_path / 'run'}{'.zip' if bundle == 'run.zip' else ''}.sig").read_bytes()
            private.public_key().verify(signature, (opened.folder / SUMS).read_bytes())
    assert verify(run, key=tmp_path / "public.pem").passed
    assert verify(run, key=tmp_path / "other.pem").findings[0].kind == "signature"
    for file, words in (
        ("curve.pem", "is a key of another kind"),
        ("locked.pem", "is no key that can be used: expected a public Ed25519 key"),
        ("none.pem", "cannot read the key"),
    ):
        with pytest.raises(InputError, match=words):
            verify(run, key=tmp_path / file)
    for command, told in (
        (("sign", str(run), "--key", "locked.pem"), "is locked by a password"),
        (("sign", str(run), "--key", "public.pem"), "expected a private Ed25519 key"),
        (("sign", str(tmp_path / "unbundled"), "--key", "private.pem"), "has no SHA256SUMS to sign"),
    ):
        code, output = evidence(*command)
        assert (code, told in output) == (2, True), output
    say_passed_everywhere(run)
    code, output = evidence("sign", str(run), "--key", "private.pem")
    assert (code, "so it is not signed" in output) == (2, True)
    hash_anew(run)
    assert "signature" in {one.kind for one in verify(run, key=tmp_path / "public.pem").findings}
    Path(f"{run}.sig").unlink()
    assert "it is not there" in str(verify(run, key=tmp_path / "public.pem").findings[0])


def test_signing_without_the_extra_names_it(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    for name in [one for one in sys.modules if one.startswith("cryptography.")]:
        monkeypatch.delitem(sys.modules, name)
    result = CliRunner().invoke(app, ["evidence", "verify", str(run), "--key", str(run / "suite.yaml")])
    assert (result.exit_code, "roadworthy[sign]" in result.output) == (2, True), result.output


def _bomb(path: Path, kind: str) -> str:
    """Write an archive that does harm, and return what is said of it."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        if kind == "ratio":
            for number in range(12):
                archive.writestr(f"run/{number}", bytes(1 << 20))
            return "as a zip bomb does"
        if kind == "number":
            for number in range(60):
                archive.writestr(f"run/{number}", b"")
            return "has 60 members, more than 50"
        if kind == "overlap":
            archive.writestr("run/first", bytes(range(256)) * 40)
            first = archive.infolist()[0]
            for number in range(200):
                twin = copy.copy(first)
                twin.filename = f"run/{number}"
                archive.filelist.append(twin)
            return "lie over each other"
        archive.writestr("run/SHA256SUMS", b"")
        archive.writestr(kind, b"got out")
        return "names a file outside of its folder"


@pytest.mark.parametrize(
    "kind", ["ratio", "number", "overlap", "run/../../out", "/out", "C:out", "run\\..\\out"]
)
def test_an_archive_that_does_harm_is_refused_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    monkeypatch.setattr(_files, "_MOST_MEMBERS", 50 if kind == "number" else 1000)
    monkeypatch.setattr(_files, "_HARMLESS_BYTES", 10 << 20)
    words = _bomb(tmp_path / "bomb.zip", kind)
    result = CliRunner().invoke(app, ["evidence", "verify", str(tmp_path / "bomb.zip")])
    assert (result.exit_code, words in " ".join(result.stderr.split())) == (2, True), result.output
    assert sorted(one.name for one in tmp_path.rglob("*")) == ["bomb.zip", "scratch"]
    if kind in ("ratio", "overlap"):
        with pytest.raises(InputError, match="zip bomb"):
            CameraFrames.read(tmp_path / "bomb.zip")
        with pytest.raises(ValueError, match="zip bomb"):
            read_npz(tmp_path / "bomb.zip")
