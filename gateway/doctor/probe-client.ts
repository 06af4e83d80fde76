import { clock } from '../clock/clock.ts';
import { normalise } from '../normalise/normalise.ts';
import { passThrough } from '../spec/method-spec.ts';
import { methods as specs } from '../spec/methods.generated.ts';
import { Secrets } from '../upstreams/transport/credentials.ts';
import { readResponse } from '../upstreams/transport/read-response.ts';
import { parseResponse, UpstreamFailure, type FailureClass } from '../upstreams/transport/upstream-response.ts';
import type { Transport } from '../upstreams/transport/transport.ts';

/** Outcome of one request. */
export type ProbeResult =
  | { readonly result: unknown }
  /** `error`: a final error of the node. `excluded`: the network file does not permit the method. */
  | { readonly failure: FailureClass | 'error' | 'excluded'; readonly message: string };

/** Error messages of a node are cut to this length. */
const MAX_ERROR_CHARS = 160;

/** Sends requests to one upstream and normalises the responses like calls. It returns failures and does not retry. */
export class ProbeClient {
  readonly #transport: Transport;
  readonly #secrets: Secrets;
  readonly #deadline: number;
  /** Whether the network file permits the method at the upstream. */
  readonly permits: (method: string) => boolean;
  #id = 0;

  /**
   * @param deadline by clock.now()
   * @param permits whether the network file permits the method; other methods are not sent
   */
  constructor(transport: Transport, deadline: number, permits: (method: string) => boolean) {
    this.#transport = transport;
    this.#secrets = new Secrets(transport.secrets);
    this.#deadline = deadline;
    this.permits = permits;
  }

  async request(method: string, params: readonly unknown[]): Promise<ProbeResult> {
    if (!this.permits(method)) return { failure: 'excluded', message: 'excluded by its methods' };
    const id = ++this.#id;
    const spec = specs.find(({ name }) => name === method) ?? passThrough(method);
    try {
      const text = JSON.stringify({ jsonrpc: '2.0', id, method, params });
      const timeoutMs = Math.max(this.#deadline - clock.now(), 1);
      const received = await this.#transport.send({ id, body: text, deadline: clock.now() + timeoutMs });
      const outcome = normalise(spec, params, readResponse(received, id, this.#secrets));
      const response = outcome.response === undefined ? undefined : parseResponse(outcome.response);
      if (outcome.final && response?.kind === 'result') return { result: response.result };
      const message =
        response?.kind === 'error' ? this.#printable(`${response.code} ${response.message}`) : 'an invalid result';
      return { failure: outcome.final ? 'error' : outcome.failure, message };
    } catch (error) {
      if (!(error instanceof UpstreamFailure)) throw error;
      return { failure: error.failure, message: error.message };
    }
  }

  /** Removes URLs, control characters and secrets: the text is untrusted and is printed on a terminal. */
  #printable(message: string): string {
    const line = message.replace(/https?:\/\/\S+/g, '<url>').replace(/[^\P{C}]+/gu, ' ');
    return this.#secrets.removeFrom(line).slice(0, MAX_ERROR_CHARS);
  }
}
