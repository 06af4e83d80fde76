/** The account of a key, or a client address before authentication, that buffered bytes are charged to. */
export interface Holder {
  /** Unique among the holders of a budget. */
  readonly name: string;
  readonly isAddress: boolean;
  /** Taken now. Only `MemoryBudget` changes it. */
  bytes: number;
}

/** No account's name starts with it. */
const ADDRESS_PREFIX = 'address ';

/**
 * A client address. Its bytes are in a table, and only while it has any: the same address is another object for each
 * request.
 */
export class AddressHolder implements Holder {
  readonly name: string;
  readonly isAddress = true;
  readonly #bytesOf: Map<string, number>;

  /** @param group the address, or the network of one customer: `addressGroup` of auth/formats */
  constructor(group: string, bytesOf: Map<string, number>) {
    this.name = ADDRESS_PREFIX + group;
    this.#bytesOf = bytesOf;
  }

  get bytes(): number {
    return this.#bytesOf.get(this.name) ?? 0;
  }

  set bytes(bytes: number) {
    if (bytes === 0) this.#bytesOf.delete(this.name);
    else this.#bytesOf.set(this.name, bytes);
  }
}
