import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';
import { eventually } from '../support/eventually.ts';
import { readTable, writeTable } from '../support/page-table.ts';
import { castClient } from './cast-client.ts';
import type { Client, OpenClient } from './client.ts';
import { DayTable } from './day-table.ts';
import { ethersClient } from './ethers-client.ts';
import { hardhatClient } from './hardhat-client.ts';
import { metamaskClient } from './metamask-client.ts';
import { viemClient } from './viem-client.ts';
import { wagmiClient } from './wagmi-client.ts';
import { web3Client } from './web3-client.ts';
import { account, makeWorld, type World } from './world.ts';
import { zksyncClient } from './zksync-client.ts';
import { scenarioPause } from '../support/scenario-pause.ts';

const clients: readonly Client[] = [
  ...[ethersClient, viemClient, wagmiClient, web3Client],
  ...[zksyncClient, metamaskClient, castClient, hardhatClient],
];
const table = new DayTable();
const inTurn = { concurrent: false };

// Each client has its own gateway and chain. The tests mostly wait.
describe.concurrent.each(clients)('a day of $name', (kind) => {
  let world: World;
  let client: OpenClient;
  let counter: World['anvil']['chain']['counter'];
  const set = (number: number) => {
    const data = counter.calls.set.slice(0, 10) + number.toString(16).padStart(64, '0');
    return { from: account, to: counter.address, data };
  };
  const number = async (): Promise<number> =>
    Number(await client.call({ from: account, to: counter.address, data: counter.calls.number }));

  beforeAll(async () => {
    world = await makeWorld();
    ({ counter } = world.anvil.chain);
    client = await kind.open(world.connection);
  });
  afterEach(() => world.mend());
  afterAll(async () => {
    await client.close();
    await world.close();
  });

  it('reads', inTurn, async () => {
    const { blockHash, setTransaction } = world.anvil.chain;
    const results = await Promise.all([
      ...[client.chainId(), client.blockNumber(), client.balance(account), client.countLogs(counter.address)],
      ...[client.storage(counter.address, counter.numberPosition), client.transactionsIn(blockHash), number()],
    ]);
    expect(results).toEqual([
      1337,
      3,
      10n ** 22n,
      1,
      wordOf(counter.value),
      expect.arrayContaining([setTransaction]),
      counter.value,
    ]);
    table.set(kind.name, 'reads', 'yes');
  });

  it('estimates gas, and gets the revert reason', inTurn, async () => {
    const { gate } = world.anvil.chain;
    expect(await client.estimate(set(7))).toBeGreaterThan(21_000n);
    await expect(client.estimate({ from: account, to: gate.address, data: gate.calls.open })).rejects.toThrow(
      /the gate is closed/,
    );
    table.set(kind.name, 'estimates', 'yes');
  });

  it('sends a transaction, and waits for the receipt', inTurn, async () => {
    expect((await client.send(set(1001))).hasSucceeded).toBe(true);
    expect(await number()).toBe(1001);
    table.set(kind.name, 'sends', 'yes');
  });

  it('gets no errors while upstreams restart', inTurn, async () => {
    const before = world.proxy.requests.length;
    await world.cut('first');
    expect((await client.send(set(1002))).hasSucceeded).toBe(true);
    await world.mend();
    await world.cut('second');
    expect((await client.send(set(1003))).hasSucceeded).toBe(true);
    expect(await number()).toBe(1003);
    expect(statuses(before)).toEqual(new Set([200]));
    table.set(kind.name, 'survives failover', 'yes');
  });

  it('watches blocks and logs while an upstream fails', { ...inTurn, timeout: 90_000 }, async () => {
    const blocks: number[] = [];
    const logs: number[] = [];
    const stops = await Promise.all([
      client.watchBlocks?.((block) => blocks.push(block)),
      client.watchLogs(counter.address, (block) => logs.push(block)),
    ]);
    // A client that polls may see only the newest block.
    const hasSeen = (block: number): boolean =>
      (client.watchBlocks === undefined || blocks.some((seen) => seen >= block)) && logs.includes(block);
    const send = async (): Promise<number> => (await client.send(set(2001))).block;
    // Some clients report that they watch before they do. ethers polls a filter only at a new block, so that a missed
    // change arrives with the next block.
    const sendUntilSeen = async (...sent: number[]): Promise<unknown> =>
      eventually(async () => {
        const all = [...sent, await send()];
        for (let waits = 0; waits < 15 && !all.every(hasSeen); waits++) await scenarioPause(100);
        return all.every(hasSeen);
      }, 30_000);
    await sendUntilSeen();
    await world.cut('first');
    const sent = [await send(), await send()];
    await sendUntilSeen(...sent);
    for (const stop of stops) await stop?.();
    const { requestedMethods } = world.proxy;
    const transportOf = (filter: string): string => {
      if (requestedMethods.has('eth_subscribe')) return 'over WebSocket';
      return requestedMethods.has(filter) ? 'by a filter' : 'by polling';
    };
    const blockTransport = client.watchBlocks === undefined ? 'not supported' : transportOf('eth_newBlockFilter');
    const [from = 0, to = 0] = sent;
    const isInRange = (block: number): boolean => block >= from && block <= to;
    expect(logs.filter(isInRange)).toEqual(sent);
    if (['over WebSocket', 'by a filter'].includes(blockTransport)) expect(blocks.filter(isInRange)).toEqual(sent);
    table.set(kind.name, 'watches blocks', blockTransport);
    table.set(kind.name, 'watches logs', transportOf('eth_newFilter'));
  });

  it('sends few requests after 429', inTurn, async () => {
    await world.changeKey({ rate: '2', burst: '4' });
    const before = world.proxy.requests.length;
    const isLimited = (): boolean => statuses(before).has(429);
    try {
      let read: Promise<unknown> | undefined;
      // Repeated until a 429: some clients wait for a second before the request, and the rate limit has recovered.
      await eventually(async () => {
        await world.exhaust();
        read ??= client
          .balance(someAddress())
          .catch((error: unknown) => error)
          .finally(() => {
            if (!isLimited()) read = undefined;
          });
        return isLimited();
      }, 30_000);
      table.set(kind.name, 'at 429', reactionOf(await read));
      // A client that reads `Retry-After: 1` as one millisecond would send dozens of requests.
      expect(world.proxy.requests.slice(before).filter(({ status }) => status === 429).length).toBeLessThan(15);
    } finally {
      await world.changeKey({ rate: undefined, burst: undefined });
    }
    expect(await client.balance(someAddress())).toBe(0n);
  });

  it('sends calls again after 503', inTurn, async () => {
    const before = world.proxy.requests.length;
    await world.cut('both');
    const read = client.balance(someAddress()).catch((error: unknown) => error);
    // A batch has HTTP 200 even if all its items are errors.
    await eventually(() => world.proxy.requests.slice(before).some(({ errors }) => errors.includes(-32_603)), 15_000);
    await world.mend();
    table.set(kind.name, 'at 503', reactionOf(await read));
    expect(await client.balance(someAddress())).toBe(0n);
  });

  it('gets -32601 only for methods outside the schemas', inTurn, () => {
    const missing = [...world.proxy.missingMethods].sort();
    expect(missing.filter((method) => methods.some(({ name }) => name === method))).toEqual([]);
    table.set(kind.name, 'unsupported methods', missing.map((method) => `\`${method}\``).join(', ') || 'none');
  });

  function statuses(since: number): Set<number> {
    return new Set(world.proxy.requests.slice(since).map(({ status }) => status));
  }
});

it('docs/clients.md has the same table', () => {
  const rows = table.rows(clients.map(({ name }) => name));
  const page = join(packageRoot, 'docs/clients.md');
  if (process.env['WRITE_DOCS'] === 'yes') writeTable(page, 'days', rows, 'npm run test:all -- clients --write');
  expect(readTable(page, 'days')).toEqual(rows);
});

function reactionOf(read: unknown): string {
  if (read instanceof Error) return 'throws';
  expect(read).toBe(0n);
  return 'retries';
}

/** A new address each time, because MetaMask caches results of a block. */
function someAddress(): string {
  return `0x${randomBytes(20).toString('hex')}`;
}

function wordOf(number: number): string {
  return `0x${number.toString(16).padStart(64, '0')}`;
}
