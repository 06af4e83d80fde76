/** Selectors of Solidity's own errors, Error(string) and Panic(uint256). */
const ERROR = '08c379a0';
const PANIC = '4e487b71';

/** go-ethereum accounts/abi/abi.go, panicReasons. */
const panicReasons: Readonly<Record<string, string>> = {
  '0': 'generic panic',
  '1': 'assert(false)',
  '11': 'arithmetic underflow or overflow',
  '12': 'division or modulo by zero',
  '21': 'enum overflow',
  '22': 'invalid encoded storage byte array accessed',
  '31': 'out-of-bounds array access; popping on an empty array',
  '32': 'out-of-bounds access of an array or bytesN',
  '41': 'out of memory',
  '51': 'uninitialized function',
};

const WORD_BYTES = 32;

/** Minimum size of a custom error: its selector. */
const SELECTOR_BYTES = 4;

export function hasSelector(payload: string): boolean {
  return payload.length >= 2 + 2 * SELECTOR_BYTES;
}

/** Whether the payload has the selector of an error that is not Solidity's own. */
export function isCustomError(payload: string): boolean {
  return hasSelector(payload) && ![ERROR, PANIC].includes(selectorOf(payload));
}

/**
 * Decodes the reason in a revert's payload, with geth's texts for panics. Undefined for custom errors and raw bytes.
 * A strict ABI decoder would reject payloads of real contracts: with a tail without padding, or with bytes after it.
 * @param payload whole bytes in hexadecimal with 0x; may be malicious
 */
export function decodeReason(payload: string): string | undefined {
  const selector = selectorOf(payload);
  if (selector === PANIC) return panicReason(payload.slice(10, 10 + 2 * WORD_BYTES).toLowerCase());
  if (selector !== ERROR) return undefined;
  const bytes = Buffer.from(payload.slice(10), 'hex');
  const offset = readLength(bytes, 0);
  if (offset === undefined) return undefined;
  const length = readLength(bytes, offset);
  if (length === undefined || offset + WORD_BYTES + length > bytes.length) return undefined;
  return bytes.toString('utf8', offset + WORD_BYTES, offset + WORD_BYTES + length);
}

/** The payload of Error(string) for a reason; `0x` for none. */
export function encodeReason(reason: string | undefined): string {
  if (reason === undefined) return '0x';
  const bytes = Buffer.from(reason, 'utf8');
  const tail = bytes.toString('hex').padEnd(Math.ceil(bytes.length / WORD_BYTES) * WORD_BYTES * 2, '0');
  return `0x${ERROR}${word(WORD_BYTES)}${word(bytes.length)}${tail}`;
}

/** The payload of Panic(uint256). @param digits up to 64 hexadecimal digits */
export function encodePanic(digits: string): string {
  return `0x${PANIC}${digits.padStart(2 * WORD_BYTES, '0')}`;
}

function selectorOf(payload: string): string {
  return payload.slice(2, 2 + 2 * SELECTOR_BYTES).toLowerCase();
}

function panicReason(code: string): string | undefined {
  if (code.length < 2 * WORD_BYTES) return undefined;
  const digits = code.replace(/^0+(?=.)/, '');
  return panicReasons[digits] ?? `unknown panic code: 0x${digits}`;
}

/** Reads a word that is an offset or a length; undefined if it exceeds the bytes. */
function readLength(bytes: Buffer, at: number): number | undefined {
  if (at + WORD_BYTES > bytes.length) return undefined;
  for (let index = at; index < at + WORD_BYTES - 4; index++) if (bytes[index] !== 0) return undefined;
  const value = bytes.readUInt32BE(at + WORD_BYTES - 4);
  return value <= bytes.length ? value : undefined;
}

function word(value: number): string {
  return value.toString(16).padStart(2 * WORD_BYTES, '0');
}
