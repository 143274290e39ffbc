"""The command that plays the history again."""

from __future__ import annotations

from tests.cli.site import Site


def test_the_recorded_history_is_played_again(site: Site) -> None:
    """After some cycles it answers in both forms; capacity and policy change the answer's ground, names are checked."""
    site.database["tiers"][0].update(name="flash", kind="ssd")
    site.write()
    assert site.run("simulate").code == 7
    for _ in range(3):
        site.good("run", "--once")
    document = site.good("simulate", "--plan-every", "0.1s", "--json").document
    assert document["intervals"] >= 3
    assert document["wait_as_it_is_seconds"] >= document["wait_simulated_seconds"]
    assert (
        "By the model"
        in site.good(
            "simulate", "--capacity", "ssd=40 GB", "--policy", "cool_down=7d", "--policy", "maximum_moves=3"
        ).out
    )
    nothing = site.good("simulate", "--window", "mon 00:00-00:01", "--plan-every", "1h", "--json").document
    assert nothing["moves"] == []
    of_space = site.good("simulate", "--capacity", "ssd=1 GB", "--json").document
    assert of_space == site.good("simulate", "--capacity", "flash=1 GB", "--json").document, "the tier's only space"
    assert site.run("simulate", "--capacity", "none=1 GB").code == 7
    assert site.run("simulate", "--capacity", "ssd").code == 2
    assert site.run("simulate", "--policy", "cool_down=soon").code == 2
    assert site.run("simulate", "--window", "always").code == 2


def test_plans_are_made_as_often_as_configured(site: Site) -> None:
    """Without --plan-every the database's own plan_every holds, and the answer says which it was."""
    site.database["plan_every"] = "0.1s"
    site.write()
    for _ in range(3):
        site.good("run", "--once")
    document = site.good("simulate", "--json").document
    assert document["plans"] == site.good("simulate", "--plan-every", "0.1s", "--json").document["plans"] > 0
    assert document["plan_every_seconds"] == 0.1
    assert "one every 100 ms" in site.good("simulate").out
    assert site.good("simulate", "--plan-every", "1d", "--json").document["plans"] == 0
