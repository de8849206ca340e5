"""Small modules for the test of scripts/extract_fx.py: a chain, two towers that join, a skip."""
import torch
from torch import nn


class Block(nn.Module):
    """What torch.fx could not follow stays inside a layer."""

    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        if x.sum() > 1e9:
            return x
        return x + self.down(torch.relu(self.up(x)))


class Chain(nn.Module):
    def __init__(self, tied=True):
        super().__init__()
        self.embedding = nn.Embedding(100, 16)
        self.blocks = nn.ModuleList([Block(16) for _ in range(4)])
        self.norm = nn.LayerNorm(16)
        self.head = nn.Linear(16, 100, bias=False)
        if tied:
            self.head.weight = self.embedding.weight

    def forward(self, tokens):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Towers(nn.Module):
    """An image and a text tower, and a skip around the trunk's second block."""

    def __init__(self):
        super().__init__()
        self.image = nn.Sequential(nn.Linear(12, 16), Block(16), Block(16))
        self.text = nn.Sequential(nn.Embedding(100, 16), Block(16))
        self.trunk = nn.ModuleList([Block(16) for _ in range(3)])
        self.head = nn.Linear(16, 10)
        self.scale = nn.Parameter(torch.ones(16))

    def forward(self, pixels, tokens):
        x = torch.cat([self.image(pixels), self.text(tokens)], dim=1) * self.scale
        first = self.trunk[0](x)
        second = self.trunk[1](first)
        return self.head(self.trunk[2](first + second))


def loops(width=8):
    class Loops(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(width, width)

        def forward(self, x):
            while x.sum() > 0:
                x = self.a(x)
            return x

    return Loops()
