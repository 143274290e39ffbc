"""``hotplace status --containers``: what is under each space, by the names that a drain takes."""

from __future__ import annotations

from tests.cli.site import Site


def test_every_space_with_its_containers(site: Site) -> None:
    """Sizes in bytes for scripts; each name is one that drains its space; nobody asks the database unless told to."""
    (shop,) = site.good("status", "--containers", "--json").document["databases"]
    assert [(space["space"], space["tier"]) for space in shop["containers"]] == [("ssd", "ssd"), ("hdd", "hdd")]
    (found,) = shop["containers"][0]["containers"]
    assert set(found) == {"name", "path", "belongs_to", "bytes", "used_bytes", "free_bytes"}
    assert found["used_bytes"] == found["bytes"] > 0
    drained = site.good("plan", "--mode", "drain", "--space", "ssd", "--container", found["name"], "--json")
    assert drained.document["moves"]
    assert site.good("status", "--json").document["databases"][0]["containers"] is None


def test_they_follow_the_status(site: Site) -> None:
    """A line each under the head; a space that belongs to no tier is listed, too."""
    site.database["tiers"] = site.database["tiers"][1:]
    site.write()
    spaces = site.good("status", "--containers", "--json").document["databases"][0]["containers"]
    assert [(space["space"], space["tier"]) for space in spaces] == [("hdd", "hdd"), ("ssd", None)]
    lines = site.good("status", "--containers").out.strip().splitlines()
    at = lines.index("files, devices and folders, read from the database now:")
    assert lines[at + 1].split()[:2] == ["space", "container"]
    assert [line.split()[:2] for line in lines[at + 2 :]] == [
        [space["space"], space["containers"][0]["name"]] for space in spaces
    ]


def test_wrong_names(site: Site) -> None:
    """A wrong container is refused with the command that lists them."""
    done = site.run("plan", "--mode", "drain", "--space", "ssd", "--container", "one")
    assert (done.code, "hotplace status --containers" in done.err) == (7, True), done
    assert site.run("status", "--all", "--containers").code == 2
