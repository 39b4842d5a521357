"""Engines that users bring: what they are asked, and that nothing they do wrong ends a run."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from roadworthy.errors import EngineError, InputError, NotApplicable
from roadworthy.frames import Frame, LabelMap
from roadworthy.transforms import Keeps, read_engines
from roadworthy.transforms.engines import UserEngine
from roadworthy.transforms.engines.backend import Fit
from roadworthy.transforms.engines.commands import ProgramBackend, filled_in
from roadworthy.transforms.operations import (
    AddOperation,
    Engine,
    Operation,
    RemoveOperation,
    ReplaceOperation,
    transform_for,
)

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "engines.yaml"
LINES = RemoveOperation("lane lines")
SUPPORTS = "[{operation: remove, element: line}]"


def engine_of(folder: Path, program: str, more: str = "", words: str = '"{image}", "{output}"') -> UserEngine:
    """An engine that runs a Python program, given as text, on the image and the output."""
    (folder / "program.py").write_text(dedent(program), "utf-8")
    (folder / "engines.yaml").write_text(
        f"engines:\n  mine:\n    command: ['{sys.executable}', program.py, {words}]\n"
        f"{more}    supports: [{{operation: remove, element: line}}]\n",
        "utf-8",
    )
    (engine,) = read_engines(folder / "engines.yaml", allow_commands=True)
    return engine


def reason_of(engine: UserEngine, frame: Frame, operation: Operation = LINES) -> str:
    with pytest.raises((EngineError, NotApplicable)) as caught:
        engine.transform(operation)(frame, 1, measure=False)
    assert getattr(caught.value, "frame", frame.id) == frame.id
    assert isinstance(caught.value, EngineError | NotApplicable)
    return caught.value.reason


COPY = """
    import shutil, sys
    shutil.copy(sys.argv[1], sys.argv[2])
