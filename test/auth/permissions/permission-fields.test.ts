import { describe, expect, it } from 'vitest';
import { AddressRanges, isAddressRange } from '../../../gateway/config/address-ranges.ts';
import { permissionFields, permissionNames } from '../../../gateway/auth/permissions/permission-fields.ts';
import { InvalidPermissionsError, parsePermissions } from '../../../gateway/auth/permissions/permissions.ts';
import { originMatcher } from '../../../gateway/auth/formats/origin-pattern.ts';
import { field } from '../../../gateway/auth/permissions/field-kinds.ts';
import { fieldSamples } from './field-samples.ts';

describe('permissions of a key', () => {
  it.each(permissionNames)('%s are parsed or rejected, never ignored', (name) => {
    expect(fieldSamples, `add a row ${name} to test/auth/permissions/field-samples.ts`).toHaveProperty(name);
    const row = permissionFields[name];
    const required = 'requires' in row ? { [row.requires]: fieldSamples[row.requires].good[0] } : {};
    const { good, bad } = fieldSamples[name];
    for (const text of good) expect(parsePermissions({ ...required, [name]: text })).toHaveProperty(name);
    for (const text of bad) {
      expect(() => parsePermissions({ ...required, [name]: text }), text).toThrow(InvalidPermissionsError);
      expect(() => parsePermissions({ ...required, [name]: text })).toThrow(new RegExp(`^${name}: expected `));
    }
  });

  it('do not compile without their evaluation', () => {
    const row = { flag: undefined, meaning: 'a row of this test', read: Number } as const;
    const rows = [
      // @ts-expect-error -- no check
      field({ ...row, kind: 'entry', rejection: 'key-settings' }),
      // @ts-expect-error -- no check
      field({ ...row, kind: 'method' }),
      // @ts-expect-error -- no check
      field({ ...row, kind: 'params' }),
      // @ts-expect-error -- no limit
      field({ ...row, kind: 'charged' }),
      // @ts-expect-error -- a limit that is not enforced
      field({ ...row, kind: 'charged', limit: () => ({}) }),
      // @ts-expect-error -- a part of another limit, but no limit
      field({ ...row, kind: 'charged', requires: 'rate' }),
      // @ts-expect-error -- requires a field that is not there
      field({ ...row, kind: 'charged', requires: 'rates', limit: () => ({ daily: 1 }) }),
      // @ts-expect-error -- reads a field that the key may not have
      field({ ...row, kind: 'charged', limit: (value: number, { rate }) => ({ daily: value + rate }) }),
      // @ts-expect-error -- no limit
      field({ ...row, kind: 'open' }),
      // @ts-expect-error -- no grant
      field({ ...row, kind: 'capability' }),
      // @ts-expect-error -- no account
      field({ ...row, kind: 'account' }),
    ];
    expect(rows.map(({ kind }) => kind)).toHaveLength(11);
  });

  it('have at most thirty entries', () => {
    const entries = (count: number): string => Array.from({ length: count }, (_, at) => `net-${at}`).join(',');
    expect(parsePermissions({ networks: entries(30) }).networks).toHaveLength(30);
    expect(() => parsePermissions({ networks: entries(31) })).toThrow('networks: expected');
  });

  it('are rejected with all problems at once, including unknown fields, without quoting values', () => {
    const problems = ['"method" is not known; did you mean methods?', 'rate: expected number above 0, to'];
    expect(() => parsePermissions({ method: 's3cret', rate: 's3cret' })).toThrow(problems.join('\n'));
    expect(() => parsePermissions({ rate: 's3cret' })).not.toThrow('s3cret');
    expect(() => parsePermissions({ __proto__: 'x', constructor: 'x' })).toThrow('"constructor" is not known');
    expect(() => parsePermissions({ burst: '5' })).toThrow('burst: requires rate');
  });

  it.each([
    ['rate', '-5', 'number above 0, to 1000000000000, with at most 6 decimals (request units per second), got -5'],
    ['daily', '2.5', 'whole number from 1 to 1000000000000 (request units per day, from 00:00 UTC), got 2.5'],
    [
      'sockets',
      'many',
      'whole number from 1 to 1000000000000 (maximum open WebSockets, per gateway; default: 1000), got many',
    ],
  ])('%s: %s is rejected with the field, what was expected and the number', (field, text, expected) => {
    expect(() => parsePermissions({ [field]: text })).toThrow(`${field}: expected ${expected}`);
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
