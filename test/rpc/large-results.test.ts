import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import WebSocket from 'ws';
import { once } from 'node:events';
import { body, cutInBody } from '../support/behaviours.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { expectLargeResult, expectResponse, resultText } from '../server/http/expect-response.ts';

const hash = (digit: string): string => `0x${digit.repeat(64)}`;
const address = `0x${'1'.repeat(40)}`;
/** Enough logs for a large result. */
const logs = Array.from({ length: 200 }, (_, index) => ({
  ...{ address, topics: [hash('b')], data: '0x', blockNumber: '0x10', transactionHash: hash('c'), note: 'n' },
  ...{ transactionIndex: '0x1', blockHash: hash('a'), logIndex: `0x${index.toString(16)}`, removed: false },
}));
const text = JSON.stringify(logs);
const call = (id: string): string => `{"jsonrpc":"2.0","id":${id},"method":"eth_getLogs","params":[{}]}`;

let nodes: FakeNode[];
let gateway: TestGateway;

beforeAll(async () => {
  const start = (): Promise<FakeNode> => startFakeNode({ chainId: 5, responses: { eth_getLogs: logs, debug_x: logs } });
  nodes = [await start(), await start()];
  const urls = nodes.map(({ url }) => url);
  gateway = await startGateway({ main: network(5, urls, { methods: ['eth', 'debug_x'] }) });
});
afterEach(() => {
  for (const node of nodes) node.always(undefined, 'eth_getLogs');
});
afterAll(async () => {
  await gateway.stop();
  for (const node of nodes) await node.close();
});

/** Another gateway with the same upstreams, whose circuits are closed and whose cache is empty. */
async function startFresh(): Promise<TestGateway> {
  const urls = nodes.map(({ url }) => url);
  const fresh = await startGateway({ main: network(5, urls, { methods: ['eth'] }) });
  onTestFinished(() => fresh.stop());
  return fresh;
}

describe('a large result', () => {
  it('is returned byte for byte, with the id as sent', async () => {
    for (const id of ['1', '"x"', '9007199254740993']) {
      await expectLargeResult(await gateway.post('main', call(id)), resultText(id, logs));
    }
  });

  it('is returned completely in a batch, with small results', async () => {
    const chainId = '{"jsonrpc":"2.0","id":2,"method":"eth_chainId"}';
    const expected = `[${resultText('1', logs)},${resultText('2', '0x5')},${resultText('3', logs)}]`;
    await expectResponse(await gateway.post('main', `[${call('1')},${chainId},${call('3')}]`), 200, expected);
  });

  it('is returned over WebSocket as text', async () => {
    const socket = new WebSocket(`${gateway.address.replace('http', 'ws')}/main/ws/v3/${gateway.key}`);
    await once(socket, 'open');
    socket.send(call('7'));
    const [data, isBinary] = (await once(socket, 'message')) as [Buffer, boolean];
    expect([data.toString(), isBinary]).toEqual([resultText('7', logs), false]);
    socket.close();
  });

  it.each([
    ['id last', `{"jsonrpc":"2.0","result":${text},"id":ID}\n`],
    ['id first', `{"id":ID,"jsonrpc":"2.0","result":${text}}`],
    ['an id as text', `{"jsonrpc":"2.0","id":"ID","result":${text}}`],
    ['white space', `{ "jsonrpc" : "2.0" ,\n "id" : ID , "result" : ${JSON.stringify(logs, null, 2)} }`],
    ['an unknown member after it', `{"jsonrpc":"2.0","id":ID,"result":${text},"usage":1}`],
    ['an unknown member before it', `{"jsonrpc":"2.0","usage":[],"id":ID,"result":${text}}`],
    ['an error that is null', `{"jsonrpc":"2.0","id":ID,"error":null,"result":${text}}`],
    ['an array around it', `[{"jsonrpc":"2.0","id":ID,"result":${text}}]`],
  ])('is found with %s', async (_, upstreamResponse) => {
    nodes[0]?.next(({ id, response }) => void response.end(upstreamResponse.replace('ID', String(id))), 'eth_getLogs');
    const before = nodes[1]?.callsOf('eth_getLogs').length;
    const rpcResponse = (await (await gateway.post('main', call('1'))).json()) as { result: unknown };
    expect(rpcResponse.result).toEqual(logs);
    expect(nodes[1]?.callsOf('eth_getLogs')).toHaveLength(before ?? 0);
  });

  it.each([
    ['is truncated', cutInBody],
    ['is not JSON at its end', body(`{"jsonrpc":"2.0","id":1,"result":${text}`)],
    ['is another call’s', body(`{"jsonrpc":"2.0","id":987654,"result":${text}}`)],
  ])('that %s is requested from another upstream, if it is collected', async (_, behaviour) => {
    const fresh = await startFresh();
    nodes[0]?.next(behaviour, 'eth_getLogs');
    const before = nodes[1]?.callsOf('eth_getLogs').length ?? 0;
    // Those of batches are collected.
    const response = await fresh.post('main', `[${call('1')}]`);
    await expectResponse(response, 200, `[${resultText('1', logs)}]`);
    expect(nodes[1]?.callsOf('eth_getLogs')).toHaveLength(before + 1);
  });

  it('that is truncated ends the connection, if it flows', async () => {
    const fresh = await startFresh();
    // The half is more than 32 kB.
    nodes[0]?.next(cutInBody, 'eth_getLogs');
    const before = nodes[1]?.callsOf('eth_getLogs').length ?? 0;
    await expect(fresh.post('main', call('1')).then((response) => response.text())).rejects.toThrow('terminated');
    expect(nodes[1]?.callsOf('eth_getLogs')).toHaveLength(before);
    await expectLargeResult(await fresh.post('main', call('2')), resultText('2', logs));
  });

  it('of a pass-through method is returned unchanged', async () => {
    const response = await gateway.post('main', '{"jsonrpc":"2.0","id":1,"method":"debug_x","params":[]}');
    await expectLargeResult(response, resultText('1', logs));
  });
});
