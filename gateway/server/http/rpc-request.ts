import type { IncomingMessage, ServerResponse } from 'node:http';
import { handleBody, rejectBody } from '../../rpc/handle-body.ts';
import { bodyRejectionResponse, type RpcResponse } from '../../jsonrpc/response.ts';
import { RpcError, type Reason } from '../../jsonrpc/errors.ts';
import { rejectionOf } from '../../jsonrpc/rejection-of.ts';
import { originMatcher } from '../../auth/formats/origin-pattern.ts';
import { namesOrigin, type KeyAccess } from '../../auth/key-access.ts';
import { sentKey } from '../../auth/sent-key.ts';
import type { ReplaceableConfig } from '../../network-files/network-config.ts';
import type { Route } from '../../networks/find-network.ts';
import { openAccessLogEntry, type AccessLogEntry } from '../../observability/access-log.ts';
import type { Network } from '../../networks/network.ts';
import type { Reservation } from '../../memory/reservation.ts';
import type { Receiver } from '../../upstreams/receiver.ts';
import { Cancelled, type Cancellation } from '../../upstreams/transport/cancellation.ts';
import type { Explanation } from '../../observability/explanation.ts';
import { combineObservers } from '../../observability/combine-observers.ts';
import { turnBudget } from '../../event-loop/turn-budget.ts';
import { compressResponse } from './compress-response.ts';
import { type Connection } from './connection.ts';
import { readBody, receiveBody, RequestAborted, type BodyReceiver } from './read-body.ts';
import { writeAccounted, writeResponse, writePreflight, type EncodedResponse } from './write-response.ts';
import { createExplanation, DECODED_FACTOR, REQUEST_BYTES, type RpcRouteOptions } from './request-options.ts';

/** One request in progress, from its head to its response. It receives its own body, and then its response. */
export class RpcRequest implements BodyReceiver, Receiver<RpcResponse | undefined> {
  readonly #options: RpcRouteOptions;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #reservation: Reservation;
  readonly #connection: Connection;
  readonly #route: Route<Network>;
  readonly #requestId: string;
  readonly #logEntry: AccessLogEntry | undefined;
  /** The key, once the request has its slot. */
  #access: KeyAccess | undefined;
  #explanation: Explanation | undefined;

  constructor(
    options: RpcRouteOptions,
    request: IncomingMessage,
    response: ServerResponse,
    reservation: Reservation,
    connection: Connection,
    route: Route<Network>,
  ) {
    this.#options = options;
    this.#request = request;
    this.#response = response;
    this.#reservation = reservation;
    this.#connection = connection;
    this.#route = route;
    this.#requestId = options.nextRequestId();
    if (options.accessLog !== undefined) this.#logEntry = openAccessLogEntry(options.accessLog, this.#requestId);
  }

  begin(): void {
    this.#route.network?.use.begin();
    try {
      this.#authenticate();
    } catch (error) {
      this.failed(error);
    }
  }

  get origin(): string {
    return this.#options.proxies.originOf(this.#request);
  }

