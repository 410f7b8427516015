"""Letters: every kind in both languages, complete, escaped, and the same at every attempt."""

from __future__ import annotations

import email
import string
from collections.abc import Iterator
from dataclasses import replace
from email.message import EmailMessage
from email.policy import default
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.systems.venue_booking.samples import NOW, VENUE, booking

from keyplan_systems.venue_booking.domain.bookings import Booking
from keyplan_systems.venue_booking.domain.contacts import Contact
from keyplan_systems.venue_booking.domain.notices import Audience, Notice, NoticeKind
from keyplan_systems.venue_booking.domain.requests import Language
from keyplan_systems.venue_booking.mail.letters import LetterWriter, MailSettings, load_texts

ROOM = MailSettings(
    "casello@example.org", ("one@example.org", "two@example.org"), "casello.example.org", site_url="https://casello.example"
)  # fmt: skip
WRITER = LetterWriter(VENUE, ROOM)
KINDS = list(NoticeKind)


def write(kind: NoticeKind, booking_of: Booking | None = None, writer: LetterWriter = WRITER) -> EmailMessage:
    return writer.write(Notice(kind, "b1", 2, NOW), booking_of or booking()).message


def part(message: EmailMessage, kind: str) -> str:
    body = message.get_body((kind,))
    assert body is not None
    content: str = body.get_content()
    return content


@pytest.mark.parametrize("language", list(Language))
@pytest.mark.parametrize("kind", KINDS)
def test_every_letter_is_complete_in_every_language_and_both_forms(kind: NoticeKind, language: Language) -> None:
    writer = LetterWriter(VENUE, replace(ROOM, administrators_language=language))
    message = write(kind, booking(language=language), writer)
    text, html = part(message, "plain"), part(message, "html")
    weekdays = {"it": "sabato 15 novembre 2025", "en": "Saturday 15 November 2025", "de": "Samstag, 15. November 2025"}
    weekday = weekdays[language.value]
    for content in (text, html):
        assert weekday in content.replace("Saturday,", "Saturday")
        assert "06:30-24:00" in content
        assert "ABCD-1234" in content
        assert "Birthday party" in content
        assert "https://casello.example" in content
        assert "{" not in content.replace("{margin", "")
    assert f'lang="{language.value}"' in html
    assert message["Content-Language"] == language.value
    assert message["Subject"]


def test_customers_and_administrators_get_letters_in_their_language() -> None:
    english = booking(language=Language.ENGLISH)
    assert write(NoticeKind.APPROVED, english)["Content-Language"] == "en"
    assert write(NoticeKind.ADMIN_NEW_REQUEST, english)["Content-Language"] == "it"


def test_languages_have_the_same_letters_labels_and_placeholders() -> None:
    italian, *others = (load_texts(language) for language in Language)
    assert placeholders(italian["letters"]).keys() == {kind.value for kind in KINDS}
    assert italian["durations"].keys() == set(VENUE.durations)
    for other in others:
        assert {kind: sorted(texts) for kind, texts in italian["letters"].items()} == {
            kind: sorted(texts) for kind, texts in other["letters"].items()
        }
        assert placeholders(italian["letters"]) == placeholders(other["letters"])
        assert italian["labels"].keys() == other["labels"].keys()
        assert italian["durations"].keys() == other["durations"].keys()


def placeholders(letters: dict[str, dict[str, Any]]) -> dict[str, set[str]]:
    def names(texts: dict[str, Any]) -> Iterator[str]:
        for value in [texts["subject"], texts.get("greeting", ""), *texts["paragraphs"]]:
            yield from (name for _, name, _, _ in string.Formatter().parse(value) if name)

    return {kind: set(names(texts)) for kind, texts in letters.items()}


def test_customers_get_letters_from_the_venue_to_themselves() -> None:
    message = write(NoticeKind.RECEIVED)
    assert message["To"] == "Ada Rossi <ada@example.org>"
    assert message["From"] == "Casello <casello@example.org>"
    assert message["Reply-To"] is None
    assert message["Message-ID"] == "<b1.2.received@casello.example.org>"
    assert message["Date"] == "Tue, 21 Oct 2025 10:00:00 +0000"
    assert "393331234567" not in message.as_string()


def test_administrators_get_all_details_and_reply_to_the_requester() -> None:
    message = write(NoticeKind.ADMIN_NEW_REQUEST, booking(association="Amici del Casello"))
    assert message["To"] == "one@example.org, two@example.org"
    assert message["Reply-To"] == "Ada Rossi <ada@example.org>"
    for content in (part(message, "plain"), part(message, "html")):
        for fact in ("Ada Rossi", "ada@example.org", "+393331234567", "50", "Amici del Casello", "b1"):
            assert fact in content


def test_a_request_letter_states_that_it_is_not_a_confirmation() -> None:
    assert "non è ancora una conferma" in part(write(NoticeKind.RECEIVED), "plain")


