"use strict";
// Charts as SVG with text. Each function gives the HTML of one figure; colors come from the page's style. W: width.
const escapes = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const plain = (text) => String(text).replace(/[&<>"]/g, (one) => escapes[one]);
const rounded = (value) => Math.floor(value + 0.5 + 1e-9); // halves go up, whatever the order of the sum was
const fixed = (value) => (rounded(10 * value) / 10).toFixed(1);
const percent = (share) => `${rounded(100 * share)} %`;
const duration = (s) => (s < 10 ? fixed(s) : String(rounded(s)));
const many = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;
const by = (id) => document.getElementById(id);
const width = (place, most = 540) => Math.max(300, Math.min(most, place.clientWidth));
const jsonOf = (id) => { const found = by(id); return found ? JSON.parse(found.textContent) : {}; };

// Draws a part of the page when it comes near the view, or for print: most readers look at the first table alone.
const waiting = new Map(); // element -> what draws it
const fill = (place) => { const draw = waiting.get(place); waiting.delete(place); near.unobserve(place); if (draw) draw(); };
const near = new IntersectionObserver((seen) => { for (const one of seen) if (one.isIntersecting) fill(one.target); }, { rootMargin: "600px" });
function whenNear(place, draw) { near.unobserve(place); waiting.set(place, draw); near.observe(place); }
window.addEventListener("beforeprint", () => { for (const place of [...waiting.keys()]) fill(place); });

// What is chosen stands in the address (#by=f1&filter=nnpu), so that a view can be linked to. Without "=" the address is a
// place in the page. write: replaces the values of these names, an empty one is left out.
const address = {
  read: () => new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : ""),
  write(values) {
    const kept = [...address.read()].filter(([name]) => !(name in values));
    const mine = Object.entries(values).flatMap(([name, of]) => (Array.isArray(of) ? of : [of]).map((one) => [name, String(one)])).filter(([, one]) => one !== "");
    const text = [...kept, ...mine].map(([name, one]) => `${name}=${encodeURIComponent(one).replace(/%3A/g, ":").replace(/%2C/g, ",")}`).join("&");
    history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
  },
};

// A dot with its interval on a common scale, and its number; hollow without one. place: {below, low, high}
const STRIP = 110, SPAN = 26;
function dot({ below, low, high }) {
  const x = (value) => (6 + (Math.min(value, SPAN) / SPAN) * (STRIP - 12)).toFixed(1), ranked = low !== undefined;
  return `<svg width="${STRIP}" height="20" role="img" aria-label="${fixed(below)} points${ranked ? `, ${fixed(low)} to ${fixed(high)}` : ""}">` +
    (ranked ? `<line class="i" x1="${x(low)}" x2="${x(high)}" y1="10" y2="10"/>` : "") +
    `<circle class="${ranked ? "a" : "o"}" cx="${x(below)}" cy="10" r="4.5"/></svg>${fixed(below)}`;
}

// Steps that are easy to read, at most five of them.
function ticks(low, high, least = 1) {
  const unit = Math.max(least, 10 ** Math.floor(Math.log10(Math.max(high - low, 1e-9) / 5)));
  const step = unit * [1, 2, 5, 10, 20, 50, 100, 1000].find((one) => (high - low) / (one * unit) <= 5);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(Number((k * step).toPrecision(12)));
  return found;
}

// Two values for each name. rows: [name, hollow, solid]
function dumbbell(rows, hollow, solid, label, W = 540) {
  const line = 20, left = W < 480 ? 118 : 150, right = 60, H = rows.length * line + 44;
  const all = rows.flatMap((row) => [row[1], row[2]]), low = Math.min(...all), high = Math.max(...all, low + 1);
  const x = (v) => left + ((v - low) / (high - low)) * (W - left - right);
  let svg = `<svg viewBox="0 0 ${W} ${H}" width="100%" role="img" aria-label="${plain(label)}">`;
  for (const v of ticks(low, high)) svg += `<line class="g" x1="${x(v)}" x2="${x(v)}" y1="22" y2="${H - 18}"/><text class="t" x="${x(v)}" y="${H - 4}" text-anchor="middle">${v} %</text>`;
  rows.forEach(([name, one, other], k) => {
    const y = 34 + k * line, loss = one - other;
    svg += `<text x="${left - 10}" y="${y + 4}" text-anchor="end">${plain(short(name, (left - 16) / 7))}</text><line class="bad" x1="${x(other)}" x2="${x(one)}" y1="${y}" y2="${y}"/>` +
      `<circle class="o" cx="${x(one)}" cy="${y}" r="4.5"/><circle class="bad" cx="${x(other)}" cy="${y}" r="4"><title>${plain(name)}: ${one.toFixed(2)} to ${other.toFixed(2)}</title></circle>` +
      `<text class="t" x="${W - 4}" y="${y + 4}" text-anchor="end">${Math.abs(loss) < 0.05 ? "0" : (loss > 0 ? "−" : "+") + fixed(Math.abs(loss))}</text>`;
  });
  return svg + `<circle class="o" cx="${left - 40}" cy="9" r="4.5"/><text x="${left - 31}" y="13">${plain(hollow)}</text><circle class="bad" cx="${left + 0.34 * W}" cy="9" r="4"/><text x="${left + 0.34 * W + 9}" y="13">${plain(solid)}</text></svg>`;
}
const short = (name, most = 22) => (name.length > most ? name.slice(0, most - 1) + "…" : name);

// What nothing is both faster and better than. dots: {name, seconds, below, shared}
const frontier = (dots) => [...dots].sort((a, b) => a.seconds - b.seconds || a.below - b.below)
  .reduce((kept, one) => (!kept.length || one.below < kept[kept.length - 1].below - 1e-9 ? [...kept, one] : kept), []);
function scatter(dots, label, W = 540) {
  const H = 430, left = 44, right = W < 480 ? 66 : 96, top = 14, bottom = 44;
  const logs = dots.map((one) => Math.log10(Math.max(one.seconds, 0.01))), low = Math.floor(Math.min(...logs)), high = Math.max(Math.ceil(Math.max(...logs)), low + 1);
  const worst = Math.max(...dots.map((one) => one.below), 1) * 1.06;
  const x = (s) => left + ((Math.log10(Math.max(s, 0.01)) - low) / (high - low)) * (W - left - right), y = (v) => top + (v / worst) * (H - top - bottom);
  let svg = `<svg viewBox="0 0 ${W} ${H}" width="100%" role="img" aria-label="${plain(label)}">`;
  for (let e = low; e <= high; e += W < 480 && high - low > 4 ? 2 : 1) svg += `<line class="g" x1="${x(10 ** e)}" x2="${x(10 ** e)}" y1="${top}" y2="${H - bottom}"/><text class="t" x="${x(10 ** e)}" y="${H - bottom + 16}" text-anchor="middle">${10 ** e} s</text>`;
  for (const v of ticks(0, worst)) svg += `<line class="g" x1="${left}" x2="${W - right}" y1="${y(v)}" y2="${y(v)}"/><text class="t" x="${left - 8}" y="${y(v) + 4}" text-anchor="end">${v ? "−" + v : 0}</text>`;
  const on = new Set(frontier(dots)), line = [...on].map((one, k) => `${k ? "L" : "M"}${x(one.seconds)} ${y(one.below)}`).join("");
  svg += `<path class="f" d="${line}"/>`;
  const taken = dots.map((one) => [x(one.seconds) - 6, y(one.below) - 6, x(one.seconds) + 6, y(one.below) + 6]);
  let names = "";
  for (const one of [...on, ...dots.filter((d) => !on.has(d))]) {
    const cx = x(one.seconds), cy = y(one.below), width = 7.2 * short(one.name).length;
    svg += `<circle class="${on.has(one) ? "a" : "p"}${one.shared ? " hollow" : ""}" cx="${cx}" cy="${cy}" r="5"><title>${plain(one.name)}: ${duration(one.seconds)} s, ${fixed(one.below)} points below the best</title></circle>`;
    for (const [dx, dy] of [[9, 4], [9, -9], [9, 17], [-9 - width, 4], [-9 - width, 17]]) { // the first place that is free
      const box = [cx + dx, cy + dy - 11, cx + dx + width, cy + dy + 2];
      if (box[0] < left || box[2] > W || box[3] > H - bottom || taken.some((b) => box[0] < b[2] && b[0] < box[2] && box[1] < b[3] && b[1] < box[3])) continue;
      taken.push(box);
      names += `<text class="${on.has(one) ? "e" : "t"}" x="${cx + dx}" y="${cy + dy}">${plain(short(one.name))}</text>`;
      break;
    }
  }
  return svg + names + `<text class="t" x="${left}" y="${H - 8}">${W < 480 ? "seconds, log scale; hollow: shared machine" : "seconds per run, log scale; hollow: several runs shared the machine"}</text></svg>`;
}

// Lines in one panel. curves: {name, points: [[x, y]], marks: [[x, y, class, tip]], kind: class}; y: [low, high]; named: names
// at the ends; band: [[x, low, high]].
function lines(curves, { title, x: about, y: [low, high], W = 260, H = 170, log = false, named = false, xs = null, band = [] }) {
  const left = 42, right = named ? 108 : 10, top = 22, bottom = 34, at = (v) => (log ? Math.log10(v) : v);
  const all = xs || curves.flatMap((one) => one.points.map((p) => p[0])), first = at(Math.min(...all)), last = Math.max(at(Math.max(...all)), first + 1e-9);
  const x = (v) => left + ((at(v) - first) / (last - first)) * (W - left - right), y = (v) => top + ((high - v) / (high - low || 1)) * (H - top - bottom);
  const place = ([a, b]) => `${x(a).toFixed(1)} ${y(b).toFixed(1)}`;
  let svg = `<svg viewBox="0 0 ${W} ${H}" width="${W}" role="img" aria-label="${plain(title)}"><text class="e" x="0" y="12">${plain(short(title, W / 7))}</text>`;
  for (const v of ticks(low, high, 1e-9)) svg += `<line class="g" x1="${left}" x2="${W - right}" y1="${y(v)}" y2="${y(v)}"/><text class="t" x="${left - 5}" y="${y(v) + 4}" text-anchor="end">${v}</text>`;
  const along = log ? [...new Set(all)].sort((a, b) => a - b) : ticks(Math.min(...all), Math.max(...all), all.every(Number.isInteger) && Math.max(...all) > 1 ? 1 : 1e-9);
  let end = -99;
  for (const v of along) {
    const half = 3.4 * String(v).length;
    if (x(v) - half < end + 6) continue;
    svg += `<text class="t" x="${x(v)}" y="${H - 19}" text-anchor="middle">${v}</text>`;
    end = x(v) + half;
  }
  svg += `<text class="t" x="${(left + W - right) / 2}" y="${H - 4}" text-anchor="middle">${plain(about)}</text>`;
  if (band.length) svg += `<path class="band" d="M${[...band.map(([a, , b]) => [a, b]), ...band.map(([a, b]) => [a, b]).reverse()].map(place).join("L")}Z"/>`;
  for (const one of curves) {
    let path = "", open = false;
    for (const point of one.points) { if (point[1] === null) { open = false; continue; } path += `${open ? "L" : "M"}${place(point)}`; open = true; }
    svg += `<path class="${one.kind || "l"}" d="${path}"><title>${plain(one.name)}</title></path>`;
    for (const [a, b, kind, tip] of one.marks || []) svg += `<circle class="${kind}" cx="${x(a).toFixed(1)}" cy="${y(b).toFixed(1)}" r="3.5"><title>${plain(tip)}</title></circle>`;
  }
  if (named) {
    const ends = curves.map((one) => { const known = one.points.filter((p) => p[1] !== null), p = known[known.length - 1]; return { name: one.name, from: p, y: y(p[1]) }; }).sort((a, b) => a.y - b.y);
    const gap = Math.min(13, (H - 20) / ends.length);
    let last = -99;
    for (const one of ends) { one.at = Math.max(one.y, last + gap); last = one.at; }
    const over = Math.max(0, last - (H - 8));
    for (const one of ends) svg += `<path class="g" fill="none" d="M${place(one.from)}L${W - right + 8} ${one.at - over}"/><text class="t" x="${W - right + 11}" y="${one.at - over + 4}">${plain(short(one.name, 14))}</text>`;
  }
  return svg + "</svg>";
}
const bounds = (values) => { const known = values.filter((v) => v !== null), low = Math.min(...known), high = Math.max(...known); return low < high ? [low, high] : [low - 0.5, high + 0.5]; };
