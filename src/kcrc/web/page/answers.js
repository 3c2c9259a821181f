// The bar of answers: right, it is …, a new class. Hovering, focusing or holding a number key shows first what the
// answer would change; letting go stores it, Esc does neither.

import { pickClass } from "./dialogs.js";
import { button, h, named, shot, upload } from "./dom.js";
import { session } from "./session.js";
import { brief, line, say } from "./words.js";

const OTHERS = 3;
const REST = 140; // milliseconds the pointer rests on a button before anything is asked

// The classes on offer: the first as right (null: nothing), then what else it may be.
export function offered(q) {
  const known = q.now.likely.map(([label]) => label);
  const first = q.now.unknown ? null : q.now.label;
  const rest = session.gallery.classes.map((one) => one.name).filter((name) => !known.includes(name));
  return [first, ...[...known, ...rest].filter((label) => label !== first).slice(0, OTHERS)];
}

export class Answers {
  // `question()` is the question; `answer(label, fresh)` stores.
  constructor({ question, answer }) {
    Object.assign(this, { question, held: null });
    this.answer = (label, fresh) => this.question()?.act === null && answer(label, fresh);
  }

  bar(q) {
    const [first, ...others] = offered(q);
    const found = q.saying === null ? null
      : q.preview({ picture: q.picture.id, label: q.saying, act: "add" });
    return [
      h("div", { class: "ripple", role: "status", hidden: !found }, found ? changes(q.saying, found) : null),
      h("div", { class: "row", "data-group": "answers" },
        h("span", { class: "question" }, first === null ? line("whatIsIt") : say("isIt", { label: name(first) })),
        first === null ? null : this.option(first, [line("yes"), " ", name(first)], "↵", "main"),
        others.map((label, at) => this.option(label, name(label), `${at + 2}`, at > 0 ? "extra" : "")),
        button(line("anotherClass"), { press: () => this.other(), hint: "/", kind: "other" }),
        button(line("newClass"), { press: () => this.other(), hint: "N", kind: "extra" }),
        h("span", { class: "quiet push" }, line("nothingStored"))),
    ];
  }

  option(label, words, hint, kind = "") {
    const look = () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.question()?.say(label), REST);
    };
    const leave = () => {
      clearTimeout(this.timer);
      if (this.held === null) this.question()?.say(null);
    };
    return button(words, {
      press: () => this.answer(label, false), hint, kind: `option ${kind}`, "data-key": `answer ${label}`,
      onpointerenter: (event) => event.pointerType === "mouse" && look(), onpointerleave: leave,
      onfocus: (event) => event.target.matches(":focus-visible") && look(), onblur: leave,
    });
  }

  async other() {
    if (this.question()?.act !== null) return;
    const found = await pickClass(line("whichClass"));
    if (found !== null) await this.answer(found.label, found.fresh);
  }

  keys() {
    const label = (at) => (this.question()?.act === null ? offered(this.question())[at] : null);
    const table = {
      Enter: () => label(0) && this.answer(label(0), false),
      "/": () => this.other(), n: () => this.other(),
    };
    for (let digit = 2; digit <= OTHERS + 1; digit += 1) {
      table[`${digit}`] = () => {
        if (!label(digit - 1)) return;
        this.held = label(digit - 1);
        this.question().say(this.held);
      };
      table[`up ${digit}`] = () => {
        const given = this.held;
        this.letGo();
        if (given !== null) this.answer(given, false);
      };
    }
    return table;
  }

  // Esc while a number key is held: neither. True where there was something to let go.
  letGo() {
    const had = this.held !== null;
    this.held = null;
    this.question()?.say(null);
    return had;
  }
}

// The bar is no place for long names; in full where the pointer rests on it.
const name = (label) => named(brief(label, 28), { title: label });

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
