"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
  const table = $("table");
  const [body, rest] = table.tBodies;
  const items = all("details.item");
  const sections = new Map(items.map((details) => [details.querySelector(".body").id, details]));
  const rows = [...table.tBodies].flatMap((part) => [...part.rows]).map((row, place) => {
    const link = row.querySelector("th a");
    return { row, place, section: link && sections.get(link.hash.slice(1)), words: null };
  });

  // The language: the style sheet shows it; option texts cannot hold two, so they are swapped here.
  const speak = () => {
    const english = $("en").checked;
    for (const option of all("option[data-e]")) {
      option.dataset.p ??= option.textContent;
      option.textContent = english ? option.dataset.e : option.dataset.p;
    }
  };
  for (const id of ["pt", "en"]) $(id).addEventListener("change", speak);
  speak();

  // A long table is drawn in two parts, the second on demand: ten thousand rows take a browser seconds.
  const first = Number(table.dataset.first);
  const digits = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, "\u202f");
  const place = () => {
    const seen = rows.filter(({ row }) => !row.hidden).map(({ row }) => row);
    if (rest) {
      body.append(...seen.slice(0, first));
      rest.append(...seen.slice(first), ...rows.filter(({ row }) => row.hidden).map(({ row }) => row));
    } else body.append(...rows.map(({ row }) => row));
    $("count").textContent = digits(seen.length);
    $("more").querySelector("b").textContent = digits(seen.length - first);
    $("more").hidden = seen.length <= first || table.classList.contains("all");
  };
  $("more").addEventListener("click", () => {
    table.classList.add("all");
    place();
  });

  // Narrowing: a row and its section come and go together.
  const form = $("controls");
  const chosen = (id) => $(id)?.value ?? "";
  const has = (list, value) => !value || (list ?? "").split(" ").includes(value);
  const text = (entry) => (entry.words ??= plain(`${entry.row.textContent} ${entry.section?.textContent ?? ""}`));
  const narrow = () => {
    const verdicts = new Set(all("[name=verdict]:checked", form).map((box) => box.value));
    const wanted = plain($("text").value).split(/\s+/).filter(Boolean);
    const [corpus, field, kind] = ["corpus", "field", "class"].map(chosen);
    for (const entry of rows) {
      const { v, c, f, k } = entry.row.dataset;
      const keep =
        verdicts.has(v) && has(c, corpus) && has(f, field) && has(k, kind) &&
        (!wanted.length || wanted.every((word) => text(entry).includes(word)));
      entry.row.hidden = !keep;
      if (entry.section) entry.section.hidden = !keep;
    }
    place();
  };
  let waiting;
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(narrow, rows.length > 2000 ? 200 : 0);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(narrow));
  form.hidden = false;

  // Sorting: verdicts in their order of weight, figures by value, the rest by the language's own order.
  const order = all("[name=verdict]", form).map((box) => box.value);
  const collator = new Intl.Collator("pt-BR", { numeric: true });
  const value = (by, column, { row }) =>
    by === "verdict" ? order.indexOf(row.dataset.v)
      : by === "number" ? Number(row.cells[column].dataset.n)
      : row.cells[column].textContent.trim();
  const heads = all("thead th", table);
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const by = head.dataset.by;
      // Figures start with the largest, the rest with the first.
      const before = head.getAttribute("aria-sort") ?? (by === "number" ? "ascending" : "descending");
      const sign = before === "descending" ? 1 : -1;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      const keyed = rows.map((entry) => [value(by, column, entry), entry]);
      keyed.sort(([a, x], [b, y]) =>
        sign * (typeof a === "number" ? a - b : collator.compare(a, b)) || x.place - y.place);
      rows.splice(0, rows.length, ...keyed.map(([, entry]) => entry));
      place();
    });
  });

  // Folding: a link to an item opens it; printing opens all that are in view.
  const reveal = () => {
    const details = sections.get(decodeURIComponent(location.hash.slice(1)));
    if (!details) return;
    details.hidden = false;
    details.open = true;
    details.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  table.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (link && link.hash === location.hash) reveal();
  });
  const fold = (open) => { for (const details of items) if (!details.hidden) details.open = open; };
  if ($("folds")) {
    $("unfold").addEventListener("click", () => fold(true));
    $("fold").addEventListener("click", () => fold(false));
    $("folds").hidden = false;
  }
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = all("details:not([open])");
    for (const details of closed) details.open = true;
  });
  addEventListener("afterprint", () => { for (const details of closed) details.open = false; });
  place();
  if (location.hash) reveal();
})();
