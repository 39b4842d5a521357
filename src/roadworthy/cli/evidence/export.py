"""``roadworthy evidence export``: a run for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, print_json
from roadworthy.cli._datasets import AsJson
from roadworthy.cli.evidence._group import Run, app
from roadworthy.errors import InputError, suggest

if TYPE_CHECKING:
    from roadworthy.runs.store import StoredRun


_TARGETS = ("mlflow", "fiftyone", "reqif")


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy evidence export out --to mlflow --uri sqlite:///mlflow.db",
        "roadworthy evidence export out --to fiftyone --out failures",
        "roadworthy evidence export out --to reqif --out requirements.reqif",
    ),
)
def export(
    run: Run,
    to: Annotated[str, typer.Option("--to", metavar="TOOL", help="mlflow, fiftyone or reqif.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="PLACE", help="The folder or file to write, for fiftyone and reqif."),
    ] = None,
    uri: Annotated[
        str, typer.Option(metavar="URI", help="MLflow's tracking URI: a server or sqlite:///mlflow.db.")
    ] = "",
    experiment: Annotated[str, typer.Option(metavar="NAME", help="MLflow's experiment.")] = "roadworthy",
    most: Annotated[
        int, typer.Option(metavar="N", help="For fiftyone: the most cases of each requirement and model.")
    ] = 1000,
    passes: Annotated[
        bool,
        typer.Option("--passes", help="For fiftyone: cases that passed as well, where they have images."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Hand a run to another tool: nested runs for MLflow, groups of images for FiftyOne, or ReqIF.

    FiftyOne reads the folder by fo.Dataset.from_dir(FOLDER, fo.types.LegacyFiftyOneDataset).
    """
    from roadworthy.runs.store import StoredRun

    if to not in _TARGETS:
        raise InputError(f"--to: unknown tool {to!r}; {suggest(to, _TARGETS)}")
    stored = StoredRun.open(run)
    if to == "mlflow":
        document = _to_mlflow(stored, uri, experiment)
    elif out is None:
        raise InputError(f"give the place to write by --out, such as --out {_example(to)}")
    elif to == "fiftyone":
        document = _to_fiftyone(stored, out, most, passes)
    else:
        document = _to_reqif(stored, out)
    if as_json:
        print_json({"to": to, **document})
        return
    told = ", ".join(f"{value} {name}" for name, value in document.items() if isinstance(value, int))
    console().print(f"Wrote {document['place']}: {told}", soft_wrap=True, markup=False)


def _example(to: str) -> str:
    return "failures" if to == "fiftyone" else "requirements.reqif"


def _to_mlflow(stored: StoredRun, uri: str, experiment: str) -> dict[str, object]:
    from roadworthy.runs.sinks.mlflow_runs import export_mlflow

    if not uri:
        raise InputError("give MLflow's tracking URI by --uri, such as --uri sqlite:///mlflow.db")
    found = export_mlflow(stored, uri=uri, experiment=experiment)
    return {"place": uri, "run": found.parent, "nested runs": len(found.children)}


def _to_fiftyone(stored: StoredRun, out: Path, most: int, passes: bool) -> dict[str, object]:
    from roadworthy.runs.sinks.fiftyone_groups import export_fiftyone

    if most < 1:
        raise InputError(f"--most must be 1 or more, got {most}")
    statuses = ("violated", "error", "passed") if passes else ("violated", "error")
    found = export_fiftyone(stored, out, statuses=statuses, most=most)
    return {
        "place": str(out),
        "groups": found.groups,
        "samples": found.samples,
        "cases without images left out": found.without_images,
    }


def _to_reqif(stored: StoredRun, out: Path) -> dict[str, object]:
    from roadworthy._files import sha256_of
    from roadworthy.runs.evidence import pair_results, write_reqif
    from roadworthy.runs.evidence.pairs import folder_digests
    from roadworthy.runs.evidence.sums import files_below

    digests = {path: sha256_of(stored.folder / path) for path in files_below(stored.folder)}
    places = folder_digests(digests)
    argued = [one.argued(places) for one in pair_results(stored)]
    write_reqif(argued, out)
    return {"place": str(out), "requirements": len(argued)}
