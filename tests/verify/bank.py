"""A design whose entities call one value of their partition key differently, as published designs do."""

from __future__ import annotations

from keyplan.design import Bytes, Change, Cond, Entity, Items, Table, key, pk, put, sk

bank = Table("bank", pk="PK", sk="SK")


@bank.entity(key=key("TXN#{id}", "TXN"), items=Items(60, bytes=Bytes(200)))
class Transaction(Entity):
    id: str
    note: str = ""


@bank.entity(key=key("ACCOUNT#{id}", "ACCOUNT"), items=Items(20, bytes=Bytes(200)))
class Account(Entity):
    id: str


@bank.entity(
    key=key("TXN#{TransactionID}", "LINE#{id}"),
    items=Items(300, bytes=Bytes(200), distinct={"TransactionID": 60}),
)
class Line(Entity):
    TransactionID: str
    id: str
    amount: int = 0


@bank.query(Transaction, Line)
def whole(id: str) -> Cond:
    return pk(id=id)


@bank.query(Line)
def lines(TransactionID: str) -> Cond:  # noqa: N803 - the field's name
    return pk(TransactionID=TransactionID) & sk.text("begins_with", "LINE#")


@bank.batch_put(Line, returns=6_000)
def add_all(new: list[Line]) -> Change:
    return put(new)
