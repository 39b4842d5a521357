"""Draw the pictures of the tutorial and the how-to pages, by their commands. Run with ``make docs``."""

from __future__ import annotations

import contextlib
from pathlib import Path
from tempfile import TemporaryDirectory

from typer.testing import CliRunner

from roadworthy.cli import app
from roadworthy.images import read_image, write_image

DOCS = Path(__file__).resolve().parent
PICTURES = DOCS / "pictures"
SPECIFICATION = DOCS.parent / "examples/bbsl/listing1_distance.bbsl"
SLOWS = "If a pedestrian appears on the roadside, the ego-vehicle should slow down."
WALKER = "If a pedestrian appears on the roadside, the ego-vehicle should slow down at least 30%."
AT_50 = """
functions:
  stoppingDistance:
    stopping_distance: {focal_length: 220, horizon: 68, camera_height: 1.45, speed: 13.9}
"""


def violated(*arguments: str) -> None:
    """Run a command that must find violations."""
    found = CliRunner().invoke(app, list(arguments))
    assert found.exit_code == 1, found.output


def home() -> None:
    """The two worst violations of a plain rule."""
    few = ("-o", "seed=5", "-o", "count=60", "--worst", "2")
    violated("rules", "run", "--model", "dave2", *few, "--rule", SLOWS, "--out", "home")
    write_image(PICTURES / "home.jpg", read_image(Path("home/sheets/rule-1-dave2.png")))


def tutorial() -> None:
    """The worst violations of the tutorial's rule."""
    few = ("-o", "count=20", "--worst", "3")
    violated("rules", "run", "--model", "dave2", *few, "--rule", WALKER, "--out", "brakes")
    write_image(PICTURES / "tutorial-brakes.jpg", read_image(Path("brakes/sheets/rule-1-dave2.png")))


def stopping() -> None:
    """An example of every cell of the table of detections at 50 km/h."""
    Path("at50.yaml").write_text(AT_50, "utf-8")
    data = ("--truth", "world:coast,village", "-o", "count=200", "--bind", "at50.yaml")
    few = ("--allow", "5%", "--out", "tested")
    violated("bbsl", "test", str(SPECIFICATION), *data, "--model", "detector", *few)
    write_image(PICTURES / "howto-stop.jpg", read_image(Path("tested/pictures/cells-iou-0.6.png")))


def main() -> None:
    """Draw all of them."""
    with TemporaryDirectory() as folder, contextlib.chdir(folder):
        home()
        tutorial()
        stopping()


if __name__ == "__main__":
    main()
