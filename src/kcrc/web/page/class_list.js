// The classes of a gallery, weakest first, each with a picture, how many of its examples are right without themselves,
// and what they are mistaken for.

import { button, h, named, shot, thumbnail } from "./dom.js";
import { session } from "./session.js";
import { count, line, listed, say } from "./words.js";

const weakness = (one) => one.right_without_itself ?? 2; // not asked yet: last

export const weakestFirst = (classes) =>
  [...classes].sort((a, b) => weakness(a) - weakness(b) || a.name.localeCompare(b.name));

// `faces` has an example of each class; `acts` are what can be done with the class that is chosen: [words, doing].
export function classList(classes, { faces, wanted, choose, acts }) {
  const every = h("button", {
    type: "button", class: "class-row every", "aria-pressed": `${wanted === ""}`, onclick: () => choose(""),
  }, line("everyClass"));
  return [
    h("div", { class: "title" }, h("h2", {}, line("classes", { n: classes.length })),
      h("span", { class: "quiet" }, line("weakest"))),
    h("ul", {}, h("li", {}, every), weakestFirst(classes).map((one) => h("li", {},
      row(one, faces.get(one.name), { chosen: wanted === one.name, choose }),
      wanted !== one.name || session.gallery.readonly ? null : h("span", { class: "class-acts row" },
        acts.map(([words, doing]) => button(line(words), { press: () => doing(one), kind: "quiet" })))))),
  ];
}

function row(one, face, { chosen, choose }) {
  return h("button", {
    type: "button", class: "class-row", "aria-pressed": `${chosen}`, onclick: () => choose(one.name),
  },
  face === undefined ? h("span", { class: "shot none" }) : shot(thumbnail(face), ""),
  h("span", { class: "words" },
    h("span", { class: "title" }, named(one.name, { class: "strong" }), rightOf(one)),
    one.right_without_itself === null ? null : rightBar(one),
    h("small", {}, mistaken(one))));
}

export function rightOf(one) {
  const right = one.right_without_itself;
  return h("span", { class: "value" }, right === null ? line("examples", { n: one.count })
    : say("rightOf", { right: h("strong", {}, count(Math.round(right * one.count))), n: one.count }));
}

export function rightBar(one, kind = "") {
  const bar = h("span", { class: `bar ${kind}` }, h("span", {}));
  bar.firstChild.style.width = `${100 * (one.right_without_itself ?? 0)}%`;
  return bar;
}

function mistaken(one) {
  if (one.right_without_itself === null) return line("notAskedYet");
  const others = one.confused_with.slice(0, 2).map(([name]) => name);
  return others.length === 0 ? line("noneMistaken") : line("mistakenFor", { labels: listed(others) });
}
