"use strict";
(() => {
  const content = JSON.parse(document.getElementById("report-data").textContent);
  const root = document.documentElement;
  const views = [];
  const moving = [...document.querySelectorAll("[data-moves]")].map((element) => ({
    element,
    texts: content.texts[Number(element.dataset.moves)],
  }));
  const slider = document.getElementById("strength");
  let position = content.start;

  // --- charts: drawn once; colours are CSS variables, so themes and print need no redrawing -------
  const options = {
    ast: true, // expressions are interpreted: no eval, as the page's policy demands
    actions: false,
    renderer: "svg",
    defaultStyle: false,
    tooltip: { disableDefaultStyle: true, theme: "report" },
  };
  const draw = async ([name, spec]) => {
    const element = document.getElementById(`chart-${name}`);
    const { view } = await window.vegaEmbed(element, spec, options);
    views.push(view);
    move(view);
    await view.runAsync();
    // its place says what the chart shows, and a table holds the numbers
    for (const svg of element.querySelectorAll("svg")) svg.setAttribute("aria-hidden", "true");
  };
  const move = (view) => {
    try {
      view.signal("position", position);
    } catch {
      // a chart that has nothing to move
    }
  };

  // --- the slider -----------------------------------------------------------------------------------
  const go = (next) => {
    const last = content.strengths.length - 1;
    position = Math.max(0, Math.min(last, next));
    const strength = String(content.strengths[position]);
    slider.value = String(position);
    slider.setAttribute("aria-valuetext", strength);
    document.getElementById("strength-value").textContent = strength;
    for (const { element, texts } of moving) element.textContent = texts[position];
    document.getElementById("verdict").dataset.level = content.levels[position];
    for (const view of views) {
      move(view);
      view.runAsync();
    }
  };
  const fromAddress = () => {
    const found = /^#strength=([-+.\deE]+)$/.exec(window.location.hash);
    if (!found || !slider) return;
    const wanted = Number(found[1]);
    const distances = content.strengths.map((strength) => Math.abs(strength - wanted));
    if (distances.length && !Number.isNaN(wanted)) go(distances.indexOf(Math.min(...distances)));
  };
  if (slider) {
    slider.addEventListener("input", () => go(Number(slider.value)));
    const chosen = document.getElementById("chosen");
    if (chosen) chosen.addEventListener("click", () => go(Number(chosen.dataset.position)));
    window.addEventListener("hashchange", fromAddress);
  }

  // --- light, dark, print ---------------------------------------------------------------------------
  const theme = document.getElementById("theme");
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const label = () => {
    theme.textContent = dark() ? "Light" : "Dark";
    theme.setAttribute("aria-label", dark() ? "Switch to light colours" : "Switch to dark colours");
  };
  theme.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    label();
  });
  system.addEventListener("change", label);
  label();
  theme.hidden = false;
  const print = document.getElementById("print");
  print.addEventListener("click", () => window.print());
  print.hidden = false;

  Promise.all(Object.entries(content.charts).map(draw)).then(() => {
    fromAddress();
    root.dataset.ready = "yes";
  });
})();
