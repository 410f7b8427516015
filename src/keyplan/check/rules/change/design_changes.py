"""Rules: design changes."""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding, Severity
from keyplan.check.rule import change_rule
from keyplan.diff.changes import DesignChange
from keyplan.diff.comparison import Comparison, by_table
from keyplan.diff.report import told


@change_rule("KP901", "error")
def local_index_changed(comparison: Comparison) -> Iterator[Finding]:
    """A local index is added, removed or changed

    Local secondary indexes are made with their table and stay as long as it does: nothing adds, drops or alters one.
    What deploys the design refuses the change, or makes a new table in the place of the old one.

    Make a global index instead, if no pattern needs consistent reads there: it is added while the table is used. Where
    only a local one will do, copy the items into a new table: `keyplan diff` shows in which order.

    Source: developer guide, "Local secondary indexes".
    """
    for change in comparison.of("local index changed"):
        fix = "make it a global index, or copy the items into a new table that has it"
        problem = f"{change.what}: a table keeps its local indexes"
        yield local_index_changed.finding(change.subject, problem, fix, change.place, change.other)


@change_rule("KP902", "error")
def primary_key_changed(comparison: Comparison) -> Iterator[Finding]:
    """A table's primary key is changed

    The attributes of a primary key, and their types, are fixed when a table is made. UpdateTable takes no key schema;
    CloudFormation makes a new table and deletes the old one with everything in it.

    Give the new table a name of its own, copy the items, let both versions write to both meanwhile, and delete the old
    table last: `keyplan diff` shows the order, the units and the price. Where only what the key attributes hold is to
    be other, keep their names: that is a change of templates (KP906).

    Source: developer guide, "Core components of Amazon DynamoDB", primary key; API reference, UpdateTable.
    """
    for change in comparison.of("primary key changed"):
        fix = "declare a table of another name, copy the items into it, and drop this one when nothing uses it"
        yield primary_key_changed.finding(
            change.subject, f"{change.what}: a table keeps its key", fix, change.place, change.other
        )


@change_rule("KP903", "error")
def index_changed_in_place(comparison: Comparison) -> Iterator[Finding]:
    """An index's key or projection is changed in place

    A global index keeps the key and the projection that it was created with. An index of the same name and another
    shape is deleted and created again, and until it is filled every read of it fails; CloudFormation refuses to do both
    in one update.

    Declare the new index beside the old one under another name, deploy, move the readers, and drop the old one then.

    Source: developer guide, "Managing Global Secondary Indexes in DynamoDB"; API reference, UpdateTable: of an index
    that is there only its capacity is updated.
    """
    for change in comparison.of("index changed in place"):
        fix = f"declare the new one as {change.subject}_2 beside it, and drop {change.subject} once nothing reads it"
        problem = f"{change.what}: an index keeps its key and projection"
        yield index_changed_in_place.finding(change.subject, problem, fix, change.place, change.other)


_SEVERAL_CHANGES = 2


@change_rule("KP904", "warning")
def several_index_changes(comparison: Comparison) -> Iterator[Finding]:
    """Several indexes of a table change in one deploy

    UpdateTable creates or deletes one global index at a time, and takes no other while that one is being made or
    filled. CloudFormation refuses an update that creates or deletes several of one table: it has to be deployed in
    steps.

    Deploy one after the other, each once the one before is ACTIVE.

    Source: API reference, UpdateTable (one global index is created or deleted by an operation); CloudFormation,
    AWS::DynamoDB::Table, GlobalSecondaryIndexes.
    """
    for table, changes in by_table(comparison.of("index added", "index removed", "index changed in place")):
        if len(changes) >= _SEVERAL_CHANGES:
            names = ", ".join(dict.fromkeys(change.subject for change in changes))
            problem = f"{len(changes)} global indexes of table {table} change at once: {names}"
            fix = "deploy them one after the other, each once the one before is ACTIVE"
            yield several_index_changes.finding(table, problem, fix, changes[0].place, changes[0].other)


@change_rule("KP905", "warning")
def stream_replaced(comparison: Comparison) -> Iterator[Finding]:
    """A stream's view is changed, or the stream ends

    The view of a stream is never changed. The stream is switched off and a new one on, with another ARN: consumers and
    Lambda triggers of the old one do not follow. What changes in between is in no stream, and the old records are gone
    after 24 hours.

    Let the consumers read the old stream to its end, stop what writes or take down what changes meanwhile from the
    table, and start the consumers on the new stream from its beginning.

    Source: developer guide, "Change data capture for DynamoDB Streams", enabling a stream; API reference,
    StreamSpecification.
    """
    old = {table.name: table for table in comparison.old.tables}
    for change in comparison.of("stream changed"):
        before = old.get(change.table)
        if before is None or before.schema.stream is None:
            continue
        readers = ", ".join(consumer.name for consumer in before.consumers) or "its readers"
        problem = f"{change.what}: {readers} must begin anew on another stream, and what changes in between is in none"
        fix = "read the old stream to its end, then start the consumers on the new one from its beginning"
        yield stream_replaced.finding(change.subject, problem, fix, change.place, change.other)


