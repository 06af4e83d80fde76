import { createHash } from 'node:crypto';
import { privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Caller } from '../server/websocket/caller.ts';
import { ScriptedChain } from '../subscriptions/scripted-chain.ts';
import { eventually } from '../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network } from '../support/gateway.ts';
import { CONNECTIONS, START_MS, TwoWorkers, workerOf, type Reply } from './two-workers.ts';

const word = `0x${'2a'.padStart(64, '0')}`;
const chainId = 10;
/** Limit that returns no unit in less than hours. */
const returnsNothing = { rate: 0.001, burst: 25 };
const SIZE = 25;

let node: FakeNode;
let gateway: TwoWorkers;

beforeAll(async () => {
  const responses = {
    ...new ScriptedChain().responses(),
    eth_getStorageAt: word,
    eth_sendRawTransaction: ([raw]: [string]) => `0x${createHash('sha256').update(raw).digest('hex')}`,
  };
  node = await startFakeNode({ chainId, responses });
  const open = (options: object): object => network(chainId, [node.url], { public: options });
  const roomy = { rate: 1_000, burst: 1_000, concurrency: 200 };
  gateway = await TwoWorkers.start(
    {
      main: network(chainId, [node.url]),
      address: open(returnsNothing),
      daily: open({ daily: SIZE }),
      addresses: open({ total: returnsNothing }),
      senders: open({ ...roomy, perSender: returnsNothing }),
      counted: open({
        ...roomy,
        methods: ['eth', 'eth_newBlockFilter'],
        sockets: 3,
        subscriptions: 4,
        total: { sockets: 5, subscriptions: 6 },
      }),
    },
    { TRUSTED_PROXIES: '127.0.0.1' },
  );
}, 120_000);
afterAll(async () => {
  await gateway.close();
  await node.close();
});
beforeEach(() => eventually(() => gateway.bothListen(), START_MS));

describe('two workers serve, to the last call,', () => {
  it.each([
    ['the daily quota', { daily: SIZE }],
    ['the monthly quota', { monthly: SIZE }],
    ['the burst', returnsNothing],
    ['the burst of one method', { methodRates: `eth_getStorageAt=0.001/${SIZE}` }],
  ])('%s of a key', async (_name, permissions) => {
    const { key } = await gateway.createKey(permissions);
    expect(await gateway.servedOf(() => gateway.storage({ key }), SIZE)).toBe(SIZE);
    if ('methodRates' in permissions)
      await gateway.eventuallyAll(() => gateway.call('eth_blockNumber', [], { key }), 200);
  });

  it('the quota of a team', async () => {
    const permissions = { team: 'one', daily: SIZE };
    const members = [await gateway.createKey(permissions), await gateway.createKey(permissions)];
    let turn = 0;
    const send = (): Promise<Reply> => gateway.storage({ key: members[turn++ % 2]?.key ?? '' });
    expect(await gateway.servedOf(send, SIZE)).toBe(SIZE);
  });

  it('the quota of a key before and after its rotation, together', async () => {
    const { key: first, id } = await gateway.createKey({ daily: SIZE });
    expect(await gateway.servedOf(() => gateway.storage({ key: first }), SIZE)).toBe(SIZE);
    const { key } = (await gateway.admin(`/keys/${id}/rotate`, {})) as { key: string };
    expect(await gateway.servedOf(() => gateway.storage({ key }), 0)).toBe(0);
  });

  it('the burst of all callers without a key', async () => {
    expect(await gateway.servedOf(() => gateway.storage({ key: '', slug: 'addresses' }), SIZE)).toBe(SIZE);
  });

  it('the burst of the sender of transactions, from any address', async () => {
    const [one, other] = [1, 2].map((at) => privateKeyToAccount(`0x${at.toString(16).padStart(64, '0')}`));
    let sent = 0;
    const send = async (account: typeof one): Promise<Reply> => {
      const nonce = sent++;
      const fields = { chainId, nonce, gas: 21_000n, maxFeePerGas: 1n, to: `0x${'12'.repeat(20)}` } as const;
      const headers = { 'x-forwarded-for': `203.0.113.${nonce % 200}` };
      const raw = await account?.signTransaction(fields);
      return gateway.call('eth_sendRawTransaction', [raw], { key: '', slug: 'senders', headers });
    };
    expect(await gateway.servedOf(() => send(one), SIZE)).toBe(SIZE);
    expect((await send(other)).status).toBe(200);
  });
});

it.each([
  ['the burst', 'address'],
  ['the daily quota', 'daily'],
])('two workers serve an address %s, and a quarter more before they report', async (_name, slug) => {
  const served = await gateway.servedOf(() => gateway.storage({ key: '', slug }), SIZE);
  expect(served).toBeGreaterThanOrEqual(SIZE);
  expect(served).toBeLessThanOrEqual(1.25 * SIZE);
});

it('two workers have the same rest of a quota', async () => {
  const { key } = await gateway.createKey({ daily: 100 });
  await eventually(async () => (await gateway.storage({ key })).status === 200);
  // A call that is not rejected by a worker that does not know the key yet.
  const charged = async (): Promise<Reply> => {
    for (;;) {
      const reply = await gateway.storage({ key });
      if (reply.status === 200) return reply;
    }
  };
  const first = Number((await charged()).headers['ratelimit-remaining']);
  for (let rest = first - 1; rest > first - CONNECTIONS; rest--)
    expect(Number((await charged()).headers['ratelimit-remaining'])).toBe(rest);
});

/** What has several connections or subscriptions at once ends with its test. */
async function closeAll(callers: readonly Caller[], slug = 'main'): Promise<void> {
  for (const { socket } of callers) socket.terminate();
  await eventuallyOpen(0, slug);
}

