// Reads texts as three independent implementations of Discord's Markdown do, and says which words are missing, out of their order, or
// code that should be prose and the reverse.
//
// In:  [{ "texts": ["…"], "words": [["disk1q", "prose" | "code" | "either"], …], "written": "…" }]; the texts are messages in order
// Out: ["<implementation>: <what is wrong>", …]

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

// Appends what is shown as runs of code and of prose.
function read(nodes, runs) {
  for (const node of [nodes].flat(Infinity)) {
    if (node === null || node === undefined) continue;
    if (node.type === "newline" || node.type === "br") {
      runs.push({ isCode: false, text: "\n" });
      continue;
    }
    const isCode = node.type === "codeBlock" || node.type === "inlineCode";
    if (typeof node.content === "string") {
      if (runs.at(-1)?.isCode === isCode && !isCode) runs.at(-1).text += node.content;
      else runs.push({ isCode, text: node.content });
    } else if (Array.isArray(node.content)) {
      read(node.content, runs);
    } else if (node.name) {
      runs.push({ isCode, text: node.name });
    }
    for (const item of node.items ?? []) {
      runs.push({ isCode: false, text: " " });
      read(item, runs);
    }
    if (node.items) runs.push({ isCode: false, text: "\n" });
  }
  return runs;
}

function faults(one) {
  return Object.entries(IMPLEMENTATIONS).flatMap(([name, parse]) => {
    const runs = one.texts.flatMap((text) => read(parse(text), []));
    const shown = runs.flatMap(({ isCode, text }) => (text.match(/[a-z]+\d+q/g) ?? []).map((word) => ({ word, isCode })));
    let at = 0;
    for (const [word, kind] of one.words) {
      const found = shown.findIndex((one, index) => index >= at && one.word === word);
      const wrong =
        found < 0 ? "is not in its place" : kind === "either" || shown[found].isCode === (kind === "code") ? "" : `is no ${kind}`;
      if (wrong) return [`${name}: ${word} ${wrong}\n--- written\n${one.written}\n--- posted\n${one.texts.join("\n=====\n")}\n`];
      at = found + 1;
    }
    return [];
  });
}

const cases = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(cases.flatMap(faults)));
