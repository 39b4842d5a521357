"""Every error Roadworthy raises on purpose.

::

    RoadworthyError
    ├── DeviceError           a GPU cannot be used any more; says nothing about the model
    ├── EngineError           an image engine crashed or gave no usable image; says nothing about the model
    ├── InputError            what came in cannot be used; the message says what was expected and what came
    │   ├── FrameError        an image, label map, box, depth or signal breaks the rules of a Frame
    │   │   └── BrokenCutOut  a cut-out of a gallery that cannot be used (roadworthy.transforms)
    │   ├── OntologyError     an ontology file or a name in it
    │   ├── RuleError         a testing rule that is not understood; underlines the words
    │   ├── SceneError        a scene of the built-in world that cannot be built or changed as asked
    │   ├── SpecificationError  a specification in BBSL that is wrong (roadworthy.bbsl); underlines where
    │   ├── SuiteError        a suite that cannot be read or planned (roadworthy.runs); underlines where
    │   ├── UndescribedError  a network whose inputs or outputs nobody described (roadworthy.models)
    │   └── UnknownNameError  a name that no registry entry has
    ├── MissingExtraError     an optional dependency that is not installed; names the extra
    ├── NotApplicable         a case cannot be built from this frame; carries the reason and is counted
    ├── RemoteError           a place elsewhere, such as s3://bucket/frames, cannot be reached
    ├── SimulatorError        a simulator died, stopped answering or sent what cannot be used
    └── SystemUnderTestError  the system under test crashed or gave an answer that cannot be used

Messages state what was expected, what came, and what to do about it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from operator import ge, gt, le, lt
from typing import Any, TypedDict, Unpack


class RoadworthyError(Exception):
    """The root of every error raised on purpose."""


class DeviceError(RoadworthyError):
    """A GPU is gone, or computes nothing more in this process; it says nothing about what was tested."""


class EngineError(RoadworthyError):
    """An image engine or a change crashed, or gave what is no image; it says nothing about what is tested."""

    @property
    def reason(self) -> str:
        """What happened, in words."""
        return str(self)


class InputError(RoadworthyError):
    """What came in cannot be used."""


class FrameError(InputError):
    """An image, label map, box, depth map or signal breaks the rules of a Frame."""


class OntologyError(InputError):
    """An ontology file, or a name looked up in the ontology, is wrong."""


class RuleError(InputError):
    """A testing rule is not understood, wholly or in part.

    Args:
        reason: What is wrong, in words.
        text: The whole rule.
        span: The first and the last + 1 character of the words that are at fault.
        suggestions: What would be understood in their place, the nearest first.

    Example:
        >>> error = RuleError("'unicorn' is not known", text="If a unicorn appears", span=(5, 12))
        >>> print(error)
        'unicorn' is not known
          If a unicorn appears
               ^^^^^^^
    """

    def __init__(
        self, reason: str, *, text: str, span: tuple[int, int], suggestions: Iterable[str] = ()
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.text = text
        self.span = span
        self.suggestions = tuple(suggestions)

    def document(self) -> dict[str, object]:
        """Return what is wrong, for scripts."""
        return {
            "reason": self.reason,
            "span": list(self.span),
            "words": self.text[slice(*self.span)],
            "suggestions": list(self.suggestions),
        }

    def __str__(self) -> str:
        start, stop = self.span
        # The line that holds the words: a rule may be written over several.
        begin = self.text.rfind("\n", 0, start) + 1
        end = self.text.find("\n", start)
        line = self.text[begin : len(self.text) if end < 0 else end]
        under = " " * (start - begin) + "^" * max(1, min(stop - begin, len(line)) - (start - begin))
        nearest = f"; known: {', '.join(self.suggestions)}" if self.suggestions else ""
        return f"{self.reason}{nearest}\n  {line}\n  {under}"


class SceneError(InputError):
    """A scene of the built-in world cannot be built or changed as asked."""


class UnknownNameError(InputError):
    """No registry entry has the name that was asked for."""


class MissingExtraError(RoadworthyError):
    """An optional dependency is not installed.

    Example:
        >>> raise MissingExtraError("torch", extra="torch", purpose="train a network")
        Traceback (most recent call last):
        ...
        roadworthy.errors.MissingExtraError: torch is needed to train a network but is not installed: \
