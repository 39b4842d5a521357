"""Counted answers, and the files that they come in."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy.errors import InputError
from roadworthy.reliability.human.answers import Bins, UnchangedAccuracy, read_bins

HEADER = "IQA,Accuracy,Count,Num_Accs\n"


@given(st.lists(st.tuples(st.integers(0, 10_000), st.booleans()), min_size=1, max_size=300))
def test_every_answer_is_in_the_interval_that_holds_it(given_answers: list[tuple[int, bool]]) -> None:
    changes = [one / 10_000 for one, _ in given_answers]
    kept = [right for _, right in given_answers]
    bins = Bins.counted("frost", "correctness", changes, kept)
    for edge, count, good in zip(bins.edges, bins.counts, bins.kept, strict=True):
        # In whole numbers of ten-thousandths, so that no rounding has a say.
        top = round(float(edge) * 10_000)
        low = top - 100 if top > 100 else -1
        inside = [right for (one, right) in given_answers if low < one <= top]
        assert (len(inside), sum(inside)) == (count, good)
        assert count > 10
    held = sum(bins.counts)
    assert held <= len(given_answers)
    assert len(bins) > 0 or len(given_answers) <= 10 * 100


def test_a_hundredth_that_was_computed_is_in_its_own_interval() -> None:
    """0.07 / 0.01 is a little more than 7: the answers at 0.07 would be those of 0.07 to 0.08."""
    changes = np.repeat(np.arange(1, 101) / 100, 11)
    bins = Bins.counted("frost", "correctness", changes, np.ones(len(changes), bool))
    assert bins.counts.tolist() == [11] * 100


def test_a_file_as_published(tmp_path: Path) -> None:
    file = tmp_path / "imagenet_c_p_Color_jitter.csv"
    file.write_text(HEADER + "0.1,0.95,20,19\n0.11,1.0,10,10\n0.2,0.5,30,15\n")
    bins = read_bins(file)
    assert (bins.transformation, bins.requirement, bins.study) == ("colour-jitter", "correctness", "imagenet")
    # The interval with 10 answers is left out: more than 10 are needed.
    assert bins.edges.tolist() == [0.1, 0.2]
    assert bins.kept.tolist() == [19, 15]
    assert bins.originals is not None
    assert (bins.originals.share, bins.originals.count) == (0.97, None)
    assert bins.published == 0.48


def test_a_file_in_plain_words(tmp_path: Path) -> None:
    file = tmp_path / "heavy rain.csv"
    file.write_text("visual_change,preserved_share,count,preserved\n0.3,0.75,40,30\n")
    bins = read_bins(file)
    assert (bins.transformation, bins.requirement) == ("heavy-rain", "prediction")
    assert bins.originals is None
    assert bins.published is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        (HEADER, "has no intervals"),
        ("IQA,Count\n0.1,20\n", "expected a column Accuracy or correct_share or Preserved"),
        ("IQA,Accuracy,Count\n0.1,0.9,20\n", "expected a column correct or Num_Accs"),
        (HEADER + "0.1,0.95,20,19\n0.2,nan,20,19\n", "line 3: Accuracy must be a finite number, got 'nan'"),
        (HEADER + "0.1,1.95,20,19\n", "line 2: Accuracy must be from 0 to 1, got 1.95"),
        (HEADER + "0.1,-0.5,20,19\n", "line 2: Accuracy must be from 0 to 1, got -0.5"),
        (HEADER + "1.1,0.95,20,19\n", "line 2: IQA must be from 0 to 1, got 1.1"),
        (HEADER + "0.2,0.95,20,19\n0.1,0.95,20,19\n", "line 3: IQA must ascend"),
        (HEADER + "0.1,0.95,20.5,19\n", "line 2: Count must be a whole number above 0"),
        (HEADER + "0.1,0.95,20,21\n", "line 2: Num_Accs must be 0 to 20, got 21"),
        (HEADER + "0.1,0.5,20,19\n", "line 2: Accuracy is 0.5, but 19/20 is not"),
        (HEADER + "0.1,0.95,20\n", "line 2: expected 4 columns, got 3"),
    ],
)
def test_bad_files(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "frost.csv"
    file.write_text(content)
    with pytest.raises(InputError) as caught:
        read_bins(file)
    assert message in str(caught.value)
    assert "frost.csv" in str(caught.value)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found none at"):
        read_bins(tmp_path / "absent.csv")


def test_bad_counts() -> None:
    with pytest.raises(InputError, match="no answers to images changed by frost"):
        Bins.counted("frost", "correctness", [], [])
    with pytest.raises(InputError, match="from 0 to 1; NaN is none"):
        Bins.counted("frost", "correctness", [0.2, np.nan], [True, True])
    with pytest.raises(InputError, match="no more answers can be kept"):
        Bins("frost", "correctness", np.array([0.1]), np.array([20]), np.array([21]))
    with pytest.raises(InputError, match="must ascend"):
        Bins("frost", "correctness", np.array([0.2, 0.1]), np.array([20, 20]), np.array([2, 2]))
    with pytest.raises(InputError, match="as many edges as counts"):
        Bins("frost", "correctness", np.array([0.2]), np.array([20, 20]), np.array([2, 2]))


def test_wider_intervals() -> None:
    changes = np.linspace(0.001, 1, 200)
    assert len(Bins.counted("frost", "correctness", changes, changes < 0.5)) == 0
    wide = Bins.counted("frost", "correctness", changes, changes < 0.5, width=0.1)
    assert wide.edges.tolist() == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert wide.counts.tolist() == [20] * 10
    for width in (0.0, 0.03, 0.5, -0.1):
        with pytest.raises(InputError, match="fraction of 1"):
            Bins.counted("frost", "correctness", changes, changes < 0.5, width=width)


@pytest.mark.parametrize("share", [0.0, -0.1, 1.01, float("nan")])
def test_bad_shares_on_originals(share: float) -> None:
    with pytest.raises(InputError, match="above 0 and at most 1"):
        UnchangedAccuracy(share)
