import { expect, it } from 'vitest';
import { diagnosticsOf, good, loadFiles } from './load.ts';

const second = '  - { name: second, url: "https://second.example.com", group: other }';
const withOptions = (options: string): string[] => [...good.slice(0, 2), options, ...good.slice(2), second];

it('`witnesses` and `agree` are up to the number of groups', () => {
  const lines = withOptions('witnesses: 2').concat('agree: { eth_call: 2 }');
  expect(loadFiles({ 'base.yaml': lines.join('\n') })[0]).toMatchObject({ witnesses: 2, agree: { eth_call: 2 } });
});

it.each([
  ['witnesses: 0', '3:12 witnesses: expected whole number from 1 to the number of groups'],
  ['witnesses: 1.5', '3:12 witnesses: expected whole number from 1 to the number of groups'],
  ['witnesses: two', '3:12 witnesses: expected whole number from 1 to the number of groups'],
  ['witnesses: 3', '3:12 witnesses is 3: expected at most 2, the number of groups of upstreams'],
  ['agree: { eth_call: 3 }', '3:20 agree.eth_call is 3: expected at most 2, the number of groups of upstreams'],
])('%s has a diagnostic with its position', (options, diagnostic) => {
  expect(diagnosticsOf(withOptions(options))).toEqual([expect.stringContaining(diagnostic)]);
});
