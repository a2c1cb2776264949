/* Ranks the sections of #sections for what is typed. MiniSearch finds a word, what begins with it and what differs by a
   letter, and scores each section by how rare the word is; the order of the tiers below is ours. */
"use strict";

// Words that are in most sections: they count only in a phrase, or if nothing else was asked.
const SMALL = new Set(("a an and are as at be by can do does for from has how i if in is it its my not of on or so than that the "
  + "then this to was what when where which who why will with").split(" "));
const SHOWN = 30;
const TIER = { wholeTitle: 7, phraseInTitle: 6, phrase: 5, title: 4, words: 3, begins: 2, letter: 1, some: 0 };
const LEAST = { Sources: .5, Recap: .8 };  // they name everything and explain nothing

const COMPOUND = /[\p{L}\p{N}_]+(?:[-,][\p{L}\p{N}_]+)*/gu;
const plain = text => text.toLowerCase().replace(/[‘’]/g, "'").replace(/[“”]/g, '"').replace(/\s/g, " ");
const names = text => text.match(/[\p{L}\p{N}_]+/gu) || [];

/* Names stay whole: "mmap_mode". The index has their parts too, and what is joined: "readahead", "172952". */
function indexed(text) {
  const words = [];
  for (const [compound] of plain(text).matchAll(COMPOUND)) {
    for (const name of names(compound))
      words.push(name, ...(name.includes("_") ? name.split("_").filter(Boolean) : []));
    if (/[-,]/.test(compound)) words.push(compound.replace(/[-,]/g, ""));
  }
  return words;
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
    name: section.page === "claims.html" ? section.anchor : section.anchor ? "" : `lesson ${section.where}` }));
  const mini = new MiniSearch({ fields: ["title", "name", "text"], tokenize: indexed, processTerm: word => word });
  mini.addAll(sections);
  const options = { boost: { title: 4, name: 2 }, tokenize: word => [word], combineWith: "OR" };

  /* The sections with this word, else with words that begin with it, else with words that differ by one letter. */
  function sectionsWith(word) {
    let hits = mini.search(word, { ...options, prefix: word.length > 1 });
    if (!hits.length && word.length > 3) {
      const swapped = Array.from({ length: word.length - 1 }, (_, i) =>
        word.slice(0, i) + word[i + 1] + word[i] + word.slice(i + 2));
      hits = mini.search({ queries: [{ queries: [word], fuzzy: 1 }, ...swapped], ...options });
    }
    const found = new Map(hits.map(hit => {
      const tier = hit.match[word] ? TIER.words : hit.terms.some(term => term.startsWith(word)) ? TIER.begins : TIER.letter;
      return [hit.id, { tier, score: hit.score, terms: hit.terms, inTitle: hit.match[word]?.includes("title") }];
    }));
    for (const { id, plainTitle } of sections)  // "serialize": Deserialize
      if (word.length > 4 && !found.has(id) && plainTitle.includes(word))
        found.set(id, { tier: TIER.begins, score: 1, terms: [] });
    return found;
  }

  /* How many words of the query stand side by side in the text, at most. */
  function longestRun(words, text) {
    let best = 0;
    for (let from = 0; from < words.length; from++)
      for (let to = words.length; to > from + best; to--)
        if (placeOf(words.slice(from, to).join(" "), text) >= 0) best = to - from;
    return best;
  }

  return function find(query) {
    const phrase = plain(query).trim().replace(/ +/g, " ").replace(/^"(.+)"$/, "$1");
    const spoken = phrase.split(" ").slice(-24);  // of a whole traceback, the end: that's where the message is
    const all = [...new Set(names(spoken.join(" ")))];
    const told = all.filter(word => !SMALL.has(word));
    if (!phrase) return [];
    const found = told.map(sectionsWith);
    const isPhrase = names(phrase).join("") !== phrase || !told.length;
    const hits = [];
    for (const section of sections) {
      const matches = found.map(sections => sections.get(section.id)).filter(Boolean);
      const inTitle = placeOf(phrase, section.plainTitle) >= 0;
      const inText = isPhrase && (inTitle || placeOf(phrase, section.plainText) >= 0);
      if (!matches.length && !inText && !section.plainText.includes(phrase)) continue;
      if (!inText && told.length > 1 && told.every((word, i) => !found[i].has(section.id) || /^\d{1,3}$/.test(word)))
        continue;  // a number of an error, and nothing else of what was asked
      let tier = TIER.some;
      if ([all, told].some(words => words.length && words.join() === names(section.plainTitle).join())) tier = TIER.wholeTitle;
      else if (inTitle) tier = TIER.phraseInTitle;
      else if (inText) tier = TIER.phrase;
      else if (told.length && matches.length === told.length)
        tier = matches.every(match => match.inTitle) ? TIER.title : Math.min(...matches.map(match => match.tier));
      let score = matches.reduce((sum, match) => sum + match.score, 0) * (LEAST[section.title] || 1);
      if (tier < TIER.phrase) score *= matches.length * (1 + longestRun(spoken, section.plainText) ** 2);
      const terms = new Set(matches.flatMap(match => match.terms));
      if (names(section.plainTitle).every(word => terms.has(word))) score *= 4;  // "page fualt": page fault
      hits.push({ section, tier, score, terms, phrase: inText || !matches.length ? phrase : "" });
    }
    hits.sort((a, b) => b.tier - a.tier || b.score - a.score);
    return hits.filter(hit => hits[0].tier > TIER.some ? hit.tier > TIER.some : hit.score >= hits[0].score / 10);
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
