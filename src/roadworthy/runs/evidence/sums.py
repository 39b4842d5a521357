"""SHA256SUMS: what every file of a folder hashes to, as `sha256sum -c` reads it, and who says so."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from roadworthy._files import sha256_of
from roadworthy._importing import required
from roadworthy.errors import InputError, told_as

SUMS = "SHA256SUMS"

_LINE = re.compile(r"(?P<slash>\\?)(?P<digest>[0-9a-f]{64}) [ *](?P<path>.+)")


def files_below(folder: Path) -> Iterator[str]:
    """Yield the files below a folder as paths with slashes, in order; without its SHA256SUMS.

    Names that begin with a dot are locks and unfinished files, which say nothing about what was found.
    """
    for path in sorted(folder.rglob("*"), key=lambda one: one.relative_to(folder).parts):
        parts = path.relative_to(folder).parts
        if path.is_file() and parts != (SUMS,) and not any(part.startswith(".") for part in parts):
            yield "/".join(parts)


def sums_text(digests: Mapping[str, str]) -> str:
    """Return the text of SHA256SUMS.

    Example:
        >>> sums_text({"trace.csv": "ab" * 32})[60:].rstrip()
        'abab  trace.csv'
    """
    return "".join(_line(path, digest) for path, digest in digests.items())


def encoded(text: str) -> bytes:
    """Return the bytes of SHA256SUMS; names of files need not be UTF-8."""
    return text.encode("utf-8", "surrogateescape")


def _line(path: str, digest: str) -> str:
    # As sha256sum writes names that would break the line.
    escaped = path.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    mark = "" if escaped == path else "\\"
    return f"{mark}{digest}  {escaped}\n"


def read_sums(path: Path) -> dict[str, str]:
    """Return what a SHA256SUMS says, by the paths in it.

    Raises:
        InputError: It cannot be read, or a line is not of it, or a path leads out of the folder.
    """
    digests: dict[str, str] = {}
    with told_as(InputError, f"cannot read {path}", OSError):
        text = path.read_bytes().decode("utf-8", "surrogateescape")
    for number, line in enumerate(text.removesuffix("\n").split("\n") if text else (), 1):
        if (found := _LINE.fullmatch(line)) is None:
            raise InputError(f"{path}:{number}: expected a SHA-256, two spaces and a path, got {line[:80]!r}")
        name = found["path"]
        if found["slash"]:
            name = re.sub(r"\\(.)", lambda one: {"n": "\n", "r": "\r"}.get(one[1], one[1]), name)
        pure = PurePosixPath(name)
        if pure.is_absolute() or ".." in pure.parts:
            raise InputError(f"{path}:{number}: expected a path inside the folder, got {name!r}")
        if name in digests:
            raise InputError(f"{path}:{number}: {name!r} is listed twice")
        digests[name] = found["digest"]
    return digests


@dataclass(frozen=True, slots=True)
class Differences:
    """How a folder differs from its SHA256SUMS; empty where it does not.

    Attributes:
        changed: Files with other bytes.
        missing: Files that are gone.
        added: Files that are not listed.
    """

    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    added: tuple[str, ...] = ()

    @classmethod
    def of(cls, folder: Path, *, progress: Callable[[int], None] | None = None) -> Differences:
        """Hash everything in a folder again and compare.

        Raises:
            InputError: There is no SHA256SUMS, or it is broken.

        Example:
            >>> import tempfile
            >>> with tempfile.TemporaryDirectory() as name:
            ...     folder = Path(name)
            ...     _ = (folder / "trace.csv").write_text("one")
            ...     _ = (folder / SUMS).write_text(sums_text({"trace.csv": sha256_of(folder / "trace.csv")}))
            ...     _ = (folder / "trace.csv").write_text("two")
            ...     Differences.of(folder)
            Differences(changed=('trace.csv',), missing=(), added=())
        """
        listed = read_sums(folder / SUMS)
        present = dict.fromkeys(files_below(folder))
        changed, missing = [], []
        for number, (path, digest) in enumerate(listed.items(), 1):
            if path not in present:
                missing.append(path)
            elif sha256_of(folder / path) != digest:
                changed.append(path)
            if progress is not None:
                progress(number)
        return cls(tuple(changed), tuple(missing), tuple(one for one in present if one not in listed))


def sign_sums(folder: Path, key: Path) -> bytes:
    """Return the Ed25519 signature of a folder's SHA256SUMS: 64 bytes, which openssl can check as well.

    Args:
        folder: The folder of a bundle, whose files are what SHA256SUMS says.
        key: The file of the private key, PEM.

    Raises:
        InputError: There is no SHA256SUMS, or files differ from it, or the key is none.
        MissingExtraError: The extra `sign` is not installed.
    """
    private = _key(key, "private")
    if not (folder / SUMS).is_file():
        raise InputError(
            f"{folder} has no {SUMS} to sign: write it with `roadworthy evidence bundle {folder}`"
        )
    differences = Differences.of(folder)
    if wrong := [*differences.changed, *differences.missing, *differences.added]:
        raise InputError(f"{folder} is not what its {SUMS} says, so it is not signed: see {wrong[0]}")
    signature: bytes = private.sign((folder / SUMS).read_bytes())
    return signature


def is_signed(folder: Path, signature: bytes, key: Path) -> bool:
    """Return whether a signature is of a folder's SHA256SUMS, by whoever has the private key.

    Args:
        folder: The folder of a bundle.
        signature: The signature.
        key: The file of the public key, PEM.

    Raises:
        InputError: The key is none.
        MissingExtraError: The extra `sign` is not installed.
    """
    public = _key(key, "public")
    from cryptography.exceptions import InvalidSignature

    try:
        public.verify(signature, (folder / SUMS).read_bytes())
    except (InvalidSignature, OSError):
        return False
    return True


def _key(path: Path, kind: str) -> Any:
    """Return an Ed25519 key: the private one signs, the public one verifies."""
    library = required(
        "cryptography.hazmat.primitives.serialization", extra="sign", purpose="sign and verify evidence"
    )
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ed25519

    wanted = f"expected a {kind} Ed25519 key in PEM, which docs/evidence.md says how to make"
    try:
        content = path.read_bytes()
        if kind == "private":
            key = library.load_pem_private_key(content, password=None)
        else:
            key = library.load_pem_public_key(content)
    except OSError as error:
        raise InputError(f"cannot read the key {path}: {error.strerror}") from error
    except TypeError as error:
        raise InputError(
            f"{path} is locked by a password: give an unlocked copy, as `openssl pkey` writes it"
        ) from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise InputError(f"{path} is no key that can be used: {wanted}") from error
    if not isinstance(key, ed25519.Ed25519PrivateKey | ed25519.Ed25519PublicKey):
        raise InputError(f"{path} is a key of another kind: {wanted}")
    return key
