"""Rules for changes that lose stored items, make them unreadable, or exclude them from results."""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding, Severity
from keyplan.check.rule import change_rule
from keyplan.diff.changes import DesignChange
from keyplan.diff.comparison import Comparison, by_table
from keyplan.diff.report import backfill_text


@change_rule("KP901", "error")
def local_index_changed(comparison: Comparison) -> Iterator[Finding]:
    """Local index is added, removed or changed

    Finds local secondary indexes that are added to, removed from or changed in an existing table.

    Why is this bad? Local indexes are created with their table and cannot be added, deleted or changed later. A
    deployment that contains such a change either fails or replaces the table.

    Fix: use a global index, which can be added to an existing table. If patterns need strongly consistent reads of the
    index, create a new table with the local index and copy the items into it. `keyplan diff` shows the steps.

    Source: developer guide, "Local secondary indexes".
    """
    for change in comparison.changes_of("local index changed"):
        fix = "use a global index, or copy the items into a new table with the local index"
        problem = f"{change.summary}: the deployment fails or replaces the table"
        yield local_index_changed.finding(change.subject, problem, fix, change.place, change.other)


@change_rule("KP902", "error")
def primary_key_changed(comparison: Comparison) -> Iterator[Finding]:
    """Primary key of a table is changed

    Finds tables that have different key attributes in the new design, or whose key attributes have different types.

    Why is this bad? The key of a table cannot be changed: UpdateTable accepts no key schema, and CloudFormation
    replaces the table and deletes the old one with its items.

    Fix: give the new table another name, make all running versions of the program write to both tables, copy the items,
    and then delete the old table. `keyplan diff` shows the steps in order, with the capacity units and the price of
    each backfill. To change only the values of key attributes, keep the names of the attributes and change their
    templates (KP906).

    Source: developer guide, "Core components of Amazon DynamoDB" (primary key); API reference, UpdateTable.
    """
    for change in comparison.changes_of("primary key changed"):
        fix = "declare a table with another name, copy the items into it, and drop this one when nothing uses it"
        yield primary_key_changed.finding(
            change.subject, f"{change.summary}: the key of a table cannot change", fix, change.place, change.other
        )


@change_rule("KP903", "error")
def index_changed_in_place(comparison: Comparison) -> Iterator[Finding]:
    """Index is changed in place

    Finds global indexes that have the same name but a different key or projection in the new design.

    Why is this bad? The key and projection of an index cannot be changed. The index must be deleted and created again,
    and every read of the index fails until the new index is backfilled. CloudFormation rejects an update that contains
    both changes.

    Fix: declare the new index under another name next to the old index, and deploy both. Then move the reads to the new
    index, and delete the old one.

    Source: developer guide, "Managing Global Secondary Indexes in DynamoDB"; API reference, UpdateTable: only the
    capacity of an existing index can be updated.
    """
    for change in comparison.changes_of("index changed in place"):
        fix = f"declare the new index as {change.subject}_2, and drop {change.subject} when nothing reads it"
        problem = f"{change.summary}: reads fail until the index is backfilled again"
        yield index_changed_in_place.finding(change.subject, problem, fix, change.place, change.other)


_SEVERAL_CHANGES = 2


@change_rule("KP904", "warning")
def several_index_changes(comparison: Comparison) -> Iterator[Finding]:
    """Several indexes change in one deployment

    Finds tables for which the new design adds or removes more than one global index.

    Why is this bad? UpdateTable creates or deletes one global index at a time, and rejects requests while another index
    is being created or backfilled. CloudFormation rejects an update with several such changes to one table.

    Fix: deploy one index change at a time, and wait until each new index is ACTIVE before you deploy the next change.

    Source: API reference, UpdateTable (an operation creates or deletes only one global index); CloudFormation,
    AWS::DynamoDB::Table, GlobalSecondaryIndexes.
    """
    for table, changes in by_table(comparison.changes_of("index added", "index removed", "index changed in place")):
        if len(changes) >= _SEVERAL_CHANGES:
            names = ", ".join(dict.fromkeys(change.subject for change in changes))
            problem = f"the deployment fails: {len(changes)} global indexes of table {table} change at once, {names}"
            fix = "deploy them one after the other, each when the previous one is ACTIVE"
            yield several_index_changes.finding(table, problem, fix, changes[0].place, changes[0].other)


