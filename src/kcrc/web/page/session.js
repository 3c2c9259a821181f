// What all views share: the gallery, the picture in question, what can be taken back. It tells of changes by events:
// "gallery" (counts), "steps" (what can be undone), "stepped" (something was), "elsewhere" (somebody else changed the
// examples), "queue", "confidence", "doubts".

import { api, Away, Refused } from "./api.js";
import { fill, h, button, setPicturesKey } from "./dom.js";
import { line, say } from "./words.js";

class Session extends EventTarget {
  gallery = null;
  asked = null; // { id, file, url, verdict }
  undo = null; // a sentence
  redo = null;
  doubts = null; // how many examples the audit has left

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

  // An act that was stored: remember its steps, say it (unless the view does: `quiet`), count anew.
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
  if (error.name === "AbortError" || error instanceof Away) return; // the notice says that the server is away
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
