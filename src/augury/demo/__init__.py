"""Scenes that show augury at work: a simulated world with known truth, queries, and a report.

A scene makes events whose truth it knows, lets a session answer queries over them, and holds the
answers against the truth. `augury demo` plays them and writes one page of HTML about them.
"""

# The scenes in the order of the report: each is a folder here, and one line.
SCENES = {
    "store": "augury.demo.store.play",
    "readers": "augury.demo.readers.play",
    "building": "augury.demo.building.play",
    "discretion": "augury.demo.discretion.play",
    "logins": "augury.demo.logins.play",
    "hospital": "augury.demo.hospital.play",
}
