import { expect, it, onTestFinished } from 'vitest';
import { digestOf, keyIdOf } from '../../gateway/auth/formats/key.ts';
import { eventually } from '../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { ScriptedChain } from '../subscriptions/scripted-chain.ts';
import { network, startGateway, type JsonRpcResponse, type TestGateway } from '../support/gateway.ts';
import { raw, receipt, sendAndWait } from '../upstreams/transactions/sending.ts';

const address = `0x${'ab'.repeat(20)}`;
const hash = `0x${'0'.repeat(64)}`;
const bounds = { maxBlockRange: 100, maxAddresses: 2, maxStorageKeys: 2, maxSimulatedCalls: 3, maxResponseBytes: 400 };

/** A proof, which is long for four keys. */
function proofOf(keys: readonly string[]): object {
  const proof = keys.length < 4 ? [] : [`0x${'f8'.repeat(200)}`];
  const storageProof = keys.map((key) => ({ key, value: '0x0', proof }));
  return { address, accountProof: [], balance: '0x0', nonce: '0x0', codeHash: hash, storageHash: hash, storageProof };
}

async function start(
  options: object,
  env: Record<string, string> = {},
): Promise<{ node: FakeNode; gateway: TestGateway }> {
  const node = await startFakeNode({
    chainId: 7,
    responses: {
      // The head is above the ranges of these tests.
      ...new ScriptedChain(120).responses(),
      eth_getLogs: [],
      eth_simulateV1: [],
      eth_getProof: (params: readonly unknown[]) => proofOf(params[1] as readonly string[]),
      eth_getCode: (params: readonly unknown[]) => `0x${'60'.repeat(params[1] === '0x1' ? 300 : 10)}`,
      debug_traceCall: { trace: 'x'.repeat(200_000) },
    },
  });
  const file = network(7, [node.url], { methods: ['eth', 'debug_traceCall'], ...options });
  const gateway = await startGateway({ test: file }, env);
  onTestFinished(async () => {
    await gateway.stop();
    await node.close();
  });
  return { node, gateway };
}

async function send(
  gateway: TestGateway,
  method: string,
  params: readonly unknown[],
): Promise<{ status: number; body: JsonRpcResponse }> {
  const response = await gateway.post('test', JSON.stringify({ jsonrpc: '2.0', id: 'x', method, params }));
  return { status: response.status, body: (await response.json()) as JsonRpcResponse };
}

const rejected = (message: unknown): object => ({ status: 200, body: { id: 'x', error: { code: -32005, message } } });
const simulation = (...calls: number[]) => ({
  blockStateCalls: calls.map((count) => ({ calls: Array.from({ length: count }, () => ({})) })),
});

it.each([
  [
    'eth_getLogs',
    [{ fromBlock: '0x1', toBlock: '0x64' }],
    [{ fromBlock: '0x1', toBlock: '0x65' }],
    'maxBlockRange is 100: the request has 101 blocks; fromBlock 0x1 and toBlock 0x64 would fit',
  ],
  [
    'eth_getLogs',
    [{ address: [address, address] }],
    [{ address: [address, address, address] }],
    'maxAddresses is 2: the request has 3 addresses; 2 in one request would fit',
  ],
  [
    'eth_getProof',
    [address, ['0x0', '0x1'], 'latest'],
    [address, ['0x0', '0x1', '0x2'], 'latest'],
    'maxStorageKeys is 2: the request has 3 storage keys; 2 in one request would fit',
  ],
  [
    'eth_simulateV1',
    [simulation(2, 1), 'latest'],
    [simulation(2, 2), 'latest'],
    'maxSimulatedCalls is 3: the request has 4 calls; 3 in one request would fit',
  ],
  [
    'eth_getCode',
    [address, '0x2'],
    [address, '0x1'],
    expect.stringMatching(/^maxResponseBytes is 400: the response has 6\d\d bytes$/),
  ],
] as const)('%s %j is within the bound of a network, %j is beyond it', async (method, within, beyond, message) => {
  const { node, gateway } = await start({ bounds });
  expect(await send(gateway, method, within)).toMatchObject({
    status: 200,
    body: { result: expect.anything() as unknown },
  });
  const before = node.callsOf(method).length;
  expect(await send(gateway, method, beyond)).toMatchObject(rejected(message));
  // Only the bound of the response needs one.
  expect(node.callsOf(method).length - before).toBe(method === 'eth_getCode' ? 1 : 0);
  // In a batch, other calls are served.
  const batch = [beyond, within].map((params, id) => ({ jsonrpc: '2.0', id, method, params }));
  const responses = (await (await gateway.post('test', JSON.stringify(batch))).json()) as JsonRpcResponse[];
  expect(responses.map(({ error }) => error?.code)).toEqual([-32005, undefined]);
});

