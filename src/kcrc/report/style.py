"""How every page looks: the tokens of its colours, light and dark, and the rules that use them; nothing is fetched.

For and against differ by side, hatching, word and hue, so that no eye depends on one of them. Colours are named for
what they say. A page is read on a phone 360 pixels wide, on paper (always in the light colours), and without a script.
"""

from __future__ import annotations

LIGHT = {
    "bg": "#faf9f6",
    "card": "#ffffff",
    "sunk": "#efeee9",
    "line": "#dedcd6",
    "ink": "#17191d",
    "muted": "#5a5e67",
    "for": "#1b5fc1",
    "against": "#a8440c",
    "better": "#1b6e4b",
}
DARK = {
    "bg": "#101215",
    "card": "#191c20",
    "sunk": "#24282e",
    "line": "#30353c",
    "ink": "#eeeff1",
    "muted": "#a6acb6",
    "for": "#86b6ff",
    "against": "#ffa468",
    "better": "#6fcf9f",
}
TEXT = ("ink", "muted", "for", "against", "better")  # tokens that text is written in
PAPER = ("bg", "card", "sunk")  # and those it is written on


def _tokens(colours: dict[str, str]) -> str:
    return " ".join(f"--{name}: {value};" for name, value in colours.items())


_BASE = """
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; color: var(--ink); background: var(--bg); font: .9375rem/1.45 system-ui, -apple-system, "Segoe UI",
  Roboto, "Helvetica Neue", Arial, sans-serif; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
main, .top { max-width: 80rem; margin: 0 auto; padding: 0 1.5rem; }
main { padding-bottom: 3rem; }
.band { border-bottom: 1px solid var(--line); background: var(--card); }
.top { display: flex; flex-wrap: wrap; gap: 0 1rem; align-items: center; justify-content: space-between;
  padding-block: .8rem; }
.top p { margin: 0; font-size: .8125rem; color: var(--muted); } .top strong { color: var(--ink); }
.top .mark { font-size: 1.125rem; font-weight: 700; letter-spacing: -.02em; color: var(--ink); }
.mark i { display: inline-block; width: .7rem; height: .95rem; border-radius: 2px; background: var(--for);
  margin-right: .15rem; vertical-align: -.1rem; }
.mark i + i { width: .4rem; margin-right: .5rem; background: var(--hatch); border: 1px solid var(--against); }
h1, h2, h3, h4 { line-height: 1.15; letter-spacing: -.015em; margin: 0; text-wrap: balance; }
h1 { font-size: 2rem; letter-spacing: -.025em; margin-top: 1.75rem; }
h2 { font-size: 1.125rem; margin-top: 2.25rem; } h3 { font-size: .9375rem; } h4 { font-size: .8125rem; }
p { margin: .35rem 0; } .lead { color: var(--muted); font-size: .9375rem; max-width: 46rem; }
.lead strong { color: var(--ink); } .quiet { color: var(--muted); font-size: .8125rem; max-width: 52rem; }
.nowrap { white-space: nowrap; } .number { font-weight: 600; }
a { color: var(--for); text-underline-offset: .15em; } img { display: block; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 14px; padding: 1rem; }
.notice { border-left: 4px solid var(--against); padding: .1rem 0 .1rem .9rem; margin: 1.25rem 0; }
.notice h2 { margin-top: 0; }
.swatch { display: inline-block; width: .8rem; height: .8rem; border-radius: 3px; background: var(--for);
  vertical-align: -.05rem; }
.swatch.against { background: var(--hatch); border: 1px solid var(--against); }
.nopicture { display: grid; place-items: center; background: var(--sunk); color: var(--muted); font-size: .75rem;
  text-align: center; }
.bar { display: block; height: .5625rem; border-radius: 4px; background: var(--sunk); overflow: hidden;
  box-shadow: inset 0 0 0 1px var(--line); }
.bar > span { display: block; height: 100%; min-width: 1px; background: var(--muted); }
.bar > .for { background: var(--for); } .bar > .against { background: var(--hatch); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .8125rem; overflow-wrap: break-word; }
th, td { text-align: left; padding: .3rem 1rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
thead th { color: var(--muted); font-weight: 500; } tbody th { font-weight: 600; }
td.number, th.number { text-align: right; font-weight: inherit; }
details { margin-top: 1rem; } details > :not(summary) { margin-left: 0; }
summary { cursor: pointer; font-weight: 600; font-size: .8125rem; padding: .35rem 0; }
code { font: .8125rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
:focus-visible { outline: 3px solid var(--for); outline-offset: 2px; border-radius: 4px; }
.shots { display: grid; grid-template-columns: repeat(auto-fill, minmax(7rem, 1fr)); gap: .75rem; padding: 0;
  margin: .75rem 0; list-style: none; }
.shots figure { margin: 0; } figcaption { font-size: .75rem; line-height: 1.35; color: var(--muted); }
.shots figcaption { margin-top: .35rem; } figcaption strong { color: var(--ink); }
.shots img, .shots .nopicture { width: 100%; aspect-ratio: 4 / 3; object-fit: cover; border-radius: 8px;
  background: var(--sunk); }
"""

