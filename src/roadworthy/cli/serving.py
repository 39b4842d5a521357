"""``roadworthy serve``: the local web page."""

from __future__ import annotations

import secrets
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roadworthy.cli._console import console, examples, print_json
from roadworthy.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable

    from roadworthy.web.settings import Settings


EXAMPLES = examples(
    "roadworthy serve",
    "roadworthy serve --run rules-out --run suite-out",
    "roadworthy serve --model onnx:net.onnx --data camvid:path --port 0",
    "roadworthy serve --host 0.0.0.0 --name testbench.local",
)
PORT = 8321
_TRIED = 20  # ports after the usual one


def serve(
    run: Annotated[
        list[Path] | None,
        typer.Option(metavar="FOLDER", help="A run, drives or a study to look at; repeatable."),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL",
            help="A model that runs may use, beside those that come with Roadworthy; repeatable.",
        ),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data",
            "-d",
            metavar="DATA",
            help="Data that runs may use, beside the built-in world: name:path; repeatable.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where runs started on the page go.")] = Path(
        "roadworthy-runs"
    ),
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="The address to listen on; this machine alone by default.")
    ] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(
            metavar="N", help=f"The port; any free one with 0. Left out, {PORT} or the next free one."
        ),
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A name under which other machines reach this one; repeatable."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Write the address as one JSON document, then serve.")
    ] = False,
) -> None:
    """Serve the web page: write a rule, try it on a few frames, run it, look at what violates it.

    It listens on this machine alone. With --host it is open to others, and then asks for the token that is
    part of the printed address. Nothing but the declared models and data can be run, and nothing but files of
    the runs is served. Ctrl+C ends it; a run that goes on is stopped, and can go on later.
    """
    settings, listening = _prepared(run or [], model or [], data or [], out, host, port, name or [])
    with listening:
        address = _address(host, listening.getsockname()[1], settings.token)

        def announce() -> None:
            if as_json:
                print_json({"address": address, "token": settings.token, "out": str(out)})
            else:
                _print_address(address, open_to_others=settings.token is not None)

        _serve(settings, listening, announce)


def _print_address(address: str, *, open_to_others: bool) -> None:
    shell = console()
    shell.print(f"Roadworthy is at [bold]{address}[/bold]", soft_wrap=True)
    if open_to_others:
        shell.print("Other machines can reach it. Whoever has this address can start runs.", style="yellow")
    shell.print("Ctrl+C ends it.", style="dim")


def _prepared(
    runs: list[Path],
    models: list[str],
    data: list[str],
    out: Path,
    host: str,
    port: int | None,
    names: list[str],
) -> tuple[Settings, socket.socket]:
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(error.name or "fastapi", extra="web", purpose="serve the web page") from error
    from roadworthy.web.settings import Settings, is_loopback

    near = is_loopback(host)
    known = {one.lower() for one in names}
    if not near:
        known |= {host.lower(), socket.gethostname().lower()}
    settings = Settings(
        out,
        tuple(runs),
        tuple(models),
        tuple(data),
        token=None if near else secrets.token_urlsafe(24),
        names=frozenset(known),
        any_address=not near,
    )
    return settings, _listening(host, port)


def _listening(host: str, port: int | None) -> socket.socket:
    """Return a socket that listens: on the port that is asked for, or on the first free one.

    Raises:
        InputError: The address is not one of this machine, or the port is taken.
    """
    if port is not None and not 0 <= port <= 65535:
        raise InputError(f"--port must be from 0 to 65535, got {port}")
    wanted = range(PORT, PORT + _TRIED) if port is None else [port]
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for one in wanted:
        found = socket.socket(family, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((host, one))
            found.listen(128)
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


def _address(host: str, port: int, token: str | None) -> str:
    shown = socket.gethostname() if host in ("0.0.0.0", "::") else host
    shown = f"[{shown}]" if ":" in shown else shown
    return f"http://{shown}:{port}/" + (f"?token={token}" if token else "")


def _serve(settings: Settings, listening: socket.socket, announce: Callable[[], None]) -> None:
    """Serve until Ctrl+C; where it is, is told when it answers, and a Ctrl+C from then on ends it."""
    import uvicorn

    from roadworthy.web.app import create_app

    config = uvicorn.Config(
        create_app(settings),
        log_level="warning",
        # A page that watches a run keeps its line open; it must not keep the server from ending.
        timeout_graceful_shutdown=2,
        server_header=False,
        ws="none",
    )

    class Announcing(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            # Not before: an interrupt that comes while libraries are loaded may be lost in them.
            announce()

    Announcing(config).run(sockets=[listening])
