"""What a command did, as a suite: with it a run can be opened again, checked, and run once more."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from roadworthy._files import write_text, writing
from roadworthy._yaml import yaml_text
from roadworthy.runs.suites.forms import as_name
from roadworthy.runs.suites.kinds import included_name
from roadworthy.runs.suites.reading import SUITE_FILE
from roadworthy.runs.suites.running import INCLUDED
from roadworthy.runs.suites.schema import SuiteForm


def command_suite(
    *,
    seed: int,
    models: Mapping[str, Any],
    data: tuple[str, Mapping[str, Any]],
    requirements: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    """Return a suite as a document; names become such as suites take, and what is None is left out.

    Args:
        seed: Of all that is drawn by lot.
        models: What was opened, by the names of the models.
        data: The name of the data, and what was opened.
        requirements: What must hold, by their ids; which models each is for, by their names.

    Example:
        >>> data = "6 frames of kitti:a/b", {"data": "kitti:a/b", "sample": None}
        >>> suite = command_suite(seed=0, models={"onnx:a/net.onnx": "onnx:a/net.onnx"}, data=data,
        ...     requirements={"R1": {"rule": "If it rains, slow down.", "models": ["onnx:a/net.onnx"]}})
        >>> suite["models"], suite["data"]
        ({'onnx:a-net.onnx': 'onnx:a/net.onnx'}, {'6 frames of kitti:a-b': {'data': 'kitti:a/b'}})
        >>> suite["requirements"]
        {'R1': {'rule': 'If it rains, slow down.', 'models': ['onnx:a-net.onnx']}}
    """
    entries = {as_name(id): _given(entry) for id, entry in requirements.items()}
    for entry in entries.values():
        if "models" in entry:
            entry["models"] = [as_name(one) for one in entry["models"]]
    return {
        "seed": seed,
        "models": {as_name(name): one for name, one in models.items()},
        "data": {as_name(data[0]): _given(data[1])},
        "requirements": entries,
    }


def _given(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if value is not None}


def write_suite(
    folder: Path, document: Mapping[str, Any], command: str, files: Mapping[str, Path] | None = None
) -> None:
    """Write what a command did into the folder of its run, as a suite.

    Nothing is written where something was given that no suite can say, such as a name that is no Unicode.

    Args:
        folder: The folder.
        document: The suite.
        command: The command, which a reader of the file is told.
        files: The files that the suite names, by the paths that it has for them; copies lie in the folder.

    Raises:
        InputError: A file cannot be read or written.
    """
    try:
        form = SuiteForm.model_validate(dict(document))
    except ValidationError:
        return
    lines = [
        f"# What `roadworthy {command}` did, as a suite. Paths count from where it was started: to run it",
        "# again, keep a copy there.",
    ]
    body = yaml_text(form.model_dump(mode="json", exclude_defaults=True, by_alias=True))
    for name, path in (files or {}).items():
        copy = folder / INCLUDED / included_name(name)
        with writing(copy):
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    write_text(folder / SUITE_FILE, "\n".join([*lines, body]))