_EVIDENCE = """
.case { display: grid; grid-template-columns: 16.5rem minmax(0, 1fr); gap: 0 1.75rem; padding-top: 1.5rem; }
.case > div { grid-column: 2; grid-row: 1; } .case > div + div { grid-column: 1; }
.case + .case { border-top: 1px solid var(--line); margin-top: 2rem; }
.asked img, .asked .nopicture { width: 100%; max-height: 20rem; object-fit: contain; border-radius: 14px;
  background: var(--sunk); }
.asked .nopicture { height: 10rem; } .asked figcaption { margin-top: .4rem; } .asked { margin: 0; }
.answer { font-size: 3.75rem; font-weight: 700; letter-spacing: -.035em; line-height: 1; margin: 0; }
.answer.long { font-size: 2rem; }
.answer.longer { font-size: 1.125rem; letter-spacing: 0; line-height: 1.25; }
.answer .chance { color: var(--muted); font-weight: 400; white-space: nowrap; }
.verdict .lead { margin-top: .7rem; }
.chances { margin-top: 1.25rem; }
.chances :is(h2, h3, h4, h5) { font-size: .9375rem; margin: 0; }
.title { display: flex; flex-wrap: wrap; gap: 0 1rem; justify-content: space-between; align-items: baseline; }
.chances ul { list-style: none; padding: 0; margin: .5rem 0; } .chances li { margin-top: .6rem; }
.chances li p { margin: 0 0 .2rem; } .chances .quiet { margin-top: .8rem; }
.sides { display: grid; grid-template-columns: var(--across); gap: 0 .25rem; margin-top: 1.25rem; }
.side { display: contents; } .tiles { grid-row: 2; }
.side :is(h2, h3, h4, h5) { grid-row: 1; align-self: end; font-size: .9375rem; margin: 0 0 .5rem; font-weight: 400;
  line-height: 1.3; letter-spacing: 0; text-wrap: wrap; }
.side strong { color: var(--for); } .side.against strong { color: var(--against); }
.side + .side :is(h2, h3, h4, h5) { text-align: right; }
.side small { font-size: .8125rem; color: var(--muted); }
.tiles { position: relative; width: 100%; aspect-ratio: var(--shape); }
.tile { position: absolute; margin: 0; padding: 2px; left: var(--x); top: var(--y); width: var(--w); height: var(--h); }
.tile > div { position: relative; height: 100%; overflow: hidden; border-radius: 8px; border: 3px solid var(--for);
  border-bottom-width: 8px; background: var(--sunk); }
.against .tile > div { border-color: var(--against); border-bottom-width: 3px; }
.against .tile > div::after { content: ""; position: absolute; inset: auto 0 0; height: 6px; background: var(--hatch); }
.tile img, .tile .nopicture { width: 100%; height: 100%; object-fit: cover; }
.tile .whole { object-fit: contain; }
.tile figcaption { position: absolute; left: .3rem; bottom: .55rem; background: rgba(16, 18, 21, .86); color: #fff;
  border-radius: 4px; padding: .05rem .35rem; font-size: .8125rem; font-weight: 600; line-height: 1.4;
  max-width: calc(100% - .6rem); white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.tile figcaption small { display: block; font-weight: 400; overflow: hidden; text-overflow: ellipsis; }
.tile.big figcaption { font-size: 1.125rem; } .tile.tiny figcaption { left: 0; bottom: .3rem; font-size: .6875rem;
  padding: 0 .2rem; }
.tile.tiny figcaption { max-width: 100%; } .rest span { display: block; white-space: nowrap; }
.tile.rest > div { display: grid; place-items: center; border-width: 1px; background: var(--card); }
.tile.rest figcaption { position: static; padding: 0; background: none; color: var(--for); font-size: .75rem;
  line-height: 1.25; text-align: center; }
.against .tile.rest figcaption { color: var(--against); } .against .tile.rest > div::after { content: none; }
.beam { position: relative; height: .5625rem; border-radius: 4px; margin-top: 1.1rem; background: var(--hatch); }
.beam .part { display: block; height: 100%; border-radius: 4px 0 0 4px; background: var(--for); }
.beam .even { position: absolute; left: calc(50% - 1px); top: -.35rem; bottom: -.35rem; width: 2px;
  background: var(--ink); box-shadow: 0 0 0 1px var(--bg); }
.beam .knob { position: absolute; top: -.2rem; width: .95rem; height: .95rem; margin-left: -.475rem; border-radius: 50%;
  background: var(--ink); border: 2px solid var(--bg); }
.even-words { text-align: center; font-size: .75rem; color: var(--muted); margin-top: .5rem; }
.mind :is(h2, h3, h4) { font-size: .9375rem; margin: 1.25rem 0 .6rem; }
.ifs { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 20rem), 1fr)); gap: .75rem; }
.ifs .card { padding: .75rem 1rem; } .ifs p { margin: 0 0 .1rem; } .changed strong { color: var(--against); }
.left-out { display: flex; gap: .3rem; align-items: center; margin-top: .5rem; font-size: .75rem; color: var(--muted); }
.left-out img, .left-out .nopicture { width: 2.5rem; height: 2.5rem; object-fit: cover; border-radius: 4px; }
.strip { display: flex; flex-wrap: wrap; gap: .5rem; padding: 0; margin: 1rem 0 0; list-style: none; }
.strip a { display: flex; align-items: center; gap: .6rem; padding: .35rem .8rem .35rem .35rem; min-height: 2.75rem;
  color: inherit; text-decoration: none; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
.strip img, .strip .nopicture { width: 2.75rem; height: 2.75rem; object-fit: cover; border-radius: 4px; flex: none; }
@media print, screen and (max-width: 46rem) {
  .case { grid-template-columns: 6.5rem minmax(0, 1fr); gap: 0 .9rem; padding-top: 1rem; }
  .case > div { display: contents; }
  .asked { grid-column: 1; grid-row: 1; } .verdict { grid-column: 2; grid-row: 1; align-self: center; }
  .asked img { max-height: 9rem; } .answer { font-size: 2.375rem; } .answer.long { font-size: 1.5rem; }
  .answer.longer { font-size: .9375rem; }
  .verdict .lead { margin-top: .4rem; }
  .evidence { grid-column: 1 / 3; grid-row: 2; } .chances { grid-column: 1 / 3; grid-row: 3; }
  .numbers { grid-column: 1 / 3; grid-row: 4; min-width: 0; }
}
@media screen and (max-width: 46rem) {
  main, .top { padding-inline: 1rem; }
  h1 { font-size: 1.5rem; margin-top: 1.25rem; } .asked figcaption { display: none; }
  .sides, .side { display: block; } .side + .side { margin-top: .75rem; }
  .side + .side :is(h2, h3, h4, h5) { text-align: left; }
  .tiles { aspect-ratio: var(--narrow-shape); }
  .tile { left: var(--nx); top: var(--ny); width: var(--nw); height: var(--nh); padding: 1px; }
  .tile > div { border-width: 2px; border-bottom-width: 6px; }
  .tile:not(.rest) figcaption { left: 0; bottom: .2rem; padding: 0 .15rem; max-width: 100%; font-size: .6875rem;
    text-overflow: clip; }
  .tile.big figcaption { font-size: .9375rem; padding: 0 .3rem; } .tile.rest figcaption { font-size: .6875rem; }
}
"""

