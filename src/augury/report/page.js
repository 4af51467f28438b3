"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const all = (selector) => document.querySelectorAll(selector);
const percent = (part, whole) => (whole ? (100 * part / whole).toFixed(1) + " %" : "\u2013");
const slack = 1e-9;

function show(name, value, note) {
  const figure = document.getElementById("figure-" + name);
  if (!figure) return;
  figure.querySelector("b").textContent = value;
  if (note) figure.querySelector("small").textContent = note;
}

function cutAt(threshold) {
  const accused = data.items.filter(([confidence]) => confidence >= threshold - slack);
  const right = accused.filter(([, isRight]) => isRight).length;
  document.getElementById("cut-value").textContent = threshold.toFixed(2);
  const isJudged = data.relevant !== undefined;
  const note = isJudged ? (accused.length - right).toLocaleString("en") + " wrongly" : "of " + data.items.length.toLocaleString("en");
  show("accused", accused.length.toLocaleString("en"), note);
  if (isJudged) show("precision", percent(right, accused.length));
  if (isJudged) show("recall", percent(right, data.relevant));
  for (const line of all('[data-cut="x"]')) for (const end of ["x1", "x2"]) line.setAttribute(end, 100 * threshold + "%");
  for (const line of all('[data-cut="y"]')) for (const end of ["y1", "y2"]) line.setAttribute(end, 100 - 100 * threshold + "%");
  for (const dot of all('[data-cut="curve"]')) {
    dot.setAttribute("visibility", accused.length ? "visible" : "hidden");
    dot.setAttribute("cx", 100 * right / data.relevant + "%");
    dot.setAttribute("cy", 100 - 100 * right / (accused.length || 1) + "%");
  }
  for (const dot of all("[data-c]")) dot.classList.toggle("off", dot.dataset.c < threshold - slack);
  const rows = [...all("[data-t]")].filter((row) => row.dataset.t <= threshold + slack);
  for (const row of all("[data-t]")) row.classList.toggle("on", row === rows[rows.length - 1]);
}

const slider = document.getElementById("cut");
if (slider) {
  slider.addEventListener("input", () => cutAt(Number(slider.value)));
  cutAt(Number(slider.value));
}

for (const chip of all(".chip")) {
  chip.addEventListener("click", () => {
    for (const other of all(".chip")) other.classList.toggle("on", other === chip);
    for (const card of all(".case")) card.hidden = chip.dataset.kind !== "" && card.dataset.kind !== chip.dataset.kind;
  });
}

const root = document.documentElement;
document.getElementById("theme").addEventListener("click", () => {
  const systemIsDark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = root.dataset.theme || (systemIsDark ? "dark" : "light");
  root.dataset.theme = now === "dark" ? "light" : "dark";
});

const tip = document.getElementById("tip");
document.addEventListener("pointerover", (event) => {
  const marked = event.target.closest("[data-tip]");
  tip.hidden = !marked;
  if (!marked) return;
  tip.textContent = marked.dataset.tip;
  const box = marked.getBoundingClientRect();
  const left = Math.min(Math.max(8, box.left + box.width / 2 - tip.offsetWidth / 2), innerWidth - tip.offsetWidth - 8);
  const above = box.top - tip.offsetHeight - 8;
  tip.style.left = left + "px";
  tip.style.top = (above > 4 ? above : box.bottom + 8) + "px";
});
