import fc from 'fast-check';
import { makeKey } from '../../gateway/auth/formats/key.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';
import type { DemoChain } from '../../local-chain/demo-chain.ts';

/** One HTTP request of the fuzz test. */
export interface FuzzRequest {
  /** The intended kind of request, for the report of a failure. */
  readonly kind: string;
  readonly verb: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Sent in chunks, without its length. */
  readonly chunked: boolean;
  /** The body is compressed as it is sent. */
  readonly isGzip?: true;
}

/** Good and bad requests in a fixed mix. @param path of a network, with a good key */
export function fuzzRequests(path: string, chain: DemoChain): fc.Arbitrary<FuzzRequest> {
  const good = fc.constantFrom(...goodCalls(chain));
  const id = fc.oneof(
    fc.constantFrom('0', '""', 'null', '9007199254740993', '1.0', '1e3', '-0', '"\\u0041"', '"😀"'),
    fc.constantFrom('1E+2', '0.1e-7', '1e400', `"${'x'.repeat(3_000)}"`, '"\\/"', '9'.repeat(400), '"\\ud800"'),
    fc.integer().map(String),
    fc.string().map((text) => JSON.stringify(text)),
  );
  const call = (of: fc.Arbitrary<{ method: unknown; params: unknown }>): fc.Arbitrary<string> =>
    fc
      .tuple(of, fc.option(id, { nil: undefined, freq: 8 }))
      .map(([{ method, params }, idText]) => callText(method, params, idText));
  const goodCall = call(good);
  const fuzzedCall = call(fuzzedCalls(chain));
  const invalidItem = fc.oneof(fc.json({ maxDepth: 3 }), brokenEnvelopes());
  const anyItem = fc.oneof({ weight: 3, arbitrary: goodCall }, { weight: 3, arbitrary: fuzzedCall }, invalidItem);
  const batch = (of: fc.Arbitrary<string>, maxLength = 12): fc.Arbitrary<string> =>
    fc.array(of, { maxLength }).map((items) => `[${items.join(',')}]`);
  const brokenText = fc
    .tuple(
      fc.oneof(goodCall, batch(goodCall)),
      fc.nat(),
      fc.constantFrom('', '"', '{', '\\', '\u0000', ',', 'é', '\ud800'),
    )
    .map(([text, at, put]) => text.slice(0, at % text.length) + put + text.slice((at % text.length) + 1));
  const nested = fc
    .tuple(fc.constantFrom('[', '{"a":', '[{"b":['), fc.constantFrom(30, 65, 10_000, 1_000_000))
    .map(([open, levels]) => open.repeat(levels));
  const giant = fc.constantFrom(
    ' '.repeat(5_000_001),
    `[${'5,'.repeat(2_000_000)}5]`,
    callText('eth_chainId', ['x'.repeat(5_000_000)], '1'),
    callText('eth_estimateGas', [{ to: chain.other, data: `0x${'00'.repeat(1_000_000)}` }], '"large"'),
    `[${Array.from({ length: 1000 }, (_, at) => callText('eth_chainId', [], String(at))).join(',')}]`,
    `[${Array.from({ length: 1001 }, () => '1').join(',')}]`,
    `[1,${Array.from({ length: 1000 }, (_, at) => callText('eth_chainId', [], String(at))).join(',')}]`,
  );

  const oddEnvelope = fc
    .tuple(
      goodCall,
      fc.constantFrom('id', 'method', 'params', 'jsonrpc'),
      fc.constantFrom('twice', 'upper', 'title', 'fold'),
    )
    .map(([text, name, how]) => {
      const other = { twice: name, upper: name.toUpperCase(), title: titled(name), fold: name.replace('s', 'ſ') }[how];
      return text.replace(/\}$/, `,${JSON.stringify(other)}:${name === 'params' ? '[]' : '"2.0"'}}`);
    });
  const oddParameter = fc
    .tuple(fc.constantFrom('to', 'data', 'from', 'value'), fc.boolean(), fc.constantFrom('eth_call', 'eth_estimateGas'))
    .map(([name, isTwice, method]) => {
      const members = `"${name}":"0x0","${isTwice ? name : titled(name)}":"0x0"`;
      return `{"jsonrpc":"2.0","id":1e3,"method":"${method}","params":[{${members}},"latest"]}`;
    });
  const bigArray = fc
    .tuple(
      fc.constantFrom('eth_getLogs', 'eth_call', 'eth_chainId'),
      fc.constantFrom('1', '"0x"', '{}', '[]', '{"a":1}'),
    )
    .chain(([method, element]) =>
      fc.constantFrom(100, 10_000, 60_000).map((length) => {
        const array = `[${Array.from({ length }, () => element).join()}]`;
        return `{"jsonrpc":"2.0","id":2e1,"method":"${method}","params":[{"address":${array}},${array}]}`;
      }),
    );

  const of = (kind: string, body: fc.Arbitrary<string>, more: Partial<FuzzRequest> = {}): fc.Arbitrary<FuzzRequest> =>
    fc
      .tuple(body, fc.boolean())
      .map(([text, chunked]) => ({ kind, verb: 'POST', path, headers: {}, body: text, chunked, ...more }));
  const body = fc.oneof(goodCall, brokenText);
  const at = (kind: string, paths: fc.Arbitrary<string>): fc.Arbitrary<FuzzRequest> =>
    fc.tuple(of(kind, body), paths).map(([request, other]) => ({ ...request, path: other }));
  return fc.oneof(
    { weight: 20, arbitrary: of('good call', goodCall) },
    { weight: 30, arbitrary: of('fuzzed params', fuzzedCall) },
    { weight: 12, arbitrary: of('batch', batch(anyItem)) },
    { weight: 8, arbitrary: of('no call', invalidItem) },
    { weight: 10, arbitrary: of('broken JSON', brokenText) },
    {
      weight: 3,
      arbitrary: of('notifications', batch(call(good).map((text) => text.replace(/"id":.*?,"method"/, '"method"')))),
    },
    { weight: 3, arbitrary: of('deep nesting', nested) },
    { weight: 2, arbitrary: of('giant body', giant) },
    { weight: 5, arbitrary: of('odd envelope', fc.oneof(oddEnvelope, batch(fc.oneof(oddEnvelope, goodCall), 4))) },
    { weight: 3, arbitrary: of('odd parameters', oddParameter) },
    { weight: 1, arbitrary: of('big array', bigArray) },
    {
      weight: 4,
      arbitrary: of('gzip', fc.oneof(body, fuzzedCall, batch(anyItem)), {
        headers: { 'content-encoding': 'gzip' },
        isGzip: true,
      }),
    },
    { weight: 4, arbitrary: at('wrong path', wrongPaths(path)) },
    { weight: 4, arbitrary: at('wrong key', wrongKeys(path)) },
    { weight: 4, arbitrary: wrongVerbs(path) },
    { weight: 2, arbitrary: of('wrong encoding', body, { headers: { 'content-encoding': 'br' } }) },
    { weight: 2, arbitrary: of('no gzip', body, { headers: { 'content-encoding': 'gzip' } }) },
  );
}

