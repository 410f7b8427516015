"""Operations on users: creation on first use, profiles with verified email addresses, and lookup.

An email address belongs to a user after it has been verified, either by the token's issuer (`email_verified`) or with a
code sent by email. Until then, the user only claims the address, and it is not reserved.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from keyplan.client.errors import AlreadyExistsError, ConditionFailedError, NotFoundError
from keyplan_systems.venue_booking import design, reads, writes
from keyplan_systems.venue_booking.base import Base, ResultPage, is_id
from keyplan_systems.venue_booking.domain import refusals
from keyplan_systems.venue_booking.domain.addresses import CODE_VALID, MAX_TRIES, code_matches
from keyplan_systems.venue_booking.domain.contacts import normalise_email, normalise_phone, single_line
from keyplan_systems.venue_booking.domain.records import AuditAction, AuditEntry
from keyplan_systems.venue_booking.domain.refusals import (
    EmailTakenError,
    InvalidRequestError,
    StaleVersionError,
    WrongCodeError,
)
from keyplan_systems.venue_booking.domain.requests import Language, ProfileChange, parse
from keyplan_systems.venue_booking.domain.users import Actor, User, changed_profile, check_version, require_admin
from keyplan_systems.venue_booking.domain.venue import utc_datetime
from keyplan_systems.venue_booking.entities import (
    EmailCodeItem,
    LetterCountItem,
    LetterScope,
    NotificationItem,
    UserBookingItem,
    UserItem,
)
from keyplan_systems.venue_booking.items import audit_item, user_item, user_of
from keyplan_systems.venue_booking.transactions import Step, run_step, write
from keyplan_systems.web.idempotency import Request

logger = logging.getLogger(__name__)

T = TypeVar("T")

_ATTEMPTS: Final = 8
_NAME_CHARACTERS: Final = 100


@dataclass(frozen=True)
class Person:
    """The user that a verified token identifies: the actor, and the claims in the token from which a new profile is
    created.
    """

    actor: Actor
    email: str | None = None
    name: str | None = None
    email_is_verified: bool = True
    phone: str | None = None

    def verified_address(self) -> str | None:
        """Return the verified email address in normalized form, or None if the token does not contain a valid verified
        address.
        """
        if self.email is None or not self.email_is_verified:
            return None
        try:
            return normalise_email(self.email)
        except ValueError:
            return None


@dataclass(frozen=True)
class UserWithBookings:
    """A user with copies of all their bookings, earliest date first."""

    user: User
    bookings: tuple[UserBookingItem, ...]


@dataclass(frozen=True)
class Users:
    """Operations on users, their profiles and their email addresses. Instances are thread-safe."""

    base: Base

    def get_or_create(self, person: Person) -> User:
        """Return the caller's profile. On the first call, the profile is created from the token.

        Raises a subclass of RefusalError if it cannot be created.
        """
        user = self.find(person.actor.user_id)
        return user if user is not None else self._create_user(person)

    def find(self, user_id: str) -> User | None:
        """Return the user with the given ID, or None if the user does not exist."""
        item = self.base.connection.run(reads.user_by_id(user_id))
        return None if item is None else user_of(item)

    def change(
        self,
        person: Person,
        values: Mapping[str, Any],
        known_version: int | None = None,
        idempotency: Request | None = None,
    ) -> User:
        """Change the caller's profile, and return the new profile.

        If `known_version` is given, the profile must still have this version. Otherwise, the change is retried after a
        conflict with a concurrent write. If the change contains an email address that the token does not verify, a code
        is sent to the address, and the profile keeps its previous address until the user enters the code.
        """
        change = parse(ProfileChange, values)
        step = partial(self._change_step, person, change, known_version)
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return self._with_released_address(lambda: run_step(self.base, idempotency, User, step))
            except StaleVersionError:
                if known_version is not None or attempt == _ATTEMPTS:
                    raise
        raise AssertionError("the last attempt returns or raises")

    def _change_step(self, person: Person, change: ProfileChange, known_version: int | None) -> Step[User]:
        user = self.get_or_create(person)
        is_new = change.email is not None and (change.email != user.email or not user.has_verified_email)
        if is_new and change.email != person.verified_address():
            return self._change_with_claim_step(user, change, known_version)
        changed_user = changed_profile(user, change, self.base.venue, known_version)
        if is_new:
            changed_user = replace(changed_user, email_verified_at=self.base.now())
        call = writes.replace_user(user_item(changed_user, user.version))
        return Step(changed_user, call, is_done=partial(self._is_stored, changed_user))

    def _change_with_claim_step(self, user: User, change: ProfileChange, known_version: int | None) -> Step[User]:
        """Return the operation that claims the new email address and, in the same transaction, changes the other fields
        of the profile. The profile keeps its current address.
        """
        check_version(known_version, user.version)
        assert change.email is not None, "the change has an address"
        code = self._new_claim(user.user_id, user.name, user.language, change.email)
        counts = self.letter_counts(user.user_id, code.email)
        other_changes = change.model_copy(update={"email": None})
        if not other_changes.model_dump(exclude_none=True):
            return Step(user, design.write_claim(code=code, **counts), is_done=partial(self._is_claimed, code))
        changed_user = changed_profile(user, other_changes, self.base.venue, known_version)
        call = design.write_change_with_claim(user=user_item(changed_user, user.version), code=code, **counts)
        return Step(changed_user, call, is_done=partial(self._is_stored, changed_user))

    def _is_claimed(self, code: EmailCodeItem) -> bool:
        return self.base.connection.run(reads.email_code(code.user_id, code.claim_id)) is not None

    def _is_stored(self, user: User) -> bool:
        return self.find(user.user_id) == user

    def request_code(self, person: Person, email: str, idempotency: Request | None = None) -> EmailCodeItem:
        """Store the caller's claim to an email address, so that a verification code is sent to the address. The caller
        does not need a profile.
        """
        address = _normalise_address(email)
        user = self.find(person.actor.user_id)
        if user is not None:
            step = partial(self._claim_step, user.user_id, user.name, user.language, address)
            return run_step(self.base, idempotency, EmailCodeItem, step)
        try:
            name = _profile_name(person.name, address)
        except ValueError:
            name = address[:_NAME_CHARACTERS]
        step = partial(self._claim_step, person.actor.user_id, name, Language.ITALIAN, address)
        return run_step(self.base, idempotency, EmailCodeItem, step)

    def _claim_step(self, user_id: str, name: str, language: Language, address: str) -> Step[EmailCodeItem]:
        code = self._new_claim(user_id, name, language, address)
        call = design.write_claim(code=code, **self.letter_counts(user_id, address))
        return Step(code, call, is_done=partial(self._is_claimed, code))

    def _new_claim(self, user_id: str, name: str, language: Language, address: str) -> EmailCodeItem:
        """Return a new claim to an email address for a user. Raises EmailTakenError if another user has verified the
        address.
        """
        holders = self.base.connection.run(reads.user_by_email(address)).items
        if any(holder.user_id != user_id and holder.email_verified_at is not None for holder in holders):
            raise EmailTakenError()
        now = self.base.now()
        try:
            return EmailCodeItem(
                user_id=user_id,
                claim_id=self.base.new_id(),
                email=address,
                name=name,
                language=language,
                created_at=now,
                expires_at=now + CODE_VALID,
            )
        except ValidationError as error:
            raise InvalidRequestError("The token's claims are not valid for a profile.", {"field": "token"}) from error

    def email_claims(self, actor: Actor) -> list[EmailCodeItem]:
        """Return the actor's claims to email addresses from the last hour."""
        return self.base.connection.all(reads.email_codes_of_user(actor.user_id))

    def verify(self, person: Person, claim_id: str, code: str, idempotency: Request | None = None) -> User:
        """Verify a claimed email address with a code, and return the profile with the address. If the user does not
        have a profile yet, the profile is created.

        Raises NotFoundError if the claim does not exist, WrongCodeError if the code is wrong or there were too many
        attempts, and EmailTakenError if another user has already verified the address.
        """
        claims: list[EmailCodeItem] = []

        def step() -> Step[User]:
            if not claims:  # a repeated step does not count another attempt
                claims.append(self._check_code(person, claim_id, code))
            return self._verification_step(person, claims[0])

        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return self._with_released_address(lambda: run_step(self.base, idempotency, User, step))
            except (StaleVersionError, EmailTakenError) as error:
                if attempt == _ATTEMPTS or (isinstance(error, EmailTakenError) and error.owner is not None):
                    raise
        raise AssertionError("the last attempt returns or raises")

    def _check_code(self, person: Person, claim_id: str, code: str) -> EmailCodeItem:
        """Count an attempt to enter a verification code, and return the claim if the code is correct.

        Raises WrongCodeError if the code is wrong or there were too many attempts, and NotFoundError if the claim does
        not exist.
        """
        user_id, connection = person.actor.user_id, self.base.connection
        claim = connection.run(reads.email_code(user_id, claim_id)) if is_id(claim_id) else None
        if claim is None:
            raise refusals.NotFoundError("This code is no longer valid, or was never requested.")
        try:
            tries = connection.run(writes.take_try(user_id, claim_id, MAX_TRIES)).tries
        except ConditionFailedError as error:
            raise WrongCodeError(0) from error
        except NotFoundError as error:
            raise refusals.NotFoundError("This code is no longer valid, or was never requested.") from error
        if not code_matches(code, claim_id, claim.code_hashes):
            raise WrongCodeError(MAX_TRIES - tries)
        return claim

    def _verification_step(self, person: Person, claim: EmailCodeItem) -> Step[User]:
        now, current = self.base.now(), self.find(person.actor.user_id)
        if current is None:
            user = self._new_user(replace(person, name=claim.name, email=claim.email, email_is_verified=True))
            call = design.write_verified_newcomer(user_item(user, 0), claim.claim_id)
        else:
            user = current.with_address(claim.email, now)
            call = design.write_verified_address(user_item(user, current.version), claim.claim_id)
        return Step(user, call, is_done=partial(self._is_stored, user))

    def release_address(self, actor: Actor, user_id: str, idempotency: Request | None = None) -> User:
        """Remove a user's email address on behalf of an administrator, so that the owner of the address can
        verify it.
        """
        require_admin(actor)
        return run_step(self.base, idempotency, User, partial(self._release_step, actor, user_id))

    def _release_step(self, actor: Actor, user_id: str) -> Step[User]:
        user = self.find(user_id)
        if user is None:
            raise refusals.NotFoundError("No such user.")
        if user.email is None:
            raise InvalidRequestError("This user has no email address.", {"field": "userId"})
        changed_user = user.with_address(None, self.base.now())
        entry = AuditEntry(
            self.base.new_id(), actor.user_id, AuditAction.RELEASE_EMAIL, user_id, self.base.now(),
            {"email": user.email},
        )  # fmt: skip
        call = design.write_release(user_item(changed_user, user.version), audit_item(entry))
        return Step(changed_user, call, is_done=partial(self._is_stored, changed_user))

    def _with_released_address(self, write_address: Callable[[], T]) -> T:
        """Call `write_address`. If the address belongs to another user who never verified it, remove it from that user
        and call `write_address` again.
        """
        try:
            return write_address()
        except EmailTakenError as error:
            if error.owner is None or not self._release_unverified(error.owner):
                raise
            return write_address()

    def _release_unverified(self, holder_id: str) -> bool:
        """Remove an email address from a user who never verified it. Return False if the user has verified it."""
        holder = self.find(holder_id)
        if holder is None or holder.email is None:
            return True  # released since then
        if holder.has_verified_email:
            return False
        changed_holder = holder.with_address(None, self.base.now())
        call = writes.replace_user(user_item(changed_holder, holder.version))
        try:
            write(self.base.connection, call, is_done=partial(self._is_stored, changed_holder))
        except (StaleVersionError, refusals.NotFoundError):
            return self._release_unverified(holder_id)
        logger.warning("released an unverified address to the user who verified it", extra={"holder": holder_id})
        return True

    def letter_counts(self, user_id: str, address: str) -> dict[str, Any]:
        """Return keyword arguments for a transaction that counts an email. The email is counted against the daily limit
        of the user who triggers it and the daily limit of the address to which it is sent.
        """
        now, venue = self.base.now(), self.base.venue
        day = now.date()
        expires_at = datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=2)

        def count(scope: LetterScope, subject: str) -> LetterCountItem:
            return LetterCountItem(scope=scope, subject=subject, day=day, expires_at=expires_at)

        return {
            "user_count": count(LetterScope.USER, user_id),
            "user_limit": venue.letters_per_user,
            "address_count": count(LetterScope.ADDRESS, address),
            "address_limit": venue.letters_per_address,
        }

    def find_by_email(self, actor: Actor, email: str) -> User | None:
        """Return the user with an email address, or None if no user has it. Raises NotAllowedError unless the actor is
        an administrator.

        The index is eventually consistent, so a new profile might be missing.
        """
        require_admin(actor)
        users = self.base.connection.run(reads.user_by_email(_normalise_address(email)))
        return user_of(users.items[0]) if users.items else None

    def list_all(self, actor: Actor, limit: int, cursor: str | None) -> ResultPage[User]:
        """Return a page of all users in the order of registration. Raises NotAllowedError unless the actor is an
        administrator.
        """
        require_admin(actor)
        return self.base.read_page(reads.all_users(), user_of, limit, cursor)

    def get_many(self, user_ids: list[str]) -> list[User | None]:
        """Return the users with the given IDs, in the same order. The result contains None for each ID that does not
        exist.
        """
        items = self.base.connection.run(reads.users_by_id(user_ids))
        return [None if item is None else user_of(item) for item in items]

    def with_bookings(self, person: Person) -> UserWithBookings:
        """Return the caller's profile with all their bookings, using a single query."""
        items = self.base.connection.all(reads.user_with_bookings(person.actor.user_id))
        users = [item for item in items if isinstance(item, UserItem)]
        bookings = tuple(item for item in items if isinstance(item, UserBookingItem))
        return UserWithBookings(user_of(users[0]) if users else self._create_user(person), bookings)

    def notifications(self, person: Person, limit: int, cursor: str | None) -> ResultPage[NotificationItem]:
        """Return a page of the emails that were sent to the caller about their bookings, newest first."""
        call = reads.notifications_of_user(person.actor.user_id)
        return self.base.read_page(call, lambda item: item, limit, cursor)

    def _create_user(self, person: Person) -> User:
        user = self._new_user(person)
        call = writes.create_user(user_item(user, 0))
        try:
            self._with_released_address(lambda: write(self.base.connection, call))
        except Exception as error:
            # A concurrent request with the same token was faster, so the profile exists now.
            if isinstance(error.__cause__, AlreadyExistsError) and (existing := self.find(user.user_id)) is not None:
                return existing
            raise
        return user

    def _new_user(self, person: Person) -> User:
        if person.email is None:
            raise InvalidRequestError("The token has no email address, and a profile needs one.", {"field": "email"})
        if not person.email_is_verified:
            raise InvalidRequestError("The email address of the token is not verified yet.", {"field": "email"})
        try:
            user = User(
                user_id=person.actor.user_id,
                email=normalise_email(person.email),
                name=_profile_name(person.name, person.email),
                created_at=utc_datetime(self.base.clock.now()),
                phone=self._token_phone(person),
                role=person.actor.role,
                email_verified_at=self.base.now(),
            )
            user_item(user, 0)
        except (ValueError, ValidationError) as error:
            raise InvalidRequestError("The token's claims are not valid for a profile.", {"field": "token"}) from error
        return user

    def _token_phone(self, person: Person) -> str | None:
        """Return the telephone number in the token, or None if it is missing or invalid. A profile does not require a
        telephone number.
        """
        if person.phone is None:
            return None
        try:
            return normalise_phone(person.phone, self.base.venue.country)
        except ValueError:
            return None


def _normalise_address(text: str) -> str:
    """Return an email address in normalized form. Raises InvalidRequestError if it is invalid."""
    try:
        return normalise_email(text)
    except ValueError as error:
        raise InvalidRequestError(f"Invalid input: email, {error}.", {"field": "email"}) from error


def _profile_name(name: str | None, email: str) -> str:
    """Return the user's name, or the email address if no name is given. Raises ValueError for a name with
    line breaks.
    """
    return single_line((name or "").strip() or email)[:_NAME_CHARACTERS]
