import fc from 'fast-check';
import { beforeAll, afterAll, expect, test } from 'vitest';
import { digestOf, makeKey } from '../../gateway/auth/formats/key.ts';
import type { MethodSpec } from '../../gateway/spec/method-spec.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';
import { openRpcDocument } from '../../gateway/spec/openrpc-document.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { anotherCase, readAsGeth } from '../support/member-spellings.ts';
import { openCaller, socketUrl, type Caller } from '../server/websocket/caller.ts';

const allowed = `0x${'aa'.repeat(20)}`;
const other = `0x${'bb'.repeat(20)}`;
/** Ten times the fake node's block gas limit. */
const CAP = 300_000_000n;
const TOO_MUCH = '0xffffffffff';

/** JSON with duplicate and differently spelt members, which JSON.parse cannot represent. */
type Tree = string | number | boolean | null | Tree[] | { readonly members: [name: string, value: Tree][] };

interface Example {
  readonly params: readonly { readonly value: unknown }[];
  readonly result: { readonly value: unknown };
}

const examples = new Map(
  openRpcDocument().methods.map(({ name, examples: [first] = [] }: { name: string; examples?: Example[] }) => [
    name,
    first,
  ]),
);

/** Parameters of the method's example, with the allowed contract instead of each address. */
function paramsOf({ name, handledBy }: MethodSpec): Tree[] {
  if (handledBy === 'socket') return name === 'eth_subscribe' ? ['logs', treeOf({ address: allowed })] : ['0x1'];
  const values = (examples.get(name)?.params ?? []).map(({ value }) => value);
  const text = JSON.stringify(values).replaceAll(/"0x[0-9a-fA-F]{40}"/g, JSON.stringify(allowed));
  return (JSON.parse(text) as unknown[]).map(treeOf);
}

function treeOf(value: unknown): Tree {
  if (Array.isArray(value)) return value.map(treeOf);
  if (typeof value !== 'object' || value === null) return value as Tree;
  return { members: Object.entries(value).map(([name, inner]) => [JSON.stringify(name), treeOf(inner)]) };
}

function textOf(tree: Tree): string {
  if (Array.isArray(tree)) return `[${tree.map(textOf).join()}]`;
  if (typeof tree !== 'object' || tree === null) return JSON.stringify(tree);
  return `{${tree.members.map(([name, value]) => `${name}:${textOf(value)}`).join()}}`;
}

function objectsIn(tree: Tree): { members: [string, Tree][] }[] {
  if (Array.isArray(tree)) return tree.flatMap(objectsIn);
  if (typeof tree !== 'object' || tree === null) return [];
  return [tree, ...tree.members.flatMap(([, value]) => objectsIn(value))];
}

/** The values that geth reads at a path: `*` matches each element, and an array at the end gives its elements. */
function read(tree: Tree | undefined, path: readonly string[]): unknown[] {
  const [name, ...rest] = path;
  if (name === undefined) return Array.isArray(tree) ? tree : [tree];
  if (typeof tree !== 'object' || tree === null) return [];
  if (name === '*') return Array.isArray(tree) ? tree.flatMap((element) => read(element, rest)) : [];
  if (Array.isArray(tree)) return [];
  const members = tree.members.map(([spelled, value]) => [JSON.parse(spelled) as string, value] as const);
  return read(readAsGeth(members, name) as Tree | undefined, rest);
}

/** Position of contracts in a method's parameters. The table lacks eth_subscribe: it depends on its first parameter. */
function contractPlace({ name, contractAt }: MethodSpec): { param: number; path: string[] } | undefined {
  if (name === 'eth_subscribe') return { param: 1, path: ['address'] };
  return contractAt && { param: contractAt.param, path: contractAt.field === undefined ? [] : [contractAt.field] };
}

const names = [
  ...new Set(
    methods.flatMap((method) => [
      ...(method.gasAt ?? []).flatMap(({ path }) => path),
      ...(contractPlace(method)?.path ?? []),
      ...['input', 'blockHash', 'fromBlock', 'chainId', 'balance'],
    ]),
  ),
].filter((name) => name !== '*');

const values: Tree[] = [other, [other], [allowed], TOO_MUCH, '0x1', null, treeOf({ to: other, gas: TOO_MUCH })];
values.push([treeOf({ gas: TOO_MUCH, calls: [{ to: other, gas: TOO_MUCH }], blockOverrides: { gasLimit: TOO_MUCH } })]);

let node: FakeNode;
let gateway: TestGateway;
const sockets = new Map<string, Caller>();
const keys = { unrestricted: makeKey(), restricted: makeKey() };

