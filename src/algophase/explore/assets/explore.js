// What the browser does by itself. Of what was selected on the map only the region goes to the server, not its points; and
// the names of the runs shown are added to the map that is there.
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

  window.dash_clientside = Object.assign({}, window.dash_clientside, { explore: { region, mark } });
})();
