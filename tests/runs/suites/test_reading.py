from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roadworthy.errors import InputError
from roadworthy.runs.suites import Suite, read_suite, suite_of
from roadworthy.runs.suites.forms import read_share
from roadworthy.runs.suites.kinds.bbsl import BbslForm
from roadworthy.runs.suites.kinds.coverage import CoverageForm
from roadworthy.runs.suites.kinds.driving import DrivingForm
from roadworthy.runs.suites.kinds.reliability import ReliabilityForm
from roadworthy.runs.suites.kinds.rules import RuleForm, RulesForm
from roadworthy.runs.suites.reading import SuiteError, without_budgets
from roadworthy.runs.suites.schema import SuiteForm

Read = Callable[[str], Suite]

HEAD = "models: dave2\ndata: world\n"


def complaints_of(read: Read, text: str) -> list[str]:
    """Return the complaints about a suite: line, column and message of each."""
    with pytest.raises(SuiteError) as caught:
        read(text)
    found = []
    for one in caught.value.complaints:
        first = one.shown.splitlines()[0]
        found.append(first.partition("mine.suite.yaml")[2].lstrip(":"))
    return found


class TestShortForms:
    def test_a_sentence_a_file_of_rules_and_a_specification_stand_for_themselves(self, suite: Read) -> None:
        found = suite(
            HEAD
            + "requirements:\n"
            + "  R1: If it rains, then the ego-vehicle should slow down.\n"
            + "  paper: rules/paper.rules\n"
            + "  S1: stop.bbsl\n"
        ).form.requirements
        assert isinstance(found["R1"], RuleForm)
        assert isinstance(found["paper"], RulesForm)
        assert found["paper"].rules == ["rules/paper.rules"]
        assert isinstance(found["S1"], BbslForm)

    def test_models_and_data_may_be_one_name_a_list_or_a_mapping(self, suite: Read) -> None:
        rest = "requirements: {R1: If it rains, slow down.}\n"
        for models in ("dave2", "[dave2, epoch]", "{dave2: dave2, epoch: {model: epoch}}"):
            form = suite(
                f"models: {models}\ndata: world:town\n{rest}".replace("If it rains, slow", "It")
            ).form
            assert form.models["dave2"].model == "dave2"
            assert form.data["world:town"].data == "world:town"

    def test_each_kind_is_told_by_its_key(self, suite: Read) -> None:
        form = suite(
            HEAD
            + "requirements:\n"
            + "  C: {coverage: neuron, lambda: 3}\n"
            + "  H: {reliability: fog}\n"
            + "  D: {driving: {SD(SA): 3}}\n"
            + "  O: {driving: oracle.json}\n"
        ).form
        assert isinstance(form.requirements["C"], CoverageForm)
        assert form.requirements["C"].lambda_ == 3
        assert isinstance(form.requirements["H"], ReliabilityForm)
        assert form.requirements["H"].reliability == ["fog"]
        assert isinstance(form.requirements["D"], DrivingForm)
        assert isinstance(form.requirements["O"], DrivingForm)
        assert form.requirements["O"].driving == "oracle.json"

    def test_an_id_may_be_a_number(self, suite: Read) -> None:
        assert list(suite(f"{HEAD}requirements: {{1: If it rains slow down}}\n").form.requirements) == ["1"]

    @pytest.mark.parametrize(
        ("text", "share"), [("5%", 0.05), ("0.05", 0.05), (0.05, 0.05), (1, 1.0), (" 12.5 % ", 0.125)]
    )
    def test_shares_are_written_as_people_write_them(self, text: object, share: float) -> None:
        assert read_share(text) == share

    @pytest.mark.parametrize("text", ["5", 5, -0.1, "500%", float("nan"), True, "five", None, []])
    def test_what_is_no_share_is_refused(self, text: object) -> None:
        with pytest.raises(ValueError, match="expected a share such as 5% or"):
            read_share(text)

    def test_a_suite_is_called_by_its_title_or_its_file(self, suite: Read) -> None:
        assert suite(f"{HEAD}requirements: {{R1: It rains}}\n").name == "mine"
        assert suite(f"suite: Night\n{HEAD}requirements: {{R1: It rains}}\n").name == "Night"


