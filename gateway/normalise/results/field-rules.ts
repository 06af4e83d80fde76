import { isPadded, isRounded, normaliseQuantity } from './quantity.ts';

/**
 * Requirements of the spec for the value of a field. Parsed values and bytes are checked by the same rule. The two lengths are
 * numbers and no function, so that the bytes of most texts are checked without decoding them.
 */
export interface FieldRule {
  /** Whether the object can keep the value. Undefined: it has no such field. */
  readonly fits: (value: unknown) => boolean;
  /** Texts with fewer characters may not fit. */
  readonly minChars: number;
  /** Nor may texts with at least so many characters, the third of which is 0. */
  readonly minZeroChars: number;
}

/** More than any text has. */
const NEVER = 2 ** 30;

/** A number must become hexadecimal, and leading zeros are removed. */
export const quantity: FieldRule = {
  fits: (value) =>
    typeof value === 'string' ? !isPadded(value) : normaliseQuantity(value) === value && !isRounded(value),
  minChars: 3,
  minZeroChars: 4,
};

/**
 * Empty addresses are "" (oasisprotocol/oasis-web3-gateway#53), "0x0" (ganache-cli 6,
 * ConsenSys-archive/ganache-cli-archive#579) and "0x". The zero address is not empty.
 */
export const address: FieldRule = {
  fits: (value) => value !== '' && value !== '0x' && value !== '0x0',
  minChars: 4,
  minZeroChars: NEVER,
};

/** The hash of a block. Nodes write none, an empty text or zeros, if there is no block yet. */
export const blockHash: FieldRule = {
  fits: (value) =>
    value !== null && value !== undefined && !(typeof value === 'string' && /^(?:|0x|0x0{64})$/.test(value)),
  minChars: 3,
  minZeroChars: 66,
};

/** The number of the block of a receipt. */
export const blockNumber: FieldRule = {
  ...quantity,
  fits: (value) => value !== null && value !== undefined && value !== '' && quantity.fits(value),
};

export const status: FieldRule = {
  fits: (value) => value === '0x0' || value === '0x1',
  minChars: NEVER,
  minZeroChars: NEVER,
};

/** A field that the object must not have. */
export const absent: FieldRule = {
  fits: (value) => value === undefined,
  minChars: NEVER,
  minZeroChars: NEVER,
};
