// A map of examples, to fly over: near means alike. Wheel, pinch, + and − zoom, dragging and the arrow keys move it;
// where there is room, more pictures come and they grow. A loop drawn around some selects them.

import { button, fill, h, named, placed, shot, svg, thumbnail } from "./dom.js";
import { cellSide, grid, lastLevel } from "./map_grid.js";
import { brief, line } from "./words.js";

const STILL = 4; // pixels: less is a press, not a movement
const STEP = 90; // pixels that an arrow key moves
const HEARD = [
  "pointerdown", "pointermove", "pointerup", "pointercancel", "pointerleave", "wheel", "keydown", "blur",
];
const CLOSER = 4; // times as large as where all have a place

export class Field {
  // `chosen(points)` is told what is inside a loop; `asked` is the picture in question: { url, verdict } or null
  constructor(points, { wanted, chosen, asked = null, looping = false }) {
    const mine = points.filter((point) => point.label === wanted);
    const order = wanted === "" ? points : [...mine, ...points.filter((point) => point.label !== wanted)];
    Object.assign(this, { points: order, wanted, chosen, asked, selected: new Map() });
    this.question = asked === null ? null : new Set(asked.verdict.parts.map((part) => part.id));
    this.view = { x: 0, y: 0, zoom: 1 };
    this.loop = svg("polygon", { class: "loop" });
    this.over = svg("svg", { class: "loops", "aria-hidden": "true" }, this.loop);
    this.lines = svg("svg", { class: "lines", "aria-hidden": "true" });
    this.world = h("div", { class: "world" });
    this.preview = h("figure", { class: "preview", "aria-live": "polite", hidden: true });
    this.count = h("p", { class: "shown" });
    this.tool = button(line("drawLoop"), {
      press: () => this.loops(!this.looping), kind: "tool", onpointerdown: (event) => event.stopPropagation(),
    });
    const label = line("mapLabel", { n: points.length });
    this.node = h("div", { class: "map", role: "group", tabindex: "0", "aria-label": label },
      this.world, this.over, this.preview, this.count, this.tool);
    this.loops(looping);
    this.pictures = new Map();
    this.pointers = new Map();
    this.grids = new Map();
    this.watch = new ResizeObserver(() => this.node.clientWidth !== this.width && this.lay());
    this.watch.observe(this.node);
    for (const name of HEARD) {
      this.node.addEventListener(name, (event) => this[name](event), { passive: false });
    }
  }

  stop() {
    this.watch.disconnect();
  }

  // Whether dragging draws a loop; else it moves the map.
  loops(on) {
    this.looping = on;
    this.node.classList.toggle("looping", on);
    this.tool.setAttribute("aria-pressed", `${on}`);
  }

  shown() {
    return this.points.filter((point) => this.wanted === "" || point.label === this.wanted);
  }

  lay() {
    [this.width, this.height] = [this.node.clientWidth, this.node.clientHeight];
    if (this.width === 0 || this.points.length === 0) return;
    this.side = cellSide(this.points.length, this.width, this.height);
    this.last = lastLevel(this.points.length, this.side, this.width, this.height);
    this.grids.clear();
    this.drawn = null;
    this.move(0, 0);
  }

  // The grid of a level, worked out when it is flown over first.
  grid(level) {
    if (!this.grids.has(level)) {
      const { side, width, height, question } = this;
      this.grids.set(level, grid(this.points, { level, side, width, height, question }));
    }
    return this.grids.get(level);
  }

  move(x, y) {
    const { view } = this;
    const clamp = (value, most) => Math.min(Math.max(0, value), most);
    view.x = clamp(view.x + x, this.width * (view.zoom - 1));
    view.y = clamp(view.y + y, this.height * (view.zoom - 1));
    this.world.classList.add("moving");
    clearTimeout(this.rest); // drawn sharp again once it rests
    this.rest = setTimeout(() => this.world.classList.remove("moving"), 150);
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
  }

  // What is below a place of the screen stays there.
  zoomAt(x, y, by) {
    const zoom = Math.min(Math.max(1, this.view.zoom * by), CLOSER * 2 ** this.last);
    const factor = zoom / this.view.zoom;
    Object.assign(this.view, { zoom, x: (this.view.x + x) * factor - x, y: (this.view.y + y) * factor - y });
    this.move(0, 0);
  }

