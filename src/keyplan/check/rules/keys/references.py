"""Rules: references."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from keyplan.check.field_names import is_tenant_name
from keyplan.check.finding import Finding
from keyplan.check.key_overlap import captured_by, partition_shared, shared
from keyplan.check.rule import design_rule
from keyplan.check.subject import Subject
from keyplan.design.declaring.patterns import Facts
from keyplan.design.declaring.tables import Table
from keyplan.design.entities import EntitySpec
from keyplan.design.errors import Place
from keyplan.design.keys.entity_keys import BoundKey, key_text
from keyplan.design.planning.indexes import index_holds_discriminator
from keyplan.design.planning.plan import Plan, SortCondition


@design_rule("KP201", "error")
def unknown_name(subject: Subject) -> Iterator[Finding]:
    """A name that nothing is declared under

    A template, a condition or a pattern that names a field its entity does not have cannot mean anything, so it is
    refused when the module is imported: the error shows the text with a caret under the name, and lists the fields
    there are. What is looked up later is found here: fields in `ordered_by`, in the numbers of `Items(distinct=...,
    present=...)`, attributes that an index projects or a table names for expiry and no entity stores, patterns named in
    `after`.

    Such a slip is quiet otherwise: a misspelt field in `distinct` only makes every estimate wrong, and of a misspelt
    attribute for expiry nothing ever expires.

    Correct the name.

    Source: keyplan's own rule: a design has no words without meaning.
    """
    patterns = {pattern.name for pattern in subject.design.patterns}
    for _, entity in subject.entities:
        yield from _unknown_in_items(entity)
    for table in subject.tables:
        yield from _unknown_projected(table)
        yield from _unknown_ttl(table)
    for _, pattern, plan in subject.patterns:
        yield from _unknown_order(pattern.name, pattern.facts, plan, pattern.place)
        for name in pattern.facts.after:
            if name not in patterns:
                yield _unknown(pattern.name, f"no pattern is called {name}", name, patterns, pattern.place)


def _unknown_in_items(entity: EntitySpec) -> Iterator[Finding]:
    items = entity.items
    for name in dict.fromkeys([*items.distinct, *items.present] if items is not None else []):
        if name not in entity.fields:
            problem = f"{entity.name} has no field {name}, and its declared numbers speak of one"
            yield _unknown(entity.name, problem, name, set(entity.fields), entity.place.at(f'"{name}"'))


def _stored_attributes(table: Table) -> set[str]:
    return {field.attribute for entity in table.entities for field in entity.fields.values()}


def _unknown_ttl(table: Table) -> Iterator[Finding]:
    stored = _stored_attributes(table)
    for ttl in table.schema.ttls if table.entities else ():
        if ttl.attribute not in stored:
            problem = f"table {table.name} expires items by {ttl.attribute}, and no entity of it stores that"
            yield _unknown(table.name, problem, ttl.attribute, stored, table.schema.place.at("ttl="))


def _unknown_projected(table: Table) -> Iterator[Finding]:
    stored = _stored_attributes(table) | set(table.schema.key_attributes())
    if table.schema.discriminator is not None:
        stored.add(table.schema.discriminator)
    for index in table.schema.indexes:
        for name in index.project if isinstance(index.project, tuple) and table.entities else ():
            if name not in stored:
                problem = f"index {index.name} projects {name}, and no entity of table {table.name} stores it"
                yield _unknown(index.name, problem, name, stored, index.place)


def _unknown_order(pattern: str, facts: Facts, plan: Plan, place: Place) -> Iterator[Finding]:
    name = (facts.ordered_by or "").removeprefix("-")
    if name and all(name not in entity.fields for entity in plan.entities):
        fields = {field for entity in plan.entities for field in entity.fields}
        problem = f"{pattern} is ordered by {name}, a field that {plan.entity.name} does not have"
        yield _unknown(pattern, problem, name, fields, place)


def _unknown(subject: str, problem: str, name: str, known: set[str], place: Place) -> Finding:
    close = get_close_matches(name, sorted(known), n=3) or sorted(known)
    return unknown_name.finding(subject, problem, f"use one of {', '.join(close) or 'none'}", place)


@design_rule("KP204", "error", "warning")
def prefix_capture(subject: Subject) -> Iterator[Finding]:
    """A range of the sort key takes in another entity

    `begins_with`, a range or an equality on the sort key returns every item with such a key, including items of
    entities that the pattern does not name: `begins_with(SK, "USER")` finds `USERSTATS#...` too. They are read and paid
    for, they use up the page, and a program that takes them for its own reads nonsense. Keyplan separates them by their
    whole keys and drops them; other programs on the table do not.

    The condition is compared with the key templates of every entity in the same partition; the finding shows a key
    that it captures.

    Item types that are mixed on purpose are not reported: a range of the pattern's own fields, where the table's
    `discriminator` separates the entities, or where both have a sort key of the same form in an index and their primary
    keys separate them. A text that is written out (`sk.text("begins_with", "USER")`) is always compared.

    End prefixes with the separator (`USER#`), bound ranges on both sides within the prefix, as `sk.gte(field=...)`
    on a template does, or name the other entity in the pattern where both are wanted.

    Source: developer guide, "Key condition expressions for the Query operation".
    """
    for _, pattern, plan in subject.patterns:
        if plan.operation != "Query" or plan.key is None or not plan.key.sort:
            continue
        for other in _other_entities(plan):
            bound = other.key_in(plan.index)
            if bound is None or not partition_shared(plan.key.partition, bound.partition):
                continue
            if _mixes_intentionally(plan, other, bound):
                continue
            found = captured_by(plan.key.sort, bound.sort)
            if found is not None:
                condition = " and ".join(_condition_text(one) for one in plan.key.sort)
                yield prefix_capture.finding(
                    pattern.name,
                    f"{pattern.name} reads {plan.entity.name} by {condition}, which also takes in {other.name}"
                    f" ({bound.text}), for example {found.text}",
                    f"end the prefix with its separator, bound the range within it, or name {other.name} in the"
                    " pattern where it is wanted",
                    pattern.place,
                    bound.place,
                    severity="error" if found.exact else "warning",
                )


def _mixes_intentionally(plan: Plan, other: EntitySpec, bound: BoundKey) -> bool:
    """Return True if a range of the entity's own fields reads item types that the discriminator or keys separate."""
    assert plan.key is not None, "the caller looked"
    if any(_is_written_out(condition, plan) for condition in plan.key.sort):
        return False
    if index_holds_discriminator(plan):
        return True
    own = plan.entity.key_in(plan.index)
    alike = own is not None and key_text(own.sort) == key_text(bound.sort)
    return alike and shared(plan.entity.key.attributes, other.key.attributes) is None


