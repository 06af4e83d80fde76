import { describe, expect, it } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import {
  asUsual,
  bareError,
  body,
  cutInBody,
  cutInHeaders,
  dribble,
  hang,
  huge,
  idAsString,
  redirect,
  slow,
  status,
  statusWithResponse,
  withId,
  type Behaviour,
} from '../support/behaviours.ts';
import { startFakeNode } from '../support/fake-node.ts';
import { shiftClock, withNodes, word } from './with-nodes.ts';

/** Short, so that upstreams that hang do not delay the tests. */
const shortMs = 1_000;
const limits = { UPSTREAM_TIMEOUT_MS: String(shortMs), upstreamResponseMaxBytes: '1000000' };

const noUpstream = {
  status: 503,
  text: '{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no upstream could answer"}}',
};

const failures: [string, Behaviour][] = [
  ['takes longer than the attempt timeout', slow(3 * shortMs)],
  ['never responds', hang],
  ['closes the connection in the headers', cutInHeaders],
  ['closes the connection in the body', cutInBody],
  ['returns 503 with HTML', status(503)],
  ['returns 429 with HTML', status(429)],
  ['returns 500 with HTML', status(500)],
  ['returns 401 with HTML', status(401)],
  ['returns 200 with HTML', status(200)],
  ['returns an empty body', body('')],
  ['returns half of a JSON text', body('{"jsonrpc":"2.0","id":')],
  ['returns JSON that is no object', body('null')],
  ['returns an array', body('[]')],
  ['returns an object that is no JSON-RPC response', body('{"jsonrpc":"2.0","id":1}')],
  ['returns the id of another call', withId(987_654)],
  ['returns the id null', withId(null)],
  ['returns no id', withId(undefined)],
  ['returns more bytes than the limit', huge(2)],
  ['sends its body too slowly for the attempt timeout', dribble(1, shortMs / 10)],
  ['returns an error without an envelope', bareError(-32_007, '15/second request limit reached')],
  ['returns 429 and an error without an envelope', status(429, '{"error":"slow down"}', 'application/json')],
  ['redirects', redirect('http://127.0.0.1:1/')],
];

describe('when the first upstream', () => {
  it.each(failures)('%s, the response is from the second', async (_, behaviour) => {
    // The second upstream has the default timeout, because the machine may be slow.
    const { nodes, request, requestCounts } = await withNodes(2, { ...limits, UPSTREAM_TIMEOUT_MS: '10000' }, {}, [
      { failsafe: { timeoutMs: shortMs } },
    ]);
    nodes[0]?.always(behaviour);
    expect(await request()).toEqual({ jsonrpc: '2.0', id: 1, result: word(2) });
    expect(requestCounts()).toEqual([1, 1]);
  });

  it('refuses connections, the response is from the second', async () => {
    const { nodes, request, requestCounts } = await withNodes(2, limits);
    await nodes[0]?.refuse();
    expect(await request()).toMatchObject({ result: word(2) });
    expect(requestCounts()).toEqual([0, 1]);
  });
});

it('a call on a connection that the last upstream has closed is sent to it once more', async () => {
  const { nodes, request, requestCounts } = await withNodes(2, limits);
  // Both heads are polled, over connections that stay open.
  expect(await request()).toMatchObject({ result: word(1) });
  nodes[0]?.next(status(503), 'eth_getStorageAt');
  nodes[1]?.next(({ response }) => void response.socket?.destroy(), 'eth_getStorageAt');
  expect(await request()).toMatchObject({ result: word(2) });
  expect(requestCounts()).toEqual([2, 2]);
});

describe('when the only upstream', () => {
  it.each(failures)('%s, the error is that no upstream could answer, without details', async (_, behaviour) => {
    const { nodes, send, requestCounts } = await withNodes(1, limits);
    nodes[0]?.always(behaviour);
    expect(await send()).toMatchObject(noUpstream);
    // A call on a kept-alive connection that closes within the headers is sent once more.
    expect(requestCounts()).toEqual([behaviour === cutInHeaders ? 2 : 1]);
  });

  it('refuses connections, the error is that no upstream could answer', async () => {
    const { nodes, send, requestCounts } = await withNodes(1, limits);
    await nodes[0]?.refuse();
    expect(await send()).toMatchObject(noUpstream);
    expect(requestCounts()).toEqual([0]);
  });

  it('does not return its chain id, the call is not sent, and the error is that no upstream could answer', async () => {
    const { nodes, send, requestCounts } = await withNodes(1, limits);
    nodes[0]?.always(status(503), 'eth_chainId');
    expect(await send()).toMatchObject(noUpstream);
    expect(requestCounts()).toEqual([0]);
  });
});

describe('when every upstream fails, each in its own way', () => {
  it('the error has neither the causes nor the upstreams', async () => {
    const { nodes, send, requestCounts } = await withNodes(3, limits);
    nodes[0]?.always(status(503));
    nodes[1]?.always(cutInBody);
    await nodes[2]?.refuse();
    expect(await send()).toMatchObject(noUpstream);
    expect(requestCounts()).toEqual([1, 1, 0]);
  });

  it('each call of a batch has its own response, with HTTP 200', async () => {
    const { gateway, nodes, requestCounts } = await withNodes(1, limits);
    nodes[0]?.always(status(503));
    const call = (id: number, method: string, params: unknown[]) => ({ jsonrpc: '2.0', id, method, params });
    const batch = [call(1, 'eth_getTransactionReceipt', [word(1)]), call(2, 'eth_chainId', [])];
    const response = await gateway.post('test', JSON.stringify(batch));
    expect([response.status, await response.json()]).toEqual([
      200,
      [
        { jsonrpc: '2.0', id: 1, error: { code: -32_603, message: 'no upstream could answer' } },
        { jsonrpc: '2.0', id: 2, result: '0x7' },
      ],
    ]);
    expect(requestCounts()).toEqual([1]);
  });
});

