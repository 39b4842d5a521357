"""Single answers, and how they are counted."""

from pathlib import Path

import pytest

from roadworthy.errors import InputError
from roadworthy.reliability.human.answers import HumanAnswer, bins_of, read_answers, read_human

HEADER = "image,transformation,truth,answer,visual_change,rater,time\n"


def written(tmp_path: Path, *lines: str, header: str = HEADER) -> Path:
    file = tmp_path / "answers.csv"
    file.write_text(header + "\n".join(lines) + "\n")
    return file


def test_reading(tmp_path: Path) -> None:
    file = written(
        tmp_path, "a,original,car,car,,kim,0.4", "a,Color jitter,car,not car,0.31,lee,", "b,,car,car,0,lee,1"
    )
    assert read_answers(file) == (
        HumanAnswer("a", "original", "car", "car", 0.0, "kim", 0.4),
        HumanAnswer("a", "colour-jitter", "car", "not car", 0.31, "lee", None),
        HumanAnswer("b", "original", "car", "car", 0.0, "lee", 1.0),
    )


def test_other_names_of_columns_and_fidelity(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        "a,frost,car,car,0.7",
        "b,frost,car,car,1.2",
        header="image_link,kind,truth,human_label,IQA\n",
    )
    names = {"image": "image_link", "transformation": "kind", "answer": "human_label", "fidelity": "IQA"}
    first, second = read_answers(file, names)
    assert first.visual_change == pytest.approx(0.3)
    assert second.visual_change == 0.0  # VIF > 1: the change improves the image
    assert first.rater is None
    with pytest.raises(InputError, match="there is no column 'anser': did you mean 'answer'"):
        read_answers(file, {"anser": "human_label"})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a,frost,car,car,1.2,kim,1", "line 2: visual_change must be from 0 to 1, got 1.2"),
        ("a,frost,car,car,nan,kim,1", "line 2: visual_change must be a finite number"),
        ("a,frost,car,car,,kim,1", "line 2: visual_change must be a finite number"),
        ("a,frost,car,,0.2,kim,1", "line 2: answer is empty"),
        ("a,frost,,car,0.2,kim,1", "line 2: truth is empty"),
        ("a,frost,car,car,0.2,kim,-1", "line 2: time in seconds must be 0 or more"),
        ("a,frost,car,car,0.2,kim", "line 2: expected 7 columns, got 6"),
        ("a,frost,car,car,0.2,kim,1\na,original,car,car,0,kim,1", "line 3: 'kim' has already answered"),
    ],
)
def test_bad_lines(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_answers(written(tmp_path, line))
    assert message in str(caught.value)
    assert "answers.csv" in str(caught.value)


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found none at"):
        read_answers(tmp_path / "absent.csv")
    with pytest.raises(InputError, match="missing truth"):
        read_answers(
            written(tmp_path, "a,frost,car,0.1", header="image,transformation,answer,visual_change\n")
        )
    file = tmp_path / "only names.csv"
    file.write_text(HEADER)
    with pytest.raises(InputError, match="has no answers"):
        read_answers(file)


def shown(image: str, transformation: str, answer: str, times: int, change: float = 0.0) -> list[HumanAnswer]:
    return [HumanAnswer(image, transformation, "car", answer, change)] * times


def test_prediction_is_measured_against_the_majority_on_the_original() -> None:
    answers = (
        shown("a", "original", "not car", 3)  # wrong, but it is what people say
        + shown("a", "original", "car", 2)
        + shown("a", "frost", "not car", 12, 0.2)
        + shown("a", "frost", "car", 4, 0.2)
        + shown("b", "original", "car", 2)
        + shown("b", "original", "not car", 2)  # no majority: b cannot be compared
        + shown("b", "frost", "car", 12, 0.3)
        + shown("c", "frost", "car", 12, 0.4)  # never shown as it is
    )
    predicted = bins_of(answers, "frost", "prediction")
    assert (predicted.edges.tolist(), predicted.counts.tolist(), predicted.kept.tolist()) == (
        [0.2],
        [16],
        [12],
    )
    correct = bins_of(answers, "frost", "correctness")
    assert correct.kept.tolist() == [4, 12, 12]
    assert correct.originals is not None
    assert (correct.originals.share, correct.originals.count) == (4 / 9, 9)


def test_what_cannot_be_counted() -> None:
    changed = shown("a", "frost", "car", 12, 0.2)
    with pytest.raises(InputError, match="no answers to images without a change"):
        bins_of(changed, "frost", "correctness")
    with pytest.raises(InputError, match="no answers about 'frosst': did you mean 'frost'"):
        bins_of(changed + shown("a", "original", "car", 3), "frosst", "correctness")
    with pytest.raises(InputError, match="no image changed by frost was also shown unchanged"):
        bins_of(changed + shown("b", "original", "car", 3), "frost", "prediction")
    with pytest.raises(InputError, match="nobody is right about any unchanged image"):
        bins_of(changed + shown("b", "original", "not car", 3), "frost", "correctness")


def test_answers_are_recognised_in_any_form(tmp_path: Path) -> None:
    lines = [f"i{n},original,car,car,0,r{n},1" for n in range(12)]
    lines += [f"i{n},frost,car,car,0.2,s{n},1" for n in range(12)]
    data = read_human(written(tmp_path, *lines))
    assert [(one.transformation, one.requirement) for one in data.bins] == [
        ("frost", "correctness"),
        ("frost", "prediction"),
    ]
    assert len(data.answers) == 24
    with pytest.raises(InputError, match="no answers about 'rain'"):
        data.only(["rain"])
    assert data.only([]).bins == data.bins, "nothing chosen is everything"
    assert len(data.only(["frost"]).bins) == 2
    folder = tmp_path / "bins"
    folder.mkdir()
    with pytest.raises(InputError, match="must hold CSV files"):
        read_human(folder)
    (folder / "imagenet_c_p_frost.csv").write_text("IQA,Accuracy,Count,Num_Accs\n0.1,0.95,20,19\n")
    (one,) = read_human(folder).bins
    assert one.transformation == "frost"
    with pytest.raises(InputError, match="can be chosen for single answers only"):
        read_human(folder, width=0.1)
    with pytest.raises(InputError, match="found nothing at"):
        read_human(tmp_path / "absent")
