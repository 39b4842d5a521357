"""Faults in evidence: bundles in which something was changed after the run."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from roadworthy._files import sha256_of
from roadworthy.frames import Boxes, Frame
from roadworthy.runs import StoredRun
from roadworthy.runs.evidence import verify, write_bundle
from roadworthy.runs.evidence.sums import SUMS, encoded, files_below, sums_text
from roadworthy.selftest.bbsl import true_boxes
from roadworthy.selftest.faults import SOUND, FaultBench, Probe, SeededFault, Sighting
from roadworthy.selftest.runs import stored

_FAILING = 4


def _misses_some(number: int, frame: Frame) -> Boxes:
    return Boxes.empty() if number < _FAILING else true_boxes(frame)


def _tampered(tamper: Callable[[Path], None], *, kept_digest: bool = False) -> Probe:
    """Bundle a run with violations, tamper with it, and verify it."""

    def probe(size: float, bench: FaultBench) -> Sighting:
        folder = bench.folder / "run"
        stored(folder, _misses_some)
        bundle = write_bundle(StoredRun.open(folder))
        if size != SOUND:
            tamper(folder)
        found = verify(folder, digest=bundle.digest if kept_digest else "")
        said = "; ".join(map(str, found.findings[:2])) or f"{found.files} files and {found.rows} rows agree"
        return Sighting(not found.passed, said)

    return probe


def _only(folder: Path, pattern: str) -> Path:
    """Return the first file of a kind; there is at least one."""
    return sorted(folder.glob(pattern))[0]


def _flip(folder: Path) -> None:
    """Turn the first violated case into a passed one."""
    import pyarrow.parquet as parquet

    file = _only(folder, "cases/*.parquet")
    table = parquet.read_table(file)
    rows = table.to_pylist()
    first = next(row for row in rows if row["status"] == "violated")
    first["status"], first["margin"] = "passed", 1.0
    parquet.write_table(type(table).from_pylist(rows, schema=table.schema), file)


def _drop(folder: Path) -> None:
    """Remove the first violated case."""
    import pyarrow.parquet as parquet

    file = _only(folder, "cases/*.parquet")
    table = parquet.read_table(file)
    rows = table.to_pylist()
    rows.remove(next(row for row in rows if row["status"] == "violated"))
    parquet.write_table(type(table).from_pylist(rows, schema=table.schema), file)


def _outcome(folder: Path) -> None:
    file = folder / "requirements.jsonl"
    text = file.read_text("utf-8")
    assert '"violated"' in text, "there is no outcome to change"
    file.write_text(text.replace('"status": "violated"', '"status": "passed"'), "utf-8")


def _one_bit(folder: Path) -> None:
    file = _only(folder, "images/*/*.png")
    content = bytearray(file.read_bytes())
    content[-20] ^= 1
    file.write_bytes(content)


def _add(folder: Path) -> None:
    (folder / "waiver.txt").write_text("accepted", "utf-8")


def _sums(folder: Path) -> None:
    """Write SHA256SUMS anew, as whoever covers a change up does."""
    digests = {path: sha256_of(folder / path) for path in files_below(folder)}
    (folder / SUMS).write_bytes(encoded(sums_text(digests)))


def _then_sums(tamper: Callable[[Path], None]) -> Callable[[Path], None]:
    def done(folder: Path) -> None:
        tamper(folder)
        _sums(folder)

    return done


def _forged(folder: Path) -> None:
    """Put the run of a better detector, bundled by the tool itself, in its place."""
    shutil.rmtree(folder)
    stored(folder, lambda _, frame: true_boxes(frame))
    write_bundle(StoredRun.open(folder))


_AS_BUNDLED = "the bundle as it was written"

FAULTS: tuple[SeededFault, ...] = (
    SeededFault(
        "evidence/flipped verdict",
        "evidence/missed",
        "a violated case that was made a passed one",
        _AS_BUNDLED,
        _tampered(_flip),
    ),
    SeededFault(
        "evidence/dropped case",
        "evidence/missed",
        "a violated case that was removed",
        _AS_BUNDLED,
        _tampered(_drop),
    ),
    SeededFault(
        "evidence/changed outcome",
        "evidence/missed",
        "an outcome that was made a passed one",
        _AS_BUNDLED,
        _tampered(_outcome),
    ),
    SeededFault(
        "evidence/one bit of an image",
        "evidence/missed",
        "an image of which one bit was changed",
        _AS_BUNDLED,
        _tampered(_one_bit),
    ),
    SeededFault(
        "evidence/removed image",
        "evidence/missed",
        "an image of a failure that was removed",
        _AS_BUNDLED,
        _tampered(lambda folder: _only(folder, "images/*/*.png").unlink()),
    ),
    SeededFault(
        "evidence/added file",
        "evidence/missed",
        "a file that was put among the evidence later",
        _AS_BUNDLED,
        _tampered(_add),
    ),
    SeededFault(
        "evidence/flipped verdict, new checksums",
        "evidence/missed",
        "a violated case that was made a passed one, with SHA256SUMS written anew to cover it up",
        _AS_BUNDLED,
        _tampered(_then_sums(_flip)),
    ),
    SeededFault(
        "evidence/changed outcome, new checksums",
        "evidence/missed",
        "an outcome that was made a passed one, with SHA256SUMS written anew to cover it up",
        _AS_BUNDLED,
        _tampered(_then_sums(_outcome)),
    ),
    SeededFault(
        "evidence/one bit, new checksums",
        "evidence/missed",
        "an image of which one bit was changed, with SHA256SUMS written anew to cover it up",
        _AS_BUNDLED,
        _tampered(_then_sums(_one_bit)),
    ),
    SeededFault(
        "evidence/forged run",
        "evidence/missed",
        "the whole evidence of another detector under the name of this one",
        _AS_BUNDLED,
        _tampered(_forged),
        (1.0,),
        "",
        None,
        "Whoever writes all files anew writes evidence that agrees with itself. Keep the digest that "
        "`evidence bundle` prints elsewhere: with it this is found, see the next line.",
    ),
    SeededFault(
        "evidence/forged run, digest kept",
        "evidence/missed",
        "the same, verified with the digest that was kept elsewhere",
        _AS_BUNDLED,
        _tampered(_forged, kept_digest=True),
    ),
)
"""All of them."""
