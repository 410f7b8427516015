"""The steps by which a table takes the place of another: what no request changes is copied."""

from __future__ import annotations

from keyplan.diff.changes import Step


def copying(old: str, new: str) -> tuple[Step, ...]:
    """Copy a table's items into a new one, and then do without the old one."""
    made = new if new != old else f"{new} under another name, as the new design has it"
    return (
        Step("prepare", f"create table {made}", "CreateTable"),
        Step("write", f"a version that writes to {old} and to the new table"),
        Step("backfill", f"copy {old} into the new table: by export and import, or item by item", "PutItem"),
        Step("read", "the new version, which reads the new table"),
        Step("remove", f"delete the old table {old}, once no version uses it", "DeleteTable"),
    )
