"""How a forecast of throughput and latency is written, the same on every surface: commands, JSON, report."""

from __future__ import annotations

from typing import Any

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
    limit = [("another limit", forecast.limit)] if forecast.limit else []
    return [(title, f"{measured} now, {format_rate(then)} forecast, {ends}"), *_latency(forecast), *limit]


def _latency(forecast: WorkForecast) -> list[tuple[str, str]]:
    """What a session spends on one transaction; the ends of the interval where they are known."""
    figures = (forecast.latency_now, forecast.latency, forecast.latency_low, forecast.latency_high)
    known = [format_seconds(figure) for figure in figures if figure is not None]
    if len(known) < len(figures):
        return []
    now, then, low, high = known
    return [("latency", f"{now} now, {then} forecast, between {low} and {high}")]


def forecast_document(forecast: WorkForecast | None) -> dict[str, Any] | None:
    """Throughput and latency as measured and as forecast, as JSON values; None where it was stored without."""
    if forecast is None:
        return None
    return {
        "work": forecast.work,
        "why_not": forecast.why_not or None,
        "limit": forecast.limit or None,
        "certainty_ratio": forecast.certainty,
        "per_second_now": forecast.per_second_now,
        "per_second": forecast.per_second,
        "per_second_low": forecast.per_second_low,
        "per_second_high": forecast.per_second_high,
        "latency_now_seconds": forecast.latency_now,
        "latency_seconds": forecast.latency,
        "latency_low_seconds": forecast.latency_low,
        "latency_high_seconds": forecast.latency_high,
        "read_wait_per_transaction_seconds": forecast.read_wait,
    }
