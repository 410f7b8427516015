"""Rules for undeclared names, key conditions that select other entities, and tenants."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from keyplan.check.field_names import is_identifier, is_tenant_name, kind_of
from keyplan.check.finding import Finding
from keyplan.check.key_overlap import capture_of, common_key, may_share_partition
from keyplan.check.rule import design_rule
from keyplan.check.subject import Subject
from keyplan.design.conditions.conditions import paths_of
from keyplan.design.declaring.patterns import Facts, Pattern
from keyplan.design.declaring.tables import Table
from keyplan.design.entities import EntitySpec
from keyplan.design.errors import Place
from keyplan.design.keys.entity_keys import BoundKey, key_text
from keyplan.design.planning.indexes import index_holds_discriminator
from keyplan.design.planning.plan import Plan, SortCondition


@design_rule("KP201", "error", of_absence=True)
def unknown_name(subject: Subject) -> Iterator[Finding]:
    """Name is not declared

    Finds names that the design does not declare: names of fields in `ordered_by` and `Volume(distinct=...,
    present=...)`, of attributes in an index's projection or a table's `ttl`, and of patterns in `after` and `guards`.
    Names in `guards` must be names of patterns that write. Unknown names in templates, conditions and the bodies of
    patterns raise an error when the module is imported.

    Why is this bad? Unknown names are ignored at run time: a misspelled field in `distinct` makes estimates wrong, and
    a misspelled TTL attribute means that no item expires.

    Fix: correct the name.

    Source: design language of keyplan (not a limit of DynamoDB).
    """
    patterns = {pattern.name for pattern in subject.design.patterns}
    writes = {pattern.name for pattern in subject.design.patterns if not pattern.plan.reading}
    for _, entity in subject.entities:
        yield from _unknown_in_items(entity)
    for table in subject.tables:
        yield from _unknown_projected(table)
        yield from _unknown_ttl(table)
    for _, pattern, plan in subject.patterns:
        yield from _unknown_order(pattern.name, pattern.facts, plan, pattern.place)
        for name in pattern.facts.after:
            if name not in patterns:
                yield _unknown(
                    pattern.name, f"after= has no effect: no pattern is called {name}", name, patterns, pattern.place
                )
        for name in pattern.facts.guards:
            if name not in writes:
                problem = f"guards= has no effect: no pattern that writes is called {name}"
                yield _unknown(pattern.name, problem, name, writes, pattern.place.at(f'"{name}"'))


def _unknown_in_items(entity: EntitySpec) -> Iterator[Finding]:
    items = entity.volume
    for name in dict.fromkeys([*items.distinct, *items.present] if items is not None else []):
        if name not in entity.fields:
            problem = f"estimates ignore {name} in items= of {entity.name}, which has no such field"
            yield _unknown(entity.name, problem, name, set(entity.fields), entity.place.at(f'"{name}"'))


def _stored_attributes(table: Table) -> set[str]:
    return {field.attribute for entity in table.entities for field in entity.fields.values()}


def _unknown_ttl(table: Table) -> Iterator[Finding]:
    attributes = _stored_attributes(table)
    for ttl in table.schema.ttls if table.entities else ():
        if ttl.attribute not in attributes:
            problem = f"nothing in table {table.name} expires: no entity stores {ttl.attribute}"
            yield _unknown(table.name, problem, ttl.attribute, attributes, table.schema.place.at("ttl="))


def _unknown_projected(table: Table) -> Iterator[Finding]:
    attributes = _stored_attributes(table) | set(table.schema.key_attributes())
    if table.schema.discriminator is not None:
        attributes.add(table.schema.discriminator)
    for index in table.schema.indexes:
        for name in index.project if isinstance(index.project, tuple) and table.entities else ():
            if name not in attributes:
                problem = f"index {index.name} projects {name}, which no entity of table {table.name} stores"
                yield _unknown(index.name, problem, name, attributes, index.place)


def _unknown_order(pattern: str, facts: Facts, plan: Plan, place: Place) -> Iterator[Finding]:
    name = (facts.ordered_by or "").removeprefix("-")
    if name and all(name not in entity.fields for entity in plan.entities):
        fields = {field for entity in plan.entities for field in entity.fields}
        problem = f"{pattern} cannot be ordered by {name}: {plan.entity.name} has no such field"
        yield _unknown(pattern, problem, name, fields, place)


def _unknown(subject: str, problem: str, name: str, known_names: set[str], place: Place) -> Finding:
    candidates = get_close_matches(name, sorted(known_names), n=3) or sorted(known_names)
    return unknown_name.finding(subject, problem, f"use one of {', '.join(candidates) or 'none'}", place)


@design_rule("KP204", "error", "warning", "advice")
def prefix_capture(subject: Subject) -> Iterator[Finding]:
    """Key range includes another entity

    Finds conditions on the sort key (`begins_with`, a range or an equality) that also select keys of entities that the
    pattern does not return. The rule compares the condition with the key templates of all entities in the partition.
    The finding shows a key of another entity that the condition selects.

    If the table's `discriminator` or the primary keys distinguish the entities, patterns omit the other items from
    their results. Ranges over the pattern's own fields are then not reported, and findings on other conditions
    (`sk.text("begins_with", "USER")`, or a range that includes another prefix) are advice. In tables with
    `literal=True`, all conditions are reported.

    Why is this bad? `begins_with(SK, "USER")` also reads `USERSTATS#...`. Such items are billed, and the size of a page
    includes them. If nothing distinguishes the entities, the items are returned as the wrong entity.

    Fix: end prefixes with the separator (`USER#`), or add the other entity to the pattern. For a range, keep both
    bounds within the prefix, as `sk.gte(field=...)` does for a template.

    Source: developer guide, "Key condition expressions for the Query operation".
    """
    for _, pattern, plan in subject.patterns:
        if plan.operation != "Query" or plan.key is None or not plan.key.sort:
            continue
        for other in _other_entities(plan):
            bound = other.key_in(plan.index)
            if bound is None or not may_share_partition(plan.key.partition, bound.partition):
                continue
            if _mixes_intentionally(plan, other, bound):
                continue
            capture = capture_of(plan.key.sort, bound.sort)
            if capture is not None:
                condition = " and ".join(_condition_text(part) for part in plan.key.sort)
                yield prefix_capture.finding(
                    pattern.name,
                    f"{pattern.name} also reads items of {other.name} ({bound.text}), such as {capture.text}: it"
                    f" selects {plan.entity.name} by {condition}",
                    f"end the prefix with its separator, bound the range within it, or add {other.name} to the pattern",
                    pattern.place,
                    bound.place,
                    severity="advice" if _are_separate(plan, other) else "error" if capture.exact else "warning",
                )


def _mixes_intentionally(plan: Plan, other: EntitySpec, bound: BoundKey) -> bool:
    """Return True if a query that also reads items of another entity is assumed to be intentional.

    This is assumed if keyplan can distinguish the items of the two entities, and the condition does not contain a text
    that the pattern passes to sk.text(...).
    """
    assert plan.key is not None, "the caller looked"
    if any(_is_written_out(condition, plan) for condition in plan.key.sort):
        return False
    if index_holds_discriminator(plan):
        return True
    requested_key = plan.entity.key_in(plan.index)
    same_sort_key = requested_key is not None and key_text(requested_key.sort) == key_text(bound.sort)
    return same_sort_key and common_key(plan.entity.key.attributes, other.key.attributes) is None


def _are_separate(plan: Plan, other: EntitySpec) -> bool:
    """Return True if keyplan omits items of another entity from results, because of the discriminator or the primary
    key.
    """
    if plan.schema.literal:
        return False
    if index_holds_discriminator(plan):
        return True
    return all(common_key(entity.key.attributes, other.key.attributes) is None for entity in plan.entities)


def _is_written_out(condition: SortCondition, plan: Plan) -> bool:
    """Return True if a condition compares the sort key with a string passed to sk.text(...), not with field values."""
    keys = [bound for entity in plan.entities if (bound := entity.key_in(plan.index)) is not None]
    templates = [part.template for bound in keys for part in bound.sort]
    return condition.low.template is not None and all(condition.low.template is not template for template in templates)


def _condition_text(condition: SortCondition) -> str:
    value = condition.low
    text = value.template.text if value.template is not None else f"{{{', '.join(value.sources)}}}"
    operand = f'"{text}"' if value.part == "whole" else f"on {text}"
    return f"{condition.attribute} {condition.op} {operand}"


def _other_entities(plan: Plan) -> Iterator[EntitySpec]:
    return (entity for entity in plan.siblings if entity not in plan.entities)


@design_rule("KP215", "advice", "warning")
def tenant_not_leading_key(subject: Subject) -> Iterator[Finding]:
    """Partition key does not start with the tenant

    Finds entities with a tenant field whose partition keys do not start with this field. The severity is warning for a
    field with `Attribute(kind="tenant")`. It is advice if the field's name (tenant, org, organization, workspace) is
    the only sign of a tenant.

    Why is this bad? Only program code isolates customers from each other: a request with the ID of another tenant's
    item can access this item. If the key starts with the tenant, an IAM policy with the condition key
    `dynamodb:LeadingKeys` isolates tenants, and the items of one tenant can be exported, deleted and measured
    separately.

    Fix: start partition keys with the tenant (`TENANT#{tenant_id}#USER#{user_id}`), including in indexes, or suppress
    the finding if all access goes through a service that checks the tenant.

    Source: developer guide, "Using IAM policy conditions for fine-grained access control" (dynamodb:LeadingKeys).
    """
    for table, entity in subject.entities:
        tenant = _tenant_of(entity)
        if tenant is None:
            continue
        is_marked = kind_of(entity.fields[tenant]) == "tenant"
        keys_without_tenant = [
            bound for bound in (entity.key, *entity.indexes) if bound.partition[0].fields[:1] != (tenant,)
        ]
        keys_without_tenant = [
            bound
            for bound in keys_without_tenant
            if bound.index is None
            or not any(_reads_all_tenants(read, entity, tenant) for read in subject.readers_of(table, bound.index))
        ]
        if keys_without_tenant:
            key_owners = [entity.schema.label_of(bound.index) for bound in keys_without_tenant]
            yield tenant_not_leading_key.finding(
                entity.name,
                f"IAM cannot isolate tenants of {entity.name}: the partition key of {', '.join(key_owners)} does"
                f" not start with {tenant}",
                f"start the partition key with {{{tenant}}}",
                keys_without_tenant[0].place,
                entity.place,
                severity="warning" if is_marked else "advice",
            )


@design_rule("KP218", "advice", "warning")
def read_of_all_tenants(subject: Subject) -> Iterator[Finding]:
    """Index query returns items of all tenants

    Finds queries on indexes that require neither the tenant nor an ID, for entities whose primary key starts with a
    tenant. The severity is warning if the tenant field has `Attribute(kind="tenant")`, and advice if its name is the
    only sign of a tenant.

    Why is this bad? The primary key separates the items of customers, but the index key does not: `pk(status="open")`
    returns the open orders of all customers. If a program does not filter the result, it shows orders to the wrong
    customer, and an IAM policy cannot prevent this.

    Fix: start the index's partition key with the tenant (`TENANT#{tenant_id}#STATUS#{status}`) and require it in the
    query. Suppress the finding for jobs that process the items of all tenants.

    Source: developer guide, "Using IAM policy conditions for fine-grained access control" (dynamodb:LeadingKeys).
    """
    for _, pattern, plan in subject.patterns:
        for entity in plan.entities:
            tenant = _tenant_of(entity)
            is_in_key = tenant is not None and tenant in entity.key.partition[0].fields
            if is_in_key and tenant is not None and _reads_all_tenants(pattern, entity, tenant):
                index = plan.index
                yield read_of_all_tenants.finding(
                    pattern.name,
                    f"{pattern.name} returns {entity.name} items of every {tenant}: neither the key of"
                    f" {plan.schema.label_of(index)} nor a filter requires one",
                    f"start the index's partition key with {{{tenant}}} and add pk({tenant}={tenant}, ...); suppress"
                    " this for a job that processes all tenants",
                    pattern.place,
                    plan.schema.place_of(index),
                    severity="warning" if kind_of(entity.fields[tenant]) == "tenant" else "advice",
                )
                break


def _reads_all_tenants(pattern: Pattern[..., Any], entity: EntitySpec, tenant: str) -> bool:
    """Return True if a query on an index requires neither the tenant nor an ID that belongs to one tenant."""
    plan = pattern.plan
    if plan.index is None or plan.key is None or entity not in plan.entities:
        return False
    fields = {name for value in plan.key.values for name in value.sources}
    fields |= {path.field for condition in (plan.filter, plan.residue) for path in paths_of(condition)}
    unique = {name for rule in entity.uniques for name in rule.fields}
    return tenant not in fields and not any(
        name in entity.fields and (name in unique or is_identifier(entity.fields[name])) for name in fields
    )


def _tenant_of(entity: EntitySpec) -> str | None:
    """Return the field that contains an entity's tenant, or None if the entity has no such field or is itself the
    tenant.

    A field with `Attribute(kind="tenant")` takes precedence over a field that has only the name of a tenant field.
    """
    marked = next((name for name, field in entity.fields.items() if kind_of(field) == "tenant"), None)
    tenant = marked or next((name for name in entity.fields if is_tenant_name(name)), None)
    return None if tenant is None or _is_the_tenant(entity, tenant) else tenant


def _is_the_tenant(entity: EntitySpec, tenant: str) -> bool:
    return entity.name.lower() in tenant.lower()
