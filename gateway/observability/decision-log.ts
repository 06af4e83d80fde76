import { clock } from '../clock/clock.ts';
import type { Log } from '../config/log.ts';
import type { RpcError } from '../jsonrpc/errors.ts';
import type { SkipReason } from '../routing-policy/skip-reasons.ts';
import type {
  CacheOutcome,
  CallEnd,
  CallRecord,
  RecordedAttempt,
  RecordPrinter,
  RecordWatcher,
} from './call-record.ts';

/** A longer name is not that of a method. */
const MAX_METHOD_LENGTH = 80;

/** Logs each decision about the calls of one request, at the level debug. */
class DecisionLog implements RecordPrinter {
  readonly needsAllSkipReasons = true;
  readonly #log: Log;
  readonly #fields: object;

  constructor(log: Log, requestId: string, key: string) {
    this.#log = log;
    this.#fields = { requestId, key };
  }

  watch({ method, network }: CallRecord): RecordWatcher {
    return new CallDecisions(this.#log, { ...this.#fields, network, method: method.slice(0, MAX_METHOD_LENGTH) });
  }

  limited(method: string, { reason, rule }: RpcError, units: number): void {
    const fields = { ...this.#fields, method: method.slice(0, MAX_METHOD_LENGTH), outcome: reason, units };
    this.#log.debug({ ...fields, rule: rule?.name }, 'call: rejected by a limit');
  }
}

class CallDecisions implements RecordWatcher {
  readonly #log: Log;
  readonly #fields: object;
  readonly #startedAt = clock.now();

  constructor(log: Log, fields: object) {
    this.#log = log;
    this.#fields = fields;
  }

  cached(cache: CacheOutcome): void {
    this.#log.debug({ ...this.#fields, cache }, 'call: cache');
  }

  skipped(upstream: string, reason: SkipReason): void {
    this.#log.debug({ ...this.#fields, upstream, reason }, 'call: upstream skipped');
  }

  attempted({ upstream, isHedge }: RecordedAttempt): void {
    this.#log.debug({ ...this.#fields, upstream, ...(isHedge && { hedge: true }) }, 'call: attempt');
  }

  attemptEnded({ upstream, isHedge, outcome, startedAt, endedAt = startedAt }: RecordedAttempt): void {
    const fields = { ...this.#fields, upstream, ...(isHedge && { hedge: true }) };
    this.#log.debug({ ...fields, outcome, ms: Math.round(endedAt - startedAt) }, 'call: attempt ended');
  }

  budgetExceeded(what: 'retry' | 'hedge'): void {
    this.#log.debug({ ...this.#fields, what }, 'call: not sent again, the retry budget is used up');
  }

  part(from: number, to: number): RecordWatcher {
    return new CallDecisions(this.#log, { ...this.#fields, from, to });
  }

  ended({ outcome, code, requestUnits: units }: CallEnd): void {
    const ms = Math.round(clock.now() - this.#startedAt);
    this.#log.debug({ ...this.#fields, outcome, code, units, ms }, 'call: ended');
  }
}

/** @param key id of the key @returns undefined unless the level of the log is debug */
export function openDecisionLog(log: Log, requestId: string, key: string): RecordPrinter | undefined {
  return log.isLevelEnabled('debug') ? new DecisionLog(log, requestId, key) : undefined;
}
