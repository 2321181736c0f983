"""Anchors that are the same in every language, so that a place in a page survives the switch to the other one.

A section's first identifier, which contents, permalinks and search results use, is by default made from its title:
another one in each language, without its accents, and ``id1`` where a title repeats. Here it is the section's label, or
for a section without one its parent's and its number among its siblings.
"""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform


class NeutralAnchors(SphinxTransform):
    """Put the neutral identifier of each section before the one made from its title, which keeps working."""

    default_priority = 400  # after the labels have reached their sections, before Sphinx reads the page's contents

    def apply(self) -> None:
        labels = {self.document.nameids[name] for name, explicit in self.document.nametypes.items() if explicit}
        for section in self.document.findall(nodes.section):
            section["ids"].sort(key=lambda anchor: anchor not in labels)
            parent = section.parent
            if labels.isdisjoint(section["ids"]) and isinstance(parent, nodes.section):
                siblings = [child for child in parent if isinstance(child, nodes.section)]
                self._name(section, f"{parent['ids'][0]}-{siblings.index(section) + 1}")

    def _name(self, section: nodes.section, anchor: str) -> None:
        if anchor not in self.document.ids:
            self.document.ids[anchor] = section
            section["ids"].insert(0, anchor)


def setup(app: Sphinx) -> None:
    app.add_transform(NeutralAnchors)
