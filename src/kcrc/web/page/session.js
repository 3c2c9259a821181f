// What all views share: the gallery, the picture in question, what can be taken back. It tells of changes by events:
// "gallery" (counts), "steps" (what can be undone), "stepped" (something was), "elsewhere" (somebody else changed the
// examples), "queue", "confidence", "doubts", "suspects".

import { api, Away, link, Refused } from "./api.js";
import { fill, h, button, setPicturesKey } from "./dom.js";
import { line, say } from "./words.js";

const AUDITED = 3000; // examples

class Session extends EventTarget {
  gallery = null;
  asked = null; // { id, file, url, verdict }
  question = null; // what is asked about it (question.js), while another view is open
  undo = null; // a sentence
  redo = null;
  doubts = null; // how many examples the audit has left
  suspects = []; // examples whose label the audit doubts, the surest first

  tell(name, detail = null) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }

  async refresh() {
    this.gallery = await api.gallery();
    setPicturesKey(this.gallery.pictures);
    this.undo = this.gallery.undo;
    this.redo = this.gallery.redo;
    this.tell("gallery");
    this.tell("steps");
  }

  // An act that was stored: remember its steps, say it (unless the view does: `quiet`), count again.
  async stored(act, { quiet = false } = {}) {
    Object.assign(this, { undo: act.undo, redo: act.redo, revision: act.revision });
    const undo = act.undo === null ? null : { words: line("undo"), hint: "Z", press: () => this.step("undo") };
    if (quiet) fill(document.getElementById("toast"));
    else toast(act.sentence, undo);
    await this.refresh();
    return act;
  }

  async step(way) {
    if (this[way] === null) return;
    try {
      await this.stored(await api[way]());
      this.tell("stepped", way);
    } catch (error) {
      trouble(error);
    }
  }

  // What the audit doubts, for those who look at something else: worked out behind the requests, once per revision,
  // and for a large gallery only by the audit itself, as it takes a while.
  async findSuspects() {
    const { revision, examples, classes } = this.gallery;
    if (this.audited === revision || examples > AUDITED || classes.length < 2) return;
    this.audited = revision;
    const found = await api.audit().catch(() => null);
    if (found !== null) this.doubt(found.suspects);
  }

  doubt(suspects) {
    this.suspects = suspects.filter((one) => one.finding !== "doubtful").map((one) => one.id);
    this.tell("suspects");
  }

  // A revision that was told to all: were others at it?
  async notice(revision) {
    const since = this.revision ?? this.gallery.revision;
    if (revision <= since) return;
    const newer = (await api.history(20)).filter((entry) => entry.act > since && !entry.action.endsWith("tune"));
    this.revision = Math.max(revision, this.revision ?? 0);
    await this.refresh();
    if (newer.some((entry) => !entry.mine)) this.tell("elsewhere");
  }
}

export const session = new Session();

let timer = 0;

export function toast(sentence, action = null) {
  const place = document.getElementById("toast");
  clearTimeout(timer);
  fill(place, h("p", { class: "toast" }, h("span", { dir: "auto" }, sentence),
    action === null ? null : button(action.words, { press: action.press, hint: action.hint, kind: "quiet" })));
  timer = setTimeout(() => fill(place), 6000);
}

export function announce(words) {
  document.getElementById("live").textContent = words;
}

// What went wrong, in words, where it is seen and heard; everything is as it was.
export function trouble(error) {
  if (error.name === "AbortError") return;
  if (error instanceof Away) { // it says so as long as it is true, whatever was closed or left meanwhile
    link.dispatchEvent(new Event("away"));
    return;
  }
  if (!(error instanceof Refused)) throw error;
  const again = { words: line("lookAgain"), press: () => session.refresh().then(() => session.tell("elsewhere")) };
  if (error.status === 409) notice(say("conflict"), error.message, again);
  else notice(null, error.message);
}

export function notice(title, words, action = null) {
  const place = document.getElementById("notice");
  place.hidden = false;
  const close = button(line("close"), { press: () => unsaid(), kind: "quiet" });
  const act = action && button(action.words, { press: () => { unsaid(); action.press(); }, kind: "quiet" });
  fill(place, h("span", {}, title === null ? null : h("strong", {}, title, " "), words), act, close);
}

export function unsaid() {
  const place = document.getElementById("notice");
  place.hidden = true;
  fill(place);
}
