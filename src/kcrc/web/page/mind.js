// "What would change its mind?": the smallest set of examples without which the answer turns; what was set aside; and
// whether the example that tips it is labelled rightly.

import { about, api } from "./api.js";
import { button, fill, h, key, named, shot, thumbnail } from "./dom.js";
import { changes } from "./answers.js";
import { session, trouble } from "./session.js";
import { chance, line, say } from "./words.js";

const SHOWN = 5; // pictures on a card

export class Mind {
  constructor({ picture, whatIf, restore, bring, stored }) {
    Object.assign(this, { picture, whatIf, restore, bring, done: stored });
    this.title = h("h2", {});
    this.cards = h("div", { class: "cards" });
    this.node = h("section", { class: "mind" },
      h("div", { class: "title" }, this.title, h("span", { class: "quiet" }, line("untick"))), this.cards);
  }

  async base(verdict) {
    this.verdict = verdict;
    this.found = null;
    this.title.textContent = line("changeMind");
    fill(this.cards, h("p", { class: "quiet" }, line("trying")));
    try {
      const found = await about(this.picture, (picture) => api.turning(picture));
      this.found = found;
      if (this.title.textContent === line("changeMind")) this.drawTurning();
    } catch (error) {
      fill(this.cards);
      trouble(error);
    }
  }

  drawTurning() {
    this.title.textContent = line("changeMind");
    if (this.found === null) return;
    const { found, sentence } = this.found;
    const single = found[0]?.ids.length === 1;
    if (single) this.doubt(found[0].ids, this.verdict.parts, found[0].label);
    fill(this.cards, found.slice(0, 2).map((one, at) => h("button", {
      type: "button", class: "card press", onclick: () => this.whatIf(one.ids),
      "aria-keyshortcuts": at === 0 ? "w" : null,
    }, pictures(one.ids), h("span", { class: "words" },
      h("small", {}, line("withoutThese", { n: one.ids.length })),
      h("strong", {}, named(one.label), one.probability === null ? "" : ` ${chance(one.probability)}`)),
    at === 0 ? key("W") : null)),
    single ? this.suspect && this.question() : h("p", { class: "card plain" }, sentence));
  }

  tip() {
    const first = this.found?.found[0];
    if (first !== undefined) this.whatIf(first.ids);
  }

  // After an un-tick: what is set aside, and the question whether its label is right.
  aside({ without, parts, verdict }) {
    if (without.length === 0) {
      this.suspect = null;
      this.drawTurning();
      return;
    }
    this.title.textContent = line("setAside");
    this.doubt(without, parts, verdict.label);
    const tray = h("div", { class: "card tray" },
      h("ul", { class: "strip" }, without.slice(0, 12).map((id) => h("li", {}, h("button", {
        type: "button", class: "back", onclick: () => this.bring(id),
        "aria-label": line("bringBack", { id }), title: line("bringBack", { id }),
      }, shot(thumbnail(id), ""))))),
      h("span", { class: "words" }, button(line("bringAllBack"), { press: this.restore, hint: "Esc", kind: "quiet" }),
        h("small", {}, line("setAsideLong", { n: without.length }))));
    fill(this.cards, tray, this.suspect === null ? null : this.question());
  }

  // One example without which the answer is its own class no longer may have the wrong label.
  doubt(without, parts, to) {
    const one = without.length === 1 ? parts.find((part) => part.id === without[0]) : undefined;
    const doubted = one !== undefined && to !== this.verdict.label && one.label !== to && !session.gallery.readonly;
    this.suspect = doubted ? { id: one.id, label: one.label, to } : null;
  }

  question() {
    const { id, label, to } = this.suspect;
    const ripple = h("div", { class: "ripple" });
    api.preview({ examples: [id], label: to, act: "relabel" })
      .then((found) => fill(ripple, changes(to, found, "relabelling")), () => {}); // the question stands without it
    return h("div", { class: "card strong-card" }, shot(thumbnail(id), ""), h("div", { class: "words" },
      h("strong", {}, say("reallyA", { label: named(label) })), ripple),
    button(say("relabelTo", { label: named(to) }), { press: () => this.relabel(), hint: "R" }));
  }

  async relabel() {
    if (!this.suspect) return;
    const { id, label, to } = this.suspect;
    try {
      await session.stored(await api.relabel([id], to, { [id]: label }, this.verdict.revision));
      this.done();
    } catch (error) {
      trouble(error);
    }
  }
}

const pictures = (ids) => h("span", { class: "few" }, ids.slice(0, SHOWN).map((id) => shot(thumbnail(id), "")),
  ids.length > SHOWN ? h("small", {}, `+${ids.length - SHOWN}`) : null);
