// The examples that decided, as pictures whose areas are their shares: one class left, its rival right, the strongest
// meeting at the seam. Tiles stay the same elements from one answer to the next, so they move instead of blinking.

import { fill, h, named, placed, shaped, shot, stand, thumbnail } from "./dom.js";
import { even, sides, tiled } from "./tiling.js";
import { short } from "./verdict.js";
import { brief, line, say, wholePercents } from "./words.js";

const TILES = 32; // pictures at most
const PHONE = 620; // pixels of width below which one side is above the other
const GAP = 14;
const SMALLEST = 34; // pixels: an example that would be smaller is counted among "the others"
const SMALL = 44;
const PICTURED = 9; // small pictures among "the others"

export class Seam {
  // `toggle(id)` un-ticks, `look(id | null)` says over which example the pointer or the focus is
  constructor({ toggle, look, list }) {
    Object.assign(this, { toggle, look, list });
    this.tiles = new Map();
    this.field = h("div", { class: "tiles", role: "group", "data-group": "tiles" });
    this.heads = [h("p", { class: "side-head" }), h("p", { class: "side-head" })];
    this.knob = h("span", { class: "knob" });
    this.solid = h("span", { class: "solid" });
    this.beam = h("div", { class: "beam", "aria-hidden": "true" }, this.solid, h("span", { class: "even" }), this.knob);
    this.words = h("p", { class: "even-words" });
    this.others = h("div", { class: "others" });
    this.node = h("div", { class: "seam" }, h("div", { class: "side-heads" }, this.heads[0], this.heads[1]),
      this.field, this.beam, this.words, this.others);
    this.watch = new ResizeObserver(() => {
      if (this.shown && this.field.clientWidth !== this.wide) this.lay({ still: true });
    });
    this.watch.observe(this.field);
  }

  // `turns` are the examples without which the answer is another, `doubted` those whose label is in doubt.
  draw(q, { turns, doubted }) {
    const answer = q.now;
    const turned = answer.runner_up !== null && answer.label !== q.left;
    const same = this.answer === answer && this.turned === turned &&
      `${this.turns}|${this.doubted}` === `${turns}|${doubted}`;
    Object.assign(this, { answer, turned, turns, doubted });
    if (!same) {
      this.shown = sideModels(answer, turned);
      this.lay({ still: false });
      this.drawBeam(answer, turned);
      this.drawOthers(answer);
    }
    this.say(q);
  }

  lay({ still }) {
    const width = this.field.clientWidth;
    this.wide = width;
    const stacked = width < PHONE && this.shown.length > 1;
    const height = stacked ? 400 : width < PHONE ? 260 : Math.max(220, Math.min(280, width * 0.32));
    this.node.classList.toggle("stacked", stacked);
    this.shown.forEach((side, number) => this.drawHead(number, side));
    if (this.shown.length < 2) fill(this.heads[1]);
    const gap = stacked ? this.heads[1].offsetHeight + 12 : GAP;
    const places = sides(this.shown.map((side) => side.share), width, height + (stacked ? gap - 34 : 0),
      { gap, stacked });
    placed(this.field, { height: `${Math.max(...places.map((place) => place.y + place.height))}px` });
    placed(this.heads[1], { "--down": stacked ? `${this.field.offsetTop + places[1].y - gap + 6}px` : "auto" });
    this.field.classList.toggle("still", still);
    const percents = wholePercents(this.shown.flatMap((side) => side.parts.map((part) => Math.abs(part.share))
      .concat(side.beyond)));
    const focus = [...this.field.querySelectorAll("input, button")].indexOf(document.activeElement);
    const order = [];
    let at = 0;
    this.shown.forEach((side, number) => {
      const place = places[number];
      const mine = percents.slice(at, at + side.parts.length + 1);
      at += side.parts.length + 1;
      const fit = fitted(side, place);
      const mirrored = !stacked && number === 0 && this.shown.length > 1;
      fit.boxes.forEach((box, which) => {
        const x = place.x + (mirrored ? place.width - box.x - box.width : box.x);
        const part = side.parts[which];
        const rest = which >= fit.count;
        const name = rest ? `rest ${number}` : `${part.id}`;
        order.push(name);
        const facts = { side, percent: mine[which], left: side.parts.slice(fit.count), count: side.count - fit.count };
        this.tile(name, rest ? undefined : part, facts, { ...box, x, y: place.y + box.y },
          mirrored ? place.x + place.width : place.x);
      });
    });
    for (const [name, tile] of this.tiles) {
      if (!order.includes(name)) {
        tile.node.remove();
        this.tiles.delete(name);
      }
    }
    this.arrange(order, focus);
  }

