"""Registers users' devices, and identifies users by the tokens of their devices."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from keyplan.client.errors import AlreadyExistsError, ConditionFailedError, NotFoundError, TransactionFailedError
from keyplan_systems.ask_a_human import design_push
from keyplan_systems.ask_a_human.base import ATTEMPTS, TRANSIENT, Base, BusyError
from keyplan_systems.ask_a_human.domain import credentials
from keyplan_systems.ask_a_human.domain.timestamps import iso
from keyplan_systems.ask_a_human.entities import Device, FingerprintOwner


@dataclass(frozen=True)
class Identity:
    """The user who sent a request, identified by hashes.

    A question can be answered only once per fingerprint, regardless of the device. `person` identifies the user's
    record and rate limit counters. For the first device that used a fingerprint, `person` is the fingerprint's hash.
    Every other device has a separate `person`.
    """

    fingerprint: str
    person: str
    device: str | None = None
    """Hash of the device's token, or None for a call within this process, which does not need a token."""


class Devices:
    """Registers and authenticates devices. Instances are thread-safe."""

    def __init__(self, base: Base) -> None:
        self._base, self._connection = base, base.connection

    def register(self, fingerprint: str) -> str:
        """Register a device with a fingerprint and return the device's token. The first request that contains the token
        assigns a user to the device.
        """
        token = credentials.new_secret("device")
        device = Device(
            token_hash=credentials.secret_hash(token),
            fingerprint=fingerprint,
            registered_at=iso(self._base.now_ms),
        )
        self._base.write(design_push.add_device(device))
        return token

    def identify(self, token: str) -> Identity | None:
        """Return the identity of the user whose device has the token, or None if the token is unknown.

        The device is looked up by the hash of the token, so response times do not reveal parts of the token.
        """
        token_hash = credentials.secret_hash(token)
        for attempt in range(ATTEMPTS):
            device = self._connection.run(design_push.device_by_token(token_hash))
            if device is None:
                return None
            if device.person is not None:
                return Identity(device.fingerprint, device.person, token_hash)
            self._set_person(device)
            self._base.back_off(attempt)
        raise BusyError("too many concurrent requests from a new device: try again")

    def _set_person(self, device: Device) -> None:
        """Assign a user to a device, unless a concurrent request has already done so."""
        owner = FingerprintOwner(fingerprint=device.fingerprint, device=device.token_hash)
        try:
            self._connection.run(design_push.claim_fingerprint(owner, device.token_hash, device.fingerprint))
        except TransactionFailedError as error:
            reasons = [reason for reason in error.reasons if reason is not None]
            if not all(isinstance(reason, (*_STALE, *TRANSIENT)) for reason in reasons):
                raise
            if isinstance(error.reasons[0], AlreadyExistsError):
                self._set_derived_person(device)

    def _set_derived_person(self, device: Device) -> None:
        person = hashlib.sha256(f"{device.fingerprint}#{device.token_hash}".encode()).hexdigest()
        try:
            self._base.write(design_push.set_person(device.token_hash, person))
        except (*_STALE, *TRANSIENT):
            return


_STALE = (AlreadyExistsError, ConditionFailedError, NotFoundError)