beforeAll(async () => {
  node = await startFakeNode({ chainId: 7 });
  for (const { name } of methods) node.response(name, examples.get(name)?.result.value ?? null);
  const block = { number: '0x10', gasLimit: '0x1c9c380', timestamp: '0x1', hash: word(2), parentHash: word(1) };
  node.response('eth_getBlockByNumber', { ...block, transactions: [] });
  node.response('eth_chainId', '0x7');
  gateway = await startGateway({ test: network(7, [node.url], { methods: ['eth', 'net', 'web3', 'rpc', 'zks'] }) });
  for (const [name, key] of Object.entries(keys)) {
    const permissions = name === 'restricted' ? { contracts: allowed } : {};
    await gateway.gateway.keys.add(digestOf(key), { name, createdAt: new Date().toISOString(), permissions });
    sockets.set(key, await openCaller(socketUrl(gateway, 'test', key)));
  }
});

afterAll(async () => {
  for (const { socket } of sockets.values()) socket.close();
  await gateway.stop();
  await node.close();
});

function word(number: number): string {
  return `0x${String(number).padStart(64, '0')}`;
}

const ways = ['alone', 'batch', 'large', 'large batch', 'socket', 'socket batch'] as const;

/** Sends one request in one of the ways, and returns its response. */
async function send(key: string, text: string, way: (typeof ways)[number]): Promise<{ error?: { code: number } }> {
  const body = (way.endsWith('batch') ? `[${text}]` : text) + (way.startsWith('large') ? ' '.repeat(100_001) : '');
  const socket = sockets.get(key);
  if (socket !== undefined && way.startsWith('socket')) {
    socket.send(body);
    for (;;) {
      const [rpcResponse] = [JSON.parse(await socket.next()) as { method?: string }].flat();
      // Notifications of subscriptions are skipped.
      if (rpcResponse !== undefined && rpcResponse.method === undefined)
        return rpcResponse as { error?: { code: number } };
    }
  }
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${gateway.address}/test/v3/${key}`, { method: 'POST', headers, body });
  const [rpcResponse] = [(await response.json()) as { error?: { code: number } }].flat();
  return rpcResponse ?? {};
}

const request = (method: string, params: Tree[]): string =>
  `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${textOf(params)}}`;

test('every method accepts its example, so that the next test can evade a check', async () => {
  for (const method of methods) {
    const { error } = await send(keys.unrestricted, request(method.name, paramsOf(method)), 'socket');
    expect([method.name, error?.code]).not.toEqual([method.name, -32602]);
  }
});

test('no spelling of a member passes another contract than the allowed one, or more gas than the cap', async () => {
  let reached = 0;
  let rejected = 0;
  const insert = fc.record({
    object: fc.nat(),
    at: fc.nat(),
    name: fc.constantFrom(...names),
    value: fc.constantFrom(...values),
    isExact: fc.boolean(),
    flips: fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }),
  });
  const withObjects = methods.filter((method) => objectsIn(paramsOf(method)).length > 0);
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(fc.constantFrom(...withObjects), fc.constantFrom(...methods)),
      fc.array(insert, { minLength: 1, maxLength: 3 }),
      fc.constantFrom(...ways),
      fc.constantFrom<'unrestricted' | 'restricted'>('unrestricted', 'restricted', 'restricted'),
      async (method, inserts, way, kind) => {
        const params = paramsOf(method);
        for (const { object, at, name, value, isExact, flips } of inserts) {
          const objects = objectsIn(params);
          if (objects.length === 0) break;
          const { members } = objects[object % objects.length] ?? { members: [] };
          members.splice(at % (members.length + 1), 0, [
            isExact ? JSON.stringify(name) : anotherCase(name, flips),
            structuredClone(value),
          ]);
        }
        const before = node.calls.length;
        const { error } = await send(keys[kind], request(method.name, params), way);
        const forwarded = node.calls.slice(before).filter((call) => call.method === method.name);
        if (error === undefined) reached++;
        else if (error.code === -32602 || error.code === -32002) rejected++;
        const place = contractPlace(method);
        const seen = forwarded.map((call) => treeOf(call.params) as Tree[]);
        // Filters and subscriptions need no upstream: their parameters are checked as sent.
        if (error === undefined && method.handledBy !== 'local') seen.push(params);
        for (const each of seen) {
          if (kind === 'restricted' && place !== undefined) {
            expect(read(each[place.param], place.path)).toEqual(read(each[place.param], place.path).map(() => allowed));
          }
        }
        for (const call of forwarded) {
          const tree = treeOf(call.params) as Tree[];
          for (const { param, path } of method.gasAt ?? []) {
            for (const gas of read(tree[param], path)) {
              if (typeof gas === 'string') expect([gas, BigInt(gas) <= CAP]).toEqual([gas, true]);
            }
          }
        }
      },
    ),
    { numRuns: 500 },
  );
  // Of 500 requests about 100 are accepted: far fewer would mean that the test checks nothing.
  expect(Math.min(reached, rejected)).toBeGreaterThan(50);
}, 60_000);
