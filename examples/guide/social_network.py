"""A social network, from the data modeling examples of the DynamoDB developer guide.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/data-modeling-schema-social-network.html

Users follow each other, write posts and like them. Each relation of a user or a post is a partition. A post is added to
the timelines of the author's followers when it is written. The seven reads are in the order of the guide's table, and
each docstring starts with the guide's name. The writes are those that the guide's text describes.

Differences from the guide:

* An entry in the follower list and the corresponding entry in the following list are two parameters of `follow`,
  because a pattern cannot create one entity from the fields of another.
* An ID must not contain `#`, which separates the parts of the keys.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from keyplan import (
    TTL,
    Attribute,
    Bytes,
    Distinct,
    Entity,
    ItemKey,
    ItemWrite,
    KeyCondition,
    Rate,
    Table,
    Volume,
    WriteCall,
    item,
    key,
    pk,
    transaction,
)

Id = Annotated[str, Field(min_length=1, max_length=64, pattern="^[^#]+$")]

network = Table(
    "SocialNetwork",
    pk="PK",
    sk="SK",
    ttl=TTL("ttl", means="old entries leave the timeline"),
    point_in_time_recovery=True,
    deletion_protection=True,
)


@network.entity(
    key=key("u#{user_id}", "info"), volume=Volume(count=1_000_000, bytes=Bytes(500)), store_key_fields=False
)
class UserInfo(Entity):
    user_id: Id
    name: str
    content: str = ""
    image_url: Annotated[str, Attribute("imageUrl")] = ""


@network.entity(
    key=key("u#{user_id}", "count"), volume=Volume(count=1_000_000, bytes=Bytes(80)), store_key_fields=False
)
class UserCount(Entity):
    user_id: Id
    followers: Annotated[int, Attribute("follower#")] = 0
    following: Annotated[int, Attribute("following#")] = 0
    posts: Annotated[int, Attribute("post#")] = 0


@network.entity(
    key=key("u#{user_id}#follower", "u#{follower_id}"),
    volume=Volume(
        count=50_000_000, bytes=Bytes(60), distinct={"user_id": Distinct(1_000_000), "follower_id": 1_000_000}
    ),
    store_key_fields=False,
)
class Follower(Entity):
    user_id: Id
    follower_id: Id


@network.entity(
    key=key("u#{user_id}#following", "u#{following_id}"),
    volume=Volume(count=50_000_000, bytes=Bytes(60), distinct={"user_id": 1_000_000, "following_id": 1_000_000}),
    store_key_fields=False,
)
class Following(Entity):
    user_id: Id
    following_id: Id


@network.entity(
    key=key("u#{user_id}#post", "p#{post_id}"),
    volume=Volume(count=20_000_000, bytes=Bytes(600), distinct={"user_id": 1_000_000}),
    store_key_fields=False,
)
class Post(Entity):
    user_id: Id
    post_id: Id
    content: str
    image_url: Annotated[str, Attribute("imageUrl")] = ""
    timestamp: Annotated[datetime, Attribute(stored="epoch_s")]


@network.entity(
    key=key("p#{post_id}#likelist", "u#{user_id}"),
    volume=Volume(count=100_000_000, bytes=Bytes(60), distinct={"post_id": Distinct(20_000_000), "user_id": 1_000_000}),
    store_key_fields=False,
)
class Like(Entity):
    post_id: Id
    user_id: Id


@network.entity(
    key=key("p#{post_id}#likecount", "count"),
    volume=Volume(count=20_000_000, bytes=Bytes(60)),
    store_key_fields=False,
)
class LikeCount(Entity):
    post_id: Id
    count: int = 0


@network.entity(
    key=key("u#{user_id}#timeline", "p#{post_id}#u#{author_id}"),
    volume=Volume(count=100_000_000, bytes=Bytes(90), distinct={"user_id": 1_000_000, "post_id": 20_000_000}),
    store_key_fields=False,
)
class TimelineEntry(Entity):
    user_id: Id
    post_id: Id
    author_id: Id
    ttl: datetime


@network.query(UserInfo, UserCount, rate=Rate(average=500, peak=2_000))
def user_info(user_id: Id) -> KeyCondition:
    """getUserInfoByUserID: get a user's profile and counters."""
    return pk(user_id=user_id)


@network.query(Follower, page_size=100, rate=Rate(average=50, peak=200))
def followers(user_id: Id) -> KeyCondition:
    """getFollowerListByUserID: list the users who follow a user."""
    return pk(user_id=user_id)


