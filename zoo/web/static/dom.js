// Small helpers: elements, requests, and the busy and error lines.

/** Makes an element; children are texts or elements, and only texts: nothing of a model becomes markup. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  assign(element, attributes);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Makes an element of SVG. */
export function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  assign(element, attributes);
  element.append(...children);
  return element;
}

function assign(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
}

export function field(text, input, wide = false) {
  return make("label", { class: wide ? "wide" : null }, text, input);
}

export function choice(options, selected) {
  const select = make("select");
  for (const [value, text] of options) select.append(make("option", { value, selected: value === selected }, text));
  return select;
}

export function table(header, rows, caption) {
  const cell = (tag) => (value) =>
    value instanceof Node
      ? make(tag, {}, value)
      : make(tag, { class: typeof value === "number" ? "number" : null }, typeof value === "number" ? value.toFixed(3) : value);
  const head = make("tr", {}, ...header.map((name) => make("th", { scope: "col" }, name)));
  const body = rows.map((row) =>
    row instanceof Node ? row : make("tr", {}, ...row.map(cell("td"))));
  const parts = caption ? [make("caption", {}, caption)] : [];
  const found = make("table", {}, ...parts, make("thead", {}, head), make("tbody", {}, ...body));
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption || header.join(", ") }, found);
}

const token = new URLSearchParams(location.hash.slice(1)).get("token");
if (token) {
  sessionStorage.setItem("token", token);
  history.replaceState(null, "", location.pathname);
}

/** Asks the server; a file or recording is sent as it is, anything else as JSON. */
export async function ask(path, content) {
  const headers = {};
  const saved = sessionStorage.getItem("token");
  if (saved) headers.authorization = `Bearer ${saved}`;
  const options = { headers };
  if (content !== undefined) {
    const file = content instanceof Blob;
    headers["content-type"] = file ? "application/octet-stream" : "application/json";
    Object.assign(options, { method: "POST", body: file ? content : JSON.stringify(content) });
  }
  const response = await fetch(path, options);
  const found = await response.json();
  if (!response.ok) throw new Error(found.error ? found.error.message : `The server answered ${response.status}.`);
  return found;
}

let running = 0;

/** Runs something that takes a while; shows that it runs, and its error. The button cannot be pressed meanwhile. */
export async function busy(text, work, button = null) {
  const [status, error] = ["status", "error"].map((id) => document.getElementById(id));
  error.hidden = true;
  running += 1;
  status.textContent = `${text} ...`;
  if (button) button.disabled = true;
  try {
    return await work();
  } catch (problem) {
    error.textContent = problem instanceof TypeError ? "The server does not answer." : problem.message;
    error.hidden = false;
    return null;
  } finally {
    running -= 1;
    if (!running) status.textContent = "";
    if (button) button.disabled = false;
  }
}

/** A form whose button, or Ctrl and Enter in it, calls `submit`. */
export function form(label, parts, submit) {
  const button = make("button", { class: "main", type: "submit" }, label);
  const found = make("form", {}, ...parts, make("div", { class: "row" }, button));
  found.addEventListener("submit", (event) => {
    event.preventDefault();
    submit(button);
  });
  found.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) found.requestSubmit();
  });
  return found;
}

/** Bars of probabilities, as a table that screen readers can read. */
export function bars(rows) {
  const shown = rows.slice(0, 12).map(({ label, probability }) => [
    label,
    make("meter", { min: 0, max: 1, value: probability, "aria-label": label }),
    probability,
  ]);
  return table(["class", "", "probability"], shown);
}
