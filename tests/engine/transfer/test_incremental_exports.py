"""Incremental exports: each item that was changed in a period, once."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.engine.transfer.making import NOW, Workshop, item

from keyplan.engine.transfer import exports


def period(shop: Workshop, view: str = "NEW_AND_OLD_IMAGES", end: float | None = None) -> dict[str, Any]:
    members: dict[str, Any] = {"ExportFromTime": NOW + 100, "ExportViewType": view}
    if end is not None:
        members["ExportToTime"] = end
    return {"ExportType": "INCREMENTAL_EXPORT", "IncrementalExportSpecification": members}


def changed(shop: Workshop) -> None:
    """Create a table in which between NOW + 100 and NOW + 1100 one item was added, one changed twice, one removed."""
    shop.create()
    shop.put(item("stays"), item("changes", n={"N": "1"}), item("goes", b={"B": b"\x00"}))
    shop.clock.advance(200)
    shop.put(item("changes", n={"N": "2"}), item("comes"), item("comes and goes"))
    shop.clock.advance(0.25)
    shop.put(item("changes", n={"N": "3"}))
    for id_ in ("goes", "comes and goes"):
        shop.engine.call("DeleteItem", {"TableName": "notes", "Key": item(id_)})
    shop.clock.advance(900)
    shop.put(item("later"))


def micros(at_s: float) -> dict[str, object]:
    return {"WriteTimestampMicros": {"N": str(round(at_s * 1_000_000))}}


def test_an_incremental_export_has_each_changed_item_once(shop: Workshop) -> None:
    changed(shop)
    ended = shop.export(**period(shop, end=NOW + 1100))
    assert ended["ExportStatus"] == "COMPLETED", ended
    assert "ExportTime" not in ended
    assert ended["IncrementalExportSpecification"] == {
        "ExportFromTime": NOW + 100,
        "ExportToTime": NOW + 1100,
        "ExportViewType": "NEW_AND_OLD_IMAGES",
    }
    assert (ended["ItemCount"], ended["BilledSizeBytes"]) == (3, 10_000_000)
    lines = {line["Keys"]["id"]["S"]: line for line in shop.lines(ended)}
    assert lines == {
        "comes": {"Metadata": micros(NOW + 200), "Keys": item("comes"), "NewImage": item("comes")},
        "changes": {
            "Metadata": micros(NOW + 200.25),
            "Keys": item("changes"),
            "NewImage": item("changes", n={"N": "3"}),
            "OldImage": item("changes", n={"N": "1"}),
        },
        "goes": {
            "Metadata": micros(NOW + 200.25),
            "Keys": item("goes"),
            "OldImage": item("goes", b={"B": "AA=="}),
        },
    }
    summary = json.loads(shop.read(ended["ExportManifest"]))
    assert (
        summary.items()
        >= {
            "version": "2023-08-01",
            "exportType": "INCREMENTAL_EXPORT",
            "outputView": "NEW_AND_OLD_IMAGES",
            "exportFromTime": "2026-09-21T14:15:00.000Z",
            "exportToTime": "2026-09-21T14:31:40.000Z",
        }.items()
    )
    data = [key for key in shop.objects() if key.endswith(".gz")]
    assert all(key.startswith("AWSDynamoDB/data/") for key in data)


def test_an_incremental_export_may_omit_the_old_images(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "CHUNK_ROWS", 1)
    changed(shop)
    lines = {line["Keys"]["id"]["S"]: line for line in shop.lines(shop.export(**period(shop, "NEW_IMAGE", NOW + 1100)))}
    assert lines.keys() == {"comes", "changes", "goes"}
    assert lines["goes"].keys() == {"Metadata", "Keys"}
    assert lines["changes"].keys() == {"Metadata", "Keys", "NewImage"}


def test_a_period_includes_its_start_and_not_its_end(shop: Workshop) -> None:
    shop.create()
    shop.clock.advance(100)
    shop.put(item("first"))
    shop.clock.advance(1000)
    shop.put(item("last"))
    shop.clock.advance(0.5)
    ended = shop.export(**period(shop))
    assert ended["IncrementalExportSpecification"]["ExportToTime"] == NOW + 1100
    assert [line["Keys"] for line in shop.lines(ended)] == [item("first")]
