// Boxes whose areas are given: a side of the seam is filled from the seam outwards, each box as near to a square as
// comes easily. Pixels throughout.

// `areas` fall. A column or row takes the next one for as long as that makes the flattest of its boxes less flat.
export function tiled(areas, width, height) {
  const scale = (width * height) / areas.reduce((a, b) => a + b, 0);
  let left = areas.map((area) => area * scale);
  let [x, y, across, down] = [0, 0, width, height];
  const boxes = [];
  while (left.length > 0) {
    const short = Math.min(across, down);
    let taken = 1;
    while (taken < left.length && flattest(left.slice(0, taken + 1), short) <= flattest(left.slice(0, taken), short)) {
      taken += 1;
    }
    const row = left.slice(0, taken);
    left = left.slice(taken);
    const thick = row.reduce((a, b) => a + b, 0) / short;
    let at = 0;
    for (const area of row) {
      const long = area / thick;
      boxes.push(across >= down ? { x, y: y + at, width: thick, height: long }
        : { x: x + at, y, width: long, height: thick });
      at += long;
    }
    if (across >= down) [x, across] = [x + thick, across - thick];
    else [y, down] = [y + thick, down - thick];
  }
  return boxes;
}

function flattest(row, short) {
  const thick = row.reduce((a, b) => a + b, 0) / short;
  return Math.max(...row.map((area) => Math.max((thick * thick) / area, area / (thick * thick))));
}

const EMPTY = 4; // pixels

// Boxes of one size that fill a rectangle row by row: for answers without opponents.
export function even(count, width, height) {
  const worth = (across) => { // the shorter side of a box, less something for each place that stays empty
    const down = Math.ceil(count / across);
    return Math.min(width / across, height / down) - EMPTY * (across * down - count);
  };
  const choices = Array.from({ length: count }, (_, at) => at + 1);
  const columns = choices.reduce((best, across) => (worth(across) > worth(best) ? across : best));
  const rows = Math.ceil(count / columns);
  return Array.from({ length: count }, (_, at) => ({
    x: ((at % columns) * width) / columns, y: (Math.floor(at / columns) * height) / rows,
    width: width / columns, height: height / rows,
  }));
}

const NARROWEST = 0.24; // of the width, for a side that weighs little: it is less high instead

// The two sides in a rectangle, with the same area for the same share; beside each other, or on a phone one below the
// other. Each is { x, y, width, height }.
export function sides(shares, width, height, { gap, stacked }) {
  if (shares.length === 1) return [{ x: 0, y: 0, width, height }];
  const room = (stacked ? height : width) - gap;
  const first = Math.min(Math.max(shares[0], NARROWEST), 1 - NARROWEST);
  const parts = [first * room, (1 - first) * room];
  const densest = Math.max(shares[0] / parts[0], shares[1] / parts[1]);
  const full = stacked ? width : height;
  const deep = shares.map((share, at) => Math.max((share / parts[at] / densest) * full, 0.18 * full));
  return stacked
    ? [{ x: 0, y: 0, width: deep[0], height: parts[0] }, { x: 0, y: parts[0] + gap, width: deep[1], height: parts[1] }]
    : [{ x: 0, y: 0, width: parts[0], height: deep[0] }, { x: parts[0] + gap, y: 0, width: parts[1], height: deep[1] }];
}
