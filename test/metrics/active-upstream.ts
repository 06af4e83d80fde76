import type { ActiveUpstream } from '../../gateway/metrics/history.ts';

/** The upstream `one` of the network `five`, which was not used yet. */
export function activeUpstream(facts: Partial<ActiveUpstream> = {}): ActiveUpstream {
  return {
    ...{ network: 'five', upstream: 'one', circuit: 'closed', isMeasured: false },
    ...{ lag: undefined, drainedS: undefined, concurrencyLimit: 256, isWithoutBatches: false },
    ...facts,
  };
}
