// The page: what is where, and what happens when news arrives.

import { act, botName, channel, listen, load, messages as fetchMessages, nameOf, server, state, textChannels, user } from "/api.js";
import * as composer from "/composer.js";
import { jump, promptChannel, switchPerson } from "/dialogs.js";
import { avatar, button, h, icon, replace } from "/dom.js";
import { channelLink } from "/markdown.js";
import { element } from "/messages.js";
import { drawBanner } from "/models.js";

const $ = (id) => document.getElementById(id);
const log = $("messages");
const list = $("list");
const shell = $("shell");
const shown = new Map();
const typing = new Map();
const unread = new Set();
// The newest message of each channel when it was left.
const read = new Map();
// Behind which message of this channel the line "New" stands.
let readUpTo = null;
let loading = 0;
// What became of the channel's messages while its list was on its way, which knows nothing of it.
let late = null;

const actions = { reply: composer.reply, edit: composer.edit };

// --- the frame ---------------------------------------------------------------------------------

function drawFrame() {
  const here = server();
  const now = channel();
  const title = state.data.bot ? `${botName()} playground` : "Playground";
  document.title = now ? `#${now.name} · ${title}` : title;
  replace($("rail"), state.data.servers.map((one) =>
    h("button.server", { type: "button", title: one.name, "aria-label": one.name, "aria-current": one.id === state.server, onclick: () => goServer(one.id) },
      one.name.split(/\s+/).map((word) => word[0]).join("").slice(0, 2).toUpperCase())));
  $("server-name").textContent = here?.name ?? botName();
  $("title").textContent = now ? (now.type === 1 ? now.name : `# ${now.name}`) : "No channel";
  $("topic").textContent = now?.topic ?? "";
  drawChannels(here);
  const me = user(state.me);
  const member = here?.members.find((one) => one.id === state.me);
  const role = member?.owner ? "Owner" : member?.roles[0] ?? "Member";
  replace($("switch"), avatar(state.me, me?.username), h("span.me-names", {}, h("strong", {}, nameOf(state.me)), h("span.quiet", {}, `${role} · switch`)));
  $("switch").title = "Act as another user";
  drawStatus();
  drawGuide();
  composer.refresh();
}

function drawStatus(words) {
  const online = state.data.online;
  $("status").className = online ? "status online" : "status";
  replace($("status"), h("i", { "aria-hidden": "true" }), words ?? `${botName()} is ${online ? "online" : "offline"}`);
}

function drawChannels(here) {
  const all = here?.channels ?? [];
  const visible = new Set(textChannels().map((one) => one.id));
  const order = (a, b) => a.position - b.position || (BigInt(a.id) < BigInt(b.id) ? -1 : 1);
  const under = (parent) => all.filter((one) => one.type === 0 && visible.has(one.id) && (one.parent_id ?? null) === parent).sort(order);
  const threads = (parent) => all.filter((one) => one.type >= 10 && one.parent_id === parent && !one.thread_metadata?.archived);
  const rows = (channels) => channels.flatMap((one) => [row(one), ...threads(one.id).map((thread) => row(thread))]);
  const categories = all.filter((one) => one.type === 4).sort(order);
  const direct = state.data.directs.find((one) => one.user === state.me);
  replace($("channels"),
    h("div.group-head", {}, h("span", {}, "Channels"), button("Add a channel", "plus", promptChannel)),
    h("ul", {}, rows(under(null))),
    categories.map((one) => [h("div.group-head", {}, h("span", {}, one.name)), h("ul", {}, rows(under(one.id)))]),
    direct ? [h("div.group-head", {}, h("span", {}, "Direct messages")), h("ul", {}, row({ id: direct.id, type: 1, name: botName() }))] : null);
}

function row(one) {
  const isThread = one.type >= 10;
  const mark = isThread ? icon("thread") : h("span.hash", { "aria-hidden": "true" }, one.type === 1 ? "@" : "#");
  const item = h(isThread ? "button.channel.thread" : "button.channel",
    { type: "button", "aria-current": one.id === state.channel ? "page" : null, onclick: () => go(one.id) }, mark, h("span.cut", {}, one.name));
  if (unread.has(one.id) && one.id !== state.channel) item.classList.add("unread");
  return h("li", {}, item);
}

