/** A provider whose URLs differ by chain only. `{chain}`, `{key}` and `{endpoint}` are replaced in its URLs. */
export interface Provider {
  readonly url: string;
  readonly websocketUrl?: string;
  /** Whether each of its endpoints has its own key, so that each network needs one. */
  readonly keyPerChain?: true;
  /** The provider's name of each chain that it serves, by chain id. */
  readonly chains: Readonly<Partial<Record<number, string>>>;
  /** The chains with a WebSocket URL. */
  readonly websocketChains?: readonly number[];
}
