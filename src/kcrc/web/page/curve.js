// Right answers by number of examples: measured so far with the band they lie in, and where twice as many would lead.

import { svg } from "./dom.js";
import { line } from "./words.js";

const [HIGH, LEFT, DOWN] = [230, 40, 26];

// `wide`: of its own pixels, so that its text is as large as that around it.
export function curve({ curve: points, doubled, right, examples }, { wide = 820 } = {}) {
  const WIDE = innerWidth < 740 ? 340 : wide;
  const last = points.at(-1);
  const ends = doubled === null ? [] : [doubled.low, doubled.high].map((gain) => last.accuracy + gain);
  const lowest = Math.min(...points.map((point) => point.low), ...ends);
  const floor = Math.max(0, Math.min(0.75, Math.floor(lowest * 4 - 0.2) / 4));
  const [first, most] = [points[0].examples, last.examples * (ends.length > 0 ? 2 : 1)];
  const x = (count) => LEFT + ((WIDE - LEFT - 16) * Math.log(count / first)) / Math.log(most / first);
  const y = (share) => 10 + (HIGH - DOWN - 16) * (1 - (Math.min(1, share) - floor) / (1 - floor));
  const path = (pairs) => pairs.map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`).join(" ");
  const band = (low, high) => path([...low, ...[...high].reverse()]);
  const ticks = [1, 0.75, 0.5, 0.25, 0].filter((share) => share >= floor);
  const text = (words, at, up, anchor = "middle") => {
    const node = svg("text", { x: at, y: up, "text-anchor": anchor });
    node.textContent = words;
    return node;
  };
  const here = [last.examples, last.accuracy];
  const ahead = ends.length === 0 ? [] : [
    svg("polygon", { class: "expected", points: band([here, [most, ends[0]]], [here, [most, ends[1]]]) }),
    svg("polyline", { class: "ahead", points: path([here, [most, last.accuracy + doubled.likely]]) }),
    text(line("twice", { n: most }), WIDE - 16, HIGH - 4, "end"),
  ];
  const by = (name) => points.map((point) => [point.examples, point[name]]);
  const said = line("curveLabel", { n: examples, right: Math.round(100 * right) });
  return svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "curve", role: "img", "aria-label": said },
  ticks.map((share) => [
    svg("line", { class: "rule", x1: LEFT, x2: WIDE - 16, y1: y(share), y2: y(share) }),
    text(`${Math.round(100 * share)}`, LEFT - 8, y(share) + 4, "end"),
  ]),
  svg("polygon", { class: "measured", points: band(by("low"), by("high")) }),
  ahead,
  svg("polyline", { class: "line", points: path(by("accuracy")) }),
  svg("circle", { class: "dot", cx: x(last.examples), cy: y(last.accuracy), r: 5 }),
  text(`${first}`, LEFT, HIGH - 4, "start"),
  text(line("now", { n: last.examples }), x(last.examples), HIGH - 4, ends.length > 0 ? "middle" : "end"));
}
