import { namespaceOf } from '../network-files/options/method-pattern.ts';
import type { CountName } from '../network-files/options/units-option.ts';

/** The part of the gateway that handles a method in place of an upstream. */
export type LocalHandler = 'local' | 'socket' | 'filters' | 'document';

/**
 * Groups of methods with similar durations, each with the time for one attempt in ms. Each upstream has a latency score for
 * each group. `long`: traces, and methods that wait for a block. `other`: the other methods without a schema.
 */
export const attemptTimesMs = {
  lookup: 5_000,
  execution: 10_000,
  list: 10_000,
  long: 60_000,
  other: 10_000,
} as const;

export type MethodGroup = keyof typeof attemptTimesMs;

export const methodGroups = Object.keys(attemptTimesMs) as readonly MethodGroup[];

/** The properties of a method for the hot path. Derived from `schemas/methods` by `npm run generate`. */
export interface MethodSpec {
  readonly name: string;
  /** The part before the first underscore or dot. */
  readonly namespace: string;
  /** Methods of one group take similar times. */
  readonly group: MethodGroup;
  /**
   * No request is sent to an upstream. `local`: the result is a constant of the network; `socket`: handled by the caller's
   * WebSocket; `filters`: by the filters of the network; `document`: the result is the network's OpenRPC document.
   */
  readonly handledBy?: LocalHandler;
  /** The result may be null, if the object was not found. */
  readonly nullable: boolean;
  /** A call may revert; the response is then an error with code 3. */
  readonly reverts: boolean;
  /** Whether some nodes omit the payload of its reverts, but not in eth_call with the same parameters. */
  readonly omitsPayload?: true;
  /** A call has an effect, and is therefore sent even if the caller has disconnected. */
  readonly sends?: true;
  /** The call sends no transaction, so that no other upstream recognises it: after an unknown outcome it is not sent again. */
  readonly sendsOperation?: true;
  /** Errors of the method have `data` of any type, as bundlers give it (ERC-7769); of other methods it is hexadecimal. */
  readonly hasErrorData?: true;
  /** The method runs contracts, but no call of it reverts. Its errors may contain text of a contract. */
  readonly executes?: true;
  /** Meaning of the result for the chain, if the type of the result does not show it. */
  readonly resultIs?: ResultMeaning;
  /**
   * The position of a transaction's hash, or of a sender's address. The upstream that accepted the transaction gets the
   * call first.
   */
  readonly tracks?: { readonly of: 'transaction' | 'sender'; readonly param: number };
  /** The first parameter is the hash of the requested object or of its block. The result may be null. */
  readonly looksUpHash?: true;
  /** Result null in place of the error -32601, if no upstream supports the method. Many nodes have no uncles. */
  readonly nullWhenUnsupported?: true;
  /** JSON types of a result that is not null. Absent: any, and the result is forwarded unchanged. */
  readonly resultKinds?: readonly ResultKind[];
  /** The names of the result are data, so that it may be empty. */
  readonly resultIsMap?: true;
  /** The result has texts or objects that the schema does not describe, beside hexadecimal values and numbers. */
  readonly resultHasText?: true;
  /** Pattern of a string result, after padding. */
  readonly resultPattern?: string;
  /** Bytes to which a hexadecimal result is left-padded. */
  readonly padResult?: number;
  /** The result is a quantity, which has no leading zeros. */
  readonly resultIsQuantity?: true;
  /** A field with objects if the parameter at this position is true, and with their hashes if it is false. */
  readonly details?: { readonly field: string; readonly param: number };
  /** Fields that identify the result, or each object in an array, as the requested one. */
  readonly identity?: readonly Identity[];
  /** Positions of parameters with one storage position, or several, which are sent with 0x. */
  readonly storageParams?: readonly number[];
  /** Positions of hash parameters, which are sent in lower case. A position may also have an EIP-1898 object. */
  readonly hashParams: readonly number[];
  /** Places of gas quantities to which the gas cap applies. */
  readonly gasAt?: readonly GasPlace[];
  /**
   * The place of contract addresses: a parameter that is an address, or a field of one, with one or several addresses.
   * `keys`: the addresses are the names of the parameter's members. `overrides`: the position of the state overrides, which can replace the code of any contract.
   */
  readonly contractAt?: {
    readonly param: number;
    readonly field?: string;
    readonly keys?: true;
    readonly overrides?: number;
  };
  /** Position of the block parameter for which `latest` is sent if the caller omits it. */
  readonly defaultsToLatest?: number;
  /** Position of the block parameter, or of a filter with two blocks. `readsState`: the method reads the block's state. */
  readonly blockAt?: BlockPlace;
  /** Position of a filter with a block range. A range that is too large for upstreams is requested in parts. */
  readonly splits?: number;
  /** A pass-through method: listed in a network file, without a schema. */
  readonly isPassThrough?: true;
  /** The wildcard of the network file that opens the pass-through method, if the file does not name it. */
  readonly openedBy?: string | undefined;
  /** Formula of the request units of a call; absent: 1. */
  readonly requestUnits?: string;
  /** Parameters in which something is counted, for request units and for bounds. `type`: a key of `counters`. */
  readonly counts?: readonly CountPlace[];
  /** Validity of a cached response; absent: not cacheable. */
  readonly cache?: CacheRule;
  /** Type of the result, or of the objects in it, in `schemas/types`. Absent: no object with fields. */
  readonly resultType?: string;
  /** Correct nodes may return different results, so that audits do not compare them. */
  readonly isUnaudited?: true;
  /** Kind of a result, for `verify/`, which proves it from the chain. Absent: it cannot be proven. */
  readonly provenAs?: ProvenPart;
  /** The result is advice or a fact of one node, which cannot be proven: level `require` is `enforce` for it. */
  readonly isAdvice?: true;
  /** Rules for completing an object result, or each object in an array. */
  readonly shape?: ObjectShape;
}

