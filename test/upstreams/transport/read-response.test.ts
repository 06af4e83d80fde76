import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Secrets } from '../../../gateway/upstreams/transport/credentials.ts';
import { readResponse } from '../../../gateway/upstreams/transport/read-response.ts';
import {
  parseResponse,
  TooManyValues,
  UpstreamFailure,
  type FailureClass,
  type UpstreamResponse,
} from '../../../gateway/upstreams/transport/upstream-response.ts';

const ID = 7;
const none = new Secrets();

function read(body: unknown, status = 200, retryAfter?: string): UpstreamResponse {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return readResponse({ status, body: bytes, retryAfter }, ID, none);
}

/** The failure that `read` throws. */
function failureOf(body: unknown, status = 200, retryAfter?: string): UpstreamFailure {
  try {
    read(body, status, retryAfter);
  } catch (error) {
    if (error instanceof UpstreamFailure) return error;
    throw error;
  }
  throw new Error('the body was read without a failure');
}

function parsed(text: string): { readonly id?: unknown; readonly result?: unknown } | undefined {
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}

const error = { code: -32_000, message: 'no' };

it('an error that is larger than those of contracts is not parsed', () => {
  const fits = { code: 3, message: 'execution reverted', data: `0x${'ab'.repeat(1_900_000)}` };
  expect(read({ id: ID, error: fits })).toMatchObject({ kind: 'error', code: 3 });
  expect(failureOf({ id: ID, error: { ...fits, data: `${fits.data}${'é'.repeat(200_000)}` } })).toBeInstanceOf(
    TooManyValues,
  );
});

it('a result is read beside a member `data` with more values than an error may have', () => {
  const body = { id: ID, result: '0x1', data: Array(5_000).fill(null) };
  expect(parseResponse(read(body) as UpstreamResponse)).toMatchObject({ kind: 'result', result: '0x1' });
});

describe('a result', () => {
  it.each([
    ['with its id', { jsonrpc: '2.0', id: ID, result: '0x1' }],
    ['with its id as a string', { id: '7', result: '0x1' }],
    ['of another version', { jsonrpc: '1.0', id: ID, result: '0x1' }],
    ['beside an error that is null', { id: ID, result: '0x1', error: null }],
    ['beside an empty error', { id: ID, result: '0x1', error: {} }],
    ['in an array of one', [{ id: ID, result: '0x1' }]],
  ])('%s is read', (_, body) => {
    for (const status of [200, 400, 404, 500, 503]) {
      expect(read(body, status)).toMatchObject({ kind: 'result', result: '0x1' });
    }
  });

  it('is the one that JSON.parse finds, in any order and with other members, and its text is equal', () => {
    const value = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom(null, '0x', '0xab', '0xAB', 'a"b', 'a\\b', '\n', '}', '"id":7'),
    );
    const member = fc.oneof(
      fc.constantFrom('"jsonrpc":"2.0"', '"id":7', '"id":"7"', '"id":77', '"error":null', '"x":{"result":1}'),
      value.map((result) => `"result":${JSON.stringify(result)}`),
    );
    const usual = value.chain((result) => {
      const members = ['"jsonrpc":"2.0"', '"id":7', `"result":${JSON.stringify(result)}`];
      return fc.shuffledSubarray(members, { minLength: 3 });
    });
    const members = fc.oneof(usual, fc.array(member, { maxLength: 5 }));
    const end = fc.constantFrom('}', '}\n', '} ', ',}', '');
    let withText = 0;
    fc.assert(
      fc.property(members, end, (some, last) => {
        const text = `{${some.join(',')}${last}`;
        const body = parsed(text);
        const isResult = (body?.id === ID || body?.id === '7') && body.result !== undefined;
        const results = some.filter((one) => one.startsWith('"result"')).length;
        if (!isResult || results > 1) {
          expect(() => read(text)).toThrow(UpstreamFailure);
          return;
        }
        const response = read(text);
        expect(response).toMatchObject({ kind: 'result', result: body.result });
        if (response.kind !== 'result' || response.text === undefined) return;
        expect(JSON.parse(response.text)).toEqual(body.result);
        withText++;
      }),
      { numRuns: 2_000 },
    );
    expect(withText).toBeGreaterThan(100);
  });

  it.each([
    ['without an id', { result: '0x1' }],
    ['with id null', { id: null, result: '0x1' }],
    ['with another id', { id: 8, result: '0x1' }],
    [
      'of two',
      [
        { id: ID, result: '0x1' },
        { id: 8, result: '0x2' },
      ],
    ],
    ['that is missing', { jsonrpc: '2.0', id: ID }],
    ['in an empty array', []],
    ['that is a text', '"0x1"'],
    ['that is null', 'null'],
    ['cut off', '{"id":7,"result":"0x'],
    ['of nothing', ''],
  ])('%s is rejected', (_, body) => {
    expect(failureOf(body).failure).toBe('malformed');
  });
});

