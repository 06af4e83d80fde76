import { describe, expect, it } from 'vitest';
import { classifySendRejection } from '../../gateway/upstreams/transactions/send-rules.ts';
import { ofError } from './normalised.ts';

const send = 'eth_sendRawTransaction';
const codes = [-32000, -32003, -32010, -32602, -32603, 3] as const;
const hash = `0x${'ab'.repeat(32)}`;

/** Final by the closed list, or an error about a known transaction. */
function isAboutTransaction(code: number, message: string): boolean {
  const meaning = classifySendRejection(message);
  return ofError(send, code, message).final || (meaning !== undefined && meaning !== 'may-be-known');
}

describe('an error about the transaction itself is final:', () => {
  const texts: Readonly<Record<string, readonly string[]>> = {
    nonce: [
      'nonce too low: next nonce 4, tx nonce 3',
      'nonce too high: tx nonce 9, gapped nonce 4',
      'nonce has max value',
      'Nonce too low. Expected nonce to be 4 but got 3.',
      'Transaction nonce is too low. Try incrementing the nonce.',
      'Transaction nonce is too distant from current sender nonce',
      'nonce too far in future',
      'NonceGap, Future nonce. Expected nonce: 4',
      'gapped-nonce tx from delegated accounts',
      'invalid nonce; got 3, expected 4: invalid sequence: account sequence mismatch',
      'minimum expected nonce is 5: message nonce too low',
      'transaction rejected: nonce too low',
      '[Request ID: 2e952947-ffad-408b-aed9-35f3ed152001] Nonce too low. Provided nonce: 15, current nonce: 16',
    ],
    funds: [
      'insufficient funds for gas * price + value: balance 0, tx cost 1, overshot 1',
      'INVALID: insufficient funds',
      'InsufficientFunds, Account balance: 0, cumulative cost: 1',
      'Insufficient funds. The account you tried to send transaction from does not have enough funds. Required 1 and got: 0.',
      'Upfront cost exceeds account balance',
      "Sender doesn't have enough funds to send tx. The max upfront cost is: 1 and the sender's balance is: 0.",
      'transaction overdraws from account, balance: 0, cost: 1',
      'not enough balance to cover the fee. balance: 0, fee: 1, value: 1',
      'negative value',
    ],
    price: [
      'transaction underpriced: gas tip cap 0, minimum needed 1',
      'transaction gas price below minimum: gas tip cap 0, minimum needed 1',
      'replacement transaction underpriced: new tx gas fee cap 1 <= 2 queued',
      'FEE_TOO_LOW: underpriced',
      'INTERNAL_ERROR: replacement transaction underpriced',
      'could not replace existing tx',
      'Gas price below configured minimum gas price',
      "Gas price '1' is below configured minimum gas price '2'",
      'Transaction gas price 1wei is too low. There is another transaction with same nonce in the queue.',
      "Transaction gas price is too low. It does not satisfy your node's minimal gas price (minimal: 2, got: 1).",
      'FeeTooLow, MaxFeePerGas too low. MaxFeePerGas: 1, BaseFee: 2',
      'max fee per gas less than block base fee: address 0xaa, maxFeePerGas: 1, baseFee: 2',
      'max priority fee per gas higher than max fee per gas',
      'Max priority fee per gas exceeds max fee per gas',
      'tx fee (1.20 ether) exceeds the configured cap (1.00 ether)',
      'transaction feeCap 6 below chain minimum',
      'insufficient fee: got: 1 required: 2',
      'An existing transaction had higher priority',
    ],
    gas: [
      'intrinsic gas too low: gas 20000, minimum needed 21000',
      'IntrinsicGas',
      'insufficient gas for floor data gas cost: gas 1, minimum needed 2',
      'exceeds block gas limit',
      'transaction gas limit too high (cap: 16777216, tx: 30000000)',
      "transaction's gas limit 2 exceeds block's gas limit 1",
      'Transaction gas limit exceeds block gas limit',
      'Transaction gas limit is 60000001 and exceeds block gas limit of 60000000',
      'gas limit is too high',
      'gas limit reached',
      'Transaction gas is too low. There is not enough gas to cover minimal cost of the transaction (minimal: 2, got: 1).',
      'Transaction cost exceeds current gas limit. Limit: 1, got: 2. Try decreasing supplied gas.',
      "failed to forward tx to sequencer, please try again. Error message: 'intrinsic gas too low'",
    ],
    size: [
      'oversized data: transaction size 131073, limit 131072',
      'INVALID: oversized data',
      'Transaction is too big, see chain specification for the limit.',
      'transaction too large',
      'MaxTxSizeExceeded, tx size is 131073, maximum is 131072',
      'max initcode size exceeded: code size 49153 limit 49152',
      'RLPTooLong',
      'transaction blob limit exceeded: blob count 7, limit 6',
    ],
    type: [
      'transaction type not supported',
      'transaction type not supported: type 3 rejected, pool not yet in Cancun',
      'NotSupportedTxType, Blob',
      'unsupported transaction type',
      'Invalid transaction type',
      'fork supporting this transaction type is not activated yet',
      'Transaction type is not enabled for current block',
      'blobless blob transaction',
      'missing sidecar in blob transaction',
      'KZG verification error: wrong proof',
      'set code tx must have at least one authorization tuple',
      'EIP-7702 transactions with an empty authorization list are invalid',
    ],
    'chain id': [
      'invalid chain id for signer: have 5 want 1',
      'invalid chain ID',
      'Wrong chainId',
      'ChainId is required',
      'ChainId not supported',
      'ChainId (0x5) not supported. The correct chainId is 0x127',
      'Invalid chain id.',
      'invalid EVM chain ID: expect chainID = 4689, got 1',
      'Trying to send a raw transaction with an invalid chainId. The expected chainId is 31337',
      'only replay-protected (EIP-155) transactions allowed over RPC',
    ],
    'signature, sender': [
      'invalid sender',
      'invalid sender: invalid transaction v, r, s values',
      'invalid transaction v, r, s values',
      'Invalid signature',
      'invalid transaction signature',
      'sender not an eoa',
      'sender not an eoa: address 0xaa, len(code): 3',
      'SenderIsContract, Sender is contract',
      'FailedToResolveSender',
      'failed to recover sender',
      'Transaction sender is not an EOA (see EIP-3607)',
    ],
    'malformed bytes': [
      'rlp: expected input list for types.LegacyTx',
      'typed transaction too short',
      'failed to decode signed transaction',
      'empty transaction data',
      'Invalid RLP.',
      'Invalid, transaction is malformed',
      'transaction could not be decoded: unexpected end',
    ],
    known: [
      'already known',
      'AlreadyKnown',
      'ALREADY_EXISTS: already known',
      'INTERNAL_ERROR: existing txn with same hash',
      'already imported',
      `[${hash}]: already imported`,
      'Known transaction',
      'transaction already exists',
      'tx already in mempool',
      'rpc error: code = Unknown desc = tx already in mempool',
    ],
    'the EVM': [
      'VM Exception while processing transaction: revert rate limit exceeded',
      'execution reverted',
      'out of gas',
    ],
  };

  it.each(Object.entries(texts))('%s', (_, messages) => {
    for (const text of messages)
      for (const code of codes) expect(isAboutTransaction(code, text), `${code} ${text}`).toBe(true);
  });

  it.each(['nonce too low', 'invalid sender', 'oversized data'])('after a hash, as reth writes it: %s', (text) => {
    expect(isAboutTransaction(-32000, `[${hash}]: ${text}`)).toBe(true);
  });
});

