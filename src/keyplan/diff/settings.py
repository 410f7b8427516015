"""Changes of a table's settings, which the service makes while the table is in use, and the limits of each.

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
    """Return the changed settings of a table."""
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
    """Report a change that the service makes; `text`: the changed part of the declaration."""
    place, other = (new.place.at(text), old.place.at(text)) if text else (new.place, old.place)
    return DesignChange(kind, "online", new.name, new.name, what, how, place, other, steps=steps)


def _update(phase: Phase, text: str, table: Schema, *, is_first: bool = False, **members: object) -> RolloutStep:
    """Return a step that sends UpdateTable with these members."""
    return RolloutStep(phase, text, "UpdateTable", {"TableName": table.name, **members}, is_first=is_first)


# Capacity.


def _billing(old: Schema, new: Schema) -> Iterator[DesignChange]:
    was, now = old.billing, new.billing
    if was == now:
        return
    if isinstance(was, Provisioned) and isinstance(now, Provisioned):
        what = f"capacity of table {new.name} is {_units(now)}, and was {_units(was)}"
        text = f"set the capacity of {new.name} to {_units(now)}"
        step = _update(_when(was, now), text, new, ProvisionedThroughput=capacity_units(now))
        yield _online(old, new, what, _change_of_units(was, now), step, text="billing=")
    elif isinstance(was, Provisioned):
        what = f"table {new.name} is paid by the request, and was provisioned with {_units(was)}"
        text = f"switch {new.name} to on-demand capacity"
        step = _update("prepare", text, new, is_first=True, BillingMode="PAY_PER_REQUEST")
        yield _online(old, new, what, _TO_ON_DEMAND, step, text="billing=")
    elif isinstance(now, Provisioned):
        what = f"table {new.name} is provisioned with {_units(now)}, and was paid by the request"
        text = f"switch {new.name} and its indexes to provisioned capacity"
        step = _update("prepare", text, new, is_first=True, **_provisioned(old, new, now))
        yield _online(old, new, what, _TO_PROVISIONED, step, text="billing=")
    else:
        yield from _warm(old, new, was, now)


def _provisioned(old: Schema, new: Schema, bought: Provisioned) -> dict[str, object]:
    """Return the members of UpdateTable, with capacity for every index that exists at that time."""
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
    texts = [f"{read:,} read and {write:,} write units a second" for read, write in (after, before)]
    what = f"table {new.name} serves {texts[0]} at once, and served {texts[1]}"
    if any(now < other for now, other in zip(after, before, strict=True)):
        how = "Warm throughput is raised and never lowered: what is less is left as it is."
        raised = any(now > other for now, other in zip(after, before, strict=True))
        if not raised:
            yield DesignChange("setting changed", "code", new.name, new.name, what, how, new.place, old.place)
            return
    else:
        how = "It is paid once for what is added, takes minutes, and is a request of its own."
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
        return  # the switch of billing covers the indexes
    for index in new.indexes:
        before = old.index(index.name)
        if before is None or index.kind != "GSI" or before.kind != "GSI":
            continue
        was, now = before.billing or old.provisioned, index.billing or new.provisioned
        if was != now:
            what = f"capacity of index {index.name} is {_units(now)}, and was {_units(was)}"
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
    """Return the phase: increases come before backfills, decreases after them."""
    return "prepare" if now.read > was.read or now.write > was.write else "remove"


def _change_of_units(was: Provisioned, now: Provisioned) -> str:
    if now.read >= was.read and now.write >= was.write:
        return "Raised as often as needed; it takes minutes."
    return (
        "Lowered four times at any time of a day (UTC), and then once for each hour without a decrease: 27 times a day"
        " at most."
    )


_TO_ON_DEMAND = "At most four times in 24 hours; it takes minutes, in which the provisioned capacity still serves."
_TO_PROVISIONED = "At any time; auto scaling has to be set up for it, and every index needs capacity of its own."

# Class, protection, backups.


def _table_class(old: Schema, new: Schema) -> Iterator[DesignChange]:
    if old.table_class != new.table_class:
        what = f"table {new.name} is of class {new.table_class}, and was of {old.table_class}"
        how = "At most twice in 30 days; the table is used meanwhile. It is a request of its own."
        text = f"set the class of {new.name} to {new.table_class}"
        step = _update("prepare", text, new, TableClass=new.table_class)
        yield _online(old, new, what, how, step, text="table_class=")


def _protection(old: Schema, new: Schema) -> Iterator[DesignChange]:
    if old.deletion_protection != new.deletion_protection:
        on = new.deletion_protection
        word = "on" if on else "off"
        what = f"table {new.name} is {'protected from deletion' if on else 'no more protected from deletion'}"
        text = f"switch deletion protection of {new.name} {word}"
        step = _update("prepare" if on else "remove", text, new, DeletionProtectionEnabled=on)
        yield _online(old, new, what, "At once; it is a request of its own.", step, text="deletion_protection=")


def _recovery(old: Schema, new: Schema) -> Iterator[DesignChange]:
    if old.point_in_time_recovery == new.point_in_time_recovery:
        return
    operation = "UpdateContinuousBackups"
    specification = {"PointInTimeRecoveryEnabled": new.point_in_time_recovery}
    request = {"TableName": new.name, "PointInTimeRecoverySpecification": specification}
    if new.point_in_time_recovery:
        what = f"table {new.name} has point-in-time recovery"
        step = RolloutStep("prepare", f"switch point-in-time recovery of {new.name} on", operation, request)
        how = "It can be restored from the moment on at which it is on."
    else:
        what = f"table {new.name} has no point-in-time recovery any more"
        step = RolloutStep("remove", f"switch point-in-time recovery of {new.name} off", operation, request)
        how = "The moments of the last 35 days can be restored no more; switched on again, they begin anew."
    yield _online(old, new, what, how, step, text="point_in_time_recovery=")


# Stream and expiry.


def _stream(old: Schema, new: Schema) -> Iterator[DesignChange]:
    was, now = old.stream, new.stream
    if was == now:
        return
    if "UNSTATED" in {was, now} and None not in {was, now}:
        what, how = f"table {new.name} says of its stream {now}, and said {was}", "Look what the stream holds as it is."
        yield DesignChange("setting changed", "code", new.name, new.name, what, how, new.place, old.place)
        return
    off = {"StreamEnabled": False}
    text = f"switch the stream of {new.name} off, once its readers have read it"
    end = _update("prepare", text, new, StreamSpecification=off)
    on = {"StreamEnabled": True, "StreamViewType": now}
    begin = _update("prepare", f"switch a stream of {new.name} on: {now}", new, StreamSpecification=on)
    steps: tuple[RolloutStep, ...]
    if was is None:
        what, how, steps = f"table {new.name} has a stream: {now}", "It tells of changes from then on.", (begin,)
    elif now is None:
        what, how = f"table {new.name} has no stream any more, and had {was}", _OLD_STREAM
        steps = (_update("remove", f"switch the stream of {new.name} off", new, StreamSpecification=off),)
    else:
        what = f"the stream of table {new.name} holds {now}, and held {was}"
        how, steps = (
            f"A stream's view is never changed: it is switched off, and a new one on. {_OLD_STREAM}",
            (end, begin),
        )
    yield _online(old, new, what, how, *steps, kind="stream changed", text="stream=")


_OLD_STREAM = (
    "The old stream's records are readable for 24 hours under its own ARN, and what changes while none is on is in"
    " none."
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
    begin = RolloutStep("prepare", f"let items of {new.name} expire by {now}", operation, on)
    steps: tuple[RolloutStep, ...]
    if was is None:
        what = f"items of table {new.name} expire by {now}"
        how, steps = (
            f"Takes up to an hour. Stored items whose {now} is past, by less than five years, are deleted.",
            (begin,),
        )
    elif now is None:
        what, how = f"items of table {new.name} expire no more, and did by {was}", "Takes up to an hour."
        steps = (RolloutStep("prepare", f"let items of {new.name} expire by {was} no more", operation, off),)
    else:
        what = f"items of table {new.name} expire by {now}, and did by {was}"
        how = (
            "Two changes, each of up to an hour, in which no other is taken: off, then on. Stored items keep"
            f" {was}, which expires nothing any more; those without {now} do not expire."
        )
        steps = (
            RolloutStep("prepare", f"let items of {new.name} expire by {was} no more; wait an hour", operation, off),
            begin,
        )
    yield _online(old, new, what, how, *steps, kind="expiry changed", text="ttl=")


def _discriminator(old: Schema, new: Schema) -> Iterator[DesignChange]:
    """Report another discriminator of entities; each entity is compared by itself."""
    was = old.discriminator
    if was is not None and new.discriminator is None:
        what, how = f"table {new.name} tells entities by their keys, and did by {was}", f"Stored items keep {was}."
        yield DesignChange(
            "setting changed", "code", new.name, new.name, what, how, new.place, old.place.at("discriminator=")
        )


def _literal(old: Schema, new: Schema) -> Iterator[DesignChange]:
    """Report that requests are sent as stated from now on, or no longer."""
    if old.literal == new.literal:
        return
    if new.literal:
        what = f"requests of table {new.name} are literal: reads return expired items, and conditions do not check them"
    else:
        what = f"requests of table {new.name} are no longer literal: items whose expiry has passed count as deleted"
    how, text = "Only the requests of programs change.", "literal="
    place, other = new.place.at(text), old.place.at(text)
    yield DesignChange("setting changed", "code", new.name, new.name, what, how, place, other)
