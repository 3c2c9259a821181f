// Where the pictures of a map lie: a grid for each level of zoom, with twice as many columns and rows as the last one.
// Every picture, name and question has cells of its own, as near to its place as is free, so nothing covers anything.

const [SMALLEST, LARGEST] = [34, 72]; // pixels of a cell
const ROOM = 2.2; // cells for each picture where there is room, that near may mean alike
const FULL = 1.6; // cells for each picture where there is little
const LEVELS = 9;
const LETTER = 8; // pixels, about
const NAMES = 60; // classes that are named

export function cellSide(count, width, height) {
  return Math.min(LARGEST, Math.max(SMALLEST, Math.sqrt((width * height) / (Math.max(1, count) * ROOM))));
}

// `points` have x and y from −1 to 1; those that come first are placed first. `question` are the examples that decided
// it, null where nothing is asked. Gives the places of as many as fit: { places, names, asked, at(column, row), … }.
export function grid(points, { level, side, width, height, question }) {
  const columns = Math.max(1, Math.floor(width / side)) * 2 ** level;
  const rows = Math.max(1, Math.floor(height / side)) * 2 ** level;
  const cells = new Int32Array(columns * rows).fill(-1); // which picture; −2: kept for something else
  const scale = spread(points);
  const wish = (point) => {
    const [x, y] = scale(point);
    return [Math.round(x * (columns - 1)), Math.round(y * (rows - 1))];
  };
  const take = (column, row, wide, deep, what) => {
    for (let at = 0; at < wide * deep; at += 1) {
      cells[(row + Math.floor(at / wide)) * columns + column + (at % wide)] = what;
    }
  };
  // The nearest place that is free, in squares around the one wished for; null where there is none within `far`.
  const nearest = ([column, row], wide = 1, deep = 1, far = Math.max(columns, rows)) => {
    const free = (x, y) => {
      if (x < 0 || y < 0 || x + wide > columns || y + deep > rows) return false;
      for (let at = 0; at < wide * deep; at += 1) {
        if (cells[(y + Math.floor(at / wide)) * columns + x + (at % wide)] !== -1) return false;
      }
      return true;
    };
    for (let ring = 0; ring <= far; ring += 1) {
      let best = null;
      for (let off = -ring; off <= ring; off += 1) {
        const around = [[column + off, row - ring], [column + off, row + ring], [column - ring, row + off],
          [column + ring, row + off]];
        for (const [x, y] of around) {
          const away = (x - column) ** 2 + (y - row) ** 2;
          if (free(x, y) && (best === null || away < best.away)) best = { x, y, away };
        }
      }
      if (best !== null) return [best.x, best.y];
    }
    return null;
  };

  const deciding = question === null ? [] : points.filter((point) => question.has(point.id));
  let asked = null;
  if (deciding.length > 0 && columns > 8 && rows > 8) {
    const middle = (name) => deciding.reduce((sum, one) => sum + one[name], 0) / deciding.length;
    const [column, row] = wish({ x: middle("x"), y: middle("y") });
    asked = { column: Math.min(column, columns - 2), row: Math.min(row, rows - 2) };
    take(asked.column, asked.row, 2, 2, -2);
  }
  const names = [];
  for (const [label, [column, row]] of middles(points, wish)) {
    const wide = Math.min(columns, Math.ceil((LETTER * Math.min(label.length, 22) + 22) / side));
    const place = nearest([Math.max(0, column - (wide >> 1)), row], wide, 1, 6);
    if (place === null) continue;
    take(...place, wide, 1, -2);
    names.push({ label, column: place[0], row: place[1], wide });
  }
  const most = Math.min(points.length, Math.floor((columns * rows) / FULL));
  const places = [];
  for (const point of [...deciding, ...points.filter((one) => !deciding.includes(one)).slice(0, most)]) {
    const place = nearest(wish(point));
    if (place === null) break;
    take(...place, 1, 1, places.length);
    places.push({ ...point, column: place[0], row: place[1] });
  }
  const at = (column, row) => (column < 0 || row < 0 || column >= columns || row >= rows ? undefined
    : places[cells[row * columns + column]]);
  return { level, side, columns, rows, places, names, asked, at };
}

// The first level at which all of them have a place.
export function lastLevel(count, side, width, height) {
  let level = 0;
  const cells = Math.floor(width / side) * Math.floor(height / side);
  while (level < LEVELS && Math.floor((cells * 4 ** level) / FULL) < count) level += 1;
  return level;
}

function spread(points) {
  const wider = ([low, high], value) => [Math.min(low, value), Math.max(high, value)];
  const ends = (name) => points.map((point) => point[name]).reduce(wider, [Infinity, -Infinity]);
  const [across, down] = [ends("x"), ends("y")];
  const share = (value, [low, high]) => (high === low ? 0.5 : (value - low) / (high - low));
  return (point) => [share(point.x, across), share(point.y, down)];
}

// The classes with most pictures, each with the middle of them.
function middles(points, wish) {
  const groups = [...Map.groupBy(points, (point) => point.label)].sort((a, b) => b[1].length - a[1].length);
  return groups.slice(0, NAMES).map(([label, members]) => {
    const middle = (name) => members.map((one) => one[name]).sort((a, b) => a - b)[members.length >> 1];
    return [label, wish({ x: middle("x"), y: middle("y") })];
  });
}
