"""Rules of capacity settings, shared by CreateTable and UpdateTable."""

from __future__ import annotations

from typing import Any

from keyplan.dynamodb.messages import schemas as messages
from keyplan.engine.throughput import MAXIMA, PROVISIONED
from keyplan.errors import ValidationError

_MOST_UNITS = 1_000_000_000_000  # the service's own bound, far over any quota
_UNITS = ("ReadCapacityUnits", "WriteCapacityUnits")


def with_billing_mode(request: dict[str, Any]) -> dict[str, Any]:
    """The request without TableThroughputMode, another name of BillingMode: where both are given, BillingMode decides.

    Measured on the service in August 2026; its public model has the name in no request.
    """
    if "TableThroughputMode" not in request:
        return request
    rest = {name: value for name, value in request.items() if name != "TableThroughputMode"}
    return {**rest, "BillingMode": request.get("BillingMode") or request["TableThroughputMode"]}


def check_table_capacity(request: dict[str, Any], billing_mode: str) -> None:
    """A new table has capacity units exactly where it is not paid by request, and maxima where it is."""
    throughput = request.get("ProvisionedThroughput")
    if billing_mode == PROVISIONED:
        if throughput is None:
            raise ValidationError(messages.UNITS_MISSING)
        _check_no_maxima(request.get("OnDemandThroughput"))
    elif throughput is not None:
        raise ValidationError(messages.UNITS_UNWANTED)
    check_bounds(throughput)


def check_switch(request: dict[str, Any], billing_mode: str) -> None:
    """A change of the billing mode comes with capacity units exactly where the table will need them."""
    throughput = request.get("ProvisionedThroughput")
    if billing_mode == PROVISIONED and throughput is None:
        raise ValidationError(messages.SWITCH_UNITS_MISSING)
    if billing_mode != PROVISIONED and throughput is not None:
        raise ValidationError(messages.SWITCH_UNITS_UNWANTED)
    check_bounds(throughput)


def check_index_capacity(index: dict[str, Any], billing_mode: str) -> None:
    """A new table's index has capacity units exactly where the table has."""
    throughput, name = index.get("ProvisionedThroughput"), index["IndexName"]
    if billing_mode == PROVISIONED:
        if throughput is None:
            raise ValidationError(messages.index_units_missing(name))
        _check_no_maxima(index.get("OnDemandThroughput"), name)
    if billing_mode != PROVISIONED and throughput is not None:
        raise ValidationError(messages.index_units_unwanted(name))
    check_bounds(throughput, name)


def _check_no_maxima(maxima: dict[str, Any] | None, index: str | None = None) -> None:
    for member in MAXIMA:
        if (maxima or {}).get(member) is not None:
            raise ValidationError(messages.maximum_unwanted(member, index))


def check_bounds(throughput: dict[str, Any] | None, index: str | None = None) -> None:
    """Capacity units stay below what any table can have."""
    beyond = _beyond_bounds(throughput)
    if beyond is not None:
        member, units = beyond
        raise ValidationError(messages.out_of_bounds(units, member, index))


def check_known_index(throughput: dict[str, Any] | None) -> None:
    """The same of an index that is there already: told after the table is found, and in other words."""
    if _beyond_bounds(throughput) is not None:
        raise ValidationError(messages.INDEX_UPDATE_BLOCKED)


def _beyond_bounds(throughput: dict[str, Any] | None) -> tuple[str, int] | None:
    """The first member with more units than any table can have, and how many."""
    for member in _UNITS:
        if throughput is not None and throughput[member] > _MOST_UNITS:
            return member, throughput[member]
    return None
