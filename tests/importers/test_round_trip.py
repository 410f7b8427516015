"""A design's template, imported again, makes the same tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.running import run
from tests.importers.tables import described_of, lasting

from keyplan import Design

AS_WRITTEN = Path(__file__).parent.parent.parent / "examples" / "as_written"
DESIGNS = [
    *(
        f"keyplan_systems.{name}.design"
        for name in ("ask_a_human", "forum", "thinking_trainer", "todo", "venue_booking")
    ),
    *(str(AS_WRITTEN / f"{name}.py") for name in ("forum", "venue_booking")),
]
"""Those whose tables the service would make; the other documents' faults keep them from being exported."""


@pytest.mark.slow  # imports whole designs
@pytest.mark.parametrize("name", DESIGNS)
def test_a_template_of_a_design_is_imported_as_the_same_tables(name: str, tmp_path: Path) -> None:
    template, path = tmp_path / "template.json", tmp_path / "made.py"
    assert run("export", "cloudformation", name, "-o", str(template)).exit_code == 0
    assert run("import", "cloudformation", str(template), "-o", str(path)).exit_code == 0
    before, after = Design.load(name), Design.load(str(path))
    described = {imported["Table"]["TableName"]: imported for imported in lasting(described_of(after))}
    schemas = {table.name: table.schema for table in after.tables}
    for table, description in zip(before.tables, lasting(described_of(before)), strict=True):
        schema, actual_schema = table.schema, schemas[table.name]
        assert described[table.name] == description
        assert (actual_schema.ttl, actual_schema.point_in_time_recovery) == (schema.ttl, schema.point_in_time_recovery)
