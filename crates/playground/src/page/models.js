// Which model answers: a banner while it is the demo, and the dialog that offers a real one.

import { openDialog, closeDialog } from "/dialogs.js";
import { h, replace, toastDone } from "/dom.js";

const banner = document.getElementById("banner");

const ask = async (path, otherwise) => {
  const response = await fetch(path).catch(() => null);
  return response?.ok ? response.json() : otherwise;
};

export async function drawBanner() {
  const now = await ask("/api/model", { demo: false });
  // The same again is not drawn again: a press on it may be under way.
  if (banner.hidden === !now.demo) return;
  banner.hidden = !now.demo;
  replace(banner, now.demo ? [
    h("span", {}, h("strong", {}, "Demo model: "), "a small script, not an AI."),
    h("button.press.primary", { type: "button", onclick: offer }, "Use a real model"),
  ] : null);
}

// Has another model answer; says whether it does.
async function choose(choice, pressed) {
  pressed.disabled = true;
  const response = await fetch("/api/model", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(choice),
  }).catch(() => null);
  pressed.disabled = false;
  const body = await response?.json().catch(() => null);
  if (!response?.ok) {
    const error = document.getElementById("model-error");
    replace(error, body?.error ?? "The playground does not answer. Check that it is still running.");
    return;
  }
  closeDialog();
  toastDone(body.said);
  await drawBanner();
}

async function offer() {
  const [{ vendors }, servers] = await Promise.all([ask("/api/model", { vendors: [] }), ask("/api/model/servers", [])]);
  const vendor = h("select", { id: "model-vendor" }, vendors.map((one) => h("option", { value: one.name }, one.label)));
  const key = h("input", { id: "model-key", type: "password", autocomplete: "off", spellcheck: "false", required: true });
  const useKey = (event) => {
    if (key.reportValidity()) choose({ use: "key", vendor: vendor.value, key: key.value.trim() }, event.currentTarget);
  };
  openDialog("Use a real model",
    h("h3", {}, "On this machine"),
    servers.length
      ? h("ul.models", {}, servers.map((one) => h("li", {},
        h("button.press.primary", { type: "button", onclick: (event) => choose({ use: "server", name: one.name }, event.currentTarget) }, `Use ${one.label}`),
        h("span.quiet.cut", {}, one.models.slice(0, 5).join(", ")))))
      : h("p.quiet", {}, "No model server answers here. The page looks for Ollama, LM Studio, llama.cpp and vLLM at their usual ports each time this opens."),
    h("h3", {}, "With a key"),
    h("label.field-label", {}, h("span", {}, "Provider"), vendor),
    h("label.field-label", {}, h("span", {}, "Key"), key),
    h("p.quiet", {}, "The key is saved in .env in the playground's directory, readable only by you, and sent only to this provider, which bills your usage."),
    h("p.error", { id: "model-error", role: "alert" }),
    h("div.dialog-buttons", {},
      h("button.press.secondary", { type: "button", onclick: closeDialog }, "Cancel"),
      h("button.press.primary", { type: "submit", onclick: useKey }, "Use this key")));
}
