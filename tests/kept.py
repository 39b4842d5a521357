"""Documents, figures and pictures as they are meant to be: what changes them unasked is noticed.

After a change that was meant, ``KEEP=1 python -m pytest`` with the test keeps what is made now; read the
difference before it is committed, and look at the pictures.
"""

from __future__ import annotations

import ast
import base64
import json
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import Collection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.spines import Spine
from matplotlib.text import Annotation, Text
from matplotlib.ticker import FixedLocator
from numpy.typing import NDArray

import roadworthy

SCALE = 50
FEW = 24  # numbers that are kept one by one
NEAR = 0.5  # grey levels in the mean of a row or column: other processors round single pixels otherwise


def as_kept(file: Path, text: str) -> None:
    """Check a document against the one that is kept, long numbers to nine digits."""
    if os.environ.get("KEEP"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, "utf-8")
    kept = _rounded(file.read_text("utf-8")).splitlines()
    assert _rounded(text).splitlines() == kept, f"{file.name} is not as it is kept"


def _rounded(text: str) -> str:
    """Return a text without the last digits of its numbers, which other processors round otherwise."""
    # What is left of a sum that is 0 is all last digits.
    text = re.sub(r"-?\d(\.\d+)?e-(1[4-9]|[2-9]\d)\b", "0", text)
    return re.sub(r"\d+\.\d{10,}(e[+-]\d+)?", lambda number: f"{float(number[0]):.9g}", text)


def defaults_of(room: str) -> str:
    """Return what the public functions and records of a room do when nothing is said."""
    root = Path(roadworthy.__file__).parent / room
    lines = []
    for file in sorted(root.rglob("*.py")):
        for name, node in _public(ast.parse(file.read_text("utf-8")), file.relative_to(root).as_posix()):
            if isinstance(node, ast.AnnAssign):
                lines.append(f"{name} = {ast.unparse(node.value)}" if node.value is not None else "")
                continue
            given = node.args
            plain = zip([*given.posonlyargs, *given.args][::-1], given.defaults[::-1], strict=False)
            named = zip(given.kwonlyargs, given.kw_defaults, strict=True)
            told = [(one.arg, default) for one, default in (*[*plain][::-1], *named) if default is not None]
            lines += [f"{name}({one} = {ast.unparse(default)})" for one, default in told]
    return "\n".join(filter(None, lines)) + "\n"


def _public(node: ast.AST, place: str) -> Iterator[tuple[str, Any]]:
    """Yield public functions, methods and fields of records, however deep they stand in classes."""
    for one in ast.iter_child_nodes(node):
        if isinstance(one, ast.FunctionDef) and (not one.name.startswith("_") or one.name == "__init__"):
            yield f"{place}:{one.name}", one
        elif isinstance(one, ast.ClassDef) and not one.name.startswith("_"):
            yield from _public(one, f"{place}:{one.name}")
        elif isinstance(one, ast.AnnAssign) and isinstance(node, ast.ClassDef):
            yield f"{place}.{ast.unparse(one.target)}", one


def drawn_as_kept(file: Path, pictures: Mapping[str, NDArray[np.uint8]]) -> None:
    """Check pictures against the profiles that are kept: the mean of each row and of each column."""
    profiles = {name: _profile(picture) for name, picture in pictures.items()}
    if os.environ.get("KEEP"):
        lines = [f"{json.dumps(name)}: {json.dumps(_packed(one))}" for name, one in profiles.items()]
        file.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    kept = {name: _unpacked(one) for name, one in json.loads(file.read_text("utf-8")).items()}
    assert {name: one.shape for name, one in profiles.items()} == {
        name: one.shape for name, one in kept.items()
    }
    apart = {name: float(np.abs(one - kept[name]).max()) for name, one in profiles.items()}
    assert {name: far for name, far in apart.items() if far > NEAR} == {}


def _profile(picture: NDArray[np.uint8]) -> NDArray[np.float64]:
    grey = picture @ np.array([0.2, 0.5, 0.3])  # colours that change places are seen
    return np.concatenate([grey.mean(1), grey.mean(0), picture.mean((0, 1))])


def _packed(profile: NDArray[np.float64]) -> str:
    return base64.b64encode(zlib.compress(np.rint(profile * SCALE).astype("<i2").tobytes(), 9)).decode()


def _unpacked(packed: str) -> NDArray[np.float64]:
    return np.frombuffer(zlib.decompress(base64.b64decode(packed)), "<i2") / SCALE


def described(figure: Figure) -> str:
    """Return what is drawn in a figure, a line for each part."""
    lines = [f"figure {_numbers(figure.get_size_inches())} inches"]
    lines += [f"  {line}" for part in (*figure.texts, *figure.legends) for line in _part(part)]
    if figure._suptitle is not None:  # type: ignore[attr-defined]
        lines += [f"  title {line}" for line in _part(figure._suptitle)]  # type: ignore[attr-defined]
    for axes in figure.axes:
        lines += [f"axes {line}" if number == 0 else f"  {line}" for number, line in enumerate(_axes(axes))]
    return "\n".join(lines) + "\n"


