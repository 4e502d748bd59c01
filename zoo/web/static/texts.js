// Views of models of texts: classes, tags, trees, generated texts, gaps, similarity.
import { ask, bars, busy, field, form, make, table } from "/static/dom.js";
import { drawTree } from "/static/tree.js";

/** A view of one text field and a result. */
function view(label, example, run, others = [], hint = "") {
  const text = make("textarea", { name: "text" }, example);
  const result = make("section", { "aria-label": "result" });
  const parts = [field(hint || "Text", text, true), ...(others.length ? [make("div", { class: "row" }, ...others)] : [])];
  const submit = async (button) => {
    const found = await busy("computing", () => run(text.value), button);
    if (found) result.replaceChildren(...found);
  };
  return make("div", {}, form(label, parts, submit), result);
}

async function first(path, body) {
  return (await ask(`/v1/${path}`, body)).results[0];
}

export function classifyView(model) {
  return view("Classify", "A stirring, funny film.", async (text) => [
    bars(await first("classify", { model, texts: [text] })),
  ]);
}

export function tagView(model) {
  return view("Tag", "The dogs are barking in the garden.", async (text) => {
    const found = await first("tag", { model, texts: [text] });
    const words = found.words.map((word, i) =>
      make("div", { title: `${(100 * found.probabilities[i]).toFixed(1)} %` }, word, make("small", {}, found.labels[i])));
    return [make("div", { class: "words output" }, ...words)];
  });
}

export function parseView(model) {
  return view("Parse", "The protein binds DNA in the nucleus.", async (text) => {
    const found = await first("parse", { model, texts: [text] });
    if (!found.tree) return [make("p", {}, "There are no words.")];
    return [
      make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "tree" }, drawTree(found.nested, found.tree)),
      make("pre", { class: "scroll", tabindex: "0" }, found.tree),
    ];
  });
}

export function generateView(model) {
  const number = (value, attributes) => make("input", { type: "number", value, ...attributes });
  const tokens = number(200, { min: 1, max: 1000 });
  const temperature = number(0.8, { min: 0, max: 10, step: 0.1 });
  const seed = number(1, { min: 0, max: 2147483647 });
  const others = [field("Most tokens", tokens), field("Temperature", temperature), field("Seed", seed)];
  const run = async (text) => {
    const options = { max_tokens: +tokens.value, temperature: +temperature.value, seed: +seed.value };
    const found = await first("generate", { model, texts: [text], ...options });
    return [make("p", { class: "output" }, make("strong", {}, text), found)];
  };
  return view("Generate", "ROMEO:\n", run, others, "Beginning of the text");
}

export function fillView(model) {
  const run = async (text) => [make("p", { class: "output" }, await first("fill", { model, texts: [text] }))];
  return view("Fill", "The dogs <mask> in the garden.", run, [], "Text with <mask> for each gap");
}

export function embedView(model) {
  const example = "Where is my hat?\nI cannot find my cap.\nThe protein binds DNA.";
  const run = async (text) => {
    const texts = text.split("\n").filter((line) => line.trim()).slice(0, 12);
    const vectors = (await ask("/v1/embed", { model, texts })).results.map(normalized);
    const rows = texts.map((line, i) => [line, ...vectors.map((other) => dot(vectors[i], other))]);
    return [table(["", ...texts.map((_, i) => `line ${i + 1}`)], rows, "cosine of each two lines")];
  };
  return view("Compare", example, run, [], "Texts, one a line");
}

const dot = (one, other) => one.reduce((sum, value, i) => sum + value * other[i], 0);

function normalized(vector) {
  const length = Math.sqrt(dot(vector, vector));
  return vector.map((value) => value / length);
}
