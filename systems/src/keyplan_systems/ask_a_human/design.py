"""The design of Ask-a-Human: four tables, their access patterns and their load.

Tables, attributes and indexes have the names from a published design document. `TRACE.md` lists the requirements in
this document. The design differs from the document in these points:

* The deadline `expires_at` and the time to live `ttl` are two attributes. With a single attribute, a closed question
  would be deleted at its original deadline, and an expired question before its agent has read it. Responses also have a
  `ttl`, because deletes do not cascade.
* The status EXPIRED is computed when a question is read. A sweep stores it later, because TTL only deletes items and
  does not change a status.
* `ByStatus` has the sparse partition key `feed_pk` with eight shards. The attribute exists while a question accepts
  answers. With `status` as the key, OPEN and PARTIAL would be two lists, and all open questions would be in one
  partition.
* `ByNeed` lists the same questions for the web pages, sorted by the percentage of required answers received, lowest
  first. `need` changes with each answer. Each change deletes an index entry and writes a new one, but a page reads only
  the questions that it shows.
* `response_id` is derived from the question and the fingerprint, so that the primary key prevents a second answer. An
  index cannot enforce this. A response also contains the hash of its device's token, and the reply, which is returned
  again if the request is retried.
* `ByLastNotified` has the keys `notify_pk` and `next_eligible_at`. `notify_pk` exists while a subscription is active: a
  Boolean cannot be a key, and an attribute that always exists does not make an index sparse. `next_eligible_at` is
  needed because each user has a different notification interval.
* `ByTotalPoints` contains one row per user and leaderboard (day, week, all time), in eight shards of the key
  `_leaderboard`. The rows are sorted by `place`, which also breaks ties. The rows are separate from the users' records,
  so that one index contains all leaderboards, and other changes to a record do not rewrite index entries.
* `badges` is a map from badge ID to timestamp. `daily_points`, the counters for badges and a version are added to a
  user's record. The points for an answer depend on this record, so the transaction requires that it is unchanged since
  it was read.
* A response, the question's count and status, the user's record and leaderboard rows, and the flags for suspicious
  answers are written in one transaction. The histograms, from which ranks are computed, are updated from the table's
  stream. If each transaction wrote the same eight histograms, all answers would conflict.
* Items that the document requires without naming a table are stored with related items. Idempotency keys, agents
  (hashes of their secrets, number of open questions) and worker tasks are stored with questions. Flags and request
  counters are stored with responses, because the document's limits count responses. Devices, records of notifications
  and push retries are stored with subscriptions.
"""

from __future__ import annotations

from keyplan import Claim, suppress
from keyplan_systems.ask_a_human.design_people import answer_question
from keyplan_systems.ask_a_human.design_push import claim, claim_fingerprint
from keyplan_systems.ask_a_human.design_questions import ask, expire, give_back
from keyplan_systems.ask_a_human.entities import questions, responses, subscriptions, user_stats

__all__ = [
    "answer_question", "ask", "claim", "claim_fingerprint", "claims", "expire", "give_back", "questions",
    "responses", "subscriptions", "suppressed", "user_stats",
]  # fmt: skip

claims = [
    Claim("the document asks for four clear and simple tables", "consequences"),
]

suppressed = [
    *(
        suppress(
            "KP303",
            on=name,
            reason="a page reads eight shards; the filter only removes questions that the sweep has not expired yet",
        )
        for name in ("open_questions", "open_questions_for", "needy_questions", "needy_questions_for")
    ),
    suppress("KP309", on="eligible_for_notification", reason="a uniform sample requires reading all eligible people"),
    suppress("KP316", on="mark_seen", reason="a consumer writes a marker for each change of a leaderboard row"),
    suppress(
        "KP405",
        on="claim",
        reason="the write claims a notified person by moving the person out of the range of eligible people",
    ),
    suppress(
        "KP405",
        on="answer_question",
        reason="each answer moves its question in the list of questions that need answers",
    ),
    suppress(
        "KP412", on="answer_question", reason="an agent's list shows the status and the answer count of each question"
    ),
    suppress("KP608", on="review_flag", reason="a reviewer may change a decision: the later decision wins"),
    suppress("KP712", on="count_places", reason="three of four writes are not rows: records and histograms"),
]
