// Discord's Markdown as elements. Nothing is ever parsed as HTML.

import { h, icon } from "/dom.js";
import { channel, nameOf, server, state } from "/api.js";

export function markdown(text) {
  return blocks(text.split("\n"));
}

function blocks(lines) {
  const out = [];
  let paragraph = [];
  const flush = () => {
    if (paragraph.length) out.push(h("p", {}, joined(paragraph)));
    paragraph = [];
  };
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at];
    const fence = line.match(/^(.*?)(`{3,})([\w+#.-]*)$/) ?? line.match(/^(.*?)(`{3,})()(?=[^`])/);
    if (fence && closing(lines, at, fence[2]) !== null) {
      const end = closing(lines, at, fence[2]);
      if (fence[1].trim()) paragraph.push(fence[1]);
      flush();
      out.push(code(lines, at, end, fence));
      const rest = end.line === at ? "" : lines[end.line].slice(end.column + fence[2].length);
      if (rest.trim()) paragraph.push(rest);
      at = end.line;
      continue;
    }
    const heading = line.match(/^(#{1,3}) (.+)$/);
    const small = line.match(/^-# (.+)$/);
    if (heading) {
      flush();
      out.push(h(`h${heading[1].length + 2}`, {}, inline(heading[2])));
    } else if (small) {
      flush();
      out.push(h("p.small", {}, inline(small[1])));
    } else if (/^>>> ?/.test(line)) {
      flush();
      out.push(h("blockquote", {}, blocks([line.replace(/^>>> ?/, ""), ...lines.slice(at + 1)])));
      return out;
    } else if (/^> ?/.test(line)) {
      flush();
      const quoted = [];
      while (at < lines.length && /^> ?/.test(lines[at])) quoted.push(lines[at++].replace(/^> ?/, ""));
      at -= 1;
      out.push(h("blockquote", {}, blocks(quoted)));
    } else if (item(line)) {
      flush();
      const entries = [item(line)];
      at += 1;
      while (at < lines.length && continues(entries[0], item(lines[at]))) entries.push(item(lines[at++]));
      at -= 1;
      out.push(list(entries));
    } else if (line.trim() === "") {
      flush();
    } else {
      paragraph.push(line);
    }
  }
  flush();
  return out;
}

// Where the fence that opens on line `at` is closed.
function closing(lines, at, fence) {
  const same = lines[at].indexOf(fence) + fence.length;
  const inLine = lines[at].indexOf(fence, same);
  if (inLine > same) return { line: at, column: inLine };
  for (let line = at + 1; line < lines.length; line += 1) {
    const column = lines[line].indexOf(fence);
    if (column >= 0) return { line, column };
  }
  return null;
}

function code(lines, at, end, fence) {
  const start = fence[1].length + fence[2].length;
  const text = end.line === at
    ? lines[at].slice(start, end.column)
    : [lines[at].slice(start + fence[3].length), ...lines.slice(at + 1, end.line), lines[end.line].slice(0, end.column)]
        .join("\n").replace(/^\n/, "").replace(/\n$/, "");
  const copy = h("button.copy", {
    type: "button",
    "aria-label": "Copy the code",
    title: "Copy",
    onclick: () => navigator.clipboard?.writeText(text),
  }, icon("copy"));
  return h("div.code", {}, fence[3] ? h("span.lang", {}, fence[3]) : null, copy, h("pre", { tabindex: "0" }, h("code", {}, text)));
}

function item(line) {
  const found = line.match(/^( *)(?:([-*])|(\d{1,9})[.)]) (.*)$/);
  return found && { depth: found[1].length, number: found[3], text: found[4] };
}

// Whether an entry belongs to the list that begins with `first`: deeper, or of the same kind.
function continues(first, entry) {
  return entry && (entry.depth > first.depth || (entry.number === undefined) === (first.number === undefined));
}

function list(entries) {
  const base = entries[0].depth;
  const ordered = entries[0].number !== undefined;
  const element = h(ordered ? "ol" : "ul", ordered ? { start: entries[0].number } : {});
  for (let at = 0; at < entries.length; at += 1) {
    const nested = [];
    const own = entries[at];
    while (at + 1 < entries.length && entries[at + 1].depth > base) nested.push(entries[++at]);
    element.append(h("li", {}, inline(own.text), nested.length ? list(nested) : null));
  }
  return element;
}

function joined(lines) {
  return lines.flatMap((line, at) => (at ? [h("br"), ...inline(line)] : inline(line)));
}

// Each rule: what it looks like, and what it becomes. The earliest match wins, then the first rule.
const RULES = [
  [/\\([^0-9A-Za-z\s])/, (m) => m[1]],
  [/(`+)([^`]|[^`].*?[^`])\1(?!`)/, (m) => h("code", {}, m[2].replace(/^ (.*`.*) $/, "$1"))],
  [/<@!?(\d+)>/, (m) => h("span.mention", {}, `@${nameOf(m[1])}`)],
  [/<@&(\d+)>/, (m) => h("span.mention", {}, `@${server()?.roles.find((one) => one.id === m[1])?.name ?? "role"}`)],
  [/<#(\d+)>/, (m) => channelLink(m[1])],
  [/<\/([\w -]+):(\d+)>/, (m) => h("span.mention", {}, `/${m[1]}`)],
  [/<t:(-?\d+)(?::([tTdDfFR]))?>/, (m) => time(Number(m[1]), m[2])],
  [/<(https?:\/\/[^\s>]+)>/, (m) => link(m[1], m[1])],
  [/\[([^\]\n]+)\]\(<?(https?:\/\/[^\s)>]+)>?\)/, (m) => link(m[2], inline(m[1]))],
  [/https?:\/\/[^\s<>()]+[^\s<>().,;:!?'"]/, (m) => link(m[0], m[0])],
  [/@(everyone|here)\b/, (m) => h("span.mention", {}, m[0])],
  [/\|\|(.+?)\|\|/s, (m) => spoiler(m[1])],
  [/\*\*\*(.+?)\*\*\*/s, (m) => h("strong", {}, h("em", {}, inline(m[1])))],
  [/\*\*(.+?)\*\*(?!\*)/s, (m) => h("strong", {}, inline(m[1]))],
  [/__(.+?)__(?!_)/s, (m) => h("u", {}, inline(m[1]))],
  [/~~(.+?)~~/s, (m) => h("s", {}, inline(m[1]))],
  [/\*(?![\s*])([^*]+?)\*(?!\*)/s, (m) => h("em", {}, inline(m[1]))],
  [/(?<![\w])_(?![\s_])([^_]+?)_(?![\w])/s, (m) => h("em", {}, inline(m[1]))],
];

export function inline(text) {
  const out = [];
  let rest = text;
  while (rest) {
    let best = null;
    for (const [pattern, make] of RULES) {
      const match = rest.match(pattern);
      if (match && (best === null || match.index < best.match.index)) best = { match, make };
    }
    if (!best) break;
    if (best.match.index) out.push(rest.slice(0, best.match.index));
    out.push(best.make(best.match));
    rest = rest.slice(best.match.index + best.match[0].length);
  }
  if (rest) out.push(rest);
  return out;
}

function link(href, content) {
  return h("a", { href, target: "_blank", rel: "noopener noreferrer nofollow" }, content);
}

function channelLink(id) {
  const found = channel(id);
  if (!found) return h("span.mention", {}, "#gone");
  return h("button.mention", { type: "button", onclick: () => dispatchEvent(new CustomEvent("go", { detail: id })) }, `#${found.name}`);
}

function spoiler(text) {
  const show = () => {
    element.classList.add("shown");
    element.removeAttribute("role");
    element.setAttribute("aria-label", text);
  };
  const element = h("span.spoiler", {
    role: "button",
    tabindex: "0",
    "aria-label": "Spoiler: show it",
    onclick: show,
    onkeydown: (event) => (event.key === "Enter" || event.key === " ") && show(),
  }, h("span", {}, inline(text)));
  return element;
}

const STYLES = {
  t: { timeStyle: "short" },
  T: { timeStyle: "medium" },
  d: { dateStyle: "short" },
  D: { dateStyle: "long" },
  f: { dateStyle: "long", timeStyle: "short" },
  F: { dateStyle: "full", timeStyle: "short" },
};

function time(seconds, style = "f") {
  const at = new Date(seconds * 1000);
  if (Number.isNaN(at.getTime())) return "a time";
  const full = at.toLocaleString(undefined, STYLES.F);
  const shown = style === "R" ? relative(at) : at.toLocaleString(undefined, STYLES[style]);
  return h("time", { datetime: at.toISOString(), title: full }, shown);
}

export function relative(at) {
  const seconds = Math.round((at - Date.now()) / 1000);
  const format = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
  for (const [unit, size] of [["year", 31536000], ["month", 2592000], ["day", 86400], ["hour", 3600], ["minute", 60]]) {
    if (Math.abs(seconds) >= size) return format.format(Math.trunc(seconds / size), unit);
  }
  return format.format(seconds, "second");
}

export const mentionsMe = (text) => text.includes(`<@${state.me}>`);
