// Ask: one picture, its answer, the examples that decided, and arguing with it.

import { about, api } from "./api.js";
import { Answers } from "./answers.js";
import { Argument } from "./argument.js";
import { button, fill, h, named, shot, thumbnail } from "./dom.js";
import { looking, nothingAsked } from "./empty.js";
import { Mind } from "./mind.js";
import { Seam } from "./seam.js";
import { announce, session, toast, trouble } from "./session.js";
import { chances, headline, lead, nearest, run, short } from "./verdict.js";
import { line, say } from "./words.js";

const PATIENCE = 300; // milliseconds before the page says that it is looking

export const KEYS = () => [
  [["↵"], line("keyYes")],
  [["2", "–", "4"], line("keyOther")],
  [["/", "N"], line("anotherClass")],
  [["W"], line("keyTips")],
  [["R"], line("keyRelabel")],
  [["Esc"], line("keyBack")],
];

export function open(place, shell) {
  const view = new Ask(place, shell);
  view.draw();
  return view;
}

class Ask {
  constructor(place, shell) {
    this.place = place;
    this.shell = shell;
    this.answers = new Answers(place.bar, {
      answer: (label, fresh) => this.stored(label, fresh),
      picture: () => this.picture.id,
    });
    this.keys = {
      ...this.answers.keys(),
      Escape: () => this.answers.letGo() || this.what?.restore(),
      w: () => this.mind?.tip(),
      r: () => this.mind?.relabel(),
    };
    this.heard = { stepped: () => this.again(), elsewhere: () => this.elsewhere(), confidence: () => this.learned() };
    for (const [name, doing] of Object.entries(this.heard)) session.addEventListener(name, doing);
  }

  get picture() {
    return session.asked;
  }

  close() {
    for (const [name, doing] of Object.entries(this.heard)) session.removeEventListener(name, doing);
    this.seam?.watch.disconnect();
    this.what?.end();
  }

  draw() {
    if (this.picture === null) fill(this.place.main, nothingAsked(this.shell));
    else this.drawAnswer(this.picture.verdict);
  }

  // A new picture: shown at once, answered soon, and only then is anything gone that was there before.
  async ask(file) {
    const before = session.asked;
    const picture = { file, url: URL.createObjectURL(file), id: null, verdict: null };
    const waiting = setTimeout(() => {
      this.place.bar.hidden = true;
      fill(this.place.main, looking(picture));
    }, PATIENCE);
    try {
      picture.verdict = await api.classify(file);
      picture.id = picture.verdict.picture;
      session.asked = picture;
      if (before !== null) URL.revokeObjectURL(before.url);
      this.drawAnswer(picture.verdict);
    } catch (error) {
      URL.revokeObjectURL(picture.url);
      this.draw();
      trouble(error);
    } finally {
      clearTimeout(waiting);
    }
  }

  drawAnswer(verdict) {
    this.base = verdict;
    this.left = verdict.label;
    this.what?.end();
    this.what = new Argument(this.picture, verdict, (found) => this.ifSo(found));
    this.storedAct = null;
    this.shown = null;
    this.seam?.watch.disconnect();
    this.seam = new Seam({
      toggle: (id) => this.what.toggle(id),
      look: (id) => this.look(id),
      list: () => this.unfold(),
    });
    this.mind = new Mind({
      picture: this.picture,
      whatIf: (ids) => this.what.setAside(ids),
      restore: () => this.what.restore(),
      bring: (id) => this.what.toggle(id),
      stored: () => this.again(),
    });
    this.head = h("h1", { class: "headline" });
    this.was = h("p", { class: "was", hidden: true });
    this.lead = h("p", { class: "lead" });
    this.bars = h("section", { class: "chances" });
    this.why = h("section", { class: "why-not", "aria-live": "polite" });
    this.list = h("details", { class: "all" }, h("summary", {}, line("asList")), h("ul", {}));
    const save = button(line("saveCase"), { press: () => this.save(), kind: "quiet" });
    fill(this.place.main, h("div", { class: "case" },
      h("div", { class: "aside" }, this.asked(), this.another(), this.bars, this.why),
      h("div", { class: "body" },
        h("div", { class: "verdict" }, h("div", { class: "head" }, this.head, this.was), this.lead),
        this.seam.node, this.mind.node, this.list, h("p", { class: "row save" }, save))));
    this.show(verdict);
    this.mind.base(verdict);
    this.askWhyNot(verdict);
  }

  asked() {
    return h("figure", { class: "asked" },
      h("img", { src: this.picture.url, alt: line("yourPicture") }),
      h("figcaption", {}, line("yourPicture")));
  }

  another() {
    const link = (press, words) => h("button", { type: "button", class: "link", onclick: press }, line(words));
    return h("p", { class: "another" }, h("span", {}, say("dropAnother", {
      choose: link(this.shell.pick, "choose"),
      take: link(this.shell.camera, "take"),
    })));
  }

  unfold() {
    this.list.open = true;
    this.list.scrollIntoView({ block: "nearest" });
  }

  // The answer, or what it would be: everything but the sides' places follows it.
  show(verdict) {
    this.now = verdict;
    const neither = verdict.label !== this.left && verdict.runner_up !== this.left;
    if (neither) this.left = verdict.label;
    this.drawHead(verdict);
    chances(this.bars, verdict, {
      without: [...this.what.classes],
      toggle: (label) => this.what.toggleClass(label),
      whyNot: (label) => this.whyNot(label),
    });
    this.seam.draw(verdict, this.left);
    this.drawList(verdict);
    this.drawAnswers();
    announce(`${short(verdict)}. ${this.lead.textContent}`);
  }