describe('an error', () => {
  it.each([
    ['with its id', { jsonrpc: '2.0', id: ID, error }],
    ['with id null', { id: null, error }],
    ['without an id', { error }],
    ['without an envelope', error],
    ['beside a result', { id: ID, error, result: `0x${'ab'.repeat(32)}` }],
    ['in an array of one', [{ id: ID, error }]],
    ['whose code is digits', { id: ID, error: { ...error, code: '-32000' } }],
    ['without a code', { id: ID, error: { message: 'no' } }],
    ['whose code is a name', { id: ID, error: { code: 'ERR_ASSERTION', message: 'no' } }],
    ['that is a text', { id: ID, error: 'no' }],
    ['in an error', { id: ID, error: { error: 'no', errorType: 'EvmError', code: -32_700 } }],
  ])('%s is read', (_, body) => {
    expect(read(body)).toMatchObject({ kind: 'error', code: -32_000, message: 'no' });
  });

  it('may have code 0', () => {
    expect(read({ error: { code: 0, message: 'no' }, id: null })).toMatchObject({ code: 0, message: 'no' });
  });

  it('without a code gets the HTTP status of a limit as its code', () => {
    expect(read({ error: { message: 'no' } }, 429)).toMatchObject({ code: 429, status: 429 });
    expect(read({ message: 'Forbidden' }, 403)).toMatchObject({ code: -32_000, status: 403 });
  });

  it('of another call is rejected', () => {
    expect(failureOf({ id: 8, error }).failure).toBe('malformed');
  });

  it('with the status of a rejected request has any id: providers send one text to all', () => {
    const body = { id: 8, error: { code: -32_005, message: 'daily request count exceeded' } };
    expect(read(body, 429)).toMatchObject({ message: 'daily request count exceeded', status: 429 });
  });

  it('has a message of at most 64 kB', () => {
    const response = read({ id: ID, error: { code: 1, message: 'x'.repeat(1_000_000) } });
    expect(response).toMatchObject({ message: 'x'.repeat(65_536) });
  });
});

describe('a body that is not JSON-RPC is classified by its HTTP status', () => {
  it.each<[number, string, FailureClass]>([
    [429, '<html>429 Too Many Requests</html>', 'rate'],
    [200, 'Too Many Requests', 'rate'],
    [503, 'rate limit exceeded', 'rate'],
    [402, '', 'quota'],
    [401, '<html>', 'auth'],
    [403, 'Forbidden', 'auth'],
    [408, '', 'transport'],
    [413, '', 'too-large'],
    [500, '<html>', 'transport'],
    [502, '<html>', 'transport'],
    [404, '<html>', 'malformed'],
    [200, '<html>', 'malformed'],
  ])('%i %s: %s', (status, text, failure) => {
    expect(failureOf(text, status).failure).toBe(failure);
  });
});

describe('Retry-After', () => {
  it.each([
    ['7', 7_000],
    ['0', undefined],
    ['soon', undefined],
    ['NaN', undefined],
    ['-5', undefined],
    ['Wed, 21 Oct 2015 07:28:00 GMT', undefined],
  ])('of %s is %s ms', (header, ms) => {
    expect(failureOf('', 429, header).retryAfterMs).toBe(ms);
    expect(read({ error }, 429, header)).toMatchObject({ retryAfterMs: ms });
  });

  it('may be a date', () => {
    const inAMinute = new Date(Date.now() + 60_000).toUTCString();
    expect(failureOf('', 503, inAMinute).retryAfterMs).toBeGreaterThan(50_000);
  });
});
