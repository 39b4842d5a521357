"""``roadworthy evidence``: bundling what a run shows, verifying it, and handing it to other tools.

Options:
    suite (FILE): The suite, if it names files beside it; else the run's copy is read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from roadworthy._files import replacing
from roadworthy.cli._answer import PASSED, VIOLATED, Answer
from roadworthy.cli._commands import Group, command
from roadworthy.cli._console import working
from roadworthy.errors import InputError, check_known, check_number
from roadworthy.report.deriving import check_documents
from roadworthy.runs.evidence import verify as verified
from roadworthy.runs.evidence import write_bundle
from roadworthy.runs.evidence.bundle import opened_bundle
from roadworthy.runs.evidence.checking import signature_of
from roadworthy.runs.evidence.documents import export_reqif
from roadworthy.runs.evidence.reopening import check_present, functional_of
from roadworthy.runs.evidence.rerunning import rerun_sample
from roadworthy.runs.evidence.sums import sign_sums
from roadworthy.runs.sinks.fiftyone_groups import export_fiftyone
from roadworthy.runs.sinks.mlflow_runs import export_mlflow
from roadworthy.runs.store import StoredRun

app = typer.Typer(cls=Group, no_args_is_help=True)

# Other tools, each with an example of what is written for it.
_TARGETS = {"mlflow": "", "fiftyone": "failures", "reqif": "requirements.reqif"}


@command(app)
def bundle(
    run: Path,
    out: Path | None = None,
    images: bool = True,
    reqif: bool = False,
    operating_domain: Path | None = None,
    functional: bool = True,
    suite: Path | None = None,
) -> Answer:
    """Write the evidence of a run: trace, triggering conditions, coverage, an argument in GSN, and hashes.

    The documents support evidence for ISO 21448, ISO/PAS 8800 and UL 4600; what follows from them is for
    those who make the safety case. Keep the digest that is printed where the bundle is not.

    Options:
        out (PLACE): A new folder or a .zip; into the run's folder if left out.
        images: Whether the images go into the copy.
        reqif: Write the requirements as ReqIF 1.2 as well.
        operating_domain (FILE): Declares the operating domain; Roadworthy's if left out.
        functional: Whether the run's data is read to see what part of the operating domain it touches.

    Examples:
        roadworthy evidence bundle out
        roadworthy evidence bundle out --out evidence.zip --reqif
        roadworthy evidence bundle out --out small --no-images
    """
    stored = StoredRun.open(run)
    with working("Opening the run") as progress:
        touched = (
            functional_of(stored, suite, domain=operating_domain) if functional else "it was not asked for"
        )
        made = write_bundle(stored, out, images=images, reqif=reqif, functional=touched, progress=progress)
    failed = sum(1 for one in made.written.conditions if one.failures)
    untried = [f"{one.requirement.id} on {one.system}" for one in made.written.tested if not one.applicable]
    document = {
        "path": str(made.path),
        "digest": made.digest,
        "files": made.files,
        "cases": made.written.cases,
        "documents": list(made.written.paths),
        "potential_triggering_conditions": failed,
        "never_tried": untried,
    }
    rows = {
        "cases in the trace": f"{made.written.cases:,}",
        "conditions that failed": str(failed),
        "never tried": ", ".join(untried) or "nothing that was asked for",
        "files hashed": f"{made.files:,}",
    }
    # The digest stands on a line of its own, whole, to be copied.
    digest = f"SHA-256 of SHA256SUMS: {made.digest}"
    return Answer(document, [rows, digest, f"Wrote {made.path}; start with evidence/README.md"])


@command(app)
def sign(bundle: Path, key: Path, out: Path | None = None) -> Answer:
    """Sign a bundle, so that others can see that nobody changed it since, without a digest kept elsewhere.

    What is signed is SHA256SUMS, after every file was compared with it. The signature (Ed25519, 64 bytes)
    lies beside the bundle; hand it over with the bundle, and your public key by another way. Needs the extra
    `sign`.

    Options:
        bundle (RUN|BUNDLE): The folder of a run, or a bundle.
        key (--key FILE): Your private key: openssl genpkey -algorithm ed25519 -out private.pem
        out (FILE): The signature; the bundle's name with .sig if left out.

    Examples:
        roadworthy evidence sign out --key private.pem
        roadworthy evidence sign evidence.zip --key private.pem
    """
    place = out or signature_of(bundle)
    with opened_bundle(bundle) as opened:
        if opened.damaged:
            raise InputError(f"{bundle} is damaged, so it is not signed: see {next(iter(opened.damaged))}")
        content = sign_sums(opened.folder, key)
    with replacing(place) as unfinished:
        unfinished.write_bytes(content)
    return Answer(
        {"bundle": str(bundle), "signature": str(place)},
        [f"Wrote {place}: check it with roadworthy evidence verify {bundle} --key PUBLIC.pem"],
    )


@command(app)
def verify(
    bundle: Path,
    digest: str = "",
    key: Path | None = None,
    signature: Path | None = None,
    rerun: int = 0,
    seed: int = 0,
    tolerance: float = 1e-6,
    suite: Path | None = None,
    allow_commands: bool = False,
) -> Answer:
    """Hash every file again, derive all reports and tables from the rows again, and compare.

    Changed, missing and added files are named, and what does not say what the rows say. Every requirement of
    the suite must have rows. Model and data are compared with the digests of the manifest where they can be
    reached. The exit code is 1 if anything differs, 0 if nothing does.

    Options:
        bundle (RUN|BUNDLE): The folder of a run, or a bundle.
        digest (SHA256): What `evidence bundle` printed when the bundle was made.
        key (FILE): The public key, Ed25519 in PEM, of whoever signed the bundle with `evidence sign`.
        signature (FILE): The signature; the bundle's name with .sig if left out.
        rerun (N): Run this many cases again, drawn at random, and compare.
        seed (N): The seed of that draw.
        tolerance (X): How far margins may differ, relative to their size; see docs.

    Examples:
        roadworthy evidence verify out
        roadworthy evidence verify evidence.zip --digest 3f0c…
        roadworthy evidence verify evidence.zip --key public.pem
        roadworthy evidence verify out --rerun 50
    """
    check_number("--rerun", rerun, least=0)
    check_number("--tolerance", tolerance, least=0)
    again = None
    with opened_bundle(bundle) as opened, working("Opening the run") as progress:
        found = verified(
            opened.folder,
            digest=digest,
            key=key,
            signature=signature or signature_of(bundle),
            damaged=opened.damaged,
            progress=progress,
        )
        if opened.damaged:
            found.notes.append("models, data and cases were not tried again: the bundle is damaged")
        else:
            check_documents(opened.folder, found)
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
    number = len(found.findings) + (0 if again is None else again.differing)
    state = "nothing differs" if not number else "1 difference" if number == 1 else f"{number} differences"
    rerun_document = None if again is None else again.document()
    return Answer(
        {"path": str(bundle), "passed": passed, **found.document(), "rerun": rerun_document},
        [*found.lines(), *([] if again is None else again.lines())],
        found.notes,
        exit_code=PASSED if passed else VIOLATED,
        conclusion=f"{bundle}: {found}: {state}",
    )


@command(app)
def export(
    run: Path,
    to: str,
    out: Path | None = None,
    uri: str = "",
    experiment: str = "roadworthy",
    most: int = 1000,
    passes: bool = False,
) -> Answer:
    """Hand a run to another tool: nested runs for MLflow, groups of images for FiftyOne, or ReqIF.

    FiftyOne reads the folder by fo.Dataset.from_dir(FOLDER, fo.types.LegacyFiftyOneDataset).

    Options:
        out (PLACE): The folder or file to write, for fiftyone and reqif.
        uri (URI): MLflow's tracking URI: a server or sqlite:///mlflow.db.
        experiment (NAME): MLflow's experiment.
        most (N): For fiftyone: the most cases of each requirement and model.
        passes: For fiftyone: cases that passed as well, where they have images.
        to (--to TOOL): mlflow, fiftyone or reqif.

    Examples:
        roadworthy evidence export out --to mlflow --uri sqlite:///mlflow.db
        roadworthy evidence export out --to fiftyone --out failures
        roadworthy evidence export out --to reqif --out requirements.reqif
    """
    check_known("--to: unknown tool", to, _TARGETS)
    stored = StoredRun.open(run)
    document: dict[str, Any] = {"to": to, "place": uri if to == "mlflow" else str(out)}
    if to == "mlflow":
        if not uri:
            raise InputError("give MLflow's tracking URI by --uri, such as --uri sqlite:///mlflow.db")
        sent = export_mlflow(stored, uri=uri, experiment=experiment)
        document |= {"run": sent.parent, "nested runs": len(sent.children)}
    elif out is None:
        raise InputError(f"give the place to write by --out, such as --out {_TARGETS[to]}")
    elif to == "fiftyone":
        check_number("--most", most, least=1)
        statuses = ("violated", "error", "passed") if passes else ("violated", "error")
        made = export_fiftyone(stored, out, statuses=statuses, most=most)
        document |= {"groups": made.groups, "samples": made.samples}
        document["cases without images left out"] = made.without_images
    else:
        document["requirements"] = export_reqif(stored, out)
    counts = ", ".join(f"{value} {name}" for name, value in document.items() if isinstance(value, int))
    return Answer(document, [f"Wrote {document['place']}: {counts}"])
