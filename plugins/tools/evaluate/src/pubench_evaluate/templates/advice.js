// Figures of an answer: positives found against rows reviewed, and differences to bagged trees.
{
const { found, differences } = jsonOf("advice");
if (found) {
  const { budget, low, high, most, share, band } = found, said = `of the top ${budget}: ${low} to ${high} positives`;
  const refs = [{ name: "all positive", kind: "ref", points: [[0, 0], [most, most]] }, { name: "at random", kind: "ref", points: [[0, 0], [most, share * most]] }];
  const promise = { name: "promised", points: [[budget, low], [budget, high]], marks: [low, high].map((end) => [budget, end, "bad", said]) };
  by("found").innerHTML = lines([...refs, promise], { title: "positives found by rows reviewed", x: "rows reviewed", y: [0, most], W: width(by("found"), 520), H: 340, named: true, xs: [0, most], band });
  by("found-text").hidden = false;
}
if (differences.rows.length) {
  const signed = (v) => (v > 0 ? "+" : v < 0 ? "−" : "") + Math.abs(v).toFixed(3);
  const rows = differences.rows.map(([name, value, low, high]) => ({ name, value, low, high, kind: low > 0 || high < 0 ? "a" : "o", said: signed(value), tip: `${name}: ${signed(value)}, 95 % interval ${signed(low)} to ${signed(high)}` }));
  by("differences").innerHTML = forest(rows, { label: `Differences to bagged trees by ${differences.by}`, unit: `difference to bagged trees by ${differences.by}, 95 %; filled: not 0`, W: width(by("differences"), 620) });
}
}
