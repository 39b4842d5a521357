"""``roadworthy rules``: reading rules, and running them on models.

Options:
    model (MODEL): A model: a name, kind:path or a model.yaml; repeatable. dave2 if left out.
    seed (N): The same seed makes the same images.
    same (OUTPUT=DELTA): How much answers may differ and still count as the same: steering=1.39 (degrees),
        speed=10%; repeatable.
    gallery (FOLDERS): Where things that are added come from: own (the data), shipped, galleries or data,
        joined by commas; see `gallery harvest`.
    traffic (SIDE): The side of the road that traffic drives on: right or left.
    realism (WHICH): Whether real frames get only changes that look real, or any: believable or any.
    clip (SECONDS): How long clips are, for rules with a time; other rules must then hold in every frame of
        clips that long.
    engines (FILE): A YAML file of image engines; or shipped, for the learned ones that come with Roadworthy,
        on frames of the built-in world; or migan, to remove things, once it is imported.
    rule (-r SENTENCE): The rule.
    drive (SIMULATOR): Let the models drive there, such as world:town: what a rule changes comes during the
        drive and lasts, and the outcome is judged over it. -o KEY=VALUE are its options then.
    seconds (S): How long a drive goes on after the change; 15 if left out.
    places (N): From how many places of the track drives start; from each sector if left out.
    seeds (N): With how many seeds of traffic from each place.
    frames (WHICH): Of which drives what the camera saw is kept: none, failing or all.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from roadworthy._files import is_file
from roadworthy.cli import studies
from roadworthy.cli._answer import FAILED, PASSED, VIOLATED, Answer
from roadworthy.cli._commands import Group, command
from roadworthy.cli._console import parse_options, tracked
from roadworthy.cli._road import RunOptions, TestedOptions, answered
from roadworthy.cli.options import accepted, share
from roadworthy.errors import InputError, RuleError, check_known, check_number

if TYPE_CHECKING:
    from roadworthy.cli._answer import Shown
    from roadworthy.report.rules import RulesReport
    from roadworthy.result_tables import ResultTable
    from roadworthy.rules.language.words import Words
    from roadworthy.runs.suites import SuiteResult


app = typer.Typer(cls=Group, no_args_is_help=True)


@command(app)
def parse(rule: str, as_json: bool = False) -> Answer:
    """Explain how a rule is read word by word, or which words are not understood and what to write instead.

    Of a file of rules it tells how many are read, and which are refused and why; the exit code is 2 if one
    is.

    Options:
        rule (RULE): The rule, one sentence or several; or a file of rules.

    Examples:
        roadworthy rules parse "If a pedestrian appears on the roadside, the ego-vehicle should slow \
            down at least 30%."
        roadworthy rules parse "Drive more slowly at night." --json
        roadworthy rules parse examples/rules/handbooks.rules
    """
    from roadworthy.rules import parse as read
    from roadworthy.rules.reading import reading_in_lines

    if Path(rule).suffix and is_file(Path(rule)):
        return _file_read(Path(rule))
    try:
        found = read(rule)
    except RuleError as error:
        if not as_json:
            raise
        return Answer({"rule": rule, "refused": error.document()}, exit_code=FAILED)
    return Answer(found.document(), reading_in_lines(found), found.notes)


def _file_read(path: Path) -> Answer:
    """Return how much of a file of rules is read, and why the rest is refused."""
    from roadworthy.rules.files import read_rules
    from roadworthy.rules.language.parser import parse_all

    written = read_rules(path)
    read = list(zip(written, parse_all([one.text for one in written]), strict=True))
    refused = [(one, found) for one, found in read if isinstance(found, RuleError)]
    rows = [
        {"id": one.id, "line": one.line, "rule": one.text, "refused": found.document()}
        if isinstance(found, RuleError)
        else {"id": one.id, "line": one.line, **found.document()}
        for one, found in read
    ]
    lines = []
    for one, found in read:
        said = " refused" if isinstance(found, RuleError) else ""
        told = f"{one.id} (line {one.line}){said}: {found}".splitlines()
        lines += [told[0], *(f"  {more}" for more in told[1:])]
    count = f"{len(read) - len(refused)} of {len(read)} rules are read, {len(refused)} refused"
    document = {"file": str(path), "read": len(read) - len(refused), "refused": len(refused), "rules": rows}
    return Answer(document, [*lines, count], exit_code=FAILED if refused else PASSED)


@command(app)
def explain(rule: str) -> Answer:
    """Show the grammar of a rule: which word depends on which, and how.

    Options:
        rule (RULE): The rule, one sentence or several.

    Examples:
        roadworthy rules explain "If a pedestrian appears on the roadside, the ego-vehicle should slow \
            down at least 30%."
    """
    from roadworthy.rules.language.words import analysed

    words = analysed(rule)
    rows = [{"text": word.text, "dep": word.dep, "tag": word.tag, "head": word.head} for word in words]
    roots = [word.index for word in words if word.head == word.index]
    return Answer({"rule": rule, "words": rows}, [line for root in roots for line in _tree(words, root)])


def _tree(words: Words, number: int, stem: str = "", branch: str = "") -> list[str]:
    """Return the lines of the tree below a word."""
    word = words[number]
    lines = [f"{stem}{branch}{word.text}  ({word.dep}, {word.tag})"]
    below = [one.index for one in words if one.head == number and one.index != number]
    inner = stem + {"": "", "├─ ": "│  ", "└─ ": "   "}[branch]
    for place, child in enumerate(below):
        lines += _tree(words, child, inner, "└─ " if place == len(below) - 1 else "├─ ")
    return lines


@command(app)
def draft(handbook: Path, out: Path | None = None, endpoint: str = "", endpoint_model: str = "") -> Answer:
    """Draft rules from a text, such as a driving handbook: find its duties, and word them for testing.

    The file gets every duty that can be read as a rule, with its line, words and reading, as a comment: it is
    tried only once you delete the mark before it. What you decided stays when you draft again. Where an
    OpenAI-compatible endpoint is named, its model proposes other words for duties that are not read; what it
    says is read like any rule, must have the same numbers, and waits for you as well. Its key is that of the
    environment variable OPENAI_API_KEY.

    Options:
        handbook (FILE): A text file.
        out (FILE): The file of rules to write or to go on with; the text's name with .rules if left out.
        endpoint (URL): The address of a chat endpoint, such as http://127.0.0.1:8000/v1.
        endpoint_model (NAME): The model to ask there.

    Examples:
        roadworthy rules draft handbook.txt
        roadworthy rules draft handbook.txt --out mine.rules --endpoint http://127.0.0.1:8000/v1 \
            --endpoint-model qwen3
    """
    import os

    from roadworthy.rules.drafting import Paraphraser, read_handbook, write_draft
    from roadworthy.rules.drafting import draft as drafted
    from roadworthy.rules.files import OPEN

    if bool(endpoint) != bool(endpoint_model):
        raise InputError("--endpoint and --endpoint-model belong together: give both or neither")
    file = handbook.with_suffix(".rules") if out is None else out
    if file.resolve() == handbook.resolve():
        raise InputError(f"--out {file} is the text itself: name another file")
    key = os.environ.get("OPENAI_API_KEY", "").strip()
    ask = Paraphraser(endpoint, endpoint_model, key) if endpoint else None
    duties, problems = drafted(read_handbook(handbook), handbook.name, paraphrase=ask)
    if not duties:
        told = f"{handbook}: no sentence states a duty, such as 'You must slow down in fog.'"
        raise InputError("; ".join([told, *problems[:1]]))
    added, before = write_draft(duties, file)
    document = {"draft": str(file), "added": added, "duties": [one.document() for one in duties]}
    shown: list[Shown] = [line for duty in duties for line in duty.lines()]
    read = sum(bool(one.rule) for one in duties)
    known = f"{added} new in {file}, {before} known."
    shown.append(f"{len(duties)} duties, {read} of them can be tested: {known}")
    if added:
        then = f"roadworthy rules run --rules {file}"
        shown.append(f'Accept a rule by deleting the "{OPEN}" before it; then: {then}')
    return Answer(document, shown, problems)


@command(app)
def truth(sample: int = 1000, seed: int = 0, reasons: bool = False) -> Answer:
    """Check the rules on drivers whose faults are known.

    The careful driver of the built-in world must violate none of the rules. Each faulty driver lacks one
    ability: the rules that depend on it must catch the driver in at least 99% of the frames that qualify, and
    no other rule may. A frame qualifies if the change can be made and is seen in it. Rules with a time are
    tried in clips, one for 20 frames and 20 at least, also on drivers that see things late, forget them, or
    see only one side. The exit code is 1 if a driver is judged wrongly.

    Options:
        sample (-n N): How many frames of the built-in world.
        seed (N): The seed of all random numbers.
        reasons: Also say why frames do not qualify for a rule.

    Examples:
        roadworthy rules truth
        roadworthy rules truth --sample 200 --json
    """
    from roadworthy.papers.truth_matrix import clip_matrix, truth_matrix

    matrix = truth_matrix(sample, seed=seed, progress=lambda numbers: tracked(numbers, "Driving"))
    few = max(20, sample // 20)
    clips = clip_matrix(few, seed=seed, progress=lambda numbers: tracked(numbers, "Driving clips"))
    over_time = clips.as_dict()
    document = {"frames": matrix.frames, "seed": seed, **matrix.as_dict(), "clips": over_time}
    shortfalls = document["shortfalls"] = [*matrix.shortfalls, *clips.shortfalls]
    document["passed"] = not shortfalls
    faults = {one["name"]: one["summary"] for one in (*document["drivers"], *over_time["drivers"])}
    shown: list[Shown] = [*matrix.tables(), *clips.tables(), faults]
    if reasons:
        for what, rules in (("Frames", document["rules"]), ("Clips", over_time["rules"])):
            shown.append(f"\n{what} that do not qualify")
            for rule in rules:
                shown += [f"  {rule['id']}: {times} {reason}" for reason, times in rule["reasons"].items()]
    conclusion = "\n".join(shortfalls) or "All verdicts are true."
    return Answer(document, shown, exit_code=VIOLATED if shortfalls else PASSED, conclusion=conclusion)


@dataclass(frozen=True)
class RuleOptions(TestedOptions):
    """What rules are tried on, and how."""

    same: list[str] | None = None
    gallery: str = "own"
    traffic: Literal["right", "left"] = "right"
    realism: Literal["believable", "any"] = "believable"
    clip: float | None = None
    engines: Path | None = None
    drive: str | None = None
    seconds: float | None = None
    places: int | None = None
    seeds: int | None = None
    frames: Literal["none", "failing", "all"] | None = None

    def suite(self, command: str, requirements: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Return the suite; rules that drive need no frames."""
        suite = super().suite(command, requirements)
        if not self.drive:
            return suite
        if self.sample is not None and self.places is not None:
            raise InputError("--sample and --places both say from how many places to drive: give one of them")
        if self.clusters or self.data != TestedOptions.data:
            name = "--clusters" if self.clusters else "--data"
            raise InputError(f"{name} is about frames: leave it out with --drive, where a place is a cluster")
        return {**suite, "data": {}}

    def settings(self) -> dict[str, Any]:
        """Return how rules are tried, as entries of a suite say it."""
        as_typed = ("gallery", "traffic", "realism", "clip", "drive", "seconds", "seeds", "frames")
        return {
            **{name: getattr(self, name) for name in as_typed},
            "same": _tolerances(self.same or []),
            "engines": None if self.engines is None else str(self.engines),
            "options": parse_options(self.option or []) if self.drive else None,
            "places": self.places if self.places is not None else self.sample if self.drive else None,
        }