class TestComplaints:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            (
                f"sead: 3\n{HEAD}requirements: {{R: It rains}}",
                "1:1: unknown key 'sead': did you mean 'seed'?",
            ),
            (
                f"{HEAD}requirements:\n  R: {{rule: x, severty: minor}}",
                "4:16: unknown key 'severty': did you",
            ),
            (f"{HEAD}requirements:\n  R:\n    relibility: fog", "5:5: R must say its kind by one of rule,"),
            (f"{HEAD}requirements:\n  R: {{text: x}}", "4:3: R must say its kind by one of rule, rules,"),
            (
                f"{HEAD}requirements:\n  R: {{rule: x, bbsl: y}}",
                "4:16: a requirement is of one kind, got rule",
            ),
            (f"{HEAD}requirements:\n  R:", "4:5: a requirement is a sentence, a file, or a mapping"),
            (f"{HEAD}requirements:\n  R: [a]", "4:6: a requirement is a sentence, a file, or a mapping"),
            (f"{HEAD}requirements:\n  R: 3", "4:6: a requirement is a sentence, a file, or a mapping"),
            (f"{HEAD}requirements: {{}}", "3:15: requirements: expected at least one, got {}"),
            (f"{HEAD}requirements: soon", "3:15: requirements: expected a mapping, got 'soon'"),
            (HEAD, "the suite needs the key 'requirements'"),
            ("requirements: {R: It rains}", "the suite needs the key 'models'"),
            (
                f"{HEAD}requirements:\n  R: {{rule: x, accept: 7}}",
                "4:24: accept: expected a share such as 5%",
            ),
            (
                f"{HEAD}requirements:\n  R: {{rule: x, accept: {{rat: 1}}}}",
                "4:25: unknown key 'rat': did you",
            ),
            (f"{HEAD}requirements:\n  R: {{rule: x, severity: bad}}", "4:26: severity: expected 'minor', "),
            (f"{HEAD}requirements:\n  R: {{rule: x, tags: 3}}", "4:22: tags: expected a list, got 3"),
            (f"{HEAD}requirements:\n  R: {{rule: x, models: dave3}}", "4:24: the suite has no models called"),
            (
                f"{HEAD}requirements:\n  R: {{rule: x, data: [world, worl]}}",
                "4:30: the suite has no data called 'worl': did you mean 'world'?",
            ),
            (
                f"{HEAD}requirements:\n  C: {{coverage: neuron, tries: 0}}",
                "4:32: tries: expected at least 1, got 0",
            ),
            (
                f"{HEAD}requirements:\n  C: {{coverage: neuron, lambda: .inf}}",
                "4:33: lambda: expected a finite number, got inf",
            ),
            (
                f"{HEAD}requirements:\n  C: {{coverage: neuron, seconds: .nan}}",
                "4:34: seconds: expected a finite number, got nan",
            ),
            (f"{HEAD}requirements:\n  H: {{reliability: fog, accept: 5%}}", "4:25: reliability accepts no"),
            (
                f"{HEAD}requirements:\n  D: {{driving: []}}",
                "4:16: driving: expected metrics with their thresholds",
            ),
            (f"{HEAD}requirements:\n  yes: It rains", "4:3: a key must be text, got True: put it in quotes"),
            (f"{HEAD}requirements:\n  2026-11-15: It rains", "4:3: a key must be text, got datetime.date"),
            (f"{HEAD}requirements:\n  a/b: It rains", "4:3: a name has at most 120 characters, none of them"),
            (f"{HEAD}requirements:\n  a@b: It rains", "4:3: a name has at most 120 characters, none of them"),
            (f"{HEAD}requirements:\n  {'a' * 121}: It rains", "4:3: a name has at most 120 characters"),
            (
                f"{HEAD}requirements:\n  R: {{rule: x, models: []}}",
                "4:24: models: expected at least one, got []",
            ),
            ("models: [a, b, a]\nrequirements: {R: It rains}", "1:9: models: 'a' is listed twice: give"),
            (f"{HEAD}seed: -1\nrequirements: {{R: It rains}}", "3:7: seed: expected at least 0, got -1"),
            (f"{HEAD}seed: 1.5\nrequirements: {{R: It rains}}", "3:7: seed: expected a whole number"),
            (
                "models: {a: {modle: dave2}}\ndata: world\nrequirements: {R: It rains}",
                "1:14: unknown key 'modle'",
            ),
            (
                "models: dave2\ndata:\n  a: {data: world, labels: big}\nrequirements: {R: It rains}",
                "3:28: labels: expected width and height such as 1242x375 (who labels: options), got 'big'",
            ),
        ],
    )
    def test_each_names_line_and_column(self, suite: Read, text: str, expected: str) -> None:
        found = complaints_of(suite, text)
        assert any(one.strip().startswith(expected) for one in found), found

    def test_the_words_are_underlined(self, suite: Read) -> None:
        with pytest.raises(SuiteError) as caught:
            suite(f"{HEAD}requirements:\n  R1: {{rule: It rains, severty: minor}}\n")
        assert str(caught.value).splitlines()[1:] == [
            "  4 |   R1: {rule: It rains, severty: minor}",
            "    |                        ^^^^^^^",
        ]

    def test_all_are_told_at_once_in_the_order_of_the_file(self, suite: Read) -> None:
        text = f"sead: 1\n{HEAD}requirements:\n  A: {{rule: x, acept: 1}}\n  B: 3\n  C: {{cover: x}}\n"
        found = complaints_of(suite, text)
        assert [int(one.partition(":")[0]) for one in found] == [1, 5, 6, 7]

    def test_hundreds_are_cut_short(self, suite: Read) -> None:
        entries = "".join(f"  R{number}: 3\n" for number in range(200))
        with pytest.raises(SuiteError, match=r"… and 170 more"):
            suite(f"{HEAD}requirements:\n{entries}")

    def test_they_travel_between_processes(self, suite: Read) -> None:
        for text in (f"{HEAD}requirements: {{R: 3}}\n", "[1, 2"):
            with pytest.raises(SuiteError) as caught:
                suite(text)
            assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