@change_rule("KP905", "warning")
def stream_replaced(comparison: Comparison) -> Iterator[Finding]:
    """Stream is replaced or disabled

    Finds tables whose stream has a different view type in the new design, or is disabled.

    Why is this bad? The view type of a stream cannot be changed: a new stream with another ARN replaces the stream.
    Consumers and Lambda triggers remain attached to the old stream. Changes that are made after the old stream is
    disabled and before the new one is enabled appear in neither stream. Records of the old stream are deleted after 24
    hours.

    Fix: stop writes while the stream is replaced, or read the items that changed during that time from the table. Keep
    the consumers attached to the old stream until they have read all of its records, and then start them at the
    beginning of the new stream.

    Source: developer guide, "Change data capture for DynamoDB Streams" (enabling a stream); API reference,
    StreamSpecification.
    """
    old = {table.name: table for table in comparison.old.tables}
    for change in comparison.changes_of("stream changed"):
        before = old.get(change.table)
        if before is None or before.schema.stream is None:
            continue
        readers = ", ".join(consumer.name for consumer in before.consumers) or "its readers"
        problem = (
            f"{change.summary}: {readers} must start again on another stream, and changes in between are in neither"
        )
        fix = "read the old stream to its end, then start the consumers at the beginning of the new one"
        yield stream_replaced.finding(change.subject, problem, fix, change.place, change.other)


@change_rule("KP906", "warning")
def key_template_changed(comparison: Comparison) -> Iterator[Finding]:
    """Key template is changed but stored items keep the old key

    Finds entities whose key templates, prefixes or index conditions change, and entities that are moved to another
    table.

    Why is this bad? A template affects new writes only. Reads with new keys do not find stored items, `create` patterns
    do not detect that an item exists, and stored items remain in indexes under their old keys.

    Fix: deploy a version of the program that reads both the old and the new form of the key. When every running version
    reads both, write the new form and rewrite stored items. Then read only the new form. `keyplan diff` shows the
    stages of the rollout, the number of items to rewrite, the write units and the duration. To change a primary key,
    use one transaction for each item: it puts the item under the new key, deletes the old item, and stores the new key
    in the guard items that reserve the item's unique values.

    Source: developer guide, "Core components of Amazon DynamoDB"; API reference, UpdateItem, Key: an item's primary key
    cannot be updated.
    """
    for change in comparison.changes_of("key changed", "entity moved"):
        if change.facts.get("new"):
            continue
        backfill = comparison.backfill(change)
        cost = "" if backfill is None else f" ({backfill_text(backfill)})"
        fix = "read both forms, write the new one, rewrite the stored items, and then read only the new form"
        yield key_template_changed.finding(change.subject, f"{change.summary}{cost}", fix, change.place, change.other)


@change_rule("KP907", "error")
def attribute_type_changed(comparison: Comparison) -> Iterator[Finding]:
    """Attribute type is changed but stored items keep the old type

    Finds fields that the new design stores with a different type than the old design.

    Why is this bad? Nothing converts stored values. Comparisons of an old value with a new one are false, and items
    whose index key has the old type are missing from the index. If only the unit of a timestamp changes, for example
    from seconds to milliseconds, stored timestamps are read as the wrong time.

    Fix: store the new type in another attribute (`Annotated[..., Attribute("due_at_s")]`), write both attributes,
    rewrite stored items, and then remove the old field. Versions of the program that run concurrently must also be able
    to read the new attribute.

    Source: developer guide, "Supported data types and naming rules in Amazon DynamoDB"; "Comparison operator and
    function reference": operands of different types do not match.
    """
    for change in comparison.changes_of("type changed"):
        fix = "store it under another Attribute(name), rewrite the stored items, and then remove the old field"
        yield attribute_type_changed.finding(change.subject, change.summary, fix, change.place, change.other)


