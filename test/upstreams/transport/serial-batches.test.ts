import { expect, it } from 'vitest';
import { asUsual, type Exchange } from '../../support/behaviours.ts';
import { scenarioPause } from '../../support/scenario-pause.ts';
import type { startFakeNode } from '../../support/fake-node.ts';
import { withNodes, word } from '../../routing/with-nodes.ts';
import { address, requests, storage, withBatches, type TestCall } from './with-batches.ts';

/** Long beside the time that the gateway takes for a request on a loaded machine. */
const ITEM_MS = 25;

const executionOf = (index: number): TestCall => ['eth_call', [{ to: address, data: `0x${index}0` }, 'latest']];

it('a node that works on the calls of a batch one after the other gets single calls, also those that execute code', async () => {
  const { gateway, nodes } = await withNodes(1, {}, {}, [{ batch: 'auto' }]);
  const [node] = nodes as [Awaited<ReturnType<typeof startFakeNode>>];
  node.response('eth_getStorageAt', (params: string[]) => word(Number(params[1])));
  node.response('eth_call', '0x01');
  const takeTime = async (exchange: Exchange): Promise<void> => {
    const calls = [JSON.parse(exchange.text) as unknown].flat().length;
    await scenarioPause(ITEM_MS * calls);
    asUsual(exchange);
  };
  for (const method of ['eth_getStorageAt', 'eth_call']) node.always(takeTime, method);
  const calls = [...storage(6), executionOf(0), executionOf(1)];
  const body = JSON.stringify(calls.map(([method, params], id) => ({ jsonrpc: '2.0', id, method, params })));
  let sizes: number[] = [];
  // 16 batches each way are enough to know.
  for (let sent = 0; sent < 90 && !(sizes.length === calls.length && sent % 4 !== 0); sent++) {
    node.calls.length = 0;
    await gateway.post('test', body);
    sizes = requests(node).map(({ length }) => length);
  }
  expect(sizes).toEqual(calls.map(() => 1));
});

it('calls of eth_call that a client sent as a batch go upstream as one, apart from its lookups', async () => {
  const { node, sendAll } = await withBatches();
  node.response('eth_call', '0x01');
  const calls = [0, 1, 2].map(executionOf);
  const responses = await sendAll([...storage(2), ...calls]);
  expect(responses.map(({ result }) => result)).toEqual([word(0), word(1), '0x01', '0x01', '0x01']);
  expect(requests(node)).toEqual([
    ['eth_getStorageAt', 'eth_getStorageAt'],
    ['eth_call', 'eth_call', 'eth_call'],
  ]);
});
