"""What a server was started with: what it may use, limits, runs to show."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from roadworthy._frozen import FrozenDict
from roadworthy._yaml import read_yaml
from roadworthy.errors import InputError
from roadworthy.web.jobs.queue import ID

WORDS = read_yaml(Path(__file__).with_name("words.yaml"), "file of words", "words").data
"""What pages say of the roles of words and of the built-in data."""

# What a browser on this machine may call a server on it.
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


def is_loopback(host: str) -> bool:
    """Return whether an address is reached from this machine only.

    Example:
        >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
        (True, True, False)
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(frozen=True)
class ServerLimits:
    """How many may come, for how long each is waited for, and how much one request may ask for.

    Attributes:
        connections: The most connections at a time.
        head_seconds: The most time for the head of a request to arrive.
        read_seconds: The most time for an answer to be read so far that more of it can be sent.
        body: The most bytes of a request.
        body_seconds: The most time for them to arrive.
        rule: The most characters of a rule.
        spec: The most characters of a specification.
        frames: The most frames of a run.
        suite: The most characters of a suite.
        upload: The most bytes of a network or a film that is sent to the page.
        added: The most models and data that are added on the page.
        look_seconds: The most time for a first look at one of them.
        amounts: The most that a requirement of a suite may say under keys that make it run for long.
        preview: The most frames of a preview.
        check_seconds: The most time for the static checks of a specification, all questions together.
        jobs: The most runs that wait or go on at a time.
        streams: The most pages that are told about a run as it goes on; others ask again and again.
        waiting: The most requests that wait for one another, where only one can be worked on at a time.
    """

    connections: int = 128
    head_seconds: float = 10.0
    read_seconds: float = 60.0
    body: int = 256 * 1024
    body_seconds: float = 20.0
    rule: int = 4_000
    spec: int = 20_000
    frames: int = 10_000
    suite: int = 60_000
    upload: int = 4 * 2**30
    added: int = 100
    look_seconds: float = 120.0
    amounts: Mapping[str, int] = FrozenDict(
        tries=10_000,
        versions=100,
        batches=10_000,
        laps=100,
        seconds=3_600,
        repeats=100,
        seeds=100,
        places=100,
    )
    preview: int = 8
    check_seconds: float = 20.0
    jobs: int = 50
    streams: int = 40
    waiting: int = 8


@dataclass(frozen=True)
class ServerSettings:
    """What a server was started with.

    Attributes:
        out: The folder that new runs go into, a folder each.
        runs: Folders of runs that exist, to look at.
        models: References of models that runs may use, beside the networks that come with the package.
        data: References of data sets that runs may use, beside the built-in world.
        labels: Who may label frames, beside the data and the street network: folders of maps, networks, and
            folders in which such lie.
        under: Folders below which models, data and suites may be chosen on the page.
        token: What a browser must show to be let in; None on loopback, where no other machine comes in.
        names: Names of this machine that requests may be addressed to, beside those of loopback.
        any_address: Whether requests may be addressed to any numeric address: a server that listens on all of
            them. A page of somebody else can take a name for this machine, never a number.
        limits: How much one request may ask for.

    Raises:
        InputError: A folder that is named does not exist, or that of new runs has a name that is no text.
    """

    out: Path
    runs: tuple[Path, ...] = ()
    models: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    under: tuple[Path, ...] = ()
    token: str | None = None
    names: frozenset[str] = frozenset()
    any_address: bool = False
    limits: ServerLimits = field(default_factory=ServerLimits)

    def __post_init__(self) -> None:
        for option, folders in (
            ("--run must be the folder of a run", self.runs),
            ("--under must be a folder", self.under),
        ):
            for folder in folders:
                if not folder.is_dir():
                    raise InputError(f"{option}, got {folder}, which is no folder")
        if any("\ud800" <= letter <= "\udfff" for letter in str(self.out)):
            raise InputError(f"--out must have a name that is text, got {str(self.out)!r}")

    def admits(self, host: str) -> bool:
        """Return whether a request may be addressed so.

        Args:
            host: The Host header, with or without a port.

        Example:
            >>> settings = ServerSettings(Path("runs"))
            >>> [settings.admits(one) for one in ("localhost:8321", "[::1]:80", "evil.example")]
            [True, True, False]
        """
        written = _HOST.fullmatch(host.strip().lower())
        name = "" if written is None else written[1] or written[2]
        if name in _LOOPBACK_NAMES or name in self.names:
            return True
        try:
            return self.any_address and bool(ip_address(name))
        except ValueError:
            return False


_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^\[\]:/@\s]+))(?::[0-9]{1,5})?", re.ASCII)


REPORT = "report.html"
"""The report of a run, in its folder."""
REPORT_POLICY = "sandbox allow-same-origin; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""What a report may do: it brings its own style and pictures, and nothing else; no script runs in it."""

_PICTURES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}
_FILMS = {".webm": "video/webm", ".mp4": "video/mp4", ".gif": "image/gif"}
FILMS = frozenset(_FILMS)
"""How the names of films end."""


def file_below(folder: Path, path: str) -> Path | None:
    """Return a file below a folder; None if there is none, or if it lies elsewhere in truth.

    Links are followed before it is decided, so one that leads out of the folder leads nowhere.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.txt").write_text("a")
        ...     file_below(Path(folder), "a.txt").name, file_below(Path(folder), "../../etc/passwd")
        ('a.txt', None)
    """
    try:
        root = folder.resolve(strict=True)
        found = (root / path).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):
        return None
    return found if found.is_file() and found.is_relative_to(root) and found != root else None


class RunFolders:
    """The folders of runs that a server was told about, by the names that addresses use.

    Args:
        settings: What the server was started with.

    Example:
        >>> RunFolders(ServerSettings(Path("out"), (Path("src"), Path("tests")))).names
        ('src', 'tests')
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._folders: dict[str, Path] = {}
        for folder in settings.runs:
            stem = re.sub(r"[^\w.-]+", "-", folder.resolve().name).strip("-.") or "run"
            name, number = stem, 2
            # What looks like a run of this server is looked for among those.
            while name in self._folders or ID.fullmatch(name):
                name, number = f"{stem}-{number}", number + 1
            self._folders[name] = folder

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in the order in which the folders were given."""
        return tuple(self._folders)

    def folder(self, name: str) -> Path:
        """Return the folder of a run.

        Raises:
            InputError: No run has this name.
        """
        if name not in self._folders:
            raise InputError(f"there is no run {name!r} here: all runs are on the page Runs")
        return self._folders[name]

    @staticmethod
    def media_type(path: Path, *, films: bool = False) -> str | None:
        """Return the type of a picture, or film; None for everything else, which is handed out to be kept."""
        return (_PICTURES | _FILMS if films else _PICTURES).get(path.suffix.lower())
