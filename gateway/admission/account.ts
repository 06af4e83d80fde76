/**
 * Account of what a caller uses of this process: slots, turns of the event loop, buffered bytes. The keys of one account or team
 * have one together, and Gatehouse itself has one. A client address has one that is a member of that of all addresses. At a
 * network without a key, it has one that is a member of its own. Bytes count in all of them; all addresses of a network have
 * slots and turns together.
 */
export class Account {
  readonly name: string;
  /** Account that this one is a member of; undefined: none. */
  readonly parent: Account | undefined;
  /** Account with the slots and turns: the parent, that of all addresses of a network, or this one. */
  readonly payer: Account;
  /** Account with the share of the memory: what an address has at a network counts for its own account. */
  readonly memoryOwner: Account;
  /** Share of the slots, relative to that of others. Infinity: Gatehouse itself. */
  weight: number;
  /** Bytes taken now, with those of members. Only `MemoryBudget` changes them. */
  bytes = 0;
  /** Addresses, topics and hashes of its open filters and subscriptions. */
  keptValues = 0;

  constructor(name: string, parent?: Account, weight = 1, payer = parent) {
    this.name = name;
    this.weight = weight;
    this.parent = parent;
    this.payer = payer ?? this;
    this.memoryOwner = parent?.parent === undefined ? this : parent;
  }
}

/**
 * Client addresses with an account of their own, in memory and at each network; the guard weighs as many owners. An account
 * takes 0.3 kB, all of them 15 MB. An address whose account was dropped while in use gets a second one.
 */
export const MAX_ADDRESSES = 50_000;

/** Gatehouse's own requests, such as polls. They take any free slot, and wait for none before others that have fewer. */
export const gatehouse = new Account('gatehouse', undefined, Infinity);

/**
 * Name of the turns in which the result of an upstream is read. For Gatehouse itself, each upstream has turns; but its small
 * chunks and batches have those of the account `gatehouse`.
 */
export function turnsFor(account: Account | undefined, upstream: string): string {
  return account === undefined || account === gatehouse ? `upstream ${upstream}` : account.payer.name;
}
