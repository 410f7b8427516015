// An attempt in progress: word counts, time, drafts saved while one writes.
(() => {
  "use strict";
  const form = document.querySelector("form[data-autosave]");
  if (!form) return;
  const PAUSE_MS = 2500;
  const saved = document.querySelector("#saved");
  let timer = 0;
  let isSaving = false;
  let isChanged = false;

  const words = (text) => text.trim().split(/\s+/u).filter(Boolean).length;
  const count = (area) => {
    const target = Number(area.dataset.target);
    const number = words(area.value);
    const line = area.parentElement.querySelector(".count-line");
    line.querySelector("progress").value = Math.min(number, target);
    line.querySelector(".hint").textContent = `${number} of about ${target} words`;
  };

  const save = async () => {
    clearTimeout(timer);
    if (isSaving || !isChanged) return;
    isSaving = true;
    isChanged = false;
    const body = new URLSearchParams(new FormData(form));
    body.set("action", "save");
    try {
      const response = await fetch(location.href, { method: "POST", body, credentials: "same-origin", headers: { Accept: "text/html" } });
      if (response.ok) saved.textContent = `Saved at ${new Date().toLocaleTimeString([], { timeStyle: "short" })}.`;
      else {
        const page = new DOMParser().parseFromString(await response.text(), "text/html");
        saved.textContent = `Not saved: ${page.querySelector(".notice.bad, .empty p:not(.faint)")?.textContent.trim() ?? response.status}`;
      }
    } catch (error) {
      isChanged = true;
      timer = setTimeout(save, 2 * PAUSE_MS);
      saved.textContent = "Not saved: the server cannot be reached. Trying again.";
    } finally {
      isSaving = false;
      if (isChanged) timer = setTimeout(save, PAUSE_MS);
    }
  };

  form.addEventListener("input", (event) => {
    if (!event.target.matches("textarea")) return;
    count(event.target);
    isChanged = true;
    clearTimeout(timer);
    timer = setTimeout(save, PAUSE_MS);
  });
  form.addEventListener("submit", () => {
    isChanged = false;
    clearTimeout(timer);
  });
  addEventListener("beforeunload", (event) => {
    if (isChanged) event.preventDefault();
  });
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "hidden") save();
  });

  const clock = document.querySelector("[data-elapsed]");
  const started = new Date(clock.dataset.elapsed);
  const planned = Number(clock.dataset.planned);
  const tick = () => {
    const minutes = Math.floor((Date.now() - started) / 60000);
    clock.textContent = minutes <= planned ? `${planned - minutes} min left.` : `${minutes - planned} min over.`;
  };
  tick();
  setInterval(tick, 15000);
  for (const area of form.querySelectorAll("textarea")) count(area);
})();
