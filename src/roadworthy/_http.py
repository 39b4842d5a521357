"""Posting to an HTTP endpoint: a limited time, a limited answer, and repetition of what may go well later."""

from __future__ import annotations

import http.client
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from roadworthy.errors import InputError, check_number

LONGEST_ANSWER = 512 * 2**20
"""Bytes; a label map of a large image as JSON stays far below it."""
_UNQUOTED = "%/?:@!$&'()*+,;=~"


class NoAnswer(Exception):  # noqa: N818 - it is told to the user as something else
    """Nothing was answered, however often it was asked; says why."""


class UnusableAnswer(Exception):  # noqa: N818 - it is told to the user as something else
    """What was answered will be the same the next time; says what it was."""


class _Again(Exception):  # noqa: N818 - never leaves this module
    """What may be well the next time."""


@dataclass(frozen=True)
class Endpoint:
    """Where to post to, and for how long to wait.

    Attributes:
        url: The address.
        timeout: Seconds for one request, from connecting to the last byte of the answer.
        retries: How often a request is repeated that timed out, found no server or was answered with 5xx.
        backoff: Seconds before the first repetition; each further one waits twice as long.
        longest: Bytes that an answer may have.
    """

    url: str
    timeout: float = 10.0
    retries: int = 2
    backoff: float = 0.25
    longest: int = LONGEST_ANSWER

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
            (parts.hostname or "").encode("idna")  # as whoever looks it up will do
        except ValueError:
            usable = False
        if not usable:
            raise InputError(f"expected an address such as http://127.0.0.1:8000/predict, got {self.url!r}")
        check_number("timeout", self.timeout, above=0)
        if self.retries < 0 or self.backoff < 0:
            raise InputError(f"retries and backoff must be 0 or more, got {self.retries}, {self.backoff}")

    def get(self) -> bytes:
        """Return what is answered with status 200 to who sends nothing; raises as `post` does."""
        return self.post(None, {})

    def post(self, body: bytes | None, headers: Mapping[str, str]) -> bytes:
        """Return what is answered with status 200.

        Raises:
            NoAnswer: No server answered in time; says how often it was tried.
            UnusableAnswer: It answered with another status, or with too much.
        """
        for attempt in range(self.retries + 1):
            if attempt:
                time.sleep(self.backoff * 2 ** (attempt - 1))
            try:
                return self._asked(body, headers)
            except _Again as reason:
                problem = str(reason)
        tries = f"{self.retries + 1} tries" if self.retries else "1 try"
        raise NoAnswer(f"{problem} ({tries})")

    def _asked(self, body: bytes | None, headers: Mapping[str, str]) -> bytes:
        try:
            status, answer = self._post(body, headers)
        except TimeoutError:
            raise _Again(f"{self.url} gave no answer within {self.timeout:g} s") from None
        except ConnectionRefusedError:
            raise _Again(f"no server listens at {self.url}: connection refused") from None
        except (OSError, http.client.HTTPException) as error:
            reason = str(error) or type(error).__name__
            raise _Again(f"cannot reach {self.url} ({reason})") from None
        if status >= 500:
            raise _Again(f"{self.url} answered with status {status}: {excerpt(answer)}")
        if status != 200:
            raise UnusableAnswer(f"{self.url} answered with status {status}: {excerpt(answer)}")
        return answer

    def _post(self, body: bytes | None, headers: Mapping[str, str]) -> tuple[int, bytes]:
        parts = urlsplit(self.url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(str(parts.hostname), parts.port, timeout=self.timeout)
        end = time.monotonic() + self.timeout
        try:
            path = quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), _UNQUOTED)
            connection.connect()
            # Kept: the connection forgets its socket as soon as the server says that it will close it.
            sock = connection.sock
            _wait(sock, end)
            connection.request("GET" if body is None else "POST", path, body, dict(headers))
            _wait(sock, end)
            response = connection.getresponse()
            with response:
                # In parts: a server that sends a byte now and then would never run into a socket's timeout.
                answer = bytearray()
                while part := response.read1(2**20):
                    answer += part
                    if len(answer) > self.longest:
                        raise UnusableAnswer(f"{self.url} answered with more than {self.longest} bytes")
                    _wait(sock, end)
                left = response.length
            if left:
                raise http.client.IncompleteRead(bytes(answer), left)
            return response.status, bytes(answer)
        finally:
            connection.close()


def _wait(sock: socket.socket, end: float) -> None:
    """Let the next sending or reading take no longer than the time that is left."""
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError
    # Since Python 3.12 it is closed as soon as all is read.
    if sock.fileno() >= 0:
        sock.settimeout(left)


def excerpt(answer: bytes) -> str:
    """Return the beginning of an answer, for messages.

    Example:
        >>> excerpt(b"no such page")
        "'no such page'"
    """
    text = answer[:200].decode("utf-8", errors="replace")
    return repr(text) + (" …" if len(answer) > 200 else "")
