import { isObject } from '../../collections/is-object.ts';
import { parseJson } from '../../json/parse-json.ts';
import type { ErrorResponse } from '../../upstreams/transport/upstream-response.ts';

/** One of several errors that are nested in one another. */
export interface NestedError {
  readonly code: number;
  /** The original message of the node. */
  readonly message: string;
  readonly data: unknown;
  /** The message, and the inner messages without the prefixes of clients and proxies. */
  readonly texts: readonly string[];
}

/** A text that clients or proxies write around the message of another error. */
interface Wrapper {
  readonly pattern: RegExp;
  readonly client: string;
  readonly source: string;
}

/** Wrappers with anchored patterns, so that only text of the client matches, not of a contract. */
export const wrappers: readonly Wrapper[] = [
  {
    pattern: /^\[Request ID: [^\]]*\] (?<inner>[^]*)$/,
    client: 'hedera relay',
    source: 'hiero-json-rpc-relay#1738',
  },
  {
    // The Cosmos SDK appends the class of the error.
    pattern: /^rpc error: code = \w+ desc = (?<inner>[^]*?)(?:: invalid request)?$/,
    client: 'ethermint, evmos, kava, cronos: gRPC',
    source: 'ethermint rpc/backend/call_tx.go#L306-340',
  },
  {
    pattern: /^err: (?<inner>[^]*?)(?: \(supplied gas \d+\))?$/,
    client: 'geth 1.9-1.13 and forks',
    source: 'go-ethereum v1.13.0 internal/ethapi/api.go doCall; scroll-tech/go-ethereum#537',
  },
  {
    pattern: /^failed with \d+ gas: (?<inner>[^]*)$/,
    client: 'geth',
    source: 'go-ethereum eth/gasestimator/gasestimator.go',
  },
  {
    pattern: /^(?:failed to (?:estimate gas|apply transaction|call|execute)|gas estimation failed): (?<inner>[^]*)$/i,
    client: 'lotus, forest, ethermint',
    source: 'ChainSafe/forest#4554',
  },
  {
    pattern: /^unable to apply transaction even for the highest gas limit \d+: (?<inner>[^]*)$/,
    client: 'polygon edge',
    source: 'polygon-edge jsonrpc/eth_endpoint.go EstimateGas',
  },
  {
    pattern: /^VM Exception while processing transaction: (?<inner>[^]*)$/,
    client: 'ganache, hardhat, frontier, rskj',
    source: 'ganache 7.9.2 and hardhat 3.18 observed; frontier client/rpc/src/eth/execute.rs#L1430',
  },
  {
    pattern: /^evm: (?<inner>[^]*)$/,
    client: 'geth before 1.9.14, kaia, theta',
    source: 'go-ethereum v1.9.13 core/vm/errors.go',
  },
  {
    pattern: /^[1-5]\d\d [A-Z][A-Za-z -]+: (?<inner>[^]*)$/,
    client: 'geth as a client of another node, proxyd',
    source: 'go-ethereum rpc/http.go HTTPError; base-org/node#368',
  },
  {
    pattern: /^(?:ALREADY_EXISTS|FEE_TOO_LOW|STALE|INVALID): (?<inner>[^]*)$/,
    client: 'erigon, for transactions',
    source: 'erigon rpc/jsonrpc/send_transaction.go; erigon interfaces/txpool/txpool.proto ImportResult',
  },
  {
    pattern: /^\[0x[\da-f]{64}\]: (?<inner>[^]*)$/,
    client: 'reth, for transactions',
    source: 'reth transaction-pool/src/error.rs PoolError',
  },
  {
    pattern: /^(?:(?:transaction|tx) (?:rejected|invalid)|mpool push|failed to push message): (?<inner>[^]*)$/i,
    client: 'proxies; lotus, for transactions',
    source: 'lotus chain/messagepool; recorded in test/upstreams/transactions/send-transaction.test.ts',
  },
  {
    pattern: /^failed to forward tx to sequencer,[^']{0,60}'(?<inner>[^]*)'$/,
    client: 'mantle',
    source: 'Mantle docs, contracts call issues; chainlink evm client errors tests',
  },
  {
    // "Internal error: ", "Server error: ", "historical backend error: ", "ProviderError: ", "Call failed: ".
    pattern: /^(?:\w[\w.-]* ){0,4}\w*(?:error|failed|failure): (?<inner>[^]*)$/i,
    client: 'proxies, wallets, op-geth before bedrock',
    source: 'erpc networks_test.go#L4561; MetaMask/metamask-extension#7286',
  },
];

