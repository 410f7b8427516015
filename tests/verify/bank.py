"""A design whose entities call one value of their partition key differently, as published designs do."""

from __future__ import annotations

from keyplan import Bytes, Entity, ItemWrite, KeyCondition, Table, Volume, item, key, pk

bank = Table("bank", pk="PK", sk="SK")


@bank.entity(key=key("TXN#{id}", "TXN"), volume=Volume(60, bytes=Bytes(200)))
class Transaction(Entity):
    id: str
    note: str = ""


@bank.entity(key=key("ACCOUNT#{id}", "ACCOUNT"), volume=Volume(20, bytes=Bytes(200)))
class Account(Entity):
    id: str


@bank.entity(
    key=key("TXN#{TransactionID}", "LINE#{id}"),
    volume=Volume(300, bytes=Bytes(200), distinct={"TransactionID": 60}),
)
class Line(Entity):
    TransactionID: str
    id: str
    amount: int = 0


@bank.query(Transaction, Line)
def whole(id: str) -> KeyCondition:
    return pk(id=id)


@bank.query(Line)
def lines(TransactionID: str) -> KeyCondition:  # noqa: N803 - the field's name
    return pk(TransactionID=TransactionID).sk.text("begins_with", "LINE#")


@bank.batch_put(Line, expected_items=6_000)
def add_all(new: list[Line]) -> ItemWrite:
    return item(new)
