"""A refused declaration does not hide what is wrong with the others."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from random import Random

import pytest
from tests.laws import examples

from keyplan.check.checking import check
from keyplan.design.declaring.partial import load_partially
from keyplan.design.errors import DesignError, line_number

GUIDE = Path(__file__).parents[3] / "examples" / "guide"
DESIGN = '''"""Tasks of people."""

from __future__ import annotations

from keyplan import *

app = Table("app", pk="PK", sk="SK", indexes=[GSI("by_title", pk="title")])


@app.entity(key=key("USER#{user_id}", "META#{nothing}"))
class User(Entity):
    user_id: str


@app.entity(key=key("TASK#{user_id}", "{task_id}"))
class Task(Entity):
    user_id: str
    task_id: str
    title: str


@app.get(User)
def user(user_id: str) -> ItemKey:
    return item(user_id=user_id)


@app.query(Task)
def done_tasks(user_id: str, done: bool) -> KeyCondition:
    return pk(user_id=user_id).filter(F.done == done)


@app.query(Task, decides="state", guards="drop", consistent=True)
def first(user_id: str) -> KeyCondition:
    return pk(user_id=user_id)


@app.delete(Task)
def drop(user_id: str, task_id: str) -> ItemWrite:
    return item(user_id=user_id, task_id=task_id)


@app.query(Task)
def tasks(user_id: str) -> KeyCondition:
    return pk(user_id=user_id)


@app.put(Task)
def put_task(task: Task) -> ItemWrite:
    return item(task)


@app.update(Task)
def rename(user_id: str, task_id: str, title: str) -> ItemWrite:
    return item(user_id=user_id, task_id=task_id).set(title=title)
'''


def written(path: Path, text: str = DESIGN) -> str:
    path.write_text(text)
    return str(path)


def test_a_design_without_rejected_declarations_is_loaded_completely(tmp_path: Path) -> None:
    partial = load_partially(written(tmp_path / "app.py", 'from keyplan import Table\n\napp = Table("app", pk="id")\n'))
    assert not partial.refusals
    assert [table.name for table in partial.design.tables] == ["app"]


def test_the_rest_of_a_design_is_loaded_without_repeating_an_error(tmp_path: Path) -> None:
    partial = load_partially(written(tmp_path / "app.py"))
    assert [(refusal.name, refusal.error.problem) for refusal in partial.refusals] == [
        ("User", "unknown field 'nothing'"),
        ("done_tasks", "Task has no field done"),
    ]
    assert partial.design.doc == "Tasks of people."
    assert [entity.name for entity in partial.design.entities] == ["Task"]
    assert [pattern.name for pattern in partial.design.patterns] == ["first", "drop", "tasks", "put_task", "rename"]


def test_rejected_declarations_are_findings_next_to_those_of_the_others(tmp_path: Path) -> None:
    path = tmp_path / "app.py"
    partial = load_partially(written(path))
    report = check(partial.design, refusals=partial.refusals)
    assert report.failed
    places = {(finding.subject, finding.code): line_number(finding.place) for finding in report.findings}
    lines = path.read_text().splitlines()
    assert lines[places["User", "KP201"] - 1].startswith("@app.entity")
    assert "F.done" in lines[places["done_tasks", "KP201"] - 1]
    assert {("put_task", "KP606"), ("Task", "KP102")} <= places.keys()


def test_missing_declarations_are_not_reported_if_declarations_are_rejected(tmp_path: Path) -> None:
    partial = load_partially(written(tmp_path / "app.py"))
    codes = {finding.code for finding in check(partial.design).findings}
    part = {finding.code for finding in check(partial.design, refusals=partial.refusals).findings}
    assert "KP402" in codes - part


TRANSACTIONS = """
app = Table("app", pk="PK")


@app.entity(key=key("COPY#{copy_id}"))
class Copy(Entity):
    copy_id: str
    state: Literal["in", "out"] = "in"


@app.entity(key=key("LOAN#{loan_id}"){unique})
class Loan(Entity):
    loan_id: str
    out: bool = True


@app.update(Copy)
def hand_out(copy_id: str) -> ItemWrite:
    return item(copy_id=copy_id).set(state="out").condition(F.state == "in")


@app.update(Copy)
def take_in(copy_id: str) -> ItemWrite:
    return item(copy_id=copy_id).set(state="in")


