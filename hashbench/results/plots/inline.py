"""Figures as inline SVG of a page: small, legible on light and dark ground, with texts under the pointer."""

from __future__ import annotations

import io
import json
import re
from xml.etree import ElementTree

import matplotlib

from hashbench.common.showing import printable
from hashbench.results.plots.base import Drawn
from hashbench.results.plots.colours import COLOURS, DARK_COLOURS
from hashbench.results.plots.sheet import FRONT, GREY, GRID, INK, LOUD, QUIET, STYLE

NAMESPACE, LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
# Colour of a drawing -> its name in the page's style, and the colours that it has on light and on dark ground.
THEME = {
    "#000000": ("ink", "#1a1d21", "#e6e9ed"),
    INK: ("ink", "#1a1d21", "#e6e9ed"),
    "#ffffff": ("ground", "#ffffff", "#14171b"),
    QUIET: ("quiet", "#5d6570", "#9aa4b1"),
    FRONT: ("quiet", "#5d6570", "#9aa4b1"),
    GRID: ("line", "#e1e5ea", "#2c323a"),
    GREY: ("grey", GREY, "#46505b"),
    LOUD: ("loud", "#8a1c1c", "#ffb4ab"),
    **{light: (f"m{n}", light, dark) for n, (light, dark) in enumerate(zip(COLOURS, DARK_COLOURS, strict=True))},
}
# The same figure is the same text.
BARE = {"Date": None, "Creator": None, "Format": None, "Type": None}


def inline_svg(drawn: Drawn, *, ground: bool = False) -> str:
    """A picture as a self-contained `svg` element; its ids begin with the picture's name.

    `ground`: painted, for a file that is opened alone, where ink for dark ground may meet a white window.
    """
    file = io.StringIO()
    with matplotlib.rc_context({**STYLE, "svg.fonttype": "none"}):
        drawn.figure.savefig(file, format="svg", transparent=True, metadata=BARE)
    root = ElementTree.fromstring(printable(file.getvalue()))
    used = set(re.findall(r'(?:url\(|href=")#(\w+)', file.getvalue()))
    for element in list(root.iter()):
        element.tag = element.tag.removeprefix(NAMESPACE)
        element.text, element.tail = (element.text or "").strip() or None, None
        _name(element, drawn.name, used)
        element.attrib = {key: _short(key, value) for key, value in element.attrib.items()}
        if element.attrib.get("transform", "").startswith("rotate(-0 "):
            del element.attrib["transform"]
        _share_style(element)
    root.attrib = {"viewBox": root.attrib["viewBox"], "class": "drawn", "role": "img", "aria-label": drawn.title}
    style = root.find("defs/style")
    assert style is not None  # matplotlib's own, which would hold for the whole page
    style.attrib, style.text = {}, _style()
    if ground:
        root.insert(1, ElementTree.Element("rect", {"width": "100%", "height": "100%", "style": "fill:var(--ground)"}))
    return ElementTree.tostring(root, encoding="unicode")


def _name(element: ElementTree.Element, figure: str, used: set[str]) -> None:
    """Prefixes ids that are referred to, turns those set by `sheet.tip` into `title` elements, and removes the rest."""
    if LINK in element.attrib:
        element.attrib["href"] = f"#{figure}-{element.attrib.pop(LINK).removeprefix('#')}"
    for key, value in element.attrib.items():
        element.attrib[key] = value.replace("url(#", f"url(#{figure}-")
    name = element.attrib.pop("id", "")
    if name in used:
        element.attrib["id"] = f"{figure}-{name}"
    elif name.startswith("["):
        texts = json.loads(name)
        points = element.findall(f".//{NAMESPACE}use") if len(texts) > 1 else [element]
        for point, text in zip(points, texts, strict=True):
            title = ElementTree.Element("title")
            title.text = text
            point.insert(0, title)


def _short(key: str, value: str) -> str:
    """An SVG attribute's value, shortened to two decimals, with the page's colour variables in place of colours."""
    if key == "href":
        return value
    if key in ("style", "fill"):
        value = re.sub(r"\s*font-family:[^;]*;?|\s*stroke-linejoin: (?:round|bevel);?", "", value)
        value = re.sub("|".join(THEME), lambda colour: f"var(--{THEME[colour[0]][0]})", value)
        return re.sub(r"([:;]) ", r"\1", value)
    value = re.sub(r"-?\d+\.\d+", lambda number: f"{float(number[0]):.2f}".rstrip("0").rstrip("."), value)
    return re.sub(r"\s*\n", "", value)


def _share_style(element: ElementTree.Element) -> None:
    """Moves the style that all markers of a line share from the markers to their group."""
    styles = {child.get("style") for child in element if child.tag.endswith("use")}
    if len(styles) == 1 and len(element) > 1 and all(child.tag.endswith("use") for child in element):
        element.set("style", _short("style", styles.pop() or ""))
        for child in element:
            child.attrib.pop("style", None)


def _style() -> str:
    light, dark = (
        "".join(dict.fromkeys(f"--{name}:{tones[ground]};" for name, *tones in THEME.values())) for ground in (0, 1)
    )
    return (
        f".drawn{{{light}font-family:system-ui,sans-serif}}.drawn text{{fill:var(--ink)}}"
        f".drawn *{{stroke-linejoin:round}}@media screen and (prefers-color-scheme:dark){{.drawn{{{dark}}}}}"
    )