describe('any other rejection concerns the node or its provider:', () => {
  it.each([
    // Parameters, which the gateway has accepted: an older Besu cannot decode a newer type.
    'Invalid params',
    'Invalid transaction params (missing or incorrect)',
    'invalid argument 0: unexpected type',
    // Pools.
    'txpool is full',
    'INTERNAL_ERROR: pending sub-pool is full',
    'INTERNAL_ERROR: queued sub-pool is full',
    'blobs limit in txpool is full',
    'transaction pool is full',
    'There are too many transactions in the queue. Your transaction was dropped due to limit. Try increasing the fee.',
    'transaction discarded outright due to pool size constraints',
    'Transaction pool not enabled. (Either txpool explicitly disabled, or node not yet in sync).',
    'transaction pool disabled',
    'account limit exceeded: pooled 64 txs',
    'address already reserved',
    'in-flight transaction limit reached for delegated accounts',
    'INTERNAL_ERROR: spammer',
    'rejected due to 0x1111111111111111111111111111111111111111 being identified as a spammer',
    'Sender is banned in local queue.',
    'mempool is full',
    'Plugin has marked the transaction as not acceptable by the transaction pool',
    'rejected',
    // Nodes.
    'node is syncing',
    'Syncing',
    'Initial sync is still in progress',
    'chain is not synced',
    'failed to forward tx to sequencer: dial tcp 10.0.0.7:8545: connect: connection refused',
    "failed to forward tx to sequencer, please try again. Error message: 'connection refused'",
    'sequencer is not reachable',
    'context deadline exceeded',
    'EOF',
    'database is closed',
    'Internal error',
    'timed out',
    // Proxies.
    'no backends available for method',
    'no backend is currently healthy to serve traffic',
    'connection refused',
    '404 page not found',
    'Not Found',
    'method eth_sendRawTransaction is not allowed on this endpoint',
    'eth_sendRawTransaction is disabled',
    'transaction submission is disabled',
    'This endpoint is read-only',
    // Providers.
    'rate limit exceeded',
    'You have sent too many transactions, slow down',
    'daily transaction quota used up',
    'Your plan does not include eth_sendRawTransaction',
    'upgrade your plan to send transactions',
    'invalid API key',
    'API key not found',
    'Unauthorized',
    'compute units exhausted',
    'insufficient credits',
    'insufficient balance: top up your account',
    'account suspended',
    'transaction rejected: rate limit',
    'transaction relay is not available in your region',
    'bundle not accepted',
    'never heard of',
    '',
  ])('%s', (text) => {
    for (const code of [...codes, -32005, -32015, -32601, 429]) {
      if (code === -32601 && text === '') continue;
      expect(isAboutTransaction(code, text), String(code)).toBe(false);
    }
  });
});
