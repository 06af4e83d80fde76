import { generateKeyPairSync } from 'node:crypto';
import { tokenKeyEntry } from '../../../gateway/auth/permissions/token-keys.ts';
import type { PermissionField } from '../../../gateway/auth/permissions/permission-fields.ts';
import { digestOf, makeKey } from '../../../gateway/auth/formats/key.ts';
import type { PermissionChange } from '../../../gateway/auth/stores/key-store.ts';
import { storage, type Limited } from '../../limits/limited.ts';
import { head, openRaw } from '../../server/http/raw-connection.ts';
import { openCaller, socketUrl } from '../../server/websocket/caller.ts';

/** Texts of a field, and what the field does in a gateway. */
export interface FieldSample {
  readonly good: readonly [string, ...string[]];
  /** Invalid texts, which must never mean "no restriction". */
  readonly bad: readonly string[];
  readonly effect: FieldEffect;
}

export interface FieldEffect {
  /** Other permissions of the key, with and without the field. */
  readonly base?: PermissionChange;
  readonly text: string;
  /** Default: the statuses of two calls of `eth_getStorageAt`. */
  readonly observe?: (one: Limited, permissions: PermissionChange) => Promise<unknown>;
  readonly without: unknown;
  readonly with: unknown;
}

const address = `0x${'aB'.repeat(20)}`;
const digest = 'ab'.repeat(32);

export async function twoCalls(one: Limited): Promise<number[]> {
  return [(await one.send(storage)).status, (await one.send(storage)).status];
}

/** How many of two WebSockets open. */
async function openSockets(one: Limited): Promise<number> {
  const attempts = [await tryToOpen(one), await tryToOpen(one)];
  return attempts.filter((isOpen) => isOpen).length;
}

async function tryToOpen(one: Limited): Promise<boolean> {
  try {
    await openCaller(socketUrl(one.gateway, 'test'));
    return true;
  } catch {
    return false;
  }
}

/** Whether each of two subscriptions on one socket opens. */
async function openSubscriptions(one: Limited): Promise<boolean[]> {
  const caller = await openCaller(socketUrl(one.gateway, 'test'));
  const open = async (id: number): Promise<boolean> => {
    caller.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'eth_subscribe', params: ['syncing'] }));
    for (;;) {
      const message = JSON.parse(await caller.next()) as { id?: number; result?: string };
      // Notifications have no id.
      if (message.id === id) return message.result !== undefined;
    }
  };
  return [await open(1), await open(2)];
}

const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const tokenKey = tokenKeyEntry('0123456789ab', 'ci', publicKey).entry;

/** The status of a call with a token that no public key verifies. */
async function withUnknownToken(one: Limited): Promise<number> {
  return (await one.send(storage, { authorization: 'Bearer eyJhbGciOiJFUzI1NiJ9.e30.c2ln' })).status;
}

async function isExplained(one: Limited): Promise<boolean> {
  const { headers } = await one.send(storage, { 'x-gatehouse-explain': '1' });
  return headers.has('x-gatehouse-explain');
}

/** Whether a result that nothing proves is an error. */
async function mustBeProven(one: Limited): Promise<boolean> {
  const { body } = await one.send(['eth_call', [{ to: `0x${'ab'.repeat(20)}` }, 'latest']]);
  return /cannot be proven/.test((body as { error?: { message: string } }).error?.message ?? '');
}

/** Whether a call is rejected beyond a bound. The node has no response to most of them. */
function isBeyondBound(...call: readonly [method: string, params?: unknown]) {
  return async (one: Limited): Promise<boolean> => {
    const { body } = await one.send(call);
    const { error } = body as { error?: { code: number; message: string } };
    return error?.code === -32005 && /^max\w+ is \d+: the (request|response) has /.test(error.message);
  };
}

const numbers = { good: ['1', '1000'], bad: ['', '0', '-1', '1.5', 'many'] } as const;

/** The statuses of a call with the key, and of one with another key that has the same permissions. */
async function callsOfTwoKeys(one: Limited, permissions: PermissionChange): Promise<number[]> {
  const other = makeKey();
  const record = {
    name: 'other',
    createdAt: '2026-01-02T03:04:05.678Z',
    permissions: permissions as Record<string, string>,
  };
  await one.gateway.gateway.keys.add(digestOf(other), record);
  const [method, params] = storage;
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const first = await one.send(storage);
  const second = await fetch(`${one.gateway.address}/test/v3/${other}`, { method: 'POST', body });
  return [first.status, second.status];
}

