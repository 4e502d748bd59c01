// The page: chooses a model, and shows the view of its task.
import { ask, busy, make } from "/static/dom.js";
import { classifyView, embedView, fillView, generateView, parseView, tagView } from "/static/texts.js";
import { classifyImageView, detectView, transcribeView } from "/static/files.js";
import { translateView } from "/static/translate.js";

const VIEWS = {
  translate: translateView,
  classify: classifyView,
  tag: tagView,
  parse: parseView,
  generate: generateView,
  fill: fillView,
  embed: embedView,
  "classify-image": classifyImageView,
  detect: detectView,
  transcribe: transcribeView,
};
const FIRST = "translation/en-de";

function useTheme(select) {
  const apply = () => {
    document.documentElement.style.colorScheme = select.value;
    localStorage.setItem("theme", select.value);
  };
  select.value = localStorage.getItem("theme") || "light dark";
  select.addEventListener("change", apply);
  apply();
}

function facts(model) {
  const score = model.score ? `${model.score.value.toFixed(2)} ${model.score.metric} on ${model.score.data}` : "no score";
  return `${model.task}: ${model.parameters.toLocaleString("en")} parameters, ${score}, licence of the data: ${model.licence}`;
}

async function start() {
  useTheme(document.getElementById("theme"));
  const found = await busy("reading the list of models", () => ask("/v1/models"));
  if (!found) return;
  const select = document.getElementById("model");
  const models = new Map(found.models.map((model) => [model.name, model]));
  const groups = Map.groupBy ? Map.groupBy(found.models, (model) => model.task) : new Map([["models", found.models]]);
  for (const [task, members] of groups) {
    select.append(make("optgroup", { label: task }, ...members.map(({ name }) => make("option", { value: name }, name))));
  }
  const show = () => {
    const model = models.get(select.value);
    const view = document.getElementById("view");
    document.getElementById("facts").textContent = facts(model);
    document.getElementById("error").hidden = true;
    const made = model.actions.filter((action) => VIEWS[action]).map((action) => VIEWS[action](model.name));
    view.replaceChildren(...(made.length ? made : [make("p", {}, "Nothing can be shown of this model.")]));
  };
  select.addEventListener("change", show);
  if (models.has(FIRST)) select.value = FIRST;
  show();
}

start();