def _is_written_out(condition: SortCondition, plan: Plan) -> bool:
    """Return True if a condition compares with a text of sk.text(...) and not with one that an entity's key makes."""
    keys = [bound for entity in plan.entities if (bound := entity.key_in(plan.index)) is not None]
    own = [part.template for bound in keys for part in bound.sort]
    return condition.low.template is not None and all(condition.low.template is not template for template in own)


def _condition_text(condition: SortCondition) -> str:
    """Return a condition in words: as it is written, or on which template."""
    value = condition.low
    text = value.template.text if value.template is not None else f"{{{', '.join(value.sources)}}}"
    what = f'"{text}"' if value.part == "whole" else f"on {text}"
    return f"{condition.attribute} {condition.op} {what}"


def _other_entities(plan: Plan) -> Iterator[EntitySpec]:
    return (entity for entity in plan.siblings if entity not in plan.entities)


@design_rule("KP215", "advice")
def tenant_not_leading_key(subject: Subject) -> Iterator[Finding]:
    """The tenant does not lead the key

    An entity that belongs to a tenant, and whose partition key does not begin with it, can be reached with another
    tenant's id in hand: only program code keeps customers apart. With the tenant first, an IAM policy with the
    condition key `dynamodb:LeadingKeys` does, a tenant's items can be found to be exported or deleted, and its load
    can be told from that of others.

    Begin partition keys with the tenant (`TENANT#{tenant_id}#USER#{user_id}`), in indexes too; or accept this where
    all access goes through a service that checks.

    Source: developer guide, "Using IAM policy conditions for fine-grained access control", dynamodb:LeadingKeys.
    """
    for _, entity in subject.entities:
        tenant = next((name for name in entity.fields if is_tenant_name(name)), None)
        if tenant is None or _is_the_tenant(entity, tenant):
            continue
        late = [bound for bound in (entity.key, *entity.indexes) if bound.partition[0].fields[:1] != (tenant,)]
        if late:
            where = [entity.schema.where(bound.index) for bound in late]
            yield tenant_not_leading_key.finding(
                entity.name,
                f"{entity.name} belongs to {tenant}, which does not lead its partition key of {', '.join(where)}",
                f"begin the partition key with {{{tenant}}}",
                late[0].place,
                entity.place,
            )


def _is_the_tenant(entity: EntitySpec, tenant: str) -> bool:
    return entity.name.lower() in tenant.lower()
