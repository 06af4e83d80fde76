import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { blockHash, largeBlock } from '../../../bench/large-block.ts';
import { readMetrics } from '../../metrics/read-metrics.ts';
import { hang, type Behaviour, type Exchange } from '../../support/behaviours.ts';
import { eventually } from '../../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { openCaller, socketUrl } from '../websocket/caller.ts';
import { head, post } from './raw-connection.ts';

const method = 'debug_traceTransaction';
const call = `{"jsonrpc":"2.0","id":"mine","method":"${method}","params":[]}`;
/** 600 kB. */
const trace = {
  structLogs: Array.from({ length: 6_000 }, (_, pc) => ({ pc, op: 'PUSH1', stack: ['0x'.padEnd(66, '1')] })),
};
const traceText = JSON.stringify(trace);
const json = { 'content-type': 'application/json' };

let node: FakeNode;
let second: FakeNode;
let gateway: TestGateway;
let lines: Record<string, unknown>[];

beforeEach(async () => {
  [node, second] = await Promise.all([startFakeNode({ chainId: 5 }), startFakeNode({ chainId: 5 })]);
  node.response(method, trace);
  second.response(method, trace);
  for (const one of [node, second]) one.always(endingWith('}'), method);
  lines = [];
});
afterEach(async () => {
  await gateway.stop();
  await Promise.all([node.close(), second.close()]);
});

async function start(
  options: { readonly bounds?: { readonly maxResponseBytes: number } } = {},
  env: Record<string, string> = {},
  isAlone = true,
): Promise<void> {
  const urls = isAlone ? [node.url] : [node.url, second.url];
  const write = (text: string): void => {
    lines.push(JSON.parse(text) as Record<string, unknown>);
  };
  const file = network(5, urls, { methods: ['eth', method], ...options });
  gateway = await startGateway(
    { main: file },
    { ACCESS_LOG: 'on', ...env },
    pino({ level: 'info', base: null }, { write }),
  );
}

/** Sends the first part of a response, and the rest when the test says so. */
class HeldResponse {
  readonly sent: Promise<Exchange>;
  #resolve!: (exchange: Exchange) => void;
  readonly #bytes: number;
  readonly #hasLength: boolean;

