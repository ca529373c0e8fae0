// The message box: text, files, replies, edits, and slash commands with their options.

import { act, answerTo, channel, rights, server, state, upload } from "/api.js";
import { openForm } from "/dialogs.js";
import { button, follow, h, icon, replace, toast } from "/dom.js";
import { size } from "/messages.js";
import { optionField } from "/options.js";

const root = document.getElementById("composer");
let mode = { kind: "text" };
let files = [];
let typedAt = 0;

const suggestions = h("ul.suggestions", { id: "suggestions", role: "listbox", tabindex: "0", "aria-label": "Commands", hidden: true });
const notice = h("div.composing", { hidden: true });
const tray = h("div.tray", { hidden: true });
const fields = h("div.command-fields", { hidden: true });
const text = h("textarea", {
  id: "composer-text",
  rows: 1,
  maxlength: 2000,
  "aria-label": "Message",
  "aria-autocomplete": "list",
  "aria-haspopup": "listbox",
  "aria-controls": "suggestions",
  autocomplete: "off",
  oninput: onInput,
  onkeydown: onKey,
  onpaste: (event) => take(event.clipboardData.files),
});
const picker = h("input", { type: "file", multiple: true, hidden: true, onchange: () => take(picker.files) });
const line = h("div.composer-line", {},
  button("Attach files", "plus", () => picker.click()),
  text,
  button("Send", "send", () => submit(), { class: "icon-button send" }));

export function setUp() {
  replace(root, suggestions, notice, fields, tray, line, picker);
  const main = document.querySelector(".main");
  main.addEventListener("dragover", (event) => event.preventDefault());
  main.addEventListener("drop", (event) => {
    event.preventDefault();
    take(event.dataTransfer.files);
  });
}

export function refresh() {
  const here = channel();
  text.disabled = !here;
  const label = here?.type === 1 ? `Message ${here.name}` : `Message #${here?.name ?? ""}`;
  text.placeholder = here ? `${label} — / for commands` : "Choose a channel";
  text.setAttribute("aria-label", label);
  if (mode.kind === "text") suggest();
}

export function focus() {
  text.focus();
}

// After a wait: whoever has gone elsewhere meanwhile stays there.
const isHere = () => document.activeElement === document.body || root.contains(document.activeElement);

export function reset() {
  mode = { kind: "text" };
  notice.hidden = true;
  fields.hidden = true;
  line.hidden = false;
  hideSuggestions();
  files = [];
  showTray();
}

export function reply(message) {
  reset();
  mode = { kind: "reply", message };
  compose(`Replying to ${message.author.username}`);
}

export function edit(message) {
  reset();
  mode = { kind: "edit", message };
  text.value = message.content;
  grow();
  compose("Editing your message");
}

function compose(words) {
  const cancel = () => {
    if (mode.kind === "edit") text.value = "";
    reset();
    grow();
  };
  replace(notice, h("span", {}, words), button("Cancel", "close", cancel));
  notice.hidden = false;
  text.focus();
}

function grow() {
  text.style.height = "auto";
  text.style.height = `${Math.min(text.scrollHeight, 240)}px`;
}

function onInput() {
  grow();
  if (text.value && !text.value.startsWith("/") && Date.now() - typedAt > 8000) {
    typedAt = Date.now();
    act("type", { channel: state.channel });
  }
  suggest();
}

function onKey(event) {
  const shown = [...suggestions.children];
  if (!suggestions.hidden && shown.length) {
    const at = shown.findIndex((one) => one.getAttribute("aria-selected") === "true");
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const next = (at + (event.key === "ArrowDown" ? 1 : -1) + shown.length) % shown.length;
      shown.forEach((one, index) => one.setAttribute("aria-selected", index === next));
      shown[next].scrollIntoView({ block: "nearest" });
      follow(text, suggestions);
      return;
    }
    if (event.key === "Tab" || (event.key === "Enter" && !event.shiftKey)) {
      event.preventDefault();
      shown[Math.max(at, 0)].click();
      return;
    }
  }
  if (event.key === "ArrowUp" && !text.value && mode.kind === "text") {
    event.preventDefault();
    dispatchEvent(new CustomEvent("edit-last"));
    return;
  }
  if (event.key === "Escape") reset();
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    submit();
  }
}

async function submit() {
  const content = text.value.trim();
  if (mode.kind === "edit") {
    if (content) await act("edit", { channel: state.channel, message: mode.message.id, content });
  } else {
    if (!content && !files.length) return;
    if (content.startsWith("/") && !files.length) {
      toast("This command does not exist here. Type / to see all commands.");
      return;
    }
    const sent = await act("say", {
      channel: state.channel,
      content,
      reply_to: mode.kind === "reply" ? mode.message.id : null,
      files: files.map((file) => file.id),
    });
    if (!sent) return;
  }
  text.value = "";
  reset();
  grow();
}

async function take(list) {
  for (const file of [...list].slice(0, 10 - files.length)) {
    const stored = await upload(file);
    if (stored) files.push(stored);
  }
  picker.value = "";
  showTray();
  if (isHere()) text.focus();
}

function showTray() {
  tray.hidden = !files.length;
  replace(tray, files.map((file) => h("span.chip", {}, icon("file"), file.name, h("span.quiet", {}, size(file.size)),
    button(`Remove ${file.name}`, "close", () => {
      files = files.filter((one) => one !== file);
      showTray();
    }))));
}

// --- slash commands ----------------------------------------------------------------------------

