"""Sentences of the pages: every language has all of them with the same values, and the best language is chosen."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request

from keyplan.pages import SCRIPT_TEXTS
from keyplan_systems.venue_booking.app import PEOPLE
from keyplan_systems.venue_booking.domain.bookings import Action
from keyplan_systems.venue_booking.domain.events import SlotState
from keyplan_systems.venue_booking.domain.notices import NoticeKind
from keyplan_systems.venue_booking.domain.records import AuditAction, PaymentMethod
from keyplan_systems.venue_booking.domain.refusals import (
    AlreadyDecidedError,
    DateNotBookableError,
    InvalidRequestError,
    SlotTakenError,
    TryAgainError,
    WrongCodeError,
)
from keyplan_systems.venue_booking.domain.requests import EventKind, Language
from keyplan_systems.venue_booking.domain.users import Status
from keyplan_systems.venue_booking.domain.venue import Slot, Venue
from keyplan_systems.venue_booking.pages.wording import COOKIE, Phrases, language_of, page_texts

COMPOSED = {"slots", "states", "status", "kinds", "methods", "actions", "notices"}
"""Tables whose sentences are found by values of the domain."""
PARTLY_COMPOSED = {
    *(f"booking.{status}_about" for status in ("waiting", "approved", "rejected", "cancelled")),
    *(f"calendar.{state}" for state in ("full", "closed", "over")),
    *(f"calendar.subscribe_{feed}" for feed in ("public", "reserved")),
    *(f"decision.{action}_letter" for action in ("approve", "reject")),
}
"""Sentences whose names are put together from a word and a value."""
PACKAGE = Path(str(files("keyplan_systems.venue_booking")))


def sentences(texts: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    """Return every sentence with its dotted name; plural forms are joined."""
    for name, value in texts.items():
        if isinstance(value, str):
            yield f"{path}{name}", value
        elif "other" in value:
            yield f"{path}{name}", value["other"]
        else:
            yield from sentences(value, f"{path}{name}.")


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def phrases(language: Language = Language.ENGLISH) -> Phrases:
    return Phrases(language, Venue())


def request(**headers: str) -> Request:
    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": pairs})


@pytest.mark.parametrize("language", [Language.ITALIAN, Language.GERMAN])
def test_every_language_has_the_same_sentences_with_the_same_placeholders(language: Language) -> None:
    english, other = dict(sentences(page_texts(Language.ENGLISH))), dict(sentences(page_texts(language)))
    own = {name: text for name, text in other.items() if not name.startswith("shared.")}
    assert own.keys() == english.keys()
    assert {name: placeholders(text) for name, text in own.items()} == {
        name: placeholders(text) for name, text in english.items()
    }


def test_the_words_of_the_shared_templates_scripts_and_sample_people_are_translated() -> None:
    templates = [
        Path(str(files(package))).joinpath("templates") for package in ("keyplan.pages", "keyplan_systems.web")
    ]
    used = {
        text
        for folder in templates
        for page in folder.glob("*.j2")
        for text in re.findall(r"""page\.word\(["'](.+?)["']\)""", page.read_text())
    }
    used |= {*SCRIPT_TEXTS, "You are signed out.", *(person.description for person in PEOPLE)}
    assert "Sign out" in used
    for language in (Language.ITALIAN, Language.GERMAN):
        assert used <= page_texts(language)["shared"].keys()
    assert page_texts(Language.ITALIAN)["shared"].keys() == page_texts(Language.GERMAN)["shared"].keys()


def test_the_texts_of_the_shared_script_are_those_that_are_translated() -> None:
    script = files("keyplan.pages").joinpath("static", "keyplan.js").read_text("utf-8")
    assert set(re.findall(r'keyplan\.word\("(.+?)"\)', script)) == set(SCRIPT_TEXTS)


def test_every_sentence_named_by_a_page_exists_and_every_sentence_is_used() -> None:
    names = dict(sentences(page_texts(Language.ENGLISH))).keys()
    sources = [*PACKAGE.joinpath("templates").glob("*.j2"), *PACKAGE.joinpath("pages").glob("*.py")]
    text = "\n".join(path.read_text("utf-8") for path in sources)
    named = set(re.findall(r"""["']([a-z]+\.[a-z_]+)["']""", text)) - {"calendar.subscribe_", "booking.", "decision."}
    tables = page_texts(Language.ENGLISH).keys()
    assert {name for name in named if name.partition(".")[0] in tables} - names == set()
    spelled = {name for name in names if name.partition(".")[0] not in COMPOSED | {"errors"}}
    assert spelled - named - PARTLY_COMPOSED == set()


@pytest.mark.parametrize("language", list(Language))
def test_every_value_of_the_domain_has_a_name(language: Language) -> None:
    texts = page_texts(language)
    for table, values in {
        "states": SlotState, "status": Status, "kinds": EventKind, "methods": PaymentMethod, "actions": AuditAction,
        "notices": NoticeKind,
    }.items():  # fmt: skip
        assert texts[table].keys() == {value.value for value in values}
    assert {Action.APPROVE.value, Action.REJECT.value} <= texts["decision"].keys()
    assert set(Venue().slot_names) == texts["slots"].keys()


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("de-CH,de;q=0.9,en;q=0.8", "de"),
        ("fr, en;q=0.5, it;q=0.4", "en"),
        ("fr", "it"),
        ("", "it"),
        ("en;q=0, de;q=0.1", "de"),
        ("en;q=x, de", "de"),
        ("*", "it"),
    ],
)
def test_the_best_accepted_language_is_chosen(accepted: str, language: str) -> None:
    assert language_of(request(accept_language=accepted)).value == language


