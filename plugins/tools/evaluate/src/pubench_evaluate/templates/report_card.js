// Figures of a report card, and of a page of class priors.
{
const { review, curves = {}, band = [], histogram, priors = [] } = jsonOf("card");
const draw = (id, figure) => { if (by(id)) by(id).innerHTML = figure; };
const panel = { W: 340, H: 260 };

// Values with their intervals on the scale from 0 to 1. rows: [name, value, [low, high] or null, whether it is the one used]
function spans(rows, label, W = 620) {
  const line = 22, left = 190, right = 60, H = rows.length * line + 26, x = (v) => left + v * (W - left - right);
  let svg = `<svg viewBox="0 0 ${W} ${H}" width="100%" style="max-width:${W}px" role="img" aria-label="${plain(label)}">`;
  for (const v of [0, 0.25, 0.5, 0.75, 1]) svg += `<line class="g" x1="${x(v)}" x2="${x(v)}" y1="0" y2="${H - 20}"/><text class="t" x="${x(v)}" y="${H - 5}" text-anchor="middle">${v}</text>`;
  rows.forEach(([name, value, interval, used], k) => {
    const y = 12 + k * line;
    svg += `<text${used ? ' class="e"' : ""} x="${left - 10}" y="${y + 4}" text-anchor="end">${plain(short(name, 24))}</text>` +
      (interval ? `<line class="i" x1="${x(interval[0])}" x2="${x(interval[1])}" y1="${y}" y2="${y}"/>` : "") +
      `<circle class="${used ? "bad" : "a"}" cx="${x(value)}" cy="${y}" r="4.5"/><text class="t" x="${W - 4}" y="${y + 4}" text-anchor="end">${value.toFixed(3)}</text>`;
  });
  return `${svg}</svg>`;
}

if (review && review.cuts.length) {
  const cuts = [[0, 0, 0], ...review.cuts], most = cuts[cuts.length - 1][0], top = Math.max(...cuts.map((one) => one[2]), 1);
  const refs = [{ name: "all positive", kind: "ref", points: [[0, 0], [Math.min(most, top), Math.min(most, top)]] }];
  if (review.share) refs.push({ name: "at random", kind: "ref", points: [[0, 0], [most, Math.min(top, review.share * most)]] });
  const budget = by("budget"), at = cuts.findIndex((one) => one[0] === review.reviewed);
  const show = () => {
    const [rows, low, high] = cuts[budget.value], said = `${rows} rows: ${Math.round(low)} to ${Math.round(high)} positives`;
    const middle = { name: "expected", points: cuts.map((one) => [one[0], (one[1] + one[2]) / 2]), marks: [low, high].map((end) => [rows, end, "bad", said]) };
    draw("review", lines([...refs, middle], { title: "positives found by rows reviewed", x: "rows reviewed", y: [0, top], W: width(by("review"), 520), H: 340, named: true, xs: [0, most], band: cuts }));
    by("budget-text").textContent = said;
    budget.setAttribute("aria-valuetext", said);
  };
  budget.max = cuts.length - 1;
  budget.value = at < 0 ? cuts.length - 1 : at;
  budget.addEventListener("input", show);
  show();
  by("review-text").hidden = false;
}
const square = (id, title, about, raw, recovered, over = []) => {
  const found = [[raw, "alt", "unlabeled as negative"], [recovered, "l", "recovered"]].filter(([one]) => one).map(([points, kind, name]) => ({ name, kind, points }));
  if (found.length) draw(id, lines(found, { title, x: about, y: [0, 1], ...panel, xs: [0, 1], band: over }));
};
square("roc", "ROC: recall", "false positive rate", curves["raw-roc"], curves["recovered-roc"], band);
if (curves["recovered-pr"]) square("pr", "precision", "recall", curves["raw-pr"], curves["recovered-pr"]);
if (histogram && histogram.edges) {
  const steps = (shares) => shares.flatMap((share, k) => [[histogram.edges[k], share], [histogram.edges[k + 1], share]]);
  const of = [{ name: "labeled", points: steps(histogram.labeled) }, { name: "unlabeled", kind: "alt", points: steps(histogram.unlabeled) }];
  const top = Math.max(...histogram.labeled, ...histogram.unlabeled), inside = histogram.threshold >= histogram.edges[0] && histogram.threshold <= histogram.edges[histogram.edges.length - 1];
  if (inside) of.push({ name: "threshold", kind: "ref", points: [[histogram.threshold, 0], [histogram.threshold, top]] });
  draw("scores", lines(of, { title: "share of rows: labeled, unlabeled (dashed)", x: "score", y: [0, top], ...panel }));
}
if (priors.length) draw("priors", spans(priors, `class prior by estimator: ${priors.map(([name, value]) => `${name} ${value.toFixed(3)}`).join(", ")}`));
}
