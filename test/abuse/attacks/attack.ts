import type { Traffic } from '../processes/traffic.ts';

/** What one hostile client does. It runs in a process of its own (processes/attacker.ts) until that process is stopped. */
export interface Attack {
  /** A heading of the test and a cell of docs/measured/attacks.md. */
  readonly name: string;
  /** What it sends, for docs/measured/attacks.md. */
  readonly sends: string;
  /** What limits the harm, for docs/measured/attacks.md. */
  readonly bound: string;
  /** How long the neighbour is measured while it runs. */
  readonly seconds: number;
  /** The neighbour's pause after each request while it runs. Default: none. */
  readonly neighbourPauseMs?: number;
  /** The neighbour's calls of this first time do not count: the gateway learns what the upstream does. Default: none. */
  readonly learningSeconds?: number;
  /** Permissions and limits of its key. Undefined: it has no key, and a client address of its own. */
  readonly key: Readonly<Record<string, number>> | undefined;
  /** `public` of the network, whose base URL is the path. Undefined: calls need a key. */
  readonly public?: object;
  /** Attacker with the address of a trusted proxy. */
  readonly isProxy?: true;
  /** The upstream has a new block with so many logs every second. Undefined: one block without logs. */
  readonly logsPerBlock?: number;
  /** Calls that the upstream has in progress at once, slow ones too. Undefined: `upstreamCapacity`, without the slow ones. */
  readonly upstreamPlaces?: number;
  /** Attacker as the upstream of `hostileNetwork`, at `target.upstreamPort`, over these transports. */
  readonly isUpstream?: readonly ('http' | 'websocket')[];
  /** Heap of the gateway, with which Node starts. Undefined: Node's default. */
  readonly heapMb?: number;
  /** The table of docs/measured/attacks.md does not have it yet: `npm run test:all -- abuse --write`, then without this. */
  readonly isUnmeasured?: true;
  /** What it must have sent by the end, or it has not taken place. */
  readonly atLeast: { readonly connections: number; readonly bytes: number };
  /** Starts it. It continues by timers and events of its connections. */
  start(target: Target, traffic: Traffic): void;
}

/** The gateway under attack. */
export interface Target {
  readonly port: number;
  readonly opsPort: number;
  /** Port for an attack by an upstream. */
  readonly upstreamPort: number;
  /** `/<slug>/v3/<key>`, with a key that does not exist if the attack has none; `/<slug>` of a network with `public`. */
  readonly path: string;
  /** `/<slug>/ws/v3/<key>` */
  readonly socketPath: string;
  /** The client address of the attacker. */
  readonly localAddress: string;
}

/**
 * An attack with a key has the neighbour's address, so that only its key distinguishes it. An attack without a key has
 * another address, because bounds without a key are bounds per address.
 */
export const addresses = { neighbour: '127.0.0.1', withoutKey: '127.0.0.2' } as const;

/** The network of an attack by an upstream. */
export const hostileNetwork = { slug: 'hostile', chainId: 7_777 } as const;

/** `eth_call` to this address has a response in chunks of one byte. */
export const CHUNKED_ACCOUNT = `0x${'13'.repeat(20)}`;
/** `eth_call` to this address fails at the upstream, as its `data` says: the position in `failuresOfUpstream`. */
export const FAILING_ACCOUNT = `0x${'14'.repeat(20)}`;
/** HTTP statuses, or the text of a JSON-RPC error. `0`: the connection is closed. 429 has `Retry-After: 600`. */
export const failuresOfUpstream = [429, 403, 500, 0, 'too many requests, retry in 600s', 'forbidden'] as const;
/** Bytes of the contract that the upstream returns for every `eth_getCode`: a response has twice as many characters. */
export const CODE_BYTES = 450_000;
/** `eth_call` to this address takes this long, and no place of the upstream, unless the attack has `upstreamPlaces`. */
export const SLOW_ACCOUNT = `0x${'15'.repeat(20)}`;
export const SLOW_MS = 9_000;
/** `eth_getStorageAt` of this address takes the one time and the other in turn, and no place of the upstream. */
export const STEERING_ACCOUNT = `0x${'16'.repeat(20)}`;
export const steeringMs = { slow: 400, quick: 20, phase: 150 } as const;
/** Calls that the upstream has in progress at once, as many as the gateway sends by default, and how long each takes. */
export const upstreamCapacity = { calls: 256, latencyMs: 200 } as const;