/** The status of a call while the body of another request has not arrived. */
async function callBesideSlowBody(one: Limited): Promise<number> {
  const { port } = one.gateway.gateway;
  const slow = await openRaw(port);
  slow.send(head(`POST /test/v3/${one.gateway.key}`, { 'content-length': 100, expect: '100-continue' }));
  await slow.response();
  const { status } = await one.send(storage);
  slow.destroy();
  return status;
}

const calls = (...statuses: [number, number]) => ({ without: [200, 200], with: statuses });

/** A row for each row of gateway/auth/permissions/permission-fields.ts. */
export const fieldSamples: Readonly<Record<PermissionField, FieldSample>> = {
  networks: {
    good: ['base', 'base, linea'],
    bad: ['', ',', 'base,', 'Base', '*', 'https://x'],
    effect: { text: 'other', ...calls(403, 403) },
  },
  methods: {
    good: ['eth', 'eth_call,net', 'zks_estimateFee'],
    bad: ['', '*', 'eth_*', 'eth_call eth_getCode', '-eth'],
    effect: { text: 'net', ...calls(403, 403) },
  },
  origins: {
    good: ['app.example.org', 'https://*.example.org', 'http://localhost:3000', '*.a.b', 'chrome-extension://abc'],
    bad: ['', '*', 'https://', 'https://*', 'a.*.b', 'https://a/b', 'a:port', '*.', 'a b'],
    effect: { text: 'app.example.org', ...calls(403, 403) },
  },
  userAgents: {
    good: ['MyApp/1', 'node, curl'],
    bad: ['', 'a,,b', 'a\u0007'],
    effect: { text: 'MyApp', ...calls(403, 403) },
  },
  ips: {
    good: ['192.0.2.7', '10.0.0.0/8,2001:db8::/32', '::1'],
    bad: ['', '10.0.0.0/33', '10.0.0', 'localhost', '1.2.3.4/'],
    effect: { text: '192.0.2.7', ...calls(403, 403) },
  },
  contracts: {
    good: [address, `${address},${address.toLowerCase()}`],
    bad: ['', address.slice(1), `${address}0`, '0x'],
    effect: { text: `0x${'cd'.repeat(20)}`, ...calls(403, 403) },
  },
  expiresAt: {
    good: ['2027-01-31', '2027-01-31T12:00:00Z', '2027-01-31T12:00+02:00'],
    bad: ['', '0', '90d', 'never', '2027-13-01', '31.1.2027', '2027-01-31T12:00:00', '1800000000000'],
    effect: { text: '2020-01-31', ...calls(401, 401) },
  },
  rate: {
    good: ['1', '0.5', '1000000'],
    bad: ['', '0', '-1', '1e3', 'Infinity', 'NaN', '10/s', '1,000'],
    effect: { text: '0.001', ...calls(200, 429) },
  },
  burst: {
    good: ['1', '50'],
    bad: ['', '0', '1.5', '-1', 'x'],
    effect: { base: { rate: '0.001' }, text: '2', without: [200, 429], with: [200, 200] },
  },
  methodRates: {
    good: ['eth_getLogs=5', 'eth_getLogs=5/20,eth_call=0.5'],
    bad: ['', 'eth_getLogs', 'eth_getLogs=', 'eth_getLogs=0', 'eth_getLogs=5/0', 'eth=5', 'eth_call=1,eth_call=2'],
    effect: { text: 'eth_getStorageAt=0.001', ...calls(200, 429) },
  },
  daily: {
    good: ['1', '100000'],
    bad: ['', '0', '1.5', 'unlimited'],
    effect: { text: '1', ...calls(200, 429) },
  },
  monthly: { good: ['1'], bad: ['', '0', '-5'], effect: { text: '1', ...calls(200, 429) } },
  sockets: {
    good: ['1', '20'],
    bad: ['', '0', '-1', '1.5', 'none'],
    effect: { text: '1', observe: openSockets, without: 2, with: 1 },
  },
  subscriptions: {
    good: ['1', '100'],
    bad: ['', '0', '1e3'],
    effect: { text: '1', observe: openSubscriptions, without: [true, true], with: [true, false] },
  },
  concurrency: {
    good: ['1', '1000'],
    bad: ['', '0', '-1', '1.5', 'none'],
    effect: { text: '1', observe: callBesideSlowBody, without: 200, with: 429 },
  },
  maxBlockRange: {
    ...numbers,
    effect: {
      text: '10',
      observe: isBeyondBound('eth_getLogs', [{ fromBlock: '0x1', toBlock: '0x64' }]),
      ...{ without: false, with: true },
    },
  },
  maxAddresses: {
    ...numbers,
    effect: {
      text: '1',
      observe: isBeyondBound('eth_getLogs', [{ address: [address, address] }]),
      ...{ without: false, with: true },
    },
  },
  maxStorageKeys: {
    ...numbers,
    effect: {
      text: '1',
      observe: isBeyondBound('eth_getProof', [address, ['0x0', '0x1'], 'latest']),
      ...{ without: false, with: true },
    },
  },
  maxSimulatedCalls: {
    ...numbers,
    effect: {
      text: '1',
      observe: isBeyondBound('eth_simulateV1', [{ blockStateCalls: [{ calls: [{}] }, { calls: [{}] }] }]),
      ...{ without: false, with: true },
    },
  },
  maxResponseBytes: {
    ...numbers,
    effect: { text: '60', observe: isBeyondBound(...storage), without: false, with: true },
  },
  secrets: {
    good: [digest, `${digest},${digest}@2027-01-31T12:00:00Z`],
    bad: ['', 'ghs_secret', `${digest}@`, `${digest}@soon`],
    effect: { text: digest, ...calls(401, 401) },
  },
  permissions: {
    good: ['explain', 'private', 'verify', 'explain,private,verify'],
    bad: ['', 'all', 'explain,root'],
    effect: { text: 'explain', observe: isExplained, without: false, with: true },
  },
  verify: {
    good: ['enforce', 'require'],
    bad: ['', 'off', 'observe', 'enforce,require', 'always'],
    effect: { text: 'require', observe: mustBeProven, without: false, with: true },
  },
  errors: {
    good: ['infura', 'gatehouse'],
    bad: ['', 'Infura', 'alchemy', 'infura,gatehouse'],
    effect: { base: { team: 'acme', daily: '1' }, text: 'infura', without: [200, 429], with: [200, 402] },
  },
  overrideAllowlists: {
    good: ['on'],
    bad: ['', 'off', 'true'],
    effect: { base: { secrets: digest, methods: 'eth' }, text: 'on', without: [401, 401], with: [200, 200] },
  },
  tokenKeys: {
    good: [tokenKey, ''],
    bad: ['ci', tokenKey.replace('@ci@', '@'), `${tokenKey.slice(0, -20)}`, [1, 2, 3, 4].map(() => tokenKey).join(',')],
    effect: { text: tokenKey, observe: withUnknownToken, without: 200, with: 401 },
  },
  requireToken: {
    good: ['on'],
    bad: ['', 'off', 'true'],
    effect: { base: { tokenKeys: tokenKey }, text: 'on', ...calls(401, 401) },
  },
  plan: {
    good: ['free', 'plan-2'],
    bad: ['', 'Free', 'two words', 'a,b', '-a', 'a'.repeat(41)],
    // A plan that auth.yaml does not have. Plans that it has: test/auth/plans.test.ts.
    effect: { text: 'free', ...calls(401, 401) },
  },
  account: {
    good: ['0123456789ab'],
    bad: ['', '*', digest],
    effect: { base: { daily: '1' }, text: '0123456789ab', observe: callsOfTwoKeys, ...calls(200, 429) },
  },
  team: {
    good: ['acme', 'Team-1.a_b', 'a'.repeat(40)],
    bad: ['', '*', 'two words', 'a,b', '-a', 'é', 'a:b', 'a'.repeat(41)],
    effect: { base: { daily: '1' }, text: 'acme', observe: callsOfTwoKeys, ...calls(200, 429) },
  },
};
