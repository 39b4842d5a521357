import os
import struct
import zlib
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from roadworthy import images
from roadworthy.errors import FrameError
from roadworthy.images import (
    decode_image,
    decode_pixels,
    encode_image,
    read_ids,
    read_image,
    read_pixels,
    write_image,
)


@pytest.fixture
def picture() -> NDArray[np.uint8]:
    ramp = np.linspace(0, 255, 48 * 32).reshape(32, 48).astype(np.uint8)
    return np.stack([ramp, ramp[::-1], np.full_like(ramp, 7)], axis=2)


def test_png_keeps_every_pixel_in_rgb(picture: NDArray[np.uint8], tmp_path: Path) -> None:
    write_image(tmp_path / "a.png", picture)
    again = read_image(str(tmp_path / "a.png"))
    assert again.dtype == np.uint8
    np.testing.assert_array_equal(again, picture)
    other = cv2.imread(str(tmp_path / "a.png"))
    assert other is not None
    np.testing.assert_array_equal(other[..., ::-1], picture)


def test_encoding_gives_the_content_of_the_file(picture: NDArray[np.uint8], tmp_path: Path) -> None:
    write_image(tmp_path / "a.png", picture)
    assert encode_image(picture, ".png") == (tmp_path / "a.png").read_bytes()
    with pytest.raises(FrameError, match=r"^expected an ending such as \.png or \.jpg, got 'png'"):
        encode_image(picture, "png")


def test_jpeg_is_close(picture: NDArray[np.uint8], tmp_path: Path) -> None:
    write_image(tmp_path / "a.jpg", picture)
    assert np.abs(read_image(tmp_path / "a.jpg").astype(int) - picture).mean() < 4


@pytest.mark.parametrize(
    "numbers",
    [np.arange(24, dtype=np.uint8).reshape(4, 6), np.array([[0, 26001], [33000, 65535]], np.uint16)],
)
def test_numbers_in_pixels_stay_as_they_are(
    tmp_path: Path, numbers: NDArray[np.uint8] | NDArray[np.uint16]
) -> None:
    assert cv2.imwrite(str(tmp_path / "ids.png"), numbers)
    again = read_ids(tmp_path / "ids.png")
    assert again.dtype == numbers.dtype
    np.testing.assert_array_equal(again, numbers)


def test_a_png_that_ends_before_its_pixels_is_not_searched_for_them(tmp_path: Path) -> None:
    written = cv2.imencode(".png", np.zeros((6, 8), np.uint8))[1].tobytes()
    start, end = written[:33], written[-12:]
    # OpenCV would look on behind the end, and take the four gigabytes that the last chunk claims to have.
    beyond = b"\0\0\0\x04`DAT" + bytes(8) + b"\xff\xff\xff\xffabCD" + bytes(4)
    (tmp_path / "a.png").write_bytes(start + end + beyond)
    with pytest.raises(FrameError, match=r"a\.png: the file is cut short"):
        read_ids(tmp_path / "a.png")
    (tmp_path / "a.png").write_bytes(written + beyond)
    assert read_ids(tmp_path / "a.png").shape == (6, 8)


def test_numbers_in_pixels_need_one_channel(tmp_path: Path, picture: NDArray[np.uint8]) -> None:
    write_image(tmp_path / "a.png", picture)
    with pytest.raises(FrameError, match=r"a\.png must have one channel of 8 or 16 bits, got 32 × 48 × 3"):
        read_ids(tmp_path / "a.png")
    (tmp_path / "a.png").write_bytes((tmp_path / "a.png").read_bytes()[:-20])
    with pytest.raises(FrameError, match=r"a\.png: the file is cut short"):
        read_ids(tmp_path / "a.png")
    cv2.imwrite(str(tmp_path / "depth.tiff"), np.zeros((2, 3), np.float32))
    with pytest.raises(FrameError, match=r"must have one channel of 8 or 16 bits, got 2 × 3 float32"):
        read_ids(tmp_path / "depth.tiff")


