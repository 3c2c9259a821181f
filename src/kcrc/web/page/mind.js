// "What would change its mind?": the smallest set of examples without which the answer turns; or what is set aside;
// and whether the example that tips it is labelled rightly. All of it follows from the question.

import { changes } from "./answers.js";
import { button, h, key, named, shot, thumbnail } from "./dom.js";
import { session } from "./session.js";
import { line, say } from "./words.js";

const SHOWN = 5; // pictures on a card
const TRAY = 12; // pictures that are set aside

// `setAside(ids)`, `toggle(id)`, `toggleClass(label)`, `restore()` and `relabel()` do what they say.
export function mind(q, acts) {
  const { turning } = q;
  const title = (words, more) => h("div", { class: "title" }, h("h2", {}, line(words)), more);
  if (q.open) {
    return [title("setAside"), h("div", { class: "cards", "data-group": "mind" }, tray(q, acts), doubted(q, acts))];
  }
  if (turning === null) return [];
  const head = title("changeMind", h("span", { class: "quiet" }, line("untick")));
  if (turning === undefined) return [head, h("div", { class: "cards" }, h("p", { class: "quiet" }, line("trying")))];
  return [head, h("div", { class: "cards", "data-group": "mind" },
    turning.found.slice(0, 2).map((one, at) => h("button", {
      type: "button", class: "card press", onclick: () => acts.setAside(one.ids),
      "aria-keyshortcuts": at === 0 ? "w" : null, "data-key": one.ids.join(),
    }, pictures(one.ids), h("span", { class: "words" },
      h("small", {}, line("withoutThese", { n: one.ids.length })), named(one.label, { class: "strong" })),
    at === 0 ? key("W") : null)),
    doubted(q, acts) ?? h("p", { class: "card plain" }, line(noted(turning))))];
}

// What is known of smaller sets.
function noted({ found, exact }) {
  if (found.length === 0) return "noSmallSet";
  if (found[0].ids.length === 1) return "oneDecides";
  return exact ? "noneAlone" : "smallerMayDo";
}

function tray(q, acts) {
  const { ids, classes } = q.aside;
  const back = (words, press, picture, name) => h("li", {}, h("button", {
    type: "button", class: "back", onclick: press, "aria-label": words, title: words, "data-key": `back ${name}`,
  }, picture));
  return h("div", { class: "card tray" },
    h("ul", { class: "strip" },
      classes.map((label) => back(line("bringClassBack", { label }), () => acts.toggleClass(label),
        named(label, { class: "class-back" }), label)),
      ids.slice(0, TRAY).map((id) =>
        back(line("bringBack", { id }), () => acts.toggle(id), shot(thumbnail(id), ""), id))),
    h("span", { class: "words" }, button(line("bringAllBack"), { press: acts.restore, hint: "Esc", kind: "quiet" }),
      h("small", {}, ids.length === 0 ? line("classesAside", { n: classes.length })
        : line("setAsideLong", { n: ids.length }))));
}

// One example without which the answer is another may have the wrong label, where its label is not that other class.
export function suspect(q) {
  if (session.gallery.readonly || q.aside.classes.length > 0) return null;
  const [ids, to] = q.open ? [q.aside.ids, q.now.unknown ? null : q.now.label]
    : [q.turning?.found[0]?.ids ?? [], q.turning?.found[0]?.label];
  const one = ids.length === 1 ? q.base.parts.find((part) => part.id === ids[0]) : undefined;
  const other = one !== undefined && to && to !== q.base.label && one.label !== to;
  return other ? { id: one.id, label: one.label, to } : null;
}

function doubted(q, acts) {
  const one = suspect(q);
  if (one === null) return null;
  const { id, label, to } = one;
  const found = q.preview({ examples: [id], label: to, act: "relabel" });
  return h("div", { class: "card strong-card", "data-key": `really ${id}` }, shot(thumbnail(id), ""),
    h("div", { class: "words" }, h("strong", {}, say("reallyA", { label: named(label) })),
      h("div", { class: "ripple" }, found ? changes(to, found, "relabelling") : null)),
    button(say("relabelTo", { label: named(to) }), { press: acts.relabel, hint: "R" }));
}

const pictures = (ids) => h("span", { class: "few" }, ids.slice(0, SHOWN).map((id) => shot(thumbnail(id), "")),
  ids.length > SHOWN ? h("small", {}, `+${ids.length - SHOWN}`) : null);
