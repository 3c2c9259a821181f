// Browse: the classes, weakest first; their examples as a grid or as a map; what is selected can be moved or removed.

import { api } from "./api.js";
import { changes } from "./answers.js";
import { classList } from "./class_list.js";
import { askText, confirmed, pickClass } from "./dialogs.js";
import { button, fill, h, named, shot, thumbnail } from "./dom.js";
import { Field } from "./map.js";
import { portrait } from "./portrait.js";
import { session, trouble } from "./session.js";
import { line, say } from "./words.js";

const PAGE = 120; // examples in a grid at a time
const FACES = 60; // classes with a picture
const SHOWN = 24; // of a class, of those selected

export const KEYS = () => [
  [["M"], line("moveTo")], [["X"], line("remove")], [["A"], line("selectAll")], [["Esc"], line("selectNone")],
];

export function open(place) {
  const view = new Browse(place);
  view.load();
  return view;
}

class Browse {
  constructor(place) {
    Object.assign(this, {
      place, way: "grid", wanted: "", search: "", examples: [], total: 0, field: null,
      selected: new Map(), faces: new Map(), looping: false,
    });
    this.classes = h("section", { class: "classes" });
    this.middle = h("section", { class: "middle" });
    this.side = h("section", { class: "selection", "aria-live": "polite" });
    this.keys = {
      m: () => this.moveTo(), x: () => this.remove(), a: () => this.selectAll(), Escape: () => this.select([]),
    };
    this.heard = { stepped: () => this.load(), elsewhere: () => this.load() };
    for (const [name, doing] of Object.entries(this.heard)) session.addEventListener(name, doing);
  }

  close() {
    for (const [name, doing] of Object.entries(this.heard)) session.removeEventListener(name, doing);
    this.field?.stop();
  }

  async load() {
    try {
      const [{ classes, working }] = await Promise.all([api.classes(), this.fetch(0)]);
      this.known = classes;
      if (this.known.length === 0) {
        fill(this.place.main, h("section", { class: "empty" }, h("h1", {}, line("noExamples")),
          h("p", { class: "lead" }, line("teachFirstLong"))));
        return;
      }
      fill(this.place.main, h("h1", { class: "unseen" }, line("browse")),
        h("div", { class: "browse" }, this.classes, this.middle, this.side));
      this.drawClasses();
      await this.drawMiddle();
      this.drawSelection();
      await this.findFaces();
      if (working) {
        this.known = await api.classesInFull();
        this.drawClasses();
      }
    } catch (error) {
      trouble(error);
    }
  }

  async fetch(offset) {
    const found = await api.examples({
      class: this.wanted, search: this.search, offset: `${offset}`, limit: `${PAGE}`,
    });
    this.examples = offset === 0 ? found.examples : [...this.examples, ...found.examples];
    if (offset === 0) this.revision = found.revision;
    this.total = found.total;
  }

  async findFaces() {
    const missing = this.known.map((one) => one.name).filter((name) => !this.faces.has(name)).slice(0, FACES);
    const found = await Promise.all(missing.map((name) => api.examples({ class: name, limit: "1" })));
    missing.forEach((name, at) => this.faces.set(name, found[at].examples[0]?.id));
    if (missing.length > 0) this.drawClasses();
  }

  drawClasses() {
    fill(this.classes, classList(this.known, {
      faces: this.faces,
      wanted: this.wanted,
      choose: (name) => this.choose(name),
      acts: [["rename", (one) => this.rename(one)], ["merge", (one) => this.merge(one)], ["split", () => this.split()]],
    }));
  }

  async choose(name) {
    this.wanted = name;
    this.selected.clear();
    try {
      await this.fetch(0);
      this.drawClasses();
      await this.drawMiddle();
      this.drawSelection();
    } catch (error) {
      trouble(error);
    }
  }

  async drawMiddle() {
    this.field?.stop();
    this.field = null;
    const ways = ["grid", "map"].map((way) => h("button", {
      type: "button", "aria-pressed": `${this.way === way}`, onclick: () => this.show(way),
    }, line(way)));
    const head = h("div", { class: "title" },
      h("h2", {}, this.wanted === "" ? line("everyClass") : named(this.wanted)),
      h("span", { class: "switch", role: "group", "aria-label": line("shownAs") }, ways),
      this.way === "grid" ? this.searchBox() : h("span", { class: "quiet push" }, line("flyOver")));
    if (this.way === "grid") fill(this.middle, head, this.grid());
    else await this.drawMap(head);
  }

  show(way) {
    this.way = way;
    return this.drawMiddle().catch(trouble);
  }

  searchBox() {
    const words = line("searchExamples");
    const box = h("input", {
      type: "search", class: "search small", value: this.search, placeholder: words, "aria-label": words,
    });
    box.addEventListener("change", () => {
      this.search = box.value.trim();
      this.choose(this.wanted);
    });
    return box;
  }

  async drawMap(head) {
    const { points } = await api.map();
    const { wanted, looping } = this;
    this.field = new Field(points, { wanted, looping, asked: session.asked, chosen: (found) => this.select(found) });
    this.looping = false;
    fill(this.middle, head, this.field.node);
    this.field.lay();
    this.field.mark(this.selected);
  }

  grid() {
    const left = this.total - this.examples.length;
    const more = () => this.fetch(this.examples.length).then(() => this.drawMiddle()).catch(trouble);
    return [
      this.examples.length === 0 ? h("p", { class: "quiet" }, line("nothingFound")) : null,
      h("ul", { class: "grid" }, this.examples.map((one) => this.cell(one))),
      left > 0 ? button(line("showMore", { n: left }), { press: more }) : null,
    ];
  }

