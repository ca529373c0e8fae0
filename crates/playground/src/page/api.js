// What the page knows, and how it talks to the playground.

import { toast } from "/dom.js";

export const state = {
  me: null,
  server: null,
  channel: null,
  data: { users: [], servers: [], directs: [], bot: null, online: false },
};

const waiting = new Map();
// Answers that came before the request that asked for them returned, by interaction.
const early = new Map();
const MOST_EARLY = 32;
let loads = 0;
let socket = null;
let listener = () => {};
// Runs what changes the page, as soon as no finger is on it.
let whenFree = (run) => run();

// Loads everything again. An answer that a later one has overtaken is old and left out.
export async function load() {
  const run = ++loads;
  const data = await (await fetch("/api/state")).json();
  if (run !== loads) return;
  state.data = data;
  const people = state.data.users.filter((user) => !user.bot);
  const remembered = localStorage.getItem("me");
  if (!people.some((user) => user.id === state.me)) {
    state.me = people.some((user) => user.id === remembered) ? remembered : people[0].id;
  }
  state.channel ??= localStorage.getItem("channel");
  if (!server()) state.server = (holding(state.channel) ?? state.data.servers[0])?.id;
  if (!channel()) state.channel = textChannels()[0]?.id ?? null;
}

const holding = (id) => state.data.servers.find((one) => one.channels.some((entry) => entry.id === id));

export const server = () => state.data.servers.find((one) => one.id === state.server);
export const textChannels = () => (server()?.channels ?? []).filter((one) => one.type === 0).filter(canSee);
export const user = (id) => state.data.users.find((one) => one.id === id);

export function channel(id = state.channel) {
  for (const one of state.data.servers) {
    const found = one.channels.find((entry) => entry.id === id);
    if (found) return found;
  }
  const direct = state.data.directs.find((one) => one.id === id && one.user === state.me);
  return direct ? { id, type: 1, name: botName(), topic: "Direct messages with the bot" } : undefined;
}

export const botName = () => user(state.data.bot)?.username ?? "The bot";

export function nameOf(id) {
  const member = server()?.members.find((one) => one.id === id);
  return member?.nick || user(id)?.username || "somebody";
}

export function rights(id = state.me) {
  return BigInt(server()?.members.find((one) => one.id === id)?.rights ?? 0);
}

// A channel is hidden from whom an overwrite takes the right to view (bit 10); roles are left to the bot's side.
function canSee(one) {
  if (rights() & 8n) return true;
  return !(one.permission_overwrites ?? []).some((entry) => entry.id === state.me && BigInt(entry.deny) & 1024n);
}

export async function messages(id) {
  return (await fetch(`/api/channels/${id}/messages?as=${state.me}`)).json();
}

// Does one deed; gives null and shows why when it cannot be done.
export async function act(what, fields = {}) {
  const response = await fetch("/api/act", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ as: state.me, do: what, ...fields }),
  }).catch(() => null);
  if (!response) {
    toast("The playground does not answer. Check that it is still running.");
    return null;
  }
  const body = await response.json().catch(() => ({}));
  if (!response.ok) {
    toast(body.error ?? `The playground answered ${response.status}.`);
    return null;
  }
  return body;
}

export async function upload(file) {
  if (file.size > 10 * 1024 * 1024) {
    toast(`${file.name} is larger than 10 MiB.`);
    return null;
  }
  const response = await fetch(`/api/upload?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file });
  return response.ok ? response.json() : null;
}

// Takes what the bot answers to an interaction, suggestions or a form, which may have come already.
export function answerTo(interaction, then) {
  const answer = early.get(interaction);
  if (early.delete(interaction)) {
    whenFree(() => then(answer));
    return;
  }
  waiting.set(interaction, then);
  setTimeout(() => waiting.delete(interaction), 60000);
}

function onAnswer({ interaction, d }) {
  const then = waiting.get(interaction);
  if (waiting.delete(interaction)) {
    whenFree(() => then(d));
    return;
  }
  early.set(interaction, d);
  if (early.size > MOST_EARLY) early.delete(early.keys().next().value);
}

export function listen(handle, free) {
  listener = (news) => free(() => handle(news));
  whenFree = free;
  connect();
}

export function connect() {
  socket?.close();
  const mine = new WebSocket(`ws://${location.host}/api/events?as=${state.me}`);
  socket = mine;
  mine.onmessage = (event) => {
    const news = JSON.parse(event.data);
    if (news.t === "answer") onAnswer(news);
    else listener(news);
  };
  mine.onclose = () => {
    if (socket !== mine) return;
    listener({ t: "offline" });
    setTimeout(() => socket === mine && connect(), 1000);
  };
}
