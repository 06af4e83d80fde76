import { Agent, request } from 'node:http';
import { scenarioPause } from '../../support/scenario-pause.ts';
import { SLOW_ACCOUNT, STEERING_ACCOUNT, type Target } from '../attacks/attack.ts';
import type { Traffic } from './traffic.ts';

/** Pause from a response to the next request of the same connection, as from a client on another machine. */
const MIN_PAUSE_MS = 1;

let calls = 0;

/** A call that differs from all others, so that it is neither cached nor coalesced. */
export function newCall(): string {
  const position = `0x${(++calls).toString(16)}`;
  return `{"jsonrpc":"2.0","id":${calls},"method":"eth_getStorageAt","params":["0x${'12'.repeat(20)}","${position}","latest"]}`;
}

/** A lookup that differs from all others, whose latency changes. */
export function newSteeringCall(): string {
  return newCall().replace('12'.repeat(20), STEERING_ACCOUNT.slice(2));
}

/** Differs from all others, too. */
export function newSlowCall(): string {
  const data = `0x${(++calls).toString(16).padStart(8, '0')}`;
  return `{"jsonrpc":"2.0","id":${calls},"method":"eth_call","params":[{"to":"${SLOW_ACCOUNT}","data":"${data}"},"latest"]}`;
}

export function newBatch(items: number): string {
  return `[${Array.from({ length: items }, newCall).join(',')}]`;
}

/** The same contract each time: cached after the first, so that a few bytes have a response of 0.9 MB. */
export function codeCall(id: number): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"eth_getCode","params":["0x${'11'.repeat(20)}","latest"]}`;
}

export function codeBatch(items: number): string {
  return `[${Array.from({ length: items }, (_, id) => codeCall(id)).join(',')}]`;
}

/** A whole request, for a connection that is written by hand. */
export function rawPost(path: string, body: string): string {
  return `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

export interface Loop {
  readonly target: Target;
  readonly traffic: Traffic;
  readonly body: () => string;
  /** Minimum time from one request to the next. 0: the next is sent when the response has arrived. */
  readonly everyMs: number;
  /** Listener for the status of each response, or `closed`. */
  readonly onStatus?: (status: string) => void;
}

/** Sends one request after the other on one connection, and reads each response completely. Never ends. */
export async function sendInTurn({ target, traffic, body, everyMs, onStatus }: Loop): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  traffic.opened();
  for (;;) {
    const startedAt = performance.now();
    const text = body();
    traffic.sent(text.length);
    const status = await post(target, agent, text);
    traffic.received(status);
    onStatus?.(status);
    const restMs = everyMs - (performance.now() - startedAt);
    if (restMs > 0) await scenarioPause(restMs);
    else await scenarioPause(MIN_PAUSE_MS);
  }
}

/** Sends one request. @returns the status, or `closed` */
export function post(
  { port, path, localAddress }: Target,
  agent: Agent,
  body: string,
  more: Readonly<Record<string, string>> = {},
): Promise<string> {
  return new Promise((resolve) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...more };
    const sent = request(
      { host: '127.0.0.1', port, path, localAddress, method: 'POST', agent, headers },
      (response) => {
        response.resume();
        response.once('close', () => {
          resolve(response.complete ? String(response.statusCode) : 'closed');
        });
      },
    );
    sent.once('error', () => {
      resolve('closed');
    });
    sent.end(body);
  });
}

/** Pipelined GET requests of at least so many bytes together. */
export function pipelinedGets(path: string, minBytes: number): Buffer {
  const request = `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
  return Buffer.from(request.repeat(Math.ceil(minBytes / request.length)));
}