@change_rule("KP908", "warning")
def stored_values_dropped(comparison: Comparison) -> Iterator[Finding]:
    """Stored values are no longer valid

    Finds fields that have a narrower type, a stricter limit or a new validator in the new design. Also finds removed
    fields and entities.

    Why is this bad? Reading a stored item with an invalid value fails. The value of a removed field remains in a stored
    item, and is billed, until the whole item is replaced. Items of a removed entity remain in the table.

    Fix: before you narrow the type, stop writing the values that it excludes, find the items that contain such values
    (with an export or a filtered scan), and rewrite these items. `keyplan diff` shows how many items are affected if
    the old design declares the share of each value (`distinct={"state": {"open": 0.1, ...}}`).

    Source: developer guide, "Working with items and attributes": tables have no schema beyond their keys.
    """
    for change in comparison.changes_of("values narrowed", "field removed", "entity removed"):
        yield stored_values_dropped.finding(
            change.subject, change.summary, _dropped_value_fix(change), change.place, change.other
        )


def _dropped_value_fix(change: DesignChange) -> str:
    if change.kind == "entity removed":
        return "delete its items, or keep the entity declared until they have expired"
    if change.kind == "field removed":
        return "remove the attribute from stored items, or keep the field until nothing writes it"
    return "rewrite the items with such values while the old type still allows them, and then narrow it"


@change_rule("KP909", "warning")
def index_backfill(comparison: Comparison) -> Iterator[Finding]:
    """New index must be backfilled

    Finds global indexes that are added to a table with stored items.

    Why is this bad? When DynamoDB backfills an index, it does not charge for reading the table, but each item that is
    copied into the index uses write units of the index. If the index has too little write capacity, the backfill takes
    a long time, and writes to the table are throttled. If a template produces the index key, stored items do not
    contain the key attributes, and a program must add them to each item.

    Fix: first deploy a version that writes the index keys, and provision enough capacity on the index for the backfill.
    When the index is ACTIVE and contains all items, deploy the version that reads the index.

    Source: developer guide, "Managing Global Secondary Indexes in DynamoDB" (phases of index creation and adding an
    index to a large table).
    """
    for change in (*comparison.changes_of("index added"), *comparison.changes_of("key changed")):
        backfill = comparison.backfill(change)
        if backfill is None or (change.kind == "key changed" and not change.facts.get("new")):
            continue
        if not backfill.items and not backfill.unknown:
            continue  # the design declares that no items exist
        fix = "write its keys first, create it, and deploy its readers when it is complete"
        if change.kind == "index added":
            fix = "create it before deploying the version that reads it, and wait until it is ACTIVE"
        problem = f"{change.summary}: {backfill_text(backfill)}"
        yield index_backfill.finding(change.subject, problem, fix, change.place, change.other)


@change_rule("KP910", "error", "warning")
def used_pattern_removed(comparison: Comparison) -> Iterator[Finding]:
    """Removed pattern is still used

    Finds removed patterns that a program imports (error, with `keyplan diff --uses FOLDER`). Also finds removed
    patterns that had a rate or a claim, or that another pattern listed in `after=` (warning).

    Why is this bad? Programs that still call the pattern fail when the new version is deployed.

    Fix: first deploy a version of the program that does not call the pattern, and remove the pattern in the next
    version. Cursors that the removed pattern returned are not valid for a pattern that replaces it.

    Source: AWS Well-Architected, Operational Excellence Pillar, "Make frequent, small, reversible changes".
    """
    for change in comparison.changes_of("pattern removed", "pattern renamed"):
        name = str(change.facts["pattern"])
        uses = [use for use in comparison.uses if use.name == name]
        for use in uses:
            fix = "remove the call, or keep the pattern until the next version"
            yield used_pattern_removed.finding(
                change.subject, f"{change.summary}, and is still used", fix, use.place, change.other
            )
        if not uses:
            yield from _declared_use(change)


