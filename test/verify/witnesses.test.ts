import { describe, expect, it } from 'vitest';
import { account, FORGED, simulateNetwork, type SimulatedNetwork, type SimulatedNode } from './simulated-network.ts';

const BLOCK_MS = 2_000;
/** With 1,000 the results are the same. */
const CALLS = 270;
const FROM = 1_010;
type Forges = NonNullable<SimulatedNode['forges']>['ahead'];

const quantity = (number: number): string => `0x${number.toString(16)}`;

/** Calls of all kinds, most of them at the newest blocks. */
function callsAt(head: number): readonly (readonly [string, readonly unknown[]])[] {
  return [
    ['eth_getBalance', [account, 'latest']],
    ['eth_getBlockByNumber', ['latest', false]],
    ['eth_blockNumber', []],
    ['eth_getBalance', [account, quantity(head)]],
    ['eth_getBlockByNumber', [quantity(head), false]],
    ['eth_getBalance', [account, quantity(head + 1)]],
    ['eth_getBlockByNumber', [quantity(head + 1), false]],
    ['eth_call', [{ to: account }, 'latest']],
    ['eth_getLogs', [{ fromBlock: quantity(head - 3), toBlock: 'latest', address: account }]],
  ];
}

interface Outcome {
  /** Forged results by what proves them. */
  readonly forged: Record<string, number>;
  readonly errors: number;
  readonly proven: number;
}

/** Sends many calls, 137 ms apart. */
async function callMany({ time, proven, head, isForged }: SimulatedNetwork, count = CALLS): Promise<Outcome> {
  const forged: Record<string, number> = {};
  let [errors, proofs] = [0, 0];
  for (let sent = 0; sent < count;) {
    await time.advance(137);
    for (const [method, params] of callsAt(head())) {
      sent++;
      const { result, error, proof } = await proven(method, params);
      if (error !== undefined) errors++;
      if (error === undefined && proof !== undefined && proof !== 'no') proofs++;
      const hash = (result as { readonly hash?: unknown } | null | undefined)?.hash;
      const isBalance = method === 'eth_getBalance' || method === 'eth_call';
      if (!isForged(hash) && !(isBalance && Number(result) >= FORGED)) continue;
      forged[String(proof)] = (forged[String(proof)] ?? 0) + 1;
    }
  }
  return { forged, errors, proven: proofs };
}

/** One liar of three, which forges a little later. */
function withLiar(ahead: Forges, place: 'first' | 'last', more: SimulatedNode = {}): SimulatedNode[] {
  const liar = { forges: { from: FROM, ahead }, ...more };
  return place === 'first' ? [liar, {}, {}] : [{}, {}, liar];
}

describe('of three groups, one forges blocks', { timeout: 120_000 }, () => {
  it.each([
    [1, 'first'],
    [1, 'last'],
    [12, 'first'],
    [12, 'last'],
    ['on each head', 'first'],
    ['on each head', 'last'],
  ] as const)('%s ahead, %s in the file: no forged result has a proof', async (ahead, place) => {
    for (const verify of ['enforce', 'require'] as const) {
      const network = simulateNetwork(withLiar(ahead, place), BLOCK_MS, { verify });
      await network.call('eth_blockNumber');
      await network.time.advance((FROM - 1_000 - 3) * BLOCK_MS);
      const heads = await network.watchHeads();
      const { forged, proven } = await callMany(network);
      expect(Object.keys(forged).filter((proof) => verify === 'require' || proof !== 'no')).toEqual([]);
      expect(proven).toBeGreaterThan(CALLS / 3);
      expect(heads.length).toBeGreaterThan(5);
      expect(heads.filter(network.isForged)).toEqual([]);
    }
  });

  it('two upstreams of one group are one witness', async () => {
    const nodes = ['one', 'one', 'other'].map((group) => ({
      ...(group === 'one' && { forges: { from: FROM, ahead: 1 } }),
      upstream: { group },
    }));
    const network = simulateNetwork(nodes, BLOCK_MS, { verify: 'enforce' });
    await network.call('eth_blockNumber');
    await network.time.advance((FROM - 1_000 - 3) * BLOCK_MS);
    const { forged } = await callMany(network);
    expect(Object.keys(forged).filter((proof) => proof !== 'no')).toEqual([]);
  });

  it.each(['enforce', 'require'] as const)('the two others are down, with %s', async (verify) => {
    const network = simulateNetwork(withLiar(1, 'last'), BLOCK_MS, { verify });
    await network.call('eth_blockNumber');
    await network.time.advance((FROM - 1_000 + 2) * BLOCK_MS);
    await callMany(network, 20);
    for (const server of network.servers.slice(0, 2)) await server.fail({ kind: 'refuse' });
    await network.time.advance(20_000);
    const { forged, errors, proven } = await callMany(network, 300);
    if (verify === 'require') expect([forged, errors, proven]).toEqual([{}, expect.any(Number), 0]);
    else expect([Object.keys(forged), proven]).toEqual([['no'], 0]);
    if (verify === 'require') expect(errors).toBeGreaterThanOrEqual(300);
  });
});

