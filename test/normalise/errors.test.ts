import { describe, expect, it } from 'vitest';
import { normalise } from '../../gateway/normalise/normalise.ts';
import { finalResult, failed, finalError, ofError, specOf } from './normalised.ts';

const lookups = [
  'eth_getBlockByHash',
  'eth_getUncleByBlockHashAndIndex',
  'eth_getTransactionReceipt',
  'eth_getTransactionByHash',
];
const others = ['eth_getStorageAt', 'eth_estimateGas', 'zks_estimateFee'];

describe('a resource that was not found', () => {
  it.each(lookups)('is null for %s', (method) => {
    expect(ofError(method, -32_001, 'Resource not found')).toEqual(finalResult(null));
  });

  it.each(others)('is an upstream failure for %s', (method) => {
    expect(ofError(method, -32_001, 'Resource not found')).toMatchObject(failed('no-block'));
  });

  it.each([
    [-32_001, 'Resource not found: the plan'],
    [-32_001, 'Exceeded the quota usage'],
    [-32_001, 'Requested data is not available'],
  ])('is not meant by %i %s', (code, message) => {
    expect(ofError('eth_getTransactionByHash', code, message)).toMatchObject({ final: false });
  });
});

describe('an error for an unknown block', () => {
  it.each([
    [-32_000, 'header not found'],
    [-32_000, 'header for hash not found'],
    [-32_000, 'block not found'],
    [-32_000, 'block not found: 0xffffffff'],
    [-32_000, 'unknown block'],
    [-39_001, 'Unknown block'],
    [-32_001, 'block not found: hash 0x00000000deadbeef'],
  ])('%i %s is an upstream failure', (code, message) => {
    for (const method of lookups) expect(ofError(method, code, message), method).toMatchObject(failed('not-found'));
    for (const method of others) expect(ofError(method, code, message), method).toMatchObject(failed('no-block'));
  });

  it.each([
    [-32_602, 'BlockOutOfRangeError: block height is 3 but requested was 16777215'],
    [-32_602, 'block range extends beyond current head block'],
    [-32_000, 'request beyond head block: requested 65535, head 0'],
  ])('%i %s is an upstream failure for lookups, too', (code, message) => {
    for (const method of [...lookups, ...others, 'eth_getLogs']) {
      expect(ofError(method, code, message), method).toMatchObject(failed('no-block'));
    }
  });
});

describe('missing data at a node is not a reason for null:', () => {
  it.each([
    [-32_000, 'missing trie node 5ac1 (path ) state 0x5ac1 is not available, not found'],
    [-32_000, 'transaction indexing is in progress'],
    [-32_000, 'header found, but block body is missing'],
    [-32_000, 'hash is not currently canonical'],
    [-32_000, 'pending block is not available'],
    [-32_000, 'historical state 5ac1 is not available'],
    [4_444, 'pruned history unavailable'],
    [-32_602, "Block with such an ID doesn't exist yet"],
    [-32_602, 'Block with such an ID is pruned; the first retained block is 100'],
    [6, 'Tree API is temporarily unavailable'],
  ])('%i %s', (code, message) => {
    for (const method of [...lookups, ...others]) {
      expect(ofError(method, code, message), method).toMatchObject(failed('node-state'));
    }
  });
});

describe('an error of an upstream gets its failure class:', () => {
  it.each([
    ['rate', 429, 'Too many requests'],
    ['rate', -32_005, 'project ID request rate exceeded'],
    ['quota', -32_005, 'daily request count exceeded'],
    ['rate', -32_007, '15/second request limit reached'],
    ['rate', -32_009, 'Server is shutting down'],
    ['rate', -32_016, 'over rate limit'],
    ['rate', -32_002, 'request timed out'],
    ['quota', 402, 'Payment required'],
    ['quota', -32_600, 'Monthly capacity limit exceeded. Visit https://dashboard.alchemy.com/…'],
    ['auth', -32_600, 'Must be authenticated!'],
    ['auth', -32_002, 'invalid project id'],
    ['transport', 503, 'Service unavailable'],
    ['too-large', -32_003, 'response too large'],
    ['too-large', -32_602, 'Query returned more than 10000 results. Try with this block range [0x1, 0x3e8].'],
    ['unsupported', -32_601, 'the method eth_getStorageAt does not exist/is not available'],
    ['unsupported', -32_004, 'Method eth_getStorageAt not supported'],
    ['unknown', -32_099, 'something new'],
    ['unknown', -32_000, ''],
    ['unknown', -32_003, 'transaction rejected'],
  ] as const)('%s: %i %s', (failure, code, message) => {
    expect(ofError('eth_getStorageAt', code, message)).toMatchObject(failed(failure));
  });
});

describe('rules are anchored: a message that only contains a known text is unknown', () => {
  it.each([
    'the oracle says: header not found',
    'no more: out of gas',
    'a missing trie node',
    'my insufficient funds',
    'it is a nonce too low',
    'why invalid opcode: INVALID',
  ])('%s', (message) => {
    expect(ofError('eth_estimateGas', -32_000, message)).toMatchObject(failed('unknown'));
  });
});

