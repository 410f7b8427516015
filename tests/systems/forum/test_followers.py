"""Follows and notifications: recipients, retention, and applying openings and closings in order."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import delete
from tests.systems.forum.live import ANN, BEN, TEACHER, TUTOR, Live

from keyplan import Inserted
from keyplan_systems.forum import sample
from keyplan_systems.forum.domain import Status, ThreadKey, ThreadUpdate
from keyplan_systems.forum.entities import Event, EventType, Place
from keyplan_systems.forum.event_log import EventLog
from keyplan_systems.forum.followers import Followers
from keyplan_systems.forum.relational.models import ItemPermissionRow
from keyplan_systems.forum.tokens import ThreadRights

DAY = 24 * 3600
PLACE = Place(ANN, sample.LOOPS)


def follows(live: Live) -> dict[str, int | None]:
    """Return, by user, when the stored follow expires, in seconds since 1970; expired ones too."""
    items = live.call("Scan", {"TableName": "forum", "ConsistentRead": True})["Items"]
    follow_items = [item for item in items if item["PK"]["S"] == f"THREADFOLLOW#{ANN}#{sample.LOOPS}"]
    return {item["user_id"]["S"]: int(item["ttl"]["N"]) if "ttl" in item else None for item in follow_items}


def shut(live: Live) -> None:
    live.service.update(ANN, sample.THREAD, ThreadUpdate(Status.CLOSED))
    live.service.transfer_log()


def reopen(live: Live) -> None:
    live.service.update(ANN, sample.THREAD, ThreadUpdate(Status.WAITING_FOR_TRAINER, sample.TUTORS))
    live.service.transfer_log()


def status_event(kind: EventType, seq: int) -> Event:
    return Event(participant_id=ANN, item_id=sample.LOOPS, at_ms=1, seq=seq, event_id=f"s{seq}", type=kind, user_id=ANN)


def notified_texts(live: Live, user_id: str) -> list[str]:
    with live.notifier() as runner:
        runner.run_once()
    return [notification.excerpt for notification in live.service.followers.notifications(user_id, 100, None)]


def test_closing_ends_follows_in_two_weeks_and_opening_keeps_them(live: Live) -> None:
    live.service.followers.follow(PLACE, BEN)
    assert follows(live) == {ANN: None, BEN: None}
    before_s = int(live.clock.now())
    shut(live)
    after_s = int(live.clock.now())
    assert set(follows(live)) == {ANN, BEN}
    expires = [end_s for end_s in follows(live).values() if end_s is not None]
    assert len(expires) == 2
    assert all(before_s + 14 * DAY <= end_s <= after_s + 14 * DAY for end_s in expires)
    reopen(live)
    assert follows(live) == {ANN: None, BEN: None}


def test_an_expired_follow_does_not_count_even_if_it_is_still_stored(live: Live) -> None:
    live.service.followers.follow(PLACE, BEN)
    shut(live)
    live.clock.advance(14 * DAY + 1)
    assert set(follows(live)) == {ANN, BEN}
    assert not live.service.followers.is_following(PLACE, BEN)
    reopen(live)
    assert follows(live)[ANN] is None
    assert not live.service.followers.is_following(PLACE, BEN)


def test_a_user_who_opens_a_thread_for_another_follows_too(live: Live) -> None:
    shut(live)
    update = ThreadUpdate(Status.WAITING_FOR_PARTICIPANT, sample.TUTORS)
    live.service.update(TEACHER, sample.THREAD, update)
    live.service.transfer_log()
    assert set(follows(live)) == {ANN, TEACHER}


def test_a_participant_follows_a_thread_opened_by_another_user(live: Live) -> None:
    key = ThreadKey(sample.LISTS, BEN)
    live.service.update(TEACHER, key, ThreadUpdate(Status.WAITING_FOR_PARTICIPANT, sample.TUTORS))
    live.service.transfer_log()
    assert all(live.service.followers.is_following(Place(BEN, sample.LISTS), user_id) for user_id in (BEN, TEACHER))


def test_closing_adds_no_followers(live: Live) -> None:
    live.service.followers.unfollow(PLACE, ANN)
    shut(live)
    assert follows(live) == {}


def test_a_late_or_repeated_status_change_does_not_undo_a_later_one(live: Live) -> None:
    followers = live.service.followers
    followers.follow(PLACE, BEN)
    followers.apply_status_change(status_event(EventType.THREAD_CLOSED, 90), [])
    followers.apply_status_change(status_event(EventType.THREAD_OPENED, 91), [ANN])
    for late in (90, 91, 90):
        kind = EventType.THREAD_CLOSED if late == 90 else EventType.THREAD_OPENED
        followers.apply_status_change(status_event(kind, late), [ANN])
    assert follows(live) == {ANN: None, BEN: None}
    followers.apply_status_change(status_event(EventType.THREAD_CLOSED, 92), [])
    followers.apply_status_change(status_event(EventType.THREAD_OPENED, 91), [ANN])
    assert None not in follows(live).values()


def test_closing_ends_the_follows_of_more_followers_than_a_transaction_accepts(live: Live) -> None:
    for number in range(150):
        live.service.followers.follow(PLACE, str(5000 + number))
    shut(live)
    assert len(follows(live)) == 151
    assert None not in follows(live).values()


def test_a_watcher_is_not_notified_and_a_user_who_left_is(live: Live) -> None:
    live.service.followers.follow(PLACE, TUTOR)

    async def story() -> None:
        async with live.socket(ANN) as ann, live.socket(TUTOR) as tutor:
            await ann.watch(live.token(ANN))
            live.writer(TEACHER).write("while ann watches")
            assert (await ann.receive())["text"] == "while ann watches"
            with live.notifier() as runner:
                runner.run_once()
            pushed = [await tutor.receive() for _ in range(2)]
            assert {message["action"] for message in pushed} == {"forum.notification.new"}
            assert pushed[-1]["excerpt"] == "while ann watches"

    asyncio.run(story())
    assert "while ann watches" not in notified_texts(live, ANN)
    assert "while ann watches" in notified_texts(live, TUTOR)


def test_a_repeated_message_is_one_notification_and_stays_read(live: Live) -> None:
    live.writer(TUTOR).write("once")
    assert notified_texts(live, ANN).count("once") == 1
    (actual_notification,) = [
        notification
        for notification in live.service.followers.notifications(ANN, 100, None)
        if notification.excerpt == "once"
    ]
    live.service.followers.set_read(
        ANN, f"{actual_notification.at_ms:013d}-{actual_notification.event_id}", is_read=True
    )
    event = live.service.log.messages(PLACE, 1, None).items[0]
    change = Inserted(new=event, sequence_number="1", event_id="1", at_s=0.0)
    live.service.notify(change)
    (again,) = [
        notification
        for notification in live.service.followers.notifications(ANN, 100, None)
        if notification.excerpt == "once"
    ]
    assert again.is_read


def test_a_notification_contains_the_start_of_a_long_message(live: Live) -> None:
    live.writer(TUTOR).write("\U0001f600" * 8_000)
    assert "\U0001f600" * 200 in notified_texts(live, ANN)


def test_notifications_are_kept_for_sixty_days(live: Live) -> None:
    live.writer(TUTOR).write("for a while")
    assert "for a while" in notified_texts(live, ANN)
    live.clock.advance(60 * DAY - 3600)
    assert "for a while" in notified_texts(live, ANN)
    live.clock.advance(3601)
    assert notified_texts(live, ANN) == []


def test_a_follower_who_may_no_longer_read_a_thread_is_not_notified(live: Live) -> None:
    for user_id in (TUTOR, BEN):
        live.service.followers.follow(PLACE, user_id)
    live.writer(TEACHER).write("for readers")
    assert "for readers" in notified_texts(live, TUTOR)
    assert notified_texts(live, BEN) == []
    with live.service.database.write() as session:
        session.execute(delete(ItemPermissionRow).where(ItemPermissionRow.group_id == sample.TUTORS))
    live.writer(TEACHER).write("not for tutors")
    assert "not for tutors" in notified_texts(live, ANN)
    assert "not for tutors" not in notified_texts(live, TUTOR)


def rights_of(user_id: str) -> ThreadRights:
    return ThreadRights(key=sample.THREAD, user_id=user_id, is_mine=False, can_watch=True, can_write=False)


def test_a_follow_of_a_closed_thread_ends_with_the_existing_ones(live: Live) -> None:
    shut(live)
    live.clock.advance(DAY)
    now_s = int(live.clock.now())
    live.service.follow(rights_of(BEN))
    end_s = follows(live)[BEN]
    assert end_s is not None
    assert now_s + 14 * DAY <= end_s <= int(live.clock.now()) + 14 * DAY
    live.clock.advance(DAY)
    live.service.follow(rights_of(BEN))
    assert follows(live)[BEN] == end_s
    reopen(live)
    assert follows(live)[BEN] is None


def test_a_follow_of_a_closed_thread_ends_even_if_only_its_first_write_succeeds(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(_log: EventLog, _place: Place) -> int:
        raise KeyboardInterrupt

    shut(live)
    monkeypatch.setattr(EventLog, "last_seq", killed)
    with pytest.raises(KeyboardInterrupt):
        live.service.follow(rights_of(BEN))
    assert follows(live)[BEN] is not None


@pytest.mark.parametrize("shut_again", [False, True], ids=["opened", "opened and closed"])
def test_a_thread_opened_before_its_new_follow_is_stored_keeps_it(
    live: Live, monkeypatch: pytest.MonkeyPatch, shut_again: bool
) -> None:
    follow = Followers.follow

    def late(followers: Followers, place: Place, user_id: str, *, expires: bool) -> None:
        reopen(live)
        follow(followers, place, user_id, expires=expires)
        if shut_again:
            shut(live)

    shut(live)
    monkeypatch.setattr(Followers, "follow", late)
    live.service.follow(rights_of(BEN))
    assert (follows(live)[BEN] is not None) == shut_again


def test_a_follow_of_an_open_thread_does_not_expire(live: Live) -> None:
    live.service.follow(rights_of(BEN))
    assert follows(live)[BEN] is None
