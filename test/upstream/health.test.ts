import { describe, expect, it } from 'vitest';
import { Health } from '../../gateway/upstream/health.ts';
import type { FailureClass } from '../../gateway/upstream/reply.ts';

/** How long from `now` until it lets a call through, to the tenth of a second. */
function restOf(health: Health, now: number): number {
  let wait = 0;
  while (!health.letsThrough(now + wait)) wait += 100;
  return wait;
}

describe('the health of an upstream', () => {
  it('is good at first', () => {
    const health = new Health(() => 0);
    expect([health.isUp, health.letsThrough(0), health.letsThrough(0)]).toEqual([true, true, true]);
  });

  it.each<FailureClass>(['transport', 'malformed', 'rate'])('rests after %s for 1 s, 2 s, 4 s … 30 s', (failure) => {
    const health = new Health(() => 0);
    const rests: number[] = [];
    let now = 0;
    for (let times = 0; times < 7; times++) {
      health.failed(failure, now);
      expect(health.isUp).toBe(false);
      rests.push(restOf(health, now));
      now += rests.at(-1) ?? 0;
    }
    expect(rests).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  });

  it.each<FailureClass>(['wrong-chain', 'quota', 'auth'])('rests after %s for a minute', (failure) => {
    const health = new Health(() => 0);
    health.failed(failure, 0);
    expect(restOf(health, 0)).toBe(60_000);
  });

  it.each<FailureClass>(['unknown', 'unsupported', 'too-large', 'not-found', 'node-state'])(
    'is left alone by %s, which is the call’s affair',
    (failure) => {
      const health = new Health(() => 0);
      health.failed(failure, 0);
      expect([health.isUp, health.letsThrough(0)]).toEqual([true, true]);
    },
  );

  it('rests as long as it asked to, be that shorter or longer than our own guess', () => {
    for (const [failure, wish] of [
      ['rate', 300],
      ['rate', 45_000],
      ['quota', 500],
      ['transport', 20_000],
    ] as const) {
      const health = new Health(() => 0);
      health.failed(failure, 0, wish);
      expect(restOf(health, 0)).toBe(wish);
    }
  });

  it('rests no longer than ten minutes, whatever it asks for', () => {
    const health = new Health(() => 0);
    health.failed('rate', 0, 10 ** 12);
    expect(restOf(health, 0)).toBe(600_000);
  });

  it('rests up to a quarter less than it might, by chance, but not less than it asked to', () => {
    const health = new Health(() => 1);
    health.failed('transport', 0);
    expect(restOf(health, 0)).toBe(800);
    const asked = new Health(() => 1);
    asked.failed('rate', 0, 1_000);
    expect(restOf(asked, 0)).toBe(1_000);
  });

  it('rests when calls took too long five times more often than they were answered', () => {
    const health = new Health(() => 0);
    for (let times = 0; times < 20; times++) {
      expect(health.failed('slow', times)).toBe(false);
      health.succeeded();
    }
    for (let times = 0; times < 4; times++) expect(health.failed('slow', 100)).toBe(false);
    expect(health.failed('slow', 100)).toBe(true);
    expect([health.isUp, restOf(health, 100)]).toEqual([false, 1_000]);
    // One more while it is on trial is enough.
    expect(health.isUp).toBe(false);
  });

  it('does not rest for the call’s affairs, whatever it asks for', () => {
    const health = new Health(() => 0);
    health.failed('node-state', 0, 5_000);
    expect(health.letsThrough(0)).toBe(true);
  });

  it('begins anew after a success', () => {
    const health = new Health(() => 0);
    health.failed('transport', 0);
    health.failed('transport', 5_000);
    health.succeeded();
    expect([health.isUp, health.letsThrough(5_000)]).toEqual([true, true]);
    health.failed('transport', 6_000);
    expect(restOf(health, 6_000)).toBe(1_000);
  });

  it('counts failures that come together as one', () => {
    const health = new Health(() => 0);
    for (let times = 0; times < 100; times++) health.failed('transport', 10 * times);
    expect(restOf(health, 990)).toBe(1_000);
  });

  it('lets one call through when a rest is over, and another each second until that one is answered', () => {
    const health = new Health(() => 0);
    health.failed('transport', 0);
    expect([1_000, 1_001, 1_999, 2_000, 2_001].map((now) => health.letsThrough(now))).toEqual([
      true,
      false,
      false,
      true,
      false,
    ]);
    health.succeeded();
    expect([health.letsThrough(2_002), health.letsThrough(2_002)]).toEqual([true, true]);
  });

  it('keeps a long rest when calls that were under way fail in a lesser way', () => {
    const health = new Health(() => 0);
    health.failed('wrong-chain', 0);
    health.failed('transport', 100);
    expect(restOf(health, 0)).toBe(60_000);
  });
});
