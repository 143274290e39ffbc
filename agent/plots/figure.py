"""One plot with its words: an element for a page, or a document that is a file of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Protocol
from xml.etree import ElementTree as ET

from agent.plots.theme import INK, PAPER, VARIABLES
from connectors.formatting import printable

WIDTH: Final = 440  # in units of the drawing, so that text can still be read where a phone is 390 wide
HEIGHT: Final = 240
HEAD: Final = 26  # of a document: its title
SCALE: Final = 2  # pixels of a document for one of the drawing's
SVG: Final = "http://www.w3.org/2000/svg"


class Drawing(Protocol):
    """A chart of the library, or several that are drawn as one."""

    def to_svg_group(self, width: int, height: int) -> ET.Element:
        """All that is drawn, in that size."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A chart, and what it says to who cannot see it."""

    name: str  # an identifier, unique on its page
    title: str  # what is plotted, with its unit
    says: str  # what can be seen in it, in a sentence
    chart: Drawing
    width: int = WIDTH
    height: int = HEIGHT

    def element(self) -> str:
        """As an SVG element within a page that sets the colours and shows the title next to it."""
        return _text(self._describe())

    def document(self) -> str:
        """As an SVG document, with its title in the picture and with colours of its own."""
        root = self._describe()
        root.set("viewBox", f"0 {-HEAD} {self.width} {self.height + HEAD}")
        root.set("width", str(self.width * SCALE))
        root.set("height", str((self.height + HEAD) * SCALE))
        style = ET.Element("style")
        style.text = VARIABLES
        size = {"width": str(self.width), "height": str(self.height + HEAD)}
        paper = ET.Element("rect", {"x": "0", "y": str(-HEAD), **size, "fill": PAPER})
        title = ET.Element("text", {"x": "8", "y": str(18 - HEAD), "fill": INK, "font-size": "14"})
        title.text = self.title
        for at, part in enumerate((style, paper, title)):
            root.insert(2 + at, part)
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{_text(root)}\n'

    def _describe(self) -> ET.Element:
        """The drawing in an element that names and describes it and takes the size of its place."""
        names = f"{self.name}-title {self.name}-says"
        attributes = {"xmlns": SVG, "viewBox": f"0 0 {self.width} {self.height}", "role": "img"}
        root = ET.Element("svg", {**attributes, "aria-labelledby": names, "font-family": "system-ui, sans-serif"})
        for kind, name, words in (("title", "title", self.title), ("desc", "says", self.says)):
            part = ET.SubElement(root, kind, {"id": f"{self.name}-{name}"})
            part.text = words
        root.append(self.chart.to_svg_group(self.width, self.height))
        return root


def _text(root: ET.Element) -> str:
    """The element as text that any parser of XML or HTML takes, with figures no longer than the eye can tell."""
    for each in root.iter():
        each.text = each.text and printable(each.text, keep="\n")
        for name, value in each.attrib.items():
            each.set(name, _shorten(value) if name in _GEOMETRY else printable(value))
    return ET.tostring(root, encoding="unicode")


_GEOMETRY: Final = frozenset({"x", "y", "x1", "x2", "y1", "y2", "width", "height", "cx", "cy", "r", "d", "points"})
_LONG: Final = re.compile(r"-?(?<!\d)\d+\.\d+(?:[Ee][-+]?\d+)?")


def _shorten(value: str) -> str:
    """Its numbers to a tenth: the library writes all 28 digits of a decimal."""
    return _LONG.sub(lambda found: f"{float(found[0]):.1f}".removesuffix(".0"), value)