const eventuallyOpen = (count: number, network = 'main'): Promise<number> =>
  eventually(async () => (await gateway.valueOf('gatehouse_websockets_open', { network })) === count);

describe('two workers count the WebSockets', () => {
  const rejected = 'Unexpected server response: 429';

  /** One after the other, until one is rejected. @returns those that are open, and the number of their workers */
  async function openInTurn(open: () => Promise<Caller>): Promise<{ callers: Caller[]; workers: number }> {
    const callers: Caller[] = [];
    const workers = new Set<number>();
    for (;;) {
      const caller = await open().catch((error: unknown) => error);
      if (caller instanceof Error) {
        expect(caller.message).toBe(rejected);
        return { callers, workers: workers.size };
      }
      callers.push(caller as Caller);
      workers.add(await workerOf(caller as Caller));
    }
  }

  it('of a key that are opened in turn, exactly', async () => {
    const key = await gateway.knownKey({ sockets: 5 });
    const { callers, workers } = await openInTurn(() => gateway.openSocket(key));
    expect([callers.length, workers]).toEqual([5, 2]);
    // For each that closes, either worker accepts another one.
    for (const { socket } of callers.splice(0, 2)) socket.terminate();
    await eventuallyOpen(3);
    const reopened = await openInTurn(() => gateway.openSocket(key));
    expect(reopened.callers).toHaveLength(2);
    await closeAll([...callers, ...reopened.callers]);
  });

  it('of the keys of a team together', async () => {
    const keys = [await gateway.knownKey({ team: 'sockets', sockets: 4 })];
    keys.push(await gateway.knownKey({ team: 'sockets', sockets: 4 }));
    let turn = 0;
    const { callers } = await openInTurn(() => gateway.openSocket(keys[turn++ % 2]));
    expect(callers).toHaveLength(4);
    await closeAll(callers);
  });

  it('of an address without a key, and of all such callers', async () => {
    const openFrom = (address: string): Promise<Caller> =>
      gateway.openSocket('', 'counted', { 'x-forwarded-for': address });
    const one = await openInTurn(() => openFrom('203.0.113.1'));
    expect(one.callers).toHaveLength(3);
    const other = await openInTurn(() => openFrom('203.0.113.2'));
    expect(other.callers).toHaveLength(2);
    await closeAll([...one.callers, ...other.callers], 'counted');
  });

  it('of a key that are opened at once, with one beyond its limit at most', async () => {
    const key = await gateway.knownKey({ sockets: 5 });
    for (let round = 0; round < 5; round++) {
      const opened = await Promise.allSettled(Array.from({ length: 20 }, () => gateway.openSocket(key)));
      const callers = opened.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
      expect([5, 6]).toContain(callers.length);
      await closeAll(callers);
    }
  });
});

describe('two workers count the subscriptions', () => {
  interface Subscribed {
    readonly result?: string;
    readonly error?: { readonly message: string };
  }

  /** Subscriptions over one socket after the other, until one is rejected. @returns how many were accepted, and the message */
  async function subscribeInTurn(
    callers: readonly Caller[],
    kind: unknown[] = ['newHeads'],
  ): Promise<[number, string]> {
    for (let count = 0; ; count++) {
      const caller = callers[count % callers.length] as Caller;
      const { error } = (await caller.call('eth_subscribe', kind)) as Subscribed;
      if (error !== undefined) return [count, error.message];
      // Metrics are read from the other worker, which gets the count of this one before.
      await gateway.valueOf('gatehouse_workers');
    }
  }

  it('of a key that are opened in turn, exactly', async () => {
    const key = await gateway.knownKey({ subscriptions: 5 });
    const [older, newer] = await gateway.socketAtEach(key);
    expect(await subscribeInTurn([older, newer])).toEqual([5, 'too many subscriptions with this project id']);
    // Those of a socket that closes are for the other worker. The newer one had two.
    newer.socket.terminate();
    await eventuallyOpen(1);
    expect((await subscribeInTurn([older]))[0]).toBe(2);
    await closeAll([older, newer]);
  });

  it('of an address without a key, and of all such callers', async () => {
    const openFrom = (address: string): Promise<readonly [Caller, Caller]> =>
      gateway.socketAtEach('', 'counted', { 'x-forwarded-for': address });
    const one = await openFrom('203.0.113.1');
    expect((await subscribeInTurn(one))[0]).toBe(4);
    const other = await openFrom('203.0.113.2');
    expect(await subscribeInTurn(other)).toEqual([2, 'too many subscriptions without project id']);
    await closeAll([...one, ...other], 'counted');
  });

  it('of a key that are opened at once, with one beyond its limit at most', async () => {
    const key = await gateway.knownKey({ subscriptions: 5 });
    const calls = [1, 2, 3, 4, 5].map((id) => ({ jsonrpc: '2.0', id, method: 'eth_subscribe', params: ['newHeads'] }));
    for (let round = 0; round < 5; round++) {
      const callers = await gateway.socketAtEach(key);
      for (const caller of callers) caller.send(JSON.stringify(calls));
      const replies = await Promise.all(callers.map(async (caller) => JSON.parse(await caller.next()) as Subscribed[]));
      expect([5, 6]).toContain(replies.flat().filter(({ result }) => result !== undefined).length);
      await closeAll(callers);
    }
  });

  it('and their addresses and topics, of which each worker has its part of what a key may have', async () => {
    const key = await gateway.knownKey();
    const callers = await gateway.socketAtEach(key);
    const address = Array.from({ length: 12_000 }, (_, index) => `0x${index.toString(16).padStart(40, '0')}`);
    const [count, message] = await subscribeInTurn(callers, ['logs', { address }]);
    expect(count).toBe(4);
    expect(message).toContain('25000');
    await closeAll(callers);
  });
});
