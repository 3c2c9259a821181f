// Dialogs: which class, a question with one answer, the camera, the keys.

import { button, fill, h, key, named } from "./dom.js";
import { session } from "./session.js";
import { line, say } from "./words.js";

const SHOWN = 60; // classes in a list

// Resolves to what `built(close)` closes it with; null where it was left by Esc.
export function dialog(title, built, kind = "") {
  return new Promise((resolve) => {
    const head = h("h2", { id: "dialog-title" }, title);
    const node = h("dialog", { class: `dialog ${kind}`, "aria-labelledby": "dialog-title" }, head);
    let found = null;
    const close = (value) => {
      found = value;
      node.close();
    };
    node.append(...built(close, node));
    node.addEventListener("close", () => {
      node.remove();
      resolve(found);
    });
    node.addEventListener("click", (event) => event.target === node && close(null));
    document.body.append(node);
    node.showModal();
  });
}

// A class of the gallery or a new one: { label, fresh }.
export function pickClass(title, { without = [] } = {}) {
  const known = session.gallery.classes.filter((one) => !without.includes(one.name));
  return dialog(title, (close) => {
    const input = h("input", {
      type: "text", class: "search", autocomplete: "off", dir: "auto", maxlength: "200",
      "aria-label": line("className"), placeholder: line(known.length > 0 ? "classSearch" : "className"),
    });
    const list = h("ul", { class: "choices" });
    const draw = () => {
      const wanted = input.value.trim();
      const low = wanted.toLocaleLowerCase();
      const fits = known.filter((one) => one.name.toLocaleLowerCase().includes(low));
      const fresh = wanted !== "" && !session.gallery.classes.some((one) => one.name === wanted);
      const old = (one) => choice([named(one.name), h("small", {}, line("examples", { n: one.count }))],
        () => close({ label: one.name, fresh: false }));
      const newChoice = () => choice(say("newClassNamed", { label: named(wanted, { class: "strong" }) }),
        () => close({ label: wanted, fresh: true }), "fresh");
      const more = fits.length - SHOWN;
      fill(list, fits.slice(0, SHOWN).map(old), fresh ? newChoice() : null,
        more > 0 ? h("li", { class: "quiet" }, line("moreClasses", { n: more })) : null);
      // What is written in full comes first, a new name before a class that only contains it.
      const exact = fits.findIndex((one) => one.name.toLocaleLowerCase() === low);
      const first = exact >= 0 ? list.children[exact] : fresh ? list.querySelector(".fresh") : list.firstElementChild;
      first?.querySelector("button")?.classList.add("first");
    };
    input.addEventListener("input", draw);
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        event.preventDefault();
        list.querySelector("button.first")?.click();
      }
      if (event.key === "ArrowDown") list.querySelector("button")?.focus();
    });
    draw();
    return [input, list];
  });
}

const choice = (words, press, kind = "") => h("li", { class: kind },
  h("button", { type: "button", onclick: press }, words));

// Yes or no, in the words of the act.
export function confirmed(title, words, yes) {
  return dialog(title, (close) => [
    h("p", {}, words),
    h("p", { class: "row end" }, button(line("cancel"), { press: () => close(false) }),
      button(yes, { press: () => close(true), kind: "main", autofocus: true })),
  ]);
}

// One line of text; null where it was left.
export function askText(title, { start, label, yes }) {
  return dialog(title, (close) => {
    const input = h("input", {
      type: "text", class: "search", value: start, dir: "auto", maxlength: "200", "aria-label": label,
    });
    const given = (event) => {
      event.preventDefault();
      close(input.value.trim() || null);
    };
    return [h("form", { onsubmit: given }, input, h("p", { class: "row end" },
      button(line("cancel"), { press: () => close(null) }),
      h("button", { type: "submit", class: "button main" }, yes)))];
  });
}

// A picture from the camera, as a Blob; null where it was left.
export function photographed() {
  return dialog(line("camera"), (close, node) => {
    const video = h("video", { autoplay: true, muted: true, playsinline: "", class: "camera" });
    const words = h("p", { class: "quiet", role: "status" }, line("cameraWaits"));
    const take = button(line("takePicture"), { press: taken, kind: "main", disabled: true });
    let stream = null;
    function taken() {
      const canvas = h("canvas", { width: video.videoWidth, height: video.videoHeight });
      canvas.getContext("2d").drawImage(video, 0, 0);
      canvas.toBlob((blob) => close(blob), "image/jpeg", 0.92);
    }
    const media = navigator.mediaDevices;
    (media === undefined ? Promise.reject(new Error()) : media.getUserMedia({ video: { facingMode: "environment" } }))
      .then((found) => {
        stream = found;
        if (!node.open) stop();
        video.srcObject = found;
        video.addEventListener("playing", () => { take.disabled = false; words.textContent = ""; take.focus(); });
      }, () => { words.textContent = line("noCamera"); });
    const stop = () => stream?.getTracks().forEach((track) => track.stop());
    node.addEventListener("close", stop);
    return [video, words, h("p", { class: "row end" }, button(line("cancel"), { press: () => close(null) }), take)];
  });
}

export function showKeys(rows) {
  return dialog(line("keys"), (close) => [
    h("dl", { class: "keys" }, rows.flatMap(([names, words]) => [
      h("dt", {}, names.map((name) => key(name))), h("dd", {}, words),
    ])),
    h("p", { class: "row end" }, button(line("close"), { press: () => close(null), kind: "main", autofocus: true })),
  ]);
}
