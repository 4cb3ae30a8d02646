"""How is XML written, so that every reader takes it? PURE: without the characters that XML has not, or nobody sees."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from fuzzer.report.plain import visible


def written(root: ET.Element) -> str:
    """The document, indented. The texts of `root` become what they are in it."""
    for element in root.iter():
        for name, value in element.items():
            element.set(name, visible(value))
        if element.text is not None:
            element.text = visible(element.text)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
