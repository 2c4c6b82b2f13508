"use strict";
// Without this script every page works; with it long work shows that it goes on, and the strength follows the slider.
for (const form of document.querySelectorAll("form")) {
  form.addEventListener("submit", (event) => {
    const large = [...form.querySelectorAll("input[type=file]")].find((each) => [...each.files].some((file) => file.size > 2 ** 30));
    if (large) {
      event.preventDefault();
      large.setCustomValidity("At most 1 GiB: put the file into the folder of the shell, and choose it there.");
      large.reportValidity();
      return;
    }
    const button = form.querySelector("button.go");
    form.querySelector(".waits").textContent = button.dataset.waits;
    setTimeout(() => { for (const each of form.querySelectorAll("button")) each.disabled = true; }, 0);
  });
  for (const each of form.querySelectorAll("input[type=file]")) each.addEventListener("change", () => each.setCustomValidity(""));
}
window.addEventListener("pageshow", () => {
  for (const each of document.querySelectorAll("button")) each.disabled = false;
  for (const each of document.querySelectorAll(".waits")) each.textContent = "";
});
for (const button of document.querySelectorAll("button[data-edges]")) {
  button.addEventListener("click", () => {
    const field = document.getElementById("edges");
    field.value = button.dataset.edges;
    field.focus();
  });
}
const alerted = document.getElementById("alert");
if (alerted) alerted.focus();
for (const link of document.querySelectorAll("a[data-waits]")) {
  link.addEventListener("click", () => { link.parentElement.querySelector(".waits").textContent = link.dataset.waits; });
}
for (const part of document.querySelectorAll("[data-if]")) {
  const by = document.getElementById(part.dataset.if), fit = () => { part.hidden = !new RegExp(part.dataset.in).test(by.value); };
  by.addEventListener("change", fit);
  addEventListener("pageshow", fit);
}
const slider = document.querySelector("input[data-live]");
if (slider) {
  const field = (name) => document.getElementById(name), epsilon = field("epsilon"), delta = field("delta"), said = field("said"), live = field("live");
  let waiting = 0, busy = false, again = [];
  for (const part of document.querySelectorAll("[data-plain]")) part.hidden = true;
  const follow = () => {
    slider.value = Math.log10(Number(epsilon.value));
    slider.setAttribute("aria-valuetext", "epsilon " + epsilon.value);
  };
  const show = (made, whole) => {
    for (const name of ["epsilon", "delta"]) {
      field(name + "-refusal")?.remove();
      field(name).removeAttribute("aria-invalid");
      const wrong = made.getElementById(name + "-refusal");
      if (wrong) { field(name).after(wrong); field(name).setAttribute("aria-invalid", "true"); }
    }
    if (whole) live.replaceChildren(...made.getElementById("live").childNodes);
    said.replaceChildren(...made.getElementById("said").childNodes);
  };
  // one request at a time: what is moved meanwhile is asked for when the answer is there
  const ask = async (whole) => {
    if (busy) { again.push(whole); return; }
    busy = true;
    live.setAttribute("aria-busy", "true");
    const long = setTimeout(() => { said.textContent = "Working it out ..."; }, 500);
    const made = document.createElement("template");
    try {
      made.innerHTML = await (await fetch(slider.dataset.live + "?" + new URLSearchParams(new FormData(slider.form)))).text();
      clearTimeout(long);
      show(made.content, whole);
    } catch { said.textContent = "No answer: is the server still running in the shell?"; }
    clearTimeout(long);
    live.removeAttribute("aria-busy");
    busy = false;
    if (again.length) { whole = again.includes(true); again = []; ask(whole); }
  };
  const soon = () => { clearTimeout(waiting); waiting = setTimeout(ask, 150, true); };
  slider.addEventListener("input", () => {
    epsilon.value = Number(Math.pow(10, Number(slider.value)).toPrecision(2));
    slider.setAttribute("aria-valuetext", "epsilon " + epsilon.value);
    soon();
  });
  for (const each of [epsilon, delta]) each.addEventListener("input", () => { follow(); soon(); });
  live.addEventListener("change", () => ask(false));  // a new list would take the focus away
  follow();
}
