import type { Gate } from '../../admission/gate.ts';
import type { Cancellation } from './cancellation.ts';
import type { SecretTexts } from './credentials.ts';
import type { HttpResponse, ResponseOptions } from './http-exchange.ts';

export interface ConnectionEvents {
  /** A connection was opened. @param isOnly no other one is open */
  connected(isOnly: boolean): void;
  /** The upstream has closed the last open connection. */
  lost(): void;
  /** Calls of a client's batch are sent singly from now on, or as batches again. */
  batchesChanged(reason: WithoutBatches | undefined, forMs: number): void;
}

/** Why an upstream gets no batches: it rejected one, or works on the calls of one after the other. */
export type WithoutBatches = 'rejected' | 'serial';

/** The groups of methods of which batches are made. `header` and `block` are evidence for verification. */
export type BatchedGroup = 'lookup' | 'execution' | 'header' | 'block';

/** One JSON-RPC request for an upstream. */
export interface SentRequest extends ResponseOptions {
  /** The id in the body. */
  readonly id: number;
  readonly body: string;
  /** End of the wait for a slot. Undefined: `deadline`. */
  readonly slotDeadline?: number | undefined;
  /** The client's batch, or the check that needs the evidence, if the request may be sent in a batch with others of it. */
  readonly clientBatch?: object | undefined;
  /** Group of the request. Only those of one group are sent together. */
  readonly batchedGroup?: BatchedGroup | undefined;
  /** Time when the request got its slot, if it waited for one, by clock.now(). The transport sets it. */
  startedAt?: number;
}

/** Sends requests to an upstream over HTTP or WebSocket. */
export interface Transport {
  /** Slots of the requests in progress. Others wait there, fairly over their keys. */
  readonly slots: Gate;
  /**
   * Sends a request, when it has a slot, and waits for its response, or for the first bytes of one that flows.
   * @throws UpstreamFailure, Cancelled, RpcError if the memory budget is used up (rejects with it)
   */
  send(request: SentRequest, cancellation?: Cancellation): Promise<HttpResponse>;
  close(): Promise<void>;
  /** Reports connections, of which a new one may be to another node, and whether batches are sent, from now on. */
  watch(events: ConnectionEvents): void;
  /** Why it gets no batches now; undefined: it gets them, or never does. */
  readonly withoutBatches?: WithoutBatches | undefined;
  /** Texts from which `Secrets` is made. */
  readonly secrets: SecretTexts;
}
