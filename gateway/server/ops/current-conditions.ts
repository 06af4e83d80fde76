import { clock } from '../../clock/clock.ts';
import type { Network } from '../../call/network.ts';
import type { KeyStore } from '../../auth/stores/key-store.ts';
import type { Configuration } from '../../network-files/configuration.ts';
import type { Condition } from '../../observability/event-list.ts';
import { isWorking, type UpstreamConditions } from '../../upstreams/upstream-conditions.ts';

export interface ConditionSources {
  readonly networks: () => readonly Network[];
  readonly upstreams: UpstreamConditions;
  readonly keys: Pick<KeyStore, 'isAvailable' | 'isFull'>;
  readonly memoryState: () => string;
  readonly configuration: () => Configuration;
}

/** A difference between upstreams counts as present for this time. */
const DIFFERENCE_MS = 60_000;

/** Finds everything that is wrong now, for the list of events. To be called once a second. */
export function currentConditions({ networks, upstreams, ...sources }: ConditionSources): Condition[] {
  const now = clock.now();
  upstreams.compare(networks(), now);
  const conditions = networks().flatMap((network) => conditionsOf(network, upstreams, now));
  const { keys, memoryState, configuration } = sources;
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

function conditionsOf(network: Network, upstreams: UpstreamConditions, now: number): Condition[] {
  const { slug } = network.config;
  const conditions: Condition[] = [];
  const found = upstreams.of(network, now);
  if (![...found.values()].some(isWorking))
    conditions.push({ kind: 'network', network: slug, reason: 'no upstream works' });
  for (const [{ name }, condition] of found) {
    const { state, reason } = condition;
    const subject = { network: slug, upstream: name };
    // An operation of an operator is an event of its own.
    if (reason !== undefined && state !== 'drained' && state !== 'differs')
      conditions.push({ ...subject, kind: 'upstream', reason, isLogged: !isWorking(condition) });
    const differedAt = network.auditsOf(name)?.differedAt ?? -Infinity;
    if (now - differedAt <= DIFFERENCE_MS) conditions.push({ ...subject, ...differs, isLogged: true });
  }
  return conditions;
}

const differs = { kind: 'audit', reason: 'audits found other results than at other upstreams' } as const;
