import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import { jsonForms, placesOfValue } from '../support/json-forms.ts';
import { scenarioPause } from '../support/scenario-pause.ts';
import { Random } from './random.ts';

interface Call {
  readonly id: unknown;
  readonly method: string;
  readonly params: readonly unknown[];
}

interface Options {
  readonly chainId: number;
  /** Every response is right. Default: half of them are. */
  readonly isHonest?: boolean;
  readonly seed?: number;
}

const HEAD_MS = 400;
const hex = (number: number): string => `0x${number.toString(16)}`;
const hash = (...of: readonly unknown[]): string =>
  `0x${createHash('sha256').update(JSON.stringify(of)).digest('hex')}`;

/**
 * An upstream over HTTP and WebSocket whose responses are drawn by structure from a seed. The response to a call follows from
 * the seed, the call and how often it came, so that other calls do not change it.
 */
export class HostileUpstream {
  seed: number;
  readonly credential = `key-${hash('credential', Math.random()).slice(2, 34)}`;
  readonly token = hash('token', Math.random()).slice(2, 42);
  /** Calls by method, as evidence that the callers reach it. */
  calls = 0;
  readonly #options: Options;
  readonly #server: Server;
  readonly #sockets = new WebSocketServer({ noServer: true });
  readonly #times = new Map<string, number>();
  readonly #subscribers = new Map<WebSocket, string[]>();
  readonly #timer: NodeJS.Timeout;
  #head = 1_000;
  #fork = 0;

