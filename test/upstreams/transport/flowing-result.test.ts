import { expect, it } from 'vitest';
import { RpcError } from '../../../gateway/jsonrpc/errors.ts';
import { FlowingList, listElementsOf } from '../../../gateway/normalise/results/flowing-list.ts';
import { methods } from '../../../gateway/spec/methods.generated.ts';
import { BodyRest } from '../../../gateway/upstreams/transport/body-rest.ts';
import { CredentialSearch } from '../../../gateway/upstreams/transport/credential-search.ts';
import { credentialsOf, Secrets } from '../../../gateway/upstreams/transport/credentials.ts';
import { FlowingResult, UnreadResult, type ResultReader } from '../../../gateway/upstreams/transport/flowing-result.ts';
import { UpstreamFailure } from '../../../gateway/upstreams/transport/upstream-response.ts';

const ID = 7;
const key = 'AbCdEfGh/JkLmNoP';
const secrets = new Secrets(credentialsOf(`https://node.test/?key=${encodeURIComponent(key)}`, {}).secrets);

interface Flow {
  readonly result: FlowingResult | undefined;
  readonly rest: BodyRest;
  /** Bytes in the memory budget. */
  readonly taken: () => number;
}

/** A response whose bytes arrive in these chunks. */
async function flowOf(
  chunks: readonly Buffer[],
  isText = false,
  maxBytes = Infinity,
  reader: ResultReader = new UnreadResult(),
): Promise<Flow> {
  const [first = Buffer.alloc(0), ...others] = chunks;
  let taken = first.length;
  const rest = new BodyRest(
    first.length,
    (bytes) => (taken -= bytes),
    () => undefined,
  );
  const isIn = (bytes: Buffer): boolean => secrets.areIn(bytes.toString('latin1'));
  const search = isText ? new CredentialSearch(isIn, 6 * secrets.maxCredentialChars) : undefined;
  const opened = FlowingResult.open(first, rest, reader, { id: ID, maxBytes, owner: 'key', search });
  for (const chunk of others) {
    taken += chunk.length;
    rest.add(chunk);
  }
  rest.end();
  return { result: await opened, rest, taken: () => taken };
}

/** What the caller gets as the result, and why it is incomplete. */
function read({ result }: Flow): { text: string; failure?: string } {
  if (result === undefined) return { text: '', failure: 'collected' };
  const parts: Buffer[] = [];
  const text = (): string => Buffer.concat(parts).toString();
  try {
    for (let bytes = result.next(); bytes !== undefined; bytes = result.next()) parts.push(...bytes);
    return { text: text() };
  } catch (error) {
    if (error instanceof UpstreamFailure) return { text: text(), failure: error.failure };
    if (error instanceof RpcError) return { text: text(), failure: error.reason };
    throw error;
  }
}

/** The response in two chunks, of which the first one has the start of the envelope. */
function* splitsOf(response: string, from: number): Generator<Buffer[]> {
  const bytes = Buffer.from(response);
  for (let at = from; at <= bytes.length; at++) yield [bytes.subarray(0, at), bytes.subarray(at)];
}

const value = '{"a":[1,"}]\\"",{"error":{"code":3}}],"result":"x"}';

it.each([
  [`{"jsonrpc":"2.0","id":${ID},"result":`, '}'],
  [`{"id":"${ID}","jsonrpc":"2.0","result":`, '}\n'],
  [` { "jsonrpc" : "2.0" , "id" : ${ID} , "result" : `, ' } \n'],
  ['{"jsonrpc":"2.0","result":', `,"id":${ID}}`],
  ['{"result":', `,"id":"${ID}","jsonrpc":"2.0"}`],
  [`{"jsonrpc":"2.0","id":${ID},"result":`, ',"error":null,"took":5}'],
])('a result between %s and %s is passed on unchanged wherever its chunks begin', async (start, end) => {
  for (const isText of [false, true]) {
    for (const chunks of splitsOf(start + value + end, start.length + 1)) {
      const flow = await flowOf(chunks, isText);
      expect(read(flow)).toEqual({ text: value });
      expect(flow.taken()).toBe(0);
    }
  }
});

it.each([
  ['another result', `{"jsonrpc":"2.0","id":${ID},"result":`, ',"result":[]}'],
  ['an error', `{"jsonrpc":"2.0","id":${ID},"result":`, ',"error":{"code":-32000,"message":"cut off"}}'],
  ['the id of another call', '{"jsonrpc":"2.0","result":', ',"id":8}'],
  ['no id', '{"jsonrpc":"2.0","result":', '}'],
  ['no end', `{"jsonrpc":"2.0","id":${ID},"result":`, ''],
  ['another response', `{"jsonrpc":"2.0","id":${ID},"result":`, `}{"jsonrpc":"2.0","id":${ID},"result":1}`],
  ['other bytes', `{"jsonrpc":"2.0","id":${ID},"result":`, ` ${'x'.repeat(5_000)}`],
])('a result with %s after it is an upstream failure', async (_, start, end) => {
  for (const chunks of splitsOf(start + value + end, start.length + 1)) {
    const { failure } = read(await flowOf(chunks));
    expect(['malformed', 'collected']).toContain(failure);
  }
});

it('a result without an end is an upstream failure', async () => {
  const text = `{"jsonrpc":"2.0","id":${ID},"result":${value.slice(0, -1)}`;
  expect(read(await flowOf([Buffer.from(text)])).failure).toBe('malformed');
});

it.each([
  `{"jsonrpc":"2.0","id":8,"result":${value}}`,
  `{"jsonrpc":"2.0","id":${ID},"error":{"code":1,"message":"no"}}`,
  `[{"jsonrpc":"2.0","id":${ID},"result":${value}}]`,
  `{"jsonrpc":"2.0","id":${ID},"extra":1,"result":${value}}`,
  `{"jsonrpc":"2.0","id":${ID},"result":123456}`,
])('%s is collected', async (text) => {
  expect((await flowOf([Buffer.from(text)])).result).toBeUndefined();
});

