"""The design of Ask-a-Human: four tables, their access patterns and their load.

Tables, attributes and indexes have the documented names. The differences are:

* The deadline `expires_at` and the time to live `ttl` are two attributes. With a single attribute, a closed question
  would be deleted at its old deadline, and an expired question before its agent has read it. Responses also have a
  `ttl`, because deletes do not cascade.
* EXPIRED is computed when a question is read, and stored by a sweep, because TTL deletes items and never sets a status.
* `ByStatus` has the sparse partition key `feed_pk` in eight shards, which exists while a question accepts answers. With
  `status` as the key, OPEN and PARTIAL would be two lists, and all open questions would be in one partition.
* `ByNeed` lists the same questions for the pages, sorted by their share of answers, smallest first. `need` changes with
  each answer, which deletes and writes an index entry, but a page reads only the questions that it shows.
* `response_id` is derived from question and fingerprint, so that the primary key prevents a second answer, which an
  index cannot do. A response also contains the hash of its device's token, and the reply, which a retry gets again.
* `ByLastNotified` has the keys `notify_pk` and `next_eligible_at`. `notify_pk` exists while a subscription is active: a
  Boolean cannot be a key, and an attribute that always exists does not make an index sparse. `next_eligible_at` is
  needed because each user has a separate interval.
* `ByTotalPoints` contains one row per user and board (day, week, all time), in eight shards of the key `_leaderboard`.
  The rows are sorted by `place`, which also breaks ties. They are separate from the users' records, so that one index
  contains all boards, and other changes of a record do not rewrite an index.
* `badges` is a map of ID to timestamp. `daily_points`, the counters of badges and a version are added. The points of an
  answer depend on the record, which must be unchanged since it was read.
* A response, the question's count and status, the user's record, its rows, and flags are written in one transaction.
  The histograms for the ranks are updated from the table's stream, because all answers would conflict if each
  transaction wrote the same eight items.
* Records that the documents require without naming a table are stored with related items. Idempotency keys, agents
  (hashes of their secrets, open questions) and worker errands are stored with questions. Flags and request counters are
  stored with responses, which the document counts for its limits. Devices, notices and retries are stored with
  subscriptions.
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
    suppress("KP309", on="eligible_for_notification", reason="a uniform sample of all eligible people reads them all"),
    suppress("KP316", on="mark_seen", reason="a mark is written whenever a person moves"),
    suppress(
        "KP405", on="claim", reason="a notified person leaves the range of the eligible, which makes the write a claim"
    ),
    suppress("KP405", on="answer_question", reason="each answer moves its question in the list of what needs answers"),
    suppress("KP412", on="answer_question", reason="an agent's list shows status and count of each question"),
    suppress("KP608", on="review_flag", reason="a reviewer may change a decision: the later decision wins"),
    suppress("KP712", on="count_places", reason="three of four writes are not rows: records and histograms"),
]
