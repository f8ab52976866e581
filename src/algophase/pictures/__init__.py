"""Pictures as marks. Matplotlib and Plotly are imported only when something is drawn."""
