from __future__ import annotations

from collections.abc import Iterator

import pytest

from roadworthy.runs.executors.faults import ENVIRONMENT


@pytest.fixture(scope="module")
def several_threads() -> Iterator[None]:
    """The environment asks for more threads than one, whatever it asks for in this run of the tests."""
    with pytest.MonkeyPatch.context() as patched:
        patched.delenv("OPENCV_FOR_THREADS_NUM", raising=False)
        for name in ENVIRONMENT:
            patched.setenv(name, "2")
        yield
