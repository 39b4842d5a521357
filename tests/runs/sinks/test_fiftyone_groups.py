from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from roadworthy.errors import InputError
from roadworthy.images import read_image
from roadworthy.runs.sinks.fiftyone_groups import export_fiftyone
from roadworthy.runs.store import StoredRun


def read(folder: Path) -> list[dict[str, Any]]:
    samples: list[dict[str, Any]] = json.loads((folder / "samples.json").read_text("utf-8"))["samples"]
    return samples


def test_the_images_of_a_case_are_a_group(stored: StoredRun, tmp_path: Path) -> None:
    found = export_fiftyone(stored, tmp_path / "out")
    samples = read(found.folder)
    assert (found.groups, found.samples, len(samples)) == (4, 7, 7)
    groups = defaultdict(list)
    for sample in samples:
        assert read_image(found.folder / sample["filepath"]).shape == (40, 80, 3)
        assert sample["group"]["_cls"] == "Group"
        assert len(sample["group"]["_id"]["$oid"]) == 24
        groups[sample["group"]["_id"]["$oid"]].append(sample)
    slices = sorted(tuple(sample["group"]["name"] for sample in group) for group in groups.values())
    assert slices == [("frame",), *[("original", "changed")] * 3]
    metadata = json.loads((found.folder / "metadata.json").read_text("utf-8"))
    assert metadata["media_type"] == "group"


def test_samples_carry_the_verdict_and_the_worst_come_first(stored: StoredRun, tmp_path: Path) -> None:
    export_fiftyone(stored, tmp_path / "out", most=1)
    first, second, missed = read(tmp_path / "out")
    assert first["case"] == second["case"] == "f6"
    assert first["margin"] == -7.0
    assert first["status"]["label"] == "violated"
    assert first["tags"] == ["R1", "violated"]
    assert first["param_change_1"] == "rain(amount=1)"
    # JSON has no infinity: a margin without a border is left out.
    assert "margin" not in missed


def test_boxes_are_shares_of_the_image(stored: StoredRun, tmp_path: Path) -> None:
    export_fiftyone(stored, tmp_path / "out")
    (missed,) = (sample for sample in read(tmp_path / "out") if sample["requirement"] == "S1")
    (truth,) = missed["ground_truth"]["detections"]
    assert truth["bounding_box"] == [0.1, 0.25, 0.2, 0.5]
    assert truth["label"] == "stop"
    assert "predictions" not in missed


def test_the_same_run_gives_the_same_bytes(stored: StoredRun, tmp_path: Path) -> None:
    for name in ("a", "b"):
        export_fiftyone(stored, tmp_path / name)
    assert (tmp_path / "a/samples.json").read_bytes() == (tmp_path / "b/samples.json").read_bytes()


def test_folders_with_files_and_runs_without_images_are_refused(stored: StoredRun, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    with pytest.raises(InputError, match="must be empty or new"):
        export_fiftyone(stored, tmp_path / "full")
    with pytest.raises(InputError, match=r"no passed case of .* has images"):
        export_fiftyone(stored, tmp_path / "out", statuses=("passed",))


def test_fiftyone_reads_it(stored: StoredRun, tmp_path: Path) -> None:
    importers = pytest.importorskip("fiftyone.utils.data.importers", reason="fiftyone is not installed")
    export_fiftyone(stored, tmp_path / "out")
    importer = importers.LegacyFiftyOneDatasetImporter(dataset_dir=str(tmp_path / "out"))
    importer.setup()
    samples = list(importer)
    assert [sample.group.name for sample in samples[:2]] == ["original", "changed"]
    assert samples[0].group.id == samples[1].group.id
    assert samples[0].status.label == "violated"
    (truth,) = samples[-1].ground_truth.detections
    assert truth.bounding_box == [0.1, 0.25, 0.2, 0.5]
