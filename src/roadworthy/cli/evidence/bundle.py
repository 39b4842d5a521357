"""``roadworthy evidence bundle``: the documents of a run, with the hash of every file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, print_json, print_rows
from roadworthy.cli._datasets import AsJson
from roadworthy.cli.evidence._group import Run, Suite, app, told

if TYPE_CHECKING:
    from roadworthy.runs.evidence import Bundle


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy evidence bundle out",
        "roadworthy evidence bundle out --out evidence.zip --reqif",
        "roadworthy evidence bundle out --out small --no-images",
    ),
)
def bundle(
    run: Run,
    out: Annotated[
        Path | None,
        typer.Option(metavar="PLACE", help="A new folder or a .zip; into the run's folder if left out."),
    ] = None,
    images: Annotated[
        bool, typer.Option("--images/--no-images", help="Whether the images go into the copy.")
    ] = True,
    reqif: Annotated[
        bool, typer.Option("--reqif", help="Write the requirements as ReqIF 1.2 as well.")
    ] = False,
    operating_domain: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Declares the operating domain; Roadworthy's if left out."),
    ] = None,
    functional: Annotated[
        bool,
        typer.Option(
            "--functional/--no-functional",
            help="Whether the run's data is read to see what part of the operating domain it touches.",
        ),
    ] = True,
    suite: Suite = None,
    as_json: AsJson = False,
) -> None:
    """Write the evidence of a run: trace, triggering conditions, coverage, an argument in GSN, and hashes.

    The documents support evidence for ISO 21448, ISO/PAS 8800 and UL 4600; what follows from them is for
    those who make the safety case. Keep the digest that is printed where the bundle is not.
    """
    from roadworthy.runs.evidence import write_bundle
    from roadworthy.runs.evidence.reopening import functional_of
    from roadworthy.runs.store import StoredRun

    stored = StoredRun.open(run)
    with told() as progress:
        touched = (
            functional_of(stored, suite, domain=operating_domain) if functional else "it was not asked for"
        )
        written = write_bundle(stored, out, images=images, reqif=reqif, functional=touched, progress=progress)
    if as_json:
        print_json(_document(written))
    else:
        _print(written)


def _document(written: Bundle) -> dict[str, object]:
    return {
        "path": str(written.path),
        "digest": written.digest,
        "files": written.files,
        "cases": written.written.cases,
        "documents": list(written.written.paths),
        "potential_triggering_conditions": sum(1 for one in written.written.conditions if one.failures),
        "never_tried": [
            f"{one.requirement.id} on {one.system}" for one in written.written.tested if not one.applicable
        ],
    }


def _print(written: Bundle) -> None:
    found = _document(written)
    untried = found["never_tried"]
    assert isinstance(untried, list)
    print_rows(
        {
            "cases in the trace": f"{written.written.cases:,}",
            "conditions that failed": str(found["potential_triggering_conditions"]),
            "never tried": ", ".join(untried) or "nothing that was asked for",
            "files hashed": f"{written.files:,}",
        }
    )
    # On a line of its own, whole, to be copied.
    console().print(f"SHA-256 of SHA256SUMS: {written.digest}", soft_wrap=True, markup=False)
    console().print(f"Wrote {written.path}; start with evidence/README.md", soft_wrap=True, markup=False)
