"""Plotly figures: pure functions of traces, numbers and a theme. They never import streamlit."""
