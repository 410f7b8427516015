// Timeline of a thread: events as they arrive, each once and in the order of their time, messages that are sent again
// after a lost connection, and the part of the page with the status and the watchers.
(() => {
  "use strict";
  const timeline = document.getElementById("timeline");
  if (!timeline || !window.forum) return;
  const { item, participant, me } = timeline.dataset;
  const names = JSON.parse(timeline.dataset.names), notes = JSON.parse(timeline.dataset.notes);
  const path = `app/threads/${item}/${participant}`;
  const composer = document.getElementById("composer"), jump = document.getElementById("jump");
  const stored = `forum ${me} ${item} ${participant}`;
  let last = Number(timeline.dataset.since);

  const seen = new Set([...timeline.querySelectorAll("[data-seq]")].map((entry) => entry.dataset.seq));
  const isOfThread = (message) => message.item_id === item && message.participant_id === participant;
  forum.isWatching = isOfThread;

  // Timeline.

  const isAtEnd = () => innerHeight + scrollY >= document.documentElement.scrollHeight - 160;
  const toEnd = () => {
    scrollTo({ top: document.documentElement.scrollHeight });
    jump.hidden = true;
  };
  jump.addEventListener("click", toEnd);
  addEventListener("scroll", () => isAtEnd() && (jump.hidden = true), { passive: true });

  const copyOf = (id) => document.getElementById(id).content.firstElementChild.cloneNode(true);
  const setTime = (entry, ms) => {
    entry.querySelector("time").dateTime = new Date(ms).toISOString();
    keyplan.times(entry);
  };
  const noteOf = (event) => {
    let text = notes[event.type].replace("{user}", names[event.user_id] ?? "Someone").replace("{attempt}", event.attempt_id ?? "");
    if (event.score !== undefined) text += `: ${event.score} points`;
    if (event.validated !== undefined) text += event.validated ? ", solved" : ", not solved yet";
    return text;
  };
  const entryOf = (event) => {
    const isMessage = event.type === "message";
    const entry = copyOf(isMessage ? "message-template" : "note-template");
    if (isMessage) {
      entry.classList.toggle("mine", event.author_id === me);
      entry.querySelector("strong").textContent = names[event.author_id] ?? "Someone";
      entry.querySelector(".text").textContent = event.text;
    } else {
      entry.querySelector(".what").textContent = noteOf(event);
    }
    entry.dataset.seq = event.seq;
    entry.dataset.ms = event.time;
    setTime(entry, event.time);
    return entry;
  };
  const isBefore = (event, entry) =>
    event.time < Number(entry.dataset.ms) || (event.time === Number(entry.dataset.ms) && event.seq < Number(entry.dataset.seq));

  const add = (event) => {
    if (event.uuid) outgoing.sent(event.uuid);
    if (seen.has(String(event.seq))) return;
    const entries = [...timeline.querySelectorAll("[data-seq]")];
    // An event older than everything shown is on an earlier page, if there is one.
    if (document.getElementById("earlier") && entries.length && isBefore(event, entries[0])) return;
    seen.add(String(event.seq));
    const follows = isAtEnd();
    const next = entries.find((entry) => isBefore(event, entry));
    const pending = timeline.querySelector(".pending");
    timeline.insertBefore(entryOf(event), next ?? pending);
    document.getElementById("no-events")?.remove();
    if (event.author_id !== me) forum.mark();
    if (follows || event.author_id === me) toEnd();
    else jump.hidden = false;
  };

  // An author who is not known yet: read the names before the event is shown.
  let order = Promise.resolve();
  const receive = (event) => {
    order = order.then(async () => {
      const user = event.author_id ?? event.user_id;
      if (user && !(user in names)) {
        try {
          Object.assign(names, await keyplan.api("GET", `${path}/people`));
        } catch (error) {
          console.info("cannot read the names; retrying later:", error.message);
        }
      }
      add(event);
    });
  };

  // Status, watchers and what the user may do.

  const state = document.getElementById("state");
  let isReading = false, isStale = false;
  const readState = async () => {
    isStale = isReading;
    if (isReading) return;
    isReading = true;
    try {
      const response = await fetch(`${keyplan.here}/${path}/state`, { credentials: "same-origin", headers: { Accept: "text/html" } });
      if (response.status === 403 || response.redirected) location.reload();
      else if (response.ok) showState(await response.text());
    } catch (error) {
      console.info("cannot read the status; retrying later:", error.message);
    } finally {
      isReading = false;
      if (isStale) readState();
    }
  };
  const showState = (html) => {
    const next = new DOMParser().parseFromString(html, "text/html").querySelector(".state");
    const shown = state.querySelector(".state");
    const wasOpen = shown.dataset.canWrite === "yes";
    if (next.outerHTML !== shown.outerHTML) {
      const focused = shown.contains(document.activeElement);
      shown.replaceWith(next);
      if (focused) (next.querySelector("button") ?? state).focus();
    }
    const isOpen = next.dataset.canWrite === "yes";
    // The form below the timeline belongs to the status: take the page's own again.
    const form = composer ?? document.getElementById("opening");
    if (isOpen !== wasOpen && !form?.elements.text.value) location.reload();
    else if (composer) setWritable(isOpen);
  };
  const setWritable = (isOpen) => {
    composer.querySelector(".primary").disabled = !isOpen;
    let note = composer.querySelector(".notice");
    if (!isOpen && !note) {
      note = document.createElement("p");
      note.className = "notice warn";
      note.textContent = "The thread was closed while you were writing. Copy your text before you leave the page.";
      composer.prepend(note);
    } else if (isOpen) note?.remove();
  };
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (event.defaultPrevented || !form.matches("[data-quiet]")) return;
    event.preventDefault();
    try {
      await send(form.action, new FormData(form, event.submitter));
    } catch (error) {
      keyplan.toast(error.message);
    }
    readState();
  });

  // Send a form of this page; the answer is JSON.
  const send = async (url, fields) => {
    const response = await fetch(url, {
      method: "POST",
      credentials: "same-origin",
      headers: { Accept: "application/json" },
      body: new URLSearchParams(fields),
    });
    const body = response.headers.get("Content-Type")?.includes("json") ? await response.json() : null;
    if (!response.ok) throw new keyplan.RequestError(response.status, body);
    return body;
  };

  // Messages on their way: one at a time, in order, each under its own ID until the server has it.

  const newId = () =>
    "10000000-1000-4000-8000-100000000000".replace(/[018]/g, (c) =>
      (Number(c) ^ (crypto.getRandomValues(new Uint8Array(1))[0] & (15 >> (Number(c) / 4)))).toString(16));
  const outgoing = {
    queue: JSON.parse(sessionStorage.getItem(stored) ?? "[]"),
    isSending: false,
    save() {
      if (this.queue.length) sessionStorage.setItem(stored, JSON.stringify(this.queue));
      else sessionStorage.removeItem(stored);
    },
    push(message) {
      this.queue.push(message);
      this.save();
      this.show(message);
      this.run();
    },
    show(message) {
      const entry = copyOf("message-template");
      entry.classList.add("mine", "pending");
      entry.dataset.uuid = message.uuid;
      entry.querySelector("strong").textContent = "Sending";
      entry.querySelector("time").parentElement.remove();
      entry.querySelector(".text").textContent = message.text;
      timeline.append(entry);
      toEnd();
    },
    entry(id) {
      return timeline.querySelector(`.pending[data-uuid="${CSS.escape(id)}"]`);
    },
    sent(id) {
      this.queue = this.queue.filter((message) => message.uuid !== id);
      this.save();
      this.entry(id)?.remove();
    },
    async run() {
      if (this.isSending) return;
      this.isSending = true;
      try {
        while (this.queue.length && navigator.onLine) {
          const message = this.queue[0];
          const fields = { ...message, csrf: document.querySelector('meta[name="csrf"]').content };
          let event;
          try {
            event = await send(`${keyplan.here}/${path}/messages`, fields);
          } catch (error) {
            if (!(error instanceof keyplan.RequestError) || error.status >= 500 || error.status === 429) {
              this.wait(message);
              return;
            }
            this.refuse(message, error.message);
            continue;
          }
          this.sent(message.uuid);
          receive(event);
        }
      } finally {
        this.isSending = false;
      }
    },
    wait(message) {
      const entry = this.entry(message.uuid);
      if (entry) entry.querySelector("strong").textContent = "Not sent yet";
      if (document.body.dataset.connection === "live") setTimeout(() => this.run(), 3000);
    },
    // The server does not take the message: give the text back.
    refuse(message, reason) {
      this.sent(message.uuid);
      composer.elements.text.value = [message.text, composer.elements.text.value].filter(Boolean).join("\n");
      keyplan.toast(`Not sent: ${reason}`);
      readState();
    },
  };

  if (composer) {
    const text = composer.elements.text;
    outgoing.queue.forEach((message) => outgoing.show(message));
    composer.addEventListener("submit", (event) => {
      event.preventDefault();
      if (!text.value.trim()) return;
      outgoing.push({ uuid: newId(), text: text.value.trim(), hand_over: composer.elements.hand_over.checked ? "yes" : "" });
      text.value = "";
      text.focus();
    });
    text.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) composer.requestSubmit();
    });
  }

  // Connection.

  forum.opened.push(async () => {
    if (timeline.dataset.live === "no") return forum.live();
    try {
      const view = await keyplan.api("GET", `items/${item}/participant/${participant}/thread`);
      forum.send({ action: "forum.subscribe", token: view.token, since: last, presence: true });
    } catch (error) {
      if (error.status === 403) location.reload();
      else if (error.status !== 401) forum.drop();
    }
  });
  forum.received.push((message) => {
    if (message.action === "error" && message.status === 400) return location.reload(); // `since` is of another database
    if (message.action === "error") return forum.drop();
    if (!isOfThread(message)) return;
    if (message.action === "forum.subscribed") {
      forum.live();
      readState();
      outgoing.run();
    } else if (message.seq !== undefined) {
      last = Math.max(last, message.seq);
      receive(message);
      if (message.type.startsWith("thread_")) readState();
    } else if (message.action === "forum.status.changed" || message.action === "forum.watchers.changed") {
      readState();
    }
  });
  setInterval(() => document.visibilityState === "visible" && readState(), 60000);
  addEventListener("visibilitychange", () => document.visibilityState === "visible" && readState());

  if (location.hash !== "#end" && document.getElementById("new")) document.getElementById("new").scrollIntoView({ block: "center" });
  else if (timeline.dataset.live === "yes") toEnd();
})();