function titled(name: string): string {
  return name.slice(0, 1).toUpperCase() + name.slice(1);
}

export function callText(method: unknown, params: unknown, id: string | undefined): string {
  const idMember = id === undefined ? '' : `"id":${id},`;
  const paramsMember = params === undefined ? '' : `,"params":${JSON.stringify(params)}`;
  return `{"jsonrpc":"2.0",${idMember}"method":${JSON.stringify(method)}${paramsMember}}`;
}

/** Calls with a result on the demo chain. */
export function goodCalls(chain: DemoChain): { method: string; params: unknown[] }[] {
  const { caller, counter, gate } = chain;
  return [
    { method: 'eth_chainId', params: [] },
    { method: 'eth_accounts', params: [] },
    { method: 'eth_getStorageAt', params: [counter.address, counter.setByPosition, 'latest'] },
    { method: 'eth_getBlockByHash', params: [chain.blockHash, true] },
    { method: 'eth_getUncleByBlockHashAndIndex', params: [chain.blockHash, '0x0'] },
    { method: 'eth_getTransactionReceipt', params: [chain.setTransaction] },
    { method: 'eth_getTransactionByHash', params: [chain.transferTransaction] },
    { method: 'eth_getTransactionByHash', params: [`0x${'0'.repeat(64)}`] },
    { method: 'eth_estimateGas', params: [{ from: caller, to: counter.address, data: counter.calls.set }] },
    { method: 'eth_call', params: [{ to: counter.address, data: counter.calls.number }, 'latest'] },
    { method: 'eth_getLogs', params: [{ fromBlock: 'earliest', address: counter.address }] },
    { method: 'eth_getBlockReceipts', params: [{ blockHash: chain.blockHash }] },
    { method: 'eth_getBlockByNumber', params: ['0x1', true] },
    { method: 'eth_estimateGas', params: [{ from: caller, to: gate.address, data: gate.calls.open }, 'latest'] },
  ];
}

