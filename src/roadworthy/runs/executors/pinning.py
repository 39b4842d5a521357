"""One thread for each worker: the workers are as many as the cores that may be used."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["ENVIRONMENT", "environment", "pin"]

ENVIRONMENT = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "ROADWORTHY_THREADS",
    ),
    "1",
)
"""What libraries look at when they are loaded; the last is for networks that say nothing themselves."""


@contextmanager
def environment() -> Iterator[None]:
    """Let processes that are started meanwhile find one thread in their environment."""
    before = {name: os.environ.get(name) for name in ENVIRONMENT}
    os.environ.update(ENVIRONMENT)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def pin() -> None:
    """Let the libraries of this process use one thread; to be called before they are loaded."""
    os.environ.update(ENVIRONMENT)
    import cv2

    cv2.setNumThreads(1)
