"""The equations of Vaswani 2017 and of the papers that change one thing in it, of Seo 2017 and of Lin 2017; positions.

As in transcriptions.py: plain numpy, the papers' letters, one loop an index.
"""

import math
from collections.abc import Callable

import numpy as np
from transcriptions import Array, Letters, Mask, Normalise, Scores, blank, sigmoids, slots, softmax, softmax_one

Compatibility = Callable[[Array, Array, int, int, int], float]  # of query, key, head, query's and key's position


def scaled_dot(q: Array, k: Array, head: int, i: int, j: int) -> float:
    return float(q @ k) / math.sqrt(len(q))


def vaswani2017(
    x: Array,
    h: Array,
    readable: Mask,
    p: Letters,
    *,
    heads: int = 8,
    memory_heads: int | None = None,
    causal: bool = False,
    compatibility: Compatibility = scaled_dot,
    reads: Callable[[int, int], bool] = lambda i, j: True,
    normalise: Normalise = softmax,
) -> tuple[Array, Array]:
    """MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O, head_n = Attention(Q W^Q_n, K W^K_n, V W^V_n).

    Vectors are columns here, so that a matrix stands left of them; a head's matrix is its share of the rows.
    """
    groups = memory_heads or heads
    W_Q = np.split(p["W^Q"], heads)
    W_K, W_V = np.split(p["W^K"], groups), np.split(p["W^V"], groups)
    out = np.zeros((len(x), x.shape[1], len(p["W^O"])))
    weights = np.zeros((len(x), heads, x.shape[1], h.shape[1]))
    for b in range(len(x)):
        for i in range(x.shape[1]):
            head = []
            for n in range(heads):
                group = n * groups // heads  # of neighbouring heads, where several share keys and values
                q = W_Q[n] @ x[b, i]
                e: Scores = {}
                for j in slots(readable[b]):
                    if reads(i, j) and not (causal and j > i):
                        e[j] = compatibility(q, W_K[group] @ h[b, j], n, i, j)
                attended = np.zeros(len(W_V[group]))
                for j, a in normalise(e).items():  # softmax(Q Kᵀ / √d_k) V   (1)
                    weights[b, n, i, j] = a
                    attended += a * (W_V[group] @ h[b, j])
                head.append(attended)
            out[b, i] = p["W^O"] @ np.concatenate(head)
    return out, weights


def weightless(x: Array, h: Array, readable: Mask, p: Letters) -> tuple[Array, Array]:
    """y_i = Σ_j softmax_j(x_i·x_j / √d) x_j"""
    y, w = blank(x, h)
    for b in range(len(x)):
        for i in range(x.shape[1]):
            e = {j: float(x[b, i] @ h[b, j]) / math.sqrt(x.shape[2]) for j in slots(readable[b])}
            for j, a in softmax(e).items():
                w[b, 0, i, j] = a
                y[b, i] += a * h[b, j]
    return y, w


def shaw2018(x: Array, h: Array, readable: Mask, p: Letters, *, heads: int = 8) -> tuple[Array, Array]:
    """Without the a^V of the values, which the paper found not to be needed."""
    k = len(p["w^K"]) // 2  # w^K_{−k}, …, w^K_k: one vector a clipped distance, for all heads

    def compatibility(q: Array, key: Array, head: int, i: int, j: int) -> float:
        clipped = max(-k, min(k, j - i))  # clip(x, k) = max(−k, min(k, x))
        a_ij = p["w^K"][clipped + k]  # a^K_ij = w^K_clip(j−i, k)
        return float(q @ (key + a_ij)) / math.sqrt(len(q))  # e_ij = x_i W^Q (x_j W^K + a^K_ij)ᵀ / √d_z

    return vaswani2017(x, h, readable, p, heads=heads, compatibility=compatibility)


