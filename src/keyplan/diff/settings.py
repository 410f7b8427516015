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
    yield from _billing(old.schema, new.schema)
    yield from _index_billing(old.schema, new.schema)
    yield from _table_class(old.schema, new.schema)
    yield from _protection(old.schema, new.schema)
    yield from _recovery(old.schema, new.schema)
    yield from _stream(old.schema, new.schema)
    yield from _expiry(old.schema, new.schema)
    yield from _discriminator(old.schema, new.schema)
    yield from _literal(old.schema, new.schema)


def _online(
    old: Schema, new: Schema, what: str, how: str, *steps: RolloutStep, kind: Kind = "setting changed", text: str = ""
) -> DesignChange:
    """Return a change that DynamoDB makes while the table is in use.

    `text` is the option in the declaration that changes, such as "ttl=".
    """
    place, other = (new.place.at(text), old.place.at(text)) if text else (new.place, old.place)
    return DesignChange(kind, "online", new.name, new.name, what, how, place, other, steps=steps)


def _update(phase: Phase, text: str, table: Schema, *, is_first: bool = False, **members: object) -> RolloutStep:
    """Return a rollout step with the description `text` that sends an UpdateTable request with the given parameters."""
    return RolloutStep(phase, text, "UpdateTable", {"TableName": table.name, **members}, is_first=is_first)


# Capacity.


def _billing(old: Schema, new: Schema) -> Iterator[DesignChange]:
    was, now = old.billing, new.billing
    if was == now:
        return
    if isinstance(was, Provisioned) and isinstance(now, Provisioned):
        what = f"capacity of table {new.name} changed from {_units(was)} to {_units(now)}"
        text = f"set the capacity of {new.name} to {_units(now)}"
        step = _update(_when(was, now), text, new, ProvisionedThroughput=capacity_units(now))
        yield _online(old, new, what, _change_of_units(was, now), step, text="billing=")
    elif isinstance(was, Provisioned):
        what = f"table {new.name} changed from {_units(was)} provisioned to on-demand capacity"
        text = f"switch {new.name} to on-demand capacity"
        step = _update("prepare", text, new, is_first=True, BillingMode="PAY_PER_REQUEST")
        yield _online(old, new, what, _TO_ON_DEMAND, step, text="billing=")
    elif isinstance(now, Provisioned):
        what = f"table {new.name} changed from on-demand capacity to {_units(now)} provisioned"
        text = f"switch {new.name} and its indexes to provisioned capacity"
        step = _update("prepare", text, new, is_first=True, **_provisioned(old, new, now))
        yield _online(old, new, what, _TO_PROVISIONED, step, text="billing=")
    else:
        yield from _warm(old, new, was, now)


def _provisioned(old: Schema, new: Schema, bought: Provisioned) -> dict[str, object]:
    """Return the parameters of an UpdateTable request that sets the provisioned capacity of the table and of the global
    indexes that exist in the old design.

    Indexes without a declared capacity get `bought`, the capacity of the table.
    """
    own = {index.name: index.billing for index in new.indexes}
    members: dict[str, object] = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": capacity_units(bought)}
    updates = [
        {"Update": {"IndexName": index.name, "ProvisionedThroughput": capacity_units(own.get(index.name) or bought)}}
        for index in old.indexes
        if index.kind == "GSI"
    ]
    return {**members, "GlobalSecondaryIndexUpdates": updates} if updates else members


def _warm(old: Schema, new: Schema, was: OnDemand, now: OnDemand) -> Iterator[DesignChange]:
    before, after = was.served, now.served
    if before == after:
        return
    texts = [f"{read:,} read and {write:,} write units per second" for read, write in (after, before)]
    what = f"warm throughput of table {new.name} changed from {texts[1]} to {texts[0]}"
    if any(now < other for now, other in zip(after, before, strict=True)):
        how = "Warm throughput cannot be lowered: lower values have no effect."
        raised = any(now > other for now, other in zip(after, before, strict=True))
        if not raised:
            yield DesignChange("setting changed", "code", new.name, new.name, what, how, new.place, old.place)
            return
    else:
        how = "The added throughput is billed once. It takes minutes, and needs a separate request."
    read, write = map(max, before, after)  # lower values are left out
    warmth = {"ReadUnitsPerSecond": read, "WriteUnitsPerSecond": write}
    steps = [_update("prepare", f"warm {new.name} for {texts[0]}", new, WarmThroughput=warmth)]
    for index in old.indexes:
        if index.kind == "GSI" and new.index(index.name) is not None:
            update = {"IndexName": index.name, "WarmThroughput": warmth}
            text = f"warm index {index.name} for {texts[0]}"
            steps.append(_update("prepare", text, new, GlobalSecondaryIndexUpdates=[{"Update": update}]))
    yield _online(old, new, what, how, *steps, text="billing=")