@change_rule("KP906", "warning")
def key_template_changed(comparison: Comparison) -> Iterator[Finding]:
    """What keys are made of is changed, and stored items have the old ones

    A template, its prefix or the condition under which an item is in an index is only how new items are written. Items
    that are stored keep their keys: reads by the new ones do not find them, a create does not see that they are there,
    and entries of an index stay where they were. The same is so of an entity that is in another table now.

    Read both forms first, write the new one when every running version does, rewrite what is stored, and read only the
    new form then: `keyplan diff` gives the stages, the items, write units and hours. An item under another primary key
    is put there and deleted where it was, in one transaction, with the sentinels of its unique values, which name its
    key.

    Source: developer guide, "Core components of Amazon DynamoDB"; an item's primary key is never updated: API
    reference, UpdateItem, Key.
    """
    for change in comparison.of("key changed", "entity moved"):
        if change.facts.get("new"):
            continue
        backfill = comparison.backfill(change)
        cost = "" if backfill is None else f" ({told(backfill)})"
        fix = "read both forms, write the new one, rewrite the stored items, and read only the new form then"
        yield key_template_changed.finding(change.subject, f"{change.what}{cost}", fix, change.place, change.other)


@change_rule("KP907", "error")
def attribute_type_changed(comparison: Comparison) -> Iterator[Finding]:
    """A field is stored as another type than its stored items have

    Attribute values have types, and nothing converts what is stored. The old values are compared with the new ones as
    values of another type: conditions are false, sort orders have two parts, index entries of the wrong type are left
    out, and a moment that was seconds is read as milliseconds.

    Store the new form under another attribute, `Annotated[..., Attribute("due_at_s")]`, write both, rewrite what is
    stored, and drop the old field then. A version that runs beside the one that writes the new form has to read it too.

    Source: developer guide, "Supported data types and naming rules in Amazon DynamoDB"; "Comparison operator and
    function reference": operands of different types do not match.
    """
    for change in comparison.of("type changed"):
        fix = "store it under another Attribute(name), rewrite the stored items, and drop the old field then"
        yield attribute_type_changed.finding(change.subject, change.what, fix, change.place, change.other)


@change_rule("KP908", "warning")
def stored_values_dropped(comparison: Comparison) -> Iterator[Finding]:
    """Values, fields or entities are gone, and stored items may have them

    A value that a type no longer allows, a limit that is narrower, a validator that is new: what was stored under the
    old declaration does not go through the new one, and reading such an item fails. A field that is gone stays in the
    items that have it, is dropped by the next write of the whole item, and is billed until then. The items of an entity
    that is gone stay altogether.

    Stop writing such values, look for the items that have them (an export, or a scan with a filter), rewrite these, and
    narrow the type then. Where the old design declares the share of each value, `distinct={"state": {"open": 0.1,
    ...}}`, `keyplan diff` says how many items have one that is gone.

    Source: developer guide, "Working with items and attributes": tables have no schema beyond their keys, so that
    nothing in them changes with the program.
    """
    for change in comparison.of("values narrowed", "field removed", "entity removed"):
        yield stored_values_dropped.finding(
            change.subject, change.what, _dropped_value_fix(change), change.place, change.other
        )


def _dropped_value_fix(change: DesignChange) -> str:
    if change.kind == "entity removed":
        return "delete its items, or keep the entity declared until they have expired"
    if change.kind == "field removed":
        return "remove the attribute from stored items, or keep the field until nothing writes it"
    return "rewrite the items that have such values while the old type still allows them, and narrow it then"


@change_rule("KP909", "warning")
def index_backfill(comparison: Comparison) -> Iterator[Finding]:
    """A new index has to be filled from stored items

    A global index that is created on a table with items is filled by the service. Reading the table for it costs
    nothing; every entry that is written costs write units of the index, paid by the request or taken from its capacity,
    and where that is small it takes long and holds up the table's own writes. Items whose key in the index is made by a
    template have no such key yet: a program has to write it into each.

    Provision the index for its filling and lower it after it, write the keys with the version before the one that reads
    the index, and read it once it is ACTIVE and filled.

    Source: developer guide, "Managing Global Secondary Indexes in DynamoDB", phases of index creation and adding an
    index to a large table.
    """
    for change in (*comparison.of("index added"), *comparison.of("key changed")):
        backfill = comparison.backfill(change)
        if backfill is None or (change.kind == "key changed" and not change.facts.get("new")):
            continue
        if not backfill.items and not backfill.unknown:
            continue  # it is declared that there is nothing
        fix = "write its keys first, create it, and deploy what reads it once it is filled"
        if change.kind == "index added":
            fix = "create it before the version that reads it is deployed, and wait until it is ACTIVE"
        problem = f"{change.what}: {told(backfill)}"
        yield index_backfill.finding(change.subject, problem, fix, change.place, change.other)


