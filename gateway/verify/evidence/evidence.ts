import { RLP } from '@ethereumjs/rlp';
import { LRUCache } from 'lru-cache';
import { parseHeader } from '../../chain/header.ts';
import type { ChainView } from '../../chain/view.ts';
import { clock } from '../../clock/clock.ts';
import { maxEntries } from '../../config/max-entries.ts';
import { limitReasons, memoryReasons, RpcError, type Reason } from '../../jsonrpc/errors.ts';
import { OwnedSteps } from '../../event-loop/owned-steps.ts';
import { nodeMethods } from '../../spec/methods.generated.ts';
import type { Cancellation } from '../../upstreams/transport/cancellation.ts';
import type { Upstream } from '../../upstreams/upstream.ts';
import { provenAccount, provenSlot, type ProvenAccount } from '../proofs/account-proof.ts';
import { checkHeader, encodeHeader } from '../proofs/check-header.ts';
import type { JsonObject } from '../../collections/is-object.ts';
import { provenReceipt } from '../proofs/encode-receipt.ts';
import { provenMembers } from '../proofs/encode-transaction.ts';
import { hashOf, isSameHex, quantityOf } from '../proofs/hex.ts';
import { EMPTY_LIST } from '../proofs/tree.ts';
import type { AuditRequests } from './audit-requests.ts';

/** Maximum size of the evidence of all networks of this process, as JSON. Parsed, it takes about four times as much. */
const MAX_CACHED_CHARS = 16_000_000;
/** Results in a row that no upstream could prove, after which none of the kind is requested for the pause. */
const MAX_UNPROVEN = 3;
const UNPROVEN_PAUSE_MS = 30_000;
const MAX_CANONICAL = 10_000;
/** Time after blocks were replaced in which correct upstreams may have others. */
const REPLACED_MS = 15_000;
/** Headers of a range that are requested together: 1 MB. */
const HEADERS_AT_ONCE = 500;
/** Maximum uncles of a block: Ethereum Yellow Paper, 11.1. */
const MAX_UNCLES = 2;
/** Whether an error does not concern the evidence, but the limits of the caller or the memory budget. */
function concernsCaller(reason: Reason): boolean {
  return limitReasons.has(reason) || memoryReasons.has(reason);
}

/** Evidence of all networks, by the network and the name of the part. That of a closed network stays until newer evidence displaces it. */
const values = new LRUCache<string, object>({
  maxSize: MAX_CACHED_CHARS,
  sizeCalculation: (value, name) => name.length + sizeOf(value),
});
let openedNetworks = 0;

/** The work of one check. */
export interface Work {
  /** Deadline, by clock.now(). */
  readonly deadline: number;
  /** Owner whose share of the event loop the check takes. */
  readonly owner: string;
  /** The upstream whose result is checked. */
  readonly upstream: Upstream;
  /** Whether evidence is checked: it needs no evidence from others. */
  readonly isEvidence: boolean;
  /** Cancellation that ends the check. Its owner pays with slots and memory. */
  readonly caller: Cancellation;
  /** Takes bytes of results from the memory budget, until the caller's result is checked. @throws RpcError */
  readonly take: (bytes: number) => void;
  /** Charges the caller for a further request. @throws RpcError if a limit of the key does not allow it */
  readonly charge: (method: string, params: readonly unknown[]) => Promise<void>;
}

/** Request for evidence. */
export interface EvidenceRequest {
  /** Work for which the evidence is requested. */
  readonly work: Work;
  /** An upstream that does not get the request. */
  readonly except?: Upstream | undefined;
  /** Whether only a proven result is returned. */
  readonly mustBeProven: boolean;
}

export interface EvidenceOptions {
  readonly chain: { readonly view: ChainView<Upstream> };
  /**
   * Sends a request to upstreams, one after the other until one has a result, or joins an identical request in progress. It is
   * charged once. @throws RpcError, Cancelled (rejects with it)
   */
  readonly request: (method: string, params: readonly unknown[], request: EvidenceRequest) => Promise<unknown>;
  /** The network has one upstream, whose heads are followed. */
  readonly isAlone: boolean;
  readonly requests: AuditRequests;
}

