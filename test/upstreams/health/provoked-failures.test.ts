import { describe, expect, it } from 'vitest';
import { hang, huge, status, type Behaviour } from '../../support/behaviours.ts';
import { eventually, staysTrueFor } from '../../support/eventually.ts';
import { inLongRun } from '../../support/long-run.ts';
import { readMetrics } from '../../metrics/read-metrics.ts';
import { rpcError } from '../../support/fake-node.ts';
import { addKey } from '../../routing/two-keys.ts';
import { blockAt, untilHeadsPolled, withNodes, word } from '../../routing/with-nodes.ts';

const account = `0x${'11'.repeat(20)}`;
/** A node, or a proxy before it, fails for calls with this account. */
const poison = `0x${'66'.repeat(20)}`;

const reset: Behaviour = ({ response }) => void response.socket?.resetAndDestroy();

/** Returns this for each call: a JavaScript tracer and a revert can have any text. */
function text(code: number, message: string): Behaviour {
  return ({ id, response }) =>
    void response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }));
}

function tooManyFor(seconds: number): Behaviour {
  return ({ response }) => void response.writeHead(429, { 'retry-after': String(seconds) }).end();
}

const failures: readonly (readonly [name: string, behaviour: Behaviour])[] = [
  ['HTTP 403', status(403)],
  ['HTTP 500', status(500)],
  ['HTTP 503', status(503)],
  ['HTTP 401', status(401)],
  ['HTTP 429 with Retry-After', tooManyFor(600)],
  ['a closed connection', reset],
  ['a response that is too large', huge(3)],
  ['the text "too many requests, retry in 600s"', text(-32_000, 'too many requests, retry in 600s')],
  ['the text "forbidden"', text(-32_000, 'forbidden')],
  ['the text "payment required"', text(-32_000, 'payment required')],
  ['a text of Nethermind', text(-32_015, 'too many requests, retry in 600s')],
  ['a page', ({ response }) => void response.writeHead(200).end('<html></html>')],
];

const methods: readonly (readonly [method: string, params: readonly unknown[]])[] = [
  ['eth_call', [{ to: poison, data: '0x12345678' }, 'latest']],
  ['eth_estimateGas', [{ to: poison, data: '0x12345678' }]],
  ['debug_traceCall', [{ to: poison }, 'latest', { tracer: '{}' }]],
  ['eth_sendRawTransaction', ['0x02f8']],
];

async function start(count: number, env: Record<string, string> = {}, keys: readonly object[] = []) {
  const all = await withNodes(
    count,
    { upstreamResponseMaxBytes: '2000000', ...env },
    { methods: ['eth', 'debug_traceCall'] },
    keys,
  );
  const { gateway, nodes } = all;
  for (const node of nodes) {
    node.response('eth_getBlockByNumber', blockAt('0x10'));
    node.response('eth_getTransactionReceipt', null);
  }
  await all.requestOld();
  await untilHeadsPolled(all);
  const attacker = await addKey(gateway, 'test');
  let id = 0;
  const attack = async (method: string, params: readonly unknown[]): Promise<number> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params });
    return (await fetch(attacker, { method: 'POST', body })).status;
  };
  /** 1: the circuit of the upstream is closed. */
  const up = async (): Promise<(number | undefined)[]> => {
    const { value } = await readMetrics(gateway.address);
    return nodes.map((_, index) => value('gatehouse_upstream_up', { upstream: `node-${index}` }));
  };
  let receipt = 1_000;
  const receiptOf = async (): Promise<unknown> => {
    const { status: code, response } = await all.send('eth_getTransactionReceipt', [word(receipt++)]);
    return code === 200 ? response.result : code;
  };
  return { ...all, attack, up, receiptOf };
}

describe.each(methods)('one caller’s %s', (method, params) => {
  const own = methods.findIndex(([name]) => name === method);
  // In the long run, each method fails in all ways.
  const ways = failures.filter((_, index) => inLongRun(true, index % methods.length === own));

  it.each(ways)('that fails with %s opens no circuit, however often', async (_, behaviour) => {
    const { nodes, attack, up, receiptOf, request } = await start(2);
    for (const node of nodes) node.always(behaviour, method);
    for (let times = 0; times < 5; times++) await attack(method, params);
    // At once, and without other calls between them.
    await Promise.all(Array.from({ length: 8 }, () => attack(method, params)));
    expect(await up()).toEqual([1, 1]);
    for (let times = 0; times < 3; times++) {
      expect(await receiptOf()).toBeNull();
      expect(await request()).toMatchObject({ result: word(1) });
      await attack(method, params);
    }
    expect(nodes[0]?.callsOf(method).length).toBeGreaterThan(0);
  });
});

