// Ask: one picture, its answer, the examples that decided, and arguing with it. The screen is drawn from one state, the
// question (question.js), after every change of it; nothing is altered in place.

import { about, api, link } from "./api.js";
import { Answers } from "./answers.js";
import { button, fill, h, named, redraw, shot, thumbnail } from "./dom.js";
import { looking, nothingAsked } from "./empty.js";
import { mind, suspect } from "./mind.js";
import { Question } from "./question.js";
import { Seam } from "./seam.js";
import { announce, session, toast, trouble } from "./session.js";
import { because, chances, headline, lead, short, whyNot } from "./verdict.js";
import { line, say } from "./words.js";

const PATIENCE = 300; // milliseconds before the page says that it is looking
const LONG = [[40, "longer"], [14, "long"]]; // characters of a name from which it is written smaller

export const KEYS = () => [
  [["↵"], line("keyYes")],
  [["2", "–", "4"], line("keyOther")],
  [["/", "N"], line("anotherClass")],
  [["W"], line("keyTips")],
  [["R"], line("keyRelabel")],
  [["D"], line("keyDoubt")],
  [["Esc"], line("keyBack")],
];

export function open(place, shell) {
  const view = new Ask(place, shell);
  view.draw();
  return view;
}

class Ask {
  constructor(place, shell) {
    Object.assign(this, { place, shell, q: null });
    this.answers = new Answers({ question: () => this.q, answer: (label, fresh) => this.store(label, fresh) });
    this.acts = {
      setAside: (ids) => this.q.setAside({ ids, classes: [] }),
      toggle: (id) => this.q.toggle(id),
      toggleClass: (label) => this.q.toggleClass(label),
      restore: () => this.q.restore(),
      relabel: () => this.relabel(),
      whyNot: (label) => {
        this.q.why = label;
        this.render();
      },
    };
    this.keys = {
      ...this.answers.keys(),
      Escape: () => this.answers.letGo() || this.q?.restore(),
      w: () => this.q?.turning?.found[0] && this.acts.setAside(this.q.turning.found[0].ids),
      r: () => this.q && this.relabel(),
      d: () => this.doubted.length > 0 && this.shell.go(`audit/${this.doubted[0]}`),
    };
    this.heard = {
      stepped: () => this.again(), elsewhere: () => this.elsewhere(), confidence: () => this.learned(),
      suspects: () => this.render(),
    };
    for (const [name, doing] of Object.entries(this.heard)) session.addEventListener(name, doing);
    this.back = () => this.render();
    link.addEventListener("back", this.back);
    this.print = () => {
      if (this.parts) this.parts.list.open = true;
    };
    addEventListener("beforeprint", this.print);
  }

  get picture() {
    return session.asked;
  }

  close() {
    for (const [name, doing] of Object.entries(this.heard)) session.removeEventListener(name, doing);
    link.removeEventListener("back", this.back);
    removeEventListener("beforeprint", this.print);
    session.question = this.q;
    this.leave();
  }

  leave() {
    this.q?.end();
    this.seam?.watch.disconnect();
    Object.assign(this, { q: null, parts: null });
  }

  draw() {
    this.leave();
    if (this.picture === null) fill(this.place.main, nothingAsked(this.shell));
    else this.begin(this.picture.verdict);
  }

  // A new picture: shown at once, answered soon, and only then is anything gone that was there before.
  async ask(file) {
    const before = session.asked;
    const picture = { file, url: URL.createObjectURL(file), id: null, verdict: null };
    const waiting = setTimeout(() => {
      this.leave();
      this.place.bar.hidden = true;
      fill(this.place.main, looking(picture));
    }, PATIENCE);
    try {
      picture.verdict = await api.classify(file);
      picture.id = picture.verdict.picture;
      session.asked = picture;
      if (before !== null) URL.revokeObjectURL(before.url);
      this.draw();
    } catch (error) {
      URL.revokeObjectURL(picture.url);
      this.draw();
      trouble(error);
    } finally {
      clearTimeout(waiting);
    }
  }

  // The places of the parts, in which each drawing puts what there is.
  begin(verdict) {
    const left = session.question?.picture === this.picture ? session.question : null;
    session.question = null;
    this.q = left ?? new Question(this.picture, verdict);
    Object.assign(this.q, { changed: () => this.render(), ended: false, looked: null, saying: null });
    this.seam = new Seam({
      toggle: (id) => this.q.toggle(id), look: (id) => this.q?.look(id), list: () => this.unfold(),
    });
    const part = (tag, props) => h(tag, props);
    this.parts = {
      chances: part("section", { class: "chances" }),
      why: part("section", { class: "why-not", "aria-live": "polite" }),
      verdict: part("div", { class: "verdict" }),
      mind: part("section", { class: "mind" }),
      list: h("details", { class: "all", ontoggle: (event) => { this.q.unfolded = event.target.open; } },
        h("summary", {}, line("asList")), h("ul", { "data-group": "list" })),
    };
    const save = button(line("saveCase"), { press: () => this.save(), kind: "quiet" });
    fill(this.place.main, h("div", { class: "case" },
      h("div", { class: "aside" }, this.yourPicture(), this.another(), this.parts.chances, this.parts.why),
      h("div", { class: "body" }, this.parts.verdict, this.seam.node, this.parts.mind, this.parts.list,
        h("p", { class: "row save" }, save))));
    this.parts.list.open = this.q.unfolded;
    this.render();
    if (left !== null && left.base.revision !== session.gallery.revision) left.refresh().catch(trouble);
    session.findSuspects();
  }

