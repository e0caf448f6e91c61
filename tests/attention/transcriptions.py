"""The papers' equations, in their own letters, one loop an index. Plain numpy: nothing here knows of Saccade or torch.

Arrays: s or x (B, T, ·) are the queries, h (B, S, ·) the source, `readable` (B, S) says which slots exist. p holds the
parameters by the letters of the paper. Scores of one query are a dict from slot to number, so a slot that is padding
or outside the window is simply not there. Every function gives the contexts (B, T, ·) and the weights (B, H, T, S).
Here are the mechanisms of one head; the Transformers and their kin are in transcriptions_transformer.py.
"""

import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Letters = Mapping[str, Array]
Scores = dict[int, float]  # slot → score
Weights = dict[int, float]  # slot → weight
Normalise = Callable[[Scores], Weights]


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def slots(readable: Mask) -> Iterator[int]:
    return (j for j in range(len(readable)) if readable[j])


def softmax(e: Scores) -> Weights:
    """exp(e_j) / Σ_k exp(e_k)"""
    largest = max(e.values(), default=0.0)
    total = sum(math.exp(e[k] - largest) for k in e)
    return {j: math.exp(e[j] - largest) / total for j in e}


def softmax_one(e: Scores) -> Weights:
    """Miller 2023: exp(e_j) / (1 + Σ_k exp(e_k))"""
    total = 1 + sum(math.exp(e[k]) for k in e)
    return {j: math.exp(e[j]) / total for j in e}


def sigmoids(e: Scores) -> Weights:
    """Ramapuram 2024: σ(e_j + b), b = −log n"""
    return {j: sigmoid(e[j] - math.log(len(e))) for j in e}


def hardmax(e: Scores) -> Weights:
    """1 at the best slot"""
    best = max(e, key=lambda j: e[j])
    return {j: float(j == best) for j in e}


def sparsemax(z: Scores) -> Weights:
    """Martins 2016, algorithm 1."""
    ordered = sorted(z.values(), reverse=True)  # z_(1) ≥ … ≥ z_(K)
    # k(z) = max {k : 1 + k z_(k) > Σ_{j≤k} z_(j)}
    k_z = max(k for k in range(1, len(ordered) + 1) if 1 + k * ordered[k - 1] > sum(ordered[:k]))
    tau = (sum(ordered[:k_z]) - 1) / k_z  # τ(z) = (Σ_{j≤k(z)} z_(j) − 1) / k(z)
    return {j: max(z[j] - tau, 0.0) for j in z}  # p_i = [z_i − τ(z)]₊


def entmax15(z: Scores) -> Weights:
    """Peters 2019: [(α − 1) z − τ]₊^(1/(α−1)) with α = 1.5, τ the number that makes them sum to 1, by bisection."""

    def weights(tau: float) -> Weights:
        return {j: max(z[j] / 2 - tau, 0.0) ** 2 for j in z}

    low, high = max(z.values()) / 2 - 1, max(z.values()) / 2  # the sum is ≥ 1 at low, 0 at high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(weights(middle).values()) >= 1 else (low, middle)
    return weights((low + high) / 2)


def blank(s: Array, h: Array) -> tuple[Array, Array]:
    """Contexts and weights before anything is read."""
    return np.zeros((len(s), s.shape[1], h.shape[2])), np.zeros((len(s), 1, s.shape[1], h.shape[1]))


def bahdanau2014(
    s: Array, h: Array, readable: Mask, p: Letters, *, normalise: Normalise = softmax
) -> tuple[Array, Array]:
    c, alpha = blank(s, h)
    for b in range(len(s)):
        for i in range(s.shape[1]):
            e: Scores = {}
            for j in slots(readable[b]):
                # e_ij = v_aᵀ tanh(W_a s_{i−1} + U_a h_j)   (A.1.2)
                e[j] = float(p["v_a"] @ np.tanh(p["W_a"] @ s[b, i] + p["U_a"] @ h[b, j]))
            for j, a in normalise(e).items():
                alpha[b, 0, i, j] = a  # α_ij = exp(e_ij) / Σ_k exp(e_ik)   (6)
                c[b, i] += a * h[b, j]  # c_i = Σ_j α_ij h_j   (5)
    return c, alpha


def xu2015_at_its_best(s: Array, h: Array, readable: Mask, p: Letters) -> tuple[Array, Array]:
    """The slot of the largest probability, instead of one that is drawn."""
    return bahdanau2014(s, h, readable, p, normalise=hardmax)


def martins2016(s: Array, h: Array, readable: Mask, p: Letters) -> tuple[Array, Array]:
    return bahdanau2014(s, h, readable, p, normalise=sparsemax)


