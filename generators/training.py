"""A small GPT's training step: what attention looks like among everything else."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from generators.harness import Options, Workload

LAYERS, WIDTH, HEADS, VOCABULARY = 4, 512, 8, 4096
BATCH, LENGTH = 8, 512
STEPS = 4


class Block(nn.Module):
    """Attention and a feed-forward layer, each behind a norm."""

    def __init__(self) -> None:
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return x [batch, length, width] after the block."""
        batch, length, _ = x.shape
        q, k, v = (part.view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2) for part in self.qkv(self.norm_1(x)).chunk(3, dim=-1))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.down(F.gelu(self.up(self.norm_2(x))))


class Gpt(nn.Module):
    """Embeddings, blocks, a head."""

    def __init__(self) -> None:
        super().__init__()
        self.token, self.place = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return logits [batch, length, vocabulary] of ids [batch, length]."""
        x = self.token(ids) + self.place.weight[: ids.shape[1]]
        return self.head(self.norm(self.blocks(x)))


class GptStep:
    """Forward, loss, backward, AdamW."""

    name = "gpt"
    with_stack = False

    def make(self, options: Options) -> Workload:
        """Return the workload."""
        torch.manual_seed(options.seed)
        small = options.device == "cpu"
        batch, length = (2, 64) if small else (BATCH, LENGTH)
        dtype = torch.float32 if small else options.torch_dtype
        model = Gpt().to(device=options.device, dtype=dtype)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
        ids = torch.randint(0, VOCABULARY, (batch, length + 1), device=options.device)

        def step(_: int) -> None:
            optimizer.zero_grad(set_to_none=True)
            logits = model(ids[:, :-1])
            loss = F.cross_entropy(logits.reshape(-1, VOCABULARY), ids[:, 1:].reshape(-1))
            loss.backward()
            optimizer.step()

        steps = 2 if self.with_stack else min(options.steps, STEPS)
        return Workload(
            step, {"layers": LAYERS, "width": WIDTH, "batch": batch, "length": length}, steps=steps, with_stack=self.with_stack or None
        )


class GptStacks(GptStep):
    """The same with Python stacks and modules recorded."""

    name = "gpt_stacks"
    with_stack = True


VARIANTS = (GptStep, GptStacks)
