/**
 * Holder whose buffered bytes are counted together: the account of a key, a client address before authentication, or a client address
 * without a key.
 */
export interface Holder {
  /** Unique among the holders of a budget. */
  readonly name: string;
  readonly isAddress: boolean;
  /** Pool of an address: what it shares with others of its kind. */
  readonly pool?: AddressPool;
  /** Taken now. Only `MemoryBudget` changes it. */
  bytes: number;
}

/** Client addresses that together have a part of the budget. */
export class AddressPool {
  /** No account's name starts with it. */
  readonly prefix: string;
  readonly maxBytes: number;
  bytes = 0;
  readonly bytesOf = new Map<string, number>();

  constructor(prefix: string, maxBytes: number) {
    this.prefix = prefix;
    this.maxBytes = maxBytes;
  }
}

/**
 * A client address. Its bytes are in a table, and only while it has any: the same address is another object for each
 * request.
 */
export class AddressHolder implements Holder {
  readonly name: string;
  readonly isAddress = true;
  readonly pool: AddressPool;

  /** @param group the address, or the network of one customer: `addressGroup` of auth/formats */
  constructor(group: string, pool: AddressPool) {
    this.name = `${pool.prefix} ${group}`;
    this.pool = pool;
  }

  get bytes(): number {
    return this.pool.bytesOf.get(this.name) ?? 0;
  }

  set bytes(bytes: number) {
    if (bytes === 0) this.pool.bytesOf.delete(this.name);
    else this.pool.bytesOf.set(this.name, bytes);
  }
}
