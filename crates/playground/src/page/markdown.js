// Discord's Markdown as elements. Nothing is ever parsed as HTML; `rules.js` says what is what.

import { h, icon } from "/dom.js";
import { channel, nameOf, server, state } from "/api.js";
import { colour } from "/colours.js";
import { parse } from "/rules.js";

export const markdown = (text) => blocks(parse(text));

export const inline = (text) => elements(parse(text));

const BLOCKS = new Set(["codeBlock", "heading", "subtext", "quote", "list"]);

// Blocks stand by themselves; what is between two of them, or two empty lines, is a paragraph.
function blocks(nodes) {
  const out = [];
  let paragraph = [];
  const flush = () => {
    const text = paragraph.map((node) => node.content).join("");
    if (paragraph.some((node) => node.type !== "text") || text.trim()) out.push(h("p", {}, elements(trimmed(paragraph))));
    paragraph = [];
  };
  for (const node of nodes) {
    if (BLOCKS.has(node.type)) {
      flush();
      out.push(element(node));
    } else if (node.type === "text") {
      node.content.split(/\n{2,}/).forEach((part, at) => {
        if (at) flush();
        if (part) paragraph.push({ type: "text", content: part });
      });
    } else {
      paragraph.push(node);
    }
  }
  flush();
  return out;
}

// A paragraph without the ends of lines before and behind it.
function trimmed(nodes) {
  return nodes.map((node, at) => {
    if (node.type !== "text") return node;
    let content = node.content;
    if (at === 0) content = content.replace(/^\n+/, "");
    if (at === nodes.length - 1) content = content.replace(/\n+$/, "");
    return { ...node, content };
  });
}

const elements = (nodes) => nodes.flatMap((node) => (node.type === "text" ? lines(node.content) : element(node)));

const lines = (text) => text.split("\n").flatMap((line, at) => (at ? [h("br"), line] : [line])).filter((part) => part !== "");

function element(node) {
  const content = Array.isArray(node.content) ? () => elements(node.content) : null;
  switch (node.type) {
    case "codeBlock": return code(node);
    case "inlineCode": return h("code", {}, node.content);
    // No heading of the page: each message would begin an outline of its own.
    case "heading": return h(`p.heading.level-${node.level}`, {}, content());
    case "subtext": return h("p.small", {}, content());
    case "quote": return h("blockquote", {}, blocks(node.content));
    case "list": return list(node);
    case "em": return h("em", {}, content());
    case "strong": return h("strong", {}, content());
    case "u": return h("u", {}, content());
    case "strike": return h("s", {}, content());
    case "spoiler": return spoiler(content());
    case "link": return /^https?:/i.test(node.target) ? link(node.target, content()) : h("span", {}, content());
    case "user": return h("span.mention", {}, `@${nameOf(node.id)}`);
    case "role": return h("span.mention", {}, `@${server()?.roles.find((one) => one.id === node.id)?.name ?? "role"}`);
    case "channel": return channelLink(node.id);
    case "command": return h("span.mention", {}, `/${node.name}`);
    case "navigation": return h("span.mention", {}, node.place);
    case "everyone": return h("span.mention", {}, `@${node.who}`);
    case "emoji": return `:${node.name}:`;
    case "timestamp": return time(Number(node.seconds), node.style);
    default: return String(node.content ?? "");
  }
}

function code({ lang, content }) {
  const copy = h("button.copy", {
    type: "button",
    "aria-label": "Copy the code",
    title: "Copy",
    onclick: () => navigator.clipboard?.writeText(content),
  }, icon("copy"));
  const shown = h("code", {}, content);
  if (lang) colour(shown, lang);
  return h("div.code", {}, copy, h("pre", { tabindex: "0" }, shown));
}

function list({ ordered, start, items }) {
  const entries = items.map((item) => h("li", {}, item.flatMap((node) => (BLOCKS.has(node.type) ? element(node) : elements([node])))));
  return h(ordered ? "ol" : "ul", ordered ? { start } : {}, entries);
}

function link(href, content) {
  return h("a", { href, target: "_blank", rel: "noopener noreferrer nofollow" }, content);
}

// Marked with its channel, for a channel may be known or renamed after its mention was drawn.
export function channelLink(id) {
  const found = channel(id);
  if (!found) return h("span.mention", { "data-channel": id }, "#gone");
  return h("button.mention", { type: "button", "data-channel": id, onclick: () => dispatchEvent(new CustomEvent("go", { detail: id })) }, `#${found.name}`);
}

function spoiler(content) {
  const inside = h("span", {}, content);
  const show = () => {
    element.classList.add("shown");
    element.removeAttribute("role");
    element.setAttribute("aria-label", inside.textContent);
  };
  const element = h("span.spoiler", {
    role: "button",
    tabindex: "0",
    "aria-label": "Spoiler: show it",
    onclick: show,
    onkeydown: (event) => (event.key === "Enter" || event.key === " ") && show(),
  }, inside);
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