describe('of two groups, one is down', () => {
  async function oneDown(verify: string): Promise<SimulatedNetwork> {
    const network = simulateNetwork([{}, {}], BLOCK_MS, { verify });
    await network.call('eth_blockNumber');
    await callMany(network, 20);
    await network.servers[1]?.fail({ kind: 'refuse' });
    await network.time.advance(20_000);
    await callMany(network, 20);
    await network.time.advance(20_000);
    return network;
  }

  it('enforce serves on, and the label is `no`', async () => {
    const network = await oneDown('enforce');
    const { result, proof } = await network.proven('eth_getBalance', [account, 'latest']);
    expect(proof).toBe('no');
    expect(network.head() - Number(result)).toBeLessThanOrEqual(1);
  });

  it('require refuses, with how many groups it has and needs, and recovers', async () => {
    const network = await oneDown('require');
    const { error } = await network.proven('eth_getBalance', [account, 'latest']);
    expect(error?.message).toContain('2 groups of upstreams must have the newest blocks, and 1 has them');
    await network.servers[1]?.fail(undefined);
    await network.time.advance(20_000);
    await callMany(network, 20);
    await network.time.advance(20_000);
    const { result, proof } = await network.proven('eth_getBalance', [account, 'latest']);
    expect(proof).toBe('proof');
    expect(network.head() - Number(result)).toBeLessThanOrEqual(8);
  });
});

describe('with enforce, upstreams that lag', () => {
  const stuckAt = 1_003;

  it.each([
    ['eth_getBlockByNumber', ['latest', false]],
    ['eth_call', [{ to: account }, 'latest']],
  ])('return %s at their head while the only one that is ahead is down', async (method, params) => {
    const network = simulateNetwork([{}, { stuckAt }, { stuckAt }], BLOCK_MS, { verify: 'enforce' });
    await network.call('eth_blockNumber');
    await network.time.advance(30_000);
    await network.servers[0]?.fail({ kind: 'refuse' });
    const { result, error } = await network.call(method, params);
    expect(error).toBeUndefined();
    expect(Number((result as { readonly number?: string }).number ?? result)).toBe(stuckAt);
  });

  it('do not have the number that was returned in place of theirs, and get no logs up to it', async () => {
    const network = simulateNetwork([{}, {}, { stuckAt }], BLOCK_MS, { verify: 'enforce' });
    await network.call('eth_blockNumber');
    await network.time.advance(20_000);
    for (const server of network.servers.slice(0, 2)) await server.fail({ kind: 'refuse' });
    const { result: head } = await network.call('eth_blockNumber');
    expect(Number(head)).toBeGreaterThan(stuckAt);
    const { error } = await network.call('eth_getLogs', [{ fromBlock: quantity(stuckAt - 1), toBlock: head }]);
    expect(error?.message).toContain('no upstream could answer');
  });
});

describe('`safe` and `finalized`', () => {
  it('are blocks that enough groups report', async () => {
    const network = simulateNetwork([{}, {}, { stuckAt: 1_003 }], BLOCK_MS, { verify: 'require' });
    await network.call('eth_blockNumber');
    await network.time.advance(60_000);
    const { result, proof } = await network.proven('eth_getBalance', [account, 'finalized']);
    expect(proof).toBe('proof');
    expect(network.head() - Number(result)).toBeLessThanOrEqual(2);
  });
});

it('`agree` holds beside a proof', async () => {
  const verify = { level: 'enforce', agree: { eth_getBalance: 3 } };
  const stuck = simulateNetwork([{}, {}, { stuckAt: 1_001 }], BLOCK_MS, { verify });
  await stuck.call('eth_blockNumber');
  await stuck.time.advance(60_000);
  const { error } = await stuck.proven('eth_getBalance', [account, 'latest']);
  expect(error?.message).toContain('3 groups must return the same');
});
