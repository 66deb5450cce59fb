// The first table for any choice of setting, criterion and measure, from the page's JSON: all numbers and sentences are
// pubench_report's, and nothing is computed here but places on the screen. What is chosen stands in the address.
{
const DATA = jsonOf("values");
for (const one of DATA.settings) for (const name of ["rows", "columns", "criteria", "measures"]) one[name] = one[name].map((k) => DATA[name][k]);
const EQUAL = 1e-9, state = {};

function begin(k) {
  const s = DATA.settings[k];
  Object.assign(state, { setting: k, criterion: s.criterion, measure: s.measure, prior: "", family: "", show: DATA.show, over: "", setups: "", sort: null });
}
const here = () => DATA.settings[state.setting];
const offered = (s, measure, criterion) => Boolean(s.shown[measure] && s.shown[measure][criterion]);
// What most readers never choose is text until it is asked for
const read = (of, name) => (of[name] = typeof of[name] === "string" ? JSON.parse(of[name]) : of[name]);
const gainsOf = (found) => [...found.gains, ...read(found, "others")];
const criterionOf = (s, key) => s.criteria.find((one) => one[0] === key);
const measureName = (s) => s.measures.find(([key]) => key === state.measure)[1];
const signed = (value) => (rounded(10 * Math.abs(value)) ? (value > 0 ? "+" : "−") : "") + fixed(Math.abs(value));
const FEW = 5; // data sets; a method with fewer is grey among gains
const visibleRow = (row) => (!state.family || row.family === state.family) && (!state.prior || row.kind || row.prior === (state.prior === "needs"));

// What is shown by a criterion: cells by row and column, places by row, and the sentences
function shownBy(s, criterion) {
  const found = read(s.shown[state.measure], criterion), cells = s.rows.map(() => s.columns.map(() => null));
  const references = state.show || state.over ? gainsOf(found) : found.gains, against = references.find((one) => s.rows[one.over].key === state.over) || references[0];
  s.cells.forEach(([r, c, id, runs, seconds = 0, shared = 0], k) => {
    const [mean = 0, spread = 0, fewer = 0, alike = 0, part = 0] = found.cells[k] || [null], n = fewer || runs;
    const gain = against && r !== against.over ? against.cells[k] : null;
    cells[r][c] = { mean, n, part, alike, spread, runs, seconds, shared, gain, link: id && `${s.page}#${id}`, departs: s.departs[k] || "" };
  });
  const places = found.places.map(([r, rank, below, low, high, first, level]) => ({ r, name: s.rows[r].name, rank, below, low, high, first, level }));
  const gains = state.show && against ? new Map(against.rows.map(([r, points, ahead, behind, data]) => [r, { points, ahead, behind, data }])) : null;
  return { ...found, held: DATA.said[found.held], key: criterion, cells, places, baselines: new Map(found.baselines), gains, offered: against, references };
}

// -------- table

// Class of a shade in steps of .05: styles of their own for a thousand cells take a browser longer
const shadeOf = (shade) => (rounded(20 * shade) ? ` s s${rounded(20 * shade)}` : "");
// Darker: a larger gain or loss, up to 11 points; the number has its sign
const shadeOfGain = (gain) => shadeOf(Math.min(0.55, Math.abs(gain) / 20)) + (gain < 0 ? " loss" : "");
function gainHtml(cell, link, over) {
  if (!cell.gain) return `<td class="c" title="no seed in common with ${plain(over)}">${link("n/a")}</td>`;
  const [value = 0, sure = 0, n = cell.n] = cell.gain, text = sure ? `<b>${signed(value)}</b>` : signed(value);
  return `<td class="c${cell.alike ? "" : shadeOfGain(value)}" data-v="${value}" title="${plain(`${cell.mean.toFixed(2)}, ${signed(value)} against ${over} over ${many(n, "seed")} of both`)}">${link(cell.alike === cell.runs ? `<span class="x">✕ ${signed(value)}</span>` : text)}${n < 3 ? `<sup> ${n}</sup>` : ""}</td>`;
}
function cellHtml(s, row, c, cell, best, now) {
  if (!cell) return `<td class="c">–</td>`;
  const link = (text) => (cell.link ? `<a href="${plain(cell.link)}" data-cell="${s.rows.indexOf(row)},${c}">${text}</a>` : text);
  if (cell.mean === null) return `<td class="c" title="${cell.runs ? plain(now.why) : "no finished run"}">${link(cell.runs ? "n/a" : "–")}</td>`;
  if (now.gains && cell.gain !== null) return gainHtml(cell, link, s.rows[now.offered.over].name);
  const alone = now.alone.length && now.alone[c] !== null && cell.mean <= now.alone[c]; // no better than one answer for all rows
  const value = cell.mean, n = cell.n, few = n < 3 ? `<sup> ${n}</sup>` : "", all = cell.alike === cell.runs;
  const shade = best === null || cell.alike || alone || now.gains ? 0 : 0.55 * Math.max(0, 1 - Math.max(0, best - value) / 12);
  const isBest = best !== null && !row.kind && !cell.alike && !alone && !cell.part && value >= best - EQUAL;
  const text = all ? `<span class="x">✕ ${fixed(value)}</span>` : isBest ? `<b>${fixed(value)}</b>` : fixed(value);
  const tip = `${value.toFixed(2)} over ${many(n, "seed")}${cell.alike ? `, ${cell.alike} decide every row alike` : ""}${cell.departs ? `; ${cell.departs}` : ""}`;
  return `<td class="c${shadeOf(shade)}" data-v="${value}" title="${plain(tip)}">${link(text)}${cell.departs ? "*" : ""}${few}</td>`;
}
function facts(s, now) {
  const place = new Map(now.places.map((one, k) => [one.r, { ...one, k }])), kinds = ["", "baseline", "oracle"];
  const byGain = (r) => (r === now.offered.over ? -1e9 : !now.gains.has(r) ? 1e9 : (now.gains.get(r).data < FEW ? 1e6 : 0) - now.gains.get(r).points);
  return s.rows.map((row, r) => {
    const [seconds, shared] = s.typical[r];
    return { r, row, place: place.get(r), seconds, shared };
  }).filter((one) => visibleRow(one.row) && (!now.gains || state.setups || one.r === now.offered.over || !s.folded.includes(one.r))).sort((a, b) => now.gains ? byGain(a.r) - byGain(b.r) : kinds.indexOf(a.row.kind) - kinds.indexOf(b.row.kind) ||
    (a.place ? a.place.k : 1e9) - (b.place ? b.place.k : 1e9) || (a.row.name.toLowerCase() < b.row.name.toLowerCase() ? -1 : 1));
}
// Columns without a value are left out. class more: not on a phone
const drawn = (s, now) => { const all = [...s.columns.keys()], some = all.filter((c) => now.cells.some((of) => of[c] && of[c].mean !== null)); return some.length ? some : all; };
const headsOf = (s, now) => [
  ...(now.gains ? [["method", "method", "m", ""], ["gain", "mean gain, points", "r", `over ${s.rows[now.offered.over].name}, of the data sets that both have`], ["ahead", "ahead : behind", "r more", "data sets on which a paired t-test over three seeds or more finds the gain (level .1)"]]
    : [["rank", "#", "r", ""], ["method", "method", "m", ""], ["below", "points below the best, 90 % interval", "strip more", ""], ["first", "first in", "r more", "share of resamples in which the method comes first"]]),
  ["seconds", "s / run", "r more", "median over seeds, then over data sets"],
  ...drawn(s, now).map((c) => [s.columns[c].tip, s.columns[c].name, "c", s.columns[c].tip]),
];
function table(s, now, lines) {
  const { best, baselines, gains } = now, heads = headsOf(s, now), columns = drawn(s, now), before = heads.length - columns.length;
  by("board").tHead.innerHTML = "<tr>" + heads.map(([key, text, kind, tip]) => {
    const way = state.sort && state.sort[0] === key ? ` aria-sort="${state.sort[1]}"` : "";
    return `<th scope="col" class="${kind}" title="${plain(tip)}"${way}><button type="button" data-sort="${plain(key)}">${plain(text)}</button></th>`;
  }).join("") + "</tr>";
  const ofRow = (r) => { const one = gains.get(r); return `<td class="r" data-v="${one ? one.points : r === now.offered.over ? 0 : ""}">${one ? signed(one.points) : r === now.offered.over ? "0.0" : ""}</td><td class="r more" data-v="${one ? one.ahead - one.behind : ""}">${one ? `${one.ahead} : ${one.behind} / ${one.data}` : ""}</td>`; };
  const rowClass = (r, place) => gains ? (gains.has(r) && gains.get(r).data >= FEW || r === now.offered.over ? "" : "out") : !place ? "out" : place.first >= 0.05 ? "lead" : "";
  by("board").tBodies[0].innerHTML = lines.map(({ r, row, place, seconds, shared: several }) =>
    `<tr class="${rowClass(r, place)}">${gains ? "" : `<td class="r" data-v="${place ? place.rank : ""}">${place ? place.rank : ""}</td>`}` +
    `<th scope="row" class="m" data-v="${plain(row.name)}" title="${plain(row.key)}">${row.page ? `<a href="${plain(row.page)}">${plain(row.name)}</a>` : plain(row.name)} <small>${plain(row.kind ? `(${row.kind})` : row.from)}</small></th>` +
    (gains ? ofRow(r) : `<td class="strip${place || baselines.has(r) ? " r" : ""} more" data-v="${place ? place.below : baselines.has(r) ? baselines.get(r) : ""}">${place ? dot(place) : baselines.has(r) ? dot({ below: baselines.get(r) }) : row.kind === "oracle" ? "sees every label" : row.kind || !now.ranked ? "not ranked" : "values missing"}</td>` +
    `<td class="r more" data-v="${place ? place.first : ""}">${place && place.first >= 0.005 ? percent(place.first) : ""}</td>`) +
    `<td class="r more" data-v="${seconds === null ? "" : seconds}">${several ? "○ " : ""}${seconds === null ? "" : duration(seconds)}</td>` +
    columns.map((c) => cellHtml(s, row, c, now.cells[r][c], best[c], now)).join("") + "</tr>").join("");
  by("board").tFoot.innerHTML = now.alone.some((one) => one !== null) ? `<tr class="out">${heads.slice(0, before).map(([key, , kind]) => key === "method" ? `<th scope="row" class="m">One answer for all rows</th>` : `<td class="${kind}"></td>`).join("")}${columns.map((c) => `<td class="c">${now.alone[c] === null ? "" : fixed(now.alone[c])}</td>`).join("")}</tr>` : "";
  if (state.sort) order(heads.findIndex(([key]) => key === state.sort[0]), state.sort[1]);
}
function order(column, way) {
  if (column < 0) return;
  const body = by("board").tBodies[0], sign = way === "ascending" ? 1 : -1;
  const value = (row) => row.cells[column].dataset.v || "", number = (text) => (text === "" ? NaN : Number(text));
  body.append(...[...body.rows].sort((a, b) => {
    if (a.cells[column].tagName === "TH") return sign * value(a).localeCompare(value(b));
    const one = number(value(a)), other = number(value(b));
    return isNaN(one) || isNaN(other) ? isNaN(one) - isNaN(other) : sign * (one - other);
  }));
}

// -------- what is shown, for a file or a text

function exported(kind) {
  const text = (cell) => (cell.matches(".c, .m") && cell.dataset.v) || cell.textContent.trim();
  const rows = [...by("board").rows].filter((row) => !row.hidden).map((row) => [...row.cells].map(text));
  if (kind === "CSV") return rows.map((row) => row.map((one) => (/[",\n]/.test(one) ? `"${one.replace(/"/g, '""')}"` : one)).join(",")).join("\n");
  if (kind === "LaTeX") {
    const tex = (one) => one.replace(/[&%#_{}$]/g, "\\$&").replace(/−/g, "$-$").replace(/[○✕] ?/g, "").replace(/^–$/, "--");
    return [`% ${by("setting").textContent}`, `\\begin{tabular}{${rows[0].map((one, k) => (k ? "r" : "l")).join("")}}`, "\\hline", ...rows.map((row, k) => `${row.map(tex).join(" & ")} \\\\${k ? "" : " \\hline"}`), "\\hline", "\\end{tabular}"].join("\n");
  }
  if (kind === "BibTeX") return `@misc{pubench,\n  title = {pubench: ${document.title}},\n  note = {${by("setting").textContent}},\n  howpublished = {${location.href}},\n  urldate = {${new Date().toISOString().slice(0, 10)}}\n}`;
  return location.href;
}
function openDrawer(title, body) {
  by("drawer").innerHTML = `<h2 id="drawer-title">${plain(title)}</h2>${body}<form method="dialog"><button autofocus>Close</button></form>`;
  by("drawer").showModal();
}
function give(kind) {
  openDrawer(kind, `<textarea readonly rows="9" aria-label="${plain(kind)}">${plain(exported(kind))}</textarea>`);
  by("drawer").querySelector("textarea").select();
}

// -------- figures

function figures(s, now, lines, oracle, oracleName) {
  const name = criterionOf(s, state.criterion)[1], shown = new Set(lines.map((one) => one.r));
  const figure = (id, text, svg) => { // nothing without a text
    const section = by(id).closest("section");
    section.hidden = !text;
    by(`${id}-text`).textContent = text || "";
    whenNear(section, () => { by(id).innerHTML = text ? svg(text, width(by(id))) : ""; });
  };
  const best = new Map(oracle ? oracle.places.map((one) => [one.r, one.level]) : []);
  const rows = now.places.filter((one) => shown.has(one.r) && best.has(one.r)).map((one) => [one.name, best.get(one.r), one.level]).sort((a, b) => a[1] - a[2] - (b[1] - b[2]));
  const [low, high] = [rows[0], rows[rows.length - 1]], loss = ([, one, other]) => `${one < other - 0.05 ? "gains" : "loses"} ${fixed(Math.abs(one - other))}`;
  figure("cost", rows.length && `Mean test ${measureName(s)} over ${many(s.columns.filter((one) => one.counts).length, "data set")}. ${low[0]} ${loss(low)} points, ${high[0]} ${loss(high)}.`,
    (text, wide) => dumbbell(rows, `with labels (${oracleName})`, `chosen by ${name}`, text, wide));
  const dots = lines.filter((one) => one.place && one.seconds !== null).map((one) => ({ name: one.row.name, seconds: one.seconds, below: one.place.below, shared: one.shared }));
  const fastest = frontier(dots).map((one) => `${one.name} (${duration(one.seconds)} s)`).join(", ");
  figure("time", dots.length && `Points below the best against median seconds per run. Nothing is both faster and better than ${fastest}.`, (text, wide) => scatter(dots, text, wide));
}

// Mean gains by method and setting, over the first reference of each: settings of several data sets, methods in half of them
function bySetting(place) {
  const columns = DATA.settings.filter((s) => s.columns.length >= FEW && s.shown[s.measure][s.criterion].gains.length).map((s) => {
    const words = s.title.split(", "), at = words.findIndex((one) => one.includes("%")), [gains] = s.shown[s.measure][s.criterion].gains;
    const of = new Map(gains.rows.filter(([r]) => !s.folded.includes(r) && !s.rows[r].kind).map(([r, ...gain]) => [s.rows[r].page, [s.rows[r].name.split(", ")[0], ...gain]]));
    return { s, of, over: s.rows[gains.over].name, group: words.slice(0, at).join(", "), share: words[at].split(" of ")[0], prior: s.measure.endsWith("-at-prior") };
  });
  if (columns.length < 2) return;
  const groups = [...new Set(columns.map((one) => one.group))], names = new Map(columns.flatMap((one) => [...one.of].map(([page, [name]]) => [page, name])));
  const sorted = groups.flatMap((group) => columns.filter((one) => one.group === group).sort((a, b) => parseFloat(a.share) - parseFloat(b.share)));
  const first = (page) => (columns[0].of.has(page) ? columns[0].of.get(page)[1] : -1e9), known = (page) => columns.filter((one) => one.of.has(page)).length;
  const cell = ({ s, of }, page) => {
    if (!of.has(page)) return `<td class="c">–</td>`;
    const [, points, ahead, behind, data] = of.get(page);
    return `<td class="c${shadeOfGain(points)}" title="${plain(`${s.title}: ahead on ${ahead}, behind on ${behind} of ${many(data, "data set")}`)}">${signed(points)}${data < FEW ? `<sup> ${data}</sup>` : ""}</td>`;
  };
  const section = place.closest("section");
  section.hidden = false;
  whenNear(section, () => { place.innerHTML = `<thead><tr><th rowspan="2" scope="col" class="m">method</th>${groups.map((group) => `<th class="c" scope="colgroup" colspan="${columns.filter((one) => one.group === group).length}">${plain(group)}</th>`).join("")}</tr><tr>` +
    sorted.map(({ s, share, prior }) => `<th class="c" scope="col"><a href="#setting=${plain(encodeURIComponent(s.tip))}" title="${plain(s.title)}">${plain(share)}</a>${prior ? "*" : ""}</th>`).join("") + "</tr></thead><tbody>" +
    [...names].filter(([page]) => 2 * known(page) >= columns.length).sort(([a], [b]) => first(b) - first(a)).map(([page, name]) =>
      `<tr><th scope="row" class="m"><a href="${plain(page)}">${plain(name)}</a></th>${sorted.map((one) => cell(one, page)).join("")}</tr>`).join("") + "</tbody>"; });
  by("settings-text").textContent = `Mean gain in points of accuracy over ${[...new Set(columns.map((one) => one.over))].join(" or ")}, in settings of ${FEW} data sets or more. Decided at 0; *: at the prior. Ordered by ${columns[0].s.title}. Small number: data sets, if fewer than ${FEW}.`;
}

// -------- choices

// Rows that gains can be over: those of this page, then the others, whose gains are on the page of the table
const against = (s, now) => [...now.references.map((one) => one.over), ...(s.page ? s.rows.keys() : [])].filter((r, k, all) => all.indexOf(r) === k).map((r) => [s.rows[r].key, s.rows[r].name]);

function controls(s, now) {
  const chips = (legend, items) => !items ? "" : `<fieldset><legend>${legend}</legend>${items}</fieldset>`;
  const button = (kind, value, text, on, extra = "", tip = "") => `<button type="button" class="${extra}" data-${kind}="${plain(value)}" aria-pressed="${on}" title="${plain(tip)}">${plain(text)}</button>`;
  const families = [...new Set(s.rows.map((row) => row.family).filter(Boolean))].sort();
  const select = (kind, options) => `<select aria-label="${kind}" data-select="${kind}">${options.map(([value, text]) => `<option value="${plain(value)}"${String(state[kind]) === String(value) ? " selected" : ""}>${plain(text)}</option>`).join("")}</select>`;
  const metric = state.measure.replace(/-at-prior$/, ""), known = s.measures.filter(([key]) => offered(s, key, state.criterion));
  const decisions = known.filter(([key]) => key.replace(/-at-prior$/, "") === metric), metrics = known.filter(([key]) => key === state.measure || key.replace(/-at-prior$/, "") !== metric);
  by("controls").innerHTML =
    chips("setting", select("setting", DATA.settings.map((one, k) => [k, `${one.title} (${many(one.runs, "run")})`]))) +
    chips("epoch chosen by", s.criteria.filter(([key]) => offered(s, state.measure, key)).map(([key, name, about, oracle]) => button("criterion", key, oracle ? `${name} (oracle)` : name, key === state.criterion, oracle ? "oracle" : "", about)).join("")) +
    chips("decision", decisions.length < 2 ? "" : decisions.map(([key]) => button("measure", key, key === metric ? "at 0, as networks do" : "at the prior", key === state.measure)).join("")) +
    chips("measure", metrics.length < 2 ? "" : metrics.map(([key, name]) => button("measure", key, name, key === state.measure)).join("")) +
    (now.offered ? chips("show", [["gain", "gain"], ["value", measureName(s)]].map(([key, text]) => button("show", key === "gain" ? key : "", text, (key === "gain") === Boolean(state.show))).join("")) : "") +
    (now.gains ? chips("against", select("over", against(s, now))) : "") +
    chips("methods", select("family", [["", "every family"], ...families.map((one) => [one, one])]) + select("prior", [["", "with or without a prior"], ["needs", "need the prior"], ["without", "need no prior"]]) + (now.gains && s.folded.length ? select("setups", [["", "one row per method"], ["all", "every setup"]]) : ""));
  const [, name, about, oracle] = criterionOf(s, state.criterion);
  by("about").textContent = `${name}${oracle ? " (oracle: it reads true labels, which nobody has in practice)" : ""}: ${about}.`;
}
function draw() {
  const s = here(), active = document.activeElement, held = active && active.closest("#controls, #board thead") ? { ...active.dataset } : null;
  const oracleKey = (s.criteria.find(([key, , , oracle]) => oracle && offered(s, state.measure, key)) || [])[0];
  const now = shownBy(s, state.criterion), oracle = oracleKey && oracleKey !== state.criterion ? shownBy(s, oracleKey) : null;
  const oracleName = oracleKey ? criterionOf(s, oracleKey)[1] : "", lines = facts(s, now);
  const said = now.gains ? { headline: now.offered.said[0], changes: now.offered.said.slice(1).join(" "), apart: "" } : { setting: `${now.setting} ${now.of}` };
  for (const id of ["headline", "changes", "apart", "held", "setting"]) by(id).textContent = id in said ? said[id] : now[id];
  by("setting").title = s.tip;
  if (now.offered && s.rows[now.offered.over].key !== state.over) state.over = "";
  controls(s, now);
  table(s, now, lines);
  figures(s, now, lines, oracle, oracleName);
  document.dispatchEvent(new Event("drawn"));
  if (held) { // the control that was used keeps the focus
    const [kind, value] = Object.entries(held)[0];
    const again = [...document.querySelectorAll(`[data-${kind}]`)].find((one) => one.dataset[kind] === value);
    if (again) again.focus();
  }
}
function remember() {
  const s = here(), parts = { setting: state.setting ? s.tip : "", by: state.criterion, measure: state.measure, show: state.show, over: state.over, setups: state.setups, family: state.family, prior: state.prior, rows: state.sort ? `${state.sort[1]} ${state.sort[0]}` : "" };
  const usual = { setting: "", by: s.criterion, measure: s.measure, show: DATA.show, over: "", setups: "", family: "", prior: "", rows: "" };
  if (DATA.show && !parts.show) parts.show = "value";
  address.write(Object.fromEntries(Object.entries(parts).map(([key, value]) => [key, String(value) === String(usual[key]) ? "" : value])));
}
function arrive() {
  const hash = address.read(), named = hash.get("setting"), k = DATA.settings.findIndex((one) => one.tip === named);
  begin(k >= 0 ? k : DATA.settings[named] ? Number(named) : 0); // older addresses have its place
  const s = here();
  if (offered(s, hash.get("measure"), s.criterion)) state.measure = hash.get("measure");
  if (offered(s, state.measure, hash.get("by"))) state.criterion = hash.get("by");
  state.show = hash.has("show") ? (hash.get("show") === "gain" ? "gain" : "") : DATA.show;
  state.over = hash.get("over") || "";
  state.setups = hash.get("setups") === "all" ? "all" : "";
  state.family = s.rows.some((row) => row.family === hash.get("family")) ? hash.get("family") : "";
  state.prior = ["needs", "without"].includes(hash.get("prior")) ? hash.get("prior") : "";
  const [way, column] = (hash.get("rows") || "").split(/ (.*)/s);
  state.sort = ["ascending", "descending"].includes(way) && column ? [column, way] : null;
  draw();
  const cell = hash.get("cell"), places = cell ? [...s.rows.keys()].flatMap((r) => [...s.columns.keys()].map((c) => [r, c])) : [];
  const opened = places.find(([r, c]) => cellName(s, r, c) === cell && shownBy(s, state.criterion).cells[r][c]);
  if (opened) drawer(...opened);
}
const cellName = (s, r, c) => `${s.rows[r].key} on ${s.columns[c].tip}`; // in the address
function drawer(r, c) {
  const s = here(), row = s.rows[r], cell = shownBy(s, state.criterion).cells[r][c];
  const value = cell.mean === null ? "no value" : `${cell.mean.toFixed(2)}${cell.n < 2 ? "" : ` ± ${cell.spread.toFixed(2)}`} over ${many(cell.n, "seed")}`;
  openDrawer(`${row.name} on ${s.columns[c].name}`,
    `<p>${plain(measureName(s))}: ${value}${cell.alike ? `; <span class="x">${cell.alike} of ${many(cell.runs, "run")} decide every row alike</span>` : ""}` +
    `${cell.seconds === null ? "" : `; ${duration(cell.seconds)} s per run`}.</p>` +
    `${window.curveOf ? window.curveOf(cell.link, state.criterion) : ""}<p><a href="${plain(cell.link)}">Its runs, records and the commands that repeat them</a></p>`);
  address.write({ cell: cellName(s, r, c) });
}
by("drawer").addEventListener("close", () => address.read().has("cell") && address.write({ cell: "" }));

document.addEventListener("click", (event) => {
  const cell = event.target.closest("[data-cell]"), button = event.target.closest("button");
  if (cell && !event.ctrlKey && !event.metaKey && !event.shiftKey) { event.preventDefault(); drawer(...cell.dataset.cell.split(",").map(Number)); return; }
  if (event.target === by("drawer") || event.target.closest("#drawer a")) by("drawer").close();
  if (!button || !button.closest("#controls, #board, #tools")) return;
  const { criterion, measure, sort, show, give: kind } = button.dataset;
  if (kind) { give(kind); return; }
  if (show !== undefined) Object.assign(state, { show, sort: null });
  if (criterion) state.criterion = criterion;
  if (measure) state.measure = measure;
  if (sort) {
    const ways = ["rank", "method", "below", "seconds"].includes(sort) ? ["ascending", "descending"] : ["descending", "ascending"], now = state.sort && state.sort[0] === sort ? ways.indexOf(state.sort[1]) : -1;
    state.sort = now === 1 ? null : [sort, ways[now + 1]];
  }
  draw(); remember();
});
document.addEventListener("change", (event) => {
  const kind = event.target.dataset.select;
  if (!kind) return;
  const s = here(), value = event.target.value;
  if (kind === "over" && s.page && !gainsOf(s.shown[state.measure][state.criterion]).some((one) => s.rows[one.over].key === value)) {
    location.href = `${s.page}#${new URLSearchParams({ show: "gain", over: value, by: state.criterion, measure: state.measure })}`;
    return;
  }
  if (kind === "setting") begin(Number(value)); else state[kind] = value;
  draw(); remember();
});
document.addEventListener("keydown", (event) => { // arrows move between the cells of the table
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key], cell = event.target.closest && event.target.closest("#board tbody td, #board tbody th");
  if (!steps || !cell || event.target === by("board").parentElement) return;
  const rows = by("board").tBodies[0].rows;
  let r = cell.parentElement.rowIndex - 1 + steps[0], c = cell.cellIndex + steps[1];
  while (rows[r] && rows[r].cells[c]) {
    const link = rows[r].cells[c].querySelector("a");
    if (link) { event.preventDefault(); link.focus(); return; }
    r += steps[0]; c += steps[1];
  }
});
window.addEventListener("hashchange", () => { if (location.hash.includes("=") || !location.hash) arrive(); });
if (window.matchMedia("(max-width: 800px)").matches) by("bar").open = false;
arrive();
if (by("settings-text")) bySetting(document.querySelector(".heat"));
}
