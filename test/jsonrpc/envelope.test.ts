import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readEnvelope, readLargeEnvelope, type Envelope, type RpcRequest } from '../../gateway/jsonrpc/envelope.ts';
import type { RpcError } from '../../gateway/jsonrpc/errors.ts';
import { readCallTexts, scanCalls } from '../../gateway/jsonrpc/call-texts.ts';
import { propertyRuns } from '../support/property-runs.ts';

const read = (text: string) => readEnvelope(Buffer.from(text), 1000);
const scanIds = (text: string) => readCallTexts(Buffer.from(text), text, JSON.parse(text)).map(({ id }) => id);

describe('ids as JSON text', () => {
  it.each([
    '0',
    '""',
    'null',
    '9007199254740993',
    '1.5',
    '1.0',
    '-0',
    '1e3',
    '"\\u0041"',
    '"a\\"}b"',
    '"]"',
    '"é"',
    '"𝄞"',
  ])('returns %s as it was sent', (id) => {
    expect(scanIds(`{"jsonrpc":"2.0","id":${id},"method":"m"}`)).toEqual([id]);
    expect(scanIds(` [ { "method" : "m" , "id" : ${id} } , 5 , {"x":{"id":7}}, [{"id":8}] ] `)).toEqual([
      id,
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('recognises an escaped name', () => {
    expect(scanIds('{"\\u0069d":2}')).toEqual(['2']);
  });

  it.each(['"\\\\"', '"a\\\\\\""', '"\\\\\\\\"'])('finds the end of the string %s', (text) => {
    expect(scanIds(`[{"x":[${text}],"id":${text}},{"id":2}]`)).toEqual([text, '2']);
  });

  it('agrees with JSON.parse on any JSON', () => {
    const json = fc.json({ maxDepth: 4 });
    const member = fc.tuple(fc.oneof(fc.constant('id'), fc.string(), fc.constant('\\"')), fc.jsonValue());
    const object = fc.array(member, { maxLength: 5 }).map((members) => JSON.stringify(Object.fromEntries(members)));
    fc.assert(
      fc.property(
        fc.oneof(
          json,
          object,
          fc.array(object).map((all) => `[${all.join(' , ')}]`),
        ),
        (text) => {
          const value = JSON.parse(text) as unknown;
          const items = (Array.isArray(value) ? value : [value]) as unknown[];
          const scanned = scanCalls(Buffer.from(text), text);
          expect(scanned).toHaveLength(items.length);
          items.forEach((item, index) => {
            const isObject = typeof item === 'object' && item !== null && !Array.isArray(item);
            const expected = isObject ? (item as { id?: unknown }).id : undefined;
            const { id, fault } = scanned[index] ?? {};
            // A random name may be "ID".
            if (fault === undefined) expect(id === undefined ? undefined : JSON.parse(id)).toEqual(expected);
          });
        },
      ),
      { numRuns: propertyRuns(500) },
    );
  });
});

describe('a text that JSON.stringify writes in the same way', () => {
  const names = ['id', 'params', 'method', 'Id', 'param\u017f', '__proto__', '0', 'x'];
  const request = fc.dictionary(fc.constantFrom(...names), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 6 });

  it('has the same texts as one that is scanned', () => {
    fc.assert(
      fc.property(fc.oneof(request, fc.array(fc.oneof(request, fc.jsonValue()), { maxLength: 3 })), (body) => {
        const text = JSON.stringify(body);
        const read = readCallTexts(Buffer.from(text), text, JSON.parse(text));
        const scanned = scanCalls(Buffer.from(text), text);
        expect(read.map(({ fault }) => fault?.member)).toEqual(scanned.map(({ fault }) => fault?.member));
        const texts = read.map(({ id, params, fault }, at) =>
          fault === undefined ? [id, params] : (scanned[at] ?? {}),
        );
        expect(texts).toEqual(
          scanned.map(({ id, params, fault }, at) => (fault === undefined ? [id, params] : (scanned[at] ?? {}))),
        );
      }),
      { numRuns: propertyRuns(1_000) },
    );
  });

  it('is not scanned, and its parameters are written once for the upstream', () => {
    const text = '{"jsonrpc":"2.0","id":1,"method":"m","params":[{"to":"0x1"},"latest"]}';
    const params = '[{"to":"0x1"},"latest"]';
    expect(read(text).items).toMatchObject([{ originalParamsText: undefined, text: params }]);
    const spaced = params.replace(',', ', ');
    expect(read(text.replace(params, spaced)).items).toMatchObject([{ originalParamsText: spaced, text: undefined }]);
  });
});

/** From such a request, geth would read another method, id or parameters than this gateway. */
describe('a member of the envelope that is duplicated or in another case is rejected', () => {
  it.each([
    ['{"jsonrpc":"2.0","id":1,"Id":2,"method":"m"}', 'id in exactly this spelling'],
    ['{"jsonrpc":"2.0","iD":1,"method":"m"}', 'id in exactly this spelling'],
    ['{"jsonrpc":"2.0","id":1,"method":"m","METHOD":"n"}', 'method in exactly this spelling'],
    ['{"jsonrpc":"2.0","id":1,"method":"m","param\u017f":[1]}', 'params in exactly this spelling'],
    ['{"jsonrpc":"2.0","id":1,"method":"m","param\\u017F":[1]}', 'params in exactly this spelling'],
    ['{"\\u004asonrpc":"2.0","id":1,"method":"m","jsonrpc":"2.0"}', 'jsonrpc in exactly this spelling'],
    ['{"jsonrpc":"2.0","id":1,"method":"m","method":"n"}', 'method only once'],
    ['{"jsonrpc":"2.0","id":1,"method":"m","\\u006dethod":"n"}', 'method only once'],
    ['{"jsonrpc":"2.0","id":1,"id":1,"method":"m"}', 'id only once'],
    ['{"jsonrpc":"2.0","id":1,"method":"m","params":[{"a":[]}],"params" : null}', 'params only once'],
  ])('%s', (text, expected) => {
    const rejection = { reason: 'invalid-request', code: -32600, message: `invalid request: expected ${expected}` };
    const id = expected.startsWith('id') ? 'null' : '1';
    expect(read(text).items).toMatchObject([{ id, rejection }]);
    const good = '{"jsonrpc":"2.0","id":7,"method":"m","params":[]}';
    expect(read(`[${good}, ${text} ,${good}]`).items).toMatchObject([{ id: '7' }, { id, rejection }, { id: '7' }]);
  });

  it('except for unknown members', () => {
    const others = '"ids":1,"ids":2,"Jsonrpc2":3,"para\u212as":4,"":5,"__proto__":6';
    expect(read(`{"jsonrpc":"2.0","id":1,"method":"m",${others}}`).items).toMatchObject([{ id: '1', method: 'm' }]);
  });
});

describe('the envelope', () => {
  it('treats absent and null params as none, and distinguishes a notification from a null id', () => {
    expect(read('{"jsonrpc":"2.0","method":"m","params":null}').items).toEqual([
      { id: undefined, method: 'm', params: [] },
    ]);
    expect(read('{"jsonrpc":"2.0","method":"m","id":null}').items).toEqual([{ id: 'null', method: 'm', params: [] }]);
  });

  it.each([
    ['5', 'null', 'invalid-request'],
    ['"x"', 'null', 'invalid-request'],
    ['null', 'null', 'invalid-request'],
    ['{}', 'null', 'invalid-request'],
    ['{"jsonrpc":"1.0","id":1,"method":"m"}', '1', 'invalid-request'],
    ['{"jsonrpc":"2.0","id":{},"method":"m"}', 'null', 'invalid-request'],
    ['{"jsonrpc":"2.0","id":[1],"method":"m"}', 'null', 'invalid-request'],
    ['{"jsonrpc":"2.0","id":true,"method":"m"}', 'null', 'invalid-request'],
    ['{"jsonrpc":"2.0","id":1,"method":7}', '1', 'invalid-request'],
    ['{"jsonrpc":"2.0","id":1,"method":"m","params":"x"}', '1', 'invalid-request'],
    ['{"jsonrpc":"2.0","id":1.50,"method":"m","params":{}}', '1.50', 'invalid-params'],
  ])('rejects %s', (text, id, reason) => {
    expect(read(text).items).toMatchObject([{ id, rejection: { reason } }]);
    expect(read(`[${text}]`)).toMatchObject({ isBatch: true, items: [{ id, rejection: { reason } }] });
  });

  it('rejects a body without any request', () => {
    expect(() => read('{"jsonrpc":')).toThrow(expect.objectContaining({ reason: 'parse-error' }));
    expect(() => read('')).toThrow(expect.objectContaining({ reason: 'parse-error' }));
    expect(() => read(' [] ')).toThrow(expect.objectContaining({ reason: 'empty-batch' }));
    expect(() => readEnvelope(Buffer.from('[1,2,3]'), 2)).toThrow(
      expect.objectContaining({ reason: 'batch-too-large' }),
    );
    const deep = `{"jsonrpc":"2.0","id":1,"method":"m","params":[${'['.repeat(100)}${']'.repeat(100)}]}`;
    expect(() => read(deep)).toThrow(expect.objectContaining({ reason: 'nested-too-deep' }));
  });
});

describe('a large body, read in steps,', () => {
  let waits = 0;
  const timeSlicer = {
    next: async () => {
      waits++;
      await turn();
    },
  };
  const reasonOf = (error: unknown): string => (error as RpcError).reason;
  /** The envelope of a text, or the reason of its rejection. */
  const bothWays = async (text: string, maxItems = 1000): Promise<unknown[]> => [
    await Promise.resolve()
      .then(() => readEnvelope(Buffer.from(text), maxItems))
      .catch(reasonOf),
    await readLargeEnvelope(Buffer.from(text), maxItems, timeSlicer).catch(reasonOf),
  ];

  /** Spaces between items decide which of the two texts of the parameters is known. */
  const withOneText = (envelope: unknown): object =>
    typeof envelope !== 'object' || !(envelope as Partial<Envelope>).isBatch
      ? (envelope as object)
      : {
          ...envelope,
          items: (envelope as Envelope).items.map((item) => ({
            ...item,
            text: (item as Partial<RpcRequest>).text ?? (item as Partial<RpcRequest>).originalParamsText,
            originalParamsText: undefined,
          })),
        };

  it('gives the same envelope as one read at once', async () => {
    const call = '{"jsonrpc":"2.0","id":1.0,"method":"m","params":["]},{\\"[\\\\"]}';
    const item = fc.oneof(
      fc.json({ maxDepth: 3 }),
      fc.constantFrom(call, '{"jsonrpc":"2.0","id":1,"method":"m","params":[{"to":"0x1"}]}'),
      fc.constantFrom(
        '',
        '{]',
        '[}',
        '"',
        '1 2',
        '\u00a0',
        '"ä€𝄞"',
        `"${'x'.repeat(20_000)}"`,
        `"${'ä'.repeat(20_000)}"`,
      ),
    );
    const batch = fc
      .tuple(
        fc.array(item, { maxLength: 4 }),
        fc.constantFrom(',', ' , ', ',,'),
        fc.constantFrom(']', ' ] ', ']]', '}', '', '] 1'),
      )
      .map(([items, between, end]) => `[${items.join(between)}${end}`);
    await fc.assert(
      fc.asyncProperty(fc.oneof(batch, item), async (text) => {
        const [whole, sliced] = await bothWays(text);
        const isBatch = (whole as Partial<Envelope>).isBatch === true;
        expect(withOneText(sliced)).toEqual(isBatch ? { ...withOneText(whole), isLarge: true } : whole);
      }),
      { numRuns: propertyRuns(300) },
    );
  });

  it.each([
    ['[ ]', 'empty-batch'],
    [`[${'['.repeat(70)}${']'.repeat(70)}]`, 'nested-too-deep'],
    [`[[${'0,'.repeat(200_000)}0]]`, 'nested-too-deep'],
    ['[1,2,3,4]', 'batch-too-large'],
  ])('is rejected for the same reason: %#', async (text, reason) => {
    expect(await bothWays(text, 3)).toEqual([reason, reason]);
  });

  it.each([
    ['0', 16, true],
    ['0', 17, false],
    ['[]', 16, true],
    ['[]', 17, false],
  ])('has the same bound of values in each call as a call alone: %s, %i times', async (element, times, isValid) => {
    const params = Array.from({ length: times }, () => element).join();
    const call = `{"jsonrpc":"2.0","id":1,"method":"m","params":[${params}]}`;
    const alone = await Promise.resolve()
      .then(() => readEnvelope(Buffer.from(call), 3, 20).items.length)
      .catch(reasonOf);
    const inBatch = await readLargeEnvelope(Buffer.from(`[${call}]`), 3, timeSlicer, 20).then(
      ({ items }) => items.length,
      reasonOf,
    );
    const expected = isValid ? 1 : 'nested-too-deep';
    expect([alone, inBatch]).toEqual([expected, expected]);
  });

  it('is a too large batch whatever its surplus items are', async () => {
    const call = '{"jsonrpc":"2.0","id":"x","method":"m"}';
    const surplus = `{"id":2,"params":[${'0,'.repeat(20)}0]}`;
    const read = readLargeEnvelope(Buffer.from(`[${call},${surplus}]`), 1, timeSlicer, 20);
    await expect(read).rejects.toMatchObject({ reason: 'batch-too-large', id: '"x"' });
  });

  it('yields to the event loop between items', async () => {
    waits = 0;
    const { items } = await readLargeEnvelope(
      Buffer.from(' [{"jsonrpc":"2.0","id":7,"method":"m"},2 , 3]'),
      3,
      timeSlicer,
    );
    expect([items.map(({ id }) => id), waits]).toEqual([['7', 'null', 'null'], 6]);
  });
});
