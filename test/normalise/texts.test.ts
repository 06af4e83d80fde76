import { describe, expect, it } from 'vitest';
import { methods } from '../../gateway/spec/methods.generated.ts';
import { normalise } from '../../gateway/normalise/normalise.ts';
import { finalResult, failed, finalError, hash, ofError, specOf } from './normalised.ts';
import { cpuTimeOf } from '../support/cpu-time.ts';

const lookups = [
  'eth_getBlockByHash',
  'eth_getUncleByBlockHashAndIndex',
  'eth_getTransactionByBlockHashAndIndex',
  'eth_getTransactionReceipt',
  'eth_getTransactionByHash',
  'eth_getBlockReceipts',
];

describe('missing data in a database or proxy does not prove that an object does not exist:', () => {
  const texts: (readonly [number, string, unknown?])[] = [
    // Databases.
    [-32000, 'pebble: not found'],
    [-32000, 'leveldb: not found'],
    [-32000, 'Key not found'],
    [-32000, 'badger: key not found'],
    [-32000, 'mdbx_get: MDBX_NOTFOUND: No matching key/data pair found'],
    [-32000, 'rocksdb: column family not found'],
    [-32000, 'database: record not found in shard 3'],
    [-32603, 'storage error: transaction not found'],
    [-32000, 'cache: receipt not found'],
    [-32000, 'Internal error: block not found'],
    [-32000, 'Database error', 'transaction not found'],
    [-32603, 'storage failure', { code: -32001, message: 'Resource not found' }],
    [-32000, 'body not found for block 19000000, 5ac1f2'],
    [-32000, 'header not found for block 19000000, 5ac1f2'],
    [-32000, 'block body not found'],
    [-32000, 'receipts not found'],
    [-32000, 'canonical hash not found for block 12'],
    [-32000, 'could not find results for height #396892'],
    [-32603, 'could not find block results for height 12'],
    [-32001, 'Block 171774030 cleaned up, does not exist on node. First available block: 176896202'],
    [-32000, 'transaction not found in index (pruned)'],
    [-32000, 'transaction not found (index is being built)'],
    [-32000, 'block not found in ancient store'],
    [-32000, 'unknown block: snapshot is not ready'],
    [-32000, `getReceipts error: transaction not found`],
    [-32000, 'state trie does not exist'],
    [-32000, 'no such block in the freezer'],
    // Proxies and routers.
    [-32601, 'Resource not found'],
    [404, 'Not Found'],
    [404, 'Resource not found'],
    [-32000, '404 page not found'],
    [-32000, '404 Not Found: Resource not found'],
    [-32000, 'The requested URL was not found on this server'],
    [-32000, 'route not found'],
    [-32000, 'Project not found'],
    [-32000, 'API key not found'],
    [-32000, 'no upstream found for network 1'],
    [-32000, 'Application not found'],
    [-32000, 'dial tcp: lookup node-3: no such host'],
  ];

  const cases = texts.map(([code, message, data]) => ({ code, message, data }));

  it.each(cases)('$code $message $data', ({ code, message, data }) => {
    for (const method of lookups) {
      const { final, ...outcome } = ofError(method, code, message, data);
      expect({ method, final }).toEqual({ method, final: false });
      // `not-found` becomes null if no upstream has the object.
      expect(outcome).not.toMatchObject({ failure: 'not-found' });
    }
  });

  it.each([401, 403, 404, 410, 500, 502])('and no text with HTTP %i does', (status) => {
    for (const message of ['Resource not found', 'transaction not found', 'block not found', 'Not Found']) {
      const response = { kind: 'error', code: -32000, message, data: undefined, status } as const;
      for (const method of lookups) {
        const { final, ...outcome } = normalise(specOf(method), [], response);
        expect({ method, message, final }).toEqual({ method, message, final: false });
        expect(outcome).not.toMatchObject({ failure: 'not-found' });
      }
    }
  });
});

describe('the general "not found" is node state', () => {
  it.each(['pebble: not found', 'body not found for block 12, ab', 'Not Found', 'index out of bounds'])(
    '%s',
    (text) => {
      for (const method of [...lookups, 'eth_getBalance', 'eth_getLogs']) {
        expect(ofError(method, -32000, text), method).toMatchObject(failed('node-state'));
      }
    },
  );
});

