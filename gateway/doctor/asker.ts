import { judge } from '../normalise/judge.ts';
import { passThrough } from '../spec/method-spec.ts';
import { methods as specs } from '../spec/methods.generated.ts';
import { withoutSecrets } from '../upstream/credentials.ts';
import { readReply } from '../upstream/read-reply.ts';
import { parsed, UpstreamFailure, type FailureClass } from '../upstream/reply.ts';
import type { Transport } from '../upstream/transport.ts';

/** What came of one question. */
export type Said =
  | { readonly result: unknown }
  /** `error`: the node's last word. */
  | { readonly failure: FailureClass | 'error'; readonly words: string };

/** Characters of a node's words that are shown. */
const WORDS_MAX = 160;

/** Asks one upstream, as calls are asked, but tells what came instead of asking another. */
export class Asker {
  readonly #transport: Transport;
  readonly #deadline: number;
  #id = 0;

  /** @param deadline on the clock of performance.now() */
  constructor(transport: Transport, deadline: number) {
    this.#transport = transport;
    this.#deadline = deadline;
  }

  async ask(method: string, params: readonly unknown[]): Promise<Said> {
    const id = ++this.#id;
    const spec = specs.find(({ name }) => name === method) ?? passThrough(method);
    try {
      const text = JSON.stringify({ jsonrpc: '2.0', id, method, params });
      const limitMs = Math.max(this.#deadline - performance.now(), 1);
      const { status, body, retryAfter } = await this.#transport.exchange(text, limitMs, id);
      const verdict = judge(spec, params, readReply(status, body, id, retryAfter));
      const reply = verdict.reply === undefined ? undefined : parsed(verdict.reply);
      if (verdict.final && reply?.kind === 'result') return { result: reply.result };
      const words =
        reply?.kind === 'error' ? this.#printable(`${reply.code} ${reply.message}`) : 'an impossible result';
      return { failure: verdict.final ? 'error' : verdict.failure, words };
    } catch (error) {
      if (!(error instanceof UpstreamFailure)) throw error;
      return { failure: error.failure, words: error.message };
    }
  }

  /** It is text from outside, and goes to a terminal. */
  #printable(words: string): string {
    const line = words.replace(/https?:\/\/\S+/g, '<url>').replace(/[^\P{C}]+/gu, ' ');
    return withoutSecrets(line, this.#transport.secrets).slice(0, WORDS_MAX);
  }
}
