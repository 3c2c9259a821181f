// Audit: examples that look mislabelled, one after another, each between those of its label and those it resembles.

import { api, Away } from "./api.js";
import { changes } from "./answers.js";
import { button, fill, h, key, named, shot, thumbnail } from "./dom.js";
import { announce, session, trouble } from "./session.js";
import { chance, line, say } from "./words.js";

const BESIDE = 6; // pictures on either side
const PAST = 3; // decided ones that stay in the list
const AHEAD = 40;

export const KEYS = () => [
  [["←"], line("keyKeep")], [["→"], line("keyMoveOver")], [["X"], line("remove")], [["Space"], line("later")],
];

export function open(place, shell) {
  const view = new Audit(place, Number(shell.detail) || null);
  view.load();
  return view;
}

class Audit {
  // `first`: the example that was asked for, which comes before all others
  constructor(place, first) {
    Object.assign(this, { place, first, suspects: null, decided: [], later: new Set() });
    this.keys = {
      ArrowLeft: () => this.keep(),
      ArrowRight: () => this.moveOver(),
      x: () => this.remove(),
      " ": () => this.postpone(),
    };
    this.heard = { stepped: () => this.load(), elsewhere: () => this.load() };
    for (const [name, doing] of Object.entries(this.heard)) session.addEventListener(name, doing);
  }

  close() {
    for (const [name, doing] of Object.entries(this.heard)) session.removeEventListener(name, doing);
  }

  async load() {
    const empty = (title, words) => fill(this.place.main, h("section", { class: "empty" },
      h("h1", {}, line(title)), h("p", { class: "lead" }, words)));
    if (this.suspects === null) empty("looking", "");
    try {
      const none = { suspects: [], revision: session.gallery.revision };
      const { suspects, revision } = session.gallery.classes.length < 2 ? none : await api.audit();
      Object.assign(this, { suspects, revision });
      session.doubt(suspects);
      suspects.sort((a, b) => (b.id === this.first) - (a.id === this.first));
      const there = new Set(suspects.map((one) => one.id));
      this.decided = this.decided.filter((one) => !there.has(one.id));
      this.draw();
    } catch (error) {
      if (this.suspects === null) empty("noAudit", error instanceof Away ? line("away") : error.message);
      trouble(error);
    }
  }

  get left() {
    const kept = new Set(this.decided.map((one) => one.id));
    const open = this.suspects.filter((one) => !kept.has(one.id));
    return [...open.filter((one) => !this.later.has(one.id)), ...open.filter((one) => this.later.has(one.id))];
  }

  draw() {
    const { left } = this;
    session.doubts = left.length;
    session.tell("doubts");
    [this.now] = left;
    this.place.bar.hidden = this.now === undefined || session.gallery.readonly;
    if (this.now === undefined) {
      const words = line(this.decided.length > 0 ? "settledLong" : "noSuspects", { n: this.decided.length });
      fill(this.place.main, h("section", { class: "empty" },
        h("h1", {}, line("allSettled")), h("p", { class: "lead" }, words)));
      return;
    }
    fill(this.place.main, h("div", { class: "audit" }, this.list(left), this.pair(this.now)));
    this.drawBar(this.now);
    announce(this.place.main.querySelector("h1").textContent);
  }

  list(left) {
    const item = (one, kind, words, more) => h("li", { class: kind },
      shot(thumbnail(one.id), ""), h("span", { class: "words" }, words, h("small", {}, more)));
    return h("section", { class: "suspects" },
      h("div", { class: "title" }, h("h2", {}, line("leftToDecide", { n: left.length })),
        h("span", { class: "quiet" }, line("surest"))),
      h("ul", { tabindex: "0" },
        this.decided.slice(-PAST).map((one) => item(one, "past", h("strong", {}, "✓ ", named(one.label)), one.words)),
        left.slice(0, AHEAD).map((one) => item(one, one === this.now ? "now" : "",
          named(one.label, { class: "strong" }), this.looks(one)))));
  }

  // The suspect in the middle, its label's nearest left, those it resembles right: as the arrow keys are.
  pair(now) {
    const other = now.looks_like;
    const both = { a: named(now.label), b: named(other) };
    const same = now.duplicate_of === null ? [] : [now.duplicate_of];
    return h("section", { class: "pair" },
      h("h1", {}, say(now.duplicate_of === null ? "labelledLooks" : "labelledTwice", both)),
      h("p", { class: "lead" }, this.why(now)),
      h("div", { class: "between" },
        beside("against", say("keepWith", { label: named(now.label) }), "←", "nearestOfLabel", now.nearest_of_label),
        h("figure", { class: "doubted" }, shot(thumbnail(now.id), line("inDoubt")),
          h("figcaption", { class: "quiet" }, line("exampleNumber", { id: now.id }))),
        beside("for", say("moveToClass", { label: named(other) }), "→", "nearestOfOther",
          [...new Set([...same, ...now.nearest_of_other])])),
      this.ripple(now, other));
  }

  ripple(now, other) {
    const node = h("div", { class: "ripple" });
    api.preview({ examples: [now.id], label: other, act: "relabel" })
      .then((found) => fill(node, changes(other, found, "relabelling")), () => {}); // the question stands without it
    return node;
  }

  looks(one) {
    return one.duplicate_of === null ? line("orRather", { label: one.looks_like })
      : line("sameAs", { id: one.duplicate_of });
  }

  why(now) {
    if (now.duplicate_of !== null) return line("duplicateLong", { id: now.duplicate_of });
    return say("othersSay", {
      n: session.gallery.examples - 1,
      label: named(now.looks_like, { class: "strong" }),
      percent: h("strong", {}, chance(now.probability)),
    });
  }

  drawBar(now) {
    fill(this.place.bar, h("div", { class: "row" },
      button(say("keepLabel", { label: named(now.label) }), { press: () => this.keep(), hint: "←" }),
      button(say("moveToClass", { label: named(now.looks_like) }), {
        press: () => this.moveOver(), hint: "→", kind: "main",
      }),
      button(line("remove"), { press: () => this.remove(), hint: "X" }),
      button(line("later"), { press: () => this.postpone(), hint: "Space", kind: "quiet" }),
      h("span", { class: "quiet push" }, line("decidedCount", { n: this.decided.length }), " ", key("Z"))));
  }

  async settle(words, label, doing) {
    const { now } = this;
    if (now === undefined || session.gallery.readonly) return;
    try {
      const act = await doing(now);
      this.decided.push({ id: now.id, label, words });
      if (act.sentence !== undefined) await session.stored(act);
      this.draw();
    } catch (error) {
      trouble(error);
    }
  }

  keep() {
    return this.settle(line("keptIt"), this.now?.label, (now) => api.keep(now.id, this.revision));
  }

  moveOver() {
    return this.settle(line("wasLabel", { label: this.now?.label }), this.now?.looks_like,
      (now) => api.relabel([now.id], now.looks_like, { [now.id]: now.label }, this.revision));
  }

  remove() {
    return this.settle(line("removedIt"), this.now?.label, (now) => api.remove([now.id], this.revision));
  }

  postpone() {
    if (this.now === undefined) return;
    this.later.delete(this.now.id);
    this.later.add(this.now.id);
    if (this.left.every((one) => this.later.has(one.id))) this.later = new Set([this.now.id]);
    this.draw();
  }
}

const beside = (kind, title, hint, words, ids) => h("section", { class: `beside ${kind}` },
  h("h2", {}, h("span", {}, title), key(hint)), h("p", { class: "quiet" }, line(words)),
  h("ul", {}, ids.slice(0, BESIDE).map((id) => h("li", {}, shot(thumbnail(id), "")))));
