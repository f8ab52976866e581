// Of what was selected on the map only the region goes to the server, not its points.
"use strict";
window.dash_clientside = Object.assign({}, window.dash_clientside, {
  explore: {
    region: (selected) => {
      if (!selected) return null;
      if (selected.range) {
        const { x, y } = selected.range;
        return { box: [x[0], y[0], x[1], y[1]] };
      }
      if (selected.lassoPoints) {
        const { x, y } = selected.lassoPoints;
        return { lasso: x.map((value, place) => [value, y[place]]) };
      }
      return window.dash_clientside.no_update;
    },
  },
});
