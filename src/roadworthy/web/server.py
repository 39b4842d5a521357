"""Starting the server of the web page: what it may use, the port that it listens on, and its address."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING

from roadworthy.errors import InputError, MissingExtraError, check_number
from roadworthy.web.settings import ServerSettings, is_loopback

if TYPE_CHECKING:
    import uvicorn

PORT = 8321
_TRIED = 20  # ports after the usual one
_BACKLOG = 128  # connections that wait to be taken in


def settings_for(
    host: str,
    out: Path,
    *,
    runs: Collection[Path] = (),
    models: Collection[str] = (),
    data: Collection[str] = (),
    labels: Collection[str] = (),
    under: Collection[Path] = (),
    names: Collection[str] = (),
) -> ServerSettings:
    """Return what a server on an address is started with; one that others can reach has a token.

    Args:
        host: The address to listen on.
        out: Where runs started on the page go.
        runs: Folders to look at.
        models: Models that runs may use, beside those that come with Roadworthy.
        data: Data that runs may use, beside the built-in world.
        labels: Who may label frames: folders of maps, networks, and folders that hold such.
        under: Folders below which models, data and suites may be chosen on the page.
        names: Names under which other machines reach this one.

    Raises:
        MissingExtraError: The libraries of the server are not installed.
        InputError: Something cannot be used.
    """
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(error.name or "fastapi", extra="web", purpose="serve the web page") from error
    near = is_loopback(host)
    known = {one.lower() for one in names}
    if not near:
        known |= {host.lower(), socket.gethostname().lower()}
    return ServerSettings(
        out,
        tuple(runs),
        tuple(models),
        tuple(data),
        tuple(labels),
        tuple(under),
        token=None if near else secrets.token_urlsafe(24),
        names=frozenset(known),
        any_address=not near,
    )


def listening(host: str, port: int | None) -> socket.socket:
    """Return a socket that listens: on the port that is asked for, or on the first free one.

    Raises:
        InputError: The address is not one of this machine, or the port is taken.
    """
    check_number("--port", port, least=0, most=65535)
    wanted = range(PORT, PORT + _TRIED) if port is None else [port]
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for one in wanted:
        found = socket.socket(family, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((host, one))
            found.listen(_BACKLOG)
        except OSError as error:
            found.close()
            if port is not None or one == wanted[-1]:
                raise InputError(
                    f"cannot listen on {host}, port {one}: {error.strerror}; choose another with --port, or "
                    "any free one with --port 0"
                ) from error
        else:
            return found
    raise AssertionError  # the loop returns or raises


def address(host: str, port: int, token: str | None) -> str:
    """Return what to open in a browser."""
    shown = socket.gethostname() if host in ("0.0.0.0", "::") else host
    shown = f"[{shown}]" if ":" in shown else shown
    return f"http://{shown}:{port}/" + (f"?token={token}" if token else "")


def server_for(settings: ServerSettings, announce: Callable[[], None]) -> uvicorn.Server:
    """Return the server of the page; `announce` is called when it answers."""
    import uvicorn

    from roadworthy.web.app import create_app
    from roadworthy.web.connections import Connection

    class Limited(Connection):
        limits = settings.limits

    class Announcing(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            # Not before: an interrupt that comes while libraries are loaded may be lost in them.
            announce()

    config = uvicorn.Config(
        create_app(settings),
        log_level="warning",
        # A page that watches a run keeps its line open; it must not keep the server from ending.
        timeout_graceful_shutdown=2,
        server_header=False,
        # Nobody stands between a browser and this server: whoever says so is not believed.
        proxy_headers=False,
        ws="none",
        http=Limited,
        # As many are taken in at once, and each is one of the files that a process may have open.
        backlog=_BACKLOG,
    )
    return Announcing(config)


def serve(settings: ServerSettings, socket_: socket.socket, announce: Callable[[], None]) -> None:
    """Serve until Ctrl+C; `announce` is called when it answers, and a Ctrl+C from then on ends it."""
    server_for(settings, announce).run(sockets=[socket_])
