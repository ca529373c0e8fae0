// What opens over the page: forms of the bot, the switch between people, questions.

import { act, answerTo, connect, load, server, state, textChannels } from "/api.js";
import { avatar, follow, h, replace, toastDone } from "/dom.js";

const dialog = document.getElementById("dialog");
dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());

export const closeDialog = () => dialog.close();

export { open as openDialog };

function open(title, ...content) {
  replace(dialog,
    h("form.dialog-body", { method: "dialog", onsubmit: (event) => event.preventDefault() },
      h("h2", { id: "dialog-title" }, title), content));
  if (!dialog.open) dialog.showModal();
  dialog.querySelector("input, textarea, select, .primary")?.focus();
}

function buttons(label, onclick, style = "primary") {
  return h("div.dialog-buttons", {},
    h("button.press.secondary", { type: "button", onclick: () => dialog.close() }, "Cancel"),
    h(`button.press.${style}`, { type: "submit", onclick }, label));
}

// A form that the bot asks to be filled in.
export function openForm(form, interaction) {
  const inputs = [];
  const rows = (form.components ?? []).map((row) => {
    const part = row.components?.[0] ?? row.component;
    const shared = {
      name: part.custom_id,
      placeholder: part.placeholder,
      minlength: part.min_length,
      maxlength: part.max_length ?? 4000,
      required: part.required !== false,
      value: part.value ?? "",
    };
    const input = part.style === 2 ? h("textarea", { ...shared, rows: 8 }) : h("input", { ...shared, type: "text" });
    inputs.push(input);
    return h("label.field-label", {}, h("span", {}, part.label ?? row.label ?? part.custom_id, part.required === false ? "" : " *"), input);
  });
  const send = async () => {
    if (!inputs.every((input) => input.reportValidity())) return;
    const fields = inputs.map((input) => [input.name, input.value]);
    const begun = await act("submit", { interaction, fields });
    if (!begun) return;
    dialog.close();
    answerTo(begun.interaction, (answer) => answer.form && openForm(answer.form, begun.interaction));
  };
  open(form.title ?? "Form", rows, buttons("Submit", send));
}

export function confirmDelete(here) {
  const remove = () => {
    dialog.close();
    act("delete", here);
  };
  open("Delete this message?", h("p", {}, "It is deleted for everyone."), buttons("Delete", remove, "danger"));
}

export function promptThread(here) {
  const input = h("input", { type: "text", maxlength: 100, required: true, placeholder: "What is it about?" });
  const make = async () => {
    if (!input.reportValidity()) return;
    const made = await act("thread", { ...here, name: input.value.trim() });
    dialog.close();
    if (made) dispatchEvent(new CustomEvent("go", { detail: made.channel }));
  };
  open("Open a thread", h("label.field-label", {}, h("span", {}, "Name"), input), buttons("Open", make));
}

export function promptChannel() {
  const input = h("input", { type: "text", maxlength: 100, required: true });
  const make = async () => {
    if (!input.reportValidity()) return;
    const made = await act("add_channel", { server: state.server, name: input.value });
    if (!made) return;
    dialog.close();
    dispatchEvent(new CustomEvent("go", { detail: made.channel }));
  };
  open("Add a channel", h("label.field-label", {}, h("span", {}, "Name"), input), buttons("Add", make));
}

