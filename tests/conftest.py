import os
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples on every run, and no deadline: a busy machine is no failure.
settings.register_profile("roadworthy", deadline=None, derandomize=True)
settings.load_profile("roadworthy")


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data beside the repository; absent, a test that needs it is skipped.

    ROADWORTHY_REQUIRE_REAL_DATA makes its absence a failure: a machine meant to have it must not skip.
    """
    folder = Path(__file__).resolve().parents[1].parent / "shared" / "data"
    if not folder.is_dir():
        reason = "the real data is not beside the repository (../shared/data)"
        if os.environ.get("ROADWORTHY_REQUIRE_REAL_DATA"):
            pytest.fail(reason)
        pytest.skip(reason)
    return folder