describe('an error for an object that does not exist is null:', () => {
  it.each([
    [-32001, 'Resource not found'],
    [-32001, '[Request ID: 4f43afe1-de8b-4db7-b58d-ad733858c7af] Requested resource not found. '],
    [-32000, 'transaction not found'],
    [-32000, `transaction ${hash('a')} not found`],
    [-32000, `Transaction not found: ${hash('a')}`],
    [-32604, 'Record not found'],
    [-32000, `Error: transaction hash not found (txHash="${hash('a')}", code=UNKNOWN_ERROR, version=x)`],
  ])('%i %s', (code, message) => {
    expect(ofError('eth_getTransactionReceipt', code, message)).toEqual(finalResult(null));
    expect(ofError('eth_getTransactionReceipt', -32603, 'Internal JSON-RPC error.', { code, message })).toEqual(
      finalResult(null),
    );
  });

  it('an uncle, with nethermind up to 1.14', () => {
    for (const method of ['eth_getUncleByBlockHashAndIndex', 'eth_getUncleByBlockNumberAndIndex']) {
      expect(ofError(method, -32602, 'Position Index is incorrect')).toEqual(finalResult(null));
      expect(ofError(method, -32001, `${hash('a')} could not be found`)).toEqual(finalResult(null));
      expect(ofError(method, -32001, '4294967295 could not be found')).toMatchObject(failed('node-state'));
    }
    expect(ofError('eth_getBalance', -32001, `${hash('a')} could not be found`)).toMatchObject(failed('unknown'));
  });
});

describe('a limit of a provider is not final, with any code:', () => {
  const texts = [
    'query block range exceeds server limit, narrow your filter: 5',
    'query exceeds max block range 5000',
    'query exceeds max results 20000, retry with the range 1-2',
    'exceed maximum block range 50000',
    'exceed max addresses or topics per search position',
    'block range is bigger than maxBlockRange',
    'block range is larger than max block range, block range = 5120, max block range = 5000',
    'block range is too wide (maximum 1024)',
    'requested too many blocks from 0 to 5000, maximum is set to 2048',
    'logs are limited to 10000',
    'eth_getLogs is limited to a 5 range, upgrade from discover plan to increase the limit',
    'eth_getLogs and eth_newFilter are limited to a 10,000 blocks range',
    'ranges over 10000 blocks are not supported on freetier',
    'Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range.',
    'Block range limit exceeded. See more details at https://docs.example/limits#evm-range-limits.',
    "Invalid eth_getLogs request. 'fromBlock'-'toBlock' range too large. Max range: 800",
    'maximum [from, to] blocks distance: 10000',
    'Log response size exceeded. this block range should work: [0x0, 0x1]',
    'Requested range exceeds maximum RPC range limit',
    'please limit the query to at most 1000 blocks',
    'The block range of this query is not in your plan: at most 500',
    'Too many results, try paginating',
    'specify less number of addresses: at most 20',
    'This query contains 6000 filters. The current limit is 5000.',
    'Exceeded maximum block range: 1000',
    'logs over more than 2000 blocks need a paid plan',
  ];

  it.each(texts)('%s', (text) => {
    for (const code of [-32602, -32600, -32000, -32614, -32005, 35]) {
      expect(ofError('eth_getLogs', code, text), String(code)).toMatchObject(failed('too-large'));
    }
    expect(ofError('eth_getLogs', -32602, 'Invalid params', text)).toMatchObject(failed('too-large'));
    expect(ofError('eth_getLogs', -32602, 'invalid params', { message: text })).toMatchObject(failed('too-large'));
  });

  it.each([
    'invalid block range params',
    'invalid topic(s)',
    "can't specify fromBlock/toBlock with blockHash",
    'fromBlock is greater than toBlock',
    'cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other',
  ])('but an invalid filter is an unknown error: %s', (text) => {
    expect(ofError('eth_getLogs', -32602, text)).toMatchObject(failed('unknown'));
  });

  it.each([
    'block range extends beyond current head block',
    'block range extends beyond current head block: requested 12, head 11',
    'toBlock exceeds latest block',
    'block number is greater than the latest height',
    'request beyond head block: requested 2, head 1',
  ])('and a future block is no-block: %s', (text) => {
    for (const code of [-32602, -32000]) {
      expect(ofError('eth_getLogs', code, text)).toMatchObject(failed('no-block'));
    }
  });
});

