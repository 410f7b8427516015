"""An item expires, and what belongs to it stays

Expiry deletes one item. It knows nothing of the answers to a question or the lines of an order that are stored under
its key, in this table or another: they stay, are paid for, and are read as if they still belonged to something.

Give them an expiry too, written with them, or delete them when the stream reports that their owner expired. An optional
expiry counts: it is set where the owner expires.

What belongs to an item has all fields of its key and more, and lies in its partition, or one of these fields is called
after it (`question_id` of a Question). A presence and a profile that share a `user_id` are parts of a user both.

Source: developer guide, "Using time to live (TTL)": expiry works on single items.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.belonging import belongs, watched
from keyplan.check.expiry import always_expires, may_expire
from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP716", "expiry-leaves-parts", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Return findings for entities without expiry whose key holds the whole key of an entity that expires."""
    entities = [entity for _, entity in subject.entities]
    told = watched(subject, "expired")
    for owner in entities:
        if not always_expires(owner) or owner.name in told or not owner.key.fields:
            continue
        for part in entities:
            if part is not owner and not may_expire(part) and belongs(part, owner):
                yield Finding(
                    RULE.code,
                    "warning",
                    part.name,
                    f"each {owner.name} expires by {owner.schema.ttl}, and each {part.name} belongs to one by"
                    f" {', '.join(owner.key.fields)} and has no expiry: it stays behind for ever",
                    f"give {part.name} an expiry too, or take Expired[{owner.name}] from the stream and delete them",
                    part.place,
                    owner.place,
                )
