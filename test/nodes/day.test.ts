import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { fetchResult, httpEndpoint } from '../parity/rpc-endpoint.ts';
import { eventually } from '../support/eventually.ts';
import { scenarioPause } from '../support/scenario-pause.ts';
import { ancestorAt, blocksAbove, includes, logsOf, quantity, type DayBlock } from './day/day-block.ts';
import type { DayChain } from './day/day-chain.ts';
import { describe as describeBlock } from './day/delivered.ts';
import { startDay, type Day, type ObservedNetwork } from './day/start-day.ts';
import { findGeth, GETH_VERSION } from './find-geth.ts';

const MAX_MEAN_LAG_BLOCKS = 1;
const MAX_LAG_BLOCKS = 2;
/** Polls of an upstream in its cooldown back off to 15 s. */
const RECOVERY_MS = 30_000;

let day: Day;
let chain: DayChain;
let networks: readonly ObservedNetwork[];

/** The violations of the scenario so far, by network. */
const violations = (): object =>
  Object.fromEntries(networks.map(({ slug, view }) => [slug, Object.fromEntries(view.violations)]));
const none = { polled: {}, pushed: {} };
const views = (): ObservedNetwork['view'][] => networks.map(({ view }) => view);

/** @throws Error that describes what was served */
async function until(condition: () => boolean): Promise<void> {
  await eventually(condition, RECOVERY_MS).catch((cause: unknown) => {
    const { head, first, second } = chain;
    const served = networks.map(({ slug, view, subscriber }) => [
      `${slug}: newest ${describeBlock(view.newest)}, delivered ${describeBlock(subscriber.chain.at(-1))}`,
      `missing logs ${subscriber.missingLogs(head).length}, ${JSON.stringify(view.counts)}`,
      JSON.stringify(Object.fromEntries(view.violations), undefined, 1),
    ]);
    const nodes = `head ${describeBlock(head)}, nodes ${describeBlock(first.head)}, ${describeBlock(second.head)}`;
    throw new Error([nodes, ...served.flat()].join('\n'), { cause });
  });
}

/** Waits until callers are served this block, and subscribers got it with the logs of all blocks before it. */
async function untilServed(block: DayBlock): Promise<void> {
  await until(() => networks.every(({ view, subscriber }) => includes(view.newest, block) && subscriber.has(block)));
}

/** Errors are allowed until a block is served that is newer than this one. */
async function untilRecovered(block: DayBlock): Promise<void> {
  const at = clock.now();
  await until(() =>
    views().every(
      ({ newest, latestSentAt }) => newest.number > block.number && includes(chain.head, newest) && latestSentAt > at,
    ),
  );
  for (const { allowance } of views()) delete allowance.errors;
}

