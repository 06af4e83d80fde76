import { expect, it } from 'vitest';
import { diagnosticsIn, diagnosticsOf, good } from './load.ts';

it.each([
  [
    'hedge: off',
    '6:1 hedge is not known: write failsafe: { hedgeAfterMs: off }, or failsafe: { hedgeMinMs: … } for a number',
  ],
  ['    timeoutMs: 5', '6:5 upstreams[0].timeoutMs is not known: write failsafe: { timeoutMs: … }'],
  ['maxBlockRange: 5', '6:1 maxBlockRange is not known: write bounds: { maxBlockRange: … }'],
  [
    'public: { maxAddresses: 5 }',
    '6:11 public.maxAddresses is not known: write public: { bounds: { maxAddresses: … } }',
  ],
])('the former option in %s is an error that names what replaces it', (line, diagnostic) => {
  expect(diagnosticsOf([...good, line])).toEqual([diagnostic]);
});

it('a former option in defaults.yaml is an error, too', () => {
  expect(diagnosticsIn({ 'defaults.yaml': 'maxResponseBytes: 5\n', 'base.yaml': good.join('\n') })).toEqual([
    'defaults.yaml:1:1 maxResponseBytes is not known: write bounds: { maxResponseBytes: … }',
  ]);
});
