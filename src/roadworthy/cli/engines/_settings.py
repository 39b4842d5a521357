"""Settings of a network, as people write them on a command line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from roadworthy.cli._console import parse_options

_SIZE = re.compile(r"(\d+)x(\d+)")
_WORDS = {"true": True, "false": False}


def network_settings(given: Iterable[str] | None) -> dict[str, Any]:
    """Return settings by name: whole numbers, true and false, sizes as (height, width), and other words.

    Raises:
        InputError: One is not written KEY=VALUE.

    Example:
        >>> network_settings(["n_res=3", "light=true", "img_size=512x256", "activ=lrelu"])
        {'n_res': 3, 'light': True, 'img_size': (256, 512), 'activ': 'lrelu'}
    """
    return {key: _value(str(value)) for key, value in parse_options(given or (), "-m n_res=3").items()}


def _value(text: str) -> object:
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if size := _SIZE.fullmatch(text):
        return int(size[2]), int(size[1])
    return _WORDS.get(text.lower(), text)
