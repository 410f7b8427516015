"""The corpus: published designs, each finding on them classified, so that a change of a rule shows what it does.

Each design has a TOML file with its findings: the rule, the subject, the problem, the class and the reason. Findings
that a design suppresses count too: the question is whether an experienced DynamoDB engineer would act on the finding.

* right: true, and somebody would act on it, or wants to have read it before deciding otherwise;
* noise: true, and nobody would act on it;
* wrong: not true of the design, or its fix would break it.

`python -m tests.check.corpus.test_corpus` writes new and changed findings into the files, as "unclassified".
"""

from __future__ import annotations

import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median

import pytest

from keyplan.check.checking import check
from keyplan.check.finding import Finding, merge_findings
from keyplan.design.declaring.design import Design

ROOT = Path(__file__).parents[3]
FOLDER = Path(__file__).parent
SYSTEMS = ("ask_a_human", "forum", "thinking_trainer", "todo", "venue_booking")
DESIGNS = {
    **{f"guide_{path.stem}": str(path) for path in sorted((ROOT / "examples" / "guide").glob("*.py"))},
    **{f"as_written_{name}": str(ROOT / "examples" / "as_written" / f"{name}.py") for name in SYSTEMS},
    **{f"system_{name}": f"keyplan_systems.{name}.design" for name in SYSTEMS},
}
PUBLISHED = ("guide_", "as_written_")
"""The designs that do not change: their findings are compared with the problem, those of programs without it."""
CLASSES = ("right", "noise", "wrong")
MOST_NOISE = 0.15
MOST_FINDINGS = 8
MOST_SECONDS = 3.0


@dataclass(frozen=True)
class Entry:
    """A finding, as its design's file describes it."""

    rule: str
    severity: str
    on: str
    problem: str

    @classmethod
    def of(cls, finding: Finding, *, exact: bool) -> Entry:
        """Return the entry of a finding; its problem is left out unless it is compared exactly."""
        return cls(finding.code, finding.severity, finding.subject, finding.problem if exact else "")


@dataclass(frozen=True)
class Verdict:
    """The class of a finding, and the reason."""

    kind: str
    reason: str


@cache
def reported(name: str) -> tuple[Entry, ...]:
    """Return the findings of a design, including suppressed ones."""
    report = check(Design.load(DESIGNS[name]))
    findings = merge_findings([*report.findings, *(finding for finding, _ in report.suppressed)])
    return tuple(Entry.of(finding, exact=name.startswith(PUBLISHED)) for finding in findings)


@cache
def verdicts(name: str) -> dict[Entry, Verdict]:
    path = FOLDER / f"{name}.toml"
    entries = tomllib.loads(path.read_text()).get("finding", []) if path.is_file() else []
    return {
        Entry(entry["rule"], entry["severity"], entry["on"], entry.get("problem", "")): Verdict(
            entry["class"], entry["reason"]
        )
        for entry in entries
    }


def classes() -> Counter[str]:
    return Counter(verdict.kind for name in DESIGNS for verdict in verdicts(name).values())


@pytest.mark.parametrize("name", DESIGNS)
def test_findings_match_the_classified_findings_of_the_design(name: str) -> None:
    listed = verdicts(name)
    new = [entry for entry in reported(name) if entry not in listed]
    unlisted = [entry for entry in listed if entry not in reported(name)]
    assert not new, "findings that are not classified: python -m tests.check.corpus.test_corpus adds them"
    assert not unlisted, "classified findings that the checker does not report any more"
    assert all(verdict.kind in CLASSES and len(verdict.reason.split()) > 2 for verdict in listed.values())


def test_no_finding_is_wrong_and_few_are_noise(capsys: pytest.CaptureFixture[str]) -> None:
    totals, numbers = classes(), [len(verdicts(name)) for name in DESIGNS]
    with capsys.disabled():
        print("\n" + totals_text())
    assert not totals["wrong"]
    assert totals["noise"] <= MOST_NOISE * totals.total()
    assert median(numbers) <= MOST_FINDINGS


def test_all_designs_are_checked_within_three_seconds_of_cpu_time() -> None:
    designs = [Design.load(target) for target in DESIGNS.values()]
    before = time.process_time()
    for design in designs:
        check(design)
    assert time.process_time() - before < MOST_SECONDS


def test_every_file_belongs_to_a_design() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.toml")) == sorted(DESIGNS)


def totals_text() -> str:
    """Return the totals of the corpus in one line."""
    totals, numbers = classes(), [len(verdicts(name)) for name in DESIGNS]
    share = totals["noise"] / max(1, totals.total())
    return (
        f"corpus: {len(DESIGNS)} designs, {totals.total()} findings: {totals['right']} right, {totals['noise']} noise"
        f" ({share:.0%}), {totals['wrong']} wrong; median {median(numbers):g} findings per design"
    )


def text_of(name: str) -> str:
    """Return the file of a design with its current findings; classes and reasons are kept."""
    listed = verdicts(name)
    return "\n".join(
        line for entry in reported(name) for line in _lines(entry, listed.get(entry, _unclassified(name, entry)))
    )


def _unclassified(name: str, entry: Entry) -> Verdict:
    """Take the class from the finding of the same rule and subject, whose text changed."""
    same = [
        verdict for subject, verdict in verdicts(name).items() if (subject.rule, subject.on) == (entry.rule, entry.on)
    ]
    return same[0] if len(same) == 1 else Verdict("unclassified", "")


def _lines(entry: Entry, verdict: Verdict) -> Iterator[str]:
    yield "[[finding]]"
    for key, value in (
        ("rule", entry.rule),
        ("severity", entry.severity),
        ("on", entry.on),
        *([("problem", entry.problem)] if entry.problem else []),
        ("class", verdict.kind),
        ("reason", verdict.reason),
    ):
        quoted = value.replace("\\", "\\\\").replace('"', '\\"')
        yield f'{key} = "{quoted}"'
    yield ""


if __name__ == "__main__":
    for design in DESIGNS:
        (FOLDER / f"{design}.toml").write_text(text_of(design))
    verdicts.cache_clear()
    print(totals_text())
