// Tables are sorted by their heads and filtered by names; an address that is the place of a cell opens its runs.
{
const filter = by("filter"), count = by("count");
const SMALL_FIRST = /^(rank|average rank|p|adjusted p|points below|s \/ run|seconds|peak)/;
const firstOrder = new Map(); // tables that were sorted -> their rows as they came
const sorted = new Map();

// Lays out what a page has for later: rows of a table that is there, or all of a section
function layOut(place) {
  const text = place.querySelector("noscript"), found = document.createElement("template"), table = by(place.dataset.rows);
  if (!text) return;
  place.open = true;
  found.innerHTML = text.textContent;
  if (table) { table.tBodies[0].append(...found.content.querySelectorAll("tbody > tr")); place.remove(); } else text.replaceWith(found.content);
  document.dispatchEvent(new Event("drawn"));
}

// The element of an id, which a part that is not laid out yet may hold
function found(id) {
  for (const place of by(id) ? [] : document.querySelectorAll(".later")) if (place.textContent.includes(`id="${id}"`)) layOut(place);
  return by(id);
}

const textOf = (cell) => cell.textContent.trim();
const numberIn = (text) => { const found = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?/i.exec(text); return found ? Number(found[0]) : NaN; };

function compare(one, other, direction) {
  const a = numberIn(one), b = numberIn(other);
  if (isNaN(a) && isNaN(b)) {
    if ((one[0] === "-" || one === "·") !== (other[0] === "-" || other === "·")) return one[0] === "-" || one === "·" ? 1 : -1;
    return direction * one.localeCompare(other);
  }
  if (isNaN(a) || isNaN(b)) return isNaN(a) ? 1 : -1; // what has no number stands last, however it is sorted
  return direction * (a - b);
}

function sort(table, column, way) {
  if (way) for (const rest of document.querySelectorAll(`.later[data-rows="${table.id}"]`)) layOut(rest);
  const head = table.tHead.rows[0].cells, body = table.tBodies[0];
  for (const cell of head) cell.removeAttribute("aria-sort");
  if (!firstOrder.has(table)) firstOrder.set(table, [...body.rows]);
  let rows = firstOrder.get(table);
  if (way && head[column]) {
    head[column].setAttribute("aria-sort", way);
    const direction = way === "ascending" ? 1 : -1;
    rows = [...rows].sort((a, b) => compare(textOf(a.cells[column]), textOf(b.cells[column]), direction));
    sorted.set(table.id, [column, way]);
  } else sorted.delete(table.id);
  body.append(...rows);
}

function show() {
  if (!filter) return;
  const words = filter.value.toLowerCase().split(/[\s,]+/).filter(Boolean), rest = document.querySelector(".later[data-rows] noscript");
  if (words.length && rest) { layOut(rest.parentElement); return; } // which shows again
  count.textContent = "";
  for (const row of document.querySelectorAll("tr[hidden]")) row.hidden = false;
  if (!words.length) return;
  let shown = 0, all = 0;
  for (const row of document.querySelectorAll("table[id] > tbody > tr")) {
    const names = [...row.querySelectorAll(".n, th")].map((cell) => `${cell.textContent} ${cell.title}`).join(" ").toLowerCase();
    row.hidden = !words.some((word) => names.includes(word));
    all += 1; shown += row.hidden ? 0 : 1;
  }
  count.textContent = `${shown} of ${all} rows`;
}

function remember() {
  address.write({ filter: filter ? filter.value : "", sort: [...sorted].map(([id, [column, way]]) => `${id}:${column}:${way}`) });
}

function choose(button) {
  const place = button.closest(".recipe");
  for (const other of place.querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === button));
  for (const seed of place.querySelectorAll(".seed")) seed.textContent = button.dataset.seed;
}

function arrive() {
  const hash = decodeURIComponent(location.hash.slice(1)), chosen = address.read();
  if (!hash || hash.includes("=")) {
    if (filter) filter.value = chosen.get("filter") || "";
    for (const id of [...sorted.keys()]) sort(by(id), 0, "");
    for (const value of chosen.getAll("sort")) {
      const [id, column, way] = value.split(":"), table = found(id);
      if (table && table.matches("table:not(#board)") && ["ascending", "descending"].includes(way)) sort(table, Number(column), way);
    }
    show();
    return;
  }
  const target = found(hash);
  if (!target) return;
  for (let one = target; one; one = one.parentElement) if (one.matches("details")) one.open = true;
  if (target.matches("button")) choose(target);
  target.scrollIntoView();
  (target.querySelector("summary") || target).focus({ preventScroll: true });
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.seed) choose(button);
  const cell = button.closest("table:not(#board) thead th");
  if (cell) {
    const now = cell.getAttribute("aria-sort"), first = cell.classList.contains("n") || SMALL_FIRST.test(textOf(cell)) ? "ascending" : "descending";
    const second = first === "ascending" ? "descending" : "ascending";
    sort(cell.closest("table"), cell.cellIndex, now === first ? second : now === second ? "" : first);
    remember();
  }
});
if (filter) filter.addEventListener("input", () => { show(); remember(); });
document.addEventListener("drawn", show);
document.addEventListener("toggle", (event) => { if (event.target.matches(".later[open]")) layOut(event.target); }, true);
window.addEventListener("hashchange", arrive);
for (const one of document.querySelectorAll("[data-script]")) one.hidden = false;
arrive();
}
