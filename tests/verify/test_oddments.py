"""Designs of every form are tried: nothing that a design may say keeps its patterns from being called."""

from __future__ import annotations

from tests.verify import oddments

from keyplan.check.checking import check
from keyplan.cost.prices import book
from keyplan.design.declaring.design import Design
from keyplan.export.explain import explain
from keyplan.verify import verify

DESIGN = Design.of(oddments)


def test_every_pattern_is_called_and_verified() -> None:
    report = verify(DESIGN, items=300)
    assert list(report.problems) == []
    assert all(pattern.calls and pattern.predicted == pattern.measured for pattern in report.patterns)
    ((_, loaded),) = [(table.name, {name: count for name, count, _ in table.loaded}) for table in report.tables]
    assert (loaded["Totals"], loaded["Price"]) == (1, 4), "as many as there can be keys"


def test_every_pattern_with_typed_parameters_is_explained_with_a_request() -> None:
    findings = check(DESIGN).findings
    for pattern in DESIGN.patterns:
        text = explain(pattern, book(), findings)
        assert ("Request, with example arguments" in text) is (pattern.name != "of_untyped"), pattern.name


def test_a_transaction_on_a_table_of_another_module_names_the_import() -> None:
    table = oddments.oddments
    elsewhere = Design("elsewhere", (), DESIGN.transactions)
    (result,) = verify(elsewhere, items=50).patterns
    assert (
        result.problems[0].text
        == f"table {table.name} does not belong to this design: import it into the module of elsewhere"
    )