  // What changes the question while it is drawn (the focus may leave what is removed) has it drawn once more.
  render() {
    this.due = true;
    if (this.drawing) return;
    this.drawing = true;
    for (; this.due && this.q !== null; this.drawAll()) this.due = false;
    this.drawing = false;
  }

  // All of the screen, from the question.
  drawAll() {
    const { q, parts } = this;
    redraw(parts.verdict, this.verdict());
    redraw(parts.chances, chances(q, this.acts));
    redraw(parts.why, whyNot(q));
    this.seam.draw(q, { turns: q.open ? [] : q.turning?.found[0]?.ids ?? [], doubted: this.doubted });
    redraw(parts.mind, mind(q, this.acts));
    redraw(parts.list.lastChild, this.list());
    this.place.bar.hidden = session.gallery.readonly;
    if (!session.gallery.readonly) redraw(this.place.bar, q.act === null ? this.answers.bar(q) : this.done());
    const said = parts.verdict.textContent;
    if (said === this.said) return;
    announce(`${short(q.now, { hypothetical: q.open })}. ${parts.verdict.lastChild.textContent}`);
    this.said = said;
  }

  verdict() {
    const { q } = this;
    const size = LONG.find(([length]) => q.now.label.length > length)?.[1] ?? "";
    const why = because(q);
    return [
      h("div", { class: "head" }, h("h1", { class: `headline ${size}` }, headline(q)),
        q.open ? h("p", { class: "was" }, h("span", {}, say("withAll", {
          answer: h("strong", { dir: "auto" }, short(q.base)),
        })), button(line("restore"), { press: this.acts.restore, hint: "Esc", kind: "quiet" })) : null),
      why === null ? null : h("p", { class: "because" }, why),
      h("p", { class: "lead" }, lead(q)),
    ];
  }

  // Examples of this answer whose label the audit doubts, the surest first.
  get doubted() {
    const there = new Set(this.q?.now.parts.map((part) => part.id));
    return session.suspects.filter((id) => there.has(id));
  }

  yourPicture() {
    return h("figure", { class: "asked" },
      h("img", { src: this.picture.url, alt: line("yourPicture") }),
      h("figcaption", {}, line("yourPicture")));
  }

  another() {
    const press = (doing, words) => h("button", { type: "button", class: "link", onclick: doing }, line(words));
    return h("p", { class: "another" }, h("span", {}, say("dropAnother", {
      choose: press(this.shell.pick, "choose"),
      take: press(this.shell.camera, "take"),
    })));
  }

  unfold() {
    this.parts.list.open = true;
    this.parts.list.scrollIntoView({ block: "nearest" });
  }

  done() {
    return h("div", { class: "row", "data-group": "answers" },
      h("span", { class: "done" }, "✓ ", h("span", { dir: "auto" }, this.q.act.sentence)),
      button(line("undo"), { press: () => session.step("undo"), hint: "Z" }),
      button(line("nextPicture"), { press: this.shell.pick, hint: "O", kind: "main" }));
  }

  list() {
    const { q } = this;
    const box = (id, checked) => h("input", { type: "checkbox", checked, onchange: () => q.toggle(id) });
    const row = (id, checked, ...words) => h("li", { class: checked ? "" : "out", "data-key": `listed ${id}` },
      h("label", {}, box(id, checked), shot(thumbnail(id), ""), words));
    return [
      ...q.now.parts.map((part) => row(part.id, true, named(part.label, { class: "strong" }),
        h("span", { class: "quiet" }, line(part.share > 0 ? "partFor" : "partAgainst", {
          percent: (100 * Math.abs(part.share)).toFixed(1), id: part.id, label: q.now.label,
        })))),
      ...q.aside.ids.map((id) => row(id, false, h("span", {}, line("setAsideOne", { id })))),
    ];
  }

  async store(label, fresh) {
    const { q } = this;
    try {
      const { revision } = session.gallery;
      const act = await about(this.picture, (picture) => api.add([picture], label, fresh, revision));
      q.act = act;
      q.say(null);
      await session.stored(act, { quiet: true });
      this.render();
    } catch (error) {
      trouble(error);
    }
  }

  async relabel() {
    const one = suspect(this.q);
    if (one === null) return;
    try {
      await session.stored(await api.relabel([one.id], one.to, { [one.id]: one.label }, this.q.base.revision));
      await this.again();
    } catch (error) {
      trouble(error);
    }
  }

  // The same picture asked again, after examples changed.
  async again() {
    if (this.q === null) return;
    this.q.wanted = { ids: [], classes: [] };
    this.q.act = null;
    await this.q.refresh().catch(trouble);
    session.findSuspects();
  }

  // It is known by now how sure answers are; what is argued stands. An answer that was stored is not asked again.
  async learned() {
    if (this.q?.base.confidence === "learning" && this.q.act === null) await this.q.refresh().catch(() => {});
  }

  elsewhere() {
    if (this.q === null) this.draw();
    else toast(line("elsewhere"), { words: line("askAgain"), press: () => this.again() });
  }

  async save() {
    try {
      const blob = await about(this.picture, (picture) => api.page(picture));
      const address = URL.createObjectURL(blob);
      h("a", { href: address, download: `${this.q.base.unknown ? "unknown" : this.q.base.label}.html` }).click();
      setTimeout(() => URL.revokeObjectURL(address), 10_000);
      toast(line("saved"));
    } catch (error) {
      trouble(error);
    }
  }
}
