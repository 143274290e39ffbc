"""What is published of the plays: rows for the results, and a page with a line for every shape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import nan
from statistics import fmean
from typing import Literal

from tests.bench.measurement import Measurement
from tests.bench.policies.wandering.frozen import DELAY_HOURS
from tests.bench.policies.wandering.stage import Score

COMMAND = "python -m tests.bench.policy_wandering"
ROWS = "policy.wandering"
HINDSIGHT = "whole units in hindsight"  # what no placement of them can exceed, copies paid
CLEARLY = 0.95  # of the best rule: who wins less wins clearly less


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """Every contestant on one world."""

    shape: str
    seed: int
    fixed: Score
    product: Score
    delayed: Score | None  # the product with the approval delay; None: this seed is played without
    rules: tuple[Score, ...]  # the six
    equal_pages: Score  # the other LRU baseline
    most: tuple[float, ...]  # seconds of each day that no placement of units can exceed, moved for nothing
    most_paid: float  # seconds that none can exceed in all, copies paid
    caches: tuple[Score, ...] = ()  # of pages, played read by read; (): not played

    @property
    def best_rule(self) -> Score:
        """Of the six."""
        return max(self.rules, key=_gain)

    @property
    def best_of_units(self) -> Score:
        """Of those that place whole units."""
        return max((rule for rule in self.rules if rule.whole_units), key=_gain)

    @property
    def against_best_rule(self) -> float:
        """The product's gain over that of the best rule."""
        return self.product.gain / self.best_rule.gain

    @property
    def sentence(self) -> str:
        """The play in one line."""
        best, delayed = self.best_rule, f", delayed {self.share(self.delayed):.3f}" if self.delayed else ""
        return (
            f"{self.shape:14} {self.seed} hotplace {self.share(self.product):.3f} of best fixed{delayed}; "
            f"{best.policy} {self.share(best):.3f}; cost {self.product.cost_share:.4f}"
        )

    def share(self, score: Score) -> float:
        """Its gain over that of the best fixed placement."""
        return score.gain / self.fixed.gain


def figures(played: Sequence[Play], command: str = COMMAND) -> list[Measurement]:
    """All rows, with the command that measures them again."""
    rows = [
        *_against_rules(played), *_against_hindsight(played), *_costs(played), *_taken_back(played), *_caches(played),
        *_by_shape(played),
    ]  # fmt: skip
    return [Measurement(**{**row, "command": command}) for row in rows]


def is_row(name: str) -> bool:
    """Whether a published row of that name is one of these."""
    return name.startswith((f"{ROWS}.", "policy.copy_cost_share_"))


def _against_rules(played: Sequence[Play]) -> Iterator[Measurement]:
    """The worst play and the mean, at once and with the delay; and against the rules that place units."""
    for name, note, pairs in (
        ("vs_best_rule", "no goal: whole units cannot reach it", [(play.product, play.best_rule) for play in played]),
        (
            "vs_best_rule_of_units",
            "without the page cache; goals 0.98 and 1.01",
            [(play.product, play.best_of_units) for play in played],
        ),
        (
            "vs_best_rule_delayed",
            f"{DELAY_HOURS} h of approval delay",
            [(play.delayed, play.best_rule) for play in played if play.delayed],
        ),
    ):
        ratios = [mine.gain / rule.gain for mine, rule in pairs]
        if not ratios:
            continue
        plays = [play for play in played if play.delayed] if name.endswith("delayed") else played
        worst = ratios.index(min(ratios))
        note = (
            f"the worst play: {plays[worst].shape}, seed {plays[worst].seed}, against {pairs[worst][1].policy}; {note}"
        )
        yield _row(f"policy.wandering.{name}_min", min(ratios), "of the best rule's gain", "higher", note=note)
        yield _row(f"policy.wandering.{name}_mean", fmean(ratios), "of the best rule's gain", "higher", ratios)
    possible = [play.most_paid / play.best_rule.gain for play in played]
    missed = [ratio for play, ratio in zip(played, possible, strict=True) if play.against_best_rule < CLEARLY]
    beyond = sum(ratio < CLEARLY for ratio in missed)
    note = (
        f"what no placement of whole units can exceed, copies paid; below 1 only a cache of pages is better; of "
        f"{len(missed)} plays below {CLEARLY} of the best rule that is beyond reach in {beyond}"
    )
    yield _row(
        "policy.wandering.possible_vs_best_rule_min", min(possible), "of the best rule's gain", "higher", possible, note
    )
    still = [play.share(play.product) for play in played if play.shape == "stationary"]
    if still:
        note = "copy costs included; target 0.98"
        yield _row("policy.wandering.stationary_min", min(still), "of the best fixed gain", "higher", still, note)


def _against_hindsight(played: Sequence[Play]) -> Iterator[Measurement]:
    """Of what no placement of whole units can exceed, and of the lead of the page cache what that explains."""
    shares = [play.product.gain / play.most_paid for play in played]
    rules = fmean(play.best_of_units.gain / play.most_paid for play in played)
    worst = played[shares.index(min(shares))]
    note = f"every hour known before, copies paid; the best rule of units {rules:.3f}"
    yield _row("policy.wandering.vs_hindsight_mean", fmean(shares), "of what is possible", "higher", shares, note)
    note = f"the worst play: {worst.shape}, seed {worst.seed}"
    yield _row("policy.wandering.vs_hindsight_min", min(shares), "of what is possible", "higher", note=note)
    ahead = [play for play in played if play.best_rule.gain > play.product.gain and not play.best_rule.whole_units]
    lead = sum(play.best_rule.gain - play.product.gain for play in ahead)
    beyond = sum(max(0.0, play.best_rule.gain - play.most_paid) for play in ahead)
    note = f"of {len(ahead)} plays that it wins; the rest is foresight and guards"
    yield _row(
        "policy.wandering.page_cache_lead_by_granularity", beyond / lead if lead else 0.0, "of the cache's lead",
        "higher", note=note,
    )  # fmt: skip


