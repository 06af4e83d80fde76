import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import type { Log } from '../../config/log.ts';
import type { BatchLimits } from '../../rpc/handle-body.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import { rejectionOf } from '../../jsonrpc/rejection-of.ts';
import type { Authenticator } from '../../auth/authenticate.ts';
import type { Caller } from '../../auth/permissions/entry-permissions.ts';
import { accountOf, type KeyAccess } from '../../auth/key-access.ts';
import { digestOf } from '../../auth/formats/key.ts';
import type { TrustedProxies } from '../http/trusted-proxies.ts';
import type { Limiter } from '../../limits/limiter.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import type { NetworkFinder } from '../../networks/find-network.ts';
import type { MemoryBudget } from '../../limits/memory-budget.ts';
import { openAccessLogEntry } from '../../observability/access-log.ts';
import type { Network } from '../../networks/network.ts';
import type { CallTracing } from '../../observability/tracing.ts';
import { closeReasonFor } from './close-codes.ts';
import { Session } from './session.ts';

/** How often every key in use is confirmed and every session looks at its clock: one timer for all of them. */
const TICK_MS = 250;
/** At a restart sockets are closed over so long, and so far apart at most: clients come back as soon as they are. */
const STAGGER_MS = 3_000;
const STAGGER_GAP_MS = 100;

export interface WebSocketUpgradesOptions {
  readonly networks: NetworkFinder<Network>;
  readonly authenticator: Authenticator;
  readonly limiter: Limiter;
  readonly proxies: TrustedProxies;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Undefined: upgrades and messages are not logged. */
  readonly accessLog: Log | undefined;
  readonly memory: MemoryBudget;
  readonly callTimeoutMs: number;
  readonly batch: BatchLimits;
  readonly messageMaxBytes: number;
  readonly messagesMax: number;
  readonly unreadMaxBytes: number;
  readonly socketsPerKey: number;
  readonly subscriptionsPerKey: number;
  readonly tracing: CallTracing | undefined;
}

/** What the keys of one account have open: a key, and those that it was rotated to. */
interface OpenCounts {
  sockets: number;
  subscriptions: number;
}

/** The sessions of one key. */
interface KeySessions {
  readonly digest: string;
  access: KeyAccess;
  readonly sessions: Set<Session>;
  readonly account: string;
  readonly open: OpenCounts;
  isBeingConfirmed: boolean;
}

/** `<base>/ws/v3/<KEY>`: lets WebSockets in, for as long as a call with their key would be let in. */
export class WebSocketUpgrades {
  readonly #parts: WebSocketUpgradesOptions;
  readonly #server: WebSocketServer;
  readonly #keySessions = new Map<string, KeySessions>();
  readonly #accounts = new Map<string, OpenCounts>();
  #timer: NodeJS.Timeout | undefined;
  #isDraining = false;