def liu2018(x: Array, h: Array, readable: Mask, p: Letters, *, size: int = 256) -> tuple[Array, Array]:
    """Local attention: each block of tokens on its own, looking back only."""
    return vaswani2017(x, h, readable, p, causal=True, reads=lambda i, j: i // size == j // size)


def shazeer2019(x: Array, h: Array, readable: Mask, p: Letters, *, heads: int = 8) -> tuple[Array, Array]:
    """The heads' dimension is removed from K and V."""
    return vaswani2017(x, h, readable, p, heads=heads, memory_heads=1)


def ainslie2023(
    x: Array, h: Array, readable: Mask, p: Letters, *, heads: int = 8, memory_heads: int = 4
) -> tuple[Array, Array]:
    return vaswani2017(x, h, readable, p, heads=heads, memory_heads=memory_heads)


def beltagy2020(
    x: Array, h: Array, readable: Mask, p: Letters, *, left: int = 64, right: int = 64
) -> tuple[Array, Array]:
    """½w tokens on each side of the token."""
    return vaswani2017(x, h, readable, p, reads=lambda i, j: i - left <= j <= i + right)


def miller2023(x: Array, h: Array, readable: Mask, p: Letters, *, heads: int = 8) -> tuple[Array, Array]:
    return vaswani2017(x, h, readable, p, heads=heads, normalise=softmax_one)


def ramapuram2024(x: Array, h: Array, readable: Mask, p: Letters, *, heads: int = 8) -> tuple[Array, Array]:
    return vaswani2017(x, h, readable, p, heads=heads, normalise=sigmoids)


def press2022(x: Array, h: Array, readable: Mask, p: Letters, *, heads: int = 8) -> tuple[Array, Array]:
    """softmax(q_i Kᵀ + m · [−(i−1), …, −2, −1, 0]): the slopes m start at 2^(−8/n), which is also their ratio."""

    def compatibility(q: Array, key: Array, head: int, i: int, j: int) -> float:
        ratio = 2 ** (-8 / heads)
        m = ratio
        for _ in range(head):
            m *= ratio
        return scaled_dot(q, key, head, i, j) - m * (i - j)

    return vaswani2017(x, h, readable, p, heads=heads, causal=True, compatibility=compatibility)


def t5(x: Array, h: Array, readable: Mask, p: Letters, *, heads: int = 8) -> tuple[Array, Array]:
    """A scalar for each bucket of distances is added to a logit that is not scaled."""

    def compatibility(q: Array, key: Array, head: int, i: int, j: int) -> float:
        return float(q @ key) + float(p["bias"][head, t5_bucket(j - i)])

    return vaswani2017(x, h, readable, p, heads=heads, compatibility=compatibility)


def t5_bucket(offset: int, buckets: int = 32, farthest: int = 128, *, both_sides: bool = True) -> int:
    """32 buckets, half for keys after the query. Half of a side's are for one distance each; the rest grow
    logarithmically up to 128, beyond which all share the last. Whole numbers only: no boundary is a rounding's.
    """
    first = 0
    if both_sides:
        buckets //= 2
        first = buckets if offset > 0 else 0
        distance = abs(offset)
    else:
        distance = max(-offset, 0)  # what lies ahead is not told apart
    exact = buckets // 2
    if distance < exact:
        return first + distance
    # bucket exact + n begins at the distance d with log(d/exact) / log(farthest/exact) = n / (buckets − exact)
    rest, n = buckets - exact, 0
    while n + 1 < rest and distance**rest * exact ** (n + 1) >= farthest ** (n + 1) * exact**rest:
        n += 1
    return first + exact + n


def su2021(x: Array, h: Array, readable: Mask, p: Letters, *, heads: int = 8) -> tuple[Array, Array]:
    """⟨R_m W_q x_m, R_n W_k x_n⟩ / √d"""

    def compatibility(q: Array, key: Array, head: int, i: int, j: int) -> float:
        return scaled_dot(rotated(q, i), rotated(key, j), head, i, j)

    return vaswani2017(x, h, readable, p, heads=heads, compatibility=compatibility)


def rotated(v: Array, m: int) -> Array:
    """R_m v, with the block-diagonal matrix R_m written out (equation 15)."""
    d = len(v)
    R = np.zeros((d, d))
    for i in range(1, d // 2 + 1):
        theta = 10000 ** (-2 * (i - 1) / d)
        a = 2 * (i - 1)
        R[a, a], R[a, a + 1] = math.cos(m * theta), -math.sin(m * theta)
        R[a + 1, a], R[a + 1, a + 1] = math.sin(m * theta), math.cos(m * theta)
    return R @ v


def sinusoid(pos: int, d_model: int) -> Array:
    """PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) = cos(pos / 10000^(2i/d_model))"""
    PE = np.zeros(d_model)
    for place in range(d_model):
        i = place // 2
        angle = pos / 10000 ** (2 * i / d_model)
        PE[place] = math.sin(angle) if place % 2 == 0 else math.cos(angle)
    return PE


def seo2017_similarity(h: Array, u: Array, p: Letters) -> float:
    """α(h, u) = wᵀ [h; u; h∘u]"""
    w = np.concatenate([p["w, h"], p["w, u"], p["w, h∘u"]])
    return float(w @ np.concatenate([h, u, h * u]))


def seo2017_to_query(H: Array, U: Array, readable: Mask, p: Letters) -> tuple[Array, Array]:
    """Context-to-query: a_t = softmax(S_t:), Ũ_:t = Σ_j a_tj U_:j. Where H is of another width, W brings it to U's."""
    U_tilde, a = blank(H, U)
    for b in range(len(H)):
        for t in range(H.shape[1]):
            h = p["W"] @ H[b, t] if "W" in p else H[b, t]
            S_t = {j: seo2017_similarity(h, U[b, j], p) for j in slots(readable[b])}
            for j, a_tj in softmax(S_t).items():
                a[b, 0, t, j] = a_tj
                U_tilde[b, t] += a_tj * U[b, j]
    return U_tilde, a


def seo2017_to_context(H: Array, U: Array, readable: Mask, asked: Mask, p: Letters) -> tuple[Array, Array]:
    """Query-to-context: b = softmax(max_col(S)), h̃ = Σ_t b_t H_:t; `asked` are the question's words."""
    h_tilde, weights = np.zeros((len(H), H.shape[2])), np.zeros((len(H), H.shape[1]))
    for b in range(len(H)):
        best = {}
        for t in slots(readable[b]):
            best[t] = max(seo2017_similarity(H[b, t], U[b, j], p) for j in slots(asked[b]))
        for t, b_t in softmax(best).items():
            weights[b, t] = b_t
            h_tilde[b] += b_t * H[b, t]
    return h_tilde, weights


def seo2017_merged(H: Array, U_tilde: Array, h_tilde: Array) -> Array:
    """G_:t = [h; ũ; h∘ũ; h∘h̃]"""
    G = np.zeros((len(H), H.shape[1], 4 * H.shape[2]))
    for b in range(len(H)):
        for t in range(H.shape[1]):
            h, u = H[b, t], U_tilde[b, t]
            G[b, t] = np.concatenate([h, u, h * u, h * h_tilde[b]])
    return G


def lin2017(H: Array, readable: Mask, p: Letters) -> tuple[Array, Array]:
    """A = softmax(W_s2 tanh(W_s1 Hᵀ)), M = A H, for H (B, n, 2u): M (B, r, 2u) and A (B, r, n)."""
    r = len(p["W_s2"])
    M, A = np.zeros((len(H), r, H.shape[2])), np.zeros((len(H), r, H.shape[1]))
    for b in range(len(H)):
        for hop in range(r):
            e = {j: float(p["W_s2"][hop] @ np.tanh(p["W_s1"] @ H[b, j])) for j in slots(readable[b])}
            for j, a in softmax(e).items():
                A[b, hop, j] = a
                M[b, hop] += a * H[b, j]
    return M, A


def lin2017_penalty(A: Array) -> float:
    """P = ‖A Aᵀ − I‖_F² for A (r, n)"""
    P = 0.0
    for m in range(len(A)):
        for n in range(len(A)):
            P += (float(A[m] @ A[n]) - float(m == n)) ** 2
    return P
