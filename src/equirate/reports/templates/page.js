(() => {
  "use strict";
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const specs = read("specs");
  const points = read("points");
  const views = new Map();
  const options = { actions: false, mode: "vega-lite", renderer: "svg", tooltip: { theme: "page", disableDefaultStyle: true } };
  const slider = document.getElementById("at");
  const place = () => (slider ? Number(slider.value) : 0);

  const moveTo = (view) => (view.signal("at", place()), view.runAsync());

  // A chart takes the width of the place it stands in, so one that is folded away is drawn when it is unfolded.
  async function draw(canvas) {
    const key = canvas.dataset.chart;
    if (views.has(key) || canvas.clientWidth === 0) return;
    views.set(key, null);
    const { view } = await vegaEmbed(canvas, specs[key], options);
    canvas.querySelector("svg")?.setAttribute("aria-hidden", "true");
    views.set(key, view);
    if ((specs[key].params ?? []).some((param) => param.name === "at")) await moveTo(view);
  }
  const drawAll = (where) => Promise.all([...where.querySelectorAll("[data-chart]")].map(draw));

  function follow() {
    const point = points[place()];
    const words = point.words;
    slider.setAttribute("aria-valuetext", words);
    document.getElementById("at-words").textContent = words;
    document.querySelectorAll("#moved tbody tr").forEach((row, k) => {
      row.querySelectorAll("td").forEach((cell, j) => { cell.textContent = point.rates[k][j]; });
    });
    document.querySelectorAll("#kept .badge").forEach((badge, k) => {
      const found = point.constraints[k];
      badge.textContent = `${found.mark} ${found.value}`;
      badge.className = `badge ${found.verdict.replaceAll(" ", "-")}`;
    });
    for (const [key, view] of views) {
      if (view && (specs[key].params ?? []).some((param) => param.name === "at")) moveTo(view);
    }
  }

  slider?.addEventListener("input", follow);
  document.querySelectorAll("details").forEach((fold) => fold.addEventListener("toggle", () => fold.open && drawAll(fold)));
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((fold) => { if (!fold.querySelector("[data-chart]")) fold.open = true; }));
  drawAll(document).then(() => { document.documentElement.dataset.drawn = "yes"; });
})();