/** @param receipts whose root was checked */
function provenReceipts(receipts: readonly JsonObject[]): readonly JsonObject[] {
  return receipts.map((receipt) => provenReceipt(receipt, receipts[0] as JsonObject));
}

/** Parts of a block that are proven: its header, withdrawals and transactions, without their senders. */
export interface ProvenBlock {
  /** Header, with the withdrawals. */
  readonly header: JsonObject;
  readonly transactions: readonly JsonObject[];
}

/** @param block whose roots were checked */
function provenBlock({ transactions, ...header }: JsonObject): ProvenBlock {
  return { header, transactions: (transactions as readonly JsonObject[]).map(provenMembers) };
}

/**
 * Proven parts of the blocks of one network, by hash: headers, transactions, receipts, accounts. It is requested once, and
 * cached. A member is undefined if no upstream has a proven one.
 */
export class Evidence {
  readonly #options: EvidenceOptions;
  readonly #prefix = `${++openedNetworks} `;
  /** The hashes of old blocks on which upstreams agree. */
  readonly #canonical = new LRUCache<bigint, { readonly hash: string; readonly unbrokenSince: number }>(
    maxEntries(MAX_CANONICAL),
  );
  /**
   * Unproven results in a row, by kind and the upstreams that get the requests. Some chains hash other members, or have
   * transactions of other types (zkSync, Scroll).
   */
  readonly #unproven = new Map<string, { count: number; until: number }>();
  /** The head at the last look, and when blocks were last replaced. */
  #seenHead: { readonly number: bigint; readonly hash: string } | undefined;
  #replacedAt = -Infinity;
  /** Errors that `#unproven` counts. */
  readonly #recorded = new WeakSet<RpcError>();

  constructor(options: EvidenceOptions) {
    this.#options = options;
  }

  get view(): ChainView<Upstream> {
    return this.#options.chain.view;
  }

  /** Records the head, at each check, so that no reorg is overlooked. */
  noteHead(): void {
    const { head } = this.view;
    const seen = this.#seenHead;
    if (seen !== undefined && this.view.at(seen.number)?.hash !== seen.hash) this.#replacedAt = clock.now();
    this.#seenHead = head;
  }

  /**
   * Whether an upstream surely has the block of this number that the network follows, so that a result of it which differs is
   * wrong, and not of another branch.
   */
  async isOnBranch(number: bigint, { upstream, deadline }: Work): Promise<boolean> {
    const hash = await this.#options.requests.blockHash(upstream, number, deadline);
    this.noteHead();
    if (hash === undefined || clock.now() - this.#replacedAt < REPLACED_MS) return false;
    return hash === this.#knownHash(number);
  }

  /** A block has the hash of its header. */
  recordHeader(block: JsonObject): void {
    const header = parseHeader(block);
    if (header !== undefined) this.#keep(`header ${header.hash}`, header.block);
  }

  async header(hash: string, work: Work): Promise<JsonObject | undefined> {
    const known = this.#knownHeader(hash);
    if (known !== undefined) return known;
    return (await this.#find(`header ${hash}`, work, nodeMethods.blockByHash, [hash, false])) as JsonObject | undefined;
  }

  /**
   * The headers of a range of the canonical chain in lists, newest first, each the parent of the one before. The last list is
   * undefined if there is no evidence of it.
   */
  async *headers(from: bigint, to: bigint, work: Work): AsyncGenerator<readonly JsonObject[] | undefined, void> {
    let hash = await this.canonicalHash(to, work);
    // Without it, the others are of no use.
    const last = hash === undefined ? undefined : await this.header(hash, work);
    if (hash === undefined || last === undefined) {
      yield undefined;
      return;
    }
    for (let end = to; end >= from; end -= BigInt(HEADERS_AT_ONCE)) {
      const numbers = Array.from({ length: HEADERS_AT_ONCE }, (_, at) => end - BigInt(at)).filter((one) => one >= from);
      const unproven = await Promise.all(
        numbers.map(async (number) => (number === to ? last : this.#unprovenHeader(number, work))),
      );
      const headers: JsonObject[] = [];
      const steps = new OwnedSteps(work.owner);
      for (const [at, header] of unproven.entries()) {
        const isNext: boolean =
          isSameHex(header?.['hash'], hash) && header !== undefined && checkHeader(header) === 'verified';
        const provenOne: JsonObject | undefined = isNext ? header : await this.header(hash, work);
        if (provenOne === undefined) {
          yield undefined;
          return;
        }
        this.recordHeader(provenOne);
        this.#recordCanonical(numbers[at] as bigint, hash);
        hash = String(provenOne['parentHash']).toLowerCase();
        headers.push(provenOne);
        const pause = steps.afterSlice();
        if (pause !== undefined) await pause;
      }
      steps.charge();
      if (work.caller.isCancelled || clock.now() >= work.deadline) {
        yield undefined;
        return;
      }
      yield headers;
    }
  }

  async block(hash: string, work: Work): Promise<ProvenBlock | undefined> {
    const name = `block ${hash}`;
    return (await this.#find(name, work, nodeMethods.blockByHash, [hash, true], provenBlock)) as
      ProvenBlock | undefined;
  }

  async receipts(hash: string, work: Work): Promise<readonly JsonObject[] | undefined> {
    const name = `receipts ${hash}`;
    return (await this.#find(name, work, nodeMethods.blockReceipts, [hash], provenReceipts)) as
      readonly JsonObject[] | undefined;
  }

  /** Logs that the upstream whose result is checked returns for a filter, unproven. */
  async logsOf(filter: object, { upstream, deadline, charge }: Work): Promise<readonly unknown[] | undefined> {
    await charge(nodeMethods.logs, [filter]);
    return this.#options.requests.logs(upstream, filter, deadline);
  }

  /** @param slots of 32 bytes, whose values are needed too */
  async account(
    header: JsonObject,
    address: string,
    slots: readonly string[],
    work: Work,
  ): Promise<ProvenState | undefined> {
    const hash = String(header['hash']).toLowerCase();
    const params = [address, slots, { blockHash: hash }];
    const name = `state ${hash} ${[address, ...slots].join(' ').toLowerCase()}`;
    const read = (proof: object): Promise<ProvenState | undefined> => readProof(header, address, slots, proof);
    return (await this.#find(name, work, nodeMethods.proof, params, read)) as ProvenState | undefined;
  }

  /** The uncles of a block; none without a request, if the header says so. */
  async uncles(header: JsonObject, work: Work): Promise<readonly JsonObject[] | undefined> {
    const { sha3Uncles } = header;
    if (isSameHex(sha3Uncles, EMPTY_LIST)) return [];
    const hash = String(header['hash']).toLowerCase();
    const known = this.#known(`uncles ${hash}`) as readonly JsonObject[] | undefined;
    if (known !== undefined) return known;
    const { requests } = this.#options;
    for (const upstream of [...requests.others(work.upstream), work.upstream]) {
      const uncles: JsonObject[] = [];
      for (let index = 0; index < MAX_UNCLES; index++) {
        const params = [hash, `0x${index}`];
        await work.charge(nodeMethods.uncle, params);
        const uncle = await requests.uncle(upstream, params, work.deadline);
        if (uncle !== undefined) uncles.push(uncle);
      }
      const encoded = uncles.map(encodeHeader);
      if (!encoded.every((one) => one !== undefined)) continue;
      if (!isSameHex(hashOf(RLP.encode(encoded.map((one) => RLP.decode(one)))), sha3Uncles)) continue;
      const proven = uncles.map((uncle, at) => ({ ...uncle, hash: hashOf(encoded[at] as Uint8Array) }));
      this.#keep(`uncles ${hash}`, proven);
      return proven;
    }
    return undefined;
  }

  /** A block without its transactions, unproven. */
  async blockAt(block: string, work: Work): Promise<JsonObject | undefined> {
    const params = [block, false];
    return (await this.#request(nodeMethods.blockByNumber, params, work, undefined)) as JsonObject | undefined;
  }

  /** The hash of the block with this number: of a witnessed block or an ancestor of one, or as enough groups have it. */
  async canonicalHash(number: bigint, work: Work): Promise<string | undefined> {
    return this.#knownHash(number) ?? this.#agreedHash(number, undefined, work);
  }

  /**
   * Whether a block is the one with its number: witnessed, an ancestor of a witnessed block, or as enough groups have it. One of
   * them may be that of the upstream whose result is checked.
   */
  async isCanonical(number: bigint, hash: string, work: Work): Promise<boolean | undefined> {
    if (this.#knownHash(number) === hash) return true;
    const agreed = await this.#agreedHash(number, hash, work);
    // The head may have arrived meanwhile.
    if (this.#knownHash(number) === hash) return true;
    return agreed === undefined ? undefined : agreed === hash;
  }

  #known(name: string): object | undefined {
    return values.get(this.#prefix + name);
  }

  #keep(name: string, value: object): void {
    values.set(this.#prefix + name, value);
  }

  #knownHash(number: bigint): string | undefined {
    const witnessed = this.view.witnessedHash(number);
    if (witnessed !== undefined) return witnessed;
    const agreed = this.#canonical.get(number);
    return agreed?.unbrokenSince === this.view.unbrokenSince ? agreed.hash : undefined;
  }

  async #agreedHash(number: bigint, claimed: string | undefined, work: Work): Promise<string | undefined> {
    const { requests, isAlone } = this.#options;
    const { upstream, deadline, charge } = work;
    const { needed } = this.view.witnesses;
    const others = requests.others(upstream);
    if (others.length === 0 && isAlone) return claimed ?? requests.blockHash(upstream, number, deadline);
    const votes = new Map<string, Upstream[]>();
    const isAgreed = (hash: string, voter: Upstream): boolean => {
      const voters = [...(votes.get(hash) ?? []), voter];
      votes.set(hash, voters);
      return voters.length > 1 && new Set(voters.map(({ group }) => group)).size >= needed;
    };
    // The result is a vote.
    if (claimed !== undefined) isAgreed(claimed, upstream);
    for (const one of claimed === undefined ? [upstream, ...others] : others) {
      const named = quantityOf(number);
      await charge(nodeMethods.blockByNumber, [named, false]);
      const header = await requests.headerAt(one, named, deadline);
      if (header === undefined || !isAgreed(header.hash, one)) continue;
      if (checkHeader(header.block) === 'verified') this.recordHeader(header.block);
      this.#recordCanonical(number, header.hash);
      return header.hash;
    }
    return undefined;
  }

  #recordCanonical(number: bigint, hash: string): void {
    const { head, unbrokenSince } = this.view;
    const { oldest } = this.view.headers;
    const isOld = head !== undefined && oldest !== undefined && number < oldest.number;
    if (isOld && this.#canonical.get(number)?.hash !== hash) this.#canonical.set(number, { hash, unbrokenSince });
  }

  /** @param error of the request; all checks that wait for it get the same one, which counts once */
  #recordUnproven(kind: string, error: RpcError): void {
    if (this.#recorded.has(error)) return;
    this.#recorded.add(error);
    const count = (this.#unproven.get(kind)?.count ?? 0) + 1;
    this.#unproven.set(kind, { count, until: count < MAX_UNPROVEN ? -Infinity : clock.now() + UNPROVEN_PAUSE_MS });
  }

  #knownHeader(hash: string): JsonObject | undefined {
    const known = this.#known(`header ${hash}`) as JsonObject | undefined;
    if (known !== undefined) return known;
    const followed = this.view.at(this.view.numberOf(hash) ?? -1n);
    if (followed === undefined || checkHeader(followed.block) !== 'verified') return undefined;
    this.recordHeader(followed.block);
    return followed.block;
  }

  /** The header with this number, unless it is known: not proven. */
  async #unprovenHeader(number: bigint, work: Work): Promise<JsonObject | undefined> {
    const hash = this.#knownHash(number);
    const known = hash === undefined ? undefined : this.#knownHeader(hash);
    return known ?? this.blockAt(quantityOf(number), work);
  }

  /** @param keep of a proven result, what it proves; undefined: all of it */
  async #find(
    name: string,
    work: Work,
    method: string,
    params: readonly unknown[],
    keep?: (result: never) => object | Promise<object | undefined>,
  ): Promise<object | undefined> {
    const known = this.#known(name);
    if (known !== undefined) return known;
    // Counted apart, so that an upstream with wrong evidence for others has no influence on checks of its own results.
    const candidates = work.isEvidence ? 'all' : `others than ${work.upstream.name}`;
    const kind = `${name.slice(0, name.indexOf(' '))} of ${candidates}`;
    if (clock.now() < (this.#unproven.get(kind)?.until ?? -Infinity)) return undefined;
    const result = await this.#request(method, params, work, kind);
    const value = result && keep !== undefined ? await keep(result as never) : result;
    if (value !== undefined && this.#known(name) === undefined) this.#keep(name, value);
    return value;
  }

  /** Result of a request; undefined: no upstream has it, or has a proven one. @param kind undefined: it need not be proven */
  async #request(
    method: string,
    params: readonly unknown[],
    work: Work,
    kind: string | undefined,
  ): Promise<object | undefined> {
    const { upstream, isEvidence } = work;
    const { request, requests } = this.#options;
    const hasOthers = !isEvidence && requests.others(upstream).length > 0;
    const mustBeProven = kind !== undefined;
    try {
      // Others first: an upstream whose result is wrong has no better evidence. If all others have wrong evidence, its own may be proven.
      const result = hasOthers
        ? await request(method, params, { work, except: upstream, mustBeProven }).catch((error: unknown) => {
            if (!mustBeProven || !isUnproven(error, work)) throw error;
            return request(method, params, { work, mustBeProven });
          })
        : await request(method, params, { work, mustBeProven });
      if (kind !== undefined) this.#unproven.delete(kind);
      return typeof result === 'object' && result !== null ? result : undefined;
    } catch (error) {
      if (!(error instanceof RpcError) || concernsCaller(error.reason)) throw error;
      if (kind !== undefined && isUnproven(error, work)) this.#recordUnproven(kind, error);
      return undefined;
    }
  }
}

/** Whether a request failed because no upstream had a proven result, and not because time is over. */
function isUnproven(error: unknown, { deadline }: Work): error is RpcError {
  return error instanceof RpcError && error.reason === 'not-proven' && clock.now() < deadline;
}

/** State that a proof shows. */
export interface ProvenState {
  readonly account: ProvenAccount;
  readonly slots: readonly bigint[];
}

/** State that a result of `eth_getProof` proves at a header. Undefined: it is no proof, or lacks a slot. */
export async function readProof(
  header: JsonObject,
  address: string,
  slots: readonly string[],
  proof: unknown,
): Promise<ProvenState | undefined> {
  const account = await provenAccount(String(header['stateRoot']).toLowerCase(), address, proof);
  if (account === undefined) return undefined;
  const values: bigint[] = [];
  for (const slot of slots) {
    const value = await provenSlot(account.storageRoot, slot, proof);
    if (value === undefined) return undefined;
    values.push(value);
  }
  return { account, slots: values };
}

/** The approximate length of a value as JSON. */
export function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 3;
  if (typeof value !== 'object' || value === null) return 6;
  let size = 2;
  for (const name in value) size += name.length + 4 + sizeOf((value as Record<string, unknown>)[name]);
  return size;
}
