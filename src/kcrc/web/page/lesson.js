// What is asked about the pictures of the queue, in words.

import { h, named } from "./dom.js";
import { session } from "./session.js";
import { line, say } from "./words.js";

// What a picture may be, the likeliest first: [[class, chance], …]
const guesses = (one) => one.likely ?? (one.probability ? [[one.label, one.probability]] : []);

export function question(chosen) {
  if (chosen.length > 1) return line("whatAreThese", { n: chosen.length });
  const [first, second] = guesses(chosen[0]);
  if (second !== undefined && second[1] >= first[1] / 2) {
    return say("thisOrThat", { a: named(first[0]), b: named(second[0]) });
  }
  return first === undefined ? line("whatIsIt") : say("isIt", { label: named(first[0]) });
}

export function lean(chosen) {
  if (session.gallery.classes.length === 0) return line("firstClass");
  if (chosen.length > 1) return line("nameThem");
  const [first] = guesses(chosen[0]);
  if (chosen[0].unknown) return line("resemblesNone");
  return first === undefined ? line("nameIt") : line("leans", { label: first[0], percent: Math.round(100 * first[1]) });
}

// The likeliest names of all of them, then those with most examples: [[class, chance | null], …]
export function offers(chosen, most) {
  const votes = new Map();
  for (const one of chosen) {
    for (const [label, p] of guesses(one)) votes.set(label, (votes.get(label) ?? 0) + p / chosen.length);
  }
  const known = [...session.gallery.classes].sort((a, b) => b.count - a.count).map((one) => one.name);
  const likely = [...votes].filter(([label]) => known.includes(label)).sort((a, b) => b[1] - a[1]);
  const rest = known.filter((name) => !votes.has(name)).map((name) => [name, null]);
  return [...likely, ...rest].slice(0, most);
}

// Before there is any class the name is simply written.
export function firstName(given) {
  const words = line("className");
  const input = h("input", {
    type: "text", class: "search", dir: "auto", maxlength: "200", autocomplete: "off",
    "aria-label": words, placeholder: words,
  });
  const sent = (event) => {
    event.preventDefault();
    if (input.value.trim() !== "") given(input.value.trim());
  };
  queueMicrotask(() => input.focus());
  return h("form", { class: "row first-name", onsubmit: sent },
    input, h("button", { type: "submit", class: "button main" }, line("teachIt")));
}