it.each([
  ['in a log', `{"logs":[${'{},'.repeat(400_000)}{}]}`],
  ['in unusual members', `{"logs":[]},"x":[${'{},'.repeat(600_000)}{}]`],
])('one caller’s receipts with too many values %s open no circuit, however often', async (_, result) => {
  const { nodes, attack, up } = await start(2);
  const method = 'eth_getTransactionReceipt';
  for (const node of nodes)
    node.always(({ id, response }) => {
      response.end(`{"jsonrpc":"2.0","result":${result},"id":${String(id)}}`);
    }, method);
  for (let times = 0; times < 4; times++) expect(await attack(method, [word(times)])).not.toBe(200);
  expect(nodes.map((node) => node.callsOf(method).length)).toEqual([4, 4]);
  expect(await up()).toEqual([1, 1]);
});

describe('one call', () => {
  it.each(failures.filter(([name]) => !/text|Retry-After/.test(name)))(
    'that fails with %s opens no circuit, whatever its method',
    async (_, behaviour) => {
      const { nodes, up, receiptOf, request } = await start(2);
      nodes[0]?.next(behaviour, 'eth_getStorageAt');
      expect(await request()).toMatchObject({ result: word(2) });
      expect(await up()).toEqual([1, 1]);
      expect(await receiptOf()).toBeNull();
      expect(await request()).toMatchObject({ result: word(1) });
    },
  );

  it.each([
    ['a lookup', 'eth_getStorageAt', (slot: string) => [account, slot, 'latest']],
    ['a call that another upstream serves', 'eth_call', (data: string) => [{ to: account, data }, 'latest']],
  ] as const)('that gets a Retry-After is the last one at its upstream: %s', async (_, method, paramsOf) => {
    const { nodes, up, send } = await start(2);
    for (const node of nodes) node.response(method, word(7));
    for (const node of nodes) node.calls.length = 0;
    nodes[0]?.next(tooManyFor(20), method);
    for (let times = 16; times < 20; times++) {
      const { response } = await send(method, paramsOf(`0x${times.toString(16)}`));
      expect(response.result).toBe(word(7));
    }
    expect(await up()).toEqual([0, 1]);
    expect(nodes.map((node) => node.callsOf(method).length)).toEqual([1, 4]);
  });

  it('that gets a Retry-After, and may be the cause, is the last one of its caller at the only upstream', async () => {
    const { nodes, attack, up, receiptOf, request } = await start(1);
    nodes[0]?.always(tooManyFor(20), 'eth_call');
    for (let times = 16; times < 20; times++)
      expect(await attack('eth_call', [{ to: poison, data: `0x${times.toString(16)}` }, 'latest'])).toBe(503);
    expect(nodes[0]?.callsOf('eth_call')).toHaveLength(1);
    expect(await up()).toEqual([1]);
    expect(await receiptOf()).toBeNull();
    expect(await request()).toMatchObject({ result: word(1) });
  });

  it('opens a circuit if there is no connection: the call is not the cause', async () => {
    const { nodes, up, request } = await start(2);
    await nodes[0]?.refuse();
    expect(await request()).toMatchObject({ result: word(2) });
    expect(await up()).toEqual([0, 1]);
  });
});

