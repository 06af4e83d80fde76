import { request as httpRequest, Agent } from 'node:http';
import { blockHash, largeBlock } from './large-block.ts';

export interface Load {
  readonly calls: number;
  readonly wrong: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

export type What = 'word' | 'block';

const asked: Readonly<Record<What, { readonly call: string; readonly result: string }>> = {
  word: {
    call: '"method":"eth_getStorageAt","params":["0x5fbdb2315678afecb367f032d93f642f64180aa3","0x0","latest"]',
    result: '"0x000000000000000000000000000000000000000000000000000000000000002a"',
  },
  block: {
    call: `"method":"eth_getBlockByHash","params":["${blockHash}",true]`,
    result: JSON.stringify(largeBlock.transactions),
  },
};

/** Sends calls over kept-alive connections for a while, one at a time on each, and checks every answer. */
export async function load(url: string, connections: number, seconds: number, what: What = 'word'): Promise<Load> {
  const { call, result } = asked[what];
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const until = performance.now() + seconds * 1000;
  const times: number[] = [];
  let wrong = 0;
  let id = 0;
  const caller = async (): Promise<void> => {
    while (performance.now() < until) {
      const start = performance.now();
      const own = ++id;
      const answer = await post(url, agent, `{"jsonrpc":"2.0","id":${own},${call}}`);
      times.push(performance.now() - start);
      if (!answer.includes(`"id":${own},`) || !answer.includes(result)) wrong++;
    }
  };
  await Promise.all(Array.from({ length: connections }, caller));
  agent.destroy();
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.floor(times.length * share)] ?? NaN;
  return { calls: times.length, wrong, p50: at(0.5), p99: at(0.99) };
}

/** @returns the body of the answer */
export function post(url: string, agent: Agent, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': body.length };
    const sent = httpRequest(url, { method: 'POST', agent, headers }, (response) => {
      let text = '';
      response.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => {
        resolve(text);
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
