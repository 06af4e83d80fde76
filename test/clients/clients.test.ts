import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../keys/eventually.ts';
import { castClient } from './cast-client.ts';
import type { Client, OpenClient } from './client.ts';
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

describe.each(clients)('a day of $name', (kind) => {
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

  it('reads', async () => {
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
  });

  it('estimates, and hears why a call reverts', async () => {
    const { gate } = world.anvil.chain;
    expect(await client.estimate(set(7))).toBeGreaterThan(21_000n);
    await expect(client.estimate({ from: account, to: gate.address, data: gate.calls.open })).rejects.toThrow(
      /the gate is closed/,
    );
  });

  it('sends, and waits for the receipt', async () => {
    expect((await client.send(set(1001))).succeeded).toBe(true);
    expect(await number()).toBe(1001);
  });

  it('does not see an upstream go', async () => {
    const before = world.wire.requests.length;
    await world.cut('first');
    expect((await client.send(set(1002))).succeeded).toBe(true);
    expect(await number()).toBe(1002);
    expect(statuses(before)).toEqual(new Set([200]));
  });

  it('watches blocks and logs, an upstream’s end among them', { timeout: 40_000 }, async () => {
    if (client.watchBlocks === undefined) {
      expect(kind.watchesOver).toBe('nothing');
      return;
    }
    const blocks: number[] = [];
    const logs: number[] = [];
    const stops = await Promise.all([
      client.watchBlocks((block) => blocks.push(block)),
      client.watchLogs?.(counter.address, (block) => logs.push(block)),
    ]);
    const hasSeen = (block: number): boolean =>
      blocks.includes(block) && (client.watchLogs === undefined || logs.includes(block));
    const send = async (): Promise<number> => (await client.send(set(2001))).block;
    // Some say that they watch before they do.
    await eventually(async () => {
      const block = await send();
      await sleep(300);
      return hasSeen(block);
    }, 15_000);
    await world.cut('first');
    const sent = [await send(), await send()];
    await eventually(async () => {
      // ethers asks a filter at a new block only, and what it is late for it hears at the next.
      if (kind.watchesOver === 'polling' && !sent.every(hasSeen)) await send();
      return sent.every(hasSeen);
    }, 10_000);
    const [from = 0, to = 0] = sent;
    if (client.watchLogs !== undefined) expect(logs.filter((block) => block >= from && block <= to)).toEqual(sent);
    for (const stop of stops) await stop?.();
  });

  it('meets 429, and keeps its peace', async () => {
    await world.rules({ rate: '2', burst: '4' });
    const before = world.wire.requests.length;
    try {
      await world.exhaust();
      const read = client.balance(someAddress()).catch((error: unknown) => error);
      // Until it has met it: some take a second to come.
      await eventually(async () => {
        await world.exhaust();
        return statuses(before).has(429);
      }, 10_000);
      if (kind.whenLimited === 'tries again') expect(await read).toBe(0n);
      else expect(await read).toBeInstanceOf(Error);
      // Whoever reads `Retry-After: 1` as a millisecond sends dozens.
      expect(world.wire.requests.length - before).toBeLessThan(15);
    } finally {
      await world.rules({ rate: undefined, burst: undefined });
    }
    expect(await client.balance(someAddress())).toBe(0n);
  });

  it('meets 503, and goes on when it is over', async () => {
    const before = world.wire.requests.length;
    await world.cut('both');
    const read = client.balance(someAddress()).catch((error: unknown) => error);
    // A batch is HTTP 200, whatever its items say.
    await eventually(() => world.wire.requests.slice(before).some(({ errors }) => errors.includes(-32_603)), 5_000);
    await world.mend();
    if (kind.whenUnavailable === 'tries again') expect(typeof (await read)).toBe('bigint');
    else expect(await read).toBeInstanceOf(Error);
    expect(await client.balance(someAddress())).toBe(0n);
  });

  it('lacked no method that it needs', () => {
    expect([...world.wire.missing].sort()).toEqual(kind.doesWithout);
  });

  function statuses(since: number): Set<number> {
    return new Set(world.wire.requests.slice(since).map(({ status }) => status));
  }
});

/** Another each time: what MetaMask has read of a block it does not ask again. */
function someAddress(): string {
  return `0x${randomBytes(20).toString('hex')}`;
}

function wordOf(number: number): string {
  return `0x${number.toString(16).padStart(64, '0')}`;
}
