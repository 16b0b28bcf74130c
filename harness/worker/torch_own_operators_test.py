"""Operators that PyTorch does not have, against their definitions in fp64."""

import unittest

try:
    import torch
except Exception as error:  # as torch_test_case.py
    print(f"skipped: PyTorch cannot be imported ({error})")
    raise SystemExit(77) from error

from torch_backend import own_operators  # noqa: F401  registers them

OPS = torch.ops.assay


def recurrence(q, k, v, g, state, scale):
    """S_t = diag(exp(g_t)) S_{t-1} + k_t v_t^T, o_t = scale S_t^T q_t."""
    outputs = []
    for t in range(q.shape[1]):
        state = g[:, t].exp().unsqueeze(-1) * state + k[:, t].unsqueeze(-1) * v[:, t].unsqueeze(-2)
        outputs.append(scale * (q[:, t].unsqueeze(-2) @ state).squeeze(-2))
    return torch.stack(outputs, 1), state


class GatedLinearAttention(unittest.TestCase):
    def operands(self, length, gate, batch=2):
        torch.manual_seed(length)
        heads, key, value = 2, 5, 7
        q, k = (torch.randn(batch, length, heads, key, dtype=torch.float64) for _ in range(2))
        v = torch.randn(batch, length, heads, value, dtype=torch.float64)
        g = -gate * torch.rand(batch, length, heads, key, dtype=torch.float64)
        state = torch.randn(batch, heads, key, value, dtype=torch.float64)
        return [x.requires_grad_() for x in (q, k, v, g, state)]

    def test_values_and_gradients(self):
        for length, chunk, gate in ((150, 128, 1), (40, 10, 0.1), (70, 64, 30), (1, 128, 1)):
            with self.subTest(length=length, chunk=chunk, gate=gate):
                operands = self.operands(length, gate)
                output, state = recurrence(*operands, 0.3)
                of_output, of_state = torch.randn_like(output), torch.randn_like(state)
                grads = torch.autograd.grad((output * of_output).sum() + (state * of_state).sum(), operands)
                with torch.no_grad():
                    got = OPS.gla_chunk(*operands, None, scale=0.3, chunk_size=chunk)
                    back = OPS.gla_chunk_backward(of_output, of_state, *operands, None, scale=0.3, chunk_size=chunk)
                for a, b in zip((*got, *back), (output, state, *grads)):
                    torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-10)

    def test_packed_sequences_are_separate(self):
        offsets = [0, 3, 3, 70, 90]
        q, k, v, g, _ = (x.detach() for x in self.operands(100, 1, batch=1))
        state = torch.randn(4, *q.shape[2:], v.shape[-1], dtype=torch.float64)
        output, final = OPS.gla_chunk(q, k, v, g, state, offsets, scale=1.0, chunk_size=32)
        for i, (start, end) in enumerate(zip(offsets, offsets[1:])):
            part = [x[:, start:end] for x in (q, k, v, g)]
            if start < end:
                want, behind = recurrence(*part, state[i : i + 1], 1.0)
                torch.testing.assert_close(output[:, start:end], want)
                torch.testing.assert_close(final[i : i + 1], behind)
            else:
                self.assertTrue(torch.equal(final[i], state[i]))
        self.assertTrue((output[:, 90:] == 0).all())

    def test_closed_gate_and_steps(self):
        q, k, v, g, state = (x.detach() for x in self.operands(20, 1))
        g[:, 9] = -float("inf")
        output, final = OPS.gla_chunk(q, k, v, g, state, None, scale=1.0)
        now = state
        for t in range(20):
            row, now = OPS.gla_recurrent_step(q[:, t], k[:, t], v[:, t], g[:, t], now, scale=1.0)
            torch.testing.assert_close(output[:, t], row)
        torch.testing.assert_close(final, now)

    def test_refusals(self):
        q, k, v, g, state = (x.detach() for x in self.operands(8, 1))
        for message, call in (
            ("chunk_size is 0", lambda: OPS.gla_chunk(q, k, v, g, chunk_size=0)),
            ("goes back", lambda: OPS.gla_chunk(q[:1], k[:1], v[:1], g[:1], None, [0, 5, 2])),
            ("must be 1", lambda: OPS.gla_chunk(q, k, v, g, None, [0, 8])),
            ("initial_state has shape", lambda: OPS.gla_chunk(q, k, v, g, state[:1])),
            ("Muon takes matrices", lambda: OPS.muon_orthogonalize(q)),
        ):
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                call()


class Muon(unittest.TestCase):
    def test_polynomial_of_the_singular_values(self):
        torch.manual_seed(1)
        for shape in ((6, 9), (9, 6)):
            x = torch.randn(*shape, dtype=torch.float64)
            u, s, v = torch.linalg.svd(x / (x.norm() + 1e-7), full_matrices=False)
            for _ in range(5):
                s = 3.4445 * s - 4.775 * s**3 + 2.0315 * s**5
            torch.testing.assert_close(OPS.muon_orthogonalize(x), u @ s.diag() @ v)


if __name__ == "__main__":
    unittest.main()
