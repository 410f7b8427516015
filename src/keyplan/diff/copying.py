"""The steps by which a table takes the place of another: what no request changes is copied."""

from __future__ import annotations

from keyplan.design.tables import Table
from keyplan.diff.changes import Step


def copying(old: Table, new: Table) -> tuple[Step, ...]:
    """Copy a table's items into a new one, and then do without the old one.

    What is written to both tables in one transaction is the same in both: whoever reads either misses nothing. What is
    copied is checked in the same transaction, or an item that is deleted meanwhile would come back.
    """
    was, made = old.name, new.name if new.name != old.name else f"{new.name} under another name"
    copy = f"as the new version writes it, in one transaction, if it is not there and {was} has it still"
    steps = [
        Step("prepare", f"create table {made}, as the new design has it", "CreateTable"),
        Step("write", f"a version that writes to {was} and to the new table in one transaction, and reads {was}"),
        Step("backfill", f"put each item of {was} into the new table {copy}", "TransactWriteItems"),
        Step("switch", "a version that reads the new table, and writes to both as before"),
        Step("read", "the new version, which knows the new table only"),
        Step("remove", f"delete the old table {was}, once no version uses it", "DeleteTable"),
    ]
    if old.consumers and new.schema.stream is not None:
        names = ", ".join(consumer.name for consumer in old.consumers)
        told = "what both tell in between comes twice, and what was copied is not told again"
        steps.insert(
            4, Step("switch", f"start {names} at the end of the new table's stream, then stop on the old: {told}")
        )
    return tuple(steps)
