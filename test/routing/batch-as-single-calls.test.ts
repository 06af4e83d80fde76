import fc from 'fast-check';
import { expect, it } from 'vitest';
import { rpcError, type FakeNode } from '../support/fake-node.ts';
import { propertyRuns } from '../support/property-runs.ts';
import { shiftClock, withNodes, word } from './with-nodes.ts';

const address = `0x${'11'.repeat(20)}`;
const hash = `0x${'22'.repeat(32)}`;
/** `Error(string)` with the text `no`. */
const payload = `0x08c379a0${word(32).slice(2)}${word(2).slice(2)}${'6e6f'.padEnd(64, '0')}`;

/** Outcomes of eth_call at the node, by the data of the call. */
const outcomes: readonly (readonly [data: string, outcome: unknown])[] = [
  ['0x00', word(7)],
  ['0x01', '0x'],
  ['0x02', rpcError(3, 'execution reverted: no', payload)],
  ['0x03', rpcError(-32000, 'execution reverted')],
  ['0x04', rpcError(-32000, 'insufficient funds for gas * price + value')],
  ['0x05', rpcError(-32603, 'boom')],
  ['0x06', { not: 'bytes' }],
];

const methods = fc.oneof(
  fc.constantFrom(...outcomes).map(([data]) => ['eth_call', [{ to: address, data }, 'latest']]),
  fc.constantFrom('0x2', '0x3').map((data) => ['eth_estimateGas', [{ to: address, data }]]),
  fc.nat(5).map((position) => ['eth_getStorageAt', [address, `0x${position.toString(16)}`, 'latest']]),
  fc.constantFrom<[string, unknown[]]>(
    ['eth_getBalance', [address, 'latest']],
    ['eth_getTransactionCount', [address, 'latest']],
    ['eth_getTransactionReceipt', [hash]],
    ['eth_getTransactionByHash', [hash]],
    ['eth_chainId', []],
    ['eth_getBalance', ['0x1']],
    ['eth_unknown', []],
  ),
);
const ids = fc.oneof(
  fc.integer().map(String),
  fc.string({ maxLength: 5 }).map((text) => JSON.stringify(text)),
  fc.constantFrom('null', '1', '1.0', '-0', '1e3', '9007199254740993', '"\\u0031"', '"\\ud83d\\ude00"'),
);
const valid = fc.record({ id: fc.option(ids, { freq: 8 }), call: methods }).map(({ id, call: [method, params] }) => {
  const member = id === null ? '' : `"id":${id},`;
  return `{"jsonrpc":"2.0",${member}"method":${JSON.stringify(method)},"params":${JSON.stringify(params)}}`;
});
const items = fc.oneof(
  { weight: 12, arbitrary: valid },
  { weight: 1, arbitrary: fc.constantFrom('5', 'null', '{}', '{"jsonrpc":"2.0","id":[],"method":"eth_chainId"}') },
);

/** Has responses to all calls, and writes those of a batch in another order, without some of them. */
function prepare(node: FakeNode): void {
  node.response('eth_call', ([{ data }]: [{ data: string }]) => new Map(outcomes).get(data));
  node.response('eth_estimateGas', ([{ data }]: [{ data: string }]) =>
    data === '0x2' ? rpcError(-32000, 'execution reverted') : '0x5208',
  );
  node.response('eth_getStorageAt', ([, position]: string[]) => word(Number(position)));
  node.response('eth_getBalance', '0x1');
  node.response('eth_getTransactionCount', '0x5');
  node.response('eth_getTransactionReceipt', null);
  node.response('eth_getTransactionByHash', null);
  let batches = 0;
  node.always(({ response, text }) => {
    const responses = JSON.parse(text) as unknown;
    const isShort = Array.isArray(responses) && ++batches % 5 === 0;
    const all = Array.isArray(responses) ? responses.slice(isShort ? 1 : 0).reverse() : responses;
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(all));
  });
}

it.each([1, 2])('the response to a batch has those of its calls alone, in order: %i upstreams', async (upstreams) => {
  // No time window ends, and no time slice.
  const time = shiftClock();
  const batch = { batch: true };
  const { gateway, nodes } = await withNodes(upstreams, {}, {}, [batch, batch]);
  for (const node of nodes) prepare(node);
  const send = async (body: string): Promise<string> => (await gateway.post('test', body)).text();
  await fc.assert(
    fc.asyncProperty(fc.array(items, { minLength: 1, maxLength: 25 }), async (calls) => {
      // Batches that were rejected, and upstreams with failures, are used again.
      time.forward(700_000);
      const alone: string[] = [];
      for (const call of calls) alone.push(await send(call));
      time.forward(700_000);
      const responses = alone.filter((text) => text !== '');
      expect(await send(`[${calls.join()}]`)).toBe(responses.length === 0 ? '' : `[${responses.join()}]`);
    }),
    { numRuns: propertyRuns(300) },
  );
});
