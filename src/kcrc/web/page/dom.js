// Elements, made without any text ever being read as markup.

export function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "class") node.className = value;
    else if (key === "style") placed(node, value);
    else if (typeof value !== "string" && key in node) node[key] = value;
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  fill(node, ...children);
  return node;
}

// Style through the object model: the page's policy allows no style attributes.
export function placed(node, rules) {
  for (const [rule, value] of Object.entries(rules)) node.style.setProperty(rule, value);
}

export function fill(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false));
  return node;
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag, props = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(props)) node.setAttribute(key, String(value));
  node.append(...children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false));
  return node;
}

// A name that people gave, in whatever direction it is written.
export const named = (label, props = {}) => h("bdi", { dir: "auto", ...props }, label);

export const key = (text) => h("kbd", { "aria-hidden": "true" }, text);

// A button with the key that does the same. The key is for eyes only; `aria-keyshortcuts` says it to others.
export function button(words, { press, hint, kind = "", ...props }) {
  const short = hint === undefined ? {} : { "aria-keyshortcuts": SHORT[hint] ?? hint };
  return h("button", { type: "button", class: `button ${kind}`, onclick: press, ...short, ...props },
    hint === undefined ? null : key(hint), h("span", {}, words));
}

const SHORT = { "↵": "Enter", "←": "ArrowLeft", "→": "ArrowRight", Esc: "Escape" };

// A stored example's small picture, whole over its own blur where its shape is far from that of its place.
export function shot(address, alt, props = {}) {
  const sharp = h("img", { src: address, alt, draggable: false, decoding: "async" });
  const node = h("span", { ...props, class: `shot ${props.class ?? ""}` }, sharp);
  sharp.addEventListener("load", () => shaped(node));
  sharp.addEventListener("error", () => node.classList.add("none"));
  return node;
}

const CROPPED = 1.4; // a picture of another shape than its place, by this factor, is shown whole

export function shaped(node, width = node.clientWidth, height = node.clientHeight) {
  const sharp = node.querySelector("img:not(.blur)");
  if (!sharp.naturalWidth || !width || !height) return;
  const off = (sharp.naturalWidth / sharp.naturalHeight) / (width / height);
  const whole = Math.max(off, 1 / off) > CROPPED;
  node.classList.toggle("whole", whole);
  if (whole && !node.querySelector(".blur")) node.prepend(h("img", { src: sharp.src, alt: "", class: "blur" }));
}

// Numbers of examples are those of one gallery: `key` names it, so that a browser may keep the pictures.
let picturesKey = "";
export const setPicturesKey = (key) => { picturesKey = key; };
export const thumbnail = (id) => `/api/thumbnails/${id}?of=${picturesKey}`;
export const upload = (picture) => `/api/pictures/${encodeURIComponent(picture)}`;
