"""Static checks of specifications in a process of their own, so that z3 never holds up the page.

Run as a program it answers one line of JSON with one line of JSON, for as long as lines come.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from typing import Any

_MODULE = "roadworthy.web.checking"
_LONGEST_LINE = 8 * 1024 * 1024


class CheckProcess:
    """A process that checks specifications, one after the other.

    It is started when it is first needed. A check that takes too long, or that nobody waits for any more,
    ends with the process, and the next one gets a new one.

    Args:
        seconds: The most time for one check.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()

    async def check(self, text: str) -> dict[str, Any]:
        """Return what the static checks of a specification find out, or why there is no answer."""
        async with self._turn:
            try:
                return await asyncio.wait_for(self._asked(text), self.seconds)
            except TimeoutError:
                await self.close()
                return {
                    "state": "unknown",
                    "reason": f"No answer within {self.seconds:g} seconds. `roadworthy bbsl check` may take "
                    "longer: --seconds says how long.",
                }
            except asyncio.CancelledError:
                await self.close()
                raise

    async def _asked(self, text: str) -> dict[str, Any]:
        process = self._process
        if process is None or process.returncode is not None:
            process = self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                _MODULE,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                limit=_LONGEST_LINE,
            )
        assert process.stdin is not None
        assert process.stdout is not None
        # A question takes at most a quarter of the time; the rest is for the others.
        ask = {"text": text, "seconds": self.seconds / 4}
        try:
            process.stdin.write(json.dumps(ask).encode() + b"\n")
            await process.stdin.drain()
            line = await process.stdout.readline()
        except (BrokenPipeError, ConnectionResetError):
            line = b""
        if not line:
            await self.close()
            return {
                "state": "unknown",
                "reason": "The check ended without an answer. Change something to try again.",
            }
        found: dict[str, Any] = json.loads(line)
        return found

    async def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        if process.stdin is not None:
            process.stdin.close()
        await process.wait()


def answer(ask: dict[str, Any]) -> dict[str, Any]:
    """Return what the static checks of a specification find out.

    Example:
        >>> text = "exfunction v(): bb endexfunction case far PROJ_y(v()) > [0, 100] endcase"
        >>> answer({"text": text, "seconds": 5})["properties"][0]["status"]
        'refuted'
    """
    from roadworthy.errors import InputError
    from roadworthy.web.spec_text import checked, typed_spec

    try:
        spec = typed_spec(ask["text"])
        return {"state": "checked", **checked(spec, spec.check(seconds=ask["seconds"]))}
    except InputError as error:
        return {"state": "unchecked", "reason": str(error)}


def main() -> None:
    """Answer lines until there are no more."""
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
