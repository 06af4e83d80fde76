import { expect, it } from 'vitest';
import { diagnosticsOf, good, loadFiles } from './load.ts';

const second = '  - { name: second, url: "https://second.example.com", group: other }';
const withOptions = (options: string): string[] => [...good.slice(0, 2), options, ...good.slice(2), second];

it('`witnesses` and `verify.agree` are up to the number of groups', () => {
  const lines = withOptions('witnesses: 2').concat('verify: { agree: { eth_call: 2 } }');
  expect(loadFiles({ 'base.yaml': lines.join('\n') })[0]).toMatchObject({
    witnesses: 2,
    verify: { agree: { eth_call: 2 } },
  });
});

it.each([
  ['witnesses: 0', '3:12 witnesses: expected whole number from 1 to the number of groups'],
  ['witnesses: 1.5', '3:12 witnesses: expected whole number from 1 to the number of groups'],
  ['witnesses: two', '3:12 witnesses: expected whole number from 1 to the number of groups'],
  ['witnesses: 3', '3:12 witnesses is 3: expected at most 2, the number of groups of upstreams'],
  [
    'verify: { agree: { eth_call: 3 } }',
    '3:30 verify.agree.eth_call is 3: expected at most 2, the number of groups of upstreams',
  ],
  ['verify: { share: 0 }', '3:18 verify.share: expected number above 0, up to 1'],
  ['verify: { agree: { eth_call: 6 } }', '3:30 verify.agree.eth_call: expected whole number from 2 to 5'],
  ['agree: { eth_call: 2 }', '3:1 agree is not known: write verify: { agree: … }'],
  ['audit: 0.01', '3:1 audit is not known: write verify: { level: observe, share: … }'],
  ['confirmNull: never', '3:1 confirmNull is not known: write verify: { nulls: … }'],
  ['verify: { eth_*: enforce }', '3:11 verify.eth_* is not known; levels by method are in verify.level'],
])('%s has a diagnostic with its position', (options, diagnostic) => {
  expect(diagnosticsOf(withOptions(options))).toEqual([expect.stringContaining(diagnostic)]);
});
