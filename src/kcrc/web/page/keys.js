// Keys: a view's own first, then those of the whole page; none while somebody types or a dialog is open.

const tables = [];

export function bind(table) {
  tables.unshift(table);
  return () => tables.splice(tables.indexOf(table), 1);
}

function typing(target) {
  return target.closest("input:not([type=checkbox]):not([type=radio]), textarea, select, dialog") !== null;
}

// Space and Enter belong to what has the focus where they press it; Enter presses no tick box.
function taken(event) {
  if (event.key === "Enter") return event.target.closest("button, a, summary") !== null;
  return event.key === " " && event.target.closest("button, a, input, summary, label") !== null;
}

function dispatched(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || taken(event)) return;
  const letter = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const shifted = event.shiftKey && /^[a-z]$/.test(letter) ? `Shift+${letter}` : letter;
  const name = event.type === "keyup" ? `up ${shifted}` : shifted;
  for (const table of tables) {
    if (table[name] !== undefined) {
      event.preventDefault();
      if (!event.repeat) table[name](event);
      return;
    }
  }
}

document.addEventListener("keydown", dispatched);
document.addEventListener("keyup", dispatched);