"""


def test_a_command_gives_the_image_and_labels_follow_the_operation(tmp_path: Path, frame: Frame) -> None:
    engine = engine_of(
        tmp_path,
        """
        import sys
        from roadworthy.images import read_image, write_image
        write_image(sys.argv[2], 255 - read_image(sys.argv[1]))
        """,
    )
    assert isinstance(engine, Engine)
    change = transform_for(LINES, [engine])
    assert change.keeps is Keeps.EDITED
    assert change.needs == ()
    changed = change(frame, 1, measure=False)
    assert changed.id == "drive/7~mine(operation=remove, element=lane lines)"
    assert np.array_equal(changed.image, 255 - frame.image)
    assert changed.labels is not None
    assert set(changed.labels.present()) == {"road", "sky"}


def test_a_command_gets_everything_that_it_asks_for(tmp_path: Path, frame: Frame) -> None:
    words = (
        '"{image}", "{labels}", "{output}", "{labels_output}", "{operation}", "{element}", "{seed}", '
        '"{width}", "{height}", "{folder}", "{by}", "{{braces}}"'
    )
    engine = engine_of(
        tmp_path,
        """
        import json, os, pathlib, sys
        import cv2
        image, labels, output, labels_output, *rest = sys.argv[1:]
        ids = cv2.imread(labels, cv2.IMREAD_UNCHANGED)
        note = {"rest": rest, "here": os.getcwd(), "lines": int((ids == 2).sum()), "stdin": sys.stdin.read()}
        pathlib.Path(rest[5], "note.json").write_text(json.dumps(note))
        cv2.imwrite(output, cv2.imread(image))
        ids[ids == 2] = 4
        cv2.imwrite(labels_output, ids)
        """,
        words=words,
    )
    change = engine.transform(LINES)
    assert change.needs == ("labels",)
    changed = change(frame, 1, measure=False)
    import json

    note = json.loads((tmp_path / "note.json").read_text())
    operation, element, seed, width, height, folder, by, braces = note["rest"]
    assert (operation, element, width, height, by, braces) == (
        "remove",
        "lane lines",
        "32",
        "24",
        "",
        "{braces}",
    )
    assert 0 <= int(seed) < 2**31
    assert Path(folder) == tmp_path.resolve()
    assert note["lines"] == (frame.labels.ids == 2).sum()  # type: ignore[union-attr]
    assert note["stdin"] == ""
    # It ran in a folder of its own, which is gone.
    assert Path(note["here"]) != tmp_path
    assert not Path(note["here"]).exists()
    # What it wrote as label map counts: id 4 is the ontology's sidewalk or whatever comes fourth.
    assert changed.labels is not None
    assert (changed.labels.ids == 4).sum() == (frame.labels.ids == 2).sum()  # type: ignore[union-attr]


def test_a_command_is_shown_what_may_change(tmp_path: Path, frame: Frame) -> None:
    engine = engine_of(
        tmp_path,
        """
        import sys
        import cv2
        mask = cv2.imread(sys.argv[2], cv2.IMREAD_UNCHANGED)
        assert mask.ndim == 2 and set(mask.ravel().tolist()) == {0, 255}
        cv2.imwrite(sys.argv[3], cv2.imread(sys.argv[1]) * 0 + mask[..., None])
        """,
        more="    outside: kept\n",
        words='"{image}", "{mask}", "{output}"',
    )
    change = engine.transform(LINES)
    changed, region = change(frame, 1, measure=False), change.region(frame)
    assert frame.labels is not None
    assert (changed.image[frame.labels.mask("line")] == 255).all()
    assert np.array_equal(changed.image[~region], frame.image[~region])
    assert 0 < region.sum() < region.size


def test_the_same_seed_reaches_the_program(tmp_path: Path, frame: Frame) -> None:
    engine = engine_of(
        tmp_path,
        """
        import sys
        from roadworthy.images import read_image, write_image
        write_image(sys.argv[2], read_image(sys.argv[1]) // 2 + int(sys.argv[3]) % 100)
        """,
        words='"{image}", "{output}", "{seed}"',
    )
    change = engine.transform(LINES)
    first, second, other = (change(frame, seed, measure=False).image for seed in (3, 3, 4))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (
            "import sys\nprint('line one\\nno GPU here', file=sys.stderr)\nsys.exit(3)",
            "engine 'mine' failed with exit status 3: line one / no GPU here",
        ),
        (
            "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)",
            "engine 'mine' failed with signal SIGTERM",
        ),
        (
            "import os, shutil, sys\nshutil.rmtree(os.getcwd())\nsys.exit(4)",
            "engine 'mine' failed with exit status 4",
        ),
        ("pass", "engine 'mine' wrote no image"),
        (
            "import sys\nopen(sys.argv[2], 'wb').write(b'\\x89PNG broken')",
            "engine 'mine' wrote an unreadable image: the file is cut short after 11 bytes",
        ),
        ("import sys\nopen(sys.argv[2], 'wb').close()", "wrote an unreadable image: the file is empty"),
        (
            "import sys, cv2\ncv2.imwrite(sys.argv[2], cv2.imread(sys.argv[1])[::2])",
            "engine 'mine' gave an image of another size than the frame's: 12 × 32 × 3",
        ),
        (
            "import sys, cv2\ncv2.imwrite(sys.argv[2], cv2.imread(sys.argv[1]).astype('uint16') * 200)",
            "engine 'mine' wrote an image without 8 bits per channel",
        ),
    ],
)
def test_what_goes_wrong_is_told(tmp_path: Path, frame: Frame, program: str, reason: str) -> None:
    engine = engine_of(tmp_path, program)
    told = reason_of(engine, frame)
    assert reason in told
    # The same trouble with another frame is the same reason: reasons are counted.
    assert reason_of(engine, frame.replace(id="drive/8")) == told


def test_the_folder_of_a_run_is_no_part_of_the_reason(tmp_path: Path, frame: Frame) -> None:
    engine = engine_of(tmp_path, "import sys\nsys.exit('cannot open ' + sys.argv[1])")
    assert reason_of(engine, frame) == "engine 'mine' failed with exit status 1: cannot open …/image.png"


def test_a_program_that_is_not_there(tmp_path: Path, frame: Frame) -> None:
    (tmp_path / "engines.yaml").write_text(
        f"engines: {{gone: {{command: [no-such-program-anywhere], supports: {SUPPORTS}}}}}"
    )
    (engine,) = read_engines(tmp_path / "engines.yaml", allow_commands=True)
    reason = reason_of(engine, frame)
    assert reason == "engine 'gone': cannot start 'no-such-program-anywhere': No such file or directory"


def _is_running(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text("utf-8")
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("ends", [False, True])
def test_nothing_that_it_started_is_left(tmp_path: Path, frame: Frame, ends: bool) -> None:
    engine = engine_of(
        tmp_path,
        f"""
        import os, pathlib, subprocess, sys, time
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        pathlib.Path({str(tmp_path)!r}, "pids").write_text(f"{{os.getpid()}} {{child.pid}}")
        if {ends}:
            sys.exit("done")
        time.sleep(60)
        """,
        more="    timeout: 1.5\n",
    )
    start = time.monotonic()
    reason = reason_of(engine, frame)
    assert time.monotonic() - start < 30
    assert reason == (
        "engine 'mine' failed with exit status 1: done" if ends else "engine 'mine' did not end within 1.5 s"
    )
    pids = [int(word) for word in (tmp_path / "pids").read_text().split()]
    deadline = time.monotonic() + 5
    while any(map(_is_running, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert [pid for pid in pids if _is_running(pid)] == []


def test_nothing_is_run_unless_it_is_allowed(tmp_path: Path, frame: Frame) -> None:
    engine_of(tmp_path, f"open({str(tmp_path / 'ran')!r}, 'w')")
    (engine,) = read_engines(tmp_path / "engines.yaml")
    assert engine.supports(LINES)
    with pytest.raises(
        InputError, match=r"engines\.yaml:2: the engine 'mine' runs a command: .*allow_commands=True"
    ):
        transform_for(LINES, [engine])
    night = read_engines(EXAMPLES)[1]
    with pytest.raises(InputError, match=r"calls your code: .*allow_commands=True"):
        night.transform(ReplaceOperation("time", "night"))
    assert not (tmp_path / "ran").exists()


def test_no_shell_reads_the_values(tmp_path: Path) -> None:
    value = f"x; touch {tmp_path}/owned $(id) `id` | cat > {tmp_path}/owned && * ~ 'a' \"b\" {{seed}}"
    words = filled_in(["{element}", "--by={by}"], {"element": value, "by": value, "seed": "5"}, tmp_path)
    assert words == [value, f"--by={value}"]
    from roadworthy.transforms.engines.commands import run_command

    run_command("probe", [sys.executable, "-c", "import sys; assert len(sys.argv) == 2", value], tmp_path, 20)
    assert not (tmp_path / "owned").exists()


def test_an_entry_point_from_a_file(tmp_path: Path, frame: Frame) -> None:
    (tmp_path / "mine.py").write_text(
        dedent(
            """
            def darker(frame, operation, rng):
                return frame.image // 2 + rng.integers(0, 3, dtype="uint8")

            def relabelled(frame, operation, rng):
                return frame.replace(image=frame.image // 3)

            def wrong(frame, operation, rng):
                raise ValueError(f"cannot do {operation.kind}")

            def nothing(frame, operation, rng): ...

            def ending(frame, operation, rng):
                raise SystemExit(0)

            def small(frame, operation, rng):
                return frame.image[1:]

            def floats(frame, operation, rng):
                return frame.image / 255

            number = 3
            """
        )
    )

    def engine(name: str) -> UserEngine:
        (tmp_path / "engines.yaml").write_text(
            f"engines: {{e: {{entry: 'mine.py:{name}', supports: [{{operation: remove, element: line}}]}}}}"
        )
        return read_engines(tmp_path / "engines.yaml", allow_commands=True)[0]

    changed = engine("darker").transform(LINES)(frame, 1, measure=False)
    assert changed.image.max() <= 117
    assert changed.labels is not None
    assert "line" not in changed.labels.present()
    own = engine("relabelled").transform(LINES)(frame, 1, measure=False)
    assert own.labels == frame.labels
    assert reason_of(engine("wrong"), frame) == "engine 'e' raised ValueError: cannot do remove"
    # It must not end a run as if all had passed.
    assert reason_of(engine("ending"), frame) == "engine 'e' raised SystemExit: 0"
    nothing = "engine 'e' gave NoneType instead of a Frame or an image array"
    assert reason_of(engine("nothing"), frame) == nothing
    assert "another size than the frame's: 23 × 32 × 3" in reason_of(engine("small"), frame)
    assert "gave an image of float64 instead of uint8" in reason_of(engine("floats"), frame)
    with pytest.raises(
        InputError, match=r"engines\.yaml:1: engine 'e': .*mine\.py:number must be a function"
    ):
        engine("number").transform(LINES)
    with pytest.raises(InputError, match=r"has no 'darkr'; did you mean 'darker'"):
        engine("darkr").transform(LINES)


def test_frames_without_the_element_are_not_sent(tmp_path: Path, frame: Frame) -> None:
    engine = engine_of(tmp_path, f"open({str(tmp_path / 'ran')!r}, 'w')")
    assert frame.labels is not None
    bare = frame.replace(labels=LabelMap(np.ones((24, 32), np.uint8), frame.labels.classes))
    assert reason_of(engine, bare) == "there is no lane lines in the frame"
    assert not (tmp_path / "ran").exists()
    # Who keeps the label map may know things that nobody labelled.
    knowing = engine_of(tmp_path, COPY, more="    labels: kept\n")
    assert knowing.transform(LINES)(bare, 1, measure=False).labels is bare.labels


def test_without_a_label_map_an_engine_may_still_work(tmp_path: Path, frame: Frame) -> None:
    changed = engine_of(tmp_path, COPY).transform(LINES)(frame.replace(labels=None), 1, measure=False)
    assert changed.labels is None
    needs = engine_of(tmp_path, COPY, words='"{image}", "{output}", "{labels}"').transform(LINES)
    with pytest.raises(NotApplicable, match="mine needs a label map"):
        needs(frame.replace(labels=None), 1)


@pytest.mark.parametrize(
    ("said", "keeps"), [("void", Keeps.NOTHING), ("kept", Keeps.LABELS), ("written", Keeps.EDITED)]
)
def test_what_becomes_of_labels_can_be_said(tmp_path: Path, frame: Frame, said: str, keeps: Keeps) -> None:
    engine = engine_of(tmp_path, COPY, more=f"    labels: {said}\n")
    change = engine.transform(LINES)
    assert change.keeps is keeps
    if said == "written":
        assert reason_of(engine, frame) == "engine 'mine' wrote no label map"
    else:
        changed = change(frame, 1, measure=False)
        assert (changed.labels is None) == (said == "void")


INVERT = """
    import sys, cv2
    cv2.imwrite(sys.argv[2], 255 - cv2.imread(sys.argv[1]))
    cv2.imwrite(sys.argv[3], cv2.imread(sys.argv[1], 0) * 0 + 1)
"""


@pytest.mark.parametrize("said", ["", "edited", "kept", "void", "written"])
def test_the_weather_changes_whatever_becomes_of_labels(tmp_path: Path, frame: Frame, said: str) -> None:
    (tmp_path / "program.py").write_text(dedent(INVERT), "utf-8")
    labels_output = '"{labels_output}"' if said == "written" else "unused.png"
    (tmp_path / "engines.yaml").write_text(
        f"engines:\n  mine:\n    command: ['{sys.executable}', program.py, '{{image}}', '{{output}}', "
        f"{labels_output}]\n    supports: [{{operation: replace, element: weather}}]\n"
        + (f"    labels: {said}\n" if said else ""),
        "utf-8",
    )
    engines = read_engines(tmp_path / "engines.yaml", allow_commands=True)
    changed = transform_for(ReplaceOperation("weather", "light snow"), engines)(frame, 1, measure=False)
    assert (changed.metadata["weather"], changed.metadata["level"]) == ("snowy", "light")
    if said == "void":
        assert changed.labels is None
    elif said == "written":
        assert changed.labels is not None
        assert (changed.labels.ids == 1).all()
    else:
        assert changed.labels is frame.labels


def test_the_season_is_noted_and_leaves_the_weather_as_it_was(tmp_path: Path, frame: Frame) -> None:
    (tmp_path / "mine.py").write_text("def mine(frame, operation, rng):\n    return 255 - frame.image\n")
    (tmp_path / "engines.yaml").write_text(
        "engines: {e: {entry: 'mine.py:mine', supports: ["
        "{operation: replace, element: season}, {operation: remove, element: season}]}}"
    )
    engines = read_engines(tmp_path / "engines.yaml", allow_commands=True)
    rain = {"weather": "rainy", "level": "light"}
    summer, winter = (frame.replace(metadata={**rain, "season": one}) for one in ("summer", "winter"))
    change = transform_for(ReplaceOperation("season", "winter"), engines)
    made = change(summer, 1, measure=False)
    assert (dict(made.metadata), made.labels) == ({**rain, "season": "winter"}, frame.labels)
    with pytest.raises(NotApplicable, match="the season is already winter"):
        change(winter, 1, measure=False)
    gone = transform_for(RemoveOperation("winter"), engines)(winter, 1, measure=False)
    assert dict(gone.metadata) == rain


def test_weather_that_was_taken_away_is_no_longer_noted(tmp_path: Path, frame: Frame) -> None:
    (tmp_path / "clear.py").write_text("def clear(frame, operation, rng):\n    return 255 - frame.image\n")
    (tmp_path / "engines.yaml").write_text(
        "engines: {e: {entry: 'clear.py:clear', supports: [{operation: remove, element: weather}]}}"
    )
    engines = read_engines(tmp_path / "engines.yaml", allow_commands=True)
    foggy = frame.replace(metadata={"weather": "foggy", "level": "heavy", "time": "day"})
    for what, left in (("fog", {"time": "day"}), ("rain", dict(foggy.metadata))):
        changed = transform_for(RemoveOperation(what), engines)(foggy, 1, measure=False)
        assert dict(changed.metadata) == left


def test_a_program_gets_words_without_articles(tmp_path: Path, frame: Frame) -> None:
    engine = engine_of(tmp_path, "import sys\nsys.exit(sys.argv[1])", words='"{element}"')
    assert reason_of(engine, frame, RemoveOperation("the lane lines")).endswith("status 1: lane lines")


def test_what_an_engine_supports() -> None:
    paint, night = read_engines(EXAMPLES)
    assert paint.supports(RemoveOperation("dashed line"))
    assert not paint.supports(RemoveOperation("vehicle"))
    assert paint.supports(ReplaceOperation("houses", "trees"))
    assert not paint.supports(ReplaceOperation("building", "building"))
    assert night.supports(ReplaceOperation("time", "night"))
    assert night.supports(ReplaceOperation("day", "night"))  # a day is a time
    assert not night.supports(ReplaceOperation("night", "dusk"))
    assert not night.supports(AddOperation("pedestrian"))


def test_properties_and_places_are_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "engines.yaml").write_text(
        dedent(
            """
            engines:
              painter:
                entry: a:b
                supports:
                  - {operation: replace, element: vehicle, properties: {color: red}}
                  - {operation: add, element: pedestrian, relation: "on", reference: crosswalk}
                  - {operation: replace, element: environment, by: winter}
            """
        )
    )
    (engine,) = read_engines(tmp_path / "engines.yaml")
    assert engine.supports(ReplaceOperation("season", "winter")), "the season is part of the environment"
    assert engine.supports(ReplaceOperation("red truck", "blue truck"))
    assert not engine.supports(ReplaceOperation("truck", "blue truck"))
    assert engine.supports(AddOperation("pedestrian", "on", "crosswalk"))
    assert not engine.supports(AddOperation("pedestrian"))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("engines: {}\nengine: {}", r":2: unknown key 'engine': did you mean 'engines'\?"),
        (
            "engines:\n  a:\n    entry: m:f\n    supports:\n      - {operation: remve, element: line}",
            r":5: unknown operation 'remve'; did you mean 'remove'",
        ),
        (
            "engines:\n  a:\n    entry: m:f\n    supports:\n    - operation: remove\n      element: lin",
            r":6: 'lin' is not in the ontology: did you mean 'line'",
        ),
        (
            "engines:\n  a:\n    entry: m:f\n    supports:\n    - operation: replace\n      element: car\n"
            "      properties:\n        color: gray",
            r":8: 'gray' is not a color of 'vehicle': did you mean 'grey'",
        ),
        (
            "engines:\n  a:\n    entry: m:f\n    supports:\n"
            "    - {operation: remove, element: line, by: tree}",
            r":5: 'by' goes with replace, not with remove",
        ),
        (
            "engines:\n  a:\n    entry: m:f\n    supports:\n"
            "    - {operation: replace, element: weather, by: winter}",
            r":5: 'winter' cannot replace 'weather': one is season, the other is not",
        ),
        (
            "engines:\n  a:\n    entry: m:f\n    supports: [{operation: add, element: car, relation: on}]",
            r":4: .* > relation: expected text, got True: YAML takes on, .* write .* in quotes",
        ),
        (
            "engines:\n  a:\n    comand: [x]\n    supports: [{operation: remove, element: line}]",
            r":3: unknown key 'comand': did you mean 'command'",
        ),
        (
            "engines:\n  a:\n    command: ['{imgae}']\n    supports: [{operation: remove, element: line}]",
            r":3: \{imgae\} stands for nothing: did you mean 'image'",
        ),
        (
            "engines:\n  a:\n    supports: [{operation: remove, element: line}]",
            r":2: the engine 'a' needs one of learned, network, command, entry, http, pipeline, got none",
        ),
        (
            f"engines:\n  a:\n    entry: m:f\n    timeout: 5\n    supports: {SUPPORTS}",
            r":4: only a command or a service can be stopped",
        ),
        (
            f"engines:\n  a:\n    command: [x]\n    timeout: -1\n    supports: {SUPPORTS}",
            r":4: engines > a > timeout: expected .*above 0, got -1",
        ),
        ("engines:\n  a:\n    command: [x]\n    supports: []", r":4: .*at least one"),
        ("engines:\n  a:\n    command: x\n    supports: []", r":3: .*expected a list"),
        ("engines:\n  a:\n  - x: &y 1\n    z: *y", "anchors and aliases"),
        ("", "the engines file is empty: expected 'engines:'"),
    ],
)
def test_mistakes_in_the_file_are_found_with_their_line(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "engines.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(InputError, match=complaint) as caught:
        read_engines(path)
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read the engines file: No such file"):
        read_engines(tmp_path / "none.yaml")


def test_the_examples_work(town: Frame) -> None:
    engines = read_engines(EXAMPLES, allow_commands=True)
    assert town.labels is not None
    if sys.executable not in (os.environ.get("PATH") or ""):
        # The example says "python", which need not be this one.
        from dataclasses import replace

        program = engines[0].backend
        assert isinstance(program, ProgramBackend)
        mine = replace(program, command=(sys.executable, *program.command[1:]))
        engines = (replace(engines[0], backend=mine), engines[1])
    erased = transform_for(RemoveOperation("line"), engines)(town, 1, measure=False)
    lines = town.labels.mask("line")
    assert erased.image[lines].mean() < town.image[lines].mean() - 20
    dark = transform_for(ReplaceOperation("time", "night"), engines)(town, 1, measure=False)
    assert dark.metadata["time"] == "night"
    assert dark.labels is town.labels
    assert dark.image.mean() < 0.5 * town.image.mean()
    with pytest.raises(NotApplicable, match="the image hardly changes: the time is already night"):
        transform_for(ReplaceOperation("time", "night"), engines)(
            town.replace(image=np.zeros_like(town.image)), 1, measure=False
        )


@pytest.mark.parametrize(
    ("most", "size"),
    [((30, 60), (120, 240)), ((41, 53), (120, 160)), ((25, 900), (100, 37)), ((7, 7), (51, 53))],
)
def test_labels_that_an_engine_sees_lie_where_the_image_does(
    most: tuple[int, int], size: tuple[int, int]
) -> None:
    """Each pixel is that in the middle of its block, not in a corner, which is half a block off."""
    fit = Fit.of(size, most=most)
    ids = np.arange(size[0] * size[1], dtype=np.int32).reshape(size)
    sides = zip(fit.scaled, size, strict=True)
    rows, columns = (((np.arange(few) + 0.5) * many / few).astype(int) for few, many in sides)
    assert np.array_equal(fit.ids(ids), ids[rows[:, None], columns])
    # The edge of a wall is at the same place in both.
    wall = np.zeros(size, np.uint8)
    wall[:, size[1] // 2 :] = 255
    seen = fit.image(np.dstack([wall] * 3))[..., 0]
    assert np.abs((fit.ids(wall) > 0).sum() - (seen > 127).sum()) <= len(rows)
