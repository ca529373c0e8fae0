// Discord's Markdown, read into nodes. It follows simple-markdown, on which Discord's own client is built; see rules.LICENSE.
//
// A node is { type, content: [nodes] } or, for text and code, { type, content: "…" }, with what else its type needs.
// The first rule that fits where the text stands wins; among those of one weight the longest match does.

export function parse(text) {
  const state = { before: null, inQuote: false, inEmphasis: false };
  return nodes(text.replace(/\r\n?/g, "\n"), state);
}

function nodes(source, state) {
  const out = [];
  while (source) {
    const { rule, match } = first(source, state);
    const made = rule.make(match, state);
    for (const node of [made].flat()) {
      const last = out.at(-1);
      if (node.type === "text" && last?.type === "text") last.content += node.content;
      else out.push(node);
    }
    state.before = match[0];
    source = source.slice(match[0].length);
  }
  return out;
}

function first(source, state) {
  for (const rules of RULES) {
    let best = null;
    for (const rule of rules) {
      const match = rule.match(source, state);
      if (match && (!best || length(rule, match) > length(best.rule, best.match))) best = { rule, match };
    }
    if (best) return best;
  }
  return { rule: LETTER, match: [source[0]] };
}

// Strong wins over emphasis of the same length.
const length = (rule, match) => match[0].length + (rule.bonus ?? 0);

const begins = (pattern) => (source) => pattern.exec(source);
const beginsLine = (pattern) => (source, state) => (atLineStart(state) ? pattern.exec(source) : null);
const atLineStart = (state) => state.before === null || state.before.endsWith("\n");

const inner = (type, index = 1) => (match, state) => ({ type, content: nodes(match[index], state) });
const leaf = (type) => (match) => ({ type, content: match[1] });
const named = (type, ...names) => (match) => Object.fromEntries([["type", type], ...names.map((name, at) => [name, match[at + 1]])]);

const BULLET = "(?:[*-]|\\d+\\.)";
const LIST = new RegExp(`^( *)(${BULLET}) [\\s\\S]+?(?:(\\n)(?! )(?!\\1${BULLET} )\\n*|\\s*\\n*$)`);
const ITEM = new RegExp(`( *)(${BULLET}) +[^\\n]*(?:\\n(?!\\1${BULLET} )[^\\n]*)*(\\n|$)`, "gm");
const ITEM_MARK = new RegExp(`^( *)(${BULLET}) +`);

const list = {
  match(source, state) {
    const blanks = /(?:^|\n)( *)$/.exec(state.before ?? "");
    return blanks && LIST.exec(blanks[1] + source);
  },
  make(match, state) {
    const ordered = match[2].length > 1;
    const items = (match[0].match(ITEM) ?? []).map((item) => {
      const mark = ITEM_MARK.exec(item)[0];
      const text = item.replace(new RegExp(`^ {1,${mark.length}}`, "gm"), "").replace(ITEM_MARK, "").replace(/ *\n+$/, "");
      return nodes(text, state);
    });
    return { type: "list", ordered, start: ordered ? Number(match[2].slice(0, -1)) : undefined, items };
  },
};

const quote = {
  match(source, state) {
    if (!/^$|\n *$/.test(state.before ?? "") || state.inQuote) return null;
    return /^( *>>> ([\s\S]*))|^( *> [^\n]*(\n *> [^\n]*)*\n?)/.exec(source);
  },
  make(match, state) {
    const mark = /^ *>>> ?/.test(match[0]) ? /^ *>>> ?/ : /^ *> ?/gm;
    return { type: "quote", content: nodes(match[0].replace(mark, ""), { ...state, inQuote: true }) };
  },
};

const emphasis = {
  bonus: 0.2,
  match: begins(/^\b_((?:__|\\[\s\S]|[^\\_])+?)_\b|^\*(?=\S)((?:\*\*|\\[\s\S]|\s+(?:\\[\s\S]|[^\s*\\]|\*\*)|[^\s*\\])+?)\*(?!\*)/),
  make(match, state) {
    const content = nodes(match[2] ?? match[1], { ...state, inEmphasis: true });
    return state.inEmphasis ? content : { type: "em", content };
  },
};