  constructor(bytes: number, hasLength = true) {
    this.#bytes = bytes;
    this.#hasLength = hasLength;
    this.sent = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  readonly behaviour: Behaviour = (exchange) => {
    const { response, text } = exchange;
    response.writeHead(200, { ...json, ...(this.#hasLength && { 'content-length': Buffer.byteLength(text) }) });
    response.write(text.slice(0, this.#bytes), () => {
      this.#resolve(exchange);
    });
  };

  async finish(): Promise<void> {
    const { response, text } = await this.sent;
    response.end(text.slice(this.#bytes));
  }
}

function sendWithLength(response: ServerResponse, text: string): void {
  response.writeHead(200, { ...json, 'content-length': Buffer.byteLength(text) }).end(text);
}

/** An upstream's response with this text in place of the end of its envelope. */
function endingWith(end: string): Behaviour {
  return ({ response, text }) => {
    sendWithLength(response, text.slice(0, -1) + end);
  };
}

const respond = (): Promise<Response> => gateway.post('main', call);

async function countOf(name: string, labels: Record<string, string>): Promise<number> {
  return (await readMetrics(gateway.address)).value(name, labels) ?? 0;
}

describe('a large result of a method without a schema', () => {
  it('reaches the client before the upstream has finished', async () => {
    await start();
    const held = new HeldResponse(200_000);
    node.next(held.behaviour);
    const response = await respond();
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let text = '';
    while (text.length < 100_000) text += Buffer.from((await reader.read()).value as Uint8Array).toString();
    expect(response.headers.get('content-length')).toBeNull();
    expect(response.headers.get('x-request-id')).not.toBeNull();
    await held.finish();
    for (let next = await reader.read(); !next.done; next = await reader.read())
      text += Buffer.from(next.value).toString();
    expect(text).toBe(`{"jsonrpc":"2.0","id":"mine","result":${traceText}}`);
    await eventually(() => lines.some(({ outcome }) => outcome === 'result'));
    expect(lines.at(-1)).toMatchObject({ method, outcome: 'result', upstream: 'node-0', attempts: 1 });
    expect(await countOf('gatehouse_calls_total', { method, outcome: 'result' })).toBe(1);
    expect(
      await countOf('gatehouse_upstream_attempts_total', { upstream: 'node-0', outcome: 'response' }),
    ).toBeGreaterThan(0);
  });

  it.each<[string, Behaviour]>([
    [
      'the id last',
      ({ response, upstreamResponse: { id } }) => {
        sendWithLength(response, `{"jsonrpc":"2.0","result":${traceText},"id":${String(id)}}\n`);
      },
    ],
    [
      'small chunks',
      ({ response, text }) => {
        response.writeHead(200, { ...json, 'content-length': text.length });
        for (let at = 0; at < text.length; at += 1_000) response.write(text.slice(at, at + 1_000));
        response.end();
      },
    ],
    [
      'no keep-alive',
      ({ response, text }) => {
        response.shouldKeepAlive = false;
        sendWithLength(response, text);
      },
    ],
  ])('is the same from an upstream that writes %s', async (_, behaviour) => {
    await start();
    node.always(behaviour, method);
    for (let round = 0; round < 3; round++) {
      const response = await respond();
      expect(response.headers.get('transfer-encoding')).toBe('chunked');
      expect(await response.text()).toBe(`{"jsonrpc":"2.0","id":"mine","result":${traceText}}`);
    }
  });

  it.each<[string, Behaviour]>([
    ['is followed by an error', endingWith(',"error":{"code":-32000,"message":"timed out"}}')],
    ['is followed by another result', endingWith(',"result":1}')],
    ['has no end', endingWith('')],
    [
      'is cut off',
      ({ response, text }) => {
        response.writeHead(200, { ...json, 'content-length': text.length });
        response.write(text.slice(0, -1_000), () => response.destroy());
      },
    ],
  ])('that %s ends the connection, and counts against the upstream', async (_, behaviour) => {
    await start();
    node.always(behaviour, method);
    const response = await respond();
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
    await eventually(async () => (await countOf('gatehouse_calls_total', { method, outcome: 'incomplete' })) === 1);
    const { samples } = await readMetrics(gateway.address);
    const failures = samples.filter(
      ({ name, labels }) =>
        name === 'gatehouse_upstream_attempts_total' && ['malformed', 'transport'].includes(labels['outcome'] ?? ''),
    );
    expect(failures.map(({ value }) => value)).toEqual([1]);
    expect(lines.find(({ msg }) => msg === 'request')).toMatchObject({ outcome: 'incomplete' });
  });

  it('whose upstream fails before its first 32 kB is requested from the next upstream', async () => {
    await start({}, {}, false);
    node.always(({ response, text }) => {
      response.writeHead(200, { ...json, 'content-length': text.length });
      response.write(text.slice(0, 10_000), () => response.destroy());
    }, method);
    expect(await (await respond()).text()).toBe(`{"jsonrpc":"2.0","id":"mine","result":${traceText}}`);
    expect(second.callsOf(method)).toHaveLength(1);
  });

  it('is not requested any more when its client leaves', async () => {
    await start();
    const held = new HeldResponse(200_000);
    node.next(held.behaviour);
    const departure = new AbortController();
    const response = await fetch(gateway.url('main'), { method: 'POST', body: call, signal: departure.signal });
    expect(response.status).toBe(200);
    const { response: upstreamSide } = await held.sent;
    departure.abort();
    await eventually(() => upstreamSide.destroyed);
    await eventually(async () => (await countOf('gatehouse_calls_total', { method, outcome: 'caller-left' })) === 1);
    expect(await countOf('gatehouse_upstream_attempts_total', { upstream: 'node-0', outcome: 'cancelled' })).toBe(1);
  });

  it('behind another response of its connection is not kept when its client leaves', async () => {
    await start();
    node.response(method, 'x'.repeat(20_000_000));
    node.always(hang, 'eth_getCode');
    const code = `{"jsonrpc":"2.0","id":1,"method":"eth_getCode","params":["0x${'1'.repeat(40)}","latest"]}`;
    const socket = connect(gateway.gateway.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write([code, call].map((body) => post(`/main/v3/${gateway.key}`, body)).join(''));
    await eventually(async () => (await countOf('gatehouse_buffered_bytes', {})) > 1_000_000);
    socket.destroy();
    await eventually(async () => (await countOf('gatehouse_calls_total', { method, outcome: 'caller-left' })) === 1);
    await eventually(async () => (await countOf('gatehouse_buffered_bytes', {})) === 0);
  });

  it('that its client does not read holds no slot of the upstream', async () => {
    await start({}, { UPSTREAM_CONNECTIONS: '1' });
    node.response(method, 'x'.repeat(20_000_000));
    const socket = connect(gateway.gateway.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write(head(`POST /main/v3/${gateway.key}`, { 'content-length': call.length }) + call);
    await once(socket, 'readable');
    node.response(method, 'small');
    expect(await (await respond()).json()).toMatchObject({ result: 'small' });
    socket.destroy();
    await eventually(async () => (await countOf('gatehouse_calls_total', { method, outcome: 'caller-left' })) === 1);
    await eventually(async () => (await countOf('gatehouse_buffered_bytes', {})) === 0);
  });

  it.each([
    ['in a batch', () => gateway.post('main', `[${call}]`), `[{"jsonrpc":"2.0","id":"mine","result":${traceText}}]`],
    [
      'for a client that accepts gzip, if it is set',
      () => gateway.post('main', call, { 'accept-encoding': 'gzip' }),
      undefined,
    ],
  ])('%s is collected', async (_, send, expected = `{"jsonrpc":"2.0","id":"mine","result":${traceText}}`) => {
    await start({}, { COMPRESS_ANSWERS_OVER_BYTES: '1000' });
    const response = await send();
    expect(response.headers.get('content-length')).not.toBeNull();
    expect(await response.text()).toBe(expected);
  });

  it('is compressed for no client that does not accept it', async () => {
    await start({}, { COMPRESS_ANSWERS_OVER_BYTES: '1000' });
    const response = await gateway.post('main', call, { 'accept-encoding': 'identity' });
    expect([response.headers.get('vary'), response.headers.get('content-encoding')]).toEqual(['Accept-Encoding', null]);
    expect(await response.text()).toBe(`{"jsonrpc":"2.0","id":"mine","result":${traceText}}`);
  });

  it('over WebSocket is collected', async () => {
    await start();
    const caller = await openCaller(socketUrl(gateway, 'main'));
    expect(await caller.call(method)).toMatchObject({ result: trace });
    caller.socket.terminate();
  });

  it('over HTTP/1.0 has its length', async () => {
    await start();
    const socket = connect(gateway.gateway.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write(`POST /main/v3/${gateway.key} HTTP/1.0\r\nhost: x\r\ncontent-length: ${call.length}\r\n\r\n${call}`);
    let text = '';
    for await (const chunk of socket) text += (chunk as Buffer).toString();
    expect(text).toMatch(/\r\ncontent-length: \d+\r\n/i);
    expect(text.endsWith(`"result":${traceText}}`)).toBe(true);
  });
});

describe('a large list of objects', () => {
  const hash = (digit: string): string => `0x${digit.repeat(64)}`;
  const log = {
    ...{
      address: `0x${'3'.repeat(40)}`,
      topics: [hash('7')],
      data: hash('9'),
      blockNumber: '0x10',
      blockHash: hash('a'),
    },
    ...{ transactionHash: hash('c'), transactionIndex: '0x1', logIndex: '0x0', removed: false },
  };
  const logs = Array.from({ length: 1_500 }, (_, index) => ({ ...log, logIndex: `0x${index.toString(16)}` }));
  const logsCall = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getLogs', params: [{ blockHash: hash('a') }] });
  const sendLogs = async (): Promise<unknown> =>
    ((await (await gateway.post('main', logsCall)).json()) as { readonly result: unknown }).result;

  it('reaches the client before the upstream has finished, and is completed as the contract requires', async () => {
    await start();
    const given = [...logs];
    given[1_000] = { ...log, logIndex: '0x03e8' };
    node.response('eth_getLogs', given);
    const held = new HeldResponse(200_000);
    node.next(held.behaviour, 'eth_getLogs');
    const response = await gateway.post('main', logsCall);
    expect(response.headers.get('transfer-encoding')).toBe('chunked');
    await held.finish();
    expect(await response.json()).toEqual({ jsonrpc: '2.0', id: 1, result: logs });
  });

  it('with an object of another block ends the connection', async () => {
    await start();
    node.response('eth_getLogs', [...logs, { ...log, blockHash: hash('b') }]);
    node.always(endingWith('}'), 'eth_getLogs');
    await expect(sendLogs()).rejects.toThrow();
    await eventually(
      async () => (await countOf('gatehouse_calls_total', { method: 'eth_getLogs', outcome: 'incomplete' })) === 1,
    );
  });

  it('is collected after a malformed one, so that the next upstream serves the call', async () => {
    await start({}, {}, false);
    for (const one of [node, second]) one.response('eth_getLogs', logs);
    node.always(endingWith(''), 'eth_getLogs');
    await expect(sendLogs()).rejects.toThrow();
    const outcome = { method: 'eth_getLogs', outcome: 'incomplete' };
    await eventually(async () => (await countOf('gatehouse_calls_total', outcome)) === 1);
    expect(await sendLogs()).toEqual(logs);
    expect(second.callsOf('eth_getLogs')).toHaveLength(1);
  });

  it('is collected for callers that have joined, and closed for others once it flows', async () => {
    await start();
    node.response('eth_getLogs', logs);
    const early = new HeldResponse(10_000);
    node.next(early.behaviour, 'eth_getLogs');
    const both = Promise.all([sendLogs(), sendLogs()]);
    await eventually(async () => (await countOf('gatehouse_calls_coalesced_total', { network: 'main' })) === 1);
    await early.finish();
    expect(await both).toEqual([logs, logs]);
    expect(node.callsOf('eth_getLogs')).toHaveLength(1);

    const late = new HeldResponse(200_000);
    node.next(late.behaviour, 'eth_getLogs');
    const response = await gateway.post('main', logsCall);
    expect(await sendLogs()).toEqual(logs);
    await late.finish();
    expect(((await response.json()) as { readonly result: unknown }).result).toEqual(logs);
    expect(node.callsOf('eth_getLogs')).toHaveLength(3);
  });

  it('is collected for a batch that has joined, after the callers before it have left', async () => {
    await start();
    node.response('eth_getLogs', logs);
    const held = new HeldResponse(10_000);
    node.next(held.behaviour, 'eth_getLogs');
    const sendAndLeave = (): (() => Promise<void>) => {
      const leaving = new AbortController();
      const sent = fetch(gateway.url('main'), { method: 'POST', body: logsCall, signal: leaving.signal });
      sent.catch(() => undefined);
      return async () => {
        leaving.abort();
        await expect(sent).rejects.toThrow();
      };
    };
    const callsWith = async (count: number, name: string, labels: Record<string, string>): Promise<void> => {
      await eventually(async () => (await countOf(name, labels)) === count);
    };
    const joined = (count: number) => callsWith(count, 'gatehouse_calls_coalesced_total', { network: 'main' });
    const left = (count: number) =>
      callsWith(count, 'gatehouse_calls_total', { method: 'eth_getLogs', outcome: 'caller-left' });
    const leaveFirst = sendAndLeave();
    await held.sent;
    const leaveSecond = sendAndLeave();
    await joined(1);
    await leaveFirst();
    await left(1);
    const batch = gateway.post('main', `[${logsCall}]`);
    await joined(2);
    await leaveSecond();
    await left(2);
    await held.finish();
    expect(await (await batch).json()).toEqual([{ jsonrpc: '2.0', id: 1, result: logs }]);
  });
});

it('a large block flows at its first request, and is collected for the cache at its second one', async () => {
  node.response('eth_getBlockByHash', largeBlock);
  node.always(endingWith('}'), 'eth_getBlockByHash');
  await start();
  const blockCall = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getBlockByHash', params: [blockHash, true] });
  const encodings: (string | null)[] = [];
  for (let round = 0; round < 2; round++) {
    const response = await gateway.post('main', blockCall);
    encodings.push(response.headers.get('transfer-encoding'));
    expect(await response.json()).toEqual({ jsonrpc: '2.0', id: 1, result: { ...largeBlock, totalDifficulty: null } });
  }
  expect(encodings).toEqual(['chunked', null]);
});

describe('a large result with a bound', () => {
  const bytesOfResponse = `{"jsonrpc":"2.0","id":"mine","result":${traceText}}`.length;
  const sends = (hasLength: boolean): Behaviour => {
    return ({ response, text }) =>
      void response.writeHead(200, { ...json, ...(hasLength && { 'content-length': text.length }) }).end(text);
  };

  it.each([true, false])('is rejected if it has more bytes; its length is known: %s', async (hasLength) => {
    await start({ bounds: { maxResponseBytes: bytesOfResponse - 1 } });
    node.always(sends(hasLength), method);
    expect(await (await respond()).json()).toMatchObject({ error: { code: -32005 } });
  });

  it.each([true, false])('is served if it has as many; its length is known: %s', async (hasLength) => {
    await start({ bounds: { maxResponseBytes: bytesOfResponse } });
    node.always(sends(hasLength), method);
    expect((await (await respond()).text()).length).toBe(bytesOfResponse);
  });

  it('above 1 MB is served unchanged, if its length is not known', async () => {
    await start();
    const text = JSON.stringify(Array.from({ length: 30_000 }, () => 'x'.repeat(70)));
    node.response(method, JSON.parse(text));
    node.always(sends(false), method);
    const response = await respond();
    expect(response.headers.get('transfer-encoding')).toBe('chunked');
    expect(await response.text()).toBe(`{"jsonrpc":"2.0","id":"mine","result":${text}}`);
    await eventually(async () => (await countOf('gatehouse_buffered_bytes', {})) === 0);
  });

  it('of unknown length whose first 1 MB is malformed is an error, and no broken connection', async () => {
    await start({ bounds: { maxResponseBytes: 5_000_000 } });
    const broken = JSON.stringify({ filler: 'f'.repeat(500_000) });
    node.always(({ response, id }) => {
      response
        .writeHead(200, json)
        .end(`{"jsonrpc":"2.0","id":${String(id)},"result":${broken}]${' '.repeat(800_000)}`);
    }, method);
    expect(await (await respond()).json()).toMatchObject({ id: 'mine', error: { code: -32603 } });
  });

  it('above 1 MB ends the connection at the bound, if its length is not known', async () => {
    await start({ bounds: { maxResponseBytes: 1_500_000 } });
    node.response(method, ['x'.repeat(2_000_000)]);
    node.always(sends(false), method);
    const response = await respond();
    await expect(response.text()).rejects.toThrow();
    await eventually(async () => (await countOf('gatehouse_calls_total', { method, outcome: 'beyond-bound' })) === 1);
  });
});

it('a credential in a large result never reaches the client', async () => {
  const key = 'SecretOfTheUpstream1';
  node.response(method, { filler: 'f'.repeat(200_000), echo: `https://node.test/${key}/`, more: 'f'.repeat(200_000) });
  await start();
  await gateway.stop();
  gateway = await startGateway({ main: network(5, [`${node.url}/${key}`], { methods: [method] }) });
  const text = await respond()
    .then((response) => response.text())
    .catch((error: unknown) => String(error));
  expect(text).not.toContain(key);
  // The result is collected now, and shown without the credential.
  const shown = await (await respond()).text();
  expect(shown).toContain('"echo":"<upstream>"');
  expect(shown).not.toContain(key);
});
