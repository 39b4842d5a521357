"""An image-edit service as a stand-in for a real one: it paints over what a mask marks, by what is around it.

It speaks the two dialects that most services have, so that the engines in service.yaml can be tried:

- ``POST /edit``: a form with the files image and mask and the text prompt; the answer is a PNG file.
- ``POST /v1/images/edits``: JSON with image and mask in base64; the answer is JSON with data[0].b64_json.

Start it with ``python edit_service.py --port 8188``. It listens on this machine alone.
"""

from __future__ import annotations

import argparse
import base64
import json
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import cv2
import numpy as np

LARGEST = 64 * 2**20


def painted(image: bytes, mask: bytes) -> bytes:
    """Return a picture with what the mask marks painted over, as a PNG file."""
    picture, marked = (
        cv2.imdecode(np.frombuffer(data, np.uint8), how)
        for data, how in ((image, cv2.IMREAD_COLOR), (mask, cv2.IMREAD_GRAYSCALE))
    )
    if picture is None or marked is None or picture.shape[:2] != marked.shape:
        raise ValueError("image and mask must be pictures of one size")
    found = cv2.inpaint(picture, np.where(marked > 127, np.uint8(1), np.uint8(0)), 3, cv2.INPAINT_TELEA)
    return cv2.imencode(".png", found)[1].tobytes()


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    def do_POST(self) -> None:
        """Paint, or say what is wrong."""
        body = self.rfile.read(min(int(self.headers.get("Content-Length", 0)), LARGEST))
        try:
            if self.path == "/edit":
                fields = self._form(body)
                self._answer(200, "image/png", painted(fields["image"], fields["mask"]))
            elif self.path == "/v1/images/edits":
                asked = json.loads(body)
                made = painted(*(base64.b64decode(asked[name]) for name in ("image", "mask")))
                answer = {"data": [{"b64_json": base64.b64encode(made).decode()}]}
                self._answer(200, "application/json", json.dumps(answer).encode())
            else:
                self._answer(404, "text/plain", b"there are /edit and /v1/images/edits")
        except (KeyError, TypeError, ValueError) as error:
            self._answer(400, "text/plain", f"{type(error).__name__}: {error}".encode())

    def _form(self, body: bytes) -> dict[str, bytes]:
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        message = BytesParser(policy=HTTP).parsebytes(head + body)
        parts = message.iter_parts()
        return {str(one.get_param("name", header="content-disposition")): _content(one) for one in parts}

    def _answer(self, status: int, kind: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Stay quiet."""


def _content(part: object) -> bytes:
    found = part.get_payload(decode=True)  # type: ignore[attr-defined]
    assert isinstance(found, bytes)
    return found


def server(port: int = 0) -> ThreadingHTTPServer:
    """Return a server on a port of this machine; 0 takes one that is free."""
    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


def main() -> None:
    """Serve until it is stopped."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--port", type=int, default=8188)
    with server(parser.parse_args().port) as running:
        running.serve_forever()


if __name__ == "__main__":
    main()
