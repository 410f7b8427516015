"""The README documents the websocket's protocol."""

from __future__ import annotations

import json
import re

from tests.systems.readme_parts import readme_of

from keyplan_systems.forum.sockets import _parse_action
from keyplan_systems.forum.wire import ACTIONS


def test_the_actions_in_the_readme_are_accepted_and_every_pushed_action_is_listed() -> None:
    text = readme_of("forum").read_text("utf-8")
    matches = re.findall(r"^\| `(\{.*?\})` \|", text, re.MULTILINE)
    assert len(matches) == 3
    for action in matches:
        result = json.loads(action)
        if "item_id" in result:
            result |= {"item_id": "1", "participant_id": "2"}
        assert _parse_action(json.dumps(result)).action == result["action"]
    for action in (*ACTIONS.values(), "forum.notification.new"):
        assert f"`{action}`" in text
