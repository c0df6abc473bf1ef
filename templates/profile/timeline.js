// The timeline of a profile: one row per thread of a pipe, drawn anew for the range that is shown.
"use strict";
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const canvas = document.getElementById("timeline");
  if (!canvas) return;
  const tip = document.getElementById("tip");
  const range = document.getElementById("range");
  const LABEL = 130, ROW = 16, CORE = 8, AXIS = 22;
  const COLOURS = {
    S: "#6e7781", MTE2: "#1a7f37", MTE1: "#2da44e", M: "#cf222e", FIX: "#bf3989", V: "#0969da",
    MTE3: "#8250df"
  };
  const STALL = "#e8912d", OTHER = "#9a6700";

  function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    const values = new Uint32Array(bytes.length / 4);
    for (let i = 0; i < values.length; ++i) values[i] = view.getUint32(4 * i, true);
    return values;
  }

  let y = AXIS, core = -1;
  const tracks = data.tracks.map((track) => {
    if (track.core !== core) { y += CORE; core = track.core; }
    const row = {
      core: track.core, pipe: track.pipe, lane: track.lane, y: y, start: unpack(track.start),
      length: unpack(track.length), name: unpack(track.name), bytes: unpack(track.bytes),
      from: unpack(track.from)
    };
    y += ROW;
    return row;
  });
  const height = y + 6;
  let from = 0, to = data.end;

  function micros(steps) { return steps * data.unit / 1000; }

  // The first event of a track that ends after a time; events of a track do not overlap.
  function firstAfter(track, time) {
    let low = 0, high = track.start.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (track.start[middle] + track.length[middle] <= time) low = middle + 1; else high = middle;
    }
    return low;
  }

  function colour(track, index) {
    const kind = data.names[track.name[index]][2];
    if (kind === 0) return COLOURS[track.pipe] || OTHER;
    return kind === 1 ? STALL : OTHER;
  }

  function draw() {
    const scale = window.devicePixelRatio || 1;
    const width = canvas.clientWidth;
    canvas.style.height = height + "px";
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const pen = canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    const style = getComputedStyle(document.body);
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    const span = to - from, room = width - LABEL;
    const place = (time) => LABEL + (time - from) / span * room;
    // The axis: about eight round times.
    const wanted = micros(span) / 8, power = Math.pow(10, Math.floor(Math.log10(wanted)));
    const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= wanted);
    const digits = Math.max(0, -Math.floor(Math.log10(step)));
    for (let us = Math.ceil(micros(from) / step) * step; us <= micros(to); us += step) {
      const x = place(us * 1000 / data.unit);
      pen.fillStyle = "#8888"; pen.fillRect(x, AXIS - 4, 1, height - AXIS);
      pen.fillStyle = style.color; pen.fillText(us.toFixed(digits) + " us", x + 3, 9);
    }
    for (const track of tracks) {
      pen.fillStyle = style.color;
      const lane = track.lane ? " (" + (track.lane + 1) + ")" : "";
      pen.fillText("core " + track.core + " " + track.pipe + lane, 6, track.y + ROW / 2);
      let filled = -1, last = "";
      for (let i = firstAfter(track, from); i < track.start.length && track.start[i] < to; ++i) {
        const x = Math.max(LABEL, place(track.start[i]));
        const end = Math.min(width, place(track.start[i] + track.length[i]));
        const shade = colour(track, i);
        // What falls on a pixel that is drawn already cannot be seen.
        if (end <= filled && shade === last) continue;
        pen.fillStyle = shade;
        const long = Math.max(1, end - x - (end - x > 4 ? 1 : 0));
        pen.fillRect(x, track.y + 1, long, ROW - 3);
        filled = Math.max(filled, Math.floor(x + long)); last = shade;
        if (end - x > 60) {
          pen.save(); pen.beginPath(); pen.rect(x, track.y, end - x - 3, ROW); pen.clip();
          pen.fillStyle = "#fff"; pen.fillText(data.names[track.name[i]][0], x + 3, track.y + ROW / 2);
          pen.restore();
        }
      }
    }
    range.textContent = micros(from).toFixed(3) + " to " + micros(to).toFixed(3) + " us (modelled)";
  }

  let waiting = false;
  function redraw() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  }

  function show(start, span) {
    const least = Math.min(data.end, 20 / data.unit);
    span = Math.min(data.end, Math.max(least, span));
    from = Math.min(Math.max(0, start), data.end - span);
    to = from + span;
    redraw();
  }

  function zoom(factor, x) {
    const part = Math.min(1, Math.max(0, (x - LABEL) / (canvas.clientWidth - LABEL)));
    const span = (to - from) * factor;
    show(from + (to - from - span) * part, span);
  }

  function eventAt(pointer) {
    const box = canvas.getBoundingClientRect();
    const x = pointer.clientX - box.left, top = pointer.clientY - box.top;
    const track = tracks.find((t) => top >= t.y && top < t.y + ROW);
    if (!track || x < LABEL) return null;
    const pixel = (to - from) / (canvas.clientWidth - LABEL);
    const time = from + (x - LABEL) * pixel;
    const index = firstAfter(track, time - pixel);
    if (index >= track.start.length || track.start[index] > time + pixel) return null;
    return { track: track, index: index };
  }

  function describe(found) {
    const track = found.track, index = found.index, name = data.names[track.name[index]];
    const rows = [name[0] + " (" + data.kinds[name[2]] + ")", name[1],
      micros(track.length[index]).toFixed(4) + " us modelled, from " +
      micros(track.start[index]).toFixed(4) + " us"];
    if (track.bytes[index]) rows.push(track.bytes[index] + " bytes");
    if (track.from[index]) {
      const other = data.names[track.from[index] - 1];
      rows.push("waited for " + other[0] + " at " + other[1]);
    }
    return rows;
  }

  let held = null, moved = false;
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      show(from + (event.deltaX || event.deltaY) * (to - from) / 1000, to - from);
    } else {
      zoom(Math.pow(1.002, event.deltaY), event.clientX - canvas.getBoundingClientRect().left);
    }
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    held = event.clientX; moved = false; canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (held !== null) {
      if (Math.abs(event.clientX - held) > 2) moved = true;
      show(from - (event.clientX - held) * (to - from) / (canvas.clientWidth - LABEL), to - from);
      held = event.clientX;
      return;
    }
    const found = eventAt(event);
    tip.style.display = found ? "block" : "none";
    if (!found) return;
    tip.replaceChildren(...describe(found).flatMap((t, i) => i ? [document.createElement("br"), t] : [t]));
    tip.style.left = Math.min(event.clientX + 14, window.innerWidth - 320) + "px";
    tip.style.top = event.clientY + 14 + "px";
  });
  canvas.addEventListener("pointerup", (event) => {
    held = null;
    const found = moved ? null : eventAt(event);
    if (!found) return;
    const row = document.getElementById(data.names[found.track.name[found.index]][3]);
    document.querySelectorAll(".marked").forEach((r) => r.classList.remove("marked"));
    if (row) { row.classList.add("marked"); row.scrollIntoView({ block: "center" }); }
  });
  canvas.addEventListener("pointerleave", () => { tip.style.display = "none"; });
  canvas.addEventListener("keydown", (event) => {
    const middle = LABEL + (canvas.clientWidth - LABEL) / 2, span = to - from;
    const actions = {
      "+": () => zoom(0.5, middle), "=": () => zoom(0.5, middle), "-": () => zoom(2, middle),
      ArrowLeft: () => show(from - span / 5, span), ArrowRight: () => show(from + span / 5, span),
      Home: () => show(0, data.end)
    };
    if (actions[event.key]) { event.preventDefault(); actions[event.key](); }
  });
  const middle = () => LABEL + (canvas.clientWidth - LABEL) / 2;
  document.getElementById("closer").addEventListener("click", () => zoom(0.5, middle()));
  document.getElementById("wider").addEventListener("click", () => zoom(2, middle()));
  document.getElementById("whole").addEventListener("click", () => show(0, data.end));
  window.addEventListener("resize", redraw);
  draw();
  document.documentElement.dataset.drawn = tracks.length;
})();
