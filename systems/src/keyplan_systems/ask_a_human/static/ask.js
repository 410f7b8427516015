// Ask a Human: drafts, answers queued while offline, pull to refresh, theme, notifications, live answers.
(() => {
  "use strict";
  const base = `${keyplan.here}/app/`;
  const byId = (id) => document.getElementById(id);
  const session = async () => (await (await fetch(`${base}session`, { credentials: "same-origin" })).json()).csrf;

  // Streaks follow the person's own calendar.
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone) document.cookie = `aah_zone=${zone};path=${keyplan.here}/app;max-age=31536000;samesite=lax`;

  const worker = "serviceWorker" in navigator ? navigator.serviceWorker : null;
  worker?.register(`${base}worker.js`, { scope: base }).catch((error) => console.warn("not installed", error.name));

  // Answers that wait on this device. The server stores an answer once, however often it is sent.
  const OUTBOX = "aah-outbox";
  const outbox = () => JSON.parse(localStorage.getItem(OUTBOX) ?? "[]");
  const keep = (entries) => {
    localStorage.setItem(OUTBOX, JSON.stringify(entries));
    const notice = byId("queued");
    if (!notice) return;
    notice.hidden = entries.length === 0;
    const count = entries.length === 1 ? "1 answer waits" : `${entries.length} answers wait`;
    notice.textContent = `${count} on this device and will be sent when you are online.`;
  };
  const FINAL = new Set([400, 403, 404, 409, 410, 422]);
  const results = {
    409: "You had already answered that question.",
    410: "Your answer came too late: the question has ended.",
    404: "Your answer came too late: the question has been removed.",
  };
  const send = async (entry, csrf) =>
    fetch(entry.url, {
      method: "POST",
      credentials: "same-origin",
      headers: { Accept: "application/json", "X-CSRF-Token": csrf, "Content-Type": "application/x-www-form-urlencoded" },
      body: entry.body,
    });
  const flush = async () => {
    for (const entry of outbox()) {
      const response = await send(entry, await session());
      const body = await response.json().catch(() => null);
      if (!response.ok && (!FINAL.has(response.status) || body?.error?.code === "csrf")) break;
      keep(outbox().filter((other) => other.url !== entry.url));
      keyplan.toast(
        response.ok
          ? `Your saved answer was sent: +${body.points_earned} points.`
          : (results[response.status] ?? "Your saved answer was refused."),
        undefined,
        12,
      );
    }
  };
  let pause = 2000;
  let again = null;
  const deliver = () => {
    clearTimeout(again);
    keep(outbox());
    if (outbox().length === 0) return;
    const run = async () => {
      await flush().catch(() => {}); // no network: try later
      keep(outbox());
      if (outbox().length === 0) return;
      again = setTimeout(deliver, pause);
      pause = Math.min(60000, pause * 2);
    };
    if (navigator.locks) navigator.locks.request(OUTBOX, run);
    else run();
  };
  addEventListener("online", () => {
    pause = 2000;
    deliver();
  });
  addEventListener("pageshow", deliver);

  // The form of an answer.
  const form = byId("answer");
  if (form) {
    const opened = performance.now();
    const text = byId("text");
    const draft = `aah-draft-${form.dataset.id}`;
    const button = form.querySelector(".primary");
    if (text) {
      text.value ||= sessionStorage.getItem(draft) ?? "";
      const count = () => {
        sessionStorage.setItem(draft, text.value);
        const length = text.value.trim().length;
        const soft = Number(text.dataset.soft);
        byId("count").textContent =
          length > soft ? `${length} characters. Shorter answers help more.` : length ? `${length} of ${soft} characters` : "";
        byId("count").classList.toggle("over", length > soft);
        if (!CSS.supports("field-sizing", "content")) {
          text.rows = Math.min(20, Math.max(4, text.value.split("\n").length + Math.floor(length / 45)));
        }
      };
      text.addEventListener("input", count);
      count();
      text.addEventListener("keydown", (event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit(button);
      });
    }
    const invalid = () => {
      if (text) return text.value.trim().length < text.minLength ? [text, byId("answer-error")] : null;
      return form.querySelector('[name="option"]:checked') ? null : [form.querySelector('[name="option"]'), byId("option-error")];
    };
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const problem = invalid();
      if (problem) {
        problem[1].hidden = false;
        problem[0].setAttribute("aria-invalid", "true");
        problem[0].focus();
        setTimeout(() => (button.disabled = false));
        return;
      }
      form.elements.response_time_ms.value = Math.round(performance.now() - opened);
      button.disabled = true;
      const entry = { url: form.action, body: new URLSearchParams(new FormData(form)).toString() };
      try {
        const response = await send(entry, await session());
        if (response.ok) {
          sessionStorage.removeItem(draft);
          location.assign((await response.json()).page);
        } else form.submit(); // the server answers with a page that says what is wrong
      } catch {
        keep([...outbox().filter((other) => other.url !== entry.url), entry]);
        sessionStorage.removeItem(draft);
        form.hidden = true;
        byId("kept").hidden = false;
        byId("kept").querySelector("a").focus();
      }
    });
  }

  // The list of questions: pull to refresh, no question twice, and the first ones ready for offline use.
  const feed = byId("feed");
  if (feed) {
    const pull = byId("pull");
    const refresh = async () => {
      try {
        const response = await fetch(location.href, { credentials: "same-origin", headers: { Accept: "text/html" } });
        if (!response.ok) throw new Error();
        const next = new DOMParser().parseFromString(await response.text(), "text/html");
        feed.replaceChildren(...next.getElementById("feed").children);
        keyplan.times(feed);
        keyplan.toast("The list is up to date.", undefined, 3);
      } catch {
        keyplan.toast("You are offline. The list may be out of date.");
      }
      pull.hidden = true;
    };
    let start = null;
    addEventListener("touchstart", (event) => { start = scrollY === 0 ? event.touches[0].clientY : null; }, { passive: true });
    addEventListener("touchmove", (event) => {
      if (start === null) return;
      const distance = event.touches[0].clientY - start;
      pull.hidden = distance < 20;
      pull.dataset.ready = distance > 90 ? "yes" : "no";
      pull.textContent = distance > 90 ? "Release to refresh" : "Pull to refresh";
    }, { passive: true });
    addEventListener("touchend", () => {
      if (!pull.hidden && pull.dataset.ready === "yes") {
        pull.textContent = "Refreshing…";
        refresh();
      } else pull.hidden = true;
      start = null;
    });
    document.querySelector("[data-refresh]")?.addEventListener("click", (event) => {
      event.preventDefault();
      refresh();
    });
    document.addEventListener("keyplan:more", (event) => {
      for (const entry of event.detail) {
        if (feed.querySelectorAll(`[data-id="${CSS.escape(entry.dataset.id)}"]`).length > 1) entry.remove();
      }
    });
    worker?.ready.then(async () => {
      for (const link of [...feed.querySelectorAll("a.ask:not(.answered)")].slice(0, 5)) {
        if (!(await caches.match(link.href))) await fetch(link.href, { credentials: "same-origin", headers: { Accept: "text/html" } });
      }
    }).catch(() => {});
  }

  // Theme.
  const themes = byId("themes");
  if (themes) {
    themes.hidden = false;
    themes.elements.theme.value = localStorage.getItem("keyplan-theme") ?? "system";
    themes.addEventListener("change", () => keyplan.theme(themes.elements.theme.value));
  }

  // Notifications: explained first, then the browser asks. Its subscription is stored at the server.
  const push = byId("push");
  if (push) {
    const STORED = "aah-subscription";
    const stored = () => JSON.parse(localStorage.getItem(STORED) ?? "null");
    const show = (state) => {
      for (const part of push.querySelectorAll("[data-push]")) part.hidden = part.dataset.push !== state;
    };
    const fail = (message) => {
      byId("push-error").hidden = !message;
      byId("push-error").textContent = message;
    };
    const call = async (method, path, body) =>
      keyplan.api(method, `${base}${path}`, body, { "X-CSRF-Token": await session() });
    const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (sign) => sign.charCodeAt(0));
    const state = async () => {
      if (!worker || !("PushManager" in window) || !("Notification" in window) || !push.dataset.key) return "unsupported";
      if (Notification.permission === "denied") return "denied";
      const registration = await worker.ready;
      return Notification.permission === "granted" && stored() && (await registration.pushManager.getSubscription()) ? "on" : "off";
    };
    const register = async (made, minutes) => {
      const kept = await call("POST", "notifications", { subscription: made.toJSON(), min_interval_minutes: minutes });
      localStorage.setItem(STORED, JSON.stringify({ ...kept, endpoint: made.toJSON().endpoint }));
    };
    const update = async () => {
      const now = await state();
      show(now);
      if (!stored()) return;
      byId("interval").value = String(stored().min_interval_minutes);
      if (now !== "on") return;
      // Browsers renew their subscription from time to time: the server needs the new one.
      const made = await (await worker.ready).pushManager.getSubscription();
      if (made.toJSON().endpoint !== stored().endpoint) await register(made, stored().min_interval_minutes);
    };
    const subscribe = async () => {
      if ((await Notification.requestPermission()) !== "granted") return;
      const registration = await worker.ready;
      const made = await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes(push.dataset.key) });
      await register(made, Number(byId("interval").value));
    };
    const attempt = async (action) => {
      fail("");
      try {
        await action();
      } catch (error) {
        fail(error instanceof keyplan.RequestError ? error.message : "Notifications cannot be changed now. Try again later.");
      }
      await update();
    };
    byId("push-ask").addEventListener("click", () => {
      byId("push-why").close();
      attempt(subscribe);
    });
    byId("interval").addEventListener("change", () =>
      attempt(async () => {
        const changed = await call("PUT", `notifications/${stored().subscription_id}`, { min_interval_minutes: Number(byId("interval").value) });
        localStorage.setItem(STORED, JSON.stringify({ ...stored(), ...changed }));
        keyplan.toast("Saved.");
      }),
    );
    byId("push-off").addEventListener("click", () =>
      attempt(async () => {
        await call("DELETE", `notifications/${stored().subscription_id}`);
        localStorage.removeItem(STORED);
        await (await (await worker.ready).pushManager.getSubscription())?.unsubscribe();
      }),
    );
    update().catch(() => fail("Notifications cannot be checked now. Reload the page to try again."));
  }

  // Answers of an agent's question, as they arrive.
  const live = document.querySelector("[data-live]");
  if (live) {
    const follow = async () => {
      let pause = 0;
      while (live.querySelector('[data-open="yes"]')) {
        await new Promise((resolve) => setTimeout(resolve, pause));
        try {
          const seen = live.querySelector("[data-count]").dataset.count;
          const response = await fetch(`${live.dataset.live}?seen=${seen}`, { credentials: "same-origin", headers: { Accept: "text/html" } });
          if (!response.ok) throw new Error();
          const part = new DOMParser().parseFromString(await response.text(), "text/html").body;
          live.replaceChildren(...part.children);
          keyplan.times(live);
          pause = 0;
        } catch {
          pause = Math.min(60000, pause * 2 || 2000);
        }
      }
    };
    follow();
  }
})();
