import { describe, expect, it } from 'vitest';
import { AddressRanges, isAddressRange } from '../../../gateway/config/address-ranges.ts';
import {
  InvalidPermissionsError,
  parsePermissions,
  permissionFields,
} from '../../../gateway/auth/permissions/permissions.ts';
import { originMatcher } from '../../../gateway/auth/formats/origin-pattern.ts';

const address = `0x${'aB'.repeat(20)}`;
const digest = 'ab'.repeat(32);

/** Valid and invalid texts for each field. An invalid text must never mean "no restriction". */
const samples: Record<string, { good: string[]; bad: string[] }> = {
  networks: { good: ['base', 'base, linea'], bad: ['', ',', 'base,', 'Base', '*', 'https://x'] },
  methods: {
    good: ['eth', 'eth_call,net', 'zks_estimateFee'],
    bad: ['', '*', 'eth_*', 'eth_call eth_getCode', '-eth'],
  },
  origins: {
    good: ['app.example.org', 'https://*.example.org', 'http://localhost:3000', '*.a.b', 'chrome-extension://abc'],
    bad: ['', '*', 'https://', 'https://*', 'a.*.b', 'https://a/b', 'a:port', '*.', 'a b'],
  },
  userAgents: { good: ['MyApp/1', 'node, curl'], bad: ['', 'a,,b', 'a\u0007'] },
  ips: {
    good: ['192.0.2.7', '10.0.0.0/8,2001:db8::/32', '::1'],
    bad: ['', '10.0.0.0/33', '10.0.0', 'localhost', '1.2.3.4/'],
  },
  contracts: {
    good: [address, `${address},${address.toLowerCase()}`],
    bad: ['', address.slice(1), `${address}0`, '0x'],
  },
  expiresAt: {
    good: ['2027-01-31', '2027-01-31T12:00:00Z', '2027-01-31T12:00+02:00'],
    bad: ['', '0', '90d', 'never', '2027-13-01', '31.1.2027', '2027-01-31T12:00:00', '1800000000000'],
  },
  rate: { good: ['1', '0.5', '1000000'], bad: ['', '0', '-1', '1e3', 'Infinity', 'NaN', '10/s', '1,000'] },
  burst: { good: ['1', '50'], bad: ['', '0', '1.5', '-1', 'x'] },
  methodRates: {
    good: ['eth_getLogs=5', 'eth_getLogs=5/20,eth_call=0.5'],
    bad: ['', 'eth_getLogs', 'eth_getLogs=', 'eth_getLogs=0', 'eth_getLogs=5/0', 'eth=5', 'eth_call=1,eth_call=2'],
  },
  daily: { good: ['1', '100000'], bad: ['', '0', '1.5', 'unlimited'] },
  monthly: { good: ['1'], bad: ['', '0', '-5'] },
  sockets: { good: ['1', '20'], bad: ['', '0', '-1', '1.5', 'none'] },
  subscriptions: { good: ['1', '100'], bad: ['', '0', '1e3'] },
  permissions: { good: ['explain'], bad: ['', 'all', 'explain,root'] },
  secrets: {
    good: [digest, `${digest},${digest}@2027-01-31T12:00:00Z`],
    bad: ['', 'ghs_secret', `${digest}@`, `${digest}@soon`],
  },
  account: { good: ['0123456789ab'], bad: ['', '*', digest] },
};

describe('permissions of a key', () => {
  it('all have samples in this test', () => {
    expect(permissionFields.map(({ name }) => name).toSorted()).toEqual(Object.keys(samples).toSorted());
  });

  const withRate = (name: string, text: string): Record<string, string> =>
    name === 'burst' ? { rate: '1', burst: text } : { [name]: text };

  it.each(Object.entries(samples))('%s are parsed or rejected, never ignored', (name, { good, bad }) => {
    for (const text of good) expect(parsePermissions(withRate(name, text))).toHaveProperty(name);
    for (const text of bad) {
      expect(() => parsePermissions(withRate(name, text)), text).toThrow(InvalidPermissionsError);
      expect(() => parsePermissions(withRate(name, text))).toThrow(new RegExp(`^${name}: expected `));
    }
  });

  it('have at most thirty entries', () => {
    const entries = (count: number): string => Array.from({ length: count }, (_, at) => `net-${at}`).join(',');
    expect(parsePermissions({ networks: entries(30) }).networks).toHaveLength(30);
    expect(() => parsePermissions({ networks: entries(31) })).toThrow('networks: expected');
  });

  it('are rejected with all problems at once, including unknown fields, without quoting values', () => {
    const problems = ['"method" is not known; did you mean methods?', 'rate: expected request units per second'];
    expect(() => parsePermissions({ method: 's3cret', rate: 's3cret' })).toThrow(problems.join('\n'));
    expect(() => parsePermissions({ __proto__: 'x', constructor: 'x' })).toThrow('"constructor" is not known');
    expect(() => parsePermissions({ burst: '5' })).toThrow('burst: requires rate');
  });

  it('have a burst of one second by default', () => {
    expect(parsePermissions({ methodRates: 'eth_call=2.5,eth_getLogs=0.1' }).methodRates).toEqual(
      new Map([
        ['eth_call', { perSecond: 2.5, burst: 3 }],
        ['eth_getLogs', { perSecond: 0.1, burst: 1 }],
      ]),
    );
  });
});

it.each([
  ['app.example.org', 'https://app.example.org', true],
  ['app.example.org', 'http://APP.example.org', true],
  ['app.example.org', 'https://app.example.org:8443', false],
  ['app.example.org:8443', 'https://app.example.org:8443', true],
  ['app.example.org', 'https://xapp.example.org', false],
  ['app.example.org', 'https://app.example.org.evil.test', false],
  ['https://app.example.org', 'http://app.example.org', false],
  ['https://*.example.org', 'https://a.b.example.org', true],
  ['*.example.org', 'https://example.org', false],
  ['*.example.org', 'https://evilexample.org', false],
  ['*.example.org', 'https://*.example.org', false],
  ['app.example.org', 'null', false],
  ['app.example.org', '', false],
  ['app.example.org', 'app.example.org', false],
])('the origin pattern %s matches the origin %s: %s', (pattern, origin, isMatch) => {
  expect(originMatcher([pattern])(origin)).toBe(isMatch);
});

it.each([
  ['10.0.0.0/8', '10.255.0.1', true],
  ['10.0.0.0/8', '::ffff:10.1.1.1', true],
  ['10.0.0.0/8', '11.0.0.1', false],
  ['192.0.2.7', '192.0.2.7', true],
  ['2001:db8::/32', '2001:db8:1::1', true],
  ['2001:db8::/32', '2001:db9::1', false],
  ['0.0.0.0/0', '2001:db8::1', false],
  ['::1', '::1', true],
  ['10.0.0.0/8', '', false],
  ['10.0.0.0/8', '10.0.0.1, 1.2.3.4', false],
])('the range %s has the address %s: %s', (range, ip, isInRange) => {
  expect(isAddressRange(range)).toBe(true);
  const ranges = new AddressRanges([range]);
  for (let time = 0; time < 2; time++) expect(ranges.has(ip)).toBe(isInRange);
});
