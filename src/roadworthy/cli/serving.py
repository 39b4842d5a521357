"""``roadworthy serve``: the local web page."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path

import typer

from roadworthy.cli._answer import Answer
from roadworthy.cli._commands import Group, command
from roadworthy.web import server
from roadworthy.web.settings import ServerSettings

app = typer.Typer(cls=Group)


@dataclass(frozen=True)
class _Serving(Answer):
    """An answer that is given when the page can be opened, and ends when the server does."""

    settings: ServerSettings | None = None
    listening: socket.socket | None = None

    def give(self, *, as_json: bool) -> None:
        assert self.settings is not None
        assert self.listening is not None
        with self.listening:
            server.serve(self.settings, self.listening, lambda: super(_Serving, self).give(as_json=as_json))


@command(app)
def serve(
    run: list[Path] | None = None,
    model: list[str] | None = None,
    data: list[str] | None = None,
    labels: list[str] | None = None,
    under: list[Path] | None = None,
    out: Path = Path("roadworthy-runs"),
    host: str = "127.0.0.1",
    port: int | None = None,
    name: list[str] | None = None,
) -> Answer:
    """Serve the web page: write a rule, try it on a few frames, run it, look at what violates it.

    It listens on this machine alone. With --host it is open to others, and then asks for the token that is
    part of the printed address. Nothing can be used but the declared models, data and labels, and the
    networks and films that are added on the page; nothing is served but files of the runs. Ctrl+C ends it; a
    run in progress stops and can be resumed. With --json it prints its address as one document, then serves.

    Options:
        run (FOLDER): A run, drives or a study to look at; repeatable.
        model (MODEL): A model that runs may use, beside those that come with Roadworthy; repeatable.
        data (-d DATA): Data that runs may use, beside the built-in world: name:path; repeatable.
        labels (WHO): Who may label frames, beside the data, street and imported networks: a folder of maps, a
            network, or a folder in which such lie; repeatable.
        under (FOLDER): Where models, data and suites may be chosen on the page: whatever lies below it;
            repeatable.
        out (FOLDER): Where runs started on the page, and what is added on it, go.
        host (ADDRESS): The address to listen on; this machine alone by default.
        port (N): The port; 0 for any free one. 8321 or the next free one by default.
        name (NAME): A host name of this machine; repeatable.

    Examples:
        roadworthy serve
        roadworthy serve --run rules-out --run suite-out
        roadworthy serve --under nets --under recordings
        roadworthy serve --model onnx:net.onnx --data camvid:path --port 0
        roadworthy serve --data video:dash.mp4 --labels dash-labels --labels segmenter.yaml
        roadworthy serve --host 0.0.0.0 --name testbench.local
    """
    settings = server.settings_for(
        host,
        out,
        runs=run or (),
        models=model or (),
        data=data or (),
        labels=labels or (),
        under=under or (),
        names=name or (),
    )
    listening = server.listening(host, port)
    address = server.address(host, listening.getsockname()[1], settings.token)
    shown = [f"Roadworthy is at {address}"]
    if settings.token is not None:
        shown.append("Other machines can reach it. Whoever has this address can start runs.")
    return _Serving(
        {"address": address, "token": settings.token, "out": str(out)},
        [*shown, "Ctrl+C ends it."],
        settings=settings,
        listening=listening,
    )
