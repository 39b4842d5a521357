"""Which visual change people tolerate, as published."""

import math
from pathlib import Path

import numpy as np
import pytest

from roadworthy.errors import InputError, UnknownNameError
from roadworthy.result_tables import ResultTable
from roadworthy.visual_change import ReferenceImage
from roadworthy.visual_change.tolerance import (
    ChangeMeasurement,
    HumanStudy,
    Tolerance,
    human_studies,
    human_study,
    known_tolerance,
    measure_change,
    tolerance_of,
    tolerated,
)

# Table 1 of Hu et al., in its order.
IMAGENET = {
    "RGB": (0.82, 0.67),
    "contrast": (0.77, 0.28),
    "defocus blur": (0.98, 0.94),
    "frost": (0.84, 0.91),
    "brightness": (0.87, 0.87),
    "Gaussian noise": (0.91, 0.91),
    "color jitter": (0.48, 0.48),
    "jpeg compression": (0.94, 0.94),
}
CIFAR10 = {
    "brightness": (0.78, 0.89),
    "frost": (0.61, 0.61),
    "contrast": (0.63, 0.86),
    "jpeg compression": (0.60, 0.60),
}


@pytest.mark.parametrize(("study", "table"), [("imagenet", IMAGENET), ("cifar10", CIFAR10)])
def test_table_1(study: str, table: dict[str, tuple[float, float]]) -> None:
    found = human_studies()[study].tolerances
    assert len(found) == len(table)
    for name, limits in table.items():
        one = tolerance_of(name, study=study)
        assert (one.limit("correctness"), one.limit("prediction")) == limits
        assert "Table 1" in one.source
    assert tolerance_of("brightness").note == "the text (section 5) gives 0.8 and 0.86"


def test_the_limit_itself_is_inside() -> None:
    assert tolerated(0.77, "contrast")
    assert not tolerated(0.7701, "contrast")
    assert not tolerated(0.77, "contrast", requirement="prediction")
    assert tolerated(0.0, "Color_jitter")


def test_unknown_names() -> None:
    assert known_tolerance("rain") is None
    with pytest.raises(UnknownNameError, match="no thresholds for 'frosst': did you mean 'frost'"):
        tolerated(0.5, "frosst")
    with pytest.raises(UnknownNameError, match="no study 'coco' of human tolerance"):
        tolerated(0.5, "frost", study="coco")
    with pytest.raises(InputError, match="one of correctness, prediction, got 'speed'"):
        tolerated(0.5, "frost", requirement="speed")  # type: ignore[arg-type]


def test_a_study_of_your_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("mine:\n  transformations:\n    Heavy rain: {correctness: 0.5, prediction: 0.4}\n")
    assert tolerated(0.45, "heavy_rain", study=str(file))
    assert not tolerated(0.45, "heavy-rain", study=str(file), requirement="prediction")
    assert human_study(str(file)).originals is None
    file.write_text("mine:\n  transformations:\n    Heavy rain: {correctness: 0.2, prediction: 0.4}\n")
    assert not tolerated(0.45, "heavy_rain", study=str(file)), "what was read before is not what stands there"
    file = tmp_path / "two.yaml"
    file.write_text("one:\n  transformations: {}\ntwo:\n  transformations: {}\n")
    with pytest.raises(InputError, match="must hold one study, got one, two"):
        human_study(str(file))


