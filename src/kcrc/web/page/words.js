// How texts.js is spoken: places filled in, one or many, numbers as people read them.

import { languages } from "./texts.js";

const [language, texts] = Object.entries(languages).find(([name]) => navigator.language.startsWith(name)) ??
  Object.entries(languages)[0];
document.documentElement.lang = language;
const plural = new Intl.PluralRules(language);
const number = new Intl.NumberFormat(language);

function findText(name, values) {
  const text = texts[name];
  if (text === undefined) throw new Error(`texts.js says nothing of ${name}`);
  return typeof text === "string" ? text : text[plural.select(values.n)] ?? text.other;
}

// As pieces, so that a value may be an element: say("isIt", { label: named("ibis") })
export function say(name, values = {}) {
  return findText(name, values).split(/\{(\w+)\}/).map((piece, at) => {
    if (at % 2 === 0) return piece;
    const value = values[piece];
    return typeof value === "number" ? number.format(value) : value;
  });
}

export const line = (name, values = {}) => say(name, values).join("");

export const count = (n) => number.format(n);

// A small number as a word.
export const inWords = (n) => texts.numberWords.split(" ")[n - 1] ?? number.format(n);

// A chance at a glance, in whole per cent and never certain: 97 %, < 1 %, > 99 %
export function chance(p) {
  if (p < 0.01) return "< 1 %";
  return p > 0.99 ? "> 99 %" : `${Math.round(100 * p)} %`;
}

// Shares of a whole in per cent that add up to 100: those that lose most by rounding down are rounded up.
export function wholePercents(shares) {
  const sum = shares.reduce((a, b) => a + b, 0) || 1;
  const exact = shares.map((share) => (100 * share) / sum);
  const whole = exact.map(Math.floor);
  const missing = 100 - whole.reduce((a, b) => a + b, 0);
  const lost = exact.map((value, at) => [value - whole[at], at]).sort((a, b) => b[0] - a[0]);
  for (const [, at] of lost.slice(0, missing)) whole[at] += 1;
  return whole;
}

// A name or an answer where there is room for one line.
export const brief = (text, most = 48) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

export const listed = (names) => new Intl.ListFormat(language, { type: "conjunction" }).format(names);
export const either = (names) => new Intl.ListFormat(language, { type: "disjunction" }).format(names);

export function when(time) {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? String(time)
    : new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" }).format(date);
}
