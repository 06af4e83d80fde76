import { clock } from '../../clock/clock.ts';
import type { Network } from '../../call/network.ts';
import type { KeyStore } from '../../auth/stores/key-store.ts';
import type { Configuration } from '../../network-files/configuration.ts';
import type { Condition } from '../../observability/event-list.ts';
import { slowUpstreams } from '../../upstreams/slow-upstreams.ts';
import type { Upstream } from '../../upstreams/upstream.ts';

export interface ConditionSources {
  readonly networks: () => readonly Network[];
  readonly keys: Pick<KeyStore, 'isAvailable' | 'isFull'>;
  readonly memoryState: () => string;
  readonly configuration: () => Configuration;
}

/** Comparing the latencies of all upstreams takes milliseconds, so each tick does it for this part of the networks. */
const TICKS_PER_COMPARISON = 10;

/** A difference between upstreams counts as present for this time. */
const DIFFERENCE_MS = 60_000;

/** Finds everything that is wrong now, for the list of events. */
export class CurrentConditions {
  readonly #sources: ConditionSources;
  readonly #slow = new WeakMap<Network, ReadonlyMap<object, string>>();
  readonly #differences = new WeakMap<Upstream, { readonly count: number; readonly at: number }>();
  #ticks = 0;

  constructor(sources: ConditionSources) {
    this.#sources = sources;
  }

  /** To be called once a second. */
  read(): Condition[] {
    const { networks, keys, memoryState, configuration } = this.#sources;
    const now = clock.now();
    this.#ticks++;
    const conditions = networks().flatMap((network, index) => {
      if ((index + this.#ticks) % TICKS_PER_COMPARISON === 0)
        this.#slow.set(network, slowUpstreams(network.router.all, now));
      return [...conditionsOf(network, this.#slow.get(network), now), ...this.#differencesOf(network, now)];
    });
    // The key store and the reload write log lines of their own.
    if (keys.isFull) conditions.push({ kind: 'key-store', reason: 'the disk of DATA_DIR is full', isLogged: true });
    else if (!keys.isAvailable) conditions.push({ kind: 'key-store', reason: 'unavailable', isLogged: true });
    const memory = memoryState();
    if (memory !== 'normal') conditions.push({ kind: 'memory', reason: `memory pressure is ${memory}` });
    const { refused } = configuration();
    if (refused !== null)
      conditions.push({ kind: 'network-files', reason: refused.mistakes[0] ?? 'rejected', isLogged: true });
    return conditions;
  }

  /** The upstreams whose audits found differences in the last minute. */
  #differencesOf({ config, router, auditsOf }: Network, now: number): Condition[] {
    return router.all.flatMap((upstream): Condition[] => {
      const count = auditsOf(upstream.name)?.differs ?? 0;
      const before = this.#differences.get(upstream) ?? { count: 0, at: -Infinity };
      const last = count > before.count ? { count, at: now } : before;
      this.#differences.set(upstream, last);
      if (now - last.at > DIFFERENCE_MS) return [];
      const reason = 'audits found other results than at other upstreams';
      return [{ kind: 'audit', network: config.slug, upstream: upstream.name, reason, isLogged: true }];
    });
  }
}

function conditionsOf(
  { config, router, chain }: Network,
  slow: ReadonlyMap<object, string> | undefined,
  now: number,
): Condition[] {
  const network = config.slug;
  const maxLag = router.options.maxLagBlocks ?? chain.view.maxLag;
  const conditions = router.all.flatMap((upstream): Condition[] => {
    const subject = { kind: 'upstream', network, upstream: upstream.name } as const;
    const failure = failureOf(upstream, now);
    if (failure !== undefined) return [{ ...subject, reason: failure, isLogged: true }];
    const lag =
      router.all.length > 1 && chain.view.headOf(upstream) !== undefined ? chain.view.lagOf(upstream, now) : 0;
    if (lag > maxLag) return [{ ...subject, reason: `${lag} blocks behind` }];
    if (upstream.circuit.pauseMs(now) !== undefined) return [{ ...subject, reason: 'its rate limit is used up' }];
    const slowness = slow?.get(upstream);
    return slowness === undefined ? [] : [{ ...subject, reason: slowness }];
  });
  const hasWorking = router.all.some((upstream) => failureOf(upstream, now) === undefined);
  if (!hasWorking) conditions.unshift({ kind: 'network', network, reason: 'no upstream works' });
  return conditions;
}

function failureOf(upstream: Upstream, now: number): string | undefined {
  const { isOnOtherChain, health } = upstream;
  if (isOnOtherChain) return 'it serves another chain';
  return health.trouble(now)?.reason;
}
