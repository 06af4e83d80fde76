/**
 * Methods outside the spec that nodes have, by namespace, the most common ones first. They only read, return little without
 * parameters, and are for callers: `debug_memStats` and the like are not. From the lists of go-ethereum, erigon, reth,
 * nethermind, besu, bor, zkSync and Otterscan that schemas/never-opened.yaml names, and from their documentation.
 */
export const knownMethods: Readonly<Record<string, readonly string[]>> = {
  eth: ['eth_callMany', 'eth_getTransactionBySenderAndNonce', 'eth_getBlockAccessListByBlockNumber'],
  debug: [
    'debug_traceTransaction',
    'debug_traceCall',
    'debug_traceBlockByNumber',
    'debug_traceBlockByHash',
    'debug_traceCallMany',
    'debug_getRawBlock',
    'debug_getRawHeader',
    'debug_getRawReceipts',
    'debug_getRawTransaction',
    'debug_storageRangeAt',
    'debug_executionWitness',
    'debug_getModifiedAccountsByNumber',
  ],
  trace: [
    'trace_block',
    'trace_transaction',
    'trace_filter',
    'trace_call',
    'trace_callMany',
    'trace_get',
    'trace_rawTransaction',
    'trace_replayTransaction',
    'trace_replayBlockTransactions',
  ],
  txpool: ['txpool_status', 'txpool_contentFrom'],
  ots: [
    'ots_getApiLevel',
    'ots_hasCode',
    'ots_getBlockDetails',
    'ots_getInternalOperations',
    'ots_traceTransaction',
    'ots_searchTransactionsBefore',
    'ots_searchTransactionsAfter',
  ],
  erigon: ['erigon_forks', 'erigon_getHeaderByNumber', 'erigon_getLogsByHash', 'erigon_getBlockByTimestamp'],
  bor: ['bor_getAuthor', 'bor_getSigners', 'bor_getCurrentProposer', 'bor_getCurrentValidators', 'bor_getRootHash'],
  linea: ['linea_getProof'],
};
