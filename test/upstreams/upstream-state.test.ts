import { describe, expect, it } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { UpstreamHealth } from '../../gateway/upstreams/health/upstream-health.ts';
import type { Upstream } from '../../gateway/upstreams/upstream.ts';
import { conditionOf, type ShownNetwork } from '../../gateway/upstreams/upstream-status.ts';
import { silent } from '../auth/auth-setup.ts';

const overtaken = 'the hedged request responded first';

/** The network of an upstream without a head. */
const network = {
  router: { all: [{}], options: { maxLagBlocks: undefined } },
  chain: { view: { headOf: () => undefined, markOf: () => undefined, maxLag: 8 } },
} as unknown as ShownNetwork;

function stateOf(health: UpstreamHealth, respondedAt = -Infinity, hasFailed = false): string {
  const { circuit } = health;
  const upstream = { name: 'one', health, circuit, isOnOtherChain: false, drain: undefined, hasFailed, respondedAt };
  return conditionOf(upstream as Upstream, network, undefined, clock.now())[0];
}

/** Five calls that are slow open the circuit. @param isOvertaken whether each was overtaken */
function slowHealth(isOvertaken: (index: number) => boolean, now: number): UpstreamHealth {
  const health = new UpstreamHealth('one', silent);
  for (let index = 0; index < 5; index++) {
    const call = { owner: {}, mayBeCause: false, error: {}, sentAt: now, isOvertaken: isOvertaken(index) };
    health.recordFailure({ failure: 'slow', detail: overtaken }, now, call);
  }
  return health;
}

describe('the state of an upstream', () => {
  const now = clock.now();

  it('is unused until a response or a failure of this process', () => {
    const health = new UpstreamHealth('one', silent);
    expect([stateOf(health), stateOf(health, -Infinity, true), stateOf(health, now, true)]).toEqual([
      'unused',
      'failing',
      'up',
    ]);
  });

  it('is slow because hedged requests respond first, only if each failure that opened its circuit was, and after a response since', () => {
    const health = slowHealth(() => true, now);
    expect([stateOf(health, now - 1), stateOf(health, now + 1)]).toEqual(['failing', 'slow']);
    expect(
      stateOf(
        slowHealth((index) => index > 0, now),
        now + 1,
      ),
    ).toBe('failing');
    // Polls fail meanwhile.
    health.recordFailure({ failure: 'transport', detail: 'ECONNREFUSED' }, now + 2);
    expect(stateOf(health, now + 1)).toBe('failing');
  });

  it('stays slow after a failure that its circuit does not count', () => {
    const health = slowHealth(() => true, now);
    const call = { owner: {}, mayBeCause: true, error: {}, sentAt: now };
    health.recordFailure({ failure: 'transport', detail: 'ECONNRESET' }, now + 2, call);
    expect(stateOf(health, now + 1)).toBe('slow');
  });
});
