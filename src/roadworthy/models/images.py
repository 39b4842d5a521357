"""What a network wants to see: the declared input, and how a frame becomes it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import InputError, SystemUnderTestError, check_number
from roadworthy.frames import Frame

Color: TypeAlias = Literal["rgb", "bgr", "yuv", "gray"]
Layout: TypeAlias = Literal["nchw", "nhwc"]
Dtype: TypeAlias = Literal["float32", "float16", "float64", "uint8"]
Fit: TypeAlias = Literal["stretch", "letterbox", "corner", "within", "cover"]
Interpolation: TypeAlias = Literal["linear", "area", "nearest", "cubic", "pillow-linear", "pillow-cubic"]
Stacking: TypeAlias = Literal["time", "channels"]

_CHOICES: dict[str, tuple[str, ...]] = {
    "color": get_args(Color),
    "layout": get_args(Layout),
    "dtype": get_args(Dtype),
    "fit": get_args(Fit),
    "interpolation": get_args(Interpolation),
    "stacking": get_args(Stacking),
}
_PILLOW = {"pillow-linear": "BILINEAR", "pillow-cubic": "BICUBIC"}
_MOST_NUMBERS = 150_000_000  # that a network takes at a time, which are 600 MB: more is a slip, or damage
_PADDING = 114  # the grey that YOLO networks are trained with around a letterboxed image


@dataclass(frozen=True)
class ImageInput:
    """What a network takes: size, colours, numbers and order of axes, declared once.

    A frame becomes an input in this order: rows are cropped, the image is resized, colours are converted,
    values are scaled to `range`, `mean` is subtracted and the result divided by `std`, axes are ordered.

    Attributes:
        width: Pixels; None for the frame's own width, or what the network's file says.
        height: Pixels, like width; both or neither.
        color: The order of channels. "yuv" is OpenCV's full-range YUV, as DAVE-2 uses it.
        layout: "nchw" or "nhwc"; None for what the network's file says, and "nchw" where it says nothing.
        dtype: The numbers; None for what the network's file says, and "float32" where it says nothing.
        range: What the darkest and the brightest value, 0 and 255, become. None is (0, 1), or (0, 255) for
            uint8, which cannot be scaled.
        mean: Subtracted after scaling: one value, or one per channel.
        std: Divided by after that, like mean.
        crop: Rows dropped at the top and at the bottom before anything else: whole numbers are pixels of the
            frame, numbers below 1 are shares of its height.
        fit: "stretch" to the size. The others keep the shape: "letterbox" fills up with grey on both sides,
            "corner" to the right and below, as YOLOX does; "within" fills up nothing, so that sizes
            differ from frame to frame; "cover" cuts off what is too wide or too high.
        kept: With "cover", the share of the shorter side that is kept: timm's ``crop_pct``.
        interpolation: How resizing computes a pixel: as OpenCV does, or as Pillow, which smooths what it
            makes smaller, and with which Hugging Face, timm and torchvision prepare images.
        history: How many earlier frames the network sees before the current one, oldest first.
        stacking: Where the earlier frames go: an axis of "time" after the batch, or among the "channels".

    Example:
        >>> dave2 = ImageInput(width=200, height=66, color="yuv", range=(-1, 1), crop=(60, 25))
        >>> frame = Frame("drive/17", np.zeros((160, 320, 3), np.uint8))
        >>> dave2.tensor([dave2.view(frame)]).shape
        (1, 3, 66, 200)
    """

    width: int | None = None
    height: int | None = None
    color: Color = "rgb"
    layout: Layout | None = None
    dtype: Dtype | None = None
    range: tuple[float, float] | None = None
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    crop: tuple[float, float] = (0, 0)
    fit: Fit = "stretch"
    kept: float = 1.0
    interpolation: Interpolation = "linear"
    history: int = 0
    stacking: Stacking = "time"

    def __post_init__(self) -> None:
        for name, known in _CHOICES.items():
            value = getattr(self, name)
            if value not in known and not (value is None and name in ("layout", "dtype")):
                raise InputError(f"{name} must be {_either(known)}, got {value!r}")
        if (self.width is None) != (self.height is None):
            raise InputError(
                f"width and height must be given together, got {self.width} and {self.height}; "
                "leave both out for the frame's own size"
            )
        for name, least in (("width", 1), ("height", 1), ("history", 0)):
            check_number(name, getattr(self, name), least=least)
        check_number("kept", self.kept, above=0, most=1)
        if min(self.crop) < 0:
            raise InputError(f"crop must not be negative, got {self.crop}")
        if any(one >= 1 and one != int(one) for one in self.crop) or sum(one % 1 for one in self.crop) >= 1:
            raise InputError(
                "crop must be whole numbers of pixels, such as (60, 25), or shares of the height that leave "
                f"some of it, such as (0.4, 0.1), got {self.crop}"
            )
        for name in ("mean", "std"):
            values = getattr(self, name)
            if len(values) not in (0, 1, self.channels):
                raise InputError(
                    f"{name} must have 1 value or {self.channels}, one per channel, got {values}"
                )
        if 0 in self.std:
            raise InputError(f"std must not be 0, got {self.std}")
        if self.dtype == "uint8" and (self.range not in (None, (0, 255)) or self.mean or self.std):
            raise InputError("an input of uint8 cannot be scaled: leave out range, mean and std")

    @property
    def channels(self) -> int:
        """The channels of one image."""
        return 1 if self.color == "gray" else 3

    def completed(self, shape: Sequence[int | None], dtype: str | None) -> ImageInput:
        """Return the input with what the network's file says filled in.

        Args:
            shape: The shape of the network's input, None where it is free.
            dtype: Its dtype; None when unknown.

        Raises:
            InputError: What is declared cannot be what the network takes.
        """
        layout = self.layout or self._layout_of(shape) or "nchw"
        filled = dataclasses.replace(self, layout=layout, dtype=self._dtype_like(dtype))
        if not shape:
            return filled._with_size()
        rank = 5 if self.history and self.stacking == "time" else 4
        if len(shape) != rank:
            raise InputError(
                f"the network takes an input of shape {_shape(shape)}, expected {rank} axes: images "
                f"{'with an axis of time ' if rank == 5 else ''}as {filled.axes}; "
                "history and stacking say how earlier frames are passed"
            )
        axes = dict(zip(filled.axes, shape, strict=True))
        if filled.width is None and axes["w"] is not None and axes["h"] is not None:
            filled = dataclasses.replace(filled, width=axes["w"], height=axes["h"])
        wanted = {"w": filled.width, "h": filled.height, "c": filled._stacked_channels}
        if "t" in axes:
            wanted["t"] = self.history + 1
        for axis, value in wanted.items():
            if value is not None and axes[axis] not in (None, value):
                raise InputError(
                    f"the network takes an input of shape {_shape(shape)}, which as {filled.axes} has "
                    f"{axis}={axes[axis]}, but {axis}={value} is declared: correct the input's width, "
                    "height, color, layout or history"
                )
        if np.prod([shape[0] or 1, *(one or 256 for one in shape[1:])], dtype=float) > _MOST_NUMBERS:
            raise InputError(f"an input of shape {_shape(shape)} has more than {_MOST_NUMBERS:,} numbers")
        return filled._with_size()

    def _with_size(self) -> ImageInput:
        """Return the input, which has a size if it needs one."""
        if self.fit != "stretch" and self.width is None:
            raise InputError(
                f"fit {self.fit!r} needs width and height, which the network's file does not say"
            )
        return self

    def _layout_of(self, shape: Sequence[int | None]) -> Layout | None:
        """Tell the layout from where the channels are; None when the shape does not say."""
        if len(shape) < 4:
            return None
        channels = self._stacked_channels
        if shape[-3] == channels:
            return "nchw"
        return "nhwc" if shape[-1] == channels else None

    def _dtype_like(self, dtype: str | None) -> Dtype:
        if dtype is None:
            return self.dtype or "float32"
        if dtype not in _CHOICES["dtype"]:
            raise InputError(f"the network takes {dtype}, expected {_either(_CHOICES['dtype'])}")
        if self.dtype not in (None, dtype):
            raise InputError(f"the network takes an input of {dtype}, but {self.dtype} is declared")
        return dtype  # type: ignore[return-value]

    @property
    def axes(self) -> str:
        """The axes of the tensor, a letter each: "nchw", or "ntchw" with an axis of time."""
        images = self.layout or "nchw"
        return f"nt{images[1:]}" if self.history and self.stacking == "time" else images

    @property
    def _stacked_channels(self) -> int:
        return self.channels * (self.history + 1 if self.stacking == "channels" else 1)

    def view(self, frame: Frame) -> View:
        """Return what the network sees of a frame.

        Raises:
            SystemUnderTestError: The frame has too little history, or the crop leaves nothing of it.
        """
        if len(frame.previous) < self.history:
            raise SystemUnderTestError(
                f"frame {frame.id!r} must have {self.history} previous frames for this model, "
                f"got {len(frame.previous)}; read the data with history={self.history}, if it can"
            )
        earlier = frame.previous[len(frame.previous) - self.history :]
        seen = [self._seen(one) for one in (*earlier, frame)]
        if len({image.shape for image, _ in seen}) > 1:
            raise SystemUnderTestError(
                f"frame {frame.id!r} and its previous frames must have one size, "
                f"got {', '.join(f'{one.width}x{one.height}' for one in (*earlier, frame))}; "
                "declare the input's width and height"
            )
        return dataclasses.replace(seen[-1][1], images=np.stack([image for image, _ in seen]))

    def _seen(self, frame: Frame) -> tuple[NDArray[np.uint8], View]:
        top, bottom = (round(rows * frame.height) if rows < 1 else int(rows) for rows in self.crop)
        kept = frame.height - top - bottom
        if kept < 1:
            raise SystemUnderTestError(
                f"the crop of {top} rows above and {bottom} below leaves nothing of frame {frame.id!r}, "
                f"which has {frame.height}"
            )
        width, height = self.width or frame.width, self.height or kept
        inner = (width, height)
        if self.fit != "stretch":
            shares = (width / frame.width, height / kept)
            share = max(shares) / self.kept if self.fit == "cover" else min(shares)
            inner = (max(1, round(frame.width * share)), max(1, round(kept * share)))
        if self.fit == "within":
            width, height = inner
        left, above = (0, 0) if self.fit == "corner" else ((width - inner[0]) // 2, (height - inner[1]) // 2)
        image = self._resized(frame.image[top : top + kept], inner)
        image = image[max(0, -above) :, max(0, -left) :][:height, :width]
        if image.shape[:2] != (height, width):
            canvas = np.full((height, width, 3), _PADDING, np.uint8)
            canvas[max(0, above) :, max(0, left) :][: image.shape[0], : image.shape[1]] = image
            image = canvas
        return self._colored(image), View(frame, image[None], top, kept, left, above, *inner)

    def _resized(self, image: NDArray[np.uint8], size: tuple[int, int]) -> NDArray[np.uint8]:
        import cv2

        if size == (image.shape[1], image.shape[0]):
            return image
        if self.interpolation.startswith("pillow"):
            from PIL import Image

            smooth = Image.Resampling[_PILLOW[self.interpolation]]
            return np.asarray(Image.fromarray(image).resize(size, smooth), np.uint8)
        how = getattr(cv2, f"INTER_{self.interpolation.upper()}")
        return np.asarray(cv2.resize(image, size, interpolation=how), np.uint8)

    def _colored(self, image: NDArray[np.uint8]) -> NDArray[np.uint8]:
        import cv2

        if self.color == "rgb":
            return image
        if self.color == "bgr":
            return image[..., ::-1]
        code = cv2.COLOR_RGB2YUV if self.color == "yuv" else cv2.COLOR_RGB2GRAY
        converted = np.asarray(cv2.cvtColor(image, code), np.uint8)
        return converted if converted.ndim == 3 else converted[..., None]

    def tensor(self, views: Sequence[View]) -> NDArray[Any]:
        """Return what the network takes for some views, which must have one size."""
        images = np.stack([view.images for view in views])  # n, t, h, w, c
        if self.stacking == "channels":
            images = np.concatenate([images[:, step] for step in range(images.shape[1])], axis=-1)
        elif not self.history:
            images = images[:, 0]
        if self.layout != "nhwc":
            images = np.moveaxis(images, -1, -3)
        if self.dtype == "uint8":
            return np.ascontiguousarray(images)
        precision: type[np.floating[Any]] = np.float64 if self.dtype == "float64" else np.float32
        numbers: NDArray[Any] = np.ascontiguousarray(images, precision)
        factor, shift = self.scaling(precision)
        if (factor != 1).any():
            numbers *= factor
        if shift.any():
            numbers += shift
        return numbers.astype(self.dtype or "float32", copy=False)

    def scaling(self, dtype: type[np.floating[Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return factor and summand that do scaling, mean and std at once, shaped for the layout."""
        low, high = self.range or (0.0, 1.0)
        std = np.array(self.std or (1.0,), np.float64)
        mean = np.array(self.mean or (0.0,), np.float64)
        factor, shift = np.broadcast_arrays((high - low) / 255 / std, (low - mean) / std)
        if len(factor) > 1 and self.stacking == "channels":
            factor, shift = (np.tile(one, self.history + 1) for one in (factor, shift))
        shape = (-1,) if self.layout == "nhwc" else (-1, 1, 1)
        return factor.reshape(shape).astype(dtype), shift.reshape(shape).astype(dtype)