describe('an upstream that fails', () => {
  it.each(failures.filter(([name]) => !/^the text|too large|of Nethermind|Retry-After/.test(name)))(
    'with %s for three lookups in a row has an open circuit',
    async (_, behaviour) => {
      const { nodes, up, requestOld: request } = await start(2);
      nodes[0]?.always(behaviour, 'eth_getStorageAt');
      for (let times = 0; times < 2; times++) await request();
      expect(await up()).toEqual([1, 1]);
      await request();
      expect(await up()).toEqual([0, 1]);
    },
  );

  it('has a closed circuit if it responds in between', async () => {
    const { nodes, up, request } = await start(2);
    for (let times = 0; times < 6; times++) {
      if (times % 3 !== 2) nodes[0]?.next(status(503), 'eth_getStorageAt');
      await request();
    }
    expect(await up()).toEqual([1, 1]);
  });

  it('for eth_call of three callers has an open circuit', async () => {
    const { nodes, up, gateway } = await start(2);
    nodes[0]?.always(status(503), 'eth_call');
    nodes[1]?.response('eth_call', '0x');
    const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_call', params: [{ to: account }, '0x1'] });
    for (let times = 0; times < 3; times++) {
      expect(await up()).toEqual([1, 1]);
      await fetch(await addKey(gateway, 'test'), { method: 'POST', body: call });
    }
    expect(await up()).toEqual([0, 1]);
  });

  it.each([
    ['HTTP 500', status(500)],
    ['HTTP 429 with Retry-After', tooManyFor(600)],
    ['no response', hang],
  ] as const)('for eth_call with %s of its only caller is not asked first any more', async (name, behaviour) => {
    // Of the first upstream only: the other one may be slow on a loaded machine.
    const { nodes, attack, up } = await start(2, {}, [{ failsafe: { eth_call: { timeoutMs: 300 } } }]);
    nodes[0]?.always(behaviour, 'eth_call');
    nodes[1]?.response('eth_call', '0x');
    const callAt = (index: number) => attack('eth_call', [{ to: account, data: `0x${index + 10}` }, 'latest']);
    expect(await callAt(0)).toBe(200);
    expect(await up()).toEqual([name === 'HTTP 429 with Retry-After' ? 0 : 1, 1]);
    for (let index = 1; index < 40; index++) expect(await callAt(index)).toBe(200);
    expect(nodes[0]?.callsOf('eth_call').length).toBeLessThan(20);
    expect(nodes[1]?.callsOf('eth_call')).toHaveLength(40);
    if (name === 'HTTP 429 with Retry-After') {
      expect(nodes[0]?.callsOf('eth_call')).toHaveLength(1);
      let next = 40;
      await staysTrueFor(1_500, async () => {
        await callAt(next++);
        return nodes[0]?.callsOf('eth_call').length === 1;
      });
    }
  });

  it('for eth_call of one caller, while the other one fails too, leaves one of them with a closed circuit', async () => {
    const { nodes, attack, up } = await start(2);
    const to = [account, `0x${'77'.repeat(20)}`];
    // Each fails for one account, and serves the other one.
    for (const [index, node] of nodes.entries())
      node.always(({ response, id, ...exchange }) => {
        const isPoison = JSON.stringify(node.calls.at(-1)).includes(String(to[index]));
        if (isPoison) return status(500)({ response, id, ...exchange });
        response.end(JSON.stringify({ jsonrpc: '2.0', id, result: '0x' }));
      }, 'eth_call');
    for (let times = 0; times < 20; times++) {
      await attack('eth_call', [{ to: to[times % 2] }, 'latest']);
      await attack('eth_call', [{ to: to[times % 2], data: `0x${times + 10}` }, 'latest']);
      expect(await up()).toContain(1);
    }
  });

  it('for the calls of one batch that it gets as one has a closed circuit', async () => {
    const { nodes, up, gateway } = await start(2, { UPSTREAM_BATCH_MAX: '10' });
    nodes[0]?.next(status(403), 'eth_getStorageAt');
    const batch = Array.from({ length: 2 }, (_, id) => ({
      ...{ jsonrpc: '2.0', id, method: 'eth_getStorageAt', params: [account, `0x${(id + 99).toString(16)}`, 'latest'] },
    }));
    await gateway.post('test', JSON.stringify(batch));
    expect(await up()).toEqual([1, 1]);
  });
});

describe('the waiting time in a text', () => {
  it('has effect for 30 s at most', async () => {
    const { nodes, request, up, gateway } = await start(1);
    nodes[0]?.response('eth_getStorageAt', rpcError(-32_005, 'too many requests, retry in 600s'));
    for (let times = 0; times < 3; times++) await request();
    expect(await up()).toEqual([0]);
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'eth_getStorageAt',
      params: [account, '0x1', 'latest'],
    });
    const response = await gateway.post('test', body);
    expect(response.status).toBe(503);
    expect(Number(response.headers.get('retry-after'))).toBeLessThanOrEqual(30);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(25);
  });
});

it('a trial of one caller that fails by its own fault does not lengthen the cooldown', async () => {
  const { nodes, attack, requestOld: request, up } = await start(2);
  for (const node of nodes) node.always(status(403), 'eth_call');
  nodes[0]?.always(status(503), 'eth_getStorageAt');
  for (let times = 0; times < 3; times++) await request();
  expect(await up()).toEqual([0, 1]);
  nodes[0]?.always(undefined, 'eth_getStorageAt');
  const trials = (): number => nodes[0]?.callsOf('eth_call').length ?? 0;
  const before = trials();
  // A half-open circuit permits one call per second: first one of the attacker, then one of the other caller.
  await eventually(async () => {
    await attack('eth_call', methods[0]?.[1] ?? []);
    return trials() > before;
  }, 9_000);
  // The cooldown is 5 s; a longer one would be 10 s from the trial on.
  await eventually(async () => (await request()).result === word(1), 9_000);
});
