import { expect, it } from 'vitest';
import { checkPublic } from '../../gateway/auth/permissions/public-permissions.ts';
import { readNetwork } from '../../gateway/network-files/read-network.ts';
import { configOf, good, knownMethods } from './load.ts';

function diagnosticsOf(lines: readonly string[]): string[] {
  const yaml = [...good, 'public:', ...lines.map((line) => `  ${line}`)].join('\n');
  const { diagnostics } = readNetwork('base', yaml, { folder: '.', knownMethods, checkPublic, env: {} });
  return diagnostics.map(({ line, message }) => `${line}: ${message}`);
}

it('public has the fields of a key, for each address and for all', () => {
  expect(
    diagnosticsOf([
      'rate: 0.5',
      'burst: 10',
      'methods: [eth, net_version]',
      "origins: ['https://*.example.org']",
      'ips: [10.0.0.0/8]',
      'total: { rate: 100, monthly: 1000000 }',
      'perSender: { rate: 1 }',
    ]),
  ).toEqual([]);
});

it('public may be empty: concurrency and the widths of addresses have defaults', () => {
  expect(configOf('base', { public: {} }).public).toEqual({
    ...{ concurrency: 16, ipv4Prefix: 32, ipv6Prefix: 64 },
    total: { concurrency: 256 },
  });
});

it.each([
  ['rate: 0', '7: public.rate: expected number above 0'],
  ['rate: 0.0000001', '7: public.rate: expected number above 0, to 1000000000000'],
  ['burst: 5', '7: public.burst: requires rate'],
  ['origins: ["*"]', '7: public.origins: expected allowed Origin headers'],
  ['ips: [10.0.0.0/40]', '7: public.ips: expected allowed client addresses'],
  [
    'methods: [eth_cal]',
    '7: public.methods[0]: eth_cal is no method or namespace of the network; did you mean eth_call?',
  ],
  ['team: core', '7: public.team is not known'],
  ['ipv6Prefix: 65', '7: public.ipv6Prefix: expected whole number from 16 to 64'],
  ['total: { methodRates: 5 }', '7: public.total.methodRates is not known'],
  ['perSender: { burst: 5 }', '7: public.perSender'],
])('%s is rejected', (line, start) => {
  const [found = '', ...more] = diagnosticsOf([line]);
  expect([found.slice(0, start.length), more]).toEqual([start, []]);
});
