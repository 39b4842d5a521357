from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest

from roadworthy._options import checked_options
from roadworthy.datasets import BaseDataset, ChosenFrames, load, load_fitting, options_of, spelled
from roadworthy.errors import InputError, UnknownNameError
from roadworthy.frames import Frame, Signals
from roadworthy.images import write_image
from roadworthy.registry import Registry

if TYPE_CHECKING:
    from decimal import Decimal


class Folder(BaseDataset):
    """A reader such as other people write."""

    def __init__(
        self,
        path: str,
        limit: int | None = None,
        *,
        rate: float = 15.0,
        recursive: bool = False,
        side: Literal["left", "right"] = "left",
        calibration: Path | None = None,
        level: float | str = "normal",
    ) -> None:
        super().__init__(f"folder:{path}", ["one"])
        self.options = (limit, rate, recursive, side, calibration, level)

    def read(self, number: int) -> Frame:
        return Frame("one", np.zeros((2, 2, 3), np.uint8))


def scenes(*, count: int) -> Folder:
    return Folder(str(count))


def no_dataset(path: str = "") -> list[int]:
    return [len(path)]


def untypable(path: str, *, size: Decimal) -> Folder:
    return Folder(path)


@pytest.fixture(autouse=True)
def readers(monkeypatch: pytest.MonkeyPatch) -> None:
    registry: Registry[Any] = Registry("datasets", home="roadworthy.no_such_home")
    known: dict[str, Callable[..., object]] = {
        "folder": Folder,
        "scenes": scenes,
        "list": no_dataset,
        "untypable": untypable,
    }
    for name, reader in known.items():
        registry.register(name, summary="")(reader)
    monkeypatch.setattr("roadworthy.datasets._load.datasets", registry)


def opened(reference: str, **options: object) -> Folder:
    data = load(reference, **options)
    assert isinstance(data, Folder)
    return data


def test_the_part_after_the_first_colon_is_the_path() -> None:
    assert opened("folder:C:\\drives").name == "folder:C:\\drives"


def test_text_becomes_what_the_option_takes() -> None:
    data = opened(
        "folder:x", limit="12", rate="30", recursive="yes", side="right", calibration="a/b.txt", level="0.5"
    )
    assert data.options == (12, 30.0, True, "right", Path("a/b.txt"), 0.5)
    assert opened("folder:x", level="heavy", limit="none").options[5] == "heavy"