  // The pictures in view, each an element that stays the same as long as it is; the rest of the map has none.
  draw() {
    const { view, width, height } = this;
    const level = Math.min(this.last, Math.max(0, Math.round(Math.log2(view.zoom))));
    const now = this.grid(level);
    const scale = view.zoom / 2 ** level;
    placed(this.world, { transform: `translate(${-view.x}px, ${-view.y}px) scale(${scale})` });
    const cell = now.side * scale;
    const ends = [view.x / cell - 1, view.y / cell - 1, (view.x + width) / cell, (view.y + height) / cell];
    const edges = ends.map(Math.floor);
    const drawn = `${level} ${edges}`;
    if (this.drawn === drawn) return;
    this.drawn = drawn;
    this.now = now;
    const seen = new Set();
    for (let row = edges[1]; row <= edges[3]; row += 1) {
      for (let column = edges[0]; column <= edges[2]; column += 1) {
        const place = now.at(column, row);
        if (place !== undefined) seen.add(place.id) && this.picture(place, now.side);
      }
    }
    for (const [id, image] of this.pictures) {
      if (!seen.has(id)) {
        image.remove();
        this.pictures.delete(id);
      }
    }
    if (this.named !== now) this.drawNames(now);
    this.count.textContent = now.places.length < this.points.length
      ? line("mapShows", { n: now.places.length, of: this.points.length }) : "";
  }

  picture(place, side) {
    const old = this.pictures.get(place.id);
    const image = old ?? h("img", { src: thumbnail(place.id), alt: "", draggable: false, decoding: "async" });
    const size = `${side - 2}px`;
    placed(image, { left: `${place.column * side}px`, top: `${place.row * side}px`, width: size, height: size });
    image.className = [this.wanted !== "" && place.label !== this.wanted ? "far" : "",
      this.selected.has(place.id) ? "inside" : "", this.question?.has(place.id) ? "decided" : ""].join(" ").trim();
    if (old === undefined) {
      this.pictures.set(place.id, image);
      this.world.append(image);
    }
  }

  // Names have cells of their own; the picture in question lies among those that decided, with a line to each.
  drawNames(now) {
    this.named = now;
    for (const one of this.world.querySelectorAll(".class-name, .question-picture")) one.remove();
    const { side } = now;
    const middle = (place, wide = 1) => [(place.column + wide / 2) * side, (place.row + wide / 2) * side];
    const lines = now.asked === null ? [] : now.places.filter((place) => this.question.has(place.id)).map((place) => {
      const [[x1, y1], [x2, y2]] = [middle(now.asked, 2), middle(place)];
      return svg("line", { x1, y1, x2, y2 });
    });
    this.lines.replaceChildren(...lines);
    placed(this.lines, { width: `${now.columns * side}px`, height: `${now.rows * side}px` });
    this.world.prepend(this.lines);
    this.world.append(...now.names.map(({ label, column, row, wide }) => h("span", {
      class: "class-name", title: label,
      style: { left: `${column * side}px`, top: `${row * side}px`, width: `${wide * side}px`, height: `${side}px` },
    }, named(brief(label, 22)))));
    if (now.asked === null) return;
    const size = `${2 * side - 4}px`;
    this.world.append(h("img", { src: this.asked.url, alt: line("yourPicture"), class: "question-picture", style: {
      left: `${now.asked.column * side}px`, top: `${now.asked.row * side}px`, width: size, height: size,
    } }));
  }

  at(event) {
    const frame = this.node.getBoundingClientRect();
    return [event.clientX - frame.left, event.clientY - frame.top];
  }

  placeAt([x, y]) {
    const cell = (this.now.side * this.view.zoom) / 2 ** this.now.level;
    return this.now.at(Math.floor((this.view.x + x) / cell), Math.floor((this.view.y + y) / cell));
  }

  // The picture in view that is nearest to a place of the screen.
  nearest([x, y]) {
    const cell = (this.now.side * this.view.zoom) / 2 ** this.now.level;
    const far = (place) => Math.hypot((place.column + 0.5) * cell - this.view.x - x,
      (place.row + 0.5) * cell - this.view.y - y);
    const seen = this.now.places.filter((place) => this.pictures.has(place.id));
    return seen.length === 0 ? undefined : seen.reduce((best, one) => (far(one) < far(best) ? one : best));
  }

