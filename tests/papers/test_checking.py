from __future__ import annotations

from pathlib import Path

import pytest
from scipy.stats import beta

from roadworthy.coverage.oracle import BrokenRelation
from roadworthy.errors import InputError
from roadworthy.papers.deeptest.checking import (
    Check,
    checks_csv,
    choose_findings,
    count_false_alarms,
    read_checks,
    refuse_to_overwrite,
)
from roadworthy.papers.deeptest.deviation import DeviationFinding


def finding(model: str, number: int, transformation: str = "blur") -> DeviationFinding:
    worst = BrokenRelation(f"drive/{number}", transformation, ("gaussian", 3), error=0.5, margin=-0.1)
    return DeviationFinding(f"{model}-{number:03d}", model, worst, 4, 0.25, 0.3, 0.75, inherited=number == 1)


def filled(tmp_path: Path, *judgements: str) -> Path:
    text = checks_csv([finding("m", number) for number in range(len(judgements))], "rad")
    head, *rows = text.splitlines()
    lines = [f"{row.removesuffix(',,')},{said}," for row, said in zip(rows, judgements, strict=True)]
    path = tmp_path / "checks.csv"
    path.write_text("\n".join([head, *lines]) + "\n")
    return path


def test_the_table_has_room_for_judgements() -> None:
    head, row, *_ = checks_csv([finding("m", 1)], "rad").splitlines()
    assert head == (
        "finding,model,transformation,parameter,frame,violations,label,original,answer,unit,inherited,"
        "judgement,remark"
    )
    assert row == "m-001,m,blur,\"('gaussian', 3)\",drive/1,4,0.25,0.3,0.75,rad,yes,,"


def test_judgements_come_back(tmp_path: Path) -> None:
    path = filled(tmp_path, "true fault", "False Alarm", "false-alarm", "", " unsure ")
    assert [one.judgement for one in read_checks(path)] == [
        "true fault",
        "false alarm",
        "false alarm",
        None,
        "unsure",
    ]


def test_what_somebody_judged_in_part_is_not_written_over(tmp_path: Path) -> None:
    refuse_to_overwrite(tmp_path)
    filled(tmp_path, "", "", "")
    refuse_to_overwrite(tmp_path)
    filled(tmp_path, "", "unsure", "")
    with pytest.raises(InputError, match="has judgements in it, which would be lost"):
        refuse_to_overwrite(tmp_path)


@pytest.mark.parametrize("said", ["maybe", "fault", "true"])
def test_other_judgements_name_the_line(tmp_path: Path, said: str) -> None:
    path = filled(tmp_path, "unsure", said)
    with pytest.raises(InputError, match=r"checks.csv: line 3: judgement must be true fault, false alarm"):
        read_checks(path)


def test_broken_tables(tmp_path: Path) -> None:
    path = filled(tmp_path, "unsure")
    path.write_text(path.read_text() + path.read_text().splitlines()[1] + "\n")
    with pytest.raises(InputError, match="line 3: the finding 'm-000' is there twice"):
        read_checks(path)
    path.write_text("finding,model\nm-1,m\n")
    with pytest.raises(InputError, match="missing transformation, judgement"):
        read_checks(path)


def checks(model: str, transformation: str, **counts: int) -> list[Check]:
    words = {"faults": "true fault", "false": "false alarm", "unsure": "unsure", "open": None}
    return [
        Check(f"{model}-{transformation}-{word}-{number}", model, transformation, words[word])  # type: ignore[arg-type]
        for word, count in counts.items()
        for number in range(count)
    ]


def test_rates_with_their_bounds() -> None:
    given = [
        *checks("epoch", "blur", faults=5, false=3, unsure=2, open=1),
        *checks("epoch", "rain", faults=4),
        *checks("dave2", "fog", false=1),
    ]
    found = count_false_alarms(given)
    assert [(one.model, one.changes) for one in found.rows] == [
        ("epoch", "simple"),
        ("epoch", "rain"),
        ("epoch", "all"),
        ("dave2", "fog"),
        ("dave2", "all"),
        ("all", "all"),
    ]
    simple, rain, epoch, fog, _, total = found.rows
    assert (simple.true_faults, simple.false_alarms, simple.unsure, simple.not_checked) == (5, 3, 2, 1)
    assert simple.rate == pytest.approx(3 / 8)
    # Clopper and Pearson by quantiles of the beta distribution.
    assert simple.interval == pytest.approx((beta.ppf(0.025, 3, 6), beta.ppf(0.975, 4, 5)))
    assert simple.worst == pytest.approx(beta.ppf(0.95, 6, 5))
    assert rain.interval == pytest.approx((0, 1 - 0.025 ** (1 / 4)))
    assert fog.interval == pytest.approx((0.025, 1))
    assert (epoch.decided, total.decided) == (12, 13)
    assert "37.5%" in str(found.table())


def test_one_model_has_no_row_for_all_models() -> None:
    found = count_false_alarms(checks("epoch", "blur", faults=1))
    assert [(one.model, one.changes) for one in found.rows] == [("epoch", "simple"), ("epoch", "all")]


def test_only_unsure_has_no_rate() -> None:
    row = count_false_alarms(checks("epoch", "blur", unsure=3)).rows[0]
    assert (row.rate, row.interval, row.worst) == (None, None, 1.0)


def test_nothing_judged() -> None:
    with pytest.raises(InputError, match="no finding was judged: write true fault"):
        count_false_alarms(checks("epoch", "blur", open=3))


def test_findings_are_drawn_at_random_from_each_model() -> None:
    findings = [finding(model, number) for model in ("a", "b") for number in range(50)]
    chosen = choose_findings(findings, 10, seed=1)
    assert [sum(one.model == name for one in chosen) for name in ("a", "b")] == [10, 10]
    assert chosen == [one for one in findings if one in chosen], "in order"
    assert chosen == choose_findings(findings, 10, seed=1)
    assert chosen != choose_findings(findings, 10, seed=2)
    assert choose_findings(findings, 100) == findings
    assert choose_findings([], 3) == []
    with pytest.raises(InputError, match="at least 1"):
        choose_findings(findings, 0)