  drawHead(verdict) {
    const { words, number } = headline(verdict);
    const long = verdict.label.length > 40 ? "longer" : verdict.label.length > 14 ? "long" : "";
    this.head.className = `headline ${long}`;
    fill(this.head, words);
    const from = this.shown?.unknown ? null : this.shown?.probability ?? null;
    if (number !== null && from !== null) run(number, from, verdict.probability);
    this.shown = verdict;
    fill(this.lead, lead(verdict));
    this.was.hidden = !this.what.open;
    fill(this.was, say("whatIfWas", { answer: h("strong", {}, short(this.base)) }),
      button(line("restore"), { press: () => this.what.restore(), hint: "Esc", kind: "quiet" }));
  }

  drawAnswers() {
    if (session.gallery.readonly) {
      this.place.bar.hidden = true;
      return;
    }
    const known = this.now.likely.map(([label]) => label);
    const rest = session.gallery.classes.map((one) => one.name).filter((name) => !known.includes(name));
    const first = this.now.unknown ? null : this.now.label;
    this.answers.draw({
      first,
      others: [...known, ...rest].filter((label) => label !== first),
      stored: this.storedAct === null ? null : this.done(),
    });
  }

  done() {
    return h("div", { class: "row" },
      h("span", { class: "done" }, "✓ ", h("span", { dir: "auto" }, this.storedAct.sentence)),
      button(line("undo"), { press: () => session.step("undo"), hint: "Z" }),
      button(line("nextPicture"), { press: this.shell.pick, hint: "O", kind: "main" }));
  }

  drawList(verdict) {
    const box = (id, checked) => h("input", { type: "checkbox", checked, onchange: () => this.what.toggle(id) });
    const share = (part) => line(part.share > 0 ? "partFor" : "partAgainst", {
      percent: (100 * Math.abs(part.share)).toFixed(1), id: part.id,
    });
    const inside = verdict.parts.map((part) => h("li", {}, h("label", {},
      box(part.id, true), shot(thumbnail(part.id), ""), named(part.label, { class: "strong" }),
      h("span", { class: "quiet" }, share(part)))));
    const outside = [...this.what.without].map((id) => h("li", { class: "out" }, h("label", {},
      box(id, false), shot(thumbnail(id), ""), line("setAsideOne", { id }))));
    fill(this.list.lastChild, inside, outside);
  }

  // After an un-tick, or when all is taken back in.
  ifSo(verdict) {
    this.show(verdict);
    this.mind.aside({ without: [...this.what.without], parts: this.base.parts, verdict });
    this.askWhyNot(verdict);
  }

  look(id) {
    this.what.look(id, (found) => this.seam.say(found === null ? null
      : say("withoutIt", { answer: h("strong", { dir: "auto" }, short(found)) })));
  }

  askWhyNot(verdict) {
    fill(this.why);
    if (verdict.runner_up !== null && !verdict.unknown) this.whyNot(verdict.runner_up);
  }

  async whyNot(label) {
    try {
      const found = await about(this.picture, (picture) => api.whyNot(picture, label));
      if (nearest(this.now) === label) return;
      const best = found.best.slice(0, 4).map((one) => h("li", {}, shot(thumbnail(one.id), label)));
      fill(this.why, h("h2", {}, say("whyNot", { label: named(label) })), h("p", {}, found.sentence),
        h("ul", { class: "strip" }, best));
    } catch {
      fill(this.why); // the answer stands without it
    }
  }

  async stored(label, fresh) {
    try {
      const { revision } = session.gallery;
      const act = await about(this.picture, (picture) => api.add([picture], label, fresh, revision));
      this.storedAct = act;
      await session.stored(act, { quiet: true });
      this.drawAnswers();
    } catch (error) {
      trouble(error);
    }
  }

  // The same picture asked anew, after examples changed.
  async again() {
    if (this.picture === null) return;
    try {
      const [verdict] = await about(this.picture, (picture) => api.classifyAgain([picture]));
      this.picture.verdict = verdict;
      this.drawAnswer(verdict);
    } catch (error) {
      trouble(error);
    }
  }

  // It is known by now how sure answers are. Whoever argues with the answer, or stored it, is not disturbed.
  async learned() {
    const { what, picture } = this;
    if (this.base?.confidence !== "learning" || this.storedAct !== null) return;
    const [verdict] = await about(picture, (id) => api.classifyAgain([id])).catch(() => []); // else it stands as it is
    if (verdict === undefined || this.what !== what || this.storedAct !== null) return;
    picture.verdict = verdict;
    if (what.open) this.base = what.base = verdict;
    else this.drawAnswer(verdict);
  }

  elsewhere() {
    if (this.picture === null) this.draw();
    else toast(line("elsewhere"), { words: line("askAgain"), press: () => this.again() });
  }

  async save() {
    try {
      const blob = await about(this.picture, (picture) => api.page(picture));
      const address = URL.createObjectURL(blob);
      h("a", { href: address, download: `${this.base.unknown ? "unknown" : this.base.label}.html` }).click();
      setTimeout(() => URL.revokeObjectURL(address), 10_000);
      toast(line("saved"));
    } catch (error) {
      trouble(error);
    }
  }
}