  show(place, x = 0) {
    this.preview.hidden = place === undefined;
    if (this.previewed === place?.id) return;
    this.previewed = place?.id;
    this.preview.classList.toggle("right", x < this.width / 2);
    fill(this.preview, place === undefined ? [] : [shot(thumbnail(place.id), ""), h("figcaption", {},
      named(brief(place.label), { class: "strong" }), h("small", {}, line("exampleNumber", { id: place.id })))]);
  }

  pointerdown(event) {
    if (event.button !== 0) return;
    event.preventDefault();
    this.node.focus({ preventScroll: true });
    this.pointers.set(event.pointerId, this.at(event));
    this.node.setPointerCapture(event.pointerId);
    this.path = [this.at(event)];
    this.far = 0;
  }

  pointermove(event) {
    const now = this.at(event);
    const before = this.pointers.get(event.pointerId);
    if (before === undefined) {
      if (event.pointerType === "mouse" && this.now) this.show(this.placeAt(now), now[0]);
      return;
    }
    this.far += Math.hypot(now[0] - before[0], now[1] - before[1]);
    if (this.pointers.size === 2) this.pinch(event.pointerId, before, now);
    else if (this.looping || event.shiftKey) {
      this.path.push(now);
      this.loop.setAttribute("points", this.path.map((place) => place.join()).join(" "));
    } else this.move(before[0] - now[0], before[1] - now[1]);
    this.pointers.set(event.pointerId, now);
  }

  pinch(id, before, now) {
    const [, other] = [...this.pointers].find(([each]) => each !== id);
    const away = (place) => Math.max(1, Math.hypot(place[0] - other[0], place[1] - other[1]));
    this.zoomAt((now[0] + other[0]) / 2, (now[1] + other[1]) / 2, away(now) / away(before));
  }

  pointerup(event) {
    if (!this.pointers.delete(event.pointerId) || this.pointers.size > 0) return;
    const able = (place) => this.wanted === "" || place.label === this.wanted;
    if (this.far < STILL) {
      this.chosen([this.placeAt(this.path[0])].filter((place) => place !== undefined && able(place)));
    } else if (this.path.length > 3) {
      const cell = (this.now.side * this.view.zoom) / 2 ** this.now.level;
      const inside = (place) => within(this.path, (place.column + 0.5) * cell - this.view.x,
        (place.row + 0.5) * cell - this.view.y);
      this.chosen(this.now.places.filter((place) => able(place) && inside(place)));
    }
  }

  pointercancel(event) {
    this.pointers.delete(event.pointerId);
  }

  pointerleave() {
    this.show(undefined);
  }

  blur() {
    this.show(undefined);
  }

  wheel(event) {
    event.preventDefault();
    this.zoomAt(...this.at(event), Math.exp(-event.deltaY / 400));
  }

  // Arrow keys move, + and − zoom; the picture nearest to the middle is shown, and Enter selects it.
  keydown(event) {
    if (event.target !== this.node) return;
    const middle = [this.width / 2, this.height / 2];
    const moves = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] };
    if (moves[event.key]) this.move(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") this.zoomAt(...middle, 1.5);
    else if (event.key === "-") this.zoomAt(...middle, 1 / 1.5);
    else if (event.key === "0") this.zoomAt(...middle, 1 / this.view.zoom);
    else if (event.key === "Enter") this.chosen(this.points.filter((one) => one.id === this.previewed));
    else return;
    event.preventDefault();
    event.stopPropagation();
    this.draw();
    this.show(this.nearest(middle));
  }

  mark(selected) {
    this.selected = selected;
    this.node.classList.toggle("marked", selected.size > 0);
    if (selected.size === 0) this.loop.removeAttribute("points");
    for (const [id, image] of this.pictures) image.classList.toggle("inside", selected.has(id));
  }
}

// Whether a ray from the point crosses the loop an odd number of times.
function within(path, x, y) {
  let inside = false;
  path.forEach(([x1, y1], at) => {
    const [x2, y2] = path[(at + path.length - 1) % path.length];
    if ((y1 > y) !== (y2 > y) && x < ((x2 - x1) * (y - y1)) / (y2 - y1) + x1) inside = !inside;
  });
  return inside;
}
