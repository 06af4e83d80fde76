import { SpanKind } from '@opentelemetry/api';
import { expect, it } from 'vitest';
import { readMetrics } from '../metrics/read-metrics.ts';
import { recordSpans } from '../observability/record-spans.ts';
import { addKey } from '../routing/two-keys.ts';
import { hex, LogChain } from './log-chain.ts';
import { responseWith, withLogNodes, type WithLogNodes } from './with-log-nodes.ts';

interface ExplainedPart {
  readonly from: number;
  readonly to: number;
  readonly outcome: string;
  readonly results?: number;
  readonly cache?: string;
  readonly attempts: readonly { readonly upstream: string; readonly outcome: string }[];
}

interface ExplainedCall {
  readonly attempts: readonly object[];
  readonly parts: readonly ExplainedPart[];
  readonly moreParts?: number;
}

/** The logs of a range, as a key that may get explanations. */
async function explained({ gateway }: WithLogNodes, to: number): Promise<{ text: string; call: ExplainedCall }> {
  const url = await addKey(gateway, 'test', { permissions: 'explain' });
  const params = [{ fromBlock: '0x0', toBlock: hex(to) }];
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getLogs', params });
  const response = await fetch(`${url}?explain`, { method: 'POST', body });
  const header = response.headers.get('x-gatehouse-explain') ?? '';
  expect(header.length).toBeLessThanOrEqual(3_000);
  const { calls } = JSON.parse(header) as { calls: readonly [ExplainedCall] };
  return { text: await response.text(), call: calls[0] };
}

it('the explanation has each part: its blocks, upstream and results, or why it was divided', async () => {
  const chain = new LogChain(2_000, () => 3);
  const nodes = await withLogNodes(chain, [{ maxBlocks: 1_000, maxResults: 1_600 }]);
  const { text, call } = await explained(nodes, 1_999);
  expect(text === responseWith(chain.logs(0, 1_999))).toBe(true);
  expect(call.attempts, 'as it was sent first').toMatchObject([{ upstream: 'node-0', outcome: 'too-large' }]);
  const [first, ...others] = call.parts;
  expect(first).toMatchObject({ from: 0, to: 999, outcome: 'too-large:results', attempts: [{ upstream: 'node-0' }] });
  const served = others.filter(({ outcome }) => outcome === 'result').toSorted((one, other) => one.from - other.from);
  expect(served.map(({ from, to }) => [from, to])).toEqual([0, 500, 1_000, 1_500].map((from) => [from, from + 499]));
  for (const { results, attempts } of served)
    expect([results, attempts]).toMatchObject([1_500, [{ upstream: 'node-0', outcome: 'response' }]]);
});

it('the explanation in the header has as many parts as fit', async () => {
  const nodes = await withLogNodes(new LogChain(10_000, () => 1), [{ maxBlocks: 100 }]);
  const { call } = await explained(nodes, 9_999);
  expect(call.parts.length).toBeGreaterThan(10);
  // The parts that were refused count too.
  expect(call.parts.length + (call.moreParts ?? 0)).toBeGreaterThanOrEqual(100);
});

it('each part is a span of the call, with its attempts', async () => {
  const spans = recordSpans();
  const chain = new LogChain(2_000, () => 1);
  const { getLogs } = await withLogNodes(chain, [{ maxBlocks: 1_000 }]);
  spans.length = 0;
  await getLogs(0, 1_999);
  const parts = spans.filter(({ attributes }) => 'gatehouse.range.from' in attributes);
  expect(parts).toMatchObject(
    [0, 1_000].map((from) => ({
      name: 'eth_getLogs',
      kind: SpanKind.INTERNAL,
      parent: spans[0]?.id,
      attributes: { 'gatehouse.range.from': from, 'gatehouse.range.to': from + 999, 'gatehouse.results': 1_000 },
      isEnded: true,
      isError: false,
    })),
  );
  for (const { id } of parts)
    expect(spans.filter(({ parent }) => parent === id)).toMatchObject([
      { kind: SpanKind.CLIENT, attributes: { 'gatehouse.upstream': 'node-0' }, isEnded: true },
    ]);
});

it('metrics count parts by upstream and outcome, and splits by reason', async () => {
  const chain = new LogChain(4_000, () => 1);
  const { getLogs, gateway } = await withLogNodes(chain, [{ maxBlocks: 1_000, maxResults: 600 }], { cache: 'off' });
  await getLogs(0, 1_999);
  await getLogs(0, 3_999);
  const { value } = await readMetrics(gateway.address);
  const parts = (outcome: string): number | undefined =>
    value('gatehouse_range_parts_total', { network: 'test', upstream: 'node-0', outcome });
  const splits = (reason: string): number | undefined =>
    value('gatehouse_range_splits_total', { network: 'test', reason });
  expect([parts('result'), parts('too-large'), parts('failed')]).toEqual([4 + 8, 1, undefined]);
  expect([splits('range'), splits('results'), splits('learned')]).toEqual([1, 1, 1]);
});
