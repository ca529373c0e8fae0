// Reads texts as three independent implementations of Discord's Markdown do, and says what they find.
//
// In:  [{ "id", "text", "allowed": ["strong", …], "blocks"?: ["…"], "shown"?: "…", "never"?: ["…"] }]
// Out: ["<id>: <implementation>: <what is wrong>", …]
//
// allowed  the only nodes there may be, besides plain text and code
// blocks   what the blocks of code hold, in order
// shown    all that is shown, code and plain text together
// never    what must not be shown outside of code

import { readFileSync } from "node:fs";
import brussell from "discord-markdown";
import derock from "discord-markdown-parser";
import * as odiffey from "@odiffey/discord-markdown";

const brussellEmbed = brussell.markdownEngine.parserFor(brussell.rulesEmbed);

const IMPLEMENTATIONS = {
  "discord-markdown": (text) => brussellEmbed(text, { inline: true }),
  "discord-markdown-parser": (text) => derock.parse(text, "extended"),
  "@odiffey/discord-markdown": (text) => odiffey.parser(text),
};

// Marks that an implementation does not know.
const UNKNOWN = { "discord-markdown": ["<t:", "</"], "@odiffey/discord-markdown": ["</"] };

const NAMES = {
  autolink: "link", url: "link", underline: "u", strikethrough: "strike", footnote: "subtext", blockQuote: "quote",
  discordUser: "user", discordChannel: "channel", discordRole: "role", discordEmoji: "emoji", discordEveryone: "everyone",
  everyone: "everyone", discordHere: "everyone", here: "everyone", discordTimestamp: "timestamp", discordSlash: "command",
  slashCommand: "command", guildNavigation: "navigation",
};

const PLAIN = new Set(["text", "newline", "br", "twemoji", "emoticon"]);

function read(nodes, found) {
  for (const node of [nodes].flat(Infinity)) {
    if (node === null || node === undefined) continue;
    const name = NAMES[node.type] ?? node.type;
    if (name === "codeBlock") {
      found.blocks.push(node.content);
      found.shown.push(node.content);
    } else if (name === "inlineCode") {
      found.shown.push(node.content);
    } else if (name === "newline" || name === "br") {
      found.shown.push("\n");
    } else if (PLAIN.has(name)) {
      const words = typeof node.content === "string" ? node.content : (node.name ?? "");
      found.shown.push(words);
      found.words.push(words);
    } else {
      found.nodes.add(name);
      if (Array.isArray(node.content)) read(node.content, found);
      if (Array.isArray(node.items)) read(node.items, found);
    }
  }
  return found;
}

const bare = (text) => text.replace(/^\n+|\n+$/g, "");

function faults(one) {
  return Object.entries(IMPLEMENTATIONS).flatMap(([name, parse]) => {
    const found = read(parse(one.text), { blocks: [], shown: [], words: [], nodes: new Set() });
    const wrong = [...found.nodes].filter((node) => !one.allowed.includes(node)).map((node) => `holds a ${node}`);
    if (one.blocks && JSON.stringify(found.blocks.map(bare)) !== JSON.stringify(one.blocks.map(bare))) {
      wrong.push(`has the blocks ${JSON.stringify(found.blocks)}`);
    }
    if (one.shown !== undefined && found.shown.join("") !== one.shown) {
      wrong.push(`shows ${JSON.stringify(found.shown.join(""))}`);
    }
    for (const mark of one.never ?? []) {
      if (UNKNOWN[name]?.includes(mark)) continue;
      if (found.words.join("").includes(mark)) wrong.push(`shows ${mark}`);
    }
    return wrong.map((what) => `${one.id}: ${name}: ${what} in ${JSON.stringify(one.text)}`);
  });
}

const cases = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(cases.flatMap(faults)));
