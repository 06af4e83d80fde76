import type { Socket } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import { clock, type Timer } from '../../clock/clock.ts';
import { exhaustedLimit, hasInfuraErrors, limitError } from '../../call/charge.ts';
import { openVerification } from '../../call/verification.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import type { KeyAccess, PublicCaller } from '../../auth/key-access.ts';
import { digestOf } from '../../auth/formats/key.ts';
import { OpenCounts } from '../../limits/open-counts.ts';
import type { IncomingRequest } from '../http/client-connection.ts';
import { accessOf, checkAccess, keyOf, recordRejection } from '../http/find-caller.ts';
import type { RequestOptions } from '../http/request-options.ts';
import { openAccessLogEntry } from '../../observability/access-log.ts';
import type { Network } from '../../call/call.ts';
import type { ProcessBounds } from '../../config/process-bounds.ts';
import { closeReasonFor, type CloseReason } from './close-codes.ts';
import type { WorkerLink } from '../../workers/worker-link.ts';
import { KeySessions } from './key-sessions.ts';
import { Session, type SessionOptions } from './session.ts';
import { TICK_MS } from './socket-buffers.ts';
import { MAX_FRAGMENTS } from './ws-internals.ts';

/** A drain closes sockets within this time, at most this far apart: clients reconnect as soon as they are closed. */
const STAGGER_MS = 3_000;
const STAGGER_GAP_MS = 100;

export interface WebSocketUpgradesOptions extends RequestOptions {
  readonly messageMaxBytes: number;
  readonly bounds: ProcessBounds;
  /** Link to the other workers; undefined: the gateway has one worker. */
  readonly link: WorkerLink | undefined;
}

/**
 * Handles upgrades at `<base>/ws/v3/<KEY>`, and at `<base>/ws` without a key. Closes their sockets when a call with their key
 * would be rejected.
 */
export class WebSocketUpgrades {
  readonly #options: WebSocketUpgradesOptions;
  readonly #server: WebSocketServer;
  readonly #keySessions = new Map<string, KeySessions>();
  readonly #counts: OpenCounts;
  #timer: Timer | undefined;
  #isDraining = false;

