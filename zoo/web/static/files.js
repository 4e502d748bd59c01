// Views of models of images and sound: a file is chosen or dropped.
import { ask, bars, busy, draw, field, make, table } from "/static/dom.js";

/** A view of a file field and a result. */
function view(text, accept, run) {
  const input = make("input", { type: "file", accept });
  const result = make("section", { "aria-label": "result" });
  const zone = make("div", { class: "drop" }, field(text, input), make("p", {}, "Or drop it here."));
  let url = null;
  const show = async (file) => {
    if (!file) return;
    if (url) URL.revokeObjectURL(url);
    url = URL.createObjectURL(file);
    const found = await busy("computing", () => run(file, url));
    result.replaceChildren(...(found || []));
  };
  input.addEventListener("change", () => show(input.files[0]));
  zone.addEventListener("dragover", (event) => {
    event.preventDefault();
    zone.classList.add("over");
  });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    show(event.dataTransfer.files[0]);
  });
  return make("div", {}, zone, result);
}

async function send(path, model, file, options = {}) {
  const query = new URLSearchParams({ model, ...options });
  return (await ask(`/v1/${path}?${query}`, file)).results[0];
}

export function classifyImageView(model) {
  return view("Image", "image/*", async (file, url) => {
    const found = await send("classify-image", model, file, { attention: true });
    const image = make("img", { src: url, alt: `The image: ${found.classes[0].label}` });
    const map = attentionMap(found.attention);
    const shown = make("input", { type: "checkbox" });
    map.hidden = true;
    shown.addEventListener("change", () => (map.hidden = !shown.checked));
    return [
      make("div", { class: "picture" }, image, map),
      make("p", {}, field("Show what counts (attention rollout)", shown)),
      bars(found.classes),
    ];
  });
}

function attentionMap(cells) {
  const [rows, columns] = [cells.length, cells[0].length];
  const canvas = make("canvas", { width: columns, height: rows, "aria-hidden": "true" });
  const most = Math.max(...cells.flat());
  const context = canvas.getContext("2d");
  cells.forEach((row, y) =>
    row.forEach((value, x) => {
      context.fillStyle = `rgb(255 0 120 / ${(0.75 * value) / most})`;
      context.fillRect(x, y, 1, 1);
    }));
  return canvas;
}

export function detectView(model) {
  return view("Image", "image/*", async (file, url) => {
    const found = await send("detect", model, file);
    const boxes = found.objects.map(({ label, score, box: [left, top, right, bottom] }) =>
      draw("rect", { x: left, y: top, width: right - left, height: bottom - top }, draw("title", {}, `${label} ${score}`)));
    const frame = { viewBox: `0 0 ${found.width} ${found.height}`, preserveAspectRatio: "none", "aria-hidden": "true" };
    const image = make("img", { src: url, alt: `The image, with ${found.objects.length} objects` });
    const rows = found.objects.map(({ label, score, box }) => [label, score, box.map(Math.round).join(", ")]);
    return [
      make("div", { class: "picture" }, image, draw("svg", { class: "boxes", ...frame }, ...boxes)),
      table(["class", "score", "left, top, right, bottom"], rows, `${rows.length} objects`),
    ];
  });
}

export function transcribeView(model) {
  return view("Recording", "audio/*,.wav,.flac,.ogg,.mp3", async (file, url) => [
    make("p", { class: "output" }, (await send("transcribe", model, file)) || "(silence)"),
    make("audio", { src: url, controls: true, "aria-label": "the recording" }),
  ]);
}
