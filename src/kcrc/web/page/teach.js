// Teach: a queue of pictures without a label, the most doubtful first; one at a time by a number key, or many at once.

import { api } from "./api.js";
import { pickClass } from "./dialogs.js";
import { button, fill, h, key, named, shot, upload } from "./dom.js";
import { firstName, lean, offers, question } from "./lesson.js";
import { progress } from "./progress.js";
import { queueStrip } from "./queue_strip.js";
import { receive } from "./receiving.js";
import { announce, notice, session, trouble } from "./session.js";
import { Wall } from "./wall.js";
import { line } from "./words.js";

const OPTIONS = 4;
const PAUSE = 700; // milliseconds between two looks at an order that is being worked out
const SHOWN = 24; // pictures that are named together

export const KEYS = () => [
  [["1", "–", "4"], line("keyAnswer")], [["/", "N"], line("anotherClass")], [["Space"], line("skip1")],
  [["←", "→"], line("keyMove")], [["A"], line("selectAll")], [["Esc"], line("selectNone")],
];

export function open(place, shell) {
  const view = new Teach(place, shell);
  view.load();
  return view;
}

class Teach {
  constructor(place, shell) {
    Object.assign(this, { place, shell, pictures: [], total: 0, selected: new Set(), order: "doubt", at: null });
    this.wall = new Wall();
    this.reached = h("section", { class: "progress" });
    this.keys = {
      "/": () => this.other(),
      n: () => this.other(),
      " ": () => this.skip(),
      a: () => this.select(this.pictures.map((one) => one.picture)),
      ArrowLeft: () => this.move(-1),
      ArrowRight: () => this.move(1),
      Escape: () => (this.held === undefined ? this.select([]) : this.letGo()),
    };
    for (let digit = 1; digit <= OPTIONS; digit += 1) {
      this.keys[`${digit}`] = () => this.hold(digit - 1);
      this.keys[`up ${digit}`] = () => this.release();
    }
    this.heard = { stepped: () => this.load(), queue: () => this.load(), elsewhere: () => this.load() };
    for (const [name, doing] of Object.entries(this.heard)) session.addEventListener(name, doing);
  }

  close() {
    for (const [name, doing] of Object.entries(this.heard)) session.removeEventListener(name, doing);
    this.wall.stop();
    this.loading = null;
  }

  // What is shown stays until the order is known: that may take a while after something was taught.
  async load() {
    this.loading = Symbol("load");
    const { loading } = this;
    try {
      const found = await api.queue(this.order);
      if (this.loading !== loading) return;
      if (this.pictures.length === 0 && found.pictures.length === 0) this.draw();
      if (found.working) {
        setTimeout(() => this.loading === loading && this.load(), PAUSE);
        return;
      }
      const known = new Map(this.pictures.map((one) => [one.picture, one]));
      this.pictures = found.pictures.map((one) => ({ likely: known.get(one.picture)?.likely, ...one }));
      this.total = found.total;
      const there = new Set(this.pictures.map((one) => one.picture));
      this.selected = new Set([...this.selected].filter((picture) => there.has(picture)));
      if (!there.has(this.at)) this.at = this.pictures[0]?.picture ?? null;
      this.redrawn();
      progress(this.reached).catch(trouble);
    } catch (error) {
      trouble(error);
    }
  }

  // Pictures that were dropped: all of them wait in the queue, and are selected to be named together.
  async take(files) {
    this.loading = null;
    const title = h("h1", {}, line("receiving", { n: 0, of: files.length }));
    fill(this.place.main, h("section", { class: "empty" }, title));
    try {
      const { came, failed } = await receive(files, (n) => {
        title.textContent = line("receiving", { n, of: files.length });
      });
      announce(title.textContent);
      this.pictures = [...came, ...this.pictures.filter((one) => !came.some((each) => each.picture === one.picture))];
      this.total = this.pictures.length;
      this.selected = new Set(came.map((one) => one.picture));
      this.at = this.pictures[0]?.picture ?? null;
      const reasons = failed.slice(0, 3).map(([name, why]) => (why.startsWith(name) ? why : `${name}: ${why}`));
      if (failed.length > 0) notice(line("notTaken", { n: failed.length }), reasons.join(" "));
      await session.refresh();
    } catch (error) {
      trouble(error);
    }
    this.draw();
    await this.load();
  }

  get chosen() {
    return this.selected.size > 0 ? this.pictures.filter((one) => this.selected.has(one.picture))
      : this.pictures.filter((one) => one.picture === this.at);
  }

  draw() {
    this.place.bar.hidden = true;
    this.wall.stop();
    if (this.pictures.length === 0) {
      this.drawEmpty();
      return;
    }
    const chosen = this.chosen;
    const options = offers(chosen, OPTIONS);
    this.offered = options.map(([label]) => label);
    fill(this.place.main, h("section", { class: "lesson" },
      h("div", { class: `subject ${chosen.length > 1 ? "many" : ""}` },
        chosen.slice(0, SHOWN).map((one) => shot(upload(one.picture), one.name))),
      h("div", { class: "question" },
        h("h1", {}, question(chosen)),
        h("p", { class: "lead" }, lean(chosen)),
        session.gallery.readonly ? h("p", {}, line("readonlyLong")) : this.choices(options, chosen))),
    this.wall.node, this.strip(), this.reached);
    this.wall.watch(chosen, this.offered);
    if (chosen.length === 1 && chosen[0].likely === undefined) this.guess(chosen[0]);
  }

