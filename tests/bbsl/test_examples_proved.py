"""The specifications that ship as examples are proved, for any number of boxes."""

from pathlib import Path

import pytest

from roadworthy.bbsl import load

EXAMPLES = Path(__file__).parents[2] / "examples" / "bbsl"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.bbsl")), ids=lambda path: path.stem)
def test_an_example_is_exhaustive_exclusionary_and_non_redundant(path: Path) -> None:
    result = load(path).check(seconds=60)
    assert result.ok, [str(one) for one in result.problems]
    assert [one for one in result.findings if one.up_to is not None] == []
