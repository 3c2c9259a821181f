// The pictures that wait for a name: each can be looked at, or ticked to be named with others.

import { button, h, shot, upload } from "./dom.js";
import { line } from "./words.js";

const ORDERS = ["doubt", "teach"];

// `now` is the picture in question, `selected` a set; `look`, `tick(picture, range)`, `select(pictures)`, `sort(order)`
// and `pick()` do what they say.
export function queueStrip(pictures, { total, now, selected, order, look, tick, select, sort, pick }) {
  const orders = ORDERS.map((each) => h("button", {
    type: "button", "aria-pressed": `${order === each}`, onclick: () => sort(each),
  }, line(`order_${each}`)));
  const all = selected.size === pictures.length;
  const choose = () => select(all ? [] : pictures.map((one) => one.picture));
  return h("section", { class: "queue" },
    h("div", { class: "title" },
      h("h2", {}, line("waiting", { n: total })),
      h("span", { class: "switch", role: "group", "aria-label": line("order") }, orders),
      h("span", { class: "push row" },
        button(line(all ? "selectNone" : "selectAll"), { press: choose, hint: "A", kind: "quiet" }),
        button(line("addPictures"), { press: pick, hint: "O", kind: "quiet" }))),
    h("ul", { class: "waiting" }, pictures.map((one) => {
      const chosen = selected.has(one.picture);
      const box = h("input", {
        type: "checkbox", checked: chosen, "aria-label": line("selectPicture", { name: one.name }),
      });
      box.addEventListener("click", (event) => tick(one.picture, event.shiftKey));
      const open = h("button", {
        type: "button", class: "look", onclick: () => look(one.picture),
        "aria-label": line("lookAt", { name: one.name }),
      }, shot(upload(one.picture), ""));
      return h("li", { class: chosen ? "picked" : selected.size === 0 && one.picture === now ? "now" : "" },
        open, box, doubtBar(one.doubt));
    })));
}

function doubtBar(doubt) {
  const bar = h("span", { class: "doubt", title: line("doubt") }, h("span", {}));
  bar.firstChild.style.width = `${100 * Math.min(1, Math.max(0, doubt ?? 1))}%`;
  return bar;
}
