import { describe, expect, it } from 'vitest';
import { diagnosticsIn, diagnosticsOf, good, loadFiles } from './load.ts';

const withFailsafe = (entries: string): string[] => [...good.slice(0, 2), `failsafe: ${entries}`, ...good.slice(2)];
const isNoMethod = 'is no method that the network sends to upstreams';

describe('failsafe', () => {
  it('has values for all methods beside those by method, which are read as those of `*`', () => {
    const lines = withFailsafe('{ timeoutMs: 9, hedgeAfterMs: off, maxAttempts: 3, eth_call: { hedgeMinMs: 7 } }');
    const [network] = loadFiles({ 'base.yaml': [...lines, '    failsafe: { timeoutMs: 4 }'].join('\n') });
    const all = { timeoutMs: 9, hedgeAfterMs: 'off', maxAttempts: 3 };
    expect(network?.failsafe).toEqual({ '*': all, eth_call: { hedgeMinMs: 7 } });
    expect(network?.upstreams[0]?.failsafe).toEqual({ '*': { timeoutMs: 4 } });
  });

  it('is a map of methods and wildcards, of a network and of an upstream', () => {
    const lines = [...withFailsafe('{ eth_*: { maxAttempts: 2 }, eth_call: { timeoutMs: 5, hedgeAfterMs: off } }')];
    const own = '    failsafe: { eth_getLogs: { hedgeAfterMs: 7 } }';
    const [network] = loadFiles({ 'base.yaml': [...lines, own].join('\n') });
    expect(network?.failsafe).toEqual({ 'eth_*': { maxAttempts: 2 }, eth_call: { timeoutMs: 5, hedgeAfterMs: 'off' } });
    expect(network?.upstreams[0]?.failsafe).toEqual({ eth_getLogs: { hedgeAfterMs: 7 } });
  });

  it.each([
    ['{ eth_cal: { timeoutMs: 5 } }', `3:13 failsafe.eth_cal ${isNoMethod}; did you mean eth_call?`],
    ['{ "debug_*": { timeoutMs: 5 } }', `3:13 failsafe.debug_* ${isNoMethod}`],
    ['{ "trace_*": { maxAttempts: 5 } }', `3:13 failsafe.trace_* ${isNoMethod}`],
    ['{ eth_chainId: { timeoutMs: 5 } }', `3:13 failsafe.eth_chainId ${isNoMethod}`],
    ['{ "*": { timeoutMs: 5 } }', '3:13 failsafe.*: expected method, or start of methods with * after it'],
    [
      '{ eth_call: { timeoutMs: 0 } }',
      '3:36 failsafe.eth_call.timeoutMs: expected whole number of milliseconds from 1 to 600000',
    ],
    [
      '{ eth_call: { timeoutMs: 600001 } }',
      '3:36 failsafe.eth_call.timeoutMs: expected whole number of milliseconds from 1 to 600000',
    ],
    ['{ eth_call: { maxAttempts: 0 } }', '3:38 failsafe.eth_call.maxAttempts: expected whole number from 1 to 100'],
    [
      '{ eth_call: { hedgeAfterMs: never } }',
      '3:39 failsafe.eth_call.hedgeAfterMs: expected off, or whole number of milliseconds from 1 to 60000',
    ],
    ['{ eth_call: { timeout: 5 } }', '3:25 failsafe.eth_call.timeout is not known; did you mean timeoutMs?'],
    ['{ timeout: 5 }', '3:13 failsafe.timeout is not known; did you mean timeoutMs?'],
    ['{ timeoutMs: 0 }', '3:24 failsafe.timeoutMs: expected whole number of milliseconds from 1 to 600000'],
    [
      '{ hedgeMinMs: off }',
      '3:25 failsafe.hedgeMinMs: expected whole number of milliseconds from 1 to 60000, not text',
    ],
    [
      '{ timeoutMs: 50, hedgeAfterMs: 50 }',
      '3:42 failsafe.hedgeAfterMs: no hedge is sent, because the attempt ends after timeoutMs; write a shorter time',
    ],
    [
      '{ eth_call: {} }',
      '3:23 failsafe.eth_call: expected map with timeoutMs, hedgeAfterMs, hedgeMinMs or maxAttempts',
    ],
    [
      '{ eth_call: 5 }',
      '3:23 failsafe.eth_call: expected map with timeoutMs, hedgeAfterMs, hedgeMinMs or maxAttempts, not a number',
    ],
    [
      '{ eth_sendRawTransaction: { hedgeAfterMs: 5 } }',
      '3:53 failsafe.eth_sendRawTransaction.hedgeAfterMs: only reads of methods with a schema are hedged; remove it',
    ],
    [
      '{ eth_call: { timeoutMs: 50, hedgeAfterMs: 50 } }',
      '3:54 failsafe.eth_call.hedgeAfterMs: no hedge is sent, because the attempt ends after timeoutMs; write a shorter time',
    ],
  ])('%s has a diagnostic with its position', (entries, diagnostic) => {
    expect(diagnosticsOf(withFailsafe(entries))).toEqual([diagnostic]);
  });

  it('of an upstream has no maxAttempts, and is checked too', () => {
    const own = (entries: string): string[] => diagnosticsOf([...good, `    failsafe: ${entries}`]);
    expect(own('{ maxAttempts: 2 }')).toEqual(['6:17 upstreams[0].failsafe.maxAttempts is not known']);
    expect(own('{ eth_call: { maxAttempts: 2 } }')).toEqual([
      '6:29 upstreams[0].failsafe.eth_call.maxAttempts is not known',
    ]);
    expect(own('{ eth_cal: { timeoutMs: 2 } }')).toEqual([
      `6:17 upstreams[0].failsafe.eth_cal ${isNoMethod}; did you mean eth_call?`,
    ]);
  });

  it('of defaults.yaml names methods that at least one network sends to upstreams', () => {
    const files = {
      'base.yaml': good.join('\n'),
      'op.yaml': [...good, 'methods: [eth, "debug_*"]'].join('\n').replace('name: Base', 'name: OP'),
    };
    const shared = (entries: string): string[] =>
      diagnosticsIn({ ...files, 'defaults.yaml': `failsafe: ${entries}\n` });
    expect(shared('{ "debug_*": { timeoutMs: 5 } }')).toEqual([]);
    expect(shared('{ "trace_*": { timeoutMs: 5 } }')).toEqual([
      `defaults.yaml:1:13 failsafe.trace_* ${isNoMethod} (for base.yaml and 1 more)`,
    ]);
    // Networks with a map of their own have the members of defaults.yaml too.
    const own = [...good, 'failsafe: { eth_call: { timeoutMs: 5 } }'].join('\n').replace('name: Base', 'name: Arb');
    const withOwn = (entries: string): string[] =>
      diagnosticsIn({ ...files, 'arb.yaml': own, 'defaults.yaml': `failsafe: ${entries}\n` });
    expect(withOwn('{ eth_cal: { timeoutMs: 5 } }')).toEqual([
      `defaults.yaml:1:13 failsafe.eth_cal ${isNoMethod}; did you mean eth_call? (for arb.yaml and 2 more)`,
    ]);
    expect(withOwn('{ "debug_*": { timeoutMs: 5 } }')).toEqual([]);
  });
});
