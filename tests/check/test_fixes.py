"""Edits of a design's source that fix findings: the smallest change, in the file's own format, and once."""

from __future__ import annotations

import ast
import shutil
from difflib import unified_diff
from pathlib import Path

import pytest
from tests.check.corpus.test_corpus import ROOT, SYSTEMS

from keyplan.check.checking import Report, check
from keyplan.check.fixes import Fixes, plan_fixes
from keyplan.design.declaring.partial import load_partially

FIXABLE = {"KP306", "KP307", "KP806", "KP807"}
DESIGNS = [
    *sorted((ROOT / "examples" / "guide").glob("*.py")),
    *(ROOT / "examples" / "as_written" / f"{name}.py" for name in SYSTEMS),
]
HEAD = "from keyplan import *\n\n"
BIG = """

@app.entity(volume=Volume(count=200_000, bytes=Bytes(400)))
class Task(Entity):
    id: str
    owner: str
    due: str
    title: str
    note: str | None = None
"""
READ = """

@app.query(Task, index="by_owner")
def tasks(owner: str) -> KeyCondition:
    return pk(owner=owner)
"""


def fixes_of(path: Path) -> tuple[Report, Fixes]:
    loaded = load_partially(str(path))
    report = check(loaded.design, refusals=loaded.refusals)
    return report, plan_fixes([(loaded.design, report)])


def fixed(folder: Path, source: str) -> str:
    """Return the source after the fixes, without the head and the entity."""
    path = folder / "design.py"
    path.write_bytes((HEAD + source).encode())
    fixes_of(path)[1].write()
    again = fixes_of(path)[1]
    assert not again.edits
    assert not again.applied
    text = path.read_bytes().decode()
    return text.removeprefix(HEAD).partition("\n\n@app")[0].partition("\r\n\r\n@app")[0].strip()


def reasons(folder: Path, source: str) -> list[str]:
    """Return why fixes were refused."""
    path = folder / "design.py"
    path.write_text(HEAD + source)
    _, results = fixes_of(path)
    return [reason for _, reason in results.refused]


def test_options_are_added_to_a_call_on_one_line(tmp_path: Path) -> None:
    text = fixed(tmp_path, 'app = Table("app", pk="id")' + BIG)
    assert text == 'app = Table("app", pk="id", point_in_time_recovery=True, deletion_protection=True)'


def test_options_are_added_on_separate_lines(tmp_path: Path) -> None:
    source = 'app = Table(\n    "app",\n    pk="id",  # the task\n    deletion_protection=True,\n)'
    added = source.replace("True,\n", "True,\n    point_in_time_recovery=True,\n")
    assert fixed(tmp_path, source + BIG) == added


def test_an_option_is_added_behind_the_comment_of_the_last_one(tmp_path: Path) -> None:
    source = 'app = Table(\n    "app",\n    deletion_protection=True,\n    pk="id",  # the task\n    # no sort key\n)'
    added = source.replace("task\n", "task\n    point_in_time_recovery=True,\n")
    assert fixed(tmp_path, source + BIG) == added


def test_a_call_without_a_trailing_comma_stays_without_one(tmp_path: Path) -> None:
    source = 'app = Table("app",\n            pk="id",\n            deletion_protection=True)'
    added = source.replace("n=True)", "n=True, point_in_time_recovery=True)")
    assert fixed(tmp_path, source + BIG) == added


def test_a_trailing_comma_on_the_same_line_is_kept(tmp_path: Path) -> None:
    source = 'app = Table("app", pk="id", deletion_protection=True,)'
    assert fixed(tmp_path, source + BIG) == source.replace(",)", ", point_in_time_recovery=True,)")


def test_false_becomes_true(tmp_path: Path) -> None:
    source = 'app = Table("app", point_in_time_recovery=False, pk="id", deletion_protection=False)'
    assert fixed(tmp_path, source + BIG) == source.replace("False", "True")


def test_line_endings_byte_order_mark_and_letters_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "design.py"
    source = HEAD + 'app = Table(\n    "Größe", pk="id",\n)' + BIG
    path.write_bytes(b"\xef\xbb\xbf" + source.replace("\n", "\r\n").encode())
    fixes_of(path)[1].write()
    contents = path.read_bytes()
    assert contents.startswith(b"\xef\xbb\xbffrom")
    assert contents.count(b"\n") == contents.count(b"\r\n")
    assert b'pk="id",\r\n    point_in_time_recovery=True,\r\n    deletion_protection=True,\r\n)' in contents


INDEXED = 'app = Table("app", pk="id", point_in_time_recovery=True, deletion_protection=True, indexes=[{}])'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"keys"', '["due", "title", "note"]'),
        ("'keys'", "['due', 'title', 'note']"),
        ("['due']", "['due', 'title', 'note']"),
        ('["due", "title",]', '["due", "title", "note",]'),
        ('("due",)', '("due", "title", "note")'),
        ('[\n    "due",  # sorted\n]', '[\n    "due",  # sorted\n    "title",\n    "note",\n]'),
        ('[\n    "due",\n    "title"  # shown\n]', '[\n    "due",\n    "title", "note"  # shown\n]'),
    ],
)
def test_attributes_that_are_read_are_added_to_the_projection(before: str, after: str, tmp_path: Path) -> None:
    source = INDEXED.format('GSI("by_owner", pk="owner", project={})')
    assert fixed(tmp_path, source.format(before) + BIG + READ) == source.format(after)