const start = `{"jsonrpc":"2.0","id":${ID},"result":`;
const filler = 'f'.repeat(500);
const inJson = JSON.stringify(key).slice(1, -1);
const escaped = Array.from(key, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');

it.each([
  ['as it is', inJson],
  ['in another case', inJson.toUpperCase()],
  ['with an escaped slash', inJson.replace('/', '\\/')],
  ['escaped', escaped],
  ['percent-encoded', encodeURIComponent(key)],
  ['escaped after backslashes', `\\\\\\\\${escaped}`],
])('a credential %s never leaves whole, wherever the chunks begin', async (_, form) => {
  const text = `${start}{"text":"${filler}${form}${filler}"}}`;
  for (const chunks of splitsOf(text, start.length + 1)) {
    const { text: passed, failure } = read(await flowOf(chunks, true));
    expect(['malformed', 'collected']).toContain(failure);
    expect(passed).not.toContain(form);
  }
});

it.each([
  ['that passes unchanged', '0x1'],
  ['that is completed', 1],
])('a credential in a log %s never leaves whole', async (_, logIndex) => {
  const method = methods.find(({ name }) => name === 'eth_getLogs') ?? expect.fail();
  const hash = `0x${'1'.repeat(64)}`;
  const place = { blockHash: hash, blockNumber: '0x1', transactionHash: hash, transactionIndex: '0x0', logIndex };
  const log = { ...place, address: `0x${'1'.repeat(40)}`, topics: [hash], data: '0x', removed: false };
  const text = `${start}${JSON.stringify([{ ...log, note: `${filler}${key}${filler}` }, log])}}`;
  for (const chunks of splitsOf(text, start.length + 1)) {
    const list = new FlowingList(listElementsOf(method, [{}]));
    const { text: passed, failure } = read(await flowOf(chunks, true, Infinity, list));
    expect(['malformed', 'collected']).toContain(failure);
    expect(passed).not.toContain(key);
  }
});

it('many backslashes before a chunk do not hide a credential', async () => {
  for (const count of [1_000, 1_001]) {
    const text = `${start}{"text":"${filler}${'\\\\'.repeat(count)}${escaped}${filler}"}}`;
    for (const chunks of splitsOf(text, text.length - filler.length - 700))
      expect(['malformed', 'collected']).toContain(read(await flowOf(chunks, true)).failure);
  }
});

it('first bytes that take several steps are read as a whole before the result may flow', async () => {
  const long = JSON.stringify({ filler: 'f'.repeat(300_000) });
  const bytes = Buffer.from(`${start}${long}}`);
  expect(read(await flowOf([bytes.subarray(0, 250_000), bytes.subarray(250_000)]))).toEqual({ text: long });
  expect(read(await flowOf([bytes]))).toEqual({ text: long });
  expect((await flowOf([bytes], false, 200_000)).result).toBeUndefined();
  const withTail = Buffer.from(`${start}${long} ${'x'.repeat(5_000)}`);
  expect((await flowOf([withTail])).result).toBeUndefined();
  const withCredential = Buffer.from(`${start}{"filler":"${'f'.repeat(200_000)}${inJson}${filler}"}}`);
  expect((await flowOf([withCredential], true)).result).toBeUndefined();
});

it('a response that fails while its first bytes are read does not flow', async () => {
  const first = Buffer.from(`${start}{"filler":"${'f'.repeat(5_000_000)}`);
  const rest = new BodyRest(
    first.length,
    () => undefined,
    () => undefined,
  );
  const opened = FlowingResult.open(first, rest, new UnreadResult(), { id: ID, maxBytes: Infinity, owner: 'key' });
  rest.end(new UpstreamFailure('transport', 'ECONNRESET'));
  expect(await opened).toBeUndefined();
  await expect(rest.collect(first)).rejects.toThrow('ECONNRESET');
});

it('a result of more bytes than a bound stays incomplete', async () => {
  const bytes = Buffer.from(`${start}${value}}`);
  const chunks = [bytes.subarray(0, start.length + 5), bytes.subarray(start.length + 5)];
  expect(read(await flowOf(chunks, false, value.length))).toEqual({ text: value });
  expect(read(await flowOf(chunks, false, value.length - 1)).failure).toBe('beyond-bound');
});

it('small chunks are joined', async () => {
  const bytes = Buffer.from(`${start}["${'a'.repeat(20_000)}"]}`);
  const flow = await flowOf([bytes.subarray(0, 100), ...Array.from(bytes.subarray(100), (byte) => Buffer.of(byte))]);
  let parts = 0;
  for (let next = flow.result?.next(); next !== undefined; next = flow.result?.next()) parts += next.length;
  expect(parts).toBeLessThan(20);
});

it('a reader that leaves releases the bytes, and cancels the exchange once', async () => {
  let [taken, cancelled] = [50, 0];
  const rest = new BodyRest(
    50,
    (bytes) => (taken -= bytes),
    () => cancelled++,
  );
  const result = await FlowingResult.open(Buffer.from(`${start}[1,2`), rest, new UnreadResult(), {
    id: ID,
    maxBytes: Infinity,
    owner: 'key',
  });
  taken += 5_000;
  rest.add(Buffer.alloc(5_000));
  result?.cancel();
  result?.cancel();
  expect([taken, cancelled]).toEqual([0, 1]);
  expect(() => result?.next()).toThrow('cancelled');
  expect(await result?.ended).toMatchObject({ name: 'Cancelled' });
});
