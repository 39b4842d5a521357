"""A process of its own: for files that somebody brought, and for what must not hold up the page.

A network or a film can make the library that reads it crash, or fill the memory. The process,
``python -m roadworthy.web.apart``, has little of both, is ended when it takes too long, and answers one line
of JSON with one line of JSON, which can harm nobody.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from roadworthy._starting import spare_torch
from roadworthy.datasets import load
from roadworthy.datasets.summary import DatasetSummary, spread_frames
from roadworthy.errors import InputError, RoadworthyError
from roadworthy.images import encode_image
from roadworthy.models import history_of, load_model
from roadworthy.models.description import draft_description
from roadworthy.models.network import Network, UndescribedError
from roadworthy.models.onnx import files_of
from roadworthy.report import frame_sheet, prediction_sheet
from roadworthy.runs.model_notes import first_look
from roadworthy.web.jobs.asks import read_ask
from roadworthy.web.pages import PictureCache
from roadworthy.web.previews import preview
from roadworthy.web.showing import CLOSER
from roadworthy.web.spec_text import statically_checked
from roadworthy.web.working import Progress

_MEMORY, _WRITTEN, _LONGEST_LINE = 8 * 2**30, 128 * 2**20, 64 * 2**20  # bytes
_SHOWN = 4  # frames
_LITTLE = {"OMP_NUM_THREADS": "1", "ROADWORTHY_THREADS": "1", "MALLOC_ARENA_MAX": "2"}


class ProcessApart:
    """A process that answers, one question after the other.

    It is started when it is first needed. One that takes too long, or whose answer nobody waits for any more,
    is ended, and the next question gets a new one.

    Args:
        seconds: The most time for one answer.
        once: Whether each question gets a new one in any case.
    """

    def __init__(self, seconds: float, *, once: bool = False) -> None:
        self.seconds = seconds
        self.once = once
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()

    async def ask(self, what: str, **given: Any) -> Any:
        """Return what it finds out.

        Args:
            what: One of `_DOORS`.
            given: What it is asked about, as JSON can hold it.

        Raises:
            InputError: It says why it finds nothing, takes too long, or ends without a word.
        """
        async with self._turn:
            try:
                answer = await asyncio.wait_for(self._asked({"what": what, **given}), self.seconds)
            except BaseException as error:
                await self.close()
                if isinstance(error, TimeoutError):
                    raise InputError(f"there is no answer within {self.seconds:g} seconds") from error
                raise
            if self.once:
                await self.close()
        if "error" in answer:
            raise InputError(answer["error"])
        return answer["found"]

    async def _asked(self, ask: dict[str, Any]) -> dict[str, Any]:
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "roadworthy.web.apart"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                limit=_LONGEST_LINE,
                env=os.environ | _LITTLE,
            )
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        line = b""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError, ValueError):
            process.stdin.write(json.dumps(ask).encode() + b"\n")
            await process.stdin.drain()
            line = await process.stdout.readline()
        if not line:
            raise InputError("it crashed, or took too much memory: what it read is damaged or too large")
        answer: dict[str, Any] = json.loads(line)
        return answer

    async def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            if process.stdin is not None:
                process.stdin.close()
            await process.wait()


def pictured(found: Mapping[str, Any], pictures: PictureCache) -> dict[str, Any]:
    """Return what a preview is, and keep its pictures."""
    for one in found["pictures"]:
        pictures.keep(b64decode(one))
    shown: dict[str, Any] = found["shown"]
    return shown


def _network(file: str, name: str, sections: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return what a network is and answers, or what is to be asked of it."""
    path = Path(file)
    for one in files_of(path)[1:]:
        if not one.resolve().is_relative_to(path.resolve().parent):
            raise InputError(f"its weights lie in another folder: {one.name}")
    try:
        system = load_model(f"onnx:{file}", name=name, **(sections or {}))
    except UndescribedError as error:
        draft = yaml.safe_load(draft_description("onnx:net.onnx", error.runtime))
        asked = {key: draft[key] or {} for key in ("input", "output")}
        told = {
            "input": str(error.runtime.input or ""),
            "outputs": [str(one) for one in error.runtime.outputs],
        }
        return {**told, "kind": "models", "asked": asked}
    assert isinstance(system, Network)
    data = load("world", count=_SHOWN, history=history_of(system))
    frames = [data[number] for number in range(_SHOWN)]
    look = first_look(system, data, frames)
    known = system.recognised
    signals = list(getattr(system.output, "signals", ()))
    return {
        **{key: look.document.get(key) for key in ("input", "answers", "notes")},
        "kind": "models",
        "task": system.task,
        "signals": signals,
        "recognised": known.what if known else "",
        "sections": sections or (dict(known.sections) if known else {}),
        "picture": _encoded(prediction_sheet(frames, look.answers, title=name)),
    }


def _frames(reference: str) -> dict[str, Any]:
    """Return how many frames data has, what is known of them, and what they look like."""
    data = load(reference)
    frames, _ = spread_frames(data, _SHOWN, lambda indices, _: indices)
    has = [name for name, number in DatasetSummary.of(frames).has.items() if number]
    scale = min(1.0, 480 / max(one.width for one in frames))
    sheet = frame_sheet(frames, 2, overlays=(), scale=scale)
    size = f"{frames[0].width}x{frames[0].height}"
    return {"kind": "data", "frames": len(data), "size": size, "has": has, "picture": _encoded(sheet)}


def _encoded(image: NDArray[np.uint8]) -> str:
    return b64encode(encode_image(image, ".jpg")).decode()


def _pictures_of(show: Callable[..., dict[str, Any]], ask: object, given: object) -> dict[str, Any]:
    pictures = PictureCache()
    shown = show(read_ask(ask), given, pictures)
    return {"shown": shown, "pictures": [b64encode(one).decode() for one in pictures.all()]}


_DOORS: Mapping[str, Callable[..., dict[str, Any]]] = {
    "network": _network,
    "frames": _frames,
    "preview": partial(_pictures_of, preview),
    **{what: partial(_pictures_of, partial(show, progress=Progress())) for what, show in CLOSER.items()},
    "check": statically_checked,
}


def main() -> None:
    """Answer lines until there are no more."""
    spare_torch()
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_FSIZE, (_WRITTEN, _WRITTEN))
    # Whatever a library prints must not stand among the answers.
    with os.fdopen(os.dup(1), "w", buffering=1) as out:
        os.dup2(2, 1)
        for line in sys.stdin:
            ask = json.loads(line)
            try:
                answer: dict[str, Any] = {"found": _DOORS[ask.pop("what")](**ask)}
            except (RoadworthyError, OSError, MemoryError) as error:
                answer = {"error": str(error) or type(error).__name__}
            out.write(json.dumps(answer, default=str) + "\n")


if __name__ == "__main__":
    main()
