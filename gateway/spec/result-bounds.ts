import type { NestingLimits } from '../json/nesting.ts';
import { methods } from './methods.generated.ts';

/*
 * Bounds of upstream responses, in bytes and in values (members and elements at all depths). They are looked at before
 * anything is parsed: JSON.parse of 30 MB of `{},` takes 5 s and 1 GB. `Recorded` values are those in the execution-apis suite
 * and in test/recorded. The comment of each bound has its reason; an estimate is not measured on nodes.
 */

/** A trace of 1,024 nested calls has 2,050 levels. JSON.stringify overflows the stack at 4,500 (Node 20). */
export const MAX_DEPTH = 3_000;

/** A quarter of the smallest recorded number: transactions have 26 bytes for each value, logs and receipts more. */
const MIN_BYTES_PER_VALUE = 6;
/**
 * Maximum values that are parsed at once. Estimate: four times a block of 2,000 transactions, which has 60,000 values; recorded blocks are
 * smaller. So many take 20 to 30 ms and 7 to 17 MB, or 300 ms and 27 MB if each has another name (Node 20).
 */
export const MAX_VALUES = 250_000;
/**
 * Maximum values of an object that is parsed in steps, because it needs a change other than nulls at its end. Honest ones have 13 MB and
 * more: a block of 16,000 transactions, or a receipt of 50,000 logs. Traces are not parsed. If each value has another name,
 * 500,000 take 8 s of their owner's turns, and 100 MB of heap; 1,130,000 take 160 MB (Node 20, busy machine).
 */
export const MAX_PARSED_VALUES = 500_000;
/** Estimate: small objects may be as they like, because so many values take up to 2 ms. */
const FEW_VALUES = 1_000;

/**
 * Bytes for each further value of a large result. Logs without topics have 33, and transactions 26 to 32: a block of
 * 30 MB has 250,000 more at most.
 */
const FURTHER_BYTES_PER_VALUE = 32;

/** Recorded names have up to 66 characters. JSON.parse of one with 30 MB takes 130 ms, and each look at it more. */
const MAX_NAME_BYTES = 1_024;

/** Limits of objects with a schema. */
export function objectLimits(bytes: number): NestingLimits {
  const values = Math.min(FEW_VALUES + bytes / MIN_BYTES_PER_VALUE, MAX_VALUES + bytes / FURTHER_BYTES_PER_VALUE);
  return { depth: MAX_DEPTH, values, nameBytes: MAX_NAME_BYTES };
}

/**
 * Limits of any result that is parsed as a whole, such as those that are compared. Estimates, because results without a schema have
 * any form: 50,000 values of any size take 6 ms, or 50 ms with other names; a list of logs has 33 bytes for each further one.
 * Traces with more smaller values are passed on, but cannot be compared.
 */
export function resultLimits(bytes: number): NestingLimits {
  return { depth: MAX_DEPTH, values: MAX_VALUES / 5 + bytes / FURTHER_BYTES_PER_VALUE, nameBytes: MAX_NAME_BYTES };
}

/** Maximum members of an object with a schema. Four times the largest recorded number, that of a block: 31. */
export const MAX_MEMBERS = 128;

/**
 * Limits of a response without its result, and of a small response. Recorded errors have up to 11. Responses below 8 kB, which are
 * parsed at once, cannot have more: half as many as bytes.
 */
export const errorLimits: NestingLimits = { depth: MAX_DEPTH, values: 4_096, nameBytes: MAX_NAME_BYTES };

/**
 * Maximum bytes of an error. Recorded ones have up to 6,223 bytes. Estimate: contracts that return a simulation have a quarter.
 * 30 MB that are not ASCII take 270 ms.
 */
export const MAX_ERROR_BYTES = 4_000_000;

/**
 * Limits of an envelope whose members are found without parsing them. Traces have 6 to 12 bytes for each value. An envelope as nodes
 * write it is found without reading the result.
 */
export function envelopeLimits(bytes: number): NestingLimits {
  return { depth: MAX_DEPTH, values: 1_000_000 + bytes / MIN_BYTES_PER_VALUE };
}

/** Estimate: completed objects of nodes have half as many bytes more. Other chains may lack more fields. */
export const MAX_GROWTH = 4;

/** Four times the 64 kB of a message that are read. Recorded errors without a payload have up to 6,223 bytes. */
const MAX_SHORT_RESPONSE_BYTES = 262_144;

/** Pattern of results that are bytes, of any length. */
export const BYTES = '^0x(?:[0-9a-fA-F]{2})*$';

/** Methods whose results are short texts, numbers or booleans, and whose errors have no payload of a contract. */
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
