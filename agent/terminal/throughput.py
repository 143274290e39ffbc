"""How a forecast of throughput and latency is written, the same on every surface: commands, JSON, report."""

from __future__ import annotations

from agent.answers.plans import ForecastShown
from agent.model.proposals import WorkForecast
from connectors.formatting import format_rate, format_seconds


def forecast_facts(forecast: WorkForecast | None) -> list[tuple[str, str]]:
    """Throughput and latency as measured and as forecast, or why they are not; no line where nothing is known of it."""
    if forecast is None:
        return []
    now, then = forecast.per_second_now, forecast.per_second
    title = f"{forecast.work}/s"
    measured = "not known" if now is None else format_rate(now)
    if then is None or forecast.per_second_low is None or forecast.per_second_high is None:
        return [(title, f"{measured} now; not forecast: {forecast.why_not}")]
    ends = f"between {format_rate(forecast.per_second_low)} and {format_rate(forecast.per_second_high)}"
    asks = "" if forecast.load else "if clients ask as soon as they are answered: "
    return [
        (title, f"{measured} now; {asks}{format_rate(then)} forecast, {ends}"),
        *_latency(forecast),
        *_open(forecast, measured),
        *([("then busiest", forecast.busiest)] if forecast.busiest else []),
        *([("another limit", forecast.limit)] if forecast.limit else []),
        *([("interval wider", "; ".join(forecast.assumed))] if forecast.assumed else []),
        *([("not modelled", ", ".join(forecast.unmodelled))] if forecast.unmodelled else []),
    ]


def _latency(forecast: WorkForecast) -> list[tuple[str, str]]:
    """What a session spends on one transaction; the ends of the interval where they are known."""
    figures = (forecast.latency_now, forecast.latency, forecast.latency_low, forecast.latency_high)
    known = [format_seconds(figure) for figure in figures if figure is not None]
    if len(known) < len(figures):
        return []
    now, then, low, high = known
    return [("latency", f"{now} now, {then} forecast, between {low} and {high}")]


def _open(forecast: WorkForecast, measured: str) -> list[tuple[str, str]]:
    """The other answer, as long as it is not known whether clients wait for answers before they ask again."""
    if forecast.load or forecast.latency_now is None or forecast.latency_open is None:
        return []
    latency = f"latency {format_seconds(forecast.latency_now)} becomes {format_seconds(forecast.latency_open)}"
    return [("if work arrives by itself", f"{measured} {forecast.work}/s as now, {latency}")]


def forecast_shown(forecast: WorkForecast | None) -> ForecastShown | None:
    """Throughput and latency as measured and as forecast; None where it was stored without."""
    if forecast is None:
        return None
    return ForecastShown(
        work=forecast.work,
        why_not=forecast.why_not or None,
        limit=forecast.limit or None,
        load=forecast.load or None,
        busiest=forecast.busiest or None,
        assumed=forecast.assumed,
        unmodelled=forecast.unmodelled,
        certainty_ratio=forecast.certainty,
        per_second_now=forecast.per_second_now,
        per_second=forecast.per_second,
        per_second_low=forecast.per_second_low,
        per_second_high=forecast.per_second_high,
        latency_now_seconds=forecast.latency_now,
        latency_seconds=forecast.latency,
        latency_low_seconds=forecast.latency_low,
        latency_high_seconds=forecast.latency_high,
        latency_open_seconds=forecast.latency_open,
        read_wait_per_transaction_seconds=forecast.read_wait,
    )
