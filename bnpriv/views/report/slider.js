"use strict";
// The noise at other epsilons. With curves it recomputes that of the Markov quilt mechanism: for every pair of secrets the
// least of its candidates, then the largest of these. With rows it shows the calibration of the next smaller epsilon.
// Everything is shown as text, so that no name can become markup.
(() => {
  const data = JSON.parse(document.getElementById("slider-data").textContent);
  const range = document.getElementById("epsilon");
  const number = document.getElementById("epsilon-number");
  const show = (id, text) => { document.getElementById("out-" + id).textContent = text; };

  // As Python's format with "g".
  const general = (value, digits) => {
    if (value === 0) return "0";
    const short = value.toExponential(digits - 1).split("e");
    const power = Number(short[1]);
    if (power >= -4 && power < digits) return String(Number(value.toPrecision(digits)));
    const sign = power < 0 ? "-" : "+";
    return Number(short[0]) + "e" + sign + String(Math.abs(power)).padStart(2, "0");
  };
  const numberText = (value, digits = 4) => {
    if (value === Infinity) return "infinite";
    if (Math.abs(value) >= 1000 && Math.abs(value) < 1e15) {
      return value.toLocaleString("en-US", { maximumFractionDigits: 0 });
    }
    const short = general(value, digits);
    const size = Math.abs(value);
    if (!(size >= 1e-9 && size < 1e-4)) return short;
    return Number(short).toFixed(Math.min(20, digits - 1 - Math.floor(Math.log10(size)))).replace(/0+$/, "");
  };
  // As bnpriv.render.text: few digits, rounded up.
  const roundedUp = (value, digits = 3) => {
    if (value === 0) return 0;
    const step = 10 ** (Math.floor(Math.log10(value)) - digits + 1);
    return Number((Math.ceil((value / step) * (1 - 1e-12)) * step).toPrecision(digits));
  };
  const upperText = (value, digits = 4) => {
    if (!(value > 0 && value < 1e15)) return numberText(value, digits);
    return numberText(value >= 1000 ? Math.ceil(value * (1 - 1e-12)) : roundedUp(value, digits));
  };
  const factorText = (nats) => nats > 30 ? "10^" + Math.ceil(nats / Math.LN10) : numberText(roundedUp(Math.exp(nats)), 3);
  const movedText = (epsilon) => {
    if (data.prior === null) {
      return "at most " + factorText(epsilon) + " times";
    }
    const odds = (data.prior / (1 - data.prior)) * Math.exp(epsilon);
    return "at most " + general(roundedUp(100 / (1 + 1 / odds)), 3) + " %";
  };

  const scaleOf = (row, epsilon) => {
    const [sensitivity, told] = row;
    if (sensitivity === 0) return told <= epsilon ? 0 : Infinity;
    const margin = epsilon - told;
    return margin >= data.margin ? sensitivity / margin : Infinity;
  };
  const decide = (epsilon) => {
    let worst = null;
    for (const curve of data.curves) {
      let best = null;
      for (const row of curve.rows) {
        const scale = scaleOf(row, epsilon);
        if (best === null || scale < best.scale) best = { scale, row, curve };
      }
      // Among equals the one that tells most.
      const more = worst === null || best.scale > worst.scale || (best.scale === worst.scale && best.row[1] > worst.row[1]);
      if (more) worst = best;
    }
    return worst;
  };
  const verdictOf = (reach) => {
    if (reach === 0) return ["exact", 0];
    if (data.width === null) return ["unknown", 0];
    const share = reach / data.width;
    for (const [limit, name] of data.limits) if (share <= limit) return [name, share];
    return ["useless", share];
  };
  const reasonText = ({ scale, row, curve }) => {
    const [sensitivity, told, near] = row;
    const who = curve.who + " (" + curve.pair + (data.models > 1 ? ", model " + curve.model : "") + "): ";
    const rest = told === 0 ? "" : "; the rest of the query moves the odds by at most " + factorText(told) + " times";
    if (scale === 0) return who + "nothing has to be hidden" + rest;
    return who + "the noise hides " + near + ", which can move the answer by " + numberText(sensitivity) + rest;
  };
  // As in bnpriv.render.figures: the range is as long as the bar, and what is longer is cut, with a mark.
  const drawBar = (reach) => {
    const box = document.getElementById("bar-reach");
    if (box === null) return;
    const share = (2 * reach) / data.width;
    const shown = Math.min(1, share);
    box.setAttribute("x", String(500 * (1 - shown)));
    box.setAttribute("width", String(1000 * shown));
    document.getElementById("bar-cut").toggleAttribute("hidden", share <= 1);
    document.getElementById("bar-reach-text").textContent =
      reach === 0 ? "no noise" : "95 % of releases err by at most " + upperText(reach) + (share <= 1 ? "" : ", cut off in the drawing");
  };

  const byCurves = (epsilon) => {
    const found = decide(epsilon);
    return {
      scale: found.scale, mean: found.scale * data.mean, reach: found.scale * data.quantile,
      moved: movedText(epsilon), reason: reasonText(found),
    };
  };
  const byRows = (epsilon) => {
    let place = -1;
    data.epsilons.forEach((value, k) => { if (value <= epsilon * (1 + 1e-12)) place = k; });
    if (place < 0) return null;
    const row = data.rows[place];
    const at = data.epsilons[place] === epsilon ? "" : ", as calibrated at epsilon " + general(data.epsilons[place], 6);
    // numbers in different units: the noise is drawn where it is the largest share of a range
    const drawn = data.width === null || row.share === null ? row.reach : row.share * data.width;
    return { scale: row.scale, mean: row.mean, reach: row.reach, drawn, verdict: row.verdict, share: row.share, moved: "at most " + row.moved, reason: row.mechanism + at };
  };

  const update = (epsilon) => {
    const found = data.rows.length > 0 ? byRows(epsilon) : byCurves(epsilon);
    if (found === null) {
      for (const id of ["scale", "error", "belief", "verdict"]) show(id, "\u2013");
      show("reason", "not calibrated below epsilon " + general(data.epsilons[0], 6));
      drawBar(0);
      return;
    }
    const reach = found.reach;
    const [verdict, share] = found.verdict === undefined ? verdictOf(reach) : [found.verdict, found.share];
    const words = data.words[verdict];
    show("scale", numberText(found.scale));
    show("reason", found.reason);
    show("error", reach === 0 ? "none" : numberText(found.mean) + " in the mean, 95 % of releases at most "
      + upperText(reach));
    show("belief", found.moved);
    show("verdict", words.length === 1 ? words[0] : words[0] + upperText(100 * share, 2) + " %" + words[1]);
    drawBar(found.drawn === undefined ? reach : found.drawn);
  };
  range.addEventListener("input", () => {
    const epsilon = data.epsilons[Number(range.value)];
    number.value = String(epsilon);
    range.setAttribute("aria-valuetext", "epsilon " + epsilon);
    update(epsilon);
  });
  number.addEventListener("input", () => {
    const epsilon = Number(number.value);
    if (!(epsilon > 0 && epsilon <= 1000)) return;
    let nearest = 0;
    data.epsilons.forEach((value, k) => {
      if (Math.abs(Math.log(value / epsilon)) < Math.abs(Math.log(data.epsilons[nearest] / epsilon))) nearest = k;
    });
    range.value = String(nearest);
    update(epsilon);
  });
  document.getElementById("slider").hidden = false;
  number.value = String(data.asked);
  number.dispatchEvent(new Event("input"));
  // On paper everything that can be unfolded is.
  window.addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach((part) => { part.open = true; });
  });
})();
