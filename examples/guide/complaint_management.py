"""Complaint management, from the data modeling examples of the DynamoDB developer guide.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/data-modeling-complaint-management.html

Customers complain, agents comment, and some complaints are escalated. The patterns are in the order of the guide's
table, and each docstring starts with the guide's name.

Differences from the guide:

* Dates are in UTC and end with `Z`, because keyplan stores no local times.
* A comment's item also has the attribute `complaint_id`, from which its key is made.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from keyplan import (
    GSI,
    Attribute,
    Bytes,
    Entity,
    ItemKey,
    ItemWrite,
    KeyCondition,
    Rate,
    Table,
    Volume,
    WriteCall,
    everything,
    item,
    key,
    pk,
    suppress,
    transaction,
)

suppressed = [
    suppress("KP608", on="update_state", reason="the last comment decides"),
]

Id = Annotated[str, Field(min_length=1, max_length=64, pattern="^[^#]+$")]
State = Literal["waiting", "assigned", "investigating", "resolved"]
Severity = Literal["P1", "P2", "P3"]
Time = Annotated[datetime, Attribute(stored="iso_s")]

complaints = Table(
    "Complaint_management_system",
    pk="PK",
    sk="SK",
    indexes=[
        GSI("Customer_Complaint_GSI", pk="customer_id", sk="complaint_id"),
        GSI("Escalations_GSI", pk="escalated_to", sk="escalation_time"),
        GSI("Agents_Comments_GSI", pk="agentID", sk="comm_date"),
    ],
    point_in_time_recovery=True,
    deletion_protection=True,
)


@complaints.entity(
    key=key("{complaint_id}", "metadata"),
    volume=Volume(
        count=2_000_000,
        bytes=Bytes(800),
        distinct={"customer_id": 500_000, "escalated_to": 50},
        present={"escalated_to": 0.02, "escalation_time": 0.02},
    ),
)
class Complaint(Entity):
    complaint_id: Id
    customer_id: Id
    current_state: State = "waiting"
    creation_time: Time
    severity: Severity
    complaint_description: str
    escalated_to: Id | None = None
    escalation_time: Time | None = None


@complaints.entity(
    key=key("{complaint_id}", "comm#{comm_date:utc_s}#{comm_id}"),
    volume=Volume(
        count=8_000_000,
        bytes=Bytes(600),
        distinct={"complaint_id": 2_000_000, "agent_id": 500},
        present={"agent_id": 0.9},
    ),
)
class Comment(Entity):
    complaint_id: Id
    comm_id: Id
    comm_date: Time
    complaint_state: State
    comm_text: str
    attachments: Annotated[set[str], Field(default_factory=set)]
    agent_id: Annotated[Id | None, Attribute("agentID")] = None


@complaints.create(Complaint, rate=Rate(average=1, peak=10))
def create_complaint(complaint: Complaint) -> ItemWrite:
    """createComplaint: create a complaint."""
    return item(complaint)


@complaints.update(Complaint, rate=Rate(average=1, peak=10))
def update_complaint(complaint_id: Id, description: str) -> ItemWrite:
    """updateComplaint: change the description of a complaint."""
    return item(complaint_id=complaint_id).set(complaint_description=description)


@complaints.update(Complaint, rate=Rate(average=1, peak=10))
def update_severity(complaint_id: Id, severity: Severity) -> ItemWrite:
    """updateSeveritybyComplaintID: change the severity of a complaint."""
    return item(complaint_id=complaint_id).set(severity=severity)


@complaints.get(Complaint, rate=Rate(average=20, peak=100))
def complaint(complaint_id: Id) -> ItemKey:
    """getComplaintByComplaintID: get a complaint."""
    return item(complaint_id=complaint_id)


@complaints.create(Comment)
def create_comment(comment: Comment) -> ItemWrite:
    """Store a new comment."""
    return item(comment)


@complaints.update(Complaint)
def update_state(complaint_id: Id, state: State) -> ItemWrite:
    """Set the state of a complaint."""
    return item(complaint_id=complaint_id).set(current_state=state)


@transaction(rate=Rate(average=3, peak=20))
def add_comment(comment: Comment) -> list[WriteCall[Comment] | WriteCall[Complaint]]:
    """addCommentByComplaintID: store a comment, and set the state that the comment gives the complaint."""
    return [create_comment(comment), update_state(comment.complaint_id, comment.complaint_state)]


@complaints.query(Comment, rate=Rate(average=20, peak=100))
def comments(complaint_id: Id) -> KeyCondition:
    """getAllCommentsByComplaintID: list the comments on a complaint, oldest first."""
    return pk(complaint_id=complaint_id)


@complaints.query(Comment, descending=True, limit=1, rate=Rate(average=20, peak=100))
def latest_comment(complaint_id: Id) -> KeyCondition:
    """getLatestCommentByComplaintID: get the latest comment on a complaint."""
    return pk(complaint_id=complaint_id)


@complaints.query(Complaint, index="Customer_Complaint_GSI", rate=Rate(average=5, peak=20))
def complaint_of_customer(customer_id: Id, complaint_id: Id) -> KeyCondition:
    """getAComplaintbyCustomerIDAndComplaintID: get a complaint, if this customer made it."""
    return pk(customer_id=customer_id).sk(complaint_id=complaint_id)


@complaints.query(Complaint, index="Customer_Complaint_GSI", rate=Rate(average=5, peak=20))
def complaints_of_customer(customer_id: Id) -> KeyCondition:
    """getAllComplaintsByCustomerID: list the complaints of a customer."""
    return pk(customer_id=customer_id)


@complaints.update(Complaint, rate=Rate(average=0.1))
def escalate(complaint_id: Id, agent_id: Id, time: datetime) -> ItemWrite:
    """escalateComplaintByComplaintID: assign a complaint to another agent, which adds it to Escalations_GSI."""
    return item(complaint_id=complaint_id).set(escalated_to=agent_id, escalation_time=time)


@complaints.scan(Complaint, index="Escalations_GSI", page_size=500, rate=Rate(average=0.01))
def escalated_complaints() -> KeyCondition:
    """getAllEscalatedComplaints: scan the index, which contains only escalated complaints."""
    return everything()


@complaints.query(Complaint, index="Escalations_GSI", descending=True, page_size=50, rate=Rate(average=1, peak=5))
def escalated_complaints_of(agent_id: Id) -> KeyCondition:
    """getEscalatedComplaintsByAgentID: list the complaints that were escalated to an agent, newest first."""
    return pk(escalated_to=agent_id)


@complaints.query(Comment, index="Agents_Comments_GSI", page_size=100, rate=Rate(average=1, peak=5))
def comments_of_agent(agent_id: Id, start: datetime, end: datetime) -> KeyCondition:
    """getCommentsByAgentID: list the comments by an agent between two dates."""
    return pk(agent_id=agent_id).sk.between(start, end)
