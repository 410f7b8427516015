"""TransactWriteItems: run up to 100 puts, updates, deletes and condition checks as one transaction.

DynamoDB checks the actions one at a time, in the order of the request: the constraints, values and expressions of an
action are checked before those of the next action.

All conditions are evaluated inside one exclusive write transaction of the store. Therefore, transactions are
serializable and never conflict with each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from keyplan import limits
from keyplan.dynamodb.messages import items as item_messages
from keyplan.dynamodb.messages import requests as messages
from keyplan.dynamodb.shapes import late_check
from keyplan.dynamodb.shapes.model import LATE_ITEM, Layer, List, Shape, Structure
from keyplan.dynamodb.values import units
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine.items import actions, transactions, versions, writes
from keyplan.engine.items.actions import Action
from keyplan.engine.items.conditions import check_placeholder_maps
from keyplan.engine.items.keys import EmptyKeyError
from keyplan.engine.items.receipts import Receipt, requested_names
from keyplan.engine.items.transactions import CANCELLING_ERRORS, CancellationReasons, cancelled_by, locate
from keyplan.engine.operations import shapes
from keyplan.engine.operations.answers import CollectionMetrics
from keyplan.engine.store.rows import Transaction
from keyplan.engine.tables.catalog import Table
from keyplan.errors import ValidationError

if TYPE_CHECKING:
    from keyplan.engine.database import Database


_COMMON: dict[str, Shape] = {
    "TableName": shapes.TABLE_NAME,
    "ConditionExpression": shapes.TEXT,
    "ExpressionAttributeNames": shapes.NAMES,
    "ExpressionAttributeValues": shapes.VALUES,
    "ReturnValuesOnConditionCheckFailure": shapes.RETURN_ON_CONDITION_FAILURE,
}
ACTIONS = ("ConditionCheck", "Put", "Delete", "Update")

_ACTION = Structure(
    "TransactWriteItem",
    {
        "ConditionCheck": Structure(
            "ConditionCheck",
            {"Key": LATE_ITEM, **_COMMON},
            required=("Key", "TableName", "ConditionExpression"),
        ),
        "Put": Structure("Put", {"Item": LATE_ITEM, **_COMMON}, required=("Item", "TableName")),
        "Delete": Structure("Delete", {"Key": LATE_ITEM, **_COMMON}, required=("Key", "TableName")),
        "Update": Structure(
            "Update",
            {"Key": LATE_ITEM, "UpdateExpression": shapes.TEXT, **_COMMON},
            required=("Key", "UpdateExpression", "TableName"),
        ),
    },
)

SHAPE = Structure(
    "TransactWriteItemsInput",
    {
        # The token precedes the list, because the service reports only an invalid token if both are invalid.
        "ClientRequestToken": shapes.CLIENT_REQUEST_TOKEN,
        "TransactItems": List(_ACTION, min=1, max=limits.TRANSACTION_ACTIONS),
        "ReturnConsumedCapacity": shapes.RETURN_CONSUMED_CAPACITY,
        "ReturnItemCollectionMetrics": shapes.RETURN_ITEM_COLLECTION_METRICS,
    },
    required=("TransactItems",),
    layer=Layer.FRONT,
)


def actions_of(request: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the actions of the request, each as its type (such as "Put" or "Update") and its members.

    Raises ValidationError unless each element of the request contains exactly one action.
    """
    all_actions = []
    for element in request["TransactItems"]:
        actions = [(kind, element[kind]) for kind in ACTIONS if kind in element and element[kind] is not None]
        if len(actions) != 1:
            raise ValidationError(messages.SEVERAL_ACTIONS_IN_ONE)
        all_actions += actions
    return all_actions


def check_action(action: dict[str, Any]) -> None:
    """Raise ValidationError if an action of a TransactWriteItems request has invalid placeholders.

    Unlike in single-item operations, placeholders are allowed even if the action has no expression that uses them.
    """
    check_placeholder_maps(action)


_PREPARE: Mapping[str, Callable[[dict[str, Any], Form], Action]] = {
    "ConditionCheck": actions.condition_check,
    "Delete": actions.delete,
    "Put": actions.put,
    "Update": actions.update,
}


