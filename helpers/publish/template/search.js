/* Ranks the sections of #sections for what is typed. MiniSearch finds a word, what begins with it and what differs by a
   letter or two, and scores each section by how rare the word is; what counts as the same word, and how much, is ours. */
"use strict";

// Words that are in most sections: they count only in a phrase, or if nothing else was asked.
const SMALL = new Set(("a an and any are as at be but by can did do does each for from get got has have gets how i if in into is it its "
  + "just me mean means much my no not of on or our own so some still than that the then there they this to too was we what when "
  + "where which while who why will with you your").split(" "));
// Words that readers exchange, each in any of its forms: "truncate" stands for "truncated".
const SAME = `truncate cut shorten, double twice, leak grow rise climb increase, ram memory, use take need cost, allocate take need,
  free release return, delete remove unlink, save write, load read, replace swap, start begin run open, slow long late wait,
  long minutes, hour minutes, corrupt damage garbage half, crash die kill signal, segfault segmentation, buffer chunk, big large huge,
  short brief, jupyter jupyterlab notebook, orange blue green colour, process worker, script program, downtime failed, course lesson`
  .split(",").map(words => words.trim().split(" ").map(stem));
const SHOWN = 30;
const WORTH = { exact: 1, form: .9, begins: .7, same: .6, letter: .6, within: .4 };
const TIER = { wholeTitle: 3, phraseInTitle: 2, phrase: 1, words: 0 };
const LESSON = /^(\d\d_|index|measure)/;  // the pages that explain
const LEAST = { Sources: .5, Recap: .8 };  // they name everything and explain nothing

const COMPOUND = /[\p{L}\p{N}_]+(?:(?:[-,]|(?<=[\p{L}_])\.(?=[\p{L}_]))[\p{L}\p{N}_]+)*/gu;
const joined = compound => compound.replace(/[-,.]/g, "");
const plain = text => text.toLowerCase().replace(/[‘’]/g, "'").replace(/[“”]/g, '"').replace(/\s/g, " ");
const names = text => text.match(/[\p{L}\p{N}_]+/gu) || [];

/* A word without the ending of its form: "grow" of "growing" and "grows". */
function stem(word) {
  const cut = word.replace(/(?<=[a-z]{3})(?:ies|ing|ed|es|s|ly|y)$/, "").replace(/(?<=[a-z]{3})e$/, "");
  return /[^aeiouls]/.test(cut.at(-1)) && cut.at(-1) === cut.at(-2) ? cut.slice(0, -1) : cut;
}

/* Names stay whole: "mmap_mode". The index has their parts too, what is joined, "readahead", "172952", "torchload",
   and each word's stem, which begins with "=". */
function indexed(text) {
  const words = [];
  for (const [compound] of plain(text).matchAll(COMPOUND)) {
    for (const name of names(compound))
      words.push(name, ...(name.includes("_") ? name.split("_").filter(Boolean) : []));
    if (/[-,.]/.test(compound)) words.push(joined(compound));
  }
  return [...words, ...words.filter(word => /^[a-z]{3,}$/.test(word)).map(word => `=${stem(word)}`)];
}

/* Where `phrase` stands in `text`, as a whole where it begins and ends with letters; else -1. */
function placeOf(phrase, text) {
  const letter = /[\p{L}\p{N}_]/u;
  for (let at = text.indexOf(phrase); at >= 0; at = text.indexOf(phrase, at + 1)) {
    const cut = (end, beyond) => letter.test(end) && letter.test(beyond || " ");
    if (!cut(phrase[0], text[at - 1]) && !cut(phrase.at(-1), text[at + phrase.length])) return at;
  }
  return -1;
}

