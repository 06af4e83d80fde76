import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { eventually } from '../auth/eventually.ts';
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

const clients: readonly Client[] = [
  ...[ethersClient, viemClient, wagmiClient, web3Client],
  ...[zksyncClient, metamaskClient, castClient, hardhatClient],
];
const table = new DayTable();
const inTurn = { concurrent: false };

// Each has a world of its own, and mostly waits.
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
    client = await kind.open(world.place);
  });
  afterEach(() => world.mend());
  afterAll(async () => {
    await client.close();
    await world.close();
  });

  it('reads', inTurn, async () => {
    const { blockHash, setTransaction } = world.anvil.chain;
    const told = await Promise.all([
      ...[client.chainId(), client.blockNumber(), client.balance(account), client.countLogs(counter.address)],
      ...[client.storage(counter.address, counter.numberPosition), client.transactionsIn(blockHash), number()],
    ]);
    expect(told).toEqual([
      1337,
      3,
      10n ** 22n,
      1,
      wordOf(counter.value),
      expect.arrayContaining([setTransaction]),
      counter.value,
    ]);
    table.logEntry(kind.name, 'reads', 'yes');
  });

  it('estimates, and hears why a call reverts', inTurn, async () => {
    const { gate } = world.anvil.chain;
    expect(await client.estimate(set(7))).toBeGreaterThan(21_000n);
    await expect(client.estimate({ from: account, to: gate.address, data: gate.calls.open })).rejects.toThrow(
      /the gate is closed/,
    );
    table.logEntry(kind.name, 'estimates', 'yes');
  });

  it('sends, and waits for the receipt', inTurn, async () => {
    expect((await client.send(set(1001))).succeeded).toBe(true);
    expect(await number()).toBe(1001);
    table.logEntry(kind.name, 'sends', 'yes');
  });

  it('does not see upstreams restart', inTurn, async () => {
    const before = world.wire.requests.length;
    await world.cut('first');
    expect((await client.send(set(1002))).succeeded).toBe(true);
    await world.mend();
    await world.cut('second');
    expect((await client.send(set(1003))).succeeded).toBe(true);
    expect(await number()).toBe(1003);
    expect(statuses(before)).toEqual(new Set([200]));
    table.logEntry(kind.name, 'survives failover', 'yes');
  });

  it('watches blocks and logs, an upstream’s end among them', { ...inTurn, timeout: 90_000 }, async () => {
    const blocks: number[] = [];
    const logs: number[] = [];
    const stops = await Promise.all([
      client.watchBlocks?.((block) => blocks.push(block)),
      client.watchLogs(counter.address, (block) => logs.push(block)),
    ]);
    // Who polls may see the newest only.
    const hasSeen = (block: number): boolean =>
      (client.watchBlocks === undefined || blocks.some((seen) => seen >= block)) && logs.includes(block);
    const send = async (): Promise<number> => (await client.send(set(2001))).block;
    // Some say that they watch before they do; and ethers asks a filter at a new block only, so that it hears at the
    // next what it is late for.
    const sendUntilSeen = async (...sent: number[]): Promise<unknown> =>
      eventually(async () => {
        const all = [...sent, await send()];
        for (let rests = 0; rests < 15 && !all.every(hasSeen); rests++) await sleep(100);
        return all.every(hasSeen);
      }, 30_000);
    await sendUntilSeen();
    await world.cut('first');
    const sent = [await send(), await send()];
    await sendUntilSeen(...sent);
    for (const stop of stops) await stop?.();
    const { asked: requested } = world.wire;
    const how = (filter: string): string =>
      requested.has('eth_subscribe') ? 'over WebSocket' : requested.has(filter) ? 'by a filter' : 'by polling';
    const heard = client.watchBlocks === undefined ? 'not supported' : how('eth_newBlockFilter');
    const [from = 0, to = 0] = sent;
    const isOfThem = (block: number): boolean => block >= from && block <= to;
    expect(logs.filter(isOfThem)).toEqual(sent);
    if (heard === 'over WebSocket' || heard === 'by a filter') expect(blocks.filter(isOfThem)).toEqual(sent);
    table.logEntry(kind.name, 'watches blocks', heard);
    table.logEntry(kind.name, 'watches logs', how('eth_newFilter'));
  });

  it('meets 429, and keeps its peace', inTurn, async () => {
    await world.rules({ rate: '2', burst: '4' });
    const before = world.wire.requests.length;
    const isLimited = (): boolean => statuses(before).has(429);
    try {
      let read: Promise<unknown> | undefined;
      // Until it has met it: some take a second to come, and find that there is room again.
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
      table.logEntry(kind.name, 'at 429', whatCameOf(await read));
      // Whoever reads `Retry-After: 1` as a millisecond sends dozens.
      expect(world.wire.requests.slice(before).filter(({ status }) => status === 429).length).toBeLessThan(15);
    } finally {
      await world.rules({ rate: undefined, burst: undefined });
    }
    expect(await client.balance(someAddress())).toBe(0n);
  });

  it('meets 503, and goes on when it is over', inTurn, async () => {
    const before = world.wire.requests.length;
    await world.cut('both');
    const read = client.balance(someAddress()).catch((error: unknown) => error);
    // A batch is HTTP 200, whatever its items say.
    await eventually(() => world.wire.requests.slice(before).some(({ errors }) => errors.includes(-32_603)), 15_000);
    await world.mend();
    table.logEntry(kind.name, 'at 503', whatCameOf(await read));
    expect(await client.balance(someAddress())).toBe(0n);
  });

  it('is told of no method that there is none, but those in the table', inTurn, () => {
    const missing = [...world.wire.missing].sort();
    table.logEntry(kind.name, 'unsupported methods', missing.map((method) => `\`${method}\``).join(', ') || 'none');
  });

  function statuses(since: number): Set<number> {
    return new Set(world.wire.requests.slice(since).map(({ status }) => status));
  }
});

it('and docs/migration.md has the same table', () => {
  const rows = table.rows(clients.map(({ name }) => name));
  const page = join(packageRoot, 'docs/migration.md');
  if (process.env['CLIENTS_TABLE'] === 'write') writeTable(page, 'days', rows, 'npm run test:clients:table');
  expect(readTable(page, 'days')).toEqual(rows);
});

function whatCameOf(read: unknown): string {
  if (read instanceof Error) return 'throws';
  expect(read).toBe(0n);
  return 'retries';
}

/** Another each time: what MetaMask has read of a block it does not ask again. */
function someAddress(): string {
  return `0x${randomBytes(20).toString('hex')}`;
}

function wordOf(number: number): string {
  return `0x${number.toString(16).padStart(64, '0')}`;
}
