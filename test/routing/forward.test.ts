import { describe, expect, it } from 'vitest';
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

/** Short, so that what hangs does not hold the tests up. */
const shortMs = 1_000;
const limits = { UPSTREAM_TIMEOUT_MS: String(shortMs), UPSTREAM_RESPONSE_MAX_BYTES: '1000000' };

const noUpstream = {
  status: 503,
  text: '{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no upstream could answer"}}',
};

const failures: [string, Behaviour][] = [
  ['takes longer than an attempt may', slow(3 * shortMs)],
  ['never answers', hang],
  ['ends the connection in the headers', cutInHeaders],
  ['ends the connection in the body', cutInBody],
  ['answers 503 with HTML', status(503)],
  ['answers 429 with HTML', status(429)],
  ['answers 500 with HTML', status(500)],
  ['answers 401 with HTML', status(401)],
  ['answers 200 with HTML', status(200)],
  ['answers with nothing', body('')],
  ['answers with half of a JSON text', body('{"jsonrpc":"2.0","id":')],
  ['answers with JSON that is no object', body('null')],
  ['answers with an array', body('[]')],
  ['answers with an object that is no reply', body('{"jsonrpc":"2.0","id":1}')],
  ['answers under the id of another call', withId(987_654)],
  ['answers under the id null', withId(null)],
  ['answers without an id', withId(undefined)],
  ['answers with more than it may', huge(2)],
  ['dribbles more slowly than an attempt may take', dribble(1, shortMs / 10)],
  ['answers with an error that has no envelope', bareError(-32_007, '15/second request limit reached')],
  ['answers 429 with an error that has no envelope', status(429, '{"error":"slow down"}', 'application/json')],
  ['redirects', redirect('http://127.0.0.1:1/')],
];

describe('when the first upstream', () => {
  it.each(failures)('%s, the second gives the answer', async (_, behaviour) => {
    // The second has the usual time: it may be slow where the machine is.
    const {
      nodes,
      request: ask,
      asked: requested,
    } = await withNodes(2, { ...limits, UPSTREAM_TIMEOUT_MS: '10000' }, {}, [{ timeoutMs: shortMs }]);
    nodes[0]?.always(behaviour);
    expect(await ask()).toEqual({ jsonrpc: '2.0', id: 1, result: word(2) });
    expect(requested()).toEqual([1, 1]);
  });

  it('refuses connections, the second gives the answer', async () => {
    const { nodes, request: ask, asked: requested } = await withNodes(2, limits);
    await nodes[0]?.refuse();
    expect(await ask()).toMatchObject({ result: word(2) });
    expect(requested()).toEqual([0, 1]);
  });
});

describe('when the only upstream', () => {
  it.each(failures)('%s, the caller is told that there is none, and nothing else', async (_, behaviour) => {
    const { nodes, send, asked: requested } = await withNodes(1, limits);
    nodes[0]?.always(behaviour);
    expect(await send()).toMatchObject(noUpstream);
    // What broke off in the midst of a reply to a connection kept alive is sent once more.
    expect(requested()).toEqual([behaviour === cutInHeaders ? 2 : 1]);
  });

  it('refuses connections, the caller is told that there is none', async () => {
    const { nodes, send, asked: requested } = await withNodes(1, limits);
    await nodes[0]?.refuse();
    expect(await send()).toMatchObject(noUpstream);
    expect(requested()).toEqual([0]);
  });

  it('does not tell its chain id, the caller is told that there is none, and the call is not sent', async () => {
    const { nodes, send, asked: requested } = await withNodes(1, limits);
    nodes[0]?.always(status(503), 'eth_chainId');
    expect(await send()).toMatchObject(noUpstream);
    expect(requested()).toEqual([0]);
  });
});

describe('when every upstream fails, each in its own way', () => {
  it('the caller learns neither why nor of whom', async () => {
    const { nodes, send, asked: requested } = await withNodes(3, limits);
    nodes[0]?.always(status(503));
    nodes[1]?.always(cutInBody);
    await nodes[2]?.refuse();
    expect(await send()).toMatchObject(noUpstream);
    expect(requested()).toEqual([1, 1, 0]);
  });

  it('each call of a batch is answered for itself, with HTTP 200', async () => {
    const { gateway, nodes, asked: requested } = await withNodes(1, limits);
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
    expect(requested()).toEqual([1]);
  });
});