@command(app)
def run(
    how: RunOptions,
    tested: RuleOptions,
    rule: list[str] | None = None,
    rules: list[Path] | None = None,
    only: list[str] | None = None,
    threshold: str = "",
    allow: str = "0",
    decide: str = "bound",
    early: bool = False,
    shrink: int = 0,
    worst: int = 6,
    passes: int = 100,
    skip: bool = False,
) -> Answer:
    """Try rules on models: make the images, ask the models, judge their answers, show what violates.

    All models see the same images, and so do rules about the same change. The folder gets the rows of every
    rule and model, the images of the violations, sheets with the worst of them, report.html, junit.xml,
    evidence, tables.md, result.json, and suite.yaml, which `roadworthy run` takes.

    Options:
        rule (-r SENTENCE): A rule; repeatable.
        rules (FILE): A file of rules; repeatable.
        only (ID): Run only this rule; repeatable.
        threshold (LIST): Judge at these thresholds as well, such as 0,10%,20%.
        allow (SHARE): The share of frames that may violate a rule, such as 5%.
        shrink (N): Shrink the N worst violations of each rule and model to the least change.
        worst (N): Violations on the sheet of each rule and model; 0 for none.
        passes (N): How many passing frames keep their images, for each rule and model.
        skip: Skip rules whose changes cannot be made.

    Examples:
        roadworthy rules run --rule "If a pedestrian appears on the roadside, the car should slow down."
        roadworthy rules run --rules examples/rules/paper.rules --model dave2 --model epoch --sample 100
        roadworthy rules run --rules mine.rules --threshold 0,10%,20% --shrink 3 --allow 5%
        roadworthy rules run --rules paper.rules --only R5 --data camvid:path --model dave2-udacity
        roadworthy rules run --drive world:town --rule "If a pedestrian steps onto the road, stop before it."
    """
    for name, value in (("--shrink", shrink), ("--worst", worst), ("--passes", passes)):
        check_number(name, value, least=0)
    thresholds = [share("--threshold", one) for one in threshold.split(",") if one.strip()]
    settings = tested.settings()
    texts, skipped = _chosen(_texts(rule or [], rules or []), only or [], settings, how, skip=skip)
    accept = accepted(allow, decide, early=early)
    entries = {id: {"rule": text, **settings, "accept": accept} for id, text in texts.items()}

    lines = [f"{id} is left out: {reason}" for id, reason in skipped.items()]

    def made_of(result: SuiteResult) -> tuple[list[ResultTable], dict[str, Any]]:
        from roadworthy.report.rules import RulesReport, shrunk_table

        report = RulesReport(result, thresholds, tracked)
        shrunk = report.shrink(shrink)
        sheets = report.write_sheets(worst if how.images != "none" else 0)
        tables = [*report.tables(), *([shrunk_table(shrunk)] if shrunk else [])]
        if sheets:
            lines.append(f"Look at the worst violations in {result.folder / 'sheets'}")
        more = {"allow": share("--allow", allow), "skipped": skipped, "sheets": sheets, "shrunk": shrunk}
        return tables, {**report.document(), **more}

    document = tested.suite("rules run", entries)
    document["passes"] = 0 if how.images == "none" else passes
    return answered(document, how, Path("rules-out"), _of_drives if tested.drive else made_of, lines=lines)


