import { clock } from '../../clock/clock.ts';
import type { Network } from '../../call/call.ts';
import { describeWitnesses } from '../../call/verification.ts';
import type { Store } from '../../store/store.ts';
import type { Configuration } from '../../network-files/network-config.ts';
import type { Condition } from '../../observability/event-list.ts';
import type { UpstreamConditions } from '../../upstreams/upstream-status.ts';

export interface ConditionSources {
  readonly networks: () => readonly Network[];
  readonly upstreams: UpstreamConditions;
  readonly store: Pick<Store, 'isUp' | 'isFull'>;
  readonly memoryState: () => string;
  readonly configuration: () => Configuration;
}

/** The event of a difference between upstreams lasts for this time after the last one. */
const DIFFERENCE_EVENT_MS = 60_000;

/** Time of a dispute: in a reorg, or with a new block, groups differ until the next poll of each. */
const DISPUTE_MS = 15_000;

/** Finds everything that is wrong now, for the list of events. To be called once a second. */
export function currentConditions({ networks, upstreams, ...sources }: ConditionSources): Condition[] {
  const now = clock.now();
  upstreams.compare(networks(), now);
  const conditions = networks().flatMap((network) => conditionsOf(network, upstreams, now));
  const { store, memoryState, configuration } = sources;
  // The key store and the reload write log lines of their own.
  if (store.isFull) conditions.push({ kind: 'key-store', reason: 'the disk of DATA_DIR is full', isLogged: true });
  else if (!store.isUp) conditions.push({ kind: 'key-store', reason: 'unavailable', isLogged: true });
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
  if (![...found.values()].some(({ isWorking }) => isWorking))
    conditions.push({ kind: 'network', network: slug, reason: 'no upstream works' });
  const { dispute, witnesses } = network.chain.view;
  const { hold, missingSince } = witnesses;
  if (missingSince !== undefined && now - missingSince >= DISPUTE_MS)
    conditions.push({
      ...{ kind: 'network', network: slug },
      reason: `${describeWitnesses(witnesses)}: ${effects[hold]}`,
    });
  if (dispute !== undefined && now - dispute.at >= DISPUTE_MS)
    conditions.push({
      ...{ kind: 'network', network: slug },
      reason: `groups of upstreams have other blocks from ${dispute.number} on, without a majority: the branch followed before stays`,
    });
  for (const [{ name, health, difference }, { state, reason }] of found) {
    const subject = { network: slug, upstream: name };
    // An operation of an operator is an event of its own.
    if (reason !== undefined && state !== 'drained' && state !== 'differs')
      // The log has a line of each circuit that opens.
      conditions.push({ ...subject, kind: 'upstream', reason, isLogged: health.trouble(now) !== undefined });
    if (difference !== undefined && now - difference.at <= DIFFERENCE_EVENT_MS)
      conditions.push({ ...subject, ...differs, isLogged: true });
  }
  return conditions;
}

const effects = {
  no: 'fewer decide which blocks the network follows',
  near: 'results at the newest blocks are returned unproven',
  always: 'results that must be proven are errors',
} as const;

const differs = { kind: 'audit', reason: 'audits found other results than at other upstreams' } as const;