/** Nodes nest up to three errors; the limit is for malicious responses. */
const MAX_NESTING = 6;

/** Errors of nodes have 6,223 bytes at most. A longer text is cut here before an error is searched for in it, and is not parsed. */
const MAX_TEXT_CHARS = 4 * 6_223;

/** A message without information: the inner error has it. */
const EMPTY_MESSAGE = /^(?:(?:internal|server|unknown|internal server|internal json-rpc) error)?\.?$/i;

/** All errors in a node's error, the outermost first. There is at least one. */
export function nestedErrorsOf({ code, message, data }: ErrorResponse): readonly NestedError[] {
  const nestedErrors = [nestedError(code, withLimit(message, data), data)];
  for (let at = 0; at < nestedErrors.length && nestedErrors.length < MAX_NESTING; at++) {
    const outer = nestedErrors[at] as NestedError;
    for (const candidate of candidatesIn(outer)) {
      const inner = asNestedError(candidate, outer);
      if (inner !== undefined && nestedErrors.length < MAX_NESTING) nestedErrors.push(inner);
    }
  }
  return nestedErrors;
}

/**
 * Adds the limit that the request exceeds, which some providers write only in `data`: `range` (Blast; erpc
 * networks_test.go), `payload` (Tenderly; boba_legacy#827). Their message is `Invalid params`.
 */
function withLimit(message: string, data: unknown): string {
  if (!isObject(data) || !/^invalid params$/i.test(message)) return message;
  for (const limit of [data['range'], data['payload']]) {
    if (typeof limit === 'string' && /\brange\b/i.test(limit)) return `${message}: ${limit}`;
  }
  return message;
}

/** The outermost error with a meaningful message. */
export function mainError(nestedErrors: readonly NestedError[]): NestedError {
  return nestedErrors.find(({ message }) => isMeaningful(message)) ?? (nestedErrors[0] as NestedError);
}

/** Whether a text describes the error. */
export function isMeaningful(text: string): boolean {
  return !EMPTY_MESSAGE.test(text);
}

function nestedError(code: number, message: string, data: unknown): NestedError {
  return { code, message, data, texts: unwrap(message) };
}

function unwrap(message: string): string[] {
  const texts = [message];
  for (let text: string | undefined = message; texts.length < MAX_NESTING;) {
    text = innerOf(text);
    if (text === undefined) break;
    texts.push(text);
  }
  return texts;
}

function innerOf(text: string): string | undefined {
  for (const { pattern } of wrappers) {
    const inner = pattern.exec(text)?.groups?.['inner'];
    if (inner !== undefined) return inner;
  }
  return undefined;
}

/** The places where clients, wallets and proxies put a nested error. */
function candidatesIn({ data, texts }: NestedError): unknown[] {
  const candidates: unknown[] = [typeof data === 'string' ? (parse(data) ?? data) : data];
  if (isObject(data)) candidates.push(data['originalError'], data['error'], data['cause']);
  candidates.push(parse(texts.at(-1) ?? ''));
  return candidates;
}

/** An error object, or a text in `data`, which has the code of the outer error. */
function asNestedError(value: unknown, outer: NestedError): NestedError | undefined {
  if (typeof value === 'string') {
    if (value === '' || value === outer.message || /^0x[\da-f]*$/i.test(value)) return undefined;
    return { ...outer, data: undefined, texts: unwrap(value.slice(0, MAX_TEXT_CHARS)) };
  }
  if (!isObject(value)) return undefined;
  if (isObject(value['error'])) return asNestedError(value['error'], outer);
  const { code, message, data } = value;
  if (typeof message !== 'string' || message === '') return undefined;
  return nestedError(typeof code === 'number' ? code : outer.code, message, data);
}

function parse(text: string): unknown {
  return text.startsWith('{') && text.length <= MAX_TEXT_CHARS ? parseJson(text) : undefined;
}
