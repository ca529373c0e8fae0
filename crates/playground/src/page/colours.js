// Colours of code, by highlight.js, which Discord's own client uses: highlight.js is its build for browsers as its project
// publishes it (npm, @highlightjs/cdn-assets, es/highlight.min.js); see highlight.LICENSE.

import { h } from "/dom.js";

let library = null;
let loading = null;

// Colours what `element` holds, at once or when the library has come. A language that it does not know stays plain.
export async function colour(element, language) {
  if (!library) {
    loading ??= import("/highlight.js").then((one) => one.default, () => null);
    library = await loading;
  }
  if (!library?.getLanguage(language)) return;
  const code = element.textContent;
  const pieces = spans(library.highlight(code, { language, ignoreIllegals: true }).value);
  const coloured = h("code", {}, pieces);
  // Colours may change how code looks, never what it says.
  if (coloured.textContent === code) element.replaceChildren(...coloured.childNodes);
}

const ENTITIES = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#x27;": "'" };

// What the library writes is text between spans; it is built from these, never parsed as HTML.
function spans(html) {
  const open = [h("code")];
  for (const piece of html.split(/(<span class="[\w -]*">|<\/span>)/)) {
    const name = /^<span class="([\w -]*)">$/.exec(piece)?.[1];
    if (name !== undefined) {
      const span = h("span");
      span.className = name;
      open.at(-1).append(span);
      open.push(span);
    } else if (piece === "</span>") {
      if (open.length > 1) open.pop();
    } else {
      open.at(-1).append(piece.replace(/&(?:amp|lt|gt|quot|#x27);/g, (entity) => ENTITIES[entity]));
    }
  }
  return [...open[0].childNodes];
}
