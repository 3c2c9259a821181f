// The shell: which view is open, the gallery's facts, undo and redo, pictures that are dropped, pasted, chosen, taken.

import { link, listen } from "./api.js";
import * as ask from "./ask.js";
import * as audit from "./audit.js";
import * as browse from "./browse.js";
import { photographed, showKeys } from "./dialogs.js";
import { button, fill, h, named } from "./dom.js";
import * as enough from "./enough.js";
import * as history from "./history.js";
import { icon } from "./icons.js";
import { bind } from "./keys.js";
import { notice, session, trouble, unsaid } from "./session.js";
import * as teach from "./teach.js";
import { line } from "./words.js";

const VIEWS = { ask, teach, browse, audit, enough, history };
const place = { main: document.getElementById("main"), bar: document.getElementById("bar") };
const files = document.getElementById("files");
const LOOK = 2000; // milliseconds between two looks for a server that is away
const OWN = 600; // milliseconds in which one's own act is answered after it was told to all
let open = null;

function route() {
  const [name, detail] = location.hash.slice(1).split("/");
  const wanted = VIEWS[name] === undefined ? "ask" : name;
  if (open?.name === wanted) return;
  open?.view.close?.();
  open?.unbind();
  if (waiting === null) unsaid();
  fill(document.getElementById("toast"));
  fill(place.main, h("section", { class: "empty waits" }, h("p", { class: "lead" }, line("looking"))));
  fill(place.bar);
  place.bar.hidden = true;
  document.body.className = `view-${wanted}`;
  document.title = `${line(wanted)} · kcrc`;
  const view = VIEWS[wanted].open(place, { pick, camera, received, go, detail });
  open = { name: wanted, view, unbind: bind(view.keys ?? {}) };
  drawNav();
}

export function go(name) {
  location.hash = name;
}

function drawNav() {
  const counts = { teach: session.gallery?.queue || null, audit: session.doubts };
  const count = (name, n) => h("span", { class: "count", title: line(`${name}Count`, { n }) }, `${n}`);
  fill(document.getElementById("nav"), Object.keys(VIEWS).map((name) => h("a", {
    href: `#${name}`, class: name, "aria-current": open?.name === name ? "page" : null,
  }, icon(name), h("span", {}, line(name)), counts[name] ? count(name, counts[name]) : null)));
}

function drawFacts() {
  const { name, examples, classes, readonly } = session.gallery;
  const here = ["127.0.0.1", "localhost", "[::1]"].includes(location.hostname);
  const title = h("strong", { title: name }, named(shortened(name)));
  fill(document.getElementById("facts"), title, h("span", { class: "more" },
    ` · ${line("examples", { n: examples })} · ${line("classes", { n: classes.length })} · `,
    readonly ? line("readonly") : here ? line("thisComputer") : line("otherComputer", { host: location.hostname })));
}

// The name of a gallery where there is little room; in full where the pointer rests on it.
const shortened = (name) => (name.length > 22 ? `${name.slice(0, 11)}…${name.slice(-10)}` : name);

function drawSteps() {
  const stepButton = (way, hint) => button(line(way), {
    press: () => session.step(way), hint, kind: `step ${way}`, disabled: session[way] === null,
    title: session[way] ?? line("nothingToStep"),
    "aria-label": session[way] === null ? line(way) : `${line(way)}: ${session[way]}`,
  });
  fill(document.getElementById("steps"), stepButton("undo", "Z"), stepButton("redo", "⇧Z"), button(line("keys"), {
    press: help, hint: "?", kind: "step help", "aria-label": line("keys"),
  }));
}

const help = () => showKeys([
  [["O"], line("keyOpen")], [["C"], line("camera")], [["Z"], line("undo")], [["⇧Z"], line("redo")],
  ...(VIEWS[open.name].KEYS?.() ?? []), [["?"], line("keys")],
]);

const pick = () => files.click();

async function camera() {
  const blob = await photographed();
  if (blob !== null) await received([new File([blob], line("cameraName"), { type: blob.type })]);
}

// Pictures from wherever: one is asked, several are taught.
async function received(given) {
  if (given.length === 0) return;
  if (waiting === null) unsaid();
  const [pictures, reasons] = [[], []];
  for (const file of given) {
    const reason = notPossible(file);
    if (reason === null) pictures.push(file);
    else reasons.push(reason);
  }
  if (reasons.length > 0) notice(line("notTaken", { n: reasons.length }), reasons.slice(0, 3).join(" "));
  if (pictures.length === 0) return;
  try {
    if (pictures.length === 1 && open.name !== "teach" && session.gallery.classes.length > 1) {
      go("ask");
      route();
      await open.view.ask(pictures[0]);
    } else {
      go("teach");
      route();
      await open.view.take(pictures);
    }
  } catch (error) {
    trouble(error);
  }
}

// Why a file is no picture that can be sent; null where it may be one.
function notPossible({ name, size }) {
  const { bytes } = session.gallery.limits;
  const megabytes = (count) => (count / 1e6).toFixed(count < 1e7 ? 1 : 0);
  if (size === 0) return line("emptyFile", { name });
  return size > bytes ? line("largeFile", { name, size: megabytes(size), most: megabytes(bytes) }) : null;
}

function dropped() {
  let depth = 0;
  const over = (by) => {
    depth += by;
    document.body.classList.toggle("dropping", depth > 0);
  };
  addEventListener("dragenter", (event) => { event.preventDefault(); over(1); });
  addEventListener("dragleave", () => over(-1));
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    over(-depth);
    received(event.dataTransfer.files);
  });
  addEventListener("paste", (event) => {
    if (event.clipboardData.files.length > 0) received(event.clipboardData.files);
  });
  files.addEventListener("change", () => {
    received([...files.files]);
    files.value = "";
  });
}

function events(said) {
  if (said.kind === "revision") setTimeout(() => session.notice(said.revision).catch(trouble), OWN);
  if (said.kind === "queue") session.refresh().then(() => session.tell("queue"), trouble);
  if (said.kind === "confidence") session.tell("confidence");
}

let waiting = null; // the timer that looks for a server that is away

// Says that the server is away for as long as it is, whatever is looked at meanwhile; once it is back, what could not
// be loaded is.
function waitForServer() {
  const look = () => session.refresh().catch(trouble);
  notice(line("away"), line("awayLong"), { words: line("tryAgain"), press: look });
  waiting ??= setInterval(look, LOOK);
}

function serverIsBack() {
  clearInterval(waiting);
  waiting = null;
  unsaid();
  open?.view.load?.();
}

async function start() {
  document.getElementById("skip").textContent = line("skip");
  document.getElementById("nav").setAttribute("aria-label", line("views"));
  session.addEventListener("gallery", () => { drawFacts(); drawNav(); });
  session.addEventListener("doubts", drawNav);
  session.addEventListener("steps", drawSteps);
  link.addEventListener("away", waitForServer);
  link.addEventListener("back", serverIsBack);
  bind({ z: () => session.step("undo"), "Shift+z": () => session.step("redo"), o: pick, c: camera, "?": help });
  drawSteps();
  try {
    await session.refresh();
  } catch (error) {
    trouble(error);
    if (session.gallery === null) return;
  }
  addEventListener("hashchange", route);
  dropped();
  route();
  listen(events);
}

start();
