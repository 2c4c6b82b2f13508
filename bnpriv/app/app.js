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
const slider = document.querySelector("input[data-live]");
if (slider) {
  const epsilon = document.getElementById("epsilon"), delta = document.getElementById("delta"), live = document.getElementById("live");
  let waiting = 0, asked = 0;
  const follow = () => {
    const value = Number(epsilon.value);
    if (value > 0) {
      slider.value = Math.log10(value);
      slider.setAttribute("aria-valuetext", "epsilon " + epsilon.value);
    }
  };
  const ask = () => {
    clearTimeout(waiting);
    waiting = setTimeout(async () => {
      const mine = ++asked, picked = live.querySelector("input[name=mechanism]:checked");
      live.setAttribute("aria-busy", "true");
      const sent = new URLSearchParams({ epsilon: epsilon.value, delta: delta.value });
      const answer = await fetch(slider.dataset.live + "?" + sent);
      const text = await answer.text();
      if (mine !== asked) return;
      live.innerHTML = text;
      live.removeAttribute("aria-busy");
      const again = [...live.querySelectorAll("input[name=mechanism]")].find((each) => picked && each.value === picked.value);
      if (again) again.checked = true;
    }, 150);
  };
  slider.addEventListener("input", () => {
    epsilon.value = Number(Math.pow(10, Number(slider.value)).toPrecision(2));
    slider.setAttribute("aria-valuetext", "epsilon " + epsilon.value);
    ask();
  });
  for (const each of [epsilon, delta]) each.addEventListener("input", () => { follow(); ask(); });
  follow();
}
