"""The access patterns of the guide's social network, on the guide's sample users."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from examples.guide.social_network import (
    Follower,
    Following,
    Like,
    LikeCount,
    Post,
    TimelineEntry,
    UserCount,
    UserInfo,
)

from examples.guide import social_network as guide
from keyplan.client.connection import Connection
from keyplan.client.errors import TransactionFailedError

USERS = ("12345", "34567", "56789")
POSTS = [
    Post(
        user_id="56789",
        post_id=f"01H{number}",
        content=f"Post {number}",
        timestamp=datetime(2023, 5, number, tzinfo=UTC),
    )
    for number in (1, 2, 3)
]
ENDS = datetime(2024, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def lively(db: Connection) -> None:
    """Three users: 34567 and 12345 follow 56789, whose three posts are in their timelines."""
    for user in USERS:
        db.run(guide.sign_up(UserInfo(user_id=user, name=f"User {user}"), UserCount(user_id=user)))
    for user in ("34567", "12345"):
        db.run(
            guide.follow(
                Follower(user_id="56789", follower_id=user),
                Following(user_id=user, following_id="56789"),
            )
        )
    for post in POSTS:
        db.run(guide.publish(post, LikeCount(post_id=post.post_id)))
        followers = db.run(guide.followers(post.user_id))
        db.run(
            guide.deliver(
                [
                    TimelineEntry(user_id=follower.follower_id, post_id=post.post_id, author_id=post.user_id, ttl=ENDS)
                    for follower in followers
                ]
            )
        )
    for user in ("34567", "12345"):
        db.run(guide.like(Like(post_id="01H2", user_id=user)))


def test_the_keys_match_the_guide(stored: Callable[..., list[dict[str, Any]]]) -> None:
    keys = {(item["PK"], item["SK"]) for item in stored(guide.network)}
    assert keys > {
        ("u#12345", "count"),
        ("u#12345", "info"),
        ("u#56789#follower", "u#12345"),
        ("u#12345#following", "u#56789"),
        ("u#56789#post", "p#01H1"),
        ("p#01H2#likelist", "u#34567"),
        ("p#01H2#likecount", "count"),
        ("u#12345#timeline", "p#01H3#u#56789"),
    }


def test_1_a_users_profile_and_counts_are_one_query(
    db: Connection, stored: Callable[..., list[dict[str, Any]]]
) -> None:
    count, info = db.run(guide.user_info("56789"))
    assert count == UserCount(user_id="56789", followers=2, following=0, posts=3)
    assert info == UserInfo(user_id="56789", name="User 56789")
    (item,) = (item for item in stored(guide.network) if (item["PK"], item["SK"]) == ("u#56789", "count"))
    assert (item["follower#"], item["following#"], item["post#"]) == ("2", "0", "3")


def test_2_followers_are_listed(db: Connection) -> None:
    assert [follow.follower_id for follow in db.run(guide.followers("56789"))] == ["12345", "34567"]


def test_3_followed_users_are_listed(db: Connection) -> None:
    assert [follow.following_id for follow in db.run(guide.following("12345"))] == ["56789"]


def test_4_posts_come_newest_first(db: Connection) -> None:
    assert db.run(guide.posts("56789")).items == tuple(reversed(POSTS))


def test_5_the_users_who_like_a_post_are_listed(db: Connection) -> None:
    assert [like.user_id for like in db.run(guide.likes("01H2"))] == ["12345", "34567"]
    assert not db.run(guide.likes("01H1")).items


def test_6_likes_are_counted_once_for_each_user(db: Connection) -> None:
    with pytest.raises(TransactionFailedError):
        db.run(guide.like(Like(post_id="01H2", user_id="34567")))
    assert db.run(guide.like_count("01H2")) == LikeCount(post_id="01H2", count=2)


def test_7_a_timeline_has_the_posts_of_followed_users_newest_first(db: Connection) -> None:
    assert [entry.post_id for entry in db.run(guide.timeline("34567"))] == ["01H3", "01H2", "01H1"]
    assert not db.run(guide.timeline("56789")).items
