/** A call object as all of these clients take it. */
export interface CallObject {
  readonly from: string;
  readonly to: string;
  readonly data?: string;
  /** In wei. */
  readonly value?: bigint;
}

/** Where a client is pointed at, and whose account it sends from. */
export interface Place {
  readonly http: string;
  readonly ws: string;
  readonly chainId: number;
  readonly privateKey: `0x${string}`;
}

/** A real client, as its users have it but for how often it polls. */
export interface Client {
  readonly name: string;
  open(place: Place): Promise<OpenClient>;
}

/** What a day is made of. Each rejects with what the client throws. */
export interface OpenClient {
  chainId(): Promise<number>;
  blockNumber(): Promise<number>;
  balance(address: string): Promise<bigint>;
  storage(address: string, position: string): Promise<string>;
  /** The hashes of the transactions in a block. */
  transactionsIn(blockHash: string): Promise<readonly string[]>;
  /** How many there are of an address since the first block. */
  countLogs(address: string): Promise<number>;
  call(call: CallObject): Promise<string>;
  estimate(call: CallObject): Promise<bigint>;
  /** Signs, sends and waits for the receipt. @returns whether it succeeded, and in which block */
  send(call: CallObject): Promise<{ readonly succeeded: boolean; readonly block: number }>;
  /** Until it is told to stop. Undefined: the client cannot. */
  watchBlocks?(seen: (number: number) => void): Promise<Stop>;
  /** The block numbers of an address' logs. */
  watchLogs(address: string, seen: (blockNumber: number) => void): Promise<Stop>;
  close(): Promise<void>;
}

export type Stop = () => unknown;
