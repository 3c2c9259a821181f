// The examples that decided, as pictures whose areas are their shares: one class left, its rival right, the strongest
// meeting at the seam. Tiles stay the same elements from one answer to the next, so they move instead of blinking.

import { fill, h, named, placed, shaped, shot, thumbnail } from "./dom.js";
import { even, sides, tiled } from "./tiling.js";
import { line, say, wholePercents } from "./words.js";

const TILES = 32; // pictures at most
const LEAST = 0.01; // the share of an example that has room for a picture
const PHONE = 620; // pixels of width below which one side is above the other
const GAP = 14;

export class Seam {
  // `toggle(id)` un-ticks, `look(id | null)` says over which example the pointer or the focus is
  constructor({ toggle, look, list }) {
    Object.assign(this, { toggle, look, list });
    this.tiles = new Map();
    this.field = h("div", { class: "tiles", role: "group" });
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

  // `answer` is a verdict; `left` the class that stays left whatever wins.
  draw(answer, left) {
    const turned = answer.runner_up !== null && answer.label !== left;
    this.shown = sideModels(answer, turned);
    this.answer = answer;
    this.lay({ still: false });
    this.drawBeam(answer, turned);
    this.drawOthers(answer);
  }

  lay({ still }) {
    const width = this.field.clientWidth;
    this.wide = width;
    const stacked = width < PHONE && this.shown.length > 1;
    const height = stacked ? 400 : width < PHONE ? 260 : Math.max(220, Math.min(280, width * 0.32));
    this.node.classList.toggle("stacked", stacked);
    const places = sides(this.shown.map((side) => side.share), width, height, { gap: stacked ? 34 : GAP, stacked });
    placed(this.field, { height: `${Math.max(...places.map((place) => place.y + place.height))}px` });
    this.field.classList.toggle("still", still);
    const percents = wholePercents(this.shown.flatMap((side) => side.weights));
    const seen = new Set();
    let at = 0;
    this.shown.forEach((side, number) => {
      const place = places[number];
      const mine = percents.slice(at, at + side.weights.length);
      at += side.weights.length;
      const boxes = side.equal ? even(side.weights.length, place.width, place.height)
        : tiled(side.weights, place.width, place.height);
      const mirrored = !stacked && number === 0 && this.shown.length > 1;
      side.weights.forEach((weight, which) => {
        const box = boxes[which];
        const x = place.x + (mirrored ? place.width - box.x - box.width : box.x);
        const part = side.parts[which];
        const name = part === undefined ? `rest ${number}` : `${part.id}`;
        seen.add(name);
        const start = mirrored ? place.x + place.width : place.x;
        this.tile(name, part, side, mine[which], { ...box, x, y: place.y + box.y }, start);
      });
      this.drawHead(number, side, mine.reduce((a, b) => a + b, 0), stacked ? place : null);
    });
    if (this.shown.length < 2) fill(this.heads[1]);
    for (const [name, tile] of this.tiles) {
      if (!seen.has(name)) {
        tile.node.remove();
        this.tiles.delete(name);
      }
    }
    // Read in the order of their weight, whatever the order they came in.
    const order = [...this.shown.flatMap((side, number) => [
      ...side.parts.map((part) => `${part.id}`), ...(side.rest > 0 ? [`rest ${number}`] : []),
    ])];
    if (!order.every((name, place) => this.field.children[place] === this.tiles.get(name).node)) {
      const focus = document.activeElement;
      this.field.append(...order.map((name) => this.tiles.get(name).node));
      if (this.field.contains(focus)) focus.focus();
    }
  }

  tile(name, part, side, percent, box, start) {
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
    tile.node.className = ["tile", side.kind, part === undefined ? "rest" : "", part?.step_in ? "steps-in" : "",
      small < 44 ? "tiny" : small > 120 ? "big" : "", box.width < 34 || box.height < 30 ? "bare" : "",
      part !== undefined && this.answer.tips === part.id ? "tips" : ""].join(" ");
    if (part === undefined) {
      fill(tile.words, h("span", {}, line("restCount", { n: side.rest })),
        small > 30 && box.height > 40 ? h("span", {}, `${percent} %`) : null);
      return;
    }
    tile.part = part;
    tile.small = small < 40;
    tile.share.textContent = side.equal ? "" : percent < 1 ? "< 1 %" : `${percent} %`;
    tile.share.hidden = Boolean(side.equal);
    const tips = this.answer.tips === part.id;
    const mark = tips ? line(box.width > 170 ? "tips" : "tipsShort") : part.step_in ? line("stepsIn") : null;
    fill(tile.mark, mark);
    tile.mark.hidden = mark === null || box.width < 96 || box.height < 80;
    const how = side.equal ? "tileAgrees" : side.kind === "for" ? "tileFor" : "tileAgainst";
    tile.box.setAttribute("aria-label", line(how, { label: part.label, id: part.id, percent }) +
      (tips ? ` ${line("tipsLong")}` : ""));
    tile.node.title = tile.box.getAttribute("aria-label");
    shaped(tile.shot, box.width - 8, box.height - 10);
  }

  pictureTile(part) {
    const box = h("input", { type: "checkbox", checked: true });
    const tile = { box, share: h("span", { class: "share" }), mark: h("span", { class: "pill" }), part };
    tile.shot = shot(thumbnail(part.id), "");
    tile.node = h("label", { class: "tile" }, tile.shot, box, tile.mark, tile.share);
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

  drawHead(number, side, percent, place) {
    const head = this.heads[number];
    head.className = `side-head ${side.kind}`;
    const swatch = h("i", { class: `swatch ${side.kind}`, "aria-hidden": "true" });
    const count = { n: side.count };
    if (side.equal) fill(head, swatch, h("strong", {}, named(side.label)), h("span", {}, line("allFor", count)));
    else {
      fill(head, swatch, h("strong", {}, named(side.label), ` ${percent} %`),
        h("span", {}, line(side.kind === "for" ? "sideFor" : "sideAgainst", count)));
    }
    placed(head, { "--down": place === null ? "auto" : `${place.y - 26}px` });
  }

  drawBeam(answer, turned) {
    this.beam.hidden = this.words.hidden = this.shown.length < 2;
    const left = turned ? 1 - answer.support : answer.support;
    this.beam.classList.toggle("turned", turned);
    this.beam.classList.toggle("inexact", !answer.exact_line);
    placed(this.solid, { width: `${100 * left}%` });
    placed(this.knob, { left: `${100 * left}%` });
    this.say(null);
  }

  // The line below the beam: what the pointer is asking, or what the mark means.
  say(words) {
    this.words.classList.toggle("asking", words !== null);
    fill(this.words, words ?? (this.answer?.exact_line ? say("evenLine") : say("noLine")));
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

const put = (node, box) => placed(node, {
  left: `${box.x.toFixed(1)}px`, top: `${box.y.toFixed(1)}px`,
  width: `${box.width.toFixed(1)}px`, height: `${box.height.toFixed(1)}px`,
});

function restTile(list) {
  const words = h("span", {});
  const node = h("button", { type: "button", class: "tile rest", onclick: list }, words);
  return { node, words };
}

// What is drawn left and right: { kind, label, share, parts, rest, weights, count, equal }.
function sideModels(answer, turned) {
  if (answer.runner_up === null) {
    const parts = answer.parts.slice(0, TILES);
    const rest = answer.parts.length - parts.length + answer.rest.count;
    const weights = [...parts, ...(rest > 0 ? [null] : [])].map(() => 1);
    const count = parts.length + rest;
    return [{ kind: "for", label: answer.label, share: 1, parts, rest, weights, equal: true, count }];
  }
  const models = ["for", "against"].map((kind) => {
    const sign = kind === "for" ? 1 : -1;
    const all = answer.parts.filter((part) => part.share * sign > 0);
    const strong = new Set(answer.parts.slice(0, TILES).filter((part) => Math.abs(part.share) >= LEAST));
    const parts = all.filter((part) => strong.has(part));
    const small = all.filter((part) => !strong.has(part));
    const beyond = answer.rest[`share_${kind}`];
    const rest = small.length + answer.rest[`count_${kind}`];
    const left = small.reduce((sum, part) => sum + Math.abs(part.share), 0) + beyond;
    const weights = [...parts.map((part) => Math.abs(part.share)), ...(rest > 0 ? [Math.max(left, 0.006)] : [])];
    const label = kind === "for" ? answer.label : answer.runner_up;
    return { kind, label, parts, rest, weights, share: weights.reduce((a, b) => a + b, 0), count: parts.length + rest };
  }).filter((side) => side.count > 0);
  const sum = models.reduce((total, side) => total + side.share, 0);
  for (const side of models) side.share /= sum;
  return turned ? models.reverse() : models;
}
