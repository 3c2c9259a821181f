// Elements, made without any text ever being read as markup.

export function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) listen(node, key.slice(2), value);
    else if (key === "class") node.className = value;
    else if (key === "style") placed(node, value);
    else if (typeof value !== "string" && key in node) node[key] = value;
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  fill(node, ...children);
  return node;
}

const heard = Symbol("heard"); // what an element does on an event: one function for each, which a redrawing may replace

function listen(node, event, doing) {
  if (node[heard] === undefined) node[heard] = new Map();
  if (!node[heard].has(event)) node.addEventListener(event, (given) => node[heard].get(event)?.(given));
  node[heard].set(event, doing);
}

// Style through the object model: the page's policy allows no style attributes.
export function placed(node, rules) {
  for (const [rule, value] of Object.entries(rules)) node.style.setProperty(rule, value);
}

export function fill(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false));
  return node;
}

// Make the children of `node` as these. Elements that were there before stay the same elements, so that nothing
// blinks, a press is not lost, and the focus stays; what has a data-key is found again by it.
export function redraw(node, ...children) {
  const focus = document.activeElement;
  const group = node.contains(focus) ? focus.closest("[data-group]") : null;
  const place = group === null ? 0 : [...group.querySelectorAll(STOPS)].indexOf(focus);
  const had = node.contains(focus);
  alike(node, fill(document.createElement("div"), ...children));
  if (!had || document.activeElement === focus) return;
  if (node.contains(focus)) focus.focus({ preventScroll: true });
  else stand(group === null ? null : node.querySelector(`[data-group="${group.dataset.group}"]`), place);
}

const STOPS = "button:not(:disabled), input:not(:disabled), a[href], summary";

// The focus where it was: on what is at that place of the group now, or on the page's content.
export function stand(group, place) {
  const stops = [...(group?.querySelectorAll(STOPS) ?? [])];
  (stops[Math.min(place, stops.length - 1)] ?? document.getElementById("main")).focus({ preventScroll: true });
}

function alike(node, wanted) {
  const loose = [...node.childNodes].filter((one) => one.dataset?.key === undefined);
  const keyed = new Map([...node.childNodes].filter((one) => one.dataset?.key).map((one) => [one.dataset.key, one]));
  const next = [...wanted.childNodes].map((want) => {
    const key = want.dataset?.key;
    const at = key === undefined ? loose.findIndex((one) => same(one, want)) : -1;
    const have = key === undefined ? loose[at] : keyed.get(key);
    if (at >= 0) loose.splice(0, at + 1);
    if (have === undefined || !same(have, want)) return want;
    became(have, want);
    return have;
  });
  for (const one of [...node.childNodes]) if (!next.includes(one)) one.remove();
  next.forEach((one, at) => node.childNodes[at] !== one && node.insertBefore(one, node.childNodes[at] ?? null));
}

const same = (have, want) => have.nodeName === want.nodeName && have.dataset?.source === want.dataset?.source &&
  have.getAttribute?.("type") === want.getAttribute?.("type");

function became(have, want) {
  if (have.nodeType !== Node.ELEMENT_NODE) {
    if (have.data !== want.data) have.data = want.data;
    return;
  }
  if (have.dataset.source !== undefined) return; // a picture: it has taken its shape
  for (const { name } of [...have.attributes]) {
    if (name !== "style" && !want.hasAttribute(name)) have.removeAttribute(name);
  }
  for (const { name, value } of want.attributes) {
    if (name !== "style" && have.getAttribute(name) !== value) have.setAttribute(name, value);
  }
  if (have.style.cssText !== want.style.cssText) have.style.cssText = want.style.cssText;
  if (have.checked !== want.checked) have.checked = want.checked;
  for (const event of have[heard]?.keys() ?? []) if (!want[heard]?.has(event)) have[heard].set(event, undefined);
  for (const [event, doing] of want[heard] ?? []) listen(have, event, doing);
  alike(have, want);
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag, props = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(props)) node.setAttribute(key, String(value));
  node.append(...children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false));
  return node;
}

const LONG = /\S{17}/; // such a word may be broken where there is no room for it

// A name that people gave, in whatever direction it is written.
export const named = (label, props = {}) => h("bdi", { dir: "auto", "data-long": LONG.test(label), ...props }, label);

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
  const node = h("span", { ...props, class: `shot ${props.class ?? ""}`, "data-source": address }, sharp);
  sharp.addEventListener("load", () => shaped(node));
  sharp.addEventListener("error", () => node.classList.add("none"));
  return node;
}

const CROPPED = 1.4; // a picture of another shape than its place, by this factor, is shown whole

const size = Symbol("size"); // that a picture is given, which it may still be on its way to

export function shaped(node, ...given) {
  if (given.length > 0) node[size] = given;
  const [width, height] = node[size] ?? [node.clientWidth, node.clientHeight];
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
