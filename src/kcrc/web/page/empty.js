// Ask before there is an answer: nothing asked yet, or looking.

import { button, h, named, shot, thumbnail } from "./dom.js";
import { session } from "./session.js";
import { line } from "./words.js";

const KNOWN = 8; // classes with a picture

export function nothingAsked({ pick, camera }) {
  const here = ["127.0.0.1", "localhost", "[::1]"].includes(location.hostname);
  const few = session.gallery.classes.length < 2;
  const where = here ? line("staysHere") : line("goesTo", { host: location.host });
  return h("section", { class: "empty" },
    h("h1", {}, line(few ? "teachFirst" : "dropOne")),
    h("p", { class: "lead" }, few ? line("teachFirstLong") : where),
    h("p", { class: "row" },
      button(line(few ? "chooseFiles" : "chooseFile"), { press: pick, hint: "O", kind: "main" }),
      button(line("camera"), { press: camera, hint: "C" })),
    few ? null : known());
}

// The classes it knows, each with one of its pictures: what may be asked.
function known() {
  const strip = h("ul", { class: "known" });
  for (const { name, count, example } of session.gallery.classes.slice(0, KNOWN)) {
    strip.append(h("li", {},
      shot(thumbnail(example), ""), named(name), h("small", {}, line("examples", { n: count }))));
  }
  return h("div", { class: "knows" }, h("h2", {}, line("knows", { n: session.gallery.classes.length })), strip);
}

const BONES = [3, 2, 1.5, 2.4, 1.2]; // widths of what is to come

export function looking(picture) {
  return h("div", { class: "case looking", "aria-busy": "true" },
    h("div", { class: "aside" },
      h("figure", { class: "asked" }, h("img", { src: picture.url, alt: line("yourPicture") }))),
    h("div", { class: "body" },
      h("p", { class: "bone headline" }),
      h("p", { class: "lead" }, line("comparing", { n: session.gallery.examples })),
      h("div", { class: "bones" },
        BONES.map((wide) => h("span", { class: "bone", style: { "flex-grow": `${wide}` } })))));
}
