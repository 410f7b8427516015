"""Device status monitoring, from the data modeling examples of the DynamoDB developer guide.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/data-modeling-device-status.html

Devices of a factory log their state every five minutes. Operators read the logs, and escalate some to a supervisor. The
patterns are in the order of the guide's table, and each docstring starts with the guide's name.

Difference from the guide: dates are in UTC and end with `Z`, because keyplan stores no local times.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import Field

from keyplan import (
    GSI,
    Attribute,
    Bytes,
    Distinct,
    Entity,
    ItemWrite,
    KeyCondition,
    Rate,
    Table,
    Volume,
    item,
    key,
    pk,
)

Name = Annotated[str, Field(min_length=1, max_length=64, pattern="^[^#]+$")]
State = Literal["NORMAL", "WARNING1", "WARNING2", "WARNING3", "WARNING4"]

logs = Table(
    "DeviceStateLog",
    pk="DeviceID",
    sk="State#Date",
    indexes=[GSI("GSI1", pk="Operator", sk="Date"), GSI("GSI2", pk="EscalatedTo", sk="State#Date")],
    point_in_time_recovery=True,
    deletion_protection=True,
)


@logs.entity(
    key=key("d#{device_id}", "{state}#{date:utc_s}"),
    volume=Volume(
        count=10_000_000,
        bytes=Bytes(200),
        distinct={"device_id": Distinct(5_000), "operator": 200, "escalated_to": 20},
        present={"escalated_to": 0.01},
    ),
)
class DeviceLog(Entity):
    device_id: Name
    state: Annotated[State, Attribute("State")]
    date: Annotated[datetime, Attribute("Date", stored="iso_s")]
    operator: Annotated[Name, Attribute("Operator")]
    escalated_to: Annotated[Name | None, Attribute("EscalatedTo")] = None


@logs.put(DeviceLog, rate=Rate(average=17, peak=50))
def log_state(log: DeviceLog) -> ItemWrite:
    """createLogEntryForSpecificDevice: store the state of a device at a point in time."""
    return item(log)


@logs.query(DeviceLog, descending=True, page_size=100, rate=Rate(average=5, peak=20))
def logs_of_device(device_id: Name, state: State) -> KeyCondition:
    """getLogsForSpecificDevice: list a device's logs with a given state, newest first."""
    return pk(device_id=device_id).sk(state=state)


@logs.query(DeviceLog, page_size=100, rate=Rate(average=5, peak=20))
def warnings_of_device(device_id: Name) -> KeyCondition:
    """getWarningLogsForSpecificDevice: list a device's warnings of all levels."""
    return pk(device_id=device_id).sk.begins_with(state="WARNING")


@logs.query(DeviceLog, index="GSI1", page_size=100, rate=Rate(average=2, peak=10))
def logs_of_operator(operator: Name, start: datetime, end: datetime) -> KeyCondition:
    """getLogsForOperatorBetweenTwoDates: list the logs that an operator works on."""
    return pk(operator=operator).sk.between(start, end)


@logs.query(DeviceLog, index="GSI2", page_size=100, rate=Rate(average=1, peak=5))
def escalated_logs(escalated_to: Name) -> KeyCondition:
    """getEscalatedLogsForSupervisor: list all logs that were escalated to a supervisor."""
    return pk(escalated_to=escalated_to)


@logs.query(DeviceLog, index="GSI2", page_size=100, rate=Rate(average=1, peak=5))
def escalated_logs_with_state(escalated_to: Name, state: State) -> KeyCondition:
    """getEscalatedLogsWithSpecificStatusForSupervisor: list a supervisor's escalated logs with a given state."""
    return pk(escalated_to=escalated_to).sk(state=state)


@logs.query(DeviceLog, index="GSI2", page_size=100, rate=Rate(average=1, peak=5))
def escalated_logs_on_day(escalated_to: Name, state: State, day: date) -> KeyCondition:
    """getEscalatedLogsWithSpecificStatusForSupervisorForDate: list them for a single day."""
    return pk(escalated_to=escalated_to).sk(state=state).sk.begins_with(date=day)