/**
 * `head`: valid until the head changes. `result`: valid while the block in the result is part of the chain. `param`: valid
 * as long as the block in this parameter (tag, number, hash or EIP-1898 object).
 */
export type CacheRule = 'head' | 'result' | { readonly param: number };

/**
 * `head-number`: the number of the head. `sync-status`: false, or the progress of a node that is behind. `logs`: logs in
 * chain order. `block-objects`: objects of the requested block; null if there is no such block. `uncle`: a block that is
 * not canonical. `gas-estimate`: the gas of an executed transaction, which is never 0.
 */
export type ResultMeaning = (typeof resultMeanings)[number];

export const resultMeanings = ['head-number', 'sync-status', 'logs', 'block-objects', 'uncle', 'gas-estimate'] as const;

export type ProvenPart = (typeof provenParts)[number];

export const provenParts = [
  ...(['head-number', 'block', 'header', 'uncle', 'uncle-count', 'transaction', 'transaction-count'] as const),
  ...(['receipt', 'receipts', 'logs', 'balance', 'nonce', 'code', 'slot', 'account-proof'] as const),
] as const;

/**
 * The spec of a pass-through method: its parameters and result are forwarded unchanged.
 * @param splits as in `MethodSpec`
 * @param openedBy the wildcard that opens it; undefined: the network file names it
 * @param blockAt by which an upstream is selected
 */
export function passThrough(
  name: string,
  splits?: number,
  openedBy?: string,
  group: MethodGroup = 'other',
  blockAt: BlockPlace | undefined = splits === undefined ? undefined : { param: splits },
): MethodSpec {
  const namespace = namespaceOf(name);
  return {
    ...{ name, namespace, group, nullable: false, reverts: false, hashParams: [], isPassThrough: true, openedBy },
    ...(blockAt !== undefined && { blockAt }),
    ...(splits !== undefined && { splits, counts: [{ name: 'blocks', type: 'LogFilter', param: splits }] }),
  };
}

export interface BlockPlace {
  readonly param: number;
  readonly readsState?: true;
}

export type ResultKind = 'object' | 'string' | 'array' | 'boolean' | 'number';

/** The position of a parameter in which something is counted. */
export interface CountPlace {
  readonly name: CountName;
  readonly type: string;
  readonly param: number;
}

/** The place of a quantity in a parameter. `path`: names of members, outermost first; `*` for each element of an array. */
export interface GasPlace {
  readonly param: number;
  readonly path: readonly string[];
}

/** A field of a result that must equal a parameter. Tags and omitted parameters are not compared. */
export interface Identity {
  readonly field: string;
  /** The parameter's position. It may also have an object with a blockHash or a blockNumber (EIP-1898, log filters). */
  readonly param: number;
  readonly kind: 'hash' | 'quantity';
}

/** The rules for an object of the spec, derived from its schema. */
export interface ObjectShape {
  /** The type's name in `schemas/types`. */
  readonly type: string;
  /** Required fields that become null if the upstream left them out. */
  readonly fill: readonly string[];
  /** Quantities without which the result is an upstream failure. */
  readonly demand: readonly string[];
  /** Fields with quantities: JSON numbers become hexadecimal, leading zeros are removed. */
  readonly quantities: readonly string[];
  /** Fields with addresses: empty ones become null. */
  readonly addresses: readonly string[];
  /** Fields that some nodes name differently: the node's name by the spec's. */
  readonly rename: Readonly<Record<string, string>>;
  /** Fields with an array of objects. Other elements, such as hashes, stay unchanged. */
  readonly nested: Readonly<Record<string, ObjectShape>>;
  /** Fields of `nested` that may have hashes instead of objects. */
  readonly orHashes: readonly string[];
}
