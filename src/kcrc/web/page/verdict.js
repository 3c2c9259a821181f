// An answer in words: its headline, how sure it is, what cannot be ruled out, and the bars of the chances.

import { fill, h, named } from "./dom.js";
import { chance, either, line, say } from "./words.js";

const SURE = 0.995;
const CLOSE = 0.5; // of the first chance: a second of this much is too close to call
const BARS = 6;

// The class that comes nearest, which is no answer where the answer is "unknown".
export const nearest = (verdict) => verdict.likely[0]?.[0] ?? verdict.parts[0]?.label ?? verdict.label;

function rivals(verdict) {
  const [first, ...others] = verdict.likely;
  return { first, others };
}

export function tooClose(verdict) {
  const { first, others } = rivals(verdict);
  return !verdict.unknown && others.length > 0 && others[0][1] >= CLOSE * first[1];
}

// The headline's pieces. `count` is the element of the number, for those who let it run.
export function headline(verdict) {
  if (verdict.unknown) return { words: [h("span", { class: "name" }, line("unknown"))], number: null };
  const name = named(verdict.label, { class: "name" });
  if (verdict.probability === null) return { words: [name], number: null };
  const number = h("span", { class: "number" });
  number.textContent = shortChance(verdict.probability);
  return { words: [name, " ", h("span", { class: "chance" }, number, h("small", {}, "%"))], number };
}

const shortChance = (p) => chance(p).replace(" %", "");

export const lead = (verdict) => [sure(verdict), setLine(verdict)];

function sure(verdict) {
  if (verdict.unknown) {
    const why = sentence(verdict.why ?? line("resemblesNone"));
    return [why, " ", say("nearestIs", { label: strong(nearest(verdict)) })];
  }
  if (verdict.how === "nearest") return say("onlyNearest");
  const { first, others } = rivals(verdict);
  if (verdict.probability === null || first === undefined) {
    return say(verdict.confidence === "learning" ? "learning" : "tooFewToSay");
  }
  const wrong = wrongIn(1 - verdict.probability);
  if (tooClose(verdict)) return [line("tooClose"), " ", wrong];
  const standsOut = others.length > 0 && (others.length === 1 || others[0][1] >= 2 * others[1][1]);
  return standsOut && verdict.probability < SURE
    ? [wrong, " ", say("ifWrong", { label: strong(others[0][0]) })] : [wrong];
}

// Classes that cannot be ruled out, where they are several or none: one alone would read as certainty.
function setLine(verdict) {
  if (verdict.unknown || verdict.probability === null || verdict.set.length === 1) return [];
  if (verdict.set.length === 0) return [" ", say("noneFits")];
  return [" ", say("cannotRuleOut", { labels: h("bdi", { dir: "auto", class: "strong" }, either(verdict.set)) })];
}

function wrongIn(share) {
  if (share <= 1 - SURE) return line("almostNever");
  if (share <= 1 / 3) return line("oneIn", { n: Math.round(1 / share) });
  return line("inTen", { n: Math.round(10 * share) });
}

const strong = (label) => named(label, { class: "strong" });
const sentence = (words) => `${words.charAt(0).toUpperCase()}${words.slice(1)}`.replace(/[^.!?…]$/, "$&.");

// A short answer for cards: "ibis 57 %", "unknown".
export function short(verdict) {
  if (verdict.unknown) return line("unknown").toLocaleLowerCase();
  return verdict.probability === null ? verdict.label : `${verdict.label} ${chance(verdict.probability)}`;
}

// Bars of the chances, longer is better. `without` are classes left out; `toggle(label)` leaves one out or takes it in.
export function chances(node, verdict, { without, toggle, whyNot }) {
  const all = verdict.likely;
  const shown = all.filter(([, p], at) => at < 2 || p >= 0.005).slice(0, BARS);
  const rest = all.slice(shown.length);
  const out = without.filter((label) => !shown.some(([name]) => name === label)).map((label) => [label, null]);
  const unsure = line(verdict.confidence === "learning" ? "learning" : "tooFewToSay");
  fill(node, h("div", { class: "title" }, h("h2", {}, line("chances")), h("span", { class: "quiet" }, line("longer"))),
    all.length === 0 ? h("p", { class: "quiet" }, unsure) : null,
    h("ul", { class: "bars" },
      [...shown, ...out].map(([label, p]) => row(label, p, verdict, { without, toggle, whyNot }))),
    rest.length === 0 ? null : h("p", { class: "quiet" }, line("otherClasses", { n: rest.length })));
}

function row(label, p, verdict, { without, toggle, whyNot }) {
  const out = without.includes(label);
  const kind = label === nearest(verdict) ? "for" : label === verdict.runner_up ? "against" : "";
  const words = line("countClass", { label });
  const box = h("input", { type: "checkbox", checked: !out, "aria-label": words, onchange: () => toggle(label) });
  const bar = h("span", { class: `bar ${kind}` }, h("span", {}));
  bar.firstChild.style.width = `${100 * (p ?? 0)}%`;
  const why = kind === "for" || out || verdict.unknown ? null
    : h("button", { type: "button", class: "why", onclick: () => whyNot(label) }, line("whyNotShort"));
  return h("li", { class: out ? "out" : "" },
    h("label", { title: words }, box, named(label, { class: "strong" })), why,
    h("span", { class: "value" }, out ? line("leftOut") : p === null ? "" : chance(p)), bar);
}

// A number that runs from one chance to the next, unless motion is unwanted.
export function run(node, from, to) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const start = performance.now();
  const step = (now) => {
    const part = Math.min(1, (now - start) / 400);
    node.textContent = shortChance(from + (to - from) * (1 - (1 - part) ** 3));
    if (part < 1 && node.isConnected) requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}