def _of_drives(result: SuiteResult) -> tuple[list[ResultTable], dict[str, Any]]:
    from roadworthy.report.drive_tables import driven_rules

    return driven_rules(result)


def _texts(sentences: Sequence[str], files: Sequence[Path]) -> dict[str, str]:
    """Return the rules that are given, by their ids."""
    from roadworthy.rules import read_rules

    texts = {f"rule {number}": text for number, text in enumerate(sentences, 1)}
    for file in files:
        for one in read_rules(file):
            if one.id in texts:
                raise InputError(f"{file}:{one.line}: the id {one.id!r} is used twice; give one another")
            texts[one.id] = one.text
    if not texts:
        raise InputError('give a rule by --rule "If …, then …", or a file of rules by --rules FILE')
    return texts


def _chosen(
    texts: Mapping[str, str], only: Sequence[str], settings: Mapping[str, Any], how: RunOptions, *, skip: bool
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the rules that are tried, and why others cannot be."""
    for name in only:
        check_known("--only: there is no rule", name, texts)
    chosen = {id: text for id, text in texts.items() if not only or id in only}
    if not skip:
        return chosen, {}
    from roadworthy.runs.suites.kinds import KINDS, Context
    from roadworthy.runs.suites.kinds.rules import RuleForm

    skipped: dict[str, str] = {}
    context = Context(Path(), allow_commands=how.allow_commands)
    for id, text in chosen.items():
        given = {key: value for key, value in settings.items() if value is not None}
        try:
            list(KINDS["rules"].parts(RuleForm(rule=text, **given), context))
        except InputError as error:
            if type(error) is not InputError:  # a sentence that is not understood is a mistake
                raise InputError(f"{id}: {error}") from error
            skipped[id] = str(error)
    if len(skipped) == len(chosen):
        raise InputError("none of the rules can be tried: " + "; ".join(skipped.values()))
    return {id: text for id, text in chosen.items() if id not in skipped}, skipped


def _tolerances(given: Sequence[str]) -> dict[str, float | str]:
    """Return δ by output, as --same gives them."""
    from roadworthy.rules.expectation import TOLERANCES, read_tolerance

    found: dict[str, float | str] = {}
    for output, text in parse_options(given, "--same speed=5%").items():
        check_known("--same: unknown output", output, TOLERANCES)
        words = str(text).strip()
        try:
            found[output] = words if words.endswith("%") else float(words)
            read_tolerance(found[output])
        except (ValueError, InputError):
            raise InputError(
                f"--same {output} must be a number in degrees or m/s, or a percentage, got {text!r}"
            ) from None
    return found


@command(app)
def compare(how: RunOptions, tested: RuleOptions, rule: str, by: list[str]) -> Answer:
    """Compare ways to make the one change of a rule: which of them shows more violations.

    As Table 10 of the RMT paper: a row for each model, a column for what is built in here and one for each
    transform or engine that is given.

    Options:
        by (--by TRANSFORM): The transform that makes the change instead of ours, or engine:NAME; repeatable.

    Examples:
        roadworthy rules compare --rule "If it rains, the steering angle should stay the same." --by \
            rain:level-3 --by spatter
        roadworthy rules compare --rule "If it rains, the steering angle should stay the same." \
            --engines mine.yaml --allow-commands --by engine:deeproad
    """
    settings = {"rule": rule, **tested.settings()}
    entries = {"built in": {**settings, "engines": None}, **{one: {**settings, "by": one} for one in by}}

    def made_of(result: SuiteResult) -> tuple[list[ResultTable], dict[str, Any]]:
        from roadworthy.report.rules import RulesReport
        from roadworthy.rules.tables import model_table

        report = RulesReport(result)
        columns = dict(zip(report.plans, entries, strict=True))
        drawn = model_table("rule 1", report.models, list(report.plans), report.tallies)
        named = dataclasses.replace(drawn, columns=(drawn.columns[0], *columns.values()))
        return _with_reasons(named, report)

    return answered(tested.suite("rules compare", entries), how, Path("rules-compared"), made_of)


@command(app)
def compose(how: RunOptions, tested: RuleOptions, rule: str, first: list[str]) -> Answer:
    """Try a rule on top of another change: rain, and then a pedestrian.

    As Table 11 of the RMT paper: for each first change, how many frames violate the rule's relation under it
    alone, and how many do when the rule's own change comes in addition.

    Options:
        first (--first TRANSFORM): The transform applied first, or engine:NAME; repeatable.

    Examples:
        roadworthy rules compose --rule "If a pedestrian appears on the roadside, slow down." --first \
            rain:heavy --first fog:light
    """
    settings = {"rule": rule, **tested.settings()}
    entries = {f"rule 1 after {one}": {**settings, "after": one} for one in first}

    def made_of(result: SuiteResult) -> tuple[list[ResultTable], dict[str, Any]]:
        from roadworthy.report.rules import RulesReport
        from roadworthy.rules.tables import composition_table

        report = RulesReport(result)
        firsts = dict(zip(report.plans, first, strict=True))
        return _with_reasons(composition_table("rule 1", report.models, firsts, report.tallies), report)

    return answered(tested.suite("rules compose", entries), how, Path("rules-composed"), made_of)


def _with_reasons(table: ResultTable, report: RulesReport) -> tuple[list[ResultTable], dict[str, Any]]:
    tables = [table, *([reasons] if (reasons := report.reasons()) else [])]
    return tables, {**report.document(), "tables": [dataclasses.asdict(one) for one in tables]}


app.add_typer(studies.pairs)
