"""Commands over rows of the past: what a script would have done, how good its forecasts were."""
