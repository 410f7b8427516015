// Behavior that all pages share. Pages work without it: it adds times in the person's own time zone, confirmation,
// lists that grow while one scrolls, the theme switch, and the functions of `window.keyplan` for a page's own script.
(() => {
  "use strict";
  const meta = (name) => document.querySelector(`meta[name="${name}"]`)?.content ?? "";
  const keyplan = (window.keyplan = { root: meta("root"), here: meta("here") });

  // Translations by English text, on pages in another language.
  const words = JSON.parse(meta("words") || "{}");
  keyplan.word = (text) => words[text] ?? text;

  // Error of a request: `status`, `code` and a message for the person.
  class RequestError extends Error {
    constructor(status, body) {
      super(body?.error?.message ?? keyplan.word("The server returned status {status}.").replace("{status}", status));
      this.status = status;
      this.code = body?.error?.code ?? "";
      this.details = body?.error?.details;
    }
  }
  keyplan.RequestError = RequestError;

  // Send a request to the application's own API as the signed-in person, and return the JSON of the response.
  keyplan.api = async (method, path, body, headers = {}) => {
    const url = path.startsWith("/") ? path : `${keyplan.here}/${path}`;
    const response = await fetch(url, {
      method,
      credentials: "same-origin",
      headers: {
        Accept: "application/json",
        "X-CSRF-Token": meta("csrf"),
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    let read = null;
    if (text && (response.headers.get("Content-Type") ?? "").includes("json")) read = JSON.parse(text);
    if (response.status === 401) {
      location.assign(`${keyplan.root}/sign-in?next=${encodeURIComponent(location.pathname + location.search)}`);
    }
    if (!response.ok) throw new RequestError(response.status, read);
    return read;
  };

  // Show a message for some seconds; `action` is {text, run} for a button such as "Undo".
  keyplan.toast = (message, action, seconds = 6) => {
    const toast = document.createElement("div");
    toast.className = "toast";
    const text = document.createElement("span");
    text.textContent = message;
    toast.append(text);
    if (action) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = action.text;
      button.addEventListener("click", () => {
        toast.remove();
        action.run();
      });
      toast.append(button);
    }
    document.getElementById("toasts").append(toast);
    setTimeout(() => toast.remove(), seconds * 1000);
    return toast;
  };

  const UNITS = [["year", 31536000], ["month", 2592000], ["week", 604800], ["day", 86400], ["hour", 3600], ["minute", 60]];
  keyplan.relative = (date, now = Date.now()) => {
    const seconds = (date - now) / 1000;
    const format = new Intl.RelativeTimeFormat(document.documentElement.lang, { numeric: "auto" });
    for (const [unit, length] of UNITS) {
      if (Math.abs(seconds) >= length) return format.format(Math.trunc(seconds / length), unit);
    }
    return format.format(0, "second");
  };

  // Show the times below `parent` in the person's time zone and language.
  keyplan.times = (parent = document) => {
    for (const element of parent.querySelectorAll("time[data-time]")) {
      const date = new Date(element.dateTime);
      const full = date.toLocaleString(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" });
      element.title = full;
      const style = element.dataset.time;
      element.textContent =
        style === "relative" ? keyplan.relative(date)
        : style === "date" ? date.toLocaleDateString(document.documentElement.lang, { dateStyle: "medium" })
        : style === "seconds" ? date.toLocaleString(document.documentElement.lang, { dateStyle: "medium", timeStyle: "medium" })
        : style === "clock" ? date.toLocaleTimeString(document.documentElement.lang, { timeStyle: "short" })
        : full;
    }
  };

  // A link [data-more="#list"] loads the next page of a list and appends its entries, also when one scrolls to it.
  const grow = async (link) => {
    if (link.ariaBusy === "true") return;
    link.ariaBusy = "true";
    try {
      const response = await fetch(link.href, { credentials: "same-origin", headers: { Accept: "text/html" } });
      if (!response.ok) throw new RequestError(response.status);
      const next = new DOMParser().parseFromString(await response.text(), "text/html");
      const added = [...(next.querySelector(link.dataset.more)?.children ?? [])];
      document.querySelector(link.dataset.more).append(...added);
      added.forEach((entry) => keyplan.times(entry));
      const another = next.querySelector(`[data-more="${link.dataset.more}"]`);
      if (another) link.href = another.href;
      else link.parentElement.remove();
      document.dispatchEvent(new CustomEvent("keyplan:more", { detail: added }));
    } catch (error) {
      keyplan.toast(error instanceof RequestError ? error.message : keyplan.word("The server cannot be reached. Try again."));
      watcher.unobserve(link);
    } finally {
      link.ariaBusy = "false";
    }
  };
  const watcher = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => grow(entry.target)),
    { rootMargin: "400px" },
  );

  // Theme: the stored choice is "light", "dark", or none for the system's.
  keyplan.theme = (theme) => {
    if (theme === "light" || theme === "dark") {
      localStorage.setItem("keyplan-theme", theme);
      document.documentElement.dataset.theme = theme;
    } else {
      localStorage.removeItem("keyplan-theme");
      delete document.documentElement.dataset.theme;
    }
  };
  const isDark = () =>
    (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

  document.addEventListener("click", (event) => {
    const more = event.target.closest("a[data-more]");
    if (more) {
      event.preventDefault();
      grow(more);
    }
    if (event.target.closest("[data-theme-toggle]")) keyplan.theme(isDark() ? "light" : "dark");
    const opener = event.target.closest("[data-dialog]");
    if (opener) document.querySelector(opener.dataset.dialog)?.showModal();
    if (event.target.closest("[data-close]")) event.target.closest("dialog")?.close();
    for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") for (const menu of document.querySelectorAll("details.menu[open]")) menu.open = false;
  });
  document.addEventListener("submit", (event) => {
    const question = event.submitter?.dataset.confirm ?? event.target.dataset.confirm;
    if (question && !confirm(question)) event.preventDefault();
    // A second click must not send the form again. A page's own script may still send it in another way.
    const button = event.submitter;
    if (button && event.target.getAttribute("method") !== "dialog") {
      setTimeout(() => {
        button.disabled = !event.defaultPrevented;
        if (button.disabled) button.ariaBusy = "true";
      });
    }
  });
  addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    for (const button of document.querySelectorAll("button[disabled]")) {
      button.disabled = false;
      button.ariaBusy = null;
    }
  });

  for (const toggle of document.querySelectorAll("[data-theme-toggle]")) toggle.hidden = false;
  keyplan.times();
  setInterval(keyplan.times, 60000);
  for (const link of document.querySelectorAll("a[data-more]")) watcher.observe(link);
  for (const select of document.querySelectorAll("[data-autosubmit]")) {
    select.addEventListener("change", () => select.form.requestSubmit());
  }
})();
