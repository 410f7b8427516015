// Live part of all pages: one WebSocket, opened again with growing pauses, the badge of unread notifications, and lists
// that follow what happens. thread.js adds the timeline of a thread.
(() => {
  "use strict";
  const FIRST_PAUSE_MS = 500, MOST_PAUSE_MS = 30000, HEARTBEAT_MS = 25000, ANSWER_MS = 10000;
  const banner = document.getElementById("connection");
  const badge = document.getElementById("unread");
  if (!badge) return; // an error page
  const title = document.title;
  const forum = (window.forum = { opened: [], received: [], lost: [] });
  let socket = null, failures = 0, timer = 0, deadline = 0;

  // "connecting", "live" or "reconnecting"; the banner is shown only after a connection failed.
  const show = (state) => {
    document.body.dataset.connection = state;
    banner.hidden = state !== "reconnecting";
    if (banner.hidden) return;
    banner.textContent = navigator.onLine
      ? "Connection lost. Reconnecting. Your messages are sent afterwards."
      : "You are offline. Your messages are sent when you are online again.";
  };

  forum.send = (message) => {
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
  };

  // A page calls this when it receives everything again.
  forum.live = () => {
    failures = 0;
    show("live");
  };

  // Give up the connection, and open another after a pause that doubles with each failure.
  forum.drop = () => {
    const old = socket;
    socket = null;
    clearTimeout(timer);
    clearTimeout(deadline);
    if (old) {
      old.onopen = old.onmessage = old.onclose = null;
      old.close();
    }
    show("reconnecting");
    forum.lost.forEach((run) => run());
    const pause = Math.min(MOST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures) * (0.5 + Math.random() / 2);
    failures += 1;
    if (navigator.onLine) timer = setTimeout(connect, pause);
  };

  const connect = () => {
    clearTimeout(timer);
    if (socket || !navigator.onLine) return;
    const mine = (socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}${keyplan.here}/ws`));
    let wasOpen = false;
    mine.onopen = () => {
      wasOpen = true;
      beat();
      forum.opened.forEach((run) => run());
      forum.count();
    };
    mine.onmessage = (event) => {
      clearTimeout(deadline);
      const message = JSON.parse(event.data);
      if (!forum.opened.length) forum.live();
      if (message.action === "forum.notification.new") notified(message);
      forum.received.forEach((run) => run(message));
    };
    mine.onclose = () => {
      forum.drop();
      if (!wasOpen) forum.count(); // leads to the sign-in page if the session has ended
    };
  };

  // Without an answer the connection is lost, whatever the browser says.
  const beat = () => {
    forum.send({ action: "heartbeat" });
    clearTimeout(deadline);
    deadline = setTimeout(forum.drop, ANSWER_MS);
  };

  const channel = "BroadcastChannel" in window ? new BroadcastChannel("keyplan-forum") : null;
  const set = (text) => {
    badge.textContent = text;
    badge.hidden = !text;
    document.title = text ? `(${text}) ${title}` : title;
  };
  // Read the number of unread notifications again, here and in the browser's other tabs.
  forum.count = async (isTold = false) => {
    try {
      set((await keyplan.api("GET", "app/unread")).unread);
      if (!isTold) channel?.postMessage("count");
    } catch (error) {
      console.info("cannot read the number of notifications; retrying later:", error.message);
    }
  };
  channel?.addEventListener("message", () => forum.count(true));
  // Mark the tab of a page that nobody looks at; `count` removes the mark when somebody does.
  forum.mark = () => {
    if (document.visibilityState !== "visible") document.title = `\u25CF ${title}`;
  };

  const notified = (message) => {
    const isHere = forum.isWatching?.(message) && document.visibilityState === "visible";
    if (isHere) {
      keyplan.api("PUT", `notifications/${message.id}`, { is_read: true }).then(() => forum.count(), console.info);
    } else {
      forum.count(true);
      refresh();
    }
  };

  // Lists: fetch the page again and exchange the list if it differs, unless somebody uses it now.
  const list = document.querySelector("[data-refresh]");
  const parse = (text) => new DOMParser().parseFromString(text, "text/html").querySelector("[data-refresh]");
  let shown = null, hasGrown = false;
  document.addEventListener("keyplan:more", () => (hasGrown = true)); // a list that was scrolled stays as it is
  const refresh = async () => {
    if (!list || hasGrown || list.contains(document.activeElement)) return;
    try {
      const response = await fetch(location.href, { credentials: "same-origin", headers: { Accept: "text/html" } });
      const next = response.ok ? parse(await response.text()) : null;
      if (!next || next.innerHTML === shown) return;
      shown = next.innerHTML;
      list.replaceChildren(...next.childNodes);
      keyplan.times(list);
    } catch (error) {
      console.info("cannot read the list; retrying later:", error.message);
    }
  };

  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState !== "visible") return;
    if (!socket) connect();
    forum.count(true);
    refresh();
  });
  addEventListener("offline", forum.drop);
  addEventListener("online", () => {
    failures = 0;
    connect();
  });
  addEventListener("pagehide", () => {
    if (socket) socket.onclose = null; // the page goes, the connection with it
  });
  addEventListener("pageshow", (event) => {
    if (event.persisted) forum.drop();
  });
  setInterval(() => socket?.readyState === WebSocket.OPEN && beat(), HEARTBEAT_MS);
  setInterval(() => document.visibilityState === "visible" && refresh(), HEARTBEAT_MS);
  if (badge.textContent) set(badge.textContent);
  show("connecting");
  addEventListener("DOMContentLoaded", connect); // after thread.js has added its part
})();
