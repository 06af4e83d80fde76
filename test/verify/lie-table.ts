import { contract as account, slot, topic, type RichChain } from './rich-chain.ts';
import type { Call, Json, Lie } from './simulated-nodes.ts';

const other = `0x${'77'.repeat(32)}`;
const stranger = `0x${'77'.repeat(20)}`;
const slotValue = `0x${'7'.padStart(64, '0')}`;

/** The calls that lies are about, by a name. All are about witnessed blocks. */
export function callsOf({ hashes, blockHash, block, head, withUncle }: RichChain): Readonly<Record<string, Call>> {
  const [legacy, dynamic, creation, listed] = hashes;
  const { number } = block;
  return {
    head: ['eth_blockNumber'],
    balance: ['eth_getBalance', account, 'latest'],
    'old balance': ['eth_getBalance', account, { blockHash }],
    nonce: ['eth_getTransactionCount', account, 'latest'],
    code: ['eth_getCode', account, 'latest'],
    slot: ['eth_getStorageAt', account, slot, 'latest'],
    proof: ['eth_getProof', account, [slot], 'latest'],
    'block with transactions': ['eth_getBlockByHash', blockHash, true],
    'block with hashes': ['eth_getBlockByHash', blockHash, false],
    'block by number': ['eth_getBlockByNumber', number, true],
    'newest block': ['eth_getBlockByNumber', 'latest', false],
    'header by hash': ['eth_getHeaderByHash', blockHash],
    'header by number': ['eth_getHeaderByNumber', number],
    transaction: ['eth_getTransactionByHash', dynamic],
    'legacy transaction': ['eth_getTransactionByHash', legacy],
    'creation of a contract': ['eth_getTransactionByHash', creation],
    'transaction with an access list': ['eth_getTransactionByHash', listed],
    'transaction by place': ['eth_getTransactionByBlockHashAndIndex', blockHash, '0x1'],
    'transaction by number and place': ['eth_getTransactionByBlockNumberAndIndex', number, '0x1'],
    'place without transaction': ['eth_getTransactionByBlockHashAndIndex', blockHash, '0x9'],
    receipt: ['eth_getTransactionReceipt', dynamic],
    'receipt of a creation': ['eth_getTransactionReceipt', creation],
    receipts: ['eth_getBlockReceipts', blockHash],
    'receipts by number': ['eth_getBlockReceipts', number],
    'logs of a range': ['eth_getLogs', { fromBlock: '0x3e8', toBlock: head.number, topics: [topic] }],
    'logs of a block': ['eth_getLogs', { blockHash }],
    'number of transactions': ['eth_getBlockTransactionCountByHash', blockHash],
    'number of transactions by number': ['eth_getBlockTransactionCountByNumber', number],
    'number of uncles': ['eth_getUncleCountByBlockHash', blockHash],
    'number of uncles by number': ['eth_getUncleCountByBlockNumber', withUncle],
    uncle: ['eth_getUncleByBlockNumberAndIndex', withUncle, '0x0'],
    'no uncle': ['eth_getUncleByBlockHashAndIndex', blockHash, '0x0'],
    call: ['eth_call', { to: account }, 'latest'],
    estimate: ['eth_estimateGas', { to: account }],
    'gas price': ['eth_gasPrice'],
  };
}

const is =
  (value: unknown): Lie =>
  () =>
    value;
const altered =
  (members: object): Lie =>
  (result: Json) => ({ ...result, ...members });
/** A lie in which one element of a list has other members. */
const alteredIn =
  (index: number, members: object): Lie =>
  (list: readonly Json[]) =>
    list.map((one, at) => (at === index ? { ...one, ...members } : one));
const alteredLog =
  (members: object): Lie =>
  ({ logs, ...receipt }: { logs: readonly Json[] }) => ({
    ...receipt,
    logs: logs.map((log, at) => (at === 0 ? { ...log, ...members } : log)),
  });
const ofTransactions =
  (change: (transactions: readonly never[]) => unknown): Lie =>
  (block: Json) => ({ ...block, transactions: change(block['transactions'] as readonly never[]) });
const changed = (members: object) =>
  ofTransactions((all: readonly Json[]) => all.map((one, at) => (at === 1 ? { ...one, ...members } : one)));
const withoutLast = (list: readonly unknown[]): unknown => list.slice(0, -1);
const withoutFirst = (list: readonly unknown[]): unknown => list.slice(1);
const reversed = (list: readonly unknown[]): unknown => list.toReversed();
const doubled = (list: readonly unknown[]): unknown => [...list, list.at(-1)];

