// What the browser does by itself. The server is asked only about the part of the address that changed. Of what was selected
// on the map only the region goes to the server, not its points; and the names of the runs shown are added to the map that is
// there.
"use strict";
(() => {
  let brushed = false; // the region changed by hand and is on the map already
  let drawn = "[]"; // the region on the map

  const region = (selected) => {
    let found = null;
    if (selected && selected.range) {
      const { x, y } = selected.range;
      if (!x || !y) return window.dash_clientside.no_update;
      found = { box: [x[0], y[0], x[1], y[1]] };
    } else if (selected && selected.lassoPoints) {
      const { x, y } = selected.lassoPoints;
      found = { lasso: x.map((value, place) => [value, y[place]]) };
    } else if (selected) {
      return window.dash_clientside.no_update;
    }
    brushed = true;
    return found;
  };

  const mark = (marks) => {
    const map = document.querySelector("#map .js-plotly-plot");
    if (!map || !map.layout || !marks) return;
    const change = {};
    if (JSON.stringify(map.layout.annotations || []) !== JSON.stringify(marks.annotations)) change.annotations = marks.annotations;
    const wanted = JSON.stringify(marks.selections);
    if (wanted !== drawn && !brushed) change.selections = marks.selections;
    [drawn, brushed] = [wanted, false];
    if (Object.keys(change).length) window.Plotly.relayout(map, change);
  };

  // The address by what follows from it; a part that is as it was is not sent again.
  const parts = (search, ...held) => {
    const asked = new URLSearchParams(search || "");
    const only = (names) => JSON.stringify(names.map((name) => asked.getAll(name)));
    const odd = ["run", "pin"].map((name) => asked.getAll(name).filter((id) => !/^[0-9a-f]{12}$/.test(id)))
      .concat(["off", "pin-off"].map((name) => asked.getAll(name).filter((off) => !/^-?\d+(,-?\d+)*$/.test(off))));
    const axes = ["x", "x-scale", "y", "y-scale", "color"], map = ["where", "region", ...axes];
    const found = {
      axes: only(axes),
      map: only(map) + JSON.stringify(odd), // what is wrong with an address is said beside the map
      marks: only([...map, "run", "pin"]),
      run: only(["run", "off"]),
      pin: only(["pin", "pin-off"]),
    };
    return ["axes", "map", "marks", "run", "pin"].map((name, place) =>
      (held[place] === found[name] ? window.dash_clientside.no_update : found[name]));
  };

  const pressed = (run, pin, buttons) => {
    const shown = [run, pin].map((part) => (part ? JSON.parse(part)[0][0] : ""));
    return buttons.map((button) => String(shown.includes(button.run)));
  };

  // A run chosen far down the page is shown above or beside it: take the reader there, unless the page has just been opened.
  let shownFirst = true;
  const reveal = (shown) => {
    const panel = document.getElementById("run-panel");
    const opened = !shownFirst && shown && shown[0];
    shownFirst = false;
    if (!opened || !panel || shown[0] === panel.dataset.run) return;
    panel.dataset.run = shown[0];
    requestAnimationFrame(() => {
      const { top } = document.getElementById("run-title").getBoundingClientRect();
      if (top < 0 || top > 0.8 * innerHeight) panel.scrollIntoView({ block: "start" });
    });
  };

  // Once the browser has drawn what it was given.
  const settled = (key) => new Promise((done) => {
    if (window.requestIdleCallback) window.requestIdleCallback(() => done(key), { timeout: 500 });
    else setTimeout(() => done(key), 60);
  });

  window.dash_clientside = Object.assign({}, window.dash_clientside, { explore: { region, mark, parts, pressed, reveal, settled } });
})();
