// Copyright (c) 2026, The nerd_isaaclab developers. SPDX-License-Identifier: BSD-3-Clause
// Draws true and predicted motion side by side: orthographic view, painter's order, shapes of the contact slots.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("motion-data").textContent);
  if (!data.clips.length) return;
  const robot = data.robot, bodies = robot.bodies.length;
  const element = (id) => document.getElementById(id);
  const NAMES = {
    base_position_m: ["base position", "m"], base_orientation_rad: ["base orientation", "rad"],
    joint_m: ["sliding joint", "m"], joint_rad: ["joints", "rad"],
  };
  const HALF_HEIGHT = robot.floating ? 1.15 : 1.5;  // of the view [m]
  // A fixed base is seen along x, a free one from above one side.
  const azimuth = robot.floating ? -0.95 : 0, elevation = robot.floating ? 0.38 : 0.06;
  const ca = Math.cos(azimuth), sa = Math.sin(azimuth), ce = Math.cos(elevation), se = Math.sin(elevation);
  const RIGHT = [-sa, ca, 0], BACK = [ce * ca, ce * sa, se], UP = [-se * ca, -se * sa, ce];
  const FACES = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]];

  const unpack = (text) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return new Int16Array(bytes.buffer);
  };
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const clips = data.clips.map((clip) => ({...clip, physx: unpack(clip.physx), neural: unpack(clip.neural)}));

  /** Position of a point of a body in the world [m]. */
  function place(motion, frame, body, point) {
    const at = (frame * bodies + body) * 7, unit = robot.pos_unit;
    let [x, y, z, w] = [motion[at + 3], motion[at + 4], motion[at + 5], motion[at + 6]];
    const norm = Math.hypot(x, y, z, w) || 1; x /= norm; y /= norm; z /= norm; w /= norm;
    const [px, py, pz] = point;
    const tx = 2 * (y * pz - z * py), ty = 2 * (z * px - x * pz), tz = 2 * (x * py - y * px);
    return [
      motion[at] * unit + px + w * tx + y * tz - z * ty,
      motion[at + 1] * unit + py + w * ty + z * tx - x * tz,
      motion[at + 2] * unit + pz + w * tz + x * ty - y * tx,
    ];
  }

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  let palette = {};
  function readColors() {
    palette = {sky: css("--sky"), floor: css("--floor"), ink: css("--ink"), soft: css("--soft"),
               bodies: ["--b0", "--b1", "--b2", "--b3"].map(css)};
  }
  function colorOf(body) {
    if (!robot.floating) return palette.bodies[Math.min(body, 3)];
    const name = robot.bodies[body];
    return body === 0 ? palette.bodies[1] : /foot|shank|calf/i.test(name) ? palette.bodies[3] : palette.bodies[2];
  }
  /** A colour mixed with black (negative) or white. */
  function shade(hex, amount) {
    const to = amount < 0 ? 0 : 255, share = Math.abs(amount);
    const parts = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
    return `rgb(${parts.map((part) => Math.round(part + (to - part) * share)).join(",")})`;
  }

  function draw(canvas, motion, frame, center, ghost) {
    const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
    if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
    if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
    const pen = canvas.getContext("2d"), scale = height / (2 * HALF_HEIGHT);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = palette.sky;
    pen.fillRect(0, 0, width, height);
    const flat = (p) => {
      const q = [p[0] - center[0], p[1] - center[1], p[2] - center[2]];
      return [width / 2 + scale * dot(q, RIGHT), height * (robot.floating ? 0.56 : 0.5) - scale * dot(q, UP)];
    };
    drawGround(pen, flat, center, width, scale);
    if (ghost) drawBodies(pen, flat, ghost, frame, scale, true);
    drawBodies(pen, flat, motion, frame, scale, false);
  }

  function drawGround(pen, flat, center, width, scale) {
    pen.strokeStyle = palette.floor;
    pen.lineWidth = 1;
    pen.beginPath();
    const reach = Math.ceil(width / scale) + 2;
    if (robot.floating) {
      const x0 = Math.floor(center[0]), y0 = Math.floor(center[1]);
      for (let i = -reach; i <= reach; i++) {
        pen.moveTo(...flat([x0 + i, y0 - reach, 0])); pen.lineTo(...flat([x0 + i, y0 + reach, 0]));
        pen.moveTo(...flat([x0 - reach, y0 + i, 0])); pen.lineTo(...flat([x0 + reach, y0 + i, 0]));
      }
    } else {
      for (let y = Math.ceil((center[1] - reach) * 2) / 2; y < center[1] + reach; y += 0.5) {  // half metres
        pen.moveTo(...flat([0, y, center[2] - 10])); pen.lineTo(...flat([0, y, center[2] + 10]));
      }
    }
    pen.stroke();
  }

  function drawBodies(pen, flat, motion, frame, scale, ghost) {
    const shapes = robot.shapes.map((shape) => {
      const points = shape.points.map((point) => place(motion, frame, shape.body, point));
      const depth = points.reduce((sum, point) => sum + dot(point, BACK), 0) / points.length;
      return {shape, points, depth};
    });
    // On a fixed base bodies are listed from the base outwards, which is the order that reads best from the side.
    if (robot.floating) shapes.sort((a, b) => a.depth - b.depth);
    pen.lineCap = pen.lineJoin = "round";
    for (const {shape, points} of shapes) {
      const color = colorOf(shape.body), radius = shape.radius * scale, at = points.map(flat);
      if (shape.kind === "box") drawBox(pen, points, at, color, ghost);
      else if (shape.kind === "mesh") drawHull(pen, at, color, ghost);
      else drawRound(pen, at, radius, color, ghost);
    }
  }

  function outline(pen, at) {
    pen.beginPath();
    at.forEach((point, index) => (index ? pen.lineTo(...point) : pen.moveTo(...point)));
    pen.closePath();
  }
  function dashes(pen) {
    pen.strokeStyle = palette.ink; pen.globalAlpha = 0.55; pen.lineWidth = 1.4; pen.stroke(); pen.globalAlpha = 1;
  }
  function drawRound(pen, at, radius, color, ghost) {
    const path = () => {
      pen.beginPath();
      if (at.length === 1) { pen.arc(...at[0], radius, 0, 7); return; }
      const [a, b] = at, turn = Math.atan2(b[1] - a[1], b[0] - a[0]);
      pen.arc(...a, radius, turn + Math.PI / 2, turn - Math.PI / 2);
      pen.arc(...b, radius, turn - Math.PI / 2, turn + Math.PI / 2);
      pen.closePath();
    };
    path();
    if (ghost) return dashes(pen);
    const [x, y] = at[0];
    let fill = color;
    if (at.length === 1) {
      fill = pen.createRadialGradient(x - radius * 0.35, y - radius * 0.4, radius * 0.1, x, y, radius);
      fill.addColorStop(0, shade(color, 0.35)); fill.addColorStop(1, shade(color, -0.15));
    }
    pen.fillStyle = fill; pen.fill();
    pen.strokeStyle = shade(color, -0.35); pen.lineWidth = 1; pen.stroke();
    if (at.length === 2) {
      pen.beginPath(); pen.moveTo(at[0][0], at[0][1] - radius * 0.35); pen.lineTo(at[1][0], at[1][1] - radius * 0.35);
      pen.strokeStyle = shade(color, 0.3); pen.lineWidth = radius * 0.5; pen.stroke();
    }
  }
  function drawBox(pen, points, at, color, ghost) {
    if (ghost) { outline(pen, hull(at)); return dashes(pen); }
    for (const face of FACES) {
      const [a, b, c] = face.map((index) => points[index]);
      const u = [b[0] - a[0], b[1] - a[1], b[2] - a[2]], v = [c[0] - b[0], c[1] - b[1], c[2] - b[2]];
      const normal = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
      const size = Math.hypot(...normal) || 1, facing = dot(normal, BACK) / size;
      if (facing <= 0) continue;
      outline(pen, face.map((index) => at[index]));
      pen.fillStyle = shade(color, -0.3 * (1 - facing)); pen.fill();
      pen.strokeStyle = shade(color, -0.4); pen.lineWidth = 1; pen.stroke();
    }
  }
  function drawHull(pen, at, color, ghost) {
    outline(pen, hull(at));
    if (ghost) return dashes(pen);
    pen.fillStyle = color; pen.fill();
    pen.strokeStyle = shade(color, -0.35); pen.lineWidth = 1; pen.stroke();
  }
  function hull(at) {
    const sorted = [...at].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    const half = (points) => {
      const out = [];
      for (const p of points) {
        while (out.length > 1) {
          const [a, b] = out.slice(-2);
          if ((b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]) > 0) break;
          out.pop();
        }
        out.push(p);
      }
      return out.slice(0, -1);
    };
    return [...half(sorted), ...half(sorted.reverse())];
  }

  let clip = clips[0], frame = 0, playing = !matchMedia("(prefers-reduced-motion: reduce)").matches, shown = -1, last = 0;
  function render() {
    const at = Math.floor(frame);
    const follow = place(clip.physx, at, robot.follow, [0, 0, 0]);
    const center = robot.floating ? [follow[0], follow[1], 0.45] : [0, follow[1], follow[2]];
    draw(element("physx"), clip.physx, at, center, null);
    draw(element("neural"), clip.neural, at, center, clip.physx);
    element("time").value = at;
    element("clock").textContent = `${(at * robot.frame_dt).toFixed(2)} s`;
    // Text, not HTML: names may come from a file of anybody.
    element("readout").replaceChildren(...Object.entries(clip.errors).map(([name, values]) => {
      const [said, unit] = NAMES[name] || [name, ""], shown = document.createElement("span");
      const value = document.createElement("b");
      value.textContent = `${values[at].toPrecision(3)} ${unit}`;
      shown.append(`${clip.open_loop ? "error" : "difference"}, ${said}: `, value);
      return shown;
    }));
    shown = at;
  }
  function choose(index) {
    clip = clips[index]; frame = 0;
    element("time").max = clip.frames - 1;
    element("motion-note").textContent = clip.open_loop
      ? "Open loop: the model sees the first state and the controls, nothing else."
      : "Closed loop: the same policy drives both, from the same start; each reacts to its own motion.";
    render();
  }
  function setPlaying(value) { playing = value; element("play").textContent = value ? "Pause" : "Play"; }
  function tick(now) {
    if (playing) {
      frame += Math.min(now - last, 100) / 1000 / robot.frame_dt;
      if (frame >= clip.frames) frame = 0;
      if (Math.floor(frame) !== shown) render();
    }
    last = now;
    requestAnimationFrame(tick);
  }
  element("clip").addEventListener("change", (event) => choose(+event.target.value));
  element("play").addEventListener("click", () => setPlaying(!playing));
  element("time").addEventListener("input", (event) => { setPlaying(false); frame = +event.target.value; render(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColors(); render(); });
  window.addEventListener("resize", render);
  // report.html#clip=3&time=1.5 shows that moment of that clip.
  const wish = new URLSearchParams(location.hash.slice(1)), first = Math.min(+wish.get("clip") || 0, clips.length - 1);
  readColors(); setPlaying(playing && !wish.has("time"));
  element("clip").value = first; choose(first);
  if (wish.has("time")) {
    frame = Math.max(0, Math.min(Math.round(+wish.get("time") / robot.frame_dt) || 0, clip.frames - 1));
    render();
  }
  requestAnimationFrame(tick);
})();
