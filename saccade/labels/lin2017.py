"""Lin, Feng, dos Santos, Yu, Xiang, Zhou, Bengio (2017): A Structured Self-attentive Sentence Embedding.
A sentence is not one vector but a matrix: each of its r rows is a weighted sum of the same annotations, read by a query
of its own, and a penalty keeps the queries from reading the same words.

    (1) S = (w_1, …, w_n)                                  word vectors
    (2) →h_t = LSTM(w_t, →h_{t−1})
    (3) ←h_t = LSTM(w_t, ←h_{t+1})
    (4) H = (h_1, …, h_n),  h_t = [→h_t; ←h_t]             annotations (n × 2u), of the encoder "recurrent"
    (5) a = softmax(w_s2 tanh(W_s1 Hᵀ))                    one hop
    (6) A = softmax(W_s2 tanh(W_s1 Hᵀ))                    r hops at once (r × n)
    (7) M = A H                                            the embedding (r × 2u)
    (8) P = ‖A Aᵀ − I‖²_F                                  the penalty, 0 if each hop reads one word of its own

M is flattened; a hidden layer with a ReLU and a softmax classify it. The loss is the cross-entropy plus `penalty` · P.
The paper's sizes (`model.preset = "paper"`): u = 300, d_a = 350 rows of W_s1, r = 30, and a penalty with the weight 1.

Deviations: words are subwords, and their vectors are learnt, not word2vec's; the hidden layer is dense, without the
pruned connections of appendix A; AdamW, not SGD, with the learning rate and the dropout of the recipe. Any other
encoder may take the place of (2) to (4).
"""

from torch import Tensor

from saccade.attention.hops import MultiHopAttention, hop_penalty
from saccade.labels.sentence_reader import SentenceReader, SentenceReading
from saccade.labels.settings import LabelConfig


class Lin2017(SentenceReader):
    def __init__(self, config: LabelConfig) -> None:
        super().__init__()
        self.attention = MultiHopAttention(memory_dim=config.width, width=config.hop_width, hops=config.hops)
        self.size = config.hops * config.width

    def forward(self, annotations: Tensor, readable: Tensor) -> SentenceReading:
        reading = self.attention(annotations, readable)  # equations 6 and 7
        return SentenceReading(
            vector=reading.context.flatten(1),  # (B, r·2u)
            weights=reading.weights.squeeze(1),  # (B, r, S)
            penalty=hop_penalty(reading.weights),  # equation 8
        )
