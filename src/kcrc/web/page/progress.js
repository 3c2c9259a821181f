// How far teaching is: right answers by number of examples, and for each class whether there are enough yet.

import { api } from "./api.js";
import { rightBar, rightOf, weakestFirst } from "./class_list.js";
import { curve } from "./curve.js";
import { fill, h, named } from "./dom.js";
import { session } from "./session.js";
import { line } from "./words.js";

const SHOWN = 12; // classes

// Fills `node`; it stays empty where there is nothing to tell of.
export async function progress(node) {
  if (session.gallery.classes.length < 2) return;
  const [classes, advice] = await Promise.all([api.classesInFull(), api.advise()]);
  fill(node,
    h("div", { class: "title" }, h("h2", {}, line("enoughYet")), h("span", { class: "quiet" }, line("weakest"))),
    h("ul", { class: "reached" }, weakestFirst(classes).slice(0, SHOWN).map((one) => h("li", {},
      h("p", { class: "title" }, named(one.name, { class: "strong" }), rightOf(one)),
      rightBar(one, "for"),
      h("small", { class: "quiet" }, one.enough ?? line("notAskedYet"))))),
    advice === null || advice.curve.length < 2 ? null : h("figure", { class: "card" },
      curve(advice, { wide: 420 }), h("figcaption", { class: "quiet" }, line("curveShort"))));
}
