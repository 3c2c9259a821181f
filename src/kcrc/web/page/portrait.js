// All that is known of one example, in a dialog.

import { api } from "./api.js";
import { dialog } from "./dialogs.js";
import { button, h, named, shot, thumbnail } from "./dom.js";
import { chance, line, say } from "./words.js";

export async function portrait(id) {
  const one = await api.example(id);
  const own = one.own_answer;
  const told = own === null ? [] : [
    h("p", {}, say("ownAnswer", { label: named(own.answer, { class: "strong" }), chance: chance(own.probability) })),
    h("ul", { class: "strip" }, own.nearest.map((each) => h("li", { title: each.label },
      shot(thumbnail(each.id), each.label)))),
  ];
  await dialog(say("exampleTitle", { label: named(one.label), id }), (close) => [
    h("div", { class: "portrait" }, shot(thumbnail(id), one.label),
      h("div", { class: "words" }, h("p", { dir: "auto" }, one.source), told)),
    h("p", { class: "row end" },
      button(line("close"), { press: () => close(null), kind: "main", autofocus: true })),
  ]);
}