/**
 * Results that a caller gets:
 * - `truth`: the true result
 * - `member`: the result as it is, because nothing proves the member
 * - `no`: with `enforce`, the result as it is, with the label `no`; with `require`, the error `not-proven`, or the truth of another upstream
 * - `null`: the true result; with `enforce`, two that collude confirm the null of each other, with the label `no`
 * - `advice`: the result as it is, with the label `no`, also with `require`
 */
export type Outcome = 'truth' | 'member' | 'no' | 'null' | 'advice';

/** A lie of an upstream about a call. `reason`: why the outcome is not the truth, a cell of docs/measured/verify.md. */
export type LieRow = readonly [kind: string, call: string, lie: Lie, outcome?: Outcome, reason?: string];

const notHashed = 'no hash covers it';
const groupsOfNull = 'two groups confirm a null';

export const lieTable: readonly LieRow[] = [
  // Heads
  ['a head 5,000 ahead', 'head', is('0x1770')],
  ['a head behind', 'head', is('0x3e9')],
  ['the number of the newest block', 'newest block', altered({ number: '0x1770' })],
  ['an older block as the newest one', 'newest block', altered({ number: '0x3e9', hash: other })],
  // State
  ['a higher balance', 'balance', is('0xffffff')],
  ['a balance of zero', 'balance', is('0x0')],
  ['the balance of another block', 'balance', is('0x3e8')],
  ['a balance at the hash of a block', 'old balance', is('0x1')],
  ['a higher nonce', 'nonce', is('0xff')],
  ['a nonce of zero', 'nonce', is('0x0')],
  ['other code', 'code', is('0x60')],
  ['no code', 'code', is('0x')],
  ['another slot value', 'slot', is(slotValue)],
  ['an empty slot', 'slot', is(`0x${'0'.repeat(64)}`)],
  ['a balance beside its proof', 'proof', altered({ balance: '0x7' })],
  ['a nonce beside its proof', 'proof', altered({ nonce: '0x7' })],
  ['the hash of code beside its proof', 'proof', altered({ codeHash: other })],
  ['the root of the storage beside its proof', 'proof', altered({ storageHash: other })],
  ['the address of a proof', 'proof', altered({ address: stranger })],
  ['a proof of another account', 'proof', altered({ accountProof: ['0xc0'] })],
  ['a proof without nodes', 'proof', altered({ accountProof: [] })],
  [
    'the key of a slot in a proof',
    'proof',
    ({ storageProof: [one], ...proof }: { storageProof: Json[] }) => ({
      ...proof,
      storageProof: [{ ...one, key: slotValue }],
    }),
  ],
  [
    'the value of a slot in a proof',
    'proof',
    ({ storageProof: [one], ...proof }: { storageProof: Json[] }) => ({
      ...proof,
      storageProof: [{ ...one, value: '0x7' }],
    }),
  ],
  ['a proof without its slots', 'proof', altered({ storageProof: [] })],
  // Headers and blocks
  ...['parentHash', 'stateRoot', 'transactionsRoot', 'receiptsRoot', 'withdrawalsRoot', 'sha3Uncles', 'mixHash'].map(
    (name): LieRow => [`\`${name}\` of a block`, 'block with transactions', altered({ [name]: other })],
  ),
  ['`miner` of a block', 'block with hashes', altered({ miner: stranger })],
  ['`gasUsed` of a block', 'block with hashes', altered({ gasUsed: '0x7' })],
  ['`gasLimit` of a block', 'block with hashes', altered({ gasLimit: '0x7' })],
  ['`timestamp` of a block', 'block with hashes', altered({ timestamp: '0x7' })],
  ['`extraData` of a block', 'block with hashes', altered({ extraData: '0x77' })],
  ['`baseFeePerGas` of a block', 'block with hashes', altered({ baseFeePerGas: '0x77' })],
  ['an empty bloom', 'block with hashes', altered({ logsBloom: `0x${'00'.repeat(256)}` })],
  ['a member of a later fork', 'block with hashes', altered({ blobGasUsed: '0x7' })],
  ['`number` of a block', 'block by number', altered({ number: '0x3ea' })],
  ['another block with its true hash', 'block by number', altered({ hash: other })],
  ['a header by its hash', 'header by hash', altered({ stateRoot: other })],
  ['a header by its number', 'header by number', altered({ gasUsed: '0x7' })],
  ['a parent by its number', 'header by number', altered({ parentHash: other })],
  // Lists of blocks
  ['fewer hashes of transactions', 'block with hashes', ofTransactions(withoutLast)],
  ['no hashes of transactions', 'block with hashes', altered({ transactions: [] })],
  ['hashes in another order', 'block with hashes', ofTransactions(reversed)],
  ['a hash twice', 'block with hashes', ofTransactions(doubled)],
  ['another hash', 'block with hashes', ofTransactions((all) => [other, ...all.slice(1)])],
  ['fewer transactions', 'block with transactions', ofTransactions(withoutFirst)],
  ['no transactions', 'block by number', altered({ transactions: [] })],
  ['transactions in another order', 'block with transactions', ofTransactions(reversed)],
  ['the value of a transaction in a block', 'block with transactions', changed({ value: '0x7' })],
  ['the input of a transaction in a block', 'block with transactions', changed({ input: '0x77' })],
  ['the hash of a transaction in a block', 'block with transactions', changed({ hash: other })],
  ['the place of a transaction in a block', 'block with transactions', changed({ transactionIndex: '0x7' })],
  ['`v` beside `yParity` in a block', 'block with transactions', changed({ v: '0x77' })],
  [
    'the sender of a transaction in a block',
    'block with transactions',
    changed({ from: stranger }),
    'member',
    'in lists, a sender would take 1.4 ms each',
  ],
  ['withdrawals', 'block with hashes', altered({ withdrawals: [] })],
  [
    'the amount of a withdrawal',
    'block with transactions',
    altered({ withdrawals: [{ index: '0x1', validatorIndex: '0x2', address: stranger, amount: '0x3' }] }),
  ],
  ['uncles of a block that has none', 'block with hashes', altered({ uncles: [other] })],
  ['`size` of a block', 'block with hashes', altered({ size: '0x777' }), 'member', notHashed],
  ['`totalDifficulty` of a block', 'block with hashes', altered({ totalDifficulty: '0x777' }), 'member', notHashed],
  // Transactions
  ['the value of a transaction', 'transaction', altered({ value: '0x7' })],
  ['the recipient of a transaction', 'transaction', altered({ to: stranger })],
  ['the creation of a contract', 'transaction', altered({ to: null })],
  ['the recipient of a creation', 'creation of a contract', altered({ to: stranger })],
  ['the input of a transaction', 'transaction', altered({ input: '0x77' })],
  ['the gas of a transaction', 'transaction', altered({ gas: '0x77' })],
  ['the nonce of a transaction', 'transaction', altered({ nonce: '0x77' })],
  ['the fee of a transaction', 'transaction', altered({ maxFeePerGas: '0x77' })],
  ['the tip of a transaction', 'transaction', altered({ maxPriorityFeePerGas: '0x77' })],
  ['the price of a legacy transaction', 'legacy transaction', altered({ gasPrice: '0x77' })],
  ['the chain of a legacy transaction', 'legacy transaction', altered({ chainId: '0x77' })],
  ['`v` of a legacy transaction', 'legacy transaction', altered({ v: '0x77' })],
  ['the type of a transaction', 'transaction', altered({ type: '0x1' })],
  ['an access list', 'transaction with an access list', altered({ accessList: [] })],
  ['`r` of a signature', 'transaction', altered({ r: '0x77' })],
  ['`v` beside `yParity`', 'transaction', altered({ v: '0x77' })],
  ['the sender of a transaction', 'transaction', altered({ from: stranger })],
  ['the block of a transaction', 'transaction', altered({ blockHash: other })],
  ['the place of a transaction', 'transaction', altered({ transactionIndex: '0x2' })],
  [
    'a transaction as pending',
    'transaction',
    altered({ blockHash: null, blockNumber: null, transactionIndex: null }),
    'no',
    'nothing proves that one is pending',
  ],
  ['another transaction at a place', 'transaction by place', altered({ value: '0x7' })],
  ['another transaction at a place by number', 'transaction by number and place', altered({ input: '0x77' })],
  ['no transaction at a place', 'transaction by place', is(null)],
  ['`gasPrice` beside `maxFeePerGas`', 'transaction', altered({ gasPrice: '0x77' }), 'member', notHashed],
  // Receipts and logs
  ['the status of a receipt', 'receipt', altered({ status: '0x0' })],
  ['`cumulativeGasUsed` of a receipt', 'receipt', altered({ cumulativeGasUsed: '0x7' })],
  ['`gasUsed` of a receipt', 'receipt', altered({ gasUsed: '0x7' })],
  ['the price of a receipt', 'receipt', altered({ effectiveGasPrice: '0x77' })],
  ['the recipient of a receipt', 'receipt', altered({ to: stranger })],
  ['the sender of a receipt', 'receipt', altered({ from: stranger })],
  ['the block of a receipt', 'receipt', altered({ blockHash: other })],
  ['the bloom of a receipt', 'receipt', altered({ logsBloom: `0x${'00'.repeat(256)}` })],
  ['the type of a receipt', 'receipt', altered({ type: '0x0' })],
  ['a contract that a receipt did not create', 'receipt', altered({ contractAddress: stranger })],
  ['the contract that a transaction created', 'receipt of a creation', altered({ contractAddress: stranger })],
  ['no logs of a receipt', 'receipt', altered({ logs: [] })],
  ['the data of a log of a receipt', 'receipt', alteredLog({ data: slotValue })],
  ['the place of a log of a receipt', 'receipt', alteredLog({ logIndex: '0x7' })],
  ['a log of a receipt as removed', 'receipt', alteredLog({ removed: true })],
  ['the status in all receipts', 'receipts', alteredIn(1, { status: '0x0' })],
  ['the logs in all receipts', 'receipts', alteredIn(1, { logs: [] })],
  ['a contract in all receipts', 'receipts', alteredIn(2, { contractAddress: stranger })],
  ['the price in all receipts', 'receipts', alteredIn(1, { effectiveGasPrice: '0x77' })],
  ['fewer receipts', 'receipts', withoutLast as Lie],
  ['no receipts', 'receipts by number', is([])],
  [
    'the sender in all receipts',
    'receipts',
    alteredIn(1, { from: stranger }),
    'member',
    'in lists, a sender would take 1.4 ms each',
  ],
  ['a missing log', 'logs of a range', withoutLast as Lie],
  ['no logs', 'logs of a range', is([])],
  ['a log twice', 'logs of a block', doubled as Lie],
  ['logs in another order', 'logs of a block', reversed as Lie],
  ['the data of a log', 'logs of a range', alteredIn(0, { data: slotValue })],
  ['the address of a log', 'logs of a block', alteredIn(0, { address: stranger })],
  ['the topic of a log', 'logs of a block', alteredIn(0, { topics: [other] })],
  ['the transaction of a log', 'logs of a range', alteredIn(0, { transactionHash: other })],
  ['a removed log', 'logs of a range', alteredIn(0, { removed: true })],
  ['a log of another block', 'logs of a range', alteredIn(0, { blockHash: other })],
  ['no logs of a block', 'logs of a block', is([])],
  // Numbers, uncles and nulls
  ['fewer transactions as a number', 'number of transactions', is('0x3')],
  ['no transactions as a number', 'number of transactions by number', is('0x0')],
  ['a number of uncles', 'number of uncles', is('0x1')],
  ['no uncles as a number', 'number of uncles by number', is('0x0')],
  ['a member of an uncle', 'uncle', altered({ miner: stranger })],
  ['no uncle', 'uncle', is(null)],
  ['an uncle of a block that has none', 'no uncle', is({ hash: other, number: '0x3ea', parentHash: other })],
  ['no block of a hash', 'block with hashes', is(null), 'null', groupsOfNull],
  ['no block of a number', 'block by number', is(null), 'null', groupsOfNull],
  ['no transaction of a hash', 'transaction', is(null), 'null', groupsOfNull],
  ['no receipt of a hash', 'receipt', is(null), 'null', groupsOfNull],
  ['no receipts of a block', 'receipts', is(null), 'null', groupsOfNull],
  // What nothing proves
  ['the result of a call', 'call', is(other), 'no', 'nothing proves what code returns; `agree` compares upstreams'],
  ['an estimate', 'estimate', is('0x7'), 'no', 'nothing proves what code uses; `agree` compares upstreams'],
  ['a gas price', 'gas price', is('0x7'), 'advice', 'advice depends on the node'],
];

const shownOutcomes: Readonly<Record<Outcome, readonly [one: string, two: string]>> = {
  truth: ['truth', 'truth'],
  member: ['as it is', 'as it is'],
  no: ['as it is, `no`; `not-proven`', 'as it is, `no`; `not-proven`'],
  null: ['truth', 'null, `no`; truth'],
  advice: ['as it is, `no`', 'as it is, `no`'],
};

/** A lie as a row of docs/measured/verify.md. */
export function cellsOf([kind, call, , outcome = 'truth', reason = '']: LieRow): string[] {
  return [kind, call, ...shownOutcomes[outcome], reason];
}
