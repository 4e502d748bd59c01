// The view of translators: alternatives, attention of every head, and the search step by step.
import { ask, busy, choice, field, form, make } from "/static/dom.js";
import { searchView } from "/static/search.js";

const KINDS = [
  ["cross", "translation to text"],
  ["encoder", "text to text"],
  ["decoder", "translation to translation"],
];

export function translateView(model) {
  const text = make("textarea", { name: "text" }, "Where is my old hat?");
  const beams = choice([2, 4, 8].map((count) => [count, String(count)]), 4);
  const list = make("ol", { class: "choices", "aria-label": "translations" });
  const attention = make("section", { "aria-label": "attention" });
  const search = make("section", { "aria-label": "search" });
  const parts = [field("Text", text, true), make("div", { class: "row" }, field("Beams", beams))];
  const submit = async (button) => {
    const body = { model, texts: [text.value], num_return: +beams.value, beam_size: +beams.value };
    const found = await busy("translating", () => ask("/v1/translate", body), button);
    if (!found) return;
    showChoices(list, found.results[0], (chosen) => attentionView(attention, model, text.value, chosen));
    search.replaceChildren(searchView(model, text.value, +beams.value));
  };
  return make("div", {}, form("Translate", parts, submit), list, attention, search);
}

function showChoices(list, translations, choose) {
  const buttons = translations.map(({ text, score }) =>
    make("button", { type: "button", class: "output" }, text, make("small", {}, `  score ${score.toFixed(3)}`)));
  buttons.forEach((button, i) =>
    button.addEventListener("click", () => {
      for (const other of buttons) other.setAttribute("aria-pressed", other === button);
      choose(translations[i].text);
    }));
  list.replaceChildren(...buttons.map((button) => make("li", {}, button)));
  if (buttons.length) buttons[0].click();
}

function attentionView(section, model, text, translation) {
  const kind = choice(KINDS, "cross");
  const layer = make("select");
  const head = make("select");
  const shown = make("div");
  let layers = null;
  const options = (select, count, mean) => {
    const before = select.value;
    const numbers = Array.from({ length: count }, (_, i) => make("option", { value: i }, String(i + 1)));
    select.replaceChildren(...(mean ? [make("option", { value: "mean" }, "mean of all")] : []), ...numbers);
    select.value = [...select.options].some((option) => option.value === before) ? before : select.options[mean ? 0 : count - 1].value;
  };
  const load = async () => {
    const number = layers ? Math.min(+layer.value, layers[kind.value] - 1) : -1;
    const body = { model, text, translation, kind: kind.value, layer: number };
    const found = await busy("reading attention", async () => (await ask("/v1/attention", body)).results[0]);
    if (!found) return shown.replaceChildren();
    layers = found.layers;
    options(layer, layers[kind.value], false);
    if (number >= 0) layer.value = String(number);
    options(head, found.heads.length, true);
    const redraw = () => shown.replaceChildren(...showWeights(found, head.value, kind.value !== "encoder"));
    head.onchange = redraw;
    redraw();
  };
  kind.addEventListener("change", load);
  layer.addEventListener("change", load);
  const controls = [field("Which attention", kind), field("Layer", layer), field("Head", head)];
  section.replaceChildren(make("h2", {}, "What each token attends to"), make("div", { class: "row" }, ...controls), shown);
  load();
}

/** `decodes`: whether the tokens are those that the decoder reads. */
function showWeights(found, head, decodes) {
  const rows = head === "mean" ? meanOf(found.heads) : found.heads[+head];
  const keys = found.keys.map((token) => make("span", {}, token));
  const said = make("p", { role: "status" });
  const queries = found.queries.map((token) => make("button", { type: "button", "aria-pressed": "false" }, token));
  const show = (number) => {
    queries.forEach((button, i) => button.setAttribute("aria-pressed", i === number));
    keys.forEach((key, i) => (key.style.background = shade(rows[number][i])));
    keys.forEach((key, i) => (key.title = rows[number][i].toFixed(3)));
    const order = rows[number].map((weight, i) => [weight, i]).sort((one, other) => other[0] - one[0]).slice(0, 3);
    const most = order.map(([weight, i]) => `“${found.keys[i].trim()}” ${weight.toFixed(2)}`);
    const next = decodes ? ` (where “${(found.queries[number + 1] || "</s>").trim()}” is predicted)` : "";
    said.textContent = `“${found.queries[number].trim()}”${next} attends to ${most.join(", ")}`;
  };
  queries.forEach((button, i) => {
    for (const event of ["mouseenter", "focus", "click"]) button.addEventListener(event, () => show(i));
  });
  show(Math.min(1, queries.length - 1));
  return [
    make("p", {}, "Point at a token, or move to it with the tabulator key:"),
    make("div", { class: "tokens" }, ...queries),
    make("p", {}, "It reads:"),
    make("div", { class: "tokens" }, ...keys),
    said,
    heatmap(rows, found),
  ];
}

const shade = (weight) => `color-mix(in srgb, var(--weight) ${(100 * weight).toFixed(1)}%, transparent)`;

const meanOf = (heads) =>
  heads[0].map((row, i) => row.map((_, j) => heads.reduce((sum, weights) => sum + weights[i][j], 0) / heads.length));

function heatmap(rows, found) {
  const cells = rows.map((row, i) => {
    const squares = row.map((weight) => {
      const cell = make("td", { title: weight.toFixed(3) });
      cell.style.background = shade(weight);
      cell.append(make("small", {}, weight >= 0.1 ? weight.toFixed(2).slice(1) : ""));
      return cell;
    });
    return make("tr", {}, make("th", { scope: "row" }, found.queries[i]), ...squares);
  });
  const head = make("tr", {}, make("td"), ...found.keys.map((token) => make("th", { scope: "col" }, token)));
  const table = make("table", {}, make("thead", {}, head), make("tbody", {}, ...cells));
  const frame = { class: "scroll", tabindex: "0", role: "region", "aria-label": "weights of all tokens" };
  return make("details", {}, make("summary", {}, "All weights of this head"), make("div", frame, table));
}
