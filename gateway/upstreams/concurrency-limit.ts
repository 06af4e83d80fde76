import { clock, type Timer } from '../clock/clock.ts';
import type { Account } from '../admission/account.ts';
import type { Gate } from '../admission/gate.ts';
import type { MethodSpec } from '../spec/method-spec.ts';

/** The lowest limit that is found. */
const MIN_LIMIT = 8;

/** A window ends after both, or after the longer time with fewer calls. */
const WINDOW_MS = 100;
const WINDOW_CALLS = 32;
const MAX_WINDOW_MS = 1_000;
/** A lower limit is given up if more calls than it permits are in progress after this time, and after so many latencies. */
const MAX_DRAIN_MS = 300;
const MAX_DRAIN_LATENCIES = 3;
/** Samples of a window; later ones replace the first ones. */
const MAX_SAMPLES = 128;
/** Fewer calls of a window say nothing about latency. */
const MIN_SAMPLES = 16;

/**
 * With twice the limit in progress, the upstream serves 8 % more calls if latency rises to 1.85 times, and 5 % more at 1.9
 * times. A higher limit is used if it serves more than the former, a lower one if it serves less than 5 % fewer.
 */
const MAX_SLOWDOWN_TO_RAISE = 1.85;
const MIN_SLOWDOWN_TO_LOWER = 1.9;

/** Time between two probes; it doubles while probes change nothing. */
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 10_000;

/** Time without a higher limit after one was too high; it doubles each time, until none was for the longest time. */
const FIRST_TOO_HIGH_MS = 30_000;
const MAX_TOO_HIGH_MS = 600_000;
/** A smaller share of refused calls is no sign of a limit. */
const MIN_REFUSED_SHARE = 0.01;

/** A lookup that takes longer has waited at the upstream, if none that began after it was quicker. */
const QUEUED_MS = 2_000;
/** A third: an upstream also works on calls whose time was over, which the gateway counts no more. */
const QUEUED_SHARE = 1 / 3;
/** A limit by such lookups is not lower for many callers: more of them show that all calls are slow. */
const MAX_QUEUED_MIN = 32;
/** Time without a higher limit after such a lookup, at least. */
const QUEUED_PAUSE_MS = 60_000;

type Direction = 'lower' | 'raise';

interface Sample {
  /** Calls are compared with calls of the same kind. */
  readonly kind: string;
  /** Undefined: several accounts. */
  readonly owner: Account | undefined;
  readonly ms: number;
  readonly isRefused: boolean;
  /** The call began when no more calls than the present limit were in progress. */
  readonly isSettled: boolean;
}

/** A limit that is tried. */
interface Probe {
  readonly direction: Direction;
  readonly previousLimit: number;
  /** The calls at the previous limit. */
  readonly before: readonly Sample[];
  /** Ends the probe, unless it is settled before. */
  readonly drain: Timer | undefined;
}

/** The end of a call at the upstream. */
export interface EndedCall {
  readonly method: Pick<MethodSpec, 'group' | 'reverts' | 'executes' | 'isPassThrough'>;
  readonly owner: Account | undefined;
  /** Time when the call had its slot, by clock.now(). */
  readonly startedAt: number;
  /** The upstream responded that it gets too many requests. */
  readonly isRefused: boolean;
}

/**
 * Finds how many calls an upstream works on at once, and sets the slots of its gate.
 *
 * By latency: while calls wait for a slot, half and twice the limit are tried for a short time. The higher one of two limits
 * is used if it serves more calls, by Little's law from the latencies at both; without enough calls to decide, the higher
 * one is used as well. By refusals: the limit falls to the share of the slots whose calls were served. By waiting: it
 * falls to a third of the calls in progress after a lookup of seconds. Slow calls may fill the upstream, and few others be sent.
 *
 * Latencies are multiples of the median of the same group of methods. Each key has its share of all medians and refusals,
 * however many calls it sends. Calls that run code never lower the limit, because callers choose how long they take.
 *
 * While no call waits and none is refused or slow, `record` is not called.
 */
