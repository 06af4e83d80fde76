import { describe, expect, it } from 'vitest';
import { readMetrics } from '../../metrics/read-metrics.ts';
import type { Behaviour } from '../../support/behaviours.ts';
import { staysTrueFor } from '../../support/eventually.ts';
import { addKey, postTo } from '../../routing/two-keys.ts';
import { shiftClock, storageParams, withNodes, word, type WithNodes } from '../../routing/with-nodes.ts';

/** Rejects every request, with a JSON-RPC error or without. */
function rejects(status: number, hasError: boolean, headers: Record<string, string> = {}): Behaviour {
  return ({ id, response }) => {
    const error = { code: -32_000, message: 'rejected' };
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(hasError ? JSON.stringify({ jsonrpc: '2.0', id, error }) : undefined);
  };
}

function always({ nodes }: WithNodes, index: number, behaviour: Behaviour | undefined): void {
  for (const method of ['eth_chainId', 'eth_getBlockByNumber', undefined]) nodes[index]?.always(behaviour, method);
}

async function troublesOf({ gateway }: WithNodes): Promise<(string | undefined)[]> {
  const response = await fetch(`${gateway.address}/test`, { headers: { accept: 'application/json' } });
  const { networks } = (await response.json()) as { networks: { upstreams: { trouble?: { reason: string } }[] }[] };
  return networks.flatMap(({ upstreams }) => upstreams.map(({ trouble }) => trouble?.reason));
}

const classes = [
  [401, true, 'auth', 'it rejects the credentials'],
  [401, false, 'auth', 'HTTP 401 without a JSON-RPC response'],
  [403, true, 'auth', 'it rejects the credentials'],
  [402, true, 'quota', 'its plan is used up'],
  [429, true, 'rate', 'its rate limit is used up'],
  [429, false, 'rate', 'HTTP 429 without a JSON-RPC response'],
  [503, true, 'transport', 'no response'],
] as const;

describe.each(classes)(
  'an upstream that answers HTTP %i to everything (JSON-RPC: %s)',
  (status, hasError, failure, reason) => {
    it(`has the failure class ${failure} in metrics, on the status page and in /readyz`, async () => {
      const all = await withNodes(2);
      always(all, 0, rejects(status, hasError));
      // A call for a tag would wait for the first polls, which fail at this node.
      expect(await all.requestOld()).toMatchObject({ result: word(2) });
      const { value } = await readMetrics(all.gateway.address);
      expect(value('gatehouse_upstream_attempts_total', { upstream: 'node-0', outcome: failure })).toBe(1);
      expect(value('gatehouse_upstream_up', { upstream: 'node-0' })).toBe(0);
      expect(await troublesOf(all)).toEqual([reason, undefined]);
      const ready = (await (await fetch(`${all.gateway.address}/readyz`)).json()) as object;
      expect(JSON.stringify(ready)).toContain(reason);
      expect(JSON.stringify(ready)).not.toContain('no chain id');
    });
  },
);

it('an upstream without another answers every call with its rate limit: the series of the alert RateLimited grow', async () => {
  const all = await withNodes(1);
  always(all, 0, rejects(429, true));
  for (let times = 0; times < 5; times++) expect((await all.send()).status).toBe(503);
  const { value } = await readMetrics(all.gateway.address);
  expect(value('gatehouse_upstream_attempts_total', { upstream: 'node-0', outcome: 'rate' })).toBe(5);
});

describe('an upstream that answers with Retry-After', () => {
  const wait = (seconds: number) => rejects(429, false, { 'retry-after': String(seconds) });
  const retryAfterOf = async ({ gateway }: WithNodes, url = gateway.url('test')): Promise<[number, number]> => {
    const response = await postTo(url, { jsonrpc: '2.0', id: 1, method: 'eth_getStorageAt', params: storageParams });
    return [response.status, Number(response.headers.get('retry-after'))];
  };

  it.each([
    ['from its first request on', true, 600],
    // Only one caller has got it.
    ['after it has served calls', false, 30],
  ])('%s is left alone at once, and clients get the time, up to %s s', async (_, isFirst, maxS) => {
    const all = await withNodes(1);
    const [node] = all.nodes;
    if (!isFirst) await all.request();
    always(all, 0, wait(3_600));
    const other = await addKey(all.gateway, 'test');
    expect(await retryAfterOf(all)).toEqual([503, 600]);
    const sent = node?.calls.length;
    for (let times = 0; times < 20; times++) {
      const [status, seconds] = await retryAfterOf(all, times % 2 === 0 ? undefined : other);
      expect(status).toBe(503);
      expect(seconds).toBeGreaterThan(maxS * 0.8);
      expect(seconds).toBeLessThanOrEqual(maxS);
    }
    await staysTrueFor(1_500, () => node?.calls.length === sent);
  });

  it('to the calls of one caller only is left alone for 30 s at most', async () => {
    const all = await withNodes(1);
    await all.request();
    all.nodes[0]?.always(wait(3_600));
    for (let times = 0; times < 3; times++) await retryAfterOf(all);
    const [status, seconds] = await retryAfterOf(all);
    expect([status, seconds > 25, seconds <= 30]).toEqual([503, true, true]);
  });

  it('gets calls again afterwards', async () => {
    const clock = shiftClock();
    const all = await withNodes(1);
    always(all, 0, wait(2));
    for (let times = 0; times < 3; times++) await all.send();
    always(all, 0, undefined);
    clock.forward(1_900);
    expect((await all.send()).status).toBe(503);
    clock.forward(200);
    expect(await all.request()).toMatchObject({ result: word(1) });
  });

  it('is left alone beside another, which serves the calls', async () => {
    const all = await withNodes(2);
    always(all, 0, wait(3_600));
    for (let times = 0; times < 20; times++) expect(await all.request()).toMatchObject({ result: word(2) });
    expect(all.nodes[0]?.callsOf('eth_chainId').length).toBeLessThanOrEqual(3);
    // Also if the other fails.
    const sent = all.nodes[0]?.calls.length;
    always(all, 1, rejects(500, false));
    for (let times = 0; times < 5; times++) expect((await all.send()).status).toBe(503);
    expect(all.nodes[0]?.calls.length).toBe(sent);
  });
});
