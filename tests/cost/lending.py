"""A design with a sparse index that everything new enters."""

from __future__ import annotations

from typing import Literal

from keyplan import GSI, Bytes, Entity, F, ItemWrite, Table, Volume, attr, item, key


def loans() -> Table:
    """Few loans are out, and each one was."""
    table = Table("loans", pk="loan", indexes=[GSI("out", pk="branch", sk="OutSK")])

    @table.entity(
        indexes={"out": key(attr("branch"), "{loan}", only_if=F.state == "out")},
        volume=Volume(1_000, bytes=Bytes(300), distinct={"state": {"out": 0.01, "back": 0.99}}),
    )
    class Loan(Entity):
        loan: str
        branch: str
        state: Literal["out", "back"] = "out"

    @table.create(Loan)
    def begin(loan: Loan) -> ItemWrite:
        return item(loan)

    @table.put(Loan)
    def keep(loan: Loan) -> ItemWrite:
        return item(loan)

    @table.delete(Loan)
    def forget(loan: str) -> ItemWrite:
        return item(loan=loan)

    @table.update(Loan)
    def end(loan: str) -> ItemWrite:
        return item(loan=loan).set(state="back")

    @table.update(Loan)
    def take_back(loan: str, branch: str) -> ItemWrite:
        return item(loan=loan).set(state="out", branch=branch).condition(F.state == "back")

    @table.update(Loan)
    def rename(loan: str, branch: str) -> ItemWrite:
        return item(loan=loan).set(state="out", branch=branch).condition(F.state == "out")

    return table
