import { expect, it, onTestFinished, vi } from 'vitest';
import type { ChainChange } from '../../../gateway/chain/header-ring.ts';
import { parseHeader } from '../../../gateway/chain/header.ts';
import { parseLogFilter } from '../../../gateway/chain/logs/log-filter.ts';
import { clock } from '../../../gateway/clock/clock.ts';
import { methods, nodeMethods } from '../../../gateway/spec/methods.generated.ts';
import { BlockLogs } from '../../../gateway/subscriptions/feeds/block-logs.ts';
import { fanOut } from '../../../gateway/subscriptions/feeds/fan-out.ts';
import { LogsFeed } from '../../../gateway/subscriptions/feeds/logs-feed.ts';
import { addressOf, hashOf, ScriptedChain } from '../scripted-chain.ts';

const LOG_COUNT = 60;

/** A feed with one subscriber, a block with logs, and what the subscriber gets. */
function feedOf(change: (log: object) => object = (log) => log) {
  const log = { address: addressOf('token'), topics: [hashOf('transfer')] };
  const block = new ScriptedChain().mine(Array.from({ length: LOG_COUNT }, () => log));
  const header = parseHeader(block.header);
  const method = methods.find(({ name }) => name === nodeMethods.logs);
  if (header === undefined || method === undefined) throw new Error('the block or the method is not valid');
  const request = () => Promise.resolve({ kind: 'result', result: block.logs.map(change) } as const);
  let follow: (change: ChainChange) => void = () => undefined;
  const watch = (listener: typeof follow): (() => void) => {
    follow = listener;
    return () => undefined;
  };
  const owner = 'logs of a removed block';
  const feed = new LogsFeed({ watch }, new BlockLogs(request, method, owner), owner);
  const delivered: string[] = [];
  const deliver = (texts: readonly string[]): void => void delivered.push(...texts);
  feed.join(parseLogFilter({}), { deliver, markGap: () => undefined });
  return { block, header, feed, delivered, follow: (change: ChainChange) => void follow(change) };
}

it('a block that is removed while its logs are delivered is delivered in full, then as removed, newest log first', async () => {
  let isFirst = true;
  const { feed, header, delivered, follow } = feedOf((log) => ({
    ...log,
    data: {
      // Called during the delivery.
      toJSON: () => {
        if (isFirst) follow({ removed: [header], added: [] });
        isFirst = false;
        return '0x';
      },
    },
  }));
  follow({ removed: [], added: [header] });
  await feed.delivery;
  await fanOut.deliveryTo();
  const indexes = Array.from({ length: LOG_COUNT }, (_, index) => `0x${index.toString(16)}`);
  const logs = delivered.map((text) => JSON.parse(text) as { logIndex: string; removed: boolean });
  expect(logs.map(({ logIndex, removed }) => [logIndex, removed])).toEqual([
    ...indexes.map((index) => [index, false]),
    ...indexes.toReversed().map((index) => [index, true]),
  ]);
});

it('the logs of a removed block are parsed in many turns of the event loop', async () => {
  const { block, feed, header, follow } = feedOf();
  follow({ removed: [], added: [header] });
  await feed.delivery;

  // Each log takes 1 ms. A turn has 3 ms for all work.
  let [parsed, inTurn, maxInTurn] = [0, 0, 0];
  const [now, parse] = [clock.now.bind(clock), JSON.parse.bind(JSON)];
  vi.spyOn(clock, 'now').mockImplementation(() => now() + parsed);
  vi.spyOn(JSON, 'parse').mockImplementation((text, reviver): unknown => {
    if (text.includes(block.header.hash)) {
      parsed++;
      maxInTurn = Math.max(maxInTurn, ++inTurn);
    }
    return parse(text, reviver);
  });
  const endTurn = (): void => {
    inTurn = 0;
    turn = setImmediate(endTurn);
  };
  let turn = setImmediate(endTurn);
  onTestFinished(() => {
    clearImmediate(turn);
    vi.restoreAllMocks();
  });
  follow({ removed: [header], added: [] });
  await feed.delivery;
  expect(parsed).toBe(LOG_COUNT);
  expect(maxInTurn).toBeLessThan(10);
});
