import type { AllowedDifference, Json } from './compare-outcomes.ts';

const uncleMethods = [
  'eth_getUncleByBlockHashAndIndex',
  'eth_getUncleByBlockNumberAndIndex',
  'eth_getUncleCountByBlockHash',
  'eth_getUncleCountByBlockNumber',
];

const blockMethods = [
  'eth_getBlockByHash',
  'eth_getBlockByNumber',
  'eth_getUncleByBlockHashAndIndex',
  'eth_getUncleByBlockNumberAndIndex',
];

const bundlerMethods = [
  'eth_sendUserOperation',
  'eth_estimateUserOperationGas',
  'eth_getUserOperationByHash',
  'eth_getUserOperationReceipt',
  'eth_supportedEntryPoints',
];

/** Places where the gateway's bytes differ from the node's, and what requires it. Each row must apply at least once in a run. */
export const onEveryNode: readonly AllowedDifference[] = [
  {
    methods: ['eth_accounts'],
    at: /^\.result$/,
    fits: (node, gateway) => Array.isArray(node) && Array.isArray(gateway) && gateway.length === 0,
    reason: 'The gateway holds no private keys.',
  },
  {
    methods: ['web3_clientVersion'],
    at: /^\.result$/,
    fits: (_, gateway) => typeof gateway === 'string' && gateway.startsWith('Gatehouse/'),
    reason: 'The gateway responds itself: the version of the node is not shown to clients.',
  },
  {
    methods: ['eth_newFilter', 'eth_newBlockFilter', 'eth_newPendingTransactionFilter'],
    at: /^\.result$/,
    fits: (node, gateway) => isQuantity(node) && isQuantity(gateway),
    reason: 'Filters are the gateway’s, so that they outlive an upstream: the id is its own.',
  },
  {
    methods: ['eth_subscribe'],
    at: /^\.result$/,
    fits: (node, gateway) => isQuantity(node) && isQuantity(gateway),
    reason: 'Subscriptions are the gateway’s, so that they outlive an upstream: the id is its own.',
  },
];

export const onAnvil: readonly AllowedDifference[] = [
  {
    methods: ['rpc_modules'],
    at: /^\.(result|error)$/,
    fits: (_, gateway) => gateway === undefined || isModules(gateway),
    reason:
      'The gateway responds itself: the namespaces that the network serves. anvil 1.7.1 does not have the method.',
  },
  {
    at: /^\.error\.message$/,
    fits: (node, gateway) =>
      node === 'Method not found' &&
      typeof gateway === 'string' &&
      gateway.endsWith(' does not exist/is not available'),
    reason: 'An unsupported method is the error -32601 with geth’s text. anvil 1.7.1: `Method not found`.',
  },
  {
    methods: [...uncleMethods, 'eth_getBlockTransactionCountByNumber'],
    at: /^\.(error|result)$/,
    fits: (node, gateway) => isNotFound(node) || (node === undefined && gateway === null),
    reason: '“Not found” is null, never an error. anvil 1.7.1 has -32001 and -32602.',
  },
  {
    methods: ['eth_getTransactionReceipt', 'eth_getBlockReceipts'],
    at: /^\.result(\[\])?\.blockTimestamp$/,
    fits: (node, gateway) => node === `number ${Number(gateway)}`,
    reason: 'A quantity is 0x-hex (specification). anvil 1.7.1 writes a JSON number here.',
  },
  {
    methods: ['eth_call', 'eth_estimateGas', 'eth_createAccessList', 'eth_fillTransaction'],
    at: /^\.error\.message$/,
    fits: (node, gateway) =>
      (isText(node, 'execution reverted: panic: ') && isText(gateway, 'execution reverted: ')) ||
      (isText(node, 'execution reverted: custom error 0x') && gateway === 'execution reverted'),
    reason: 'The decoded reason follows `execution reverted`. anvil 1.7.1 puts a prefix before it.',
  },
  {
    methods: ['eth_subscribe', 'eth_unsubscribe'],
    at: /^\.error\.(code|message)$/,
    fits: (node, gateway) => node === 'Method not found' || (node === 'number -32601' && gateway === 'number -32000'),
    reason: 'The errors of geth over HTTP. anvil 1.7.1: -32601 `Method not found`.',
  },
  {
    methods: ['eth_subscribe'],
    at: /^\.error\.(code|message)$/,
    fits: (node, gateway) =>
      isText(node, 'data did not match any variant') || (node === 'number -32602' && gateway === 'number -32601'),
    reason: 'An unknown kind of subscription gets the error of geth. anvil 1.7.1: `data did not match any variant …`.',
  },
  {
    methods: ['eth_getFilterChanges'],
    at: /^\.result$/,
    fits: (_, gateway) => Array.isArray(gateway) && gateway.length === 0,
    reason: 'Changes are those since the filter was made. anvil 1.7.1 gives all logs of the range at the first poll.',
  },
];

export const onGeth: readonly AllowedDifference[] = [
  {
    methods: ['eth_getAccountInfo', 'eth_getBlockAccessList', ...bundlerMethods],
    at: /^\.error\.message$/,
    fits: (node, gateway) => isText(node, 'the method ') && isText(gateway, 'The method '),
    reason: 'An unsupported method is the error -32601 in the words of docs/errors.md.',
  },
  {
    methods: blockMethods,
    at: /^\.result\.totalDifficulty$/,
    fits: (node, gateway) => node === undefined && gateway === null,
    reason:
      '`totalDifficulty` is null: the specification names it and does not call it optional. geth 1.17.5 has none.',
  },
];

/** Differences in the conversations of execution-apis only, some of which send invalid parameters. */
export const inConversations: readonly AllowedDifference[] = [
  {
    at: /^\.error\.message$/,
    fits: (_, gateway) => isText(gateway, 'invalid params: '),
    reason: 'Parameters are rejected in the words of docs/errors.md.',
  },
  {
    methods: ['eth_getStorageAt'],
    at: /^\.(result|error)$/,
    fits: (node, gateway) => isText(node, '0x') || (node === undefined && isMissingBlock(gateway)),
    reason: 'eth_getStorageAt requires its block parameter.',
  },
];

function isModules(value: Json): boolean {
  return typeof value === 'object' && value !== null && Object.values(value).every((version) => version === '1.0');
}

function isQuantity(value: Json | undefined): boolean {
  return typeof value === 'string' && /^0x[0-9a-f]+$/.test(value);
}

function isText(value: Json | undefined, start: string): boolean {
  return typeof value === 'string' && value.startsWith(start);
}

/** anvil's errors for a block that does not exist. */
function isNotFound(value: Json | undefined): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const { code, message } = value as { readonly [name: string]: Json };
  return code === 'number -32001' || (code === 'number -32602' && isText(message, 'BlockOutOfRangeError: '));
}

function isMissingBlock(value: Json | undefined): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const { message } = value as { readonly [name: string]: Json };
  return isText(message, 'invalid params: block: ');
}
