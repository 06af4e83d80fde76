import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import type { Log } from '../config/log.ts';
import type { BatchLimits } from '../handle-body.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { refusalOf } from '../jsonrpc/refusal-of.ts';
import type { Authenticator } from '../keys/authenticate.ts';
import type { Caller } from '../keys/entry-rules.ts';
import { accountOf, type KeyAccess } from '../keys/key-access.ts';
import { digestOf } from '../keys/key.ts';
import type { TrustedProxies } from '../http/trusted-proxies.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { NetworkFinder } from '../network/find-network.ts';
import type { Load } from '../load.ts';
import { noteOf } from '../request-note.ts';
import type { ServedNetwork } from '../served-network.ts';
import type { CallTracing } from '../upstream/trace-calls.ts';
import { endingFor } from './ending.ts';
import { Session } from './session.ts';

/** How often every key in use is confirmed and every session looks at its clock: one timer for all of them. */
const BEAT_MS = 250;
/** At a restart sockets are closed over so long, and so far apart at most: clients come back as soon as they are. */
const STAGGER_MS = 3_000;
const STAGGER_GAP_MS = 100;

export interface WebSocketDoorParts {
  readonly networks: NetworkFinder<ServedNetwork>;
  readonly authenticator: Authenticator;
  readonly limiter: Limiter;
  readonly proxies: TrustedProxies;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Undefined: upgrades and messages are not logged. */
  readonly accessLog: Log | undefined;
  readonly load: Load;
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
interface Open {
  sockets: number;
  subscriptions: number;
}

/** The sessions of one key. */
interface Holder {
  readonly digest: string;
  access: KeyAccess;
  readonly sessions: Set<Session>;
  readonly account: string;
  readonly open: Open;
  isBeingConfirmed: boolean;
}

/** `<base>/ws/v3/<KEY>`: lets WebSockets in, for as long as a call with their key would be let in. */
export class WebSocketDoor {
  readonly #parts: WebSocketDoorParts;
  readonly #server: WebSocketServer;
  readonly #holders = new Map<string, Holder>();
  readonly #accounts = new Map<string, Open>();
  #timer: NodeJS.Timeout | undefined;
  #isDraining = false;

