// Additions to the venue's pages: keys of the calendar, copied addresses, previews of letters while one writes.
(() => {
  "use strict";

  // Arrow keys move between the days of the month.
  const STEPS = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 };
  document.addEventListener("keydown", (event) => {
    const day = event.target.closest?.(".month a[data-day]");
    if (!day || !(event.key in STEPS)) return;
    const days = [...document.querySelectorAll(".month a[data-day]")];
    const next = days[days.indexOf(day) + STEPS[event.key]];
    if (next) {
      event.preventDefault();
      next.focus();
    }
  });

  for (const button of document.querySelectorAll("[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const field = document.querySelector(button.dataset.copy);
      field.select();
      try {
        await navigator.clipboard.writeText(field.value);
        window.keyplan.toast(button.dataset.copied);
      } catch {
        document.execCommand("copy"); // servers without HTTPS have no clipboard interface
        window.keyplan.toast(button.dataset.copied);
      }
    });
  }

  // The letters follow the message that an administrator writes. The server makes them, so they are what is sent.
  const form = document.querySelector("form[data-preview]");
  if (form) {
    form.querySelector('[value="preview"]').hidden = true;
    let timer = 0;
    let latest = 0;
    const url = form.getAttribute("action"); // form.action is the buttons of that name
    const preview = async () => {
      const number = ++latest;
      const fields = new URLSearchParams(new FormData(form));
      fields.set("action", "preview");
      const response = await fetch(url, {
        method: "POST",
        body: fields,
        credentials: "same-origin",
        headers: { Accept: "text/html" },
      });
      if (!response.ok || number !== latest) return;
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const letters = page.querySelector("#previews");
      if (letters && number === latest) document.querySelector("#previews").replaceWith(letters);
    };
    form.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => preview().catch(() => {}), 300);
    });
  }
})();
