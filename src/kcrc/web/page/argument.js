// What if? The same question without some examples or classes. Nothing of it is stored.

import { about, api } from "./api.js";
import { trouble } from "./session.js";

const LOOK = 120; // milliseconds the pointer rests on an example before it is asked about

export class Argument {
  // `answered(verdict)` shows what the answer would be
  constructor(picture, base, answered) {
    Object.assign(this, { picture, base, answered, now: base });
    this.without = new Set();
    this.classes = new Set();
    this.guesses = new Map();
    this.request = null;
  }

  get open() {
    return this.without.size + this.classes.size > 0;
  }

  toggle(id) {
    if (!this.without.delete(id)) this.without.add(id);
    return this.ask();
  }

  toggleClass(label) {
    if (!this.classes.delete(label)) this.classes.add(label);
    return this.ask();
  }

  setAside(ids) {
    for (const id of ids) this.without.add(id);
    return this.ask();
  }

  restore() {
    if (!this.open) return undefined;
    this.without.clear();
    this.classes.clear();
    return this.ask();
  }

  end() {
    this.request?.abort();
    this.looking = null;
  }

  // Where it cannot be answered (nothing would be left), everything is as it was.
  async ask() {
    this.request?.abort();
    this.request = new AbortController();
    const { signal } = this.request;
    try {
      const verdict = this.open ? await this.verdict([], signal) : this.base;
      if (signal.aborted) return;
      this.now = verdict;
      this.kept = { without: [...this.without], classes: [...this.classes] };
    } catch (error) {
      if (signal.aborted) return;
      this.without = new Set(this.kept?.without);
      this.classes = new Set(this.kept?.classes);
      trouble(error);
    }
    this.answered(this.now);
  }

  verdict(more, signal) {
    return about(this.picture, (picture) => api.whatIf({
      picture, without: [...this.without, ...more], without_classes: [...this.classes],
    }, signal));
  }

  // What it would be without one more: told where somebody still looks at that example once it is known.
  async look(id, told) {
    this.looking = id;
    told(null);
    if (id === null) return;
    await new Promise((resolve) => { setTimeout(resolve, LOOK); });
    if (this.looking !== id) return;
    const name = [...this.without, "and", ...this.classes, "and", id].join();
    if (!this.guesses.has(name)) this.guesses.set(name, this.verdict([id]).catch(() => null));
    const found = await this.guesses.get(name);
    if (this.looking === id && found !== null) told(found);
  }
}
