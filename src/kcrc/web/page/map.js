// A map of examples: near means alike. Pictures never lie on each other; a loop drawn around some selects them.

import { h, named, placed, svg, thumbnail } from "./dom.js";
import { line } from "./words.js";

const LARGEST = 46; // pixels of a picture
const MOST = 700; // pictures on a map
const NAME = 26; // pixels of a class's name, from top to bottom

export class Field {
  // `chosen(points)` is told what is inside a loop
  constructor(points, { wanted, chosen }) {
    Object.assign(this, { points: points.slice(0, MOST), wanted, chosen });
    this.loop = svg("polygon", { class: "loop" });
    this.over = svg("svg", { class: "loops", "aria-hidden": "true" }, this.loop);
    this.node = h("div", { class: "map", role: "img", "aria-label": line("mapLabel", { n: this.points.length }) });
    this.pictures = new Map();
    this.watch = new ResizeObserver(() => this.node.clientWidth !== this.wide && this.lay());
    this.watch.observe(this.node);
    this.node.addEventListener("pointerdown", (event) => this.drawn(event));
  }

  stop() {
    this.watch.disconnect();
  }

  shown() {
    return this.points.filter((point) => this.wanted === "" || point.label === this.wanted);
  }

  // Every point in a cell of its own, as near to its place as is free; those in the thick of it choose first.
  lay() {
    const [width, height] = [this.node.clientWidth, this.node.clientHeight];
    this.wide = width;
    if (width === 0 || this.points.length === 0) return;
    const side = Math.min(LARGEST, Math.sqrt((width * height) / (this.points.length * 2.6)));
    const [columns, rows] = [Math.floor(width / side), Math.floor(height / side)];
    const spread = (name) => {
      const values = this.points.map((point) => point[name]);
      const [low, high] = [Math.min(...values), Math.max(...values)];
      return (value) => (high === low ? 0.5 : (value - low) / (high - low));
    };
    const [x, y] = [spread("x"), spread("y")];
    const free = new Set(Array.from({ length: columns * rows }, (_, at) => at));
    const centre = (point) => Math.hypot(x(point.x) - 0.5, y(point.y) - 0.5);
    this.places = [...this.points].sort((a, b) => centre(a) - centre(b)).map((point) => {
      const [wantX, wantY] = [x(point.x) * (columns - 1), y(point.y) * (rows - 1)];
      let [best, least] = [null, Infinity];
      for (const at of free) {
        const far = (at % columns - wantX) ** 2 + (Math.floor(at / columns) - wantY) ** 2;
        if (far < least) [best, least] = [at, far];
      }
      free.delete(best);
      return { ...point, left: (best % columns) * side, top: Math.floor(best / columns) * side, side };
    });
    this.draw(side);
  }

  draw(side) {
    for (const place of this.places) {
      const old = this.pictures.get(place.id);
      const image = old ?? h("img", { src: thumbnail(place.id), alt: "", title: place.label, draggable: false });
      const size = `${side - 2}px`;
      placed(image, { left: `${place.left}px`, top: `${place.top}px`, width: size, height: size });
      image.classList.toggle("far", this.wanted !== "" && place.label !== this.wanted);
      this.pictures.set(place.id, image);
    }
    this.node.replaceChildren(...this.pictures.values(), ...this.names(), this.over);
  }

  // Each class's name at the middle of its pictures, moved up where it would cover another name.
  names() {
    const groups = new Map();
    for (const place of this.places) groups.set(place.label, [...(groups.get(place.label) ?? []), place]);
    const taken = [];
    return [...groups].slice(0, 40).map(([label, places]) => {
      const sorted = (name) => places.map((one) => one[name]).sort((a, b) => a - b);
      const middle = (name) => sorted(name)[places.length >> 1] + places[0].side / 2;
      let [left, top] = [middle("left"), middle("top")];
      const half = 12 + 4 * Math.min(label.length, 16);
      const covers = (one) => Math.abs(one.left - left) < half + one.half && Math.abs(one.top - top) < NAME;
      while (taken.some(covers)) top -= NAME;
      left = Math.min(Math.max(left, half), this.wide - half);
      top = Math.max(14, top);
      taken.push({ left, top, half });
      return h("span", { class: "class-name", style: { left: `${left}px`, top: `${top}px` } }, named(label));
    });
  }

  drawn(event) {
    event.preventDefault();
    const frame = this.node.getBoundingClientRect();
    const at = (one) => [one.clientX - frame.left, one.clientY - frame.top];
    const path = [at(event)];
    this.node.setPointerCapture(event.pointerId);
    const move = (one) => {
      path.push(at(one));
      this.loop.setAttribute("points", path.map((place) => place.join()).join(" "));
    };
    const end = () => {
      this.node.removeEventListener("pointermove", move);
      this.node.removeEventListener("pointerup", end);
      this.node.removeEventListener("pointercancel", end);
      const inside = this.places.filter((place) => (path.length < 4 ? near(place, path[0])
        : within(path, place.left + place.side / 2, place.top + place.side / 2)));
      this.chosen(inside.filter((place) => this.wanted === "" || place.label === this.wanted));
    };
    this.node.addEventListener("pointermove", move);
    this.node.addEventListener("pointerup", end);
    this.node.addEventListener("pointercancel", end);
  }

  mark(selected) {
    this.node.classList.toggle("marked", selected.size > 0);
    if (selected.size === 0) this.loop.removeAttribute("points");
    for (const [id, image] of this.pictures) image.classList.toggle("inside", selected.has(id));
  }
}

const near = ({ left, top, side }, [x, y]) => x >= left && x < left + side && y >= top && y < top + side;

// Whether a ray from the point crosses the loop an odd number of times.
function within(path, x, y) {
  let inside = false;
  path.forEach(([x1, y1], at) => {
    const [x2, y2] = path[(at + path.length - 1) % path.length];
    if ((y1 > y) !== (y2 > y) && x < ((x2 - x1) * (y - y1)) / (y2 - y1) + x1) inside = !inside;
  });
  return inside;
}
