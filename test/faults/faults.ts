import { body, huge, redirect, status, statusWithResponse, withId, type Behaviour } from '../support/behaviours.ts';
import { rpcError, type FakeNode } from '../support/fake-node.ts';
import type { FakeWebSocketNode, ReceivedCall } from '../support/fake-websocket-node.ts';
import {
  blackHole,
  head,
  nobody,
  node,
  nodeThat,
  socket,
  tls,
  transaction,
  wire,
  word,
  type BadUpstream,
} from './bad-upstream.ts';

/** One way in which an upstream fails, and what comes of it: a row of the table in docs/faults.md. */
export interface Fault {
  readonly name: string;
  readonly open: () => Promise<BadUpstream>;
  /** It is bad from the gateway's start. Else it answers a call first, so that connections and trust are there. */
  readonly fromStart?: true;
  /** What ends it is the time for one attempt, which is short for it in the network's file. */
  readonly isSilent?: true;
  /** What callers get where there is no other upstream. */
  readonly alone: Outcome;
  /** How often it is asked: beside a good upstream, and where it is the only one. */
  readonly received: readonly [pair: number, alone: number];
  /** The gateway's own look at the head may be the first to meet it; then the call is not sent there any more. */
  readonly mayBeFound?: true;
  /** It gives the right answer itself: nobody else is asked. */
  readonly isHarmless?: true;
  /** The good one's head moves on without it. */
  readonly standsStill?: true;
  readonly asks?: Asked;
}

export interface Outcome {
  readonly status: number;
  readonly error?: { readonly code: number; readonly message: string };
  readonly result?: unknown;
}

export interface Asked {
  readonly method: string;
  readonly params: readonly unknown[];
  readonly result: unknown;
}

export const storage: Asked = {
  method: 'eth_getStorageAt',
  params: [`0x${'11'.repeat(20)}`, '0x2a', 'latest'],
  result: word,
};
const find: Asked = { method: 'eth_getTransactionByHash', params: [transaction.hash], result: transaction };

const noUpstream: Outcome = { status: 503, error: { code: -32603, message: 'no upstream could answer' } };
const rightAnswer: Outcome = { status: 200, result: word };

/** It was asked, and another one then; where there is no other, not again. */
const once = { alone: noUpstream, received: [1, 1] } as const;
/** A connection that had been good was lost under the call: where there is no other, it is sent once more. */
const again = { alone: noUpstream, received: [1, 2] } as const;
const mayBeFound = true;
/** It never sees the call. */
const never = { alone: noUpstream, received: [0, 0] } as const;
/** It gives the right answer itself: nobody else is asked. */
const harmless = { alone: rightAnswer, received: [1, 1], isHarmless: true } as const;

/** What proxies before nodes send. */
const statuses = [401, 403, 500, 502, 503, 504].map((code) => ({
  name: `HTTP ${code} with a page of HTML`,
  open: node(status(code)),
  ...once,
}));

const retryAfter: Behaviour = ({ response }) => void response.writeHead(429, { 'retry-after': '30' }).end();

function lags(bad: FakeNode): void {
  bad.response(find.method, null);
}

function otherChain(bad: FakeNode): void {
  bad.response('eth_chainId', '0x8');
}

function closeAll(bad: FakeWebSocketNode): void {
  for (const each of bad.sockets) each.close(1001);
}

function socketThat(behaviour: (call: ReceivedCall) => void): () => Promise<BadUpstream> {
  return socket((bad) => {
    bad.onCall(behaviour);
  });
}

function nothing(): void {
  // The wire does it, or nobody.
}

