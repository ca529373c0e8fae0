// Compares how the playground's page reads texts with how independent implementations of Discord's Markdown do.
//
// In: ["text", …]; out: ["what differs", …]

import { readFileSync } from "node:fs";
import derock from "discord-markdown-parser";
import * as odiffey from "@odiffey/discord-markdown";

const source = readFileSync(new URL("../../crates/playground/src/page/rules.js", import.meta.url), "utf8");
const page = await import(`data:text/javascript,${encodeURIComponent(source)}`);

const NAMES = {
  autolink: "link", url: "link", underline: "u", strikethrough: "strike", footnote: "subtext", blockQuote: "quote",
  discordUser: "user", discordChannel: "channel", discordRole: "role", discordEmoji: "emoji", discordEveryone: "everyone",
  here: "everyone", discordHere: "everyone", discordTimestamp: "timestamp", discordSlash: "command", slashCommand: "command",
  guildNavigation: "navigation", br: "text", newline: "text", twemoji: "text", emoticon: "text",
};

const PLAIN = { br: "\n", newline: "\n" };

// Nodes as nested lists of names and texts, neighbouring texts joined.
function shape(nodes) {
  const out = [];
  for (const node of [nodes].flat(Infinity)) {
    const name = NAMES[node.type] ?? node.type;
    if (name === "text") {
      const text = PLAIN[node.type] ?? node.content ?? node.name ?? "";
      if (typeof out.at(-1) === "string") out[out.length - 1] += text;
      else out.push(text);
    } else if (name === "list") {
      out.push([name, ...node.items.map((item) => shape(item))]);
    } else if (Array.isArray(node.content)) {
      out.push([name, node.target ?? node.level ?? "", ...shape(node.content)]);
    } else {
      out.push([name, node.content ?? ""]);
    }
  }
  return out;
}

// Both know no heading right below a quote, because they look at the quote's last group instead of its last letter; and they
// do not agree on small print of blanks alone.
const isDisputed = (text) => /^ *>.*\n(#{1,3}|-#) |-# +$/m.test(text);

const hasList = (text) => /^[ >]*([*-]|\d+\.) /m.test(text);
const differences = JSON.parse(readFileSync(0, "utf8")).flatMap((text) => {
  if (isDisputed(text)) return [];
  const theirs = hasList(text) ? odiffey.parser(text) : derock.parse(text, "extended");
  const [own, expected] = [page.parse(text), theirs].map((nodes) => JSON.stringify(shape(nodes)));
  return own === expected ? [] : [`${JSON.stringify(text)}: the page reads ${own}, Discord ${expected}`];
});
process.stdout.write(JSON.stringify(differences));