def test_values_from_python_are_checked_too() -> None:
    assert opened("folder:x", limit=np.int64(3), rate=2, recursive=False).options[:3] == (3, 2.0, False)
    for options in ({"limit": 1.5}, {"limit": True}, {"recursive": 1}, {"side": 3}, {"rate": [1]}):
        with pytest.raises(InputError, match="must be"):
            load("folder:x", **options)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("limit", "twelve", "option 'limit' of 'folder' must be a whole number or none, got 'twelve'"),
        ("rate", "", "option 'rate' of 'folder' must be a number, got ''"),
        ("recursive", "perhaps", "option 'recursive' of 'folder' must be true or false, got 'perhaps'"),
        ("side", "up", "option 'side' of 'folder' must be 'left' or 'right', got 'up'"),
    ],
)
def test_a_wrong_value_says_what_was_expected(option: str, value: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load("folder:x", **{option: value})
    assert str(caught.value) == message


def test_an_unknown_option_lists_the_known_ones_with_the_nearest_first() -> None:
    with pytest.raises(
        InputError, match=r"no option 'recursve': did you mean 'recursive'\?.*rate=15.0.*side="
    ):
        load("folder:x", recursve="yes")
    with pytest.raises(InputError, match=r"no option 'zzz': its options are limit=None, rate=15.0"):
        load("folder:x", zzz=1)
    with pytest.raises(InputError, match="'list' takes no options, got 'count'"):
        load("list:x", count=1)


def test_unknown_readers_and_missing_parts() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'folder'"):
        load("foldr:x")
    with pytest.raises(InputError, match="name or name:path"):
        load(":x")
    with pytest.raises(InputError, match="'folder' needs a path: write 'folder:path/to/data'"):
        load("folder")
    with pytest.raises(InputError, match="'scenes' takes no path, got 'here'"):
        load("scenes:here", count=1)
    with pytest.raises(InputError, match="'scenes' needs the option 'count': a whole number"):
        load("scenes")
    assert opened("scenes", count="3").name == "folder:3"


def test_a_reader_that_gives_no_data_set_is_named() -> None:
    with pytest.raises(InputError, match=r"'list' must give a data set .* got list"):
        load("list")


def test_a_reader_whose_signature_cannot_be_read_is_named() -> None:
    with pytest.raises(InputError, match=r"options of untypable .*Decimal"):
        load("untypable:x")


def test_options_are_shown_with_their_defaults() -> None:
    assert [str(option) for option in options_of(Folder)][:3] == [
        "limit=None",
        "rate=15.0",
        "recursive=False",
    ]
    assert [(option.name, option.required) for option in options_of(scenes)] == [("count", True)]


def test_what_text_cannot_spell_must_come_from_python() -> None:
    def reader(*, names: dict[str, str]) -> None: ...

    assert checked_options("reader", reader, {"names": {"a": "b"}}) == {"names": {"a": "b"}}
    with pytest.raises(InputError, match=r"must be dict\[str, str\], got 'a=b'"):
        checked_options("reader", reader, {"names": "a=b"})


def test_a_path_alone_is_told_to_have_a_format(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"is a path: .*such as 'folder:.*formats are folder, "):
        load(str(tmp_path))
    with pytest.raises(UnknownNameError, match=r"'data/none' is a path: "):
        load("data/none")
    with pytest.raises(UnknownNameError, match="there is no dataset 'wrold'; known names are "):
        load("wrold")


@pytest.mark.parametrize(
    ("name", "beside", "format"),
    [
        ("dash.MP4", "", "video"),
        ("drive.mcap", "", "bag"),
        ("frames", "0.png", "folder"),
        ("films", "a.mkv", "folder"),
        ("bag", "metadata.yaml", "bag"),
        ("labels.json", "", ""),
        ("empty", "notes.txt", ""),
        ("absent.mp4", None, ""),
    ],
)
def test_a_path_alone_is_enough_where_only_one_format_has_such_files(
    name: str, beside: str | None, format: str, tmp_path: Path
) -> None:
    if beside:
        (tmp_path / name).mkdir()
        (tmp_path / name / beside).touch()
        (tmp_path / name / "part.db3").touch()
    elif beside is not None:
        (tmp_path / name).touch()
    assert spelled(name, tmp_path) == (f"{format}:{name}" if format else name)
    assert spelled(f"folder:{name}", tmp_path) == f"folder:{name}"


def test_a_folder_of_frames_opens_without_its_format(tmp_path: Path) -> None:
    (tmp_path / "frames").mkdir()
    write_image(tmp_path / "frames" / "0.png", np.zeros((4, 6, 3), np.uint8))
    for data in (load(str(tmp_path / "frames")), load("frames", tmp_path), load_fitting("frames", tmp_path)):
        assert data.name == f"folder:{tmp_path / 'frames'}"
        assert len(data) == 1


def test_chosen_frames_get_the_earlier_ones_of_their_drive() -> None:
    image = np.zeros((2, 2, 3), np.uint8)
    drive = [Frame(f"f{n}", image, signals=Signals(timestamp=n / 20)) for n in range(5)]
    chosen = ChosenFrames("some", drive, [0, 3], history=2)  # type: ignore[arg-type]  # a list will do
    assert [[one.id for one in frame.previous] for frame in chosen] == [[], ["f1", "f2"]]
    assert [frame.previous for frame in chosen.hashed] == [(), ()], "every frame is hashed once"