/** Valid, nearly valid and invalid params, for existing and unknown methods. */
export function fuzzedCalls(chain: DemoChain): fc.Arbitrary<{ method: unknown; params: unknown }> {
  const hex = fc.tuple(
    fc.constantFrom('0x', '0X', ''),
    fc.string({ unit: fc.constantFrom(...Array.from('0123456789abcdefABCDEFg')), maxLength: 70 }),
  );
  const text = fc.oneof(
    fc.constantFrom(chain.caller, chain.counter.address, chain.counter.address.toUpperCase(), chain.gate.address),
    fc.constantFrom(chain.blockHash, chain.setTransaction, chain.blockHash.toUpperCase().replace('X', 'x')),
    fc.constantFrom('latest', 'earliest', 'pending', 'safe', 'finalized', 'LATEST', ''),
    fc.constantFrom('0x0', '0x', '0x00', '0x1', '0xffffffffffffffff', `0x${'f'.repeat(64)}`, `0x${'f'.repeat(65)}`),
    fc.constantFrom(...Object.values(chain.gate.calls), ...Object.values(chain.counter.calls)),
    hex.map((parts) => parts.join('')),
    fc.string(),
  );
  const names = [
    'from',
    'to',
    'gas',
    'gasPrice',
    'value',
    'data',
    'input',
    'nonce',
    'maxFeePerGas',
    'accessList',
    'blockHash',
    'type',
    'x',
  ];
  const value = fc.oneof({ weight: 4, arbitrary: text }, fc.jsonValue({ maxDepth: 2 }));
  const object = fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 5 });
  const param = fc.oneof(
    { weight: 5, arbitrary: text },
    { weight: 3, arbitrary: object },
    fc.boolean(),
    fc.jsonValue({ maxDepth: 3 }),
  );
  const params = fc.oneof(
    { weight: 9, arbitrary: fc.array(param, { maxLength: 4 }) },
    fc.constantFrom(undefined, null, {}),
    object,
  );
  // anvil 1.7.1 ends at an eth_feeHistory of 2^255 blocks.
  const methodNames = methods.map(({ name }) => name).filter((name) => name !== 'eth_feeHistory');
  const method = fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...methodNames) },
    fc.constantFrom(
      'eth_sendTransaction',
      'anvil_reset',
      'evm_mine',
      'debug_traceTransaction',
      '__proto__',
      'constructor',
      '',
    ),
    fc.string({ maxLength: 200 }),
  );
  return fc.record({ method, params });
}

export function brokenEnvelopes(): fc.Arbitrary<string> {
  return fc
    .record({
      jsonrpc: fc.constantFrom('2.0', '1.0', 2, null, undefined),
      id: fc.constantFrom(1, 'a', null, undefined, {}, [], true),
      method: fc.constantFrom('eth_chainId', 5, null, undefined, {}),
      params: fc.constantFrom([], {}, 'x', 5, false, null, undefined),
    })
    .map((members) => JSON.stringify(members));
}

function wrongPaths(path: string): fc.Arbitrary<string> {
  const key = path.slice(path.lastIndexOf('/') + 1);
  const segment = fc.string({ unit: fc.constantFrom(...Array.from('abz09-_.~%2Fv3')), maxLength: 8 });
  return fc.oneof(
    fc.constantFrom(
      '/',
      '/v3',
      `/v3/${key}`,
      `/nowhere/v3/${key}`,
      '/local',
      `/local/ws/v3/${key}`,
      `/local/v4/${key}`,
    ),
    fc.array(segment, { maxLength: 5 }).map((segments) => `/x${segments.join('/')}`),
  );
}

function wrongKeys(path: string): fc.Arbitrary<string> {
  const base = path.slice(0, path.lastIndexOf('/') + 1);
  const wrong = fc.constantFrom('', 'x', 'gh_', '0'.repeat(31), `gh_${'a'.repeat(32)}`, '%00', 'x'.repeat(2_000));
  return fc
    .oneof(
      { weight: 5, arbitrary: wrong },
      fc.constant(0).map(() => makeKey()),
    )
    .map((key) => base + key);
}

function wrongVerbs(path: string): fc.Arbitrary<FuzzRequest> {
  const verb = fc.constantFrom('GET', 'HEAD', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'PROPFIND');
  return verb.map((name) => ({ kind: 'wrong verb', verb: name, path, headers: {}, body: '', chunked: false }));
}
