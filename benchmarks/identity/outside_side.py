"""What Stone Soup's JPDAwithEHM says of who did what; run by `outside.py`, in its own environment.

Reads cases as JSON, each a table of weights (person by event, 0 for impossible), and writes the
marginals of exact joint association: every person takes one of the events, every event one person.
"""

# ruff: noqa: D103
import json
import sys
from datetime import datetime

import numpy as np
from stonesoup.dataassociator.probability import JPDAwithEHM
from stonesoup.types.detection import Detection, MissedDetection
from stonesoup.types.hypothesis import SingleProbabilityHypothesis
from stonesoup.types.multihypothesis import MultipleHypothesis
from stonesoup.types.numeric import Probability
from stonesoup.types.prediction import GaussianMeasurementPrediction, GaussianStatePrediction
from stonesoup.types.state import GaussianState
from stonesoup.types.track import Track

NOW = datetime(2026, 1, 1)
# Everybody takes an event; association without one is as good as impossible.
MISSED = 1e-30


class Weighed:
    """Hypotheses whose likelihoods are given."""

    def __init__(self, weights, numbers):
        self.weights, self.numbers = weights, numbers

    def hypothesise(self, track, detections, timestamp, **kwargs):
        state = GaussianStatePrediction(track[-1].state_vector, np.eye(1), timestamp=timestamp)
        seen = GaussianMeasurementPrediction([[0]], np.eye(1), timestamp=timestamp)
        missed = MissedDetection(timestamp=timestamp)
        found = [SingleProbabilityHypothesis(state, missed, Probability(MISSED), seen)]
        for each in detections:
            weight = self.weights[self.numbers[track.id]][each.metadata["event"]]
            if weight > 0:
                found.append(SingleProbabilityHypothesis(state, each, Probability(weight), seen))
        return MultipleHypothesis(found)


def marginals(weights):
    n, m = len(weights), len(weights[0])
    tracks = [Track([GaussianState([[k]], np.eye(1), timestamp=NOW)], id=str(k)) for k in range(n)]
    events = {Detection([[k]], timestamp=NOW, metadata={"event": k}) for k in range(m)}
    numbers = {track.id: k for k, track in enumerate(tracks)}
    found = JPDAwithEHM(Weighed(weights, numbers)).associate(set(tracks), events, NOW)
    table = [[0.0] * m for _ in range(n)]
    for track, several in found.items():
        for each in several:
            if each:
                table[numbers[track.id]][each.measurement.metadata["event"]] = float(
                    each.probability
                )
    return table


print(json.dumps([marginals(weights) for weights in json.load(sys.stdin)]))
