import type { ProbeClient } from './probe-client.ts';

const zeroAddress = `0x${'0'.repeat(40)}`;

/** Methods of the spec that some nodes do not support, with cheap parameters. */
const probeParams: Readonly<Record<string, (head: string) => unknown[]>> = {
  eth_getLogs: (head) => [{ fromBlock: head, toBlock: head, address: zeroAddress }],
  eth_getBlockReceipts: (head) => [head],
  eth_getUncleCountByBlockNumber: (head) => [head],
  eth_getProof: () => [zeroAddress, [], 'latest'],
  eth_createAccessList: () => [{ from: zeroAddress, to: zeroAddress }, 'latest'],
  eth_feeHistory: () => ['0x1', 'latest', []],
  eth_blobBaseFee: () => [],
  zks_L1ChainId: () => [],
};

export interface MethodFindings {
  readonly served: readonly string[];
  readonly lacking: readonly string[];
}

/**
 * Finds out which of a network's methods an upstream supports: the methods above and pass-through methods. A method that
 * fails for another reason is in neither list.
 * @param head number of the newest block, as a quantity
 */
export async function probeMethods(
  client: ProbeClient,
  methods: readonly string[],
  head: string,
): Promise<MethodFindings> {
  const served: string[] = [];
  const lacking: string[] = [];
  for (const method of methods) {
    const params = probeParams[method]?.(head) ?? passThroughParams(method);
    if (params === undefined) continue;
    const probed = await client.request(method, params);
    if (!('failure' in probed)) served.push(method);
    else if (probed.failure === 'unsupported') lacking.push(method);
    // An error about parameters proves that the method is supported.
    else if (probed.failure === 'error' || probed.failure === 'unknown') served.push(method);
  }
  return { served, lacking };
}

/** No parameters: an error about them suffices. Only methods whose name suggests a read are sent. */
function passThroughParams(method: string): unknown[] | undefined {
  return /^(?!eth_|net_|web3_|zks_)[a-z0-9]+_(get|trace|block|transaction)/.test(method) ? [] : undefined;
}