describe('an upstream’s answer is taken', () => {
  it('when its id came back as a string', async () => {
    const { nodes, request: ask, asked: requested } = await withNodes(2, limits);
    nodes[0]?.always(idAsString);
    expect(await ask()).toMatchObject({ id: 1, result: word(1) });
    expect(requested()).toEqual([1, 0]);
  });

  it.each([400, 404, 500, 503])('under HTTP %i, because the body counts before the status', async (code) => {
    const { nodes, request: ask, asked: requested } = await withNodes(2, limits);
    nodes[0]?.always(statusWithResponse(code));
    expect(await ask()).toMatchObject({ result: word(1) });
    expect(requested()).toEqual([1, 0]);
  });

  it('when it is as large as it may be', async () => {
    const { gateway, nodes, asked: requested } = await withNodes(1, { UPSTREAM_RESPONSE_MAX_BYTES: '3000000' });
    const block = { hash: word(9), extraData: `0x${'00'.repeat(1_400_000)}` };
    nodes[0]?.response('eth_getBlockByHash', block);
    expect(await gateway.call('test', 'eth_getBlockByHash', [word(9), false])).toMatchObject({ result: block });
    expect(requested()).toEqual([1]);
  });

  it('when it dribbles, but in time', async () => {
    const { nodes, request: ask, asked: requested } = await withNodes(1, { UPSTREAM_TIMEOUT_MS: '2000' });
    nodes[0]?.always(dribble(20, 5));
    expect(await ask()).toMatchObject({ result: word(1) });
    expect(requested()).toEqual([1]);
  });

  it('once: a call that was answered is not repeated', async () => {
    const { request: ask, asked: requested } = await withNodes(2);
    await ask();
    await ask();
    expect(requested()).toEqual([2, 0]);
  });
});

it('a reply that is only too large is cut off, and the next upstream is asked', async () => {
  const { nodes, send, asked: requested } = await withNodes(2, { UPSTREAM_RESPONSE_MAX_BYTES: '1000000' });
  for (const node of nodes) node.response('eth_estimateGas', '0x5208');
  nodes[0]?.always(huge(500));
  expect((await send('eth_estimateGas', [{}])).response).toEqual({ jsonrpc: '2.0', id: 1, result: '0x5208' });
  expect(requested()).toEqual([1, 1]);
});

it('a redirect is not followed', async () => {
  const { nodes, request: ask, asked: requested } = await withNodes(2, limits);
  const elsewhere = await startFakeNode({ chainId: 7 });
  nodes[0]?.always(redirect(elsewhere.url, 307));
  expect(await ask()).toMatchObject({ result: word(2) });
  expect(elsewhere.calls).toEqual([]);
  await elsewhere.close();
  expect(requested()).toEqual([1, 1]);
});

describe('the time for a whole call', () => {
  /** Without the limit for the whole call, what follows takes ten seconds and more. */
  const deadline = { CALL_TIMEOUT_MS: '3000', UPSTREAM_TIMEOUT_MS: '30000' };
  const withoutLimitMs = 10_000;

  it.each([
    ['never answer', hang],
    ['dribble', dribble(1, 500)],
    ['answer late', slow(withoutLimitMs)],
  ])('holds when three upstreams %s', async (_, behaviour) => {
    const clock = shiftClock({ isStopped: true });
    const { nodes, send, asked: requested } = await withNodes(3, deadline);
    nodes[0]?.always((exchange) => {
      clock.forward(2_800);
      return status(503)(exchange);
    });
    nodes[1]?.always((exchange) => {
      clock.forward(200);
      return behaviour(exchange);
    });
    const startedAt = Date.now();
    expect(await send()).toMatchObject(noUpstream);
    expect(Date.now() - startedAt).toBeLessThan(withoutLimitMs);
    expect(requested()).toEqual([1, 1, 0]);
    expect(nodes[2]?.calls).toEqual([]);
  });

  it('holds when the chain id is slow and the call after it too', async () => {
    const clock = shiftClock({ isStopped: true });
    const { nodes, send, asked: requested } = await withNodes(1, deadline);
    nodes[0]?.always((exchange) => {
      clock.forward(2_800);
      asUsual(exchange);
    }, 'eth_chainId');
    nodes[0]?.always(hang);
    const startedAt = Date.now();
    expect(await send()).toMatchObject(noUpstream);
    // A real timer of the 200 ms that are left, and not of 3 s.
    expect(Date.now() - startedAt).toBeLessThan(2_900);
    expect(requested()).toEqual([1]);
  });

  it('holds for those too who wait for a check of the chain id that another call began', async () => {
    const { nodes, send, asked: requested } = await withNodes(2, { ...deadline, CALL_TIMEOUT_MS: '300' });
    for (const node of nodes) node.always(hang, 'eth_chainId');
    const startedAt = Date.now();
    await Promise.all([send(), send(), send()]);
    expect(Date.now() - startedAt).toBeLessThan(withoutLimitMs);
    expect(requested()).toEqual([0, 0]);
  });
});