def test_a_chosen_language_takes_precedence_and_an_unknown_one_is_ignored() -> None:
    assert language_of(request(accept_language="en", cookie=f"{COOKIE}=de")) is Language.GERMAN
    assert language_of(request(accept_language="en", cookie=f"{COOKIE}=xx")) is Language.ENGLISH


def test_dates_hours_and_amounts_follow_the_language() -> None:
    english, german = phrases(), phrases(Language.GERMAN)
    day = date(2026, 12, 5)
    assert english.day(day) == "Saturday, 5 December 2026"
    assert german.day(day) == "Samstag, 5. Dezember 2026"
    assert german.month(day) == "Dezember 2026"
    assert english.hours(day, ("AFTERNOON", "EVENING")) == "14:00-24:00"
    assert english.hours(day, ("REMOVED",)) == ""
    assert german.amount(4950, "EUR").replace("\xa0", " ") == "49,50 €"
    assert english("bookings.people", count=1) == "1 person"
    assert english("bookings.people", count=2) == "2 people"


def test_custom_slots_of_a_venue_keep_their_names() -> None:
    night = Venue(slots=(Slot(name="LATE_NIGHT", starts_minute=60, ends_minute=120),), durations={"X": ("LATE_NIGHT",)})
    assert Phrases(Language.GERMAN, night).slot("LATE_NIGHT") == "Late night"
    assert Phrases(Language.GERMAN, night).duration("X") == "X"


def test_rejections_are_stated_in_the_language_of_the_page() -> None:
    german = phrases(Language.GERMAN)
    error = SlotTakenError(date(2026, 12, 5), ["MORNING"])
    assert german.refusal(error) == "Schon belegt am 5. Dezember 2026: Vormittag."
    assert german.field_errors(error) == {"duration": "Schon belegt am 5. Dezember 2026: Vormittag."}
    assert german.refusal(AlreadyDecidedError("approved")) == "Jemand war schneller. Der Stand ist jetzt: Bestätigt."
    assert german.refusal(WrongCodeError(1)).endswith("noch einen Versuch.")
    assert "neuen an" in german.refusal(WrongCodeError(0))
    assert "noch einmal" in german.refusal(TryAgainError("again"))
    early = DateNotBookableError("-", {"field": "date", "earliest": "2026-12-01", "latest": "2027-12-01"})
    assert "1. Dezember 2026" in german.field_errors(early)["date"]
    assert german.field_errors(DateNotBookableError("-", {"field": "date"})) == {"date": "Dieser Tag ist vorbei."}
    assert "100" in german.field_errors(InvalidRequestError("-", {"field": "attendees", "capacity": 100}))["attendees"]


def test_fields_without_a_sentence_keep_the_servers_message() -> None:
    error = InvalidRequestError("-", {"fields": {"contact.fullName": "too long", "color": "Value error, not a color"}})
    assert phrases().field_errors(error) == {
        "full_name": "Enter a name of 1 to 100 characters on one line.",
        "color": "not a color",
    }
    assert phrases().refusal(InvalidRequestError("This is odd.")) == "This is odd."
