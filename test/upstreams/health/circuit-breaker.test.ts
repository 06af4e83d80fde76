import { describe, expect, it } from 'vitest';
import { CircuitBreaker } from '../../../gateway/upstreams/health/circuit-breaker.ts';
import type { FailureClass } from '../../../gateway/upstreams/transport/upstream-response.ts';

/** The time from `now` until a call is allowed, in steps of 100 ms. */
function cooldownMsOf(circuit: CircuitBreaker, now: number): number {
  let wait = 0;
  while (!circuit.tryBeginTrial(now + wait)) wait += 100;
  return wait;
}

describe('the circuit of an upstream', () => {
  it('is closed at first', () => {
    const circuit = new CircuitBreaker(() => 0);
    expect([circuit.isClosed, circuit.tryBeginTrial(0), circuit.tryBeginTrial(0)]).toEqual([true, true, true]);
  });

  it.each<FailureClass>(['transport', 'malformed', 'rate'])('is open after %s for 1 s, 2 s, 4 s … 30 s', (failure) => {
    const circuit = new CircuitBreaker(() => 0);
    const cooldowns: number[] = [];
    let now = 0;
    for (let times = 0; times < 7; times++) {
      circuit.recordFailure(failure, now);
      expect(circuit.isClosed).toBe(false);
      cooldowns.push(cooldownMsOf(circuit, now));
      now += cooldowns.at(-1) ?? 0;
    }
    expect(cooldowns).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  });

  it.each<FailureClass>(['wrong-chain', 'quota', 'auth'])('is open after %s for a minute', (failure) => {
    const circuit = new CircuitBreaker(() => 0);
    circuit.recordFailure(failure, 0);
    expect(cooldownMsOf(circuit, 0)).toBe(60_000);
  });

  it.each<FailureClass>(['unknown', 'unsupported', 'too-large', 'not-found', 'node-state'])(
    'stays closed after %s, which the call causes',
    (failure) => {
      const circuit = new CircuitBreaker(() => 0);
      circuit.recordFailure(failure, 0);
      expect([circuit.isClosed, circuit.tryBeginTrial(0)]).toEqual([true, true]);
    },
  );

  it('is open for the time of Retry-After, whether it is shorter or longer than the estimate', () => {
    for (const [failure, retryAfterMs] of [
      ['rate', 300],
      ['rate', 45_000],
      ['quota', 500],
      ['transport', 20_000],
    ] as const) {
      const circuit = new CircuitBreaker(() => 0);
      circuit.recordFailure(failure, 0, retryAfterMs);
      expect(cooldownMsOf(circuit, 0)).toBe(retryAfterMs);
    }
  });

  it('is open for ten minutes at most, whatever Retry-After requests', () => {
    const circuit = new CircuitBreaker(() => 0);
    circuit.recordFailure('rate', 0, 10 ** 12);
    expect(cooldownMsOf(circuit, 0)).toBe(600_000);
  });

  it('is paused for more than 30 s only if several callers, or Gatehouse itself, got the Retry-After', () => {
    const fail = (circuit: CircuitBreaker, now: number, owner: object): boolean =>
      circuit.recordFailure('rate', now, 600_000, false, { owner, mayBeCause: false, error: undefined, sentAt: now });
    const [one, other] = [{}, {}];
    const circuit = new CircuitBreaker(() => 0);
    for (let times = 0; times < 3; times++) fail(circuit, 0, one);
    expect(circuit.pauseMs(0)).toBe(30_000);
    fail(circuit, 30_000, one);
    expect(circuit.pauseMs(30_000)).toBe(30_000);
    fail(circuit, 60_000, other);
    expect(circuit.pauseMs(60_000)).toBe(600_000);
    circuit.recordSuccess();
    for (let times = 0; times < 3; times++) fail(circuit, 700_000, other);
    expect(circuit.pauseMs(700_000)).toBe(30_000);
    circuit.recordFailure('rate', 700_000, 600_000);
    expect(circuit.pauseMs(700_000)).toBe(600_000);
  });

  it('has jitter of up to 25 % in the cooldown, but never below Retry-After', () => {
    const circuit = new CircuitBreaker(() => 1);
    circuit.recordFailure('transport', 0);
    expect(cooldownMsOf(circuit, 0)).toBe(800);
    const requested = new CircuitBreaker(() => 1);
    requested.recordFailure('rate', 0, 1_000);
    expect(cooldownMsOf(requested, 0)).toBe(1_000);
  });

  it('keeps the pause of Retry-After after the success of a request from before it', () => {
    const circuit = new CircuitBreaker(() => 0);
    circuit.recordFailure('rate', 1_000, 60_000);
    circuit.recordSuccess(999);
    expect(circuit.pauseMs(1_000)).toBe(60_000);
    circuit.recordFailure('unsupported', 1_001, undefined, true, {
      ...{ owner: {}, mayBeCause: false, error: undefined, sentAt: 999 },
    });
    expect(circuit.pauseMs(1_000)).toBe(60_000);
    circuit.recordSuccess(1_001);
    expect(circuit.pauseMs(1_001)).toBeUndefined();
  });

  it('opens when slow calls exceed successful calls by five', () => {
    const circuit = new CircuitBreaker(() => 0);
    for (let times = 0; times < 20; times++) {
      expect(circuit.recordFailure('slow', times)).toBe(false);
      circuit.recordSuccess();
    }
    for (let times = 0; times < 4; times++) expect(circuit.recordFailure('slow', 100)).toBe(false);
    expect(circuit.recordFailure('slow', 100)).toBe(true);
    expect([circuit.isClosed, cooldownMsOf(circuit, 100)]).toEqual([false, 1_000]);
  });

  it('stays closed after a failure that the call causes, even with Retry-After', () => {
    const circuit = new CircuitBreaker(() => 0);
    circuit.recordFailure('node-state', 0, 5_000);
    expect(circuit.tryBeginTrial(0)).toBe(true);
  });

  it('starts with the first cooldown again after a success', () => {
    const circuit = new CircuitBreaker(() => 0);
    circuit.recordFailure('transport', 0);
    circuit.recordFailure('transport', 5_000);
    circuit.recordSuccess();
    expect([circuit.isClosed, circuit.tryBeginTrial(5_000)]).toEqual([true, true]);
    circuit.recordFailure('transport', 6_000);
    expect(cooldownMsOf(circuit, 6_000)).toBe(1_000);
  });

  it('counts concurrent failures as one', () => {
    const circuit = new CircuitBreaker(() => 0);
    for (let times = 0; times < 100; times++) circuit.recordFailure('transport', 10 * times);
    expect(cooldownMsOf(circuit, 990)).toBe(1_000);
  });

  it('allows one trial call after the cooldown, and another each second until one is successful', () => {
    const circuit = new CircuitBreaker(() => 0);
    circuit.recordFailure('transport', 0);
    expect([1_000, 1_001, 1_999, 2_000, 2_001].map((now) => circuit.tryBeginTrial(now))).toEqual([
      true,
      false,
      false,
      true,
      false,
    ]);
    circuit.recordSuccess();
    expect([circuit.tryBeginTrial(2_002), circuit.tryBeginTrial(2_002)]).toEqual([true, true]);
  });

  it('keeps a long cooldown when calls in flight fail with a shorter one', () => {
    const circuit = new CircuitBreaker(() => 0);
    circuit.recordFailure('wrong-chain', 0);
    circuit.recordFailure('transport', 100);
    expect(cooldownMsOf(circuit, 0)).toBe(60_000);
  });
});