@network.query(Following, page_size=100, rate=Rate(average=50, peak=200))
def following(user_id: Id) -> KeyCondition:
    """getFollowingListByUserID: list the users that a user follows."""
    return pk(user_id=user_id)


@network.query(Post, descending=True, ordered_by="-post_id", page_size=20, rate=Rate(average=100, peak=500))
def posts(user_id: Id) -> KeyCondition:
    """getPostListByUserID: list a user's posts, newest first."""
    return pk(user_id=user_id)


@network.query(Like, page_size=100, rate=Rate(average=20, peak=100))
def likes(post_id: Id) -> KeyCondition:
    """getUserLikesByPostID: list the users who like a post."""
    return pk(post_id=post_id)


@network.get(LikeCount, rate=Rate(average=500, peak=2_000))
def like_count(post_id: Id) -> ItemKey:
    """getLikeCountByPostID: get the number of likes of a post."""
    return item(post_id=post_id)


@network.query(TimelineEntry, descending=True, ordered_by="-post_id", page_size=20, rate=Rate(average=500, peak=2_000))
def timeline(user_id: Id) -> KeyCondition:
    """getTimelineByUserID: list the newest posts by the users that a user follows."""
    return pk(user_id=user_id)


@network.create(UserInfo)
def add_user_info(info: UserInfo) -> ItemWrite:
    """Store the profile of a new user."""
    return item(info)


@network.create(UserCount)
def add_user_count(count: UserCount) -> ItemWrite:
    """Store the counters of a new user."""
    return item(count)


@transaction(rate=Rate(average=1))
def sign_up(info: UserInfo, count: UserCount) -> list[WriteCall[UserInfo] | WriteCall[UserCount]]:
    """Store the profile and the counters of a new user."""
    return [add_user_info(info), add_user_count(count)]


@network.create(Follower)
def add_follower(follower: Follower) -> ItemWrite:
    """Add an entry to a user's follower list."""
    return item(follower)


@network.create(Following)
def add_following(following: Following) -> ItemWrite:
    """Add an entry to a user's following list."""
    return item(following)


@network.update(UserCount)
def count_follower(user_id: Id) -> ItemWrite:
    """Increment the number of a user's followers."""
    return item(user_id=user_id).add(followers=1)


@network.update(UserCount)
def count_following(user_id: Id) -> ItemWrite:
    """Increment the number of users that a user follows."""
    return item(user_id=user_id).add(following=1)


@transaction(rate=Rate(average=20, peak=100))
def follow(
    follower: Follower, following: Following
) -> list[WriteCall[Follower] | WriteCall[Following] | WriteCall[UserCount]]:
    """Follow another user: update both lists and both counters in one transaction."""
    return [
        add_follower(follower),
        add_following(following),
        count_follower(follower.user_id),
        count_following(following.user_id),
    ]


@network.create(Post)
def add_post(post: Post) -> ItemWrite:
    """Store a new post."""
    return item(post)


@network.create(LikeCount)
def add_like_count(count: LikeCount) -> ItemWrite:
    """Store the like count of a new post."""
    return item(count)


@network.update(UserCount)
def count_post(user_id: Id) -> ItemWrite:
    """Increment the number of a user's posts."""
    return item(user_id=user_id).add(posts=1)


@transaction(rate=Rate(average=5, peak=30))
def publish(post: Post, count: LikeCount) -> list[WriteCall[Post] | WriteCall[LikeCount] | WriteCall[UserCount]]:
    """Store a post and its like count, and increment the author's number of posts."""
    return [add_post(post), add_like_count(count), count_post(post.user_id)]


@network.batch_put(TimelineEntry, rate=Rate(average=5, peak=30), expected_items=50)
def deliver(entries: list[TimelineEntry]) -> ItemWrite:
    """Add a post to the timelines of the author's followers."""
    return item(entries)


@network.create(Like)
def add_like(like: Like) -> ItemWrite:
    """Add an entry to a post's like list."""
    return item(like)


@network.update(LikeCount)
def count_like(post_id: Id) -> ItemWrite:
    """Increment the number of likes of a post."""
    return item(post_id=post_id).add(count=1)


@transaction(rate=Rate(average=100, peak=300))
def like(new: Like) -> list[WriteCall[Like] | WriteCall[LikeCount]]:
    """Like a post, once per user."""
    return [add_like(new), count_like(new.post_id)]