class TestFiles:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", r"mine\.suite\.yaml: the suite is empty: expected 'models:' and 'requirements:'"),
            ("# only words\n", "the suite is empty"),
            ("- a\n- b\n", ":1: expected a mapping with 'models:'"),
            ("just text", ":1: expected a mapping"),
            ("models: [a\n", r":2:1: broken YAML: .* while parsing a flow sequence on line 1"),
            ("models: a\nmodels: b\n", ":2:1: 'models' is written twice, first on line 1"),
            (f"{HEAD}requirements:\n  R1: a\n  R1: b\n", ":5:3: 'R1' is written twice, first on line 4"),
            (
                "models: !!python/object/apply:os.system [ls]\n",
                r":1:\d+: broken YAML: could not determine a constr",
            ),
            ("models: !include other.yaml\n", r":1:\d+: broken YAML: could not determine a constructor"),
            ("a: &a [x]\nb: *a\n", ":1:4: broken YAML: anchors and aliases"),
            ("models: " + "[" * 5000, r":1:\d+: broken YAML: nested too deeply"),
            ("models: " + "{a: " * 100000, r":1:\d+: broken YAML: nested too deeply"),
            ("models: \x00\n", "broken YAML"),
            ("models: 2026-99-99\n", ":1:9: broken YAML: .*: put it in quotes"),
        ],
    )
    def test_what_is_no_suite_is_refused(self, suite: Read, text: str, message: str) -> None:
        with pytest.raises(InputError, match=message):
            suite(text)

    def test_keys_that_are_written_twice_hide_no_other_mistake(self, suite: Read) -> None:
        text = f"{HEAD}requirements:\n  R1: If it rains, stop.\n  R1: If it snows, stop.\nsead: 3\n"
        assert complaints_of(suite, text) == [
            "5:3: 'R1' is written twice, first on line 4: merge the two",
            "6:1: unknown key 'sead': did you mean 'seed'?",
        ]
        with pytest.raises(SuiteError) as caught:
            suite(text)
        assert caught.value.complaints[0].shown.endswith("\n  5 |   R1: If it snows, stop.\n    |   ^^")

    def test_broken_yaml_is_underlined_on_its_line(self, suite: Read) -> None:
        with pytest.raises(SuiteError) as caught:
            suite("models: a\nseed: [3, 2026-99-99]\n")
        assert caught.value.complaints[0].line == 2
        assert str(caught.value).endswith("\n  2 | seed: [3, 2026-99-99]\n    |           ^^^^^^^^^^")

    def test_a_number_that_nothing_holds_is_refused(self, suite: Read) -> None:
        with pytest.raises(InputError, match=r":2:7: broken YAML: the number is too large"):
            suite(f"models: a\nseed: {'9' * 400}\n")

    def test_a_bomb_is_refused_before_it_grows(self, suite: Read) -> None:
        lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
        lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 20)]
        with pytest.raises(InputError, match="anchors and aliases"):
            suite("\n".join(lines))

    def test_a_file_that_is_missing_huge_or_no_text_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="cannot read the suite: No such file"):
            read_suite(tmp_path / "none.yaml")
        with pytest.raises(InputError, match="cannot read the suite: Is a directory"):
            read_suite(tmp_path)
        with pytest.raises(InputError, match="cannot read the suite: embedded null byte"):
            read_suite("a\0b")
        binary = tmp_path / "binary.yaml"
        binary.write_bytes(b"\xff\xfe\x00models")
        with pytest.raises(InputError, match="must be UTF-8 text"):
            read_suite(binary)
        huge = tmp_path / "huge.yaml"
        with huge.open("wb") as file:
            file.truncate(65 * 2**20)
        with pytest.raises(InputError, match="must have at most 64 MiB, got 65"):
            read_suite(huge)

    def test_ten_thousand_requirements_are_read(self, suite: Read) -> None:
        entries = "".join(
            f"  R{n}: {{rule: It rains {n}, tags: [a, b], accept: 5%}}\n" for n in range(10_000)
        )
        assert len(suite(f"{HEAD}requirements:\n{entries}").form.requirements) == 10_000


