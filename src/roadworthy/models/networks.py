"""Public networks by import: known by the SHA-256 of their files, kept in a folder of the user, used by name.

None of them comes with the package. `import_files` copies files that are known into the folder and writes
their description and card; from then on ``load_model("yolox-nano")`` opens them. What they answer with says
their task: a detector with `Boxes`, a segmenter with a `LabelMap`, a depth network with `InverseDepth`. SAM 2
and MI-GAN take more than an image: `roadworthy.models.prompted` opens them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from roadworthy import _files
from roadworthy._frozen import FrozenDict
from roadworthy.errors import InputError, UnknownNameError, suggest

_FILE = Path(__file__).with_name("networks.yaml")
_CARD, _DESCRIPTION = "card.json", "model.yaml"


@dataclass(frozen=True)
class PublicNetwork:
    """A network that others have published.

    Attributes:
        name: What it is used by.
        title: What its makers call it.
        does: What it is for, in words.
        license: Its terms of use.
        source: Where it comes from.
        get: How to get its files.
        files: The SHA-256 of each of its files, by name.
        describe: Its ``model.yaml``; empty where it takes more than an image.
        input: What it takes, in words, where there is no description.
        output: What it gives, likewise.
        opened_by: What opens it, likewise.
    """

    name: str
    title: str
    does: str
    license: str
    source: str
    get: str
    files: Mapping[str, str]
    describe: Mapping[str, Any] = field(default_factory=FrozenDict)
    input: str = ""
    output: str = ""
    opened_by: str = "load_model"

    @property
    def folder(self) -> Path:
        """Where its files lie once they are imported."""
        return networks_folder() / self.name

    @property
    def missing(self) -> tuple[str, ...]:
        """The files that are still to be imported."""
        return tuple(name for name in self.files if not _files.is_file(self.folder / name))

    def card(self) -> dict[str, Any]:
        """Return what people should know of it, for a file."""
        return {key: value for key, value in asdict(self).items() if value}


@cache
def public_networks() -> Mapping[str, PublicNetwork]:
    """Return the public networks that are known, by name.

    Example:
        >>> public_networks()["yolox-nano"].license
        'Apache-2.0'
    """
    # Imported here so that a model that is named by its file does not pay for YAML.
    import yaml

    entries = yaml.safe_load(_FILE.read_text("utf-8"))
    records = {name: _files.as_record(PublicNetwork, {"name": name, **one}) for name, one in entries.items()}
    return FrozenDict(records)


def networks_folder() -> Path:
    """Return where imported networks are kept.

    It is what ROADWORTHY_NETWORKS says, or the folder ``roadworthy/networks`` among the user's data: where
    XDG_DATA_HOME says, or ``~/.local/share``.
    """
    if told := os.environ.get("ROADWORTHY_NETWORKS"):
        return Path(told).expanduser()
    # The standard has it that a relative path counts for nothing.
    home = Path(os.environ.get("XDG_DATA_HOME", ""))
    return (home if home.is_absolute() else Path.home() / ".local/share") / "roadworthy/networks"


def imported_folder(name: str) -> Path | None:
    """Return the folder of a public network that has been imported; None for what is no such name.

    Raises:
        UnknownNameError: It is known, but not imported; says how to get it.
        InputError: It takes more than an image; says what opens it.
    """
    if name not in public_networks():
        return None
    network = public_networks()[name]
    check_imported(network)
    if not network.describe:
        raise InputError(
            f"{name} {network.does}: it takes {network.input}, so it is no system under test by itself; "
            f"open it with {network.opened_by}"
        )
    return network.folder


def check_imported(network: PublicNetwork) -> None:
    """Complain about a network whose files are not all there.

    Raises:
        UnknownNameError: Some are missing; says how to get them.
    """
    if network.missing:
        raise UnknownNameError(
            f"{network.name} is not imported ({', '.join(network.missing)} missing in {network.folder}): get "
            f"it ({network.get}), then roadworthy networks import FILE"
        )


def known_file(path: Path) -> tuple[PublicNetwork, str] | None:
    """Return the public network that a file belongs to, and what the file is called there; None if unknown.

    Raises:
        InputError: The file cannot be read.
    """
    digest = _digest(path, _files.stamp_of([path]))
    for network in public_networks().values():
        for name, expected in network.files.items():
            if digest == expected:
                return network, name
    return None


@cache
def _digest(path: Path, stamp: str) -> str:  # noqa: ARG001 - it says which content is meant
    return _files.sha256_of(path)


def import_files(paths: Iterable[Path]) -> list[PublicNetwork]:
    """Copy files of public networks into the folder of the user, and return the networks, each once.

    The description and the card of a network are written when its last file is there.

    Raises:
        InputError: A file is none that is known, or called like one and something else.
    """
    found: dict[str, PublicNetwork] = {}
    for path in paths:
        if (known := known_file(path)) is None:
            raise InputError(_unknown(path))
        network, name = known
        _files.make_writable(network.folder)
        with _files.replacing(network.folder / name) as unfinished:
            shutil.copyfile(path, unfinished)
        found[network.name] = network
    for network in found.values():
        if not network.missing:
            _describe(network)
    return list(found.values())


def _describe(network: PublicNetwork) -> None:
    import yaml

    _files.write_json(network.folder / _CARD, network.card())
    if network.describe:
        text = yaml.safe_dump({"name": network.name, **network.describe}, sort_keys=False, allow_unicode=True)
        _files.write_text(network.folder / _DESCRIPTION, text)


def _unknown(path: Path) -> str:
    every = {name: network for network in public_networks().values() for name in network.files}
    if network := every.get(path.name):
        return (
            f"{path} is called like the file of {network.title}, but its SHA-256 is "
            f"{_files.sha256_of(path)}, not {network.files[path.name]}: it is another version, or damaged on "
            f"its way. Get it again ({network.get}), or bring it as it is, with a model.yaml"
        )
    return (
        f"{path} is no public network that is known here: {suggest(path.name, every)}. Bring it as it is: "
        f"`roadworthy models try {path}` recognises many, and prints a model.yaml to begin with for others"
    )