function goServer(id) {
  state.server = id;
  state.channel = textChannels()[0]?.id ?? null;
  go(state.channel);
}

async function go(id) {
  // A channel may be pressed before it is in the list; an answer from before it was made would lead away from it again.
  if (id && !channel(id)) await load();
  if (id !== state.channel) {
    const last = newest();
    if (last) read.set(state.channel, last);
    // What was said elsewhere decides nothing here while the list is on its way.
    shown.clear();
  }
  state.channel = id;
  if (id) localStorage.setItem("channel", id);
  readUpTo = unread.delete(id) ? read.get(id) ?? null : null;
  closeDrawer();
  composer.reset();
  drawFrame();
  await drawMessages();
  if (matchMedia("(hover: hover)").matches) composer.focus();
}

// --- messages ----------------------------------------------------------------------------------

async function drawMessages() {
  const run = ++loading;
  late = [];
  const all = state.channel ? await fetchMessages(state.channel) : [];
  await released();
  if (run !== loading) return;
  shown.clear();
  for (const one of all) shown.set(one.id, one);
  for (const change of late) change();
  late = null;
  redraw();
  bottom();
}

const newest = () => ordered().at(-1)?.id ?? null;

const ordered = () => [...shown.values()].sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1));

function redraw() {
  const all = ordered();
  keepingFocus(() => replace(list, all.length ? null : welcome(), all.map((one, at) => drawn(all, at))));
  drawGuide();
}

// A press of a key must not go astray because the message of the focused button was drawn again.
function keepingFocus(draw) {
  const held = document.activeElement;
  const message = list.contains(held) ? held.closest("[id^=m]") : null;
  draw();
  if (!message || held.isConnected) return;
  const again = document.getElementById(message.id)?.querySelectorAll(held.tagName) ?? [];
  [...again].find((one) => one.textContent === held.textContent)?.focus();
}

const drawn = (all, at) => element(all[at], all[at - 1], actions, at > 0 && all[at - 1].id === readUpTo);

// Draws one message again, in its place.
function drawOne(message) {
  const near = stays || nearBottom();
  const isNew = !shown.has(message.id);
  late?.push(() => shown.set(message.id, message));
  shown.set(message.id, message);
  const all = ordered();
  const at = all.findIndex((one) => one.id === message.id);
  const fresh = drawn(all, at);
  const old = document.getElementById(`m${message.id}`);
  if (all.length === 1) replace(list, fresh);
  else if (old) keepingFocus(() => old.replaceWith(fresh));
  else if (at === all.length - 1) list.append(fresh);
  else redraw();
  drawGuide();
  if (near || (isNew && message.author.id === state.me)) bottom();
}

function welcome() {
  const now = channel();
  if (!now) return h("li.welcome", {}, h("h2", {}, "Nothing is open"), h("p", {}, "Choose a channel on the left."));
  return h("li.welcome", {},
    h("h2", {}, now.type === 1 ? `Messages between you and ${botName()}` : `This is #${now.name}`),
    h("p", {}, now.name === "general" && hasAgents() ? "Everything here runs on this machine." : "There are no messages yet."));
}

// --- the first steps ---------------------------------------------------------------------------

// What shows what an agent can do, with the demo model as with any other.
const TASKS = ["Create a file hello.txt with Hello, world", "Run ls -la", "Remember that I like short answers"];

// The bot makes agents, and the channels of agents are those with a topic.
const hasAgents = () => server()?.commands.some((one) => one.name === "agent");
const isHome = (one) => one.type === 0 && Boolean(one.topic);

