// What an answer would change before it is given: the last answers as a wall, grey but for those that would be others.

import { api } from "./api.js";
import { changes } from "./answers.js";
import { fill, h, upload } from "./dom.js";
import { line } from "./words.js";

const MOST = 250; // of the last answers

export class Wall {
  constructor() {
    this.node = h("section", { class: "wall", "aria-live": "polite" });
    this.effects = new Map();
    this.found = new Map();
    this.request = null;
  }

  // Where the number of an answer's changes is written.
  follow(label, node) {
    this.effects.set(label, node);
  }

  stop() {
    this.request?.abort();
    this.effects.clear();
    this.found.clear();
    this.shown = undefined;
    fill(this.node);
  }

  // Ask for each offered answer in turn, the likeliest first; one question at a time, dropped when the picture changes.
  async watch(chosen, labels) {
    if (chosen.length !== 1) return;
    this.request = new AbortController();
    const { signal } = this.request;
    for (const label of labels) {
      try {
        const preview = await api.preview({ picture: chosen[0].picture, label, act: "add" }, signal);
        if (signal.aborted) return;
        this.found.set(label, preview);
        const node = this.effects.get(label);
        if (node && preview.of > 0) node.textContent = line("changesCount", { n: preview.changed.length });
        if (this.shown === label) this.show(label);
        else if (this.shown === undefined && preview.changed.length > 0) this.show(label);
      } catch {
        return;
      }
    }
  }

  show(label) {
    this.shown = label;
    const preview = this.found.get(label);
    if (preview === undefined || preview.of === 0) return;
    const [words, pictures] = changes(label, preview);
    fill(this.node, h("div", { class: "title" }, words, h("span", { class: "quiet" }, line("holdKey"))),
      this.bricks(preview), pictures);
  }

  // The last answers, grey but for those that would be others.
  bricks({ answers, changed }) {
    const other = new Set(changed.map((one) => one.picture));
    return h("div", { class: "bricks", "aria-hidden": "true" }, answers.slice(0, MOST).map((picture) => h("img", {
      src: upload(picture), alt: "", loading: "lazy", class: other.has(picture) ? "other" : "",
    })));
  }

  hush() {
    this.shown = undefined;
    fill(this.node);
  }
}