def test_grey_files_get_three_channels(tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "grey.png"), np.full((3, 4), 9, np.uint8))
    assert (read_image(tmp_path / "grey.png") == np.full((3, 4, 3), 9)).all()


def test_paths_in_any_language(picture: NDArray[np.uint8], tmp_path: Path) -> None:
    path = tmp_path / "Straße 東京.png"
    write_image(path, picture)
    np.testing.assert_array_equal(read_image(path), picture)


def test_missing_and_empty_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(FrameError, match=r"cannot read the image .*absent\.png: No such file"):
        read_image(tmp_path / "absent.png")
    with pytest.raises(FrameError, match=r"cannot read the image .*: Is a directory"):
        read_image(tmp_path)
    (tmp_path / "empty.png").touch()
    with pytest.raises(FrameError, match=r"empty\.png: the file is empty"):
        read_image(tmp_path / "empty.png")
    (tmp_path / "text.png").write_text("not an image")
    with pytest.raises(FrameError, match=r"text\.png: it is corrupt or no image \(got 12 bytes\)"):
        read_image(tmp_path / "text.png")


@pytest.mark.parametrize("ending", ["png", "jpg"])
def test_files_that_were_cut_short_are_refused_not_filled_with_grey(
    ending: str, picture: NDArray[np.uint8], tmp_path: Path
) -> None:
    path = tmp_path / f"a.{ending}"
    write_image(path, picture)
    data = path.read_bytes()
    for length in (len(data) // 4, len(data) // 2, len(data) - 20, len(data) - 12):
        path.write_bytes(data[:length])
        with pytest.raises(FrameError, match=rf"a\.{ending}: .*(cut short|corrupt)"):
            read_image(path)


@pytest.mark.parametrize("ending", [".png", ".jpg"])
def test_a_header_that_tells_of_more_than_the_file_can_hold_is_refused(
    picture: NDArray[np.uint8], ending: str
) -> None:
    data = bytearray(encode_image(picture, ending))
    start = 16 if ending == ".png" else data.index(b"\xff\xc0") + 5
    size = struct.pack(">II" if ending == ".png" else ">HH", 30000, 20000)
    data[start : start + len(size)] = size
    with pytest.raises(FrameError, match=r"cannot hold the \d+ × \d+ pixels that its header tells of"):
        decode_image(bytes(data))


def test_a_chunk_that_is_longer_than_the_file_is_refused(picture: NDArray[np.uint8]) -> None:
    data = bytearray(encode_image(picture, ".png"))
    start = data.index(b"IDAT")
    data[start - 4 : start] = b"\x70\x00\x00\x00"
    with pytest.raises(FrameError, match="cut short"):
        decode_image(bytes(data))


def test_wrong_images_and_endings_are_refused(picture: NDArray[np.uint8], tmp_path: Path) -> None:
    with pytest.raises(FrameError, match=r"must be \(height, width, 3\) of uint8, got \(32, 48\) uint8"):
        write_image(tmp_path / "a.png", picture[..., 0])
    with pytest.raises(FrameError, match=r"got \(32, 48, 3\) float64"):
        write_image(tmp_path / "a.png", picture / 255)  # type: ignore[arg-type]
    with pytest.raises(FrameError, match=r"got \(0, 48, 3\) uint8"):
        write_image(tmp_path / "a.png", picture[:0])
    for name in ("a.xyz", "a"):
        with pytest.raises(FrameError, match=r"expected an ending such as \.png or \.jpg"):
            write_image(tmp_path / name, picture)
    with pytest.raises(FrameError, match=r"cannot write the image .*a\.png: No such file"):
        write_image(tmp_path / "absent" / "a.png", picture)


@pytest.mark.parametrize(
    ("ending", "options"),
    [
        (".png", []),
        (".jpg", []),
        (".bmp", []),
        (".webp", [cv2.IMWRITE_WEBP_QUALITY, 80]),
        (".webp", [cv2.IMWRITE_WEBP_QUALITY, 101]),  # without loss
        (".tiff", []),
    ],
)
def test_images_with_too_many_pixels_are_refused_by_their_header(
    ending: str, options: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = cv2.imencode(ending, np.zeros((37, 53, 3), np.uint8), options)[1].tobytes()
    monkeypatch.setattr(images, "MOST_PIXELS", 37 * 53)
    assert decode_image(data).shape == (37, 53, 3)
    monkeypatch.setattr(images, "MOST_PIXELS", 37 * 53 - 1)
    with pytest.raises(FrameError, match="it has 53 × 37 pixels, and images may have 1,960; make it smaller"):
        decode_image(data)


def test_a_bomb_is_refused_before_it_takes_memory(tmp_path: Path) -> None:
    # 20,000 × 20,000 grey pixels in 400 kB.
    header = struct.pack(">IIBBBBB", 20_000, 20_000, 8, 0, 0, 0, 0)
    row = zlib.compress(bytes(20_001))
    chunks = [(b"IHDR", header), (b"IDAT", row * 4000), (b"IEND", b"")]
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(part)) + kind + part + struct.pack(">I", zlib.crc32(kind + part))
        for kind, part in chunks
    )
    (tmp_path / "bomb.png").write_bytes(data)
    for read in (read_image, read_ids, read_pixels):
        with pytest.raises(FrameError, match=r"bomb.png: it has 20,000 × 20,000 pixels"):
            read(tmp_path / "bomb.png")


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "large.png").open("wb") as file:
        file.truncate(2**30)
    with pytest.raises(FrameError, match=r"large.png: it has 1,073,741,824 bytes, and images may have"):
        read_image(tmp_path / "large.png")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no named pipes")
