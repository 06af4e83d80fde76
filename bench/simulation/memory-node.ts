import { Gate } from '../../gateway/admission/gate.ts';
import { Deadlines } from '../../gateway/admission/deadlines.ts';
import { clock } from '../../gateway/clock/clock.ts';
import type { Cancellation } from '../../gateway/upstreams/transport/cancellation.ts';
import type { HttpResponse } from '../../gateway/upstreams/transport/http-exchange.ts';
import { PendingRequest } from '../../gateway/upstreams/transport/pending-request.ts';
import type { ConnectionEvents, SentRequest, Transport } from '../../gateway/upstreams/transport/transport.ts';
import { UpstreamFailure } from '../../gateway/upstreams/transport/upstream-response.ts';
import type { LinkListener, SubscriptionLink } from '../../gateway/upstreams/transport/websocket-subscription.ts';
import type { ConnectionFault } from '../../test/faults/fault-proxy.ts';
import type { Random } from '../random.ts';
import {
  notificationOf,
  responseDelayMs,
  type ChainServer,
  type RespondingNodes,
  type RpcCall,
} from '../soak/chain-node.ts';
import type { NodeView } from '../soak/node-responses.ts';

/** The same for all notifications, so that they stay in order. */
const NOTIFICATION_DELAY_MS = 5;
const REFUSED_MS = 1;

/**
 * A node of the simulation, and both transports of the upstream that it is: `send` has the place of HTTP, and with `listen`
 * that of the WebSocket.
 */
export class MemoryNode implements ChainServer, Transport, SubscriptionLink {
  isMuted = false;
  readonly port: number;
  readonly secrets = { hosts: [], credentials: [] };
  readonly slots = new Gate({ slots: Infinity, rejection: () => new Error('no free slot') });
  readonly #nodes: Pick<RespondingNodes, 'respondTo'>;
  readonly #random: Random;
  readonly #deadlines = new Deadlines();
  readonly #inFlight = new Set<PendingRequest<HttpResponse>>();
  readonly #watching: ConnectionEvents[] = [];
  readonly #listeners = new Set<LinkListener>();
  readonly #subscriptions = new Set<string>();
  #fault: ConnectionFault | undefined;
  #isConnected = false;

  constructor(port: number, nodes: Pick<RespondingNodes, 'respondTo'>, random: Random) {
    this.port = port;
    this.#nodes = nodes;
    this.#random = random;
  }

  send(request: SentRequest, cancellation?: Cancellation): Promise<HttpResponse> {
    const pending = new PendingRequest<HttpResponse>(request, cancellation, this.#deadlines, () => {
      this.#inFlight.delete(pending);
    });
    this.#inFlight.add(pending);
    void this.#respondTo(pending);
    return pending.response;
  }

  watch(events: ConnectionEvents): void {
    this.#watching.push(events);
  }

  listen(listener: LinkListener): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** `refuse` ends connections at once. Otherwise they stay, without responses, and end when the fault does. */
  fail(fault: ConnectionFault | undefined): Promise<void> {
    this.#fault = fault;
    if (fault === undefined || fault.kind === 'refuse') this.#disconnect();
    return Promise.resolve();
  }

  announce(view: NodeView): void {
    this.notify((subscription) => notificationOf(subscription, view));
  }

  /** @param textOf the message to the subscriber with this id */
  notify(textOf: (subscription: string) => string): void {
    if (this.isMuted || this.#fault !== undefined) return;
    const texts = [...this.#subscriptions].map(textOf);
    clock.setTimeout(() => {
      if (this.#fault !== undefined) return;
      for (const text of texts) for (const listener of [...this.#listeners]) listener.notified(Buffer.from(text));
    }, NOTIFICATION_DELAY_MS);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  async #respondTo(pending: PendingRequest<HttpResponse>): Promise<void> {
    const fault = this.#fault;
    if (fault?.kind === 'refuse') {
      await clock.sleep(REFUSED_MS);
      this.#end(pending, 'ECONNREFUSED');
      return;
    }
    // Without a response, it ends at its deadline.
    if (fault !== undefined) return;
    this.#connect();
    const call = JSON.parse(pending.request.body) as RpcCall;
    const body = Buffer.from(JSON.stringify(this.#nodes.respondTo(call, 'gateway', this.#subscriptions)));
    await clock.sleep(responseDelayMs(this.#random));
    if (this.#fault === undefined && this.#inFlight.delete(pending)) pending.settle({ status: 200, body });
  }

  #connect(): void {
    if (this.#isConnected) return;
    this.#isConnected = true;
    for (const events of this.#watching) events.connected(true);
  }

  #disconnect(): void {
    if (!this.#isConnected) return;
    this.#isConnected = false;
    this.#subscriptions.clear();
    for (const pending of [...this.#inFlight]) this.#end(pending, 'ECONNRESET');
    for (const listener of [...this.#listeners]) listener.disconnected();
    for (const events of this.#watching) events.lost();
  }

  #end(pending: PendingRequest<HttpResponse>, code: string): void {
    if (this.#inFlight.delete(pending)) pending.fail(new UpstreamFailure('transport', code));
  }
}
