"""`keyplan price`: a month by pattern, table and index; prices of one's own."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from tests.cli.running import NOTES, design, run

from keyplan.cost.prices import book


def rows(output: str) -> dict[str, list[str]]:
    """Return the cells of each row, by the first cell."""
    cells = [re.split(r"\s{2,}", line.strip()) for line in output.splitlines() if line.startswith("  ")]
    return {line[0]: line[1:] for line in cells}


def test_patterns_tables_and_comparisons_are_printed(tmp_path: Path) -> None:
    result = run("price", design(tmp_path, NOTES))
    assert result.exit_code == 0
    actual_rows = rows(result.stdout)
    assert actual_rows["note"][:2] == ["0.5", "0"]
    assert actual_rows["note"][2] == f"{10 * 730 * 3600:,.0f}"
    assert actual_rows["keep"][1] == "2.0 (1.0)", "an index entry is written too"
    assert actual_rows["notes/by_owner"][1] == "1.0", "writes per second"
    assert "\nnotes (on demand)\n" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "\nnotes, alternatives: capacity provisioned for the peak costs $" in result.stdout
    assert f"prices of {book().dated}" in result.stdout


def test_printed_costs_add_up_to_the_monthly_cost(tmp_path: Path) -> None:
    output = run("price", design(tmp_path, NOTES.replace("count=1_000", "count=900_000_000"))).stdout
    parts = [cells for name, cells in rows(output).items() if name.startswith("notes")]
    tables = sum(dollars(cells[2]) + dollars(cells[-1]) for cells in parts)
    text = " ".join(output.split())
    recovery, free = (dollars(text.partition(f"{name} $")[2].split()[0]) for name in ("recovery", "free storage"))
    month = dollars(output.partition(": $")[2].partition(" per month")[0])
    assert recovery > 1
    assert tables + recovery - free == pytest.approx(month, abs=0.03)


def dollars(text: str) -> float:
    """Return a printed amount as a number."""
    return float(text.replace(",", ""))


def test_a_price_can_be_set(tmp_path: Path) -> None:
    path = design(tmp_path, NOTES)
    dear = rows(run("price", path, "--set", "write_unit=0.001").stdout)["keep"]
    assert dear[-2] == f"{2 * 0.001 * 1e6:,.2f}"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (["--set", "write_unit"], "write it as name=price"),
        (["--set", "write_unit=dear"], "write it as name=price"),
        (["--set", "write_unit=nan"], "nan is not a price: expected a finite number of at least 0"),
        (["--set", "write_unit=-1"], "-1.0 is not a price: expected a finite number of at least 0"),
        (["--set", "writes=1"], "unknown price writes"),
        (["--region", "mars-1"], "no prices are included for mars-1"),
        (["--prices", "none.json"], "cannot be read"),
    ],
)
def test_invalid_prices_are_rejected(value: list[str], text: str, tmp_path: Path) -> None:
    result = run("price", design(tmp_path, NOTES), *value)
    assert result.exit_code == 2
    assert result.stderr.startswith("keyplan price: ")
    assert text in result.stderr


def test_a_price_file_replaces_the_shipped_prices(tmp_path: Path) -> None:
    shipped = next(
        file for file in files("keyplan.cost").joinpath("data").iterdir() if file.name.startswith("us-east-1")
    )
    document = json.loads(shipped.read_bytes())
    document["region"] = "home-1"
    path = tmp_path / "prices.json"
    path.write_text(json.dumps(document))
    assert "home-1" in run("price", design(tmp_path, NOTES), "--prices", str(path)).stdout


def test_a_price_missing_from_a_file_is_named(tmp_path: Path) -> None:
    shipped = book()
    document: dict[str, Any] = {"region": "home-1", "date": "2026-01-01", "currency": "USD", "free": {}}
    document["prices"] = {
        name: vars(price) for name, price in shipped.prices.items() if name != "point_in_time_gb_month"
    }
    path = tmp_path / "prices.json"
    path.write_text(json.dumps(document))
    for command in ("price", "verify"):
        result = run(command, design(tmp_path, NOTES), "--prices", str(path))
        assert result.exit_code == 2
        assert result.stderr.endswith(
            f"keyplan {command}: the price file for home-1 does not contain point_in_time_gb_month\n"
        )
    document["prices"]["point_in_time_gb_month"] = vars(shipped.prices["point_in_time_gb_month"])
    path.write_text(json.dumps(document))
    result = run("price", design(tmp_path, NOTES), "--prices", str(path))
    assert result.exit_code == 0
    assert "free storage" not in result.stdout


def test_assumptions_are_printed(tmp_path: Path) -> None:
    guessed = run("price", design(tmp_path, NOTES.replace(", rate=Rate(average=2)", ""))).stdout
    assert "the monthly cost depends on these assumptions:\n- of_owner declares no rate" in guessed
    assert "assumptions" not in run("price", design(tmp_path, NOTES)).stdout


def as_json(path: str, *options: str) -> dict[str, Any]:
    result = run("price", path, "--format", "json", *options)
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def test_json_contains_costs_units_and_assumptions(tmp_path: Path) -> None:
    report = as_json(design(tmp_path, NOTES))
    note = next(pattern for pattern in report["patterns"] if pattern["name"] == "note")
    assert report["unproved"] is False
    assert (note["read_units"], note["calls"]) == (0.5, 10 * 730 * 3600)
    tables = sum(table["monthly_cost"] for table in report["tables"])
    assert tables + report["free_storage"] == pytest.approx(report["monthly_cost"])


def test_one_sum_of_all_parts_is_printed(tmp_path: Path) -> None:
    path = design(tmp_path, NOTES.replace("count=1_000", "count=900_000_000"))
    text = " ".join(run("price", path).stdout.split())
    pattern = r"requests \$(\S+) \+ storage \$(\S+) \+ point-in-time recovery \$(\S+) - free storage \$(\S+) = \$(\S+)"
    match = re.search(pattern, text)
    assert match is not None
    requests, storage, recovery, free, total = map(dollars, match.groups())
    assert requests + storage + recovery - free == pytest.approx(total, abs=0.03)
    assert total == pytest.approx(as_json(path)["monthly_cost"], abs=0.005)


def test_only_unverified_prices_that_the_estimate_uses_are_listed(tmp_path: Path) -> None:
    assert as_json(design(tmp_path, NOTES))["unverified_prices"] == []
    assert "not compared" not in run("price", design(tmp_path, NOTES)).stdout
    rare = NOTES.replace('pk="', 'table_class="STANDARD_INFREQUENT_ACCESS", pk="', 1)
    path = design(tmp_path, rare)
    assert as_json(path)["unverified_prices"] == ["write_unit_hour_ia", "read_unit_hour_ia"]
    assert "write_unit_hour_ia" in run("price", path).stdout


def test_ten_times_the_load_costs_ten_times_the_requests(tmp_path: Path) -> None:
    path = design(tmp_path, NOTES)
    once, tenfold = as_json(path), as_json(path, "--scale", "10x")
    for before, after in zip(once["patterns"], tenfold["patterns"], strict=True):
        assert after["monthly_cost"] == pytest.approx(10 * before["monthly_cost"])


def test_a_pattern_rate_can_be_overridden(tmp_path: Path) -> None:
    report = as_json(design(tmp_path, NOTES), "--rate", "note=20", "--scale", "3")
    note = next(pattern for pattern in report["patterns"] if pattern["name"] == "note")
    assert note["calls"] == 20 * 730 * 3600, "a given rate is not scaled"


def test_ten_times_the_items_need_ten_times_the_storage(tmp_path: Path) -> None:
    path = design(tmp_path, NOTES)
    once, tenfold = as_json(path), as_json(path, "--items", "10x")
    assert stored_bytes(tenfold) == pytest.approx(10 * stored_bytes(once))
    assert tenfold["items"] == 10


def test_items_of_twice_the_size_cost_more_units_and_storage(tmp_path: Path) -> None:
    path = design(tmp_path, NOTES)
    once, larger = as_json(path), as_json(path, "--size", "30x")
    assert stored_bytes(larger) > stored_bytes(once)
    writes = [
        next(pattern for pattern in results["patterns"] if pattern["name"] == "keep") for results in (once, larger)
    ]
    assert writes[1]["write_units"] > writes[0]["write_units"]


def stored_bytes(costs: dict[str, Any]) -> float:
    """Return the stored bytes of all tables and indexes."""
    return sum(float(part["storage_bytes"]) for table in costs["tables"] for part in table["parts"])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (["--scale", "ten"], "write it as a factor"),
        (["--scale", "-1x"], "write it as a factor"),
        (["--items", "many"], "write it as a factor"),
        (["--size", "nan"], "write it as a factor"),
        (["--rate", "note"], "write it as pattern=calls"),
        (["--rate", "nothing=1"], "no such pattern: nothing"),
    ],
)
def test_an_invalid_load_is_rejected(tmp_path: Path, value: list[str], text: str) -> None:
    result = run("price", design(tmp_path, NOTES), *value)
    assert result.exit_code == 2
    assert text in result.output


def test_charts_show_cost_by_pattern_and_against_the_load(tmp_path: Path) -> None:
    output = run("price", design(tmp_path, NOTES), "--chart").stdout
    assert "Monthly cost of requests by pattern" in output
    loads = rows(output.partition("against the load")[2])
    assert list(loads) == ["0.1x", "0.5x", "1x", "2x", "5x", "10x"]
    bars = [bar.count("█") for *_, bar in loads.values()]
    assert bars == sorted(bars)
    assert bars[-1] >= 9 * bars[2]
    assert max(map(len, output.splitlines())) <= 80
