import type { Cancellation } from './cancellation.ts';
import type { SecretTexts } from './credentials.ts';
import type { FlowBounds, HttpResponse } from './http-exchange.ts';

export interface ConnectionEvents {
  /** A connection was opened. */
  connected(): void;
  /** The upstream has closed the last open connection. */
  lost(): void;
}

/** One JSON-RPC request for an upstream. */
export interface SentRequest {
  /** The id in the body. */
  readonly id: number;
  readonly body: string;
  /** For the last byte of the response, by clock.now(). The wait for a slot counts. */
  readonly deadline: number;
  /** The client's batch, if the request may be sent in a batch with others of it. */
  readonly clientBatch?: object | undefined;
  /** Undefined: the response is collected. */
  readonly flow?: FlowBounds | undefined;
}

/** Sends requests to an upstream over HTTP or WebSocket. */
export interface Transport {
  /**
   * Sends a request, when it has a slot, and waits for its response, or for the first bytes of one that flows.
   * @throws UpstreamFailure, Cancelled, RpcError if the memory budget is used up (rejects with it)
   */
  send(request: SentRequest, cancellation?: Cancellation): Promise<HttpResponse>;
  close(): Promise<void>;
  /** Reports connections from now on. Another node may be behind a new one. */
  watch(events: ConnectionEvents): void;
  /** Texts from which `Secrets` is made. */
  readonly secrets: SecretTexts;
}
