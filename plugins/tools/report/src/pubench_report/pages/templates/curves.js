// The page of `pubench curves`: a panel for each quantity, a line for each run.
by("panels").innerHTML = jsonOf("curves").panels.map(({ title, curves }) => {
  const of = curves.map(([name, values, chosen]) => ({
    name,
    points: values.map((v, k) => [k + 1, v]),
    marks: chosen !== null && values[chosen - 1] !== null && chosen <= values.length ? [[chosen, values[chosen - 1], "a", `${name}: chose epoch ${chosen}`]] : [],
  }));
  return lines(of, { title, x: "epoch", y: bounds(of.flatMap((one) => one.points.map((p) => p[1]))), W: Math.min(420, width(by("panels"))), H: 240 });
}).join("");