_AUDIT = """
.finding { margin-top: 1rem; padding: 1.1rem 1.25rem .5rem; } .finding h3 { font-size: 1.5rem; letter-spacing: -.02em; }
.between { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 15rem) minmax(0, 1fr); gap: 1.25rem;
  margin: .9rem 0; align-items: start; }
.doubted { margin: 0; } .doubted img, .doubted .nopicture { width: 100%; height: 15rem; object-fit: contain;
  background: var(--sunk); border-radius: 14px; }
.doubted figcaption { margin-top: .4rem; text-align: center; }
.beside { border: 1px solid var(--line); border-radius: 14px; padding: .9rem; position: relative; overflow: hidden; }
.beside::before { content: ""; position: absolute; inset: 0 0 auto; height: 5px; background: var(--for); }
.beside.against::before { background: var(--hatch); }
.beside h4 { font-size: .9375rem; } .beside .shots { grid-template-columns: repeat(3, minmax(0, 1fr)); gap: .5rem;
  margin: .6rem 0 0; }
.pairs { display: grid; grid-template-columns: repeat(auto-fill, minmax(19rem, 1fr)); gap: 1rem; margin-top: .75rem; }
.pairs .shots { grid-template-columns: 1fr 1fr; }
.tick { display: inline-flex; align-items: center; gap: .5rem; min-height: 2.75rem; font-weight: 600; cursor: pointer; }
.tick input { width: 1.25rem; height: 1.25rem; accent-color: var(--for); margin: 0; }
body { counter-reset: ticked; } input:checked { counter-increment: ticked; }
.count::before { content: counter(ticked); }
.ticked { position: sticky; bottom: 0; margin: 1.5rem -1.5rem 0; padding: .8rem 1.5rem; background: var(--card);
  border-top: 1px solid var(--line); font-weight: 600; }
.commands { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .9rem 1rem;
  margin: .75rem 0; min-height: 3rem; overflow-x: auto; user-select: all; }
.line { display: block; } .off { display: none; }
@media screen and (max-width: 46rem) {
  .finding { padding: .9rem .9rem .4rem; } .finding h3 { font-size: 1.125rem; }
  .between { grid-template-columns: 1fr 1fr; gap: .6rem; } .doubted { grid-column: 1 / 3; grid-row: 1; }
  .beside { padding: .7rem .6rem .6rem; } .beside .shots { grid-template-columns: 1fr 1fr; }
  .beside li:nth-child(n + 5) { display: none; }
  .pairs { grid-template-columns: minmax(0, 1fr); }
  .ticked { margin-inline: -1rem; padding-inline: 1rem; } .commands { white-space: pre-wrap; }
}
"""

