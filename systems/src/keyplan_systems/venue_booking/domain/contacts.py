"""Functions that normalize contact details: email addresses, telephone numbers, names and other text."""

from __future__ import annotations

import unicodedata
from typing import Annotated, Final

import phonenumbers
from email_validator import EmailNotValidError, validate_email
from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints

EMAIL_LIMIT_CHARACTERS: Final = 254

_NOT_IN_LINES: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})
_DIRECTION_MARKS: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def normalise_email(text: str) -> str:
    """Return an email address in normalized form. Addresses are stored, compared and used as keys in this form.

    Surrounding spaces are removed, letters are converted to lower case, and the domain is converted to ASCII. Dots and
    +tags are kept, because only the receiving server knows whether they are significant. Raises ValueError if the text
    is not an email address.
    """
    try:
        email_info = validate_email(text.strip(), check_deliverability=False, allow_smtputf8=False)
    except EmailNotValidError as error:
        raise ValueError(f"this is not an email address: {error}") from error
    address = email_info.ascii_email
    assert address is not None  # only addresses with an ASCII form are allowed
    return address.lower()


def normalise_phone(text: str, country: str) -> str:
    """Return a telephone number in international format (E.164). A number without a + is assumed to
    belong to the given country.

    Raises ValueError if the text is not a possible telephone number.
    """
    try:
        number = phonenumbers.parse(text, country)
    except phonenumbers.NumberParseException as error:
        raise ValueError("this is not a telephone number") from error
    if not phonenumbers.is_possible_number(number):
        raise ValueError("this is not a possible telephone number")
    return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)


def single_line(text: str) -> str:
    """Return the text in Unicode normalization form C, without surrounding spaces and with single spaces between words.

    Raises ValueError if the text contains control characters, because line breaks could forge email headers and
    directional marks could disguise the text.
    """
    normalized_text = unicodedata.normalize("NFC", text)
    if any(
        unicodedata.category(character) in _NOT_IN_LINES or character in _DIRECTION_MARKS
        for character in normalized_text
    ):
        raise ValueError("this must be one line without control characters")
    return " ".join(normalized_text.split())


def several_lines(text: str) -> str:
    """Return the text in Unicode normalization form C, with line feeds as line breaks.

    Raises ValueError if the text contains control characters other than line breaks and tabs.
    """
    normalized_text = unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n")).strip()
    if any(
        unicodedata.category(character) in {"Cc", "Cs"} and character not in "\n\t" for character in normalized_text
    ):
        raise ValueError("this must not contain control characters")
    return normalized_text


EmailAddress = Annotated[str, StringConstraints(max_length=EMAIL_LIMIT_CHARACTERS), AfterValidator(normalise_email)]
PersonName = Annotated[str, AfterValidator(single_line), StringConstraints(min_length=1, max_length=100)]


class Contact(BaseModel):
    """The contact person for a booking. `phone` is in international format."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    full_name: PersonName
    email: EmailAddress
    phone: Annotated[str, StringConstraints(min_length=3, max_length=40)]