class WriteStep(NamedTuple):
    """One action of a write transaction, with its table, its stored key, and its value of
    ReturnValuesOnConditionCheckFailure.
    """

    action: Action
    table: Table
    key: bytes
    on_failure: str | None


class AnswerOptions(NamedTuple):
    """Options for the response: the value of ReturnConsumedCapacity, whether to include item collection metrics, and
    the names or ARNs by which the request refers to the tables.
    """

    detail: str
    has_collection_metrics: bool
    names: dict[str, str]


class _Change(NamedTuple):
    """The versions of an item before and after an action. `blind` is True if the earlier version was not read."""

    old: versions.Version | None
    new: versions.Version | None
    blind: bool = False

    @property
    def size(self) -> int:
        """The size in bytes of the larger version, which determines the consumed capacity."""
        return max(self.old.size if self.old else 0, self.new.size if self.new else 0)


def run(database: Database, request: dict[str, Any], form: Form) -> dict[str, Any]:
    """Run TransactWriteItems: check the request, find the tables, and run all actions in one transaction."""
    steps = _locate(database, prepare(request, form))
    detail = request.get("ReturnConsumedCapacity") or "NONE"
    has_collection_metrics = request.get("ReturnItemCollectionMetrics") == "SIZE"
    names = requested_names(members["TableName"] for _, members in actions_of(request)) if detail != "NONE" else {}
    return write_in_transaction(
        database, steps, transactions.token_of(request), form, AnswerOptions(detail, has_collection_metrics, names)
    )


def write_in_transaction(
    database: Database,
    steps: list[WriteStep],
    token: transactions.IdempotencyToken | None,
    form: Form,
    options: AnswerOptions,
) -> dict[str, Any]:
    """Evaluate and apply all actions in one transaction, and return the response.

    If a transaction with the same `token` was committed in the last ten minutes, no changes are made.
    """
    write_transaction = _WriteTransaction(database, form, steps, token, options)
    # Pass the table of every step, because a table may have changed between the lookups of two steps.
    return database.write_all([step.table for step in steps], write_transaction.run)


@late_check(SHAPE)
def prepare(request: dict[str, Any], form: Form) -> list[tuple[Action, dict[str, Any]]]:
    """Run the checks of a TransactWriteItems request that do not depend on the tables, and return the actions. Each
    action is paired with its element of the request.

    The actions are checked one after another. The total size of the request is checked last.
    """
    prepared: list[tuple[Action, dict[str, Any]]] = []
    for kind, members in actions_of(request):
        check_action(members)
        prepared.append((_PREPARE[kind](members, form), members))
    check_payload([action for action, _ in prepared])
    return prepared


def check_payload(prepared: Sequence[Action]) -> None:
    """Raise ValidationError if the items and values in the request exceed 4 MB in total. The sizes of stored items are
    not included.
    """
    total = sum(action.payload for action in prepared)
    if total > limits.TRANSACTION_BYTES:
        raise ValidationError(item_messages.payload_too_large(total))


def _locate(database: Database, prepared: list[tuple[Action, dict[str, Any]]]) -> list[WriteStep]:
    tables = [database.table(members["TableName"]) for _, members in prepared]
    located = [(table, action) for table, (action, _) in zip(tables, prepared, strict=True)]
    keys = locate(located)
    for _, action in located:
        if isinstance(action, actions.ItemUpdate):
            action.check_charge()
    return [
        WriteStep(action, table, key, members.get("ReturnValuesOnConditionCheckFailure"))
        for (action, members), table, key in zip(prepared, tables, keys, strict=True)
    ]


