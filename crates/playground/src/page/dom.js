// Builds elements. Text is always set as text, never parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";

// Strokes on a 24 × 24 grid.
const ICONS = {
  menu: "M4 7h16M4 12h16M4 17h16",
  sun: "M12 4V2M12 22v-2M4 12H2M22 12h-2M6 6 4.6 4.6M19.4 19.4 18 18M18 6l1.4-1.4M4.6 19.4 6 18M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8Z",
  reply: "M9 7 4 12l5 5M4 12h9a7 7 0 0 1 7 7",
  react: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18ZM8.5 14.5a4.2 4.2 0 0 0 7 0M9 9.5h.01M15 9.5h.01",
  thread: "M5 4h14v11H9l-4 4zM9 8h6M9 11h4",
  edit: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  plus: "M12 5v14M5 12h14",
  send: "M4 12 20 4l-6 16-3-7z",
  close: "M6 6l12 12M18 6 6 18",
  file: "M7 3h7l4 4v14H7zM14 3v4h4",
  copy: "M9 9h10v10H9zM5 15V5h10",
  slash: "M15 4 9 20",
  eye: "M2 12s4-7 10-7 10 7 10 7-4 7-10 7-10-7-10-7ZM12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6Z",
};

// h("a.link", {href}, "text", child, …): null and false children are left out.
export function h(what, attributes = {}, ...children) {
  const [tag, ...classes] = what.split(".");
  const element = document.createElement(tag || "div");
  if (classes.length) element.className = classes.join(" ");
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "hidden") element[name] = value;
    else element.setAttribute(name, value === true && !name.startsWith("aria-") ? "" : String(value));
  }
  add(element, children);
  return element;
}

export function add(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

export function replace(element, ...children) {
  element.replaceChildren();
  add(element, children);
}

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

export function button(label, iconName, onclick, extra = {}) {
  return h("button.icon-button", { type: "button", "aria-label": label, title: label, onclick, ...extra }, icon(iconName));
}

// Tells assistive technology which entry of its list a field is at, and whether the list is open.
export function follow(field, list) {
  const at = list.hidden ? null : list.querySelector("[aria-selected=true]");
  if (field.getAttribute("role") === "combobox") field.setAttribute("aria-expanded", String(!list.hidden));
  if (at) field.setAttribute("aria-activedescendant", at.id);
  else field.removeAttribute("aria-activedescendant");
}

// A coloured disc with a letter; the colour follows from the id.
export function avatar(id, name, isBot = false) {
  const hue = Number(BigInt(id || 0) / 7n % 360n);
  const disc = h("span.avatar", { "aria-hidden": "true" }, isBot ? null : (name || "?").slice(0, 1).toUpperCase());
  if (isBot) {
    disc.classList.add("bot");
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", "0 0 32 32");
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", "M9 20v-8M16 24V8M23 20v-8");
    svg.append(path);
    disc.append(svg);
  } else {
    disc.style.setProperty("--hue", hue);
  }
  return disc;
}

// What could not be done.
export function toast(text) {
  show("div.toast", text);
}

// What was done.
export function toastDone(text) {
  show("div.toast.done", text);
}

function show(kind, text) {
  const note = h(kind, {}, text);
  document.getElementById("toasts").append(note);
  setTimeout(() => note.remove(), 6000);
}