def _index_billing(old: Schema, new: Schema) -> Iterator[DesignChange]:
    if old.provisioned is None or new.provisioned is None:
        return  # the change of the billing mode covers the indexes
    for index in new.indexes:
        before = old.index(index.name)
        if before is None or index.kind != "GSI" or before.kind != "GSI":
            continue
        was, now = before.billing or old.provisioned, index.billing or new.provisioned
        if was != now:
            what = f"capacity of index {index.name} changed from {_units(was)} to {_units(now)}"
            update = {"IndexName": index.name, "ProvisionedThroughput": capacity_units(now)}
            text = f"set the capacity of index {index.name} to {_units(now)}"
            step = _update(_when(was, now), text, new, GlobalSecondaryIndexUpdates=[{"Update": update}])
            how = _change_of_units(was, now)
            yield DesignChange(
                "setting changed", "online", new.name, index.name, what, how, index.place, before.place, steps=(step,)
            )


def _units(bought: Provisioned) -> str:
    return f"{bought.read:,} read and {bought.write:,} write units"


def _when(was: Provisioned, now: Provisioned) -> Phase:
    """Return the phase in which provisioned capacity is changed. An increase is made in the phase "prepare", so that
    backfills can use it. Other changes are made in the phase "remove".
    """
    return "prepare" if now.read > was.read or now.write > was.write else "remove"


def _change_of_units(was: Provisioned, now: Provisioned) -> str:
    if now.read >= was.read and now.write >= was.write:
        return "It can be raised at any time, and takes minutes."
    return (
        "It can be lowered four times per day (UTC) at any time, and once more in each hour without a decrease: at most"
        " 27 times per day."
    )


_TO_ON_DEMAND = "Allowed four times in 24 hours. It takes minutes, during which the provisioned capacity still applies."
_TO_PROVISIONED = "Allowed at any time. Set up auto scaling for it; every index needs its own capacity."

# Class, protection, backups.


def _table_class(old: Schema, new: Schema) -> Iterator[DesignChange]:
    if old.table_class != new.table_class:
        what = f"the class of table {new.name} changed from {old.table_class} to {new.table_class}"
        how = "Allowed twice in 30 days. The table stays available. It needs a separate request."
        text = f"set the class of {new.name} to {new.table_class}"
        step = _update("prepare", text, new, TableClass=new.table_class)
        yield _online(old, new, what, how, step, text="table_class=")


def _protection(old: Schema, new: Schema) -> Iterator[DesignChange]:
    if old.deletion_protection != new.deletion_protection:
        on = new.deletion_protection
        word = "on" if on else "off"
        what = f"table {new.name} is {'now' if on else 'no longer'} protected from deletion"
        text = f"switch deletion protection of {new.name} {word}"
        how = "It takes effect immediately, and needs a separate request."
        step = _update("prepare" if on else "remove", text, new, DeletionProtectionEnabled=on)
        yield _online(
            old,
            new,
            what,
            how,
            step,
            text="deletion_protection=",
        )


def _recovery(old: Schema, new: Schema) -> Iterator[DesignChange]:
    if old.point_in_time_recovery == new.point_in_time_recovery:
        return
    operation = "UpdateContinuousBackups"
    specification = {"PointInTimeRecoveryEnabled": new.point_in_time_recovery}
    request = {"TableName": new.name, "PointInTimeRecoverySpecification": specification}
    if new.point_in_time_recovery:
        what = f"table {new.name} now has point-in-time recovery"
        step = RolloutStep("prepare", f"switch point-in-time recovery of {new.name} on", operation, request)
        how = "The table can be restored to any time after it is enabled."
    else:
        what = f"table {new.name} no longer has point-in-time recovery"
        step = RolloutStep("remove", f"switch point-in-time recovery of {new.name} off", operation, request)
        how = "The last 35 days can no longer be restored. If you enable it again, its history starts again."
    yield _online(old, new, what, how, step, text="point_in_time_recovery=")