function finder(pages) {
  const sections = pages.flatMap(page => page.entries.map(([anchor, title, text]) => (
    { page: page.page, where: page.title, anchor, title, text, plainTitle: plain(title), plainText: plain(text) })));
  sections.forEach((section, id) => Object.assign(section, { id,
    lines: [section.title, ...section.text.split("\n")].map(line => new Set(indexed(line))),
    name: section.page === "claims.html" ? section.anchor : section.anchor ? ""
      : `lesson ${section.where} ${section.text.split("\n")[0]}` }));  // with the question that it opens with
  const mini = new MiniSearch({ fields: ["title", "name", "text"], tokenize: indexed, processTerm: word => word });
  mini.addAll(sections);
  const options = { boost: { title: 4, name: 2 }, tokenize: word => [word], combineWith: "OR" };

  /* The sections with this word or one that counts as the same, each with its score, and how well the word fits. */
  function sectionsWith(word) {
    const found = new Map();
    const add = (worth, hits) => {
      for (const { id, score, terms } of hits) {
        const before = found.get(id) || { score: 0, worth: 0, terms: [] };
        found.set(id, { score: Math.max(before.score, score * worth), worth: Math.max(before.worth, worth),
          terms: [...before.terms, ...terms] });
      }
    };
    const root = stem(word);
    add(WORTH.exact, mini.search(word, options));
    add(WORTH.form, mini.search(`=${root}`, options));
    if (word.length > 1) add(WORTH.begins, mini.search(word, { ...options, prefix: true }));
    for (const other of SAME.filter(words => words.includes(root)).flat()) add(WORTH.same, mini.search(`=${other}`, options));
    if (!found.size && word.length > 3) {
      const swapped = Array.from({ length: word.length - 1 }, (_, i) =>
        word.slice(0, i) + word[i + 1] + word[i] + word.slice(i + 2));
      add(WORTH.letter, mini.search({ queries: [{ queries: [word], fuzzy: word.length > 7 ? 2 : 1 }, ...swapped], ...options }));
    }
    for (const { id, plainTitle } of sections)  // "serialize": Deserialize
      if (word.length > 4 && !found.has(id) && plainTitle.includes(word))
        found.set(id, { score: 1, worth: WORTH.within, terms: [] });
    return found;
  }

  return function find(query) {
    const phrase = plain(query).trim().replace(/ +/g, " ").replace(/^"(.+)"$/, "$1");
    const spoken = phrase.split(" ").slice(-24);  // of a whole traceback, the end: that's where the message is
    const dotted = (phrase.match(COMPOUND) || []).filter(name => name.includes(".")).map(joined);  // "torch.load"
    const all = [...new Set(names(spoken.join(" ")))], large = all.filter(word => !SMALL.has(word));
    const told = [...large, ...dotted];
    if (!phrase) return [];
    const found = told.map(sectionsWith);
    const isPhrase = names(phrase).join("") !== phrase || !told.length;
    const rarity = found.map(hits => Math.log(1 + sections.length / (1 + hits.size)));
    const share = rarity.map(rare => rare / rarity.reduce((sum, each) => sum + each, 0));
    const hits = [];
    for (const section of sections) {
      const matches = found.map(sections => sections.get(section.id));
      const inTitle = placeOf(phrase, section.plainTitle) >= 0;
      const inText = isPhrase && (inTitle || placeOf(phrase, section.plainText) >= 0);
      if (!matches.some(Boolean) && !inText && !section.plainText.includes(phrase)) continue;
      if (!inText && told.length > 1 && told.every((word, i) => !matches[i] || /^\d{1,3}$/.test(word)))
        continue;  // a number of an error, and nothing else of what was asked
      let tier = TIER.words;
      if ([all, large].some(words => words.length && words.join() === names(section.plainTitle).join())) tier = TIER.wholeTitle;
      else if (inTitle) tier = TIER.phraseInTitle;
      else if (inText) tier = TIER.phrase;
      const sum = value => matches.reduce((total, match, i) => total + (match ? value(match, share[i]) : 0), 0);
      const covered = sum((match, share) => match.worth * share);
      // A question is answered where most of it stands in one line.
      const inOneLine = Math.max(...section.lines.map(line =>
        sum((match, share) => match.terms.some(term => line.has(term)) ? match.worth * share : 0)));
      const terms = new Set(matches.filter(Boolean).flatMap(match => match.terms));
      const heading = names(section.plainTitle).filter(word => !SMALL.has(word));
      const asked = heading.filter(word => terms.has(word) || terms.has(`=${stem(word)}`)).length / (heading.length || 1);
      const score = sum(match => match.score) * covered * (.1 + inOneLine) ** 2 * (1 + 3 * asked ** 2)
        * (LEAST[section.title] || 1) * (LESSON.test(section.page) ? 1.3 : 1);
      hits.push({ section, tier, score, terms, phrase: inText || !terms.size ? phrase : "" });
    }
    hits.sort((a, b) => b.tier - a.tier || b.score - a.score);
    const lesson = hits.findIndex(hit => LESSON.test(hit.section.page));
    if (lesson > 2 && hits[2].tier === TIER.words) hits.splice(2, 0, ...hits.splice(lesson, 1));  // beside two cases
    const least = Math.max(...hits.map(hit => hit.score)) / 20;
    return hits.filter(hit => hit.tier > TIER.words || hit.score >= least);
  };
}

