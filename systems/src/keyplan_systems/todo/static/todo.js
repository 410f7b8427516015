// To-do in the browser: forms are sent without a new page; what cannot be sent is kept and sent again with its key.
(() => {
  "use strict";
  const STORE = "keyplan-todo-outbox";
  const RETRY_MS = 5000;
  const UNDO_MS = 6000;
  const person = () => document.querySelector("#outbox")?.dataset.person ?? "";
  const read = () => JSON.parse(localStorage.getItem(STORE) ?? "[]");
  const write = (entries) => localStorage.setItem(STORE, JSON.stringify(entries));
  const mine = () => read().filter((entry) => entry.person === person());
  let sending = Promise.resolve();

  document.cookie = `keyplan_zone=${Intl.DateTimeFormat().resolvedOptions().timeZone}; path=/; SameSite=Lax; max-age=31536000`;

  const show = () => {
    const box = document.querySelector("#outbox");
    if (!box) return;
    const count = mine().length;
    box.hidden = count === 0;
    box.textContent = `The server cannot be reached. ${count} ${count === 1 ? "change is" : "changes are"} saved on this device and sent when the server responds.`;
  };

  // Replace the lists by those of a page that the server returned.
  const swap = (html, url) => {
    const next = new DOMParser().parseFromString(html, "text/html");
    const main = next.querySelector("#main");
    if (!main) return;
    const flash = main.querySelector('.notice[role="status"]');
    const focused = document.activeElement?.id;
    document.querySelector("#main").replaceWith(main);
    if (url) history.replaceState(null, "", url);
    flash?.remove();
    keyplan.times(main);
    prepare();
    if (focused) document.getElementById(focused)?.focus();
    return flash?.textContent.trim();
  };

  // Send one entry. Resolves to the page that followed; rejects with TypeError if the server cannot be reached.
  const send = async (entry) => {
    const body = new URLSearchParams(entry.fields);
    body.set("csrf", document.querySelector('meta[name="csrf"]').content);
    const response = await fetch(entry.action, { method: "POST", body, credentials: "same-origin", headers: { Accept: "text/html" } });
    if (response.status >= 500 && response.status !== 501) throw new TypeError(`status ${response.status}`);
    return response;
  };

  const drain = () =>
    (sending = sending.then(async () => {
      let last = null;
      for (const entry of mine()) {
        try {
          last = await send(entry);
        } catch (error) {
          if (!(error instanceof TypeError)) throw error;
          show();
          setTimeout(drain, RETRY_MS);
          return;
        }
        write(read().filter((kept) => kept.id !== entry.id));
        const html = await last.text();
        if (!last.ok) keyplan.toast(new DOMParser().parseFromString(html, "text/html").querySelector("main p:not(.faint)")?.textContent ?? "The change was refused.");
        else {
          const message = swap(html, last.url);
          keyplan.toast(message ?? "Saved.", entry.undo ? { text: "Undo", run: () => queue(entry.undo) } : undefined);
        }
      }
      show();
    }));

  // Keep an entry until the server has answered it, and start sending.
  const queue = (...entries) => {
    write([...read(), ...entries.map((entry) => ({ id: crypto.randomUUID(), person: person(), ...entry }))]);
    return drain();
  };

  const entryOf = (form, submitter) => {
    const fields = [...new FormData(form, submitter)].filter(([name]) => name !== "csrf");
    return { action: form.getAttribute("action"), fields }; // a button named "action" hides the property
  };
  const value = (entry, name) => entry.fields.find(([field]) => field === name)?.[1];
  const rowsOf = (entry) =>
    entry.fields.filter(([name]) => name === "task").map(([, id]) => document.querySelector(`[data-task="${CSS.escape(id)}"]`)).filter(Boolean);

  // The entry that gives tasks the status back that they have now.
  const undoOf = (entry) => {
    const status = rowsOf(entry)[0]?.dataset.status;
    if (!status || rowsOf(entry).some((row) => row.dataset.status !== status)) return null;
    const kept = entry.fields.filter(([name]) => name === "task" || name === "back");
    return { action: entry.action, fields: [...kept, ["action", status], ["key", crypto.randomUUID()]] };
  };

  // Deleting waits some seconds, so that it can be undone; leaving the page sends it at once.
  const remove = (entry) => {
    const rows = rowsOf(entry);
    for (const row of rows) row.hidden = true;
    const timer = setTimeout(finish, UNDO_MS);
    function finish() {
      removeEventListener("pagehide", finish);
      queue(entry);
    }
    addEventListener("pagehide", finish);
    keyplan.toast(`Deleted ${rows.length} ${rows.length === 1 ? "task" : "tasks"}.`, {
      text: "Undo",
      run: () => {
        clearTimeout(timer);
        removeEventListener("pagehide", finish);
        for (const row of rows) row.hidden = false;
      },
    }, UNDO_MS / 1000);
  };

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("[data-send]") || event.defaultPrevented) return;
    event.preventDefault();
    const entry = entryOf(form, event.submitter);
    if (form.id === "bulk" && !value(entry, "task")) {
      keyplan.toast("Select tasks first.");
      return;
    }
    if (value(entry, "action") === "delete") {
      remove(entry);
      return;
    }
    if (value(entry, "action")) entry.undo = undoOf(entry);
    else form.reset();
    for (const row of rowsOf(entry)) row.classList.add("waiting");
    form.querySelector('[name="key"]').value = crypto.randomUUID();
    queue(entry);
  });

  const selected = () => {
    const boxes = [...document.querySelectorAll('input[name="task"][form="bulk"]')];
    const count = boxes.filter((box) => box.checked).length;
    const all = document.querySelector("[data-all]");
    if (!all) return;
    all.hidden = boxes.length === 0;
    all.checked = count > 0 && count === boxes.length;
    all.indeterminate = count > 0 && count < boxes.length;
    document.querySelector("[data-selected]").textContent =
      count ? `${count} selected` : "Select all";
  };
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-all]")) {
      for (const box of document.querySelectorAll('input[name="task"][form="bulk"]')) box.checked = event.target.checked;
    }
    selected();
  });

  const prepare = () => {
    selected();
    show();
  };
  addEventListener("online", drain);
  prepare();
  if (mine().length) drain();
})();
