// The bar of answers: right, it is …, a new class. Hovering, focusing or holding a number key shows first what the
// answer would change; letting go stores it, Esc does neither.

import { api } from "./api.js";
import { pickClass } from "./dialogs.js";
import { button, fill, h, named, shot, upload } from "./dom.js";
import { line, say } from "./words.js";

const OTHERS = 3;
const REST = 140; // milliseconds the pointer rests on a button before anything is asked

export class Answers {
  // `answer(label, fresh)` stores it; `picture()` is the id of what is asked about.
  constructor(place, { answer, picture }) {
    Object.assign(this, { place, answer, picture });
    this.ripple = h("div", { class: "ripple", role: "status", hidden: true });
    this.row = h("div", { class: "row" });
    this.cache = new Map();
    this.held = null;
  }

  // `first` is what is offered as right (null: nothing), `others` what else it may be.
  draw({ first, others, stored = null }) {
    this.offered = [first, ...others.filter((label) => label !== first).slice(0, OTHERS)];
    this.cache.clear();
    this.hush();
    this.place.hidden = false;
    if (stored !== null) {
      fill(this.place, stored);
      return;
    }
    const options = this.offered.slice(first === null ? 0 : 1).filter((label) => label !== null);
    fill(this.row,
      h("span", { class: "question" }, first === null ? line("whatIsIt") : say("isIt", { label: named(first) })),
      first === null ? null : this.option(first, [line("yes"), " ", named(first)], "↵", "main"),
      options.map((label, at) => this.option(label, named(label), `${at + 2}`, at > 0 ? "extra" : "")),
      button(line("anotherClass"), { press: () => this.other(), hint: "/", kind: "other" }),
      button(line("newClass"), { press: () => this.other(), hint: "N", kind: "extra" }),
      h("span", { class: "quiet push" }, line("nothingStored")));
    fill(this.place, this.ripple, this.row);
  }

  option(label, words, hint, kind = "") {
    const node = button(words, { press: () => this.answer(label, false), hint, kind: `option ${kind}` });
    let timer = 0;
    const look = () => {
      clearTimeout(timer);
      timer = setTimeout(() => this.show(label), REST);
    };
    const leave = () => {
      clearTimeout(timer);
      if (this.held === null) this.hush();
    };
    node.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && look());
    node.addEventListener("pointerleave", leave);
    node.addEventListener("focus", () => node.matches(":focus-visible") && look());
    node.addEventListener("blur", leave);
    return node;
  }

  async other() {
    const found = await pickClass(line("whichClass"));
    if (found !== null) await this.answer(found.label, found.fresh);
  }

  // What storing this answer would change of the last answers, with their pictures.
  async show(label) {
    this.wanted = label;
    if (!this.cache.has(label)) this.cache.set(label, api.preview({ picture: this.picture(), label, act: "add" }));
    const found = await this.cache.get(label).catch(() => null);
    if (this.wanted !== label || found === null) return;
    this.ripple.hidden = false;
    fill(this.ripple, changes(label, found));
  }

  hush() {
    this.wanted = null;
    this.ripple.hidden = true;
    fill(this.ripple);
  }

  keys() {
    const table = {
      Enter: () => this.offered?.[0] && this.answer(this.offered[0], false),
      "/": () => this.other(), n: () => this.other(),
    };
    for (let digit = 2; digit <= OTHERS + 1; digit += 1) {
      table[`${digit}`] = () => {
        const label = this.offered?.[digit - 1];
        if (!label) return;
        this.held = label;
        this.show(label);
      };
      table[`up ${digit}`] = () => {
        const label = this.held;
        this.held = null;
        this.hush();
        if (label !== null) this.answer(label, false);
      };
    }
    return table;
  }

  // Esc while a number key is held: neither. True where there was something to let go.
  letGo() {
    const had = this.held !== null;
    this.held = null;
    this.hush();
    return had;
  }
}

const SHOWN = 8;

// "Saying lotus changes 3 of the last 250 answers", and which.
export function changes(label, { changed, of }, said = "saying") {
  const words = h("p", { class: "says" }, say(changed.length === 0 ? `${said}None` : said, {
    label: named(label, { class: "strong" }), n: of, changed: h("strong", { class: "many" }, `${changed.length}`),
  }));
  const more = changed.length - SHOWN;
  return [
    of === 0 ? h("p", { class: "says" }, line("noAnswersYet")) : words,
    h("ul", { class: "changed" }, changed.slice(0, SHOWN).map(otherAnswer),
      more > 0 ? h("li", { class: "quiet" }, line("andMore", { n: more })) : null),
  ];
}

const otherAnswer = ({ picture, before, after }) => h("li", { title: `${before} → ${after}` },
  shot(upload(picture), ""),
  h("span", {}, h("s", {}, named(before)), " → ", named(after, { class: "strong" })));
