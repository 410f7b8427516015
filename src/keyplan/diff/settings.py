"""Changes to table settings that DynamoDB makes while the table is in use, with their limits.

Source: API reference, UpdateTable, UpdateTimeToLive, UpdateContinuousBackups; developer guide, "Considerations when
switching capacity modes", "Quotas in Amazon DynamoDB", "Considerations when choosing a table class", "Change data
capture for DynamoDB Streams", "Using time to live", "Understanding DynamoDB warm throughput".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.design.declaring.tables import Table
from keyplan.design.schema import Schema, capacity_units
from keyplan.design.workload import OnDemand, Provisioned
from keyplan.diff.changes import DesignChange, Kind, Phase, RolloutStep


def setting_changes(old: Table, new: Table) -> Iterator[DesignChange]:
    """Yield the changes to the settings of a table."""
    yield from _billing_change(old.schema, new.schema)
    yield from _index_billing_changes(old.schema, new.schema)
    yield from _table_class_change(old.schema, new.schema)
    yield from _protection_change(old.schema, new.schema)
    yield from _recovery_change(old.schema, new.schema)
    yield from _stream_change(old.schema, new.schema)
    yield from _expiry_change(old.schema, new.schema)
    yield from _discriminator_change(old.schema, new.schema)
    yield from _literal_change(old.schema, new.schema)


def _online_change(
    old: Schema,
    new: Schema,
    summary: str,
    effects: str,
    *steps: RolloutStep,
    kind: Kind = "setting changed",
    text: str = "",
) -> DesignChange:
    """Return a change that DynamoDB makes while the table is in use.

    `text` is the option in the declaration that changes, such as "ttl=".
    """
    place, old_place = (new.place.at(text), old.place.at(text)) if text else (new.place, old.place)
    return DesignChange(kind, "online", new.name, new.name, summary, effects, place, old_place, steps=steps)


def _update_step(phase: Phase, text: str, table: Schema, *, is_first: bool = False, **members: object) -> RolloutStep:
    """Return a rollout step with the description `text` that sends an UpdateTable request with the given parameters."""
    return RolloutStep(phase, text, "UpdateTable", {"TableName": table.name, **members}, is_first=is_first)


# Capacity.


def _billing_change(old: Schema, new: Schema) -> Iterator[DesignChange]:
    old_billing, new_billing = old.billing, new.billing
    if old_billing == new_billing:
        return
    if isinstance(old_billing, Provisioned) and isinstance(new_billing, Provisioned):
        summary = f"capacity of table {new.name} changed from {_units_text(old_billing)} to {_units_text(new_billing)}"
        text = f"set the capacity of {new.name} to {_units_text(new_billing)}"
        step = _update_step(
            _capacity_phase(old_billing, new_billing), text, new, ProvisionedThroughput=capacity_units(new_billing)
        )
        yield _online_change(old, new, summary, _capacity_effects(old_billing, new_billing), step, text="billing=")
    elif isinstance(old_billing, Provisioned):
        summary = f"table {new.name} changed from {_units_text(old_billing)} provisioned to on-demand capacity"
        text = f"switch {new.name} to on-demand capacity"
        step = _update_step("prepare", text, new, is_first=True, BillingMode="PAY_PER_REQUEST")
        yield _online_change(old, new, summary, _TO_ON_DEMAND, step, text="billing=")
    elif isinstance(new_billing, Provisioned):
        summary = f"table {new.name} changed from on-demand capacity to {_units_text(new_billing)} provisioned"
        text = f"switch {new.name} and its indexes to provisioned capacity"
        step = _update_step("prepare", text, new, is_first=True, **_provisioned_parameters(old, new, new_billing))
        yield _online_change(old, new, summary, _TO_PROVISIONED, step, text="billing=")
    else:
        yield from _warm_throughput_change(old, new, old_billing, new_billing)


def _provisioned_parameters(old: Schema, new: Schema, capacity: Provisioned) -> dict[str, object]:
    """Return the parameters of an UpdateTable request that sets the provisioned capacity of the table and of the global
    indexes that exist in the old design.

    `capacity` is the capacity of the table. It is also used for indexes without a declared capacity.
    """
    billing_by_index = {index.name: index.billing for index in new.indexes}
    members: dict[str, object] = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": capacity_units(capacity)}
    updates = [
        {
            "Update": {
                "IndexName": index.name,
                "ProvisionedThroughput": capacity_units(billing_by_index.get(index.name) or capacity),
            }
        }
        for index in old.indexes
        if index.kind == "GSI"
    ]
    return {**members, "GlobalSecondaryIndexUpdates": updates} if updates else members


def _warm_throughput_change(
    old: Schema, new: Schema, old_billing: OnDemand, new_billing: OnDemand
) -> Iterator[DesignChange]:
    old_throughput, new_throughput = old_billing.served, new_billing.served
    if old_throughput == new_throughput:
        return
    texts = [f"{read:,} read and {write:,} write units per second" for read, write in (new_throughput, old_throughput)]
    summary = f"warm throughput of table {new.name} changed from {texts[1]} to {texts[0]}"
    if any(new_units < old_units for new_units, old_units in zip(new_throughput, old_throughput, strict=True)):
        effects = "Warm throughput cannot be lowered: lower values have no effect."
        raised = any(new_units > old_units for new_units, old_units in zip(new_throughput, old_throughput, strict=True))
        if not raised:
            yield DesignChange("setting changed", "code", new.name, new.name, summary, effects, new.place, old.place)
            return
    else:
        effects = "The added throughput is billed once. It takes minutes, and needs a separate request."
    read, write = map(max, old_throughput, new_throughput)  # lower values are left out
    warmth = {"ReadUnitsPerSecond": read, "WriteUnitsPerSecond": write}
    steps = [_update_step("prepare", f"warm {new.name} for {texts[0]}", new, WarmThroughput=warmth)]
    for index in old.indexes:
        if index.kind == "GSI" and new.index(index.name) is not None:
            update = {"IndexName": index.name, "WarmThroughput": warmth}
            text = f"warm index {index.name} for {texts[0]}"
            steps.append(_update_step("prepare", text, new, GlobalSecondaryIndexUpdates=[{"Update": update}]))
    yield _online_change(old, new, summary, effects, *steps, text="billing=")


def _index_billing_changes(old: Schema, new: Schema) -> Iterator[DesignChange]:
    if old.provisioned is None or new.provisioned is None:
        return  # the change of the billing mode covers the indexes
    for index in new.indexes:
        old_index = old.index(index.name)
        if old_index is None or index.kind != "GSI" or old_index.kind != "GSI":
            continue
        old_capacity, new_capacity = old_index.billing or old.provisioned, index.billing or new.provisioned
        if old_capacity != new_capacity:
            old_units, new_units = _units_text(old_capacity), _units_text(new_capacity)
            summary = f"capacity of index {index.name} changed from {old_units} to {new_units}"
            update = {"IndexName": index.name, "ProvisionedThroughput": capacity_units(new_capacity)}
            text = f"set the capacity of index {index.name} to {new_units}"
            phase = _capacity_phase(old_capacity, new_capacity)
            step = _update_step(phase, text, new, GlobalSecondaryIndexUpdates=[{"Update": update}])
            effects = _capacity_effects(old_capacity, new_capacity)
            yield DesignChange(
                "setting changed",
                "online",
                new.name,
                index.name,
                summary,
                effects,
                index.place,
                old_index.place,
                steps=(step,),
            )


def _units_text(capacity: Provisioned) -> str:
    return f"{capacity.read:,} read and {capacity.write:,} write units"


def _capacity_phase(old: Provisioned, new: Provisioned) -> Phase:
    """Return the phase in which provisioned capacity is changed. An increase is made in the phase "prepare", so that
    backfills can use it. Other changes are made in the phase "remove".
    """
    return "prepare" if new.read > old.read or new.write > old.write else "remove"


def _capacity_effects(old: Provisioned, new: Provisioned) -> str:
    if new.read >= old.read and new.write >= old.write:
        return "It can be raised at any time, and takes minutes."
    return (
        "It can be lowered four times per day (UTC) at any time, and once more in each hour without a decrease: at most"
        " 27 times per day."
    )


_TO_ON_DEMAND = "Allowed four times in 24 hours. It takes minutes, during which the provisioned capacity still applies."
_TO_PROVISIONED = "Allowed at any time. Set up auto scaling for it; every index needs its own capacity."

# Class, protection, backups.


def _table_class_change(old: Schema, new: Schema) -> Iterator[DesignChange]:
    if old.table_class != new.table_class:
        summary = f"the class of table {new.name} changed from {old.table_class} to {new.table_class}"
        effects = "Allowed twice in 30 days. The table stays available. It needs a separate request."
        text = f"set the class of {new.name} to {new.table_class}"
        step = _update_step("prepare", text, new, TableClass=new.table_class)
        yield _online_change(old, new, summary, effects, step, text="table_class=")


def _protection_change(old: Schema, new: Schema) -> Iterator[DesignChange]:
    if old.deletion_protection != new.deletion_protection:
        on = new.deletion_protection
        word = "on" if on else "off"
        summary = f"table {new.name} is {'now' if on else 'no longer'} protected from deletion"
        text = f"switch deletion protection of {new.name} {word}"
        effects = "It takes effect immediately, and needs a separate request."
        step = _update_step("prepare" if on else "remove", text, new, DeletionProtectionEnabled=on)
        yield _online_change(
            old,
            new,
            summary,
            effects,
            step,
            text="deletion_protection=",
        )


def _recovery_change(old: Schema, new: Schema) -> Iterator[DesignChange]:
    if old.point_in_time_recovery == new.point_in_time_recovery:
        return
    operation = "UpdateContinuousBackups"
    specification = {"PointInTimeRecoveryEnabled": new.point_in_time_recovery}
    request = {"TableName": new.name, "PointInTimeRecoverySpecification": specification}
    if new.point_in_time_recovery:
        summary = f"table {new.name} now has point-in-time recovery"
        step = RolloutStep("prepare", f"switch point-in-time recovery of {new.name} on", operation, request)
        effects = "The table can be restored to any time after it is enabled."
    else:
        summary = f"table {new.name} no longer has point-in-time recovery"
        step = RolloutStep("remove", f"switch point-in-time recovery of {new.name} off", operation, request)
        effects = "The last 35 days can no longer be restored. If you enable it again, its history starts again."
    yield _online_change(old, new, summary, effects, step, text="point_in_time_recovery=")


# Stream and expiry.


def _stream_change(old: Schema, new: Schema) -> Iterator[DesignChange]:
    old_view, new_view = old.stream, new.stream
    if old_view == new_view:
        return
    if "UNSTATED" in {old_view, new_view} and None not in {old_view, new_view}:
        summary, effects = (
            f"the declared stream view of table {new.name} changed from {old_view} to {new_view}",
            "Check which view the stream has.",
        )
        yield DesignChange("setting changed", "code", new.name, new.name, summary, effects, new.place, old.place)
        return
    off = {"StreamEnabled": False}
    text = f"disable the stream of {new.name} when its readers have read it"
    disable = _update_step("prepare", text, new, StreamSpecification=off)
    on = {"StreamEnabled": True, "StreamViewType": new_view}
    enable = _update_step("prepare", f"enable a stream of {new.name}: {new_view}", new, StreamSpecification=on)
    steps: tuple[RolloutStep, ...]
    if old_view is None:
        summary, effects, steps = (
            f"table {new.name} now has a stream: {new_view}",
            "It delivers changes from then on.",
            (enable,),
        )
    elif new_view is None:
        summary, effects = f"table {new.name} no longer has a stream (it had {old_view})", _OLD_STREAM
        steps = (_update_step("remove", f"disable the stream of {new.name}", new, StreamSpecification=off),)
    else:
        summary = f"the stream view of table {new.name} changed from {old_view} to {new_view}"
        effects, steps = (
            f"A stream's view cannot be changed: disable the stream, and enable a new one. {_OLD_STREAM}",
            (disable, enable),
        )
    yield _online_change(old, new, summary, effects, *steps, kind="stream changed", text="stream=")


_OLD_STREAM = (
    "The old stream can be read for 24 hours under its own ARN. Changes while no stream is enabled are in neither"
    " stream."
)


def _expiry_change(old: Schema, new: Schema) -> Iterator[DesignChange]:
    old_attribute, new_attribute = old.ttl, new.ttl
    if old_attribute == new_attribute:
        return
    operation = "UpdateTimeToLive"
    on, off = (
        {"TableName": new.name, "TimeToLiveSpecification": {"Enabled": is_on, "AttributeName": attribute}}
        for attribute, is_on in ((new_attribute, True), (old_attribute, False))
    )
    enable = RolloutStep("prepare", f"enable expiry of {new.name} by {new_attribute}", operation, on)
    steps: tuple[RolloutStep, ...]
    if old_attribute is None:
        summary = f"items of table {new.name} now expire by {new_attribute}"
        effects = (
            f"It takes up to an hour. Stored items whose {new_attribute} is in the past, by less than five years,"
            " are deleted."
        )
        steps = (enable,)
    elif new_attribute is None:
        summary = f"items of table {new.name} no longer expire (they did by {old_attribute})"
        effects = "It takes up to an hour."
        steps = (RolloutStep("prepare", f"disable expiry of {new.name} by {old_attribute}", operation, off),)
    else:
        summary = f"expiry of table {new.name} changed from {old_attribute} to {new_attribute}"
        effects = (
            "It takes two requests, off and then on, each up to an hour in which others are rejected. Stored items"
            f" keep {old_attribute}, but no longer expire by it; items without {new_attribute} do not expire."
        )
        steps = (
            RolloutStep(
                "prepare", f"disable expiry of {new.name} by {old_attribute}, and wait an hour", operation, off
            ),
            enable,
        )
    yield _online_change(old, new, summary, effects, *steps, kind="expiry changed", text="ttl=")


def _discriminator_change(old: Schema, new: Schema) -> Iterator[DesignChange]:
    """Yield a change if the discriminator of a table is removed. Other changes to the discriminator are reported for
    each entity.
    """
    attribute = old.discriminator
    if attribute is not None and new.discriminator is None:
        summary, effects = (
            f"table {new.name} now identifies entities by their keys instead of {attribute}",
            f"Stored items keep {attribute}.",
        )
        yield DesignChange(
            "setting changed", "code", new.name, new.name, summary, effects, new.place, old.place.at("discriminator=")
        )


def _literal_change(old: Schema, new: Schema) -> Iterator[DesignChange]:
    if old.literal == new.literal:
        return
    if new.literal:
        summary = (
            f"requests of table {new.name} are literal: reads return expired items, and conditions do not check them"
        )
    else:
        summary = f"requests of table {new.name} are no longer literal: items whose expiry has passed count as deleted"
    effects, text = "Only the requests of programs change.", "literal="
    place, old_place = new.place.at(text), old.place.at(text)
    yield DesignChange("setting changed", "code", new.name, new.name, summary, effects, place, old_place)
