import { pino } from 'pino';
import { expect, it } from 'vitest';
import { clock } from '../../../gateway/clock/clock.ts';
import { UpstreamHealth } from '../../../gateway/upstreams/health/upstream-health.ts';

it('the log has another cause within the same minute, and the recovery after it', () => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ base: null }, { write: (text) => void lines.push(JSON.parse(text) as Record<string, unknown>) });
  const health = new UpstreamHealth('a', log);
  for (const failure of ['auth', 'quota', 'auth'] as const) {
    health.logFailure(failure, failure, health.recordFailure({ failure, detail: failure }, clock.now()));
    health.recordSuccess(clock.now() + 1);
  }
  const shown = lines.map(({ msg, failure }) => [msg, failure].filter(Boolean).join(' '));
  const expected = ['upstream failed auth', 'upstream recovered', 'upstream failed quota', 'upstream recovered'];
  expect(shown).toEqual(expected);
});
