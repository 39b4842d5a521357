"""The folders of runs, bundles of evidence, and galleries."""

from __future__ import annotations

from pathlib import Path

from tests.fuzz.files import seed_of
from tests.fuzz.harness import Target
from tests.fuzz.mutating import mutated_bytes, mutated_json, mutated_parquet, mutated_text, mutated_zip

__all__ = ["TARGETS"]


def _run(folder: Path) -> None:
    from roadworthy.runs.comparison import compare
    from roadworthy.runs.store import StoredRun

    run = StoredRun.open(folder)
    run.manifest  # noqa: B018 - read when it is asked for
    for pair in run.pairs:
        assert pair.requirement.id
    list(run.rows())
    run.worst()
    compare(run, run)


def _checkpoint(folder: Path) -> None:
    from roadworthy.runs.checkpoints import read_checkpoint

    read_checkpoint(folder)


def _sums(folder: Path) -> None:
    from roadworthy.runs.evidence.sums import Differences

    Differences.of(folder)


def _bundle(folder: Path) -> None:
    from roadworthy.runs.evidence.bundle import opened_bundle
    from roadworthy.runs.evidence.checking import verify
    from roadworthy.runs.evidence.reopening import check_present

    with opened_bundle(folder / "evidence.zip") as opened:
        found = verify(opened.folder, damaged=opened.damaged)
        if not opened.damaged:
            check_present(opened.folder, found, None)


def _gallery(folder: Path) -> None:
    from roadworthy.transforms.objects.gallery import Gallery

    for one in Gallery.load(folder):
        one.rgba  # noqa: B018 - read when it is asked for
        one.part_ids  # noqa: B018 - read when it is asked for
        one.scaled(20, 10)


_RUN = {
    "requirements.jsonl": seed_of("run-requirements"),
    "cases/part-00000000.parquet": seed_of("run-rows"),
    "manifest.json": seed_of("run-manifest"),
}
_RUN_OF_ONE = {name: content for name, content in _RUN.items() if name != "manifest.json"}
_SUITE_RUN = {
    "manifest.json": seed_of("run-manifest"),
    "runs/R1/dave2/requirements.jsonl": seed_of("run-requirements"),
    "runs/R1/dave2/cases/part-00000000.parquet": seed_of("run-rows"),
}
_PARTS = {
    "sign.png": seed_of("gallery-picture"),
    "gallery.json": b"""{"format": 1, "cut_outs": [{"name": "sign", "element": "traffic sign", "height": 2.5,
      "ambience": [90, 90, 90], "part_names": ["traffic sign", "pole"]}]}""",
}
_CUT_OUTS = {"tree.png": seed_of("gallery-picture"), "gallery.json": seed_of("gallery")}

TARGETS = (
    Target("run-requirements", "requirements.jsonl", _run, mutated_json, _RUN_OF_ONE),
    Target("run-rows", "cases/part-00000000.parquet", _run, mutated_parquet, _RUN_OF_ONE),
    Target(
        "run-journal",
        "cases/open-00000000.jsonl",
        _run,
        mutated_json,
        {"requirements.jsonl": seed_of("run-requirements")},
    ),
    Target("run-manifest", "manifest.json", _run, mutated_json, _SUITE_RUN),
    Target("run-checkpoint", "checkpoint.json", _checkpoint, mutated_json),
    Target("sums", "SHA256SUMS", _sums, mutated_text, {"trace.csv": b"one"}),
    Target("bundle", "evidence.zip", _bundle, mutated_zip, names=""),
    Target("gallery", "gallery.json", _gallery, mutated_json, _CUT_OUTS),
    Target("gallery-picture", "tree.png", _gallery, mutated_bytes, _CUT_OUTS),
    Target("gallery-parts", "sign.parts.png", _gallery, mutated_bytes, _PARTS),
)