// The next step of somebody who is new; gone once it is done.
function guide() {
  const now = channel();
  if (!now || now.type !== 0 || !hasAgents()) return null;
  const homes = textChannels().filter(isHome);
  const all = ordered();
  if (isHome(now)) return all.length && all.every((one) => one.author.bot) ? tasks(now) : null;
  if (!homes.length) {
    return [h("span", {}, all.some((one) => !one.author.bot) ? `No agent lives in #${now.name}. ` : "", "Each agent lives in its own channel; you talk to it there."),
      h("button.press.primary", { type: "button", onclick: () => composer.begin("agent init", { name: "lab" }) }, "Make your first agent")];
  }
  if (!all.length || all.at(-1).author.bot) return null;
  return [h("span", {}, `No agent lives in #${now.name}, so nobody answers here.`),
    homes.slice(0, 3).map((one) => h("button.chip", { type: "button", onclick: () => go(one.id) }, `Go to #${one.name}`))];
}

const tasks = (now) => [h("span", {}, "Try one of these, or write what you want:"),
  TASKS.map((task) => h("button.chip", { type: "button", onclick: () => act("say", { channel: now.id, content: task, files: [] }) }, task))];

let guided = "";
function drawGuide() {
  const steps = guide();
  const bar = $("guide");
  const next = h("div", {}, steps);
  // The same again is not drawn again: a press on it may be under way, and readers would say it twice.
  if (next.textContent === guided) return;
  guided = next.textContent;
  bar.hidden = !steps;
  replace(bar, steps);
}

const nearBottom = () => log.scrollHeight - log.scrollTop - log.clientHeight < 120;
const bottom = () => {
  log.scrollTop = log.scrollHeight;
};

// Whoever reads the newest goes on reading it when a keyboard opens, a form takes room, a message grows or a picture arrives.
// Only who scrolls up leaves it: the browser tells of our own scrolling late, when more may have come below.
let stays = true;
let above = 0;
const stay = () => stays && bottom();
log.addEventListener("scroll", () => {
  if (nearBottom()) stays = true;
  else if (log.scrollTop < above) stays = false;
  above = log.scrollTop;
});
log.addEventListener("load", stay, true);
const sizes = new ResizeObserver(stay);
sizes.observe(log);
sizes.observe(list);

// What comes while nobody looks stands below a line.
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) return;
  document.querySelector(".line.new")?.remove();
  readUpTo = newest();
});

// --- news --------------------------------------------------------------------------------------

// Nothing is drawn again under a finger: a press that ends on another element than it began on is no click.
let held = null;
addEventListener("pointerdown", () => (held ??= []), true);
// Not in capture: whatever loses the focus blurs, and only the window itself is meant.
for (const end of ["pointerup", "pointercancel", "blur"]) addEventListener(end, () => setTimeout(release));

function whenReleased(run) {
  if (held) held.push(run);
  else run();
}

// What was asked for before the press may arrive in the middle of it.
const released = () => new Promise(whenReleased);

function release() {
  const all = held ?? [];
  held = null;
  for (const run of all) run();
}

async function onNews(news) {
  const data = news.d ?? {};
  switch (news.t) {
    case "reload":
      await load();
      await released();
      drawFrame();
      await Promise.all([drawMessages(), drawBanner()]);
      break;
    case "offline":
      state.data.online = false;
      drawStatus("Connection lost, reconnecting …");
      break;
    case "online":
      state.data.online = news.is;
      drawStatus();
      break;
    case "presence":
      drawStatus(news.text || undefined);
      break;
    case "MESSAGE_CREATE":
      typing.delete(`${data.channel_id}/${data.author.id}`);
      drawTyping();
      if (data.channel_id === state.channel) drawOne(data);
      else if (!unread.has(data.channel_id)) {
        unread.add(data.channel_id);
        drawFrame();
      }
      break;
    case "MESSAGE_UPDATE":
      if (data.channel_id === state.channel) drawOne(data);
      break;
    case "MESSAGE_DELETE":
      forget([data.id]);
      break;
    case "MESSAGE_DELETE_BULK":
      forget(data.ids);
      break;
    case "TYPING_START":
      if (data.user_id === state.me) break;
      typing.set(`${data.channel_id}/${data.user_id}`, Date.now() + 10000);
      drawTyping();
      break;
    default:
      if (/^(CHANNEL|THREAD)_/.test(news.t)) await onChannels();
  }
}