# Stream and expiry.


def _stream(old: Schema, new: Schema) -> Iterator[DesignChange]:
    was, now = old.stream, new.stream
    if was == now:
        return
    if "UNSTATED" in {was, now} and None not in {was, now}:
        what, how = (
            f"the declared stream view of table {new.name} changed from {was} to {now}",
            "Check which view the stream has.",
        )
        yield DesignChange("setting changed", "code", new.name, new.name, what, how, new.place, old.place)
        return
    off = {"StreamEnabled": False}
    text = f"disable the stream of {new.name} when its readers have read it"
    end = _update("prepare", text, new, StreamSpecification=off)
    on = {"StreamEnabled": True, "StreamViewType": now}
    begin = _update("prepare", f"enable a stream of {new.name}: {now}", new, StreamSpecification=on)
    steps: tuple[RolloutStep, ...]
    if was is None:
        what, how, steps = f"table {new.name} now has a stream: {now}", "It delivers changes from then on.", (begin,)
    elif now is None:
        what, how = f"table {new.name} no longer has a stream (it had {was})", _OLD_STREAM
        steps = (_update("remove", f"disable the stream of {new.name}", new, StreamSpecification=off),)
    else:
        what = f"the stream view of table {new.name} changed from {was} to {now}"
        how, steps = (
            f"A stream's view cannot be changed: disable the stream, and enable a new one. {_OLD_STREAM}",
            (end, begin),
        )
    yield _online(old, new, what, how, *steps, kind="stream changed", text="stream=")


_OLD_STREAM = (
    "The old stream can be read for 24 hours under its own ARN. Changes while no stream is enabled are in neither"
    " stream."
)


def _expiry(old: Schema, new: Schema) -> Iterator[DesignChange]:
    was, now = old.ttl, new.ttl
    if was == now:
        return
    operation = "UpdateTimeToLive"
    on, off = (
        {"TableName": new.name, "TimeToLiveSpecification": {"Enabled": is_on, "AttributeName": attribute}}
        for attribute, is_on in ((now, True), (was, False))
    )
    begin = RolloutStep("prepare", f"enable expiry of {new.name} by {now}", operation, on)
    steps: tuple[RolloutStep, ...]
    if was is None:
        what = f"items of table {new.name} now expire by {now}"
        how, steps = (
            f"It takes up to an hour. Stored items whose {now} is in the past, by less than five years, are deleted.",
            (begin,),
        )
    elif now is None:
        what, how = f"items of table {new.name} no longer expire (they did by {was})", "It takes up to an hour."
        steps = (RolloutStep("prepare", f"disable expiry of {new.name} by {was}", operation, off),)
    else:
        what = f"expiry of table {new.name} changed from {was} to {now}"
        how = (
            "It takes two requests, off and then on, each up to an hour in which others are rejected. Stored items"
            f" keep {was}, but no longer expire by it; items without {now} do not expire."
        )
        steps = (
            RolloutStep("prepare", f"disable expiry of {new.name} by {was}, and wait an hour", operation, off),
            begin,
        )
    yield _online(old, new, what, how, *steps, kind="expiry changed", text="ttl=")


def _discriminator(old: Schema, new: Schema) -> Iterator[DesignChange]:
    """Yield a change if the discriminator of a table is removed. Other changes to the discriminator are reported for
    each entity.
    """
    was = old.discriminator
    if was is not None and new.discriminator is None:
        what, how = (
            f"table {new.name} now identifies entities by their keys instead of {was}",
            f"Stored items keep {was}.",
        )
        yield DesignChange(
            "setting changed", "code", new.name, new.name, what, how, new.place, old.place.at("discriminator=")
        )


def _literal(old: Schema, new: Schema) -> Iterator[DesignChange]:
    if old.literal == new.literal:
        return
    if new.literal:
        what = f"requests of table {new.name} are literal: reads return expired items, and conditions do not check them"
    else:
        what = f"requests of table {new.name} are no longer literal: items whose expiry has passed count as deleted"
    how, text = "Only the requests of programs change.", "literal="
    place, other = new.place.at(text), old.place.at(text)
    yield DesignChange("setting changed", "code", new.name, new.name, what, how, place, other)