  constructor(parts: WebSocketDoorParts) {
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
  async admit(request: IncomingMessage, wire: Socket, head: Buffer, requestId: string): Promise<void> {
    const note = noteOf(this.#parts.accessLog, requestId);
    try {
      const { network: found, key } = this.#routeOf(request);
      note?.networkIs(found.config.slug);
      const address = this.#parts.proxies.addressOf(request);
      const access = await this.#parts.authenticator.authenticate(key, address);
      note?.keyIs(access.record.id);
      const caller = { network: found.config.slug, address, headers: request.headers };
      access.entry?.admit(caller);
      // It may have been replaced, or be gone, by the time that its key is known.
      const { network } = this.#routeOf(request);
      const digest = digestOf(key);
      const socketsMax = Math.min(this.#parts.socketsPerKey, access.limits?.sockets ?? Infinity);
      if ((this.#accounts.get(accountOf(access))?.sockets ?? 0) >= socketsMax) {
        throw new RpcError('too-many-sockets', undefined, { retryAfterS: 1 });
      }
      const socket = this.#shakeHands(request, wire, head, requestId);
      if (socket !== undefined)
        this.#open(socket, wire, { network, caller, holder: this.#holderOf(digest, access), requestId });
      note?.write(socket === undefined ? 'aborted' : 'upgraded');
    } catch (error) {
      const refusal = refusalOf(error, requestId, this.#parts.log);
      this.#parts.metrics.refused(refusal.reason);
      note?.write(refusal.reason);
      throw refusal;
    }
  }

  /** Closes all sockets, one after the other within half of `limitMs`, each when its calls under way are answered. */
  drain(limitMs: number): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    const sessions = [...this.#holders.values()].flatMap((holder) => [...holder.sessions]);
    const gap = Math.min(STAGGER_GAP_MS, Math.min(STAGGER_MS, limitMs / 2) / sessions.length);
    for (const [index, session] of sessions.entries()) {
      setTimeout(() => {
        session.leave('stopping');
      }, gap * index).unref();
    }
  }

  /** The networks are others than before: sockets go on with what theirs is now, or end where it is no more. */
  follow(): void {
    for (const { sessions } of this.#holders.values()) {
      for (const session of sessions) {
        const { slug, chainId } = session.network.config;
        const network = this.#parts.networks.named(slug);
        if (network?.config.chainId === chainId) session.moveTo(network);
        else session.leave('network-gone');
      }
    }
  }

  #routeOf(request: IncomingMessage): { network: ServedNetwork; key: string } {
    if (this.#isDraining) throw new RpcError('stopping');
    const route = this.#parts.networks.find(request.url ?? '', this.#parts.proxies.hostOf(request));
    if (route?.network === undefined) throw new RpcError('unknown-network', this.#parts.networks.hint);
    // One address for each transport, so that what stands in front of a gateway can tell them apart.
    if (!route.isWebSocket) throw new RpcError('unknown-network', 'WebSocket is at <base URL>/ws/v3/<key>');
    return { network: route.network, key: route.key };
  }

  /** @returns undefined when the caller has left */
  #shakeHands(request: IncomingMessage, wire: Socket, head: Buffer, requestId: string): WebSocket | undefined {
    let socket: WebSocket | undefined;
    let complaint: string | undefined;
    const addRequestId = (headers: string[]): void => void headers.push(`X-Request-Id: ${requestId}`);
    const noteComplaint = (error: Error): void => void (complaint = error.message);
    // All of it happens within the call: there is nothing to wait for.
    this.#server.on('headers', addRequestId).on('wsClientError', noteComplaint);
    this.#server.handleUpgrade(request, wire, head, (opened) => (socket = opened));
    this.#server.off('headers', addRequestId).off('wsClientError', noteComplaint);
    if (complaint !== undefined) throw new RpcError('bad-http', `bad HTTP request: ${complaint}`);
    return socket;
  }

  #holderOf(digest: string, access: KeyAccess): Holder {
    const known = this.#holders.get(digest);
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
    wire: Socket,
    own: { network: ServedNetwork; caller: Caller; holder: Holder; requestId: string },
  ): void {
    const { network, holder } = own;
    const { digest, account, open } = holder;
    const session = new Session(socket, wire, { ...this.#parts, ...own }, (reason) => {
      network.sockets.closed(reason);
      holder.sessions.delete(session);
      if (--open.sockets === 0) this.#accounts.delete(account);
      if (holder.sessions.size === 0) this.#holders.delete(digest);
      if (this.#holders.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    });
    network.sockets.opened();
    holder.sessions.add(session);
    this.#holders.set(digest, holder);
    open.sockets++;
    this.#accounts.set(account, open);
    this.#timer ??= setInterval(() => {
      this.#beat();
    }, BEAT_MS).unref();
  }

  #beat(): void {
    const now = performance.now();
    for (const holder of this.#holders.values()) {
      this.#confirm(holder);
      for (const session of holder.sessions) session.beat(now);
    }
  }

  /** Costs a look-up only where the store told of a change, or may have missed to. */
  #confirm(holder: Holder): void {
    if (holder.isBeingConfirmed) return;
    const confirmed = this.#parts.authenticator.confirm(holder.digest, BEAT_MS);
    if (!(confirmed instanceof Promise)) {
      holder.access = confirmed;
      return;
    }
    holder.isBeingConfirmed = true;
    confirmed
      .then((access) => {
        holder.access = access;
      })
      .catch((error: unknown) => {
        for (const session of holder.sessions) session.end(endingFor(error));
      })
      .finally(() => {
        holder.isBeingConfirmed = false;
      });
  }
}