@change_rule("KP910", "error", "warning")
def used_pattern_removed(comparison: Comparison) -> Iterator[Finding]:
    """A pattern is dropped that is still used

    Who calls a pattern is not said in a design. It is an error where a program is given (`keyplan diff --uses FOLDER`)
    that still imports the pattern from the design's module, or takes it from the module as an attribute. Without that
    it is a warning, where the old design itself says that the pattern is used: it has a rate of calls, its document
    makes a claim of it, or another pattern is to show what it writes.

    A pattern that is a step of a transaction cannot be dropped: the design would not be imported.

    Remove the calls first and deploy that; drop the pattern with the next version. Cursors that it handed out are of no
    use to the pattern that takes its place.

    Source: AWS Well-Architected, Operational Excellence Pillar, "Make frequent, small, reversible changes".
    """
    for change in comparison.of("pattern removed", "pattern renamed"):
        name = str(change.facts["pattern"])
        called = [use for use in comparison.uses if use.name == name]
        for use in called:
            fix = "remove the call, or keep the pattern until the next version"
            yield used_pattern_removed.finding(
                change.subject, f"{change.what}, and is still used", fix, use.place, change.other
            )
        if not called:
            yield from _declared_use(change)


def _declared_use(change: DesignChange) -> Iterator[Finding]:
    told = change.facts.get("uses")
    if isinstance(told, tuple) and told:
        problem = f"{change.what}, and in the old design {'; '.join(told)}"
        fix = "remove its callers first, and say that it is called no more: rate=Rate(average=0)"
        yield used_pattern_removed.finding(change.subject, problem, fix, change.place, change.other, severity="warning")


@change_rule("KP911", "warning", "advice")
def logical_id_changed(comparison: Comparison) -> Iterator[Finding]:
    """A resource of the infrastructure gets another logical id

    `keyplan export` calls the resource of a table by the table's name alone. A table of another name is another
    resource: an update of the stack makes the new one, empty, and the old one is in the stack no more. Templates of
    `keyplan export` say `DeletionPolicy: Retain`, so the old table stays, and is billed, outside of any stack; a
    template that does not say so deletes it with all its items. What depends on it (alarms, policies, triggers) points
    to nothing. The same is so of a table that is gone from the design. Terraform refuses to destroy it, as the export
    writes it.

    It is a warning where the old table is not protected from deletion, and else advice. Switch deletion protection on
    and copy the items before the stack is updated, and delete the old table by hand when nothing uses it.

    Source: AWS CloudFormation, "Update behaviors of stack resources" (replacement) and "DeletionPolicy attribute".
    """
    protected = {table.name for table in comparison.old.tables if table.schema.deletion_protection}
    for change in comparison.of("table renamed", "table removed"):
        was = str(change.facts["was"])
        guard = "which is protected from deletion" if was in protected else "which nothing protects from deletion"
        problem = f"{change.what}: the stack has no resource for {was} any more, {guard}"
        fix = "see that the stack in use says DeletionPolicy: Retain for it, and copy its items before it is updated"
        severity: Severity = "advice" if was in protected else "warning"
        yield logical_id_changed.finding(change.subject, problem, fix, change.place, change.other, severity=severity)


@change_rule("KP912", "error")
def missing_required_field(comparison: Comparison) -> Iterator[Finding]:
    """Stored items lack what the new design needs

    A field that is new and required, one that was optional and is not any more, one that is stored under another
    attribute: the items that are stored do not have it, and reading each of them fails until it is rewritten.

    Give the field a default, or let it be optional, and make it required once every item has been rewritten. Keep a
    field's attribute when its name changes: `Annotated[str, Attribute("old_name")]`.

    Source: developer guide, "Working with items and attributes": tables have no schema beyond their keys, so that
    nothing in them changes with the program.
    """
    for change in comparison.of("field lacking"):
        fix = "give it a default or keep its attribute, rewrite the stored items, and require it then"
        yield missing_required_field.finding(change.subject, change.what, fix, change.place, change.other)


@change_rule("KP913", "warning")
def missing_sentinels(comparison: Comparison) -> Iterator[Finding]:
    """Unique values are declared of items that have no sentinels

    A unique value is held by a sentinel item, which is written in one transaction with the item that has the value.
    Items that are stored have none, so their values can be taken a second time; and two of them may share one already,
    which no sentinel can hold.

    Deploy a version that releases sentinels that are there, then one that writes them and does not rely on them, put
    the sentinel of every stored item on condition that none is there, settle the values that two items share, and rely
    on it then.

    Source: developer guide, "Amazon DynamoDB Transactions: how it works"; AWS Database Blog, "Simulating Amazon
    DynamoDB unique constraints using transactions".
    """
    for change in comparison.of("unique added"):
        backfill = comparison.backfill(change)
        cost = "" if backfill is None else f" ({told(backfill)})"
        fix = "put a sentinel for every stored item first, with a version that does not rely on them"
        problem = f"{change.what}, and no stored item has one{cost}"
        yield missing_sentinels.finding(change.subject, problem, fix, change.place, change.other)