NAMES = st.text("abcdefghij KLMN-_.:äß0123456789", min_size=1, max_size=12).filter(
    lambda text: text.strip() == text and not text[0].isdigit()
)
WORDS = st.text("abcdefgh ijklm,.'\"#:{}[]&*!|>%-ä", min_size=1, max_size=30).filter(
    lambda text: text.strip()
)
COMMON = {
    "text": WORDS,
    "tags": st.lists(WORDS, max_size=3),
    "severity": st.sampled_from(["minor", "major", "critical"]),
}
ACCEPT = st.one_of(
    st.floats(0, 1),
    st.integers(0, 100).map(lambda n: f"{n}%"),
    st.fixed_dictionaries({"rate": st.floats(0, 1)}),
)
RULE = st.fixed_dictionaries({"rule": WORDS}, optional={**COMMON, "accept": ACCEPT})
COVERAGE = st.fixed_dictionaries(
    {"coverage": WORDS}, optional={**COMMON, "tries": st.integers(1, 10**6), "reach": st.floats(0, 1)}
)
RELIABILITY = st.fixed_dictionaries(
    {"reliability": st.one_of(WORDS, st.lists(WORDS, min_size=1, max_size=3))},
    optional={**COMMON, "versions": st.integers(1, 9)},
)
DRIVING = st.fixed_dictionaries(
    {"driving": st.dictionaries(WORDS, st.floats(-99, 99), min_size=1, max_size=3)}, optional=COMMON
)
SUITES = st.fixed_dictionaries(
    {
        "models": st.dictionaries(
            NAMES, st.one_of(WORDS, st.fixed_dictionaries({"model": WORDS})), min_size=1
        ),
        "data": st.dictionaries(NAMES, WORDS, min_size=1, max_size=3),
        "requirements": st.dictionaries(
            NAMES, st.one_of(WORDS, RULE, COVERAGE, RELIABILITY, DRIVING), min_size=1, max_size=5
        ),
    },
    optional={"suite": WORDS, "seed": st.integers(0, 2**63 - 1)},
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(document=SUITES)
def test_any_suite_round_trips(document: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("suite")
    first = folder / "first.yaml"
    first.write_text(yaml.safe_dump(document, allow_unicode=True), encoding="utf-8")
    form = read_suite(first).form
    again = folder / "again.yaml"
    told = form.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    again.write_text(yaml.safe_dump(told, allow_unicode=True, sort_keys=False), encoding="utf-8")
    assert read_suite(again).form == form
    assert SuiteForm.model_validate(told) == form
    assert set(form.requirements) == set(document["requirements"])


def small(**more: Any) -> dict[str, Any]:
    return {"models": "dave2", "data": "world:town", "requirements": {"N": "If it rains, slow down."}, **more}


def test_paths_of_a_suite_that_stands_in_no_file_lead_from_where_it_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert suite_of(small(), tmp_path / "runs/a").form.base == "../.."
    assert suite_of(small(), tmp_path).form.base == "."
    assert suite_of(small()).form.base is None
    assert suite_of(small(), tmp_path.parent / "elsewhere/run").form.base is None, "no folder is named"
    assert suite_of(small()).folder == Path()
    (tmp_path / "s.suite.yml").write_text(suite_of(small(base="nets")).file.text)
    found = read_suite(tmp_path / "s.suite.yml")
    assert (found.folder, found.name) == (tmp_path / "nets", "s")
    assert read_suite(tmp_path / "s.suite.yml", Path("there")).folder == Path("there")
    assert suite_of(small(suite="Mine")).name == "Mine"


def test_searches_may_have_another_budget_and_be_the_same_suite() -> None:
    def searched(**settings: Any) -> Any:
        entry = {"coverage": "neuron", **settings}
        return without_budgets(suite_of(small(requirements={"C": entry, "N": "If it rains, slow down."})))

    assert searched(tries=5) == searched(tries=50, seconds=9)
    assert searched(tries=5) != searched(tries=5, reach=0.5)


def test_what_cannot_be_read_of_a_suite_without_a_file_is_told_without_a_place() -> None:
    with pytest.raises(SuiteError) as caught:
        suite_of(small(sed=3, requirements={"N": {"rule": "x", "models": ["dave3"]}}))
    assert [one.line for one in caught.value.complaints] == [0]
    assert "unknown key 'sed': did you mean 'seed'?" in str(caught.value)
    with pytest.raises(SuiteError, match="the suite has no models called 'dave3': did you mean 'dave2'"):
        suite_of(small(requirements={"N": {"rule": "x", "models": ["dave3"]}}))
    with pytest.raises(SuiteError, match=r"got 'x{56}…"):
        suite_of(small(seed="x" * 100))
    named = suite_of(small(requirements={"N" * 200: "x", "a/b@c": "y"})).form.requirements
    assert all(len(one) <= 120 and not set(one) & set("/@") for one in named), "names may hold anything"
    assert len(named) == 2