@dataclass(frozen=True, eq=False)
class View:
    """What a network sees of one frame, and where in the frame that lies.

    Attributes:
        frame: The frame.
        images: The prepared images, oldest first: time × height × width × channels, uint8.
        top: Rows of the frame above what is seen.
        rows: Rows of the frame that are seen.
        left: Columns of padding before the image; negative where as many are cut off.
        above: Rows of padding above the image, likewise.
        width: Columns that the image has in what is seen, without padding.
        height: Rows likewise.
    """

    frame: Frame
    images: NDArray[np.uint8]
    top: int
    rows: int
    left: int
    above: int
    width: int
    height: int

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of what the network sees, padding included."""
        return int(self.images.shape[2]), int(self.images.shape[1])

    def to_frame(self, xyxy: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """Return boxes in pixels of the frame for boxes in pixels of what the network sees.

        Example:
            >>> frame = Frame("a", np.zeros((100, 200, 3), np.uint8))
            >>> view = ImageInput(width=100, height=100, fit="letterbox").view(frame)
            >>> view.to_frame(np.array([[0.0, 25.0, 50.0, 75.0]])).tolist()
            [[0.0, 0.0, 100.0, 100.0]]
        """
        across, down = self.frame.width / self.width, self.rows / self.height
        shift = np.array([self.left, self.above] * 2, np.float64)
        return (xyxy - shift) * [across, down, across, down] + [0, self.top, 0, self.top]

    def map_to_frame(self, ids: NDArray[Any], outside: int) -> NDArray[Any]:
        """Return a map of the frame's size for a map of what the network sees, at any resolution.

        Args:
            ids: A class number per pixel, height × width.
            outside: The class number of what was cropped or cut off.
        """
        height, width = ids.shape
        across, down = width / self.size[0], height / self.size[1]
        columns, wide = _centres(self.frame.width, self.left * across, self.width * across, width)
        rows, high = _centres(self.rows, self.above * down, self.height * down, height)
        full = np.full((self.frame.height, self.frame.width), outside, ids.dtype)
        seen = np.where(high[:, None] & wide, ids[rows[:, None], columns], full[self.top :][: self.rows])
        full[self.top : self.top + self.rows] = seen
        return full

    def values_to_frame(self, values: NDArray[Any]) -> NDArray[np.float32]:
        """Return numbers of the frame's size for numbers of what the network sees, interpolated.

        Args:
            values: A number per pixel, height × width, at any resolution; NaN is what was cropped or cut off.
        """
        import cv2

        (height, width), (wide, high) = values.shape, self.size
        grids = []
        for count, start, length, scale in (
            (self.frame.width, self.left, self.width, width / wide),
            (self.rows, self.above, self.height, height / high),
        ):
            places = (start + (np.arange(count) + 0.5) * (length / count)) * scale - 0.5
            grids.append(places.astype(np.float32))
        across, down = np.meshgrid(*grids)
        found = cv2.remap(
            values.astype(np.float32), across, down, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
        )
        outside = (across < -0.5) | (across > width - 0.5) | (down < -0.5) | (down > height - 0.5)
        full = np.full((self.frame.height, self.frame.width), np.nan, np.float32)
        full[self.top : self.top + self.rows] = np.where(outside, np.nan, found)
        return full


def _centres(
    count: int, start: float, length: float, limit: int
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return which of limit pixels lies under the centre of each of count, and where there is one.

    The first of the count begins at start, and all of them are length long.
    """
    centres = np.floor(start + (np.arange(count) + 0.5) * (length / count))
    return np.clip(centres, 0, limit - 1).astype(np.intp), (centres >= 0) & (centres < limit)


def _either(names: Sequence[str]) -> str:
    return " or ".join(repr(name) for name in names)


def _shape(shape: Sequence[int | None]) -> str:
    return "(" + ", ".join("?" if one is None else str(one) for one in shape) + ")"
