// The search of a translator: the beams as they grow, what was pruned, and why.
import { ask, busy, draw, field, make, table } from "/static/dom.js";

const WIDTH = 110;
const HEIGHT = 44;

export function searchView(model, text, beams) {
  const shown = make("div");
  const button = make("button", { type: "button" }, "Show how the search goes");
  button.addEventListener("click", async () => {
    const body = { model, text, beam_size: beams };
    const found = await busy("searching", async () => (await ask("/v1/search", body)).results[0], button);
    if (found) shown.replaceChildren(...showSearch(found, beams));
  });
  return make("div", {}, make("h2", {}, "Search"), button, shown);
}

function showSearch(found, beams) {
  const texts = beamTexts(found.steps);
  const slider = make("input", { type: "range", min: 1, max: found.steps.length, value: 1 });
  const step = make("div");
  const tree = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "beams of all steps" });
  const show = () => {
    const number = +slider.value - 1;
    const rows = found.steps[number].map((extension) => row(extension, texts[number], beams));
    const caption = `Step ${number + 1} of ${found.steps.length}: the most probable extensions of the beams`;
    step.replaceChildren(table(["text so far", "log probability", "what became of it"], rows, caption));
    tree.replaceChildren(drawBeams(found.steps.slice(0, number + 1)));
  };
  slider.addEventListener("input", show);
  show();
  return [make("div", { class: "row" }, field("Step", slider)), step, tree];
}

/** The text of each beam before each step. */
function beamTexts(steps) {
  const all = [[""]];
  for (const step of steps) {
    const before = all[all.length - 1];
    all.push(step.filter(({ fate }) => fate === "kept").map(({ parent, token }) => before[parent] + token));
  }
  return all;
}

function row(extension, before, beams) {
  const { parent, token, fate, best, score } = extension;
  const reasons = {
    kept: `kept: one of the ${beams} most probable`,
    finished: `finished: a translation of score ${score === null ? "" : score.toFixed(3)}`,
    pruned:
      token === "</s>" ? `pruned: ends, but is less probable than the ${beams} that go on` : `pruned: ${beams} others are more probable`,
  };
  reasons.looping = "pruned: its beam repeats itself, and may only end";
  reasons.stopped = "not needed: no better translation can come from it";
  const text = make("span", {}, (before[parent] || "").trim(), make("strong", {}, token));
  const cells = [make("td", {}, text), make("td", { class: "number" }, extension.log_prob.toFixed(2))];
  const why = make("td", { class: reasons[fate].split(/\W/)[0] }, reasons[fate] + (best ? "; part of the chosen one" : ""));
  return make("tr", { class: best ? "best" : null }, ...cells, why);
}

/** Kept and finished extensions of each step, with lines to the beams that they extend. */
function drawBeams(steps) {
  const parts = [];
  let before = [{ x: 30, y: HEIGHT, best: true }];
  parts.push(draw("text", { x: 30, y: HEIGHT }, "<s>"));
  let most = 1;
  steps.forEach((step, i) => {
    const next = [];
    step
      .filter(({ fate }) => fate === "kept" || fate === "finished")
      .forEach(({ parent, token, fate, best }, rank) => {
        const [x, y] = [30 + (i + 1) * WIDTH, HEIGHT * (rank + 1)];
        const from = before[parent];
        most = Math.max(most, rank + 1);
        if (!from) return;
        parts.unshift(draw("line", { x1: from.x + 24, y1: from.y - 5, x2: x - 34, y2: y - 5, class: best ? "best" : null }));
        parts.push(draw("text", { x, y, class: fate === "finished" ? "leaf" : best ? null : "pale" }, token.trim() || "␣"));
        if (fate === "kept") next.push({ x, y });
      });
    before = next;
  });
  const size = { width: 60 + (steps.length + 1) * WIDTH, height: HEIGHT * (most + 1) };
  return draw("svg", { class: "tree", role: "img", "aria-label": `the beams of ${steps.length} steps`, ...size }, ...parts);
}
