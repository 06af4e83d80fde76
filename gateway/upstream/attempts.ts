import type { Log } from '../config/log.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { Asking } from './asking.ts';
import type { Cancellation } from './cancellation.ts';
import { isRead } from './method-group.ts';
import {
  parsed,
  UpstreamFailure,
  type Failed,
  type FollowUp,
  type LargeReply,
  type Reply,
  type ResultReply,
  type Verdict,
} from './reply.ts';
import type { SentTransactions } from './sent-transactions.ts';
import type { Upstream } from './upstream.ts';

/** The rules that a reply is held against: pure, and made elsewhere (`normalise/`). */
export type Judge = (method: MethodSpec, params: readonly unknown[], reply: Reply) => Verdict;

/** Where a result is not as the spec says, if anywhere; made elsewhere too (`spec/`). */
export type ResultCheck = (method: string, result: unknown) => string | undefined;

/** A further attempt in less time would only make a good upstream look bad. */
export const LEAST_TIME_MS = 10;

export interface AttemptsOptions {
  readonly judge: Judge;
  readonly check: ResultCheck;
  readonly sent: SentTransactions;
  /** Whether a call may be sent again where the connection turns out to be closed, with nobody else to ask. */
  readonly mayRepeat: (now: number) => boolean;
  /** It lacks what the call is about. */
  readonly onLack: (upstream: Upstream, asking: Asking, now: number) => void;
  /** Hears of each reply that was of use, and how long it took. */
  readonly onReply: (upstream: Upstream, asking: Asking, reply: Reply, ms: number, now: number) => void;
  readonly log: Log;
}

/** A call at one upstream: what is made of what that says, and what is remembered of it. */
export class Attempts {
  readonly #options: AttemptsOptions;

  constructor(options: AttemptsOptions) {
    this.#options = options;
  }

  /** @throws Cancelled */
  make(upstream: Upstream, asking: Asking, cancellation: Cancellation | undefined, isHedge = false): Promise<Verdict> {
    const made = this.#make(upstream, asking, cancellation);
    return asking.observer === undefined ? made : observed(made, asking.observer.attempt(upstream.name, isHedge));
  }

  async #make(upstream: Upstream, asking: Asking, cancellation: Cancellation | undefined): Promise<Verdict> {
    const { method, params, text, deadline } = asking;
    const { judge, sent } = this.#options;
    const startedAt = performance.now();
    let verdict: Verdict;
    for (let isAgain = false; ; isAgain = true) {
      try {
        const left = isAgain ? deadline - performance.now() : deadline - startedAt;
        const group = isRead(method) ? asking.group : undefined;
        verdict = judge(method, params, await upstream.ask(method.name, text, left, cancellation, group));
        break;
      } catch (error) {
        const isStale = error instanceof UpstreamFailure && error.staleConnection;
        if (!isAgain && isStale && this.#options.mayRepeat(performance.now())) continue;
        return this.failed(upstream, method.name, error);
      }
    }
    verdict = upstream.withoutSecrets(verdict);
    if (!verdict.final && verdict.followUp !== undefined) {
      verdict = await this.#complete(upstream, verdict, verdict.followUp, deadline, cancellation);
    }
    if (method.sends === true) verdict = await sent.settle(upstream, String(params[0]), verdict, deadline);
    if (!verdict.final) {
      this.#note(upstream, method.name, verdict, wordsOf(verdict.reply));
      if (verdict.failure === 'node-state') this.#options.onLack(upstream, asking, performance.now());
    } else this.#succeeded(upstream, asking, verdict.reply, startedAt);
    return verdict.final && verdict.followUp !== undefined
      ? this.#complete(upstream, verdict, verdict.followUp, deadline, cancellation)
      : verdict;
  }

  /** What came in place of a reply. @throws what is no `UpstreamFailure` */
  failed(upstream: Upstream, method: string, error: unknown): Verdict {
    if (!(error instanceof UpstreamFailure)) throw error;
    const { failure, retryAfterMs, message } = error;
    const verdict: Verdict = { final: false, failure, reply: undefined, retryAfterMs };
    if (!error.isCutShort) this.#note(upstream, method, verdict, message);
    return verdict;
  }

  /** Asks the same node for what it left out. Where that comes to nothing, the reply stays as it is. */
  async #complete(
    upstream: Upstream,
    verdict: Verdict,
    { method, params, complete }: FollowUp,
    deadline: number,
    cancellation: Cancellation | undefined,
  ): Promise<Verdict> {
    const left = deadline - performance.now();
    if (left < LEAST_TIME_MS) return verdict;
    try {
      const said = parsed(await upstream.ask(method, JSON.stringify(params), left, cancellation));
      const reply = complete(said);
      return reply === undefined ? verdict : upstream.withoutSecrets({ final: true, reply } as const);
    } catch (error) {
      if (error instanceof UpstreamFailure) return verdict;
      throw error;
    }
  }

  /** When the answer is on its way: a full block takes milliseconds. */
  #inspect(upstream: Upstream, method: string, reply: ResultReply | LargeReply): void {
    const result = reply.kind === 'large' ? (JSON.parse(reply.parts.join('')) as unknown) : reply.result;
    const detail = this.#options.check(method, result);
    if (detail === undefined) return;
    upstream.meters.deviates(method);
    this.#options.log.debug({ upstream: upstream.name, method, detail }, 'a result is not as the spec says');
  }

  #note(upstream: Upstream, method: string, failed: Failed, detail: string): void {
    const { failure } = failed;
    const goesDown = upstream.failed(method, failed, performance.now());
    this.#options.log[goesDown ? 'warn' : 'debug']({ upstream: upstream.name, failure, detail }, 'upstream failed');
  }

  #succeeded(upstream: Upstream, asking: Asking, reply: Reply, startedAt: number): void {
    const { name } = asking.method;
    const now = performance.now();
    upstream.succeeded(name);
    if (mayInspect(reply) && asking.method.isForeign !== true && upstream.sampling.isDue(name, now)) {
      setImmediate(() => {
        this.#inspect(upstream, name, reply);
      });
    }
    this.#options.onReply(upstream, asking, reply, now - startedAt, now);
  }
}

/** More than that would hold up others for longer than it is worth. */
const INSPECTED_BYTES = 250_000;

function mayInspect(reply: Reply): reply is ResultReply | LargeReply {
  return reply.kind === 'large' ? reply.parts[0].length <= INSPECTED_BYTES : reply.kind === 'result';
}

async function observed(made: Promise<Verdict>, ended: (outcome: string) => void): Promise<Verdict> {
  try {
    const verdict = await made;
    ended(verdict.final ? 'reply' : verdict.failure);
    return verdict;
  } catch (error) {
    ended('cancelled');
    throw error;
  }
}

/** What a node said is text from outside: a line of it, and no addresses. */
function wordsOf(reply: Reply | undefined): string {
  if (reply?.kind !== 'error') return 'an impossible result';
  return `${reply.code} ${reply.message.slice(0, 200).replace(/https?:\/\/\S+/g, '<url>')}`;
}