describe('the data of an error', () => {
  it.each(['0xab', '0xABCD'])('is passed on if it is hexadecimal: %s', (data) => {
    expect(ofError('eth_estimateGas', -32_000, 'out of gas', data)).toEqual(finalError(-32_000, 'out of gas', data));
  });

  it.each(['', '0x', 'ab', '0xabc', {}, { data: '0xab' }, ['0xab'], null, 5, true])(
    'is removed if it is not hexadecimal, or is empty: %j',
    (data) => {
      expect(ofError('eth_estimateGas', -32_000, 'out of gas', data)).toEqual(finalError(-32_000, 'out of gas'));
    },
  );
});

it('a positive code, which JSON-RPC does not define, becomes -32000', () => {
  expect(ofError('eth_getStorageAt', 11, 'no')).toMatchObject({ response: { code: -32_000, message: 'no' } });
});

describe('a rate limit with a waiting time sets retryAfterMs', () => {
  it.each([
    [{ rate: { allowed_rps: 50, backoff_seconds: 30 } }, 'request rate exceeded', 30_000],
    [{ rate: { backoff_seconds: 0 } }, 'request rate exceeded', undefined],
    [{ rate: { backoff_seconds: { toString: 1 } } }, 'request rate exceeded', undefined],
    [{ try_again_in: '1s' }, 'request rate exceeded', 1_000],
    [{ try_again_in: '250ms' }, 'request rate exceeded', 250],
    [{ try_again_in: 'later' }, 'request rate exceeded', undefined],
    [undefined, 'Too many requests, reason: call rate limit exhausted, retry in 10s', 10_000],
    [undefined, 'Too many requests; try again in 2 minutes', 30_000],
    [undefined, 'Too many requests', undefined],
  ])('%j %s: %s ms', (data, message, ms) => {
    const { retryAfterMs } = ofError('eth_getStorageAt', -32_005, message, data) as { retryAfterMs?: number };
    expect(retryAfterMs).toBe(ms);
  });

  it('but Retry-After takes precedence', () => {
    const error = {
      kind: 'error',
      code: -32_005,
      message: 'retry in 10s',
      data: undefined,
      retryAfterMs: 3_000,
    } as const;
    expect(normalise(specOf('eth_getStorageAt'), [], error)).toMatchObject({ failure: 'rate', retryAfterMs: 3_000 });
  });
});

describe('an error with an unknown text is classified by its HTTP status', () => {
  it.each([
    [429, 'rate'],
    [402, 'quota'],
    [401, 'auth'],
    [403, 'auth'],
    [413, 'too-large'],
    [503, 'transport'],
    [400, 'unknown'],
    [409, 'unknown'],
    [500, 'unknown'],
    [200, 'unknown'],
  ] as const)('%i: %s', (status, failure) => {
    const error = { kind: 'error', code: -32_000, message: 'something new', data: undefined, status } as const;
    for (const method of [...lookups, ...others]) {
      expect(normalise(specOf(method), [], error)).toMatchObject(failed(failure));
    }
  });

  it('but a known text takes precedence over the HTTP status', () => {
    const error = { kind: 'error', code: 3, message: 'execution reverted', data: '0xab' } as const;
    for (const status of [400, 401, 429, 503]) {
      expect(normalise(specOf('eth_estimateGas'), [], { ...error, status })).toMatchObject({ response: { code: 3 } });
    }
  });
});

describe('an error inside another', () => {
  it('is used if the outer one has no meaningful message', () => {
    const inner = { code: 3, message: 'insufficient funds for transfer', data: '0x' };
    expect(ofError('eth_estimateGas', -32_603, 'Internal JSON-RPC error.', inner)).toEqual(
      finalError(-32_000, 'insufficient funds for transfer'),
    );
  });

  it('is not used if the outer one has a meaningful message', () => {
    const inner = { hash: null, programCounter: 711, result: '0x', message: 'invalid opcode' };
    const message = 'VM Exception while processing transaction: invalid opcode';
    expect(ofError('eth_estimateGas', -32_000, message, inner)).toEqual(finalError(-32_000, message));
  });

  it('can be nested very deeply', () => {
    let data: unknown = 'no';
    for (let depth = 0; depth < 10_000; depth++) data = { code: -32_000, message: `Internal error: ${depth}`, data };
    expect(ofError('eth_estimateGas', -32_000, 'Internal error: '.repeat(4_000), data)).toMatchObject({ final: false });
  });
});

describe('a message', () => {
  it('is truncated to 4 kB', () => {
    const { response } = ofError('eth_estimateGas', -32_000, `out of gas: ${'💥'.repeat(10_000)}`) as {
      response: { message: string };
    };
    expect(response.message.length).toBeLessThanOrEqual(4_097);
    expect(response.message).toMatch(/💥…$/u);
  });
});
