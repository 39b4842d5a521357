"""What a server was started with: the folders, models and data that it may use, and its limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from roadworthy.errors import InputError

__all__ = ["Limits", "Settings", "is_loopback"]

_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
"""What a browser on this machine may call a server on it."""


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
class Limits:
    """How much one request may ask for.

    Attributes:
        body: The most bytes of a request.
        body_seconds: The most time for them to arrive.
        rule: The most characters of a rule.
        spec: The most characters of a specification.
        frames: The most frames of a run.
        preview: The most frames of a preview.
        check_seconds: The most time for the static checks of a specification, all questions together.
        jobs: The most runs that wait or go on at a time.
        streams: The most pages that are told about a run as it goes on; others ask again and again.
        waiting: The most requests that wait for one another, where only one can be worked on at a time.
    """

    body: int = 256 * 1024
    body_seconds: float = 20.0
    rule: int = 4_000
    spec: int = 20_000
    frames: int = 10_000
    preview: int = 8
    check_seconds: float = 20.0
    jobs: int = 50
    streams: int = 40
    waiting: int = 8


@dataclass(frozen=True)
class Settings:
    """What a server was started with.

    Attributes:
        out: The folder that new runs go into, a folder each.
        runs: Folders of runs that exist, to look at.
        models: References of models that runs may use, beside the networks that come with the package.
        data: References of data sets that runs may use, beside the built-in world.
        token: What a browser must show to be let in; None on loopback, where no other machine comes in.
        names: Names of this machine that requests may be addressed to, beside those of loopback.
        any_address: Whether requests may be addressed to any numeric address: a server that listens on all of
            them. A page of somebody else can take a name for this machine, never a number.
        limits: How much one request may ask for.

    Raises:
        InputError: A folder of a run does not exist.
    """

    out: Path
    runs: tuple[Path, ...] = ()
    models: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    token: str | None = None
    names: frozenset[str] = frozenset()
    any_address: bool = False
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        for folder in self.runs:
            if not folder.is_dir():
                raise InputError(f"--run must be the folder of a run, got {folder}, which is no folder")

    def admits(self, host: str) -> bool:
        """Return whether a request may be addressed so.

        Args:
            host: The Host header, with or without a port.

        Example:
            >>> settings = Settings(Path("runs"))
            >>> [settings.admits(one) for one in ("localhost:8321", "[::1]:80", "evil.example")]
            [True, True, False]
        """
        name = _without_port(host)
        if name in _LOOPBACK_NAMES or name in self.names:
            return True
        try:
            return self.any_address and bool(ip_address(name))
        except ValueError:
            return False


def _without_port(host: str) -> str:
    name = host.strip().lower()
    if name.startswith("[") and "]" in name:
        return name[1:].partition("]")[0]
    return name.partition(":")[0]
