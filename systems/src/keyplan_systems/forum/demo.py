"""The part of the demo that shows the forum: the tutor watches Ann's thread and receives a message that Ann writes."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import httpx
import orjson
import websockets

from keyplan_systems.forum.sample import ANN, BEN, LOOPS, TUTOR
from keyplan_systems.web.system import DemoStage, json_of
from keyplan_systems.web.tour import Tour

_WAIT_S = 20.0


def play(stage: DemoStage) -> None:
    """Run the forum part of the demo.

    Raises httpx.HTTPError if a request fails, and TimeoutError if the tutor does not receive the message.
    """
    thread = f"/items/{LOOPS}/participant/{ANN}/thread"
    with stage.client(ANN) as ann, stage.client(TUTOR) as tutor, stage.client(BEN) as ben:
        tokens = [json_of(client.get(thread))["token"] for client in (ann, tutor)]
        stage.say(f"ben, from the same class, may not read ann's thread: {ben.get(thread).status_code}")
        pushed = asyncio.run(_watch(stage, ann, tokens[0], tokens[1]))
        stage.say(f"the tutor's WebSocket receives it, as number {pushed['seq']} of the thread: {pushed['text']}")
        path = f"/thread/{LOOPS}/{ANN}/messages"
        messages = json_of(ann.get(path, headers=_of_thread(tokens[0])))
        stage.say(f"the newest page of the thread has {len(next(iter(messages.values())))} message(s)")
    stage.link(f"threads/{LOOPS}/{ANN}", "Ann or Tom")


def show(tour: Tour) -> None:
    """Run the forum part of the demo in a browser: Ann and the tutor write to each other in two windows."""
    path = f"app/threads/{LOOPS}/{ANN}"
    ann, tutor = tour.open(ANN, path), tour.open(TUTOR, path)
    for actor in (ann, tutor):
        actor.page.locator("body[data-connection=live]").wait_for()
    tour.say(ann, "Ann asks about her loop; Tom, the tutor, has the same thread open")
    question, answer = (
        f"{text} ({uuid.uuid4().hex[:4]})" for text in ("Where is the mistake?", "Look at the condition.")
    )
    ann.write(ann.page.get_by_label("Message"), question)
    ann.click(ann.page.get_by_role("button", name="Send"))
    tutor.see(tutor.page.locator(".message", has_text=question))
    tour.say(tutor, "Her message appears in his window at once. He answers")
    tutor.write(tutor.page.get_by_label("Message"), answer)
    tutor.click(tutor.page.get_by_role("button", name="Send"))
    ann.see(ann.page.locator(".message", has_text=answer))
    tour.say(ann, "The thread is marked as answered in both windows")
    ann.see(ann.page.locator("#state").get_by_text("Answered", exact=True))


async def _watch(stage: DemoStage, ann: httpx.Client, her_token: str, his_token: str) -> dict[str, Any]:
    """Subscribe to the thread as the tutor, write a message as Ann, and return the message that the tutor receives."""
    address = stage.url.replace("http", "ws", 1) + f"/ws?token={stage.token(TUTOR)}"
    text = f"It ends now, thank you! ({uuid.uuid4().hex[:4]})"
    async with asyncio.timeout(_WAIT_S), websockets.connect(address) as socket:
        await socket.send(orjson.dumps({"action": "forum.subscribe", "token": his_token}).decode())
        await socket.recv()
        await asyncio.to_thread(_write, ann, her_token, text)
        stage.say("ann writes")
        while True:
            message: dict[str, Any] = orjson.loads(await socket.recv())
            if message.get("text") == text:
                return message


def _write(ann: httpx.Client, token: str, text: str) -> None:
    body = {"text": text, "uuid": str(uuid.uuid4())}
    ann.post(f"/thread/{LOOPS}/{ANN}/messages", json=body, headers=_of_thread(token)).raise_for_status()


def _of_thread(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}
