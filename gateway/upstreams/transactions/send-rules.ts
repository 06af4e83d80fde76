/** One text with which nodes respond about a transaction that they have, or may have. */
interface SendRule {
  /**
   * `known`: the node has this transaction. `nonce-used`: it has a transaction with this nonce, maybe this one.
   * `may-be-known`: it may have this transaction; if it does not, the error says nothing about it.
   * `not-mined`: it accepted the transaction, whose receipt did not come in time.
   */
  readonly meaning: 'known' | 'nonce-used' | 'may-be-known' | 'not-mined';
  readonly message: RegExp;
  readonly client: string;
}

/**
 * Texts with which nodes reject a transaction that they already have. The patterns of `nonce-used` and `may-be-known` are not
 * anchored, because a match only makes the gateway look up the transaction.
 */
const sendRules: readonly SendRule[] = [
  {
    meaning: 'known',
    message: /^(ALREADY_EXISTS: )?already ?known$/i,
    client: 'geth, reth, erigon, besu 2025, Gnosis',
  },
  { meaning: 'known', message: /^(INTERNAL_ERROR: )?existing txn? with same hash$/, client: 'erigon 2, 3' },
  {
    meaning: 'known',
    message: /^known transaction(: | \(|\. transaction with hash |$)/i,
    client: 'geth 1.9, besu, zkSync',
  },
  { meaning: 'known', message: /^AlreadyKnown\b/, client: 'nethermind' },
  { meaning: 'known', message: /^transaction already imported$/i, client: 'anvil 1.7.1 recorded' },
  { meaning: 'known', message: /^Transaction with the same hash was already imported\.?$/, client: 'OpenEthereum' },
  {
    meaning: 'known',
    message: /^(rpc error: code = \w+ desc = )?tx already (exists in cache|in mempool)$/,
    client: 'Cosmos: evmos, Sei',
  },
  {
    meaning: 'known',
    message: /^(\[0x[\da-f]{64}\]: )?already imported$/,
    client: 'reth transaction-pool/src/error.rs',
  },
  {
    meaning: 'known',
    message: /^(transaction|tx) (is )?already (exists|known|in (the )?(mempool|txpool|transaction pool))$/i,
    client: 'proxies, as listed by eRPC (erpc architecture/evm/error_normalizer.go)',
  },
  {
    meaning: 'known',
    message: /^failed to forward tx to sequencer,[^']{0,60}'already known'$/,
    client: 'Mantle, from its sequencer',
  },
  {
    meaning: 'not-mined',
    message:
      /^(?:The )?transaction (?:0x[\da-f]{64} )?was added to the (?:transaction pool|mempool) but wasn't (?:processed|confirmed)\b/i,
    client: 'geth 1.17.5 recorded; reth and zksync-os, from their source: eth_sendRawTransactionSync',
  },
  { meaning: 'nonce-used', message: /\bnonce\b.*\btoo low\b/i, client: 'geth and nearly all others; Hedera; ganache' },
  { meaning: 'nonce-used', message: /^(OldNonce|OwnNonceAlreadyUsed)\b/, client: 'nethermind' },
  { meaning: 'nonce-used', message: /correct nonce|invalid (transaction )?nonce/i, client: 'ganache; Arbitrum; evmos' },
  {
    meaning: 'may-be-known',
    message:
      /\b(?:already|exist(?:s|ed|ing)?|known|duplicate[ds]?|same hash|in (?:the |local )?(?:tx|txn|transaction|mem)?[ -]?pool)\b/i,
    client: 'any, with unrecorded texts: "existed in pool", "Transaction already in pool", "tx already imported"',
  },
];

/** Classifies what an error says about the transaction that was sent; undefined: nothing. */
export function classifySendRejection(message: string): SendRule['meaning'] | undefined {
  return sendRules.find((rule) => rule.message.test(message))?.meaning;
}
