"""Provisioned, on-demand and warm throughput in the descriptions of tables and indexes.

The functions accept the description of a table or of one of its global indexes, and the billing mode of the table. The
parameter `index` is the name of the index, or None for a table. It is used in error messages.

Sources: API reference (ProvisionedThroughputDescription, OnDemandThroughput, TableWarmThroughputDescription); developer
guide, "DynamoDB warm throughput" (the initial values of a table).
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from keyplan import limits
from keyplan.dynamodb.messages import tables as messages
from keyplan.errors import ValidationError

PROVISIONED = "PROVISIONED"
ON_DEMAND = "PAY_PER_REQUEST"

Description = dict[str, Any]

MAXIMA = ("MaxReadRequestUnits", "MaxWriteRequestUnits")
NO_MAXIMUM = -1
_MIN_DELAY_S = 0.001  # the resolution of timestamps in descriptions
_DATES = ("LastIncreaseDateTime", "LastDecreaseDateTime")
_WARM_UNITS = {"ReadUnitsPerSecond": "ReadCapacityUnits", "WriteUnitsPerSecond": "WriteCapacityUnits"}


def billing_mode(table: Description) -> str:
    """Return the billing mode in a table description: PROVISIONED or PAY_PER_REQUEST."""
    mode: str = table.get("BillingModeSummary", {}).get("BillingMode", PROVISIONED)
    return mode


def describe_new(request: dict[str, Any], mode: str, index: str | None = None) -> Description:
    """Return the throughput members for the description of a new table or index.

    Raises ValidationError if the warm or maximum throughput in the request is invalid.
    """
    description: Description = {"ProvisionedThroughput": provisioned_throughput(request.get("ProvisionedThroughput"))}
    requested = request.get("WarmThroughput") or {}
    for member, units in _WARM_UNITS.items():
        if requested.get(member) is None:
            continue
        if requested[member] < _minimum_warm(description, mode)[member]:
            raise ValidationError(
                messages.warm_below_start(member, index)
                if mode == ON_DEMAND
                else messages.warm_below_units(member, index, units)
            )
    description["WarmThroughput"] = warm_throughput({**description, "WarmThroughput": requested}, mode)
    set_maxima(description, request.get("OnDemandThroughput") or {}, mode, index, is_new=True)
    return description


def provisioned_throughput(requested: dict[str, Any] | None) -> dict[str, Any]:
    """Return the ProvisionedThroughput for the description of a new table or index. The capacity units are zero if
    `requested` is None, as for on-demand capacity.
    """
    return {
        "NumberOfDecreasesToday": 0,
        "ReadCapacityUnits": int(requested["ReadCapacityUnits"]) if requested else 0,
        "WriteCapacityUnits": int(requested["WriteCapacityUnits"]) if requested else 0,
    }


def units(capacity: dict[str, Any]) -> tuple[int, int]:
    """Return the read and write capacity units in a ProvisionedThroughput."""
    return int(capacity["ReadCapacityUnits"]), int(capacity["WriteCapacityUnits"])


def set_provisioned(
    description: Description, requested: dict[str, Any], now: float, delay_s: float, index: str | None
) -> Description:
    """Change the provisioned throughput in a table description, and return the values that override it while the change
    is in progress.

    While the change is in progress, the description shows the time of the request as the time of the last increase or
    decrease. Afterwards, it shows the completion time, which is always later than the request. Raises ValidationError
    if the request changes nothing.
    """
    current = description["ProvisionedThroughput"]
    before, after = units(current), units(requested)
    if before == after:
        raise ValidationError(messages.throughput_same(index, before, after))
    dates = {name: current[name] for name in _DATES if name in current}
    decreases = decreases_today(current, now)
    shown = {**current, **dates, "NumberOfDecreasesToday": decreases}
    completed_at = round(now + max(delay_s, _MIN_DELAY_S), 3)
    if after[0] > before[0] or after[1] > before[1]:
        shown["LastIncreaseDateTime"] = round(now, 3)
        dates["LastIncreaseDateTime"] = completed_at
    if after[0] < before[0] or after[1] < before[1]:
        shown["LastDecreaseDateTime"] = round(now, 3)
        dates["LastDecreaseDateTime"] = completed_at
        decreases += 1
    description["ProvisionedThroughput"] = {
        **provisioned_throughput(requested),
        **dates,
        "NumberOfDecreasesToday": decreases,
    }
    description["WarmThroughput"] = warm_throughput(description, PROVISIONED)
    return {"ProvisionedThroughput": shown}


def changed_at(capacity: dict[str, Any], now: float) -> float:
    """Return the time of the last increase or decrease in a ProvisionedThroughput. Return `now` if the throughput has
    never changed, or if that time is later than `now`.
    """
    dates = [capacity[name] for name in _DATES if name in capacity]
    return min(now, max(dates, default=now))


def decreases_today(capacity: dict[str, Any], now: float) -> int:
    """Return the NumberOfDecreasesToday of a ProvisionedThroughput as of the time `now`. A day starts at
    midnight UTC.
    """
    decreases: int = capacity["NumberOfDecreasesToday"]
    return decreases if _is_today(capacity.get("LastDecreaseDateTime"), now) else 0


def _is_today(changed_at: float | None, now: float) -> bool:
    if changed_at is None:
        return False
    return datetime.fromtimestamp(changed_at, UTC).date() == datetime.fromtimestamp(now, UTC).date()


def switch_mode(description: Description, mode: str, requested: dict[str, Any] | None, now: float) -> Description:
    """Change the billing mode in a table description, and return the values that override it while the switch is in
    progress.

    During the switch, the description shows the new capacity units and the old warm throughput. As in DynamoDB, it also
    contains LastDecreaseDateTime during a switch to on-demand capacity.
    """
    before = warm_throughput(description, ON_DEMAND if mode == PROVISIONED else PROVISIONED)
    description["ProvisionedThroughput"] = {
        **description["ProvisionedThroughput"],
        **only_units(provisioned_throughput(requested)),
    }
    description["WarmThroughput"] = warm_throughput(description, mode)
    description.pop("OnDemandThroughput", None)
    if mode == PROVISIONED:
        return {}
    decreased = {**description["ProvisionedThroughput"], "LastDecreaseDateTime": round(now, 3)}
    return {"ProvisionedThroughput": decreased, "WarmThroughput": before}


def only_units(capacity: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of a ProvisionedThroughput that contains only the read and write capacity units."""
    return {name: capacity[name] for name in _WARM_UNITS.values()}


