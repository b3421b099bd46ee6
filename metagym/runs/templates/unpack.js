"use strict";
// Shows the turns of a packed episode when the reader opens it, or when the address names it (#e<pack>-<place>).
// Text goes into text nodes only: what a game or a model wrote is never read as markup or code.
(() => {
  const KINDS = ["q", "pre", "kbd", "i", "small", "em"]; // as in turns.py
  const packs = new Map();

  function unpack(name) {
    if (!packs.has(name)) packs.set(name, read(name)); // once for all episodes of the pack
    return packs.get(name);
  }

  async function read(name) {
    const text = atob(document.getElementById(name).content.textContent.trim());
    const bytes = Uint8Array.from(text, (sign) => sign.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return JSON.parse(await new Response(stream).text());
  }

  function add(parent, tag, text, name) {
    const element = document.createElement(tag);
    element.textContent = text;
    if (name) element.className = name;
    return parent.appendChild(element);
  }

  function build(content) {
    const parts = document.createDocumentFragment();
    const list = add(parts, "ol", "");
    for (const turn of content.turns) {
      const item = add(list, "li", turn[0]);
      for (let i = 1; i < turn.length; i += 2) add(item, KINDS[turn[i]], turn[i + 1]);
    }
    if (content.more) add(list, "li", content.more, "note");
    const last = add(parts, "p", "", "last");
    last.dir = "auto";
    add(last, "span", "last observation", "label");
    last.append(" " + content.last);
    add(parts, "p", content.note, "note");
    return parts;
  }

  async function show(episode) {
    const note = episode.querySelector("p");
    const [, pack, place] = episode.id.match(/^e(\d+)-(\d+)$/);
    try {
      note.replaceWith(build((await unpack("p" + pack))[place]));
    } catch (error) {
      note.textContent = "This browser cannot unpack the turns (" + error + "); they are in records.jsonl.";
    }
  }

  function open(event) {
    const episode = event.target;
    if (!episode.open || !("packed" in episode.dataset)) return;
    delete episode.dataset.packed; // once
    show(episode);
  }

  function follow() {
    const target = document.getElementById(location.hash.slice(1));
    if (!target || target.localName !== "details") return;
    for (let part = target; part; part = part.parentElement.closest("details")) part.open = true;
    target.scrollIntoView();
  }

  document.addEventListener("toggle", open, true); // it does not bubble
  addEventListener("hashchange", follow);
  follow();
})();
