import type { Cancellation } from './cancellation.ts';
import type { HttpResponse } from './http-upstream.ts';
import type { MethodGroup } from '../../spec/method-group.ts';

/** How calls reach the node: over HTTP, or over a WebSocket. */
export interface Transport {
  /**
   * Sends a call and waits for the reply to it.
   * @param timeLimitMs from now until the last byte
   * @param id the id in the body: over a WebSocket the reply is found by it
   * @param cancellation breaks it off
   * @param group of its method, where it may go together with others
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
  /** Parts of its address and of our credentials there that no caller may see. */
  readonly secrets: readonly string[];
}