describe('a plan, a quota or the gateway’s key, in unrecorded texts:', () => {
  it.each([
    ['quota', 'Your plan limit has been reached'],
    ['quota', 'credits exhausted for this account'],
    ['quota', 'Out of credits: please top up'],
    ['quota', 'Please upgrade your plan to continue'],
    ['quota', 'The free trial expired'],
    ['unsupported', 'This method is not available on the free tier'],
    ['unsupported', 'eth_getStorageAt is not included in your current plan'],
    ['auth', 'The API key is not valid for this chain'],
    ['auth', 'Token is invalid'],
    ['auth', 'Origin not in whitelist'],
    ['auth', 'API key not found'],
    ['rate', 'request throttled'],
    ['rate', 'You may make 25 requests per second'],
    ['transport', 'no healthy upstream'],
    ['transport', 'No available nodes for this chain'],
    ['transport', 'all providers failed'],
  ] as const)('%s: %s', (failure, text) => {
    for (const code of [-32602, -32000, -32603]) {
      for (const method of ['eth_getStorageAt', 'eth_getLogs', 'eth_getTransactionByHash']) {
        expect(ofError(method, code, text), method).toMatchObject(failed(failure));
      }
    }
  });
});

describe('-32602 is not final, because the gateway has checked the parameters:', () => {
  it.each([
    'Your plan does not support archive requests',
    'free tier limit reached',
    'Archive node required',
    'request timeout',
    'invalid params: this block is not available',
  ])('%s', (text) => {
    for (const method of ['eth_call', 'eth_estimateGas', 'eth_getBalance', 'eth_getLogs']) {
      expect(ofError(method, -32602, text), method).toMatchObject({ final: false });
    }
  });

  it.each([
    'limit exceeded',
    'eth_getLogs requests are restricted to paid users',
    'Please specify an address in your request or, to remove restrictions, order a dedicated full node here',
  ])('for eth_getLogs, too: %s', (text) => {
    expect(ofError('eth_getLogs', -32602, text)).toMatchObject(failed('too-large'));
  });

  it.each(['invalid argument 0: hex string without 0x prefix', 'missing value for required argument 0'])(
    'it is unknown if it concerns the parameters: %s',
    (text) => {
      for (const method of ['eth_call', 'eth_getBalance', 'eth_getLogs']) {
        expect(ofError(method, -32602, text), method).toMatchObject(failed('unknown'));
      }
    },
  );
});

describe('a node that has only the newest state', () => {
  it.each(['QUANTITY not supported, just support TAG as latest', 'TAG [earliest | pending | finalized] not supported'])(
    'is an upstream failure: %s',
    (text) => {
      for (const method of ['eth_getBalance', 'eth_getStorageAt', 'eth_call', 'eth_estimateGas']) {
        expect(ofError(method, -32602, text), method).toMatchObject(failed('node-state'));
      }
    },
  );
});

describe('an error about a transaction of the chain is not final for a read', () => {
  it.each([
    'getReceipts error: could not apply tx 0: insufficient funds for gas * price + value: have 1 want 2',
    'getReceipts error: nonce too low: address 0x1, tx: 1 state: 2',
    'getReceipt error: intrinsic gas too low',
    'nonce too low',
    'out of gas',
    'insufficient funds for transfer',
    'invalid opcode: INVALID',
  ])('%s', (text) => {
    for (const { name, reverts, executes, sends, handledBy: by } of methods) {
      if (reverts || executes === true || sends === true || by !== undefined) continue;
      expect(ofError(name, -32000, text), name).toMatchObject({ final: false });
    }
  });

  it('but it is final for methods that execute code', () => {
    for (const method of ['eth_call', 'eth_estimateGas', 'eth_createAccessList', 'eth_simulateV1']) {
      expect(ofError(method, -32000, 'nonce too high: tx 9, state 1')).toMatchObject({ final: true });
    }
  });
});

