"use strict";
// Fills the lists, keeps the page up to date, and lets the keys walk. What a run holds goes into text nodes only: no text is
// ever read as markup (the page's policy forbids it too).
(() => {
  const SLOW = 2000, FAST = 150; // milliseconds until a list asks again

  function add(parent, tag, text, name) {
    const element = document.createElement(tag);
    if (text !== undefined && text !== null) element.textContent = text;
    if (name) element.className = name;
    parent.append(element);
    return element;
  }

  async function ask(address) {
    const answer = await fetch(address, { cache: "no-store" });
    const told = await answer.json();
    if (told.error) throw new Error(told.error);
    return told;
  }

  // --- lists

  const chosen = new Set();

  function fill(cell, value) {
    const told = typeof value === "string" ? { t: value } : value;
    const text = add(cell, "span", told.t, told.c);
    text.dir = "auto";
    if (told.s) add(cell, "small", told.s).dir = "auto";
  }

  function draw(list, told) {
    const focused = document.activeElement?.closest?.("tr[data-id]")?.dataset.id;
    const box = document.activeElement?.type === "checkbox";
    const body = document.createElement("tbody");
    for (const row of told.rows) {
      const line = add(body, "tr");
      line.dataset.id = row.id;
      if ("select" in list.dataset) {
        const tick = add(add(line, "td"), "input");
        tick.type = "checkbox";
        tick.checked = chosen.has(row.id);
        tick.setAttribute("aria-label", "choose " + (row.cells[0].t ?? row.cells[0]));
      }
      row.cells.forEach((value, number) => {
        const cell = add(line, number ? "td" : "th");
        if (number) return fill(cell, value);
        cell.scope = "row";
        const told = typeof value === "string" ? { t: value } : value;
        const link = add(cell, "a", told.t, told.c);
        link.href = row.href;
        link.dir = "auto";
        if (told.s) add(cell, "small", told.s).dir = "auto";
        if (told.s && "select" in list.dataset) line.className = "bad";
      });
    }
    list.querySelector("tbody").replaceWith(body);
    if (focused !== undefined) {
      const line = [...body.rows].find((one) => one.dataset.id === focused);
      line?.querySelector(box ? "input" : "a")?.focus({ preventScroll: true });
    }
  }

  function offer(list, facets) {
    for (const [name, values] of Object.entries(facets)) {
      const select = list.querySelector(`select[name="${name}"]`);
      if (!select) continue;
      const now = select.value || select.dataset.wanted || "";
      const options = [["", "all"], ...values.map(([value, count]) => [value, `${value} (${count.toLocaleString("en")})`])];
      if (now && !values.some(([value]) => value === now)) options.push([now, `${now} (0)`]);
      const parts = options.map(([value, text]) => {
        const option = document.createElement("option");
        option.value = value;
        option.textContent = text;
        return option;
      });
      if (document.activeElement !== select) select.replaceChildren(...parts);
      select.value = now;
      select.dataset.wanted = now;
    }
  }

  function start(list) {
    const form = list.querySelector("form"), count = list.querySelector(".count");
    const trouble = list.querySelector(".trouble"), [back, on] = list.querySelectorAll(".pager button");
    const state = { offset: 0, version: "", asked: 0, timer: 0, total: 0, limit: 100 };
    for (const [name, value] of new URLSearchParams(location.search)) {
      const field = form.elements.namedItem(name);
      if (name === "offset") state.offset = Number(value) || 0;
      else if (field?.localName === "select") field.dataset.wanted = value;
      else if (field) field.value = value;
    }

    function filters() {
      const found = new URLSearchParams();
      for (const field of form.elements) {
        const value = field.value || (field.localName === "select" ? field.dataset.wanted : "");
        if (field.name && value) found.set(field.name, value);
      }
      if (state.offset) found.set("offset", state.offset);
      return found;
    }

    async function load(anew) {
      clearTimeout(state.timer);
      const asked = ++state.asked, query = filters();
      if (anew) history.replaceState(null, "", query.size ? "?" + query : location.pathname);
      if (!anew && state.version) query.set("version", state.version);
      let pause = SLOW;
      try {
        const told = await ask(list.dataset.list + "?" + query);
        if (asked !== state.asked) return; // a later question was asked meanwhile
        trouble.hidden = true;
        if (!told.same) {
          Object.assign(state, { offset: told.offset, version: told.version, total: told.total, limit: told.limit });
          draw(list, told);
          offer(list, told.facets);
          const last = told.offset + told.rows.length, of = told.total.toLocaleString("en");
          const some = told.total === told.all ? "" : ` (of ${told.all.toLocaleString("en")})`;
          const reading = told.reading === null ? "" : ` · reading: ${Math.floor(100 * told.reading)} %`;
          const line = (told.total ? `${(told.offset + 1).toLocaleString("en")} to ${last.toLocaleString("en")} of ${of}` : "none") + some + reading;
          if (count.textContent !== line) count.textContent = line;
          list.querySelector(".pager span").textContent = told.total > told.rows.length ? line : "";
          back.disabled = told.offset === 0;
          on.disabled = last >= told.total;
          if (told.reading !== null) pause = FAST;
          list.dataset.ready = told.reading === null ? "yes" : "reading";
        }
      } catch (error) {
        if (asked !== state.asked) return;
        trouble.textContent = error instanceof TypeError ? "The viewer does not answer: it was stopped." : error.message;
        trouble.hidden = false;
        list.dataset.ready = "trouble";
      }
      state.timer = setTimeout(() => (document.hidden ? (state.timer = setTimeout(load, SLOW)) : load()), pause);
    }

    function page(step) {
      const next = Math.max(0, state.offset + step * state.limit);
      if (next === state.offset || next >= state.total) return;
      state.offset = next;
      load(true).then(() => rows(list)[0]?.focus());
    }

    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", (event) => {
      if (event.target.localName === "select") event.target.dataset.wanted = event.target.value;
      state.offset = 0;
      load(true);
    });
    back.addEventListener("click", () => page(-1));
    on.addEventListener("click", () => page(1));
    list.addEventListener("change", (event) => {
      if (event.target.type === "checkbox") choose(event.target);
    });
    list.addEventListener("page", (event) => page(event.detail));
    load(false);
  }

  function choose(tick) {
    const id = tick.closest("tr").dataset.id;
    if (tick.checked) chosen.add(id);
    else chosen.delete(id);
    document.getElementById("compare").disabled = !chosen.size;
    document.getElementById("chosen").textContent = chosen.size ? `${chosen.size} chosen` : "no run is chosen";
  }

  // --- what a page asks for after it was drawn

  async function figures(place) {
    try {
      for (const one of (await ask(place.dataset.figures)).figures) {
        const figure = add(place, "figure");
        if (one.legend.length) {
          const keys = add(figure, "ul", null, "keys");
          keys.setAttribute("aria-label", "Key");
          for (const [colour, label] of one.legend) {
            const key = add(keys, "li");
            add(key, "span", null, "dot k" + colour);
            add(key, "span", label).dir = "auto";
          }
        }
        const image = add(figure, "img");
        image.alt = one.caption;
        image.src = one.src;
        add(figure, "figcaption", one.caption);
      }
      place.dataset.ready = "yes";
    } catch (error) {
      add(place, "p", error.message, "notices");
    }
  }

  async function notices(place) {
    try {
      const told = (await ask(place.dataset.notices)).notices;
      if (told.length) {
        const list = add(place, "ul", null, "notices");
        list.setAttribute("aria-label", "Warnings");
        for (const line of told) add(list, "li", line).dir = "auto";
      }
      place.dataset.ready = "yes";
    } catch (error) {
      add(place, "p", error.message, "notices");
    }
  }

  // --- a run that goes on

  function watch() {
    const { state, version, problems } = document.body.dataset;
    const news = document.getElementById("news"), still = document.getElementById("reading");
    const listed = document.querySelector("[data-list]"); // a list keeps itself up to date
    async function look() {
      let pause = SLOW;
      try {
        const told = await ask(state);
        const status = document.getElementById("status");
        if (status.textContent !== told.status) {
          status.textContent = told.status;
          status.className = "status " + told.status.replace(" ", "-");
        }
        if (told.reading !== null) pause = listed ? SLOW : FAST;
        else if (still) return location.reload();
        else if (news.hidden && (told.problems !== Number(problems) || (told.version !== version && !listed))) {
          const worse = told.problems > Number(problems);
          news.querySelector("span").textContent = worse ? "Problems were found in this run." : "The run has changed: new records are there.";
          news.hidden = false;
        }
      } catch {
        // the viewer was stopped: the page stays as it is
      }
      setTimeout(look, pause);
    }
    document.getElementById("reload").addEventListener("click", () => location.reload());
    setTimeout(look, still ? FAST : SLOW);
  }

  // --- keys

  const rows = (list) => [...list.querySelectorAll("tbody th a")];

  function walk(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target, typing = /^(input|select|textarea)$/.test(target.localName) && target.type !== "checkbox";
    if (event.key === "/" && !typing) {
      const field = document.querySelector('input[type="search"]');
      if (field) event.preventDefault(), field.focus();
      return;
    }
    if (event.key === "Escape" && typing) return target.blur();
    const list = target.closest?.("[data-list]") ?? document.querySelector("[data-list]");
    if (event.key === "ArrowDown" && target.type === "search" && list) return event.preventDefault(), rows(list)[0]?.focus();
    if (typing) return;
    const link = [...document.querySelectorAll("a[data-key]")].find((one) => one.dataset.key === event.key);
    if (link && !target.closest("pre, .table, select")) return event.preventDefault(), link.click();
    if (!list) return;
    const found = rows(list), line = target.closest?.("tr[data-id]");
    const here = line ? found.indexOf(line.querySelector("th a")) : -1;
    const to = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: found.length - 1 }[event.key];
    if (to !== undefined && (here >= 0 || event.key === "ArrowDown") && found[to]) {
      event.preventDefault();
      const box = target.type === "checkbox" && found[to].closest("tr").querySelector("input");
      (box || found[to]).focus();
    } else if (here >= 0 && (event.key === "PageDown" || event.key === "ArrowRight")) {
      event.preventDefault();
      list.dispatchEvent(new CustomEvent("page", { detail: 1 }));
    } else if (here >= 0 && (event.key === "PageUp" || event.key === "ArrowLeft")) {
      event.preventDefault();
      list.dispatchEvent(new CustomEvent("page", { detail: -1 }));
    }
  }

  document.querySelectorAll("[data-list]").forEach(start);
  document.querySelectorAll("[data-figures]").forEach(figures);
  document.querySelectorAll("[data-notices]").forEach(notices);
  document.getElementById("compare")?.addEventListener("click", () => location.assign("/compare?runs=" + [...chosen].join(",")));
  if (document.body.dataset.state) watch();
  document.addEventListener("keydown", walk);
})();