def jang2017(
    s: Array, h: Array, readable: Mask, p: Letters, *, noise: Array, temperature: float
) -> tuple[Array, Array]:
    """y_j = exp((log π_j + g_j)/τ) / Σ_k exp((log π_k + g_k)/τ), with g (B, T, S) drawn beforehand."""
    turn = iter((b, i) for b in range(len(s)) for i in range(s.shape[1]))

    def gumbel_softmax(e: Scores) -> Weights:
        b, i = next(turn)
        pi = softmax(e)
        return softmax({j: (math.log(pi[j]) + noise[b, i, j]) / temperature for j in e})

    return bahdanau2014(s, h, readable, p, normalise=gumbel_softmax)


def graves2014(k: Array, M: Array, readable: Mask, p: Letters) -> tuple[Array, Array]:
    """Content addressing (section 3.3.1). The key is W x; the strength β, one for all, is exp(−log τ)."""
    r, w = blank(k, M)
    for b in range(len(k)):
        for t in range(k.shape[1]):
            u = p["W"] @ k[b, t]
            beta = 1 / math.exp(float(p["log τ"]))
            e = {}
            for i in slots(readable[b]):
                # K[u, v] = u·v / (‖u‖ ‖v‖)   (6)
                v = M[b, i]
                e[i] = beta * float(u @ v) / math.sqrt(float(u @ u) * float(v @ v))
            for i, w_i in softmax(e).items():
                w[b, 0, t, i] = w_i  # w^c(i) = exp(β K[k, M(i)]) / Σ_j exp(β K[k, M(j)])   (5)
                r[b, t] += w_i * M[b, i]  # r = Σ_i w(i) M(i)   (2)
    return r, w


def luong2015(
    h_t: Array,
    h_s: Array,
    readable: Mask,
    p: Letters,
    *,
    where: str,
    how: str,
    radius: int = 10,
    renormalise: bool = False,
) -> tuple[Array, Array]:
    c, a = blank(h_t, h_s)
    D = radius
    for b in range(len(h_t)):
        S = int(readable[b].sum())
        for t in range(h_t.shape[1]):
            window = set(slots(readable[b]))
            p_t = 0.0
            if where == "local-m":
                p_t = t  # p_t = t, source and target in step
            if where == "local-p":
                # p_t = S · sigmoid(v_pᵀ tanh(W_p h_t))   (9)
                p_t = S * sigmoid(float(p["v_p"] @ np.tanh(p["W_p"] @ h_t[b, t])))
            if where != "global":
                window = {s for s in window if p_t - D <= s <= p_t + D}  # [p_t − D, p_t + D]
            if how == "location":
                window = {s for s in window if s < p["W_a"].shape[1]}
            e = {s: luong_score(how, h_t[b, t], h_s[b, s], s, p) for s in window}
            weights = softmax(e)  # (7), and for location a_t = softmax(W_a h_t)   (8)
            if where == "local-p":
                sigma = D / 2
                for s in weights:  # a_t(s) = align(h_t, h̄_s) exp(−(s − p_t)² / 2σ²)   (10)
                    weights[s] *= math.exp(-((s - p_t) ** 2) / (2 * sigma**2))
                if renormalise:
                    total = sum(weights.values())
                    weights = {s: weight / total for s, weight in weights.items()}
            for s, weight in weights.items():
                a[b, 0, t, s] = weight
                c[b, t] += weight * h_s[b, s]
    return c, a


def luong_score(how: str, h_t: Array, h_s: Array, s: int, p: Letters) -> float:
    if how == "dot":
        return float(h_t @ h_s)  # h_tᵀ h̄_s
    if how == "general":
        return float(h_t @ p["W_a"] @ h_s)  # h_tᵀ W_a h̄_s
    if how == "concat":
        W_a = np.concatenate([p["W_a, left"], p["W_a, right"]], 1)
        return float(p["v_a"] @ np.tanh(W_a @ np.concatenate([h_t, h_s])))  # v_aᵀ tanh(W_a [h_t; h̄_s])
    if how == "concat-released":
        return float(p["v_a"] @ np.tanh(p["W_a"] @ h_t + h_s))  # the source side is not projected
    assert how == "location"
    return float(h_t @ p["W_a"][:, s])  # (W_a h_t)_s


def peters2019(h_t: Array, h_s: Array, readable: Mask, p: Letters) -> tuple[Array, Array]:
    """Luong's general score under 1.5-entmax."""
    c, a = blank(h_t, h_s)
    for b in range(len(h_t)):
        for t in range(h_t.shape[1]):
            z = {s: luong_score("general", h_t[b, t], h_s[b, s], s, p) for s in slots(readable[b])}
            for s, weight in entmax15(z).items():
                a[b, 0, t, s] = weight
                c[b, t] += weight * h_s[b, s]
    return c, a


