"""Options and arguments that several commands take, each declared once, and what opens the things named.

Options:
    option (-o KEY=VALUE): An option of the data set; repeatable.
    data (-d DATA): The data: a name, or name:path.
    sample (-n N): Frames, spread over the data; all if left out.
    clusters (HOW): Which frames belong together: frame, folder, data, 200 frames, 5 s; as the data says if
        left out.
    decide (HOW): What decides "violated" where a share may fail: bound, its lower bound; or estimate, the
        rate seen.
    early: Where a share may fail, stop as soon as a bound decides.
    seed (N): The seed of all random numbers.
    out (FILE): The picture; named after its subject if left out.
    device (DEVICE): cpu, cuda:0, …; auto: a GPU if there is one.
    workers (N): Processes to use; all cores if left out.
    small: Small networks: to try it out, or for a small GPU.
    batch (N): Images at a time.
    val_share (SHARE): The part of the data for validation.
    lr (RATE): Adam's learning rate.
    precision (HOW): auto: mixed on a GPU; float32: never mixed; bfloat16: always.
    resume: Go on with the training in the folder.
    run (RUN): The folder of a run.
    allow_commands: Let image engines run programs and code.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roadworthy._files import is_free, numbered
from roadworthy.cli._console import make_folder, parse_options, say, understood
from roadworthy.errors import InputError, check_choice, check_number

if TYPE_CHECKING:
    from roadworthy.cases import Dataset
    from roadworthy.cli._console import Bars
    from roadworthy.models import SystemUnderTest
    from roadworthy.training import Watcher

USUAL = ("dave2",)
"""What is opened where no model is named."""

AsJson = Annotated[bool, typer.Option("--json", help="Write one JSON document.")]


def words(text: str | None) -> list[str] | None:
    """Return words that are joined by commas; None where they were left out.

    Example:
        >>> words("car, van")
        ['car', 'van']
    """
    return None if text is None else [word for one in text.split(",") if (word := one.strip())]


def numbers(name: str, text: str) -> list[float]:
    """Return numbers that are joined by commas.

    Example:
        >>> numbers("--ratios", "0.01,0.05")
        [0.01, 0.05]
    """
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise InputError(f"{name} are numbers joined by commas, such as 0.01,0.05, got {text!r}") from None


def opened(reference: str, given: list[str] | None, **wanted: object) -> Dataset:
    """Open a data set with the options of the command line.

    Args:
        reference: Its name, or name:path.
        given: Options written as key=value; they go before those wanted.
        wanted: What the command would like; left out where it is None or the data set has no such option.
    """
    from roadworthy.datasets import load_fitting

    return load_fitting(understood(reference), options=parse_options(given or []), **wanted)


def counted(shown: int, total: int) -> str:
    """Return how many of the frames are used, in words.

    Example:
        >>> counted(1, 1), counted(9, 4500)
        ('1 frame', '9 of 4500 frames')
    """
    noun = "frame" if total == 1 else "frames"
    return f"{total} {noun}" if shown == total else f"{shown} of {total} {noun}"


def opened_models(references: Sequence[str] | None) -> list[SystemUnderTest]:
    """Open the models, each with a name of its own: what was written where two are called the same."""
    from roadworthy.models import Network, load_model

    written = list(references or USUAL)
    systems = [load_model(one) for one in written]
    called = Counter(one.name for one in systems)
    for system, reference in zip(systems, written, strict=True):
        if called[system.name] > 1 and isinstance(system, Network):
            system.name = reference
    names = [one.name for one in systems]
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                f"two models are called {name!r}: give one a name of its own in a model.yaml, or leave it out"
            )
    return systems


def history_of(system: SystemUnderTest) -> int | None:
    """Return how many earlier frames a system wants; None if it looks at none."""
    from roadworthy.models import history_of as wanted

    return wanted(system) or None


def opened_for(reference: str, given: list[str] | None, history: int | None) -> Dataset:
    """Open a data set for a network that sees so many earlier frames."""
    # Frames of drives have their history before them; single ones must be read with it.
    return opened(reference, given, history=None if "sequence" in parse_options(given or []) else history)


def frames_of(
    reference: str, options: list[str] | None, systems: Sequence[SystemUnderTest], sample: int | None
) -> Dataset:
    """Open the data set with as many earlier frames as the models want, or a sample of it."""
    check_number("--sample", sample, least=1)
    from roadworthy.datasets import sample_of

    history = max((history_of(one) or 0 for one in systems), default=0)
    return sample_of(opened(reference, options, count=sample, history=history or None), sample)


def share(name: str, text: str) -> float:
    """Return a share that is written as 10% or 0.1.

    Example:
        >>> share("--allow", "10%"), share("--allow", "0.1")
        (0.1, 0.1)
    """
    from roadworthy.runs.suites.forms import read_share

    try:
        return read_share(text)
    except ValueError:
        raise InputError(f"{name} must be a share such as 10% or 0.1, got {text!r}") from None


def accepted(allow: str, decide: str, *, early: bool) -> dict[str, Any] | None:
    """Return what is accepted as a suite has it; None where no case may fail.

    Example:
        >>> accepted("5%", "bound", early=False), accepted("0", "bound", early=False)
        ({'rate': 0.05}, None)
    """
    check_choice("--decide", decide, ("bound", "estimate"))
    rate = share("--allow", allow)
    others = {"decide": decide} if decide != "bound" else {}
    if not rate:
        if others or early:
            raise InputError("--decide and --early are about a share that may fail: add --allow, such as 5%")
        return None
    return {"rate": rate, **others, **({"early": True} if early else {})}


def image_size(text: str) -> tuple[int, int]:
    """Return width and height.

    Example:
        >>> image_size("1242x375")
        (1242, 375)
    """
    return two_numbers(text, "a size is written WIDTHxHEIGHT, such as 1242x375")


def two_numbers(text: str, rule: str) -> tuple[int, int]:
    """Return two whole numbers above 0 with an x between them.

    Raises:
        InputError: They are not written so; begins with the rule.
    """
    found = re.fullmatch(r"\s*(\d+)\s*[x×]\s*(\d+)\s*", text)
    if not found or not int(found[1]) or not int(found[2]):
        raise InputError(f"{rule}, got {text!r}")
    return int(found[1]), int(found[2])


def free_folder(usual: Path, *, resume: bool | None = None) -> Path:
    """Return the usual folder of a command, or the next that is free; say so where it is another.

    So a command that is given twice never stops at what it wrote the first time, and never overwrites it.

    Args:
        usual: Where the command writes when it is not told where.
        resume: Whether it goes on with what it wrote the last time; None where it cannot.
    """
    if resume:
        last = _last_written(usual)
        if last != usual:
            say(f"Going on with {last}, the last one; --out FOLDER names another.")
        return last
    found = next(one for one in numbered(usual) if is_free(one))
    if found != usual:
        otherwise = "" if resume is None else f", --resume goes on with {_last_written(usual)}"
        say(f"{usual} has something in it: writing to {found}. --out FOLDER names another{otherwise}.")
    return found


def _last_written(usual: Path) -> Path:
    """Return the last folder of a row of numbers that has something in it; the usual one if none has."""
    return [usual, *takewhile(lambda one: not is_free(one), numbered(usual))][-1]


def next_free(context: typer.Context, parameter: typer.CallbackParam, value: Path) -> Path:
    """Return the folder of an option: as it was given, or the next that is free if it was left out."""
    name = parameter.name
    if context.resilient_parsing or name is None:
        return value
    source = context.get_parameter_source(name)
    # By its name: typer has a copy of click of its own, or uses the other, depending on the version.
    return free_folder(value) if source is not None and source.name == "DEFAULT" else value


Out = Annotated[
    Path,
    typer.Option(
        metavar="FOLDER",
        help="The output folder; must be new. The next free one by default.",
        callback=next_free,
    ),
]
"""The folder that a command writes to: new or empty, and its usual one, or the next, if left out."""


def processes(given: int | None) -> int:
    """Return how many processes read: as many as were asked for, or one per core."""
    return (os.cpu_count() or 1) if given is None else given


@contextmanager
def training_folder(path: Path, checkpoint: str, state: str) -> Iterator[Path]:
    """Make the folder of a training, leave no empty one behind, and say how to go on after Ctrl-C.

    Args:
        path: The folder.
        checkpoint: The file in it that a training goes on from.
        state: What is in that file, for people.
    """
    folder = make_folder(path)
    try:
        yield folder
    except KeyboardInterrupt:
        if (folder / checkpoint).is_file():
            say(f"Stopped. {folder} has {state}: go on with --resume --out {folder}")
        raise
    finally:
        with suppress(OSError):  # a folder that holds something stays
            folder.rmdir()


def training_shown(bars: Bars) -> Watcher:
    """Return what shows a training: by bars on a terminal, and by a line each time that it is measured."""
    from roadworthy.training import Watcher
    from roadworthy.training.loop import EpochResult, StepResult

    class Shown(Watcher):
        def reading(self, done: int, total: int) -> None:
            bars.show("Reading frames", done, total)

        def step(self, step: int, progress: float) -> None:  # noqa: ARG002
            bars.show("Training", progress, 1.0)

        def epoch(self, result: EpochResult) -> None:
            measures = [
                str(each) for each in result.measures if each.name.endswith("MAE") or each.unit == "share"
            ]
            best = ["the best so far"] if result.best else []
            loss = f"epoch {result.epoch}: validation loss {result.validation_loss:.4f}"
            bars.tell(", ".join([loss, *measures, *best]))

        def measured(self, result: StepResult) -> None:
            values = {**{f"loss {key}": loss for key, loss in result.losses.items()}, **result.measures}
            numbers = ", ".join(f"{key} {value:.4g}" for key, value in values.items())
            # In a pipe too: it goes on for hours, and whoever reads a log wants to know how.
            bars.tell(f"step {result.step}, {result.seconds:.0f} s: {numbers}", in_pipes=True)

    return Shown()