// Every command and subcommand this person may see, flat.
function commands() {
  const all = [];
  const mine = rights();
  for (const command of server()?.commands ?? []) {
    const needed = BigInt(command.default_member_permissions ?? 0);
    const may = mine & 8n || (mine & needed) === needed;
    if (!may || (command.type ?? 1) !== 1) continue;
    flatten(command, [command.name], all);
  }
  return all.sort((a, b) => a.words.join(" ").localeCompare(b.words.join(" ")));
}

function flatten(node, words, all) {
  const below = (node.options ?? []).filter((option) => option.type === 1 || option.type === 2);
  if (!below.length) all.push({ words, description: node.description, options: node.options ?? [] });
  for (const option of below) flatten(option, [...words, option.name], all);
}

function hideSuggestions() {
  suggestions.hidden = true;
  follow(text, suggestions);
}

function suggest() {
  const typed = text.value;
  if (!typed.startsWith("/") || typed.includes("\n") || channel()?.type === 1) {
    hideSuggestions();
    return;
  }
  const wanted = typed.slice(1).trim().toLowerCase();
  const fitting = commands().filter((one) => one.words.join(" ").includes(wanted) || wanted.startsWith(`${one.words.join(" ")} `));
  fitting.sort((a, b) => Number(b.words.join(" ").startsWith(wanted)) - Number(a.words.join(" ").startsWith(wanted)));
  suggestions.hidden = !fitting.length;
  replace(suggestions, fitting.slice(0, 40).map((one, at) =>
    h("li", { id: `suggestion-${at}`, role: "option", "aria-selected": at === 0, onclick: () => choose(one) },
      h("strong", {}, `/${one.words.join(" ")}`),
      h("span.quiet", {}, one.description),
      h("span.wants", {}, one.options.filter((option) => option.required).map((option) => option.name).join(", ")))));
  follow(text, suggestions);
}

// What was typed behind the name of a command: `name:lab model:x`, or the value of its first option alone.
function typedOptions(command) {
  const typed = text.value.slice(1).trim();
  const name = command.words.join(" ");
  if (!typed.startsWith(`${name} `)) return {};
  const rest = typed.slice(name.length).trim();
  const known = command.options.map((option) => option.name);
  const pattern = new RegExp(`(?:^|\\s)(${known.join("|")}):`, "g");
  const found = known.length ? [...rest.matchAll(pattern)] : [];
  const given = found.map((one, at) => [one[1], rest.slice(one.index + one[0].length, found[at + 1]?.index).trim()]);
  const first = command.options.find((option) => option.required);
  return found.length ? Object.fromEntries(given) : first ? { [first.name]: rest } : {};
}

// Opens the form of a command, such as "agent init", with these values in it.
export function begin(name, values) {
  reset();
  const command = commands().find((one) => one.words.join(" ") === name);
  if (command) choose(command, values);
}

function choose(command, values = typedOptions(command)) {
  hideSuggestions();
  text.value = "";
  grow();
  if (!command.options.length) {
    run(command, []);
    return;
  }
  mode = { kind: "command", command };
  const shown = new Map();
  const boxes = h("div.boxes");
  const more = h("div.more", {});
  const given = () => [...shown.values()].map((field) => field.given()).filter(Boolean);
  const complete = (option, value, then) => completeOption(command, given(), option, value, then);
  const show = (option) => {
    const field = optionField(option, complete, () => finish());
    shown.set(option.name, field);
    boxes.append(field.element);
    offer();
    return field;
  };
  const offer = () => replace(more, command.options.filter((option) => !shown.has(option.name)).map((option) =>
    h("button.chip", { type: "button", title: option.description, onclick: () => show(option).focus() }, icon("plus"), option.name)));
  const finish = async () => {
    const fieldsShown = [...shown.values()];
    const missing = fieldsShown.find((field) => !field.isComplete());
    if (missing) {
      missing.focus();
      return;
    }
    const begun = await run(command, given());
    const stayed = isHere();
    if (begun) reset();
    if (stayed) focus();
  };
  command.options.filter((option) => option.required || values[option.name]).forEach((option) => {
    const field = show(option);
    if (values[option.name]) field.set(values[option.name]);
  });
  offer();
  const cancel = () => {
    reset();
    focus();
  };
  replace(fields,
    h("div.command-head", {},
      h("strong", {}, `/${command.words.join(" ")}`), h("span.quiet", {}, command.description),
      button("Cancel the command", "close", cancel)),
    boxes, more,
    h("div.dialog-buttons", {}, h("button.press.primary", { type: "button", onclick: finish }, "Run")));
  fields.onkeydown = (event) => {
    if (event.key === "Escape") cancel();
  };
  fields.hidden = false;
  line.hidden = true;
  const first = [...shown.values()].find((field) => !field.given()) ?? null;
  if (first) first.focus();
  else fields.querySelector(".primary").focus();
}

async function run(command, options) {
  const begun = await act("run", { channel: state.channel, command: `/${command.words.join(" ")}`, options });
  if (begun) answerTo(begun.interaction, (answer) => answer.form && openForm(answer.form, begun.interaction));
  return begun;
}

async function completeOption(command, given, option, value, then) {
  const options = [...given.filter((one) => one.name !== option.name), { name: option.name, type: 3, value }];
  const begun = await act("complete", {
    channel: state.channel,
    command: `/${command.words.join(" ")}`,
    options,
    focused: option.name,
  });
  if (begun) answerTo(begun.interaction, (answer) => then(answer.choices ?? []));
}