  // Read in the order of their weight, whatever the order they came in; the focus stays, or is where it was.
  arrange(order, focus) {
    const had = document.activeElement;
    if (!order.every((name, place) => this.field.children[place] === this.tiles.get(name).node)) {
      this.field.append(...order.map((name) => this.tiles.get(name).node));
    }
    if (focus < 0 || document.activeElement === had && this.field.contains(had)) return;
    if (this.field.contains(had)) had.focus({ preventScroll: true });
    else stand(this.field, focus);
  }

  tile(name, part, { side, percent, left, count }, box, start) {
    let tile = this.tiles.get(name);
    if (tile === undefined) {
      tile = part === undefined ? restTile(() => this.list()) : this.pictureTile(part);
      this.tiles.set(name, tile);
      this.field.append(tile.node);
      put(tile.node, { x: start, y: box.y + box.height / 2, width: 1, height: 1 });
      tile.node.classList.add("new");
      tile.node.getBoundingClientRect(); // so that it grows from the seam
      tile.node.classList.remove("new");
    }
    put(tile.node, box);
    const small = Math.min(box.width, box.height);
    const turns = part === undefined ? left.some((one) => this.turns.includes(one.id)) : this.turns.includes(part.id);
    const tips = part !== undefined && this.answer.tips === part.id;
    const doubted = part !== undefined && this.doubted.includes(part.id);
    tile.node.className = ["tile", side.kind, part === undefined ? "rest" : "", part?.step_in ? "steps-in" : "",
      small < SMALL ? "tiny" : "", tips ? "tips" : "", turns ? "turns" : "", doubted ? "doubted" : ""].join(" ");
    if (part === undefined) {
      const words = line("restLong", { n: count, label: side.label });
      tile.node.setAttribute("aria-label", words);
      tile.node.title = words;
      const pictures = small < 2 * SMALL ? [] : left.slice(0, PICTURED).map((one) => shot(thumbnail(one.id), ""));
      fill(tile.words, h("span", { class: "heap" }, pictures), h("strong", {}, line("restCount", { n: count })));
      return;
    }
    tile.part = part;
    tile.small = small < SMALL;
    const mark = doubted ? "inDoubtShort" : tips ? (box.width > 170 ? "tips" : "tipsShort")
      : part.step_in ? "stepsIn" : null;
    fill(tile.mark, mark === null ? null : line(mark), doubted ? h("kbd", { "aria-hidden": "true" }, "D") : null);
    tile.mark.hidden = mark === null || box.width < 120 || box.height < 80;
    const how = side.equal ? "tileAgrees" : side.kind === "for" ? "tileFor" : "tileAgainst";
    tile.says = side.equal ? line("exampleOf", { id: part.id, label: brief(part.label) })
      : line("shareOf", { id: part.id, label: brief(side.label), percent: percent < 1 ? "< 1" : percent });
    const named = line(how, { label: part.label, id: part.id, percent, answer: this.answer.label });
    tile.box.setAttribute("aria-label",
      [named, tips ? line("tipsLong") : "", doubted ? line("inDoubtLong") : ""].filter(Boolean).join(" "));
    tile.node.title = tile.box.getAttribute("aria-label");
    shaped(tile.shot, box.width - 8, box.height - 10);
  }

  pictureTile(part) {
    const box = h("input", { type: "checkbox", checked: true });
    const tile = { box, mark: h("span", { class: "pill" }), part };
    tile.shot = shot(thumbnail(part.id), "");
    tile.node = h("label", { class: "tile" }, tile.shot, box, tile.mark);
    box.addEventListener("change", () => {
      box.checked = true; // it leaves by itself once the new answer is there
      if (tile.small && matchMedia("(pointer: coarse)").matches) this.list();
      else this.toggle(tile.part.id);
    });
    tile.node.addEventListener("pointerenter", () => this.look(tile.part.id));
    tile.node.addEventListener("pointerleave", () => this.look(null));
    box.addEventListener("focus", () => this.look(tile.part.id));
    box.addEventListener("blur", () => this.look(null));
    return tile;
  }