_LISTS = """
.halves { display: grid; grid-template-columns: minmax(0, 1fr) 22rem; gap: 0 2rem; align-items: start; }
.halves h2 { margin-top: 1.75rem; }
.learning { padding: 1.1rem 1.5rem 2.6rem 3.4rem; margin-top: .75rem; }
.plot { position: relative; height: 13rem; font-size: .75rem; color: var(--muted); }
.plot svg { position: absolute; inset: 0; width: 100%; height: 100%; overflow: visible; }
.plot span { position: absolute; } .plot .rule { left: 0; right: 0; border-top: 1px solid var(--line); }
.plot .height { white-space: nowrap; right: calc(100% + .6rem); transform: translateY(-50%); }
.plot .size { top: calc(100% + .6rem); transform: translateX(-50%); white-space: nowrap; }
.plot .dot { width: .7rem; height: .7rem; margin: -.35rem; border-radius: 50%; background: var(--for); z-index: 1; }
.plot .measured { fill: var(--for); opacity: .18; } .plot .expected { fill: var(--muted); opacity: .18; }
.plot .curve { fill: none; stroke: var(--for); stroke-width: 2.5; stroke-linejoin: round; }
.plot .ahead { stroke: var(--muted); stroke-dasharray: 4 4; } .card + .quiet { margin-top: .6rem; }
.classes { list-style: none; padding: 0; margin: .75rem 0; display: grid; gap: .9rem 1.5rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 22rem), 1fr)); }
.classes li { display: grid; grid-template-columns: 2.75rem minmax(0, 1fr); gap: .75rem; align-items: start;
  scroll-margin-top: 1rem; }
.classes li > img, .classes li > .nopicture { width: 2.75rem; height: 2.75rem; object-fit: cover; border-radius: 8px; }
.classes .plain { grid-template-columns: minmax(0, 1fr); } .classes p { margin: 0; } .classes .bar { margin: .2rem 0; }
.gain { color: var(--better); font-weight: 600; }
.steps { list-style: none; counter-reset: step; padding: 0; margin: .75rem 0; display: grid; gap: .75rem; }
.steps > li { counter-increment: step; } .steps h3::before { content: counter(step) ". "; }
.steps > li:first-child { border: 2px solid var(--ink); } .steps ul { margin: .4rem 0 0; padding-left: 1.1rem; }
.measured-share { margin-top: 1.75rem; }
.measured-share .chance { font-size: 2rem; letter-spacing: -.02em; white-space: normal; }
.kinds { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 19rem), 1fr)); gap: 1.25rem .75rem;
  margin-top: 1rem; align-items: start; }
.pair { scroll-margin-top: 1rem; } .pair h3 { font-weight: 400; }
.pair:target { outline: 3px solid var(--for); outline-offset: 8px; border-radius: 8px; }
.mistakes { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 19rem), 1fr)); gap: .75rem;
  margin-top: .6rem; align-items: start; }
.mistake { padding: .75rem; } .mistake details { margin-top: .3rem; }
.mistake:has(details[open]), .pair:has(details[open]) { grid-column: 1 / -1; }
.said { display: grid; grid-template-columns: 6.5rem minmax(0, 1fr); gap: .9rem; align-items: center; }
.said img, .said .nopicture { width: 100%; height: 6.5rem; object-fit: cover; border-radius: 8px;
  background: var(--sunk); }
.said p { margin: .1rem 0; }
.confusion { border-collapse: separate; border-spacing: 2px; margin: .75rem 0; }
.confusion th, .confusion td { border: 0; padding: 0; vertical-align: middle; }
.confusion thead th { vertical-align: bottom; } .confusion thead span { writing-mode: vertical-rl;
  transform: rotate(180deg); white-space: nowrap; display: inline-block; padding: .3rem 0; }
.confusion tbody th { position: sticky; left: 0; background: var(--bg); padding-right: .6rem; white-space: nowrap; }
.confusion .corner { font-size: .75rem; color: var(--muted); vertical-align: bottom; padding: 0 .6rem .3rem 0; }
.confusion tbody td { width: 2.25rem; height: 2.25rem; text-align: center; background: var(--sunk);
  border-radius: 4px; }
.confusion tbody td:empty { background: var(--card); box-shadow: inset 0 0 0 1px var(--line); }
.confusion .right { color: var(--for); }
.confusion tbody .wrong { background: var(--against); color: var(--card); font-weight: 700; }
.confusion a { display: grid; place-items: center; width: 100%; height: 100%; min-height: 2.25rem; color: inherit; }
@media screen and (max-width: 46rem) {
  .measured-share .chance { font-size: 1.125rem; display: block; letter-spacing: 0; margin-top: .4rem; }
}
@media (min-width: 46rem) { .pair.several { grid-column: span 2; } }
@media (min-width: 66rem) { .pair.many { grid-column: 1 / -1; } }
@media screen and (max-width: 60rem) {
  .halves { grid-template-columns: minmax(0, 1fr); } .halves > aside { grid-row: 1; }
}
"""

_PRINT = """
@media print {
  body { font-size: 10pt; background: #fff; } .band { background: #fff; }
  main, .top { max-width: none; padding-inline: 0; }
  h1, h2, h3, summary { break-after: avoid; }
  figure, tr, .card, .case > div > *, .sides { break-inside: avoid; }
  .case { grid-template-columns: 10rem minmax(0, 1fr); } .between { grid-template-columns: 1fr 9rem 1fr; }
  .doubted img, .doubted .nopicture { height: 9rem; }
  .case + .case { break-before: page; border: 0; } .halves { display: block; }
  a { color: inherit; text-decoration: none; } .ticked { position: static; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""

_HATCH = "--hatch: repeating-linear-gradient(135deg, var(--against) 0 3px, var(--card) 3px 5px);"

STYLE = (
    f":root {{ color-scheme: light dark; {_tokens(LIGHT)} {_HATCH} }}\n"
    f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {_tokens(DARK)} }} }}"
    f"{_BASE}{_EVIDENCE}{_AUDIT}{_LISTS}{_PRINT}"
)
