// Draws each picture when it comes near the screen, in the colors of the page, and lets go of WebGL pictures far from it:
// a browser gives a page only a few WebGL contexts.
"use strict";
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const touch = matchMedia("(pointer: coarse)").matches;
  const webgl = document.createElement("canvas").getContext("webgl") !== null;
  const plots = Array.from(document.querySelectorAll(".plot"));
  const config = {
    displaylogo: false,
    responsive: true,
    displayModeBar: touch ? false : "hover",
    plotlyServerURL: "", // nothing leaves this machine
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "sendChartToCloud", "sendDataToCloud", "editInChartStudio"],
  };

  const template = () => {
    const style = getComputedStyle(document.documentElement);
    const value = (name) => style.getPropertyValue(name).trim();
    const axis = { gridcolor: value("--line"), linecolor: value("--faint"), zerolinecolor: value("--line"), tickcolor: value("--faint") };
    return {
      layout: {
        font: { color: value("--text") },
        xaxis: axis,
        yaxis: axis,
        hoverlabel: { bgcolor: value("--paper"), bordercolor: value("--faint"), font: { color: value("--text") } },
        modebar: { bgcolor: "rgba(0,0,0,0)", color: value("--faint"), activecolor: value("--text") },
      },
    };
  };

  const draw = (plot) => {
    if (plot.dataset.drawn) return;
    plot.dataset.drawn = "1";
    const text = document.getElementById(plot.id + "-data").textContent;
    // The house's blue is too dark for a dark page.
    const figure = JSON.parse(dark.matches ? text.replaceAll("#0072B2", "#4AA3DF") : text);
    if (!webgl) figure.data.forEach((trace) => { if (trace.type === "scattergl") trace.type = "scatter"; });
    plot.dataset.webgl = figure.data.some((trace) => trace.type === "scattergl") ? "1" : "";
    figure.layout.template = template();
    if (touch) figure.layout.dragmode = false;
    Plotly.newPlot(plot, figure.data, figure.layout, config);
  };

  const drop = (plot) => {
    if (!plot.dataset.drawn || !plot.dataset.webgl) return;
    Plotly.purge(plot);
    plot.dataset.drawn = "";
  };

  const near = new IntersectionObserver(
    (entries) => entries.forEach((entry) => entry.isIntersecting && draw(entry.target)), { rootMargin: "300px" });
  const far = new IntersectionObserver(
    (entries) => entries.forEach((entry) => entry.isIntersecting || drop(entry.target)), { rootMargin: "1500px" });

  // The library is a text until the page has been painted: reading 5 MB of script first would keep the reader waiting.
  const load = () => {
    if (window.Plotly) return;
    const library = document.createElement("script");
    library.textContent = document.getElementById("plotly").textContent;
    document.head.append(library);
  };
  const start = () => {
    load();
    plots.forEach((plot) => { near.observe(plot); far.observe(plot); });
  };
  requestAnimationFrame(() => setTimeout(start));

  dark.addEventListener("change", () => plots.forEach((plot) => {
    if (!plot.dataset.drawn) return;
    Plotly.purge(plot);
    plot.dataset.drawn = "";
    draw(plot);
  }));
  // What is printed shows every picture, also where printing comes before the library was read.
  addEventListener("beforeprint", () => { load(); plots.forEach(draw); });
})();
