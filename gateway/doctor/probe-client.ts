import { normalise } from '../normalise/normalise.ts';
import { passThrough } from '../spec/method-spec.ts';
import { methods as specs } from '../spec/methods.generated.ts';
import { withoutSecrets } from '../upstreams/transport/credentials.ts';
import { readResponse } from '../upstreams/transport/read-response.ts';
import { parseResponse, UpstreamFailure, type FailureClass } from '../upstreams/transport/upstream-response.ts';
import type { Transport } from '../upstreams/transport/transport.ts';

/** What came of one question. */
export type ProbeResult =
  | { readonly result: unknown }
  /** `error`: the node's last word. */
  | { readonly failure: FailureClass | 'error'; readonly words: string };

/** Characters of a node's words that are shown. */
const MAX_ERROR_CHARS = 160;

/** Asks one upstream, as calls are asked, but tells what came instead of asking another. */
export class ProbeClient {
  readonly #transport: Transport;
  readonly #deadline: number;
  #id = 0;

  /** @param deadline on the clock of performance.now() */
  constructor(transport: Transport, deadline: number) {
    this.#transport = transport;
    this.#deadline = deadline;
  }

  async request(method: string, params: readonly unknown[]): Promise<ProbeResult> {
    const id = ++this.#id;
    const spec = specs.find(({ name }) => name === method) ?? passThrough(method);
    try {
      const text = JSON.stringify({ jsonrpc: '2.0', id, method, params });
      const timeoutMs = Math.max(this.#deadline - performance.now(), 1);
      const { status, body, retryAfter } = await this.#transport.exchange(text, timeoutMs, id);
      const verdict = normalise(spec, params, readResponse(status, body, id, retryAfter));
      const response = verdict.response === undefined ? undefined : parseResponse(verdict.response);
      if (verdict.final && response?.kind === 'result') return { result: response.result };
      const message =
        response?.kind === 'error' ? this.#printable(`${response.code} ${response.message}`) : 'an impossible result';
      return { failure: verdict.final ? 'error' : verdict.failure, words: message };
    } catch (error) {
      if (!(error instanceof UpstreamFailure)) throw error;
      return { failure: error.failure, words: error.message };
    }
  }

  /** It is text from outside, and goes to a terminal. */
  #printable(message: string): string {
    const line = message.replace(/https?:\/\/\S+/g, '<url>').replace(/[^\P{C}]+/gu, ' ');
    return withoutSecrets(line, this.#transport.secrets).slice(0, MAX_ERROR_CHARS);
  }
}