pip install 'roadworthy[torch]'
    """

    def __init__(self, package: str, *, extra: str, purpose: str) -> None:
        super().__init__(
            f"{package} is needed to {purpose} but is not installed: pip install 'roadworthy[{extra}]'"
        )


DO_IT_ANYWAY = "made nevertheless with --realism any, realism: any in a suite, or realism=any of a transform"
"""How to get what looks drawn on real frames, and is left out for it, in the spelling of each place."""
HOW_ANYWAY = f"What would look drawn on real frames is {DO_IT_ANYWAY}."
"""The same, below a table of reasons."""


def without_remedy(reason: str) -> str:
    """Return why a frame is left out without `DO_IT_ANYWAY`, which is said once for many reasons."""
    return reason.replace(f"; {DO_IT_ANYWAY}", "")


class NotApplicable(RoadworthyError):  # noqa: N818 - it is an outcome that is counted, not a failure
    """A case cannot be built from this frame; the reason is counted, never dropped.

    Args:
        reason: Why, in words that are the same for every frame with the same trouble.
        frame: The id of the frame, where it is known.

    Example:
        >>> error = NotApplicable("there is no room on the sidewalk", frame="drive/17")
        >>> error.reason, str(error)
        ('there is no room on the sidewalk', "frame 'drive/17': there is no room on the sidewalk")
    """

    def __init__(self, reason: str = "", *, frame: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.frame = frame

    def __str__(self) -> str:
        return self.reason if self.frame is None else f"frame {self.frame!r}: {self.reason}"


class RemoteError(RoadworthyError):
    """A place elsewhere cannot be reached; it says nothing about what lies there, so no frame is left out."""


class SimulatorError(RoadworthyError):
    """A simulator died, stopped answering or sent what cannot be used; it says nothing about who drives."""


class SystemUnderTestError(RoadworthyError):
    """The system under test crashed or gave an answer that cannot be used."""


# What Python, loaders, OpenCV, ONNX Runtime, torch and DuckDB say when there is no memory left.
_NO_MEMORY = (
    "bad_alloc",
    "bad allocation",
    "cannot allocate memory",
    "can't start new thread",
    "failed to allocate memory",
    "failed to map segment",
    "insufficient memory",
    "memoryerror",
    "out of memory",
    "outofmemory",
    "unable to allocate",
)


def memory_advice(error: BaseException | str) -> str:
    """Return what to do about an error that comes of too little memory; nothing for others.

    Example:
        >>> memory_advice(RuntimeError("std::bad_alloc"))[:57]
        'there is not enough memory (RuntimeError: std::bad_alloc)'
        >>> memory_advice("no such file")
        ''
    """
    told = error if isinstance(error, str) else f"{type(error).__name__}: {words_of(error)}"
    if not any(words in told.lower() for words in _NO_MEMORY):
        return ""
    return (
        f"there is not enough memory ({told.splitlines()[0][:200]}): use fewer --workers, or fewer or "
        "smaller frames, close other programs, or allow more (ulimit -v)"
    )


_LONGEST = 2000


def words_of(error: BaseException) -> str:
    """Return what an error of others says: a text of any length, or none at all if that raises in turn.

    Example:
        >>> words_of(ValueError("no horizon")), len(words_of(ValueError("x" * 10**6)))
        ('no horizon', 2001)
    """
    try:
        words = str(error)
    except Exception as another:
        return f"(no message: {type(another).__name__} while it was made)"
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}…"


@contextmanager
def told_as(kind: type[RoadworthyError], what: str, *errors: type[Exception]) -> Iterator[None]:
    """Raise an error of this kind in place of others that are raised inside, with what they say behind it.

    Of errors of the system, of Python and of libraries, that is their first line.

    Example:
        >>> with told_as(InputError, "cannot read the size", ValueError):
        ...     int("a lot")
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: cannot read the size: invalid literal for int() with base 10: 'a lot'
    """
    try:
        yield
    except errors as error:
        said = str(error) if isinstance(error, RoadworthyError) else reason(error)
        raise kind(f"{what}: {said}") from error


def reason(error: Exception) -> str:
    r"""Return the first line of what an error of others says; its class where it says nothing.

    Example:
        >>> reason(RuntimeError("out of memory\nframe #0: …")), reason(EOFError()), reason(KeyError("id"))
        ('out of memory', 'EOFError', "KeyError('id')")
        >>> reason(OSError(28, "No space left on device", "net.onnx"))
        'No space left on device'
    """
    if isinstance(error, KeyError):
        return repr(error)
    said = getattr(error, "strerror", None) or words_of(error)
    return next(iter(said.splitlines()), type(error).__name__)


def suggest(name: str, known: Iterable[str]) -> str:
    """Return a sentence that helps with an unknown name: the nearest known ones, or all of them.

    Example:
        >>> suggest("wrold", ["world", "kitti"])
        "did you mean 'world'?"
    """
    names = sorted(known)
    near = get_close_matches(name.lower(), names)
    if near:
        return "did you mean " + " or ".join(repr(n) for n in near) + "?"
    return "known names are " + ", ".join(names) if names else "no names are known"


def check_choice(
    what: str, value: object, known: Collection[str], error: type[RoadworthyError] = InputError
) -> None:
    """Refuse a value that is none of those known.

    Example:
        >>> check_choice("images", "some", ("all", "none"))
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: images must be one of all, none, got 'some'
    """
    if value not in known:
        raise error(f"{what} must be one of {', '.join(known)}, got {value!r}")


def check_known(
    told: str, name: object, known: Collection[str], error: type[RoadworthyError] = InputError
) -> None:
    """Refuse a name that is none of those known, and say which of them are near.

    Example:
        >>> check_known("there is no track", "twon", ("meadow", "town"))
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: there is no track 'twon': did you mean 'town'?
    """
    if name not in known:
        raise error(f"{told} {name!r}: {suggest(str(name), known)}")


_ENDS = {"least": ge, "above": gt, "most": le, "below": lt}
_RANGES = {
    ("least",): "{} or more",
    ("most",): "at most {}",
    ("below",): "below {}",
    ("least", "most"): "from {} to {}",
    ("least", "below"): "from {} to below {}",
    ("above",): "above {}",
    ("above", "most"): "above {} and at most {}",
    ("above", "below"): "between {} and {}, both excluded",
    ("least", "finite"): "{} or more and finite",
    ("above", "finite"): "above {} and finite",
    ("finite",): "finite",
}


class _Ends(TypedDict, total=False):
    least: float
    above: float
    most: float
    below: float


def check_number(
    what: str, value: float | None, error: type[RoadworthyError] = InputError, **ends: Unpack[_Ends]
) -> None:
    """Refuse a number that is out of range, or NaN; None is one that was left out.

    Args:
        what: What it is, for the message.
        value: The number.
        error: What is raised.
        ends: The least that it may be, or what it must be above; then the most, or what it must be below,
            which is infinite where it must only be finite.

    Example:
        >>> check_number("--sample", 12, least=1)
        >>> check_number("the tolerance", 1.0, least=0, below=1)
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: the tolerance must be from 0 to below 1, got 1.0
    """
    limits: dict[str, Any] = {end: limit for end in _ENDS if (limit := ends.get(end)) is not None}
    if value is not None and not all(_ENDS[end](value, limit) for end, limit in limits.items()):
        kinds = dict.fromkeys("finite" if math.isinf(limit) else end for end, limit in limits.items())
        raise error(f"{what} must be {_RANGES[*kinds].format(*limits.values())}, got {value}")


def shortened(names: Sequence[str], most: int) -> str:
    """Return names in a row, and how many more there are.

    Example:
        >>> shortened(["a", "b", "c"], 2)
        'a, b and 1 more'
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


