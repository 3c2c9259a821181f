// Enough? How many new pictures are named right, how that grew, which classes are weak, and what to do next.

import { api } from "./api.js";
import { curve } from "./curve.js";
import { button, fill, h, named, shot, thumbnail } from "./dom.js";
import { session, trouble } from "./session.js";
import { line, listed, say } from "./words.js";

const ENOUGH = 0.005; // what ten more would bring, below which a class has enough
const [WEAK, FINE] = [12, 60]; // classes shown
const FEW = 8; // answers that a class's own share rests on, below which nothing is promised

export function open(place, shell) {
  const view = new Enough(place, shell);
  view.load();
  return view;
}

class Enough {
  constructor(place, shell) {
    Object.assign(this, { place, shell });
    this.heard = { stepped: () => this.load(), elsewhere: () => this.load() };
    for (const [name, doing] of Object.entries(this.heard)) session.addEventListener(name, doing);
  }

  close() {
    for (const [name, doing] of Object.entries(this.heard)) session.removeEventListener(name, doing);
  }

  async load() {
    fill(this.place.main, h("section", { class: "empty" }, h("h1", {}, line("counting"))));
    try {
      const advice = session.gallery.classes.length < 2 ? null : await api.advise();
      if (advice === null) this.drawTooFew();
      else this.draw(advice);
    } catch (error) {
      fill(this.place.main, h("section", { class: "empty" }, h("h1", {}, line("noAdvice"))));
      trouble(error);
    }
  }

  drawTooFew() {
    fill(this.place.main, h("section", { class: "empty" },
      h("h1", {}, line("tooFew")),
      h("p", { class: "lead" }, line("tooFewLong")),
      h("p", { class: "row" }, button(line("chooseFiles"), { press: this.shell.pick, hint: "O", kind: "main" }))));
  }

  draw(advice) {
    const weak = advice.classes.filter((one) => untold(one) || (mistakes(one) > 1 && (one.ten_more ?? 1) > ENOUGH));
    const fine = advice.classes.filter((one) => !weak.includes(one));
    const steps = this.steps(advice, weak).flat().filter((one) => one !== null);
    fill(this.place.main, head(advice, weak, fine), h("div", { class: "enough" },
      h("div", { class: "body" },
        advice.curve.length < 2 ? null : h("figure", { class: "card learning" }, curve(advice),
          h("figcaption", { class: "quiet" }, line("curveWords"))),
        cards("weakClasses", weak.slice(0, WEAK), ""),
        cards("fineClasses", fine.slice(0, FINE), "small")),
      h("aside", {}, h("h2", {}, line("nextSteps")),
        steps.length === 0 ? h("p", { class: "quiet" }, line("noSteps")) : h("ol", { class: "steps" }, steps))));
    this.faces(weak.slice(0, WEAK));
  }

  // By what they cost: deciding on what is there, labelling what waits, taking new pictures.
  steps(advice, weak) {
    const step = (title, words, more) => h("li", { class: "card" }, h("h3", {}, title), h("p", {}, words), more);
    const open = (words, view) => button(line(words), { press: () => this.shell.go(view) });
    const { queue } = session.gallery;
    return [
      session.doubts === 0 ? null : step(line("settleFirst"), line("settleCost"), open("openAudit", "audit")),
      queue === 0 ? null : step(line("labelNext", { n: queue }), line("labelNextLong"), open("openTeach", "teach")),
      weak.slice(0, 2).map((one) => step(
        [say("addTen", { label: named(one.name) }), gain(one)],
        one.confused.length === 0 ? line("unlikeYours")
          : say("takenFor", { labels: named(listed(others(one))) }),
      )),
    ];
  }

  async faces(classes) {
    const places = this.place.main.querySelectorAll(".class-cards:not(.small) .strip");
    classes.forEach(async (one, at) => {
      const { examples } = await api.examples({ class: one.name, limit: "5" });
      fill(places[at], examples.map((each) => h("li", {}, shot(thumbnail(each.id), ""))));
    });
  }
}

const untold = (one) => one.right === null || one.asked < FEW;
const mistakes = (one) => Math.round((1 - one.right) * one.asked); // one alone may be chance

// Of 100 new pictures, how many will likely be named right: Wilson's interval, of 95 %.
function likely(right, asked) {
  const z = 1.96;
  const share = (z * z) / asked;
  const middle = (right + share / 2) / (1 + share);
  const around = (z / (1 + share)) * Math.sqrt((right * (1 - right)) / asked + share / (4 * asked));
  return [middle - around, middle + around].map((one) => Math.round(100 * Math.min(1, Math.max(0, one))));
}

const others = (one) => one.confused.map(([name]) => name);

function gain(one) {
  const more = Math.round(100 * (one.ten_more ?? 0));
  return more > 0 ? h("span", { class: "gain" }, line("gain", { n: more })) : null;
}

function head(advice, weak, fine) {
  const weakest = [...weak].sort((a, b) => (a.right ?? 0) - (b.right ?? 0)).slice(0, 3).map((one) => one.name);
  const labels = named(listed(weakest));
  const [low, high] = likely(advice.right, advice.asked);
  return h("header", { class: "enough-head" },
    h("h1", {}, weak.length === 0 ? line("enoughYes") : say("enoughNo", { labels, n: weakest.length })),
    h("p", { class: "lead" },
      line("rightOfAsked", { right: Math.round(advice.asked * advice.right), n: advice.asked }), " ",
      line("rightOfHundred", { low, high }), " ",
      line("haveEnough", { n: fine.length, of: advice.classes.length })));
}

const cards = (title, classes, kind) => (classes.length === 0 ? null
  : [h("h2", {}, line(title)), h("ul", { class: `class-cards ${kind}` }, classes.map(card))]);

function card(one) {
  const bar = h("span", { class: "bar for" }, h("span", {}));
  bar.firstChild.style.width = `${100 * (one.right ?? 0)}%`;
  const facts = [
    line("examples", { n: one.examples }),
    one.confused.length === 0 ? null : line("mistakenFor", { labels: listed(others(one).slice(0, 2)) }),
    one.ten_more > ENOUGH ? line("tenMore", { n: Math.max(1, Math.round(100 * one.ten_more)) }) : null,
  ];
  const right = one.right === null ? line("notAskedYet")
    : say("outOf100", { n: h("strong", {}, `${Math.round(100 * one.right)}`) });
  return h("li", { class: "card" },
    h("p", { class: "title" }, named(one.name, { class: "strong" }), h("span", { class: "value" }, right)),
    bar, h("p", { class: "quiet" }, facts.filter(Boolean).join(" · ")), h("ul", { class: "strip" }));
}