  constructor(options: WebSocketUpgradesOptions) {
    this.#options = options;
    this.#counts = new OpenCounts(options.link);
    this.#server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      // Compression costs 300 kB per socket and more time than it saves (README of ws).
      perMessageDeflate: false,
      maxPayload: options.messageMaxBytes,
      maxFragments: MAX_FRAGMENTS,
    });
  }

  /** @param head bytes read after the request  @throws RpcError (rejects with it) if rejected, before 101 */
  async upgrade(request: IncomingRequest, connection: Socket, head: Buffer): Promise<void> {
    const options = this.#options;
    const logEntry = (request.logEntry = openAccessLogEntry(options.accessLog, request.id));
    try {
      this.#findNetwork(request);
      const key = keyOf(options, request);
      const found = await accessOf(options, request);
      checkAccess(options, request, found);
      const { id: requestId, access, headers } = request;
      // A key that is revoked meanwhile is found by the checks of open sockets.
      await this.#takeSocket(access);
      let isOpen = false;
      try {
        options.memory.guard?.admit(access.account);
        // A reload may have replaced or removed the network while the key was looked up.
        const network = this.#findNetwork(request);
        const verify = headers['x-gatehouse-verify'];
        openVerification(network, access, verify);
        const usedUp = this.#usedUpQuota(access, network);
        if (usedUp !== undefined) throw usedUp;
        const socket = this.#completeHandshake(request, connection, head);
        if (socket !== undefined) {
          const caller = { network: network.config.slug, address: options.proxies.addressOf(request), headers };
          const digest = access.publicCaller === undefined ? digestOf(key) : access.account.name;
          const keySessions = this.#sessionsOf(digest, found, access !== found);
          const origin = options.proxies.originOf(request);
          this.#open(socket, connection, { network, caller, origin, verify, keySessions, requestId });
          isOpen = true;
        }
      } finally {
        if (!isOpen) this.#counts.add(access, 'sockets', -1);
      }
      logEntry?.write(isOpen ? 'upgraded' : 'aborted');
    } catch (error) {
      const rejection = recordRejection(options, request, error);
      logEntry?.write(rejection.reason);
      throw rejection;
    }
  }

  /** Closes all sockets, one after another within half of `timeoutMs`, each after its calls in progress. */
  drain(timeoutMs: number): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    const sessions = [...this.#keySessions.values()].flatMap((keySessions) => [...keySessions.sessions]);
    const gapMs = Math.min(STAGGER_GAP_MS, Math.min(STAGGER_MS, timeoutMs / 2) / sessions.length);
    for (const [index, session] of sessions.entries()) {
      clock
        .setTimeout(() => {
          session.drain('stopping');
        }, gapMs * index)
        .unref();
    }
  }

  /** Moves sockets to their network's active configuration, or drains them. To be called after a reload. */
  followNetworks(): void {
    for (const { sessions } of this.#keySessions.values()) {
      for (const session of sessions) {
        const { slug, chainId } = session.network.config;
        const network = this.#options.networks.get(slug);
        if (network?.config.chainId === chainId) session.moveTo(network);
        else session.drain('network-gone');
      }
    }
  }

  /** Closes all sockets of an account, with their subscriptions. */
  closeThoseOf(account: string, reason: CloseReason): void {
    for (const { access, sessions } of this.#keySessions.values()) {
      if (access.account.memoryOwner.name === account) for (const session of [...sessions]) session.close(reason);
    }
  }

  /** Counts a socket that is about to open. @throws RpcError too-many-sockets (rejects with it) */
  async #takeSocket(access: KeyAccess): Promise<void> {
    const { socketsPerKey } = this.#options.bounds;
    const shortOf = await this.#counts.take(access, 'sockets', 1, {
      own: access.limits?.sockets ?? socketsPerKey,
      all: access.publicCaller?.of.total.sockets ?? socketsPerKey,
    });
    if (shortOf === 'own') throw new RpcError('too-many-sockets');
    if (shortOf === 'all') throw new RpcError('too-many-sockets', 'too many WebSockets without project id');
  }

  #findNetwork(request: IncomingRequest): Network {
    if (this.#isDraining) throw new RpcError('stopping');
    const target = request.clientConnection.target(this.#options, request);
    if (target?.network === undefined) throw new RpcError('unknown-network', this.#options.networks.hint);
    // Each transport has its own address, so that proxies in front of the gateway can distinguish them.
    if (!target.isWebSocket) throw new RpcError('unknown-network', 'WebSocket is at <base URL>/ws/v3/<key>');
    request.target = target;
    request.logEntry?.setNetwork(target.network.config.slug);
    return (request.network = target.network);
  }

  /** @returns undefined if the client has disconnected */
  #completeHandshake(request: IncomingRequest, connection: Socket, head: Buffer): WebSocket | undefined {
    let socket: WebSocket | undefined;
    let problem: string | undefined;
    const addRequestId = (headers: string[]): void => void headers.push(`X-Request-Id: ${request.id}`);
    const onClientError = (error: Error): void => void (problem = error.message);
    // `handleUpgrade` calls back synchronously.
    this.#server.on('headers', addRequestId).on('wsClientError', onClientError);
    this.#server.handleUpgrade(request, connection, head, (opened) => (socket = opened));
    this.#server.off('headers', addRequestId).off('wsClientError', onClientError);
    if (problem !== undefined) throw new RpcError('bad-http', `bad HTTP request: ${problem}`);
    return socket;
  }

  /** @param found the access without the secret */
  #sessionsOf(digest: string, found: KeyAccess, hasSecret: boolean): KeySessions {
    const opened = new KeySessions(digest, found, this.#counts, hasSecret);
    const known = this.#keySessions.get(opened.name);
    if (known === undefined) return opened;
    known.found = found;
    return known;
  }

  #open(
    socket: WebSocket,
    connection: Socket,
    own: Pick<SessionOptions, 'network' | 'caller' | 'origin' | 'verify' | 'requestId'> & { keySessions: KeySessions },
  ): void {
    const { network, keySessions } = own;
    const { name } = keySessions;
    const session = new Session(socket, connection, { ...this.#options, ...own }, (reason) => {
      network.metrics.socketClosed(reason);
      keySessions.remove(session);
      if (keySessions.sessions.size === 0) this.#keySessions.delete(name);
      if (this.#keySessions.size > 0) return;
      clock.clearInterval(this.#timer);
      this.#timer = undefined;
    });
    network.metrics.socketOpened();
    keySessions.add(session);
    this.#keySessions.set(name, keySessions);
    if (this.#timer !== undefined) return;
    // Those that were used up while no socket was open.
    this.#counts.takeUsedUp();
    this.#timer = clock
      .setInterval(() => {
        this.#tick();
      }, TICK_MS)
      .unref();
  }

  #tick(): void {
    const now = clock.now();
    const usedUp = this.#counts.takeUsedUp();
    for (const keySessions of this.#keySessions.values()) {
      this.#recheckKey(keySessions);
      const isUsedUp = usedUp.size > 0 && keySessions.isOneOf(usedUp);
      for (const session of [...keySessions.sessions]) {
        session.tick(now);
        const [{ access }, { network }] = [keySessions, session];
        const isOver = isUsedUp
          ? hasInfuraErrors({ access, network })
          : this.#usedUpQuota(access, network) !== undefined;
        if (isOver) session.drain('quota-used-up');
      }
    }
  }

  /** The error of a quota that is used up, if errors have Infura's form: then the key has no sockets, as there. */
  #usedUpQuota(access: KeyAccess, network: Network): RpcError | undefined {
    if (!hasInfuraErrors({ access, network })) return undefined;
    const shortage = exhaustedLimit({ access, limiter: this.#options.limiter });
    return shortage === undefined || shortage.reason === 'rate-limit'
      ? undefined
      : limitError(shortage, { access, network });
  }

  /** A reload may have changed or removed `public` of the network. All sessions of an address are on one network. */
  #recheckPublic(keySessions: KeySessions, { of, address }: PublicCaller): void {
    for (const session of keySessions.sessions) {
      const { publicAccess } = session.network;
      if (publicAccess === of) return;
      if (publicAccess === undefined) session.close('key-missing');
      else keySessions.found = publicAccess.accessOf(address);
    }
  }

  /** Looks the key up only if the key store has reported a change, or may have missed one. */
  #recheckKey(keySessions: KeySessions): void {
    const { publicCaller } = keySessions.access;
    if (publicCaller !== undefined) {
      this.#recheckPublic(keySessions, publicCaller);
      return;
    }
    if (keySessions.isBeingConfirmed) return;
    const closeAll = (error: unknown): void => {
      for (const session of keySessions.sessions) session.close(closeReasonFor(error));
    };
    try {
      const confirmed = this.#options.authenticator.confirm(keySessions.digest, keySessions.found, TICK_MS);
      if (!(confirmed instanceof Promise)) {
        keySessions.found = confirmed;
        return;
      }
      keySessions.isBeingConfirmed = true;
      confirmed
        .then((access) => {
          keySessions.found = access;
        })
        .catch(closeAll)
        .finally(() => {
          keySessions.isBeingConfirmed = false;
        });
    } catch (error) {
      closeAll(error);
    }
  }
}
