import { describe, expect, it } from 'vitest';
import { inLongRun } from '../support/long-run.ts';
import { propertyRuns } from '../support/property-runs.ts';
import { account, FORGED, simulateNetwork, type SimulatedNetwork, type SimulatedNode } from './simulated-network.ts';

const BLOCK_MS = 2_000;
const CALLS = propertyRuns(1_000);
/** The first forged block. */
const FROM = 1_010;
/** Time between two polls, and from a notification to its delivery. */
const POLL_MS = 2_200;
const NOTIFICATION_MS = 100;
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
    ['eth_getBlockByNumber', [quantity(head + 1), true]],
    ['eth_call', [{ to: account }, 'latest']],
    ['eth_getLogs', [{ fromBlock: quantity(head - 3), toBlock: 'latest', address: account }]],
    ['eth_getBalance', [account, quantity(head - 1)]],
  ];
}

interface Forged {
  readonly block: unknown;
  /** What proves it. */
  readonly proof: string;
  readonly number: number;
  /** The number of the newest block of the chain. */
  readonly head: number;
  /** Time since the chain has that. */
  readonly ageMs: number;
}

interface Outcome {
  readonly forged: readonly Forged[];
  readonly errors: number;
  readonly proven: number;
  /** Outcomes of each call during which the chain got no block: its proof, or that it was an error. */
  readonly settled: readonly (readonly [sent: number, proof: string])[];
}

/** Sends many calls, some after the other. */
async function callMany(network: SimulatedNetwork, count = CALLS, pauseMs = 311): Promise<Outcome> {
  const { time, proven, head, isForged } = network;
  const forged: Forged[] = [];
  let [errors, proofs] = [0, 0];
  const settled: [number, string][] = [];
  const startedAt = time.now();
  for (let sent = 0; sent < count; sent++) {
    if (sent % 3 === 0) await time.advance(pauseMs);
    const at = { head: head(), ageMs: (time.now() - network.startedAt) % BLOCK_MS };
    const calls = callsAt(at.head);
    const [method, params] = calls[sent % calls.length] ?? ['', []];
    const { result, error, proof = 'no' } = await proven(method, params);
    if (head() === at.head) settled.push([sent, error === undefined ? proof : 'error']);
    if (error !== undefined) errors++;
    else if (proof !== 'no') proofs++;
    const { hash, number } = (result ?? {}) as { readonly hash?: unknown; readonly number?: string };
    const isBalance = method === 'eth_getBalance' || method === 'eth_call';
    if (!isForged(hash) && !(isBalance && Number(result) >= FORGED)) continue;
    forged.push({ proof, number: isBalance ? Number(result) - FORGED : Number(number), block: params.at(-1), ...at });
  }
  expect(time.now()).toBeGreaterThan(startedAt);
  return { forged, errors, proven: proofs, settled };
}

/** One liar of three, which forges a little later. */
function withLiar(ahead: Forges, place: 'first' | 'last', more: SimulatedNode = {}): SimulatedNode[] {
  const liar = { forges: { from: FROM, ahead }, ...more };
  return place === 'first' ? [liar, more, more] : [more, more, liar];
}

/** A network in use, a few blocks before the first forged one. */
async function inUse(nodes: readonly SimulatedNode[], options: object, head = FROM - 3): Promise<SimulatedNetwork> {
  const network = simulateNetwork(nodes, BLOCK_MS, options);
  await network.call('eth_blockNumber');
  while (network.head() < head) {
    await network.time.advance(BLOCK_MS);
    await network.call('eth_blockNumber');
  }
  return network;
}

const all = [
  [1, 'first'],
  ['on each head', 'last'],
  [1, 'last'],
  [12, 'first'],
  [12, 'last'],
  ['on each head', 'first'],
] as const;
const places = inLongRun(all, all.slice(0, 2));
const polled: SimulatedNode = {};
const notified: SimulatedNode = { sendsHeads: true };

