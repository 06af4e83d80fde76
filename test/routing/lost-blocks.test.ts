import { expect, it } from 'vitest';
import { readMetrics } from '../metrics/read-metrics.ts';
import { asUsual, cutInHeaders, hang, type Exchange } from '../support/behaviours.ts';
import { eventually } from '../support/eventually.ts';
import type { FakeNode } from '../support/fake-node.ts';
import { blockAt, untilHeadsPolled, withNodes } from './with-nodes.ts';

const account = `0x${'11'.repeat(20)}`;
function setHead(node: FakeNode, number: string): void {
  node.response('eth_getBalance', number);
  node.response('eth_getLogs', []);
  node.response('eth_getBlockByNumber', blockAt(number));
}

/** Block 0x11 was served by the first of two nodes; the other has 0x10. */
async function servedByOne() {
  const all = await withNodes(2);
  const [one, two] = all.nodes as [FakeNode, FakeNode];
  setHead(one, '0x11');
  setHead(two, '0x10');
  await all.request();
  await untilHeadsPolled(all);
  const { response } = await all.send('eth_getBlockByNumber', ['latest', true]);
  expect(response.result).toMatchObject({ number: '0x11' });
  const read = async (method: string, params: readonly unknown[]): Promise<unknown> => {
    const { status, response: read } = await all.send(method, params);
    return status === 200 ? read.result : status;
  };
  return { ...all, one, two, read };
}

const logs = [{ address: account, fromBlock: '0x1', toBlock: '0x11' }];

/** Resolves after a poll of the first node has failed. No call does: heads are polled for some time after the last one. */
async function untilPollFailed({ gateway }: Awaited<ReturnType<typeof servedByOne>>): Promise<void> {
  await eventually(async () => {
    const { value } = await readMetrics(gateway.address);
    return (value('gatehouse_head_polls_total', { upstream: 'node-0', outcome: 'transport' }) ?? 0) > 0;
  }, 10_000);
}

it.each([
  ['eth_getBalance', [account, 'latest'], 'call', '0x11'],
  ['eth_getBalance', [account, 'latest'], 'poll', '0x11'],
  ['eth_getLogs', logs, 'call', []],
])(
  '%s %j is not sent to a node that may have lost blocks, since a %s failed',
  async (method, params, failed, result) => {
    const all = await servedByOne();
    const { one, read } = all;
    await one.refuse();
    if (failed === 'poll') await untilPollFailed(all);
    else expect(await read(method, params)).toBe(503);
    const before = one.callsOf(method).length;
    setHead(one, '0x10');
    const polls: Exchange[] = [];
    one.always((exchange) => void polls.push(exchange), 'eth_getBlockByNumber');
    await one.listen();
    expect(await read(method, params)).toBe(503);
    expect(one.callsOf(method)).toHaveLength(before);
    // It gets the call as soon as a poll returns the block.
    one.always(undefined, 'eth_getBlockByNumber');
    setHead(one, '0x11');
    for (const exchange of polls) asUsual(exchange);
    await expect.poll(() => read(method, params)).toEqual(result);
  },
);

it('a read at latest gets a response if two nodes failed before, and the poll of one succeeds', async () => {
  const { one, two, read } = await servedByOne();
  for (const node of [one, two]) {
    node.always(cutInHeaders, 'eth_getStorageAt');
    setHead(node, '0x11');
  }
  expect(await read('eth_getStorageAt', [account, '0x1', '0x10'])).toBe(503);
  one.always(hang, 'eth_getBlockByNumber');
  expect(await read('eth_getBalance', [account, 'latest'])).toBe('0x11');
  expect([one, two].map((node) => node.callsOf('eth_getBalance').length)).toEqual([0, 1]);
});
