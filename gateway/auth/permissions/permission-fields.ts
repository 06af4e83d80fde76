import { clock } from '../../clock/clock.ts';
import { AddressRanges, isAddressRange } from '../../config/address-ranges.ts';
import { processBounds } from '../../config/process-bounds.ts';
import { errorForms } from '../../network-files/options/network-options.ts';
import type { Bounds } from '../../spec/bounds.ts';
import { isKeyId } from '../formats/key.ts';
import { isOriginPattern, originMatcher } from '../formats/origin-pattern.ts';
import { readTeam, teamAccount } from '../formats/team.ts';
import { contractCheck } from './contract-check.ts';
import {
  entriesOf,
  listOf,
  planPattern,
  readDecimal,
  readMethodRates,
  readSwitch,
  readTime,
  readWhole,
  timeFromNow,
} from './field-formats.ts';
import { field, type FieldPage, type PermissionRow } from './field-kinds.ts';
import { rateOf } from './key-limits.ts';
import { displayedSecrets, readSecrets, secretCheck } from './secrets.ts';
import { displayedTokenKeys, readTokenKeys } from './token-keys.ts';

/** A bound of calls, a whole number, whose field has its name. */
function maximum(name: keyof Bounds, flag: `--${string}`, meaning: string): ReturnType<typeof field<number>> {
  return field({ kind: 'bound', flag, meaning, read: readWhole, bound: (max) => ({ [name]: max }) });
}

/**
 * Permissions and limits of a key. Each is a text field of the key record, which an operator may also write by hand (in Redis, as
 * JSON in the hash `gatehouse:key`). A row has everything about its field. Flags, the admin API, the keys page, docs/keys.md and
 * the checks of requests are derived from this table.
 */
