import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readAuth, type AuthConfig } from '../../../gateway/auth/tokens/read-auth.ts';
import { readFolder } from '../../../gateway/network-files/load-networks.ts';

const issuer = ['issuer: https://login.example.org/', 'audience: gatehouse', 'keySet: https://login.example.org/jwks'];

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-auth-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

function read(lines: readonly string[]): AuthConfig {
  writeFileSync(join(folder, 'auth.yaml'), lines.join('\n'));
  return readAuth(readFolder(folder));
}

it('without auth.yaml, tokens beside a key alone are accepted', () => {
  expect(readAuth(readFolder(folder))).toMatchObject({
    keyTokens: { keyTokenAudience: 'infura.io', clockToleranceS: 5 },
  });
});

it('members have their defaults, and permissions the texts of key records', () => {
  const config = read([...issuer, 'plans: { free: { rate: 5, methods: [eth, net] } }', 'defaultPlan: free']);
  expect(config.issuer).toMatchObject({
    algorithms: ['RS256', 'PS256', 'ES256', 'EdDSA'],
    claim: 'gatehouse',
    clockToleranceS: 5,
    tokensInPath: false,
    defaultPlan: 'free',
  });
  expect(config.plans).toEqual({ free: { rate: '5', methods: 'eth,net' } });
});

it('plans of keys need no issuer', () => {
  expect(read(['plans: { free: { rate: 5 } }'])).toMatchObject({ plans: { free: { rate: '5' } } });
});

it('the file of the key set is relative to auth.yaml', () => {
  writeFileSync(join(folder, 'jwks.json'), '{"keys":[]}');
  expect(read([...issuer.slice(0, 2), 'keySet: jwks.json']).issuer?.keySet).toBe(join(folder, 'jwks.json'));
});

const mistakes: [what: string, lines: string[], message: string][] = [
  ['an issuer alone', issuer.slice(0, 1), '1:1 audience is missing: expected the name of this service'],
  [
    'a ceiling without a key set',
    ['ceiling: {}'],
    '1:1 keySet is missing: expected the URL or the file of the key set',
  ],
  ['a misspelt member', [...issuer, 'audiense: x'], '4:1 audiense is not known; did you mean audience?'],
  [
    'a misspelt permission',
    [...issuer, 'plans:', '  free: { rat: 5 }'],
    '5:11 plans.free.rat is not known; did you mean rate?',
  ],
  [
    'the member of the former file of plans',
    [...issuer, 'default: free'],
    '4:1 default is not known: write defaultPlan: …',
  ],
  [
    'a default plan without plans',
    [...issuer, 'defaultPlan: gold'],
    '4:14 defaultPlan: expected the name of a plan (plans is empty)',
  ],
  [
    'an unknown default plan',
    [...issuer, 'plans: { free: { rate: 5 }, gold: {} }', 'defaultPlan: fre'],
    '5:14 defaultPlan: expected the name of a plan (free, gold)',
  ],
  ['an invalid value without an issuer', ['plans: { free: { rate: much } }'], '1:24 plans.free.rate: expected'],
  ['a plan in a plan', ['plans: { free: { plan: gold } }'], '1:18 plans.free.plan is not known'],
  ['an invalid value', [...issuer, 'plans: { free: { rate: much } }'], '4:24 plans.free.rate: expected'],
  [
    'a field that a plan cannot have, because it requires a secret',
    [...issuer, 'plans: { free: { overrideAllowlists: on } }'],
    '4:18 plans.free.overrideAllowlists is not known',
  ],
  ['a team in the ceiling', [...issuer, 'ceiling: { team: core }'], '4:12 ceiling.team is not known'],
  ['a symmetric algorithm', [...issuer, 'algorithms: [HS256]'], '4:14 algorithms[0]: expected one of RS256, '],
  ['plain http', [...issuer.slice(0, 2), 'keySet: http://keys.example/jwks'], '3:9 keySet: expected an https URL'],
  ['no file', [...issuer.slice(0, 2), 'keySet: none.json'], '3:9 keySet: the file has no key set (ENOENT)'],
  ['another file', [...issuer.slice(0, 2), 'keySet: auth.yaml'], '3:9 keySet: the file has no key set (SyntaxError)'],
  ['no YAML', ['issuer: "a'], '1:'],
];
it.each(mistakes)('%s is a diagnostic with its position', (_, lines, message) => {
  expect(() => read(lines)).toThrow(`${join(folder, 'auth.yaml')}:${message}`);
});