def set_maxima(
    description: Description, requested: dict[str, Any], mode: str, index: str | None, *, is_new: bool = False
) -> None:
    """Set the maximum on-demand throughput in a description. The value -1 removes the maximum, and is not allowed for a
    new table or index (`is_new`).

    Raises ValidationError for a value out of range, or if the billing mode is PROVISIONED.
    """
    maxima = dict(description.get("OnDemandThroughput", {}))
    for member in MAXIMA:
        maximum = requested.get(member)
        if maximum is None:
            continue
        if mode == PROVISIONED:
            raise ValidationError(messages.maximum_provisioned(member, index))
        if maximum < 1 and (is_new or maximum != NO_MAXIMUM):
            raise ValidationError(messages.maximum_out_of_range(member, index))
        maxima[member] = int(maximum)
        if maximum == NO_MAXIMUM:
            del maxima[member]
    if maxima:
        description["OnDemandThroughput"] = maxima
    else:
        description.pop("OnDemandThroughput", None)


def set_warm(description: Description, requested: dict[str, Any], mode: str, index: str | None) -> Description | None:
    """Raise the warm throughput in a table description, and return the values that override it while the change is in
    progress.

    If `requested` is empty, do nothing and return None. A request for the current value is also recorded as a change in
    progress. Raises ValidationError if the request would decrease the warm throughput.
    """
    current = warm_throughput(description, mode)
    new_units = {**current, **{name: int(requested[name]) for name in current if requested.get(name) is not None}}
    for member, units_per_s in new_units.items():
        if units_per_s < current[member]:
            raise ValidationError(messages.warm_decreased(member, index))
    if all(requested.get(name) is None for name in current):
        return None
    description["WarmThroughput"] = new_units
    return {"WarmThroughput": current}


def warm_throughput(description: Description, mode: str) -> dict[str, Any]:
    """Return the current WarmThroughput, which never decreases. Its minimum is the provisioned throughput or, for an
    on-demand table, DynamoDB's default.
    """
    current = description.get("WarmThroughput", {})
    return {name: max(minimum, current.get(name) or 0) for name, minimum in _minimum_warm(description, mode).items()}


def _minimum_warm(description: Description, mode: str) -> dict[str, int]:
    if mode == ON_DEMAND:
        return {
            "ReadUnitsPerSecond": limits.ON_DEMAND_READ_UNITS,
            "WriteUnitsPerSecond": limits.ON_DEMAND_WRITE_UNITS,
        }
    return {name: description["ProvisionedThroughput"][member] for name, member in _WARM_UNITS.items()}


def partition_count(description: Description, mode: str) -> int:
    """Return the initial number of partitions for the warm throughput, assuming that each partition provides its
    maximum throughput.
    """
    warm = warm_throughput(description, mode)
    by_reads: int = math.ceil(warm["ReadUnitsPerSecond"] / limits.PARTITION_READ_UNITS)
    by_writes: int = math.ceil(warm["WriteUnitsPerSecond"] / limits.PARTITION_WRITE_UNITS)
    return max(by_reads, by_writes, 1)
