// The front page for any choice of setting, criterion, measure and data sets, from the page's JSON. The numbers are
// those of pubench_report/standing.py, from the same stream of random numbers. What is chosen stands in the address.
{
const DATA = jsonOf("values"), RESAMPLES = DATA.resamples;
for (const one of DATA.settings) for (const name of ["rows", "criteria", "measures"]) one[name] = one[name].map((k) => DATA[name][k]);
const mean = (list) => list.reduce((sum, one) => sum + one, 0) / list.length;
const median = (list) => { const s = [...list].sort((a, b) => a - b), k = s.length >> 1; return s.length % 2 ? s[k] : (s[k - 1] + s[k]) / 2; };
const EQUAL = 1e-9, LEAST = 2, state = {};

function begin(k) {
  const s = DATA.settings[k];
  Object.assign(state, { setting: k, criterion: s.criterion, measure: s.measure, prior: "", family: "", sort: null,
    data: new Set(s.columns.flatMap((one, c) => (one.counts ? [c] : []))) });
}
const here = () => DATA.settings[state.setting];
const offered = (s, measure, criterion) => Boolean(s.values[measure] && s.values[measure][criterion]);

// (row, column) -> {alike, values by seed, n, link, seconds, shared, departs} under a criterion
function cellsOf(s, criterion) {
  const found = s.rows.map(() => s.columns.map(() => null)), values = s.values[state.measure][criterion];
  s.cells.forEach(([r, c, id, set, seconds, shared], k) => {
    const [alike, ...list] = values[k], bySeed = new Map(), seeds = s.seeds[set];
    seeds.forEach((seed, j) => { if (list[j] !== null) bySeed.set(seed, list[j] / 100); });
    found[r][c] = { alike, bySeed, runs: seeds.length, link: id ? `${s.page}#${id}` : "", seconds, shared, departs: s.departs[k] || "" };
  });
  return found;
}
const shared = (cell, seeds) => (cell && seeds.length && seeds.every((seed) => cell.bySeed.has(seed)) ? seeds.map((seed) => cell.bySeed.get(seed)) : null);
const visibleRow = (row) => (!state.family || row.family === state.family) && (!state.prior || row.kind || row.prior === (state.prior === "needs"));

function resampling(groups, counts) {
  const members = [...new Set(groups)].map((group) => groups.flatMap((name, k) => (name === group ? [k] : [])));
  const offsets = [0]; for (const n of counts) offsets.push(offsets[offsets.length - 1] + n);
  let random = 7;
  const next = (n) => { random = (random * 16807) % 2147483647; return Math.floor((random * n) / 2147483647); };
  return Array.from({ length: RESAMPLES }, () => {
    const row = new Float64Array(offsets[counts.length]);
    let columns = 0;
    for (let k = 0; k < members.length; k++) for (const column of members[next(members.length)]) {
      columns += 1;
      for (let j = 0; j < counts[column]; j++) row[offsets[column] + next(counts[column])] += 1 / counts[column];
    }
    return row.map((weight) => weight / columns);
  });
}

function standing(criterion, resampled = true) {
  const s = here(), all = cellsOf(s, criterion), columns = [...state.data].sort((a, b) => a - b);
  const there = s.rows.flatMap((row, r) => (row.kind || !visibleRow(row) ? [] : [r]));
  const rows = there.filter((r) => columns.every((c) => shared(all[r][c], s.columns[c].seeds)));
  const result = { baselines: [], cells: all, columns, rows, places: [], groups: columns.map((c) => s.columns[c].group), why: "" };
  const [, named, ranked] = s.measures.find(([key]) => key === state.measure);
  if (!ranked) result.why = `A method that decides every row alike can have the best ${named}, so none is ranked by it.`;
  else if (there.length < 2) result.why = `${many(there.length, "method")}: there is nothing to compare.`;
  else if (s.columns.every((one) => one.seeds.length < LEAST)) result.why = "One seed per data set: the spread is unknown, so no method is ranked. Run 3 seeds or more.";
  else if (rows.length < 2 || !columns.length) result.why = "No two methods have a value for every shared seed of a data set, so none is ranked.";
  if (result.why) return result;
  const flat = rows.map(() => []), point = rows.map(() => []), tops = [];
  for (const c of columns) {
    const values = rows.map((r) => shared(all[r][c], s.columns[c].seeds)), means = values.map(mean);
    const good = means.filter((_, k) => !all[rows[k]][c].alike), best = Math.max(...(good.length ? good : means));
    tops.push(best);
    values.forEach((list, k) => {
      const below = list.map((v) => best - v + Math.max(0, means[k] - best));
      flat[k].push(...below); point[k].push(mean(below));
    });
  }
  result.baselines = s.rows.flatMap((row, r) => {
    const values = row.kind === "baseline" ? columns.map((c) => shared(all[r][c], s.columns[c].seeds)) : [null];
    return values.every(Boolean) ? [{ r, name: row.name, below: mean(values.map((list, k) => tops[k] - mean(list))) }] : [];
  });
  const weights = !resampled ? [] : resampling(result.groups, columns.map((c) => s.columns[c].seeds.length));
  const drawn = flat.map((list) => weights.map((row) => { let sum = 0; for (let j = 0; j < list.length; j++) sum += row[j] * list[j]; return sum; }));
  const below = point.map(mean), first = rows.map(() => 0);
  for (let b = 0; b < weights.length; b++) {
    const least = Math.min(...drawn.map((list) => list[b])) + EQUAL, winners = rows.flatMap((_, k) => (drawn[k][b] <= least ? [k] : []));
    for (const k of winners) first[k] += 1 / winners.length / RESAMPLES;
  }
  const places = rows.map((r, k) => {
    const sorted = Float64Array.from(drawn[k]).sort(), at = (share) => Math.max(0, sorted[Math.floor(RESAMPLES * share)]);
    return { r, name: s.rows[r].name, below: below[k], low: at(0.05), high: at(0.95), first: first[k], byColumn: point[k], resampled: drawn[k],
      rank: 1 + below.filter((one) => one < below[k] - EQUAL).length };
  });
  result.places = places.sort((a, b) => a.rank - b.rank || (s.rows[a.r].key < s.rows[b.r].key ? -1 : 1));
  return result;
}

// -------- words

function headline(now) {
  if (!now.places.length) return now.why;
  const [best, ...others] = now.places, number = now.columns.length, tied = now.places.filter((one) => one.rank === 1).map((one) => one.name);
  const next = others.filter((one) => one.first >= 0.005).sort((a, b) => b.first - a.first).slice(0, 2).map((one) => `${one.name} ${percent(one.first)}`).join(", ");
  const who = tied.join(" and "), several = tied.length > 1, second = now.places.find((one) => one.rank > 1);
  const where = number === 1 ? `on ${here().columns[now.columns[0]].name.split(",")[0]}` : `on each of ${problems(now)}`;
  const lead = unbeaten(now);
  let said = Math.max(...best.byColumn) <= EQUAL
    ? `${who} ${several ? "are" : "is"} best ${where}${second ? `; ${second.name}, the second, is ${fixed(second.below)} points below` : ""}.`
    : lead ? `${who} ${several ? "come" : "comes"} closest: ${fixed(best.below)}.`
    : `${who} ${several ? "come" : "comes"} closest to the best of each data set: ${fixed(best.below)} points below it on average.`;
  if (lead) said = `No method beats ${lead.name} (baseline), ${fixed(Math.abs(lead.below))} points ${lead.below < -EQUAL ? "above" : "below"} the best of each data set on average. ${said}`;
  return `${said} Over resampled ${number > 1 ? "data sets and seeds" : "seeds"} ${several ? best.name : "it"} comes first in ${percent(best.first)}${next ? `; next: ${next}` : ""}.`;
}
// "3 data sets", or "3 problems of 2 data sets" if some are of the same source
function problems(now) {
  const groups = new Set(now.groups).size, said = many(groups, "data set");
  return groups === now.groups.length ? said : `${now.groups.length} problems of ${said}`;
}
// The best baseline, if no method is better.
function unbeaten(now) {
  const best = now.baselines.reduce((a, b) => (a && a.below <= b.below ? a : b), null);
  return best && best.below <= now.places[0].below + EQUAL ? best : null;
}
function changes(now, oracle, oracleName) {
  if (!now.places.length) return "";
  const s = here(), groups = [...new Set(now.groups)], best = now.places[0].name, lead = unbeaten(now), said = [];
  const called = new Map(now.columns.map((c) => [s.columns[c].group, s.columns[c].name.split(",")[0]]));
  for (const { r, name, below } of now.baselines) {
    if (lead && r === lead.r) continue; // the headline says it
    const better = now.places.filter((one) => one.below < below - EQUAL).length;
    said.push(`${name} (baseline) is ${fixed(below)} points below: ${better} of ${many(now.places.length, "method")} ${better === 1 ? "is" : "are"} better.`);
  }
  if (groups.length < 5) said.push(`${many(groups.length, "data set")} can say little about others.`);
  if (groups.length > 1) {
    const without = groups.map((group) => {
      const kept = now.groups.flatMap((name, k) => (name === group ? [] : [k])), left = now.places.map((one) => mean(kept.map((k) => one.byColumn[k])));
      return [called.get(group), now.places[left.indexOf(Math.min(...left))].name];
    }).filter(([, name]) => name !== best);
    said.push(...without.map(([group, name]) => `Without ${group} it would be ${name}.`));
    if (!without.length) said.push("It stays first whichever data set is left out.");
  }
  if (oracle && oracle.places.length) said.push(`With epochs chosen by an oracle (${oracleName}) it would ${oracle.places[0].name === best ? "still " : ""}be ${oracle.places[0].name}.`);
  return said.join(" ");
}

// -------- table

function cellHtml(s, row, c, cell, best) {
  const name = `${row.name} on ${s.columns[c].name}`;
  if (!cell) return `<td class="c" title="${plain(name)}: not run">–</td>`;
  const mine = shared(cell, s.columns[c].seeds), list = mine || [...cell.bySeed.values()];
  const link = (text) => (cell.link ? `<a href="${plain(cell.link)}" data-cell="${s.rows.indexOf(row)},${c}">${text}</a>` : text);
  if (!list.length) return `<td class="c" title="${plain(name)}: no value">${link("–")}</td>`;
  const value = mean(list), few = list.length < 3 ? `<sup>${list.length}</sup>` : "", all = cell.alike === cell.runs;
  const shade = best === null || cell.alike ? 0 : 0.55 * Math.max(0, 1 - Math.max(0, best - value) / 12);
  const isBest = best !== null && !row.kind && !cell.alike && mine && value >= best - EQUAL;
  const text = all ? `<span class="x">✕ ${fixed(value)}</span>` : isBest ? `<b>${fixed(value)}</b>` : fixed(value);
  const tip = `${name}: ${value.toFixed(2)} over ${many(list.length, "seed")}${cell.alike ? `, ${cell.alike} decide every row alike` : ""}${cell.departs ? `; ${cell.departs}` : ""}`;
  return `<td class="c" data-v="${value}"${shade ? ` style="--a:${shade.toFixed(2)}"` : ""} title="${plain(tip)}">${link(text)}${cell.departs ? "*" : ""}${few}</td>`;
}
function facts(s, now) {
  const place = new Map(now.places.map((one) => [one.r, one])), kinds = ["", "baseline", "oracle"];
  return s.rows.map((row, r) => {
    const there = now.cells[r].filter(Boolean), timed = now.cells[r].filter((cell, c) => cell && cell.seconds !== null && (!place.has(r) || state.data.has(c)));
    const runs = there.reduce((sum, cell) => sum + cell.runs, 0), alike = there.reduce((sum, cell) => sum + cell.alike, 0);
    return { r, row, place: place.get(r), runs, alike, seconds: timed.length ? median(timed.map((cell) => cell.seconds)) : null, shared: timed.some((cell) => cell.shared) };
  }).filter((one) => visibleRow(one.row)).sort((a, b) => kinds.indexOf(a.row.kind) - kinds.indexOf(b.row.kind) ||
    (a.place ? now.places.indexOf(a.place) : 1e9) - (b.place ? now.places.indexOf(b.place) : 1e9) || (a.row.name.toLowerCase() < b.row.name.toLowerCase() ? -1 : 1));
}
function table(s, now, lines) {
  const [, , ranked] = s.measures.find(([key]) => key === state.measure);
  const best = s.columns.map((column, c) => {
    if (!ranked) return null;
    const means = s.rows.flatMap((row, r) => { const cell = now.cells[r][c], list = cell && !row.kind && !cell.alike ? shared(cell, column.seeds) : null; return list ? [mean(list)] : []; });
    return means.length && column.seeds.length >= LEAST ? Math.max(...means) : null;
  });
  const baselines = new Map(now.baselines.map((one) => [one.r, one.below]));
  const heads = [["#", "r", ""], ["method", "m", ""], ["points below the best, 90 % interval", "strip", ""],
    ["first in", "r", "share of resamples in which the method comes first"], ["collapsed", "r", "share of runs that decide every row alike"],
    ["s / run", "r", "median over seeds, then over data sets"], ...s.columns.map((one) => [one.name, "c", one.tip])];
  by("board").tHead.innerHTML = "<tr>" + heads.map(([text, kind, tip], k) => {
    const way = state.sort && state.sort[0] === k ? ` aria-sort="${state.sort[1]}"` : "";
    return `<th scope="col" class="${kind}" title="${plain(tip)}"${way}><button type="button" data-sort="${k}">${plain(text)}</button></th>`;
  }).join("") + "</tr>";
  by("board").tBodies[0].innerHTML = lines.map(({ r, row, place, runs, alike, seconds, shared: several }) =>
    `<tr class="${!place ? "out" : place.first >= 0.05 ? "lead" : ""}"><td class="r" data-v="${place ? place.rank : ""}">${place ? place.rank : ""}</td>` +
    `<th scope="row" class="m" data-v="${plain(row.name)}" title="${plain(row.key)}">${row.page ? `<a href="${plain(row.page)}">${plain(row.name)}</a>` : plain(row.name)} <small>${plain(row.kind ? `(${row.kind})` : row.from)}</small></th>` +
    `<td class="strip" data-v="${place ? place.below : baselines.has(r) ? baselines.get(r) : ""}">${place ? dot(place) : baselines.has(r) ? dot({ below: baselines.get(r) }) : row.kind === "oracle" ? "sees every label" : row.kind || now.why ? "not ranked" : "values missing"}</td>` +
    `<td class="r" data-v="${place ? place.first : ""}">${place && place.first >= 0.005 ? percent(place.first) : ""}</td>` +
    `<td class="r${alike ? " x" : ""}" data-v="${runs ? alike / runs : ""}">${alike ? percent(alike / runs) : runs ? "0" : ""}</td>` +
    `<td class="r" data-v="${seconds === null ? "" : seconds}"${several ? ' title="several runs shared the machine"' : ""}>${several ? "○ " : ""}${seconds === null ? "" : duration(seconds)}</td>` +
    s.columns.map((_, c) => cellHtml(s, row, c, now.cells[r][c], best[c])).join("") + "</tr>").join("");
  if (state.sort) order(...state.sort);
}
function order(column, way) {
  const body = by("board").tBodies[0], sign = way === "ascending" ? 1 : -1;
  const value = (row) => row.cells[column].dataset.v || "", number = (text) => (text === "" ? NaN : Number(text));
  body.append(...[...body.rows].sort((a, b) => {
    if (column === 1) return sign * value(a).localeCompare(value(b));
    const one = number(value(a)), other = number(value(b));
    return isNaN(one) || isNaN(other) ? isNaN(one) - isNaN(other) : sign * (one - other);
  }));
}

// -------- figures

function figures(s, now, lines, oracle, oracleName) {
  const name = criterionOf(s, state.criterion)[1];
  by("cost").innerHTML = by("cost-text").textContent = by("time").innerHTML = by("time-text").textContent = by("wins").innerHTML = "";
  if (oracle && state.criterion !== oracle.key && now.columns.length) {
    const level = (which, r) => mean(now.columns.map((c) => mean(shared(which.cells[r][c], s.columns[c].seeds))));
    const rows = now.rows.filter((r) => oracle.rows.includes(r)).map((r) => [s.rows[r].name, level(oracle, r), level(now, r)]).sort((a, b) => a[1] - a[2] - (b[1] - b[2]));
    if (rows.length) {
      const [low, high] = [rows[0], rows[rows.length - 1]], loss = ([, one, other]) => `${one < other - 0.05 ? "gains" : "loses"} ${fixed(Math.abs(one - other))}`;
      by("cost-text").textContent = `Mean test ${s.measures.find(([key]) => key === state.measure)[1]} over ${many(now.columns.length, "data set")}. ${low[0]} ${loss(low)} points, ${high[0]} ${loss(high)}.`;
      by("cost").innerHTML = dumbbell(rows, `with labels (${oracleName})`, `chosen by ${name}`, by("cost-text").textContent, width(by("cost")));
    }
  }
  const dots = lines.filter((one) => one.place && one.seconds !== null).map((one) => ({ name: one.row.name, seconds: one.seconds, below: one.place.below, shared: one.shared }));
  if (dots.length) {
    const line = frontier(dots);
    by("time-text").textContent = `Points below the best against median seconds per run. Nothing is both faster and better than ${line.map((one) => `${one.name} (${duration(one.seconds)} s)`).join(", ")}.`;
    by("time").innerHTML = scatter(dots, by("time-text").textContent, width(by("time")));
  }
  const top = now.places.slice(0, 10), wins = (a, b) => mean(a.resampled.map((v, k) => Number(v < b.resampled[k] - EQUAL)));
  if (top.length) by("wins").innerHTML = heat(top.map((one) => one.name), top.map((one) => one.name), top.map((a) => top.map((b) => {
    if (a === b) return ["", 0, ""];
    const share = wins(a, b);
    return [rounded(100 * share), (share - 0.5) * 1.1, `${a.name} is better than ${b.name} in ${percent(share)}`];
  })));
  for (const id of ["cost", "time", "wins"]) by(id).closest("section").hidden = !by(id).innerHTML;
  by("coverage").innerHTML = heat(lines.map((one) => one.row.name), s.columns.map((one) => one.name), lines.map((one) => s.columns.map((column, c) => {
    const cell = now.cells[one.r][c], n = cell ? cell.bySeed.size : 0;
    return [n || "", Math.min(n, 10) * 0.05, `${one.row.name} on ${column.name}: ${n ? many(n, "seed") : "not run"}`];
  })));
}

// Ranks in every setting that has a ranking, by its first measure and criterion. A figure for two settings or more.
function ranks() {
  const keep = { ...state }, found = [];
  DATA.settings.forEach((s, k) => {
    begin(k);
    const now = standing(s.criterion, false);
    if (now.places.length) found.push({ title: s.title, rank: new Map(now.places.map((one) => [one.name, one.rank])) });
  });
  Object.assign(state, keep);
  const names = [...new Set(found.flatMap((one) => [...one.rank.keys()]))].map((name) => ({ name, ranks: found.map((one) => one.rank.get(name) || null) })).filter((one) => one.ranks.filter(Boolean).length > 1);
  by("bump-section").hidden = found.length < 2 || !names.length;
  if (by("bump-section").hidden) return;
  const changed = names.filter((one) => new Set(one.ranks.filter(Boolean)).size > 1).length;
  by("bump-text").textContent = `Rank by points below the best in each of ${many(found.length, "setting")}, of methods that are ranked in two or more: ${changed} of ${names.length} change theirs.`;
  by("bump").innerHTML = bump(names, found.map((one) => one.title), by("bump-text").textContent);
}

// -------- choices

const criterionOf = (s, key) => s.criteria.find((one) => one[0] === key);
function controls(s) {
  const chips = (legend, items) => !items ? "" : `<fieldset><legend>${legend}</legend>${items}</fieldset>`;
  const button = (kind, value, text, on, extra = "", tip = "") => `<button type="button" class="${extra}" data-${kind}="${plain(value)}" aria-pressed="${on}" title="${plain(tip)}">${plain(text)}</button>`;
  const families = [...new Set(s.rows.map((row) => row.family).filter(Boolean))].sort();
  const select = (kind, options) => `<select aria-label="${kind}" data-select="${kind}">${options.map(([value, text]) => `<option value="${plain(value)}"${String(state[kind]) === String(value) ? " selected" : ""}>${plain(text)}</option>`).join("")}</select>`;
  by("controls").innerHTML =
    chips("setting", select("setting", DATA.settings.map((one, k) => [k, `${one.title} (${many(one.runs, "run")})`]))) +
    chips("epoch chosen by", s.criteria.filter(([key]) => offered(s, state.measure, key)).map(([key, name, about, oracle]) => button("criterion", key, oracle ? `${name} (oracle)` : name, key === state.criterion, oracle ? "oracle" : "", about)).join("")) +
    chips("measure", s.measures.filter(([key]) => offered(s, key, state.criterion)).map(([key, name]) => button("measure", key, name, key === state.measure)).join("")) +
    chips("data", s.columns.map((one, c) => (one.seeds.length < LEAST ? "" : button("data", c, one.name, state.data.has(c), "", one.tip))).join("")) +
    chips("methods", select("family", [["", "every family"], ...families.map((one) => [one, one])]) + select("prior", [["", "with or without a prior"], ["needs", "need the prior"], ["without", "need no prior"]]));
  const [, name, about, oracle] = criterionOf(s, state.criterion);
  by("about").textContent = `${name}${oracle ? " (oracle: it reads true labels, which nobody has in practice)" : ""}: ${about}.`;
}
function draw() {
  const s = here(), active = document.activeElement, held = active && active.closest("#controls, #board thead") ? { ...active.dataset } : null;
  const oracleKey = (s.criteria.find(([key, , , oracle]) => oracle && offered(s, state.measure, key)) || [])[0];
  const now = standing(state.criterion), oracle = oracleKey && oracleKey !== state.criterion ? { key: oracleKey, ...standing(oracleKey) } : null;
  const oracleName = oracleKey ? criterionOf(s, oracleKey)[1] : "", lines = facts(s, now), [, name, , isOracle] = criterionOf(s, state.criterion);
  by("headline").textContent = headline(now).replaceAll(" %", "\u00a0%");
  by("changes").textContent = changes(now, oracle, oracleName);
  by("held").textContent = isOracle || state.criterion === "last" ? "" : s.held;
  const compared = lines.filter((one) => !one.row.kind).length;
  by("setting").title = s.tip;
  by("setting").textContent = `${s.title}; test ${s.measures.find(([key]) => key === state.measure)[1]} at the epoch chosen by ${name}${isOracle ? " (oracle)" : ", without labels"}; ` +
    `${problems(now)}; ${now.places.length} of ${many(compared, "method")} have every value there.`;
  controls(s);
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
  const s = here(), parts = { setting: state.setting, by: state.criterion, measure: state.measure, data: [...state.data].sort((a, b) => a - b).join("."), family: state.family, prior: state.prior, rows: state.sort ? state.sort.join(".") : "" };
  const usual = { setting: 0, by: s.criterion, measure: s.measure, data: s.columns.flatMap((one, c) => (one.counts ? [c] : [])).join("."), family: "", prior: "", rows: "" };
  address.write(Object.fromEntries(Object.entries(parts).map(([key, value]) => [key, String(value) === String(usual[key]) ? "" : value])));
}
function arrive() {
  const hash = address.read(), k = Number(hash.get("setting"));
  begin(DATA.settings[k] ? k : 0);
  const s = here();
  if (offered(s, hash.get("measure"), s.criterion)) state.measure = hash.get("measure");
  if (offered(s, state.measure, hash.get("by"))) state.criterion = hash.get("by");
  if (hash.has("data")) state.data = new Set(hash.get("data").split(".").filter(Boolean).map(Number).filter((c) => s.columns[c] && s.columns[c].seeds.length >= LEAST));
  state.family = s.rows.some((row) => row.family === hash.get("family")) ? hash.get("family") : "";
  state.prior = ["needs", "without"].includes(hash.get("prior")) ? hash.get("prior") : "";
  const [column, way] = (hash.get("rows") || "").split(".");
  state.sort = ["ascending", "descending"].includes(way) && Number(column) < 6 + s.columns.length ? [Number(column), way] : null;
  draw();
}
function drawer(r, c) {
  const s = here(), row = s.rows[r], cell = cellsOf(s, state.criterion)[r][c], seeds = [...cell.bySeed.keys()], values = [...cell.bySeed.values()];
  const spread = values.length > 1 ? ` ± ${Math.sqrt(values.reduce((sum, v) => sum + (v - mean(values)) ** 2, 0) / (values.length - 1)).toFixed(2)}` : "";
  by("drawer").innerHTML = `<h2 id="drawer-title">${plain(row.name)} on ${plain(s.columns[c].name)}</h2>` +
    `<p>${values.length ? `${mean(values).toFixed(2)}${spread} over ${many(values.length, "seed")}` : "no value"}${cell.alike ? `; <span class="x">${cell.alike} of ${many(cell.runs, "run")} decide every row alike</span>` : ""}` +
    `${cell.seconds === null ? "" : `; ${duration(cell.seconds)} s per run`}.</p><table><thead><tr><th>seed</th><th>${plain(s.measures.find(([key]) => key === state.measure)[1])}</th></tr></thead><tbody>` +
    seeds.map((seed) => `<tr><td>${seed}</td><td class="r">${cell.bySeed.get(seed).toFixed(2)}</td></tr>`).join("") +
    `</tbody></table>${window.curveOf ? window.curveOf(cell.link, state.criterion) : ""}<p><a href="${plain(cell.link)}">Its runs, records and the commands that repeat them</a></p><form method="dialog"><button autofocus>Close</button></form>`;
  by("drawer").showModal();
}

document.addEventListener("click", (event) => {
  const cell = event.target.closest("[data-cell]"), button = event.target.closest("button");
  if (cell && !event.ctrlKey && !event.metaKey && !event.shiftKey) { event.preventDefault(); drawer(...cell.dataset.cell.split(",").map(Number)); return; }
  if (event.target === by("drawer") || event.target.closest("#drawer a")) by("drawer").close();
  if (!button || !button.closest("#controls, #board")) return;
  const { criterion, measure, data, sort } = button.dataset;
  if (criterion) state.criterion = criterion;
  if (measure) state.measure = measure;
  if (data && !(state.data.has(Number(data)) && state.data.size === 1)) state.data.has(Number(data)) ? state.data.delete(Number(data)) : state.data.add(Number(data));
  if (sort) {
    const ways = Number(sort) >= 6 || sort === "3" ? ["descending", "ascending"] : ["ascending", "descending"], now = state.sort && state.sort[0] === Number(sort) ? ways.indexOf(state.sort[1]) : -1;
    state.sort = now === 1 ? null : [Number(sort), ways[now + 1]];
  }
  draw(); remember();
});
document.addEventListener("change", (event) => {
  const kind = event.target.dataset.select;
  if (!kind) return;
  if (kind === "setting") begin(Number(event.target.value)); else state[kind] = event.target.value;
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
ranks();
}