class _WriteTransaction:
    """Runs the actions of TransactWriteItems inside the store's write transaction. If a table has changed, all actions
    are run again.
    """

    def __init__(
        self,
        database: Database,
        form: Form,
        steps: list[WriteStep],
        token: transactions.IdempotencyToken | None,
        options: AnswerOptions,
    ) -> None:
        self._database = database
        self._form = form
        self._steps = steps
        self._token = token
        self._options = options
        self._counted = options.detail != "NONE"

    def run(self, transaction: Transaction) -> dict[str, Any]:
        """Run all actions and return the response. If the request repeats an earlier request with the same token,
        change nothing.
        """
        now = self._database.clock.now()
        token = self._token
        sizes = None if token is None else transactions.repeated_sizes(transaction, token, now)
        if sizes is not None:
            return self._answer(transaction, self._repeated_receipts(sizes), "Read")
        changes = self._evaluate(transaction)
        receipts = self._apply(transaction, changes, now)
        if token is not None:
            transactions.record_token(transaction, token, now, [change.size for change in changes])
        return self._answer(transaction, receipts, "Write")

    def _evaluate(self, transaction: Transaction) -> list[_Change]:
        """Evaluate all actions without writing anything, and return their changes.

        Raises TransactionCanceledError with the reasons of all failed actions.
        """
        reasons = CancellationReasons(len(self._steps))
        changes: list[_Change] = []
        for number, step in enumerate(self._steps):
            try:
                changes.append(self._change(transaction, step))
            except EmptyKeyError:
                raise  # rejects the request before all other errors
            except CANCELLING_ERRORS as error:
                reasons.add(number, error)
        reasons.raise_any()
        return changes

    def _change(self, transaction: Transaction, step: WriteStep) -> _Change:
        action = step.action
        if not self._needs_old(step):
            return _Change(None, action.outcome(step.table, None), blind=True)
        old = versions.load(transaction, step.table, step.key)
        if action.guard is not None:
            action.guard.require(old.item if old is not None else None, self._form, step.on_failure)
        return _Change(old, action.outcome(step.table, old))

    def _needs_old(self, step: WriteStep) -> bool:
        """Return True if an action must read the stored version of its item.

        A put or delete without a condition can omit this read if a write to the table changes only the row of the item
        (`Table.plain`) and the response does not contain the consumed capacity.
        """
        return (
            step.action.guard is not None
            or not step.table.plain
            or self._counted
            or isinstance(step.action, actions.ItemUpdate)
        )

    def _apply(self, transaction: Transaction, changes: list[_Change], now: float) -> dict[str, Receipt]:
        receipts = {step.table.name: Receipt() for step in self._steps} if self._counted else {}
        for number, (step, change) in enumerate(zip(self._steps, changes, strict=True)):
            old, new, blind = change
            receipt = receipts.get(step.table.name)
            if receipt is not None:
                receipt.table_units += units.TRANSACTIONAL * units.write_units(change.size)
            if isinstance(step.action, actions.ItemCheck):
                continue
            if blind:
                _replace(transaction, step, new)
                continue
            try:
                writes.apply(
                    self._database, transaction, step.table, step.key, old=old, new=new, receipt=receipt, time_s=now
                )
            except CANCELLING_ERRORS as error:
                raise cancelled_by(number, error, action_count=len(self._steps)) from error
        return receipts

    def _repeated_receipts(self, sizes: Sequence[int]) -> dict[str, Receipt]:
        """Return the capacity that a repeated request consumes, which is that of transactional reads instead of writes.

        `sizes` contains one size for each action: the size of the larger version of the item, which was stored with the
        token of the first request. If the consumed capacity is requested, it was also requested in the first request,
        because both have the same parameters. The first request therefore read the earlier versions, and the sizes are
        exact.
        """
        receipts: dict[str, Receipt] = {}
        if not self._counted:
            return receipts
        for step, size in zip(self._steps, sizes, strict=True):
            receipt = receipts.setdefault(step.table.name, Receipt())
            receipt.table_units += units.transactional_read_units(size)
        return receipts

    def _answer(self, transaction: Transaction, receipts: dict[str, Receipt], kind: str) -> dict[str, Any]:
        response: dict[str, Any] = {}
        if self._counted:
            options = self._options
            response["ConsumedCapacity"] = [
                receipt.render(options.detail, options.names[name], kind) for name, receipt in receipts.items()
            ]
        if self._options.has_collection_metrics:
            collections = CollectionMetrics(self._form)
            for step in self._steps:
                if not isinstance(step.action, actions.ItemCheck):
                    collections.add(transaction, step.table, step.key, step.action.key)
            response["ItemCollectionMetrics"] = collections.by_table
        return response


def _replace(transaction: Transaction, step: WriteStep, new: versions.Version | None) -> None:
    """Put or delete the row of an item without reading the earlier version. The table must be `plain` (see
    `Table.plain`).
    """
    if new is not None:
        transaction.put(step.table.tree, step.key, new.size, new.body)
    else:
        transaction.delete(step.table.tree, step.key)
