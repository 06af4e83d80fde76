import type { Cancellation } from './cancellation.ts';
import type { SecretTexts } from './credentials.ts';
import type { HttpResponse } from './http-exchange.ts';
import type { MethodGroup } from '../../spec/method-spec.ts';

export interface ConnectionEvents {
  /** A connection was opened. */
  connected(): void;
  /** The upstream has closed the last open connection. */
  lost(): void;
}

/** Sends calls to an upstream over HTTP or WebSocket. */
export interface Transport {
  /**
   * Sends a call and waits for its response.
   * @param timeLimitMs from now until the last byte
   * @param id the id in the body; WebSocket responses are matched by it
   * @param group of the method, if the call may share a batch with others
   * @throws UpstreamFailure, Cancelled
   */
  exchange(
    body: string,
    timeLimitMs: number,
    id: number,
    cancellation?: Cancellation,
    group?: MethodGroup,
  ): Promise<HttpResponse>;
  close(): Promise<void>;
  /** Reports connections from now on. Another node may be behind a new one. */
  watch(events: ConnectionEvents): void;
  /** Texts from which `Secrets` is made. */
  readonly secrets: SecretTexts;
}
