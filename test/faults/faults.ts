import { body, huge, redirect, status, statusWithResponse, withId, type Behaviour } from '../support/behaviours.ts';
import { eventually } from '../support/eventually.ts';
import { rpcError, type FakeNode } from '../support/fake-node.ts';
import type { FakeWebSocketNode, ReceivedCall } from '../support/fake-websocket-node.ts';
import {
  blackHole,
  head,
  unreachable,
  node,
  changedNode,
  socket,
  tls,
  transaction,
  connection,
  word,
  type BadUpstream,
} from './bad-upstream.ts';

/** One way in which an upstream fails, and the outcome: a row of the table `upstreams` in docs/measured/faults.md. */
export interface Fault {
  readonly name: string;
  readonly open: () => Promise<BadUpstream>;
  /** Failure before the gateway starts. Otherwise the upstream first serves a call, so that there are connections to it. */
  readonly failsFromStart?: true;
  /** Only the attempt's timeout ends the call. The network file has a short one for it. */
  readonly isSilent?: true;
  /** The response to clients if there is no other upstream. */
  readonly alone: Outcome;
  /** The number of calls that it receives: with a working upstream, and alone. */
  readonly received: readonly [pair: number, alone: number];
  /** A poll of its head may fail first. Then the call is not sent to it. */
  readonly mayFailPoll?: true;
  /** Upstream that returns the correct response, so that no other upstream gets the call. */
  readonly isHarmless?: true;
  /** Upstream whose head stops while that of the working upstream advances. */
  readonly hasStoppedHead?: true;
  /** Default: `storage`. */
  readonly call?: ExpectedCall;
}

export interface Outcome {
  readonly status: number;
  readonly error?: { readonly code: number; readonly message: string };
  readonly result?: unknown;
}

/** A call and its correct result. */
export interface ExpectedCall {
  readonly method: string;
  readonly params: readonly unknown[];
  readonly result: unknown;
}

export const storage: ExpectedCall = {
  method: 'eth_getStorageAt',
  params: [`0x${'11'.repeat(20)}`, '0x2a', 'latest'],
  result: word,
};
const lookup: ExpectedCall = { method: 'eth_getTransactionByHash', params: [transaction.hash], result: transaction };

const allFailed: Outcome = { status: 503, error: { code: -32603, message: 'no upstream could answer' } };
const correctOutcome: Outcome = { status: 200, result: word };

/** Upstream that receives the call once; another upstream, if there is one, gets it next. */
const once = { alone: allFailed, received: [1, 1] } as const;
/** A reused connection fails during the call. Without another upstream, the call is sent once more. */
const again = { alone: allFailed, received: [1, 2] } as const;
const mayFailPoll = true;
/** Upstream that never receives the call. */
const never = { alone: allFailed, received: [0, 0] } as const;
/** Upstream that returns the correct response, so that no other upstream gets the call. */
const harmless = { alone: correctOutcome, received: [1, 1], isHarmless: true } as const;

/** Responses of proxies in front of nodes. */
const statuses = [401, 403, 500, 502, 503, 504].map((code) => ({
  name: `HTTP ${code} with a page of HTML`,
  open: node(status(code)),
  ...once,
}));

const retryAfter: Behaviour = ({ response }) => void response.writeHead(429, { 'retry-after': '30' }).end();

function lags(bad: FakeNode): void {
  bad.response(lookup.method, null);
}

function otherChain(bad: FakeNode): void {
  bad.response('eth_chainId', '0x8');
}

/** Closes its sockets, and waits until the gateway has closed them, too. A head poll may open another meanwhile. */
async function closeAll(bad: FakeWebSocketNode): Promise<void> {
  const sockets = [...bad.sockets];
  for (const each of sockets) each.close(1001);
  await eventually(() => sockets.every((each) => !bad.sockets.has(each)));
}

function socketWith(behaviour: (call: ReceivedCall) => void): () => Promise<BadUpstream> {
  return socket((bad) => {
    bad.onCall(behaviour);
  });
}

function nothing(): void {
  // The connection fails, or the node never responds.
}

