"""What commands share: where they write, how they show progress, how they read options and make folders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from roadworthy import images
from roadworthy._files import check_free
from roadworthy.errors import InputError
from roadworthy.places import shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rich.console import Console
    from rich.progress import Progress, TaskID


T = TypeVar("T")

# The control characters, but for tab and line break.
_OBEYED = dict.fromkeys([*range(9), *range(11, 32), *range(127, 160)])


def console(*, stderr: bool = False) -> Console:
    """Return the console for people; it writes no colours into a pipe.

    What others wrote, such as messages of a model, may hold what a terminal obeys: that is left out.
    """
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class PlainConsole(Console):
        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterator[Segment]:
            for one in super().render(renderable, options):
                yield one if one.control else Segment(shown(one.text).translate(_OBEYED), one.style)

    # Names of users may hold colons and brackets; ":mountain:" is no picture.
    return PlainConsole(stderr=stderr, highlight=False, emoji=False)


def print_error(message: str) -> None:
    """Say on stderr what went wrong."""
    from rich.text import Text

    err = console(stderr=True)
    # Lines are kept whole in a pipe, so that logs can be searched.
    err.print(Text.assemble(("Error: ", "bold red"), message), soft_wrap=not err.is_terminal)


def tracked(items: Sequence[T], what: str) -> Iterator[T]:
    """Yield the items, with a progress bar on a terminal and nothing in a pipe."""
    from rich.progress import track

    err = console(stderr=True)
    yield from track(items, what, console=err, transient=True, disable=not err.is_terminal)


@contextmanager
def progress(what: str, total: int) -> Iterator[Bar]:
    """Give what shows how many are done, on a terminal; nothing is shown in a pipe."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    err = console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as shown:
        bar = Bar(shown)
        bar.begin(what, total)
        yield bar


@contextmanager
def working(what: str) -> Iterator[Callable[[str, int], None]]:
    """Say on a terminal what is done, and how far, by what is given; nothing is said in a pipe."""
    err = console(stderr=True)
    if not err.is_terminal:
        yield lambda *_: None
        return
    with err.status(what) as status:
        yield lambda what, done: status.update(f"{what}: {done:,}")


class Bar:
    """A progress bar that may begin anew with something else."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task: TaskID | None = None

    def begin(self, what: str, total: int) -> None:
        """Show something else, of which there are so many; 0 where that is not known."""
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._task = self._progress.add_task(what, total=total or None)

    def __call__(self, done: int) -> None:
        """Show how many are done."""
        if self._task is not None:
            self._progress.update(self._task, completed=done)


class Bars:
    """Progress bars of several things, each there from when it is first heard of."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def show(self, what: str, done: float, total: float) -> None:
        """Show how far something is."""
        if what not in self._tasks:
            self._tasks[what] = self._progress.add_task(what, total=total)
        self._progress.update(self._tasks[what], completed=done, total=total)

    def showing(self, what: str) -> Callable[[int, int], None]:
        """Return what shows how far one thing is, for those who tell how many of how many are done."""
        return lambda done, total: self.show(what, done, total)

    def tell(self, line: str, *, in_pipes: bool = False) -> None:
        """Write a line above the bars, on a terminal only or in a pipe as well."""
        if in_pipes or not self._progress.disable:
            self._progress.console.print(line, markup=False, soft_wrap=True)


@contextmanager
def bars() -> Iterator[Bars]:
    """Give progress bars on a terminal; nothing is shown in a pipe."""
    from rich.progress import Progress

    err = console(stderr=True)
    with Progress(console=err, transient=True, disable=not err.is_terminal) as progress:
        yield Bars(progress)


def parse_options(given: Iterable[str], such_as: str = "-o weather=rain") -> dict[str, object]:
    """Return the options written as key=value; a message says what they are such as.

    Example:
        >>> parse_options(["weather=rain", "count=12"])
        {'weather': 'rain', 'count': '12'}
    """
    options: dict[str, object] = {}
    for text in given:
        key, equals, value = text.partition("=")
        key = key.strip()
        if not equals or not key:
            raise InputError(f"an option is written key=value, such as {such_as}, got {text!r}")
        if key in options:
            raise InputError(f"option {key!r} is given twice: {options[key]!r} and {value!r}")
        options[key] = value
    return options


def make_folder(path: Path) -> Path:
    """Make a folder and those above it; one that exists is fine.

    Raises:
        InputError: It cannot be made, or something that is no folder has its name.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise InputError(f"cannot make the folder {path}: a file has this name; choose another") from None
    except OSError as error:
        raise InputError(f"cannot make the folder {path}: {error.strerror}; choose another") from error
    return path


def write_picture(path: Path, picture: NDArray[np.uint8]) -> Path:
    """Write a picture, and make the folder that it lies in."""
    make_folder(path.parent)
    images.write_image(path, picture)
    return path


def make_new_folder(path: Path) -> Path:
    """Make a folder for what nothing else may lie beside; one that exists must be empty.

    Raises:
        InputError: It cannot be made, or holds something.
    """
    check_free(path)
    return make_folder(path)


def examples(*lines: str) -> str:
    """Return the closing lines of a help page: commands to try."""
    return "\n".join(["[bold]Examples[/bold]", *(f"[dim]$[/dim] [cyan]{line}[/cyan]" for line in lines)])


def say(line: str) -> None:
    """Tell people something that is not among the results: those may be read by a script."""
    console(stderr=True).print(line, markup=False, soft_wrap=True)


def understood(reference: str) -> str:
    """Return data with its format before the path, and say so where the user wrote a path alone."""
    from roadworthy.datasets import spelled

    if (found := spelled(reference)) != reference:
        say(f"{reference} is read as {found}")
    return found
