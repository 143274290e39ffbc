"""``hotplace containers``: what is under each space, by the names that a drain takes."""

from __future__ import annotations

from tests.cli.site import Site


def test_every_space_with_its_containers(site: Site) -> None:
    """Sizes in bytes for scripts; each name is one that drains its space."""
    spaces = site.good("containers", "--json").document["spaces"]
    assert [(space["space"], space["tier"]) for space in spaces] == [("ssd", "ssd"), ("hdd", "hdd")]
    (found,) = spaces[0]["containers"]
    assert set(found) == {"name", "path", "belongs_to", "bytes", "used_bytes", "free_bytes"}
    assert found["used_bytes"] == found["bytes"] > 0
    drained = site.good("balance", "--type", "drain", "--space", "ssd", "--container", found["name"], "--json")
    assert drained.document["moves"]


def test_one_space(site: Site) -> None:
    """Only its own, a line each under the head; a space without a tier has none."""
    site.database["tiers"] = site.database["tiers"][1:]
    site.write()
    (space,) = site.good("containers", "--space", "ssd", "--json").document["spaces"]
    assert space["tier"] is None
    (head, line) = site.good("containers", "--space", "ssd").out.strip().splitlines()
    assert head.split()[:2] == ["space", "container"]
    assert line.split()[:2] == ["ssd", space["containers"][0]["name"]]


def test_wrong_names(site: Site) -> None:
    """A space that is not there is told with those that are; a wrong container with the command that lists them."""
    done = site.run("containers", "--space", "tape")
    assert (done.code, "There are ssd, hdd." in done.err) == (7, True), done
    done = site.run("balance", "--type", "drain", "--space", "ssd", "--container", "one")
    assert (done.code, "hotplace containers" in done.err) == (7, True), done