def test_a_reason_is_included_in_the_letter() -> None:
    message = write(NoticeKind.REJECTED, booking(reason="Il tetto <perde>"))
    assert "Messaggio del gruppo:\nIl tetto <perde>" in part(message, "plain").replace("\r\n", "\n")
    assert "Il tetto &lt;perde&gt;" in part(message, "html")
    assert "Messaggio" not in part(write(NoticeKind.REJECTED), "plain")


EVIL = ["<script>alert(1)</script>", "{{ 7*7 }}", "{name.__class__}", "{0}", "%s", '" onload="x', "&amp;", "ü 🎉 漢字"]


@pytest.mark.parametrize("evil", EVIL)
@pytest.mark.parametrize("kind", KINDS)
def test_texts_of_customers_are_escaped(kind: NoticeKind, evil: str) -> None:
    contact = Contact(full_name=evil, email="ada@example.org", phone="+393331234567")
    message = write(kind, booking(description=evil, contact=contact, reason=evil))
    assert evil in part(message, "plain")
    html = part(message, "html")
    assert "<script" not in html
    assert "49" not in html
    again = email.message_from_bytes(message.as_bytes(), policy=default)
    assert again["Message-ID"] == message["Message-ID"]
    named = again["To"] if kind.audience is Audience.CUSTOMER else again["Reply-To"]
    assert named.addresses[0].display_name == evil


@settings(deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=100))
def test_a_name_cannot_break_the_headers(name: str) -> None:
    contact = Contact.model_construct(full_name=name, email="ada@example.org", phone="+393331234567")
    again = email.message_from_bytes(write(NoticeKind.ADMIN_CANCELLED, booking(contact=contact)).as_bytes())
    expected = {
        "From", "To", "Reply-To", "Date", "Message-ID", "Auto-Submitted", "Subject", "Content-Language",
        "MIME-Version", "Content-Type",
    }  # fmt: skip
    assert set(again.keys()) == expected


PIECES = [
    ", ", "victim@example.net", '"', "\\", "(", ")", "<", ">", ":", ";", "=?utf-8?q?", "=2C_v=40e.org=2C", "?=", " ",
    "a", "Associazione Culturale ", "è", "漢字",
]  # fmt: skip


@settings(deadline=None)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=60).map("".join).map(lambda text: text[:100]))
@example("Associazione Culturale Amici della Montagna, victim@example.net, Sezione di Trento e Bolzano")
@example("=?utf-8?q?aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=2C_victim=40example.net=2C?= " + "bbb " * 9)
@example("=?utf-8?q?x=2C_victim=40example.net=2C?= è" + " bb" * 10)
@example(":" * 100)
def test_a_name_is_never_parsed_as_an_address(name: str) -> None:
    contact = Contact.model_construct(full_name=name, email="ada@example.org", phone="+393331234567")
    for kind, header in ((NoticeKind.RECEIVED, "To"), (NoticeKind.ADMIN_NEW_REQUEST, "Reply-To")):
        sent = write(kind, booking(contact=contact)).as_bytes()
        again = email.message_from_bytes(sent, policy=default)
        assert [address.addr_spec for address in again[header].addresses] == ["ada@example.org"]


@pytest.mark.parametrize("name", ["Rossi, Ada", 'Ada "la Contessa" Rossi', "A" * 65 + ", B"])
def test_a_name_on_one_line_is_written_unchanged(name: str) -> None:
    contact = Contact(full_name=name, email="ada@example.org", phone="+393331234567")
    again = email.message_from_bytes(write(NoticeKind.RECEIVED, booking(contact=contact)).as_bytes(), policy=default)
    assert again["To"].addresses[0].display_name == name


def test_the_same_notice_gives_the_same_bytes() -> None:
    for kind in KINDS:
        assert write(kind).as_bytes() == write(kind, writer=LetterWriter(VENUE, ROOM)).as_bytes()


def test_a_boundary_cannot_be_forged_by_text() -> None:
    message = write(NoticeKind.RECEIVED)
    forged = f"--{message.get_boundary()}--\n\nend"
    again = email.message_from_bytes(write(NoticeKind.RECEIVED, booking(description=forged)).as_bytes(), policy=default)
    assert [message_part.get_content_type() for message_part in again.iter_parts()] == ["text/plain", "text/html"]


def test_a_mail_room_requires_administrators() -> None:
    with pytest.raises(ValueError, match="at least one administrator"):
        MailSettings("a@example.org", (), "example.org")


@pytest.mark.parametrize(
    "address", ["", "nobody", "nobody@", "@example.org", "a b@example.org", "a@b\nc", "é@x.org", "a@é.org"]
)
def test_a_mail_room_requires_valid_addresses(address: str) -> None:
    with pytest.raises(ValueError, match="not an email address"):
        MailSettings(address, ("b@example.org",), "example.org")
    with pytest.raises(ValueError, match="not an email address"):
        MailSettings("a@example.org", ("b@example.org", address), "example.org")