const LINK_TEXT = "(?:\\[[^\\]]*\\]|[^\\[\\]]|\\](?=[^\\[]*\\]))*";
const LINK_TARGET = "\\s*<?((?:\\([^)]*\\)|[^\\s\\\\]|\\\\.)*?)>?(?:\\s+['\"]([\\s\\S]*?)['\"])?\\s*";

const link = {
  match: begins(new RegExp(`^\\[(${LINK_TEXT})\\]\\(${LINK_TARGET}\\)`)),
  make: (match, state) => ({
    type: "link",
    content: nodes(match[1], state),
    target: match[2].replace(/\\([^0-9A-Za-z\s])/g, "$1"),
  }),
};

const address = (match) => ({ type: "link", content: [{ type: "text", content: match[1] }], target: match[1] });

const LETTER = { make: (match) => ({ type: "text", content: match[0] }) };

const RULES = [
  [{ match: beginsLine(/^-# +([^\n]+?)(\n|$)/), make: inner("subtext") }],
  [{
    match: beginsLine(/^(#{1,3}) +([^\n]+?)(\n|$)/),
    make: (match, state) => ({ type: "heading", level: match[1].length, content: nodes(match[2].trim(), state) }),
  }],
  [{ match: begins(/^\|\|([\s\S]+?)\|\|/), make: inner("spoiler") }],
  [{
    match: begins(/^```(([a-z0-9_+\-.#]+?)\n+)?\n*([^]+?)\n*```/i),
    make: (match) => ({ type: "codeBlock", lang: match[2] ?? "", content: match[3] }),
  }],
  [quote],
  [list],
  [{ match: begins(/^\\([^0-9A-Za-z\s])/), make: leaf("text") }],
  [{ match: begins(/^<([^: >]+:\/[^ >]+)>/), make: address }],
  [{ match: begins(/^(https?:\/\/[^\s<]+[^<.,:;"')\]\s])/), make: address }],
  [link],
  [
    emphasis,
    { bonus: 0.1, match: begins(/^\*\*((?:\\[\s\S]|[^\\])+?)\*\*(?!\*)/), make: inner("strong") },
    { match: begins(/^__((?:\\[\s\S]|[^\\])+?)__(?!_)/), make: inner("u") },
  ],
  [
    { match: begins(/^<@!?(\d{17,20})>/), make: named("user", "id") },
    { match: begins(/^<#(\d{17,20})>/), make: named("channel", "id") },
    { match: begins(/^<@&(\d{17,20})>/), make: named("role", "id") },
    { match: begins(/^<(a)?:(\w{2,32}):(\d{17,21})>/), make: named("emoji", "animated", "name", "id") },
    { match: begins(/^<t:(-?\d+)(?::([RtTdDfF]))?>/), make: named("timestamp", "seconds", "style") },
    { match: begins(/^<\/([-_'\p{L}\p{N}]{1,32}(?: [-_'\p{L}\p{N}]{1,32}){0,2}):(\d{17,21})>/u), make: named("command", "name", "id") },
    { match: begins(/^<(\d{17,20}):(customize|browse|guide|linked-roles)(?::\d{17,20})?>/), make: named("navigation", "id", "place") },
    { match: begins(/^@(everyone|here)/), make: named("everyone", "who") },
  ],
  [{ match: begins(/^~~([\s\S]+?)~~(?!_)/), make: inner("strike") }],
  [{
    match: begins(/^(`+)([\s\S]*?[^`])\1(?!`)/),
    make: (match) => ({ type: "inlineCode", content: match[2].replace(/^ (?= *`)|(` *) $/g, "$1") }),
  }],
  [{ match: begins(/^\n/), make: () => ({ type: "text", content: "\n" }) }],
  [{ match: begins(/^(¯\\_\(ツ\)_\/¯)/), make: leaf("text") }],
  [{ match: begins(/^[\s\S]+?(?=[^0-9A-Za-z\s]|\n\n|\n|\w+:\S|$)/), make: (match) => ({ type: "text", content: match[0] }) }],
];