describe(`a day on two nodes with geth ${GETH_VERSION}`, () => {
  beforeAll(async () => {
    day = await startDay(findGeth());
    ({ chain, networks } = day);
  });
  afterAll(async () => {
    await day.stop();
  });
  beforeEach(() => {
    for (const view of views()) view.start();
  });

  it('both nodes follow the chain', async () => {
    await scenarioPause(4_000);
    await untilServed(chain.head);
    expect(violations()).toEqual(none);
  });

  it('the preferred node gets no blocks: reads are at the head of the other', async () => {
    chain.lagBlocks = undefined;
    await scenarioPause(20_000);
    expect(chain.head.number - chain.second.head.number).toBeGreaterThan(16);
    for (const { slug, view } of networks) {
      expect(view.lags.length, slug).toBeGreaterThan(100);
      expect(Math.max(...view.lags), slug).toBeLessThanOrEqual(MAX_LAG_BLOCKS);
      const mean = view.lags.reduce((sum, lag) => sum + lag, 0) / view.lags.length;
      expect(mean, slug).toBeLessThanOrEqual(MAX_MEAN_LAG_BLOCKS);
    }
    await untilServed(chain.head);
    expect(violations()).toEqual(none);
  });

  it('transactions are sent while a node is behind: receipts are found, and nonces do not fall', async () => {
    chain.lagBlocks = 4;
    await eventually(() => chain.head.number - chain.second.head.number === 4);
    for (const view of views()) view.isNonceStrict = true;
    const before = networks.map(({ view }) => view.counts['receipts'] ?? 0);
    await scenarioPause(10_000);
    for (const [index, { slug, view, callers }] of networks.entries()) {
      expect((view.counts['receipts'] ?? 0) - (before[index] ?? 0), slug).toBeGreaterThan(5);
      const sent = [...callers.unconfirmed];
      await eventually(() => sent.every((hash) => !callers.unconfirmed.has(hash)));
    }
    await untilServed(chain.head);
    expect(violations()).toEqual(none);
  });

  it('the node at the head is killed: nothing that was served goes back', async () => {
    chain.lagBlocks = 6;
    await eventually(() => chain.head.number - chain.second.head.number === 6);
    await untilServed(chain.head);
    await chain.exclusively(async () => {
      chain.isBuilding = false;
      await untilServed(chain.head);
      for (const { allowance } of views()) allowance.errors = 'the node at the head is killed';
      await chain.first.stop('SIGKILL');
    });
    const killed = chain.head;
    await scenarioPause(8_000);
    await chain.second.follow(ancestorAt(killed, killed.number - 3));
    await scenarioPause(3_000);
    expect(views().map(({ newest }) => newest.number)).toEqual([killed.number, killed.number]);
    expect(violations()).toEqual(none);
  });

  it('the killed node comes back without its newest blocks: nothing goes back, and subscribers miss nothing', async () => {
    const killed = chain.head;
    await chain.first.startAgain(chain.blocks);
    await chain.first.follow(killed);
    await chain.first.connectTo(chain.second);
    chain.isBuilding = true;
    await untilRecovered(killed);
    await scenarioPause(3_000);
    await untilServed(chain.head);
    expect(networks.map(({ subscriber }) => [subscriber.closeCode, subscriber.removed.size])).toEqual([
      [undefined, 0],
      [undefined, 0],
    ]);
    expect(violations()).toEqual(none);
  });

  it('debug_setHead and other blocks: the logs of exactly the replaced blocks are removed', async () => {
    chain.lagBlocks = 3;
    await eventually(() => chain.head.number - chain.second.head.number === 3);
    let replaced: DayBlock[] = [];
    const replaceBlocks = async (): Promise<void> => {
      const newest = blocksAbove(chain.head, chain.head.number - 4);
      if (newest.flatMap(logsOf).length <= 4) return;
      await untilServed(chain.head);
      for (const { allowance } of views()) Object.assign(allowance, { errors: 'reorg', replaced: 'reorg' });
      replaced = newest;
      await chain.setHeadBack(replaced.length);
      await scenarioPause(1_000);
      await chain.build([]);
      await scenarioPause(1_000);
      await chain.build(replaced.flatMap(({ transactions }) => transactions));
    };
    // On a machine with other load, blocks may have few logs.
    while (replaced.length === 0) {
      await chain.exclusively(replaceBlocks);
      await scenarioPause(100);
    }
    await untilRecovered(replaced.at(-1) as DayBlock);
    for (const { view } of networks) {
      delete view.allowance.replaced;
      view.forgetNonce();
    }
    await scenarioPause(4_000);
    await untilServed(chain.head);
    for (const { slug, subscriber } of networks) {
      const expected = new Map(
        replaced.filter((block) => logsOf(block).length > 0).map((block) => [block, new Set(logsOf(block))]),
      );
      expect(subscriber.removed, slug).toEqual(expected);
      expect(subscriber.staleLogs(chain.head), slug).toEqual([]);
    }
    expect(violations()).toEqual(none);
  });

  it('every block is that of the node, from the cache too', async () => {
    const { head } = chain;
    for (const { url } of [{ url: chain.first.url }, ...networks.map(({ slug }) => ({ url: day.gateway.url(slug) }))]) {
      for (const { number, hash } of blocksAbove(head, 0)) {
        const block = await fetchResult(httpEndpoint(url, url), 'eth_getBlockByNumber', quantity(number), false);
        expect(block, url).toMatchObject({ hash });
      }
    }
  });

  it('both nodes are wiped and start from the same genesis: nothing of the dead chain is served', async () => {
    const dead = chain.head;
    await chain.exclusively(async () => {
      for (const { view, subscriber } of networks) {
        view.allowance.errors = 'the nodes were wiped';
        view.allowDeadUntilServed(chain.generation + 1);
        subscriber.mayJump = true;
      }
      await Promise.all([chain.first.stop('SIGKILL'), chain.second.stop('SIGKILL')]);
      chain.lagBlocks = 0;
      chain.restart();
      const blocks = blocksAbove(dead, 0);
      for (const { callers } of networks) callers.restart([...blocks.slice(0, 6), ...blocks.slice(-12)]);
      await Promise.all([chain.first.startAnew(), chain.second.startAnew()]);
      await chain.first.connectTo(chain.second);
    });
    await untilRecovered(chain.genesis);
    await scenarioPause(10_000);
    // On a machine with other load, reads are fewer.
    await eventually(() => views().every(({ counts }) => (counts['dead reads'] ?? 0) > 30), RECOVERY_MS);
    for (const network of networks) {
      network.subscriber.close();
      network.subscriber = await day.subscribe(network);
    }
    await scenarioPause(3_000);
    await untilServed(chain.head);
    expect(violations()).toEqual(none);
  });

  it('a transaction of a served block never became pending again', () => {
    expect(Object.fromEntries(networks.map(({ slug, view }) => [slug, view.pending.slice(0, 5)]))).toEqual({
      polled: [],
      pushed: [],
    });
  });
});
