// An answer in words: its headline, the sentence that says why, how sure it is, and the bars of the chances. A chance
// says how often such answers are right; only an answer from all examples that is no "unknown" has one.

import { h, named, shot, thumbnail } from "./dom.js";
import { chance, either, inWords, line, say } from "./words.js";

const SURE = 0.995;
const CLOSE = 0.5; // of the first chance: a second of this much is too close to call
const BARS = 6;

// The class that comes nearest, which is no answer where the answer is "unknown".
export const nearest = (verdict) => verdict.likely[0]?.[0] ?? verdict.parts[0]?.label ?? verdict.label;

const rivals = ({ likely: [first, ...others] }) => ({ first, others });

export function tooClose(verdict) {
  const { first, others } = rivals(verdict);
  return !verdict.unknown && others.length > 0 && others[0][1] >= CLOSE * first[1];
}

const hasChance = (q) => !q.open && !q.now.unknown && q.now.probability !== null;

export function headline(q) {
  if (q.now.unknown) return h("span", { class: "name" }, line("unknown"));
  const name = named(q.now.label, { class: "name" });
  return hasChance(q) ? [name, " ", h("span", { class: "chance" }, chance(q.now.probability))] : name;
}

// "because of these; without these six it would be flamingo": those outlined in the seam.
export function because(q) {
  if (q.open) return line("whatIf", { n: q.aside.ids.length + q.aside.classes.length });
  if (q.now.unknown || q.now.how === "nearest") return null;
  const first = q.turning?.found[0];
  if (first === undefined) return line(q.turning ? "becauseAll" : "because");
  return say("becauseWithout", {
    n: first.ids.length, count: inWords(first.ids.length),
    label: strong(first.label),
  });
}

export function lead(q) {
  if (q.now.unknown) {
    const why = sentence(q.now.why ?? line("resemblesNone"));
    return [why, " ", say("nearestIs", { label: strong(nearest(q.now)) })];
  }
  return q.open ? line("noChance") : [sure(q.now), setLine(q.now)];
}

function sure(verdict) {
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
  if (verdict.probability === null || verdict.set.length === 1) return [];
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

// A short answer: "ibis 57 %", "unknown"; without its chance where it has none.
export function short(verdict, { hypothetical = false } = {}) {
  if (verdict.unknown) return line("unknown").toLocaleLowerCase();
  const bare = hypothetical || verdict.probability === null;
  return bare ? verdict.label : `${verdict.label} ${chance(verdict.probability)}`;
}

// The classes with their chances, longer is better; or, where there are no chances, merely the nearest first.
// `toggleClass` leaves a class out or takes it in.
export function chances(q, { toggleClass, whyNot }) {
  const { now, aside } = q;
  const sure = hasChance(q);
  const shown = now.likely.filter(([, p], at) => at < 2 || p >= 0.005).slice(0, BARS);
  const rest = now.likely.length - shown.length;
  const out = aside.classes.filter((label) => !shown.some(([name]) => name === label)).map((label) => [label, null]);
  const unsure = line(now.confidence === "learning" ? "learning" : "tooFewToSay");
  return [
    h("div", { class: "title" }, h("h2", {}, line(sure ? "chances" : "nearestClasses")),
      sure ? h("span", { class: "quiet" }, line("longer")) : null),
    now.likely.length === 0 ? h("p", { class: "quiet" }, unsure) : null,
    h("ul", { class: "bars", "data-group": "bars" },
      [...shown, ...out].map(([label, p]) => row(q, label, sure ? p : null, { toggleClass, whyNot }))),
    rest === 0 ? null : h("p", { class: "quiet" }, line(sure ? "otherClasses" : "furtherClasses", { n: rest })),
  ];
}

function row(q, label, p, { toggleClass, whyNot }) {
  const out = q.aside.classes.includes(label);
  const first = label === nearest(q.now);
  const kind = first ? "for" : label === q.now.runner_up ? "against" : "";
  const words = line("countClass", { label });
  const box = h("input", { type: "checkbox", checked: !out, "aria-label": words, onchange: () => toggleClass(label) });
  const bar = p === null ? null : h("span", { class: `bar ${kind}` }, h("span", { style: { width: `${100 * p}%` } }));
  const why = first || out || q.now.unknown ? null : h("button", {
    type: "button", class: "why", onclick: () => whyNot(label), "aria-pressed": `${q.rival === label}`,
    "aria-label": line("whyNot", { label }),
  }, line("whyNotShort"));
  return h("li", { class: out ? "out" : "", "data-key": `class ${label}` },
    h("label", { title: words }, box, named(label, { class: "strong" })), why,
    h("span", { class: "value" }, out ? line("leftOut") : p === null ? "" : chance(p)), bar);
}

const BEST = 4; // examples of the other class

// "Why not lotus?" in words; how much exactly, where the pointer rests on it.
export function whyNot(q) {
  const { rival, whyNot: found } = q;
  if (rival === null || !found) return [];
  const phrase = (name) => say(name, { label: named(rival), answer: named(found.answer), n: found.near });
  return [
    h("h2", {}, phrase("whyNot")),
    h("p", { title: found.sentence }, found.support === null ? phrase("noneNear") : [
      phrase(`strongest${compared(...found.strongest)}`), " ",
      phrase(`together${compared(1 - found.support, found.support)}`)]),
    h("ul", { class: "strip" }, found.best.slice(0, BEST).map((one) => h("li", {}, shot(thumbnail(one.id), rival)))),
  ];
}

const compared = (theirs, mine) =>
  (theirs > 1.1 * mine ? "More" : theirs >= 0.9 * mine ? "Even" : theirs >= 0.5 * mine ? "Less" : "Half");
