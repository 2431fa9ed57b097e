"""Colours of every figure and chart, so that a group looks the same wherever it is drawn.

Colour-blind safe, after Okabe & Ito; four of them are a little darker than theirs, so that text in
these colours is legible on white.
"""

from __future__ import annotations

BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#C25200", "#007A59", "#9A4A80"
AMBER, SKY, GREY, BLACK = "#E69F00", "#56B4E9", "#515D6B", "#000000"

#: The groups z = 0 and z = 1, by z.
GROUPS = (VERMILION, BLUE)
#: Effects on the labels and on a model's scores.
LABELS, SCORES = GREY, PURPLE
#: Lines that have no colour of their own, in this order.
CYCLE = (BLUE, VERMILION, GREEN, PURPLE, AMBER, SKY)
#: Text, captions, lines and paper of a light and a dark page.
LIGHT_PAGE = {"ink": "#1b1f24", "soft": "#57606a", "line": "#d8dee4", "paper": "#ffffff"}
DARK_PAGE = {"ink": "#e6edf3", "soft": "#9aa4af", "line": "#3d444d", "paper": "#14171c"}
#: The same hues on a dark page.
ON_DARK = {BLUE: "#56B4E9", VERMILION: "#F0884A", GREEN: "#3FC79C", PURPLE: "#DD9BC6"}
