import fc from 'fast-check';
import { decodeErrorResult, encodeErrorResult, parseAbi, type Hex } from 'viem';
import { describe, expect, it } from 'vitest';
import { encodeReason, decodeReason } from '../../gateway/normalise/errors/revert-payload.ts';
import { isBytes } from '../../gateway/collections/is-bytes.ts';
import { propertyRuns } from '../support/property-runs.ts';

const abi = parseAbi(['error Error(string)', 'error Panic(uint256)', 'error Custom(string, uint256)']);
const encodeError = (reason: string): Hex => encodeErrorResult({ abi, errorName: 'Error', args: [reason] });
const encodePanic = (code: bigint): Hex => encodeErrorResult({ abi, errorName: 'Panic', args: [code] });

/** go-ethereum accounts/abi/abi.go */
const panics = new Map([
  [0x00n, 'generic panic'],
  [0x01n, 'assert(false)'],
  [0x11n, 'arithmetic underflow or overflow'],
  [0x12n, 'division or modulo by zero'],
  [0x21n, 'enum overflow'],
  [0x22n, 'invalid encoded storage byte array accessed'],
  [0x31n, 'out-of-bounds array access; popping on an empty array'],
  [0x32n, 'out-of-bounds access of an array or bytesN'],
  [0x41n, 'out of memory'],
  [0x51n, 'uninitialized function'],
]);

/** Any text, half surrogate pairs included. */
const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
);
const bytes = fc.uint8Array({ maxLength: 200 }).map((array) => hex(array));
const words = fc.array(
  fc.oneof(
    fc.constantFrom(0n, 1n, 3n, 32n, 33n, 64n, 96n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 53n, 2n ** 63n, 2n ** 256n - 1n),
    fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
  ),
  { maxLength: 6 },
);
/** Malicious payloads: random bytes, with or without a known selector. */
const malicious = fc.oneof(
  bytes.map((tail) => `0x${tail}`),
  fc
    .tuple(fc.constantFrom('08c379a0', '08C379A0', '4e487b71'), words, bytes)
    .map(([selector, list, tail]) => `0x${selector}${list.map(word).join('')}${tail}`),
);
/** A valid payload with changed, missing and additional bytes. */
const damaged = fc
  .record({
    payload: fc.oneof(anyText.map(encodeError), fc.bigInt({ min: 0n, max: 300n }).map(encodePanic)),
    changes: fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { maxLength: 3 }),
    cut: fc.integer({ min: 0, max: 70 }),
    junk: bytes,
  })
  .map(({ payload, changes, cut, junk }) => {
    const whole = Buffer.from(payload.slice(2), 'hex');
    for (const [at, byte] of changes) whole[4 + (at % (whole.length - 4))] = byte;
    return `0x${hex(whole.subarray(0, whole.length - cut))}${junk}`;
  });

describe('the reason in a revert’s payload', () => {
  it('is the text of Error(string), for any text', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(decodeReason(encodeError(text))).toBe(wellFormed(text));
      }),
      { numRuns: propertyRuns(300) },
    );
  });

  it('is the empty text for Error("")', () => {
    expect(decodeReason(encodeError(''))).toBe('');
  });

  it.each([...panics])('is geth’s for Panic(%i): %s', (code, reason) => {
    expect(decodeReason(encodePanic(code))).toBe(reason);
  });

  it('names the code of any other panic', () => {
    const code = fc.oneof(fc.bigInt({ min: 0n, max: 0x60n }), fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }));
    fc.assert(
      fc.property(code, (given) => {
        expect(decodeReason(encodePanic(given))).toBe(
          panics.get(given) ?? `unknown panic code: 0x${given.toString(16)}`,
        );
      }),
    );
  });

  it('is the one that viem decodes, if viem decodes one', () => {
    let decoded = 0;
    const numRuns = propertyRuns(2_000);
    fc.assert(
      fc.property(fc.oneof(damaged, malicious), (payload) => {
        const expected = decodedByViem(payload);
        if (expected === undefined) return;
        decoded++;
        expect(decodeReason(payload)).toBe(expected);
      }),
      { numRuns },
    );
    expect(decoded).toBeGreaterThan(numRuns / 20);
  });

  it.each([
    ['with a tail that is not padded', `0x08c379a0${word(32n)}${word(3n)}616263`, 'abc'],
    ['with additional bytes', `0x08c379a0${word(32n)}${word(3n)}${'616263'.padEnd(64, '0')}deadbeef`, 'abc'],
    ['with dirty padding', `0x08c379a0${word(32n)}${word(3n)}${'616263'.padEnd(64, 'f')}`, 'abc'],
    ['at another offset', `0x08c379a0${word(64n)}${word(0n)}${word(3n)}616263`, 'abc'],
    ['with a selector in upper case', `0x08C379A0${word(32n)}${word(3n)}616263`, 'abc'],
    ['of bytes that are not UTF-8', `0x08c379a0${word(32n)}${word(4n)}61fffe62`, 'a\ufffd\ufffdb'],
    ['of a panic with additional bytes', `0x4e487b71${word(0x11n)}dead`, 'arithmetic underflow or overflow'],
  ])('is read %s', (_, payload, reason) => {
    expect(decodeReason(payload)).toBe(reason);
  });

  it.each([
    ['no bytes', '0x'],
    ['less than a selector', '0x08c379'],
    ['only the selector of Error', '0x08c379a0'],
    ['only the selector of Panic', '0x4e487b71'],
    ['half a panic code', `0x4e487b71${'00'.repeat(16)}`],
    ['a custom error', encodeErrorResult({ abi, errorName: 'Custom', args: ['abc', 1n] })],
    ['raw text', '0x77726f6e672d63616c6c6461746173697a65'],
    ['an offset of 2^256-1', `0x08c379a0${'f'.repeat(64)}${word(3n)}616263`],
    ['an offset after the end', `0x08c379a0${word(65n)}${word(3n)}616263`],
    ['a length of 2^256-1', `0x08c379a0${word(32n)}${'f'.repeat(64)}`],
    ['a length that is one too large', `0x08c379a0${word(32n)}${word(4n)}616263`],
    ['a length above 2^32 whose low bytes would fit', `0x08c379a0${word(32n)}${word(2n ** 32n + 3n)}616263`],
  ])('is undefined for %s', (_, payload) => {
    expect(decodeReason(payload)).toBeUndefined();
  });
});