// Ctrl+K: a channel by a part of its name.
export function jump() {
  const list = h("ul.jump", { id: "jump", role: "listbox", "aria-label": "Channels" });
  const input = h("input", { type: "text", role: "combobox", "aria-label": "Channel", "aria-autocomplete": "list", "aria-controls": "jump", "aria-expanded": "true",
    placeholder: "Where to?", autocomplete: "off", oninput: () => draw(), onkeydown: (event) => onKey(event) });
  const all = [...textChannels(), ...(server()?.channels ?? []).filter((one) => one.type >= 10)];
  let at = 0;
  const fitting = () => all.filter((one) => one.name.includes(input.value.trim().replace(/^#/, "").toLowerCase())).slice(0, 12);
  const take = (one) => {
    dialog.close();
    dispatchEvent(new CustomEvent("go", { detail: one.id }));
  };
  const draw = (next = 0) => {
    const shown = fitting();
    at = shown.length ? (next + shown.length) % shown.length : 0;
    replace(list, shown.map((one, index) =>
      h("li", { id: `jump-${index}`, role: "option", "aria-selected": index === at, onclick: () => take(one) }, `# ${one.name}`)));
    follow(input, list);
  };
  const onKey = (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      draw(at + (event.key === "ArrowDown" ? 1 : -1));
    } else if (event.key === "Enter") {
      event.preventDefault();
      const chosen = fitting()[at];
      if (chosen) take(chosen);
    }
  };
  draw();
  open("Go to a channel", input, list);
}

const ROLES = ["Administrator", "Moderator", "Member"];

// Who acts: choose somebody, change their role, or invite somebody new.
export function switchPerson() {
  const people = state.data.users.filter((one) => !one.bot);
  const rows = people.map((one) => {
    const member = server()?.members.find((entry) => entry.id === one.id);
    const isOwner = member?.owner ?? false;
    const held = isOwner ? "Owner" : ROLES.find((role) => member?.roles.includes(role)) ?? "Member";
    const choose = async () => {
      state.me = one.id;
      localStorage.setItem("me", one.id);
      dialog.close();
      connect();
    };
    const role = h("select.role", {
      "aria-label": `Role of ${one.username}`,
      disabled: isOwner,
      onchange: () => setRole(one.id, role.value),
    }, (isOwner ? ["Owner"] : ROLES).map((name) => {
      const option = h("option", { value: name }, name);
      option.selected = name === held;
      return option;
    }));
    return h("li.person", {},
      h("button.person-card", { type: "button", "aria-current": one.id === state.me, onclick: choose },
        avatar(one.id, one.username), h("span", {}, one.username), one.id === state.me ? h("span.quiet", {}, "you") : null),
      role);
  });
  const name = h("input", { type: "text", placeholder: "name", pattern: "[a-z0-9_.]{2,32}", "aria-label": "Name of a new member" });
  const invite = async () => {
    if (!name.value || !name.reportValidity()) return;
    if (await act("add_user", { name: name.value })) {
      await load();
      switchPerson();
    }
  };
  open("Act as",
    h("p.quiet", {}, "You can act as any user here, to see the effect of roles."),
    h("ul.people", {}, rows),
    h("div.invite", {}, name, h("button.press.secondary", { type: "button", onclick: invite }, "Invite")),
    h("div.dialog-buttons", {}, h("button.press.primary", { type: "button", onclick: () => dialog.close() }, "Done")));
}

async function setRole(id, role) {
  for (const name of ROLES.slice(0, 2)) {
    if (!(await act("set_role", { user: id, role: name, has: name === role }))) return;
  }
  toastDone("The role was changed.");
}

const EMOJI = ["👍", "👎", "❤️", "🎉", "👀", "✅", "❌", "🚀"];

export function pickEmoji(anchor, then) {
  document.querySelector(".emoji-picker")?.remove();
  const picker = h("div.emoji-picker", { role: "menu" }, EMOJI.map((emoji) =>
    h("button", { type: "button", role: "menuitem", onclick: () => { picker.remove(); then(emoji); } }, emoji)));
  const close = (event) => {
    if (picker.contains(event.target) || event.target === anchor) return;
    picker.remove();
    removeEventListener("pointerdown", close);
  };
  // Beside the messages, not among them: a message is drawn again at any time, and what it holds goes with that.
  document.querySelector("main").append(picker);
  const { right, top, bottom } = anchor.getBoundingClientRect();
  const below = bottom + 4;
  const fits = below + picker.offsetHeight <= innerHeight;
  picker.style.top = `${fits ? below : Math.max(0, top - 4 - picker.offsetHeight)}px`;
  picker.style.left = `${Math.max(0, right - picker.offsetWidth)}px`;
  addEventListener("pointerdown", close);
  picker.addEventListener("keydown", (event) => event.key === "Escape" && picker.remove());
  picker.firstElementChild.focus();
}
