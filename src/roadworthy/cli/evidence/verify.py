"""``roadworthy evidence verify``: is every file what it was, and do the verdicts come out again?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, print_json, print_note
from roadworthy.cli._datasets import AsJson
from roadworthy.cli.evidence._group import Suite, app, told
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.runs.evidence import Verification
    from roadworthy.runs.evidence.rerunning import Rerun


_MOST = 50  # findings that are printed; --json has all


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy evidence verify out",
        "roadworthy evidence verify evidence.zip --digest 3f0c…",
        "roadworthy evidence verify out --rerun 50",
    ),
)
def verify(
    bundle: Annotated[Path, typer.Argument(metavar="RUN|BUNDLE", help="The folder of a run, or a bundle.")],
    digest: Annotated[
        str, typer.Option(metavar="SHA256", help="What `evidence bundle` printed when the bundle was made.")
    ] = "",
    rerun: Annotated[
        int, typer.Option(metavar="N", help="Run so many cases again, drawn by lot, and compare.")
    ] = 0,
    seed: Annotated[int, typer.Option(metavar="N", help="The seed of the lot.")] = 0,
    tolerance: Annotated[
        float,
        typer.Option(metavar="X", help="How far margins may differ, relative to their size; see docs."),
    ] = 1e-6,
    suite: Suite = None,
    allow_commands: Annotated[
        bool,
        typer.Option("--allow-commands", help="Let image engines of the suite run programs and code again."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Hash every file again, compare with what was bundled, and let a sample of the cases run again.

    Changed, missing and added files are named. Model and data are compared with the digests of the manifest
    where they can be reached. The exit code is 1 if anything differs, 0 if nothing does.
    """
    from roadworthy.runs.evidence import verify as check
    from roadworthy.runs.evidence.bundle import opened_bundle
    from roadworthy.runs.evidence.reopening import check_present
    from roadworthy.runs.evidence.rerunning import rerun_sample

    if rerun < 0:
        raise InputError(f"--rerun must be 0 or more, got {rerun}")
    if not tolerance >= 0:
        raise InputError(f"--tolerance must be 0 or more, got {tolerance}")
    again: Rerun | None = None
    with opened_bundle(bundle) as opened, told() as progress:
        found = check(opened.folder, digest=digest, damaged=opened.damaged, progress=progress)
        if opened.damaged:
            found.notes.append("models, data and cases were not tried again: the bundle is damaged")
        else:
            check_present(opened.folder, found, suite)
        if rerun and not opened.damaged:
            again = rerun_sample(
                opened.folder,
                rerun,
                suite=suite,
                seed=seed,
                tolerance=tolerance,
                allow_commands=allow_commands,
                progress=progress,
            )
    passed = found.passed and (again is None or again.passed)
    if as_json:
        print_json(_document(bundle, passed, found, again))
    else:
        _print(bundle, found, again)
    raise typer.Exit(0 if passed else 1)


def _document(bundle: Path, passed: bool, found: Verification, again: Rerun | None) -> dict[str, object]:
    return {
        "path": str(bundle),
        "passed": passed,
        "digest": found.digest,
        "files": found.files,
        "rows": found.rows,
        "images": found.images,
        "findings": [{"kind": one.kind, "what": one.what, "detail": one.detail} for one in found.findings],
        "notes": found.notes,
        "rerun": None if again is None else again.document(),
    }


def _print(bundle: Path, found: Verification, again: Rerun | None) -> None:
    out = console()
    for one in found.findings[:_MOST]:
        out.print(str(one), style="red", soft_wrap=True, markup=False)
    if len(found.findings) > _MOST:
        out.print(f"… and {len(found.findings) - _MOST} more; --json lists them all")
    for note in found.notes:
        print_note(note)
    if again is not None:
        for line in again.lines():
            out.print(line, soft_wrap=True, markup=False)
    number = len(found.findings) + (0 if again is None else again.differing)
    state = "nothing differs" if not number else "1 difference" if number == 1 else f"{number} differences"
    out.print(
        f"{bundle}: {found.files:,} files hashed, {found.rows:,} cases and {found.images:,} images checked: "
        f"{state}",
        soft_wrap=True,
        markup=False,
    )
