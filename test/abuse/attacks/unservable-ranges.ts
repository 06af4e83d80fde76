import { startHttpNode } from '../processes/http-node.ts';
import { sendInTurn } from '../processes/requests.ts';
import { hostileNetwork, type Attack } from './attack.ts';

const CONNECTIONS = 16;
const ITEMS = 50;
const BLOCKS = 1_900_000;
const UPSTREAM_BLOCKS = 10;
/** Requests by which a call finds how many blocks the upstream allows, if no other call has found it. */
const MAX_REQUESTS_PER_CALL = 20;
/** Both workers know the width after the first calls. */
const LEARNING_CALLS = 1_000;

/** The attacker is the only upstream of another network, and calls it with its key. */
export const unservableRanges: Attack = {
  name: 'ranges that cannot be served',
  sends: `16 connections of one key, 8 with one \`eth_getLogs\` of 1.9 million blocks after the other, and 8 with batches of 50 of them; the upstream allows ${UPSTREAM_BLOCKS} blocks`,
  bound: 'a range of more than 1,000 parts is rejected without a request once the width of a part is known',
  ...{ seconds: 6, key: {}, isUpstream: ['http'], isUnmeasured: true },
  atLeast: { connections: CONNECTIONS, bytes: 1_000_000 },
  start(target, traffic) {
    let [calls, requests] = [0, 0];
    startHttpNode(target.upstreamPort, hostileNetwork.chainId, traffic, ({ id, method, params: [filter] = [] }) => {
      if (method !== 'eth_getLogs') return [JSON.stringify({ jsonrpc: '2.0', id, result: null })];
      if (++requests > MAX_REQUESTS_PER_CALL * Math.min(calls, LEARNING_CALLS))
        traffic.violation(`more than ${MAX_REQUESTS_PER_CALL} upstream requests for each of the first calls`);
      const { fromBlock, toBlock } = filter as { fromBlock: string; toBlock: string };
      if (Number(toBlock) - Number(fromBlock) < UPSTREAM_BLOCKS)
        return [JSON.stringify({ jsonrpc: '2.0', id, result: [] })];
      const message = `query exceeds max block range ${UPSTREAM_BLOCKS}`;
      return [JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32_005, message } })];
    });
    const [, , , key = ''] = target.path.split('/');
    const path = `/${hostileNetwork.slug}/v3/${key}`;
    const one = (): string => {
      const id = ++calls;
      const [from, to] = [id % 50_000, (id % 50_000) + BLOCKS].map((block) => `0x${block.toString(16)}`);
      return JSON.stringify({ jsonrpc: '2.0', id, method: 'eth_getLogs', params: [{ fromBlock: from, toBlock: to }] });
    };
    const batch = (): string => `[${Array.from({ length: ITEMS }, one).join()}]`;
    for (let connection = 0; connection < CONNECTIONS; connection++) {
      const body = connection % 2 === 0 ? one : batch;
      void sendInTurn({ target: { ...target, path }, traffic, body, everyMs: 0 });
    }
  },
};
