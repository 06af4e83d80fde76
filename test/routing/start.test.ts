import { describe, expect, it } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { ScriptedChain } from '../chain/scripted-chain.ts';
import { follow, scriptedNode } from '../chain/with-heads.ts';
import { hang } from '../support/behaviours.ts';
import { eventually } from '../support/eventually.ts';
import type { FakeNode } from '../support/fake-node.ts';
import { blockAt, shiftClock, untilHeadsPolled, withNodes, word } from './with-nodes.ts';

const account = `0x${'11'.repeat(20)}`;

function setHead(node: FakeNode | undefined, head: string): void {
  node?.response('eth_blockNumber', head);
  node?.response('eth_getStorageAt', word(Number(head)));
  node?.response('eth_getBlockByNumber', ([which]: [string]) => {
    const number = which === 'latest' ? head : which;
    return { ...blockAt(number), timestamp: `0x${(0x6500_0000 + 12 * Number(number)).toString(16)}` };
  });
}

/** Three nodes of which the first is behind. No call was sent yet. */
async function threeNodes() {
  const all = await withNodes(3, {}, { maxLagBlocks: 1_000 });
  const [late, ...others] = all.nodes;
  setHead(late, '0x28');
  for (const node of others) setHead(node, '0x3c');
  return { ...all, late };
}

const calls: [string, unknown[], (result: unknown) => unknown][] = [
  ['eth_blockNumber', [], (result) => result],
  ['eth_getBlockByNumber', ['latest', false], (result) => (result as { number: string }).number],
  ['eth_getStorageAt', [account, '0x0', 'latest'], (result) => `0x${Number(result).toString(16)}`],
];

describe('the first call of a network, whose first upstream is behind,', () => {
  it.each(calls)('gets the head: %s', async (method, params, headIn) => {
    const { gateway, late } = await threeNodes();
    const results = await Promise.all([0, 1].map(() => gateway.call('test', method, params)));
    results.push(await gateway.call('test', method, params));
    expect(results.map(({ result }) => headIn(result))).toEqual(['0x3c', '0x3c', '0x3c']);
    expect(late?.callsOf(method).filter((call) => (call.params as unknown[])[0] !== 'latest')).toEqual([]);
  });

  it('gets the head of those that respond, if another one does not', async () => {
    const { gateway, nodes } = await threeNodes();
    nodes[2]?.always(hang, 'eth_getBlockByNumber');
    expect((await gateway.call('test', 'eth_blockNumber')).result).toBe('0x3c');
    expect(nodes.map((node) => node.callsOf('eth_blockNumber').length)).toEqual([0, 1, 0]);
  });
});

it('state at latest is served once, and then no older number of the head', async () => {
  const all = await withNodes(2);
  const [first, second] = all.nodes;
  setHead(first, '0x3d');
  setHead(second, '0x3c');
  await all.request();
  await untilHeadsPolled(all);
  await first?.refuse();
  expect((await all.send('eth_blockNumber', [])).response.result).toBe('0x3d');
});

it('a connection that is opened after an idle time is followed by a poll', async () => {
  const time = shiftClock({ isRunning: true });
  const all = await withNodes(2);
  const [first] = all.nodes;
  for (const node of all.nodes) setHead(node, '0x3c');
  await all.request();
  await untilHeadsPolled(all);
  const polls = (): number => first?.callsOf('eth_getBlockByNumber').length ?? 0;
  const before = polls();
  await first?.refuse();
  await first?.listen();
  time.forward(6_000);
  expect((await all.send('eth_getStorageAt', [account, '0x0', '0x10'])).response.error).toBeUndefined();
  await eventually(() => polls() > before);
});

it.each([
  ['a busy upstream that closes a connection is at the head', [3_000, 3_000, 0], false],
  ['an upstream that opens a connection after an idle time may not be', [0, 0, 6_000], true],
])('%s', async (_, intervalsMs, isUncertain) => {
  const time = shiftClock();
  const node = await scriptedNode(new ScriptedChain());
  const [upstream] = follow([node]).upstreams;
  const send = () => upstream?.send('eth_blockNumber', '[]', { deadline: clock.now() + 20_000 });
  for (const [index, ms] of intervalsMs.entries()) {
    if (index === intervalsMs.length - 1)
      node.next(({ response, text }) => void response.writeHead(200, { connection: 'close' }).end(text));
    await send();
    time.forward(ms);
  }
  await eventually(() => node.connections().length === 0);
  await send();
  expect(upstream?.isHeadUncertain).toBe(isUncertain);
});
