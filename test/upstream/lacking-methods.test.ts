import { expect, it } from 'vitest';
import { status } from '../support/behaviours.ts';
import { rpcError } from '../support/fake-node.ts';
import { shiftClock, storageParams, withNodes, word } from './with-nodes.ts';

const unsupported = rpcError(-32_601, 'the method is not available');

it('an upstream that lacks a method is not asked for it again for ten minutes', async () => {
  const clock = shiftClock();
  const { nodes, ask, asked } = await withNodes(2);
  nodes[0]?.answer('eth_getStorageAt', unsupported);
  for (let times = 0; times < 3; times++) expect(await ask()).toMatchObject({ result: word(2) });
  expect(asked()).toEqual([1, 3]);
  clock.forward(590_000);
  await ask();
  expect(asked()).toEqual([1, 4]);
  nodes[0]?.answer('eth_getStorageAt', word(1));
  clock.forward(20_000);
  expect(await ask()).toMatchObject({ result: word(1) });
});

it('it is asked for other methods', async () => {
  const { nodes, ask, gateway } = await withNodes(2);
  nodes[0]?.answer('eth_getStorageAt', unsupported);
  for (const node of nodes) node.answer('eth_getTransactionReceipt', null);
  await ask();
  await gateway.call('test', 'eth_getTransactionReceipt', [word(1)]);
  expect(nodes[0]?.callsOf('eth_getTransactionReceipt')).toHaveLength(1);
});

it('it is asked all the same when the others fail', async () => {
  const { nodes, ask, asked } = await withNodes(2);
  nodes[0]?.answer('eth_getStorageAt', unsupported);
  await ask();
  nodes[0]?.answer('eth_getStorageAt', word(1));
  nodes[1]?.always(status(503));
  expect(await ask()).toMatchObject({ result: word(1) });
  expect(asked()).toEqual([2, 2]);
});

it('a method that all lack is -32601 every time, and nobody is asked again', async () => {
  const { nodes, send, asked } = await withNodes(2);
  for (const node of nodes) node.answer('eth_getStorageAt', unsupported);
  for (let times = 0; times < 3; times++) {
    expect((await send('eth_getStorageAt', storageParams)).answer.error?.code).toBe(-32_601);
  }
  expect(asked()).toEqual([1, 1]);
});

it('an upstream that gives an impossible result of one method is passed over for that one, for half a minute', async () => {
  const clock = shiftClock();
  const { nodes, ask, send, asked } = await withNodes(2);
  for (const node of nodes) node.answer('eth_gasPrice', '0x1');
  nodes[0]?.answer('eth_getStorageAt', { not: 'a word' });
  for (let times = 0; times < 3; times++) expect(await ask()).toMatchObject({ result: word(2) });
  expect(asked()).toEqual([1, 3]);
  await send('eth_gasPrice', []);
  expect(asked()).toEqual([2, 3]);
  nodes[0]?.answer('eth_getStorageAt', word(1));
  clock.forward(31_000);
  expect(await ask()).toMatchObject({ result: word(1) });
});
