/** Selectors of the two errors that Solidity itself raises: Error(string), Panic(uint256). */
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

const WORD = 32;

/** Whole bytes as 0x-hex. The group must not capture: a capturing one overflows the stack on megabytes of data. */
export function isPayload(data: unknown): data is string {
  return typeof data === 'string' && /^0x(?:[0-9a-fA-F]{2})*$/.test(data);
}

/**
 * The reason in a revert's payload, in geth's words; undefined where there is none (custom errors, raw bytes).
 * Written by hand because strict ABI decoders refuse what real contracts return: a tail without padding, junk behind it.
 * @param payload 0x-hex of whole bytes; may be hostile
 */
export function reasonOf(payload: string): string | undefined {
  const selector = payload.slice(2, 10).toLowerCase();
  if (selector === PANIC) return panicReason(payload.slice(10, 10 + 2 * WORD).toLowerCase());
  if (selector !== ERROR) return undefined;
  const bytes = Buffer.from(payload.slice(10), 'hex');
  const offset = readLength(bytes, 0);
  if (offset === undefined) return undefined;
  const length = readLength(bytes, offset);
  if (length === undefined || offset + WORD + length > bytes.length) return undefined;
  return bytes.toString('utf8', offset + WORD, offset + WORD + length);
}

/** The payload of Error(string) for a reason; `0x` for none. */
export function encodeReason(reason: string | undefined): string {
  if (reason === undefined) return '0x';
  const bytes = Buffer.from(reason, 'utf8');
  const tail = bytes.toString('hex').padEnd(Math.ceil(bytes.length / WORD) * WORD * 2, '0');
  return `0x${ERROR}${word(WORD)}${word(bytes.length)}${tail}`;
}

/** The payload of Panic(uint256). @param digits up to 64 hexadecimal ones */
export function encodePanic(digits: string): string {
  return `0x${PANIC}${digits.padStart(2 * WORD, '0')}`;
}

function panicReason(code: string): string | undefined {
  if (code.length < 2 * WORD) return undefined;
  const digits = code.replace(/^0+(?=.)/, '');
  return panicReasons[digits] ?? `unknown panic code: 0x${digits}`;
}

/** A word that says where or how long something is; undefined when it is not inside the bytes. */
function readLength(bytes: Buffer, at: number): number | undefined {
  if (at + WORD > bytes.length) return undefined;
  for (let index = at; index < at + WORD - 4; index++) if (bytes[index] !== 0) return undefined;
  const value = bytes.readUInt32BE(at + WORD - 4);
  return value <= bytes.length ? value : undefined;
}

function word(value: number): string {
  return value.toString(16).padStart(2 * WORD, '0');
}