export class ConcurrencyLimit {
  readonly #slots: Gate;
  readonly #min: number;
  readonly #max: number;
  #changedAt = -Infinity;
  /** Time when the first call ended that began after the change, with no more calls in progress than the limit. */
  #settledAt: number | undefined;
  #windowAt: number | undefined;
  #samples: Sample[] = [];
  #added = 0;
  /** Calls of `#added` that were settled or refused. */
  #counted = 0;
  #probe: Probe | undefined;
  #direction: Direction = 'lower';
  #nextProbeAt = -Infinity;
  #pauseMs = FIRST_PAUSE_MS;
  #raiseAt = -Infinity;
  #tooHighMs = FIRST_TOO_HIGH_MS;
  /** Time when the newest quick lookup began. Undefined: none was quick yet. */
  #quickAt: number | undefined;
  /** Time when no more calls than the limit of `lowerByQueue` were in progress. Before, the former calls have the upstream. */
  #drainedAt = -Infinity;

  /** @param slots with the highest limit */
  constructor(slots: Gate) {
    this.#slots = slots;
    this.#max = slots.size;
    this.#min = Math.min(MIN_LIMIT, slots.size);
  }

  get limit(): number {
    return this.#slots.size;
  }

  get isLowered(): boolean {
    return this.limit < this.#max;
  }

  /** Whether the end of a call that was not refused must be recorded. */
  get isObserving(): boolean {
    return this.#slots.hasWaiting || this.#windowAt !== undefined || this.#probe !== undefined;
  }

