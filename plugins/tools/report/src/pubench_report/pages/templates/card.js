// Charts of the pages of methods and data sets.
{
const { dumbbell: pairs, scatter: dots = [] } = jsonOf("charts");
if (by("dumbbell-section")) by("dumbbell-section").hidden = !pairs;
if (pairs) {
  by("dumbbell-text").textContent = `${pairs.title}: test values at the epoch that ${pairs.oracle} (oracle) chose, and at that of ${pairs.chosen}.`;
  by("dumbbell").innerHTML = dumbbell(pairs.rows, `with labels (${pairs.oracle})`, `chosen by ${pairs.chosen}`, by("dumbbell-text").textContent, width(by("dumbbell")));
}
if (by("scatter-section")) by("scatter-section").hidden = !dots.length;
if (dots.length) {
  by("scatter-text").textContent = `Points below the best against median seconds per run. Nothing is both faster and better than ${frontier(dots).map((one) => `${one.name} (${duration(one.seconds)} s)`).join(", ")}.`;
  by("scatter").innerHTML = scatter(dots, by("scatter-text").textContent, width(by("scatter")));
}
}
