// One message as elements: who, when, text, embeds, files, components, reactions.

import { act, answerTo, channel, nameOf, rights, server, state } from "/api.js";
import { confirmDelete, openForm, pickEmoji, promptThread } from "/dialogs.js";
import { add, avatar, button, h, icon } from "/dom.js";
import { inline, markdown, mentionsMe } from "/markdown.js";

const EPHEMERAL = 64;
const LOADING = 128;
// Messages of one person within this time share a head.
const SAME_HEAD = 5 * 60 * 1000;

// `isNew` says that this is the first one which was not there when the channel was last looked at.
export function element(message, before, actions, isNew = false) {
  const at = new Date(message.timestamp);
  const isReply = message.message_reference || message.interaction_metadata;
  const isNewDay = !before || new Date(before.timestamp).toDateString() !== at.toDateString();
  const joins = !isNewDay && !isNew && !isReply && !before.thread && before.author.id === message.author.id
    && (before.flags & EPHEMERAL) === (message.flags & EPHEMERAL)
    && at - new Date(before.timestamp) < SAME_HEAD;
  const name = nameOf(message.author.id) || message.author.username;
  const row = h("li.message", { id: `m${message.id}`, "data-id": message.id, tabindex: "-1" });
  if (joins) row.classList.add("joined");
  if (message.flags & EPHEMERAL) row.classList.add("ephemeral");
  if (mentionsMe(message.content)) row.classList.add("for-me");
  add(row, [
    isNewDay ? h("div.line.day", {}, h("time", { datetime: message.timestamp.slice(0, 10) }, at.toLocaleDateString([], { dateStyle: "long" }))) : null,
    isNew ? h("div.line.new", {}, h("span", {}, "New")) : null,
    isReply ? source(message) : null,
    h("div.message-side", {}, joins
      ? h("time.quiet", { datetime: message.timestamp }, at.toLocaleTimeString([], { timeStyle: "short" }))
      : avatar(message.author.id, name, message.author.bot)),
    h("div.message-main", {},
      joins ? null : head(message, name, at),
      body(message),
      (message.embeds ?? []).map((one) => embed(one, message)),
      (message.attachments ?? []).filter((file) => !isInEmbed(file, message)).map(attachment),
      (message.components ?? []).map((one) => components(one, message)),
      reactions(message),
      message.thread ? threadLink(message.thread) : null,
      message.flags & EPHEMERAL ? ephemeralNote(message) : null),
    message.flags & EPHEMERAL ? null : toolbar(message, actions),
  ]);
  return row;
}

function head(message, name, at) {
  return h("div.message-head", {},
    h("span.author", {}, name),
    message.author.bot ? h("span.tag", {}, "APP") : null,
    h("time", { datetime: message.timestamp, title: at.toLocaleString() }, at.toLocaleTimeString([], { timeStyle: "short" })));
}

