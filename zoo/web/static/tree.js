// Draws a tree of a sentence.
import { draw } from "/static/dom.js";

const LEVEL = 46;
const GAP = 16;
const LETTER = 9;

/** A node is a word, or a list of a label and its children. Words are on one line. */
export function drawTree(nested, description) {
  const lines = [];
  const texts = [];
  let right = GAP;
  const depth = (node) => (typeof node === "string" ? 0 : 1 + Math.max(0, ...node.slice(1).map(depth)));
  const height = depth(nested) * LEVEL;
  const place = (node, level) => {
    const leaf = typeof node === "string";
    const label = leaf ? node : node[0];
    const y = 20 + (leaf ? height : level * LEVEL);
    let x;
    if (leaf) {
      const width = Math.max(30, label.length * LETTER);
      x = right + width / 2;
      right += width + GAP;
    } else {
      const children = node.slice(1).map((child) => place(child, level + 1));
      x = (children[0].x + children[children.length - 1].x) / 2;
      for (const child of children) lines.push(draw("line", { x1: x, y1: y + 6, x2: child.x, y2: child.y - 16 }));
    }
    texts.push(draw("text", { x, y, class: leaf ? "leaf" : null }, label));
    return { x, y };
  };
  place(nested, 0);
  const size = { width: right, height: height + 36 };
  return draw("svg", { class: "tree", role: "img", "aria-label": description, ...size }, ...lines, ...texts);
}
