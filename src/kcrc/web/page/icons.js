// Small drawings for the views, in the colour of the text beside them.

import { svg } from "./dom.js";

const PATHS = {
  ask: "M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4",
  teach: "M4 5h16v11H9l-5 4z",
  browse: "M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z",
  audit: "M12 4v15M8 19h8M5 7h14M5 7l-3 7h6zM19 7l-3 7h6z",
  enough: "M4 4v16h16M7 17c2-8 5-10 12-11",
  history: "M4 12a8 8 0 1 0 3-6.2M4 4v4h4M12 8v5l3 2",
};

export const icon = (name) => svg("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" },
  svg("path", { d: PATHS[name] }));
