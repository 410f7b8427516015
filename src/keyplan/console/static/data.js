// Behavior of the Data pages. They work without this script: it adds rows to forms, copies code, and follows streams.
(() => {
  "use strict";

  // Append a copy of the last row of a form, emptied, and put the cursor into it.
  const addRow = (list) => {
    const last = list.lastElementChild;
    const row = last.cloneNode(true);
    for (const field of row.querySelectorAll("input:not([type=checkbox]), textarea")) {
      field.value = "";
      field.readOnly = false;
      if (field.ariaLabel) field.ariaLabel = field.ariaLabel.replace(/\d+$/, (number) => Number(number) + 1);
    }
    for (const field of row.querySelectorAll("select")) {
      field.selectedIndex = 0;
      if (field.ariaLabel) field.ariaLabel = field.ariaLabel.replace(/\d+$/, (number) => Number(number) + 1);
    }
    for (const box of row.querySelectorAll("input[type=checkbox]")) {
      box.checked = false;
      box.value = list.children.length;
    }
    list.append(row);
    row.querySelector("input").focus();
  };

  const between = document.getElementById("sk_op");
  between?.addEventListener("change", () => {
    document.querySelector(".high")?.classList.toggle("unneeded", between.value !== "between");
  });

  // Another index has other keys: start again with a scan of it.
  document.getElementById("index")?.addEventListener("change", (event) => {
    const form = event.target.form;
    for (const name of ["pk", "sk", "sk_high"]) if (form.elements[name]) form.elements[name].value = "";
    form.requestSubmit();
  });

  document.addEventListener("click", async (event) => {
    if (event.target.closest("[data-add-filter]")) addRow(document.querySelector("[data-filters]"));
    if (event.target.closest("[data-add-attribute]")) addRow(document.querySelector("[data-attributes]"));
    const copy = event.target.closest("[data-copy]");
    if (copy) {
      await navigator.clipboard.writeText(copy.parentElement.querySelector("pre").textContent);
      keyplan.toast("Copied.");
    }
  });
  for (const button of document.querySelectorAll("[data-add-filter], [data-add-attribute], [data-copy]")) button.hidden = false;

  // Selected items: a box that selects all, and a button that works only if something is selected.
  const remove = document.querySelector("[data-delete-selected]");
  const all = document.querySelector("[data-select-all]");
  if (remove && all) {
    const boxes = [...remove.form.querySelectorAll("input[name=key]")];
    const show = () => {
      const selected = boxes.filter((box) => box.checked).length;
      remove.disabled = selected === 0;
      all.checked = selected === boxes.length;
      all.indeterminate = selected > 0 && selected < boxes.length;
    };
    all.hidden = boxes.length === 0;
    remove.form.addEventListener("change", (event) => {
      if (event.target === all) for (const box of boxes) box.checked = all.checked;
      show();
    });
    addEventListener("pageshow", show); // browsers restore selections when one comes back
    show();
  }

  // Ctrl+Enter runs a statement.
  document.querySelector("[data-run-keys]")?.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.requestSubmit();
  });

  // A file fills the text field of an import; its name selects the format.
  const file = document.getElementById("file");
  if (file) {
    file.closest("[data-file]").hidden = false;
    file.addEventListener("change", async () => {
      if (!file.files.length) return;
      document.getElementById("text").value = await file.files[0].text();
      document.getElementById("format").value = /\.csv$/i.test(file.files[0].name) ? "csv" : "json";
    });
  }

  // Live tail: ask for new records each second while the page is shown.
  const tail = document.querySelector("[data-tail]");
  if (tail) {
    const MOST_ROWS = 1000;
    const state = document.getElementById("tail-state");
    const records = document.getElementById("records");
    let iterators = "";
    let timer = 0;
    let seen = 0;
    const poll = async () => {
      timer = 0;
      try {
        const body = new URLSearchParams({ iterators, csrf: document.querySelector('meta[name="csrf"]').content });
        const response = await fetch(tail.dataset.tail, { method: "POST", body, headers: { Accept: "application/json" } });
        const answer = await response.json();
        if (!response.ok) throw new Error(answer.error?.message ?? `The server returned status ${response.status}.`);
        iterators = JSON.stringify(answer.iterators);
        if (answer.count) {
          records.insertAdjacentHTML("afterbegin", answer.html);
          keyplan.times(records);
          document.getElementById("no-records")?.remove();
          while (records.children.length > MOST_ROWS) records.lastElementChild.remove();
        }
        seen += answer.count;
        state.textContent = `Following: ${seen} new ${seen === 1 ? "record" : "records"}.`;
      } catch (error) {
        stop(`Stopped: ${error instanceof TypeError ? "the console cannot be reached" : error.message}`);
        return;
      }
      if (tail.ariaPressed === "true") timer = setTimeout(poll, document.hidden ? 5000 : 1000);
    };
    const stop = (message) => {
      clearTimeout(timer);
      tail.ariaPressed = "false";
      tail.textContent = "Follow live";
      state.textContent = message;
    };
    tail.hidden = false;
    tail.ariaPressed = "false";
    tail.addEventListener("click", () => {
      if (tail.ariaPressed === "true") {
        stop("Stopped.");
      } else {
        tail.ariaPressed = "true";
        tail.textContent = "Stop";
        poll();
      }
    });
  }
})();