def _axes(axes: Axes) -> Iterator[str]:
    titles = [axes.get_title(side) for side in ("left", "center", "right")]
    yield f"{'|'.join(titles)} x: {axes.get_xlabel()!r} y: {axes.get_ylabel()!r}"
    sizes = _numbers([one.get_fontsize() for one in (axes._left_title, axes.title, axes.xaxis.label)])  # type: ignore[attr-defined]
    yield f"from {_numbers(axes.get_xlim())} and {_numbers(axes.get_ylim())}, {axes.get_aspect()}, {sizes}"
    yield f"scales {axes.get_xscale()} {axes.get_yscale()}, shown {axes.axison} {axes.get_visible()}"
    for axis in (axes.xaxis, axes.yaxis):
        if type(axis.get_major_locator()) is FixedLocator and axis.get_ticklabels():
            names = [(one.get_text(), one.get_fontsize()) for one in axis.get_ticklabels()]
            yield f"ticks {_numbers(axis.get_ticklocs())} {names}"
    for part in axes.get_children():
        if not isinstance(part, Text | Spine) or part in axes.texts:
            yield from _part(part)


def _part(part: Artist) -> Iterator[str]:
    if isinstance(part, Text):
        place: Any = (*part.xy, *part.xyann) if isinstance(part, Annotation) else part.get_position()
        sides = f"{part.get_horizontalalignment()} {part.get_verticalalignment()}"
        style = f"{part.get_fontsize():g} {sides} {part.get_zorder():g}"
        under = part.get_bbox_patch()
        on = f" on {_patch(under)}" if under is not None else ""
        yield f"text {part.get_text()!r} at {_numbers(place)} {_color(part.get_color())} {style}{on}"
    elif isinstance(part, Legend):
        words = [(one.get_text(), one.get_fontsize()) for one in part.get_texts()]
        yield f"legend {words} at {part._loc} {part._ncols} {part.get_frame_on()}"  # type: ignore[attr-defined]
        for handle in part.legend_handles:
            if handle is not None:
                yield from (f"  {line}" for line in _part(handle))
    elif isinstance(part, Line2D):
        places = f"{_numbers(part.get_xdata())} / {_numbers(part.get_ydata())}"
        dashes = part._unscaled_dash_pattern  # type: ignore[attr-defined]
        style = f"{part.get_linewidth():g} {dashes} {part.get_marker()} {part.get_markersize():g}"
        yield f"line {places} {_color(part.get_color())} {style} {part.get_zorder():g} {part.get_label()}"
    elif isinstance(part, Rectangle):
        yield f"rectangle {_patch(part)} {_numbers((*part.get_xy(), part.get_width(), part.get_height()))}"
    elif isinstance(part, Patch):
        yield f"patch {_patch(part)} {_numbers(part.get_path().vertices)}"
    elif isinstance(part, AxesImage):
        array = np.asarray(part.get_array(), float)
        shades = f"{np.nanmean(array):.4g} {part.get_cmap().name} {_numbers(part.get_clim())}"
        yield f"image {array.shape} {_numbers(part.get_extent())} {shades} {part.get_interpolation()}"
    elif isinstance(part, Collection):
        values = part.get_array()
        colors = [_color(one) for one in (*part.get_edgecolor(), *part.get_facecolor())]
        if values is not None:
            colors = [part.get_cmap().name, _numbers(np.asarray(values))]
        paths = [path.vertices for path in part.get_paths()]
        places = f"{len(paths)}: {_numbers(np.concatenate(paths) if paths else [])}"
        yield f"collection {places} at {_numbers(np.asarray(part.get_offsets()))} {colors}"
        yield f"  {_numbers(part.get_linewidth())} {part.get_alpha()}"


def _patch(patch: Patch) -> str:
    filled = _color(patch.get_facecolor()) if patch.get_fill() else "open"
    return f"{filled} {_color(patch.get_edgecolor())} {patch.get_linewidth():g} {patch.get_linestyle()}"


def _color(color: Any) -> str:
    return (
        str(color) if isinstance(color, str) and color in ("none", "auto") else to_hex(color, keep_alpha=True)
    )


def _numbers(values: Any) -> str:
    numbers = np.ravel(np.asarray(values, float)) + 0.0
    if len(numbers) > FEW:
        weighted = float(np.nansum(numbers * np.arange(len(numbers))))  # their order is seen
        numbers = np.array([len(numbers), numbers[0], numbers[-1], np.nanmean(numbers), weighted])
    return " ".join(f"{value:.4g}" for value in numbers)
