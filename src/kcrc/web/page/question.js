// One question and all that is known about it: the picture, its answer, what is set aside and the answer without that,
// which class is asked about. Everything that Ask shows is a function of this; nothing of it is stored.

import { about, api, Away } from "./api.js";
import { trouble } from "./session.js";
import { nearest } from "./verdict.js";

const LOOK = 120; // milliseconds the pointer rests on an example before it is asked about

export class Question {
  // `changed()` draws it again; who shows it sets that
  constructor(picture, verdict) {
    Object.assign(this, { picture, changed: () => {}, ended: false, base: verdict, now: verdict });
    this.aside = { ids: [], classes: [] }; // of which `now` is the answer
    this.wanted = this.aside; // what was chosen, until its answer is there
    this.why = null; // the class of "why not?"; null: the runner-up
    this.looked = null; // the example under the pointer or the focus
    this.saying = null; // the class of the answer that is being considered
    this.act = null; // what was stored
    this.unfolded = false; // the list
    this.facts = new Map();
    this.request = null;
  }

  get open() {
    return this.aside.ids.length + this.aside.classes.length > 0;
  }

  // The class that stays left whatever wins: the first answer's where it has a part, and never the first runner-up's.
  get left() {
    const pair = [this.now.label, this.now.runner_up];
    if (pair.includes(this.base.label)) return this.base.label;
    return pair[0] === this.base.runner_up && pair[1] !== null ? pair[1] : pair[0];
  }

  // The class that "why not?" is about; null where there is nothing to ask.
  get rival() {
    const { now, why } = this;
    if (now.unknown) return null;
    return why !== null && why !== nearest(now) && !this.aside.classes.includes(why) ? why : now.runner_up;
  }

  end() {
    this.request?.abort();
    this.ended = true;
  }

  toggle(id) {
    return this.setAside({ ...this.wanted, ids: toggled(this.wanted.ids, id) });
  }

  toggleClass(label) {
    return this.setAside({ ...this.wanted, classes: toggled(this.wanted.classes, label) });
  }

  restore() {
    return this.open || this.request !== null ? this.setAside({ ids: [], classes: [] }) : undefined;
  }

  // The answer without these; where there is none (no example would be left), everything stays as it was.
  async setAside(wanted) {
    this.wanted = wanted;
    this.request?.abort();
    const request = new AbortController();
    this.request = request;
    try {
      const none = wanted.ids.length + wanted.classes.length === 0;
      const now = none ? this.base : await this.without(wanted, request.signal);
      const stale = now.revision !== this.base.revision;
      const base = stale ? await this.again(request.signal) : this.base;
      if (request.signal.aborted || this.ended) return;
      Object.assign(this, { now, base, aside: wanted, looked: null });
      if (stale) this.facts.clear();
    } catch (error) {
      if (request.signal.aborted || this.ended) return;
      this.wanted = this.aside;
      trouble(error);
    }
    this.request = null;
    this.changed();
  }

  // The same question once more: examples changed, or it is known by now how sure answers are.
  async refresh() {
    const base = await this.again();
    if (this.ended) return;
    this.picture.verdict = this.base = base;
    this.facts.clear();
    await this.setAside(this.wanted);
  }

  async again(signal) {
    const [verdict] = await about(this.picture, (picture) => api.classifyAgain([picture], signal));
    return verdict;
  }

  without({ ids, classes }, signal) {
    return about(this.picture, (picture) => api.whatIf({ picture, without: ids, without_classes: classes }, signal));
  }

  look(id) {
    if (this.looked === id) return;
    this.looked = id;
    this.changed();
  }

  say(label) {
    if (this.saying === label) return;
    this.saying = label;
    this.changed();
  }

  // What the server says of something, asked for where it is shown first: undefined until it is there, null where it
  // cannot be had.
  fact(name, ask) {
    if (!this.facts.has(name)) {
      this.facts.set(name, undefined);
      const { facts } = this;
      ask().catch((error) => {
        if (error instanceof Away) facts.delete(name); // asked for again once the server is back
        return null;
      }).then((value) => {
        if (facts !== this.facts || this.ended || !facts.has(name)) return;
        facts.set(name, value);
        this.changed();
      });
    }
    return this.facts.get(name);
  }

  // The smallest sets of examples without which the answer is another. For an answer, not for a class that is merely
  // the nearest, and not for one that is itself a what-if.
  get turning() {
    if (this.base.unknown) return null;
    const found = this.fact("turning", () => about(this.picture, (picture) => api.turning(picture)));
    return found && found.revision !== this.base.revision ? null : found;
  }

  get whyNot() {
    const { rival, aside, now } = this;
    if (rival === null) return null;
    const found = this.fact(JSON.stringify(["why", rival, aside]), () => about(this.picture, (picture) => api.whyNot({
      picture, label: rival, without: aside.ids, without_classes: aside.classes,
    })));
    return found && (found.revision !== now.revision || found.answer !== now.label) ? null : found;
  }

  // The answer without one more example.
  get glance() {
    const { looked, aside } = this;
    if (looked === null) return undefined;
    return this.fact(JSON.stringify(["without", looked, aside]), async () => {
      await new Promise((resolve) => { setTimeout(resolve, LOOK); });
      if (this.looked !== looked) throw new Away("the pointer went on");
      return this.without({ ...aside, ids: [...aside.ids, looked] });
    });
  }

  // What an act would change of the last answers: storing an answer, or giving an example another label.
  preview(change) {
    return this.fact(JSON.stringify(["preview", change]), () => api.preview(change));
  }
}

const toggled = (all, one) => (all.includes(one) ? all.filter((each) => each !== one) : [...all, one]);
