import { describe, expect, it } from 'vitest';
import { FailsafeTable } from '../../../gateway/routing/failsafe-table.ts';
import { passThroughSpec } from '../../../gateway/spec/method-facts.ts';
import { methods } from '../../../gateway/spec/methods.generated.ts';
import { attemptTimesMs } from '../../../gateway/spec/method-spec.ts';
import { configOf } from '../../network-files/load.ts';

const specOf = (name: string) => methods.find((method) => method.name === name) ?? passThroughSpec(name);

/** Upstreams `one` and `two`, the first with these options. */
function tableOf(failsafe: object, first: object = {}, settingMs?: number) {
  const upstreams = [
    { name: 'one', url: 'https://one.example', ...first },
    { name: 'two', url: 'https://two.example' },
  ];
  const config = configOf('base', { methods: ['eth', 'debug_*', 'bor_*', 'trace_*'], failsafe, upstreams });
  const all = config.upstreams.map((upstream) => ({ config: upstream }));
  const table = new FailsafeTable(config, all, settingMs, 15_000);
  return {
    table,
    times: (name: string) => all.map((upstream) => table.of(specOf(name)).timeoutMs.get(upstream)),
    hedges: (name: string) => all.map((upstream) => table.of(specOf(name)).hedgeAfterMs.get(upstream)),
    attempts: (name: string) => table.of(specOf(name)).maxAttempts,
    sharing: (name: string) => all.filter((upstream) => table.of(specOf(name)).sharesTime?.has(upstream)).length,
  };
}

describe('the time for one attempt', () => {
  it.each([
    ['eth_getBalance', 5_000],
    ['eth_getBlockByNumber', 5_000],
    ['eth_call', 10_000],
    ['eth_estimateGas', 10_000],
    ['eth_sendRawTransaction', 10_000],
    ['eth_getLogs', 10_000],
    ['eth_getBlockReceipts', 10_000],
    ['eth_sendRawTransactionSync', 60_000],
    ['debug_traceTransaction', 60_000],
    ['trace_filter', 60_000],
    ['bor_getAuthor', 10_000],
  ])('of %s is that of its group by default: %i ms', (method, ms) => {
    expect(tableOf({}).times(method)).toEqual([ms, ms]);
  });

  it('is that of the first option that has one, and otherwise UPSTREAM_TIMEOUT_MS', () => {
    const network = { eth_call: { timeoutMs: 300 } };
    expect(tableOf({}, {}, 7).times('eth_call')).toEqual([7, 7]);
    expect(tableOf(network, {}, 7).times('eth_call')).toEqual([300, 300]);
    expect(tableOf(network, { failsafe: { timeoutMs: 200 } }, 7).times('eth_call')).toEqual([200, 300]);
    const own = { failsafe: { timeoutMs: 200, eth_call: { timeoutMs: 100 } } };
    expect(tableOf(network, own, 7).times('eth_call')).toEqual([100, 300]);
    expect(tableOf(network, own, 7).times('eth_getLogs')).toEqual([200, 7]);
  });

  it('is shared with other upstreams only if it is a default that is not below that of the call', () => {
    expect(tableOf({}).sharing('debug_traceCall')).toBe(2);
    expect(['eth_call', 'eth_sendRawTransactionSync'].map(tableOf({}).sharing)).toEqual([0, 0]);
    expect(tableOf({}, { failsafe: { timeoutMs: 60_000 } }).sharing('debug_traceCall')).toBe(1);
    expect(tableOf({ 'debug_*': { timeoutMs: 60_000 } }).sharing('debug_traceCall')).toBe(0);
    expect(tableOf({}, {}, 60_000).sharing('debug_traceCall')).toBe(0);
  });

  it('is known for each group', () => {
    const groups = new Set(methods.map(({ group }) => group));
    expect(Object.keys(attemptTimesMs)).toEqual(expect.arrayContaining([...groups]));
  });
});

describe('a value', () => {
  it('is that of the name, or else of the longest wildcard that has the value', () => {
    const { times, hedges, attempts } = tableOf({
      'eth_call*': { timeoutMs: 1, maxAttempts: 5 },
      eth_call: { timeoutMs: 2 },
      'eth_*': { timeoutMs: 3, hedgeAfterMs: 1, maxAttempts: 4 },
      'debug_trace*': { timeoutMs: 6 },
      'debug_*': { timeoutMs: 7, maxAttempts: 1 },
    });
    expect([times('eth_call')[0], hedges('eth_call')[0], attempts('eth_call')]).toEqual([2, 1, 5]);
    expect([times('eth_getLogs')[0], hedges('eth_getLogs')[0], attempts('eth_getLogs')]).toEqual([3, 1, 4]);
    expect([times('debug_traceCall')[0], hedges('debug_traceCall')[0], attempts('debug_traceCall')]).toEqual([
      6,
      undefined,
      1,
    ]);
    expect([times('trace_block')[0], attempts('trace_block')]).toEqual([60_000, Infinity]);
  });

  it('of an upstream is for that upstream only', () => {
    const first = { failsafe: { 'eth_*': { hedgeAfterMs: 'off' } } };
    expect(tableOf({ eth_call: { hedgeAfterMs: 20 } }, first).hedges('eth_call')).toEqual(['off', 20]);
  });
});

it('has hedges, unless they are off and no entry has a delay', () => {
  const off = { hedgeAfterMs: 'off' };
  expect(tableOf({}).table.hasHedges).toBe(true);
  expect(tableOf({ ...off, eth_call: { hedgeAfterMs: 5 } }).table.hasHedges).toBe(true);
  expect(tableOf(off, { failsafe: { eth_call: { hedgeAfterMs: 5 } } }).table.hasHedges).toBe(true);
  expect(tableOf({ ...off, eth_call: { ...off, timeoutMs: 5 } }).table.hasHedges).toBe(false);
});