const placeIn = (text, phrase) => phrase ? Math.max(placeOf(phrase, plain(text)), plain(text).indexOf(phrase)) : -1;

/* The places in `text` that match a hit's query, each [from, to]. */
function matchesIn(text, { terms, phrase }) {
  const at = placeIn(text, phrase);
  if (at >= 0) return [[at, at + phrase.length]];
  const words = [...text.matchAll(COMPOUND)].filter(word => indexed(word[0]).some(term => terms.has(term)));
  return words.map(word => [word.index, word.index + word[0].length]);
}

/* The sentence of a hit that has most of what was asked. */
function sentence({ section, terms, phrase }) {
  const parts = section.text.split("\n").flatMap(line => line.match(/\S.*?(?:[.!?]["”’)]*(?=\s)|$)/g) || []);
  let best = parts.join(" "), most = 0;
  for (const part of parts) {
    const found = 1000 * (placeIn(part, phrase) >= 0) + new Set(indexed(part).filter(word => terms.has(word))).size;
    const worth = found + (/[.!?]/.test(part.at(-1)) ? .5 : 0);  // rather prose than a line of code
    if (found && worth > most) [best, most] = [part, worth];
  }
  return best;
}

/* At most `most` characters of `text`, from shortly before its first match, with the matches marked. */
function marked(text, hit, most = 260) {
  const matches = matchesIn(text, hit), from = Math.max(0, (matches[0]?.[0] || 0) - 100);
  const to = Math.min(text.length, from + most), nodes = [from ? "…" : ""];
  let end = from;
  for (const [start, stop] of matches) if (stop <= to) {
    nodes.push(text.slice(end, start), element("mark", text.slice(start, stop)));
    end = stop;
  }
  return [...nodes, text.slice(end, to), to < text.length ? "…" : ""];
}

function element(name, text, options = {}) {
  return Object.assign(document.createElement(name), { textContent: text, ...options });
}

function show(hits, asked) {
  document.getElementById("all").hidden = Boolean(asked);
  const many = hits.length === 1 ? "1 section" : `${hits.length} sections`;
  document.getElementById("count").textContent = !asked ? "" : !hits.length ? "Nothing found. Try fewer words, or a part of a word."
    : hits.length > SHOWN ? `${many}; the first ${SHOWN} are shown.` : `${many}.`;
  document.getElementById("hits").replaceChildren(...hits.slice(0, SHOWN).map(hit => {
    const { page, anchor, where, title } = hit.section;
    const link = element("a", "", { href: anchor ? `${page}#${anchor}` : page });
    const item = element("li", ""), quote = element("p", "");
    link.append(...marked(title, hit));
    quote.append(...marked(sentence(hit), hit));
    item.append(link, element("span", where), quote);
    return item;
  }));
}

{
  const find = finder(JSON.parse(document.getElementById("sections").content.textContent));
  const form = document.getElementById("search"), box = document.getElementById("q");
  const links = () => [...document.querySelectorAll("#hits a")];
  const search = () => show(find(box.value), box.value.trim());
  const remember = () => {  // so that "back" finds the hits again; some browsers forbid it for files
    try { history.replaceState(null, "", `?q=${encodeURIComponent(box.value)}`); } catch { /* then not */ }
  };
  form.hidden = false;
  document.getElementById("unscripted").remove();
  box.value = new URLSearchParams(location.search).get("q") || "";
  box.addEventListener("input", search);
  box.addEventListener("change", remember);
  form.addEventListener("submit", event => { event.preventDefault(); remember(); links()[0]?.click(); });
  document.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select")) return;
    const all = links(), at = all.indexOf(document.activeElement);
    if (event.key === "ArrowDown" && all[at + 1] && (at >= 0 || event.target === box)) all[at + 1].focus();
    else if (event.key === "ArrowUp" && at >= 0) (all[at - 1] || box).focus();
    else if (event.key === "/" && event.target !== box) box.focus();
    else if (/^[\p{L}\p{N}[("']$/u.test(event.key) && event.target !== box) return box.focus();  // the letter goes into it
    else return;
    event.preventDefault();
  });
  search();
  if (!matchMedia("(pointer: coarse)").matches) box.focus();  // there, it would open the keyboard
}
