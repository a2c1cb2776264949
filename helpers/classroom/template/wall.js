// Asks what has changed: writes the counts, and gets the page again when it is made of something else.
const { state, madeOf } = document.body.dataset, page = document.body.className;
async function look() {
  try {
    const answer = await fetch(state, { signal: AbortSignal.timeout(5000) });
    const now = await answer.json().catch(() => ({}));
    document.getElementById("gone").hidden = answer.status < 500;
    if (answer.status === 404 || (answer.ok && now[page] !== madeOf)) return location.replace(location.href.split("#")[0]);
    for (const place of document.querySelectorAll("[data-live]"))
      if (answer.ok && place.textContent !== `${now[place.dataset.live]}`) place.textContent = now[place.dataset.live];
  } catch { document.getElementById("gone").hidden = false; }
  setTimeout(look, page === "phone" ? 2000 : 1000);
}
setTimeout(look, 1000);
