import { describe, expect, it } from 'vitest';
import { configOf, diagnosticsIn } from './load.ts';

const [one, two] = [
  { name: 'one', url: 'https://one.example' },
  { name: 'two', url: 'https://two.example' },
];

function diagnosticsOf(more: object): string[] {
  const file = { name: 'Base', chainId: 1, upstreams: [one, two], ...more };
  return diagnosticsIn({ 'base.yaml': JSON.stringify(file) }).map((line) => line.replace(/^base\.yaml:\d+:\d+ /, ''));
}

const withRules = (methods: object, other = {}): object => ({
  upstreams: [
    { ...one, methods },
    { ...two, ...other },
  ],
});
const names = 'expected method, or start of methods with * after it';

describe('routes of methods', () => {
  it.each<[string, object]>([
    ['a route of a method', { route: { eth_sendRawTransaction: ['two'] } }],
    ['a route of a wildcard of the spec', { route: { 'eth_*': ['two', 'one'] } }],
    ['a route of a wildcard', { methods: ['eth', 'debug_*'], route: { 'debug_*': ['two'], debug_traceCall: ['one'] } }],
    ['an upstream with allowed methods', withRules(['eth_sendRawTransaction'])],
    ['an upstream with denied methods', withRules(['-eth_getLogs', '-trace_*', '-zks_estimateFee'], {})],
    [
      'routes of all methods that send transactions',
      {
        methods: ['eth', 'eth_sendRawTransactionSync', 'eth_sendBundle'],
        route: { 'eth_sendRawTransaction*': ['two'], eth_sendBundle: ['two', 'one'] },
      },
    ],
    ['both', withRules(['eth_*', '-eth_get*'])],
  ])('%s is valid', (_, file) => {
    expect(diagnosticsOf({ methods: ['eth', 'trace_*'], ...file })).toEqual([]);
  });

  it.each<[object, string]>([
    [{ route: { eth_call: ['three'] } }, 'route.eth_call[0]: three is no upstream of the network'],
    [{ route: { eth_call: ['tow'] } }, 'route.eth_call[0]: tow is no upstream of the network; did you mean two?'],
    [{ route: { eth_cal: ['two'] } }, 'route.eth_cal is no method of the network; did you mean eth_call?'],
    [{ route: { 'debug_*': ['two'] } }, 'route.debug_* is no method of the network'],
    [{ route: { zks_estimateFee: ['two'] } }, 'route.zks_estimateFee is no method of the network'],
    [{ route: { eth_call: [] } }, 'route.eth_call: expected list of names of upstreams'],
    [{ route: { eth_call: 'two' } }, 'route.eth_call: expected list of names of upstreams, not text'],
    [{ route: { 'eth call': ['two'] } }, `route.(name not shown): ${names}`],
    [{ route: { eth_call: ['https://two.example'] } }, 'route.eth_call[0]: expected name of an upstream'],
    [
      withRules(['-eth_getLog']),
      'upstreams[0].methods[0]: eth_getLog is no method of the network; did you mean eth_getLogs?',
    ],
    [withRules([]), 'upstreams[0].methods: expected list of methods and wildcards, each with or without a minus'],
    [
      withRules(['*']),
      'upstreams[0].methods[0]: expected method, or start of methods with * after it; a minus before it to exclude it',
    ],
    [
      withRules({ deny: ['eth_call'] }),
      'upstreams[0].methods: expected list of methods and wildcards, each with or without a minus, not a map',
    ],
    [
      withRules(['-eth_getBlockByNumber'], { methods: ['-eth_*'] }),
      'upstreams: none may get eth_getBlockByNumber, with which the gateway polls heads',
    ],
    [
      withRules(['-eth_call'], { methods: ['-eth_call', '-web3_*'] }),
      'upstreams: none may get eth_call: change methods, route or the methods of an upstream',
    ],
    [
      {
        ...withRules(['-eth_get*']),
        route: { eth_getLogs: ['one'], eth_getBalance: ['one'], 'eth_getB*': ['one'] },
      },
      'upstreams: none may get eth_getBlockByHash, eth_getBlockByNumber, eth_getBalance and 5 more: change methods, route or the methods of an upstream',
    ],
  ])('%j: %s', (file, diagnostic) => {
    expect(diagnosticsOf(file)).toEqual([diagnostic]);
  });
});

describe('the route of eth_sendRawTransaction', () => {
  const routeOf = (methods: readonly string[], route: object): object =>
    configOf('base', { methods, route, upstreams: [one, two] }).route;

  it('is that of other methods that send transactions', () => {
    const methods = ['eth', 'eth_sendBundle', 'mev_sendBundle', 'debug_traceCall'];
    const [private_, other] = [['two'], ['one']];
    const more = ['debug_batchSendRawTransaction', 'relay_submitTransaction', 'relay_submitRawTransaction'];
    const others = ['ethash_submitWork', 'relay_resend'];
    expect(routeOf([...methods, ...more, ...others], { eth_sendRawTransaction: private_ })).toEqual({
      eth_sendRawTransaction: private_,
      eth_sendRawTransactionSync: private_,
      eth_sendBundle: private_,
      mev_sendBundle: private_,
      ...Object.fromEntries(more.map((method) => [method, private_])),
    });
    expect(routeOf(methods, { 'eth_sendRaw*': private_, mev_sendBundle: other })).toEqual({
      'eth_sendRaw*': private_,
      mev_sendBundle: other,
      eth_sendBundle: private_,
    });
  });

  it('leaves other routes alone', () => {
    expect(routeOf(['eth', 'debug_traceCall'], { debug_traceCall: ['two'] })).toEqual({ debug_traceCall: ['two'] });
  });
});