  cell(one) {
    const doubted = one.probability_of_label !== null && one.probability_of_label < 0.5;
    const box = h("input", {
      type: "checkbox", checked: this.selected.has(one.id),
      "aria-label": line("selectExample", { label: one.label, id: one.id }),
    });
    box.addEventListener("click", (event) => this.tick(one, event.shiftKey));
    const about = h("button", {
      type: "button", class: "about", "aria-label": line("aboutExample", { id: one.id }),
      onclick: () => portrait(one.id).catch(trouble),
    }, "i");
    return h("li", { class: doubted ? "doubted" : "", title: doubted ? line("looksOther") : one.label },
      h("label", {}, shot(thumbnail(one.id), ""), box), about);
  }

  // Shift ticks all from the last one ticked.
  tick(one, range) {
    const order = this.examples.map((each) => each.id);
    const ends = [order.indexOf(range && this.last !== undefined ? this.last : one.id), order.indexOf(one.id)];
    const on = !this.selected.has(one.id);
    for (const each of this.examples.slice(Math.min(...ends), Math.max(...ends) + 1)) {
      if (on) this.selected.set(each.id, each.label);
      else this.selected.delete(each.id);
    }
    this.last = one.id;
    this.ticked();
    this.drawSelection();
  }

  select(found) {
    this.selected = new Map(found.map((one) => [one.id, one.label]));
    this.ticked();
    this.drawSelection();
  }

  selectAll() {
    this.select(this.field === null ? this.examples : this.field.shown());
  }

  ticked() {
    this.field?.mark(this.selected);
    this.middle.querySelectorAll(".grid input").forEach((box, at) => {
      box.checked = this.selected.has(this.examples[at].id);
    });
  }

  drawSelection() {
    if (this.selected.size === 0) {
      fill(this.side, h("h2", {}, line("nothingSelected")), h("p", { class: "quiet" }, line("howToSelect")));
      return;
    }
    const groups = Map.groupBy(this.selected, ([, label]) => label);
    const acts = h("p", { class: "row" },
      button(line("moveTo"), { press: () => this.moveTo(), hint: "M", kind: "main" }),
      button(line("remove"), { press: () => this.remove(), hint: "X" }));
    fill(this.side,
      h("div", { class: "title" }, h("h2", {}, line("selected", { n: this.selected.size })),
        button(line("selectNone"), { press: () => this.select([]), hint: "Esc", kind: "quiet" })),
      session.gallery.readonly ? null : acts,
      [...groups].map(([label, members]) => [
        h("h3", {}, named(label), " ", h("small", {}, `${members.length}`)),
        h("ul", { class: "grid few" }, members.slice(0, SHOWN).map(([id]) => h("li", {}, shot(thumbnail(id), label)))),
      ]));
  }

  async act(doing) {
    try {
      const act = await doing();
      if (act === null) return;
      this.selected.clear();
      this.faces.clear();
      await session.stored(act);
      await this.load();
    } catch (error) {
      trouble(error);
    }
  }

  // Before labels are changed: what that changes of the last answers.
  async moveTo() {
    const examples = [...this.selected.keys()];
    if (examples.length === 0) return;
    const found = await pickClass(line("moveWhere", { n: examples.length }));
    if (found === null) return;
    const title = say("moveThem", { n: examples.length, label: named(found.label) });
    await this.act(async () => {
      const preview = await api.preview({
        examples, label: found.label, act: "relabel", revision: this.revision,
      });
      const words = changes(found.label, preview, "relabelling");
      const sure = preview.changed.length === 0 || await confirmed(title, words, line("move"));
      if (!sure) return null;
      return api.relabel(examples, found.label, Object.fromEntries(this.selected), this.revision, found.fresh);
    });
  }

  async remove() {
    const examples = [...this.selected.keys()];
    if (examples.length === 0) return;
    await this.act(async () => {
      const preview = await api.preview({ examples, act: "remove", revision: this.revision });
      const words = [changes("", preview, "removing"), h("p", { class: "quiet" }, line("canUndo"))];
      const sure = await confirmed(line("removeThem", { n: examples.length }), words, line("remove"));
      return sure ? api.remove(examples, this.revision) : null;
    });
  }

  async rename(one) {
    const title = say("renameClass", { label: named(one.name) });
    const to = await askText(title, { start: one.name, label: line("className"), yes: line("rename") });
    if (to !== null && to !== one.name) await this.named(one, to);
  }

  async merge(one) {
    const found = await pickClass(say("mergeInto", { label: named(one.name) }), { without: [one.name] });
    if (found !== null) await this.named(one, found.label);
  }

  // A class under another name, which may be that of another class.
  async named(one, to) {
    const other = this.known.find((each) => each.name === to);
    if (other !== undefined) {
      const title = say("mergeClasses", { a: named(one.name), b: named(to) });
      const words = say("mergeLong", { label: named(to), n: one.count + other.count });
      if (!await confirmed(title, words, line("merge"))) return;
    }
    await this.act(async () => {
      const act = await api.rename(one.name, to, other !== undefined, this.revision);
      this.wanted = to;
      return act;
    });
  }

  // Some of a class become a class of their own: they are circled on the map, and moved.
  async split() {
    this.looping = true;
    await this.show("map");
    fill(this.side, h("h2", {}, say("splitClass", { label: named(this.wanted) })), h("p", {}, line("splitLong")));
  }
}
