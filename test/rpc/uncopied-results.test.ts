import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import WebSocket from 'ws';
import { BufferList } from '../../gateway/jsonrpc/buffer-list.ts';
import { largeResponse } from '../../gateway/jsonrpc/response.ts';
import { LogChain } from '../ranges/log-chain.ts';
import { expectFlowed, expectResponse, resultText } from '../server/http/expect-response.ts';
import { startFakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';

/** Larger than what is copied, and than what is written at once. */
const result = new LogChain(7_000, () => 1).logs(0, 6_999);
const call = '{"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":[{}]}';

async function start(env: Record<string, string> = {}): Promise<TestGateway> {
  const node = await startFakeNode({ chainId: 5, responses: { eth_getLogs: result } });
  const gateway = await startGateway({ main: network(5, [node.url]) }, env);
  onTestFinished(async () => {
    await gateway.stop();
    await node.close();
  });
  return gateway;
}

it('a large result is not copied into the response, a small one is', () => {
  const large = Buffer.alloc(1_000_000, '1');
  const { body } = largeResponse('7', [large]);
  expect(body).toBeInstanceOf(BufferList);
  expect((body as BufferList).buffers[1]).toBe(large);
  expect([body.length, body.toString()]).toEqual([1_000_034, `{"jsonrpc":"2.0","id":7,"result":${large.toString()}}`]);
  expect(largeResponse('7', [large.subarray(0, 1_000)]).body).toBeInstanceOf(Buffer);
});

it('it is returned completely, alone, in a batch and compressed', async () => {
  const gateway = await start();
  await expectFlowed(await gateway.post('main', call), resultText('1', result));
  const batch = `[${resultText('1', result)},${resultText('1', result)}]`;
  await expectResponse(await gateway.post('main', `[${call},${call}]`), 200, batch);
  const compressing = await start({ COMPRESS_ANSWERS_OVER_BYTES: '1000' });
  const compressed = await compressing.post('main', call, { 'accept-encoding': 'gzip' });
  expect(compressed.headers.get('content-encoding')).toBe('gzip');
  expect((await compressed.text()) === resultText('1', result)).toBe(true);
});

it('it is not compressed without memory for a copy', async () => {
  const gateway = await start({ COMPRESS_ANSWERS_OVER_BYTES: '1000', BODIES_MAX_BYTES: '7000000' });
  const response = await gateway.post('main', call, { 'accept-encoding': 'gzip' });
  expect(response.headers.get('content-encoding')).toBeNull();
  await expectResponse(response, 200, resultText('1', result));
});

it('over WebSocket it is one message of text, in order with others', async () => {
  const gateway = await start();
  const socket = new WebSocket(`${gateway.address.replace('http', 'ws')}/main/ws/v3/${gateway.key}`);
  await once(socket, 'open');
  const received: string[] = [];
  const isText: boolean[] = [];
  const all = new Promise<void>((resolve) => {
    socket.on('message', (data, isBinary) => {
      isText.push(!isBinary);
      if (received.push((data as Buffer).toString()) === 3) resolve();
    });
  });
  for (let count = 0; count < 3; count++) socket.send(call);
  await all;
  expect(isText).toEqual([true, true, true]);
  expect(received.every((text) => text === resultText('1', result))).toBe(true);
  socket.close();
});
