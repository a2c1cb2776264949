// Opens the case that a link leads to, and lists the cases that come nearest to what is typed. The page reads as well
// without it.
"use strict";
(() => {
  const SHOWN = 9;
  const SMALL = new Set(("a an and any are as at be but by can did do does for from get got has have how i if in into is it its just me my no not of "
    + "on only or our so some than that the then there this to too was we what when which while who why will with you your very still").split(" "));
  // Words that people exchange, each in any of its forms.
  const SAME = `grow rise climb increase leak, ram memory, remain stay keep, kill oom, delete remove purge clean, slow long late,
    hang stuck freeze deadlock, release free return, full space, disk diskspace drive, double twice, train epoch`
    .split(",").map(words => words.trim().split(" "));
  const LESS = 0.7;  // what such a word is worth, and one that only begins so
  const WORTH = [["h3", 3], [".says", 2.5], [".words", 2.5], ["small", 1.2], ["details", 1]];
  const LIKE = 0.35;  // of the best one's score

  const open = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let at = target.closest("details"); at; at = at.parentElement.closest("details")) at.open = true;
    if (target.matches(".case")) target.querySelector("details").open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", open);
  document.addEventListener("click", event => {  // a link to the place where the reader is already
    const link = event.target.closest("a");
    if (link && link.hash && link.getAttribute("href") === location.hash) open();
  });

  // A word without the ending of its form: "grow" of "growing" and "grows".
  const stem = word => word.replace(/(?<=[a-z]{3})(?:ies|ing|ed|es|s|ly|y|e)$/, "");
  const plain = text => text.toLowerCase().replace(/[‘’]/g, "'").replace(/[“”]/g, '"').replace(/\s+/g, " ");
  const alike = SAME.map(words => words.map(stem));
  const wordsOf = text => plain(text).match(/[\p{L}\p{N}_]+/gu) || [];

  let known;
  const read = () => [...document.querySelectorAll(".case")].map(one => {
    const worth = new Map();
    for (const [where, much] of WORTH)
      for (const part of one.querySelectorAll(where))
        for (const word of wordsOf(part.textContent).map(stem)) worth.set(word, Math.max(much, worth.get(word) || 0));
    const said = [...one.querySelectorAll("h3, .says li")].map(part => plain(part.textContent));
    said.push(...plain(one.querySelector(".words")?.textContent || "").split(", "));
    return {id: one.id, title: one.querySelector("h3").innerHTML, worth: [...worth], said: said.filter(text => text.length > 3)};
  });

  // How much a case has of a word, of one that begins so, or of one that means the same.
  const much = (one, root) => Math.max(0, ...one.worth.map(([word, worth]) => word === root ? worth
    : root.length > 3 && word.startsWith(root) || alike.some(words => words.includes(root) && words.includes(word)) ? LESS * worth : 0));

  const nearest = asked => {
    known ||= read();
    const all = wordsOf(asked).slice(-40).map(stem), roots = [...new Set(all.filter(word => !SMALL.has(word)))];
    const phrase = plain(asked).trim(), scores = known.map(() => 0);
    for (const root of roots.length ? roots : all) {
      const found = known.map(one => much(one, root));
      const rare = Math.log(1 + known.length / (1 + found.filter(Boolean).length));
      found.forEach((worth, at) => { scores[at] += worth * rare; });
    }
    known.forEach((one, at) => {  // a whole message in what was pasted, or what was typed in a message
      const same = one.said.filter(text => phrase.length > 5 && text.includes(phrase)
        || text.split("…").some(piece => piece.trim().length > 5 && phrase.includes(piece.trim())));
      if (same.length) scores[at] += 2 + Math.max(...same.map(text => Math.min(text.length, phrase.length))) / 4;
    });
    const best = Math.max(...scores);
    return known.map((one, at) => ({...one, score: scores[at]})).filter(one => one.score > LIKE * best)
      .sort((one, other) => other.score - one.score).slice(0, SHOWN);
  };

  const form = document.getElementById("filter"), box = document.getElementById("seen");
  form.hidden = false;
  const show = () => {
    const asked = box.value.trim(), hits = asked ? nearest(asked) : [];
    document.getElementById("found").textContent = !asked ? "" : hits.length ? "The likeliest first:" : "Nothing found. Try other words.";
    document.getElementById("nearest").replaceChildren(...hits.map(hit => {
      const item = document.createElement("li"), link = document.createElement("a");
      Object.assign(link, {href: `#${hit.id}`, innerHTML: hit.title});
      item.append(link);
      return item;
    }));
  };
  box.addEventListener("input", show);
  form.addEventListener("submit", event => {
    event.preventDefault();
    document.querySelector("#nearest a")?.click();
  });
  show();
  open();
})();
