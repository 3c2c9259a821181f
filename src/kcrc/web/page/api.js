// The server's doors, each a function. What it refuses is a Refused with its words; where it is not there, Away.

export class Refused extends Error {
  constructor(status, body) {
    super(body.error ?? `${status}`);
    this.status = status;
    this.conflict = body.conflict ?? null;
  }
}

export class Away extends Error {}

function kept(name, make) {
  const old = sessionStorage.getItem(name);
  if (old !== null) return old;
  const made = make();
  sessionStorage.setItem(name, made);
  return made;
}

const random = () => [...crypto.getRandomValues(new Uint32Array(4))].map((part) => part.toString(36)).join("");
const person = kept("person", random); // says nothing about who sits here

export const link = new EventTarget(); // "away" and "back"
let away = false;

function heard(now) {
  if (now !== away) {
    away = now;
    link.dispatchEvent(new Event(now ? "away" : "back"));
  }
}

async function answered(path, options = {}) {
  let reply;
  try {
    reply = await fetch(path, { ...options, headers: { "X-Kcrc-Person": person, ...options.headers } });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    heard(true);
    throw new Away(path);
  }
  heard(false);
  if (reply.ok) return reply;
  throw new Refused(reply.status, await reply.json().catch(() => ({})));
}

const get = async (path) => (await answered(path)).json();
const send = (path, body, more = {}) => answered(path, { method: "POST", body, ...more });
const post = async (path, body = {}, more = {}) => (await send(path, JSON.stringify(body), {
  ...more, headers: { "Content-Type": "application/json" },
})).json();
const bytes = async (path, blob) => (await send(path, blob, {
  headers: {
    "Content-Type": blob.type || "application/octet-stream", "X-Kcrc-Name": encodeURIComponent(blob.name),
  },
})).json();

const PAUSE = 500; // milliseconds

// What the server works out behind the requests: asked again until it is there.
async function worked(path) {
  for (;;) {
    const found = await get(path);
    if (!found.working) return found;
    await new Promise((resolve) => { setTimeout(resolve, PAUSE); });
  }
}

const asQuery = (values) => new URLSearchParams(Object.entries(values).filter(([, v]) => v !== undefined && v !== ""));

export const api = {
  health: () => get("/api/health"),
  gallery: () => get("/api/gallery"),
  classify: (file) => bytes("/api/classify", file),
  classifyAgain: async (pictures, signal) => (await post("/api/classify", { pictures }, { signal })).verdicts,
  upload: (file) => bytes("/api/pictures", file),
  whatIf: (question, signal) => post("/api/what-if", question, { signal }),
  turning: (picture, signal) => post("/api/turning", { picture }, { signal }),
  whyNot: (question, signal) => post("/api/why-not", question, { signal }),
  preview: (change, signal) => post("/api/preview", change, { signal }),
  // A change names the revision that the page showed: if somebody else changed the same since, it is refused.
  add: (pictures, label, newClass, revision) => post("/api/add", { pictures, label, new_class: newClass, revision }),
  relabel: (examples, label, expect, revision, newClass = false) =>
    post("/api/relabel", { examples, label, expect, new_class: newClass, revision }),
  remove: (examples, revision) => post("/api/remove", { examples, erase: false, revision }),
  rename: (old, to, merge, revision) => post("/api/rename", { old, new: to, merge, revision }),
  undo: () => post("/api/undo"),
  redo: () => post("/api/redo"),
  classes: () => get("/api/classes"), // with `working`: more is known in a while
  classesInFull: async () => (await worked("/api/classes")).classes,
  examples: (which) => get(`/api/examples?${asQuery(which)}`),
  example: (id) => get(`/api/examples/${id}`),
  map: () => worked("/api/map"),
  audit: () => worked("/api/audit"),
  keep: (id, revision) => post("/api/audit/keep", { id, revision }),
  advise: async () => (await worked("/api/advise")).advice, // null: too few examples to tell
  history: async (limit) => (await get(`/api/history?${asQuery({ limit })}`)).entries,
  before: (act, picture) => post("/api/history/before", { act, picture }),
  queue: (order) => get(`/api/queue?${asQuery({ order })}`),
  enqueue: (file) => bytes("/api/queue", file),
  labelQueued: (pictures, label, newClass, revision) =>
    post("/api/queue/label", { pictures, label, new_class: newClass, revision }),
  skip: (pictures) => post("/api/queue/skip", { pictures }),
  page: async (picture) => (await send("/api/case", JSON.stringify({ picture }), {
    headers: { "Content-Type": "application/json" },
  })).blob(),
};

// What the server says by itself; the browser connects again on its own.
export function listen(heardOf) {
  const source = new EventSource("/api/events");
  source.addEventListener("message", (event) => heardOf(JSON.parse(event.data)));
  source.addEventListener("open", () => heard(false));
  source.addEventListener("error", () => {
    if (source.readyState !== EventSource.OPEN) api.health().catch(() => {});
  });
  return source;
}

// A picture in question. The server lets pictures go after a while; they are sent again then.
export async function about(picture, doing) {
  try {
    return await doing(picture.id);
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 404) throw error;
    picture.id = (await api.upload(picture.file)).picture;
    return doing(picture.id);
  }
}