def chorowski2015(s: Array, h: Array, readable: Mask, p: Letters) -> tuple[Array, Array]:
    """Section 2.1. F (k, r) is stored last tap first, as a convolution runs; α_0 = 0."""
    g, alpha = blank(s, h)
    L = h.shape[1]
    middle = p["F"].shape[1] // 2
    for b in range(len(s)):
        last = np.zeros(L)
        for i in range(s.shape[1]):
            e = {}
            for j in slots(readable[b]):
                # f_i = F ∗ α_{i−1}   (8): f_ij = Σ_m F_{j−m} α_{i−1,m}
                f_ij = np.zeros(len(p["F"]))
                for m in range(L):
                    if abs(j - m) <= middle:
                        f_ij += p["F"][:, middle - (j - m)] * last[m]
                # e_ij = wᵀ tanh(W s_{i−1} + V h_j + U f_ij + b)   (9)
                hidden = p["W"] @ s[b, i] + p["V"] @ h[b, j] + p["U"] @ f_ij + p["b"]
                e[j] = float(p["w"] @ np.tanh(hidden))
            for j, a in softmax(e).items():
                alpha[b, 0, i, j] = a
                g[b, i] += a * h[b, j]
            last = alpha[b, 0, i]
    return g, alpha


def tu2016(t: Array, h: Array, readable: Mask, p: Letters, *, most: float = 2.0) -> tuple[Array, Array]:
    """Linguistic coverage (section 3.1.1), C_0 = 0."""
    s, alpha = blank(t, h)
    for b in range(len(t)):
        C = np.zeros(h.shape[1])
        for i in range(t.shape[1]):
            e = {}
            for j in slots(readable[b]):
                # e_ij = v_aᵀ tanh(W_a t_{i−1} + U_a h_j + V_a C_{i−1,j})
                e[j] = float(p["v_a"] @ np.tanh(p["W_a"] @ t[b, i] + p["U_a"] @ h[b, j] + p["V_a"] * C[j]))
            for j, a in softmax(e).items():
                alpha[b, 0, i, j] = a
                s[b, i] += a * h[b, j]
                Phi_j = most * sigmoid(float(p["U_f"] @ h[b, j]))  # Φ_j = N · σ(U_f h_j)
                C[j] += a / Phi_j  # C_ij = C_{i−1,j} + α_ij / Φ_j
    return s, alpha


def raffel2017(s: Array, h: Array, readable: Mask, p: Letters, *, noise: Array | None = None) -> tuple[Array, Array]:
    """Soft monotonic attention (section 2.3), α_0 = (1, 0, 0, …); noise (B, T, S) joins the energy in training."""
    c, alpha = blank(s, h)
    for b in range(len(s)):
        last = np.eye(h.shape[1])[0]
        for i in range(s.shape[1]):
            e = {}
            for j in slots(readable[b]):
                # a(s_{i−1}, h_j) = g vᵀ/‖v‖ tanh(W s_{i−1} + V h_j + b) + r
                hidden = np.tanh(p["W"] @ s[b, i] + p["V"] @ h[b, j] + p["b"])
                e[j] = float(p["g"] * (p["v"] @ hidden) / math.sqrt(float(p["v"] @ p["v"])) + p["r"])
                if noise is not None:
                    e[j] += noise[b, i, j]
            alpha[b, 0, i] = monotonic({j: sigmoid(e[j]) for j in e}, last)
            c[b, i] = sum(alpha[b, 0, i, j] * h[b, j] for j in e)
            last = alpha[b, 0, i]
    return c, alpha


def monotonic(p_i: Weights, last: Array) -> Array:
    """α_i of the probabilities p_i of stopping at a slot and α_{i−1}."""
    alpha = np.zeros(len(last))
    q, p_before = 0.0, 0.0  # q_{i,0} = p_{i,0} = 0
    for j in range(len(last)):
        p_ij = p_i.get(j, 0.0)
        q = (1 - p_before) * q + last[j]  # q_ij = (1 − p_{i,j−1}) q_{i,j−1} + α_{i−1,j}
        alpha[j] = p_ij * q  # α_ij = p_ij q_ij
        p_before = p_ij
    return alpha


def raffel2017_greedy(p: Array, readable: Mask) -> list[int | None]:
    """Algorithm 1 with z_ij = 1 where p_ij ≥ ½: the slot read at each step, for p (T, S) of one sentence.

    Where a step finds nothing it has passed the end of the source, and so have all steps after it.
    """
    chosen: list[int | None] = []
    start: int | None = 0  # t_0
    for i in range(len(p)):
        found = None
        if start is not None:
            for j in range(start, p.shape[1]):
                if readable[j] and p[i, j] >= 0.5:
                    found = j
                    break
        chosen.append(found)
        start = found
    return chosen
