// Service worker: the shell and opened questions work offline; pushes are shown, and lead to their question.
// The server puts `SETTINGS` before this text: {base, shell, version}.
"use strict";
const SHELL_CACHE = `aah-shell-${SETTINGS.version}`;
const PAGE_CACHE = "aah-pages";
const base = new URL(SETTINGS.base, self.location.origin);

self.addEventListener("install", (event) => {
  event.waitUntil(
    caches
      .open(SHELL_CACHE)
      .then((cache) => cache.addAll(SETTINGS.shell))
      .then(() => self.skipWaiting()),
  );
});

self.addEventListener("activate", (event) => {
  event.waitUntil(
    (async () => {
      for (const name of await caches.keys()) {
        if (name.startsWith("aah-shell-") && name !== SHELL_CACHE) await caches.delete(name);
      }
      await self.clients.claim();
    })(),
  );
});

const isQuestion = (url) => /^questions\/[0-9a-f-]{36}$/.test(url.pathname.slice(base.pathname.length));
const isKept = (url) => url.pathname === base.pathname || isQuestion(url) || ["you", "leaderboard"].includes(url.pathname.slice(base.pathname.length));

// A page from the network, else as it was last seen, else the page that says that there is no network.
const page = async (request, url) => {
  const cache = await caches.open(PAGE_CACHE);
  try {
    const response = await fetch(request);
    if (isKept(url) && response.ok && !response.redirected) await cache.put(url.href, response.clone());
    else if ([404, 410].includes(response.status)) await cache.delete(url.href);
    return response;
  } catch (error) {
    const kept = await cache.match(url.href, { ignoreSearch: !isQuestion(url) });
    if (kept) return kept;
    if (request.mode !== "navigate") throw error;
    return caches.match(`${SETTINGS.base}offline`);
  }
};

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (url.origin !== base.origin) return;
  if (request.method === "POST" && isQuestion(url)) {
    event.respondWith(
      (async () => {
        const response = await fetch(request);
        await (await caches.open(PAGE_CACHE)).delete(url.href); // the kept page still offers the form
        return response;
      })(),
    );
  } else if (request.method !== "GET") {
    return;
  } else if (url.searchParams.has("v")) {
    event.respondWith(caches.match(request).then((kept) => kept ?? fetch(request)));
  } else if (request.mode === "navigate" || (request.headers.get("Accept") === "text/html" && isQuestion(url))) {
    event.respondWith(page(request, url));
  }
});

self.addEventListener("push", (event) => {
  const message = event.data?.json() ?? {};
  event.waitUntil(
    self.registration.showNotification(message.title ?? "Ask a Human", {
      body: message.body ?? "",
      tag: message.question_id,
      data: { url: message.question_id ? `${SETTINGS.base}questions/${message.question_id}` : SETTINGS.base },
    }),
  );
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(self.clients.openWindow(event.notification.data.url));
});

// The browser has replaced its subscription: send the new one to the server, although no page may be open. The settings
// page compares them again at its next visit.
const renew = async ({ oldSubscription, newSubscription }) => {
  const made = newSubscription ?? (oldSubscription && (await self.registration.pushManager.subscribe(oldSubscription.options)));
  if (!made) return;
  const { csrf } = await (await fetch(new URL("session", base))).json();
  const send = (method, body) =>
    fetch(new URL("notifications", base), {
      method,
      headers: { Accept: "application/json", "Content-Type": "application/json", "X-CSRF-Token": csrf },
      body: JSON.stringify(body),
    });
  const isReplaced = oldSubscription && (await send("PUT", { old: oldSubscription, subscription: made })).ok;
  if (!isReplaced) await send("POST", { subscription: made });
};

self.addEventListener("pushsubscriptionchange", (event) => event.waitUntil(renew(event)));
