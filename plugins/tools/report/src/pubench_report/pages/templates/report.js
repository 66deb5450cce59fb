// Figures of a report next to those of its table: learning curves, amounts of labels.
{
const CURVES = jsonOf("curves"), AMOUNTS = jsonOf("label-rows").panels || [];
const chosen = { data: 0, criterion: CURVES.criterion };

// Panels of a data set: a method each, a line for each run
function curvesOf(runs, criterion, title, W = 260) {
  const there = runs.filter((run) => run[4][criterion]);
  if (!there.length) return "";
  const about = new Map(CURVES.criteria.map(([key, name, oracle]) => [key, { name, oracle }]));
  const curves = there.map(([, , seed, step, values, marks]) => ({
    name: `seed ${seed}`,
    points: values[criterion].map((v, k) => [1 + k * step, v]),
    marks: Object.entries(marks).filter(([, [, at]]) => at[criterion] !== null && at[criterion] !== undefined)
      .sort(([one], [other]) => (one === criterion) - (other === criterion))
      .map(([key, [epoch, at]]) => [epoch, at[criterion], key === criterion ? "a" : about.get(key).oracle ? "bad hollow" : "o", `seed ${seed}: epoch ${epoch}, chosen by ${about.get(key).name}`]),
  }));
  return lines(curves, { title, x: "epoch", y: bounds(curves.flatMap((one) => [...one.points, ...one.marks].map((p) => p[1]))), W });
}
function learning() {
  const runs = CURVES.runs.filter((run) => run[1] === chosen.data), name = (CURVES.criteria.find(([key]) => key === chosen.criterion) || [])[1];
  const select = (kind, options) => `<select aria-label="${kind}" data-curve="${kind}">${options.map(([value, text]) => `<option value="${plain(value)}"${String(chosen[kind]) === String(value) ? " selected" : ""}>${plain(text)}</option>`).join("")}</select>`;
  by("learning-choices").innerHTML = select("data", CURVES.data.map((text, k) => [k, text]).filter(([k]) => CURVES.runs.some((run) => run[1] === k))) + " " +
    select("criterion", CURVES.criteria.map(([key, text, oracle]) => [key, oracle ? `${text} (oracle)` : text])) + ` <span class="soft">filled: epoch chosen by ${plain(name)}</span>`;
  by("learning-panels").innerHTML = CURVES.rows.map((row, r) => curvesOf(runs.filter((run) => run[0] === r), chosen.criterion, row)).join("") || `<p class="soft">No run has a trace of ${plain(name)} here.</p>`;
}
if (CURVES.runs) {
  chosen.data = Math.min(...CURVES.runs.map((run) => run[1]));
  document.addEventListener("change", (event) => {
    const kind = event.target.dataset.curve;
    if (!kind) return;
    chosen[kind] = kind === "data" ? Number(event.target.value) : event.target.value;
    learning();
    document.querySelector(`[data-curve=${kind}]`).focus();
  });
  window.curveOf = (link, criterion) => {
    const cell = CURVES.cells[link.replace("#", "")];
    return cell ? curvesOf(CURVES.runs.filter((run) => run[0] === cell[0] && run[1] === cell[1]), criterion, "Learning curves", 420) : "";
  };
  whenNear(by("learning"), learning);
}

by("amounts").hidden = !AMOUNTS.length;
whenNear(by("amounts"), () => by("amount-panels").innerHTML = AMOUNTS.map(({ title, amount, curves }) => {
  const of = curves.map(([name, points]) => ({ name, points, marks: points.map(([x, y]) => [x, y, "p", `${name}: ${y} at ${x}`]) }));
  return lines(of, { title, x: amount === "c" ? "label frequency c (log scale)" : "positive rate", y: bounds(of.flatMap((one) => one.points.map((p) => p[1]))), W: 420, H: Math.max(200, 15 * of.length + 40), log: amount === "c", named: true });
}).join(""));
}
