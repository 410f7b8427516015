"""Languages of the pages: phrases from `texts/<language>.toml`, and formatting of dates and amounts with Babel.

A page is shown in the language that the user has selected. If the user has not selected a language, the page is shown
in the language that the browser prefers or, if the system does not support it, in Italian. A phrase is identified by a
dotted name. A phrase with a number has one text for each plural category of its language.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from importlib.resources import files
from typing import Any, Final

from babel import Locale, negotiate_locale
from babel.dates import format_date, format_datetime, format_time, get_day_names
from babel.numbers import format_currency, format_decimal
from starlette.requests import Request

from keyplan.pages import Wording
from keyplan_systems.venue_booking.domain.refusals import RefusalError
from keyplan_systems.venue_booking.domain.requests import Language
from keyplan_systems.venue_booking.domain.venue import Venue
from keyplan_systems.venue_booking.mail.letters import LOCALES, load_texts

COOKIE: Final = "venue_language"
NAMES: Final = {Language.ITALIAN: "Italiano", Language.ENGLISH: "English", Language.GERMAN: "Deutsch"}
"""The name of each language in the language itself."""
_FORM_NAMES: Final = {"fullName": "full_name", "amountCents": "amount"}


@dataclass(frozen=True)
class Phrases:
    """Phrases, dates and amounts in one language. Templates call an instance, as in `t("calendar.free", count=2)`."""

    language: Language
    venue: Venue

    @property
    def locale(self) -> str:
        """The Babel locale for the language."""
        return LOCALES[self.language]

    def __call__(self, name: str, /, **values: Any) -> str:
        """Return a phrase with the values inserted. Raises KeyError for an unknown name."""
        phrase: Any = page_texts(self.language)
        for part in name.split("."):
            phrase = phrase[part]
        if isinstance(phrase, Mapping):
            category = Locale.parse(self.locale).plural_form(values["count"])
            phrase = phrase.get(category, phrase["other"])
        text: str = phrase
        return text.format_map(values)

    def has(self, name: str) -> bool:
        """Return True if a phrase with this name exists."""
        phrase: Any = page_texts(self.language)
        for part in name.split("."):
            if not isinstance(phrase, Mapping) or part not in phrase:
                return False
            phrase = phrase[part]
        return True

    def day(self, day: date, style: str = "full") -> str:
        """Format a date, such as "Saturday 5 December 2026". `style` is a Babel style or pattern."""
        return format_date(day, style, locale=self.locale)

    def month(self, day: date) -> str:
        """Format the month and year of a date."""
        return format_date(day, "LLLL y", locale=self.locale).capitalize()

    def date_and_time(self, at: datetime) -> str:
        """Format a timestamp in the venue's time zone."""
        return format_datetime(at, "d MMM y, HH:mm", tzinfo=self.venue.zone, locale=self.locale)

    def weekdays(self) -> Sequence[tuple[str, str]]:
        """Return the short and the long name of each day of the week, starting with Monday."""
        short = get_day_names("abbreviated", "stand-alone", self.locale)
        wide = get_day_names("wide", "stand-alone", self.locale)
        return [(short[number], wide[number]) for number in range(7)]

    def slot(self, name: str) -> str:
        """Return the displayed name of a slot. A slot without a translation keeps its configured name."""
        return self(f"slots.{name}") if self.has(f"slots.{name}") else _plain(name)

    def slots(self, names: Iterable[str]) -> str:
        """Return the displayed names of several slots, separated by commas."""
        return ", ".join(self.slot(name) for name in names)

    def duration(self, name: str) -> str:
        """Return the displayed name of a duration. It is the same name as in emails."""
        name_text: str = load_texts(self.language)["durations"].get(name, _plain(name))
        return name_text[:1].upper() + name_text[1:]

    def hours(self, day: date, slots: Sequence[str]) -> str:
        """Format the time from the start of the first slot to the end of the last slot, such as 14:00-20:00.

        The result is empty if one of the slots has been removed from the venue's configuration.
        """
        if not slots or any(name not in self.venue.slot_names for name in slots):
            return ""
        start, end = self.venue.span(day, tuple(slots))
        end_text = "24:00" if end.date() > day else format_time(end.timetz(), "HH:mm", locale=self.locale)
        return f"{format_time(start.timetz(), 'HH:mm', locale=self.locale)}-{end_text}"

    def amount(self, cents: int, currency: str) -> str:
        """Format an amount of money, given in hundredths of the currency unit."""
        return format_currency(cents / 100, currency, locale=self.locale)

    def number(self, value: int) -> str:
        """Format a number."""
        return format_decimal(value, locale=self.locale)

    def refusal(self, error: RefusalError) -> str:
        """Return the translated message of a domain error. An error without a translation keeps its
        original message.
        """
        details = dict(error.details)
        name = f"errors.{error.code}"
        if details.get("triesLeft") == 0:
            return self("errors.wrong_code_last")
        if "capacity" in details:
            return self("errors.capacity", capacity=self.number(int(str(details["capacity"]))))
        if error.code == "date_not_bookable" and "earliest" not in details:
            return self("errors.date_over")
        if not self.has(name):
            return error.message
        return self(name, **{key: self._detail(key, value) for key, value in details.items()}, **_plural_count(details))

    def _detail(self, key: str, value: Any) -> Any:
        if key in ("date", "earliest", "latest"):
            return self.day(date.fromisoformat(value), "long")
        if key == "slots":
            return self.slots(value)
        if key == "status":
            return self(f"status.{value}")
        return value

    def field_errors(self, error: RefusalError) -> dict[str, str]:
        """Return the translated messages of a domain error, as a mapping from the name of each form field to its
        message.
        """
        messages = error.details.get("fields")
        if isinstance(messages, Mapping):
            return {_form_name(name): self._field(_form_name(name), message) for name, message in messages.items()}
        if "slots" in error.details:
            return {"duration": self.refusal(error)}
        field = error.details.get("field")
        return {} if field is None else {_form_name(str(field)): self._single(_form_name(str(field)), error)}

    def _single(self, field: str, error: RefusalError) -> str:
        has_sentence = "capacity" in error.details or self.has(f"errors.{error.code}")
        return self.refusal(error) if has_sentence else self._field(field, error.message)

    def _field(self, field: str, message: str) -> str:
        name = f"errors.fields.{field}"
        return self(name) if self.has(name) else message.removeprefix("Value error, ")


