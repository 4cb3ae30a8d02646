"""Where does each mark of a report's figures stand? PURE: geometry for the SVG that the template draws."""
