"""Writer killed repeatedly with SIGKILL: its items agree every time, and every letter is sent once.

The suite kills a few times; VENUE_KILLS in the environment sets another number.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from tests.systems.venue_booking.consistency import check, of_kind, text
from tests.systems.venue_booking.samples import VENUE
from tests.systems.venue_booking.stage import all_items

import keyplan
from keyplan.clock import SystemClock
from keyplan.engine.engine import Engine
from keyplan_systems.venue_booking.base import Base
from keyplan_systems.venue_booking.entities import venue
from keyplan_systems.venue_booking.mail.letters import LetterWriter, MailSettings
from keyplan_systems.venue_booking.mail.senders import FolderSender
from keyplan_systems.venue_booking.outbox import OutboxSender, letter_runner

KILLS = int(os.environ.get("VENUE_KILLS", "6"))
ROOM = MailSettings("venue@example.org", ("root@example.org",), "example.org")

WRITER = """
import random, sys, threading
from contextlib import suppress
from datetime import timedelta
import keyplan
from keyplan.clock import SystemClock
from keyplan_systems.venue_booking.domain.bookings import Action
from keyplan_systems.venue_booking.domain.refusals import RefusalError, SlotTakenError
from keyplan_systems.venue_booking.domain.users import Actor, Role
from keyplan_systems.venue_booking.domain.venue import Venue
from keyplan_systems.venue_booking.service import Service
from keyplan_systems.venue_booking.service_users import Person

connection = keyplan.connect(sys.argv[1])
service = Service.from_connection(connection, SystemClock(), Venue(letters_per_user=10_000, letters_per_address=10_000))
admin = Actor("root", Role.ADMIN)
# One more day, so that the first date is still far enough away should midnight come meanwhile.
first = service.base.venue.earliest_date(service.base.now()) + timedelta(days=1)

def work(seed):
    chance = random.Random(seed)
    while True:
        name = f"user{chance.randrange(4)}"
        contact = {"full_name": name, "email": f"{name}@example.org", "phone": "+39 333 1234567"}
        request = {"date": first + timedelta(days=chance.randrange(5)), "description": "A party", "attendees": 9,
                   "duration": chance.choice(list(service.base.venue.durations)), "contact": contact, "consent": True}
        try:
            made = service.bookings.request(Person(Actor(name), f"{name}@example.org", name), request)
        except SlotTakenError:
            # Held by another thread, or for ever by one that was killed.
            for event in service.calendar.on_date(request["date"]):
                with suppress(RefusalError):
                    service.bookings.decide(admin, event.booking_id, Action.CANCEL)
            continue
        print("made", flush=True)
        for action in chance.sample(list(Action), 3):
            try:
                service.bookings.decide(admin, made.booking_id, action)
            except RefusalError:
                pass

threads = [threading.Thread(target=work, args=(f"{sys.argv[2]}.{number}",), daemon=True) for number in range(3)]
for thread in threads:
    thread.start()
threads[0].join()
"""

POSTMAN = """
import sys
from contextlib import suppress
from pathlib import Path
import keyplan
from keyplan.clock import SystemClock
from keyplan_systems.venue_booking.base import Base
from keyplan_systems.venue_booking.domain.venue import Venue
from keyplan_systems.venue_booking.mail.letters import LetterWriter, MailSettings
from keyplan_systems.venue_booking.mail.senders import FolderSender
from keyplan_systems.venue_booking.outbox import OutboxSender, letter_runner

connection, clock, folder = keyplan.connect(sys.argv[1]), SystemClock(), Path(sys.argv[2])
base = Base(connection, clock, Venue())
room = MailSettings("venue@example.org", ("root@example.org",), "example.org")

class Told(FolderSender):
    def send(self, letter):
        sent = super().send(letter)
        print(letter.key, sent.is_first, flush=True)
        return sent

runner = letter_runner(OutboxSender(base, LetterWriter(base.venue, room), Told(folder)), folder / "failed")
runner.run_once()
"""


def start(code: str, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE)


def kill_after(process: subprocess.Popen[bytes], lines: int, wait_s: float) -> None:
    """Kill the process shortly after it has printed this number of lines; do nothing if it ended by itself."""
    assert process.stdout is not None
    for _ in range(lines):
        if not process.stdout.readline():
            break
    with suppress(subprocess.TimeoutExpired):
        process.wait(wait_s)  # so that the kill happens at any step
    process.kill()
    process.stdout.close()
    process.wait(30)


def test_status_counters_slots_and_letters_agree_after_every_kill(tmp_path: Path) -> None:
    database, chance = str(tmp_path / "venue.db"), random.Random(11)
    with keyplan.connect(database) as connection:
        connection.create_tables(venue)
    before = 0
    for number in range(KILLS):
        writer = start(WRITER, database, str(number))
        kill_after(writer, chance.randrange(3, 12), chance.random() / 50)
        assert writer.returncode == -9
        with Engine.open(database) as engine:
            state = check(engine)
        assert state > before
        before = state


def test_a_repeatedly_killed_postman_sends_every_letter_once(tmp_path: Path) -> None:
    database, letters, chance = str(tmp_path / "venue.db"), tmp_path / "letters", random.Random(5)
    with keyplan.connect(database) as connection:
        connection.create_tables(venue)
    kill_after(start(WRITER, database, "letters"), 14, 0.0)
    for _ in range(KILLS):
        kill_after(start(POSTMAN, database, str(letters)), chance.randrange(1, 5), chance.random() / 100)
    clock = _Later()
    with keyplan.connect(database, clock=clock) as connection:
        base = Base(connection, clock, VENUE)
        outbox_sender = OutboxSender(base, LetterWriter(VENUE, ROOM), FolderSender(letters))
        with letter_runner(outbox_sender, tmp_path / "failed") as runner:
            runner.run_once()
    with Engine.open(database) as engine:
        items = all_items(engine)
        outbox = of_kind(items, "Outbox")
        assert all("sentAt" in letter for letter in outbox)
        result = [letter for letter in outbox if not text(letter, "kind").startswith("admin_")]
        assert len(of_kind(items, "Notification")) == len(result) > 10
    assert len(list(letters.glob("*.eml"))) == len(outbox)


class _Later(SystemClock):
    """Clock after the expiry of every lease of a killed process."""

    def now(self) -> float:
        return super().now() + 3_600