function source(message) {
  if (message.interaction_metadata && !message.message_reference) {
    const by = message.interaction_metadata.user;
    return h("div.source", {}, icon("slash"), h("span", {}, `${by ? nameOf(by.id) : "somebody"} used ${message.interaction_metadata.name ? `/${message.interaction_metadata.name}` : "a command"}`));
  }
  const original = message.referenced_message;
  if (!original) return h("div.source", {}, icon("reply"), h("em", {}, "Original message was deleted"));
  // Of the first line its words, not what makes it a heading, a list or small print.
  const line = original.content.split("\n")[0].replace(/^\s*(#{1,3}|-#|-|\*|>>?>?)\s+/, "").slice(0, 120) || "(no text)";
  return h("button.source", {
    type: "button",
    onclick: () => {
      const target = document.getElementById(`m${original.id}`);
      target?.scrollIntoView({ block: "center" });
      target?.focus();
    },
  }, icon("reply"), h("strong", {}, nameOf(original.author.id)), h("span.cut", {}, inline(line)));
}

function body(message) {
  if (message.flags & LOADING) {
    return h("div.thinking", {}, h("span.dots", { "aria-hidden": "true" }, h("i"), h("i"), h("i")), `${nameOf(message.author.id)} is thinking …`);
  }
  const text = markdown(message.content);
  if (!text.length && !message.edited_timestamp) return null;
  return h("div.text", {}, text, message.edited_timestamp && message.content ? h("span.edited", {}, "(edited)") : null);
}

// A file that an embed shows by its name stands in the embed and nowhere else.
const isInEmbed = (file, message) => (message.embeds ?? []).some((one) => one.image?.url === `attachment://${file.filename}`);

function addressOf(url, message) {
  const file = message.attachments?.find((one) => url === `attachment://${one.filename}`);
  return file?.url ?? url;
}

function embed(one, message) {
  const box = h("div.embed");
  if (one.color !== undefined && one.color !== null) {
    box.style.setProperty("--stripe", `#${one.color.toString(16).padStart(6, "0")}`);
  }
  add(box, [
    one.author?.name ? h("div.embed-author", {}, one.author.name) : null,
    one.title ? h("div.embed-title", {}, inline(one.title)) : null,
    one.description ? h("div.text", {}, markdown(one.description)) : null,
    one.fields?.length ? h("dl.fields", {}, one.fields.map((field) =>
      h(field.inline ? "div.field.inline" : "div.field", {},
        h("dt", {}, inline(field.name)), h("dd", {}, markdown(field.value))))) : null,
    one.image?.url ? picture(addressOf(one.image.url, message), one.title ?? "Image") : null,
    one.footer?.text ? h("div.embed-footer", {}, one.footer.text) : null,
  ]);
  return box;
}

// A file's address, as this page serves it.
function local(url) {
  const at = url.indexOf("/attachments/");
  return at < 0 ? null : url.slice(at);
}

function picture(url, name) {
  const src = local(url);
  return src ? h("a.picture", { href: src, target: "_blank", rel: "noopener" }, h("img", { src, alt: name, loading: "lazy" })) : null;
}

function attachment(file) {
  if ((file.content_type ?? "").startsWith("image/") && !file.content_type.includes("svg")) return picture(file.url, file.filename);
  return h("a.file", { href: local(file.url), download: file.filename },
    icon("file"), h("span.file-name", {}, file.filename), h("span.quiet", {}, size(file.size)));
}

export function size(bytes) {
  if (bytes < 1024) return `${bytes} bytes`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KiB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

// Where a link to a channel of this Discord leads.
const LINK = /^https:\/\/discord\.com\/channels\/\d+\/(\d+)$/;

const BUTTONS = { 1: "primary", 2: "secondary", 3: "success", 4: "danger", 5: "link" };

function components(row, message) {
  return h("div.components", {}, (row.components ?? []).map((part) => {
    if (part.type === 2) return pressable(part, message);
    return menu(part, message);
  }));
}

function pressable(part, message) {
  const label = [part.emoji?.name, part.label].filter(Boolean).join(" ");
  const style = BUTTONS[part.style] ?? "secondary";
  const [, place] = LINK.exec(part.url ?? "") ?? [];
  if (part.style === 5 && place) {
    return h(`button.press.${style}`, { type: "button", onclick: () => dispatchEvent(new CustomEvent("go", { detail: place })) }, label);
  }
  if (part.style === 5) return h(`a.press.${style}`, { href: safe(part.url), target: "_blank", rel: "noopener noreferrer" }, label);
  return h(`button.press.${style}`, {
    type: "button",
    disabled: part.disabled,
    onclick: () => press(message, { custom_id: part.custom_id, component_type: 2 }),
  }, label);
}

const safe = (url) => (/^https?:\/\//.test(url ?? "") ? url : null);

function menu(part, message) {
  const offered = part.type === 3 ? part.options ?? [] : entities(part.type);
  const several = (part.max_values ?? 1) > 1;
  const select = h("select.menu", {
    "aria-label": part.placeholder ?? "Choose",
    multiple: several,
    size: several ? Math.min(offered.length, 6) : null,
    disabled: part.disabled,
    onchange: () => {
      const values = [...select.selectedOptions].map((one) => one.value).filter(Boolean);
      const enough = values.length >= (part.min_values ?? 1) && values.length <= (part.max_values ?? 1);
      if (enough) press(message, { custom_id: part.custom_id, component_type: part.type, values });
    },
  }, several ? null : h("option", { value: "" }, part.placeholder ?? "Choose …"), offered.map((option) => {
    const entry = h("option", { value: option.value }, option.description ? `${option.label} — ${option.description}` : option.label);
    entry.selected = Boolean(option.default);
    return entry;
  }));
  return select;
}

// Users, roles or channels to choose from.
function entities(type) {
  const here = server();
  if (type === 5) return here.members.map((one) => ({ label: nameOf(one.id), value: one.id }));
  if (type === 6) return here.roles.map((one) => ({ label: one.name, value: one.id }));
  return here.channels.filter((one) => one.type === 0).map((one) => ({ label: `#${one.name}`, value: one.id }));
}

async function press(message, data) {
  const begun = await act("press", { channel: message.channel_id, message: message.id, data });
  if (begun) answerTo(begun.interaction, (answer) => answer.form && openForm(answer.form, begun.interaction));
}

function reactions(message) {
  if (!message.reactions?.length) return null;
  const react = (emoji) => act("react", { channel: message.channel_id, message: message.id, emoji });
  return h("div.reactions", {},
    message.reactions.map((one) => {
      const emoji = one.emoji.id ? `${one.emoji.name}:${one.emoji.id}` : one.emoji.name;
      return h("button.reaction", { type: "button", "aria-label": `${one.emoji.name}, ${one.count}`, onclick: () => react(emoji) },
        one.emoji.name, h("span", {}, one.count));
    }));
}

function threadLink(thread) {
  const known = channel(thread.id) ?? thread;
  return h("button.thread-link", { type: "button", onclick: () => dispatchEvent(new CustomEvent("go", { detail: thread.id })) },
    icon("thread"), h("strong", {}, known.name), h("span.quiet", {}, "Open the thread"));
}

function ephemeralNote(message) {
  return h("div.ephemeral-note", {}, icon("eye"), "Only you can see this · ",
    h("button.as-link", { type: "button", onclick: () => act("dismiss", { channel: message.channel_id, message: message.id }) }, "Dismiss message"));
}

function toolbar(message, actions) {
  const here = { channel: message.channel_id, message: message.id };
  const isMine = message.author.id === state.me;
  const isDirect = channel()?.type === 1;
  const isThread = (channel()?.type ?? 0) >= 10;
  // Administrator or Manage Messages.
  const mayDelete = isMine || (rights() & (8n | 8192n)) !== 0n;
  // Tab stops only while their message has the focus, or a long channel would stand before its last button.
  const tool = (label, icon, onclick) => button(label, icon, onclick, { tabindex: "-1" });
  return h("div.toolbar", { role: "group", "aria-label": "Message actions" },
    tool("React", "react", (event) => pickEmoji(event.currentTarget, (emoji) => act("react", { ...here, emoji }))),
    tool("Reply", "reply", () => actions.reply(message)),
    isDirect || isThread || message.thread ? null : tool("Open a thread", "thread", () => promptThread(here)),
    isMine ? tool("Edit", "edit", () => actions.edit(message)) : null,
    mayDelete ? tool("Delete", "trash", () => confirmDelete(here)) : null);
}