def _costs(played: Sequence[Play]) -> Iterator[Measurement]:
    """What copying costs, of what is saved: means of a shape's seeds."""
    shares = {shape: fmean(play.product.cost_share for play in plays) for shape, plays in by_shape(played)}
    best = {shape: fmean(play.best_of_units.cost_share for play in plays) for shape, plays in by_shape(played)}
    worst = max(shares, key=lambda shape: shares[shape])
    dearer = [shape for shape in shares if shares[shape] > best[shape]]
    note = (
        f"{worst}; the best rule there {best[worst]:.4f}; dearer than the best rule: {', '.join(dearer) or 'nowhere'}"
    )
    yield _row("policy.copy_cost_share_max", shares[worst], "of what is saved", "lower", list(shares.values()), note)
    yield _row("policy.copy_cost_share_mean", fmean(shares.values()), "of what is saved", "lower", note="target 0.03")


def _taken_back(played: Sequence[Play]) -> Iterator[Measurement]:
    unpaid = [play.product.unpaid for play in played]
    note = f"of {sum(play.product.taken_back for play in played)} promotions that were reversed within 24 h; target 0"
    yield _row("policy.wandering.unpaid_reversals", sum(unpaid), "moves", "lower", note=note)


def _caches(played: Sequence[Play]) -> Iterator[Measurement]:
    """Both LRU baselines, as means of all plays."""
    skewed = [next(rule for rule in play.rules if not rule.whole_units) for play in played]
    for name, scores in (("equal_pages", [play.equal_pages for play in played]), ("skewed_pages", skewed)):
        values = [play.share(score) for play, score in zip(played, scores, strict=True)]
        still = [value for play, value in zip(played, values, strict=True) if play.shape == "stationary"]
        note = f"an LRU cache of pages, its fills for nothing; stationary {fmean(still):.3f}" if still else ""
        yield _row(f"policy.wandering.lru_{name}", fmean(values), "of the best fixed gain", "higher", values, note)


def _by_shape(played: Sequence[Play]) -> Iterator[Measurement]:
    for shape, plays in by_shape(played):
        values = [play.share(play.product) for play in plays]
        note = "; ".join(f"{name} {value:.3f}" for name, value in columns(plays).items())
        yield _row(f"policy.wandering.{shape}", fmean(values), "of the best fixed gain", "higher", values, note)


def columns(plays: Sequence[Play]) -> dict[str, float]:
    """Gains over that of the best fixed placement by contestant, means of a shape's plays."""
    shares: dict[str, list[float]] = {"hotplace": [], f"hotplace +{DELAY_HOURS} h": []}
    for play in plays:
        shares["hotplace"].append(play.share(play.product))
        if play.delayed:
            shares[f"hotplace +{DELAY_HOURS} h"].append(play.share(play.delayed))
        for rule in (*play.rules, play.equal_pages, *play.caches):
            shares.setdefault(rule.policy, []).append(play.share(rule))
        shares.setdefault(HINDSIGHT, []).append(play.most_paid / play.fixed.gain)
    return {name: fmean(values) for name, values in shares.items() if values}


def page(played: Sequence[Play]) -> str:
    """A table of the shapes, then the rows."""
    names = list(columns(played))
    head = ["shape", *names, "best fixed, h", "vs best rule", "copy cost", "back / unpaid"]
    lines = [f"| {' | '.join(head)} |", f"|---{'|---:' * (len(head) - 1)}|"]
    for shape, plays in by_shape(played):
        of = columns(plays)
        means = [f"{of.get(name, nan):.3f}" for name in names]
        hours = fmean(play.fixed.gain for play in plays) / 3600
        against = fmean(play.against_best_rule for play in plays)
        cost = fmean(play.product.cost_share for play in plays)
        back = f"{sum(play.product.taken_back for play in plays)} / {sum(play.product.unpaid for play in plays)}"
        lines.append(f"| {shape} | {' | '.join(means)} | {hours:.0f} | {against:.3f} | {cost:.4f} | {back} |")
    rows = (f"{row['name']}: {row['value']:.4f} {row['unit']} ({row.get('note', '')})" for row in figures(played))
    return "\n".join([*lines, "", *rows])


def by_shape(played: Sequence[Play]) -> list[tuple[str, list[Play]]]:
    """The plays of each shape, in the order of their first."""
    shapes = dict.fromkeys(play.shape for play in played)
    return [(shape, [play for play in played if play.shape == shape]) for shape in shapes]


def _row(
    name: str, value: float, unit: str, better: Literal["higher", "lower"], values: Sequence[float] = (),
    note: str = "",
) -> Measurement:  # fmt: skip
    row = Measurement(name=name, value=value, unit=unit, better=better, command=COMMAND)
    if values:
        row["spread"] = f"{min(values):.3f} to {max(values):.3f}, {len(values)} values"
    if note:
        row["note"] = note
    return row


def _gain(score: Score) -> float:
    return score.gain