def _declared_use(change: DesignChange) -> Iterator[Finding]:
    uses = change.facts.get("uses")
    if isinstance(uses, tuple) and uses:
        problem = f"{change.summary}, and in the old design {'; '.join(uses)}"
        fix = "remove its callers first, and declare rate=Rate(average=0)"
        yield used_pattern_removed.finding(change.subject, problem, fix, change.place, change.other, severity="warning")


@change_rule("KP911", "warning", "advice")
def logical_id_changed(comparison: Comparison) -> Iterator[Finding]:
    """Logical ID of a table is changed

    Finds tables that are renamed or removed. The finding is a warning if the old table has no deletion protection, and
    advice otherwise.

    Why is this bad? `keyplan export` names the resource after the table. If the name changes, an update of the stack
    creates an empty table and removes the old one from the stack. Templates from `keyplan export` have `DeletionPolicy:
    Retain`, so the old table remains, and continues to be billed. Without this policy, CloudFormation deletes the table
    with its items, and alarms, policies and triggers then refer to a table that no longer exists. The Terraform export
    prevents the table from being destroyed.

    Fix: enable deletion protection and copy the items before the stack is updated. Delete the old table manually when
    nothing uses it any more.

    Source: AWS CloudFormation, "Update behaviors of stack resources" (replacement) and "DeletionPolicy attribute".
    """
    protected = {table.name for table in comparison.old.tables if table.schema.deletion_protection}
    for change in comparison.changes_of("table renamed", "table removed"):
        old_name = str(change.facts["was"])
        guard = "which has deletion protection" if old_name in protected else "which has no deletion protection"
        problem = f"{change.summary}: the stack removes its resource for {old_name}, {guard}"
        fix = "check that the current stack has DeletionPolicy: Retain for it, and copy its items before the update"
        severity: Severity = "advice" if old_name in protected else "warning"
        yield logical_id_changed.finding(change.subject, problem, fix, change.place, change.other, severity=severity)


@change_rule("KP912", "error")
def missing_required_field(comparison: Comparison) -> Iterator[Finding]:
    """Stored items do not have a required field

    Finds required fields that are new, were optional in the old design, or are stored in another attribute.

    Why is this bad? Stored items do not have the field, and reading such an item fails until it is rewritten.

    Fix: give the field a default or make it optional, and make it required when every item has been rewritten. If only
    the name of a field changes, keep the attribute: `Annotated[str, Attribute("old_name")]`.

    Source: developer guide, "Working with items and attributes": tables have no schema beyond their keys.
    """
    for change in comparison.changes_of("field missing"):
        fix = "give it a default or keep its attribute, rewrite the stored items, and then require it"
        yield missing_required_field.finding(change.subject, change.summary, fix, change.place, change.other)


@change_rule("KP913", "warning")
def missing_sentinels(comparison: Comparison) -> Iterator[Finding]:
    """Stored items have no guard items for unique values

    Finds unique constraints (`unique=`) that are added to an entity with stored items.

    Why is this bad? Each unique value is reserved by a guard item (sentinel), which keyplan writes in the same
    transaction as the item. The values of stored items do not have guard items yet. New items can therefore use the
    same values, and stored items might already contain duplicates.

    Fix: first deploy a version that deletes an item's guard items when it deletes the item, and then a version that
    writes guard items for new items. Then add guard items for the stored items and resolve duplicate values. Do not
    rely on uniqueness before all of this is done.

    Source: developer guide, "Amazon DynamoDB Transactions: how it works"; AWS Database Blog, "Simulating Amazon
    DynamoDB unique constraints using transactions".
    """
    for change in comparison.changes_of("unique added"):
        backfill = comparison.backfill(change)
        cost = "" if backfill is None else f" ({backfill_text(backfill)})"
        fix = "put a sentinel for every stored item first, with a version that does not rely on sentinels"
        problem = f"{change.summary}, but stored items have no sentinel{cost}"
        yield missing_sentinels.finding(change.subject, problem, fix, change.place, change.other)
