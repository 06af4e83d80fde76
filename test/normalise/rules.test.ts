import { describe, expect, it } from 'vitest';
import { wrappers } from '../../gateway/normalise/errors/nested-errors.ts';
import { errorRules } from '../../gateway/normalise/errors/error-rules.ts';
import { executionErrorRules } from '../../gateway/normalise/errors/execution-error-rules.ts';
import { bareReason, revertRules } from '../../gateway/normalise/errors/revert-rules.ts';
import { transactionRules } from '../../gateway/normalise/errors/transaction-rules.ts';
import { recorded } from './recorded-responses.ts';
import { cpuTimeOf } from '../support/cpu-time.ts';

const reverts = [...revertRules, bareReason];
/** A second, as a loaded machine shows it. */
const LIMIT_MS = 5_000;
const rules = [...executionErrorRules, ...transactionRules, ...errorRules, ...reverts];

describe('every rule', () => {
  it('has a client and a source', () => {
    for (const { client, source } of [...rules, ...wrappers])
      expect([client, source]).toEqual([expect.any(String), expect.any(String)]);
    expect(rules.filter(({ client, source }) => client === '' || source === '')).toEqual([]);
  });

  it('is anchored, unless it is for methods that execute no code, or for one error code', () => {
    for (const { text, ...rule } of rules) {
      const canBeUnanchored = 'methods' in rule && (rule.methods === 'reads' || rule.methods === 'lookups by hash');
      if (text === undefined || canBeUnanchored || rule.codes?.length === 1) continue;
      expect(
        alternatives(text.source).filter((one) => !one.startsWith('^')),
        text.source,
      ).toEqual([]);
    }
  });

  it('contains no whole recorded message, except fixed texts', () => {
    const messages = recorded
      .map(({ upstreamResponse }) => upstreamResponse?.error?.message)
      .filter((message) => message !== undefined && (message.length > 50 || /\d{2}/.test(message)));
    expect(messages.length).toBeGreaterThan(10);
    for (const { text } of rules) {
      const words = (text?.source ?? '').replace(/\\(.)/g, '$1');
      expect(messages.filter((message) => words.includes(message ?? ''))).toEqual([]);
    }
  });

  it('takes less than a second for malicious texts', () => {
    const texts = ['execution reverted: ', 'a ', '429 A: ', 'Internal error: ', '((((', '0x00', 'rate limit ', '\n'];
    for (const text of [...rules.map((rule) => rule.text), ...wrappers.map(({ pattern }) => pattern)]) {
      for (const part of texts) {
        // Twice the longest one, for which a quadratic pattern takes many times the limit.
        const long = part.repeat(131_072 / part.length);
        const ms = cpuTimeOf(() => {
          text?.test(long);
          text?.test(` ${long}`);
        });
        expect(ms, `${text?.source} on ${part}`).toBeLessThan(LIMIT_MS);
      }
    }
  });
});

/** The top-level alternatives of a regular expression. */
function alternatives(source: string): string[] {
  const parts = [''];
  let depth = 0;
  for (const token of source.match(/\\.|\[(?:\\.|[^\]])*\]|[^]/g) ?? []) {
    if (token === '(') depth++;
    if (token === ')') depth--;
    if (token === '|' && depth === 0) parts.push('');
    else parts.push((parts.pop() ?? '') + token);
  }
  return parts;
}