def test_pipes_and_devices_are_no_images(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    (tmp_path / "zero.png").symlink_to("/dev/zero")
    for name in ("pipe.png", "zero.png"):
        with pytest.raises(FrameError, match="it is a pipe, a socket or a device, and no file"):
            read_image(tmp_path / name)


def test_pixels_come_as_they_are(tmp_path: Path) -> None:
    four = np.arange(24, dtype=np.uint16).reshape(2, 3, 4)
    data = cv2.imencode(".png", four)[1].tobytes()
    assert decode_pixels(data).tolist() == four.tolist()
    (tmp_path / "a.png").write_bytes(data)
    assert read_pixels(tmp_path / "a.png").tolist() == four.tolist()
    with pytest.raises(FrameError, match=r"cannot read the depth map .*b.png: No such file"):
        read_pixels(tmp_path / "b.png", "depth map")
    with pytest.raises(FrameError, match=r"cannot read the image 'a\\x00.png': "):
        read_image("a\0.png")
    with pytest.raises(FrameError, match="cannot read the image upload: it is corrupt or no image"):
        decode_image(b"GIF89", "upload")


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 7, 5), (5, 7)),
        (b"\x89PNG\r\n\x1a\n\0\0", (0, 0)),
        (b"BM" + bytes(16) + struct.pack("<ii", 7, -5), (5, 7)),  # from top to bottom
        (b"RIFF\0\0\0\0WEBPVP8X" + bytes(8) + b"\x06\0\0\x04\x01\0", (261, 7)),
        (b"RIFF\0\0\0\0WAVEVP8X" + bytes(14), (0, 0)),
        (b"MM\0*" + struct.pack(">IHHHIHHHHII", 8, 2, 256, 4, 1, 0, 7, 257, 3, 1, 5 << 16), (5, 7)),
        (b"II*\0" + struct.pack("<IHHHIIHHII", 8, 2, 256, 4, 1, 70000, 257, 3, 1, 5), (5, 70000)),
        (b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc2\0\x11\x08\0\x05\0\x07", (5, 7)),
        (b"\xff\xd8\xff\xc4\0\x04ab\xff\xc1\0\x11\x08\0\x05\0\x07", (5, 7)),
        (b"\xff\xd8\xff\xd9" + bytes(9), (0, 0)),
        (b"GIF89a" + bytes(20), (0, 0)),
    ],
)
def test_the_size_that_a_header_tells_of(data: bytes, size: tuple[int, int]) -> None:
    assert images._declared_size(data) == size