describe('an upstream response is used', () => {
  it('if its id is returned as a string', async () => {
    const { nodes, request, requestCounts } = await withNodes(2, limits);
    nodes[0]?.always(idAsString);
    expect(await request()).toMatchObject({ id: 1, result: word(1) });
    expect(requestCounts()).toEqual([1, 0]);
  });

  it.each([400, 404, 500, 503])('with HTTP %i, because the body has precedence over the status', async (code) => {
    const { nodes, request, requestCounts } = await withNodes(2, limits);
    nodes[0]?.always(statusWithResponse(code));
    expect(await request()).toMatchObject({ result: word(1) });
    expect(requestCounts()).toEqual([1, 0]);
  });

  it('if its size is just within the limit', async () => {
    const { gateway, nodes, requestCounts } = await withNodes(1, { upstreamResponseMaxBytes: '3000000' });
    const block = { hash: word(9), extraData: `0x${'00'.repeat(1_400_000)}` };
    nodes[0]?.response('eth_getBlockByHash', block);
    expect(await gateway.call('test', 'eth_getBlockByHash', [word(9), false])).toMatchObject({ result: block });
    expect(requestCounts()).toEqual([1]);
  });

  it('if it is slow but within the timeout', async () => {
    const { nodes, request, requestCounts } = await withNodes(1, { UPSTREAM_TIMEOUT_MS: '2000' });
    nodes[0]?.always(dribble(20, 5));
    expect(await request()).toMatchObject({ result: word(1) });
    expect(requestCounts()).toEqual([1]);
  });

  it('without a second request', async () => {
    const { request, requestCounts } = await withNodes(2);
    await request();
    await request();
    expect(requestCounts()).toEqual([2, 0]);
  });
});

it('a response above the size limit is cut off, and the next upstream is tried', async () => {
  const { nodes, send, requestCounts } = await withNodes(2, { upstreamResponseMaxBytes: '1000000' });
  for (const node of nodes) node.response('eth_estimateGas', '0x5208');
  nodes[0]?.always(huge(500));
  expect((await send('eth_estimateGas', [{}])).response).toEqual({ jsonrpc: '2.0', id: 1, result: '0x5208' });
  expect(requestCounts()).toEqual([1, 1]);
});

it('a redirect is not followed', async () => {
  const { nodes, request, requestCounts } = await withNodes(2, limits);
  const target = await startFakeNode({ chainId: 7 });
  nodes[0]?.always(redirect(target.url, 307));
  expect(await request()).toMatchObject({ result: word(2) });
  expect(target.calls).toEqual([]);
  await target.close();
  expect(requestCounts()).toEqual([1, 1]);
});

describe('the time for a whole call', () => {
  /** Limit of the whole call, without which these calls take more than 10 s. */
  const deadline = { CALL_TIMEOUT_MS: '3000', UPSTREAM_TIMEOUT_MS: '30000' };
  const withoutLimitMs = 10_000;

  async function beforeLimit<Result>(work: Promise<Result>): Promise<Result> {
    // `shiftClock` does not move timers.
    const result = await Promise.race([work, clock.sleep(withoutLimitMs)]);
    expect(result).toBeDefined();
    return result as Result;
  }

  it.each([
    ['never respond', hang],
    ['send their bodies slowly', dribble(1, 500)],
    ['respond late', slow(withoutLimitMs)],
  ])('holds when three upstreams %s', async (_, behaviour) => {
    const time = shiftClock();
    const { nodes, send, requestCounts } = await withNodes(3, deadline);
    nodes[0]?.always((exchange) => {
      time.forward(2_800);
      return status(503)(exchange);
    });
    nodes[1]?.always((exchange) => {
      time.forward(200);
      return behaviour(exchange);
    });
    expect(await beforeLimit(send())).toMatchObject(noUpstream);
    expect(requestCounts()).toEqual([1, 1, 0]);
  });

  it('holds when the chain id and the call after it are slow', async () => {
    const time = shiftClock();
    const { nodes, send, requestCounts } = await withNodes(1, { ...deadline, CALL_TIMEOUT_MS: '20000' });
    nodes[0]?.always((exchange) => {
      time.forward(19_800);
      asUsual(exchange);
    }, 'eth_chainId');
    nodes[0]?.always(hang);
    // A timer of the remaining 200 ms instead of 20 s.
    expect(await beforeLimit(send())).toMatchObject(noUpstream);
    expect(requestCounts()).toEqual([1]);
  });

  it('holds for calls that wait for a chain id check of another call', async () => {
    const { nodes, send, requestCounts } = await withNodes(2, { ...deadline, CALL_TIMEOUT_MS: '300' });
    for (const node of nodes) node.always(hang, 'eth_chainId');
    await beforeLimit(Promise.all([send(), send(), send()]));
    expect(requestCounts()).toEqual([0, 0]);
  });
});