const fields = {
  networks: field({
    kind: 'entry',
    flag: '--networks <slugs>',
    meaning: 'networks that the key may use, by slug',
    page: { group: 'access', control: 'networks' },
    noun: 'slug of a network',
    read: listOf(/^[a-z0-9][a-z0-9-]{0,62}$/),
    rejection: 'key-settings',
    check:
      (networks) =>
      ({ network }) =>
        networks.includes(network),
  }),
  methods: field({
    kind: 'method',
    flag: '--methods <names>',
    meaning: 'methods that the key may call: names, or whole namespaces such as `eth`',
    page: { group: 'access', control: 'methods' },
    noun: 'name of a method or namespace',
    read: listOf(/^[a-z][a-zA-Z0-9]*([_.][a-zA-Z0-9]+)?$/),
    // A namespace, without `_` or `.`, may have only methods from network files.
    methodsIn: (text) => entriesOf(text).filter((name) => /[_.]/.test(name)),
    check: (names) => {
      const allowed = new Set(names);
      return ({ name, namespace }) => allowed.has(name) || allowed.has(namespace);
    },
  }),
  origins: field({
    kind: 'entry',
    flag: '--origins <origins>',
    meaning: 'allowed Origin headers: `app.example.org`, `https://*.example.org`, `http://localhost:3000`',
    page: { group: 'access', control: 'origins' },
    noun: 'origin',
    read: listOf(isOriginPattern),
    rejection: 'key-settings',
    check: (origins) => {
      const matches = originMatcher(origins);
      return ({ headers: { origin = '' } }) => matches(origin);
    },
  }),
  userAgents: field({
    kind: 'entry',
    flag: '--user-agents <texts>',
    meaning: 'allowed User-Agent headers: each entry is a substring',
    noun: 'part of a User-Agent header',
    read: listOf(/^[^\p{C}]{1,200}$/u),
    rejection: 'key-settings',
    check:
      (parts) =>
      ({ headers: { 'user-agent': agent = '' } }) =>
        parts.some((part) => agent.includes(part)),
  }),
  ips: field({
    kind: 'entry',
    flag: '--ips <ranges>',
    title: 'Client addresses',
    meaning: 'allowed client addresses: `192.0.2.7`, `10.0.0.0/8`, `2001:db8::/32`',
    page: { group: 'access' },
    noun: 'address or address range',
    read: listOf(isAddressRange),
    rejection: 'key-settings',
    check: (texts) => {
      const ranges = new AddressRanges(texts);
      return ({ address }) => ranges.has(address);
    },
  }),
  contracts: field({
    kind: 'params',
    flag: '--contracts <addresses>',
    meaning: 'contracts and accounts that calls may name, in methods that name one',
    noun: 'address of a contract or account',
    read: listOf(/^0x[0-9a-fA-F]{40}$/),
    check: (contracts, { methods }) => contractCheck(contracts, methods),
  }),
  expiresAt: field({
    kind: 'entry',
    flag: '--expires <time>',
    title: 'Expiry',
    meaning: 'expiry: `2027-01-31T12:00:00Z`; on the command line also a duration from now, `90d`, `12h` or `30m`',
    page: { group: 'access', control: 'time' },
    read: readTime,
    fromFlag: timeFromNow,
    rejection: 'key-invalid',
    check: (end) => () => clock.unixMs() < end,
  }),
  plan: field({
    kind: 'plan',
    flag: '--plan <name>',
    meaning: 'plan of `auth.yaml`: its permissions and limits hold where the key has none of its own',
    page: { group: 'limits', control: 'plans' },
    read: (text) => (new RegExp(planPattern).test(text) ? text : undefined),
  }),
  rate: field({
    kind: 'charged',
    flag: '--rate <number>',
    title: 'Units per second',
    meaning: 'request units per second',
    page: { group: 'limits' },
    read: readDecimal,
    limit: (perSecond) => ({ rate: rateOf(perSecond) }),
  }),
  burst: field({
    kind: 'charged',
    flag: '--burst <number>',
    meaning: 'request units that may be used at once; default: those of one second',
    page: { group: 'limits' },
    read: readWhole,
    requires: 'rate',
    limit: (units, { rate = 0 }) => ({ rate: rateOf(rate, units) }),
  }),
  methodRates: field({
    kind: 'charged',
    flag: '--method-rates <rates>',
    meaning: 'rates for single methods: `eth_getLogs=5` or, with a burst, `eth_getLogs=5/20`',
    read: readMethodRates,
    methodsIn: (text) => entriesOf(text).map((entry) => entry.split('=')[0] ?? ''),
    limit: (rates) => ({ methodRates: rates }),
  }),
  daily: field({
    kind: 'charged',
    flag: '--daily <number>',
    title: 'Units per day',
    meaning: 'request units per day, from 00:00 UTC',
    page: { group: 'limits' },
    read: readWhole,
    limit: (units) => ({ daily: units }),
  }),
  monthly: field({
    kind: 'charged',
    flag: '--monthly <number>',
    title: 'Units per month',
    meaning: 'request units per month, from the 1st, 00:00 UTC',
    page: { group: 'limits' },
    read: readWhole,
    limit: (units) => ({ monthly: units }),
  }),
  sockets: field({
    kind: 'open',
    flag: '--sockets <number>',
    title: 'WebSockets',
    meaning: `maximum open WebSockets, per gateway; default: ${processBounds.socketsPerKey}`,
    read: readWhole,
    limit: (count) => ({ sockets: count }),
  }),
  subscriptions: field({
    kind: 'open',
    flag: '--subscriptions <number>',
    meaning: `maximum open subscriptions, per gateway; default: ${processBounds.subscriptionsPerKey}`,
    read: readWhole,
    limit: (count) => ({ subscriptions: count }),
  }),
  concurrency: field({
    kind: 'open',
    flag: '--concurrency <number>',
    title: 'Requests in flight',
    meaning: 'maximum requests in flight of all gateways; default: 256 of each one; others wait for up to 1 s',
    read: readWhole,
    limit: (count) => ({ concurrency: count }),
  }),
  maxBlockRange: maximum('maxBlockRange', '--max-block-range <number>', 'maximum blocks in the range of a log filter'),
  maxAddresses: maximum('maxAddresses', '--max-addresses <number>', 'maximum addresses of a log filter'),
  maxStorageKeys: maximum('maxStorageKeys', '--max-storage-keys <number>', 'maximum storage keys of `eth_getProof`'),
  maxSimulatedCalls: maximum(
    'maxSimulatedCalls',
    '--max-simulated-calls <number>',
    'maximum calls of `eth_simulateV1`',
  ),
  maxResponseBytes: maximum(
    'maxResponseBytes',
    '--max-response-bytes <number>',
    'maximum bytes of the response to a call',
  ),
  secrets: field({
    kind: 'entry',
    flag: '--secret',
    meaning: 'requires a secret as Basic authentication password; stored as SHA-256, with `@<time>` if it expires',
    read: readSecrets,
    display: displayedSecrets,
    rejection: 'secret-invalid',
    check: secretCheck,
  }),
  permissions: field({
    kind: 'capability',
    flag: '--permissions <names>',
    title: 'Capabilities',
    meaning:
      'capabilities: `explain` allows explanations of routing, with `X-Gatehouse-Explain`; `private` sends transactions to the relays of networks only; `verify` allows proven results, with `X-Gatehouse-Verify`',
    page: {
      group: 'rare',
      control: 'switches',
      switches: {
        explain: 'Explanations of routing',
        private: 'Transactions to relays only',
        verify: 'Proven results on request',
      },
    },
    noun: 'capability',
    read: listOf(/^(explain|private|verify)$/),
    grant: (names) => ({
      explain: names.includes('explain'),
      private: names.includes('private'),
      verify: names.includes('verify'),
    }),
  }),
  verify: field({
    kind: 'capability',
    flag: '--verify <level>',
    title: 'Proven results',
    meaning: 'how far all results are proven, if the network does not prove them further: `enforce` or `require`',
    page: { group: 'rare' },
    read: (text) => (text === 'enforce' || text === 'require' ? text : undefined),
    grant: (level) => ({ verifyLevel: level }),
  }),
  errors: field({
    kind: 'capability',
    flag: '--errors <form>',
    title: 'Errors over a limit',
    meaning: "form of errors over a rate or quota: `infura`, as Infura's, or `gatehouse`; default: that of the network",
    page: { group: 'rare' },
    read: (text) => errorForms.find((form) => form === text),
    grant: (form) => ({ errors: form }),
  }),
  overrideAllowlists: field({
    kind: 'capability',
    flag: '--override-allowlists',
    title: 'Override of allow-lists',
    meaning:
      '`on`: requests need no secret, and for those with it `methods`, `contracts`, `origins`, `userAgents` and `ips` do not hold',
    page: { group: 'rare', control: 'switches', switches: { on: 'The secret lifts the allow-lists' } },
    read: readSwitch,
    requires: 'secrets',
    grant: () => ({ overridesAllowlists: true }),
  }),
  tokenKeys: field({
    kind: 'token',
    flag: undefined,
    meaning: 'public keys of tokens that narrow the key, from `keys tokens add`: `<kid>@<name>@<key>`, at most three',
    read: readTokenKeys,
    display: displayedTokenKeys,
    rules: (keys) => ({ keys }),
  }),
  requireToken: field({
    kind: 'token',
    flag: '--require-token',
    title: 'Tokens',
    meaning: '`on`: each request needs a token, signed for a public key of `keys tokens`',
    page: { group: 'rare', control: 'switches', switches: { on: 'Each request needs a token' } },
    read: readSwitch,
    rules: () => ({ isRequired: true }),
  }),
  account: field({
    kind: 'account',
    flag: undefined,
    meaning: 'id of the key that `keys rotate` replaced with this one: both share limits',
    read: (text) => (isKeyId(text) ? text : undefined),
    account: (id) => id,
  }),
  // Below `account`, which it replaces.
  team: field({
    kind: 'account',
    flag: '--team <name>',
    meaning: 'team, 1 to 40 letters, digits and `._-`: its keys share counts of limits, and are summed in usage',
    page: { group: 'access', control: 'teams' },
    read: readTeam,
    account: teamAccount,
  }),
} as const satisfies Record<string, PermissionRow>;

export type PermissionField = keyof typeof fields;

/** Parsed permissions. An absent field restricts nothing. */
export type KeyPermissions = {
  readonly [Name in PermissionField]?: Exclude<ReturnType<(typeof fields)[Name]['read']>, undefined>;
};

/** The rows by name. */
export const permissionFields: Readonly<Record<PermissionField, PermissionRow>> = fields;

export const permissionNames = Object.keys(fields) as PermissionField[];

const rarelyUsed: FieldPage = { group: 'rare' };

/** Fields whose values operators write; Gatehouse makes the values of the others. */
export const editableFields = permissionNames.flatMap((name) => {
  const { flag, meaning, title = titleOf(name), fromFlag, page = rarelyUsed, noun } = permissionFields[name];
  return flag === undefined || name === 'secrets' ? [] : [{ name, flag, meaning, title, fromFlag, page, noun }];
});

/** `userAgents` becomes User agents. */
function titleOf(name: string): string {
  const words = name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}
