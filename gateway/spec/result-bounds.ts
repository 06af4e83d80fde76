import type { NestingLimits } from '../json/nesting.ts';
import { methods } from './methods.generated.ts';

/*
 * Bounds of upstream responses, in bytes and in values (members and elements at all depths). They are looked at before
 * anything is parsed: JSON.parse of 30 MB of `{},` takes 5 s and 1 GB. Each is four times the largest value, or a quarter of the smallest
 * one, in the execution-apis suite and in test/recorded.
 */

/** A trace of 1,024 nested calls has 2,050 levels. JSON.stringify overflows the stack at 4,500 (Node 20). */
export const MAX_DEPTH = 3_000;

/** Transactions have 26 bytes for each value, logs and receipts more. */
const MIN_BYTES_PER_VALUE = 6;
/** Of what is parsed at once: a block of 2,000 transactions has 60,000 values. They take 100 ms and 25 MB at most. */
const MAX_VALUES = 250_000;
/** Small objects may be as they like. */
const FEW_VALUES = 1_000;

/** Of objects with a schema. */
export function objectLimits(bytes: number): NestingLimits {
  return { depth: MAX_DEPTH, values: Math.min(MAX_VALUES, FEW_VALUES + bytes / MIN_BYTES_PER_VALUE) };
}

/** Of any result that is parsed as a whole, such as those that are compared. A list of logs has 33 bytes for each value. */
export function resultLimits(bytes: number): NestingLimits {
  return { depth: MAX_DEPTH, values: MAX_VALUES / 5 + bytes / 32 };
}

/** Of an object with a schema. Blocks have up to 31. */
export const MAX_MEMBERS = 128;

/** Of a response without its result, and of a small response. Errors have up to 11 values; 8 kB of `0,` have so many. */
export const errorLimits: NestingLimits = { depth: MAX_DEPTH, values: 4_096 };

/** Of an envelope whose members are found without parsing them: this takes 50 ms. */
export const MAX_ENVELOPE_VALUES = 1_000_000;

/** The completed objects of nodes have half as many bytes more. */
export const MAX_GROWTH = 4;

/** An error without a payload has up to 6,223 bytes; messages are read up to 64 kB. */
const MAX_SHORT_RESPONSE_BYTES = 262_144;

/** Pattern of results that are bytes, of any length. */
export const BYTES = '^0x(?:[0-9a-fA-F]{2})*$';

/** Their results are short texts, numbers or booleans, and their errors have no payload of a contract. */
const shortMethods: ReadonlySet<string> = new Set(
  methods
    .filter(({ resultKinds = ['object'], resultPattern, reverts, executes, sends }) => {
      const isShort = !resultKinds.includes('object') && !resultKinds.includes('array') && resultPattern !== BYTES;
      return isShort && !reverts && executes !== true && sends !== true;
    })
    .map(({ name }) => name),
);

/** Maximum size of a response to a method; undefined: that of all responses. */
export function maxResponseBytes(method: string): number | undefined {
  return shortMethods.has(method) ? MAX_SHORT_RESPONSE_BYTES : undefined;
}