def test_only_the_filter_of_a_count_is_projected(tmp_path: Path) -> None:
    count = '\n\n@app.count(Task, index="by_owner")\ndef titled(owner: str, title: str) -> KeyCondition:\n'
    count += "    return pk(owner=owner).filter(F.title == title)\n"
    source = INDEXED.format('GSI("by_owner", pk="owner", project="keys")')
    assert fixed(tmp_path, source + BIG + count) == source.replace('"keys"', '["title"]')


def test_a_local_index_projects_what_it_would_fetch(tmp_path: Path) -> None:
    source = 'app = Table("app", pk="owner", sk="id", point_in_time_recovery=True, deletion_protection=True,'
    source += '\n            indexes=[LSI("by_owner", sk="due", project=["title"])])'
    assert fixed(tmp_path, source + BIG + READ) == source.replace('["title"]', '["title", "note"]')


def test_the_discriminator_is_projected(tmp_path: Path) -> None:
    other = "\n\n@app.entity()\nclass Note(Entity):\n    id: str\n    owner: str\n"
    source = INDEXED.replace('pk="id"', 'pk="id", discriminator="kind"').format(
        'GSI("by_owner", pk="owner", project=["due", "title", "note"])'
    )
    assert fixed(tmp_path, source + BIG + other + READ) == source.replace('"note"]', '"note", "kind"]')


def test_two_indexes_on_one_line_are_distinguished(tmp_path: Path) -> None:
    source = INDEXED.format('GSI("by_due", pk="due"), GSI("by_owner", pk="owner", project="keys")')
    assert fixed(tmp_path, source + BIG + READ) == source.replace('"keys"', '["due", "title", "note"]')


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("SAFE = False\napp = Table('app', pk='id', deletion_protection=SAFE)", "deletion_protection is not a literal"),
        ("OPTIONS = {'pk': 'id'}\napp = Table('app', **OPTIONS)", "its options are passed with **"),
        ("app, other = (Table(name, pk='id') for name in ('app', 'other'))", "one call declares 2 tables or indexes"),
        ('exec(\'made = Table("app", pk="id")\')\napp = made', "its call does not name the key"),
    ],
)
def test_values_that_are_not_literals_are_rejected_with_the_reason(source: str, reason: str, tmp_path: Path) -> None:
    assert set(reasons(tmp_path, source + BIG)) >= {reason}


def test_a_computed_projection_is_rejected(tmp_path: Path) -> None:
    source = 'HELD = ["due"]\n' + INDEXED.format('GSI("by_owner", pk="owner", project=HELD)')
    assert reasons(tmp_path, source + BIG + READ) == ["project is not a literal"]


def test_an_unstated_projection_is_not_a_mechanical_fix(tmp_path: Path) -> None:
    source = INDEXED.format('GSI("by_owner", pk="owner", project=None)')
    assert reasons(tmp_path, source + BIG + READ) == []


def test_a_suppressed_finding_is_not_fixed(tmp_path: Path) -> None:
    accepted = '\nsuppressed = [suppress("KP807", on="app", reason="deleted with its test account")]\n'
    text = fixed(tmp_path, 'app = Table("app", pk="id")' + BIG + accepted)
    assert text == 'app = Table("app", pk="id", point_in_time_recovery=True)'


@pytest.mark.slow  # checks whole designs
@pytest.mark.parametrize("design", DESIGNS, ids=lambda path: f"{path.parent.name}_{path.stem}")
def test_a_real_design_is_fixed_once_and_changes_nowhere_else(design: Path, tmp_path: Path) -> None:
    path = tmp_path / "design.py"
    shutil.copy(design, path)
    text = path.read_text()
    for option in ("point_in_time_recovery", "deletion_protection"):
        text = text.replace(f"{option}=True", f"{option}=False")
    path.write_text(text)
    report, results = fixes_of(path)
    results.write()
    after, again = fixes_of(path)
    assert not again.edits
    assert not results.refused
    ast.parse(path.read_text())
    alike = [listed for finding in after.findings for listed in (finding, *finding.alike)]
    assert not FIXABLE & {
        finding.code for finding in alike if finding.code != "KP306" or finding.subject in _patterns(path)
    }
    assert [finding.code for finding in report.findings if finding.code not in FIXABLE] == [
        finding.code for finding in after.findings if finding.code not in FIXABLE
    ]
    changed = list(unified_diff(text.splitlines(), path.read_text().splitlines(), n=0, lineterm=""))[2:]
    assert len([line for line in changed if line.startswith("-")]) <= len(results.applied)


def _patterns(path: Path) -> set[str]:
    return {pattern.name for pattern in load_partially(str(path)).design.patterns}