describe('with code -32015', () => {
  it.each([
    'execution timeout',
    'execution timed out',
    'context deadline exceeded',
    'deadline exceeded',
    'timeout',
    'node is syncing',
    'Node is still syncing',
    'the node is not yet synced',
    'node is catching up',
  ])('a timeout or a sync is node state, not a revert: %s', (text) => {
    for (const method of ['eth_estimateGas', 'eth_call', 'zks_estimateFee', 'eth_getStorageAt']) {
      const outcome = ofError(method, -32015, text);
      expect(outcome, method).toMatchObject(failed('node-state'));
      expect(outcome.response, method).toMatchObject({ code: -32015, message: text });
    }
  });

  it.each([
    ['rate', 'over rate limit'],
    ['rate', 'Too many requests'],
    ['rate', 'server is busy'],
    ['transport', 'gateway timeout'],
    ['transport', 'backend offline'],
    ['quota', 'Monthly capacity limit exceeded'],
    ['node-state', 'missing trie node 5ac1 (path ) <nil>'],
  ] as const)('a known text keeps its class, %s: %s', (failure, text) => {
    const outcome = ofError('eth_estimateGas', -32015, text);
    expect(outcome).toMatchObject(failed(failure));
    expect(outcome.response).toMatchObject({ code: -32015 });
  });

  it.each([
    'Internal server error',
    'connection refused',
    'The node is overloaded',
    'block is not available',
    'The operation was canceled.',
    'max concurrency exceeded',
    'server busy',
    'not synced',
    'capacity exceeded',
    'backend timeout',
    'gas estimation timed out',
    'not enough peers',
  ])('%s is not taken for a contract’s reason', (message) => {
    expect(ofError('eth_estimateGas', -32015, message)).toMatchObject({
      final: false,
      response: { code: -32015, message },
    });
  });

  it('an execution error of parity is not taken for a contract’s reason', () => {
    const message = 'Transaction execution error.';
    expect(ofError('eth_estimateGas', -32015, message)).toMatchObject({
      ...failed('unknown'),
      response: { code: -32015, message },
    });
    const data = 'NotEnoughCash { required: 21000, got: 0 }';
    expect(ofError('eth_estimateGas', -32015, message, data)).toEqual(finalError(-32015, message));
    expect(ofError('eth_estimateGas', -32015, message, 'Internal("trie is gone")')).toMatchObject(failed('unknown'));
  });

  it('an unknown text is a guessed revert for eth_estimateGas, and unknown for other methods', () => {
    expect(ofError('eth_estimateGas', -32015, 'mv')).toMatchObject({
      ...failed('unknown'),
      response: { code: 3, message: 'execution reverted: mv' },
      followUp: { method: 'eth_call' },
    });
    for (const method of ['eth_call', 'zks_estimateFee', 'eth_createAccessList', 'eth_getStorageAt']) {
      expect(ofError(method, -32015, 'mv'), method).toMatchObject({
        ...failed('unknown'),
        response: { code: -32015, message: 'mv' },
      });
    }
  });
});

it('a failed simulation of IoTeX is final', () => {
  const message = 'execution simulation failed: status = 101';
  expect(ofError('eth_estimateGas', 13, message)).toEqual(finalError(-32000, message));
  expect(ofError('eth_estimateGas', -32000, message)).toMatchObject(failed('unknown'));
});

it('an unpaid plan is not an error about the sender’s funds', () => {
  for (const text of ['insufficient balance, please top up your account', 'Insufficient funds: upgrade your plan']) {
    for (const method of ['eth_call', 'eth_estimateGas', 'eth_sendRawTransaction']) {
      expect(ofError(method, -32000, text), text).toMatchObject({ final: false });
    }
  }
});

it('a database failure inside the EVM is not a halt', () => {
  expect(ofError('eth_call', -32603, 'EVM error: Database(disk is full)')).toMatchObject({ final: false });
  expect(ofError('eth_call', -32603, 'EVM error: OutOfGas(Basic)')).toMatchObject({ final: true });
});

it('reads a long text of an upstream in linear time', () => {
  const text = `transaction not found${' '.repeat(200_000)}x`;
  // With a quadratic pattern, half a minute.
  expect(cpuTimeOf(() => ofError('eth_getTransactionReceipt', -32_000, text))).toBeLessThan(5_000);
});

it.each(['Node is down', 'no healthy upstream', 'limit exceeded', 'resource exhausted', 'upgrade your plan'])(
  'under -32015, %s is no revert reason',
  (text) => {
    expect(ofError('eth_estimateGas', -32_015, text).response).not.toMatchObject({ code: 3 });
  },
);

it.each([
  'invalid transaction: rate limit',
  'insufficient funds in your account, please recharge',
  'transaction size limit of your plan',
  'Invalid, api key not valid',
])('of a transaction, %s is not final: it is about the provider', (text) => {
  expect(ofError('eth_sendRawTransaction', -32_000, text).final).toBe(false);
});

it('an unknown range limit of eth_getLogs is not taken for a missing block', () => {
  const outcome = ofError('eth_getLogs', -32_000, 'block range exceeds block number limit 1024');
  expect(outcome).not.toMatchObject({ failure: 'no-block' });
});