def _plural_count(details: Mapping[str, object]) -> dict[str, int]:
    """Return the keyword argument `count` that selects the plural form of an error message. Its value is the number of
    remaining attempts in the error's details.

    The result is empty if the details do not contain this number.
    """
    return {"count": int(str(details["triesLeft"]))} if "triesLeft" in details else {}


def _form_name(name: str) -> str:
    last = name.rpartition(".")[2]
    return _FORM_NAMES.get(last, last)


def _plain(name: str) -> str:
    return name.replace("_", " ").capitalize()


@cache
def page_texts(language: Language) -> Mapping[str, Any]:
    """Return the texts of the pages in the given language."""
    source = files("keyplan_systems.venue_booking.pages").joinpath("texts", f"{language.value}.toml")
    return tomllib.loads(source.read_text("utf-8"))


def language_of(request: Request) -> Language:
    """Return the language of the requested page."""
    selected_language = request.cookies.get(COOKIE, "")
    if selected_language in list(Language):
        return Language(selected_language)
    accepted_languages = _accepted_languages(request.headers.get("accept-language", ""))
    return Language(
        negotiate_locale(accepted_languages, [language.value for language in Language], sep="-") or Language.ITALIAN
    )


def _accepted_languages(header: str) -> list[str]:
    """Return the languages in an Accept-Language header, most preferred first (RFC 9110, section 12.5.4)."""
    weighted_languages: list[tuple[float, str]] = []
    for entry in header.split(","):
        tag, _, parameter = entry.strip().partition(";")
        try:
            weight = float(parameter.strip().removeprefix("q=") or 1)
        except ValueError:
            continue
        if weight > 0 and tag.replace("-", "").isalnum():
            weighted_languages.append((weight, tag.partition("-")[0].lower()))
    return [tag for _, tag in sorted(weighted_languages, key=lambda entry: -entry[0])]


def shared_wording(request: Request) -> Wording:
    """Return the language of the requested page, and the texts in this language for the templates that all systems
    share.
    """
    language = language_of(request)
    return Wording(language.value, page_texts(language)["shared"])