_WIDEST = 100


_SECRETS = re.compile(r"""(?<=://)[^/\s@"']+(?=@)|(?<=\?)[^\s"'?]+=[^\s"'?]+""")


def excerpt(where: str, message: str, text: str, line: int, column: int, width: int) -> str:
    """Return a message with the place it is about, and the line there with the words underlined.

    Args:
        where: The file.
        message: What is wrong.
        text: The line of the file.
        line: Its number, counted from 1.
        column: Where the words start, counted from 1.
        width: How many characters they have; what goes beyond the line is left out.

    Example:
        >>> print(excerpt("stop.bbsl", "no function is called 'vehicel'", "  vehicel() ≈ IMG", 2, 3, 7))
        stop.bbsl:2:3: no function is called 'vehicel'
          2 |   vehicel() ≈ IMG
            |   ^^^^^^^
    """
    # Passwords and signatures in addresses are not shown, nor is their place lost.
    text = _SECRETS.sub(lambda found: "*" * len(found[0]), text)
    before, after = text[: column - 1], text[column - 1 :]
    width = max(1, min(width, len(after)))
    if len(text) > _WIDEST:
        before = before if len(before) <= _WIDEST // 2 else f"…{before[-(_WIDEST // 2) :]}"
        after = after if len(after) <= _WIDEST // 2 else f"{after[: _WIDEST // 2]}…"
        width = min(width, len(after))
    # A tab stays a tab above the mark, whatever its width.
    under = "".join("\t" if letter == "\t" else " " for letter in before)
    number = str(line)
    return (
        f"{where}:{line}:{column}: {message}\n"
        f"  {number} | {before}{after}\n"
        f"  {' ' * len(number)} | {under}{'^' * width}"
    )
