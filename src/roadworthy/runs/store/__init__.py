"""The folder of a run: requirements, case rows, images, and what was tested.

::

    requirements.jsonl            the requirement, with its outcome once it is known
    cases/part-00000000.parquet   flat rows, one per case, in shards
    cases/open-00000001.jsonl     the rows of the shard that is being filled, while the run goes on
    images/ab/abcd….png           frames, named by the SHA-256 of the file
    checkpoint.json               where a search stood, if it can be resumed

Every file but the open one is written under another name and then moved into place, so a reader never sees
half of one; of the open one a torn last line is left out. No file says on which machine or where it was
written. What is on disk is always the beginning of the run, so a rerun goes on after it.
"""

from __future__ import annotations

from roadworthy.runs.store.digests import digest_of_dataset, digest_of_model
from roadworthy.runs.store.locking import locked
from roadworthy.runs.store.manifest import (
    add_notes,
    begin_manifest,
    complete_manifest,
    model_notes,
    notes_of,
    read_manifest,
)
from roadworthy.runs.store.parts import read_rows, read_verdicts
from roadworthy.runs.store.rows import MEASURE, PARAMETER, Row
from roadworthy.runs.store.run_store import RunStore
from roadworthy.runs.store.stored_run import StoredPair, StoredRun, joined
from roadworthy.runs.store.writing import clip_images, image_path, shown_images

__all__ = [
    "begin_manifest",
    "complete_manifest",
    "digest_of_dataset",
    "digest_of_model",
    "MEASURE",
    "PARAMETER",
    "Row",
    "RunStore",
    "StoredPair",
    "StoredRun",
    "add_notes",
    "clip_images",
    "image_path",
    "joined",
    "locked",
    "model_notes",
    "notes_of",
    "read_manifest",
    "read_rows",
    "read_verdicts",
    "shown_images",
]
