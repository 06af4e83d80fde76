/** A call object that all of these clients accept. */
export interface CallObject {
  readonly from: string;
  readonly to: string;
  readonly data?: string;
  /** Value in wei. */
  readonly value?: bigint;
}

/** The URLs, chain id and account of a client. */
export interface ConnectionSettings {
  readonly http: string;
  readonly ws: string;
  readonly chainId: number;
  readonly privateKey: `0x${string}`;
}

/** A real client library with its default settings, except for the polling interval. */
export interface Client {
  readonly name: string;
  open(connection: ConnectionSettings): Promise<OpenClient>;
}

/** The operations that the tests use. Each rejects with the client's own error. */
export interface OpenClient {
  chainId(): Promise<number>;
  blockNumber(): Promise<number>;
  balance(address: string): Promise<bigint>;
  storage(address: string, position: string): Promise<string>;
  /** The hashes of the transactions in a block. */
  transactionsIn(blockHash: string): Promise<readonly string[]>;
  /** The number of logs of an address since the first block. */
  countLogs(address: string): Promise<number>;
  call(call: CallObject): Promise<string>;
  estimate(call: CallObject): Promise<bigint>;
  /** Signs and sends a transaction, and waits for the receipt. @returns whether it succeeded, and its block */
  send(call: CallObject): Promise<{ readonly hasSucceeded: boolean; readonly block: number }>;
  /** Watches blocks until `Stop` is called. Undefined: not supported by the client. */
  watchBlocks?(seen: (number: number) => void): Promise<Stop>;
  /** Watches the logs of an address. `seen` gets their block numbers. */
  watchLogs(address: string, seen: (blockNumber: number) => void): Promise<Stop>;
  close(): Promise<void>;
}

export type Stop = () => unknown;