  // All that the picture in question may be: the queue says only what is likeliest.
  async guess(one) {
    one.likely = null;
    if (session.gallery.classes.length < 2) return;
    try {
      const [verdict] = await api.classifyAgain([one.picture]);
      one.likely = verdict.likely;
      one.unknown = verdict.unknown;
      if (this.at === one.picture && this.selected.size === 0) this.redrawn();
    } catch (error) {
      trouble(error);
    }
  }

  choices(options, chosen) {
    const rows = options.map(([label, p], at) => {
      const bar = h("span", { class: "bar for" }, h("span", {}));
      bar.firstChild.style.width = `${100 * (p ?? 0)}%`;
      const row = h("button", {
        type: "button", class: "option-row", onclick: () => this.answer(label, false), "aria-keyshortcuts": `${at + 1}`,
      },
      key(`${at + 1}`), named(label, { class: "strong" }), chosen.length === 1 ? bar : h("span", {}),
      h("small", { class: "effect" }));
      row.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && this.wall.show(label));
      row.addEventListener("focus", () => row.matches(":focus-visible") && this.wall.show(label));
      this.wall.follow(label, row.lastChild);
      return row;
    });
    const start = options.length === 0;
    return h("div", { class: "options" }, rows, start ? firstName((name) => this.answer(name, true)) : null,
      h("p", { class: "row" },
      start ? null : button(line("anotherClass"), { press: () => this.other(), hint: "/" }),
      start ? null : button(line("newClass"), { press: () => this.other(), hint: "N" }),
      button(line("skip1"), { press: () => this.skip(), hint: "Space", kind: "quiet" })));
  }

  strip() {
    return queueStrip(this.pictures, {
      total: this.total,
      now: this.at,
      selected: this.selected,
      order: this.order,
      look: (picture) => this.look(picture),
      tick: (picture, range) => this.tick(picture, range),
      select: (pictures) => this.select(pictures),
      sort: (order) => {
        this.order = order;
        this.load();
      },
      pick: this.shell.pick,
    });
  }

  look(picture) {
    this.at = picture;
    this.selected.clear();
    this.redrawn();
  }

  drawEmpty() {
    const started = session.gallery.classes.length > 0;
    fill(this.place.main, h("section", { class: "empty short" },
      h("h1", {}, line(started ? "queueEmpty" : "teachFirst")),
      h("p", { class: "lead" }, line(started ? "queueEmptyLong" : "teachFirstLong")),
      h("p", { class: "row" }, button(line("chooseFiles"), { press: this.shell.pick, hint: "O", kind: "main" }),
        button(line("camera"), { press: this.shell.camera, hint: "C" }))), this.reached);
  }

  // Shift ticks all from the last one ticked.
  tick(picture, range) {
    const order = this.pictures.map((one) => one.picture);
    const ends = [order.indexOf(range && this.last !== undefined ? this.last : picture), order.indexOf(picture)];
    const on = !this.selected.has(picture);
    for (const one of order.slice(Math.min(...ends), Math.max(...ends) + 1)) {
      if (on) this.selected.add(one);
      else this.selected.delete(one);
    }
    this.last = picture;
    this.redrawn();
  }

  select(pictures) {
    this.selected = new Set(pictures);
    this.redrawn();
  }

  // Draws the page again, with the focus and the strip where they were.
  redrawn() {
    const strip = this.place.main.querySelector(".waiting");
    const scrolled = strip?.scrollLeft ?? 0;
    const focus = [...(strip?.querySelectorAll("input") ?? [])].indexOf(document.activeElement);
    this.draw();
    const now = this.place.main.querySelector(".waiting");
    if (now === null) return;
    now.scrollLeft = scrolled;
    if (focus >= 0) now.querySelectorAll("input")[focus]?.focus();
  }

  move(by) {
    const order = this.pictures.map((one) => one.picture);
    this.at = order[Math.min(order.length - 1, Math.max(0, order.indexOf(this.at) + by))] ?? null;
    this.selected.clear();
    this.draw();
    this.place.main.querySelector(".now")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  // A number key held shows what the answer would change; letting go stores it.
  hold(at) {
    const label = this.offered?.[at];
    if (label === undefined || session.gallery.readonly) return;
    this.held = label;
    this.wall.show(label);
  }

  release() {
    const label = this.held;
    this.held = undefined;
    if (label !== undefined) this.answer(label, false);
  }

  letGo() {
    this.held = undefined;
    this.wall.hush();
  }

  async other() {
    const found = await pickClass(line("whatAreThese", { n: this.chosen.length }));
    if (found !== null) await this.answer(found.label, found.fresh);
  }

  async answer(label, fresh) {
    const pictures = this.chosen.map((one) => one.picture);
    if (pictures.length === 0) return;
    try {
      const act = await api.labelQueued(pictures, label, fresh, session.gallery.revision);
      await session.stored(act);
      this.after(pictures);
    } catch (error) {
      trouble(error);
    }
  }

  async skip() {
    const pictures = this.chosen.map((one) => one.picture);
    if (pictures.length === 0) return;
    try {
      await api.skip(pictures);
      await session.refresh();
      this.after(pictures);
    } catch (error) {
      trouble(error);
    }
  }

  // The next in the strip comes up.
  after(gone) {
    const left = this.pictures.filter((one) => !gone.includes(one.picture));
    const place = this.pictures.findIndex((one) => one.picture === this.at);
    const next = this.pictures.slice(place).find((one) => !gone.includes(one.picture)) ?? left[0];
    this.at = next?.picture ?? null;
    this.pictures = left;
    this.total -= gone.length;
    this.selected.clear();
    this.redrawn();
    this.load();
  }
}
