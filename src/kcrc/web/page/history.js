// History: what was done, the newest first; one can step back, and ask what the answer was before a change.

import { about, api } from "./api.js";
import { button, fill, h } from "./dom.js";
import { session, toast, trouble } from "./session.js";
import { short } from "./verdict.js";
import { line, say, when } from "./words.js";

const PAGE = 60;

export function open(place) {
  const view = new History(place);
  view.load();
  return view;
}

class History {
  constructor(place) {
    Object.assign(this, { place, most: PAGE });
    this.heard = { stepped: () => this.load(), elsewhere: () => this.load() };
    for (const [name, doing] of Object.entries(this.heard)) session.addEventListener(name, doing);
  }

  close() {
    for (const [name, doing] of Object.entries(this.heard)) session.removeEventListener(name, doing);
  }

  async load() {
    try {
      this.entries = await api.history(`${this.most}`);
      this.draw();
    } catch (error) {
      trouble(error);
    }
  }

  draw() {
    const { asked } = session;
    const mine = this.entries.filter((entry) => entry.mine && !entry.undone);
    const older = () => {
      this.most += PAGE;
      this.load();
    };
    fill(this.place.main, h("div", { class: "history" },
      h("h1", {}, line("whatWasDone")),
      h("p", { class: "lead" }, line("historyLong")),
      asked === null ? h("p", { class: "quiet" }, line("askFirst")) : h("p", { class: "card about-picture" },
        h("img", { src: asked.url, alt: line("yourPicture") }),
        h("span", {}, say("nowAnswers", { answer: h("strong", { dir: "auto" }, short(asked.verdict)) }))),
      this.entries.length === 0 ? h("p", {}, line("nothingDone")) : null,
      h("ol", { class: "entries" }, this.entries.map((entry) => this.row(entry, mine))),
      this.entries.length < this.most ? null : button(line("older"), { press: older })));
  }

  row(entry, mine) {
    const place = mine.indexOf(entry);
    const answer = h("span", { class: "before", role: "status" });
    const facts = [when(entry.when), entry.mine ? line("you") : null, entry.undone ? line("takenBack") : null];
    const sentence = entry.action.endsWith("tune") ? line("tuned") : entry.sentence;
    return h("li", { class: entry.undone ? "undone" : "" },
      h("span", { class: "words" }, h("span", { dir: "auto" }, sentence),
        h("small", {}, facts.filter(Boolean).join(" · ")), answer),
      session.asked === null ? null
        : button(line("before"), { press: () => this.before(entry, answer), kind: "quiet" }),
      place < 0 || session.gallery.readonly ? null
        : button(place === 0 ? line("undo") : line("backTo", { n: place + 1 }), {
          press: () => this.back(place + 1), hint: place === 0 ? "Z" : undefined, kind: "quiet",
        }));
  }

  async before(entry, place) {
    fill(place, line("looking"));
    try {
      const verdict = await about(session.asked, (picture) => api.before(entry.act, picture));
      fill(place, say("beforeThis", { answer: h("strong", { dir: "auto" }, short(verdict)) }));
    } catch (error) {
      fill(place, error.message);
    }
  }

  // One step after the other, each as the button Undo does it; it stops where somebody else changed the same.
  async back(steps) {
    try {
      let act = null;
      for (let at = 0; at < steps; at += 1) act = await api.undo();
      await session.stored(act);
      if (steps > 1) toast(line("wentBack", { n: steps }));
    } catch (error) {
      trouble(error);
    }
    await this.load();
  }
}
