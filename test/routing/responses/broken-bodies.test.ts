import { describe, expect, it } from 'vitest';
import { asUsual, body, type Behaviour } from '../../support/behaviours.ts';
import { storageParams, withNodes, word } from '../with-nodes.ts';

const padding = '00'.repeat(5_000);

/** A response whose result is this text. */
function result(text: string): Behaviour {
  return ({ id, response }) =>
    void response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${text}}`);
}

const deep = (levels: number): string => `${'['.repeat(levels)}"${padding}"${']'.repeat(levels)}`;
const deepObject = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;

const block = { number: '0x1', hash: word(1), parentHash: word(0), timestamp: '0x65000000', transactions: [] };
const blockWith = (member: string): string => `${JSON.stringify(block).slice(0, -1)},${member}}`;

const broken: readonly (readonly [name: string, method: string, params: readonly unknown[], result: string])[] = [
  [
    'NaN in a block of 10 kB',
    'eth_getBlockByHash',
    [word(1), false],
    blockWith(`"size":NaN,"extraData":"0x${padding}"`),
  ],
  ['NaN in a block', 'eth_getBlockByHash', [word(1), false], blockWith('"size":NaN')],
  ['half of a block of 10 kB', 'eth_getBlockByHash', [word(1), false], blockWith(`"extraData":"0x${padding}`)],
  [
    'NaN in logs of 10 kB',
    'eth_getLogs',
    [{ fromBlock: '0x1', toBlock: '0x1' }],
    `[{"data":"0x${padding}","logIndex":NaN}]`,
  ],
  ['NaN beside a text of 10 kB', 'eth_getCode', [storageParams[0], 'latest'], `"0x${padding}",NaN`],
  ['5,000 levels of lists as a block', 'eth_getBlockByHash', [word(1), false], deep(5_000)],
  ['5,000 levels in a block', 'eth_getBlockByHash', [word(1), false], blockWith(`"extra":${deep(5_000)}`)],
  [
    '5,000 levels of objects in a block',
    'eth_getBlockByHash',
    [word(1), false],
    blockWith(`"extra":${deepObject(5_000)}`),
  ],
  ['5,000 levels in logs', 'eth_getLogs', [{ fromBlock: '0x1', toBlock: '0x1' }], deep(5_000)],
  ['5,000 levels as a simulation', 'eth_simulateV1', [{ blockStateCalls: [] }, 'latest'], deep(5_000)],
  ['5,000 levels in an object', 'zks_getBridgeContracts', [], `{"a":${deep(5_000)}}`],
];

describe.each(broken)('%s', (_, method, params, text) => {
  it('is a failure of its upstream: the next upstream is asked', async () => {
    const { nodes, send } = await withNodes(2);
    nodes[0]?.always(result(text), method);
    nodes[1]?.always(result(method === 'eth_getBlockByHash' ? JSON.stringify(block) : '[]'), method);
    if (method === 'eth_getCode') nodes[1]?.always(result('"0x60"'), method);
    if (method === 'zks_getBridgeContracts') nodes[1]?.always(result('{"l2Erc20DefaultBridge":"0x1"}'), method);
    const { status, response } = await send(method, params);
    expect([status, response.error]).toEqual([200, undefined]);
    expect(nodes[1]?.callsOf(method)).toHaveLength(1);
  });

  it('is HTTP 503 with one upstream, and the circuit is closed by the next response', async () => {
    const { nodes, send } = await withNodes(1);
    nodes[0]?.always(result(text), method);
    const { status, response } = await send(method, params);
    expect([status, response.error?.code]).toEqual([503, -32_603]);
    nodes[0]?.always(asUsual, method);
    expect((await send()).response).toMatchObject({ result: word(1) });
  });
});

it('a body of 10 kB that is no JSON at all is a failure of its upstream', async () => {
  const { nodes, send } = await withNodes(2);
  nodes[0]?.always(body(`<html>${padding}</html>`), 'eth_getStorageAt');
  expect((await send()).response).toMatchObject({ result: word(2) });
});

it('a result of 8 kB with 4,000 levels, and a trace of 1,024 nested calls, are served', async () => {
  const { nodes, send } = await withNodes(1, {}, { methods: ['eth', 'debug_traceTransaction'] });
  nodes[0]?.always(result(blockWith(`"extra":${'['.repeat(3_900)}${']'.repeat(3_900)}`)), 'eth_getBlockByHash');
  expect((await send('eth_getBlockByHash', [word(1), false])).response).toMatchObject({ result: { number: '0x1' } });
  const call = `{"from":"${String(storageParams[0])}","type":"CALL","calls":[`;
  nodes[0]?.always(result(`${call.repeat(1_024)}${']}'.repeat(1_024)}`), 'debug_traceTransaction');
  const { status, text } = await send('debug_traceTransaction', [word(1), { tracer: 'callTracer' }]);
  expect([status, text.split('"calls"').length]).toEqual([200, 1_025]);
});