describe.each([
  ['polls', polled, POLL_MS],
  ['WebSockets', notified, NOTIFICATION_MS],
] as const)('of three groups, one forges blocks, over %s', { timeout: 120_000 }, (_, transport, knownMs) => {
  it.each(places)('%s ahead, %s in the file: no forged result has a proof', async (ahead, place) => {
    for (const verify of ['enforce', 'require']) {
      const network = await inUse(withLiar(ahead, place, transport), { verify });
      const heads = await network.watchHeads();
      const { forged, proven, errors } = await callMany(network);
      expect(forged.filter(({ proof }) => verify === 'require' || proof !== 'no')).toEqual([]);
      expect(proven).toBeGreaterThan(CALLS / 2);
      // Those for the next block.
      expect(errors).toBeLessThan(CALLS / 3);
      expect(heads.length).toBeGreaterThan(5);
      expect(heads.filter(({ hash }) => network.isForged(hash))).toEqual([]);
    }
  });

  it.each(places)(
    '%s ahead, %s in the file, without `verify`: only the newest block, until it is marked',
    async (ahead, place) => {
      const network = await inUse(withLiar(ahead, place, transport), {});
      const { time, head, sum, isForged } = network;
      const heads = await network.watchHeads();
      const liar = `upstream="node-${place === 'first' ? 1 : 3}"`;
      const isMarked = (): Promise<number> => sum('gatehouse_upstream_on_other_branch', liar);
      const forged: Forged[] = [];
      const third = (ahead === 'on each head' ? FROM + 1 : FROM) + 2;
      while (head() < third) forged.push(...(await callMany(network, 3)).forged);
      await time.advance(knownMs);
      expect(await isMarked()).toBe(1);
      expect(await sum('gatehouse_upstream_on_other_branch')).toBe(1);
      // The others have it, but that is not known yet.
      const isOld = ({ number, head: newest, ageMs }: Forged): boolean =>
        number <= newest - (ageMs < knownMs ? Math.ceil(knownMs / BLOCK_MS) : 0);
      expect(forged.filter(isOld)).toEqual([]);
      // Only calls that name a block that no other upstream has get one of the marked upstream.
      for (const { number, head: newest, block } of (await callMany(network)).forged)
        expect([number, block]).toEqual([newest + 1, block === true ? true : quantity(number)]);
      const forgedHeads = heads.filter(({ hash }) => isForged(hash));
      // It is marked when the others have the third one. It may have the fourth one before that.
      expect(forgedHeads.length).toBeLessThanOrEqual(4);
      for (const one of forgedHeads) {
        const later = heads.slice(heads.indexOf(one) + 1).filter(({ number }) => number === one.number);
        expect(later.filter(({ hash }) => isForged(hash))).toEqual([]);
        expect(later).toHaveLength(1);
      }
    },
  );
});

describe('of three groups, one forges blocks', { timeout: 120_000 }, () => {
  it('two upstreams of one group are one witness', async () => {
    const liar: SimulatedNode = { forges: { from: FROM, ahead: 1 }, upstream: { group: 'one' } };
    for (const verify of ['enforce', 'require']) {
      const network = await inUse([liar, liar, {}], { verify });
      const { forged } = await callMany(network);
      expect(forged.filter(({ proof }) => verify === 'require' || proof !== 'no')).toEqual([]);
    }
  });

  it.each(['off', 'enforce', 'require'] as const)('the two others are down, with %s', async (verify) => {
    const network = await inUse(withLiar(1, 'last'), { verify });
    await network.time.advance(5 * BLOCK_MS);
    await callMany(network, 20);
    for (const server of network.servers.slice(0, 2)) await server.fail({ kind: 'refuse' });
    await network.time.advance(20_000);
    const { forged, errors, proven } = await callMany(network, CALLS, 1_000);
    expect(proven).toBe(0);
    if (verify === 'require') expect([forged, errors]).toEqual([[], CALLS]);
    else expect(forged.filter(({ proof }) => proof !== 'no')).toEqual([]);
    expect(await network.sum('gatehouse_network_witnesses_missing')).toBe(1);
    expect(network.troubles()).toContainEqual(
      expect.stringContaining('2 groups of upstreams must have the newest blocks, and 1 has them'),
    );
  });
});

it('an upstream that is stuck 100 blocks behind changes nothing', async () => {
  for (const verify of ['off', 'require']) {
    const results: unknown[] = [];
    for (const third of [{}, { stuckAt: FROM }]) {
      const network = await inUse([{}, {}, third], { verify }, FROM + 100);
      const { forged, settled } = await callMany(network);
      results.push({ forged, settled, missing: await network.sum('gatehouse_network_witnesses_missing') });
    }
    expect(results[1]).toEqual(results[0]);
  }
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

it('a balance at an old block is proven with three requests beside its own: the header of two groups, and the proof', async () => {
  const network = simulateNetwork([{}, {}, {}], 100, { verify: 'require' });
  await network.call('eth_blockNumber');
  await network.time.advance(60_000);
  // The headers of the newest 512 blocks are known.
  const old = quantity(network.head() - 550);
  network.requests.length = 0;
  expect((await network.proven('eth_getBalance', [account, old])).proof).toBe('proof');
  const sent = network.requests.map(({ text }) => text).filter((text) => !/latest|eth_chainId/.test(text));
  expect(sent.map((text) => text.split(' ')[0]).sort()).toEqual([
    'eth_getBalance',
    'eth_getBlockByNumber',
    'eth_getBlockByNumber',
    'eth_getProof',
  ]);
});
