"""Assembled system: with workers, settings and sample data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.systems.served_engine import ServedEngine
from tests.systems.venue_booking.stage import Caller, connected

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan_systems.venue_booking import app as system
from keyplan_systems.venue_booking.domain.requests import Language
from keyplan_systems.venue_booking.domain.users import ADMINISTRATORS
from keyplan_systems.venue_booking.entities import venue
from keyplan_systems.venue_booking.mail.senders import FolderSender, SmtpSender
from keyplan_systems.venue_booking.reads import bookings_of_user
from keyplan_systems.venue_booking.settings import settings_from
from keyplan_systems.web.development import development_key, issue_development_token
from keyplan_systems.web.server import Running
from keyplan_systems.web.system import Resources
from keyplan_systems.web.tokens import TokenRules, TokenVerifier, development_keys


@pytest.fixture
def resources(engine: Engine | ServedEngine, clock: ManualClock, tmp_path: Path) -> Iterator[Resources]:
    verifier = TokenVerifier(TokenRules("venue"), development_keys(development_key(tmp_path / "k")), clock)
    with connected(engine, clock) as connection:
        connection.create_tables(venue)
        yield Resources(connection, tmp_path, clock, verifier)


def test_samples_requests_and_workers_work_together(resources: Resources) -> None:
    built = system.SYSTEM.build(resources)
    built.load_sample()
    built.load_sample()
    workers = {worker.name: worker for worker in built.workers}
    assert set(workers) == {"venue letters", "venue late letters"}
    token = issue_development_token(
        development_key(resources.folder / "k"),
        "root",
        audience="venue",
        roles=[ADMINISTRATORS],
        clock=resources.clock,
    )
    with (
        Running(built.app) as server,
        httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {token}"}) as client,
    ):
        assert client.get("/health").json()["checks"] == {"table": "ok"}
        root = Caller(client, "root")
        result = root.ask("{ bookings { entries { id } } users { entries { name } } }")
        assert len(result["bookings"]["entries"]) == 3
        assert {user["name"] for user in result["users"]["entries"]} == {"Ada Rossi", "Bruno Conti"}
        assert b"Mercatino" in client.get("/calendar.ics").content
    assert workers["venue letters"].run_once() == 9
    assert workers["venue letters"].run_once() == 0
    assert workers["venue late letters"].run_once() == 0
    assert len(list((resources.folder / "letters").glob("*.eml"))) == 9
    built.close()


@pytest.mark.parametrize(
    "rules", [{"capacity": 5}, {"horizon_days": 9}, {"durations": {"EVENING": ["EVENING"]}}], ids=str
)
@pytest.mark.embedded("nothing of it is the table's")
def test_a_venue_starts_with_the_sample_items_that_its_rules_allow(
    rules: dict[str, Any], resources: Resources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "venue.json"
    config.write_text(json.dumps(rules))
    monkeypatch.setenv("KEYPLAN_VENUE_CONFIG", str(config))
    built = system.SYSTEM.build(resources)
    built.load_sample()
    built.load_sample()
    bookings = resources.connection.all(bookings_of_user("ada"))
    assert len(bookings) == (0 if "horizon_days" in rules else 2)
    built.close()


def test_by_default_letters_are_files_and_the_venue_is_the_documented_one(tmp_path: Path) -> None:
    settings = settings_from(tmp_path, {})
    assert isinstance(settings.sender, FolderSender)
    assert settings.venue.slot_names == ("MORNING", "AFTERNOON", "EVENING")
    assert settings.mail.administrators == ("administrators@localhost",)


def test_settings_configure_another_venue_and_smtp(tmp_path: Path) -> None:
    config = tmp_path / "venue.json"
    config.write_text('{"name": "Casello", "lead_days": 7, "durations": {"FULL_DAY": ["MORNING", "AFTERNOON"]},'
                      ' "slots": [{"name": "MORNING", "starts_minute": 480, "ends_minute": 780},'
                      ' {"name": "AFTERNOON", "starts_minute": 840, "ends_minute": 1200}]}')  # fmt: skip
    result = {
        "KEYPLAN_VENUE_CONFIG": str(config),
        "KEYPLAN_VENUE_DOMAIN": "casello.example",
        "KEYPLAN_VENUE_ADMINISTRATORS": "a@casello.example, b@casello.example",
        "KEYPLAN_VENUE_ADMINISTRATORS_LANGUAGE": "en",
        "KEYPLAN_VENUE_SMTP_HOST": "mail.casello.example",
        "KEYPLAN_VENUE_SMTP_SECURITY": "tls",
    }
    settings = settings_from(tmp_path, result)
    assert isinstance(settings.sender, SmtpSender)
    assert settings.venue.slots_of("FULL_DAY") == ("MORNING", "AFTERNOON")
    assert settings.mail.administrators == ("a@casello.example", "b@casello.example")
    assert settings.mail.administrators_language is Language.ENGLISH
    assert settings.mail.sender == "venue@casello.example"


def test_an_empty_setting_is_ignored(tmp_path: Path) -> None:
    names = ("CONFIG", "SENDER", "ADMINISTRATORS", "DOMAIN", "ADMINISTRATORS_LANGUAGE", "SITE")
    smtp = ("SMTP_HOST", "SMTP_PORT", "SMTP_SECURITY", "SMTP_USERNAME", "SMTP_PASSWORD")
    settings, otherwise = (
        settings_from(tmp_path, {f"KEYPLAN_VENUE_{name}": "" for name in (*names, *smtp)}),
        settings_from(tmp_path, {}),
    )
    assert (settings.venue, settings.mail) == (otherwise.venue, otherwise.mail)
    assert isinstance(settings.sender, FolderSender)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("CONFIG", "/nowhere/venue.json", "cannot read"),
        ("SMTP_PORT", "smtp", "must be a number"),
        ("SMTP_PORT", "65536", "must be a number from 1 to 65535"),
        ("SENDER", "the venue", "'the venue' is not an email address"),
        ("ADMINISTRATORS", "ada@example.org, ben", "'ben' is not an email address"),
        ("ADMINISTRATORS", " , ", "at least one administrator"),
        ("ADMINISTRATORS_LANGUAGE", "fr", "fr"),
        ("SMTP_SECURITY", "maybe", "maybe"),
    ],
)
def test_an_invalid_setting_is_reported(name: str, value: str, expected: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=expected):
        settings_from(tmp_path, {f"KEYPLAN_VENUE_{name}": value, "KEYPLAN_VENUE_SMTP_HOST": "localhost"})
