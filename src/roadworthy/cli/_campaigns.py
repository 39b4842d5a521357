"""What commands share that try requirements on models: hashing what is tested, and running all of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roadworthy.cli._console import parse_options, progress

if TYPE_CHECKING:
    from roadworthy.cases import Dataset, Method, Requirement
    from roadworthy.models import SystemUnderTest
    from roadworthy.runs import ImageRetention, SeveralResults
    from roadworthy.runs.store import Tested
    from roadworthy.transforms import UserEngine


_BATCH = 64


def hashed(
    command: str,
    systems: Iterable[SystemUnderTest],
    data: Dataset,
    *,
    settings: Mapping[str, Any],
    seed: int = 0,
    files: Iterable[Path] = (),
    engines: Iterable[UserEngine] = (),
) -> Tested:
    """Return what a run tests, as its manifest has it, with a progress bar on a terminal.

    Args:
        command: The command.
        systems: The models.
        data: The frames.
        settings: What else the rows depend on; what JSON can hold.
        seed: Of all that is drawn by lot.
        files: What says what must hold, such as a specification.
        engines: The image engines of the user.
    """
    from roadworthy.runs.store import what_is_tested
    from roadworthy.runs.suites.running import COMMAND

    with progress(f"Hashing {data.name}", len(data)) as told:
        return what_is_tested(
            systems,
            data,
            files=files,
            engines=engines,
            seed=seed,
            settings={COMMAND: command, **settings},
            progress=lambda done, _: told(done),
        )


def try_all(
    what: str,
    method: Method,
    requirements: Sequence[Requirement],
    data: Dataset,
    systems: Sequence[SystemUnderTest],
    *,
    cases: int,
    out: Path,
    manifest: Tested,
    images: ImageRetention,
    processes: int,
    tested: Callable[[Requirement, SystemUnderTest], bool],
    passes: float = 0.0,
) -> tuple[SeveralResults, float]:
    """Try requirements on models with a progress bar; return what was found, and in how many seconds.

    Args:
        what: What goes on, in a word or two.
        method: What tries the requirements.
        requirements: What must hold.
        data: The frames.
        systems: The models.
        cases: How many cases there are, for the bar.
        out: Where everything is written.
        manifest: What is tested; its seed is that of the run.
        images: Of which cases images are stored.
        processes: In how many processes.
        tested: Whether a requirement is tried on a model.
        passes: The share of the other cases whose images are stored.
    """
    from roadworthy.runs import run_several

    start = time.perf_counter()
    with progress(what, cases) as told:
        found = run_several(
            method,
            requirements,
            data,
            systems,
            out=out,
            seed=manifest.get("seed", 0),
            batch_size=_BATCH,
            images=images,
            passes=passes,
            processes=processes,
            tested=tested,
            progress=told,
            manifest=manifest,
        )
    return found, time.perf_counter() - start


def data_form(reference: str, options: list[str] | None, **others: Any) -> dict[str, Any]:
    """Return data that a command opened as a suite has it."""
    return {"data": reference, "options": parse_options(options or []), **others}


def write_as_suite(
    command: str,
    out: Path,
    tested: Tested,
    *,
    models: Mapping[str, Any],
    data: Mapping[str, Any],
    requirements: Mapping[str, Mapping[str, Any]],
    files: Iterable[Path | None] = (),
) -> None:
    """Write what a command did beside its rows, as a suite, for `evidence verify` and for copies of cases.

    Args:
        command: The command.
        out: The folder of the run.
        tested: What was tested.
        models: How the models were opened, by their names.
        data: How the data was opened; see `data_form`.
        requirements: What must hold, as a suite has it.
        files: Those that the requirements name, as they were given.
    """
    from roadworthy.runs.suites.writing import command_suite, write_suite

    (name,) = tested["data"]
    document = command_suite(
        seed=tested.get("seed", 0), models=models, data=(name, data), requirements=requirements
    )
    named = {str(one): one for one in files if one is not None and one.is_file()}
    write_suite(out, document, command, named)
