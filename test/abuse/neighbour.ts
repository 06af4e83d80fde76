import { Agent, request } from 'node:http';
import { addresses, upstreamCapacity } from './attacks/attack.ts';
import { scenarioPause } from '../support/scenario-pause.ts';

/** A caller with another key than the attacker's. It sends one lookup after the other on one connection. */
export interface Neighbour {
  /**
   * Sends lookups for this time, and at least one.
   * @param cpuWaitMs the time for which the gateway has waited for a CPU so far
   * @param pauseMs after each
   */
  measure(ms: number, cpuWaitMs?: () => number, pauseMs?: number): Promise<Measurement>;
  close(): void;
}

export interface Measurement {
  readonly requests: number;
  /** Median of those that were served. NaN: none was. */
  readonly medianMs: number;
  readonly worstMs: number;
  /** Part of `worstMs` for which the gateway waited for a CPU: other programs of this machine had it. */
  readonly worstCpuWaitMs: number;
  /** Each response that is not the result of its request. */
  readonly rejected: readonly string[];
}

/** A caller does not wait longer. */
const TIMEOUT_MS = 10_000;

/** @param path `/<slug>/v3/<key>` */
export function openNeighbour(port: number, path: string): Neighbour {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let calls = 0;

  /** @returns what is wrong with the response. Undefined: it is the result. */
  function send(): Promise<string | undefined> {
    const position = `0x${(++calls).toString(16)}`;
    const params = [`0x${'34'.repeat(20)}`, position, 'latest'];
    const body = JSON.stringify({ jsonrpc: '2.0', id: calls, method: 'eth_getStorageAt', params });
    const expected = JSON.stringify({ jsonrpc: '2.0', id: calls, result: wordOf(calls) });
    return new Promise((resolve) => {
      const sent = request(
        {
          host: '127.0.0.1',
          port,
          path,
          method: 'POST',
          agent,
          localAddress: addresses.neighbour,
          timeout: TIMEOUT_MS,
        },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (part: string) => (text += part));
          response.once('close', () => {
            resolve(text === expected ? undefined : `${response.statusCode ?? 0} ${text.slice(0, 200)}`);
          });
        },
      );
      sent.once('timeout', () => sent.destroy(new Error(`no response in ${TIMEOUT_MS / 1_000} s`)));
      sent.once('error', (error) => {
        resolve(error.message);
      });
      sent.setHeader('content-type', 'application/json');
      sent.end(body);
    });
  }

  return {
    async measure(ms, cpuWaitMs = () => NaN, pauseMs = 0) {
      const served: { ms: number; cpuWaitMs: number }[] = [];
      const rejected: string[] = [];
      const end = performance.now() + ms;
      do {
        const [startedAt, waitedBefore] = [performance.now(), cpuWaitMs()];
        const problem = await send();
        if (problem === undefined) {
          served.push({ ms: performance.now() - startedAt, cpuWaitMs: cpuWaitMs() - waitedBefore });
          if (pauseMs > 0) await scenarioPause(pauseMs);
          continue;
        }
        rejected.push(problem);
        // Not counted again within the time that a request takes.
        await scenarioPause(upstreamCapacity.latencyMs);
      } while (performance.now() < end);
      served.sort((one, other) => one.ms - other.ms);
      const median = served[Math.floor((served.length - 1) / 2)];
      const worst = served.at(-1);
      return {
        requests: served.length + rejected.length,
        medianMs: median?.ms ?? NaN,
        worstMs: worst?.ms ?? NaN,
        worstCpuWaitMs: worst?.cpuWaitMs ?? NaN,
        rejected,
      };
    },
    close: () => {
      agent.destroy();
    },
  };
}

function wordOf(number: number): string {
  return `0x${number.toString(16).padStart(64, '0')}`;
}
