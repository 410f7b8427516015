"""Requests of plans that write one item: puts, updates, deletes, and checks in transactions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keyplan.design.entities import Entity
from keyplan.design.field_types import AttributeValue
from keyplan.design.plan import Plan
from keyplan.design.requests_guards import Guards, add_expressions
from keyplan.design.requests_items import Item, check_model, maker_of
from keyplan.design.requests_keys import item_key
from keyplan.design.requests_sources import Arguments, reader
from keyplan.design.requests_text import Placeholders
from keyplan.design.requests_updates import Update

Request = dict[str, Any]


class WriteRequest:
    """The request of a plan that writes one item: `action` as part of a transaction, `request` by itself."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        placeholders = Placeholders()
        self._guards = Guards(plan, placeholders)
        self._update = Update(plan, placeholders) if plan.operation == "UpdateItem" else None
        self.key = _key_of(plan, self.entity)
        """The primary key of the item that a call writes."""
        self._item = reader(plan.item)
        self._maker = maker_of(plan.entity)
        self._create = plan.exists == "must_not"

    def entity(self, arguments: Arguments) -> Entity:
        """The entity that a put writes, as the caller gave it. Raises TypeError for something else."""
        entity: Entity = self._item(arguments)
        check_model(self.plan.pattern, self.plan.entity, entity)
        return entity

    def version(self, entity: Entity) -> int | None:
        """The version that a put stores: 1 for a new item that has none, else one more than the item's own."""
        name = self.plan.entity.version
        if name is None:
            return None
        own = int(getattr(entity, name))
        return (own or 1) if self._create else own + 1

    def action(self, arguments: Arguments, table: str) -> Request:
        """The members that it has in a transaction."""
        request: Request = {"TableName": table}
        names: dict[str, str] = {}
        values: dict[str, AttributeValue] = {}
        if self.plan.operation == "PutItem":
            entity = self.entity(arguments)
            request["Item"] = self._maker.item(entity, self.version(entity))
        else:
            request["Key"] = self.key(arguments)
        if self._update is not None:
            text = self._update.bind(arguments, names, values)
            if text:
                request["UpdateExpression"] = text
        condition = self._guards.bind(arguments, names, values)
        if condition is None and self.plan.operation == "ConditionCheck":
            key = self.plan.schema.partition
            names["#key"], condition = key, "attribute_exists(#key) OR attribute_not_exists(#key)"
        add_expressions(request, condition, names, values)
        if condition is not None:
            request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        return request

    def request(self, arguments: Arguments, table: str) -> Request:
        """The whole request of the plan's own operation."""
        request = self.action(arguments, table)
        returned = _RETURNED.get(self.plan.returns)
        if returned is not None:
            request["ReturnValues"] = returned
        return request


_RETURNED = {"new": "ALL_NEW", "old": "ALL_OLD"}


def _key_of(plan: Plan, entity: Callable[[Arguments], Entity]) -> Callable[[Arguments], Item]:
    if plan.key is not None:
        return item_key(plan.key)
    maker = maker_of(plan.entity)
    return lambda arguments: maker.key(entity(arguments).__dict__)