async function onChannels() {
  await load();
  await released();
  const isGone = state.channel && !channel();
  if (isGone) await go(textChannels()[0]?.id ?? null);
  else drawFrame();
  for (const one of list.querySelectorAll("[data-channel]")) one.replaceWith(channelLink(one.dataset.channel));
}

function forget(ids) {
  let changed = false;
  late?.push(() => ids.forEach((id) => shown.delete(id)));
  for (const id of ids) changed = shown.delete(id) || changed;
  if (changed) redraw();
}

function drawTyping() {
  const now = Date.now();
  for (const [key, until] of typing) if (until < now) typing.delete(key);
  const names = [...typing.keys()].map((key) => key.split("/")).filter(([place]) => place === state.channel).map(([, id]) => nameOf(id));
  const words = names.length === 0 ? "" : names.length === 1 ? `${names[0]} is typing …` : `${names.join(" and ")} are typing …`;
  const bar = $("typing");
  if (bar.dataset.words === words) return;
  bar.dataset.words = words;
  replace(bar, words ? [h("span.dots", { "aria-hidden": "true" }, h("i"), h("i"), h("i")), words] : null);
}

// --- keys --------------------------------------------------------------------------------------

// The arrows lead from message to message, and Tab into the one that has the focus.
log.addEventListener("keydown", (event) => {
  if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
  const here = event.target === log ? null : event.target.closest(".message");
  if (event.target !== log && event.target !== here) return;
  const next = here ? (event.key === "ArrowUp" ? here.previousElementSibling : here.nextElementSibling) : list.lastElementChild;
  if (!next?.matches(".message")) return;
  event.preventDefault();
  next.focus();
});
log.addEventListener("focusin", (event) => stops(event.target.closest(".message"), 0));
log.addEventListener("focusout", (event) => {
  const left = event.target.closest(".message");
  if (left && !left.contains(event.relatedTarget)) stops(left, -1);
});
const stops = (message, index) => message?.querySelectorAll(".toolbar button").forEach((one) => (one.tabIndex = index));

function editLast() {
  const mine = ordered().filter((one) => one.author.id === state.me && !one.interaction_metadata && one.content).at(-1);
  if (mine) composer.edit(mine);
}

// Alt with an arrow: the channel above or below.
function step(by) {
  const all = [...document.querySelectorAll(".channel")];
  const at = all.findIndex((one) => one.getAttribute("aria-current") === "page");
  all[(at + by + all.length) % all.length]?.click();
}

addEventListener("edit-last", editLast);
addEventListener("keydown", (event) => {
  if (event.key === "Escape") closeDrawer();
  if ((event.ctrlKey || event.metaKey) && event.key === "k") {
    event.preventDefault();
    jump();
  }
  if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
    event.preventDefault();
    step(event.key === "ArrowUp" ? -1 : 1);
  }
});

// --- light, dark and the drawer ----------------------------------------------------------------

function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

function toggleTheme() {
  const isDark = getComputedStyle(document.documentElement).getPropertyValue("--is-dark").trim() === "1";
  const next = isDark ? "light" : "dark";
  localStorage.setItem("theme", next);
  setTheme(next);
}

function openDrawer() {
  shell.classList.add("open");
  $("drawer").setAttribute("aria-expanded", "true");
}

function closeDrawer() {
  shell.classList.remove("open");
  $("drawer").setAttribute("aria-expanded", "false");
}

// --- start -------------------------------------------------------------------------------------

setTheme(localStorage.getItem("theme"));
composer.setUp();
replace($("drawer"), icon("menu"));
replace($("theme"), icon("sun"));
$("drawer").addEventListener("click", () => (shell.classList.contains("open") ? closeDrawer() : openDrawer()));
$("shade").addEventListener("click", closeDrawer);
$("theme").addEventListener("click", toggleTheme);
$("switch").addEventListener("click", switchPerson);
addEventListener("go", (event) => go(event.detail));
setInterval(drawTyping, 1000);
await load();
drawFrame();
await Promise.all([drawMessages(), drawBanner()]);
composer.focus();
listen(onNews, whenReleased);
