"""The mathematics of the votes once more, as plainly as its description has it: lists, loops, and agreement as -1.

Slow, and written apart from what it is to judge: the two have no code in common.
"""

from __future__ import annotations

import math
import random
import struct
from typing import Any

Vector = list[float]
Cell = float | None
Z90 = 1.2816


class Reference:
    """Everything about a conversation given as {(pid, tid): vote}, where agree is -1 and disagree 1."""

    def __init__(self, cells: dict[tuple[int, int], int], mod_out: set[int], meta: set[int]) -> None:
        # Participants come up as votes are read by comment, then by participant.
        self.pids = list(dict.fromkeys(pid for pid, _ in sorted(cells, key=lambda cell: (cell[1], cell[0]))))
        self.tids = sorted({tid for _, tid in cells})
        self.mod_out, self.meta = mod_out | meta, meta
        self.raw: list[list[Cell]] = [[cells.get((pid, tid)) for tid in self.tids] for pid in self.pids]
        self.rating = [[0 if tid in self.mod_out else vote for tid, vote in zip(self.tids, row, strict=True)] for row in self.raw]
        self.center = [_mean([row[j] for row in self.rating if row[j] is not None]) for j in range(len(self.tids))]
        self.comps = self._components()
        self.projection = [self._projected(row) for row in self.rating]
        self.comment_projection = [
            [math.sqrt(len(self.tids)) * (-1 - self.center[j]) * comp[j] for comp in self.comps] for j in range(len(self.tids))
        ]
        self.extremity = [0.0 if tid in self.mod_out else math.hypot(*self.comment_projection[j]) for j, tid in enumerate(self.tids)]
        counts = [sum(vote is not None for vote in row) for row in self.raw]
        self.in_conv = [i for i, count in enumerate(counts) if count >= min(7, len(self.tids))]
        others = sorted((i for i in range(len(self.pids)) if i not in set(self.in_conv)), key=lambda i: (-counts[i], self.pids[i]))
        self.in_conv = sorted(self.in_conv + others[: max(0, 15 - len(self.in_conv))])

    def _components(self) -> list[Vector]:
        """Power iteration, each component's share taken out of the data before the next is sought."""
        data = [[(v if v is not None else c) - c for v, c in zip(row, self.center, strict=True)] for row in self.rating]
        chance, found = random.Random(5), []
        for _ in range(2):
            vector = _unit([chance.gauss(0, 1) for _ in self.tids])
            for _ in range(3000):
                dots = [_dot(row, vector) for row in data]
                new = _unit([sum(d * row[j] for d, row in zip(dots, data, strict=True)) for j in range(len(self.tids))])
                still = math.dist(new, vector) < 1e-10
                vector = new
                if still:
                    break
            found.append(vector)
            data = [[x - _dot(row, vector) * v for x, v in zip(row, vector, strict=True)] for row in data]
        return found

    def _projected(self, row: list[Cell]) -> Vector:
        votes = [(j, vote) for j, vote in enumerate(row) if vote is not None]
        scale = math.sqrt(len(self.tids) / max(len(votes), 1))
        return [scale * sum((vote - self.center[j]) * comp[j] for j, vote in votes) for comp in self.comps]

    def groups(self, positions: list[Vector] | None = None) -> tuple[list[list[int]], dict[int, float]]:
        """The rows of each group, and the silhouette of each k. With positions of somebody else, only the clustering is done here."""
        where = positions or self.projection
        base = k_means([where[i] for i in self.in_conv], 100, 100)
        centers, weights = [center for center, _ in base], [float(len(members)) for _, members in base]
        divisions = {k: k_means(centers, k, 20, weights) for k in range(2, min(5, 2 + len(base) // 12) + 1)}
        scores = {k: silhouette(centers, [members for _, members in division]) for k, division in divisions.items()}
        best = max(scores, key=lambda k: (scores[k], -k))
        return [[self.in_conv[i] for b in members for i in base[b][1]] for _, members in divisions[best]], scores

    def counts(self, rows: list[int], j: int) -> tuple[int, int, int]:
        """A, D and S of some rows on a column, from the raw votes."""
        votes = [self.raw[i][j] for i in rows if self.raw[i][j] is not None]
        return sum(v == -1 for v in votes), sum(v == 1 for v in votes), len(votes)

    def repness(self, groups: list[list[int]]) -> list[list[dict[str, Any]]]:
        """The representative comments of each group."""
        return [self._selected(group, [i for other in groups if other is not group for i in other]) for group in groups]

    def _selected(self, group: list[int], rest: list[int]) -> list[dict[str, Any]]:
        best: dict[str, Any] | None = None
        best_agree: dict[str, Any] | None = None
        sufficient: list[dict[str, Any]] = []
        for j, tid in enumerate(self.tids):
            if tid in self.mod_out:
                continue
            s = _stats(tid, self.counts(group, j), self.counts(rest, j))
            if (s["rat"] > Z90 and s["pat"] > Z90) or (s["rdt"] > Z90 and s["pdt"] > Z90):
                sufficient.append(s)
            if not sufficient and (best is None or max(s["rat"], s["rdt"]) > _record(best)["repness-test"]):
                best = s
            if _beats_best_agree(s, best_agree):
                best_agree = s
        first = [] if best_agree is None else [_record(best_agree) | {"best-agree": True, "n-agree": best_agree["na"]}]
        if not sufficient:
            return first or ([] if best is None else [_record(best)])
        rest_of = [_record(s) for s in sufficient if best_agree is None or s["tid"] != best_agree["tid"]]
        rest_of.sort(key=lambda r: -(r["repness"] * r["repness-test"] * r["p-success"] * r["p-test"]))
        chosen = (first + rest_of)[:5]
        return [r for r in chosen if r["repful-for"] == "agree"] + [r for r in chosen if r["repful-for"] == "disagree"]

    def consensus(self) -> dict[str, list[dict[str, Any]]]:
        """What everybody agrees and disagrees with."""
        found: dict[str, list[tuple[float, dict[str, Any]]]] = {"agree": [], "disagree": []}
        for j, tid in enumerate(self.tids):
            if tid in self.mod_out:
                continue
            na, nd, ns = self.counts(list(range(len(self.pids))), j)
            for side, n in (("agree", na), ("disagree", nd)):
                p, test = (n + 1) / (ns + 2), prop_test(n, ns)
                if p > 0.5 and test > Z90:
                    found[side].append((-p * test, {"tid": tid, "n-success": n, "n-trials": ns, "p-success": p, "p-test": test}))
        return {side: [record for _, record in sorted(listed, key=lambda entry: entry[0])[:5]] for side, listed in found.items()}

    def priorities(self, groups: list[list[int]]) -> list[float]:
        """The priority of each comment."""
        found = []
        for j, tid in enumerate(self.tids):
            a, d, s = self.counts([i for group in groups for i in group], j)
            p, e = s - a - d, self.extremity[j]
            importance = (1 - (p + 1) / (s + 2)) * (e + 1) * (a + 1) / (s + 2)
            found.append(49.0 if tid in self.meta else (importance * (1 + 8 * 2 ** (-s / 5))) ** 2)
        return found


def prop_test(s: int, n: int) -> float:
    return 2 * math.sqrt(n + 1) * ((s + 1) / (n + 1) - 0.5)


def two_prop_test(s1: int, s2: int, n1: int, n2: int) -> float:
    s1, s2, n1, n2 = s1 + 1, s2 + 1, n1 + 1, n2 + 1
    ph = (s1 + s2) / (n1 + n2)
    return 0.0 if ph == 1 else (s1 / n1 - s2 / n2) / math.sqrt(ph * (1 - ph) * (1 / n1 + 1 / n2))


def _stats(tid: int, own: tuple[int, int, int], rest: tuple[int, int, int]) -> dict[str, Any]:
    (na, nd, ns), (ra, rd, rs) = own, rest
    pa, pd = (na + 1) / (ns + 2), (nd + 1) / (ns + 2)
    return {
        "tid": tid, "na": na, "nd": nd, "ns": ns, "pa": pa, "pd": pd, "pat": prop_test(na, ns), "pdt": prop_test(nd, ns),
        "ra": pa / ((ra + 1) / (rs + 2)), "rd": pd / ((rd + 1) / (rs + 2)),
        "rat": two_prop_test(na, ra, ns, rs), "rdt": two_prop_test(nd, rd, ns, rs),
    }  # fmt: skip


def _beats_best_agree(s: dict[str, Any], current: dict[str, Any] | None) -> bool:
    if s["na"] == 0 and s["nd"] == 0:
        return False
    if current is None:
        return bool(s["pat"] > Z90 or (s["ra"] > 1 and s["pa"] > 0.5))
    names = ("ra", "rat", "pa", "pat") if current["ra"] > 1 else ("pa", "pat")
    return bool(math.prod(s[name] for name in names) > math.prod(current[name] for name in names))


def _record(s: dict[str, Any]) -> dict[str, Any]:
    agree = s["rat"] > s["rdt"]
    n, p, test, ratio, ratio_test = (s[name] for name in (("na", "pa", "pat", "ra", "rat") if agree else ("nd", "pd", "pdt", "rd", "rdt")))
    return {
        "tid": s["tid"], "n-success": n, "n-trials": s["ns"], "p-success": p, "p-test": test, "repness": ratio,
        "repness-test": struct.unpack("f", struct.pack("f", ratio_test))[0], "repful-for": "agree" if agree else "disagree",
    }  # fmt: skip


def k_means(points: list[Vector], k: int, iterations: int, weights: list[float] | None = None) -> list[tuple[Vector, list[int]]]:
    """Clusters as their centre and the places of their members."""
    heavy = weights or [1.0] * len(points)
    centers: list[Vector] = []
    for point in points:
        if point not in centers and len(centers) < k:
            centers.append(point)
    clusters: list[tuple[Vector, list[int]]] = []
    for _ in range(iterations + 1):
        members: list[list[int]] = [[] for _ in centers]
        for i, point in enumerate(points):
            # Rounded, so that a tie is one whichever way its distances were computed.
            members[min(range(len(centers)), key=lambda c: (round(math.dist(point, centers[c]), 9), c))].append(i)
        clusters = [(_weighted([points[i] for i in some], [heavy[i] for i in some]), some) for some in members if some]
        new = [center for center, _ in clusters]
        still = all(math.dist(a, b) < 0.01 for a, b in zip(sorted(new), sorted(centers), strict=False))
        centers = new
        if still:
            break
    return clusters


def silhouette(points: list[Vector], clusters: list[list[int]]) -> float:
    total = 0.0
    for own in clusters:
        for i in own:
            if len(own) == 1 or len(clusters) == 1:
                continue
            a = sum(math.dist(points[i], points[j]) for j in own) / (len(own) - 1)
            b = min(sum(math.dist(points[i], points[j]) for j in other) / len(other) for other in clusters if other is not own)
            total += (b - a) / max(a, b)
    return total / len(points)


def _mean(values: list[Any]) -> float:
    return float(sum(values) / len(values))


def _dot(a: Vector, b: Vector) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def _unit(vector: Vector) -> Vector:
    length = math.sqrt(_dot(vector, vector))
    return [x / length for x in vector] if length else vector


def _weighted(points: list[Vector], weights: list[float]) -> Vector:
    total = sum(weights)
    return [sum(p[axis] * w for p, w in zip(points, weights, strict=True)) / total for axis in range(len(points[0]))]