  static async start(options: Options): Promise<HostileUpstream> {
    const upstream = new HostileUpstream(options);
    upstream.#server.listen(0, '127.0.0.1');
    await once(upstream.#server, 'listening');
    return upstream;
  }

  private constructor(options: Options) {
    this.#options = options;
    this.seed = options.seed ?? 1;
    this.#server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        void this.#respond(Buffer.concat(parts).toString(), request, response);
      });
    });
    this.#server.on('upgrade', (request: IncomingMessage, socket, head) => {
      this.#sockets.handleUpgrade(request, socket, head, (opened) => {
        this.#open(opened);
      });
    });
    this.#timer = setInterval(() => {
      this.#moveHead();
    }, HEAD_MS);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/v2/${this.credential}`;
  }

  /** An entry of a network file. */
  config(name: string, kind: 'http' | 'both' | 'websocket'): object {
    const websocketUrl = this.url.replace('http', 'ws');
    const urls = { http: { url: this.url }, both: { url: this.url, websocketUrl }, websocket: { websocketUrl } }[kind];
    return { name, ...urls, headers: { authorization: `Bearer ${this.token}` } };
  }

  get secrets(): readonly string[] {
    return [this.credential, this.token, `127.0.0.1:${this.port}`];
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    for (const socket of this.#sockets.clients) socket.terminate();
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  /** Draws from the seed, the call and how often it came. */
  #randomFor(of: unknown): Random {
    const text = JSON.stringify(of).slice(0, 10_000);
    const times = this.#times.get(text) ?? 0;
    if (this.#times.size > 50_000) this.#times.clear();
    this.#times.set(text, times + 1);
    return new Random(`${this.seed} ${times} ${text}`);
  }

  // --- HTTP

  async #respond(body: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => undefined);
    const calls = JSON.parse(body) as Call | Call[];
    const random = this.#randomFor(
      Array.isArray(calls) ? calls.map(({ method, params }) => [method, params]) : [calls.method, calls.params],
    );
    let text: string;
    if (Array.isArray(calls)) text = this.#batchText(calls, random);
    else text = this.#textFor(calls, random);
    if (this.#options.isHonest === true || random.chance(0.7) || isProbe(calls)) {
      response.setHeader('Content-Type', 'application/json').end(text);
      return;
    }
    await this.#breakHttp(text, random, request, response);
  }

  async #breakHttp(
    text: string,
    random: Random,
    { url, socket }: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const bytes = Buffer.from(text);
    const leaks = `cannot reach http://127.0.0.1:${this.port}${url ?? ''} with ${this.token}\n    at connect (/srv/node/index.js:12:3)`;
    const hints = ['3600', '-1', '1', '0', 'x', '1e9', '9'.repeat(300), 'Wed, 21 Oct 2099 07:28:00 GMT', ''];
    await random.pick<() => void | Promise<void>>([
      () => void socket.destroy(),
      () => {
        response.writeHead(200, { 'Content-Length': bytes.length + 10 });
        response.write(bytes, () => socket.destroy());
      },
      () => {
        const status = random.pick([
          201, 204, 301, 302, 304, 400, 401, 403, 404, 405, 413, 418, 429, 429, 500, 502, 503, 503, 504, 529, 599,
        ]);
        const isRedirect = status === 301 || status === 302;
        response.writeHead(status, {
          ...(random.chance(0.5) && { 'Retry-After': random.pick(hints) }),
          ...(isRedirect && { Location: this.url }),
        });
        response.end(random.pick(['', leaks, text, '{}', `<html>${leaks}</html>`, JSON.stringify({ error: leaks })]));
      },
      () =>
        void response
          .setHeader('Content-Type', random.pick(['text/html', 'application/octet-stream', 'x', '']))
          .end(text),
      () => void response.setHeader('Content-Encoding', random.pick(['gzip', 'br', 'deflate', 'x'])).end(text),
      async () => {
        for (let at = 0; at < bytes.length && at < 3_000; at++) response.write(bytes.subarray(at, at + 1));
        await scenarioPause(5);
        response.end(bytes.subarray(3_000));
      },
      async () => {
        const size = Math.ceil(bytes.length / 5);
        for (let at = 0; at < bytes.length; at += size) {
          response.write(bytes.subarray(at, at + size));
          await scenarioPause(random.pick([10, 100, 600]));
        }
        response.end();
      },
      async () => {
        await scenarioPause(random.pick([50, 500, 2_500]));
        response.end(text);
      },
      () =>
        void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 7\r\n\r\n{}{}{}', () =>
          socket.destroy(),
        ),
      () => void socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n', () => socket.destroy()),
      () => void socket.write('\x00\x01 nonsense\r\n\r\n', () => socket.destroy()),
    ])();
  }

  #batchText(calls: readonly Call[], random: Random): string {
    const texts = calls.map((call) => this.#textFor(call, random));
    if (this.#options.isHonest === true || random.chance(0.5)) return `[${texts.join()}]`;
    return random.pick<() => string>([
      () => `[${texts.toReversed().join()}]`,
      () => `[${texts.slice(1).join()}]`,
      () => `[${[...texts, ...texts].join()}]`,
      () => `[${[texts[0], ...texts.slice(1), '{"jsonrpc":"2.0","id":999999,"result":"0x1"}', 'null', '5'].join()}]`,
      () => texts[0] ?? '[]',
      () => '[]',
      () => `[${texts.join()}`,
      () => `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batch too large at ${this.url}"}}`,
    ])();
  }

  // --- WebSocket

  #open(socket: WebSocket): void {
    socket.on('error', () => undefined);
    socket.on('close', () => this.#subscribers.delete(socket));
    socket.on('message', (data) => {
      const calls = JSON.parse((data as Buffer).toString()) as Call | Call[];
      const random = this.#randomFor(
        Array.isArray(calls) ? calls.map(({ method, params }) => [method, params]) : [calls.method, calls.params],
      );
      if (!Array.isArray(calls) && calls.method === 'eth_subscribe') {
        const id = hex(this.#times.size + 1);
        this.#subscribers.set(socket, [...(this.#subscribers.get(socket) ?? []), id]);
        if (random.chance(0.8)) {
          socket.send(JSON.stringify({ jsonrpc: '2.0', id: calls.id, result: id }));
          return;
        }
      }
      const text = Array.isArray(calls) ? this.#batchText(calls, random) : this.#textFor(calls, random);
      void this.#sendTo(socket, text, isProbe(calls) ? undefined : random);
    });
  }

  async #sendTo(socket: WebSocket, text: string, random: Random | undefined): Promise<void> {
    if (random === undefined || random.chance(0.8)) {
      socket.send(text);
      return;
    }
    await random.pick<() => void | Promise<void>>([
      () => undefined,
      () => {
        socket.terminate();
      },
      () => {
        socket.close(random.pick([1000, 1008, 1013]), 'bye');
      },
      () => {
        for (const part of text.slice(0, 500)) socket.send(part, { fin: false });
        socket.send(text.slice(500), { fin: true });
      },
      () => {
        socket.send('', { fin: false });
        socket.send(text, { fin: true });
      },
      () => {
        socket.send(text);
        socket.send(text);
      },
      () => {
        socket.send(Buffer.from(text), { binary: true });
      },
      async () => {
        await scenarioPause(random.pick([50, 500, 2_500]));
        socket.send(text);
      },
      () => {
        for (let count = 0; count < 20; count++) socket.ping('x');
        socket.send(text);
      },
    ])();
  }

  #moveHead(): void {
    const random = this.#randomFor('head');
    if (this.#options.isHonest === true || random.chance(0.8)) this.#head++;
    else {
      random.pick([
        () => (this.#head += random.below(50)),
        () => (this.#head = Math.max(900, this.#head - random.below(20))),
        () => this.#fork++,
        () => undefined,
      ])();
    }
    for (const [socket, ids] of this.#subscribers) {
      for (const subscription of ids) {
        const result = random.chance(0.8) ? this.#block(this.#head) : random.pick(junkValues)(this);
        const text = JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params: { subscription, result } });
        const other = random.pick([
          '{',
          '',
          '[]',
          'null',
          '{"jsonrpc":"2.0","method":"eth_subscription"}',
          text.replace(subscription, '0xdead'),
          `{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"${subscription}","result":${formOf(100_000, random)}}}`,
        ]);
        const head = random.chance(0.1) ? other : random.chance(0.1) ? this.#brokenText(text, random) : text;
        if (socket.readyState === socket.OPEN) socket.send(head);
      }
    }
  }

  // --- Responses

  #textFor(call: Call, random: Random): string {
    this.calls++;
    const right = (): string => JSON.stringify({ jsonrpc: '2.0', id: call.id, result: this.#resultOf(call) });
    if (this.#options.isHonest === true || random.chance(isProbe(call) ? 0.97 : 0.5)) return right();
    const { id } = call;
    const envelope = (members: object): string => JSON.stringify({ jsonrpc: '2.0', id, ...members });
    const text = right();
    if (random.chance(0.1)) return manyValues(id, random);
    return random.pick<() => string>([
      () => this.#brokenText(text, random),
      () => envelope({ result: random.pick(junkValues)(this) }),
      () => envelope({ result: random.pick(junkValues)(this) }),
      () => envelope({ result: this.#resultOf({ ...call, params: [hash(random.below(9)), ...call.params.slice(1)] }) }),
      () => envelope({ result: changed(this.#resultOf(call), random, this) }),
      () => envelope({ error: this.#error(random) }),
      () => envelope({ error: this.#error(random) }),
      () => envelope({ error: random.pick(junkValues)(this) }),
      () => envelope({ error: this.#error(random), result: this.#resultOf(call) }),
      () => text.replace(/"id":[^,]*/, `"id":${random.pick(['999999', 'null', '"1"', '{}', '-1', '1.5', 'true'])}`),
      () => text.replace('{', `{"id":${random.pick(['7', 'null', JSON.stringify(id)])},`),
      () => text.replace(/\}$/, `,"result":${random.pick(['null', '"0x2"', '{}'])}}`),
      () => text.replace('"result"', random.pick(['"Result"', '"reſult"', '"r\\u0065sult"'])),
      () => text.replace('"2.0"', random.pick(['"1.0"', 'null', '2', '"2.0","jsonrpc":"2.0"'])),
    ])();
  }

  #brokenText(text: string, random: Random): string {
    return random.pick<() => string>([
      () => text.slice(0, random.below(text.length)),
      () => '',
      () => 'null',
      () => '5',
      () => '[]',
      () => '{}',
      () => `<html>502 at ${this.url}</html>`,
      () => `${text}${text}`,
      () => `\ufeff${text}`,
      () => text.replace(/\}$/, ',"x":NaN}'),
      () => text.replace(/\}$/, `,"x":${'['.repeat(5_000)}${']'.repeat(5_000)}}`),
      () => text.replace(/\}$/, `,"${'x'.repeat(200_000)}":"${'y'.repeat(200_000)}"}`),
      () => text.replace(/"0x/, '"\\u0030x'),
      () => text.replace(/"0x/, '"\ud800'),
      () => text.replace(/:/g, ' : \n'),
      () => text.replace('{', '{"__proto__":{"x":1},"constructor":null,'),
    ])();
  }

  #error(random: Random): object {
    const message = random.pick<unknown>([
      'execution reverted',
      'execution reverted: no',
      'header not found',
      'too many requests, retry in 600s',
      `connect to ${this.url} failed`,
      `Bearer ${this.token} is not allowed at 127.0.0.1:${this.port}`,
      `error at ${this.url}\n    at connect (/srv/node/index.js:12:3)`,
      'method not found',
      'x'.repeat(100_000),
      '',
      undefined,
      {},
      5,
    ]);
    const code = random.pick<unknown>([
      -32000,
      -32601,
      -32602,
      -32603,
      -32005,
      -32700,
      -32600,
      3,
      0,
      429,
      1.5,
      1e300,
      '-32000',
      null,
      undefined,
    ]);
    const data = random.pick<unknown>([
      undefined,
      '0x',
      '0x08c379a0',
      '0xzz',
      {},
      [],
      5,
      this.url,
      `0x${Buffer.from(this.token).toString('hex')}`,
    ]);
    return { code, message, data };
  }

  #resultOf({ method, params: [first, second] }: Call): unknown {
    const number = typeof first === 'string' && /^0x[0-9a-f]{1,12}$/.test(first) ? Number(first) : this.#head;
    switch (method) {
      case 'eth_chainId':
        return hex(this.#options.chainId);
      case 'net_version':
        return String(this.#options.chainId);
      case 'eth_blockNumber':
        return hex(this.#head);
      case 'eth_getBlockByNumber':
        return number > this.#head ? null : this.#block(number, second === true);
      case 'eth_getBlockByHash':
        return { ...this.#block(this.#head - 5, second === true), hash: first };
      case 'eth_getTransactionByHash':
        return this.#transaction(this.#head - 5, 0, String(first));
      case 'eth_getTransactionReceipt':
        return this.#receipt(this.#head - 5, String(first));
      case 'eth_getStorageAt':
        return `0x${String(second).slice(2).padStart(64, '0')}`;
      case 'eth_getLogs':
        return [this.#log(this.#head - 5, hash('tx'))];
      case 'eth_feeHistory':
        return { oldestBlock: hex(this.#head - 1), baseFeePerGas: ['0x1', '0x2'], gasUsedRatio: [0.5], reward: [] };
      case 'eth_syncing':
        return false;
      case 'eth_call':
      case 'eth_getCode':
        return '0x6001';
      default:
        return '0x5208';
    }
  }

  #block(number: number, isFull = false): Record<string, unknown> {
    return {
      ...{ number: hex(number), hash: hash(number, this.#fork), parentHash: hash(number - 1, this.#fork) },
      ...{ nonce: '0x0000000000000000', sha3Uncles: hash('u'), logsBloom: `0x${'00'.repeat(256)}` },
      ...{ transactionsRoot: hash('t'), stateRoot: hash('s'), receiptsRoot: hash('r'), miner: `0x${'11'.repeat(20)}` },
      ...{ difficulty: '0x0', totalDifficulty: '0x0', extraData: '0x', size: '0x220', gasLimit: '0x1c9c380' },
      ...{ gasUsed: '0x5208', timestamp: hex(1_700_000_000 + number), baseFeePerGas: '0x7', mixHash: hash('m') },
      ...{ transactions: [isFull ? this.#transaction(number, 0, hash('tx', number)) : hash('tx', number)], uncles: [] },
    };
  }

  #transaction(number: number, index: number, ofHash: string): Record<string, unknown> {
    return {
      ...{ hash: ofHash, blockHash: hash(number, this.#fork), blockNumber: hex(number), transactionIndex: hex(index) },
      ...{ from: `0x${'22'.repeat(20)}`, to: `0x${'33'.repeat(20)}`, nonce: '0x1', gas: '0x5208', gasPrice: '0x7' },
      ...{ value: '0x0', input: '0x', type: '0x0', v: '0x1b', r: '0x1', s: '0x2', chainId: hex(this.#options.chainId) },
    };
  }

  #receipt(number: number, ofHash: string): Record<string, unknown> {
    return {
      ...{
        transactionHash: ofHash,
        blockHash: hash(number, this.#fork),
        blockNumber: hex(number),
        transactionIndex: '0x0',
      },
      ...{ from: `0x${'22'.repeat(20)}`, to: `0x${'33'.repeat(20)}`, cumulativeGasUsed: '0x5208', gasUsed: '0x5208' },
      ...{
        contractAddress: null,
        logs: [this.#log(number, ofHash)],
        logsBloom: `0x${'00'.repeat(256)}`,
        status: '0x1',
      },
      ...{ type: '0x0', effectiveGasPrice: '0x7' },
    };
  }

  #log(number: number, ofHash: string): Record<string, unknown> {
    return {
      ...{ address: `0x${'33'.repeat(20)}`, topics: [hash('topic')], data: '0x', blockNumber: hex(number) },
      ...{ blockHash: hash(number, this.#fork), transactionHash: ofHash, transactionIndex: '0x0', logIndex: '0x0' },
      removed: false,
    };
  }
}

/** The gateway's check of the chain must mostly succeed, or it uses the upstream no longer. */
function isProbe(call: Call | readonly Call[]): boolean {
  return 'method' in call && ['eth_chainId', 'eth_syncing', 'net_version'].includes(call.method);
}

type Junk = (upstream: HostileUpstream) => unknown;

const junkValues: readonly Junk[] = [
  () => null,
  () => true,
  () => 5,
  () => '',
  () => '0x',
  () => '0x0000',
  () => '0xZZ',
  () => 'x',
  () => [],
  () => ({}),
  () => [null],
  () => [[]],
  () => ['0x1', {}],
  () => `0x${'f'.repeat(1_000_000)}`,
  () => Array.from({ length: 20_000 }, () => ({ a: '0x1' })),
  () => nested(3_000),
  ({ url }) => url,
  ({ url, token }) => ({ url, token, stack: '    at x (/srv/node/index.js:1:1)' }),
];

/** Values of every form, at every place of a response. */
function manyValues(id: unknown, random: Random): string {
  const value = formOf(random.pick([20_000, 200_000, 2_000_000]), random);
  return random.pick(placesOfValue)(id, value);
}

function formOf(bytes: number, random: Random): string {
  return random.pick(jsonForms(bytes))();
}

function nested(depth: number): unknown {
  let value: unknown = '0x1';
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

/** An object with one member removed, replaced, re-cased or added. */
function changed(result: unknown, random: Random, upstream: HostileUpstream): unknown {
  if (Array.isArray(result)) return result.map((item) => changed(item, random, upstream));
  if (typeof result !== 'object' || result === null) return random.pick(junkValues)(upstream);
  const members = Object.entries(result);
  const [name, value] = random.pick(members) as [string, unknown];
  const others = Object.fromEntries(members.filter(([other]) => other !== name));
  const junk = random.pick(junkValues)(upstream);
  return random.pick<object>([
    others,
    { ...others, [name]: junk },
    { ...others, [name.toUpperCase()]: value },
    { ...result, x: junk },
  ]);
}
