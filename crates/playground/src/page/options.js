// One option of a slash command as a field, by its type.

import { nameOf, server, upload } from "/api.js";
import { follow, h, replace } from "/dom.js";

const CHOICE_PAUSE = 120;

export function optionField(option, complete, finish) {
  const id = `option-${option.name}`;
  const { control, value } = make(option, id, complete);
  const input = control.matches?.("input, select, textarea") ? control : control.querySelector("input, select");
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.isComposing && !event.defaultPrevented) {
      event.preventDefault();
      finish();
    }
  });
  return {
    element: h("div.option", {},
      h("label", { for: id, title: option.description }, option.name, option.required ? " *" : ""),
      control,
      h("span.quiet", {}, option.description)),
    focus: () => input.focus(),
    set: (typed) => {
      const entry = [...(input.options ?? [])].find((one) => one.value === typed || one.textContent === typed);
      if (entry) input.value = entry.value;
      else if (!input.options && input.type !== "file") input.value = typed;
    },
    isComplete: () => input.reportValidity(),
    given: () => {
      const given = value();
      return given === "" || given === null ? null : { name: option.name, type: option.type, value: given };
    },
  };
}

function make(option, id, complete) {
  const shared = { id, required: option.required };
  const select = (entries) => {
    const control = h("select", shared, h("option", { value: "" }, ""), entries.map(([value, label]) => h("option", { value }, label)));
    return { control, value: () => control.value };
  };
  const here = server();
  if (option.choices?.length) return select(option.choices.map((one) => [one.value, one.name]));
  switch (option.type) {
    case 5: return select([["true", "True"], ["false", "False"]]);
    case 6: return select(here.members.map((one) => [one.id, nameOf(one.id)]));
    case 7: return select(here.channels.filter((one) => one.type !== 4).map((one) => [one.id, `#${one.name}`]));
    case 8: return select(here.roles.map((one) => [one.id, one.name]));
    case 11: return fileField(shared);
    default: return textField(option, shared, complete);
  }
}

function fileField(shared) {
  let stored = null;
  const control = h("input", {
    ...shared,
    type: "file",
    onchange: async () => {
      stored = control.files[0] ? await upload(control.files[0]) : null;
    },
  });
  return { control, value: () => stored?.id ?? null };
}

// Text or a number; suggestions appear below while one types, where the bot offers them.
function textField(option, shared, complete) {
  const isNumber = option.type === 4 || option.type === 10;
  const input = h("input", {
    ...shared,
    type: isNumber && !option.autocomplete ? "number" : "text",
    min: option.min_value,
    max: option.max_value,
    step: option.type === 10 ? "any" : null,
    minlength: option.min_length,
    maxlength: option.max_length ?? (isNumber ? null : 6000),
    autocomplete: "off",
    ...(option.autocomplete && { role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": `${shared.id}-choices` }),
  });
  if (!option.autocomplete) return { control: input, value: () => input.value };
  let chosen = null;
  let timer = null;
  let asked = 0;
  const list = h("ul.choices", { id: `${shared.id}-choices`, role: "listbox", "aria-label": `Values for ${option.name}`, hidden: true });
  const hide = () => {
    list.hidden = true;
    follow(input, list);
  };
  const take = (choice) => {
    chosen = choice;
    input.value = choice.name;
    hide();
  };
  const show = (choices) => {
    list.hidden = !choices.length || document.activeElement !== input;
    replace(list, choices.map((choice, at) =>
      h("li", {
        id: `${list.id}-${at}`, role: "option", "aria-selected": false,
        // The field keeps the focus; a finger that scrolls the list chooses nothing.
        onpointerdown: (event) => event.preventDefault(), onmousedown: (event) => event.preventDefault(), onclick: () => take(choice),
      }, choice.name)));
    follow(input, list);
  };
  // Answers may overtake each other: only the one to the newest question is shown.
  const ask = () => {
    clearTimeout(timer);
    const run = ++asked;
    timer = setTimeout(() => complete(option, input.value, (choices) => run === asked && show(choices)), CHOICE_PAUSE);
  };
  input.addEventListener("input", () => {
    chosen = null;
    ask();
  });
  input.addEventListener("focus", ask);
  input.addEventListener("blur", hide);
  input.addEventListener("keydown", (event) => {
    const entries = [...list.children];
    if (list.hidden || !entries.length) return;
    const at = entries.findIndex((one) => one.getAttribute("aria-selected") === "true");
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const next = (at + (event.key === "ArrowDown" ? 1 : -1) + entries.length) % entries.length;
      entries.forEach((one, index) => one.setAttribute("aria-selected", index === next));
      entries[next].scrollIntoView({ block: "nearest" });
      follow(input, list);
    } else if (event.key === "Enter" && at >= 0) {
      event.preventDefault();
      entries[at].click();
    } else if (event.key === "Escape") {
      event.stopPropagation();
      hide();
    }
  });
  const control = h("div.completed", {}, input, list);
  return { control, value: () => (chosen && chosen.name === input.value ? chosen.value : input.value) };
}