  constructor(parts: WebSocketUpgradesOptions) {
    this.#parts = parts;
    this.#server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      // It costs 300 kB a socket and more time than it saves (ws' README).
      perMessageDeflate: false,
      maxPayload: parts.messageMaxBytes,
    });
  }

  /** @param head what was read after the request  @throws RpcError (rejects with it): refused, before 101 */
  async upgrade(request: IncomingMessage, connection: Socket, head: Buffer, requestId: string): Promise<void> {
    const logEntry = openAccessLogEntry(this.#parts.accessLog, requestId);
    try {
      const { network: found, key } = this.#routeOf(request);
      logEntry?.setNetwork(found.config.slug);
      const address = this.#parts.proxies.addressOf(request);
      const access = await this.#parts.authenticator.authenticate(key, address);
      logEntry?.setKey(access.record.id);
      const caller = { network: found.config.slug, address, headers: request.headers };
      access.entry?.check(caller);
      // It may have been replaced, or be gone, by the time that its key is known.
      const { network } = this.#routeOf(request);
      const digest = digestOf(key);
      const socketsMax = Math.min(this.#parts.socketsPerKey, access.limits?.sockets ?? Infinity);
      if ((this.#accounts.get(accountOf(access))?.sockets ?? 0) >= socketsMax) {
        throw new RpcError('too-many-sockets', undefined, { retryAfterS: 1 });
      }
      const socket = this.#completeHandshake(request, connection, head, requestId);
      if (socket !== undefined)
        this.#open(socket, connection, { network, caller, keySessions: this.#sessionsOf(digest, access), requestId });
      logEntry?.write(socket === undefined ? 'aborted' : 'upgraded');
    } catch (error) {
      const rejection = rejectionOf(error, requestId, this.#parts.log);
      this.#parts.metrics.rejected(rejection.reason);
      logEntry?.write(rejection.reason);
      throw rejection;
    }
  }

  /** Closes all sockets, one after the other within half of `limitMs`, each when its calls under way are answered. */
  drain(timeoutMs: number): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    const sessions = [...this.#keySessions.values()].flatMap((keySessions) => [...keySessions.sessions]);
    const gap = Math.min(STAGGER_GAP_MS, Math.min(STAGGER_MS, timeoutMs / 2) / sessions.length);
    for (const [index, session] of sessions.entries()) {
      setTimeout(() => {
        session.drain('stopping');
      }, gap * index).unref();
    }
  }

  /** The networks are others than before: sockets go on with what theirs is now, or end where it is no more. */
  followNetworks(): void {
    for (const { sessions } of this.#keySessions.values()) {
      for (const session of sessions) {
        const { slug, chainId } = session.network.config;
        const network = this.#parts.networks.get(slug);
        if (network?.config.chainId === chainId) session.moveTo(network);
        else session.drain('network-gone');
      }
    }
  }

  #routeOf(request: IncomingMessage): { network: Network; key: string } {
    if (this.#isDraining) throw new RpcError('stopping');
    const route = this.#parts.networks.find(request.url ?? '', this.#parts.proxies.hostOf(request));
    if (route?.network === undefined) throw new RpcError('unknown-network', this.#parts.networks.hint);
    // One address for each transport, so that what stands in front of a gateway can tell them apart.
    if (!route.isWebSocket) throw new RpcError('unknown-network', 'WebSocket is at <base URL>/ws/v3/<key>');
    return { network: route.network, key: route.key };
  }

  /** @returns undefined when the caller has left */
  #completeHandshake(
    request: IncomingMessage,
    connection: Socket,
    head: Buffer,
    requestId: string,
  ): WebSocket | undefined {
    let socket: WebSocket | undefined;
    let problem: string | undefined;
    const addRequestId = (headers: string[]): void => void headers.push(`X-Request-Id: ${requestId}`);
    const onClientError = (error: Error): void => void (problem = error.message);
    // All of it happens within the call: there is nothing to wait for.
    this.#server.on('headers', addRequestId).on('wsClientError', onClientError);
    this.#server.handleUpgrade(request, connection, head, (opened) => (socket = opened));
    this.#server.off('headers', addRequestId).off('wsClientError', onClientError);
    if (problem !== undefined) throw new RpcError('bad-http', `bad HTTP request: ${problem}`);
    return socket;
  }

  #sessionsOf(digest: string, access: KeyAccess): KeySessions {
    const known = this.#keySessions.get(digest);
    if (known !== undefined) {
      known.access = access;
      return known;
    }
    const account = accountOf(access);
    const open = this.#accounts.get(account) ?? { sockets: 0, subscriptions: 0 };
    return { digest, access, account, open, sessions: new Set(), isBeingConfirmed: false };
  }

  #open(
    socket: WebSocket,
    connection: Socket,
    own: { network: Network; caller: Caller; keySessions: KeySessions; requestId: string },
  ): void {
    const { network, keySessions } = own;
    const { digest, account, open } = keySessions;
    const session = new Session(socket, connection, { ...this.#parts, ...own }, (reason) => {
      network.sockets.closed(reason);
      keySessions.sessions.delete(session);
      if (--open.sockets === 0) this.#accounts.delete(account);
      if (keySessions.sessions.size === 0) this.#keySessions.delete(digest);
      if (this.#keySessions.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    });
    network.sockets.opened();
    keySessions.sessions.add(session);
    this.#keySessions.set(digest, keySessions);
    open.sockets++;
    this.#accounts.set(account, open);
    this.#timer ??= setInterval(() => {
      this.#tick();
    }, TICK_MS).unref();
  }

  #tick(): void {
    const now = performance.now();
    for (const keySessions of this.#keySessions.values()) {
      this.#recheckKey(keySessions);
      for (const session of keySessions.sessions) session.tick(now);
    }
  }

  /** Costs a look-up only where the store told of a change, or may have missed to. */
  #recheckKey(keySessions: KeySessions): void {
    if (keySessions.isBeingConfirmed) return;
    const confirmed = this.#parts.authenticator.confirm(keySessions.digest, TICK_MS);
    if (!(confirmed instanceof Promise)) {
      keySessions.access = confirmed;
      return;
    }
    keySessions.isBeingConfirmed = true;
    confirmed
      .then((access) => {
        keySessions.access = access;
      })
      .catch((error: unknown) => {
        for (const session of keySessions.sessions) session.close(closeReasonFor(error));
      })
      .finally(() => {
        keySessions.isBeingConfirmed = false;
      });
  }
}