  #authenticate(): void {
    const request = this.#request;
    const { networks, proxies, acceptsKeyHeaders, authenticator } = this.#options;
    const { network, key: pathKey, isWebSocket } = this.#route;
    if (network !== undefined) this.#logEntry?.setNetwork(network.config.slug);
    // Before all checks: a page can read the error of its call, but not of a failed preflight.
    if (request.method === 'OPTIONS') {
      const { origin, 'access-control-request-private-network': isPrivate } = request.headers;
      if (isPrivate === 'true' && origin !== undefined && network !== undefined)
        void this.#preflightPrivateNetwork(network, pathKey, origin);
      else this.#preflight();
      return;
    }
    if (network === undefined) throw new RpcError('unknown-network', networks.hint);
    if (isWebSocket) throw new RpcError('upgrade-required');
    if (request.method !== 'POST') throw new RpcError('verb-not-allowed');
    const address = proxies.addressOf(request);
    const key = acceptsKeyHeaders ? sentKey(pathKey, request.headers) : pathKey;
    const digest = key === pathKey ? this.#connection.digestOf(key) : undefined;
    const authenticated = authenticator.authenticate(key, address, digest);
    if (authenticated instanceof Promise) void this.#admitLater(authenticated, network, address);
    else this.#admit(authenticated, network, address);
  }

  /** @param privateNetworkOrigin may call a gateway in its private network */
  #preflight(privateNetworkOrigin?: string): void {
    writePreflight(this.#request, this.#response, this.#requestId, privateNetworkOrigin);
    this.#end('preflight');
  }

  /** Otherwise any page could call a gateway that only a private network reaches: https://wicg.github.io/private-network-access. */
  async #preflightPrivateNetwork({ config }: Network, key: string, origin: string): Promise<void> {
    const { privateNetworkOrigins }: ReplaceableConfig = config;
    const isNamed = originMatcher(privateNetworkOrigins)(origin) || (await this.#isNamedByKey(key, origin));
    this.#preflight(isNamed ? origin : undefined);
  }

  async #isNamedByKey(key: string, origin: string): Promise<boolean> {
    const { authenticator, proxies } = this.#options;
    try {
      return namesOrigin(await authenticator.authenticate(key, proxies.addressOf(this.#request)), origin);
    } catch {
      return false;
    }
  }

  async #admitLater(authenticated: Promise<KeyAccess>, network: Network, address: string): Promise<void> {
    try {
      this.#admit(await authenticated, network, address);
    } catch (error) {
      this.failed(error);
    }
  }

  #admit(access: KeyAccess, network: Network, address: string): void {
    const { share } = access;
    this.#logEntry?.setKey(access.record.id);
    access.entry?.check({ network: network.config.slug, address, headers: this.#request.headers });
    this.#options.memory.admit(share.holder);
    this.#reservation.moveTo(share.holder);
    // Before the body, so that slow bodies count for their key.
    if (share.requests.tryEnter(share)) this.#receive(access);
    else void this.#receiveAfterWait(access, network);
  }

  async #receiveAfterWait(access: KeyAccess, network: Network): Promise<void> {
    const { caller } = this.#connection;
    const context = { network, access, logEntry: this.#logEntry };
    try {
      const rejected = await waitForSlot(this.#options, this.#request, this.#reservation, caller, context);
      if (rejected === undefined) this.#receive(access);
      else {
        writeAccounted(this.#response, this.#requestId, rejected, this.#reservation);
        this.#end(rejected.reason);
      }
    } catch (error) {
      this.failed(error);
    }
  }

  #receive(access: KeyAccess): void {
    this.#access = access;
    if (this.#request.headers.expect?.toLowerCase() === '100-continue') this.#response.writeContinue();
    receiveBody(this.#request, this.#options.bodyMaxBytes, this.#reservation, this);
  }

  bodyReceived(body: Buffer): void {
    const owner = (this.#access as KeyAccess).share.holder.name;
    const handle = (): void => {
      turnBudget.run(owner, () => {
        this.#handle(body);
      });
    };
    if (turnBudget.mayRun(owner)) handle();
    else turnBudget.wait(owner, handle);
  }

  #handle(body: Buffer): void {
    const { callTimeoutMs, limiter, log, batch } = this.#options;
    const reservation = this.#reservation;
    const { network } = this.#route as { network: Network };
    const access = this.#access as KeyAccess;
    try {
      // After the body: slow bodies count for their key, and not for all.
      reservation.begin(REQUEST_BYTES + body.length * DECODED_FACTOR);
      if (access.capabilities.explain) this.#explanation = createExplanation(this.#request, network);
      const explanation = this.#explanation;
      const tracing = this.#options.tracing?.under(this.#request.headers);
      const context = {
        network,
        access,
        limiter,
        requestId: this.#requestId,
        deadline: performance.now() + callTimeoutMs,
        caller: this.#connection.caller,
        observers:
          explanation !== undefined && tracing !== undefined
            ? combineObservers(explanation, tracing)
            : (explanation ?? tracing),
        log,
        logEntry: this.#logEntry,
        reservation,
        address: this,
      };
      handleBody(body, context, batch, this);
    } catch (error) {
      this.failed(error);
    }
  }

  /** Never throws: the work of other callers may follow. */
  succeeded(rpcResponse: RpcResponse | undefined): void {
    const { compressOverBytes } = this.#options;
    if (compressOverBytes === undefined || rpcResponse === undefined) this.#write(rpcResponse);
    else
      compressResponse(rpcResponse, this.#request, this.#response, compressOverBytes, this.#reservation).then(
        (encoded) => {
          this.#write(encoded);
        },
        (error: unknown) => {
          this.failed(error);
        },
      );
  }

  #write(encoded: EncodedResponse | undefined): void {
    try {
      writeAccounted(this.#response, this.#requestId, encoded, this.#reservation, this.#explanation?.toString());
    } catch (error) {
      this.failed(error);
      return;
    }
    this.#end();
  }

  failed(error: unknown): void {
    if (error instanceof RequestAborted || error instanceof Cancelled) {
      this.#end('aborted');
      return;
    }
    const { log, metrics, rejectedBodies, holderOf } = this.#options;
    const request = this.#request;
    const response = this.#response;
    const reservation = this.#reservation;
    const rejection = rejectionOf(error, this.#requestId, log);
    metrics.rejected(rejection.reason);
    if (!response.headersSent) writeResponse(response, this.#requestId, bodyRejectionResponse(rejection));
    reservation.setTo(0);
    request.resume();
    if (!request.complete) rejectedBodies.add(request, (reservation.holder ?? holderOf(request)).name);
    this.#end(rejection.reason);
  }

  #end(reason?: string): void {
    this.#logEntry?.write(reason);
    const share = this.#access?.share;
    share?.requests.leave(share);
    this.#route.network?.use.end();
  }
}

type RejectionContext = Parameters<typeof rejectBody>[2];

/**
 * Waits until the key has fewer requests in flight.
 * @returns undefined if the request has its slot, else the response that rejects it
 * @throws RpcError if the body has not arrived, so that its ids are unknown; Cancelled
 */
async function waitForSlot(
  { bodyMaxBytes, batch }: RpcRouteOptions,
  request: IncomingMessage,
  reservation: Reservation,
  caller: Cancellation,
  context: RejectionContext,
): Promise<(EncodedResponse & { readonly reason: Reason }) | undefined> {
  const { share } = context.access;
  try {
    await share.requests.wait(share, Infinity, caller);
    return undefined;
  } catch (rejection) {
    if (!(rejection instanceof RpcError) || !request.complete) throw rejection;
    const body = await readBody(request, bodyMaxBytes, reservation);
    const { reason } = rejection;
    const rejected = rejectBody(body, rejection, context, batch) ?? bodyRejectionResponse(rejection);
    return { ...rejected, reason };
  }
}
