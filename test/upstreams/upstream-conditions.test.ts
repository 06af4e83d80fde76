import { expect, it } from 'vitest';
import type { Upstream } from '../../gateway/upstreams/upstream.ts';
import { UpstreamConditions, type ShownNetwork } from '../../gateway/upstreams/upstream-status.ts';

/** Counts how often its state is made. */
class CountedUpstream {
  readonly name = 'one';
  readonly circuit = { isClosed: true, pauseMs: () => undefined };
  readonly health = { trouble: () => undefined, isOvertaken: () => false };
  drain: object | undefined;
  made = 0;

  get respondedAt(): number {
    this.made++;
    return 1;
  }
}

it('conditions are made once a second for all that read them, and again after a change of a circuit or a drain', () => {
  const upstream = new CountedUpstream();
  const network: ShownNetwork = {
    config: { slug: 'five' },
    router: { all: [upstream as unknown as Upstream], options: { maxLagBlocks: undefined } },
    chain: { view: { headOf: () => undefined, markOf: () => undefined } as unknown as ShownNetwork['chain']['view'] },
  };
  const conditions = new UpstreamConditions();
  const stateAt = (now: number): string | undefined => [...conditions.of(network, now).values()][0]?.state;
  for (let count = 0; count < 100; count++) expect(stateAt(5_000 + count)).toBe('up');
  expect(upstream.made).toBe(1);
  upstream.drain = {};
  expect([stateAt(5_200), stateAt(5_300), upstream.made]).toEqual(['drained', 'drained', 2]);
  upstream.circuit.isClosed = false;
  expect([stateAt(5_300), upstream.made]).toEqual(['drained', 3]);
  expect([stateAt(6_299), stateAt(6_300), upstream.made]).toEqual(['drained', 'drained', 4]);
});
