// Live figures of the Load pages: the page's content is fetched again every few seconds while it can be seen.
(() => {
  "use strict";
  const EVERY_MS = 4000;
  const live = document.getElementById("load-live");
  const button = document.querySelector("[data-load-live]");
  if (!live || !button) return;
  button.hidden = false;
  let on = sessionStorage.getItem("keyplan-load-live") !== "off";

  const show = () => button.setAttribute("aria-pressed", String(on));
  const refresh = async () => {
    if (!on || document.hidden || live.contains(document.activeElement)) return;
    let response;
    try {
      response = await fetch(location.href, { credentials: "same-origin" });
    } catch {
      response = { ok: false };
    }
    if (!response.ok) {
      on = false;
      show();
      keyplan.toast("The console cannot be reached. Live updates have stopped.");
      return;
    }
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html").getElementById("load-live");
    if (!fresh || live.contains(document.activeElement) || !getSelection().isCollapsed) return;
    const scrolled = [...live.querySelectorAll(".scroll")].map((region) => [region.scrollLeft, region.scrollTop]);
    live.replaceChildren(...fresh.childNodes);
    live.querySelectorAll(".scroll").forEach((region, number) => {
      [region.scrollLeft, region.scrollTop] = scrolled[number] ?? [0, 0];
    });
    keyplan.times(live);
    live.dispatchEvent(new CustomEvent("load:refreshed", { bubbles: true }));
  };

  button.addEventListener("click", () => {
    on = !on;
    sessionStorage.setItem("keyplan-load-live", on ? "on" : "off");
    show();
    refresh();
  });
  show();
  setInterval(refresh, EVERY_MS);
})();
