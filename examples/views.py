"""Views and hydrated reads: an index that projects two fields, read as titles and as complete tickets.

`python examples/views.py` prints both results, with the capacity that each read consumes.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Literal

from keyplan import GSI, Bytes, Entity, F, ItemWrite, KeyCondition, Rate, Table, View, Volume, connect, item, key, pk
from keyplan.client.requests import Meter

support = Table(
    "support",
    pk="PK",
    sk="SK",
    indexes=[GSI("open_of_agent", pk="GSI1PK", sk="GSI1SK", project=["subject", "customer_id"])],
)


@support.entity(
    key=key("CUSTOMER#{customer_id}", "TICKET#{ticket_id}"),
    indexes={"open_of_agent": key("AGENT#{agent}", "{opened:utc_s}#{ticket_id}", only_if=F.status == "open")},
    volume=Volume(count=50_000, bytes=Bytes(3_000)),
)
class Ticket(Entity):
    """A customer's question, with the whole conversation."""

    customer_id: str
    ticket_id: str
    agent: str
    opened: datetime
    subject: str
    conversation: str
    status: Literal["open", "closed"] = "open"


class TicketTitle(View[Ticket]):
    """The attributes that a list shows: the key of the ticket, and its subject."""

    customer_id: str
    ticket_id: str
    subject: str


@support.create(Ticket, rate=Rate(average=2))
def open_ticket(ticket: Ticket) -> ItemWrite:
    """Open a ticket."""
    return item(ticket)


@support.query(TicketTitle, index="open_of_agent", rate=Rate(average=20), expected_items=25)
def inbox(agent: str) -> KeyCondition:
    """List the titles of an agent's open tickets, oldest first."""
    return pk(agent=agent)


@support.query(Ticket, index="open_of_agent", hydrate=True, rate=Rate(average=0.1), expected_items=25)
def export_inbox(agent: str) -> KeyCondition:
    """List the same tickets with their conversations."""
    return pk(agent=agent)


def main() -> None:
    """Open some tickets and run both reads."""
    meter, start = Meter(), datetime(2026, 1, 31, 12, tzinfo=UTC)
    with connect(":memory:", meter=meter) as db:
        for number in range(20):
            opened = start + timedelta(hours=number)
            subject, text = f"Question {number}", "Dear customer, " * 150
            ticket = Ticket(
                customer_id=f"c{number % 4}", ticket_id=f"{number}", agent="ann", opened=opened, subject=subject,
                conversation=text,
            )  # fmt: skip
            db.run(open_ticket(ticket))
        titles, tickets = db.run(inbox("ann")), db.run(export_inbox("ann"))
    print(f"{len(titles)} titles, the first: {titles.items[0]!r}")
    print(f"{len(tickets)} whole tickets, {sum(len(message.conversation) for message in tickets):,} characters")
    for name, usage in meter.read().items():
        if name != "open_ticket":
            print(f"{name}: {usage.requests} requests, {usage.consumed.text()}")


if __name__ == "__main__":
    main()
