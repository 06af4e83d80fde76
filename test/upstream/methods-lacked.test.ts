import { describe, expect, it } from 'vitest';
import { MethodsLacked } from '../../gateway/upstream/methods-lacked.ts';

describe('a method at an upstream', () => {
  it('is passed over when it took too long three times in a row, while others were answered', () => {
    const methods = new MethodsLacked();
    methods.failed('eth_getLogs', 'slow', false);
    methods.failed('eth_getLogs', 'slow', false);
    methods.answered('eth_getLogs');
    methods.failed('eth_getLogs', 'slow', false);
    methods.failed('eth_getLogs', 'slow', false);
    expect(methods.has('eth_getLogs')).toBe(false);
    methods.failed('eth_getLogs', 'slow', false);
    // It is not lacking: nobody is told that the method does not exist.
    expect([methods.has('eth_getLogs'), methods.hasNot('eth_getLogs')]).toEqual([true, false]);
    expect(methods.has('eth_call')).toBe(false);
  });

  it.each([
    ['unsupported', true, true, true],
    ['malformed', true, true, false],
    ['malformed', false, false, false],
    ['transport', false, false, false],
  ] as const)('after %s (with a reply: %s) is passed over: %s, lacking: %s', (failure, hasReplied, has, hasNot) => {
    const methods = new MethodsLacked();
    methods.failed('eth_call', failure, hasReplied);
    expect([methods.has('eth_call'), methods.hasNot('eth_call')]).toEqual([has, hasNot]);
  });
});
