import { clock } from '../../clock/clock.ts';
import { LineLimit } from '../../config/line-limit.ts';
import type { Log } from '../../config/log.ts';
import type { CircuitState } from '../../metrics/history.ts';
import { CircuitBreaker, type FailedCall } from './circuit-breaker.ts';
import type { FailureClass, UpstreamResponse } from '../transport/upstream-response.ts';

/** Why an upstream is not used. Contains no secrets and no text of the upstream. */
export interface UpstreamTrouble {
  readonly circuit: CircuitState;
  /** Reason of the latest failure, in words. */
  readonly reason: string;
  /** Seconds since the circuit opened. */
  readonly forS: number;
  /** Failed requests since the last successful one: calls, polls and probes. */
  readonly failures: number;
}

/** An upstream failure, of a call or of a request of the gateway itself. */
export interface RecordedFailure {
  readonly failure: FailureClass;
  /** Response; undefined if the upstream returned no JSON-RPC response. */
  readonly response?: UpstreamResponse | undefined;
  /** Description of what happened, if there is no response. */
  readonly detail?: string;
  readonly retryAfterMs?: number | undefined;
}

/** Reasons of failures in words, for operators. */
export const failureReasons: Readonly<Record<FailureClass, string>> = {
  transport: 'no response',
  slow: 'timed out, while other calls were successful',
  malformed: 'invalid responses',
  disproved: 'results that are disproved',
  unproven: 'results that nothing proves',
  'wrong-chain': 'it serves another chain',
  rate: 'its rate limit is used up',
  quota: 'its plan is used up',
  auth: 'it rejects the credentials',
  unsupported: 'method not supported',
  'too-large': 'request too large',
  'not-found': 'object not found',
  'node-state': 'state not available',
  'no-block': 'block not found',
  unknown: 'unknown error',
};

/** Codes of Node.js and undici. Others are shown as they are. */
const networkErrors: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection closed',
  EPIPE: 'connection closed',
  UND_ERR_SOCKET: 'connection closed',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
  ETIMEDOUT: 'no connection in time',
  ENOTFOUND: 'unknown host name',
  EAI_AGAIN: 'host name not resolved',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  CERT_HAS_EXPIRED: 'TLS certificate expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'TLS certificate not trusted',
  PROXY_TIMEOUT: 'no connection through the proxy in time',
  PROXY_ECONNREFUSED: 'connection refused by the proxy',
  PROXY_ECONNRESET: 'connection closed by the proxy',
  PROXY_407: 'the proxy rejects the credentials',
};

/** Holds the circuit of one upstream, and records why and since when it is open. */
export class UpstreamHealth {
  readonly circuit = new CircuitBreaker();
  readonly #upstream: string;
  readonly #log: Log;
  #reason = '';
  #since = 0;
  #failures = 0;
  /** An upstream whose circuit opens again and again has one line a minute for each failure class, with the count. */
  readonly #lines = new LineLimit();
  #isLogged = true;
  /** Time when a hedged request last responded before this upstream, by clock.now(); -Infinity: never. */
  overtakenAt = -Infinity;

  /** @param upstream its name @param log of the network */
  constructor(upstream: string, log: Log) {
    this.#upstream = upstream;
    this.#log = log;
  }

  /** @param sentAt by clock.now() @param isOwn a request of the gateway itself */
  recordSuccess(sentAt: number, isOwn = false): void {
    if (!this.circuit.isClosed) {
      const forS = Math.max(0, Math.round((clock.now() - this.#since) / 1000));
      this.#log[this.#isLogged ? 'info' : 'debug']({ upstream: this.#upstream, forS }, 'upstream recovered');
    }
    this.circuit.recordSuccess(sentAt, isOwn);
  }

  /** @param call undefined: no call is the cause @returns whether this failure opened a closed circuit */
  recordFailure({ failure, response, detail, retryAfterMs }: RecordedFailure, now: number, call?: FailedCall): boolean {
    if (call?.isOvertaken === true) this.overtakenAt = now;
    const hasOpened = this.circuit.recordFailure(failure, now, retryAfterMs, response !== undefined, call);
    if (this.circuit.isClosed) return hasOpened;
    if (hasOpened) this.#since = now;
    this.#failures = hasOpened ? Math.max(1, this.circuit.failuresInRow) : this.#failures + 1;
    this.#reason = detail === undefined ? failureReasons[failure] : (networkErrors[detail] ?? detail);
    return hasOpened;
  }

  /** Whether the circuit is open only because hedged requests responded first: the upstream is slow, and may well work. */
  get isOnlyOvertaken(): boolean {
    return !this.circuit.isClosed && this.circuit.isOnlyOvertaken;
  }

  /** Whether only hedges opened the circuit, and the upstream has responded since. @param respondedAt by clock.now() */
  isOvertaken(respondedAt: number): boolean {
    return this.isOnlyOvertaken && respondedAt > this.#since;
  }

  /** Time when the circuit opened last, by clock.now(). */
  get openedAt(): number {
    return this.#since;
  }

  /** Logs an upstream failure: a warning if it opened the circuit, at most one a minute for each class. */
  logFailure(failure: FailureClass, detail: string, hasOpened: boolean): void {
    const facts = { upstream: this.#upstream, failure, detail };
    const count = hasOpened ? this.#lines.take(failure) : undefined;
    if (hasOpened) this.#isLogged = count !== undefined;
    if (count === undefined) this.#log.debug(facts, 'upstream failed');
    else this.#log.warn({ ...facts, ...(count > 1 && { count }) }, 'upstream failed');
  }

  /** Trouble of the upstream; undefined while the circuit is closed. @param now by clock.now() */
  trouble(now: number): UpstreamTrouble | undefined {
    if (this.circuit.isClosed) return undefined;
    const forS = Math.max(0, Math.round((now - this.#since) / 1000));
    return { circuit: this.circuit.state, reason: this.#reason, forS, failures: this.#failures };
  }
}

/** `circuit open for 12 s: connection refused, 3 of 3 requests failed`. */
export function describeTrouble({ circuit, reason, forS, failures }: UpstreamTrouble): string {
  return `circuit ${circuit} for ${forS} s: ${reason}, ${failures} of ${failures} requests failed`;
}
