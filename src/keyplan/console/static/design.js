// Behavior of the Design pages. They work without this script, which adds highlighting in the picture, sliders, sorting,
// a filter, copying, and the progress of a verification.
(() => {
  "use strict";

  // Picture: pointing at or focusing a pattern highlights what it touches; at an entity, the patterns that touch it.
  const light = (svg, part) => {
    const lit = new Set();
    if (part.dataset.touches !== undefined) {
      lit.add(part.id);
      part.dataset.touches.split(" ").filter(Boolean).forEach((id) => lit.add(id));
    } else {
      lit.add(part.id);
      for (const box of svg.querySelectorAll("[data-touches]")) {
        if (box.dataset.touches.split(" ").includes(part.id)) lit.add(box.id);
      }
    }
    const only = part.dataset.touches === undefined ? null : part.id;
    svg.classList.add("focusing");
    for (const each of svg.querySelectorAll("[data-touches], [data-row]")) each.classList.toggle("lit", lit.has(each.id));
    for (const edge of svg.querySelectorAll(".edge")) {
      edge.classList.toggle("lit", only ? edge.dataset.of === only : lit.has(edge.dataset.of));
    }
  };
  const dim = (svg) => svg.classList.remove("focusing");
  for (const svg of document.querySelectorAll("svg.design")) {
    const on = (event) => {
      const part = event.target.closest("[data-touches], [data-row]") ?? event.target.querySelector?.("[data-touches], [data-row]");
      if (part) light(svg, part);
      else dim(svg);
    };
    svg.addEventListener("pointerover", on);
    svg.addEventListener("focusin", on);
    svg.addEventListener("pointerleave", () => dim(svg));
    svg.addEventListener("focusout", () => dim(svg));
  }

  // Narrow screens: the current tab and the middle of a picture are visible first.
  document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  for (const canvas of document.querySelectorAll(".canvas")) {
    canvas.scrollLeft = (canvas.scrollWidth - canvas.clientWidth) / 2;
  }

  // Tables: a filter, and columns that sort.
  for (const input of document.querySelectorAll("[data-filter]")) {
    input.hidden = false;
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of document.querySelectorAll(`${input.dataset.filter} tbody tr`)) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      }
    });
  }
  const value = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.value === undefined ? cell.textContent.trim().toLowerCase() : Number(cell.dataset.value);
  };
  const sortable = (table) => {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sorter";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const isNumber = table.tBodies[0].rows[0]?.cells[column].dataset.value !== undefined;
        const before = head.getAttribute("aria-sort");
        const order = before ? (before === "ascending" ? "descending" : "ascending") : isNumber ? "descending" : "ascending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", order);
        const sign = order === "ascending" ? 1 : -1;
        const rows = [...table.tBodies[0].rows].sort((a, b) => {
          const [x, y] = [value(a, column), value(b, column)];
          return sign * (x < y ? -1 : x > y ? 1 : 0);
        });
        table.tBodies[0].append(...rows);
      });
    });
  };
  document.querySelectorAll("table[data-sortable]").forEach(sortable);

  // Code: a button that copies it.
  const copyable = (box) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(box.querySelector("code").textContent);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Select and copy";
      }
    });
    box.append(button);
  };
  document.querySelectorAll("[data-copy]").forEach(copyable);

  // What-if: sliders in place of lists, which fetch the estimate as they move.
  const what = document.querySelector("[data-what-if]");
  if (what) {
    what.querySelector("[data-apply]").hidden = true;
    let waiting = 0;
    let latest = 0;
    const update = async () => {
      const mine = ++latest;
      const changed = [...new FormData(what)].filter(([, value]) => value !== "" && value !== "1.0");
      const address = `${what.action}?${new URLSearchParams(changed)}`;
      const response = await fetch(address, { credentials: "same-origin", headers: { Accept: "text/html" } }).catch(() => null);
      if (mine !== latest) return;
      if (!response?.ok) {
        keyplan.toast("The estimate cannot be loaded. Try again.");
        return;
      }
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      if (mine !== latest) return;
      document.getElementById("estimate").replaceChildren(...page.getElementById("estimate").childNodes);
      document.querySelectorAll("#estimate table[data-sortable]").forEach(sortable);
      for (const cost of what.querySelectorAll("[data-cost]")) {
        cost.replaceChildren(...page.getElementById(cost.id).childNodes);
      }
      history.replaceState(null, "", address);
    };
    for (const select of what.querySelectorAll("select")) {
      const slider = document.createElement("input");
      const output = document.createElement("output");
      slider.type = "range";
      slider.min = 0;
      slider.max = select.options.length - 1;
      slider.value = select.selectedIndex;
      slider.id = `${select.id}-slider`;
      output.htmlFor = slider.id;
      const show = () => {
        output.textContent = select.options[slider.value].textContent;
        slider.setAttribute("aria-valuetext", output.textContent);
      };
      show();
      const label = select.form.querySelector(`label[for="${select.id}"]`);
      label.htmlFor = slider.id;
      label.append(" ", output);
      select.hidden = true;
      select.before(slider);
      slider.addEventListener("input", () => {
        select.selectedIndex = slider.value;
        show();
        clearTimeout(waiting);
        waiting = setTimeout(update, 120);
      });
    }
  }

  // Verification: progress until it ends, then the report.
  const progress = document.querySelector("[data-progress]");
  if (progress) {
    const bar = progress.querySelector("progress");
    const look = async () => {
      try {
        const now = await keyplan.api("GET", progress.dataset.progress);
        if (now.state !== "running") {
          location.reload();
          return;
        }
        progress.querySelector("[data-activity]").textContent = now.activity;
        progress.querySelector("[data-count]").textContent = now.total ? `${now.completed.toLocaleString()} of ${now.total.toLocaleString()}` : "";
        bar.max = now.total || 1;
        bar.value = now.completed;
      } catch {
        progress.querySelector("[data-activity]").textContent = "The console cannot be reached.";
      }
      setTimeout(look, 400);
    };
    setTimeout(look, 400);
  }
})();
