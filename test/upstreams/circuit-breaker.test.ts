import { describe, expect, it } from 'vitest';
import { CircuitBreaker } from '../../gateway/upstreams/circuit-breaker.ts';
import type { FailureClass } from '../../gateway/upstreams/transport/upstream-response.ts';

/** How long from `now` until it lets a call through, to the tenth of a second. */
function restOf(circuit: CircuitBreaker, now: number): number {
  let wait = 0;
  while (!circuit.allowsCall(now + wait)) wait += 100;
  return wait;
}

describe('the health of an upstream', () => {
  it('is good at first', () => {
    const circuit = new CircuitBreaker(() => 0);
    expect([circuit.isClosed, circuit.allowsCall(0), circuit.allowsCall(0)]).toEqual([true, true, true]);
  });

  it.each<FailureClass>(['transport', 'malformed', 'rate'])('rests after %s for 1 s, 2 s, 4 s … 30 s', (failure) => {
    const circuit = new CircuitBreaker(() => 0);
    const rests: number[] = [];
    let now = 0;
    for (let times = 0; times < 7; times++) {
      circuit.recordFailure(failure, now);
      expect(circuit.isClosed).toBe(false);
      rests.push(restOf(circuit, now));
      now += rests.at(-1) ?? 0;
    }
    expect(rests).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  });

  it.each<FailureClass>(['wrong-chain', 'quota', 'auth'])('rests after %s for a minute', (failure) => {
    const circuit = new CircuitBreaker(() => 0);
    circuit.recordFailure(failure, 0);
    expect(restOf(circuit, 0)).toBe(60_000);
  });

  it.each<FailureClass>(['unknown', 'unsupported', 'too-large', 'not-found', 'node-state'])(
    'is left alone by %s, which is the call’s affair',
    (failure) => {
      const circuit = new CircuitBreaker(() => 0);
      circuit.recordFailure(failure, 0);
      expect([circuit.isClosed, circuit.allowsCall(0)]).toEqual([true, true]);
    },
  );

  it('rests as long as it asked to, be that shorter or longer than our own guess', () => {
    for (const [failure, wish] of [
      ['rate', 300],
      ['rate', 45_000],
      ['quota', 500],
      ['transport', 20_000],
    ] as const) {
      const circuit = new CircuitBreaker(() => 0);
      circuit.recordFailure(failure, 0, wish);
      expect(restOf(circuit, 0)).toBe(wish);
    }
  });

  it('rests no longer than ten minutes, whatever it asks for', () => {
    const circuit = new CircuitBreaker(() => 0);
    circuit.recordFailure('rate', 0, 10 ** 12);
    expect(restOf(circuit, 0)).toBe(600_000);
  });

  it('rests up to a quarter less than it might, by chance, but not less than it asked to', () => {
    const circuit = new CircuitBreaker(() => 1);
    circuit.recordFailure('transport', 0);
    expect(restOf(circuit, 0)).toBe(800);
    const requested = new CircuitBreaker(() => 1);
    requested.recordFailure('rate', 0, 1_000);
    expect(restOf(requested, 0)).toBe(1_000);
  });

  it('rests when calls took too long five times more often than they were answered', () => {
    const circuit = new CircuitBreaker(() => 0);
    for (let times = 0; times < 20; times++) {
      expect(circuit.recordFailure('slow', times)).toBe(false);
      circuit.recordSuccess();
    }
    for (let times = 0; times < 4; times++) expect(circuit.recordFailure('slow', 100)).toBe(false);
    expect(circuit.recordFailure('slow', 100)).toBe(true);
    expect([circuit.isClosed, restOf(circuit, 100)]).toEqual([false, 1_000]);
    // One more while it is on trial is enough.
    expect(circuit.isClosed).toBe(false);
  });

  it('does not rest for the call’s affairs, whatever it asks for', () => {
    const circuit = new CircuitBreaker(() => 0);
    circuit.recordFailure('node-state', 0, 5_000);
    expect(circuit.allowsCall(0)).toBe(true);
  });

  it('begins anew after a success', () => {
    const circuit = new CircuitBreaker(() => 0);
    circuit.recordFailure('transport', 0);
    circuit.recordFailure('transport', 5_000);
    circuit.recordSuccess();
    expect([circuit.isClosed, circuit.allowsCall(5_000)]).toEqual([true, true]);
    circuit.recordFailure('transport', 6_000);
    expect(restOf(circuit, 6_000)).toBe(1_000);
  });

  it('counts failures that come together as one', () => {
    const circuit = new CircuitBreaker(() => 0);
    for (let times = 0; times < 100; times++) circuit.recordFailure('transport', 10 * times);
    expect(restOf(circuit, 990)).toBe(1_000);
  });

  it('lets one call through when a rest is over, and another each second until that one is answered', () => {
    const circuit = new CircuitBreaker(() => 0);
    circuit.recordFailure('transport', 0);
    expect([1_000, 1_001, 1_999, 2_000, 2_001].map((now) => circuit.allowsCall(now))).toEqual([
      true,
      false,
      false,
      true,
      false,
    ]);
    circuit.recordSuccess();
    expect([circuit.allowsCall(2_002), circuit.allowsCall(2_002)]).toEqual([true, true]);
  });

  it('keeps a long rest when calls that were under way fail in a lesser way', () => {
    const circuit = new CircuitBreaker(() => 0);
    circuit.recordFailure('wrong-chain', 0);
    circuit.recordFailure('transport', 100);
    expect(restOf(circuit, 0)).toBe(60_000);
  });
});