  drawHead(number, side) {
    const head = this.heads[number];
    head.className = `side-head ${side.kind}`;
    const how = side.equal ? "allFor" : side.kind === "for" ? "sideFor" : "sideAgainst";
    fill(head, h("i", { class: `swatch ${side.kind}`, "aria-hidden": "true" }),
      h("strong", {}, named(side.label)), h("span", {}, line(how, { n: side.count })));
  }

  drawBeam(answer, turned) {
    this.beam.hidden = this.shown.length < 2;
    const left = turned ? 1 - answer.support : answer.support;
    this.beam.classList.toggle("turned", turned);
    this.beam.classList.toggle("inexact", !answer.exact_line);
    placed(this.solid, { width: `${100 * left}%` });
    placed(this.knob, { left: `${100 * left}%` });
  }

  // The line below the beam: what one example counts and what would be without it, or what the mark means.
  say(q) {
    const tile = q.looked === null ? undefined : this.tiles.get(`${q.looked}`);
    this.words.classList.toggle("asking", tile !== undefined);
    const found = tile === undefined ? null : q.glance;
    const glance = found ? [" ", say("withoutIt", {
      answer: h("strong", { dir: "auto" }, brief(short(found, { hypothetical: true }))),
    })] : null;
    const even = this.shown.length < 2 ? null : line(this.answer.exact_line ? "evenLine" : "noLine");
    fill(this.words, tile === undefined ? even : [tile.says, glance]);
  }

  drawOthers(answer) {
    this.others.hidden = answer.others.length === 0;
    fill(this.others, answer.others.length === 0 ? [] : [
      h("p", {}, line("thirdClasses", { n: answer.others.length })),
      h("ul", { class: "strip" }, answer.others.slice(0, 12).map((one) => h("li", { title: one.label },
        shot(thumbnail(one.id), one.label, { class: "third" })))),
    ]);
  }
}

// As many of a side's examples as have room for a picture, and their boxes; what is left shares one box.
function fitted(side, place) {
  const lay = side.equal ? (weights) => even(weights.length, place.width, place.height)
    : (weights) => tiled(weights, place.width, place.height);
  const all = side.parts.map((part) => (side.equal ? 1 : Math.abs(part.share)));
  const least = (SMALLEST * SMALLEST) / (place.width * place.height);
  for (let count = all.length; ; count -= 1) {
    const others = side.count > count;
    const sum = all.reduce((a, b) => a + b, 0) + side.beyond || 1;
    const left = all.slice(count).reduce((a, b) => a + b, 0) + side.beyond;
    const weights = [...all.slice(0, count), ...(others ? [Math.max(left, least * sum)] : [])];
    const boxes = lay(weights);
    if (count <= 1 || boxes.every((box) => Math.min(box.width, box.height) >= SMALLEST)) return { count, boxes };
  }
}

const put = (node, box) => placed(node, {
  left: `${box.x.toFixed(1)}px`, top: `${box.y.toFixed(1)}px`,
  width: `${box.width.toFixed(1)}px`, height: `${box.height.toFixed(1)}px`,
});

function restTile(list) {
  const words = h("span", { class: "inside" });
  const node = h("button", { type: "button", class: "tile rest", onclick: list }, words);
  return { node, words };
}

// What is drawn left and right of the seam: { kind, label, share, parts, beyond, count, equal }. The parts are the
// strongest examples, `beyond` is what those that are not sent have together, `count` is how many there are in all.

function sideModels(answer, turned) {
  if (answer.runner_up === null) {
    const parts = answer.parts.slice(0, TILES);
    const count = answer.parts.length + answer.rest.count;
    return [{ kind: "for", label: answer.label, share: 1, parts, beyond: 0, equal: true, count }];
  }
  const models = ["for", "against"].map((kind) => {
    const sign = kind === "for" ? 1 : -1;
    const all = answer.parts.filter((part) => part.share * sign > 0);
    const parts = all.slice(0, TILES / 2);
    const small = all.slice(parts.length).reduce((sum, part) => sum + Math.abs(part.share), 0);
    const beyond = small + answer.rest[`share_${kind}`];
    const share = parts.reduce((sum, part) => sum + Math.abs(part.share), beyond);
    const label = kind === "for" ? answer.label : answer.runner_up;
    return { kind, label, share, parts, beyond, count: all.length + answer.rest[`count_${kind}`] };
  }).filter((side) => side.count > 0);
  const sum = models.reduce((total, side) => total + side.share, 0);
  for (const side of models) side.share /= sum || 1;
  return turned ? models.reverse() : models;
}
