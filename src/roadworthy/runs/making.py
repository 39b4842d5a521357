"""Where the frames of a run are made: in this process, or in others ahead of their use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import TypeAlias

from roadworthy.cases import FrameSource
from roadworthy.errors import InputError
from roadworthy.runs.batches import Made, make_frames

__all__ = ["Maker", "frame_maker"]

Maker: TypeAlias = Callable[[Sequence[FrameSource]], Callable[[], list[Made]]]
"""Begins to make the frames of some sources; what it returns waits for them."""


@contextmanager
def frame_maker(processes: int) -> Iterator[Maker]:
    """Give what makes frames, in so many processes.

    The frames are the same wherever they are made. In one process they are made when they are waited for.

    Args:
        processes: How many processes; 1 is this one. With more, sources must be picklable, and a script must
            keep what it does under ``if __name__ == "__main__"``, because its module is imported in each.

    Raises:
        InputError: The number cannot be used.
    """
    if processes < 1:
        raise InputError(f"processes must be 1 or more, got {processes}")
    if processes == 1:
        yield lambda sources: lambda: make_frames(sources)
        return
    with ProcessPoolExecutor(processes, get_context("spawn"), _begin) as pool:
        try:
            yield lambda sources: pool.submit(make_frames, list(sources)).result
        finally:
            # Whatever ended the run: what nobody waits for need not be made.
            pool.shutdown(wait=True, cancel_futures=True)


def _begin() -> None:
    import cv2

    # The processes are as many as the cores that may be used.
    cv2.setNumThreads(1)
