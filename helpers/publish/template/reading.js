// Remembers the colours and where the reader stopped, and marks where the reader is. A page reads as well without it.
"use strict";
(() => {
  const KEY = "zero-copy-measured: ";
  const recall = (name) => {
    try { return JSON.parse(localStorage.getItem(KEY + name)); } catch { return null; }
  };
  const remember = (name, value) => {
    try { localStorage.setItem(KEY + name, JSON.stringify(value)); } catch { /* this browser keeps nothing here */ }
  };

  const colours = document.getElementById("colours");
  const choose = () => {
    const chosen = recall("colours");
    if ([...colours.options].some((option) => option.value === chosen)) colours.value = chosen;
  };
  choose();
  addEventListener("pageshow", choose);  // the reader may have chosen on another page, and gone back
  colours.addEventListener("change", () => remember("colours", colours.value));

  // The last of these that begins in the upper third of the window, or above it; at the page's end, in the window.
  const reached = (places) => {
    const atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 2;
    const line = atEnd ? innerHeight : innerHeight / 3;
    return places.filter((place) => place.getBoundingClientRect().top < line).at(-1);
  };

  const offer = (page, place) => {
    if (!place || typeof place.at !== "string") return;
    const offered = document.querySelector(".resume");
    const link = offered.querySelector("a");
    link.href = page + "#" + place.at;
    link.textContent += ": " + place.title;
    offered.hidden = false;
  };

  const here = () => "place in " + location.pathname;

  addEventListener("DOMContentLoaded", () => {
    const contents = document.querySelector(".contents");
    const cells = [...document.querySelectorAll("[id^='cell-']")];
    if (cells.length && document.querySelector(".resume")) {
      offer("", recall(here()));
    } else if (document.querySelector(".resume")) {  // the index: of all lessons, the one read last
      const pages = [...document.querySelectorAll(".brief a")].map((link) => link.pathname);
      const places = pages.map((page) => ({page, ...recall("place in " + page)})).filter((place) => place.when);
      const last = places.sort((one, other) => one.when - other.when).at(-1);
      if (last) offer(last.page, {at: last.at, title: last.lesson + ", " + last.title});
    }
    if (!contents) return;

    const list = contents.querySelector("details");
    const wide = matchMedia("(min-width: 80rem)");
    const fit = () => { list.open = wide.matches; };
    wide.addEventListener("change", fit);
    fit();
    contents.classList.add("follows");
    contents.addEventListener("click", (event) => {
      if (event.target.closest("a") && !wide.matches) list.open = false;
    });

    const links = new Map([...contents.querySelectorAll("a")].map((link) => [link.getAttribute("href").slice(1), link]));
    const headings = [...links.keys()].map((id) => document.getElementById(id)).filter(Boolean);
    const where = contents.querySelector(".where");
    let current;
    const mark = () => {
      const heading = reached(headings);
      const link = heading && links.get(heading.id);
      if (link === current) return;
      if (current) current.removeAttribute("aria-current");
      current = link;
      where.textContent = link ? link.textContent : "";
      if (!link) return;
      link.setAttribute("aria-current", "true");
      const room = list.lastElementChild;
      if (wide.matches) room.scrollTop = link.offsetTop - room.clientHeight / 2;
    };
    const save = () => {
      const cell = reached(cells);
      const heading = reached(headings.filter((one) => one.id !== "text"));
      if (!cell || !heading) return;  // at the opening: what was remembered stays
      const lesson = document.querySelector("h1").textContent;
      remember(here(), {at: cell.id, title: heading.textContent.trim(), lesson, when: Date.now()});
    };
    let frame;
    addEventListener("scroll", () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(mark);
    }, {passive: true});
    document.addEventListener("visibilitychange", () => { if (document.hidden) save(); });
    mark();
  });
})();
