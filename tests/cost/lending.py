"""A design with a sparse index that everything new enters."""

from __future__ import annotations

from typing import Literal

from keyplan.design import GSI, Bytes, Change, Entity, F, Items, Table, attr, key, key_of, put, set_, when


def loans() -> Table:
    """Few loans are out, and each one was."""
    table = Table("loans", pk="loan", indexes=[GSI("out", pk="branch", sk="OutSK")])

    @table.entity(
        indexes={"out": key(attr("branch"), "{loan}", when=F.state == "out")},
        items=Items(1_000, bytes=Bytes(300), distinct={"state": {"out": 0.01, "back": 0.99}}),
    )
    class Loan(Entity):
        loan: str
        branch: str
        state: Literal["out", "back"] = "out"

    @table.create(Loan)
    def begin(loan: Loan) -> Change:
        return put(loan)

    @table.put(Loan)
    def keep(loan: Loan) -> Change:
        return put(loan)

    @table.delete(Loan)
    def forget(loan: str) -> Change:
        return key_of(loan=loan)

    @table.update(Loan)
    def end(loan: str) -> Change:
        return key_of(loan=loan) & set_(state="back")

    @table.update(Loan)
    def take_back(loan: str, branch: str) -> Change:
        return key_of(loan=loan) & set_(state="out", branch=branch) & when(F.state == "back")

    @table.update(Loan)
    def rename(loan: str, branch: str) -> Change:
        return key_of(loan=loan) & set_(state="out", branch=branch) & when(F.state == "out")

    return table