@app.update(Loan)
def end_loan(loan_id: str) -> ItemWrite:
    return item(loan_id=loan_id).set(out=False).condition(F.out == True)


@transaction()
def give_back(copy_id: str, loan_id: str) -> list[WriteCall[Any]]:
    return [take_in(copy_id), end_loan(loan_id)]
"""


@pytest.mark.parametrize("unique", ["", ', unique=["mail"]'])
def test_a_step_of_a_skipped_transaction_is_not_reported_as_unguarded(unique: str, tmp_path: Path) -> None:
    head = "from typing import Any, Literal\n\nfrom keyplan import *\n\n"
    partial = load_partially(written(tmp_path / "app.py", head + TRANSACTIONS.replace("{unique}", unique)))
    assert ("take_in" in partial.unresolved) == bool(unique)
    report = check(partial.design, refusals=partial.refusals, unresolved=partial.unresolved)
    assert ("take_in", "KP608") not in {(finding.subject, finding.code) for finding in report.findings}
    if unique:
        without = check(partial.design, refusals=partial.refusals)
        assert ("take_in", "KP608") in {(finding.subject, finding.code) for finding in without.findings}


@pytest.mark.parametrize("path", sorted(GUIDE.glob("*.py")), ids=lambda path: path.stem)
def test_an_invalid_declaration_causes_no_findings_about_others(path: Path, tmp_path: Path) -> None:
    source = path.read_text()
    reported = subjects(written(tmp_path / "design.py", source))
    declarations = len(decorators(ast.parse(source)))
    for number in Random(path.stem).sample(range(declarations), examples(2)):
        tree = ast.parse(source)
        decorators(tree)[number].keywords.append(ast.keyword("misspelled", ast.Constant(1)))
        found = subjects(written(tmp_path / "design.py", ast.unparse(ast.fix_missing_locations(tree))))
        assert {code for code, _ in found - reported} == {"KP000"}, number


def decorators(tree: ast.Module) -> list[ast.Call]:
    """Return the decorator of each declaration."""
    declared = [statement for statement in tree.body if isinstance(statement, (ast.FunctionDef, ast.ClassDef))]
    return [node for statement in declared for node in statement.decorator_list if isinstance(node, ast.Call)]


def subjects(path: str) -> set[tuple[str, str]]:
    """Return the code and each subject of the findings, including the suppressed ones."""
    partial = load_partially(path)
    report = check(partial.design, refusals=partial.refusals, unresolved=partial.unresolved)
    findings = [*report.findings, *(finding for finding, _ in report.suppressed)]
    return {(finding.code, subject) for finding in findings for subject in finding.subjects}


def test_a_suppression_of_a_rejected_declaration_is_not_reported_as_unused(tmp_path: Path) -> None:
    text = DESIGN + '\nsuppressed = [suppress("KP606", on="user", reason="written by another system")]\n'
    partial = load_partially(written(tmp_path / "app.py", text))
    assert not [
        finding for finding in check(partial.design, refusals=partial.refusals).findings if finding.code == "KP001"
    ]


def test_tables_of_imported_modules_are_declared_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    head, _, patterns = DESIGN.partition("@app.get(User)")
    (tmp_path / "partial_entities.py").write_text(head.replace("META#{nothing}", "META"))
    text = f"from keyplan import *\nfrom partial_entities import Task, User, app\n\n@app.get(User){patterns}"
    partial = load_partially(written(tmp_path / "app.py", text))
    sys.modules.pop("partial_entities")
    assert [refusal.name for refusal in partial.refusals] == ["done_tasks"]
    assert [pattern.name for pattern in partial.design.patterns][:2] == ["user", "first"]


@pytest.mark.parametrize("text", ["x = 1\n", 'from keyplan import Table\n\napp = Table("app", pk=5)\n'])
def test_a_module_without_a_table_is_rejected_with_its_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(DesignError):
        load_partially(written(tmp_path / "app.py", text))


def test_another_error_after_a_rejected_declaration_is_reported_later(tmp_path: Path) -> None:
    partial = load_partially(written(tmp_path / "app.py", DESIGN + "\nraise RuntimeError(1)\n"))
    assert len(partial.refusals) == 2
    with pytest.raises(RuntimeError):
        load_partially(written(tmp_path / "other.py", "raise RuntimeError(1)\n"))
