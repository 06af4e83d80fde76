import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeReason, decodeReason } from '../../gateway/normalise/errors/revert-payload.ts';
import type { FailureClass } from '../../gateway/upstreams/transport/upstream-response.ts';
import { ofError } from './normalised.ts';
import { propertyRuns } from '../support/property-runs.ts';

/** Errors of node software with random variable parts. Rules that only match recorded texts fail here. */
const SEED = 4;

interface NodeError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** Reasons of contracts, many of which look like errors of nodes. */
const reason = fc.oneof(
  fc.constantFrom(
    'rate limit exceeded',
    'header not found',
    'missing trie node 5ac1',
    'out of gas',
    'insufficient funds for gas * price + value',
    'nonce too low',
    'Resource not found',
    'the method foo does not exist/is not available',
    'Monthly capacity limit exceeded',
    "it's reason string 'x'",
    'Reverted 0x08c379a0',
    '{"error":{"code":-32005,"message":"rate limit"}}',
    'failed to validate the transaction. reason: Validation revert',
    '429 Too Many Requests: {}',
    'execution reverted: again',
    'gateway timeout',
  ),
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc.lorem({ maxCount: 8 }),
);
const payload = fc.oneof(
  reason.map(encodeReason),
  fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }).map((code) => `0x4e487b71${code.toString(16).padStart(64, '0')}`),
  fc.uint8Array({ minLength: 4, maxLength: 100 }).map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`),
);
const number = fc.integer({ min: 1, max: 2_000_000_000 });
const word = fc.stringMatching(/^[a-z]{3,9}$/);
const hash = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('hex'));

/** Nests an error in another one, like proxies, wallets and gRPC. */
const wrap = fc.constantFrom<((error: NodeError) => NodeError)[]>(
  (error) => error,
  (error) => ({ ...error, message: `rpc error: code = Unknown desc = ${error.message}` }),
  (error) => ({ ...error, message: `rpc error: code = InvalidArgument desc = ${error.message}: invalid request` }),
  (error) => ({ ...error, message: `Internal error: ${error.message}` }),
  (error) => ({ ...error, message: `historical backend error: ${error.message}` }),
  (error) => ({ ...error, message: `err: ${error.message} (supplied gas 5005617)` }),
  (error) => ({ ...error, message: `[Request ID: 4f43afe1-de8b-4db7-b58d-ad733858c7af] ${error.message}` }),
  (error) => ({ code: -32_603, message: 'Internal JSON-RPC error.', data: error }),
  (error) => ({ code: -32_603, message: 'Internal error', data: { originalError: error } }),
  (error) => ({ code: -32_000, message: `502 Bad Gateway: ${JSON.stringify({ error })}` }),
  (error) => ({ code: -32_603, message: 'Internal error', data: { code: 0, message: 'Server error', data: error } }),
);

function check<T>(arbitrary: fc.Arbitrary<T>, verify: (value: T) => void): void {
  fc.assert(fc.property(arbitrary, verify), { seed: SEED, numRuns: propertyRuns(300) });
}

const method = fc.constantFrom('eth_estimateGas', 'zks_estimateFee');

describe('a revert with a payload', () => {
  const families: Readonly<Record<string, (payload: string, text: string, n: number) => NodeError>> = {
    geth: (data, text) => ({ code: 3, message: `execution reverted: ${text}`, data }),
    'geth, without a reason': (data) => ({ code: -32_000, message: 'execution reverted', data }),
    besu: (data) => ({ code: 3, message: 'Execution reverted (ABI decode error)', data }),
    'hardhat 3': (data, text) => ({
      code: 3,
      message: `VM Exception while processing transaction: reverted with reason string '${text}'`,
      data,
    }),
    'hardhat 2': (data, text) => ({
      code: -32_603,
      message: `Error: VM Exception while processing transaction: reverted with custom error '${text}'`,
      data: { message: 'as above', data, txHash: `0x${'1'.repeat(64)}` },
    }),
    'ganache 7': (data, text, n) => ({
      code: -32_000,
      message: `VM Exception while processing transaction: revert ${text}`,
      data: { hash: null, programCounter: n, result: data, reason: text, message: 'revert' },
    }),
    'ganache-cli 6': (data, text, n) => ({
      code: -32_000,
      message: `VM Exception while processing transaction: revert ${text}`,
      data: {
        [`0x${'ab'.repeat(32)}`]: { error: 'revert', program_counter: n, return: data, reason: text },
        name: 'c',
      },
    }),
    parity: (data) => ({ code: -32_015, message: 'VM execution error.', data: `Reverted ${data}` }),
    ethereumjs: (data) => ({ code: 3, message: 'revert', data }),
    lotus: (data, text, n) => ({
      code: 11,
      message: `message execution failed (exit=[33], revert reason=[Error(${text})], vm error=[contract reverted at ${n} (33)])`,
      data,
    }),
    rskj: (data) => ({
      code: -32_015,
      message: 'VM Exception while processing transaction: transaction reverted',
      data,
    }),
  };

  it.each(Object.entries(families))('%s', (_, makeError) => {
    check(fc.tuple(method, payload, reason, number, wrap), ([name, bytes, text, n, around]) => {
      const { code, message, data } = around(makeError(bytes, text, n));
      const words = decodeReason(bytes);
      // The node may have decoded a custom error.
      const isName = /^[a-z_$][\w$]*(?:\([^]*\))?$/i.test(text);
      const outcome = ofError(name, code, message, data);
      expect(outcome).toMatchObject({ final: true, response: { code: 3, data: bytes } });
      const { response } = outcome as { response: { message: string } };
      const plain = words === undefined ? 'execution reverted' : `execution reverted: ${words}`;
      const decoded = words === undefined && isName ? [`execution reverted: ${text}`] : [];
      expect([plain, ...decoded]).toContain(response.message);
    });
  });

  it('is found by its payload for unknown node software', () => {
    check(fc.tuple(method, reason.map(encodeReason), word, number), ([name, bytes, text, n]) => {
      const outcome = ofError(name, -32_000 - (n % 100), `${text} ${n}: the contract would not`, bytes);
      expect(outcome).toMatchObject({ final: true, response: { code: 3, data: bytes } });
    });
  });
});

describe('a revert with a reason only', () => {
  const families: Readonly<Record<string, (text: string) => NodeError>> = {
    'zkevm-node': (text) => ({ code: -32_000, message: `execution reverted: ${text}` }),
    'geth 1.9.14': (text) => ({ code: -32_000, message: `always failing transaction (execution reverted) (${text})` }),
    'ganache-cli 6': (text) => ({
      code: -32_000,
      message: `VM Exception while processing transaction: revert ${text}`,
      data: { stack: `c: VM Exception while processing transaction: revert ${text}\n    at c.fromResults`, name: 'c' },
    }),
    IoTeX: (text) => ({ code: 3, message: `execution simulation is reverted due to the reason: ${text}`, data: null }),
    'java-tron': (text) => ({ code: -32_000, message: `REVERT opcode executed: ${text}`, data: {} }),
  };

  it.each(Object.entries(families))('%s', (_, makeError) => {
    check(fc.tuple(method, reason, wrap), ([name, text, around]) => {
      fc.pre(text !== '' && !/^0x|: invalid request$|supplied gas/.test(text));
      const { code, message, data } = around(makeError(text));
      const expected = { code: 3, message: `execution reverted: ${text}`, data: encodeReason(text) };
      expect(ofError(name, code, message, data)).toMatchObject({
        final: true,
        response: expected,
        followUp: { method: 'eth_call' },
      });
    });
  });
});

describe('a final error that is not a revert keeps its message and never has code 3', () => {
  const families: Readonly<Record<string, (text: string, n: number) => string>> = {
    'out of gas': (_, n) => `Out of gas: gas required exceeds allowance: ${n}`,
    allowance: (_, n) => `gas required exceeds allowance (${n})`,
    opcode: (text) => `invalid opcode: ${text}`,
    halt: () => 'EVM error InvalidFEOpcode',
    frontier: () => 'evm error: DesignatedInvalid',
    stack: (_, n) => `stack underflow (0 <=> ${n % 1024})`,
    'ganache jump': (text, n) => `VM Exception while processing transaction: invalid JUMP at ${text}/${n}:2`,
    funds: (_, n) => `insufficient funds for gas * price + value: address 0x${'a'.repeat(40)} have 0 want ${n}`,
    'funds, capital': () => 'Insufficient funds for gas * price + value',
    intrinsic: (_, n) => `intrinsic gas too low: have ${n}, want ${n + 1}`,
    besu: (text) => `Transaction processing could not be completed due to an exception (Invalid opcode: ${text})`,
    hardhat: (_, n) => `Transaction requires at least ${n} gas but got 20999`,
    nonce: (_, n) => `nonce too low. allowed nonce range: ${n} - ${n + 50}, actual: 2`,
    zksync: (text) => `failed to validate the transaction. reason: Validation revert: ${text}`,
    lotus: (_, n) => `message execution failed (exit=[${34 + (n % 6)}], revert reason=[none], vm error=[x])`,
  };

  it.each(Object.entries(families))('%s', (_, makeError) => {
    const code = fc.constantFrom(3, -32_000, -32_003, -32_603, 2);
    check(fc.tuple(method, word, number, wrap, code), ([name, text, n, around, given]) => {
      const words = makeError(text, n);
      const error = around({ code: given, message: words, data: '0x' });
      const { final, response } = ofError(name, error.code, error.message, error.data);
      expect(final, error.message).toBe(true);
      expect(response).toMatchObject({ kind: 'error', message: expect.stringContaining(words) as string });
      expect(response).not.toMatchObject({ code: 3 });
    });
  });
});

describe('a failure class is found by the fixed parts of a message', () => {
  const families: readonly (readonly [FailureClass, string, (text: string, n: number, hex: string) => NodeError])[] = [
    ['node-state', 'trie', (_, n, hex) => ({ code: -32_000, message: `missing trie node ${hex} (path ${n}) <nil>` })],
    [
      'no-block',
      'anvil',
      (_, n) => ({ code: -32_602, message: `BlockOutOfRangeError: block height is 4 but requested was ${n}` }),
    ],
    ['node-state', 'nethermind', (_, n) => ({ code: -32_000, message: `${n} could not be found` })],
    ['node-state', 'no state', (_, __, hex) => ({ code: -32_002, message: `No state available for block 0x${hex}` })],
    [
      'node-state',
      'zksync',
      (_, n) => ({ code: -32_602, message: `Block with such an ID is pruned; the first retained block is ${n}` }),
    ],
    [
      'no-block',
      'hardhat',
      (_, n) => ({ code: -32_000, message: `Received invalid block tag ${n}. Latest block number is 3` }),
    ],
    [
      'rate',
      'per second',
      (_, n) => ({ code: -32_007, message: `${n}/second request limit reached - reduce calls per second` }),
    ],
    [
      'rate',
      'too many',
      (text, n) => ({ code: -32_000, message: `Too many requests, reason: ${text}, retry in ${n % 60}s` }),
    ],
    ['rate', 'proxyd', (text) => ({ code: -32_016, message: `over rate limit for ${text}` })],
    [
      'quota',
      'monthly',
      (text) => ({ code: -32_600, message: `Monthly capacity limit exceeded. Visit https://${text}.example` }),
    ],
    ['too-large', 'infura', (_, n) => ({ code: -32_602, message: `range ${n} exceeds limit of 10000` })],
    [
      'too-large',
      'alchemy',
      (_, n) => ({ code: -32_600, message: `You can make eth_getLogs requests with up to a ${n} block range.` }),
    ],
    ['unsupported', 'IoTeX', (text) => ({ code: -32_603, message: `method: eth_${text}\n: web3 method not found` })],
    [
      'unsupported',
      'ganache',
      (text) => ({ code: -32_700, message: `The method eth_${text} does not exist/is not available` }),
    ],
    ['auth', 'unauthorized', (text) => ({ code: -32_000, message: `Unauthorized: ${text}` })],
  ];
  const nameOf = fc.constantFrom('eth_estimateGas', 'eth_getStorageAt', 'zks_estimateFee');

  it.each(families)('%s: %s', (failure, _, makeError) => {
    check(fc.tuple(nameOf, word, number, hash, wrap), ([name, text, n, hex, around]) => {
      const { code, message, data } = around(makeError(text, n, hex));
      expect(ofError(name, code, message, data), message).toMatchObject({ final: false, failure });
    });
  });
});
