import type { LiveUpstreamOptions, ReplaceableConfig } from '../network-files/network-config.ts';
import { coversMethod } from '../network-files/options/method-pattern.ts';
import { attemptTimesMs, type MethodSpec } from '../spec/method-spec.ts';

/** Default of `hedgeMinMs`. */
const HEDGE_MIN_MS = 50;

/** Times and attempts of the calls of one method. */
export interface Failsafe<Upstream> {
  /** Time for one attempt, by upstream. */
  readonly timeoutMs: ReadonlyMap<Upstream, number>;
  /** Delay of the hedge, by the upstream of the first attempt. Without an entry, the usual time of the method decides. */
  readonly hedgeAfterMs: ReadonlyMap<Upstream, number | 'off'>;
  /** Minimum of that usual time. */
  readonly hedgeMinMs: number;
  /** Upstreams whose time is a default that is not below that of the call. Undefined: none. See `attempt.ts`. */
  readonly sharesTime: ReadonlySet<Upstream> | undefined;
  /** Maximum requests to upstreams for one call. */
  readonly maxAttempts: number;
}

interface FailsafeUpstream {
  readonly config: LiveUpstreamOptions;
}

type FailsafeEntries = Readonly<Record<string, object>>;

/** Times and attempts by method, from `failsafe` of the network file and from the groups of methods. */
export class FailsafeTable<Upstream extends FailsafeUpstream> {
  /** Whether some reads are hedged. */
  readonly hasHedges: boolean;
  readonly #all: readonly Upstream[];
  readonly #network: ReplaceableConfig['failsafe'];
  /** Options as they are now: a reload changes the upstreams. */
  readonly #options: ReadonlyMap<Upstream, LiveUpstreamOptions>;
  readonly #defaultTimeoutMs: number | undefined;
  readonly #callTimeoutMs: number;

  /**
   * @param all the open upstreams of the network
   * @param defaultTimeoutMs UPSTREAM_TIMEOUT_MS; undefined: the group of the method decides
   * @param callTimeoutMs CALL_TIMEOUT_MS
   */
  constructor(
    { failsafe }: Pick<ReplaceableConfig, 'failsafe'>,
    all: readonly Upstream[],
    defaultTimeoutMs: number | undefined,
    callTimeoutMs: number,
  ) {
    this.#callTimeoutMs = callTimeoutMs;
    this.#all = all;
    this.#network = failsafe;
    this.#options = new Map(all.map((upstream) => [upstream, upstream.config]));
    this.#defaultTimeoutMs = defaultTimeoutMs;
    const entries = [failsafe, ...all.map(({ config }) => config.failsafe ?? {})].flatMap(
      Object.values<FailsafeValues>,
    );
    const { hedgeAfterMs: usual } = failsafe['*'] ?? {};
    this.hasHedges = usual !== 'off' || entries.some(({ hedgeAfterMs = 'off' }) => hedgeAfterMs !== 'off');
  }

  /** `failsafe` of an upstream counts first; then that of the network, the setting and the group. Not to be called for each call. */
  of({ name, group, sends }: MethodSpec): Failsafe<Upstream> {
    const timeoutMs = new Map<Upstream, number>();
    const hedgeAfterMs = new Map<Upstream, number | 'off'>();
    const sharesTime = new Set<Upstream>();
    const ofNetwork = valuesFor(name, this.#network);
    for (const upstream of this.#all) {
      const options = this.#options.get(upstream);
      const own = valuesFor(name, options?.failsafe ?? {});
      const givenMs = own.timeoutMs ?? ofNetwork.timeoutMs ?? this.#defaultTimeoutMs;
      timeoutMs.set(upstream, givenMs ?? attemptTimesMs[group]);
      // A method that sends a transaction waits for its receipt: at another upstream, it would wait no longer.
      const isLong = givenMs === undefined && sends !== true && attemptTimesMs[group] >= this.#callTimeoutMs;
      if (isLong) sharesTime.add(upstream);
      const delayMs = own.hedgeAfterMs ?? ofNetwork.hedgeAfterMs;
      if (delayMs !== undefined) hedgeAfterMs.set(upstream, delayMs);
    }
    const shared = sharesTime.size > 0 && this.#all.length > 1 ? sharesTime : undefined;
    const { hedgeMinMs = HEDGE_MIN_MS, maxAttempts = Infinity } = ofNetwork;
    return { timeoutMs, hedgeAfterMs, hedgeMinMs, sharesTime: shared, maxAttempts };
  }
}

type FailsafeValues = Partial<ReplaceableConfig['failsafe'][string]>;

/** The values for a method. Each is from the entry with its name, or else from the longest wildcard that has the value. */
function valuesFor(method: string, entries: FailsafeEntries): FailsafeValues {
  const wildcards = Object.keys(entries).filter((pattern) => pattern !== method && coversMethod(pattern, method));
  const bestLast = [...wildcards.toSorted((one, other) => one.length - other.length), method];
  return Object.assign({}, ...bestLast.map((pattern) => entries[pattern])) as FailsafeValues;
}