export const faults: readonly Fault[] = [
  // Connections
  { name: 'connection refused', open: connection({ kind: 'refuse' }), ...never },
  {
    name: 'host name unknown to DNS',
    open: unreachable('http://nowhere.invalid'),
    failsFromStart: true,
    isSilent: true,
    ...never,
  },
  { name: 'connecting hangs', open: blackHole, failsFromStart: true, isSilent: true, ...never },
  { name: 'accepted, then reset', open: connection({ kind: 'reset', at: 'accept' }), ...never },
  { name: 'accepted, then nothing', open: connection({ kind: 'hang', at: 'accept' }), isSilent: true, ...never },
  { name: 'half-open: the peer disappears', open: connection({ kind: 'vanish' }), isSilent: true, ...never },
  { name: 'reset after the request', open: connection({ kind: 'reset', at: 'request' }), ...never },
  { name: 'closed after the request', open: connection({ kind: 'close', at: 'request' }), ...never },
  // Responses
  { name: 'reset before the headers', open: connection({ kind: 'reset', at: 'response' }), ...again },
  { name: 'reset in the headers', open: connection({ kind: 'reset', at: 'headers' }), ...again },
  { name: 'reset after the headers', open: connection({ kind: 'reset', at: 'body-start' }), ...once },
  { name: 'reset in the body', open: connection({ kind: 'reset', at: 'body' }), ...once },
  { name: 'closed in the body', open: connection({ kind: 'close', at: 'body' }), ...once },
  { name: 'hangs before the headers', open: connection({ kind: 'hang', at: 'response' }), isSilent: true, ...once },
  { name: 'hangs in the headers', open: connection({ kind: 'hang', at: 'headers' }), isSilent: true, ...once },
  { name: 'hangs after the headers', open: connection({ kind: 'hang', at: 'body-start' }), isSilent: true, ...once },
  { name: 'hangs in the body', open: connection({ kind: 'hang', at: 'body' }), isSilent: true, ...once },
  { name: 'byte by byte', open: connection({ kind: 'dribble' }), ...harmless },
  // Contents of responses
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
    open: changedNode((bad) => {
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
    open: changedNode((bad) => {
      bad.response(storage.method, rpcError(-32005, 'rate limit exceeded'));
      bad.always(statusWithResponse(429));
    }),
    ...once,
  },
  { name: 'a correct response under HTTP 500', open: node(statusWithResponse(500)), ...harmless },
  // The chain
  { name: 'another chain', open: changedNode(otherChain), failsFromStart: true, ...never },
  {
    name: 'a head that lags',
    open: changedNode(lags, { eth_getBlockByNumber: head(0x8) }),
    call: lookup,
    alone: { status: 200, result: null },
    received: [1, 1],
  },
  {
    name: 'a head that stops',
    open: changedNode(lags),
    hasStoppedHead: true,
    call: lookup,
    alone: { status: 200, result: null },
    received: [0, 1],
  },
  // TLS
  { name: 'TLS: plain HTTP on the port', open: connection(undefined, 'https'), failsFromStart: true, ...never },
  { name: 'TLS: no certificate', open: tls('none'), failsFromStart: true, ...never },
  { name: 'TLS: an untrusted certificate', open: tls('self-signed'), failsFromStart: true, ...never },
  {
    name: 'TLS: the handshake hangs',
    open: connection({ kind: 'hang', at: 'accept' }, 'https'),
    failsFromStart: true,
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
    failsFromStart: true,
    ...never,
  },
  {
    name: 'WebSocket: the handshake hangs',
    open: socket((bad) => {
      bad.rejectUpgradesWith(0);
    }),
    failsFromStart: true,
    isSilent: true,
    ...never,
  },
  {
    name: 'WebSocket: closed in the handshake',
    open: socket(nothing, { kind: 'close', at: 'headers' }),
    failsFromStart: true,
    ...never,
  },
  { name: 'WebSocket: closed between calls', open: socket(closeAll), mayFailPoll, ...harmless },
  {
    name: 'WebSocket: closed during the call',
    open: socketWith(({ socket: its }) => {
      its.close(1011);
    }),
    ...again,
  },
  {
    name: 'WebSocket: reset during the call',
    open: socketWith(({ socket: its }) => {
      its.terminate();
    }),
    ...again,
  },
  {
    name: 'WebSocket: closed in a message',
    open: socket(nothing, { kind: 'close', at: 'body' }),
    mayFailPoll,
    ...again,
  },
  {
    name: 'WebSocket: reset in a message',
    open: socket(nothing, { kind: 'reset', at: 'body' }),
    mayFailPoll,
    ...again,
  },
  {
    name: 'WebSocket: hangs in a message',
    open: socket(nothing, { kind: 'hang', at: 'body' }),
    isSilent: true,
    mayFailPoll,
    ...once,
  },
  { name: 'WebSocket: no response', open: socketWith(nothing), isSilent: true, mayFailPoll, ...once },
  { name: 'WebSocket: half-open', open: socket(nothing, { kind: 'vanish' }), isSilent: true, ...never },
  {
    name: 'WebSocket: HTML',
    open: socketWith(({ sendText }) => {
      sendText('<html></html>');
    }),
    ...once,
  },
  {
    name: 'WebSocket: another request’s id',
    open: socketWith(({ sendText }) => {
      sendText('{"jsonrpc":"2.0","id":999999,"result":"0x"}');
    }),
    isSilent: true,
    mayFailPoll,
    ...once,
  },
];
