import { expect, it, onTestFinished, vi } from 'vitest';
import type { ChainChange } from '../../../gateway/chain/header-ring.ts';
import { parseHeader } from '../../../gateway/chain/header.ts';
import { parseLogFilter } from '../../../gateway/chain/logs/log-filter.ts';
import { clock } from '../../../gateway/clock/clock.ts';
import { methods, nodeMethods } from '../../../gateway/spec/methods.generated.ts';
import { BlockLogs } from '../../../gateway/subscriptions/feeds/block-logs.ts';
import { LogsFeed } from '../../../gateway/subscriptions/feeds/logs-feed.ts';
import { addressOf, hashOf, ScriptedChain } from '../scripted-chain.ts';

const LOG_COUNT = 60;

it('the logs of a removed block are parsed in many turns of the event loop', async () => {
  const log = { address: addressOf('token'), topics: [hashOf('transfer')] };
  const block = new ScriptedChain().mine(Array.from({ length: LOG_COUNT }, () => log));
  const header = parseHeader(block.header);
  const method = methods.find(({ name }) => name === nodeMethods.logs);
  if (header === undefined || method === undefined) throw new Error('the block or the method is not valid');
  const request = () => Promise.resolve({ kind: 'result', result: block.logs } as const);
  let follow: (change: ChainChange) => void = () => undefined;
  const watch = (listener: typeof follow): (() => void) => {
    follow = listener;
    return () => undefined;
  };
  const owner = 'logs of a removed block';
  const feed = new LogsFeed({ watch }, new BlockLogs(request, method, owner), owner);
  feed.join(parseLogFilter({}), { deliver: () => undefined, markGap: () => undefined });
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