  /**
   * Whether a call that has ended waited at the upstream, which was quick with fewer calls. Called with each call.
   * @param startedAt as of `EndedCall` @param now by clock.now()
   */
  hasQueued(method: EndedCall['method'], startedAt: number, now: number): boolean {
    if (this.#drainedAt === Infinity && this.#slots.inFlight <= this.limit) this.#drainedAt = now;
    if (method.group !== 'lookup' || runsCode(method)) return false;
    const isNewest = this.#quickAt === undefined || startedAt > this.#quickAt;
    if (now - startedAt < QUEUED_MS) {
      if (isNewest) this.#quickAt = startedAt;
      return false;
    }
    return isNewest && this.#quickAt !== undefined && startedAt >= this.#drainedAt;
  }

  /**
   * Lowers the limit after `hasQueued`; less if it waited for calls of its owner: a caller that is alone may choose slow lookups.
   * @param now by clock.now() @returns whether it is lower
   */
  lowerByQueue(owner: Account | undefined, now: number): boolean {
    const inFlight = Math.min(this.limit, this.#slots.inFlight);
    const isOwn = owner !== undefined && 2 * this.#slots.takenBy(owner) > inFlight;
    const min = isOwn ? MAX_QUEUED_MIN : Math.min(MIN_LIMIT * this.#slots.callers, MAX_QUEUED_MIN);
    const limit = Math.max(Math.floor(inFlight * QUEUED_SHARE), min);
    if (limit >= inFlight) return false;
    this.#pauseRaising(now);
    this.#raiseAt = Math.max(this.#raiseAt, now + QUEUED_PAUSE_MS);
    this.#lower(limit, now);
    this.#drainedAt = Infinity;
    return true;
  }

  /** @param now by clock.now() */
  record({ method, owner, startedAt, isRefused }: EndedCall, now: number): void {
    const isResting = this.#windowAt === undefined && this.#probe === undefined && now < this.#nextProbeAt;
    if (isResting && !isRefused) return;
    if (this.#settledAt === undefined && startedAt >= this.#changedAt && this.#slots.inFlight <= this.limit) {
      this.#settledAt = now;
      clock.clearTimeout(this.#probe?.drain);
    }
    // With fewer calls in progress than the lowest limit, too many requests are no matter of concurrency.
    const isTooMany = isRefused && this.#slots.inFlight >= this.#min;
    if (startedAt >= this.#changedAt && !runsCode(method)) {
      const isSettled = this.#settledAt !== undefined && startedAt >= this.#settledAt;
      this.#add({ kind: method.group, owner, ms: Math.max(now - startedAt, 0.01), isRefused: isTooMany, isSettled });
    }
    if (this.#settledAt !== undefined || isTooMany) this.#windowAt ??= now;
    if (this.#windowAt === undefined) return;
    const isFull = now - this.#windowAt >= WINDOW_MS && this.#counted >= WINDOW_CALLS;
    if (isFull || now - this.#windowAt >= MAX_WINDOW_MS) this.#endWindow(now);
  }

  #add(sample: Sample): void {
    this.#samples[this.#added++ % MAX_SAMPLES] = sample;
    if (sample.isSettled || sample.isRefused) this.#counted++;
  }

  #endWindow(now: number): void {
    const samples = this.#samples;
    this.#clearWindow();
    const refused = refusedShare(samples);
    if (refused >= MIN_REFUSED_SHARE && this.limit > this.#min) this.#lowerByRefusals(refused, now);
    else if (this.#probe !== undefined) this.#endProbe(this.#probe, samples.filter(isMeasured), now);
    else if (this.#slots.hasWaiting && now >= this.#nextProbeAt) this.#startProbe(samples.filter(isMeasured), now);
  }

  /** Lowers the limit by half at most: the calls of a window may be few. */
  #lowerByRefusals(share: number, now: number): void {
    this.#pauseRaising(now);
    this.#lower(Math.floor(this.limit * Math.max(1 - share, 0.5)), now);
  }

  /** Longer each time, until no limit was too high for the longest time. */
  #pauseRaising(now: number): void {
    if (this.#raiseAt > now) return;
    if (now - this.#raiseAt > MAX_TOO_HIGH_MS) this.#tooHighMs = FIRST_TOO_HIGH_MS;
    this.#raiseAt = now + this.#tooHighMs;
    this.#tooHighMs = Math.min(2 * this.#tooHighMs, MAX_TOO_HIGH_MS);
  }

  #lower(limit: number, now: number): void {
    clock.clearTimeout(this.#probe?.drain);
    this.#probe = undefined;
    this.#nextProbeAt = now + this.#pauseMs;
    this.#set(limit, now);
  }

  /** @param samples at the present limit */
  #startProbe(samples: readonly Sample[], now: number): void {
    const canLower = this.limit > this.#min && samples.length >= MIN_SAMPLES;
    const canRaise = this.limit < this.#max && now >= this.#raiseAt;
    if (!canLower && !canRaise) return;
    const direction = canLower && (this.#direction === 'lower' || !canRaise) ? 'lower' : 'raise';
    const drain = direction === 'lower' ? this.#endLater(samples) : undefined;
    this.#probe = { direction, previousLimit: this.limit, before: samples, drain };
    this.#set(direction === 'lower' ? Math.ceil(this.limit / 2) : this.limit * 2, now);
  }

  /** Slow calls, such as traces, may hold more slots than a lower limit has, for a minute. */
  #endLater(samples: readonly Sample[]): Timer {
    const latencyMs = median(samples, weightsOf(samples), ({ ms }) => ms);
    return clock
      .setTimeout(
        () => {
          if (this.#probe !== undefined) this.#endProbe(this.#probe, [], clock.now());
        },
        Math.max(MAX_DRAIN_MS, MAX_DRAIN_LATENCIES * latencyMs),
      )
      .unref();
  }

  #endProbe({ direction, previousLimit, before }: Probe, samples: readonly Sample[], now: number): void {
    this.#probe = undefined;
    // If no call waits any more, the higher limit is enough, and there is no latency to compare.
    const slowdown = this.#slots.hasWaiting ? slowdownBetween(before, samples, direction) : undefined;
    const isKept =
      direction === 'lower'
        ? slowdown !== undefined && slowdown <= 1 / MIN_SLOWDOWN_TO_LOWER
        : slowdown === undefined || slowdown < MAX_SLOWDOWN_TO_RAISE;
    if (isKept) {
      this.#pauseMs = FIRST_PAUSE_MS;
      this.#direction = direction;
      if (direction === 'raise' && slowdown !== undefined) this.#tooHighMs = FIRST_TOO_HIGH_MS;
      // Without latencies to compare, calls that filled the upstream are seen seconds later.
      if (this.#slots.hasWaiting && slowdown === undefined) this.#nextProbeAt = now + MAX_PAUSE_MS;
      else if (this.#slots.hasWaiting) this.#startProbe(samples, now);
      return;
    }
    this.#direction = direction === 'lower' ? 'raise' : 'lower';
    this.#nextProbeAt = now + this.#pauseMs;
    this.#pauseMs = Math.min(2 * this.#pauseMs, MAX_PAUSE_MS);
    this.#set(previousLimit, now);
  }

  #set(limit: number, now: number): void {
    this.#changedAt = now;
    this.#settledAt = undefined;
    this.#clearWindow();
    this.#slots.size = Math.min(Math.max(limit, this.#min), this.#max);
  }

  #clearWindow(): void {
    this.#windowAt = undefined;
    this.#samples = [];
    this.#added = 0;
    this.#counted = 0;
  }
}

/** Callers choose how long such a call takes. */
export function runsCode({ group, reverts, executes, isPassThrough }: EndedCall['method']): boolean {
  return reverts || executes === true || isPassThrough === true || (group !== 'lookup' && group !== 'list');
}

function isMeasured({ isRefused, isSettled }: Sample): boolean {
  return !isRefused && isSettled;
}

/** The share of the slots' time that refused calls had, each key by its weight. */
function refusedShare(samples: readonly Sample[]): number {
  const weightOf = weightsOf(samples, ({ ms }) => ms);
  let [refused, all] = [0, 0];
  for (const sample of samples) {
    const weight = weightOf(sample) * sample.ms;
    all += weight;
    if (sample.isRefused) refused += weight;
  }
  return all === 0 ? 0 : refused / all;
}

/**
 * The median of the latencies, each as a multiple of the median of its kind before. Undefined: too few calls. A key with half
 * of the weight cannot lower the limit: of two medians, the one for the higher limit is used.
 */
function slowdownBetween(
  before: readonly Sample[],
  after: readonly Sample[],
  direction: Direction,
): number | undefined {
  const medians = new Map<string, number>();
  for (const kind of new Set(before.map((sample) => sample.kind))) {
    const ofKind = before.filter((sample) => sample.kind === kind);
    medians.set(
      kind,
      median(ofKind, weightsOf(ofKind), ({ ms }) => ms),
    );
  }
  const comparable = after.filter(({ kind }) => medians.has(kind));
  if (Math.min(before.length, comparable.length) < MIN_SAMPLES) return undefined;
  return median(
    comparable,
    weightsOf(comparable),
    ({ kind, ms }) => ms / (medians.get(kind) ?? ms),
    direction === 'lower',
  );
}

/** The weight of each sample: those of one key have the weight of the key together. @param sizeOf a part of its key's */
function weightsOf(
  samples: readonly Sample[],
  sizeOf: (sample: Sample) => number = () => 1,
): (sample: Sample) => number {
  const sums = new Map<Account | undefined, number>();
  for (const sample of samples) sums.set(sample.owner, (sums.get(sample.owner) ?? 0) + sizeOf(sample));
  return ({ owner }) => (owner?.weight ?? 1) / (sums.get(owner) ?? 1);
}

function median(
  samples: readonly Sample[],
  weightOf: (sample: Sample) => number,
  valueOf: (sample: Sample) => number,
  isUpper = false,
): number {
  const weighted = samples.map((sample) => [valueOf(sample), weightOf(sample)] as const).sort(([a], [b]) => a - b);
  const all = weighted.reduce((sum, [, weight]) => sum + weight, 0);
  // Sums of weights are not exact.
  let rest = (all / 2) * (isUpper ? 1 + 1e-9 : 1 - 1e-9);
  for (const [value, weight] of weighted) if ((rest -= weight) <= 0) return value;
  return weighted.at(-1)?.[0] ?? NaN;
}