export const faults: readonly Fault[] = [
  // Connections
  { name: 'connection refused', open: wire({ kind: 'refuse' }), ...never },
  {
    name: 'host name unknown to DNS',
    open: nobody('http://nowhere.invalid'),
    fromStart: true,
    isSilent: true,
    ...never,
  },
  { name: 'connecting hangs', open: blackHole, fromStart: true, isSilent: true, ...never },
  { name: 'accepted, then reset', open: wire({ kind: 'reset', at: 'accept' }), ...never },
  { name: 'accepted, then nothing', open: wire({ kind: 'hang', at: 'accept' }), isSilent: true, ...never },
  { name: 'half-open: the peer disappears', open: wire({ kind: 'vanish' }), isSilent: true, ...never },
  { name: 'reset after the request', open: wire({ kind: 'reset', at: 'request' }), ...never },
  { name: 'closed after the request', open: wire({ kind: 'close', at: 'request' }), ...never },
  // The reply
  { name: 'reset before the headers', open: wire({ kind: 'reset', at: 'reply' }), ...again },
  { name: 'reset in the headers', open: wire({ kind: 'reset', at: 'headers' }), ...again },
  { name: 'reset after the headers', open: wire({ kind: 'reset', at: 'body-start' }), ...once },
  { name: 'reset in the body', open: wire({ kind: 'reset', at: 'body' }), ...once },
  { name: 'closed in the body', open: wire({ kind: 'close', at: 'body' }), ...once },
  { name: 'hangs before the headers', open: wire({ kind: 'hang', at: 'reply' }), isSilent: true, ...once },
  { name: 'hangs in the headers', open: wire({ kind: 'hang', at: 'headers' }), isSilent: true, ...once },
  { name: 'hangs after the headers', open: wire({ kind: 'hang', at: 'body-start' }), isSilent: true, ...once },
  { name: 'hangs in the body', open: wire({ kind: 'hang', at: 'body' }), isSilent: true, ...once },
  { name: 'byte by byte', open: wire({ kind: 'dribble' }), ...harmless },
  // What it says
  { name: 'truncated JSON', open: node(body('{"jsonrpc":"2.0","id":1,"resu')), ...once },
  { name: 'HTML with HTTP 200', open: node(status(200)), ...once },
  { name: 'an error as plain text with HTTP 200', open: node(body('Internal error: database is locked')), ...once },
  { name: 'an empty body with HTTP 200', open: node(body('')), ...once },
  {
    name: 'an error with an unknown code and HTTP 200',
    open: node(body('{"error":"something went wrong"}')),
    alone: { status: 200, error: { code: -32000, message: 'something went wrong' } },
    received: [1, 1],
  },
  { name: 'another request’s id', open: node(withId(999_999)), ...once },
  {
    name: 'an impossible result',
    open: nodeThat((bad) => {
      bad.response(storage.method, 7);
    }),
    ...once,
  },
  { name: 'a body larger than allowed', open: node(huge(2)), ...once },
  { name: 'a redirect', open: node(redirect('http://127.0.0.1:1/')), ...once },
  ...statuses,
  { name: 'HTTP 429 without Retry-After', open: node(status(429)), ...once },
  { name: 'HTTP 429 with Retry-After', open: node(retryAfter), ...once },
  {
    name: 'HTTP 429 with a JSON-RPC error',
    open: nodeThat((bad) => {
      bad.response(storage.method, rpcError(-32005, 'rate limit exceeded'));
      bad.always(statusWithResponse(429));
    }),
    ...once,
  },
  { name: 'a correct response under HTTP 500', open: node(statusWithResponse(500)), ...harmless },
  // The chain
  { name: 'another chain', open: nodeThat(otherChain), fromStart: true, ...never },
  {
    name: 'a head that lags',
    open: nodeThat(lags, { eth_getBlockByNumber: head(0x8) }),
    asks: find,
    alone: { status: 200, result: null },
    received: [1, 1],
  },
  {
    name: 'a head that stops',
    open: nodeThat(lags),
    standsStill: true,
    asks: find,
    alone: { status: 200, result: null },
    received: [0, 1],
  },
  // TLS
  { name: 'TLS: plain HTTP on the port', open: wire(undefined, 'https'), fromStart: true, ...never },
  { name: 'TLS: no certificate', open: tls('none'), fromStart: true, ...never },
  { name: 'TLS: an untrusted certificate', open: tls('self-signed'), fromStart: true, ...never },
  {
    name: 'TLS: the handshake hangs',
    open: wire({ kind: 'hang', at: 'accept' }, 'https'),
    fromStart: true,
    isSilent: true,
    ...never,
  },
  // WebSocket
  { name: 'WebSocket: the node is gone', open: socket((bad) => bad.stop()), ...never },
  {
    name: 'WebSocket: handshake rejected with 503',
    open: socket((bad) => {
      bad.rejectUpgradesWith(503);
    }),
    fromStart: true,
    ...never,
  },
  {
    name: 'WebSocket: the handshake hangs',
    open: socket((bad) => {
      bad.rejectUpgradesWith(0);
    }),
    fromStart: true,
    isSilent: true,
    ...never,
  },
  {
    name: 'WebSocket: closed in the handshake',
    open: socket(nothing, { kind: 'close', at: 'headers' }),
    fromStart: true,
    ...never,
  },
  { name: 'WebSocket: closed between calls', open: socket(closeAll), ...harmless },
  {
    name: 'WebSocket: closed during the call',
    open: socketThat(({ socket: its }) => {
      its.close(1011);
    }),
    ...again,
  },
  {
    name: 'WebSocket: reset during the call',
    open: socketThat(({ socket: its }) => {
      its.terminate();
    }),
    ...again,
  },
  {
    name: 'WebSocket: closed in a message',
    open: socket(nothing, { kind: 'close', at: 'body' }),
    mayBeFound,
    ...again,
  },
  { name: 'WebSocket: reset in a message', open: socket(nothing, { kind: 'reset', at: 'body' }), mayBeFound, ...again },
  {
    name: 'WebSocket: hangs in a message',
    open: socket(nothing, { kind: 'hang', at: 'body' }),
    isSilent: true,
    ...once,
  },
  { name: 'WebSocket: no response', open: socketThat(nothing), isSilent: true, ...once },
  { name: 'WebSocket: half-open', open: socket(nothing, { kind: 'vanish' }), isSilent: true, ...never },
  {
    name: 'WebSocket: HTML',
    open: socketThat(({ sendText }) => {
      sendText('<html></html>');
    }),
    ...once,
  },
  {
    name: 'WebSocket: another request’s id',
    open: socketThat(({ sendText }) => {
      sendText('{"jsonrpc":"2.0","id":999999,"result":"0x"}');
    }),
    isSilent: true,
    ...once,
  },
];
