// Figures of a report card.
{
const { review, curves = {}, band = [], histogram } = jsonOf("card");
const draw = (id, figure) => { if (by(id)) by(id).innerHTML = figure; };
const panel = { W: 340, H: 260 };

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
}