def test_what_yaml_reads_as_a_number_or_a_date_is_text(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(
        "mine:\n  task: 3\n  images: 50000\n  source: 2024\n  originals_source: 2024-05-01\n"
        "  transformations:\n    rain: {correctness: 0.5, prediction: 0.4, note: 5}\n"
    )
    study = human_study(str(file))
    assert (study.task, study.images, study.source) == ("3", "50000", "2024")
    assert study.originals_source == "2024-05-01"
    assert (study.tolerances["rain"].note, study.tolerances["rain"].source) == ("5", "2024")


@pytest.mark.parametrize("change", [-0.1, 1.1, float("nan"), float("inf")])
def test_no_visual_change(change: float) -> None:
    with pytest.raises(InputError, match="from 0 to 1"):
        tolerated(change, "frost")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mine:\n  source: us\n", ":1: mine needs the key 'transformations'"),
        ("mine:\n  transformations:\n    rain: {correctness: 0.5}\n", "rain needs the key 'prediction'"),
        (
            "mine:\n  transformations:\n    rain: {correctness: 1.5, prediction: 0.4}\n",
            "correctness: expected at most 1, got 1.5",
        ),
        ("mine:\n  originals: high\n  transformations: {}\n", ":2: mine > originals: expected a number"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "tolerance.yaml"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        human_studies(file)
    assert message in str(caught.value)


def test_a_change_is_held_against_what_people_tolerate() -> None:
    before = np.random.default_rng(0).integers(0, 256, (64, 96, 3), dtype=np.uint8)
    same = measure_change(before, before)
    assert (same.visual_change, same.visible, same.tolerated) == (0, False, True)
    assert set(same.document()["tolerated"]) == set(human_study("imagenet").tolerances)
    grey = measure_change(before, np.full_like(before, 128), "contrast")
    assert grey.visible
    assert not grey.tolerated
    limits = {kind: tolerance_of("contrast").limit(kind) for kind in ("correctness", "prediction")}
    told = grey.document()["tolerated"]["contrast"]
    assert told == {kind: {"limit": limit, "tolerated": False} for kind, limit in limits.items()}
    facts, table = grey.lines()
    assert isinstance(facts, dict)
    assert facts["visible"] == "yes"
    assert isinstance(table, ResultTable)
    assert table.rows == (("contrast", *(cell for one in limits.values() for cell in (f"{one:g}", "no"))),)


def test_a_study_is_told_to_scripts_and_people() -> None:
    study = HumanStudy(
        *("mine", "which class", "100 crops", "a paper", 0.97, "counted"),
        {
            "fog": Tolerance("mine", "fog", 0.8, 0.3, "a paper", "few"),
            "jpeg": Tolerance("mine", "jpeg", 0.5, 0.25, "a paper"),
        },
    )
    assert study.as_dict() == {
        **{"task": "which class", "images": "100 crops", "source": "a paper"},
        **{"originals": 0.97, "originals_source": "counted"},
        "transformations": {
            "fog": {"t_c": 0.8, "t_p": 0.3, "note": "few"},
            "jpeg": {"t_c": 0.5, "t_p": 0.25, "note": ""},
        },
    }
    table = study.table()
    assert (table.title, table.note) == ("mine: which class; 100 crops", "a paper")
    assert table.rows == (("fog", "0.80", "0.30", "few"), ("jpeg", "0.50", "0.25", ""))


FOG = Tolerance("mine", "fog", 0.5, 0.25, "a paper", names=("mist",))


@pytest.mark.parametrize(
    ("change", "vsnr", "tolerated", "within", "visible"),
    [
        (0.25, 31.26, True, ("yes", "yes"), True),
        (0.5, -2.0, False, ("yes", "no"), True),
        (0.51, 0.0, False, ("no", "no"), True),
        (0.0, math.inf, True, ("yes", "yes"), False),
    ],
)
def test_a_measured_change_is_told_to_scripts_and_people(
    change: float, vsnr: float, tolerated: bool, within: tuple[str, str], visible: bool
) -> None:
    found = ChangeMeasurement(change, 0.91234, 0.5, vsnr, "mine", (FOG,))
    assert (found.tolerated, found.visible) == (tolerated, visible)
    assert found.document() == {
        "visual_change": change,
        "vif": 0.91234,
        "vif_pixel": 0.5,
        "vsnr": vsnr if visible else "inf",
        "visible": visible,
        "study": "mine",
        "tolerated": {
            "fog": {
                "correctness": {"limit": 0.5, "tolerated": within[0] == "yes"},
                "prediction": {"limit": 0.25, "tolerated": within[1] == "yes"},
            }
        },
    }
    facts, table = found.lines()
    assert facts == {
        "visual change Δv": f"{change:.4f}",
        "VIF": "0.9123   (of pixels: 0.5000)",
        "VSNR": f"{vsnr:.1f} dB" if visible else "∞",
        "visible": "yes" if visible else "no: below the threshold of detection",
    }
    assert isinstance(table, ResultTable)
    assert table.columns == ("if it is", "correctness up to", "tolerated", "prediction up to", "tolerated")
    assert table.rows == (("fog", "0.5", within[0], "0.25", within[1]),)


def test_measuring_uses_the_study_and_the_change_that_are_named(tmp_path: Path) -> None:
    file = tmp_path / "mine.yml"
    limits = "{correctness: 0.5, prediction: 0.4, names: [heavy-fog, mist]}"
    file.write_text(f"mine:\n  transformations:\n    fog: {limits}\n    rain: {limits}\n")
    before = np.random.default_rng(0).integers(0, 256, (64, 96, 3), dtype=np.uint8)
    after = (before // 2 + 64).astype(np.uint8)
    found = measure_change(before, after, "Heavy_Fog", study=str(file))
    assert [one.transformation for one in found.limits] == ["fog"]
    assert found.study == str(file)
    reference = ReferenceImage(before)
    assert (found.visual_change, found.vif, found.vif_pixel, found.vsnr) == (
        *(reference.visual_change(after), reference.vif(after), reference.vif_pixel(after)),
        reference.vsnr(after),
    )
    assert len(measure_change(before, after, study=str(file)).limits) == 2
    (tmp_path / "none.yaml").write_text("{}")
    with pytest.raises(InputError, match="must hold one study, got none"):
        human_study(str(tmp_path / "none.yaml"))
    with pytest.raises(
        InputError, match=r"absent.yaml: cannot read the file of human tolerances: No such file"
    ):
        human_studies(tmp_path / "absent.yaml")