it('the lower bound of network and key holds, and a filter cannot evade it', async () => {
  const { node, gateway } = await start({ bounds: { maxBlockRange: 10 } });
  const { keys } = gateway.gateway;
  const logs = [{ fromBlock: '0x1', toBlock: '0xb' }] as const;
  const code = async (method: string, params: readonly unknown[]): Promise<number | undefined> =>
    (await send(gateway, method, params)).body.error?.code;
  // Bounds to the head count once the head is known.
  await eventually(async () => (await code('eth_getLogs', [{ fromBlock: '0x1', toBlock: 'latest' }])) === -32005);
  expect(await code('eth_getLogs', logs)).toBe(-32005);
  const id = keyIdOf(digestOf(gateway.key));
  await keys.update(id, { maxBlockRange: '1000' });
  await keys.update(id, { maxAddresses: '1' });
  await eventually(async () => (await code('eth_getLogs', [{ address: [address, address] }])) === -32005);
  expect(await code('eth_getLogs', logs)).toBe(-32005);
  await keys.update(id, { maxBlockRange: '5' });
  await eventually(async () => (await code('eth_getLogs', [{ fromBlock: '0x1', toBlock: '0x6' }])) === -32005);
  expect(await code('eth_getLogs', [{ fromBlock: '0x1', toBlock: '0x5' }])).toBe(undefined);

  // The filter itself collects new blocks only.
  const before = node.callsOf('eth_getLogs').length;
  const { body } = await send(gateway, 'eth_newFilter', [{ fromBlock: '0x1' }]);
  expect(await send(gateway, 'eth_getFilterLogs', [body.result])).toMatchObject(
    rejected(expect.stringMatching(/^maxBlockRange is 5/)),
  );
  expect(await code('eth_newFilter', [{ address: [address, address] }])).toBe(-32005);
  expect(node.callsOf('eth_getLogs').length).toBe(before);
});

it('responses have a bound by default, for methods without a schema and from the cache too', async () => {
  const { gateway } = await start({});
  expect(gateway.gateway.networks[0]?.bounds.maxResponseBytes).toBe(25_000_000);
  const lower = await start({ bounds: { maxResponseBytes: 1_000 } });
  expect(await send(lower.gateway, 'debug_traceCall', [])).toMatchObject(
    rejected(expect.stringMatching(/^maxResponseBytes is 1000: the response has 200\d\d\d bytes/)),
  );
  expect(await send(gateway, 'debug_traceCall', [])).toMatchObject({
    status: 200,
    body: { result: { trace: expect.any(String) as unknown } },
  });
});

it('the rejection of a response names what would fit, if the call requests several of something', async () => {
  const { gateway } = await start({ bounds: { maxResponseBytes: 1_000 } });
  expect(await send(gateway, 'eth_getProof', [address, ['0x0', '0x1', '0x2', '0x3'], 'latest'])).toMatchObject(
    rejected(
      expect.stringMatching(
        /^maxResponseBytes is 1000: the response has 2\d\d\d bytes; 1 of its 4 storage keys would fit$/,
      ),
    ),
  );
});

it('the receipt of a transaction that was sent has no bound', async () => {
  const { node, gateway } = await start({ bounds: { maxResponseBytes: 400 } });
  node.response(sendAndWait, receipt);
  const { body } = await send(gateway, sendAndWait, [raw]);
  expect(JSON.stringify(body).length).toBeGreaterThan(400);
  expect(body.result).toMatchObject(receipt);
});

it('a response beyond the bound takes no bytes of the memory budget', async () => {
  // 24 times 200 kB are more than the budget.
  const { gateway } = await start({ bounds: { maxResponseBytes: 1_000 } }, { BODIES_MAX_BYTES: '2000000' });
  const batch = Array.from({ length: 24 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'debug_traceCall', params: [] }));
  const responses = (await (await gateway.post('test', JSON.stringify(batch))).json()) as JsonRpcResponse[];
  for (const { error } of responses) expect(error?.message).toMatch(/^maxResponseBytes is 1000/);
});