describe('a malicious payload', () => {
  it('never throws, and decodes to no more text than it has bytes', () => {
    fc.assert(
      fc.property(fc.oneof(malicious, damaged), (payload) => {
        const reason = decodeReason(payload);
        if (!payload.toLowerCase().startsWith('0x4e487b71')) {
          expect(reason?.length ?? 0).toBeLessThanOrEqual(payload.length / 2);
        }
      }),
      { numRuns: propertyRuns(2_000) },
    );
  });

  it('allocates nothing by the length that it claims', () => {
    const before = process.memoryUsage().arrayBuffers;
    for (const claimed of [2n ** 30n, 2n ** 31n - 1n, 2n ** 32n - 1n, 2n ** 53n, 2n ** 256n - 1n]) {
      for (let times = 0; times < 100; times++) decodeReason(`0x08c379a0${word(32n)}${word(claimed)}616263`);
    }
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(5_000_000);
  });

  it('of tens of megabytes is read', () => {
    const payload = `0x08c379a0${word(32n)}${word(15_000_000n)}${'61'.repeat(15_000_000)}`;
    expect(isBytes(payload)).toBe(true);
    expect(decodeReason(payload)).toHaveLength(15_000_000);
  });
});

describe('a payload encoded from a reason', () => {
  it('is the one that viem encodes, and decodes to the reason', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const payload = encodeReason(text);
        expect(payload).toBe(encodeError(text));
        expect(decodeReason(payload)).toBe(wellFormed(text));
      }),
    );
  });

  it('is empty when there is no reason', () => {
    expect(encodeReason(undefined)).toBe('0x');
  });
});

it.each(['', '0x0', '0x123', '0xzz', '0X12', ' 0x12', '0x12 ', '0x12\n', 'Reverted 0x12', 5, null, undefined, {}, []])(
  'a payload is whole bytes in hexadecimal, which %j is not',
  (data) => {
    expect(isBytes(data)).toBe(false);
  },
);

function decodedByViem(payload: string): string | undefined {
  try {
    const { errorName, args } = decodeErrorResult({ abi, data: payload.toLowerCase() as Hex });
    if (errorName === 'Panic') return panics.get(args[0]) ?? `unknown panic code: 0x${args[0].toString(16)}`;
    if (errorName !== 'Error') return undefined;
    // viem's TextDecoder takes a byte order mark away; geth and the gateway keep it.
    return /^0x.{136}efbbbf/i.test(payload) || args[0].includes('\ufeff') ? undefined : args[0];
  } catch {
    return undefined;
  }
}

/** The text after UTF-8 encoding: half surrogate pairs become U+FFFD. */
function wellFormed(text: string): string {
  return Buffer.from(text, 'utf8').toString('utf8');
}

function word(value: bigint): string {
  return value.toString(16).padStart(64, '0');
}

function hex(array: Uint8Array): string {
  return Buffer.from(array).toString('hex');
}
