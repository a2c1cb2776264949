// Asks what has changed: writes the counts, and takes a new page when it's made of something else. A form goes the same
// way, so that a wall that doesn't answer loses nothing. What somebody has begun to fill in waits for the next question.
const body = document.body, page = body.className, gone = document.getElementById("gone");
let touched = false, unsent, sending = Promise.resolve();
async function take(asked) {
  const answer = await asked, text = await answer.text(), now = new DOMParser().parseFromString(text, "text/html");
  if (answer.status >= 500) throw { said: now.querySelector("h1")?.textContent };  // a full disk: it's sent again
  if (!now.body.dataset.state) return location.replace(location.pathname);  // the lesson has ended
  if (touched && now.body.dataset.question === body.dataset.question) return;  // somebody began while it was on its way
  document.querySelector("main").replaceWith(now.querySelector("main"));
  Object.assign(body.dataset, now.body.dataset);
  document.querySelector("[autofocus]")?.focus();
  touched = false;
}
const send = () => sending = sending.catch(() => {}).then(async () => {  // one at a time, so nothing is sent twice
  const form = unsent, more = { headers: { Accept: "text/html" }, signal: AbortSignal.timeout(5000) };
  if (form) await take(fetch(location.pathname, { method: "POST", body: form, ...more }));
  if (unsent === form) unsent = undefined;
});
function trouble(error) {
  gone.textContent = `${error.said ?? "The wall doesn’t answer."} Still trying …`;
  gone.hidden = false;
}
async function look() {
  try {
    const answer = await fetch(body.dataset.state, { signal: AbortSignal.timeout(5000) });
    const now = answer.ok ? await answer.json() : answer.status === 404 ? {} : undefined;
    if (unsent && answer.ok) await send();
    if (now && now[page] !== body.dataset.madeOf && !(touched && now.question === body.dataset.question))
      await take(fetch(location.pathname));
    for (const place of document.querySelectorAll("[data-live]"))
      if (now && place.textContent !== `${now[place.dataset.live]}`) place.textContent = now[place.dataset.live];
    if (answer.status >= 500) throw {};
    gone.hidden = true;
  } catch (error) { trouble(error); }
  setTimeout(look, page === "phone" ? 2000 : 1000);
}
addEventListener("input", () => { touched = true; });
addEventListener("submit", (event) => {
  event.preventDefault();
  unsent = new URLSearchParams(new FormData(event.target, event.submitter));
  touched = false;
  send().catch(trouble);
});
setTimeout(look, 1000);
